//! Every kind of line has an event, or is listed here. A new row in a table of `wire` fails this test until someone decides.

use duologue_protocol::system::System;
use duologue_protocol::transcript::{Event, Transcript};
use duologue_protocol::{Direction, Line, ToAgent, ToHost};
use serde_json::{Value, json};

/// Lines to the host without an event of their own.
const TO_HOST: &[&str] = &[
    // Events if their request is open.
    "control_response",
    "control_cancel_request",
    // Not about the conversation, or reported by other lines.
    "keep_alive",
    "tool_progress",
    "active_goal",
    "autocompact_state",
    "transcript_mirror",
];

/// System lines without an event.
const SYSTEM: &[&str] = &[
    // The answer, the response of the hook, or the end of the task is an event.
    "control_request_progress",
    "hook_started",
    "hook_progress",
    // An event if its subagent is known.
    "task_progress",
    // The events of each task report it.
    "background_tasks_changed",
    // Estimates; the result has the tokens.
    "thinking_tokens",
    // For menus of commands, not about the conversation.
    "commands_changed",
    // The permission request is an event.
    "permission_check_status",
];

/// Lines to the agent without an event.
const TO_AGENT: &[&str] = &[
    // Events if their request is open.
    "control_response",
    "control_cancel_request",
    // Not about the conversation.
    "keep_alive",
    "update_environment_variables",
    // Lines of hosted sessions. The agent reports what they cause.
    "bash_command",
    "queued_notification",
    "session_notice",
    "assistant",
    "system",
    "workflow_launch",
    // Legacy answers. The result of the tool is an event.
    "approve",
    "deny",
    "tool_result",
    "abort",
];

fn has_event(direction: Direction, line: &Value) -> bool {
    let mut transcript = Transcript::new();
    let line = Line::from(line.to_string());
    transcript.handle_line(direction, &line);
    std::iter::from_fn(|| transcript.poll_event())
        .any(|event| !matches!(event, Event::MalformedLine(_) | Event::UnknownLine(_)))
}

/// The kinds of a table that give no event.
fn silent(known: &[&str], has_event: impl Fn(&str) -> bool) -> Vec<String> {
    known.iter().filter(|tag| !has_event(tag)).map(|tag| (*tag).to_owned()).collect()
}

/// A minimal line of this type that should give an event.
fn line_to_host(tag: &str) -> Value {
    let text = json!({ "content": [{ "type": "text", "text": "x" }] });
    match tag {
        "assistant" | "user" => json!({ "type": tag, "message": text }),
        "system" => json!({ "type": tag, "subtype": "informational" }),
        "stream_event" => {
            json!({ "type": tag, "event": { "type": "content_block_delta", "index": 0,
            "delta": { "type": "text_delta", "text": "x" } } })
        }
        "result" => json!({ "type": tag, "subtype": "success" }),
        "control_request" => json!({ "type": tag, "request_id": "1", "request": {
            "subtype": "can_use_tool", "tool_name": "Bash", "input": {} } }),
        "command_lifecycle" => json!({ "type": tag, "command_uuid": "1", "state": "queued" }),
        _ => json!({ "type": tag }),
    }
}

#[test]
fn every_line_to_the_host_has_an_event_or_is_listed() {
    let silent = silent(ToHost::KNOWN, |tag| has_event(Direction::ToHost, &line_to_host(tag)));
    assert_eq!(silent, TO_HOST);
}

#[test]
fn every_system_line_has_an_event_or_is_listed() {
    let silent = silent(System::KNOWN, |tag| {
        has_event(Direction::ToHost, &json!({ "type": "system", "subtype": tag }))
    });
    assert_eq!(silent, SYSTEM);
}

#[test]
fn every_line_to_the_agent_has_an_event_or_is_listed() {
    let silent = silent(ToAgent::KNOWN, |tag| {
        let line = match tag {
            "user" => json!({ "type": tag, "message": { "role": "user", "content": "x" } }),
            "control_request" => {
                json!({ "type": tag, "request_id": "1", "request": { "subtype": "interrupt" } })
            }
            _ => json!({ "type": tag }),
        };
        has_event(Direction::ToAgent, &line)
    });
    assert_eq!(silent, TO_AGENT);
}
