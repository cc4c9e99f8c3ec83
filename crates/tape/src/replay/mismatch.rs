//! [`Mismatch`]: the host did something else than on the tape.

use std::fmt;

use serde_json::Value;

use super::meaning::{Meaning, is_made_up};
use crate::excerpt;

/// How much of a value a report shows.
const SHOWN: usize = 300;

/// The host did something else than on the tape.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The line of the file that was expected.
    pub tape_line: Option<u64>,
    /// What was expected.
    pub expected: String,
    /// What the host did.
    pub got: String,
    /// Where the two differ: path, expected, got.
    pub differences: Vec<(String, String, String)>,
}

impl Mismatch {
    pub(super) fn of(expected: Option<(u64, &Meaning)>, got: Option<&Meaning>) -> Self {
        let mut differences = Vec::new();
        if let (Some((_, expected)), Some(got)) = (expected, got)
            && std::mem::discriminant(expected) == std::mem::discriminant(got)
        {
            differ("", &expected.body(), &got.body(), &mut differences);
        }
        let name = |meaning: &Meaning| format!("{}: {}", meaning.name(), short(&meaning.body()));
        Self {
            tape_line: expected.map(|(line, _)| line),
            expected: expected.map_or("nothing more".to_owned(), |(_, meaning)| name(meaning)),
            got: got.map_or("the end of its lines".to_owned(), name),
            differences,
        }
    }
}

impl Mismatch {
    /// A signal was expected, and did not come before the host's lines ended.
    pub(super) fn of_signal(tape_line: u64, name: &str) -> Self {
        Self {
            tape_line: Some(tape_line),
            expected: format!("the signal {name}"),
            got: "the end of its lines".to_owned(),
            differences: Vec::new(),
        }
    }
}

impl std::error::Error for Mismatch {}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the host does something else than on the tape")?;
        if let Some(line) = self.tape_line {
            write!(f, " (line {line} of the tape)")?;
        }
        write!(f, "\n  expected: {}\n  got:      {}", self.expected, self.got)?;
        for (path, expected, got) in &self.differences {
            let path = if path.is_empty() { "." } else { path };
            write!(f, "\n  at {path}\n    - {expected}\n    + {got}")?;
        }
        Ok(())
    }
}

/// Where two values differ, as far as the first says something that counts.
fn differ(path: &str, expected: &Value, got: &Value, out: &mut Vec<(String, String, String)>) {
    match (expected, got) {
        (Value::Object(expected), Value::Object(other)) => {
            let counts = |(key, value): &(&String, &Value)| !value.is_null() && !is_made_up(key);
            for (key, value) in expected.iter().filter(counts) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differ(&path, value, other.get(key).unwrap_or(&Value::Null), out);
            }
        }
        (Value::Array(expected), Value::Array(other)) if expected.len() == other.len() => {
            for (position, (expected, got)) in expected.iter().zip(other).enumerate() {
                differ(&format!("{path}[{position}]"), expected, got, out);
            }
        }
        (expected, got) if expected == got => {}
        _ => {
            let (expected, got) = excerpt::of_two(&expected.to_string(), &got.to_string(), SHOWN);
            out.push((path.to_owned(), expected, got));
        }
    }
}

fn short(value: &Value) -> String {
    excerpt::of(&value.to_string(), SHOWN)
}
