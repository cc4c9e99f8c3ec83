//! The schema accepts exactly the lines that the reader knows.

use duologue_testkit::recordings;
use duologue_wire::{Decoded, Direction, Line, schema};
use serde_json::{Value, json};

fn is_known(line: &Value, direction: Direction) -> bool {
    let line = Line::from(line.to_string());
    match direction {
        Direction::ToHost => matches!(line.to_host(), Decoded::Known(_)),
        Direction::ToAgent => matches!(line.to_agent(), Decoded::Known(_)),
    }
}

/// Every value in the tree, replaced by something of another JSON type, one at a time.
fn mutations(value: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    mutate(value, &mut |mutated| all.push(mutated), &|inner| inner);
    all
}

fn mutate(value: &Value, emit: &mut dyn FnMut(Value), wrap: &dyn Fn(Value) -> Value) {
    let wrong = match value {
        Value::String(_) => json!(true),
        Value::Number(_) | Value::Null => json!("a string"),
        Value::Bool(_) => json!(0),
        Value::Array(_) => json!({}),
        Value::Object(_) => json!([]),
    };
    emit(wrap(wrong));
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate().take(2) {
                mutate(item, emit, &|inner| {
                    let mut copy = items.clone();
                    copy[index] = inner;
                    wrap(Value::Array(copy))
                });
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                mutate(field, emit, &|inner| {
                    let mut copy = fields.clone();
                    copy[name] = inner;
                    wrap(Value::Object(copy))
                });
            }
        }
        _ => {}
    }
}

#[test]
fn recorded_lines_validate_and_mutated_ones_fail_as_in_the_reader() {
    let both = [Direction::ToHost, Direction::ToAgent]
        .map(|direction| jsonschema::validator_for(&schema::of(direction)).unwrap());
    let either = jsonschema::validator_for(&schema::of_both()).unwrap();
    let (mut valid, mut refused) = (0, 0);
    let mut shapes = std::collections::HashSet::new();
    for recording in recordings() {
        for entry in &recording.entries {
            let Ok(line) = serde_json::from_str::<Value>(&entry.line) else { continue };
            let (direction, validator) = if entry.to_host {
                (Direction::ToHost, &both[0])
            } else {
                (Direction::ToAgent, &both[1])
            };
            let known = is_known(&line, direction);
            assert_eq!(validator.is_valid(&line), known, "{} {line}", recording.name);
            if !known {
                continue;
            }
            assert!(either.is_valid(&line));
            valid += 1;
            // One line of each shape is mutated: there are thousands of mutations in each.
            if !shapes.insert((entry.to_host, shape(&line))) {
                continue;
            }
            for mutated in mutations(&line) {
                let known = is_known(&mutated, direction);
                assert_eq!(validator.is_valid(&mutated), known, "{} {mutated}", recording.name);
                refused += usize::from(!known);
            }
        }
    }
    assert!(valid > 4_000, "{valid}");
    assert!(refused > 500, "{refused}");
}

fn shape(line: &Value) -> String {
    let inner = ["request", "response", "event"]
        .map(|name| format!("{}{}", line[name]["subtype"], line[name]["type"]));
    format!("{} {} {inner:?}", line["type"], line["subtype"])
}

#[test]
fn these_mutations_fail() {
    let to_host = jsonschema::validator_for(&schema::of(Direction::ToHost)).unwrap();
    for line in [
        json!({}),
        json!([]),
        json!({ "type": "assistantt" }),
        json!({ "type": "system" }),
        json!({ "type": "system", "subtype": "no such" }),
        json!({ "type": "result" }),
        json!({ "type": "assistant", "message": "Hi" }),
        json!({ "type": "assistant", "message": { "content": "Hi" } }),
        json!({ "type": "assistant", "message": { "content": [{ "text": "no tag" }] } }),
        json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": [] }] } }),
        json!({ "type": "stream_event", "event": { "type": "content_block_delta", "index": "0" } }),
        json!({ "type": "control_request", "request_id": "r" }),
        json!({ "type": "control_request", "request": { "subtype": "can_use_tool", "input": "ls" } }),
        json!({ "type": "control_response", "response": { "request_id": "r" } }),
        json!({ "type": "rate_limit_event", "rate_limit_info": { "utilization": "high" } }),
    ] {
        assert!(!to_host.is_valid(&line), "{line}");
        assert!(!is_known(&line, Direction::ToHost), "{line}");
    }
}
