//! Lines and events as JSON Schema.

use duologue_wire::schema::document;
pub use duologue_wire::schema::{of, of_both};
use serde_json::Value;

use crate::transcript::Event;
use crate::wire::Schemas;

/// The JSON Schema of the events of a [`Transcript`](crate::transcript::Transcript).
///
/// ```
/// use duologue_protocol::schema;
///
/// assert!(schema::of_events().is_object());
/// ```
pub fn of_events() -> Value {
    let mut schemas = Schemas::default();
    let roots = Event::known_schema(&mut schemas);
    document("An event of a conversation", roots, schemas)
}
