//! Inputs of all shapes become objects.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::super::schema::{Shape, input_schema, read_input};
use super::Value;

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
enum Form {
    Circle { radius: u8 },
    Line(Box<Self>),
}

#[test]
fn what_is_an_object_stays_one() {
    let (schema, shape) = input_schema::<BTreeMap<String, u8>>();
    assert_eq!((&schema["type"], shape), (&json!("object"), Shape::Object));
    let (schema, shape) = input_schema::<Value>();
    assert_eq!((Value::Object(schema), shape), (json!({ "type": "object" }), Shape::Object));
    assert_eq!(read_input::<Value>(json!({ "a": 1 }), shape).unwrap(), json!({ "a": 1 }));
}

#[test]
fn nothing_is_an_empty_object() {
    let (schema, shape) = input_schema::<()>();
    assert_eq!(Value::Object(schema), json!({ "type": "object", "properties": {} }));
    read_input::<()>(json!({}), shape).unwrap();
    read_input::<()>(json!({ "model": "adds something" }), shape).unwrap();
}

#[test]
fn anything_else_becomes_a_field() {
    let (schema, shape) = input_schema::<String>();
    let expected = json!({ "type": "object", "properties": { "input": { "type": "string" } }, "required": ["input"] });
    assert_eq!((Value::Object(schema), shape), (expected, Shape::Wrapped));
    assert_eq!(read_input::<String>(json!({ "input": "a" }), shape).unwrap(), "a");
    read_input::<String>(json!({}), shape).unwrap_err();
    assert_eq!(read_input::<Option<u8>>(json!({}), shape).unwrap(), None);

    // An enum has alternatives at the top level, and this one refers to itself.
    let (schema, shape) = input_schema::<Form>();
    assert_eq!(shape, Shape::Wrapped);
    assert_eq!(schema["properties"]["input"], json!({ "$ref": "#/$defs/Form" }));
    assert!(schema["$defs"]["Form"]["oneOf"].is_array());
    let input = json!({ "input": { "Line": { "Circle": { "radius": 1 } } } });
    let line = Form::Line(Box::new(Form::Circle { radius: 1 }));
    assert_eq!(read_input::<Form>(input, shape).unwrap(), line);
}

#[test]
fn no_schema_names_its_draft_or_its_type() {
    for schema in [input_schema::<Form>().0, input_schema::<()>().0, input_schema::<u8>().0] {
        assert!(!schema.contains_key("$schema") && !schema.contains_key("title"));
    }
}
