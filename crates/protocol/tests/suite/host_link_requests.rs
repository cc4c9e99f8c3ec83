//! Requests of either side, in any order.

use core::time::Duration;

use duologue_protocol::control::{GetContextUsage, Interrupt, McpStatusRequest, SetModel};
use duologue_protocol::host_link::{Answer, Failure, HostLink, LinkEvent};
use duologue_protocol::permission::PermissionResult;
use duologue_protocol::transcript::TurnState;
use duologue_protocol::{Line, RawObject, RequestId};
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

// Requests of the host.

#[test]
fn a_request_is_answered_once() {
    let mut link = HostLink::new();
    let id = link.request(NOW, Interrupt::new(), Some(seconds(5)));
    assert_eq!(link.poll_timeout(), Some(seconds(5)));
    assert_eq!(sent(&mut link)[0]["request"]["subtype"], "interrupt");
    link.handle_line(&success(&id));
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
fn a_withdrawn_request_is_cancelled_and_its_late_answer_ignored() {
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
    // A later request fails at once.
    let late = link.request(NOW, Interrupt::new(), None);
    assert_eq!(events(&mut link), [LinkEvent::Replied { id: late, outcome: Err(Failure::Ended) }]);
    assert!(link.may_close(TurnState::default()));
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

// Requests of the agent.

#[test]
fn a_request_of_the_agent_is_delivered_once_and_answered_once() {
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
fn requests_of_the_agent_are_served_before_initialize_is_answered() {
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
fn open_requests_come_with_the_handshake_once() {
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
    link.handle_line(&line(&malformed));
    let answer = &sent(&mut link)[0]["response"];
    assert_eq!(answer["request_id"], "m");
    assert!(answer["error"].as_str().unwrap().contains("request.tool_name"));
}

// Both.

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

    /// In any order: a request of the host ends exactly once unless it was withdrawn; a request of the agent is answered at
    /// most once, and never after it was withdrawn.
    #[test]
    fn each_request_ends_once_in_any_order(steps in vec(step(), 0..60), serial in any::<bool>()) {
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
        prop_assert!(link.may_close(TurnState::default()));
        prop_assert_eq!(link.poll_timeout(), None);
    }
}
