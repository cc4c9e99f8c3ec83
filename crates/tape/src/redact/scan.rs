//! Where the names and values of a JSON text stand, without changing anything else in it.

use std::ops::Range;

/// A name, a text, a number or a word in a line.
#[derive(Debug)]
pub(crate) struct Scalar {
    /// Where it stands in the structure: `message.content[].text`.
    pub(crate) path: String,
    /// Where it stands in the line, quotes included.
    pub(crate) span: Range<usize>,
    pub(crate) kind: Kind,
}

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

/// All scalars of a text, in order; `None` if it is no JSON object or list.
pub(crate) fn scalars(bytes: &[u8]) -> Option<Vec<Scalar>> {
    if !matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return None;
    }
    let mut scan = Scan { bytes, at: 0, path: String::new(), found: Vec::new() };
    scan.value(0)?;
    scan.peek().is_none().then_some(scan.found)
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    path: String,
    found: Vec<Scalar>,
}

impl Scan<'_> {
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
                self.found.push(Scalar { path: self.path.clone(), span, kind: Kind::Text });
                Some(())
            }
            first => {
                let start = self.at;
                let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                while self.bytes.get(self.at).is_some_and(plain) {
                    self.at += 1;
                }
                let kind = if first.is_ascii_alphabetic() { Kind::Word } else { Kind::Number };
                self.found.push(Scalar { path: self.path.clone(), span: start..self.at, kind });
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
            if name.contains(&b'\\') {
                self.path.push_str(&decoded(self.bytes.get(span.clone())?)?);
            } else {
                self.path.push_str(&String::from_utf8_lossy(name));
            }
            self.found.push(Scalar { path: self.path.clone(), span, kind: Kind::Name });
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
            match self.bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(start..self.at);
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }
}

/// What a text in quotes says; `None` if that is no text: half a surrogate, for instance.
pub(crate) fn decoded(quoted: &[u8]) -> Option<String> {
    serde_json::from_slice(quoted).ok()
}
