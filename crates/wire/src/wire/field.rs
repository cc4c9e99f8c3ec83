//! [`Field`]: absent, null, or a value.

use core::fmt;

use crate::json::{Fault, Number, Parser, Writer};
use crate::text::Text;

use super::Wire;
use super::survey::Survey;

/// One field of an object on the wire.
///
/// Nothing but tags is required on this wire, and `null` is not the same as absence: a field that
/// was absent stays absent when the object is written again, one that was `null` stays `null`.
/// [`value`](Self::value) gives only the value.
///
/// ```
/// use duologue_wire::{Field, Text};
///
/// let name: Field<Text> = Field::from(Text::from("Bash"));
/// assert_eq!(name.as_str(), Some("Bash"));
/// assert_eq!(Field::<Text>::Absent.value(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "JSON has no fourth case")]
pub enum Field<T> {
    /// The key is not there.
    #[default]
    Absent,
    /// The key is there, with `null`.
    Null,
    /// The key is there, with a value.
    Value(T),
}

impl<T> Field<T> {
    /// The value, if there is one.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }

    /// The value, to be changed in place, if there is one.
    pub const fn value_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }

    /// The value itself, if there is one.
    pub fn into_value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }

    /// The same field; null if it was absent.
    #[must_use]
    pub fn or_null(self) -> Self {
        match self {
            Self::Absent => Self::Null,
            there => there,
        }
    }

    /// Whether the key is not there.
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Whether the key is there with `null`.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl<T: AsRef<str>> Field<T> {
    /// The text, if there is one.
    pub fn as_str(&self) -> Option<&str> {
        self.value().map(AsRef::as_ref)
    }
}

impl Field<bool> {
    /// Whether the field is `true`. Absent and null are not.
    pub const fn is_true(&self) -> bool {
        matches!(self, Self::Value(true))
    }
}

impl Field<Number> {
    /// The number, if it is whole and not negative.
    pub fn as_u64(&self) -> Option<u64> {
        self.value().and_then(|number| number.as_u64())
    }

    /// The number as a double.
    pub fn as_f64(&self) -> Option<f64> {
        self.value().map(|number| number.as_f64())
    }
}

impl<T> Field<Vec<T>> {
    /// The elements; none if the field is absent or null.
    pub fn items(&self) -> &[T] {
        self.value().map(Vec::as_slice).unwrap_or_default()
    }
}

/// Shows the value; nothing, if there is none.
impl<T: fmt::Display> fmt::Display for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            _ => Ok(()),
        }
    }
}

impl<T> From<T> for Field<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

/// `None` becomes an absent field.
impl<T> From<Option<T>> for Field<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Self::Value)
    }
}

impl From<&str> for Field<Text> {
    fn from(text: &str) -> Self {
        Self::Value(Text::from(text))
    }
}

impl<T: Wire> Field<T> {
    #[inline]
    #[doc(hidden)]
    pub fn decode(parser: &mut Parser<'_>, name: &str) -> Result<Self, Fault> {
        let null = parser.take_null().map_err(|fault| fault.in_field(name))?;
        if null {
            return Ok(Self::Null);
        }
        match T::decode(parser) {
            Ok(value) => Ok(Self::Value(value)),
            Err(fault) => Err(fault.in_field(name)),
        }
    }

    // A call: records have many fields of few types, and their code is a good part of a program.
    #[inline(never)]
    #[doc(hidden)]
    pub fn encode(&self, out: &mut Writer, name: &str) {
        match self {
            Self::Absent => {}
            Self::Null => {
                out.key(name);
                out.null();
            }
            Self::Value(value) => {
                out.key(name);
                value.encode(out);
            }
        }
    }

    #[doc(hidden)]
    pub fn survey(&self, survey: &mut Survey<'_>, name: &str) {
        if let Self::Value(value) = self {
            survey.within(name, |survey| value.survey(survey));
        }
    }
}
