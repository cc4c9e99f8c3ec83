//! The wire as JSON Schema.

use serde_json::{Value, json};

use crate::line::Direction;
use crate::to_agent::ToAgent;
use crate::to_host::ToHost;
use crate::wire::Schemas;

/// The JSON Schema (draft 2020-12) of the lines that go this way.
///
/// A line validates if this version reads it as known. So unknown fields are allowed, and so are
/// unknown blocks inside a known line; an unknown type is not.
///
/// ```
/// use duologue_wire::{Direction, schema};
///
/// let schema = schema::of(Direction::ToAgent);
/// assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
/// ```
pub fn of(direction: Direction) -> Value {
    let mut schemas = Schemas::default();
    let (title, roots) = match direction {
        Direction::ToHost => ("A line to the host (stdout)", ToHost::known_schema(&mut schemas)),
        Direction::ToAgent => ("A line to the agent (stdin)", ToAgent::known_schema(&mut schemas)),
    };
    document(title, roots, schemas)
}

/// The JSON Schema of the lines that go either way.
///
/// ```
/// use duologue_wire::schema;
///
/// assert!(schema::of_both().is_object());
/// ```
pub fn of_both() -> Value {
    let mut schemas = Schemas::default();
    let mut roots = ToHost::known_schema(&mut schemas);
    roots.extend(ToAgent::known_schema(&mut schemas));
    document("A line of the wire, either way", roots, schemas)
}

/// The schema of what is one of `roots`, whose definitions are in `schemas`.
#[doc(hidden)]
pub fn document(title: &str, roots: Vec<Value>, schemas: Schemas) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "anyOf": roots,
        "$defs": schemas.into_definitions(),
    })
}
