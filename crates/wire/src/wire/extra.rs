//! Unknown fields and objects, kept.

use std::fmt;

use serde_json::{Value, json};

use crate::json::{Fault, Key, Parser, RawJson, Writer};
use crate::text::Text;

use super::Wire;
use super::survey::{Finding, Survey};

/// The unknown fields of an object, in their order.
///
/// ```
/// use duologue_wire::{RawJson, Wire, content::TextBlock};
///
/// let block = TextBlock::from_json(r#"{"type":"text","text":"hi","mood":"bright"}"#)?;
/// assert_eq!(block.extra.get("mood"), Some(&RawJson::parse("\"bright\"")?));
/// # Ok::<(), duologue_wire::Fault>(())
/// ```
#[derive(Clone, Default, PartialEq)]
#[expect(clippy::box_collection, reason = "every record has one, nearly always empty: one word")]
pub struct Extra(Option<Box<Vec<(Text, RawJson)>>>);

impl Extra {
    /// Whether every field was known.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The unknown fields, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &RawJson)> {
        self.0.iter().flat_map(|fields| fields.iter()).map(|(key, value)| (key, value))
    }

    /// The unknown field of that name.
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        // The last of several wins, as everywhere in JSON.
        self.iter().filter(|(key, _)| key.as_str() == name).last().map(|(_, value)| value)
    }

    /// Adds or replaces an unknown field.
    pub fn insert(&mut self, name: impl Into<Text>, value: RawJson) {
        let name = name.into();
        let fields = self.0.get_or_insert_default();
        match fields.iter_mut().find(|(key, _)| *key == name) {
            Some((_, old)) => *old = value,
            None => fields.push((name, value)),
        }
    }

    /// Keeps a field without looking for an older one: a hostile object may have a million.
    #[doc(hidden)]
    pub fn push(&mut self, name: Key<'_>, value: RawJson) {
        self.0.get_or_insert_default().push((name.text(), value));
    }

    #[doc(hidden)]
    pub fn encode(&self, out: &mut Writer) {
        for (name, value) in self.iter() {
            out.data_key(name);
            value.encode(out);
        }
    }

    #[doc(hidden)]
    pub fn survey(&self, survey: &mut Survey<'_>) {
        for (name, _) in self.iter() {
            survey.within(name, |survey| survey.report(Finding::UnknownField));
        }
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// An object with an unknown tag, kept whole.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnknownObject {
    /// The tag.
    pub tag: Text,
    /// The object.
    pub json: RawJson,
}

impl UnknownObject {
    /// An object with this tag. `json` holds the tag too.
    pub fn new(tag: impl Into<Text>, json: RawJson) -> Self {
        Self { tag: tag.into(), json }
    }

    #[doc(hidden)]
    pub fn decode(tag: &str, parser: &mut Parser<'_>) -> Result<Self, Fault> {
        Ok(Self { tag: Text::from(tag), json: parser.raw()? })
    }

    #[doc(hidden)]
    pub fn encode(&self, out: &mut Writer) {
        self.json.encode(out);
    }

    #[doc(hidden)]
    pub fn survey(&self, survey: &mut Survey<'_>, name: &'static str) {
        survey.report(Finding::UnknownTag { name, tag: &self.tag });
    }

    /// An object whose tag is a string, and none of these.
    #[doc(hidden)]
    pub fn schema(name: &str, known: &[&str]) -> Value {
        json!({
            "type": "object",
            "required": [name],
            "properties": { name: { "type": "string", "not": { "enum": known } } },
        })
    }
}
