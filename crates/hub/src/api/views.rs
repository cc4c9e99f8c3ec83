//! What clients see of sessions, prompts and asks.

use serde::Serialize;
use serde_json::{Value, json};

use crate::hub::SessionHandle;
use crate::id::{AskId, PromptId, SessionId};
use crate::log::{Cursor, Incarnation};
use crate::state::{Ask, Prompt, SessionState};

/// A value as JSON. What has none is `null`; nothing here has none.
pub(super) fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

pub(super) fn session(session: &SessionHandle, incarnation: Incarnation) -> Value {
    session.read(|state| {
        json!({
            "id": session.id(),
            "state": state.state(),
            "head": Cursor::new(incarnation, state.head()).to_string(),
            "generation": state.generation(),
            "turn": state.turn(),
            "agent": state.has_agent(),
            "failure": state.failure(),
            "cost_usd": state.cost_usd(),
            "prompts": state.prompts().open().map(|(id, one)| prompt(id, one)).collect::<Vec<_>>(),
            "asks": open_asks(session.id(), state),
        })
    })
}

pub(super) fn open_asks(session: SessionId, state: &SessionState) -> Vec<Value> {
    state.asks().open().map(|(id, one)| ask(session, id, one)).collect()
}

pub(super) fn prompt(id: PromptId, prompt: &Prompt) -> Value {
    json!({ "id": id, "state": prompt.state, "seq": prompt.seq, "reason": prompt.reason })
}

pub(super) fn ask(session: SessionId, id: AskId, ask: &Ask) -> Value {
    json!({
        "id": id,
        "session": session,
        "state": ask.state,
        "about": ask.about,
        "seq": ask.seq,
        "tool_use": ask.tool_use,
        "content": ask.content.as_ref().map(json),
        "answer": ask.answer.as_ref().map(json),
        "by": ask.by.as_deref(),
        "reason": ask.reason,
    })
}
