//! [`View`]: a text without its escapes, with a map back to the original text.
//!
//! Secrets are searched in decoded text, and replaced in the original, so that all other bytes stay unchanged.

use std::ops::Range;

use super::claims::Edit;

/// A text without escapes.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) text: Vec<u8>,
    /// The positions of lone surrogates: readers refuse a text that has one.
    broken: Vec<Range<usize>>,
    parts: Vec<Part>,
}

/// A part of a view, and the part of the source it was made from.
#[derive(Debug)]
struct Part {
    start: usize,
    source: Range<usize>,
    /// Whether it is a copy. Otherwise it replaces its whole source.
    is_copy: bool,
}

impl View {
    /// The part of the source that belongs to this part of the view.
    pub(super) fn source(&self, span: &Range<usize>) -> Range<usize> {
        let start = self.part(span.start).map_or(0, |part| match part.is_copy {
            true => part.source.start + (span.start - part.start),
            false => part.source.start,
        });
        let last = span.end.saturating_sub(1).max(span.start);
        let end = self.part(last).map_or(start, |part| match part.is_copy {
            true => part.source.start + (last - part.start) + 1,
            false => part.source.end,
        });
        start..end.max(start)
    }

    /// An edit of the view as edits of the source. A lone surrogate stays, so that an unreadable text stays unreadable.
    pub(super) fn edits_of_source(&self, edit: &Edit) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut start = edit.span.start;
        let first = self.broken.partition_point(|broken| broken.start < edit.span.start);
        let within =
            self.broken.iter().skip(first).take_while(|broken| broken.end <= edit.span.end);
        for end in within.map(Some).chain([None]) {
            let part = start..end.map_or(edit.span.end, |broken| broken.start);
            if !part.is_empty() {
                edits.push(Edit { span: self.source(&part), new: edit.new.clone() });
            }
            start = end.map_or(part.end, |broken| broken.end);
        }
        edits
    }

    fn part(&self, at: usize) -> Option<&Part> {
        let after = self.parts.partition_point(|part| part.start <= at);
        self.parts.get(after.checked_sub(1)?)
    }

    fn copy(&mut self, source: &[u8], span: Range<usize>) {
        if span.is_empty() {
            return;
        }
        let start = self.text.len();
        self.text.extend_from_slice(source.get(span.clone()).unwrap_or_default());
        self.parts.push(Part { start, source: span, is_copy: true });
    }

    fn stand_in(&mut self, text: &[u8], span: Range<usize>) {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        if !text.is_empty() {
            self.parts.push(Part { start, source: span, is_copy: false });
        }
    }

    /// Creates a view: `next` finds the first escape at or after a position, and its text.
    fn of(source: &[u8], next: impl Fn(&[u8], usize) -> Option<Escape>) -> Option<Self> {
        let mut view = Self::default();
        let mut copied = 0;
        while let Some(escape) = next(source, copied) {
            view.copy(source, copied..escape.span.start);
            if escape.is_broken {
                view.broken.push(view.text.len()..view.text.len() + escape.text.length);
            }
            view.stand_in(escape.text.bytes(), escape.span.clone());
            copied = escape.span.end;
        }
        if copied == 0 {
            return None;
        }
        view.copy(source, copied..source.len());
        Some(view)
    }

    /// Decodes the inside of a JSON string; `None` if it has no escapes. A lone surrogate becomes a replacement character.
    pub(super) fn of_json(inside: &[u8]) -> Option<Self> {
        Self::of(inside, |source, from| {
            let at = from + memchr::memchr(b'\\', source.get(from..)?)?;
            let letter = *source.get(at + 1)?;
            let plain = |byte: u8| Some(Escape::new(at..at + 2, Text::of_byte(byte)));
            match letter {
                b'n' => plain(b'\n'),
                b'r' => plain(b'\r'),
                b't' => plain(b'\t'),
                b'b' => plain(8),
                b'f' => plain(12),
                b'u' => Some(
                    unicode(source, at).unwrap_or(Escape::new(at..at + 2, Text::of_byte(b'u'))),
                ),
                other => plain(other),
            }
        })
    }

    /// Decodes the escapes of programming languages, URLs and HTML; `None` if there are none. Backslashes that were escaped
    /// several times are one escape.
    pub(super) fn decoded(source: &[u8]) -> Option<Self> {
        Self::of(source, |source, mut from| {
            loop {
                let found = memchr::memchr3(b'\\', b'%', b'&', source.get(from..)?)?;
                let at = from + found;
                match escape(source, at) {
                    Ok(escape) => return Some(escape),
                    Err(next) => from = next,
                }
            }
        })
    }

    /// Removes terminal sequences; `None` if there are none.
    pub(super) fn without_colours(source: &[u8]) -> Option<Self> {
        Self::of(source, |source, mut from| {
            loop {
                let at = from + memchr::memchr(0x1b, source.get(from..)?)?;
                match sequence(source, at) {
                    Some(end) => return Some(Escape::new(at..end, Text::default())),
                    None => from = at + 1,
                }
            }
        })
    }
}

#[derive(Debug)]
struct Escape {
    span: Range<usize>,
    text: Text,
    /// It is a lone surrogate.
    is_broken: bool,
}

impl Escape {
    const fn new(span: Range<usize>, text: Text) -> Self {
        Self { span, text, is_broken: false }
    }
}

/// A character, or nothing.
#[derive(Debug, Default)]
struct Text {
    bytes: [u8; 4],
    length: usize,
}

impl Text {
    const fn of_byte(byte: u8) -> Self {
        Self { bytes: [byte, 0, 0, 0], length: 1 }
    }

    fn of_char(letter: char) -> Self {
        let mut bytes = [0; 4];
        let length = letter.encode_utf8(&mut bytes).len();
        Self { bytes, length }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// `\u` and four digits, or two of them for one character.
fn unicode(source: &[u8], at: usize) -> Option<Escape> {
    let unit = |at: usize| {
        let digits = source.get(at..at + 6)?.strip_prefix(b"\\u")?;
        number(digits, 16)
    };
    let first = unit(at)?;
    if (0xd800..0xdc00).contains(&first)
        && let Some(second) = unit(at + 6).filter(|second| (0xdc00..0xe000).contains(second))
    {
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        return Some(Escape::new(at..at + 12, Text::of_char(letter)));
    }
    let letter = char::from_u32(first);
    let text = Text::of_char(letter.unwrap_or(char::REPLACEMENT_CHARACTER));
    Some(Escape { span: at..at + 6, text, is_broken: letter.is_none() })
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    // No sign, which `from_str_radix` would take.
    let all = digits.iter().all(u8::is_ascii_alphanumeric);
    let digits = std::str::from_utf8(digits).ok().filter(|_| all)?;
    u32::from_str_radix(digits, radix).ok()
}

/// The escape at this position, or where to continue the search.
fn escape(source: &[u8], at: usize) -> Result<Escape, usize> {
    match source.get(at) {
        Some(b'\\') => backslash(source, at),
        Some(b'%') => {
            let byte = source.get(at + 1..at + 3).and_then(|digits| number(digits, 16));
            match byte.and_then(|byte| u8::try_from(byte).ok()) {
                Some(byte) if is_plain(byte) => Ok(Escape::new(at..at + 3, Text::of_byte(byte))),
                _ => Err(at + 1),
            }
        }
        _ => entity(source, at).ok_or(at + 1),
    }
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r' | 0x1b)
}

fn backslash(source: &[u8], at: usize) -> Result<Escape, usize> {
    let run = source.iter().skip(at).take_while(|byte| **byte == b'\\').count();
    let last = at + run - 1;
    let letter = source.get(last + 1).copied().unwrap_or_default();
    let plain = |byte: u8| Ok(Escape::new(at..last + 2, Text::of_byte(byte)));
    match letter {
        b'n' | b'r' => plain(b'\n'),
        b't' | b'b' | b'f' | b'v' | b'\n' => plain(b' '),
        b'e' => plain(0x1b),
        b'"' | b'\'' | b'`' | b'/' => plain(letter),
        b'u' => match unicode(source, last) {
            Some(escape) => Ok(Escape::new(at..escape.span.end, escape.text)),
            None => Err(last + 1),
        },
        b'x' | b'0' => {
            let digits = source.get(last + 2..last + 4).unwrap_or_default();
            let code = if letter == b'x' { number(digits, 16) } else { number(digits, 8) };
            match code.and_then(|code| u8::try_from(code).ok()) {
                Some(byte) if is_plain(byte) && digits.len() == 2 => {
                    Ok(Escape::new(at..last + 4, Text::of_byte(byte)))
                }
                _ => Err(last + 1),
            }
        }
        _ => Err(last + 1),
    }
}

/// Entities that occur between a name and its value, or around it.
const ENTITIES: &[(&[u8], u8)] = &[
    (b"&quot;", b'"'),
    (b"&apos;", b'\''),
    (b"&amp;", b'&'),
    (b"&lt;", b'<'),
    (b"&gt;", b'>'),
    (b"&nbsp;", b' '),
    (b"&equals;", b'='),
    (b"&colon;", b':'),
    (b"&NewLine;", b'\n'),
];

fn entity(source: &[u8], at: usize) -> Option<Escape> {
    let rest = source.get(at..)?;
    if let Some(digits) = rest.strip_prefix(b"&#") {
        let end = digits.iter().take(8).position(|byte| *byte == b';')?;
        let code = match digits.get(..end)? {
            [b'x' | b'X', hex @ ..] => number(hex, 16),
            decimal => number(decimal, 10),
        };
        let byte = u8::try_from(code?).ok().filter(|byte| is_plain(*byte))?;
        return Some(Escape::new(at..at + 3 + end, Text::of_byte(byte)));
    }
    let (name, byte) = ENTITIES.iter().find(|(name, _)| rest.starts_with(name))?;
    Some(Escape::new(at..at + name.len(), Text::of_byte(*byte)))
}

/// The longest terminal sequence: a title, or a link.
const LONGEST_SEQUENCE: usize = 256;

/// The end of the terminal sequence that begins here.
fn sequence(source: &[u8], at: usize) -> Option<usize> {
    let body = source.get(at + 2..)?;
    let body = body.get(..LONGEST_SEQUENCE).unwrap_or(body);
    match source.get(at + 1)? {
        b'[' => {
            let end = body.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            Some(at + 2 + end + 1)
        }
        b']' => {
            let end = body.iter().position(|byte| matches!(byte, 7 | 0x1b))?;
            let is_bell = body.get(end) == Some(&7);
            Some(at + 2 + end + if is_bell { 1 } else { 2 })
        }
        b'(' | b')' => Some(at + 3),
        _ => Some(at + 2),
    }
    .filter(|end| *end <= source.len())
}
