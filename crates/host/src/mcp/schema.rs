//! The schema of a tool's input, and how its input is read.

use std::borrow::Cow;
use std::fmt::Display;
use std::marker::PhantomData;

use rmcp::model::CallToolResult;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::result::failure;

/// The field that holds an input that is not an object.
const FIELD: &str = "input";

/// How an input type is represented as an object. The input of a tool must be an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    /// The type is an object.
    Object,
    /// There is no input: the type is `()`.
    Nothing,
    /// The value is the only field of an object.
    Wrapped,
}

pub(super) fn input_schema<I: JsonSchema>() -> (Map<String, Value>, Shape) {
    let mut schema = object_of::<I>();
    let alternatives = ["oneOf", "anyOf", "allOf", "$ref"];
    // The Messages API rejects alternatives at the top level.
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
            // The schema allows any value, so it allows an object.
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

/// The result of a call whose input does not fit.
pub(super) fn misfit(error: &dyn Display) -> CallToolResult {
    failure(format!(
        "The input does not fit the tool's schema: {error}. Call it again with an input that does."
    ))
}

fn object_of<I: JsonSchema>() -> Map<String, Value> {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<I>();
    let Value::Object(mut schema) = schema.to_value() else { return Map::new() };
    // Some clients reject a `$schema` that they do not support. The title is the name of a Rust type.
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
