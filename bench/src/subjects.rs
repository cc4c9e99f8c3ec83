//! Who is measured: each reads the same bytes, by its own public way of reading a line.

use std::hint::black_box;

use anyhow::{Error, Result, bail};
use duologue_protocol::content::{Content, ContentBlock};
use duologue_protocol::lines::{Delta, StreamEvent};
use duologue_protocol::{Decoded, Frame, Line, LineDecoder, ToHost};
use serde_json::Value;

/// The yardstick: its ratio is 1.
pub const YARDSTICK: &str = "serde_json::Value";

/// One contender.
pub struct Subject {
    /// Its name.
    pub name: &'static str,
    /// What a reader of the table must know.
    pub note: &'static str,
    /// Reads all lines.
    pub run: fn(&[u8]) -> Tally,
    /// Whether it belongs to somebody else.
    pub peer: bool,
}

/// What came of reading a corpus.
#[derive(Debug, Default)]
pub struct Tally {
    /// Lines seen.
    pub lines: usize,
    /// Bytes of text touched.
    pub text: usize,
    /// Lines that it could not read.
    pub failures: usize,
    /// Why the first of them.
    pub first_failure: Option<Error>,
}

impl Tally {
    fn add(&mut self, text: Result<usize>) {
        self.lines += 1;
        match text {
            Ok(text) => self.text += text,
            Err(error) => {
                self.failures += 1;
                self.first_failure.get_or_insert(error);
            }
        }
    }
}

/// Everybody, in the order of the table.
pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "memchr newline scan",
        note: "the limit: lines are found, not read",
        run: newline_scan,
        peer: false,
    },
    Subject {
        name: YARDSTICK,
        note: "the yardstick: `from_slice::<Value>` of each line, in place",
        run: value,
        peer: false,
    },
    Subject {
        name: "Duologue, typed",
        note: "`LineDecoder` over 256 KiB chunks, `to_host()`, texts touched; tool results stay \
               unread, as `LazyContent` has it",
        run: typed,
        peer: false,
    },
    Subject {
        name: "Duologue, typed, tool results read",
        note: "the same, and every tool result is read as well",
        run: typed_and_read,
        peer: false,
    },
    Subject {
        name: "Duologue, head only",
        note: "`LineDecoder` over 256 KiB chunks, `head()`",
        run: head,
        peer: false,
    },
    Subject {
        name: "claude-codes 2.1.316",
        note: "`ClaudeOutput::parse_json_tolerant`, which its clients call",
        run: claude_codes,
        peer: true,
    },
    Subject {
        name: "claude-wrapper 0.14.9",
        note: "`StreamEvent` by serde, as its streaming queries do; its duplex session has no \
               public parser (a `Value`, cloned for subscribers)",
        run: claude_wrapper,
        peer: true,
    },
    Subject {
        name: "claude-agent-sdk-rs 0.6.4",
        note: "its parser is private: what it does, a `Value` turned into its public `Message`",
        run: claude_agent_sdk,
        peer: true,
    },
];

const CHUNK: usize = 256 * 1024;

/// Lines in place: no peer is charged for framing or copying.
fn each_line(mut bytes: &[u8], mut read: impl FnMut(&[u8])) {
    while let Some(end) = memchr::memchr(b'\n', bytes) {
        read(&bytes[..end]);
        bytes = &bytes[end + 1..];
    }
}

fn each_str(bytes: &[u8], mut read: impl FnMut(&str) -> Result<usize>) -> Tally {
    let mut tally = Tally::default();
    each_line(bytes, |line| {
        tally.add(std::str::from_utf8(line).map_err(Error::from).and_then(&mut read));
    });
    tally
}

fn each_framed(bytes: &[u8], mut read: impl FnMut(Line) -> Result<usize>) -> Tally {
    let mut tally = Tally::default();
    let mut decoder = LineDecoder::new();
    for mut chunk in bytes.chunks(CHUNK) {
        while let Some(frame) = decoder.next(&mut chunk) {
            let Frame::Line(line) = frame else { continue };
            tally.add(read(line));
        }
    }
    tally
}

#[inline(never)]
fn newline_scan(bytes: &[u8]) -> Tally {
    let mut tally = Tally::default();
    each_line(bytes, |line| tally.add(Ok(black_box(line).len())));
    tally
}

#[inline(never)]
fn value(bytes: &[u8]) -> Tally {
    let mut tally = Tally::default();
    each_line(bytes, |line| {
        let value = serde_json::from_slice::<Value>(line);
        tally.add(value.map(|value| black_box(value).is_object().into()).map_err(Error::from));
    });
    tally
}

#[inline(never)]
fn typed(bytes: &[u8]) -> Tally {
    each_framed(bytes, |line| message(&line, false))
}

#[inline(never)]
fn typed_and_read(bytes: &[u8]) -> Tally {
    each_framed(bytes, |line| message(&line, true))
}

fn message(line: &Line, read_results: bool) -> Result<usize> {
    match line.to_host() {
        Decoded::Known(message) => {
            let text = text_in(&message, read_results);
            black_box(message);
            Ok(text)
        }
        Decoded::Unknown(message) => bail!("unknown: {}", message.tag()),
        Decoded::Malformed(fault) => Err(fault.into()),
    }
}

fn text_in(message: &ToHost, read_results: bool) -> usize {
    match message {
        ToHost::StreamEvent(line) => match line.event.value() {
            Some(StreamEvent::ContentBlockDelta(delta)) => match delta.delta.value() {
                Some(Delta::Text(delta)) => delta.text.as_str().map_or(0, str::len),
                _ => 0,
            },
            _ => 0,
        },
        ToHost::Assistant(line) => {
            line.message.value().map_or(0, |message| text_of(message.content.items(), read_results))
        }
        ToHost::User(line) => {
            match line.message.value().and_then(|message| message.content.value()) {
                Some(Content::Text(text)) => text.len(),
                Some(Content::Blocks(blocks)) => text_of(blocks, read_results),
                None => 0,
            }
        }
        ToHost::Result(result) => result.result.as_str().map_or(0, str::len),
        _ => 0,
    }
}

fn text_of(blocks: &[ContentBlock], read_results: bool) -> usize {
    let length = |block: &ContentBlock| match block {
        ContentBlock::Text(block) => block.text.as_str().map_or(0, str::len),
        ContentBlock::Thinking(block) => block.thinking.as_str().map_or(0, str::len),
        ContentBlock::ToolUse(block) => {
            block.input.value().map_or(0, |input| input.as_json().len())
        }
        ContentBlock::ToolResult(block) => {
            let Some(content) = block.content.value() else { return 0 };
            if !read_results {
                return content.raw().as_json().len();
            }
            match content.read() {
                Ok(Content::Text(text)) => text.len(),
                Ok(Content::Blocks(blocks)) => blocks.len(),
                Err(_) => 0,
            }
        }
        _ => 0,
    };
    blocks.iter().map(length).sum()
}

#[inline(never)]
fn head(bytes: &[u8]) -> Tally {
    each_framed(bytes, |line| {
        let head = line.head()?;
        Ok(black_box(&head).kind.len())
    })
}

#[inline(never)]
fn claude_codes(bytes: &[u8]) -> Tally {
    each_str(bytes, |line| {
        let output = claude_codes::ClaudeOutput::parse_json_tolerant(line)
            .map_err(|error| Error::msg(error.error_message))?;
        black_box(output);
        Ok(1)
    })
}

#[inline(never)]
fn claude_wrapper(bytes: &[u8]) -> Tally {
    each_str(bytes, |line| {
        let event = serde_json::from_str::<claude_wrapper::streaming::StreamEvent>(line)?;
        black_box(event);
        Ok(1)
    })
}

#[inline(never)]
fn claude_agent_sdk(bytes: &[u8]) -> Tally {
    each_str(bytes, |line| {
        let value = serde_json::from_str::<Value>(line)?;
        let message = serde_json::from_value::<claude_agent_sdk_rs::Message>(value)?;
        black_box(message);
        Ok(1)
    })
}
