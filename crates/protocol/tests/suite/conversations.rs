//! Single conversations that are easily told wrong.

use duologue_protocol::transcript::{Event, Transcript};
use duologue_protocol::{Direction, Line, Wire as _};
use serde_json::{Value, json};

/// Lines that begin with `>` go to the agent, all others to the host.
fn fold(lines: &[&str]) -> Vec<Value> {
    let mut transcript = Transcript::new();
    let mut events = Vec::new();
    let mut take = |transcript: &mut Transcript| {
        while let Some(event) = transcript.poll_event() {
            events.push(serde_json::from_str(&event.to_json()).unwrap());
        }
    };
    for line in lines {
        match line.strip_prefix('>') {
            Some(line) => transcript.handle_line(Direction::ToAgent, &Line::from(line)),
            None => transcript.handle_line(Direction::ToHost, &Line::from(*line)),
        }
        take(&mut transcript);
    }
    transcript.handle_end();
    take(&mut transcript);
    events
}

fn named(events: &[Value], name: &str, fields: &[&str]) -> Vec<Value> {
    events
        .iter()
        .filter(|event| event["event"] == name)
        .map(|event| fields.iter().map(|field| event[*field].clone()).collect())
        .collect()
}

const INIT: &str = r#"{"type":"system","subtype":"init"}"#;

fn text(id: &str, text: &str) -> String {
    let content = json!([{ "type": "text", "text": text }]);
    json!({ "type": "assistant", "message": { "id": id, "content": content } }).to_string()
}

fn call(message: &str, id: &str) -> String {
    let content = json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": {} }]);
    json!({ "type": "assistant", "message": { "id": message, "content": content } }).to_string()
}

fn returned(id: &str, content: &str) -> String {
    let content = json!([{ "type": "tool_result", "tool_use_id": id, "content": content }]);
    json!({ "type": "user", "message": { "role": "user", "content": content } }).to_string()
}

fn result(more: Value) -> String {
    let mut line = json!({ "type": "result", "subtype": "success", "is_error": false });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    line.to_string()
}

fn ask(id: &str, tool_use_id: &str) -> String {
    let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "tool_use_id": tool_use_id });
    json!({ "type": "control_request", "request_id": id, "request": request }).to_string()
}

#[test]
fn a_call_of_the_same_name_in_another_turn_has_its_own_result() {
    let (call_1, call_2) = (call("m1", "t1"), call("m2", "t1"));
    let (first, second) = (returned("t1", "first"), returned("t1", "second"));
    let end = result(json!({}));
    let events = fold(&[INIT, &call_1, &first, &end, INIT, &call_2, &second, &end]);
    assert_eq!(
        named(&events, "tool_result", &["turn", "content"]),
        [json!([1, "first"]), json!([2, "second"])]
    );
    assert_eq!(named(&events, "tool_call", &["turn"]), [json!([1]), json!([2])]);
}

#[test]
fn a_tool_call_is_reported_once_although_several_messages_have_it() {
    let both = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t1","name":"Bash"}]}}"#;
    let alone = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash"}]}}"#;
    let events = fold(&[both, alone, &call("m9", "t1")]);
    assert_eq!(named(&events, "tool_call", &["id"]).len(), 1);
}

#[test]
fn the_first_total_of_a_resumed_session_is_not_the_cost_of_its_first_turn() {
    let since = json!({ "m": { "costUSD": 0.5 } });
    let first = result(json!({ "total_cost_usd": 2.0, "model_usage_since_last_result": since }));
    let events = fold(&[
        INIT,
        &text("m1", "x"),
        &first,
        INIT,
        &text("m2", "y"),
        &result(json!({ "total_cost_usd": 2.25 })),
    ]);
    assert_eq!(named(&events, "turn_finished", &["cost_usd"]), [json!([0.5]), json!([0.25])]);
}

#[test]
fn a_smaller_total_is_a_new_beginning() {
    let totals = [0.5, 0.75, 0.125, 0.25];
    let lines: Vec<String> =
        totals.iter().map(|total| result(json!({ "total_cost_usd": total }))).collect();
    let events = fold(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let costs: Vec<Value> = named(&events, "turn_finished", &["cost_usd"]).concat_values();
    assert_eq!(costs, [json!(0.5), json!(0.25), json!(0.125), json!(0.125)]);
}

#[test]
fn a_malformed_result_ends_its_own_turn() {
    let bad = r#"{"type":"result","subtype":"success","is_error":"no"}"#;
    let events = fold(&[
        INIT,
        &text("m1", "x"),
        bad,
        INIT,
        &text("m2", "y"),
        &result(json!({ "result": "y" })),
    ]);
    assert_eq!(
        named(&events, "turn_finished", &["turn", "outcome", "text"]),
        [json!([1, "error", "x"]), json!([2, "success", "y"])]
    );
    assert_eq!(named(&events, "malformed_line", &["direction"]), [json!(["to_host"])]);
}

#[test]
fn a_turn_that_ends_without_a_word_does_not_shift_the_next() {
    let events =
        fold(&[INIT, &text("m1", "x"), INIT, &text("m2", "y"), &result(json!({ "result": "y" }))]);
    assert_eq!(named(&events, "turn_finished", &["turn", "text"]), [json!([2, "y"])]);
    assert_eq!(named(&events, "run_ended", &["unfinished_turns"]), [json!([[1]])]);
}

#[test]
fn results_that_were_held_back_find_their_turns() {
    let (first, second) = (result(json!({ "result": "x" })), result(json!({ "result": "y" })));
    let events = fold(&[INIT, &text("m1", "x"), INIT, &text("m2", "y"), &first, &second]);
    assert_eq!(
        named(&events, "turn_finished", &["turn", "text"]),
        [json!([1, "x"]), json!([2, "y"])]
    );
}

#[test]
fn a_marker_beside_a_tool_result_is_an_interrupt() {
    let line = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"},{"type":"text","text":"[Request interrupted by user for tool use]"}]}}"#;
    let end = result(json!({ "subtype": "error_during_execution" }));
    let events = fold(&[INIT, &call("m1", "t1"), line, &end]);
    assert_eq!(named(&events, "turn_finished", &["outcome"]), [json!(["interrupted"])]);
    assert_eq!(named(&events, "interrupted", &["turn"]), [json!([1])]);
}

#[test]
fn a_prompt_that_quotes_the_marker_is_not_an_interrupt() {
    let words = "[Request interrupted by user] what does that mean?";
    let prompt = format!(
        ">{}",
        json!({ "type": "user", "uuid": "u1", "message": { "role": "user", "content": words } })
    );
    let replay = json!({ "type": "user", "uuid": "u1", "isReplay": true, "message": { "role": "user", "content": words } }).to_string();
    let events = fold(&[&prompt, INIT, &replay, &text("m1", "x"), &result(json!({}))]);
    assert_eq!(named(&events, "turn_finished", &["outcome"]), [json!(["success"])]);
    assert_eq!(named(&events, "prompt_queued", &["uuid"]).len(), 1);
}

#[test]
fn what_a_sub_agent_asks_is_answered_and_withdrawn_in_it() {
    let start = r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"a1","name":"Agent","input":{}}]}}"#;
    let inside = |message: &str, id: &str| {
        let content = json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": {} }]);
        json!({ "type": "assistant", "parent_tool_use_id": "a1", "message": { "id": message, "content": content } }).to_string()
    };
    let cancel = r#"{"type":"control_cancel_request","request_id":"r1"}"#;
    let allow = r#">{"type":"control_response","response":{"subtype":"success","request_id":"r2","response":{"behavior":"allow"}}}"#;
    let events = fold(&[
        INIT,
        start,
        &inside("m2", "t1"),
        &ask("r1", "t1"),
        cancel,
        &inside("m3", "t2"),
        &ask("r2", "t2"),
        allow,
    ]);
    for name in ["permission_asked", "permission_withdrawn", "permission_resolved"] {
        let agents = named(&events, name, &["agent"]);
        assert!(agents.iter().all(|agent| *agent == json!(["a1"])), "{name}: {agents:?}");
    }
}

#[test]
fn the_last_words_of_a_snapshot_belong_to_their_turn() {
    let snapshot = |id: &str, agent: Value, words: &str| {
        let content =
            json!([{ "type": "thinking", "thinking": "h" }, { "type": "text", "text": words }]);
        json!({ "type": "assistant", "parent_tool_use_id": agent, "message": { "id": id, "content": content } }).to_string()
    };
    let main = snapshot("m1", Value::Null, "two");
    let events = fold(&[INIT, &main, INIT, &text("m2", "x"), &result(json!({ "result": "x" }))]);
    assert_eq!(named(&events, "text", &["turn", "text"])[0], json!([1, "two"]));

    let agent = snapshot("m3", json!("a1"), "done");
    let events = fold(&[INIT, &text("m1", "x"), &agent, &result(json!({}))]);
    let order: Vec<&Value> = events.iter().map(|event| &event["event"]).collect();
    let said = order.iter().rposition(|event| **event == "text").unwrap();
    let ended = order.iter().position(|event| **event == "turn_finished").unwrap();
    assert!(said < ended, "{order:?}");
}

#[test]
fn the_same_id_on_both_sides_is_two_requests() {
    let host = r#">{"type":"control_request","request_id":"1","request":{"subtype":"set_model"}}"#;
    let reply = r#"{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"model":"m"}}}"#;
    let allow = r#">{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"behavior":"allow"}}}"#;
    let events = fold(&[host, &ask("1", "t1"), reply, allow]);
    assert_eq!(named(&events, "control_response", &["subtype"]), [json!(["set_model"])]);
    assert_eq!(named(&events, "permission_resolved", &["behavior"]), [json!(["allow"])]);
}

#[test]
fn a_request_that_is_delivered_again_is_reported_once() {
    let allow = r#">{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow"}}}"#;
    let events = fold(&[&ask("r", "t"), &ask("r", "t"), allow]);
    assert_eq!(named(&events, "permission_asked", &[]).len(), 1);
    // After its answer it is another request, which the host has to answer, too.
    let events = fold(&[&ask("r", "t"), allow, &ask("r", "t")]);
    assert_eq!(named(&events, "permission_asked", &[]).len(), 2);
    let unknown = r#"{"type":"hologram","uuid":"u"}"#;
    assert_eq!(named(&fold(&[unknown, unknown]), "unknown_line", &[]).len(), 1);
}

#[test]
fn fixed_fields_are_null_where_the_wire_has_none() {
    let events = fold(&[
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t"}]}}"#,
        r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool"}}"#,
        r#"{"type":"result","subtype":"success"}"#,
    ]);
    let has = |name: &str, fields: &[&str]| {
        let event = events.iter().find(|event| event["event"] == name).unwrap();
        for field in fields {
            assert!(event.get(field).is_some(), "{name} lacks {field}: {event}");
        }
    };
    has("tool_call", &["turn", "agent", "id", "name", "input"]);
    has("permission_asked", &["request_id", "tool_use_id", "tool_name", "input"]);
    has(
        "turn_finished",
        &[
            "turn",
            "outcome",
            "is_error",
            "subtype",
            "text",
            "cost_usd",
            "total_cost_usd",
            "usage",
            "num_turns",
            "session_id",
        ],
    );
}

/// A million of anything must take a moment, not an hour: each of these was quadratic once.
#[test]
fn hostile_sizes_stay_linear() {
    let mut transcript = Transcript::new();
    let mut count = 0;
    let mut feed = |line: &str| {
        transcript.handle_line(Direction::ToHost, &Line::from(line));
        while let Some(event) = transcript.poll_event() {
            count += 1;
            drop::<Event>(event);
        }
    };
    feed(INIT);
    for number in 0..30_000 {
        feed(&text("one message", &number.to_string()));
        feed(&ask(&format!("r{number}"), &format!("t{number}")));
        feed(&returned(&format!("t{number}"), "x"));
    }
    let calls: Vec<Value> = (0..30_000)
        .map(|number| json!({ "type": "tool_use", "id": format!("c{number}"), "name": "Bash" }))
        .collect();
    feed(&json!({ "type": "assistant", "message": { "id": "m", "content": calls } }).to_string());
    for number in 0..30_000 {
        let uuid = format!("u{number}");
        feed(
            &json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": "started" })
                .to_string(),
        );
    }
    assert!(count > 170_000, "{count}");
}

trait ConcatValues {
    fn concat_values(self) -> Vec<Value>;
}

impl ConcatValues for Vec<Value> {
    fn concat_values(self) -> Vec<Value> {
        self.into_iter().flat_map(|value| value.as_array().cloned().unwrap_or_default()).collect()
    }
}
