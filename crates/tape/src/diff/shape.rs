//! Compares shapes: which types of lines there are, and which fields they have.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use serde_json::{Value, json};

use crate::entry::Event;
use crate::error::ReadError;
use crate::reader::Reader;

/// Fields whose content is not the protocol's: inputs and results of tools, maps by name.
const OPAQUE: &[&str] = &[
    "input",
    "updatedInput",
    "tool_input",
    "tool_response",
    "tool_use_result",
    "mcp_response",
    "params",
    "result",
    "modelUsage",
    "model_usage",
    "model_usage_since_last_result",
    "structured_output",
    "env",
    "answers",
];

/// The shapes of the lines on a tape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shapes(BTreeMap<String, BTreeSet<String>>);

impl Shapes {
    /// Reads a tape or a capture.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read<R: Read>(reader: &mut Reader<R>) -> Result<Self, ReadError> {
        let mut shapes = Self::default();
        while let Some(entry) = reader.next_entry()? {
            let (way, line) = match &entry.event {
                Event::ToHost(line) => ("to host", line),
                Event::ToAgent(line) => ("to agent", line),
                _ => continue,
            };
            if let Ok(value) = serde_json::from_slice::<Value>(line.raw()) {
                shapes.add(way, &value);
            }
        }
        Ok(shapes)
    }

    /// Adds the shapes of another tape.
    pub fn merge(&mut self, other: Self) {
        for (kind, fields) in other.0 {
            self.0.entry(kind).or_default().extend(fields);
        }
    }

    fn add(&mut self, way: &str, line: &Value) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let Some(kind) = text(&line["type"]) else { return };
        let subtypes = [&line["subtype"], &line["request"]["subtype"], &line["event"]["type"]];
        let subtype = subtypes.into_iter().find_map(text);
        let name = subtype.map_or(kind.clone(), |subtype| format!("{kind}/{subtype}"));
        let fields = self.0.entry(format!("{name} ({way})")).or_default();
        walk("", line, fields);
    }
}

fn walk(path: &str, value: &Value, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                if !OPAQUE.contains(&key.as_str()) {
                    walk(&path, value, fields);
                }
                fields.insert(path);
            }
        }
        Value::Array(items) => {
            for item in items {
                // Blocks of different types have different fields.
                let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
                walk(&format!("{path}[{kind}]"), item, fields);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The differences of two sets of shapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShapeDifferences {
    /// Types that only the first has.
    pub removed_types: Vec<String>,
    /// Types that only the second has.
    pub added_types: Vec<String>,
    /// Fields that only the first has: type and path.
    pub removed_fields: Vec<(String, String)>,
    /// Fields that only the second has: type and path.
    pub added_fields: Vec<(String, String)>,
}

impl ShapeDifferences {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// The differences as JSON.
    pub fn to_json(&self) -> Value {
        let fields = |fields: &[(String, String)]| -> Vec<Value> {
            fields.iter().map(|(kind, path)| json!({ "type": kind, "field": path })).collect()
        };
        json!({
            "removed_types": self.removed_types, "added_types": self.added_types,
            "removed_fields": fields(&self.removed_fields),
            "added_fields": fields(&self.added_fields),
        })
    }
}

/// Compares the shapes of two tapes.
pub fn compare(a: &Shapes, b: &Shapes) -> ShapeDifferences {
    let only = |first: &Shapes, second: &Shapes| -> (Vec<String>, Vec<(String, String)>) {
        let mut types = Vec::new();
        let mut fields = Vec::new();
        for (kind, paths) in &first.0 {
            match second.0.get(kind) {
                None => types.push(kind.clone()),
                Some(others) => {
                    fields
                        .extend(paths.difference(others).map(|path| (kind.clone(), path.clone())));
                }
            }
        }
        (types, fields)
    };
    let (removed_types, removed_fields) = only(a, b);
    let (added_types, added_fields) = only(b, a);
    ShapeDifferences { removed_types, added_types, removed_fields, added_fields }
}
