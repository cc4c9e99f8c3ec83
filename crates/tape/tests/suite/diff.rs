//! Two tapes compared by meaning: differences that depend on timing are ignored.

use duologue_tape::Reader;
use duologue_tape::diff::{Difference, compare};
use serde_json::{Value, json};

/// A tape of these lines: whether the host wrote it, and the line.
fn tape(lines: &[(bool, Value)]) -> String {
    let mut tape = String::from("{\"tape\":1,\"program\":\"claude\",\"argv\":[]}\n");
    for (at, (of_host, line)) in lines.iter().enumerate() {
        let dir = if *of_host { "in" } else { "out" };
        let entry = json!({ "t": at, "dir": dir, "line": line.to_string() });
        tape.push_str(&format!("{entry}\n"));
    }
    tape
}

fn differences(a: &[(bool, Value)], b: &[(bool, Value)]) -> Vec<Difference> {
    let (a, b) = (tape(a), tape(b));
    compare(&mut Reader::new(a.as_bytes()), &mut Reader::new(b.as_bytes())).unwrap()
}

fn prompt(uuid: &str, text: &str) -> (bool, Value) {
    (true, json!({ "type": "user", "uuid": uuid, "message": { "role": "user", "content": text } }))
}

fn lifecycle(uuid: &str, state: &str) -> (bool, Value) {
    (false, json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": state }))
}

fn init() -> (bool, Value) {
    (false, json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "m" }))
}

fn text(id: &str, text: &str) -> (bool, Value) {
    let content = json!([{ "type": "text", "text": text }]);
    (false, json!({ "type": "assistant", "message": { "id": id, "content": content } }))
}

fn result(uuids: &[&str], text: &str) -> (bool, Value) {
    (
        false,
        json!({
            "type": "result", "subtype": "success", "is_error": false, "result": text,
            "user_message_uuids": uuids,
        }),
    )
}

const ONE: &str = "11111111-1111-4111-8111-111111111111";
const TWO: &str = "22222222-2222-4222-8222-222222222222";

/// Two prompts, the second of which is written at this place of the first turn.
fn queued(at: usize) -> Vec<(bool, Value)> {
    let mut lines = vec![
        prompt(ONE, "one"),
        lifecycle(ONE, "queued"),
        lifecycle(ONE, "started"),
        init(),
        text("m1", "First."),
        result(&[ONE], "First."),
    ];
    lines.insert(at, prompt(TWO, "two"));
    lines.extend([
        lifecycle(TWO, "queued"),
        lifecycle(TWO, "started"),
        init(),
        text("m2", "Second."),
        result(&[TWO], "Second."),
    ]);
    lines
}

#[test]
fn the_time_of_a_prompt_is_ignored() {
    for at in 3..6 {
        assert_eq!(differences(&queued(3), &queued(at)), [], "written at {at}");
    }
    let without: Vec<_> =
        queued(3).into_iter().filter(|line| *line != prompt(TWO, "two")).collect();
    assert!(!differences(&queued(3), &without).is_empty(), "a prompt is missing");
}

/// An interrupt, whose answer comes before or after the turn begins.
fn interrupted(answer_at: usize) -> Vec<(bool, Value)> {
    let request = json!({ "subtype": "interrupt" });
    let mut lines = vec![
        prompt(ONE, "one"),
        (true, json!({ "type": "control_request", "request_id": "r", "request": request })),
        lifecycle(ONE, "started"),
        init(),
        text("m1", "First."),
        result(&[ONE], "First."),
    ];
    let response = json!({ "subtype": "success", "request_id": "r", "response": {} });
    lines.insert(answer_at, (false, json!({ "type": "control_response", "response": response })));
    lines
}

#[test]
fn the_time_of_an_answer_is_ignored() {
    for at in 2..6 {
        assert_eq!(differences(&interrupted(2), &interrupted(at)), [], "answered at {at}");
    }
}

/// Two calls, whose results come in this order; each names its file, and the tape.
fn two_results(order: [usize; 2], tape: &str) -> Vec<(bool, Value)> {
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "Read", "input": {} });
    let calls = json!([call("t0"), call("t1")]);
    let mut lines = vec![
        init(),
        (false, json!({ "type": "assistant", "message": { "id": "m", "content": calls } })),
    ];
    for at in order {
        let content =
            json!([{ "type": "tool_result", "tool_use_id": format!("t{at}"), "content": "x" }]);
        lines.push((
            false,
            json!({
                "type": "user", "message": { "role": "user", "content": content },
                "tool_use_result": { "file": format!("file {at}"), "tape": tape },
            }),
        ));
    }
    lines.push(result(&[], "Done."));
    lines
}

#[test]
fn results_are_compared_with_those_of_the_same_call() {
    let differences = differences(&two_results([0, 1], "a"), &two_results([1, 0], "b"));
    let fields: Vec<_> = differences.iter().map(|found| found.field.as_deref()).collect();
    assert_eq!(fields, [Some("structured.tape"); 2], "{differences:#?}");
}
