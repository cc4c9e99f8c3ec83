//! Any order of things between two ends, and the same conversation in the oldest forms.

use std::collections::{BTreeMap, HashSet};

use duologue_protocol::agent_link::{AgentEvent, AgentLink, Reply, RequestKey};
use duologue_protocol::transcript::{Event, Transcript};
use duologue_protocol::{Direction, Line, RequestId, ToHost};
use duologue_testkit::recordings;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::agent_link::{ask, done, events, prompt, receive, request, sent};

#[derive(Clone, Debug)]
enum Step {
    Prompt(u8),
    Cancel(u8),
    Request,
    Interrupt(bool),
    Reply(usize),
    Ask,
    Withdraw(usize),
    HostAnswers(usize),
    Fold,
    EndTurn,
    OwnTurn,
    End,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..20_u8).prop_map(Step::Prompt),
        1 => (0..20_u8).prop_map(Step::Cancel),
        2 => Just(Step::Request),
        1 => any::<bool>().prop_map(Step::Interrupt),
        2 => (0..8_usize).prop_map(Step::Reply),
        3 => Just(Step::Ask),
        1 => (0..8_usize).prop_map(Step::Withdraw),
        2 => (0..8_usize).prop_map(Step::HostAnswers),
        1 => Just(Step::Fold),
        3 => Just(Step::EndTurn),
        1 => Just(Step::OwnTurn),
        1 => Just(Step::End),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// In any order of things: a question ends once, a request is answered once, a prompt is answered
    /// by one turn or taken back, and one turn runs at a time.
    #[test]
    fn nothing_is_lost_in_any_order(steps in vec(step(), 0..80), lenient in any::<bool>()) {
        let mut link = if lenient { AgentLink::new().lenient() } else { AgentLink::new() };
        let mut asks: Vec<RequestId> = Vec::new();
        let mut withdrawn: HashSet<RequestId> = HashSet::new();
        let mut ended: HashSet<RequestId> = HashSet::new();
        let mut open: Vec<RequestKey> = Vec::new();
        let mut requested = 0;
        let mut answered = 0;
        let mut prompts: HashSet<String> = HashSet::new();
        let mut fate: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut running = false;
        let mut closed = false;
        // In the end, everything that is open is brought to its end.
        let finale = std::iter::once(Step::End).chain((0..200).map(|at| if at % 2 == 0 { Step::Reply(0) } else { Step::EndTurn }));
        for step in steps.into_iter().chain(finale) {
            match step {
                Step::Prompt(name) => {
                    let uuid = format!("u{name}");
                    if !closed {
                        prompts.insert(uuid.clone());
                    }
                    receive(&mut link, &prompt("hello", &uuid));
                }
                Step::Cancel(name) => {
                    requested += usize::from(!closed);
                    let body = json!({ "subtype": "cancel_async_message", "message_uuid": format!("u{name}") });
                    receive(&mut link, &request("c", body));
                }
                Step::Request => {
                    requested += usize::from(!closed);
                    receive(&mut link, &request("r", json!({ "subtype": "mcp_status" })));
                }
                Step::Interrupt(cancel) => {
                    requested += usize::from(!closed);
                    receive(&mut link, &request("i", json!({ "subtype": "interrupt", "cancel_queued": cancel })));
                }
                Step::Reply(at) => if at < open.len() {
                    let key = open.remove(at);
                    link.answer(key, &Reply::Ack).unwrap();
                    prop_assert!(link.answer(key, &Reply::Ack).is_err());
                },
                Step::Ask => asks.push(link.ask(ask("toolu", "Bash", json!({})))),
                Step::Withdraw(at) => if let Some(id) = asks.get(at) {
                    if !ended.contains(id) {
                        withdrawn.insert(id.clone());
                    }
                    link.withdraw(id);
                },
                Step::HostAnswers(at) => if let Some(id) = asks.get(at) {
                    let body = json!({ "subtype": "success", "request_id": id.as_str(), "response": {} });
                    receive(&mut link, &json!({ "type": "control_response", "response": body }));
                },
                Step::Fold => { link.fold(None); }
                Step::EndTurn => {
                    let was_running = running;
                    running = false;
                    prop_assert_eq!(link.end_turn(done()), was_running);
                }
                Step::OwnTurn => link.begin_own_turn(Default::default(), None),
                Step::End => { closed = true; link.handle_end(); }
            }
            for event in events(&mut link) {
                match event {
                    AgentEvent::TurnBegins(_) => {
                        prop_assert!(!running, "one turn at a time");
                        running = true;
                    }
                    AgentEvent::Asked { key, .. } => open.push(key),
                    AgentEvent::Answered { id, .. } => {
                        prop_assert!(!withdrawn.contains(&id), "no answer after a withdrawal");
                        prop_assert!(ended.insert(id), "once");
                    }
                    _ => {}
                }
            }
            for line in sent(&mut link) {
                match line["type"].as_str().unwrap() {
                    "control_response" => answered += 1,
                    "command_lifecycle" => fate
                        .entry(line["command_uuid"].as_str().unwrap().to_owned())
                        .or_default()
                        .push(line["state"].as_str().unwrap().to_owned()),
                    _ => {}
                }
            }
        }
        prop_assert_eq!(ended.len() + withdrawn.len(), asks.len());
        prop_assert_eq!(answered, requested);
        prop_assert_eq!(fate.len(), prompts.len());
        for (uuid, states) in fate {
            let states: Vec<&str> = states.iter().map(String::as_str).collect();
            prop_assert!(
                matches!(
                    states[..],
                    ["queued", "started", "completed" | "cancelled"] | ["queued", "cancelled"]
                ),
                "{} {:?}", uuid, states
            );
        }
        prop_assert!(link.is_done());
    }
}

/// What a host learns of the conversation itself.
fn events_of(lines: &[String]) -> Vec<String> {
    let mut transcript = Transcript::new();
    for line in lines {
        transcript.handle_line(Direction::ToHost, &Line::from(line.trim_end()));
    }
    transcript.handle_end();
    std::iter::from_fn(|| transcript.poll_event())
        .filter_map(|event| match event {
            Event::Text(text) => Some(format!("{:?} text {:?}", text.agent, text.text.as_str())),
            Event::Thinking(text) => {
                Some(format!("{:?} thinking {:?}", text.agent, text.text.as_str()))
            }
            Event::ToolCall(call) => Some(format!("{:?} call {:?}", call.agent, call.id.as_str())),
            Event::ToolResult(result) => {
                Some(format!("result of {:?}", result.tool_use_id.as_str()))
            }
            Event::PermissionAsked(ask) => Some(format!("asked {:?}", ask.request_id.as_str())),
            Event::HookCalled(call) => Some(format!("hook {:?}", call.hook_event)),
            Event::TurnFinished(end) => Some(format!("finished {:?}", end.is_error)),
            _ => None,
        })
        .collect()
}

/// Recorded conversations, said again by a machine in each dialect, are the same to a host.
#[test]
fn legacy_forms_give_the_same_events() {
    let names = [
        "02-multi-turn",
        "04-bash-allow",
        "06-deny-interrupt",
        "11-hooks-allow-and-context",
        "16-subagent-foreground",
        "16c-two-parallel-subagents",
        "34-parallel-tools-out-of-order",
    ];
    for recording in recordings() {
        if !recording.is_newest() || !names.contains(&recording.name.as_str()) {
            continue;
        }
        let lines: Vec<String> = recording
            .entries
            .iter()
            .filter(|entry| entry.to_host)
            .map(|entry| entry.line.clone())
            .collect();
        let say = |mut link: AgentLink| -> Vec<String> {
            for line in &lines {
                let message: ToHost = Line::from(line.as_str()).to_host().into_message().unwrap();
                link.say(message);
            }
            std::iter::from_fn(|| link.poll_transmit()).collect()
        };
        let plain = events_of(&lines);
        assert!(plain.len() > 3, "{}: {plain:?}", recording.name);
        assert_eq!(events_of(&say(AgentLink::new())), plain, "{}", recording.name);
        assert_eq!(events_of(&say(AgentLink::new().legacy())), plain, "{}", recording.name);
        let by_system_line = say(AgentLink::new().legacy_with_system_result());
        assert_eq!(events_of(&by_system_line), plain, "{}", recording.name);
    }
}

#[test]
fn legacy_forms_match_their_descriptions() {
    let mut link = AgentLink::new().legacy();
    receive(&mut link, &request("r1", json!({ "subtype": "initialize" })));
    let Some(AgentEvent::Asked { key, .. }) = link.poll_event() else { panic!() };
    link.answer(key, &Reply::of(&duologue_protocol::RawObject::default())).unwrap();
    assert_eq!(
        sent(&mut link),
        [json!({ "type": "control_response",
        "response": { "subtype": "success", "request_id": "r1" } })]
    );
    receive(&mut link, &prompt("Hi", "u1"));
    let echo = json!({ "type": "user", "message": { "role": "user", "content": "Hi" } });
    assert_eq!(sent(&mut link), [echo]);
    let block = |text: &str| -> ToHost {
        let message = json!({ "id": "msg_1", "role": "assistant",
            "content": [{ "type": "text", "text": text }] });
        let line = json!({ "type": "assistant", "message": message });
        Line::from(line.to_string()).to_host().into_message().unwrap()
    };
    link.say(block("one"));
    link.say(block("two"));
    let lines = sent(&mut link);
    let count = |line: &Value| line["message"]["content"].as_array().unwrap().len();
    assert_eq!((count(&lines[0]), count(&lines[1])), (1, 2));
    receive(&mut link, &request("r2", json!({ "subtype": "interrupt" })));
    assert_eq!(sent(&mut link)[0]["request"]["subtype"], "sdk_control_interrupt");
    link.end_turn(done());
    assert_eq!(sent(&mut link)[0]["result"], "\"done\"");
    let mut link = AgentLink::new().legacy_with_system_result();
    receive(&mut link, &prompt("Hi", "u1"));
    let _ = sent(&mut link);
    link.end_turn(done());
    let result = &sent(&mut link)[0];
    assert_eq!((&result["type"], &result["subtype"]), (&json!("system"), &json!("result")));
}
