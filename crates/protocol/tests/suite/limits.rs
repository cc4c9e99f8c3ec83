//! What is open takes only so much memory, and what finds no room is told.

use duologue_protocol::transcript::{Event, Transcript};
use duologue_protocol::{Direction, FaultKind, Line};
use serde_json::{Value, json};

fn events_of(transcript: &mut Transcript, lines: impl IntoIterator<Item = Value>) -> Vec<Event> {
    let mut events = Vec::new();
    for line in lines {
        transcript.handle_line(Direction::ToHost, &Line::from(line.to_string()));
        events.extend(std::iter::from_fn(|| transcript.poll_event()));
    }
    events
}

fn limits(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::LimitReached(_))).count()
}

fn texts(events: &[Event]) -> Vec<&str> {
    let mut texts = Vec::new();
    for event in events {
        if let Event::Text(text) = event {
            texts.push(text.text.as_str());
        }
    }
    texts
}

fn assistant(id: &str, blocks: &[Value]) -> Value {
    json!({ "type": "assistant", "message": { "id": id, "content": blocks } })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn delta(index: usize, text: &str) -> Value {
    json!({ "type": "stream_event", "event": {
        "type": "content_block_delta", "index": index,
        "delta": { "type": "text_delta", "text": text },
    }})
}

#[test]
fn a_streamed_message_over_the_budget_is_reported_by_its_deltas_and_its_line() {
    let mut transcript = Transcript::new().open_limit(20_000);
    let piece = "x".repeat(1_000);
    let deltas = (0..100).map(|_| delta(0, &piece));
    let events = events_of(&mut transcript, deltas);
    assert_eq!(events.iter().filter(|event| event.is_delta()).count(), 100);
    assert_eq!(limits(&events), 1);
    let whole = piece.repeat(100);
    let events = events_of(&mut transcript, [assistant("m", &[text(&whole)])]);
    assert_eq!(texts(&events), [whole.as_str()]);
    // It was finished: nothing is abandoned.
    let result = json!({ "type": "result", "subtype": "success", "result": whole });
    let events = events_of(&mut transcript, [result]);
    assert!(!events.iter().any(|event| matches!(event, Event::BlockAbandoned(_))));
    let finished = events.iter().find_map(|event| match event {
        Event::TurnFinished(turn) => Some(turn),
        _ => None,
    });
    assert_eq!(finished.unwrap().text, whole);
}

#[test]
fn any_number_of_open_blocks_takes_only_so_much() {
    let mut transcript = Transcript::new().open_limit(20_000);
    let deltas = (0..10_000).map(|index| delta(index, "x"));
    let events = events_of(&mut transcript, deltas);
    assert_eq!(events.iter().filter(|event| event.is_delta()).count(), 10_000);
    transcript.handle_end();
    let left: Vec<Event> = std::iter::from_fn(|| transcript.poll_event()).collect();
    let abandoned = left.iter().filter(|event| matches!(event, Event::BlockAbandoned(_))).count();
    assert!((1..200).contains(&abandoned), "{abandoned}");
}

#[test]
fn blocks_that_were_not_kept_are_known_again() {
    let mut transcript = Transcript::new().open_limit(20_000);
    let long: Vec<Value> = (0..20).map(|n| text(&format!("{n} {}", "x".repeat(5_000)))).collect();
    let snapshots = (2..=long.len()).map(|count| assistant("m", &long[..count]));
    let mut events = events_of(&mut transcript, snapshots);
    transcript.handle_end();
    events.extend(std::iter::from_fn(|| transcript.poll_event()));
    assert_eq!(texts(&events).len(), long.len());
    assert_eq!(limits(&events), 1);
}

#[test]
fn room_is_free_again_after_the_turn() {
    let mut transcript = Transcript::new().open_limit(20_000);
    for _ in 0..3 {
        let piece = "x".repeat(15_000);
        let events = events_of(&mut transcript, [delta(0, &piece)]);
        assert_eq!(limits(&events), 0);
        let events = events_of(&mut transcript, [delta(1, &piece)]);
        assert_eq!(limits(&events), 1);
        let events =
            events_of(&mut transcript, [json!({ "type": "result", "subtype": "success" })]);
        let kept: Vec<(usize, Option<u64>)> = events
            .iter()
            .filter_map(|event| match event {
                Event::BlockAbandoned(block) => Some((block.text.len(), block.omitted_bytes)),
                _ => None,
            })
            .collect();
        assert_eq!(kept, [(15_000, None), (0, Some(15_000))]);
    }
}

#[test]
fn the_beginning_of_agents_calls_and_requests_over_the_budget_is_reported() {
    let mut transcript = Transcript::new().open_limit(50_000);
    let many = 1_000;
    let calls = (0..many).flat_map(|number| {
        let id = format!("toolu_{number}");
        let call = json!({ "type": "tool_use", "id": id, "name": "Agent", "input": {} });
        let mut answer = assistant(&format!("a{number}"), &[text("hello")]);
        answer["parent_tool_use_id"] = json!(id);
        let ask = json!({ "type": "control_request", "request_id": format!("r{number}"), "request": {
            "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": format!("b{number}"),
            "input": { "command": "x".repeat(100) },
        }});
        [assistant(&format!("m{number}"), &[call]), answer, ask]
    });
    let events = events_of(&mut transcript, calls);
    let count = |is: fn(&Event) -> bool| events.iter().filter(|event| is(event)).count();
    assert_eq!(count(|event| matches!(event, Event::ToolCall(_))), many);
    assert_eq!(count(|event| matches!(event, Event::PermissionAsked(_))), many);
    assert_eq!(texts(&events).len(), many);
    assert_eq!(limits(&events), 1);
}

#[test]
fn a_line_with_millions_of_values_is_malformed() {
    let blocks = vec![r#"{"type":"text"}"#; 300_000].join(",");
    let line = format!(r#"{{"type":"assistant","message":{{"content":[{blocks}]}}}}"#);
    let fault = Line::from(line).to_host().malformed().cloned().unwrap();
    assert_eq!(fault.kind(), &FaultKind::TooMany);
    let fields: Vec<String> = (0..300_000).map(|number| format!("\"f{number}\":1")).collect();
    let line = format!(r#"{{"type":"assistant",{}}}"#, fields.join(","));
    assert_eq!(Line::from(line).to_host().malformed().unwrap().kind(), &FaultKind::TooMany);
    // What stays raw may have as many as it likes.
    let numbers = vec!["1"; 300_000].join(",");
    let line =
        format!(r#"{{"type":"user","message":{{"content":"x"}},"tool_use_result":[{numbers}]}}"#);
    assert!(Line::from(line).to_host().malformed().is_none());
}

#[test]
fn an_id_that_is_used_again_after_its_answer_is_another_request() {
    let ask = |command: &str| {
        json!({ "type": "control_request", "request_id": "same", "request": {
            "subtype": "can_use_tool", "tool_name": "Bash", "input": { "command": command },
        }})
    };
    let answer = Line::from(
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"same","response":{"behavior":"allow"}}}"#,
    );
    let is_asked = |event: &&Event| matches!(event, Event::PermissionAsked(_));
    let mut transcript = Transcript::new();
    // The host's lines are seen: the answer tells that it is another.
    transcript.handle_line(Direction::ToAgent, &Line::from(r#"{"type":"keep_alive"}"#));
    for _ in 0..3 {
        let events = events_of(&mut transcript, [ask("ls"), ask("ls")]);
        assert_eq!(events.iter().filter(is_asked).count(), 1);
        transcript.handle_line(Direction::ToAgent, &answer);
        let events: Vec<Event> = std::iter::from_fn(|| transcript.poll_event()).collect();
        assert!(matches!(events.as_slice(), [Event::PermissionResolved(_)]), "{events:?}");
    }
    // Only stdout is seen: the same again is the same, anything else is new once the first is settled.
    let mut transcript = Transcript::new();
    let events = events_of(&mut transcript, [ask("ls"), ask("ls")]);
    assert_eq!(events.iter().filter(is_asked).count(), 1);
    let end = json!({ "type": "result", "subtype": "success" });
    let events = events_of(&mut transcript, [end, ask("ls"), ask("rm")]);
    assert_eq!(events.iter().filter(is_asked).count(), 1);
}
