//! [`LineDecoder`]: bytes in any chunking in, lines out.

use std::sync::Arc;

use memchr::memchr;

use crate::line::{Line, Position};

/// The default cap on one line: 64 MiB.
pub const DEFAULT_MAX_LINE: usize = 64 * 1024 * 1024;

/// Cuts a stream of bytes into lines.
///
/// A line ends at byte 0x0A and nowhere else: older CLIs write U+2028, U+2029 and U+0085
/// unescaped inside lines. Blank lines are skipped; a carriage return before the newline and a byte
/// order mark before the JSON stay in the line's raw bytes and do not disturb its reading.
///
/// A line longer than the limit gives one [`Frame::TooLong`] with its beginning. The next line is not affected. The decoder
/// never holds more than the limit.
///
/// It does no I/O. Hand it what was read, and take the frames out until there are none:
///
/// ```
/// use duologue_wire::{Frame, LineDecoder};
///
/// let mut decoder = LineDecoder::new();
/// let mut kinds = Vec::new();
/// for chunk in [&b"{\"type\":\"keep_"[..], b"alive\"}\n\n{\"type\":\"result\"}"] {
///     let mut rest = chunk;
///     while let Some(frame) = decoder.next(&mut rest) {
///         if let Frame::Line(line) = frame {
///             kinds.push(line.head().unwrap().kind.into_owned());
///         }
///     }
/// }
/// if let Some(Frame::Line(line)) = decoder.finish() {
///     kinds.push(line.head().unwrap().kind.into_owned());
/// }
/// assert_eq!(kinds, ["keep_alive", "result"]);
/// ```
#[derive(Debug)]
pub struct LineDecoder {
    max_line: usize,
    keep_blank: bool,
    /// The beginning of a line whose end has not been seen.
    partial: Partial,
    /// How many bytes of the current line have been dropped for being too many.
    dropped: u64,
    /// The beginning of a line whose bytes are dropped.
    kept: Vec<u8>,
    /// Where the current line begins.
    start: Position,
}

/// The beginning of a line. It is checked to be text as it comes: its bytes are in the cache then,
/// and the whole line need not be gone through again.
#[derive(Debug)]
struct Partial {
    text: String,
    /// What comes after the text: a character that is split between chunks, or, from the first byte
    /// that is not UTF-8, all the rest.
    bytes: Vec<u8>,
}

impl Partial {
    const fn new() -> Self {
        Self { text: String::new(), bytes: Vec::new() }
    }

    fn len(&self) -> usize {
        self.text.len() + self.bytes.len()
    }

    /// Adds a chunk. All of it together must not be more than `most`.
    fn push(&mut self, mut chunk: &[u8], most: usize) {
        while let 1..4 = self.bytes.len()
            && let Some((first, rest)) = chunk.split_first()
        {
            self.bytes.push(*first);
            chunk = rest;
            if let Ok(character) = std::str::from_utf8(&self.bytes) {
                push_str(&mut self.text, character, most);
                self.bytes.clear();
            }
        }
        let (text, bytes) = if self.bytes.is_empty() { split_text(chunk) } else { ("", chunk) };
        push_str(&mut self.text, text, most);
        self.bytes.extend_from_slice(bytes);
    }

    fn into_line(self) -> Line {
        if self.bytes.is_empty() {
            return Line::from(self.text);
        }
        let mut bytes = self.text.into_bytes();
        bytes.extend_from_slice(&self.bytes);
        Line::from(bytes)
    }
}

/// Grows by doubling, but never beyond `most`.
fn push_str(text: &mut String, more: &str, most: usize) {
    let needed = text.len() + more.len();
    if needed > text.capacity() {
        let target = needed.max((text.capacity() * 2).min(most));
        text.reserve_exact(target - text.len());
    }
    text.push_str(more);
}

/// The text at the start of these bytes, and what is none.
fn split_text(bytes: &[u8]) -> (&str, &[u8]) {
    let end = match simdutf8::compat::from_utf8(bytes) {
        Ok(text) => return (text, &[]),
        Err(error) => error.valid_up_to(),
    };
    let (text, rest) = bytes.split_at(end);
    (simdutf8::basic::from_utf8(text).unwrap_or_default(), rest)
}

/// One thing that [`LineDecoder`] found.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a line either fits or it does not")]
pub enum Frame {
    /// A line, without its newline.
    Line(Line),
    /// A line longer than the cap.
    TooLong(TooLong),
}

/// What [`LineDecoder::next_in`] found.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a line lies in the chunk or it does not")]
pub enum Found<'c> {
    /// A line that is completely in the chunk, without its newline, and its position in the stream.
    Within(&'c [u8], Position),
    /// One that came in pieces, or is too long.
    Frame(Frame),
}

/// How much of a line that is too long is kept.
const START: usize = 4096;

/// A line that was longer than the limit. Only its beginning is kept. The stream continues.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLong {
    /// Where it began.
    pub position: Position,
    /// How long it was in bytes, without its newline.
    pub length: u64,
    start: Arc<[u8]>,
}

impl TooLong {
    /// Its first bytes: up to 4 KiB, and not more than the limit. They show the type of the line.
    pub fn start(&self) -> &[u8] {
        &self.start
    }
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Position { number, offset } = self.position;
        write!(f, "line {number} (from byte {offset}) has {} bytes, more than the cap", self.length)
    }
}

impl Default for LineDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl LineDecoder {
    /// A decoder with the default cap.
    pub const fn new() -> Self {
        Self {
            max_line: DEFAULT_MAX_LINE,
            keep_blank: false,
            partial: Partial::new(),
            dropped: 0,
            kept: Vec::new(),
            start: Position { number: 1, offset: 0 },
        }
    }

    /// Sets the cap: the most bytes a line may have without its newline.
    #[must_use]
    pub const fn max_line(mut self, bytes: usize) -> Self {
        self.max_line = bytes;
        self
    }

    /// Delivers blank lines too, for programs that must reproduce the stream.
    #[must_use]
    pub const fn keep_blank(mut self) -> Self {
        self.keep_blank = true;
        self
    }

    /// Takes the next frame out of `chunk`, which is advanced past what was used; `None` when the
    /// chunk is used up. What is left in `chunk` belongs to the next call, so nothing is lost by
    /// stopping early.
    pub fn next(&mut self, chunk: &mut &[u8]) -> Option<Frame> {
        while let Some(end) = memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(end);
            *chunk = rest.get(1..).unwrap_or_default();
            if let Some(frame) = self.complete(line, true) {
                return Some(frame);
            }
        }
        self.hold(chunk);
        *chunk = &[];
        None
    }

    /// Like [`next`](Self::next), but does not copy a line that is completely in the chunk.
    ///
    /// ```
    /// use duologue_wire::{Found, LineDecoder};
    ///
    /// let mut chunk = &b"{\"type\":\"keep_alive\"}\n"[..];
    /// let Some(Found::Within(line, _)) = LineDecoder::new().next_in(&mut chunk) else { panic!() };
    /// assert_eq!(line, br#"{"type":"keep_alive"}"#);
    /// ```
    pub fn next_in<'c>(&mut self, chunk: &mut &'c [u8]) -> Option<Found<'c>> {
        while self.partial.len() == 0 && self.dropped == 0 {
            let Some(end) = memchr(b'\n', chunk).filter(|end| *end <= self.max_line) else { break };
            let (line, rest) = chunk.split_at(end);
            *chunk = rest.get(1..).unwrap_or_default();
            let position = self.start;
            self.start.offset += end as u64 + 1;
            self.start.number += 1;
            if self.keep_blank || !is_blank(line) {
                return Some(Found::Within(line, position));
            }
        }
        self.next(chunk).map(Found::Frame)
    }

    /// The stream has ended: the last line, if it had no newline.
    pub fn finish(&mut self) -> Option<Frame> {
        if !self.is_inside_line() {
            return None;
        }
        self.complete(&[], false)
    }

    /// How many bytes are held back because their line has no end yet.
    pub fn held(&self) -> usize {
        self.partial.len()
    }

    /// Whether the next bytes belong to a line that has begun already, be it too long.
    pub fn is_inside_line(&self) -> bool {
        self.partial.len() > 0 || self.dropped > 0
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.dropped > 0 || self.partial.len() + bytes.len() > self.max_line {
            self.dropped += (self.partial.len() + bytes.len()) as u64;
            self.keep_start(bytes);
            self.partial = Partial::new();
            return;
        }
        self.partial.push(bytes, self.max_line);
    }

    /// Keeps the beginning of a line that is too long: what is held of it, and what follows.
    fn keep_start(&mut self, more: &[u8]) {
        let most = START.min(self.max_line);
        for bytes in [self.partial.text.as_bytes(), &self.partial.bytes, more] {
            let room = most.saturating_sub(self.kept.len()).min(bytes.len());
            self.kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
        }
    }

    /// A line has ended with these bytes.
    fn complete(&mut self, last: &[u8], newline: bool) -> Option<Frame> {
        let position = self.start;
        let length = self.dropped + (self.partial.len() + last.len()) as u64;
        self.start.offset += length + u64::from(newline);
        self.start.number += 1;
        if length > self.max_line as u64 {
            self.keep_start(last);
            self.dropped = 0;
            self.partial = Partial::new();
            let start = std::mem::take(&mut self.kept).into();
            return Some(Frame::TooLong(TooLong { position, length, start }));
        }
        let line = if self.partial.len() == 0 {
            if !self.keep_blank && is_blank(last) {
                return None;
            }
            Line::copied(last)
        } else {
            self.hold(last);
            let partial = std::mem::replace(&mut self.partial, Partial::new());
            let line = partial.into_line();
            if !self.keep_blank && is_blank(line.raw()) {
                return None;
            }
            line
        };
        Some(Frame::Line(line.at(position, newline)))
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}
