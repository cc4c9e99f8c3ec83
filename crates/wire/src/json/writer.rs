//! [`Writer`]: JSON out, always on one line.

use std::fmt::Write as _;

use super::number::Number;
use crate::text::Text;

/// Writes one JSON value without a newline in it.
///
/// Only the types of this crate drive it; it is public because [`Wire`](crate::Wire) names it.
#[derive(Debug, Default)]
pub struct Writer {
    out: String,
    /// Whether the next key or element needs a comma before it.
    comma: bool,
}

impl Writer {
    pub(crate) fn finish(self) -> String {
        self.out
    }

    fn separate(&mut self) {
        if self.comma {
            self.out.push(',');
        }
        self.comma = true;
    }

    #[doc(hidden)]
    pub fn begin_object(&mut self) {
        self.out.push('{');
        self.comma = false;
    }

    #[doc(hidden)]
    pub fn end_object(&mut self) {
        self.out.push('}');
        self.comma = true;
    }

    pub(crate) fn begin_array(&mut self) {
        self.out.push('[');
        self.comma = false;
    }

    pub(crate) fn end_array(&mut self) {
        self.out.push(']');
        self.comma = true;
    }

    /// Before each element of an array.
    pub(crate) fn element(&mut self) {
        self.separate();
        self.comma = false;
    }

    #[doc(hidden)]
    pub fn key(&mut self, name: &str) {
        self.separate();
        self.quoted(name);
        self.out.push(':');
        self.comma = false;
    }

    /// A key that is data: it is written as it was read.
    pub(crate) fn data_key(&mut self, name: &Text) {
        match name.lone_surrogates() {
            Some(escaped) => {
                self.separate();
                self.escaped_string(escaped);
                self.out.push(':');
                self.comma = false;
            }
            None => self.key(name),
        }
    }

    /// A key and its string: a tag.
    #[doc(hidden)]
    pub fn tag(&mut self, name: &str, value: &str) {
        self.key(name);
        self.string(value);
    }

    #[doc(hidden)]
    pub fn string(&mut self, text: &str) {
        self.quoted(text);
        self.comma = true;
    }

    /// A string whose inside is escaped already.
    pub(crate) fn escaped_string(&mut self, escaped: &str) {
        self.out.push('"');
        self.out.push_str(escaped);
        self.out.push('"');
        self.comma = true;
    }

    pub(crate) fn number(&mut self, number: Number) {
        // Writing to a String cannot fail.
        let _ = write!(self.out, "{number}");
        self.comma = true;
    }

    pub(crate) fn boolean(&mut self, value: bool) {
        self.verbatim(if value { "true" } else { "false" });
    }

    #[doc(hidden)]
    pub fn null(&mut self) {
        self.verbatim("null");
    }

    /// Text that is JSON already and has no newline in it.
    pub(crate) fn verbatim(&mut self, json: &str) {
        self.out.push_str(json);
        self.comma = true;
    }

    fn quoted(&mut self, text: &str) {
        self.out.push('"');
        escape_into(&mut self.out, text);
        self.out.push('"');
    }
}

/// Beyond what JSON asks for, this escapes what breaks careless readers: line separators that some
/// languages split on, and the byte order mark. The newest CLI does the same.
fn escape_into(out: &mut String, text: &str) {
    let mut plain = 0;
    for (at, character) in text.char_indices() {
        let short = match character {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\0'..='\u{1f}' | '\u{7f}' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => "",
            _ => continue,
        };
        out.push_str(text.get(plain..at).unwrap_or_default());
        plain = at + character.len_utf8();
        if short.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        } else {
            out.push_str(short);
        }
    }
    out.push_str(text.get(plain..).unwrap_or_default());
}
