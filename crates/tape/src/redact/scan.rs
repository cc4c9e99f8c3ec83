//! Finds the names and values of a JSON text, so that they can be replaced without changing anything else.

use std::ops::Range;

use super::view::View;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The name of a field.
    Name,
    Text,
    Number,
    /// `true`, `false` or `null`.
    Word,
}

/// A line that nests deeper is left to the rules for text.
const DEEPEST: usize = 200;

/// Visits the names and values of a text in order, with the path of each in the structure
/// (`message.content[].text`) and its range in the text, including quotes. Returns `None` if this is not a JSON object or list;
/// some may have been visited by then.
pub(crate) fn walk(bytes: &[u8], visit: impl FnMut(&str, Kind, Range<usize>)) -> Option<()> {
    if !matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return None;
    }
    let mut scan = Scan { bytes, at: 0, path: String::new(), visit };
    scan.value(0)?;
    scan.peek().is_none().then_some(())
}

/// Whether this is a JSON object or list.
pub(crate) fn is_json(bytes: &[u8]) -> bool {
    walk(bytes, |_, _, _| {}).is_some()
}

struct Scan<'a, F> {
    bytes: &'a [u8],
    at: usize,
    path: String,
    visit: F,
}

impl<F: FnMut(&str, Kind, Range<usize>)> Scan<'_, F> {
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match self.peek()? {
            b'{' => self.members(depth),
            b'[' => self.elements(depth),
            b'"' => {
                let span = self.string()?;
                (self.visit)(&self.path, Kind::Text, span);
                Some(())
            }
            first => {
                let start = self.at;
                let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                while self.bytes.get(self.at).is_some_and(plain) {
                    self.at += 1;
                }
                let kind = if first.is_ascii_alphabetic() { Kind::Word } else { Kind::Number };
                (self.visit)(&self.path, kind, start..self.at);
                (self.at > start).then_some(())
            }
        }
    }

    fn members(&mut self, depth: usize) -> Option<()> {
        self.take(b'{')?;
        if self.take(b'}').is_some() {
            return Some(());
        }
        let length = self.path.len();
        loop {
            self.peek()?;
            let span = self.string()?;
            let name = self.bytes.get(span.start + 1..span.end - 1)?;
            if length > 0 {
                self.path.push('.');
            }
            match View::of_json(name) {
                Some(name) => self.path.push_str(&String::from_utf8_lossy(&name.text)),
                None => self.path.push_str(&String::from_utf8_lossy(name)),
            }
            (self.visit)(&self.path, Kind::Name, span);
            self.take(b':')?;
            self.value(depth + 1)?;
            self.path.truncate(length);
            if self.take(b',').is_none() {
                return self.take(b'}');
            }
        }
    }

    fn elements(&mut self, depth: usize) -> Option<()> {
        self.take(b'[')?;
        if self.take(b']').is_some() {
            return Some(());
        }
        let length = self.path.len();
        self.path.push_str("[]");
        loop {
            self.value(depth + 1)?;
            if self.take(b',').is_none() {
                self.path.truncate(length);
                return self.take(b']');
            }
        }
    }

    fn string(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        self.take(b'"')?;
        loop {
            self.at += memchr::memchr2(b'"', b'\\', self.bytes.get(self.at..)?)?;
            if self.bytes.get(self.at) == Some(&b'"') {
                self.at += 1;
                return Some(start..self.at);
            }
            self.at += 2;
        }
    }
}
