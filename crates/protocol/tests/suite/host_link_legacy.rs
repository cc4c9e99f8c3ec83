//! An agent of the oldest descriptions, as its host sees it: what is open, and when that ends.

use duologue_protocol::host_link::{Answer, HostLink, LinkEvent};
use duologue_protocol::lines::Prompt;
use duologue_protocol::{Line, RequestId};
use serde_json::{Value, json};

fn hear(link: &mut HostLink, line: &Value) {
    link.handle_line(&Line::from(line.to_string()));
}

fn asked(link: &mut HostLink, id: &str) -> RequestId {
    let call = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": {} });
    hear(link, &json!({ "type": "assistant", "message": { "content": [call] } }));
    match link.poll_event() {
        Some(LinkEvent::Asked { id, .. }) => id,
        other => panic!("{other:?}"),
    }
}

fn withdrawn(link: &mut HostLink) -> Vec<RequestId> {
    let mut ids = Vec::new();
    while let Some(event) = link.poll_event() {
        match event {
            LinkEvent::Withdrawn { id } => ids.push(id),
            other => panic!("{other:?}"),
        }
    }
    ids
}

#[test]
fn a_call_with_a_result_is_no_longer_asked_about() {
    let mut link = HostLink::new().legacy();
    let (one, two) = (asked(&mut link, "toolu_1"), asked(&mut link, "toolu_2"));
    let result = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": "ran" });
    hear(&mut link, &json!({ "type": "user", "message": { "role": "user", "content": [result] } }));
    assert_eq!(withdrawn(&mut link), std::slice::from_ref(&one));
    assert!(link.answer(&one, &Answer::Ack).is_err(), "too late");
    assert!(link.answer(&two, &Answer::Ack).is_ok(), "the other one waits");
}

#[test]
fn nothing_is_asked_about_once_the_turn_has_ended() {
    for end in [
        json!({ "type": "result", "subtype": "error_during_execution" }),
        json!({ "type": "system", "subtype": "result", "result": "\"x\"" }),
    ] {
        let mut link = HostLink::new().legacy();
        link.prompt(&Prompt::text("go"));
        while link.poll_transmit().is_some() {}
        let ids = [asked(&mut link, "toolu_1"), asked(&mut link, "toolu_2")];
        assert!(!link.may_close());
        hear(&mut link, &end);
        assert_eq!(withdrawn(&mut link), ids);
        assert_eq!(link.results(), 1);
        assert!(link.may_close(), "{end}");
    }
}

#[test]
fn an_agent_that_introduces_itself_first_is_at_rest() {
    let mut link = HostLink::new();
    let init = json!({ "type": "system", "subtype": "init", "session_id": "s" });
    hear(&mut link, &init);
    assert!(link.may_close());
    assert_eq!(link.session_id().unwrap().as_str(), "s");
    // After that, one begins a turn: also one that nobody asked for.
    hear(&mut link, &json!({ "type": "result", "subtype": "success" }));
    hear(&mut link, &init);
    assert!(!link.may_close());
}
