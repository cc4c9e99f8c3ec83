//! [`Cursor`]: how clients name a place in a log.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

/// One life of a log. A log that is restored from a backup gets another incarnation, since it may
/// have other entries at the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(u64);

impl Incarnation {
    /// A new one: the time in milliseconds and 16 random bits, so that later ones sort after earlier ones.
    pub fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
        let random = uuid::Uuid::new_v4().as_u64_pair().1 & 0xffff;
        Self((u64::try_from(now).unwrap_or(u64::MAX) << 16) | random)
    }

    pub(crate) const fn from_u64(number: u64) -> Self {
        Self(number)
    }

    pub(crate) const fn as_u64(self) -> u64 {
        self.0
    }
}

impl Default for Incarnation {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A place in the log of a session: after the entry `seq`. Opaque to clients; sorts as text.
///
/// ```
/// use duologue_hub::log::{Cursor, Incarnation};
///
/// let incarnation = Incarnation::new();
/// let cursor = Cursor::new(incarnation, 12);
/// assert_eq!(cursor.to_string().parse(), Ok(cursor));
/// assert!(cursor.to_string() < Cursor::new(incarnation, 1_000).to_string());
/// assert_eq!(cursor.seq_in(incarnation), Ok(12));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    incarnation: Incarnation,
    seq: u64,
}

/// Why a cursor cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CursorError {
    /// It is not a cursor.
    #[error("this is not a cursor: pass one on exactly as you received it")]
    Malformed,
    /// It belongs to another incarnation of the log.
    #[error("the cursor is of another log: this one was restored or replaced")]
    OtherIncarnation,
}

impl Cursor {
    /// The place after an entry. 0 is before the first.
    pub const fn new(incarnation: Incarnation, seq: u64) -> Self {
        Self { incarnation, seq }
    }

    /// The number of the entry.
    ///
    /// # Errors
    ///
    /// If the cursor is of another incarnation.
    pub fn seq_in(self, incarnation: Incarnation) -> Result<u64, CursorError> {
        if self.incarnation != incarnation {
            return Err(CursorError::OtherIncarnation);
        }
        Ok(self.seq)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.incarnation, self.seq)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let hex = |text: &str| {
            let plain =
                text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            if plain { u64::from_str_radix(text, 16).ok() } else { None }
        };
        let (incarnation, seq) = text.split_once('-').ok_or(CursorError::Malformed)?;
        match (hex(incarnation), hex(seq)) {
            (Some(incarnation), Some(seq)) => Ok(Self::new(Incarnation(incarnation), seq)),
            _ => Err(CursorError::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cursors_are_read_as_they_were_written_and_sort_as_text(
            a in any::<(u64, u64)>(), b in any::<(u64, u64)>(),
        ) {
            let (a, b) = (Cursor::new(Incarnation(a.0), a.1), Cursor::new(Incarnation(b.0), b.1));
            prop_assert_eq!(a.to_string().parse(), Ok(a));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }

        #[test]
        fn anything_else_is_malformed(text in "[0-9a-fA-F+ -]{0,40}") {
            match text.parse::<Cursor>() {
                Ok(cursor) => prop_assert_eq!(cursor.to_string(), text),
                Err(error) => prop_assert_eq!(error, CursorError::Malformed),
            }
        }
    }

    #[test]
    fn a_cursor_of_another_incarnation_is_refused() {
        let cursor = Cursor::new(Incarnation(1), 5);
        assert_eq!(cursor.seq_in(Incarnation(2)), Err(CursorError::OtherIncarnation));
    }
}
