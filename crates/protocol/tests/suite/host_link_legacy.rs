//! A legacy agent, as its host drives it: each tool call is a permission request.

use duologue_protocol::RequestId;
use duologue_protocol::host_link::{Answer, HostLink, LinkEvent};
use serde_json::json;

use super::host::Host;

fn asked(host: &mut Host, id: &str) -> RequestId {
    let call = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": {} });
    host.receive_json(&json!({ "type": "assistant", "message": { "content": [call] } }));
    match host.link.poll_event() {
        Some(LinkEvent::Asked { id, .. }) => id,
        other => panic!("{other:?}"),
    }
}

fn withdrawn(host: &mut Host) -> Vec<RequestId> {
    let events = host.events().into_iter();
    events
        .map(|event| match event {
            LinkEvent::Withdrawn { id } => id,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_call_with_a_result_is_no_longer_asked_about() {
    let mut host = Host::with(HostLink::new().legacy());
    let (one, two) = (asked(&mut host, "toolu_1"), asked(&mut host, "toolu_2"));
    let result = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": "ran" });
    host.receive_json(
        &json!({ "type": "user", "message": { "role": "user", "content": [result] } }),
    );
    assert_eq!(withdrawn(&mut host), std::slice::from_ref(&one));
    assert!(host.link.answer(&one, &Answer::Ack).is_err(), "too late");
    assert!(host.link.answer(&two, &Answer::Ack).is_ok(), "the other one waits");
}

#[test]
fn open_requests_end_with_their_turn() {
    for end in [
        json!({ "type": "result", "subtype": "error_during_execution" }),
        json!({ "type": "result", "subtype": "of_tomorrow" }),
        json!({ "type": "result", "subtype": 7 }),
        json!({ "type": "system", "subtype": "result", "result": "\"x\"" }),
    ] {
        let mut host = Host::with(HostLink::new().legacy());
        host.prompt("go", "u1");
        let ids = [asked(&mut host, "toolu_1"), asked(&mut host, "toolu_2")];
        assert!(!host.may_close());
        host.receive_json(&end);
        assert_eq!(withdrawn(&mut host), ids);
        assert_eq!(host.turns().results(), 1);
        assert!(host.may_close(), "{end}");
    }
}

#[test]
fn tool_calls_without_a_result_are_followed_if_requested() {
    let mut host = Host::with(HostLink::new().watch_tools());
    let call = json!({ "type": "assistant", "uuid": "a", "message": { "content": [
        { "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {} },
    ] } });
    host.receive_json(&call);
    assert!(host.link.awaits_tools());
    host.receive_json(&json!({ "type": "user", "message": { "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": "toolu_1", "content": "ran" },
    ] } }));
    assert!(!host.link.awaits_tools());
    host.receive_json(&call);
    assert!(!host.link.awaits_tools(), "a repeated line counts once");
}

/// Legacy agents introduce themselves before the first prompt.
#[test]
fn an_introduction_before_the_first_prompt_begins_no_turn() {
    let mut host = Host::new();
    let init = json!({ "type": "system", "subtype": "init", "session_id": "s" });
    host.receive_json(&init);
    assert!(host.may_close());
    // After a result, an introduction begins a turn, also without a prompt.
    host.receive_json(&json!({ "type": "result", "subtype": "success" }));
    host.receive_json(&init);
    assert!(!host.may_close());
}
