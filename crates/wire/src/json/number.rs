//! [`Number`]: a JSON number, exact where it can be.

use std::fmt;

/// A JSON number.
///
/// Counts, durations and prices are all JSON numbers. A new CLI can send a fraction where an older one sent an integer, so no
/// field requires one kind.
///
/// ```
/// use duologue_wire::Number;
///
/// let cost = Number::from(0.25);
/// assert_eq!(cost.as_f64(), 0.25);
/// assert_eq!(cost.as_u64(), None);
/// assert_eq!(Number::from(3_u64).as_u64(), Some(3));
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct Number(Repr);

#[derive(Clone, Copy, PartialEq)]
enum Repr {
    /// Never negative.
    Whole(u64),
    /// Always negative.
    Negative(i64),
    /// Always finite.
    Fraction(f64),
}

impl Number {
    /// The nearest double.
    pub fn as_f64(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "the nearest double is what was asked for")]
        match self.0 {
            Repr::Whole(value) => value as f64,
            Repr::Negative(value) => value as f64,
            Repr::Fraction(value) => value,
        }
    }

    /// The value, if it was written as a whole number that is not negative.
    pub fn as_u64(self) -> Option<u64> {
        match self.0 {
            Repr::Whole(value) => Some(value),
            Repr::Negative(_) | Repr::Fraction(_) => None,
        }
    }

    /// The value, if it was written as a whole number that fits.
    pub fn as_i64(self) -> Option<i64> {
        match self.0 {
            Repr::Whole(value) => i64::try_from(value).ok(),
            Repr::Negative(value) => Some(value),
            Repr::Fraction(_) => None,
        }
    }

    /// Reads a text that is known to have the form of a JSON number; `None` if it is out of range.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Ok(value) = text.parse::<u64>() {
            return Some(Self(Repr::Whole(value)));
        }
        match text.parse::<i64>() {
            // "-0" is a fraction, so that its sign is kept.
            Ok(value) if value < 0 => return Some(Self(Repr::Negative(value))),
            _ => {}
        }
        let value = text.parse::<f64>().ok()?;
        value.is_finite().then_some(Self(Repr::Fraction(value)))
    }
}

macro_rules! from_integer {
    ($($unsigned:ty),* ; $($signed:ty),*) => {
        $(impl From<$unsigned> for Number {
            fn from(value: $unsigned) -> Self {
                Self(Repr::Whole(value.into()))
            }
        })*
        $(impl From<$signed> for Number {
            fn from(value: $signed) -> Self {
                match u64::try_from(value) {
                    Ok(value) => Self(Repr::Whole(value)),
                    Err(_) => Self(Repr::Negative(value.into())),
                }
            }
        })*
    };
}

from_integer!(u8, u16, u32, u64 ; i8, i16, i32, i64);

/// JSON has no infinities and no NaN: they become 0.
impl From<f64> for Number {
    fn from(value: f64) -> Self {
        if value.is_finite() { Self(Repr::Fraction(value)) } else { Self(Repr::Whole(0)) }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Whole(value) => fmt::Display::fmt(&value, f),
            Repr::Negative(value) => fmt::Display::fmt(&value, f),
            // Debug is the shortest text that reads back as the same double, with an exponent
            // where that is shorter; Display would print 1e300 in full.
            Repr::Fraction(value) => fmt::Debug::fmt(&value, f),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
