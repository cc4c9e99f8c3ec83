//! Compares two tapes by their events, not by their bytes.
//!
//! Values that differ in every run (ids, times, costs, tokens) are ignored, and so is the order of independent events in a
//! turn. Prompts and requests of the host, and the answers to its requests, belong to no turn: whether one has started when
//! they are written depends on timing.
//!
//! ```
//! use duologue_tape::Reader;
//! use duologue_tape::diff::compare;
//!
//! let said = |text: &str| format!(r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#);
//! let (hi, ho) = (said("Hi"), said("Ho"));
//! let read = |line| Reader::new(str::as_bytes(line));
//! assert!(compare(&mut read(&hi), &mut read(&hi))?.is_empty());
//! let differences = compare(&mut read(&hi), &mut read(&ho))?;
//! assert_eq!(differences[0].to_string(), r#"turn 1: text: text: "Hi" became "Ho""#);
//! # Ok::<(), duologue_tape::ReadError>(())
//! ```

mod comparison;
mod normal;
pub mod shape;

use std::fmt;
use std::io::Read;

use serde_json::{Value, json};

use crate::error::ReadError;
use crate::excerpt;
use crate::reader::Reader;

pub use comparison::{Comparison, Side};

/// The most characters of a value in a report.
const SHOWN: usize = 80;

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Only the first has it.
    Missing,
    /// Only the second has it.
    Extra,
    /// Both have it, with different fields.
    Different,
    /// Both have it, but in another order among the texts of the model.
    Moved,
}

impl Kind {
    /// Its name in machine-readable reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Different => "different",
            Self::Moved => "moved",
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// The kind.
    pub kind: Kind,
    /// The turn, counted from 1; `None` for an event outside of turns.
    pub turn: Option<u64>,
    /// The event's name: `tool_call`.
    pub event: String,
    /// Which field differs, if both have the event: `input.command`.
    pub field: Option<String>,
    /// The value of the first.
    pub a: Value,
    /// The value of the second.
    pub b: Value,
}

impl Difference {
    /// The difference as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "kind": self.kind.name(), "turn": self.turn, "event": self.event,
            "field": self.field, "a": self.a, "b": self.b,
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.turn {
            Some(turn) => write!(f, "turn {turn}: {}", self.event)?,
            None => write!(f, "{}", self.event)?,
        }
        match (self.kind, &self.field) {
            (Kind::Missing, _) => write!(f, " is missing: {}", short(&self.a)),
            (Kind::Extra, _) => write!(f, " is extra: {}", short(&self.b)),
            (Kind::Moved, _) => write!(f, " is at another place: {}", short(&self.a)),
            (Kind::Different, field) => {
                let field = field.as_deref().unwrap_or(".");
                let (a, b) = excerpt::of_two(&self.a.to_string(), &self.b.to_string(), SHOWN);
                write!(f, ": {field}: {a} became {b}")
            }
        }
    }
}

/// All differences between two tapes or captures, by turn. For long ones, see [`Comparison`].
///
/// # Errors
/// If one of them cannot be read.
pub fn compare<A: Read, B: Read>(
    a: &mut Reader<A>,
    b: &mut Reader<B>,
) -> Result<Vec<Difference>, ReadError> {
    let mut comparison = Comparison::new();
    loop {
        let (first, second) = (a.next_entry()?, b.next_entry()?);
        if first.is_none() && second.is_none() {
            break;
        }
        for (side, entry) in [(Side::A, first), (Side::B, second)] {
            match entry {
                Some(entry) => comparison.take(side, &entry.event),
                None => comparison.end(side),
            }
        }
    }
    comparison.finish();
    Ok(std::iter::from_fn(|| comparison.next_difference()).collect())
}

fn short(value: &Value) -> String {
    excerpt::of(&value.to_string(), SHOWN)
}
