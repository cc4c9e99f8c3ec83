//! The ledger: what is open, whatever the agent writes.

use core::time::Duration;

use duologue_protocol::host_link::{Answer, Failure, LinkEvent};
use duologue_protocol::{Line, RequestId};
use duologue_testkit::mutate::{LONG, Random, mutate};
use duologue_testkit::{Recording, recordings};
use serde_json::json;

use super::host::Host;

/// A recording's lines to the host that belong to turns, as they stand or mutated.
fn played(recording: &Recording, seed: u64) -> Result<bool, String> {
    let mut random = Random::new(seed);
    let mut lines: Vec<Vec<u8>> = Vec::new();
    // Which lines of the host come before which of the agent's.
    let mut prompts: Vec<(usize, &str)> = Vec::new();
    for entry in &recording.entries {
        if entry.to_host {
            lines.push(entry.line.clone().into_bytes());
        } else {
            prompts.push((lines.len(), &entry.line));
        }
    }
    let mut done = Vec::new();
    for _ in 0..=random.below(2) {
        done.extend(mutate(&mut lines, 0, &mut random).map(|mutation| mutation.to_string()));
    }
    let mut host = Host::new();
    let mut prompts = prompts.into_iter().peekable();
    for (at, line) in lines.iter().enumerate() {
        while let Some((_, prompt)) = prompts.next_if(|(before, _)| *before <= at) {
            host.send_recorded(prompt);
        }
        host.receive(line);
        let between = host.is_between_turns();
        if between == host.reported.is_anything_open() {
            return Err(format!(
                "{} {}, seed {seed} ({done:?}), after line {at}: between turns: {between}, {:?}\n{}\n{:#?}",
                recording.version,
                recording.name,
                host.reported,
                String::from_utf8_lossy(line).chars().take(400).collect::<String>(),
                host.transcript,
            ));
        }
    }
    Ok(host.reported.finished > 0)
}

/// Every recording a few times, each time with one or two lines mutated: after every line, the events that a subscriber
/// gets and the state by which stdin is closed agree on whether anything is open.
#[test]
fn events_and_state_agree_on_what_is_open() {
    let times: u64 = std::env::var("DUOLOGUE_FUZZ_TIMES").ok().map_or(4, |n| n.parse().unwrap());
    let mut finished = 0;
    for (number, recording) in recordings().iter().enumerate() {
        for time in 0..times {
            match played(recording, number as u64 * 100_000 + time) {
                Ok(ended) => finished += u64::from(ended),
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(finished > 300, "{finished}");
}

/// The end of a turn, in every way in which it may be hard to read.
fn ends(uuid: &str) -> Vec<(&'static str, Vec<u8>)> {
    let result = json!({ "type": "result", "subtype": "success", "is_error": false, "result": "ok",
        "num_turns": 1, "total_cost_usd": 0.1, "uuid": "r", "user_message_uuids": [uuid] });
    let with = |key: &str, value: serde_json::Value| {
        let mut line = result.clone();
        line[key] = value;
        line.to_string().replacen('{', "{\"type\":\"result\",", 1).into_bytes()
    };
    let text = result.to_string().replacen('{', "{\"type\":\"result\",", 1);
    let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
    let mut not_utf8 = text.clone().into_bytes();
    not_utf8.insert(text.find("ok").unwrap(), 0xff);
    vec![
        ("as it should be", text.clone().into_bytes()),
        ("a new subtype", with("subtype", json!("error_of_tomorrow"))),
        ("no subtype", text.replace("\"subtype\":\"success\",", "").into_bytes()),
        ("a subtype of another type", with("subtype", json!(7))),
        ("a field of another type", with("api_error_status", json!("x"))),
        ("names of another type", with("user_message_uuids", json!(7))),
        ("names of another host", with("user_message_uuids", json!(["other"]))),
        ("nested deeply", text.replace("\"ok\"", &deep).into_bytes()),
        ("not UTF-8", not_utf8),
        ("longer than the cap", with("result", json!("x".repeat(LONG)))),
        ("cut off", text.as_bytes()[..text.len() / 2].to_vec()),
        ("cut off in its type", br#"{"type":"resu"#.to_vec()),
        ("without a type", text.replace("\"type\":\"result\",", "").into_bytes()),
    ]
}

#[test]
fn a_result_that_cannot_be_decoded_ends_its_turn() {
    for introduced in [true, false] {
        for (what, line) in ends("u1") {
            let mut host = Host::prompted("u1");
            if introduced {
                host.receive(br#"{"type":"system","subtype":"init","uuid":"i"}"#);
            }
            assert!(!host.is_between_turns(), "{what}");
            host.receive(&line);
            assert!(host.is_between_turns(), "{what}: {:?}", host.transcript);
            assert!(host.may_close(), "{what}: {:?}", host.link);
            assert_eq!((host.reported.finished, host.turns().results()), (1, 1), "{what}");
        }
    }
}

/// The agent lists prompts as waiting, takes two into one turn, and its result cannot be read.
#[test]
fn all_prompts_of_a_turn_end_with_a_result_that_cannot_be_decoded() {
    for (what, line) in ends("u1").into_iter().skip(1) {
        let mut host = Host::prompted("u1");
        host.prompt("and this", "u2");
        for (uuid, state) in
            [("u1", "queued"), ("u2", "queued"), ("u1", "started"), ("u2", "started")]
        {
            let line = json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": state });
            host.receive(line.to_string().as_bytes());
        }
        host.receive(br#"{"type":"system","subtype":"init","uuid":"i"}"#);
        host.receive(&line);
        assert!(host.may_close(), "{what}");
    }
}

fn background(host: &mut Host) {
    host.receive(br#"{"type":"system","subtype":"init","uuid":"i"}"#);
    let started = json!({ "type": "system", "subtype": "task_started", "task_id": "t",
        "task_type": "local_agent", "is_backgrounded": true });
    host.receive(started.to_string().as_bytes());
    host.receive(br#"{"type":"result","subtype":"success","user_message_uuids":["u1"]}"#);
    assert!(host.is_between_turns() && !host.may_close());
}

/// A task ends in several ways; none of them needs to be wholly readable.
#[test]
fn the_end_of_a_task_is_found_in_a_broken_line() {
    for line in [
        r#"{"type":"system","subtype":"task_notification","task_id":"t","status":7}"#,
        r#"{"type":"system","subtype":"task_notification","task_id":"t","summary":"cut o"#,
        r#"{"type":"system","subtype":"task_updated","task_id":"t","patch":{"status":"completed","end_time":"x"}}"#,
        r#"{"type":"system","subtype":"task_over","task_id":"t","status":"failed"}"#,
    ] {
        let mut host = Host::prompted("u1");
        background(&mut host);
        host.receive(line.as_bytes());
        assert!(host.may_close(), "{line}");
    }
}

/// Which task has ended cannot be read: then what seems to be open is not certain.
#[test]
fn an_end_that_cannot_be_decoded_is_unclear() {
    for line in [
        &br#"{"type":"system","subtype":"task_notification","status":"completed"}"#[..],
        br#"{"type":"system","subtype":"background_tasks_changed","tasks":7}"#,
        br#"{"type":"system","subtype":"background_tasks_changed"}"#,
        br#"{"type":"system","subtype":"task_updated","patch":{"status":"completed"}}"#,
        br#"{"type":"system","subtype":7}"#,
        br#"{"type":"command_lifecycle","state":"completed"}"#,
        br#"{"type":"sys"#,
        b"{\"type\":\"system\xff",
    ] {
        let mut host = Host::prompted("u1");
        background(&mut host);
        assert!(!host.is_unclear());
        host.receive(line);
        let line = String::from_utf8_lossy(line);
        assert!(host.may_close() || host.is_unclear(), "{line}");
        // The next turn makes things clear again.
        host.receive(br#"{"type":"system","subtype":"init","uuid":"i2"}"#);
        assert!(!host.is_unclear(), "{line}");
    }
}

/// Something that a tool or a runtime has printed is not a message.
#[test]
fn printed_text_is_not_unclear() {
    let mut host = Host::prompted("u1");
    background(&mut host);
    for text in ["(node:12) Warning: x", "debug: turn 3", "null", "[1]", "\u{1b}[2m"] {
        host.receive(text.as_bytes());
        assert!(!host.is_unclear(), "{text}");
    }
}

/// A line of the main agent that comes late does not begin a turn that never ends.
#[test]
fn a_late_line_begins_no_turn() {
    let mut host = Host::prompted("u1");
    host.receive(br#"{"type":"system","subtype":"init","uuid":"i"}"#);
    host.receive(br#"{"type":"result","subtype":"success","uuid":"r"}"#);
    host.receive(
        br#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"late"}]}}"#,
    );
    assert!(host.may_close());
}

/// An introduction that cannot be read, in the middle of a turn, does not begin another one.
#[test]
fn a_broken_introduction_does_not_split_a_turn() {
    let mut host = Host::prompted("u1");
    host.receive(br#"{"type":"system","subtype":"init","uuid":"i"}"#);
    host.receive(
        br#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Hi"}]}}"#,
    );
    host.receive(br#"{"type":"system","subtype":"init","uuid":"i2","tools":"none"}"#);
    host.receive(br#"{"type":"result","subtype":"success","uuid":"r"}"#);
    assert!(host.may_close());
    assert_eq!(host.reported.finished, 1);
}

/// A line that comes twice counts once.
#[test]
fn a_result_that_comes_twice_answers_one_prompt() {
    let mut host = Host::prompted("u1");
    host.prompt("and this", "u2");
    let result = br#"{"type":"result","subtype":"success","uuid":"r"}"#;
    host.receive(result);
    host.receive(result);
    assert!(!host.is_between_turns());
    host.receive(br#"{"type":"result","subtype":"success","uuid":"r2"}"#);
    assert!(host.may_close());
}

/// An answer or a withdrawal that cannot be decoded still ends what it is about.
#[test]
fn control_lines_that_cannot_be_decoded_end_what_they_are_about() {
    let mut host = Host::new();
    for answer in [
        &br#"{"type":"control_response","response":{"subtype":"of_tomorrow","request_id":"ID"}}"#[..],
        br#"{"type":"control_response","response":{"subtype":7,"request_id":"ID"}}"#,
        br#"{"type":"control_response","response":{"request_id":"ID","response":{"cut o"#,
        b"{\"type\":\"control_response\",\"response\":{\"request_id\":\"ID\",\"x\":\"\xff\"}}",
    ] {
        let request = duologue_protocol::control::McpStatusRequest::new();
        let id = host.link.request(Duration::ZERO, request, None);
        host.write();
        let at = answer.windows(2).position(|bytes| bytes == b"ID").unwrap();
        let line = [&answer[..at], id.as_str().as_bytes(), &answer[at + 2..]].concat();
        host.receive(line);
        let shown = String::from_utf8_lossy(answer);
        let events = host.events();
        assert!(
            matches!(
                &events[..],
                [LinkEvent::Replied { id: replied, outcome: Err(Failure::Refused(_)) }]
                    if *replied == id
            ),
            "{shown}: {events:?}"
        );
        assert!(host.may_close(), "{shown}");
    }
    host.receive(
        r#"{"type":"control_request","request_id":"a","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}"#,
    );
    assert!(!host.may_close());
    host.receive(r#"{"type":"control_cancel_request","request_id":"a","x":"cut o"#);
    assert!(host.may_close());
    assert!(host.link.answer(&RequestId::from("a"), &Answer::Ack).is_err());
}

/// An interrupt may cancel prompts that wait. Older versions report that only in their answer.
#[test]
fn prompts_that_an_interrupt_cancels_are_not_waited_for() {
    let mut host = Host::prompted("u1");
    let interrupt = duologue_protocol::control::Interrupt::new();
    let id = host.link.request(Duration::ZERO, interrupt, None);
    host.write();
    assert!(!host.is_between_turns());
    host.receive_json(&json!({ "type": "control_response", "response": { "subtype": "success",
        "request_id": id.as_str(), "response": { "still_queued": [], "cancelled": ["u1"] } } }));
    assert!(host.may_close());
}

/// A prompt counts from the call on, not only when it is written.
#[test]
fn a_prompt_that_is_not_written_yet_counts() {
    let mut host = Host::new();
    host.link.prompt(&duologue_protocol::lines::Prompt::text("hi").uuid("u1"));
    assert!(!host.is_between_turns() && !host.may_close());
    let line = host.link.poll_transmit().unwrap();
    assert!(!host.is_between_turns(), "it was taken out, and the transcript has not seen it");
    host.transcript
        .handle_line(duologue_protocol::Direction::ToAgent, &Line::from(line.trim_end()));
    assert!(!host.is_between_turns());
    host.receive(br#"{"type":"result","subtype":"success","uuid":"r"}"#);
    assert!(host.may_close());
}

/// The agent reports the end of a prompt whose turn was never seen. A subscriber gets the end, too.
#[test]
fn a_prompt_that_ends_without_a_turn_is_cancelled() {
    let mut host = Host::prompted("u1");
    for state in ["queued", "started", "completed"] {
        assert!(host.reported.is_anything_open());
        host.receive_json(
            &json!({ "type": "command_lifecycle", "command_uuid": "u1", "state": state }),
        );
    }
    assert!(!host.reported.is_anything_open() && host.may_close());
}
