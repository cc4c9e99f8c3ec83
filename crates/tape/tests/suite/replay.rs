//! Replaying tapes.

use std::fs::File;
use std::io::Read;

use duologue_protocol::Line;
use duologue_tape::replay::{Match, Mismatch, Player, Step, Wait};
use duologue_tape::{Event, Reader, Stream};
use duologue_testkit::recordings;
use serde_json::{Value, json};

/// A tape of these lines: `>` to the agent, `<` to the host, `!` a note.
fn tape(entries: &[(char, Value)]) -> Vec<u8> {
    let mut tape =
        b"{\"tape\":1,\"program\":\"claude\",\"argv\":[\"claude\",\"--session-id\",\"s-then\"]}\n"
            .to_vec();
    for (millis, (mark, value)) in entries.iter().enumerate() {
        let entry = match mark {
            '>' => json!({ "t": millis, "dir": "in", "line": value.to_string() }),
            '<' => json!({ "t": millis, "dir": "out", "line": value.to_string() }),
            _ => json!({ "t": millis, "note": value }),
        };
        tape.extend_from_slice(format!("{entry}\n").as_bytes());
    }
    tape
}

fn player(tape: &[u8], how: Match) -> Player<&[u8]> {
    Player::new(|| Ok(tape), how).unwrap()
}

/// All lines until it waits or ends.
fn said(player: &mut Player<&[u8]>) -> Vec<Value> {
    let mut said = Vec::new();
    while let Step::Say(_, stream, line) = player.next_step().unwrap() {
        assert_eq!(stream, Stream::ToHost);
        said.push(serde_json::from_slice(line.raw()).unwrap());
    }
    said
}

fn send(player: &mut Player<&[u8]>, line: &Value) -> Result<(), Mismatch> {
    player.handle_line(&Line::from(line.to_string()))
}

fn request(id: &str, subtype: &str) -> Value {
    json!({ "type": "control_request", "request_id": id, "request": { "subtype": subtype } })
}

fn reply(id: &str) -> Value {
    json!({ "type": "control_response", "response": { "subtype": "success", "request_id": id } })
}

fn prompt(text: &str, uuid: &str) -> Value {
    json!({ "type": "user", "uuid": uuid, "message": { "role": "user", "content": text } })
}

#[test]
fn requests_may_come_in_another_order() {
    let tape = tape(&[
        ('>', request("r1", "set_model")),
        ('>', request("r2", "interrupt")),
        ('<', reply("r2")),
        ('<', reply("r1")),
    ]);
    let mut player = player(&tape, Match::Exact);
    assert!(said(&mut player).is_empty());
    send(&mut player, &request("b", "interrupt")).unwrap();
    assert!(said(&mut player).is_empty());
    send(&mut player, &request("a", "set_model")).unwrap();
    assert_eq!(said(&mut player), [reply("b"), reply("a")]);
}

#[test]
fn answers_have_the_ids_of_this_host() {
    let hooks = |id: &str| {
        json!({ "type": "control_request", "request_id": "i", "request": {
            "subtype": "initialize", "hooks": { "PreToolUse": [{ "matcher": "Bash", "hookCallbackIds": [id] }] },
        }})
    };
    let callback = |id: &str| {
        json!({ "type": "control_request", "request_id": "q", "request": {
            "subtype": "hook_callback", "callback_id": id, "input": { "text": "then_0" },
        }})
    };
    let result = |session: &str, uuid: &str| {
        json!({
            "type": "result", "session_id": session, "user_message_uuids": [uuid],
        })
    };
    let tape = tape(&[
        ('>', hooks("then_0")),
        ('<', reply("i")),
        ('>', prompt("hello", "u-then")),
        ('<', callback("then_0")),
        ('>', reply("q")),
        ('<', result("s-then", "u-then")),
    ]);
    let mut player = player(&tape, Match::Exact);
    player.handle_arguments(&["--session-id=s-now".to_owned()]).unwrap();
    send(&mut player, &hooks("now_7")).unwrap();
    assert_eq!(said(&mut player), [reply("i")]);
    send(&mut player, &prompt("hello", "u-now")).unwrap();
    assert_eq!(
        said(&mut player),
        [callback("now_7")].map(|mut line| {
            line["request"]["input"]["text"] = "then_0".into();
            line
        })
    );
    send(&mut player, &reply("q")).unwrap();
    assert_eq!(said(&mut player), [result("s-now", "u-now")]);
}

#[test]
fn prompts_are_matched_according_to_match() {
    let tape = tape(&[('>', prompt("Hello  World", "u")), ('<', json!({ "type": "result" }))]);
    let blocks = json!({ "type": "user", "new": 1, "message": {
        "content": [{ "type": "text", "text": "Hello  World" }],
    }});
    let cases = [
        (Match::Exact, blocks, true),
        (Match::Exact, prompt("hello world", "v"), false),
        (Match::Loose, prompt("hello world", "v"), true),
        (Match::Loose, prompt("good bye", "v"), false),
        (Match::Any, prompt("good bye", "v"), true),
        (Match::Any, request("r", "interrupt"), false),
    ];
    for (how, line, fits) in cases {
        let result = send(&mut player(&tape, how), &line);
        assert_eq!(result.is_ok(), fits, "{how:?} {line}");
    }
}

#[test]
fn a_mismatch_has_the_expected_and_the_actual_line() {
    let answer = |behavior: &str| {
        json!({ "type": "control_response", "response": {
            "subtype": "success", "request_id": "q", "response": { "behavior": behavior, "n": 1 },
        }})
    };
    let tape = tape(&[('>', answer("allow")), ('<', json!({ "type": "result" }))]);
    let mut strict = player(&tape, Match::Exact);
    let mismatch = send(&mut strict, &answer("deny")).unwrap_err();
    let report = mismatch.to_string();
    assert!(report.contains("at behavior\n    - \"allow\"\n    + \"deny\""), "{report}");
    assert_eq!(mismatch.tape_line, Some(2));
    // With `lenient` it continues.
    let mut lenient = player(&tape, Match::Exact).lenient();
    send(&mut lenient, &answer("deny")).unwrap_err();
    assert_eq!(said(&mut lenient), [json!({ "type": "result" })]);
    // Only the decision counts.
    let mut loose = player(&tape, Match::Loose);
    let mut other = answer("allow");
    other["response"]["response"]["n"] = 2.into();
    send(&mut loose, &other).unwrap();
    // A host that ends too soon.
    let mismatch = player(&tape, Match::Exact).handle_end().unwrap_err();
    assert!(mismatch.to_string().contains("the end of its lines"));
    // A host with a request that is not on the tape.
    assert!(send(&mut player(&tape, Match::Any), &request("r", "interrupt")).is_err());
}

#[test]
fn signals_and_the_end_of_input_are_awaited() {
    let tape = tape(&[
        ('!', json!("signal SIGINT")),
        ('<', json!({ "type": "result" })),
        ('!', json!("stdin_close")),
    ]);
    let mut player = player(&tape, Match::Exact);
    assert_eq!(player.signals().collect::<Vec<_>>(), ["SIGINT"]);
    assert!(matches!(player.next_step().unwrap(), Step::Wait(Wait::Signal(_))));
    assert!(!player.handle_signal("SIGTERM"));
    assert!(player.handle_signal("SIGINT"));
    assert_eq!(said(&mut player).len(), 1);
    assert!(matches!(player.next_step().unwrap(), Step::Wait(Wait::Close)));
    player.handle_end().unwrap();
    assert!(matches!(player.next_step().unwrap(), Step::End(_)));
}

/// Plays the host of a tape to the player: first all lines and signals of the host, then all lines of the agent. Returns the
/// agent's lines of the player and those of the tape.
pub(super) fn play<S: Read, R: Read>(
    player: &mut Player<S>,
    tape: &mut Reader<R>,
    name: &str,
) -> (Vec<Line>, Vec<Line>) {
    let (mut played, mut expected) = (Vec::new(), Vec::new());
    while let Some(entry) = tape.next_entry().unwrap() {
        match entry.event {
            Event::ToAgent(line) => {
                player.handle_line(&line).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            Event::ToHost(line) => expected.push(line),
            Event::Note(note) => {
                if let Some(name) = note.strip_prefix("signal ") {
                    assert!(player.handle_signal(name));
                }
            }
            _ => {}
        }
    }
    player.handle_end().unwrap();
    loop {
        match player.next_step().unwrap() {
            Step::Say(_, Stream::ToHost, line) => played.push(line),
            Step::Say(..) => {}
            Step::End(_) => return (played, expected),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn every_recording_replays_to_the_host_that_is_on_it() {
    for recording in recordings() {
        let open = || File::open(&recording.path);
        let mut player = Player::new(open, Match::Exact).unwrap();
        let mut reader = Reader::new(open().unwrap());
        let (played, expected) = play(&mut player, &mut reader, &recording.name);
        assert!(played == expected, "{} {}", recording.version, recording.name);
    }
}

#[test]
fn a_host_that_is_gone_sends_no_signal() {
    let tape = b"{\"tape\":1}\n{\"t\":10,\"note\":\"stdin_close\"}\n{\"t\":2510,\"note\":\"signal SIGTERM\"}\n{\"t\":2600,\"exit\":{\"code\":0}}\n";
    let mut player = player(tape, Match::Exact);
    assert!(matches!(player.next_step().unwrap(), Step::Wait(_)));
    player.handle_end().unwrap();
    assert!(matches!(player.next_step().unwrap(), Step::Wait(Wait::Signal(_))));
    assert_eq!(player.signal_delay(), std::time::Duration::from_millis(2500));
    let mismatch = player.handle_gone().unwrap_err();
    assert_eq!(mismatch.expected, "the signal SIGTERM");
    assert_eq!(mismatch.tape_line, Some(3));
    let mut player = self::player(tape, Match::Exact).lenient();
    assert!(matches!(player.next_step().unwrap(), Step::Wait(_)));
    assert!(player.handle_gone().is_err());
    assert!(matches!(player.next_step().unwrap(), Step::End(_)));
    assert!(player.handle_gone().is_ok());
}
