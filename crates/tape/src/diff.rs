//! Compares two tapes by meaning: what happened, not which bytes said so.
//!
//! Both are folded into events. What every run makes anew (ids, times, costs, tokens) does not count;
//! neither does the order of things within a turn that do not depend on each other.
//!
//! ```
//! use duologue_tape::Reader;
//! use duologue_tape::diff::{Summary, compare};
//!
//! let said = |text: &str| format!(r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#);
//! let fold = |text: &str| Summary::read(&mut Reader::new(said(text).as_bytes()));
//! assert!(compare(&fold("Hi")?, &fold("Hi")?).is_empty());
//! let differences = compare(&fold("Hi")?, &fold("Ho")?);
//! assert_eq!(differences[0].to_string(), r#"turn 1: text: text: "Hi" became "Ho""#);
//! # Ok::<(), duologue_tape::ReadError>(())
//! ```

mod normal;
pub mod shape;

use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;

use duologue_protocol::Direction;
use duologue_protocol::transcript::Transcript;
use serde_json::{Value, json};

use crate::entry::{Event, Exit};
use crate::error::ReadError;
use crate::reader::Reader;

use normal::Normal;

/// How much of a value is shown.
const SHOWN: usize = 80;

/// What happened on a tape, without what every run makes anew.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    events: Vec<Happened>,
}

/// Something that happened.
#[derive(Clone, Debug)]
struct Happened {
    turn: Option<u64>,
    name: String,
    fields: Value,
}

impl Summary {
    /// Folds a tape or a capture.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read<R: Read>(reader: &mut Reader<R>) -> Result<Self, ReadError> {
        let mut folding = Folding::default();
        while let Some(entry) = reader.next_entry()? {
            folding.take(&entry.event);
        }
        Ok(folding.finish())
    }
}

/// Folds what happens, one thing after the other.
#[derive(Debug, Default)]
pub struct Folding {
    transcript: Transcript,
    normal: Normal,
    summary: Summary,
}

impl Folding {
    /// Something happened.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::ToHost(line) => self.transcript.handle_line(Direction::ToHost, line),
            Event::ToAgent(line) => self.transcript.handle_line(Direction::ToAgent, line),
            Event::Exit(Exit { code, signal }) => {
                let fields = json!({ "code": code, "signal": signal });
                self.summary.events.push(Happened { turn: None, name: "exit".to_owned(), fields });
            }
            _ => {}
        }
        self.drain();
    }

    /// There is nothing more.
    #[must_use]
    pub fn finish(mut self) -> Summary {
        self.transcript.handle_end();
        self.drain();
        self.summary
    }

    fn drain(&mut self) {
        while let Some(event) = self.transcript.poll_event() {
            let Ok(value) = serde_json::to_value(&event) else { continue };
            if let Some((name, fields)) = self.normal.event(value) {
                self.summary.events.push(Happened { turn: event.turn(), name, fields });
            }
        }
    }
}

/// In what way two tapes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Only the first has it.
    Missing,
    /// Only the second has it.
    Extra,
    /// Both have it, but not alike.
    Different,
    /// Both have it, but at another place among what the model said.
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
    /// In what way.
    pub kind: Kind,
    /// The turn, counted from 1; `None` for what belongs to none.
    pub turn: Option<u64>,
    /// The event's name: `tool_call`.
    pub event: String,
    /// Which field differs, if both have the event: `input.command`.
    pub field: Option<String>,
    /// What the first has.
    pub a: Value,
    /// What the second has.
    pub b: Value,
}

impl Difference {
    /// It as JSON.
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
                write!(f, ": {field}: {} became {}", short(&self.a), short(&self.b))
            }
        }
    }
}

/// All differences between two tapes, by turn.
pub fn compare(a: &Summary, b: &Summary) -> Vec<Difference> {
    let turns: BTreeSet<Option<u64>> =
        a.events.iter().chain(&b.events).map(|event| event.turn).collect();
    let mut differences = Vec::new();
    for turn in turns {
        let of = |summary: &Summary| -> Vec<Happened> {
            summary.events.iter().filter(|event| event.turn == turn).cloned().collect()
        };
        compare_turn(turn, of(a), of(b), &mut differences);
    }
    differences
}

fn compare_turn(turn: Option<u64>, a: Vec<Happened>, b: Vec<Happened>, out: &mut Vec<Difference>) {
    let mut b: Vec<Option<Happened>> = b.into_iter().map(Some).collect();
    let mut unmatched = Vec::new();
    // Where the last thing that the model said was found.
    let mut said = 0;
    for event in a {
        let same = |other: &Option<Happened>| {
            other
                .as_ref()
                .is_some_and(|other| other.name == event.name && other.fields == event.fields)
        };
        let Some(position) = b.iter().position(same) else {
            unmatched.push(event);
            continue;
        };
        if let Some(slot) = b.get_mut(position) {
            *slot = None;
        }
        if is_said(&event) {
            if position < said {
                out.push(difference(
                    Kind::Moved,
                    turn,
                    &event.name,
                    None,
                    event.fields,
                    Value::Null,
                ));
            }
            said = said.max(position);
        }
    }
    for event in unmatched {
        let kin =
            |other: &Option<Happened>| other.as_ref().is_some_and(|other| is_kin(&event, other));
        let other = b.iter().position(kin).and_then(|at| b.get_mut(at)).and_then(Option::take);
        match other {
            None => out.push(difference(
                Kind::Missing,
                turn,
                &event.name,
                None,
                event.fields,
                Value::Null,
            )),
            Some(other) => fields(turn, &event.name, "", &event.fields, &other.fields, out),
        }
    }
    for event in b.into_iter().flatten() {
        out.push(difference(Kind::Extra, turn, &event.name, None, Value::Null, event.fields));
    }
}

/// What the main agent's model said: its order is part of its meaning.
fn is_said(event: &Happened) -> bool {
    let names = ["text", "thinking", "tool_call"];
    names.contains(&event.name.as_str()) && event.fields.get("agent").is_none()
}

/// Whether two events could be the same one, told differently.
fn is_kin(a: &Happened, b: &Happened) -> bool {
    let same = |name: &str| a.fields.get(name) == b.fields.get(name);
    let keys =
        ["agent", "tool_name", "name", "hook_event", "method", "tool", "server", "subtype", "kind"];
    a.name == b.name && keys.into_iter().all(same)
}

fn fields(
    turn: Option<u64>,
    event: &str,
    path: &str,
    a: &Value,
    b: &Value,
    out: &mut Vec<Difference>,
) {
    if let (Value::Object(first), Value::Object(second)) = (a, b) {
        let keys: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
        for key in keys {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let of =
                |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
            fields(turn, event, &path, &of(first), &of(second), out);
        }
        return;
    }
    if a != b {
        out.push(difference(Kind::Different, turn, event, Some(path), a.clone(), b.clone()));
    }
}

fn difference(
    kind: Kind,
    turn: Option<u64>,
    event: &str,
    field: Option<&str>,
    a: Value,
    b: Value,
) -> Difference {
    Difference { kind, turn, event: event.to_owned(), field: field.map(str::to_owned), a, b }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN {
        return text;
    }
    text.chars().take(SHOWN).chain(['…']).collect()
}
