//! The agent's end of the wire: turns, queue, questions, and the lines it does not survive.

use duologue_protocol::agent_link::{AgentEvent, AgentLink, Outcome, Reply};
use duologue_protocol::control::{AgentRequest, CanUseTool, McpMessage};
use duologue_protocol::lines::{ResultSubtype, TurnResult};
use duologue_protocol::{Line, RawObject};
use duologue_testkit::recordings;
use serde_json::{Value, json};

pub(crate) fn receive(link: &mut AgentLink, value: &Value) {
    link.handle_line(&Line::from(value.to_string()));
}

pub(crate) fn prompt(text: &str, uuid: &str) -> Value {
    json!({ "type": "user", "message": { "role": "user", "content": text }, "uuid": uuid })
}

pub(crate) fn request(id: &str, body: Value) -> Value {
    json!({ "type": "control_request", "request_id": id, "request": body })
}

pub(crate) fn events(link: &mut AgentLink) -> Vec<AgentEvent> {
    std::iter::from_fn(|| link.poll_event()).collect()
}

pub(crate) fn sent(link: &mut AgentLink) -> Vec<Value> {
    let lines = std::iter::from_fn(|| link.poll_transmit());
    lines.map(|line| serde_json::from_str(&line).unwrap()).collect()
}

/// The lines in short: type, and what tells them apart.
fn outline(link: &mut AgentLink) -> Vec<String> {
    sent(link)
        .iter()
        .map(|line| {
            let kind = line["type"].as_str().unwrap();
            match kind {
                "command_lifecycle" => {
                    format!(
                        "{} {}",
                        line["command_uuid"].as_str().unwrap(),
                        line["state"].as_str().unwrap()
                    )
                }
                "user" => format!("user {}", line["message"]["content"].as_str().unwrap()),
                "system" => format!("state {}", line["state"].as_str().unwrap_or("?")),
                other => other.to_owned(),
            }
        })
        .collect()
}

pub(crate) fn done() -> TurnResult {
    TurnResult::new().subtype(ResultSubtype::Success).is_error(false).result("done")
}

fn starts(link: &mut AgentLink) -> Vec<String> {
    let texts = events(link).into_iter().filter_map(|event| match event {
        AgentEvent::TurnBegins(turn) => Some(turn.content().text()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn ask(call: &str, tool: &str, input: Value) -> CanUseTool {
    CanUseTool::new().tool_name(tool).tool_use_id(call).input(RawObject::of(&input).unwrap())
}

#[test]
fn prompts_that_wait_become_one_turn() {
    let mut link = AgentLink::new().replay();
    for (text, uuid) in [("one", "u1"), ("two", "u2"), ("three", "u3")] {
        receive(&mut link, &prompt(text, uuid));
    }
    assert_eq!(starts(&mut link), ["one"]);
    link.replay_prompts(None);
    assert_eq!(
        outline(&mut link),
        ["u1 queued", "u1 started", "u2 queued", "u3 queued", "user one"]
    );
    assert!(link.end_turn(done()));
    assert_eq!(starts(&mut link), ["two\nthree"]);
    link.replay_prompts(None);
    let expected =
        ["result", "u1 completed", "user two", "u2 started", "u3 started", "user two\nthree"];
    assert_eq!(outline(&mut link), expected);
    link.end_turn(done());
    let result = &sent(&mut link)[0];
    assert_eq!(result["user_message_uuid"], "u3");
    assert_eq!(result["user_message_uuids"], json!(["u2", "u3"]));
    assert_eq!(result["result_index"], 1);
    assert!(!link.end_turn(done()), "no turn runs");
}

#[test]
fn prompts_are_folded_into_the_turn_after_a_tool() {
    let mut link = AgentLink::new();
    receive(&mut link, &prompt("one", "u1"));
    receive(&mut link, &prompt("two", "u2"));
    let later = json!({ "type": "user", "message": { "role": "user", "content": "later" },
        "uuid": "u3", "priority": "later" });
    receive(&mut link, &later);
    assert_eq!(starts(&mut link), ["one"]);
    let folded = link.fold(None);
    assert_eq!(folded.len(), 1);
    link.end_turn(done());
    let expected = [
        "u1 queued",
        "u1 started",
        "u2 queued",
        "u3 queued",
        "u2 started",
        "u2 completed",
        "result",
        "u1 completed",
        "u3 started",
    ];
    assert_eq!(outline(&mut link), expected);
    assert_eq!(starts(&mut link), ["later"]);
}

#[test]
fn commands_stand_alone() {
    let mut link = AgentLink::new();
    for text in ["one", "two", "/compact", "three", "four"] {
        let message = json!({ "role": "user", "content": text });
        receive(&mut link, &json!({ "type": "user", "message": message }));
    }
    let mut turns = starts(&mut link);
    while link.end_turn(done()) {
        turns.extend(starts(&mut link));
    }
    assert_eq!(turns, ["one", "two", "/compact", "three\nfour"]);
}

#[test]
fn a_prompt_that_comes_twice_is_said_again_and_swallowed() {
    let mut link = AgentLink::new().replay();
    receive(&mut link, &prompt("one", "u1"));
    link.end_turn(done());
    let _ = (events(&mut link), sent(&mut link));
    receive(&mut link, &prompt("again", "u1"));
    assert_eq!(starts(&mut link), Vec::<String>::new());
    let lines = sent(&mut link);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["isReplay"], true);
}

#[test]
fn a_prompt_that_cannot_wait_ends_the_turn() {
    let mut link = AgentLink::new();
    receive(&mut link, &prompt("one", "u1"));
    receive(&mut link, &prompt("two", "u2"));
    let mut now = prompt("now", "u3");
    now["priority"] = json!("now");
    receive(&mut link, &now);
    let preempted = |event: &AgentEvent| matches!(event, AgentEvent::Interrupted(how) if how.preempted && how.in_turn);
    assert!(events(&mut link).iter().any(preempted));
    link.end_turn(done());
    assert_eq!(starts(&mut link), ["now\ntwo"]);
}

#[test]
fn a_prompt_can_be_taken_back_while_it_waits() {
    let mut link = AgentLink::new();
    receive(&mut link, &prompt("one", "u1"));
    receive(&mut link, &prompt("two", "u2"));
    let _ = sent(&mut link);
    let cancel = |uuid| json!({ "subtype": "cancel_async_message", "message_uuid": uuid });
    receive(&mut link, &request("r1", cancel("u2")));
    receive(&mut link, &request("r2", cancel("u1")));
    let lines = sent(&mut link);
    assert_eq!(lines[0]["state"], "cancelled");
    assert_eq!(lines[1]["response"]["response"]["cancelled"], true);
    assert_eq!(lines[2]["response"]["response"]["cancelled"], false);
    let _ = starts(&mut link);
    link.end_turn(done());
    assert_eq!(starts(&mut link), Vec::<String>::new());
}

#[test]
fn an_interrupt_withdraws_what_is_open_then_is_answered() {
    let mut link = AgentLink::new();
    receive(&mut link, &prompt("one", "u1"));
    receive(&mut link, &prompt("two", "u2"));
    let permission = link.ask(ask("toolu_1", "Bash", json!({})));
    let call = json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/call" });
    let message = McpMessage::new().server_name("calc").message(RawObject::of(&call).unwrap());
    let mcp = link.ask(AgentRequest::from(message));
    let _ = (events(&mut link), sent(&mut link));
    receive(&mut link, &request("r1", json!({ "subtype": "interrupt" })));
    receive(&mut link, &request("r2", json!({ "subtype": "interrupt", "cancel_queued": true })));
    let lines = sent(&mut link);
    assert_eq!(lines[0]["type"], "control_cancel_request");
    assert_eq!(lines[1]["request"]["message"]["method"], "notifications/cancelled");
    assert_eq!(lines[1]["request"]["message"]["params"]["requestId"], 4);
    assert_eq!(lines[2]["response"]["response"], json!({ "still_queued": ["u2"] }));
    assert_eq!(lines[3]["state"], "cancelled");
    assert_eq!(
        lines[4]["response"]["response"],
        json!({ "still_queued": [], "cancelled": ["u2"] })
    );
    let told = events(&mut link);
    let ended = |id| AgentEvent::Answered { id, outcome: Outcome::Withdrawn };
    assert_eq!(told[..2], [ended(permission.clone()), ended(mcp)]);
    let in_turn =
        |event: &&AgentEvent| matches!(event, AgentEvent::Interrupted(how) if how.in_turn);
    assert_eq!(told.iter().filter(in_turn).count(), 1, "a turn is stopped once");
    // The host answers all the same.
    let late = json!({ "subtype": "success", "request_id": permission.as_str(), "response": {} });
    receive(&mut link, &json!({ "type": "control_response", "response": late }));
    assert_eq!(events(&mut link), []);
    link.end_turn(done());
    let lines = sent(&mut link);
    assert_eq!(lines[1]["state"], "cancelled");
}

#[test]
fn requests_are_answered_under_the_name_they_came_with() {
    let mut link = AgentLink::new();
    receive(
        &mut link,
        &json!({ "type": "control_request", "request_id": 7, "request": { "subtype": "mcp_status" } }),
    );
    receive(
        &mut link,
        &json!({ "type": "control_request", "request": { "subtype": "frobnicate" } }),
    );
    receive(&mut link, &request("r3", json!({})));
    let keys: Vec<_> = events(&mut link)
        .into_iter()
        .filter_map(|event| match event {
            AgentEvent::Asked { key, .. } => Some(key),
            _ => None,
        })
        .collect();
    for key in &keys {
        link.answer(*key, &Reply::Unsupported).unwrap();
        assert!(link.answer(*key, &Reply::Ack).is_err(), "once");
    }
    let lines = sent(&mut link);
    assert_eq!(lines[0]["response"]["request_id"], 7);
    assert_eq!(lines[1]["response"].get("request_id"), None);
    assert_eq!(lines[2]["response"]["error"], "Unsupported control request subtype: undefined");
    assert_eq!(lines[2]["response"]["error_code"], "unsupported_request");
    receive(
        &mut link,
        &request(
            "r4",
            json!({ "subtype": "set_max_thinking_tokens", "max_thinking_tokens": "many" }),
        ),
    );
    assert_eq!(sent(&mut link)[0]["response"]["subtype"], "error");
}

#[test]
fn a_host_that_joins_gets_the_open_requests() {
    let mut link = AgentLink::new();
    receive(&mut link, &prompt("one", "u1"));
    let id = link.ask(ask("toolu_1", "Bash", json!({ "command": "date" })));
    let _ = (events(&mut link), sent(&mut link));
    receive(&mut link, &request("r1", json!({ "subtype": "initialize", "hooks": null })));
    let Some(AgentEvent::Asked { key, .. }) = link.poll_event() else { panic!() };
    link.answer(key, &Reply::of(&RawObject::default())).unwrap();
    let response = sent(&mut link)[0]["response"].clone();
    assert_eq!(response["pending_permission_requests"][0]["request_id"], id.as_str());
    assert_eq!(response["pending_user_dialog_requests"], json!([]));
}

#[test]
fn the_end_of_the_host_ends_what_is_asked_and_not_what_was_said() {
    let mut link = AgentLink::new();
    receive(&mut link, &prompt("one", "u1"));
    receive(&mut link, &prompt("two", "u2"));
    let id = link.ask(ask("toolu_1", "Bash", json!({})));
    let _ = events(&mut link);
    link.handle_end();
    assert_eq!(events(&mut link)[0], AgentEvent::Answered { id, outcome: Outcome::Ended });
    assert!(!link.is_done());
    let late = link.ask(ask("toolu_2", "Bash", json!({})));
    assert_eq!(events(&mut link), [AgentEvent::Answered { id: late, outcome: Outcome::Ended }]);
    link.end_turn(done().is_error(true));
    assert_eq!(starts(&mut link), ["two"]);
    assert_eq!(link.exit_code(), 1);
    link.end_turn(done());
    assert!(link.is_done());
    assert_eq!(link.exit_code(), 0, "the last turn decides");
}

#[test]
fn results_wait_for_the_background_once_the_host_is_gone() {
    let mut link = AgentLink::new();
    receive(&mut link, &prompt("one", "u1"));
    link.hold_results(true);
    link.handle_end();
    link.end_turn(done());
    assert_eq!(outline(&mut link), ["u1 queued", "u1 started", "u1 completed"]);
    link.begin_own_turn(Default::default(), None);
    link.hold_results(false);
    assert_eq!(outline(&mut link), Vec::<String>::new());
    link.end_turn(done());
    assert_eq!(outline(&mut link), ["result", "result"]);
}

#[test]
fn the_state_of_the_session_is_reported() {
    let mut link = AgentLink::new().state_events();
    receive(&mut link, &json!({ "type": "user", "message": { "role": "user", "content": "one" } }));
    let id = link.ask(ask("toolu_1", "Bash", json!({})));
    let yes = json!({ "subtype": "success", "request_id": id.as_str(), "response": {} });
    receive(&mut link, &json!({ "type": "control_response", "response": yes }));
    link.end_turn(done());
    let expected = [
        "state running",
        "state requires_action",
        "control_request",
        "state running",
        "result",
        "state idle",
    ];
    assert_eq!(outline(&mut link), expected);
}

#[test]
fn a_turn_without_a_prompt_waits_for_queued_prompts() {
    use duologue_protocol::message::{Origin, OriginKind};
    let mut link = AgentLink::new();
    receive(&mut link, &prompt("one", "u1"));
    link.begin_own_turn(Origin::new().kind(OriginKind::TaskNotification), None);
    receive(&mut link, &prompt("two", "u2"));
    link.end_turn(done());
    link.end_turn(done());
    let _ = sent(&mut link);
    link.end_turn(done());
    let result = &sent(&mut link)[0];
    assert_eq!(result["origin"]["kind"], "task-notification");
    assert_eq!(result.get("user_message_uuid"), None);
}

#[test]
fn the_result_does_not_begin_with_its_type() {
    let mut link = AgentLink::new();
    receive(&mut link, &prompt("one", "u1"));
    while link.poll_transmit().is_some() {}
    link.end_turn(done().duration_api_ms(3_u64));
    assert!(link.poll_transmit().unwrap().starts_with("{\"duration_api_ms\":3"));
}

/// Every line that the real CLI died of, and what it sent, as it was recorded.
#[test]
fn lines_that_are_fatal_are_fatal_in_the_same_words() {
    let table = [
        (
            "this is not json",
            "Error parsing streaming input line (type=unknown, 16 chars): SyntaxError",
        ),
        (
            r#"{"type":"user","message":{"role":"user","content":"x""#,
            "Error parsing streaming input line (type=user, 53 chars): SyntaxError",
        ),
        (
            r#"{"type":"user","message":{"role":"user","content":"a"}}{"type":"user","message":{"role":"user","content":"b"}}"#,
            "Error parsing streaming input line (type=user, 110 chars): SyntaxError",
        ),
        ("null", "Error parsing streaming input line (type=unknown, 4 chars): TypeError"),
        (r#"{"type":"user"}"#, "Error: Expected message role 'user', got 'undefined'"),
        (
            r#"{"type":"user","message":{"content":"x"}}"#,
            "Error: Expected message role 'user', got 'undefined'",
        ),
        (
            r#"{"type":"user","message":{"role":"assistant","content":"x"}}"#,
            "Error: Expected message role 'user', got 'assistant'",
        ),
        (
            r#"{"type":"control_request","request_id":"m1"}"#,
            "Error: Missing request on control_request",
        ),
        (
            r#"{"type":"control_request","request_id":"m7","request":null}"#,
            "Error: Missing request on control_request",
        ),
    ];
    for (line, message) in table {
        let mut link = AgentLink::new();
        link.handle_line(&Line::from(line));
        let [AgentEvent::Fatal(fatal)] = &events(&mut link)[..] else { panic!("{line}") };
        assert_eq!(fatal.message, message);
        assert!(link.is_done());
        assert_eq!(link.exit_code(), 1);
        assert_eq!(sent(&mut link), Vec::<Value>::new(), "{line}");
        // A lenient link answers with an error line instead, and continues.
        let mut link = AgentLink::new().lenient();
        link.handle_line(&Line::from(line));
        assert_eq!(sent(&mut link)[0]["error"]["type"], "invalid_request");
        receive(&mut link, &prompt("still there?", "u1"));
        assert_eq!(starts(&mut link), ["still there?"]);
    }
}

#[test]
fn lines_that_are_ignored_are_ignored() {
    let ignored = [
        r#"{"type":"frobnicate"}"#,
        r#"{"kind":"user"}"#,
        "[]",
        "\"text\"",
        "42",
        r#"{"type":"system","subtype":"init"}"#,
        r#"{"type":"assistant","message":{}}"#,
        r#"{"type":"result","subtype":"success"}"#,
        r#"{"type":"approve","tool_use_id":"t"}"#,
        r#"{"type":"deny","tool_use_id":"t"}"#,
        r#"{"type":"keep_alive"}"#,
        r#"{"type":"tool_result","tool_use_id":"t","content":"x"}"#,
        "",
        "   ",
        "\r",
        r#"{"type":"user","message":{"role":"user","content":42}}"#,
        r#"{"type":"control_response"}"#,
        r#"{"type":"control_cancel_request"}"#,
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"nobody"}}"#,
    ];
    for line in ignored {
        let mut link = AgentLink::new();
        link.handle_line(&Line::from(line));
        assert_eq!(events(&mut link), [], "{line}");
        assert_eq!(sent(&mut link), Vec::<Value>::new(), "{line}");
    }
}

#[test]
fn odd_prompts_run_a_turn() {
    let odd: [(&[u8], &str); 7] = [
        (br#"{"type":"user","message":{"role":"user","content":null}}"#, ""),
        (br#"{"type":"user","message":{"role":"user","content":[]}}"#, ""),
        (b"\xEF\xBB\xBF{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"bom\"}}\r", "bom"),
        (b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"a\xFFb\"}}", "a\u{fffd}b"),
        (br#"{"type":"user","message":{"role":"user","content":"x"},"priority":5,"uuid":"u"}"#, "x"),
        (br#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}}"#, ""),
        (br#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":5},{"type":"text","text":"y"}]}}"#, "y"),
    ];
    for (line, text) in odd {
        let mut link = AgentLink::new();
        link.handle_line(&Line::from(line.to_vec()));
        assert_eq!(starts(&mut link), [text], "{}", String::from_utf8_lossy(line));
    }
}

/// The hosts of all recordings, heard by a machine that answers nothing of its own: it survives
/// exactly what the real CLI survived.
#[test]
fn it_survives_what_the_real_one_survived() {
    let fatal = ["24a", "24b", "24e", "24f", "24g", "24m", "24zb", "15c1", "15c7"];
    for recording in recordings().into_iter().filter(|tape| tape.is_newest()) {
        let mut link = AgentLink::new();
        for entry in recording.entries.iter().filter(|entry| !entry.to_host) {
            link.handle_line(&Line::from(entry.line.as_str()));
        }
        let number = recording.name.split('-').next().unwrap();
        let died = events(&mut link).iter().any(|event| matches!(event, AgentEvent::Fatal(_)));
        assert_eq!(died, fatal.contains(&number), "{}", recording.name);
    }
}
