//! [`Schemas`]: the definitions of a JSON Schema, collected while types describe themselves.

use serde_json::{Map, Value, json};

/// Collects definitions under `$defs`.
///
/// Only the types of this crate drive it; it is public because [`Wire`](super::Wire) names it.
#[derive(Debug, Default)]
pub struct Schemas {
    definitions: Map<String, Value>,
}

impl Schemas {
    pub(crate) fn into_definitions(self) -> Value {
        Value::Object(self.definitions)
    }

    /// Defines a type once and gives the reference to it.
    #[doc(hidden)]
    pub fn define(
        &mut self,
        module: &str,
        name: &str,
        describe: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let module = module.split_once("::").map_or("", |(_, inner)| inner);
        let name = format!("{module}::{name}").replace("::", ".");
        if !self.definitions.contains_key(&name) {
            // Before its description, so that a type that holds itself ends.
            self.definitions.insert(name.clone(), Value::Null);
            let schema = describe(self);
            self.definitions.insert(name.clone(), schema);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// An object with these tags and fields; others are allowed.
    #[doc(hidden)]
    pub fn object(
        doc: &str,
        tags: &[(&str, &str)],
        fields: Vec<(&'static str, &str, bool, Value)>,
    ) -> Value {
        let mut properties = Map::new();
        for (name, value) in tags {
            properties.insert((*name).to_owned(), json!({ "const": value }));
        }
        let mut required: Vec<&str> = tags.iter().map(|(name, _)| *name).collect();
        for (name, doc, is_required, schema) in fields {
            let mut allowed = vec![schema];
            if is_required {
                required.push(name);
            } else {
                allowed.push(json!({ "type": "null" }));
            }
            let field = json!({ "description": first_paragraph(doc), "anyOf": allowed });
            properties.insert(name.to_owned(), field);
        }
        let mut object = json!({
            "description": first_paragraph(doc),
            "type": "object",
            "properties": properties,
        });
        if let (Some(object), false) = (object.as_object_mut(), required.is_empty()) {
            object.insert("required".to_owned(), json!(required));
        }
        object
    }

    /// A string of an open vocabulary. The known words are examples.
    #[doc(hidden)]
    pub fn words(doc: &str, known: &[&str]) -> Value {
        json!({ "description": first_paragraph(doc), "type": "string", "examples": known })
    }

    /// A string of a vocabulary whose unknown words make a line unknown.
    #[doc(hidden)]
    pub fn closed_words(doc: &str, known: &[&str]) -> Value {
        json!({ "description": first_paragraph(doc), "enum": known })
    }

    /// One of these; the reader decides by the tag.
    #[doc(hidden)]
    pub fn one_of(doc: &str, members: Vec<Value>) -> Value {
        json!({ "description": first_paragraph(doc), "anyOf": members })
    }
}

/// The first paragraph of a doc comment, on one line.
fn first_paragraph(doc: &str) -> String {
    let lines = doc.lines().map(str::trim).take_while(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}
