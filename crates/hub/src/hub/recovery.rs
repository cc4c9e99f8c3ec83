//! What becomes of a session whose hub or agent died.

use std::collections::HashSet;

use serde_json::Value;

use super::{OpenError, fold};
use crate::id::SessionId;
use crate::log::{AppendError, Batch, Body, Entry, Limits, Log, NewEntry, ReadError};
use crate::state::{AgentExited, Evidence, Record, SessionState, State};

/// Loads a session. This hub becomes its owner, and writes down what became of what the last one left open.
pub(super) async fn load(log: &dyn Log, id: SessionId) -> Result<SessionState, OpenError> {
    let mut state = SessionState::new();
    fold(log, id, &mut state).await?;
    let was_running = state.has_agent()
        || state.prompts().is_busy()
        || state.turn().is_some()
        || state.asks().unfinished().next().is_some();
    if state.state() == State::Closed || !was_running {
        return Ok(state);
    }
    let mut records = Vec::new();
    if state.has_agent() {
        let reason = "the hub stopped, and the agent with it".to_owned();
        records.push(Record::AgentExited(AgentExited { reason }));
    }
    records.extend(after_death(log, id, &state).await?);
    let mut entries = vec![NewEntry::owner(Body::trusted("{}"))];
    for record in &records {
        let entry = record.entry();
        entries.push(entry.map_err(|error| AppendError::Storage(error.to_string()))?);
    }
    log.append(Batch::new(id, state.generation() + 1, entries)).await?;
    fold(log, id, &mut state).await?;
    Ok(state)
}

/// What has to be written down after the agent of a session has died.
///
/// The transcript of the agent is not read, so a prompt that was on its way is `unknown` and not sent again.
pub(super) async fn after_death(
    log: &dyn Log,
    id: SessionId,
    state: &SessionState,
) -> Result<Vec<Record>, ReadError> {
    let results = match state.asks().unfinished().next() {
        Some(_) => results(log, id).await?,
        None => HashSet::new(),
    };
    Ok(state.recover(|_| Evidence::Unreadable, |call| results.contains(call)))
}

/// The tool calls that have a result in the log.
async fn results(log: &dyn Log, id: SessionId) -> Result<HashSet<String>, ReadError> {
    let mut found = HashSet::new();
    let Some(head) = log.head(id).await? else { return Ok(found) };
    let mut after = head.first - 1;
    while after < head.last {
        let page = log.read(id, after, Limits::default()).await?;
        if page.entries.is_empty() {
            break;
        }
        after += page.entries.len() as u64;
        found.extend(page.entries.iter().flat_map(results_of));
    }
    Ok(found)
}

fn results_of(entry: &Entry) -> Vec<String> {
    if entry.kind.as_str() != "lines.agent" || !entry.body.as_str().contains("tool_result") {
        return Vec::new();
    }
    let Ok(body) = serde_json::from_str::<Value>(entry.body.as_str()) else { return Vec::new() };
    let blocks = body["json"]["message"]["content"].as_array().into_iter().flatten();
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results.filter_map(|block| block["tool_use_id"].as_str().map(str::to_owned)).collect()
}
