//! The cases of our host with an agent.

mod agents;
mod control;
mod errors;
mod hooks;
mod interrupt;
mod mcp;
mod permissions;
mod person;
mod resume;
mod talk;
mod turns;

use std::sync::Arc;

use duologue::handlers::Decision;
use duologue::protocol::permission::PermissionMode;
use duologue::{Error, Event, Session, SessionBuilder, Turn, TurnOutcome};
use duologue_model::{Block, Chunk, Reply, Scenario};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::case::{Case, Trouble, cases};

/// All cases.
pub(crate) const CASES: &[Case] = cases! {
    talk: text several_turns partial blocks image unicode structured_output blocking one_shot;
    permissions: allow deny deny_and_interrupt changed_input always set_mode by_hand no_handler
        slow_answer two_at_once modes;
    person: question question_skipped plan plan_rejected;
    hooks: allow deny changed_input prompt_context stop_again broken_denies too_late;
    mcp: tool raw rmcp_error list_changed;
    interrupt: streaming idle right_away twice during_tool open_permission by_signal;
    agents: foreground two_at_once their_permissions nested background_agent by_default background_command stop_task
        long_command;
    turns: queued folded cancelled accepted two_in_flight;
    resume: resume fork continue_newest unknown chosen_id resume_or_new after_a_crash;
    control: round_trips set_model set_permission_mode in_a_turn unknown;
    errors: api_error retried max_turns budget bad_tool_input stderr_in_error commands compact
        cut_short refused;
};

/// A tool call of the model.
fn call(name: &str, input: Value) -> Reply {
    Reply::new().say(Block::tool(name, input))
}

/// A command that needs permission and creates a file.
fn touch(file: &str) -> Reply {
    call("Bash", json!({ "command": format!("touch {file}"), "description": "Leave a file" }))
}

/// A model with these replies, in order.
fn says(replies: impl IntoIterator<Item = Reply>) -> Scenario {
    replies.into_iter().fold(Scenario::new(), Scenario::reply)
}

/// All events of a turn, and its outcome.
async fn all(turn: &mut Turn) -> Result<(Vec<Event>, TurnOutcome), Error> {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await? {
        events.push(event);
    }
    Ok((events, turn.outcome().await?))
}

/// Sends a prompt and reads its turn to the end.
async fn ask(session: &Session, prompt: &str) -> Result<(Vec<Event>, TurnOutcome), Error> {
    all(&mut session.prompt(prompt).await?).await
}

/// The finished texts of the main agent.
fn texts(events: &[Event]) -> Vec<String> {
    let of_main = events.iter().filter(|event| event.agent().is_none());
    let text = |event: &Event| match event {
        Event::Text(text) => Some(text.text.to_string()),
        _ => None,
    };
    of_main.filter_map(text).collect()
}

/// The results of tools, as text, and whether they are errors.
fn tool_results(events: &[Event]) -> Vec<(String, bool)> {
    let result = |event: &Event| match event {
        Event::ToolResult(result) => {
            let content = result.content.as_ref().and_then(|content| content.read().ok());
            let text = content.map(|content| content.text()).unwrap_or_default();
            Some((text, result.is_error))
        }
        _ => None,
    };
    events.iter().filter_map(result).collect()
}

/// A reply that stalls after its first word until [`Server::resume`](duologue_model::Server::resume), so that the case can
/// act in the middle of the turn on a machine of any speed.
fn held(text: &str) -> Reply {
    Reply::text(text).chunk(Chunk::Words).stall_after(3)
}

/// Reads until the first text delta: then the turn has begun, for the agent and on the tape. Needs partial messages.
async fn until_it_speaks(turn: &mut Turn) -> Result<(), Trouble> {
    while let Some(event) = turn.next().await? {
        if matches!(event, Event::TextDelta(_)) {
            return Ok(());
        }
    }
    Err(Trouble::fails("the turn ended without a text delta"))
}

/// Waits until the agent has read everything written so far: it reads lines in order, and answers this request.
async fn read_so_far(session: &Session) -> Result<(), Trouble> {
    session.control().set_permission_mode(PermissionMode::Default).await?;
    Ok(())
}

/// How many events are of this kind.
fn count(events: &[Event], name: &str) -> usize {
    events.iter().filter(|event| event.tag() == name).count()
}

/// A permission handler that allows after a signal. The first notification says that the agent asks, the second one is the
/// signal.
fn allow_later(builder: SessionBuilder) -> (SessionBuilder, Arc<Notify>, Arc<Notify>) {
    let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (called, wait) = (Arc::clone(&asked), Arc::clone(&go));
    let builder = builder.on_permission(move |_| {
        let (called, wait) = (Arc::clone(&called), Arc::clone(&wait));
        async move {
            called.notify_one();
            wait.notified().await;
            Decision::allow()
        }
    });
    (builder, asked, go)
}

/// Closes the session; an error fails the case.
async fn close(session: Session) -> Result<(), Trouble> {
    session.close().await?;
    Ok(())
}
