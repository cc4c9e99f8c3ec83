//! Where a secret may be on a tape.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use duologue_protocol::Line;
use duologue_tape::Event;
use serde_json::{Value, json};

use super::kinds::Kind;

/// A place, and the tape with a secret there.
pub(super) struct Placement {
    pub(super) name: &'static str,
    /// The plain text, for tools that do not read tapes.
    pub(super) plain: fn(&Kind) -> String,
    pub(super) tape: fn(&Kind) -> Vec<Event>,
}

fn said(value: &Value) -> Event {
    Event::ToHost(Line::from(value.to_string()))
}

/// Said by the agent.
fn text(text: &str) -> Vec<Event> {
    let content = json!([{ "type": "text", "text": text }]);
    vec![said(
        &json!({ "type": "assistant", "message": { "role": "assistant", "content": content }, "session_id": "s" }),
    )]
}

/// Read by a tool.
fn result(text: &str) -> Vec<Event> {
    let content = json!([{ "type": "tool_result", "tool_use_id": "toolu_1", "content": text }]);
    vec![said(&json!({ "type": "user", "message": { "role": "user", "content": content } }))]
}

fn streamed(text: &str) -> Vec<Event> {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters.chunks(5).map(|piece| piece.iter().collect::<String>());
    let event =
        |event: Value| said(&json!({ "type": "stream_event", "event": event, "session_id": "s" }));
    let delta = |text: String| {
        let delta = json!({ "type": "text_delta", "text": text });
        event(json!({ "type": "content_block_delta", "index": 0, "delta": delta }))
    };
    let stop = event(json!({ "type": "content_block_stop", "index": 0 }));
    pieces.map(delta).chain([stop]).collect()
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

macro_rules! placements {
    ($($name:literal: $say:expr => $plain:expr;)*) => {
        &[$(Placement { name: $name, plain: |kind| $plain(&kind.text), tape: |kind| $say(&$plain(&kind.text)) }),*]
    };
}

/// All places for a text.
#[rustfmt::skip]
pub(super) const PLACEMENTS: &[Placement] = placements! {
    "raw text": text => |it: &str| it.to_owned();
    "a sentence": text => |it: &str| format!("I found this:\n{it}\nDo not share it.");
    "after a colour": text => |it: &str| format!("\u{1b}[31m{it}\u{1b}[0m");
    "after an underscore": text => |it: &str| format!("my_{it}");
    "after an encoded newline": text => |it: &str| format!("https://x.test/?q=a%0A{it}");
    "URL-encoded": text => percent;
    "in HTML": result => |it: &str| format!("<code title=&quot;x&quot;>{}</code>", html(it));
    "JSON in a string": result => |it: &str| json!({ "log": { "line": it } }).to_string();
    "JSON in JSON in a string": result => |it: &str| json!([json!({ "a": format!("x\n{it}") }).to_string()]).to_string();
    "half of some JSON": result => |it: &str| format!("{{\"a\":\"x\\n{}\",\"b\":", quoted(&quoted(it))[..].replace('\n', "\\n"));
    "an env file": result => |it: &str| format!("# app\nPORT=80\n{it}\nHOST=x");
    "shell export": text => |it: &str| format!("export SETTING={it}");
    "a command line": text => |it: &str| format!("./deploy.sh --value {it} --now");
    "YAML": result => |it: &str| format!("app:\n  - setting: {it}\n  - port: 80");
    "TOML": result => |it: &str| format!("[app]\nsetting = \"{}\"\n", quoted(it));
    "a header": text => |it: &str| format!("X-Custom: {it}\r\nAccept: */*");
    "a log line": result => |it: &str| format!("2026-01-02T03:04:05Z INFO app[12]: got {it}");
    "a file with line numbers": result => |it: &str| {
        it.lines().enumerate().map(|(number, line)| format!("{:>6}\t{line}\n", number + 1)).collect::<String>()
    };
    "a diff": result => |it: &str| it.lines().map(|line| format!("+{line}\n")).collect::<String>();
    "Markdown": text => |it: &str| format!("Use `{it}` here.");
    "streamed in pieces": streamed => |it: &str| format!("Here: {it} That was it.");
    "lines of stderr": (|it: &str| it.lines().map(|line| Event::Stderr(Line::from(line.to_owned()))).collect::<Vec<_>>())
        => |it: &str| format!("starting\n{it}\ndone");
    "input of a tool": (|it: &str| {
        let content = json!([{ "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": { "command": it } }]);
        vec![said(&json!({ "type": "assistant", "message": { "role": "assistant", "content": content } }))]
    }) => |it: &str| it.to_owned();
    "streamed input of a tool": (|it: &str| {
        let whole = json!({ "command": it }).to_string();
        let letters: Vec<char> = whole.chars().collect();
        let delta = |piece: &[char]| {
            let delta = json!({ "type": "input_json_delta", "partial_json": piece.iter().collect::<String>() });
            said(&json!({ "type": "stream_event", "event": { "type": "content_block_delta", "index": 1, "delta": delta } }))
        };
        letters.chunks(7).map(delta).collect::<Vec<_>>()
    }) => |it: &str| it.to_owned();
    "a JSON key": (|it: &str| vec![said(&json!({ "type": "system", "subtype": "x", "seen": { it: 1 } }))])
        => |it: &str| it.to_owned();
    "a list of arguments": (|it: &str| vec![said(&json!({ "type": "system", "subtype": "x", "args": ["run", it] }))])
        => |it: &str| it.to_owned();
    "a line of the host": (|it: &str| vec![Event::ToAgent(Line::from(json!({
        "type": "user", "message": { "role": "user", "content": it } }).to_string()))])
        => |it: &str| it.to_owned();
};

/// Places where a secret is recognised only because it was found elsewhere on the tape.
#[rustfmt::skip]
pub(super) const ELSEWHERE: &[Placement] = &[
    Placement { name: "known: in a sentence", plain: |kind| both(kind, &kind.secret), tape: |kind| after(kind, &format!("so ({}) it is", kind.secret)) },
    Placement { name: "known: before it is known", plain: |kind| both(kind, &kind.secret), tape: |kind| {
        let mut tape = text(&format!("so ({}) it is", kind.secret));
        tape.extend(result(&kind.text));
        tape
    } },
    Placement { name: "known: streamed before", plain: |kind| both(kind, &kind.secret), tape: |kind| {
        let mut tape = streamed(&format!("so ({}) it is", kind.secret));
        tape.extend(result(&kind.text));
        tape
    } },
    Placement { name: "known: in Base64", plain: |kind| both(kind, &STANDARD.encode(&kind.secret)), tape: |kind| after(kind, &STANDARD.encode(&kind.secret)) },
    Placement { name: "known: in Base64, with a name", plain: |kind| both(kind, &STANDARD.encode(format!("ann:{}", kind.secret))), tape: |kind| after(kind, &STANDARD.encode(format!("ann:{}", kind.secret))) },
    Placement { name: "known: in hex", plain: |kind| both(kind, &hex(&kind.secret)), tape: |kind| after(kind, &hex(&kind.secret)) },
];

fn both(kind: &Kind, other: &str) -> String {
    format!("{}\n{other}\n", kind.text)
}

fn after(kind: &Kind, other: &str) -> Vec<Event> {
    let mut tape = result(&kind.text);
    tape.extend(text(other));
    tape
}

pub(super) fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}
