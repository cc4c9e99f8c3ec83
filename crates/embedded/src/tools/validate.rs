//! Whether a tool takes an input: the top level of its schema, checked and reported as the CLI does.

use duologue_protocol::RawObject;
use serde_json::{Map, Value, json};

use super::{Tool, ToolOutput};

/// What is wrong with the input, if anything.
pub(super) fn check(tool: &dyn Tool, input: &RawObject) -> Option<ToolOutput> {
    if tool.checks_itself() {
        return None;
    }
    let schema = tool.input_schema();
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let Ok(Value::Object(input)) = input.to_value_lossy() else {
        return Some(ToolOutput::unparsable(tool.name(), input.as_json()));
    };

    let mut told = Vec::new();
    let mut issues = Vec::new();
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !input.contains_key(name) {
            let expected = properties.get(name).and_then(type_of).unwrap_or("unknown");
            told.push(format!("The required parameter `{name}` is missing"));
            issues.push(json!({
                "expected": expected,
                "code": "invalid_type",
                "path": [name],
                "message": format!("Invalid input: expected {expected}, received undefined"),
            }));
        }
    }
    for (name, value) in &input {
        let Some(expected) = properties.get(name).and_then(type_of) else { continue };
        let found = kind(value);
        if !fits(value, expected) {
            told.push(format!(
                "The parameter `{name}` type is expected as `{expected}` but provided as `{found}`"
            ));
            issues.push(json!({
                "expected": expected,
                "code": "invalid_type",
                "path": [name],
                "message": format!("Invalid input: expected {expected}, received {found}"),
            }));
        }
    }
    let unexpected: Vec<&String> = match schema["additionalProperties"] {
        Value::Bool(false) => input.keys().filter(|name| !properties.contains_key(*name)).collect(),
        _ => Vec::new(),
    };
    if !unexpected.is_empty() {
        let keys = if unexpected.len() == 1 { "key" } else { "keys" };
        let quoted: Vec<String> = unexpected.iter().map(|name| format!("\"{name}\"")).collect();
        for name in &unexpected {
            told.push(format!("An unexpected parameter `{name}` was provided"));
        }
        issues.push(json!({
            "code": "unrecognized_keys",
            "keys": unexpected,
            "path": [],
            "message": format!("Unrecognized {keys}: {}", quoted.join(", ")),
        }));
    }
    if told.is_empty() {
        return None;
    }
    let noun = if told.len() == 1 { "issue" } else { "issues" };
    let content = format!(
        "<tool_use_error>InputValidationError: {} failed due to the following {noun}:\n{}</tool_use_error>",
        tool.name(),
        told.join("\n")
    );
    let issues = serde_json::to_string_pretty(&issues).unwrap_or_default();
    let result = json!(format!("InputValidationError: {issues}"));
    Some(ToolOutput { is_error: Some(true), ..ToolOutput::text(content, result) })
}

fn type_of(property: &Value) -> Option<&str> {
    property["type"].as_str()
}

fn fits(value: &Value, expected: &str) -> bool {
    match expected {
        // Hosts and models write numbers and booleans as strings at times; the CLI takes neither.
        "integer" => value.is_i64() || value.is_u64(),
        other => kind(value) == other,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
