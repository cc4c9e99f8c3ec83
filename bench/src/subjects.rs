//! What is measured: each subject reads the same bytes with its public API for lines.

use std::hint::black_box;

use anyhow::{Error, Result, bail};
use duologue_protocol::content::{Content, ContentBlock};
use duologue_protocol::lines::{Delta, StreamEvent};
use duologue_protocol::transcript::{Event, Transcript};
use duologue_protocol::{Decoded, Direction, Frame, Line, LineDecoder, ToHost};
use serde_json::Value;

/// The reference: its ratio is 1.
pub const YARDSTICK: &str = "serde_json::Value";

/// One subject.
pub struct Subject {
    /// Its name.
    pub name: &'static str,
    /// A note for the table.
    pub note: &'static str,
    /// Reads all lines.
    pub run: fn(&[u8]) -> Tally,
    /// Whether it is another library.
    pub peer: bool,
}

/// The result of reading a corpus.
#[derive(Debug, Default)]
pub struct Tally {
    /// Lines seen.
    pub lines: usize,
    /// Bytes of text touched.
    pub text: usize,
    /// Lines that it could not read.
    pub failures: usize,
    /// The first error.
    pub first_failure: Option<Error>,
}

impl Subject {
    /// Its name, with the version of a peer.
    pub fn title(&self) -> Result<String> {
        if self.peer { crate::peers::crate_title(self.name) } else { Ok(self.name.to_owned()) }
    }
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

/// All subjects, in the order of the table.
pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "memchr newline scan",
        note: "the limit: finds lines without reading them",
        run: newline_scan,
        peer: false,
    },
    Subject {
        name: YARDSTICK,
        note: "the reference: `from_slice::<Value>` of each line, in place",
        run: value,
        peer: false,
    },
    Subject {
        name: "Duologue, typed",
        note: "`LineDecoder` over 256 KiB chunks, `to_host()`, texts touched; tool results stay \
               unread (`LazyContent`)",
        run: typed,
        peer: false,
    },
    Subject {
        name: "Duologue, typed, tool results read",
        note: "the same, and every tool result is read",
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
        name: "Duologue, typed and folded",
        note: "`typed`, and `Transcript` turns every line into events, which are polled",
        run: folded,
        peer: false,
    },
    Subject {
        name: "claude-codes",
        note: "`ClaudeOutput::parse_json_tolerant`, which its clients call",
        run: claude_codes,
        peer: true,
    },
    Subject {
        name: "claude-wrapper",
        note: "`StreamEvent` by serde, as its streaming queries do; its duplex session has no \
               public parser (a `Value`, cloned for subscribers)",
        run: claude_wrapper,
        peer: true,
    },
    Subject {
        name: "claude-agent-sdk-rs",
        note: "its parser is private; this does the same: a `Value` converted to its public `Message`",
        run: claude_agent_sdk,
        peer: true,
    },
];

const CHUNK: usize = 256 * 1024;

/// Lines in place: peers pay nothing for framing or copying.
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

#[inline(never)]
fn folded(bytes: &[u8]) -> Tally {
    let mut transcript = Transcript::new();
    each_framed(bytes, |line| {
        transcript.handle_line(Direction::ToHost, &line);
        let mut events = 0;
        while let Some(event) = transcript.poll_event() {
            if let Event::MalformedLine(_) | Event::UnknownLine(_) = event {
                bail!("{}", event.tag());
            }
            black_box(event);
            events += 1;
        }
        Ok(events)
    })
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
