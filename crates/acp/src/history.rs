//! The history of a session: its stored transcript, as updates.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{ContentBlock, SessionUpdate};
use duologue_sessions::{MessageKind, MessageOptions, SessionMessage, StoredSession};
use serde_json::Value;

use crate::client::Client;
use crate::tool_calls::{self, text_content};
use crate::updates::{Updates, user};

/// Passes the updates of a stored session to `send`, in order, until it returns false.
///
/// # Errors
/// If the transcript cannot be read.
pub(crate) fn replay(
    session: &StoredSession,
    client: Client,
    cwd: PathBuf,
    mut send: impl FnMut(SessionUpdate) -> bool,
) -> Result<(), duologue_sessions::Error> {
    let mut updates = Updates::new(client, cwd);
    for message in session.messages(&MessageOptions::default())? {
        for update in message_updates(&mut updates, session, &message?, None) {
            if !send(update) {
                return Ok(());
            }
        }
    }
    // Calls that never returned.
    for update in updates.event(&duologue::event::RunEndedEvent::new().into()) {
        if !send(update) {
            break;
        }
    }
    Ok(())
}

fn message_updates(
    updates: &mut Updates,
    session: &StoredSession,
    message: &SessionMessage,
    agent: Option<&str>,
) -> Vec<SessionUpdate> {
    let Some(body) = message.message.as_ref().and_then(|body| body.to_value_lossy().ok()) else {
        return Vec::new();
    };
    let content = match body.get("content") {
        Some(Value::String(text)) => vec![serde_json::json!({ "type": "text", "text": text })],
        Some(Value::Array(blocks)) => blocks.clone(),
        _ => Vec::new(),
    };
    let id = body.get("id").and_then(Value::as_str);
    let mut all = Vec::new();
    for block in &content {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match (message.kind, text("type")) {
            (MessageKind::Assistant, "text") => all.extend(updates.text(agent, id, text("text"))),
            (MessageKind::Assistant, "thinking") => {
                all.extend(Updates::thinking(agent, id, text("thinking")))
            }
            (MessageKind::Assistant, "tool_use") => {
                let input = block.get("input").cloned().unwrap_or_default();
                all.extend(updates.call(agent, text("id"), text("name"), input));
                if agent.is_none() && matches!(text("name"), "Agent" | "Task") {
                    all.extend(subagent_updates(updates, session, text("id")));
                }
            }
            (MessageKind::User, "tool_result") => {
                let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or_default();
                let structured =
                    message.entry.get("toolUseResult").and_then(|it| it.to_value_lossy().ok());
                all.extend(updates.result(
                    text("tool_use_id"),
                    is_error,
                    block.get("content"),
                    structured.as_ref(),
                ));
            }
            (MessageKind::User, kind) if agent.is_none() && is_prompt(message, text("text")) => {
                match kind {
                    "text" => all.push(user(text_content(text("text")), &message.uuid)),
                    "image" => all.extend(
                        tool_calls::image(block)
                            .map(|image| user(ContentBlock::Image(image), &message.uuid)),
                    ),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    all
}

/// Whether the user wrote it.
fn is_prompt(message: &SessionMessage, text: &str) -> bool {
    !message.is_meta
        && !message.is_compact_summary
        && !message.is_local_command
        && !text.starts_with("[Request interrupted by user")
}

/// What a sub-agent did. A transcript that cannot be read has nothing to show.
fn subagent_updates(
    updates: &mut Updates,
    session: &StoredSession,
    call: &str,
) -> Vec<SessionUpdate> {
    let Ok(Some(subagent)) = session.subagent_of_call(call) else { return Vec::new() };
    let Ok(messages) = subagent.messages(&MessageOptions::default()) else { return Vec::new() };
    let mut all = Vec::new();
    for message in messages.filter_map(Result::ok) {
        all.extend(message_updates(updates, session, &message, Some(call)));
    }
    all
}
