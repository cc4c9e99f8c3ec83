//! One very long turn, for complete hosts: the proportions of `mix`, but every delta belongs to a message, every message
//! is completed, and every call has its result.

use std::fmt::Write as _;

use crate::corpus::{Corpus, Maker, id, quoted, uuid};

/// The lines of a turn between its `system/init` and its `result`.
pub fn turn(bytes: usize) -> Corpus {
    let mut make = Maker::new(3);
    let mut out = String::with_capacity(bytes + 100_000);
    while out.len() < bytes {
        make.message(&mut out);
        if make.rng.u32(..3) == 0 {
            make.status(&mut out);
            out.push('\n');
        }
    }
    Corpus::new("turn", out.into_bytes())
}

impl Maker {
    /// A message with partial lines: a text, a call, and then the result of the call.
    fn message(&mut self, out: &mut String) {
        self.message = id(&mut self.rng, "msg_01");
        let message = format!(
            r#"{{"type":"message_start","message":{{"id":"{}","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":12345,"output_tokens":1}}}}}}"#,
            self.message,
        );
        self.event(out, &message);

        let start =
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
        self.event(out, start);
        let mut text = String::new();
        for _ in 0..self.rng.u32(4..38) {
            let piece = self.piece();
            text.push_str(&piece);
            let piece = quoted(&piece);
            self.event(out, &format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{piece}}}}}"#
            ));
        }
        self.assistant_with(out, &format!(r#"{{"type":"text","text":{}}}"#, quoted(&text)));
        out.push('\n');
        self.event(out, r#"{"type":"content_block_stop","index":0}"#);

        let call = id(&mut self.rng, "toolu_01");
        self.event(out, &format!(
            r#"{{"type":"content_block_start","index":1,"content_block":{{"type":"tool_use","id":"{call}","name":"Bash","input":{{}}}}}}"#
        ));
        let command = quoted(&self.prose(8, 8));
        let input = format!(r#"{{"command":{command},"description":"Looks around"}}"#);
        for piece in pieces(&input, 24) {
            let piece = quoted(piece);
            self.event(out, &format!(
                r#"{{"type":"content_block_delta","index":1,"delta":{{"type":"input_json_delta","partial_json":{piece}}}}}"#
            ));
        }
        self.assistant_with(
            out,
            &format!(r#"{{"type":"tool_use","id":"{call}","name":"Bash","input":{input}}}"#),
        );
        out.push('\n');
        self.event(out, r#"{"type":"content_block_stop","index":1}"#);
        self.event(
            out,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":87}}"#,
        );
        self.event(out, r#"{"type":"message_stop"}"#);

        let length = self.between(2_000, 40_000);
        let content = quoted(&self.output(length * 2 / 5));
        self.tool_result_with(out, &call, &content);
        out.push('\n');
    }

    /// A few words, as one delta has them.
    pub(crate) fn piece(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..self.rng.u32(1..9) {
            text.push(' ');
            text.push_str(self.word());
        }
        match self.rng.u32(..15) {
            0 | 1 => text.push_str(".\n\n"),
            2 => text.push_str(" \"this\""),
            _ => {}
        }
        text
    }

    fn event(&mut self, out: &mut String, event: &str) {
        let _ = writeln!(
            out,
            r#"{{"type":"stream_event","event":{event},"session_id":"{}","parent_tool_use_id":null,"uuid":"{}"}}"#,
            self.session,
            uuid(&mut self.rng),
        );
    }
}

/// A text in pieces of about this many bytes.
fn pieces(mut text: &str, length: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let (piece, rest) = text.split_at(text.ceil_char_boundary(length.min(text.len())));
        pieces.push(piece);
        text = rest;
    }
    pieces
}
