//! Lines that are too long, malformed, unknown, or not JSON.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use duologue::protocol::{Direction, Line};
use duologue::{Event, TurnStatus};
use duologue_testkit::fake::{Script, Step};
use serde_json::{Value, json};

use super::play::{Play, events, is_inside, pieces, result, telling_its_env, texts, variable};

#[tokio::test]
async fn a_line_of_fifty_megabytes_is_one_message() {
    const SIZE: usize = 50_000_000;
    let play = Play::turn([Step::Init, Step::Huge(SIZE), Step::Done("done".into())]);
    let session = play.start().await;
    let mut turn = session.prompt("go on").await.unwrap();
    let events = events(&mut turn).await;
    let texts = texts(&events);
    assert_eq!(texts.iter().map(String::len).collect::<Vec<_>>(), [SIZE]);
    assert!(turn.outcome().await.unwrap().is_success());
    play.close(session).await;
}

#[tokio::test]
async fn a_line_above_the_cap_is_an_event_and_the_session_continues() {
    let steps =
        [Step::Init, Step::Huge(100_000), Step::Text("after".into()), Step::Done("".into())];
    let play = Play::turn(steps);
    let session = play.builder().max_line(50_000).start().await.unwrap();
    let mut all = session.events();
    let mut turn = session.prompt("go on").await.unwrap();
    assert_eq!(texts(&events(&mut turn).await), ["after"]);
    let mut malformed = Vec::new();
    loop {
        match all.next().await.unwrap().unwrap() {
            Event::MalformedLine(line) => malformed.push(line.reason.to_string()),
            Event::TurnFinished(_) => break,
            _ => {}
        }
    }
    assert_eq!(malformed.len(), 1);
    assert!(malformed[0].contains("max_line"), "{malformed:?}");
    let mut turn = session.prompt("still there?").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "still there?");
    play.close(session).await;
}

#[tokio::test]
async fn the_cap_applies_to_each_line_and_not_to_the_stream() {
    let play = Play::turn([Step::Init, Step::flood(4_000, 500), Step::Done("done".into())]);
    let session = play.builder().max_line(5_000).start().await.unwrap();
    let mut messages = session.messages();
    let mut turn = session.prompt("go on").await.unwrap();
    for event in events(&mut turn).await {
        assert!(!matches!(event, Event::MalformedLine(_)), "{event:?}");
    }
    assert_eq!(pieces(&mut messages).await, 4_000);
    drop(messages);
    play.close(session).await;
}

#[tokio::test]
async fn unknown_lines_never_end_the_stream() {
    let unknown = [
        json!({ "type": "rate_limit_event_of_tomorrow", "rate_limit_info": { "x": [1] } }),
        json!({ "type": "system", "subtype": "brand_new", "answer": 42 }),
        json!({ "type": "rate_limit_event", "rate_limit_info": { "status": "purple", "new": {} } }),
        json!({ "type": "assistant", "message": { "id": "m", "content": [{ "type": "hologram" }] } }),
        json!({ "type": "stream_event", "event": { "type": "brand_new_event" } }),
        json!({ "type": "control_cancel_request", "request_id": "never-asked" }),
    ];
    let mut steps = vec![Step::Init];
    steps.extend(unknown.iter().cloned().map(Step::Emit));
    steps.extend([Step::Text("after".into()), Step::Done("after".into())]);
    let play = Play::turn(steps);
    let session = play.start().await;
    let (mut all, mut messages) = (session.events(), session.messages());
    let mut turn = session.prompt("go on").await.unwrap();
    assert_eq!(texts(&events(&mut turn).await), ["after"]);
    assert_eq!(turn.outcome().await.unwrap().text(), "after");
    let mut told = Vec::new();
    loop {
        match all.next().await.unwrap().unwrap() {
            Event::UnknownLine(line) => told.push(line.clone()),
            Event::TurnFinished(_) => break,
            _ => {}
        }
    }
    assert!(told.len() >= 2, "{told:?}");
    // Whoever reads lines gets them as they are, known or not.
    let mut lines = Vec::new();
    loop {
        let message = messages.next().await.unwrap().unwrap();
        let line: Value = serde_json::from_slice(message.line.raw()).unwrap();
        if line["type"] == "result" {
            break;
        }
        lines.push(line);
    }
    for line in &unknown {
        assert!(lines.contains(line), "{line}");
    }
    play.close(session).await;
}

#[tokio::test]
async fn a_malformed_line_does_not_end_the_turn() {
    let odd = [
        json!({ "type": "assistant", "message": { "id": "m1", "content": "a string" } }),
        json!({ "type": "assistant", "message": { "id": "m2", "content": [] } }),
        json!({ "type": "assistant", "message": { "content": null } }),
        json!({ "type": "assistant" }),
        json!({ "type": "assistant", "message": 7 }),
        json!({ "type": "user", "message": { "role": "user", "content": [{ "type": 3 }] } }),
        json!({ "type": "system" }),
        json!({ "type": "system", "subtype": "init", "tools": "none" }),
        json!({ "type": ["array"] }),
        json!({ "no_type": true }),
        json!([1, 2, 3]),
        json!(null),
        json!({ "type": "control_request", "request_id": "odd", "request": "please" }),
        json!({ "type": "control_response", "response": [] }),
    ];
    let mut steps = vec![Step::Init];
    steps.extend(odd.map(Step::Emit));
    steps.extend([Step::Text("after".into()), Step::Done("after".into())]);
    let play = Play::turn(steps);
    let session = play.start().await;
    let mut turn = session.prompt("go on").await.unwrap();
    let events = events(&mut turn).await;
    assert_eq!(texts(&events).last().unwrap(), "after");
    assert_eq!(turn.outcome().await.unwrap().text(), "after");
    // A request that cannot be read is refused, for the agent waits.
    assert_eq!(play.answer("odd").await["subtype"], "error");
    let mut turn = session.prompt("and now?").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "and now?");
    play.close(session).await;
}

#[tokio::test]
async fn only_a_newline_ends_a_line() {
    let odd = "a\u{2028}b\u{2029}c\u{0085}d\u{000b}e\u{000c}f\u{1f600}g";
    let block = json!({ "type": "text", "text": odd });
    let line = json!({ "type": "assistant", "message": { "id": "m1", "content": [block] } });
    // Unescaped, with CRLF, in pieces that cut every character in two.
    let bytes = format!("{line}\r\n").into_bytes();
    let mut steps = vec![Step::Init];
    steps.extend(bytes.iter().map(|byte| Step::Raw(vec![*byte])));
    steps.push(Step::Done(String::new()));
    let play = Play::turn(steps);
    let session = play.start().await;
    let mut turn = session.prompt(odd).await.unwrap();
    assert_eq!(texts(&events(&mut turn).await), [odd]);
    // And what the host sends is one line, too.
    assert_eq!(play.prompts(0), [odd]);
    play.close(session).await;
}

#[tokio::test]
async fn a_line_that_is_not_json_is_an_event() {
    let noise = ["[DEBUG] request to https://example.invalid", "{ half", "\u{7}\u{1b}[31mred"];
    let mut steps = vec![Step::Init];
    steps.extend(noise.iter().map(|line| Step::Line((*line).to_owned())));
    steps.extend([Step::Raw(vec![0xff, 0xfe, b'\n']), Step::Text("after".into())]);
    steps.push(Step::Done("after".into()));
    let script = Script::new().start(noise.map(|line| Step::Line(line.to_owned()))).turn(steps);
    let play = Play::of(script);
    let on_wire = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&on_wire);
    let tap = move |direction: Direction, line: &Line| {
        let is_malformed = direction == Direction::ToHost && line.to_host().malformed().is_some();
        counted.fetch_add(usize::from(is_malformed), Ordering::Relaxed);
    };
    let session = play.builder().tap(tap).start().await.unwrap();
    let mut all = session.events();
    let mut turn = session.prompt("go on").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "after");
    let mut malformed = 0;
    loop {
        match all.next().await.unwrap().unwrap() {
            Event::MalformedLine(_) => malformed += 1,
            Event::TurnFinished(_) => break,
            _ => {}
        }
    }
    // Three at the start, perhaps before the subscription; three and one in the turn.
    assert!((4..=7).contains(&malformed), "{malformed}");
    assert_eq!(on_wire.load(Ordering::Relaxed), 7);
    play.close(session).await;
}

#[tokio::test]
async fn debug_variables_are_not_inherited() {
    let name = "suite::lines::debug_variables_are_not_inherited";
    if !is_inside(name, &[("ANTHROPIC_LOG", "debug"), ("LOUD", "1")]) {
        return;
    }
    let play = Play::of(Script::new());
    let out = tempfile::NamedTempFile::new().unwrap();
    let session = telling_its_env(&play, out.path()).start().await.unwrap();
    assert_eq!(variable(out.path(), "LOUD").as_deref(), Some("1"));
    assert_eq!(variable(out.path(), "ANTHROPIC_LOG"), None);
    play.close(session).await;
}

#[tokio::test]
async fn is_error_decides_and_the_most_specific_message_is_reported() {
    let cases = [
        (
            json!({ "is_error": true, "result": "API Error: 400 too long" }),
            "API Error: 400 too long",
        ),
        (json!({ "is_error": true, "errors": ["first", "second"], "result": "text" }), "first"),
        (json!({ "is_error": true, "result": "", "api_error_status": 529 }), "529"),
        (
            json!({ "is_error": true, "subtype": "error_max_turns", "result": null }),
            "error_max_turns",
        ),
        (json!({ "is_error": true, "result": "", "errors": [] }), ""),
    ];
    let mut script = Script::new();
    for (own, _) in &cases {
        script = script.turn([Step::Init, Step::Emit(result(own.clone()))]);
    }
    let play = Play::of(script);
    let session = play.start().await;
    for (own, words) in cases {
        let mut turn = session.prompt("go on").await.unwrap();
        let outcome = turn.outcome().await.unwrap();
        assert_eq!(outcome.status(), TurnStatus::Error, "{own}");
        let error = outcome.error().unwrap();
        assert!(error.contains(words), "{own}: {error}");
        assert_ne!(error, "success", "{own}");
        assert!(!error.is_empty(), "{own}");
    }
    play.close(session).await;
}

#[tokio::test]
async fn the_text_is_joined_from_its_stream_events() {
    let frame = |text: &str| {
        let block = json!({ "type": "text", "text": text });
        Step::Emit(json!({ "type": "assistant", "message": { "id": "m1", "content": [block] } }))
    };
    let turn = |said: &str| {
        let result = result(json!({ "result": said }));
        vec![Step::Init, frame("The whole "), frame("answer."), Step::Emit(result)]
    };
    let play = Play::of(Script::new().turn(turn("The who")).turn(turn("")));
    let session = play.start().await;
    for differs in [true, false] {
        let mut turn = session.prompt("go on").await.unwrap();
        let outcome = turn.outcome().await.unwrap();
        assert_eq!(outcome.text(), "The whole answer.");
        assert_eq!(outcome.finished().text_differs, differs);
    }
    play.close(session).await;
}
