//! How types meet the wire: one table per type gives its reading, writing, survey and schema.

mod base;
mod extra;
mod field;
mod macros;
mod map;
mod schema;
mod survey;

pub use extra::{Extra, UnknownObject};
pub use field::Field;
pub use map::Map;
pub use schema::Schemas;
pub use survey::{Finding, Survey};

pub use macros::{id, record, serde_through_json, union, words};

use serde_json::Value;

use crate::json::{Fault, Parser, Writer};
use crate::text::Source;

/// Seals [`Wire`]. The tables of this crate and of `duologue-protocol` implement it.
#[doc(hidden)]
pub trait Sealed: Sized {}

/// A type of the protocol. Sealed: only the types of this crate and of `duologue-protocol` implement it.
///
/// ```
/// use duologue_wire::Wire;
/// use duologue_wire::permission::PermissionUpdate;
///
/// let update = PermissionUpdate::from_json(
///     r#"{"type":"setMode","mode":"acceptEdits","destination":"session"}"#,
/// )?;
/// assert_eq!(
///     update.to_json(),
///     r#"{"type":"setMode","mode":"acceptEdits","destination":"session"}"#,
/// );
/// # Ok::<(), duologue_wire::Fault>(())
/// ```
pub trait Wire: Sealed {
    /// Reads one value.
    #[doc(hidden)]
    fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault>;

    /// Writes one value.
    #[doc(hidden)]
    fn encode(&self, out: &mut Writer);

    /// Reports what in this value is unknown or legacy.
    #[doc(hidden)]
    fn survey(&self, _survey: &mut Survey<'_>) {}

    /// The JSON Schema of such values.
    #[doc(hidden)]
    fn schema(schemas: &mut Schemas) -> Value;

    /// Reads a value from JSON text.
    ///
    /// # Errors
    /// If the text is not JSON, a field has the wrong JSON type, or a tag is missing.
    fn from_json(json: &str) -> Result<Self, Fault> {
        let source = Source::from(json);
        let mut parser = Parser::new(&source);
        let value = Self::decode(&mut parser)?;
        parser.end()?;
        Ok(value)
    }

    /// The value as JSON text, on one line, without a newline at its end.
    fn to_json(&self) -> String {
        let mut out = Writer::default();
        self.encode(&mut out);
        out.finish()
    }

    /// The value as a line: JSON text and one newline.
    fn to_line(&self) -> String {
        let mut line = self.to_json();
        line.push('\n');
        line
    }
}
