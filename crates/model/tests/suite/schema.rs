//! The JSON Schema of scenarios agrees with the reader, by the judgement of an independent validator.

use std::sync::LazyLock;

use duologue_model::{Scenario, schema};
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const TOUR: &str = include_str!("../../examples/tour.toml");

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&schema()).unwrap());

fn accepts(text: &str) -> bool {
    let value: Value = toml::from_str(text).unwrap();
    VALIDATOR.is_valid(&value)
}

#[test]
fn the_tour_is_a_scenario() {
    let tour = Scenario::parse(TOUR).unwrap();
    assert_eq!(tour.replies.len(), 10);
    assert!(accepts(TOUR));
}

#[test]
fn what_the_reader_takes_the_schema_takes() {
    let good = [
        "",
        "[[replies]]\nsay = \"a\"",
        "[[replies]]\nsay = { text = \"a\", repeat = 5 }",
        "[[replies]]\nsay = [\"a\", { tool = \"b\", input = { c = 1 } }]",
        "[[replies]]\nerror = 529\ntimes = \"always\"",
        "[[replies]]\nerror = { status = 400 }\ntimes = 2",
        "[[replies]]\nlines = [\"a\"]",
        "[[replies]]\nsay = \"a\"\nchunk = \"lines\"\nwhen = { prompt = \"b\" }\nusage = {}",
        "[agents.a]\nsystem = \"b\"",
        "[[replies]]\nsay = { tool = \"a\", input_text = \"{\", id = \"b\" }",
        "[[replies]]\nsay = { thinking = \"a\", signature = \"b\" }",
        "[[replies]]\nsay = { block = { type = \"redacted_thinking\" } }",
        "[[replies]]\nsay = \"a\"\nheaders = { x-kind = \"a b\" }\nstall_after = 1\nstop = \"refusal\"",
        "[[replies]]\nsay = \"a\"\nerror = 529\ncut_after = 1\ndelay_ms = 1\npause_ms = 1",
    ];
    for text in good {
        Scenario::from_toml(text).unwrap();
        assert!(accepts(text), "{text}");
    }
}

#[test]
fn what_the_reader_refuses_the_schema_refuses() {
    let bad = [
        "bad = 1",
        "[[replies]]",
        "[[replies]]\nsay = 5",
        "[[replies]]\nsay = {}",
        "[[replies]]\nsay = { text = \"a\", thinking = \"b\" }",
        "[[replies]]\nsay = { txt = \"a\" }",
        "[[replies]]\nsay = [[\"a\"]]",
        "[[replies]]\nerror = 200",
        "[[replies]]\nerror = {}",
        "[[replies]]\nsay = \"a\"\ntimes = \"often\"",
        "[[replies]]\nsay = \"a\"\ntimes = 0",
        "[[replies]]\nsay = \"a\"\nchunk = \"bits\"",
        "[[replies]]\nsay = \"a\"\nchunk = 0",
        "[[replies]]\nsay = \"a\"\nwhen = {}",
        "[[replies]]\nsay = \"a\"\nwhen = { said = \"a\" }",
        "[[replies]]\nsay = \"a\"\nusage = { tokens = 1 }",
        "[agents.a]",
        "[agents.a]\nname = \"b\"",
        "[agents.main]\nsystem = \"b\"",
        "[[replies]]\nsay = []",
        "[[replies]]\nlines = []",
        "[[replies]]\nlines = [\"a\\nb\"]",
        "[[replies]]\nsay = { text = \"a\", input = {} }",
        "[[replies]]\nsay = { thinking = \"a\", repeat = 2 }",
        "[[replies]]\nsay = { block = {}, id = \"a\" }",
        "[[replies]]\nsay = { tool = \"a\", input = {}, input_text = \"\" }",
        "[[replies]]\nsay = \"a\"\ncut_after = 1\nstall_after = 1",
        "[[replies]]\nerror = 500\ncut_after = 1",
        "[[replies]]\nsay = []\nerror = 500\nstall_after = 1",
        "[[replies]]\nsay = \"a\"\nheaders = { \"a b\" = \"c\" }",
        "[[replies]]\nsay = \"a\"\nheaders = { a = \"c\\td\" }",
        "[[replies]]\nsay = \"a\"\ndelay_ms = -1",
        "[[replies]]\nsay = \"a\"\npause_ms = \"1\"",
    ];
    for text in bad {
        assert!(Scenario::from_toml(text).is_err(), "the reader takes {text}");
        assert!(!accepts(text), "the schema takes {text}");
    }
}

/// Values that fit some field of a scenario, and values that fit none.
fn values() -> impl Strategy<Value = Value> {
    let pool = vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1),
        json!(529),
        json!(600),
        json!(""),
        json!("text"),
        json!("always"),
        json!("words"),
        json!("two\nlines"),
        json!([]),
        json!(["a"]),
        json!(["a\nb"]),
        json!([["a"]]),
        json!({}),
        json!({ "text": "a" }),
        json!({ "text": null, "thinking": "a" }),
        json!({ "tool": "a", "input": {} }),
        json!({ "tool": "a", "input": null, "input_text": "{" }),
        json!({ "tool": "a", "input": {}, "input_text": "{" }),
        json!({ "block": {}, "repeat": null }),
        json!({ "status": 400 }),
        json!({ "prompt": "a" }),
        json!({ "prompt": null }),
        json!({ "x-kind": "a" }),
        json!({ "a b": "a" }),
        json!({ "input_tokens": 1 }),
    ];
    proptest::sample::select(pool)
}

/// A table with some of these fields, and now and then with one more.
fn table(names: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let names = proptest::sample::select([names, &["other"]].concat());
    let fields = proptest::collection::vec((names, values()), 0..4);
    fields.prop_map(|fields| {
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
        fields.collect::<Map<String, Value>>().into()
    })
}

const REPLY: &[&str] = &[
    "when",
    "times",
    "say",
    "error",
    "chunk",
    "delay_ms",
    "pause_ms",
    "stop",
    "usage",
    "cut_after",
    "stall_after",
    "headers",
    "lines",
];
const BLOCK: &[&str] =
    &["text", "thinking", "tool", "block", "repeat", "signature", "input", "input_text", "id"];
const WHEN: &[&str] = &["prompt", "tool_result", "history", "system", "tool", "model"];

fn agree(scenario: &Value) -> Result<(), TestCaseError> {
    let read = Scenario::from_json(&scenario.to_string());
    let valid = VALIDATOR.is_valid(scenario);
    prop_assert_eq!(read.is_ok(), valid, "{} reads as {:?}", scenario, read);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn schema_and_reader_agree_about_replies(reply in table(REPLY)) {
        agree(&json!({ "replies": [reply] }))?;
    }

    #[test]
    fn schema_and_reader_agree_about_blocks(block in table(BLOCK)) {
        agree(&json!({ "replies": [{ "say": block }] }))?;
    }

    #[test]
    fn schema_and_reader_agree_about_conditions(when in table(WHEN)) {
        agree(&json!({ "replies": [{ "say": "a", "when": when }] }))?;
    }

    #[test]
    fn schema_and_reader_agree_about_the_rest(
        rest in table(&["title", "model", "fault", "agents", "replies"]),
    ) {
        agree(&rest)?;
    }
}

/// Fields of the file format that the schema describes, by the name of their definition.
fn documented(schema: &Value, at: &str, missing: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(properties) = fields.get("properties").and_then(Value::as_object)
                && fields.contains_key("additionalProperties")
            {
                let silent =
                    properties.iter().filter(|(_, field)| field.get("description").is_none());
                missing.extend(silent.map(|(name, _)| format!("{at}.{name}")));
            }
            for (name, inner) in fields {
                documented(inner, name, missing);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| documented(item, at, missing)),
        _ => {}
    }
}

#[test]
fn every_field_is_described() {
    let mut missing = Vec::new();
    documented(&schema(), "Scenario", &mut missing);
    assert!(missing.is_empty(), "{missing:?}");
}
