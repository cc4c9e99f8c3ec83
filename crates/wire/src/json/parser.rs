//! [`Parser`]: one pass over one line.

use std::borrow::Cow;

use super::fault::{Fault, FaultKind};
use super::number::Number;
use super::object::Key;
use super::raw::RawJson;
use super::scan::{SHORT, long_run, short_run, unescape};
use crate::text::{Source, Text};

/// How deep a value may nest before it is refused.
pub(crate) const MAX_DEPTH: usize = 512;

/// How deep a value may nest that is read into types. Types that hold themselves are read by
/// recursion, which must fit the stack of a small thread in a debug build.
const MAX_TYPED_DEPTH: usize = 128;

/// How many values a line may have that are read into types: elements of lists, entries of maps and
/// fields without a type. Each takes far more memory than its bytes, so that a line as long as the
/// cap would take gigabytes. What stays raw is not counted.
const MAX_VALUES: u32 = 1 << 18;

/// A strict JSON reader over one line, whose texts are slices of that line.
///
/// Only the types of this crate drive it; it is public because [`Wire`](crate::Wire) names it.
#[derive(Clone, Debug)]
pub struct Parser<'l> {
    text: &'l str,
    pub(super) at: usize,
    /// How many objects and arrays are open around this place.
    depth: usize,
    /// How many values were counted.
    values: u32,
    /// The shared line that texts are slices of; without one, they are copies.
    source: Option<&'l Source>,
}

/// What the next value is, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Bool => "true or false",
            Self::Null => "null",
        }
    }
}

impl<'l> Parser<'l> {
    pub(crate) fn new(source: &'l Source) -> Self {
        Self { text: source.as_str(), at: 0, depth: 0, values: 0, source: Some(source) }
    }

    /// A reader that borrows: good for looking, as its texts would be copies.
    #[doc(hidden)]
    pub fn borrowed(text: &'l str) -> Self {
        Self { text, at: 0, depth: 0, values: 0, source: None }
    }

    /// Reads only this part of the text, which must begin and end between characters.
    pub(crate) fn within(mut self, start: usize, end: usize) -> Self {
        self.at = start;
        self.text = self.text.get(..end).unwrap_or_default();
        self
    }

    #[inline]
    const fn bytes(&self) -> &'l [u8] {
        self.text.as_bytes()
    }

    /// What has not been read yet.
    #[inline]
    pub(super) fn rest(&self) -> &'l [u8] {
        self.bytes().get(self.at..).unwrap_or_default()
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        Fault::new(kind, self.at)
    }

    /// The fault for unexpected input: the text ended, or it is not JSON.
    #[cold]
    pub(super) fn unexpected(&self, expected: &'static str) -> Fault {
        if self.at >= self.bytes().len() {
            self.fault(FaultKind::Truncated)
        } else {
            self.fault(FaultKind::Syntax(expected))
        }
    }

    #[inline]
    pub(super) fn byte(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    #[inline]
    pub(crate) fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
    }

    /// Nothing but white space may follow.
    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        self.skip_space();
        if self.at == self.bytes().len() { Ok(()) } else { Err(self.fault(FaultKind::Trailing)) }
    }

    /// The kind of the next value, which is not consumed.
    #[inline]
    pub(crate) fn kind(&mut self) -> Result<Kind, Fault> {
        self.skip_space();
        match self.byte() {
            Some(b'"') => Ok(Kind::String),
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            _ => Err(self.unexpected("a value")),
        }
    }

    #[inline]
    pub(super) fn require(&mut self, kind: Kind) -> Result<(), Fault> {
        let found = self.kind()?;
        if found == kind { Ok(()) } else { Err(self.wrong_type(kind.name(), found)) }
    }

    /// The next value has a type that does not belong here.
    #[cold]
    pub(crate) fn wrong_type(&self, expected: &'static str, found: Kind) -> Fault {
        // The first byte looks like a value. If the rest is not valid JSON, report that instead.
        match self.clone().skip() {
            Ok(()) => self.fault(FaultKind::WrongType { expected, found: found.name() }),
            Err(fault) => fault,
        }
    }

    #[cold]
    #[doc(hidden)]
    pub fn missing(&self, name: &'static str) -> Fault {
        self.fault(FaultKind::Missing(name))
    }

    /// Consumes a `null` if one is next.
    #[inline]
    pub(crate) fn take_null(&mut self) -> Result<bool, Fault> {
        self.skip_space();
        if self.byte() == Some(b'n') { self.literal(b"null").map(|()| true) } else { Ok(false) }
    }

    fn literal(&mut self, word: &'static [u8]) -> Result<(), Fault> {
        let rest = self.rest();
        if rest.starts_with(word) {
            self.at += word.len();
            Ok(())
        } else if word.starts_with(rest) {
            Err(self.fault(FaultKind::Truncated))
        } else {
            Err(self.fault(FaultKind::Syntax("a value")))
        }
    }

    pub(crate) fn boolean(&mut self) -> Result<bool, Fault> {
        self.require(Kind::Bool)?;
        if self.byte() == Some(b't') {
            self.literal(b"true").map(|()| true)
        } else {
            self.literal(b"false").map(|()| false)
        }
    }

    pub(crate) fn number(&mut self) -> Result<Number, Fault> {
        self.require(Kind::Number)?;
        let start = self.at;
        self.skip_number()?;
        let text = self.text_between(start, self.at);
        Number::parse(text).ok_or_else(|| {
            Fault::new(
                FaultKind::WrongType { expected: "a number", found: "one out of range" },
                start,
            )
        })
    }

    /// The text of a number.
    pub(crate) fn number_text(&mut self) -> Result<Text, Fault> {
        self.require(Kind::Number)?;
        let start = self.at;
        self.skip_number()?;
        Ok(self.cut(start, self.at))
    }

    /// The text of a number, to look at.
    pub(crate) fn borrowed_number(&mut self) -> Result<Cow<'l, str>, Fault> {
        self.require(Kind::Number)?;
        let start = self.at;
        self.skip_number()?;
        Ok(Cow::Borrowed(self.text_between(start, self.at)))
    }

    fn text_between(&self, start: usize, end: usize) -> &'l str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn cut(&self, start: usize, end: usize) -> Text {
        match self.source {
            Some(source) => Text::slice(source, start, end),
            None => Text::from(self.text_between(start, end)),
        }
    }

    #[doc(hidden)]
    pub fn string(&mut self) -> Result<Text, Fault> {
        self.require(Kind::String)?;
        let (start, end, escapes) = self.skip_string()?;
        if !escapes {
            return Ok(self.cut(start, end));
        }
        let escaped = self.text_between(start, end);
        match unescape(escaped) {
            Some((text, false)) => Ok(Text::from(text)),
            Some((lossy, true)) => Ok(Text::with_lone_surrogates(escaped, lossy)),
            None => Err(Fault::new(FaultKind::Syntax("an escape"), start)),
        }
    }

    /// A string to look at, not to keep.
    pub(crate) fn borrowed_string(&mut self) -> Result<Cow<'l, str>, Fault> {
        self.require(Kind::String)?;
        match self.key()? {
            Key::Plain(text) => Ok(Cow::Borrowed(text)),
            Key::Unescaped(text) | Key::LoneSurrogates(_, text) => Ok(Cow::Owned(text)),
        }
    }

    /// The string that starts here, as a key.
    #[inline]
    pub(super) fn key(&mut self) -> Result<Key<'l>, Fault> {
        let (start, end, escapes) = self.skip_string()?;
        let text = self.text_between(start, end);
        if !escapes {
            return Ok(Key::Plain(text));
        }
        match unescape(text) {
            Some((unescaped, false)) => Ok(Key::Unescaped(unescaped)),
            Some((lossy, true)) => Ok(Key::LoneSurrogates(text, lossy)),
            None => Err(Fault::new(FaultKind::Syntax("an escape"), start)),
        }
    }

    /// Skips a string. Returns the range between its quotes and whether it has escapes.
    #[inline]
    fn skip_string(&mut self) -> Result<(usize, usize, bool), Fault> {
        self.at += 1;
        let start = self.at;
        let mut escapes = false;
        loop {
            if self.at - start >= SHORT {
                let (run, escaped) = long_run(self.rest());
                self.at += run;
                escapes |= escaped;
            }
            let rest = self.rest();
            let run = short_run(rest);
            self.at += run;
            match rest.get(run) {
                Some(b'"') => {
                    let end = self.at;
                    self.at += 1;
                    return Ok((start, end, escapes));
                }
                Some(b'\\') => {
                    escapes = true;
                    match rest.get(run + 1) {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                            self.at += 2
                        }
                        _ => self.skip_long_escape()?,
                    }
                }
                Some(0x20..) => {}
                Some(_) => return Err(self.fault(FaultKind::Syntax("no control character"))),
                None => return Err(self.fault(FaultKind::Truncated)),
            }
        }
    }

    fn skip_long_escape(&mut self) -> Result<(), Fault> {
        self.at += 1;
        if self.byte() != Some(b'u') {
            return Err(self.unexpected("an escape"));
        }
        self.at += 1;
        for _ in 0..4 {
            if !self.byte().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                return Err(self.unexpected("a hexadecimal digit"));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn skip_number(&mut self) -> Result<(), Fault> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.skip_digits()?,
            _ => return Err(self.unexpected("a digit")),
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.skip_digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.skip_digits()?;
        }
        Ok(())
    }

    fn skip_digits(&mut self) -> Result<(), Fault> {
        let digits = self.rest();
        let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.unexpected("a digit"));
        }
        self.at += count;
        Ok(())
    }

    /// Passes an opening bracket.
    #[inline]
    pub(super) fn open(&mut self) -> Result<(), Fault> {
        if self.depth >= MAX_TYPED_DEPTH {
            return Err(self.fault(FaultKind::TooDeep));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Counts a value that allocates.
    #[inline]
    #[doc(hidden)]
    pub fn count(&mut self) -> Result<(), Fault> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.fault(FaultKind::TooMany));
        }
        Ok(())
    }

    /// Passes a closing bracket.
    #[inline]
    pub(super) fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.at += 1;
    }

    /// Reads an array, handing each element's position to `element`.
    pub(crate) fn array(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.require(Kind::Array)?;
        self.open()?;
        self.skip_space();
        if self.byte() == Some(b']') {
            self.close();
            return Ok(());
        }
        for index in 0.. {
            self.count()?;
            element(self).map_err(|fault| fault.at_index(index))?;
            self.skip_space();
            match self.byte() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.close();
                    break;
                }
                _ => return Err(self.unexpected("`,` or `]`")),
            }
        }
        Ok(())
    }

    /// The next value, of any type, as text.
    #[doc(hidden)]
    pub fn raw(&mut self) -> Result<RawJson, Fault> {
        self.skip_space();
        let start = self.at;
        self.skip()?;
        Ok(RawJson::from_valid(self.cut(start, self.at)))
    }

    /// Passes one value, checking its syntax, however deep it is nested.
    pub(crate) fn skip(&mut self) -> Result<(), Fault> {
        // One bit for each open bracket: set for an object, clear for an array.
        let mut open = [0_u64; MAX_DEPTH / 64];
        let mut depth = 0;
        loop {
            let kind = self.kind()?;
            match kind {
                Kind::String => {
                    self.skip_string()?;
                }
                Kind::Number => self.skip_number()?,
                Kind::Bool => {
                    self.boolean()?;
                }
                Kind::Null => self.literal(b"null")?,
                Kind::Object | Kind::Array => {
                    let room = self.depth + depth < MAX_DEPTH;
                    let Some(word) = open.get_mut(depth / 64).filter(|_| room) else {
                        return Err(self.fault(FaultKind::TooDeep));
                    };
                    self.at += 1;
                    self.skip_space();
                    let close = if kind == Kind::Object { b'}' } else { b']' };
                    if self.byte() == Some(close) {
                        self.at += 1;
                    } else {
                        let bit = 1 << (depth % 64);
                        depth += 1;
                        if kind == Kind::Object {
                            *word |= bit;
                            self.skip_key()?;
                        } else {
                            *word &= !bit;
                        }
                        continue;
                    }
                }
            }
            // A value has ended: close what ends with it, or continue with the next one.
            loop {
                let Some(top) = depth.checked_sub(1) else {
                    return Ok(());
                };
                let is_object =
                    open.get(top / 64).is_some_and(|word| word & (1 << (top % 64)) != 0);
                self.skip_space();
                match (self.byte(), is_object) {
                    (Some(b','), true) => {
                        self.at += 1;
                        self.skip_space();
                        self.skip_key()?;
                        break;
                    }
                    (Some(b','), false) => {
                        self.at += 1;
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        depth = top;
                    }
                    (_, true) => return Err(self.unexpected("`,` or `}`")),
                    (_, false) => return Err(self.unexpected("`,` or `]`")),
                }
            }
        }
    }

    fn skip_key(&mut self) -> Result<(), Fault> {
        if self.byte() != Some(b'"') {
            return Err(self.unexpected("a key"));
        }
        self.skip_string()?;
        self.colon()
    }
}
