//! Orderings: what can happen between two ends that do not wait for each other.

use core::time::Duration;

use duologue_protocol::control::{
    CancelAsyncMessage, GetContextUsage, Interrupt, McpStatusRequest, SetModel,
};
use duologue_protocol::host_link::{Answer, Failure, HostLink, LinkEvent, Route};
use duologue_protocol::lines::Prompt;
use duologue_protocol::permission::PermissionResult;
use duologue_protocol::{Line, RawObject, RequestId};
use duologue_testkit::recordings;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

const NOW: Duration = Duration::ZERO;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn line(value: &Value) -> Line {
    Line::from(value.to_string())
}

fn ask(id: &str) -> Line {
    let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": {} });
    line(&json!({ "type": "control_request", "request_id": id, "request": request }))
}

fn cancel(id: &str) -> Line {
    line(&json!({ "type": "control_cancel_request", "request_id": id }))
}

fn success(id: &RequestId) -> Line {
    let response = json!({ "subtype": "success", "request_id": id.as_str() });
    line(&json!({ "type": "control_response", "response": response }))
}

fn result(uuids: &[&str]) -> Line {
    line(&json!({ "type": "result", "subtype": "success", "user_message_uuids": uuids }))
}

fn init() -> Line {
    line(&json!({ "type": "system", "subtype": "init" }))
}

fn events(link: &mut HostLink) -> Vec<LinkEvent> {
    std::iter::from_fn(|| link.poll_event()).collect()
}

fn sent(link: &mut HostLink) -> Vec<Value> {
    std::iter::from_fn(|| link.poll_transmit())
        .map(|line| {
            assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
            serde_json::from_str(&line).unwrap()
        })
        .collect()
}

fn allow() -> Answer {
    Answer::of(&PermissionResult::allow(RawObject::default()))
}

#[test]
fn a_request_is_answered_once() {
    let mut link = HostLink::new();
    let id = link.request(NOW, Interrupt::new(), Some(seconds(5)));
    assert_eq!(link.poll_timeout(), Some(seconds(5)));
    assert_eq!(sent(&mut link)[0]["request"]["subtype"], "interrupt");
    assert_eq!(link.handle_line(&success(&id)), Route::Control);
    // 2.0.77 answers some requests twice.
    link.handle_line(&success(&id));
    let events = events(&mut link);
    assert_eq!(events.len(), 1);
    assert!(
        matches!(&events[0], LinkEvent::Replied { id: replied, outcome: Ok(_) } if *replied == id)
    );
    assert_eq!(link.poll_timeout(), None);
}

#[test]
fn a_reply_after_its_timeout_is_ignored() {
    let mut link = HostLink::new();
    let id = link.request(NOW, SetModel::new(), Some(seconds(5)));
    link.handle_timeout(seconds(4));
    assert_eq!(events(&mut link), []);
    link.handle_timeout(seconds(5));
    let outcome = Err(Failure::TimedOut);
    assert_eq!(events(&mut link), [LinkEvent::Replied { id: id.clone(), outcome }]);
    link.handle_line(&success(&id));
    assert_eq!(events(&mut link), []);
}

#[test]
fn a_refusal_has_its_reason() {
    let mut link = HostLink::new();
    let id = link.request(NOW, GetContextUsage::new(), None);
    let response =
        json!({ "subtype": "error", "request_id": id.as_str(), "error": "no", "error_code": "x" });
    link.handle_line(&line(&json!({ "type": "control_response", "response": response })));
    let [LinkEvent::Replied { outcome: Err(Failure::Refused(body)), .. }] = &events(&mut link)[..]
    else {
        panic!()
    };
    assert_eq!(body.error_code.as_str(), Some("x"));
}

#[test]
fn a_withdrawn_request_is_told_and_its_late_answer_ignored() {
    let mut link = HostLink::new();
    let id = link.request(NOW, McpStatusRequest::new(), None);
    link.withdraw(&id);
    link.withdraw(&id);
    let sent = sent(&mut link);
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1]["type"], "control_cancel_request");
    link.handle_line(&success(&id));
    assert_eq!(events(&mut link), []);
}

#[test]
fn an_ask_is_delivered_once_and_answered_once() {
    let mut link = HostLink::new();
    link.handle_line(&ask("a"));
    link.handle_line(&ask("a"));
    assert_eq!(events(&mut link).len(), 1);
    let id = RequestId::from("a");
    link.answer(&id, &allow()).unwrap();
    assert_eq!(sent(&mut link)[0]["response"]["response"]["behavior"], "allow");
    assert!(link.answer(&id, &allow()).is_err());
    assert_eq!(sent(&mut link), [] as [Value; 0]);
}

#[test]
fn no_answer_after_a_cancellation() {
    let mut link = HostLink::new();
    link.handle_line(&ask("a"));
    link.handle_line(&cancel("a"));
    let id = RequestId::from("a");
    assert_eq!(events(&mut link)[1], LinkEvent::Withdrawn { id: id.clone() });
    let refused = link.answer(&id, &allow()).unwrap_err();
    assert!(refused.to_string().contains("not open"));
    assert_eq!(sent(&mut link), [] as [Value; 0]);
}

#[test]
fn no_withdrawal_after_an_answer() {
    let mut link = HostLink::new();
    link.handle_line(&ask("a"));
    link.answer(&RequestId::from("a"), &allow()).unwrap();
    link.handle_line(&cancel("a"));
    link.handle_line(&cancel("never asked"));
    assert_eq!(events(&mut link).len(), 1);
}

#[test]
fn asks_are_served_before_initialize_is_answered() {
    let mut link = HostLink::new();
    let id = link.request(NOW, duologue_protocol::control::Initialize::new(), None);
    let message = json!({ "subtype": "mcp_message", "server_name": "calc", "message": {} });
    link.handle_line(&line(
        &json!({ "type": "control_request", "request_id": "m", "request": message }),
    ));
    assert!(matches!(events(&mut link)[..], [LinkEvent::Asked { .. }]));
    link.answer(&RequestId::from("m"), &Answer::Ack).unwrap();
    link.handle_line(&success(&id));
    assert!(matches!(events(&mut link)[..], [LinkEvent::Replied { outcome: Ok(_), .. }]));
}

#[test]
fn open_questions_come_with_the_handshake_once() {
    let mut link = HostLink::new();
    let id = link.request(NOW, duologue_protocol::control::Initialize::new(), None);
    let asks = json!({ "type": "control_request", "request_id": "a",
        "request": { "subtype": "can_use_tool", "tool_name": "Bash" } });
    let response = json!({ "subtype": "success", "request_id": id.as_str(), "response": {},
        "pending_permission_requests": [asks] });
    link.handle_line(&ask("a"));
    link.handle_line(&line(&json!({ "type": "control_response", "response": response })));
    let asked = events(&mut link).iter().filter(|e| matches!(e, LinkEvent::Asked { .. })).count();
    assert_eq!(asked, 1);
}

#[test]
fn the_end_fails_everything_at_once() {
    let mut link = HostLink::new();
    let first = link.request(NOW, Interrupt::new(), None);
    link.handle_line(&ask("a"));
    events(&mut link);
    link.handle_end();
    assert_eq!(
        events(&mut link),
        [
            LinkEvent::Replied { id: first, outcome: Err(Failure::Ended) },
            LinkEvent::Withdrawn { id: RequestId::from("a") },
        ]
    );
    // And whoever asks now is told at once.
    let late = link.request(NOW, Interrupt::new(), None);
    assert_eq!(events(&mut link), [LinkEvent::Replied { id: late, outcome: Err(Failure::Ended) }]);
    assert!(link.may_close());
}

#[test]
fn serial_mode_keeps_one_request_in_flight() {
    let mut link = HostLink::new().serial();
    let first = link.request(NOW, SetModel::new(), Some(seconds(1)));
    let second = link.request(NOW, Interrupt::new(), None);
    assert_eq!(sent(&mut link).len(), 1);
    link.handle_line(&success(&first));
    assert_eq!(sent(&mut link)[0]["request_id"], second.as_str());
    let third = link.request(NOW, SetModel::new(), None);
    assert_eq!(sent(&mut link), [] as [Value; 0]);
    link.withdraw(&second);
    let lines = sent(&mut link);
    assert_eq!(lines[0]["type"], "control_cancel_request");
    assert_eq!(lines[1]["request_id"], third.as_str());
}

#[test]
fn unknown_and_malformed_requests_are_not_left_waiting() {
    let mut link = HostLink::new();
    let unknown =
        json!({ "type": "control_request", "request_id": "u", "request": { "subtype": "juggle" } });
    link.handle_line(&line(&unknown));
    let [LinkEvent::Asked { id, request }] = &events(&mut link)[..] else { panic!() };
    link.answer(id, &Answer::Unsupported(request.tag().into())).unwrap();
    assert_eq!(sent(&mut link)[0]["response"]["error_code"], "unsupported_request");

    let malformed = json!({ "type": "control_request", "request_id": "m",
        "request": { "subtype": "can_use_tool", "tool_name": 7 } });
    assert_eq!(link.handle_line(&line(&malformed)), Route::Conversation);
    let answer = &sent(&mut link)[0]["response"];
    assert_eq!(answer["request_id"], "m");
    assert!(answer["error"].as_str().unwrap().contains("request.tool_name"));
}

#[test]
fn stdin_may_close_only_when_nothing_is_open() {
    let mut link = HostLink::new();
    assert!(link.may_close());
    link.prompt(&Prompt::text("hi").uuid("u1"));
    assert!(!link.may_close(), "nothing has been written yet");
    sent(&mut link);
    assert!(!link.may_close(), "the prompt waits");
    link.handle_line(&init());
    link.handle_line(&ask("a"));
    link.handle_line(&result(&["u1"]));
    assert!(!link.may_close(), "a question is open");
    link.answer(&RequestId::from("a"), &allow()).unwrap();
    sent(&mut link);
    assert!(link.may_close());
}

#[test]
fn background_agents_keep_stdin_open_and_idle_closes_the_case() {
    let mut link = HostLink::new();
    link.prompt(&Prompt::text("hi").uuid("u1"));
    sent(&mut link);
    link.handle_line(&init());
    let started = json!({ "type": "system", "subtype": "task_started", "task_id": "t",
        "task_type": "local_agent", "is_backgrounded": true });
    link.handle_line(&line(&started));
    link.handle_line(&result(&["u1"]));
    assert!(link.is_between_turns() && !link.may_close());
    link.handle_line(&line(
        &json!({ "type": "system", "subtype": "task_notification", "task_id": "t" }),
    ));
    assert!(link.may_close());

    // The agent ignores a second prompt of the same name: nothing waits.
    link.prompt(&Prompt::text("ignored").uuid("u1"));
    sent(&mut link);
    assert!(link.may_close());

    // The result of this turn is lost.
    link.prompt(&Prompt::text("hi").uuid("u2"));
    sent(&mut link);
    link.handle_line(&init());
    link.handle_line(&line(
        &json!({ "type": "command_lifecycle", "command_uuid": "u2", "state": "started" }),
    ));
    assert!(!link.may_close());
    link.handle_line(&line(
        &json!({ "type": "system", "subtype": "session_state_changed", "state": "idle" }),
    ));
    assert!(link.may_close());
}

/// Some agents introduce themselves at the start, or twice in a turn.
#[test]
fn an_introduction_without_a_turn_of_its_own_is_not_waited_for() {
    let mut link = HostLink::new();
    link.handle_line(&init());
    assert!(link.may_close(), "nobody has asked for anything");
    link.prompt(&Prompt::text("hi").uuid("u1"));
    sent(&mut link);
    link.handle_line(&init());
    link.handle_line(&init());
    assert!(!link.may_close());
    link.handle_line(&result(&["u1"]));
    assert!(link.may_close());
}

#[test]
fn merged_prompts_are_settled_by_one_result() {
    let mut link = HostLink::new();
    for uuid in ["u1", "u2", "u3"] {
        link.prompt(&Prompt::text("hi").uuid(uuid));
    }
    sent(&mut link);
    link.handle_line(&init());
    link.handle_line(&result(&["u1"]));
    assert!(!link.may_close());
    link.handle_line(&init());
    link.handle_line(&result(&["u2", "u3"]));
    assert!(link.may_close());
}

/// 2.1.197 says so only in the answer.
#[test]
fn a_prompt_that_was_taken_back_is_not_waited_for() {
    let mut link = HostLink::new();
    link.prompt(&Prompt::text("hi").uuid("u1"));
    let now = Duration::ZERO;
    let id = link.request(now, CancelAsyncMessage::new().message_uuid("u1"), None);
    sent(&mut link);
    link.handle_line(&line(&json!({ "type": "control_response", "response": {
        "subtype": "success", "request_id": id.as_str(), "response": { "cancelled": true },
    }})));
    assert!(link.may_close());
}

/// 2.1.197 does not say which prompts a result answers; it repeats those that it takes.
#[test]
fn repeated_prompts_are_settled_by_a_result_that_names_none() {
    let replay = |uuid: &str| {
        let message = json!({ "role": "user", "content": "hi" });
        line(&json!({ "type": "user", "message": message, "uuid": uuid, "isReplay": true }))
    };
    let mut link = HostLink::new();
    link.prompt(&Prompt::text("hi").uuid("u1"));
    link.handle_line(&init());
    link.handle_line(&replay("u1"));
    for uuid in ["u2", "u3", "u4"] {
        link.prompt(&Prompt::text("hi").uuid(uuid));
    }
    sent(&mut link);
    link.handle_line(&result(&[]));
    link.handle_line(&replay("u2"));
    link.handle_line(&init());
    link.handle_line(&replay("u3"));
    link.handle_line(&result(&[]));
    assert!(!link.may_close(), "the fourth waits");
    link.handle_line(&init());
    link.handle_line(&result(&[]));
    assert!(link.may_close());
}

/// The recorded hosts were served well by the CLI: a machine that hears the same lines and says the
/// same answers ends with nothing open.
#[test]
fn the_recordings_leave_nothing_open() {
    let mut checked = 0;
    for recording in recordings().iter().filter(|recording| recording.is_newest()) {
        let mut link = HostLink::new();
        let mut prompts = 0;
        for entry in &recording.entries {
            let line = Line::from(entry.line.as_str());
            if entry.to_host {
                link.handle_line(&line);
                continue;
            }
            match line.to_agent().into_message() {
                Some(duologue_protocol::ToAgent::Prompt(prompt)) => {
                    prompts += 1;
                    link.prompt(&prompt);
                }
                Some(duologue_protocol::ToAgent::ControlResponse(response)) => {
                    if let Some(id) = response.request_id() {
                        link.leave_unanswered(id);
                    }
                }
                _ => {}
            }
            while link.poll_transmit().is_some() {}
        }
        // A turn was asked for, and its result came: then all is settled.
        let last = recording.entries.iter().rfind(|entry| entry.to_host);
        let ended =
            last.is_some_and(|entry| entry.line.contains("\"terminal_reason\":\"completed\""));
        // Some hosts left a question open on purpose, to see what becomes of it.
        let all_answered = link.open_asks().next().is_none();
        if prompts == 1 && ended && all_answered {
            checked += 1;
            assert!(link.may_close(), "{}: {link:?}", recording.name);
        }
    }
    assert!(checked > 40, "{checked}");
}

/// One step of either side.
#[derive(Clone, Debug)]
enum Step {
    Request(bool),
    Reply(usize),
    Withdraw(usize),
    Tick(u64),
    Ask(u8),
    Cancel(u8),
    Answer(u8),
    End,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<bool>().prop_map(Step::Request),
        3 => (0_usize..8).prop_map(Step::Reply),
        1 => (0_usize..8).prop_map(Step::Withdraw),
        1 => (0_u64..20).prop_map(Step::Tick),
        3 => (0_u8..4).prop_map(Step::Ask),
        2 => (0_u8..4).prop_map(Step::Cancel),
        3 => (0_u8..4).prop_map(Step::Answer),
        1 => Just(Step::End),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// In any order of things: a request ends exactly once unless it was withdrawn, an ask is
    /// answered at most once and never after it was withdrawn.
    #[test]
    fn whatever_happens_each_ends_once(steps in vec(step(), 0..60), serial in any::<bool>()) {
        let mut link = if serial { HostLink::new().serial() } else { HostLink::new() };
        let mut made: Vec<RequestId> = Vec::new();
        let mut withdrawn: Vec<RequestId> = Vec::new();
        let mut now = NOW;
        let mut ended: Vec<RequestId> = Vec::new();
        let mut open: std::collections::HashSet<String> = std::collections::HashSet::new();
        for step in steps.into_iter().chain([Step::End]) {
            match step {
                Step::Request(timed) => {
                    let timeout = timed.then_some(seconds(10));
                    made.push(link.request(now, SetModel::new(), timeout));
                }
                Step::Reply(index) => if let Some(id) = made.get(index) {
                    link.handle_line(&success(id));
                },
                Step::Withdraw(index) => if let Some(id) = made.get(index) {
                    if !ended.contains(id) && !withdrawn.contains(id) {
                        withdrawn.push(id.clone());
                    }
                    link.withdraw(id);
                },
                Step::Tick(by) => {
                    now += seconds(by);
                    link.handle_timeout(now);
                }
                Step::Ask(id) => { link.handle_line(&ask(&id.to_string())); }
                Step::Cancel(id) => { link.handle_line(&cancel(&id.to_string())); }
                Step::Answer(id) => {
                    let id = id.to_string();
                    let taken = link.answer(&RequestId::from(id.as_str()), &Answer::Ack).is_ok();
                    prop_assert_eq!(taken, open.remove(&id));
                }
                Step::End => link.handle_end(),
            }
            for event in events(&mut link) {
                match event {
                    LinkEvent::Replied { id, .. } => {
                        prop_assert!(!ended.contains(&id) && !withdrawn.contains(&id));
                        ended.push(id);
                    }
                    LinkEvent::Asked { id, .. } => prop_assert!(open.insert(id.as_str().to_owned())),
                    LinkEvent::Withdrawn { id } => prop_assert!(open.remove(id.as_str())),
                    _ => {}
                }
            }
        }
        prop_assert_eq!(ended.len() + withdrawn.len(), made.len());
        prop_assert!(open.is_empty());
        prop_assert!(link.may_close());
        prop_assert_eq!(link.poll_timeout(), None);
    }
}
