//! Summaries: what a list of a store shows, without loading every session.

use serde_json::{Map, Value};

use super::{ListedSession, SessionKey, SessionStore};
use crate::error::{Error, Result};
use crate::info::SessionInfo;
use crate::js;
use crate::prompt::FirstPrompt;
use crate::transcript::Entry;

/// What is known about a session in a store. Stores keep [`data`](Self::data) as it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionSummary {
    /// The session.
    pub session_id: String,
    /// When it was last stored, in milliseconds since 1970. The store sets it.
    pub modified: i64,
    /// What was found so far. The fields are those of the TypeScript SDK's `foldSessionSummary`.
    pub data: Map<String, Value>,
}

/// Fields of entries of which the last counts, and their names in a summary.
const LAST: [(&str, &str); 5] = [
    ("customTitle", "customTitle"),
    ("aiTitle", "aiTitle"),
    ("lastPrompt", "lastPrompt"),
    ("summary", "summaryHint"),
    ("gitBranch", "gitBranch"),
];

impl SessionSummary {
    /// A summary with data that a store has kept.
    pub fn new(session_id: impl Into<String>, modified: i64, data: Map<String, Value>) -> Self {
        Self { session_id: session_id.into(), modified, data }
    }

    /// The summary after more entries were appended. Not for sub-agents: they do not belong to the session's summary.
    ///
    /// The time is kept: the store sets it when it has stored the entries.
    ///
    /// ```
    /// use duologue_sessions::Entry;
    /// use duologue_sessions::store::{SessionKey, SessionSummary};
    ///
    /// let key = SessionKey::new("-my", "1");
    /// let entry = Entry::new(br#"{"type":"user","message":{"content":"Hello?"}}"#.to_vec());
    /// let summary = SessionSummary::fold(None, &key, &[entry]);
    /// assert_eq!(summary.info().map(|info| info.summary).as_deref(), Some("Hello?"));
    /// ```
    #[must_use]
    pub fn fold(previous: Option<Self>, key: &SessionKey, entries: &[Entry]) -> Self {
        let mut summary =
            previous.unwrap_or_else(|| Self::new(key.session_id.clone(), 0, Map::new()));
        let data = &mut summary.data;
        for entry in entries {
            let Some(entry) = entry.json().and_then(|json| json.to_value_lossy().ok()) else {
                continue;
            };
            data.entry("isSidechain").or_insert(Value::Bool(entry["isSidechain"] == true));
            let filled = |name: &str| entry[name].as_str().filter(|text| !text.is_empty());
            if let Some(time) = entry["timestamp"].as_str().and_then(js::parse_time) {
                data.entry("createdAt").or_insert(time.into());
            }
            if let Some(cwd) = filled("cwd") {
                data.entry("cwd").or_insert(cwd.into());
            }
            if data.get("firstPromptLocked") != Some(&Value::Bool(true)) {
                let mut prompt = FirstPrompt::default();
                if let Some(text) = prompt.of(&entry) {
                    data.insert("firstPrompt".to_owned(), text.into());
                    data.insert("firstPromptLocked".to_owned(), true.into());
                } else if let Some(command) = prompt.command.filter(|command| !command.is_empty()) {
                    data.entry("commandFallback").or_insert(command.into());
                }
            }
            for (name, kept) in LAST {
                if let Some(text) = entry[name].as_str() {
                    data.insert(kept.to_owned(), text.into());
                }
            }
            if entry["type"] == "tag" {
                match filled("tag") {
                    Some(tag) => data.insert("tag".to_owned(), tag.into()),
                    None => data.remove("tag"),
                };
            }
            if entry["type"] == "relocated"
                && let Some(cwd) = filled("relocatedCwd")
            {
                data.insert("cwd".to_owned(), cwd.into());
            }
        }
        summary
    }

    /// What a list shows. `None` if there is nothing to show.
    pub fn info(&self) -> Option<SessionInfo> {
        let text = |name: &str| {
            let text = self.data.get(name).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        if self.data.get("isSidechain") == Some(&Value::Bool(true)) {
            return None;
        }
        let locked = self.data.get("firstPromptLocked") == Some(&Value::Bool(true));
        let first_prompt = text(if locked { "firstPrompt" } else { "commandFallback" });
        let title = text("customTitle").or_else(|| text("aiTitle"));
        let summary = title
            .clone()
            .or_else(|| text("lastPrompt"))
            .or_else(|| text("summaryHint"))
            .or_else(|| first_prompt.clone())?;
        Some(SessionInfo {
            id: self.session_id.clone(),
            path: std::path::PathBuf::new(),
            summary,
            title,
            first_prompt,
            git_branch: text("gitBranch"),
            cwd: text("cwd"),
            tag: text("tag"),
            created: self.data.get("createdAt").and_then(Value::as_i64),
            modified: self.modified,
            size: None,
            archived: None,
            programmatic: false,
            problem: None,
        })
    }
}

/// Lists the sessions of a project in a store, newest first.
///
/// Summaries are used where they are there and up to date. Other sessions are loaded.
///
/// # Errors
/// If the store can list neither sessions nor summaries, or cannot be read.
pub fn list(store: &dyn SessionStore, project_key: &str) -> Result<Vec<SessionInfo>> {
    let optional = |result| match result {
        Err(Error::Unsupported(_)) => Ok(None),
        Ok(found) => Ok(Some(found)),
        Err(error) => Err(error),
    };
    let summaries: Option<Vec<SessionSummary>> = match store.list_summaries(project_key) {
        Err(Error::Unsupported(_)) => None,
        found => Some(found?),
    };
    let sessions: Option<Vec<ListedSession>> = optional(store.list_sessions(project_key))?;
    if summaries.is_none() && sessions.is_none() {
        return Err(Error::Unsupported("list_sessions"));
    }
    let mut summaries = summaries.unwrap_or_default();
    let mut found = Vec::new();
    for session in sessions.iter().flatten() {
        let known = summaries.iter().position(|it| it.session_id == session.session_id);
        let known = known.map(|at| summaries.swap_remove(at));
        let fresh = known.filter(|known| known.modified >= session.modified);
        let summary = match fresh {
            Some(fresh) => Some(fresh),
            None => {
                let key = SessionKey::new(project_key, session.session_id.clone());
                store.load(&key)?.map(|entries| {
                    let mut summary = SessionSummary::fold(None, &key, &entries);
                    summary.modified = session.modified;
                    summary
                })
            }
        };
        found.extend(summary.and_then(|summary| summary.info()));
    }
    if sessions.is_none() {
        found.extend(summaries.iter().filter_map(SessionSummary::info));
    }
    found.sort_by(|a, b| (b.modified, &b.id).cmp(&(a.modified, &a.id)));
    Ok(found)
}
