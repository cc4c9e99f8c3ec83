//! When the agent's stdin may be closed.

use core::time::Duration;

use duologue_protocol::control::CancelAsyncMessage;
use duologue_protocol::host_link::Answer;
use duologue_protocol::permission::PermissionResult;
use duologue_protocol::{RawObject, RequestId};
use duologue_testkit::recordings;
use serde_json::{Value, json};

use super::host::Host;

fn ask(id: &str) -> Value {
    let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": {} });
    json!({ "type": "control_request", "request_id": id, "request": request })
}

fn result(uuids: &[&str]) -> Value {
    json!({ "type": "result", "subtype": "success", "user_message_uuids": uuids })
}

fn init() -> Value {
    json!({ "type": "system", "subtype": "init" })
}

fn allow() -> Answer {
    Answer::of(&PermissionResult::allow(RawObject::default()))
}

#[test]
fn stdin_may_close_only_when_nothing_is_open() {
    let mut host = Host::new();
    assert!(host.may_close());
    host.prompt("hi", "u1");
    assert!(!host.may_close(), "the prompt waits");
    host.receive_json(&init());
    host.receive_json(&ask("a"));
    host.receive_json(&result(&["u1"]));
    assert!(!host.may_close(), "a permission request is open");
    host.link.answer(&RequestId::from("a"), &allow()).unwrap();
    host.write();
    assert!(host.may_close());
}

#[test]
fn background_agents_keep_stdin_open_until_they_end_or_the_agent_is_idle() {
    let mut host = Host::new();
    host.prompt("hi", "u1");
    host.receive_json(&init());
    let started = json!({ "type": "system", "subtype": "task_started", "task_id": "t",
        "task_type": "local_agent", "is_backgrounded": true });
    host.receive_json(&started);
    host.receive_json(&result(&["u1"]));
    assert!(host.is_between_turns() && !host.may_close());
    host.receive_json(&json!({ "type": "system", "subtype": "task_notification", "task_id": "t" }));
    assert!(host.may_close());

    // The agent ignores a second prompt with the same uuid: nothing waits.
    host.prompt("ignored", "u1");
    assert!(host.may_close());

    // The result of this turn is lost.
    host.prompt("hi", "u2");
    host.receive_json(&init());
    host.receive_json(
        &json!({ "type": "command_lifecycle", "command_uuid": "u2", "state": "started" }),
    );
    assert!(!host.may_close());
    host.receive_json(
        &json!({ "type": "system", "subtype": "session_state_changed", "state": "idle" }),
    );
    assert!(host.may_close());
}

/// Some agents introduce themselves at the start, or twice in a turn.
#[test]
fn an_introduction_without_a_turn_of_its_own_is_not_waited_for() {
    let mut host = Host::new();
    host.receive_json(&init());
    assert!(host.may_close(), "no prompt was sent");
    host.prompt("hi", "u1");
    host.receive_json(&init());
    host.receive_json(&init());
    assert!(!host.may_close());
    host.receive_json(&result(&["u1"]));
    assert!(host.may_close());
}

#[test]
fn merged_prompts_are_settled_by_one_result() {
    let mut host = Host::new();
    for uuid in ["u1", "u2", "u3"] {
        host.prompt("hi", uuid);
    }
    host.receive_json(&init());
    host.receive_json(&result(&["u1"]));
    assert!(!host.may_close());
    host.receive_json(&init());
    host.receive_json(&result(&["u2", "u3"]));
    assert!(host.may_close());
}

/// 2.1.197 reports it only in the answer.
#[test]
fn a_cancelled_prompt_is_not_waited_for() {
    let mut host = Host::new();
    host.prompt("hi", "u1");
    let now = Duration::ZERO;
    let id = host.link.request(now, CancelAsyncMessage::new().message_uuid("u1"), None);
    host.write();
    host.receive_json(&json!({ "type": "control_response", "response": {
        "subtype": "success", "request_id": id.as_str(), "response": { "cancelled": true },
    }}));
    assert!(host.may_close());
}

/// Results of 2.1.197 do not name their prompts; it repeats the prompts that it takes.
#[test]
fn repeated_prompts_are_settled_by_a_result_that_names_none() {
    let replay = |uuid: &str| {
        let message = json!({ "role": "user", "content": "hi" });
        json!({ "type": "user", "message": message, "uuid": uuid, "isReplay": true })
    };
    let mut host = Host::new();
    host.prompt("hi", "u1");
    host.receive_json(&init());
    host.receive_json(&replay("u1"));
    for uuid in ["u2", "u3", "u4"] {
        host.prompt("hi", uuid);
    }
    host.receive_json(&result(&[]));
    host.receive_json(&replay("u2"));
    host.receive_json(&init());
    host.receive_json(&replay("u3"));
    host.receive_json(&result(&[]));
    assert!(!host.may_close(), "the fourth waits");
    host.receive_json(&init());
    host.receive_json(&result(&[]));
    assert!(host.may_close());
}

/// Recorded conversations that ended well leave nothing open.
#[test]
fn the_recordings_leave_nothing_open() {
    let mut checked = 0;
    for recording in recordings().iter().filter(|recording| recording.is_newest()) {
        let mut host = Host::new();
        let mut prompts = 0;
        for entry in &recording.entries {
            if entry.to_host {
                host.receive(&entry.line);
            } else {
                prompts += usize::from(entry.line.contains("\"type\":\"user\""));
                host.send_recorded(&entry.line);
            }
        }
        let last = recording.entries.iter().rfind(|entry| entry.to_host);
        let ended =
            last.is_some_and(|entry| entry.line.contains("\"terminal_reason\":\"completed\""));
        // Some recorded hosts left a request open on purpose.
        let all_answered = host.link.open_asks().next().is_none();
        if prompts == 1 && ended && all_answered {
            checked += 1;
            assert!(host.may_close(), "{}: {:?}", recording.name, host.link);
        }
    }
    assert!(checked > 40, "{checked}");
}

/// Some agents introduce themselves once, before the first prompt, and not again.
#[test]
fn a_turn_that_began_before_its_prompt_is_waited_for() {
    let mut host = Host::new();
    host.receive_json(&init());
    host.prompt("hi", "u1");
    let content = json!([{ "type": "text", "text": "Let me see." }]);
    host.receive_json(
        &json!({ "type": "assistant", "message": { "id": "m", "content": content } }),
    );
    assert!(!host.is_between_turns() && !host.may_close(), "the turn has no result yet");
    host.receive_json(&result(&["u1"]));
    assert!(host.may_close());
}
