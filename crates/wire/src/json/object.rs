//! Objects: their keys, their fields and their tags.

use std::borrow::Cow;
use std::ops::Deref;

use super::fault::{Fault, FaultKind};
use super::parser::{Kind, Parser};
use crate::text::Text;

/// The key of a field. It derefs to `str`; [`text`](Self::text) makes it owned.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "not part of the API")]
#[doc(hidden)]
pub enum Key<'l> {
    /// Without escapes.
    Plain(&'l str),
    /// It had escapes.
    Unescaped(String),
    /// It had escapes that are not Unicode text: the escaped key, and its closest reading.
    LoneSurrogates(&'l str, String),
}

impl Key<'_> {
    /// The key, to be kept: it is written as it was read.
    pub(crate) fn text(self) -> Text {
        match self {
            Self::Plain(text) => Text::from(text),
            Self::Unescaped(text) => Text::from(text),
            Self::LoneSurrogates(escaped, lossy) => Text::with_lone_surrogates(escaped, lossy),
        }
    }
}

impl Deref for Key<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Unescaped(text) | Self::LoneSurrogates(_, text) => text,
        }
    }
}

/// The state of reading the fields of a record, and which field is likely to come next.
#[derive(Debug)]
#[doc(hidden)]
pub struct Fields {
    tags: &'static [(&'static str, &'static str)],
    names: &'static [&'static str],
    first: bool,
    /// One bit for each tag that was there.
    seen: u8,
    next_tag: usize,
    next_name: usize,
}

/// One field of a record.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "not part of the API")]
#[doc(hidden)]
pub enum FieldKey<'l> {
    /// By its place in the list of names.
    Known(usize),
    Unknown(Key<'l>),
}

impl<'l> Parser<'l> {
    /// Enters an object. Then ask for each key with [`next_key`](Self::next_key).
    #[inline]
    pub(crate) fn enter_object(&mut self) -> Result<(), Fault> {
        self.require(Kind::Object)?;
        self.open()
    }

    /// The next key of the object that was entered, or `None` at its end. The caller consumes the
    /// value before it asks again. `first` starts as true.
    #[inline]
    pub(crate) fn next_key(&mut self, first: &mut bool) -> Result<Option<Key<'l>>, Fault> {
        if !self.next_entry(first)? {
            return Ok(None);
        }
        let key = self.key()?;
        self.colon()?;
        Ok(Some(key))
    }

    /// Goes to the quote before the next key; false at the end of the object.
    #[inline]
    fn next_entry(&mut self, first: &mut bool) -> Result<bool, Fault> {
        self.skip_space();
        match self.byte() {
            Some(b'}') => {
                self.close();
                return Ok(false);
            }
            Some(b',') if !*first => {
                self.at += 1;
                self.skip_space();
            }
            _ if *first => {}
            _ => return Err(self.unexpected("`,` or `}`")),
        }
        *first = false;
        if self.byte() == Some(b'"') { Ok(true) } else { Err(self.unexpected("a key")) }
    }

    /// Enters an object with these tags and fields. Then ask for each with
    /// [`next_field`](Self::next_field).
    #[inline]
    #[doc(hidden)]
    pub fn enter_record(
        &mut self,
        tags: &'static [(&'static str, &'static str)],
        names: &'static [&'static str],
    ) -> Result<Fields, Fault> {
        self.enter_object()?;
        Ok(Fields { tags, names, first: true, seen: 0, next_tag: 0, next_name: 0 })
    }

    /// The next field of the record that was entered, or `None` at its end. The caller consumes its
    /// value before it asks again; tags are checked and passed over. All of them must have been there.
    ///
    /// Writers are regular: after one field comes, mostly, the next of the table. To compare with
    /// that one is much quicker than to look for the end of the key and then for its name.
    #[doc(hidden)]
    pub fn next_field(&mut self, fields: &mut Fields) -> Result<Option<FieldKey<'l>>, Fault> {
        while self.next_entry(&mut fields.first)? {
            if let Some((tag, value)) = fields.tags.get(fields.next_tag)
                && self.take_key(tag)
            {
                fields.seen |= 1 << fields.next_tag;
                fields.next_tag += 1;
                self.expect_tag(tag, value)?;
                continue;
            }
            if let Some(name) = fields.names.get(fields.next_name)
                && self.take_key(name)
            {
                fields.next_name += 1;
                return Ok(Some(FieldKey::Known(fields.next_name - 1)));
            }
            let key = self.key()?;
            self.colon()?;
            let mut tags = fields.tags.iter().enumerate();
            if let Some((index, (tag, value))) = tags.find(|(_, (tag, _))| **tag == *key) {
                fields.seen |= 1 << index;
                self.expect_tag(tag, value)?;
                continue;
            }
            let Some(index) = fields.names.iter().position(|name| **name == *key) else {
                return Ok(Some(FieldKey::Unknown(key)));
            };
            fields.next_name = index + 1;
            return Ok(Some(FieldKey::Known(index)));
        }
        let mut tags = fields.tags.iter().enumerate();
        match tags.find(|(index, _)| fields.seen & (1 << index) == 0) {
            Some((_, (tag, _))) => Err(self.missing(tag)),
            None => Ok(None),
        }
    }

    /// Consumes a key and its colon if exactly this one is next, without white space or escapes.
    #[inline]
    fn take_key(&mut self, name: &str) -> bool {
        let found = self.rest().get(1..).and_then(|rest| rest.strip_prefix(name.as_bytes()));
        let found = found.is_some_and(|rest| rest.starts_with(b"\":"));
        if found {
            self.at += name.len() + 3;
        }
        found
    }

    #[inline]
    pub(super) fn colon(&mut self) -> Result<(), Fault> {
        self.skip_space();
        if self.byte() == Some(b':') {
            self.at += 1;
            Ok(())
        } else {
            Err(self.unexpected("`:`"))
        }
    }

    /// The value of a string field of the object that starts here; nothing is consumed.
    ///
    /// The wire names the kind of an object in one of its fields, mostly the first, but it may
    /// stand anywhere.
    #[doc(hidden)]
    pub fn peek_tag(&self, name: &'static str) -> Result<Cow<'l, str>, Fault> {
        let mut ahead = self.clone();
        ahead.enter_object()?;
        if ahead.byte() == Some(b'"') && ahead.take_key(name) {
            return ahead.borrowed_string().map_err(|fault| fault.in_field(name));
        }
        let mut first = true;
        while let Some(key) = ahead.next_key(&mut first)? {
            if *key == *name {
                return ahead.borrowed_string().map_err(|fault| fault.in_field(name));
            }
            ahead.skip()?;
        }
        Err(self.missing(name))
    }

    /// Fails if a tag of the object that starts here occurs with another value. Consumes nothing.
    #[doc(hidden)]
    pub fn agree_on_tag(&self, name: &'static str, value: &str) -> Result<(), Fault> {
        let mut ahead = self.clone();
        ahead.enter_object()?;
        let mut first = true;
        while let Some(key) = ahead.next_key(&mut first)? {
            if *key == *name {
                ahead.same_tag(name, value)?;
            } else {
                ahead.skip()?;
            }
        }
        Ok(())
    }

    /// Consumes the tag of an object whose kind is already known. The value needs no escapes.
    #[inline]
    fn expect_tag(&mut self, name: &'static str, value: &'static str) -> Result<(), Fault> {
        let rest = self.rest().strip_prefix(b"\"");
        let rest = rest.and_then(|rest| rest.strip_prefix(value.as_bytes()));
        if rest.is_some_and(|rest| rest.starts_with(b"\"")) {
            self.at += value.len() + 2;
            return Ok(());
        }
        self.same_tag(name, value)
    }

    /// Consumes a tag that was read before, with this value.
    pub(crate) fn same_tag(&mut self, name: &'static str, value: &str) -> Result<(), Fault> {
        let at = self.at;
        let found = self.borrowed_string().map_err(|fault| fault.in_field(name))?;
        if found == value { Ok(()) } else { Err(Fault::new(FaultKind::Contradiction(name), at)) }
    }
}
