//! Our host, against an agent.

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

use duologue::protocol::permission::PermissionMode;
use duologue::{Error, Event, Session, Turn, TurnOutcome};
use duologue_model::{Block, Chunk, Reply, Scenario};
use serde_json::{Value, json};

use crate::case::{Case, Trouble, cases};

/// What must hold between our host and an agent.
pub(crate) const CASES: &[Case] = cases! {
    talk: text several_turns partial blocks image unicode structured_output blocking one_shot;
    permissions: allow deny deny_and_interrupt changed_input always set_mode by_hand nobody
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

/// A command that is asked for: it leaves a file.
fn touch(file: &str) -> Reply {
    call("Bash", json!({ "command": format!("touch {file}"), "description": "Leave a file" }))
}

/// A model that says these, one after the other.
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

/// A reply that breaks off after its first word, until [`Server::resume`](duologue_model::Server::resume): so that what
/// the case does meanwhile happens in the middle of the turn, however slow the machine is.
fn held(text: &str) -> Reply {
    Reply::text(text).chunk(Chunk::Words).stall_after(3)
}

/// Reads until the model speaks: then the turn has begun, for the agent and on the tape. Needs partial messages.
async fn until_it_speaks(turn: &mut Turn) -> Result<(), Trouble> {
    while let Some(event) = turn.next().await? {
        if matches!(event, Event::TextDelta(_)) {
            return Ok(());
        }
    }
    Err(Trouble::fails("the turn ended without a word"))
}

/// Waits until the agent has read all that was written so far: it reads its lines in their order, and answers this one.
async fn read_so_far(session: &Session) -> Result<(), Trouble> {
    session.control().set_permission_mode(PermissionMode::Default).await?;
    Ok(())
}

/// How many events are of this kind.
fn count(events: &[Event], name: &str) -> usize {
    events.iter().filter(|event| event.tag() == name).count()
}

/// Ends the session and says if it did not end well.
async fn close(session: Session) -> Result<(), Trouble> {
    session.close().await?;
    Ok(())
}
