//! The wire as JSON Schema.

use serde_json::{Value, json};

use crate::line::Direction;
use crate::to_agent::ToAgent;
use crate::to_host::ToHost;
use crate::wire::{Schemas, Wire};

/// The JSON Schema (draft 2020-12) of the lines that go this way.
///
/// A line validates if this version reads it as known. So unknown fields are allowed, and so are
/// unknown blocks inside a known line; an unknown type is not.
///
/// ```
/// use duologue_protocol::{Direction, schema};
///
/// let schema = schema::of(Direction::ToAgent);
/// assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
/// ```
pub fn of(direction: Direction) -> Value {
    let mut schemas = Schemas::default();
    let (title, root) = match direction {
        Direction::ToHost => ("A line to the host (stdout)", ToHost::schema(&mut schemas)),
        Direction::ToAgent => ("A line to the agent (stdin)", ToAgent::schema(&mut schemas)),
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "anyOf": [root],
        "$defs": schemas.into_definitions(),
    })
}
