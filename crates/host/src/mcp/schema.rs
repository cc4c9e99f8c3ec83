//! The schema of a tool's input, and how its input is read.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The field that holds an input which is no object.
const FIELD: &str = "input";

/// How the type of an input becomes an object, which the input of a tool must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    /// It is one.
    Object,
    /// There is no input: `()`.
    Nothing,
    /// It is something else, and becomes the only field of one.
    Wrapped,
}

pub(super) fn input_schema<I: JsonSchema>() -> (Map<String, Value>, Shape) {
    let mut schema = object_of::<I>();
    let alternatives = ["oneOf", "anyOf", "allOf", "$ref"];
    // The model's API refuses alternatives at the top level.
    let plain = !alternatives.iter().any(|keyword| schema.contains_key(*keyword));
    match schema.get("type").and_then(Value::as_str) {
        Some("object") if plain => (schema, Shape::Object),
        Some("null") => {
            schema.insert("type".to_owned(), "object".into());
            schema.insert("properties".to_owned(), json!({}));
            (schema, Shape::Nothing)
        }
        None if plain
            && !["type", "enum", "const"].iter().any(|word| schema.contains_key(*word)) =>
        {
            // Anything goes, so an object does.
            schema.insert("type".to_owned(), "object".into());
            (schema, Shape::Object)
        }
        _ => (object_of::<Wrapper<I>>(), Shape::Wrapped),
    }
}

/// Reads the input of a call.
pub(super) fn read_input<I: DeserializeOwned>(
    arguments: Value,
    shape: Shape,
) -> Result<I, serde_json::Error> {
    serde_json::from_value(match (shape, arguments) {
        (Shape::Object, arguments) => arguments,
        (Shape::Nothing, _) => Value::Null,
        (Shape::Wrapped, Value::Object(mut fields)) => fields.remove(FIELD).unwrap_or_default(),
        (Shape::Wrapped, _) => Value::Null,
    })
}

fn object_of<I: JsonSchema>() -> Map<String, Value> {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<I>();
    let Value::Object(mut schema) = schema.to_value() else { return Map::new() };
    // Some clients check `$schema` against the drafts they know. The title is the name of a Rust type.
    schema.remove("$schema");
    schema.remove("title");
    schema
}

struct Wrapper<I>(PhantomData<I>);

impl<I: JsonSchema> JsonSchema for Wrapper<I> {
    fn schema_name() -> Cow<'static, str> {
        format!("WrapperOf{}", I::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let inner = generator.subschema_for::<I>();
        json_schema!({ "type": "object", "properties": { FIELD: inner }, "required": [FIELD] })
    }
}
