//! The schema, judged by others.

use duologue_model::{Scenario, schema};
use serde_json::Value;

const TOUR: &str = include_str!("../../examples/tour.toml");

fn accepts(text: &str) -> bool {
    let value: Value = toml::from_str(text).unwrap();
    jsonschema::validator_for(&schema()).unwrap().is_valid(&value)
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
    ];
    for text in bad {
        assert!(Scenario::from_toml(text).is_err(), "the reader takes {text}");
        assert!(!accepts(text), "the schema takes {text}");
    }
}
