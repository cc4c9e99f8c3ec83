//! `check`: the report of a tape.

use std::fs::File;

use duologue_protocol::Direction;
use duologue_tape::Reader;
use duologue_tape::check::check;
use duologue_testkit::recordings;
use serde_json::{Value, json};

fn checked(tape: &str) -> Value {
    check(&mut Reader::new(tape.as_bytes())).unwrap().to_json(false)
}

#[test]
fn every_line_of_every_recorded_agent_is_understood() {
    for recording in recordings() {
        // These print text and one JSON array, as they were asked to.
        if recording.name.starts_with("38-") {
            continue;
        }
        let file = File::open(&recording.path).unwrap();
        let report = check(&mut Reader::new(file)).unwrap();
        let name = format!("{} {}", recording.version, recording.name);
        assert_eq!(report.malformed_to_host, 0, "{name}: {:?}", report.malformed);
        for (tag, _) in report.unknown_tags.iter() {
            assert_eq!(tag.message.direction, Direction::ToAgent, "{name}: {tag:?}");
        }
        if recording.is_newest() {
            for (field, _) in report.unknown_fields.iter() {
                assert_eq!(field.message.direction, Direction::ToAgent, "{name}: {field:?}");
            }
        }
    }
}

#[test]
fn the_payload_of_an_answer_is_checked_by_the_type_of_its_request() {
    let tape = concat!(
        "{\"tape\":1}\n",
        r#"{"t":0,"dir":"in","line":"{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"set_model\"}}"}"#,
        "\n",
        r#"{"t":1,"dir":"out","line":"{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"r\",\"response\":{\"model\":\"m\",\"mood\":1}}}"}"#,
        "\n",
        r#"{"t":2,"dir":"in","line":"{\"type\":\"control_request\",\"request_id\":\"s\",\"request\":{\"subtype\":\"set_model\"}}"}"#,
        "\n",
        r#"{"t":3,"dir":"out","line":"{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"s\",\"response\":{\"model\":5}}}"}"#,
        "\n",
    );
    let report = checked(tape);
    assert_eq!(report["understood"], false);
    assert_eq!(report["unknown_fields"][0]["path"], "response.response.mood");
    assert_eq!(report["unknown_fields"][0]["subtype"], "set_model");
    let reason = report["malformed"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("answer to set_model"), "{reason}");
    assert!(reason.contains("field `model`: expected a string, found a number"), "{reason}");
}

#[test]
fn findings_beyond_the_limit_are_counted() {
    let blocks: String = (0..10_001)
        .map(|number| {
            let content = json!([{ "type": format!("odd{number}") }]);
            let line = json!({ "type": "user", "message": { "role": "user", "content": content } });
            format!("{}\n", json!({ "t": 0, "dir": "in", "line": line.to_string() }))
        })
        .collect();
    let new = json!({ "t": 1, "dir": "out", "line": "{\"type\":\"brand_new_line\"}" });
    let report = checked(&format!("{{\"tape\":1}}\n{blocks}{new}\n"));
    assert_eq!(report["understood"], false);
    assert_eq!(report["not_listed"]["unknown"], 2);
}
