//! [`Key`]: the name of a field, as it was spelled.

use std::ops::Deref;

use crate::text::Text;

/// The key of a field. It is a `str` to look at; who keeps it asks for its [`text`](Self::text).
#[derive(Debug)]
pub(crate) enum Key<'l> {
    /// As it stands.
    Plain(&'l str),
    /// It had escapes.
    Unescaped(String),
    /// It had escapes that are no Unicode text: they, and the nearest reading.
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
