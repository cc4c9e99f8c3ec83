//! [`Record`]: what the entries of the hub say, by kind.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::asks::{About, Answer, AskState};
use super::prompts::PromptState;
use crate::id::{AskId, PromptId};
use crate::log::{Body, Entry, NewEntry, OWNER, Origin};

/// What an entry of the hub says.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Record {
    /// `sessions.created`: how the session is run.
    Created(Created),
    /// `sessions.owner`: another owner runs the session from now on.
    Owner,
    /// `sessions.failed`: the agent cannot be run.
    Failed(Failed),
    /// `sessions.closed`: nothing is run any more.
    Closed,
    /// `agents.started`.
    AgentStarted(AgentStarted),
    /// `agents.exited`.
    AgentExited(AgentExited),
    /// `agents.stderr`.
    Stderr(Stderr),
    /// `lines.agent`: a line of the agent.
    AgentLine(LineRecord),
    /// `lines.host`: a line to the agent.
    HostLine(LineRecord),
    /// `sessions.conversation`: the agent gave the conversation an id, or another one.
    Conversation(Conversation),
    /// `turns.started`.
    TurnStarted(TurnStarted),
    /// `turns.interrupting`: a client wants a turn to end.
    Interrupting(TurnStarted),
    /// `turns.completed`, `turns.failed`, `turns.cancelled`.
    TurnEnded(TurnEnd, TurnEnded),
    /// `prompts.accepted`.
    PromptAccepted(PromptAccepted),
    /// `prompts.` and the new state of a prompt. The state `accepted` means that it is in the queue again: `prompts.requeued`.
    Prompt(PromptState, PromptChange),
    /// `asks.opened`.
    AskOpened(AskOpened),
    /// `asks.answered`.
    AskAnswered(AskAnswered),
    /// `asks.delivering`: the answer is about to be written to the agent.
    AskDelivering(AskChange),
    /// `asks.delivered`: the agent has the answer.
    AskDelivered(AskChange),
    /// `asks.` and the state in which an ask ended.
    AskEnded(AskState, AskChange),
    /// Another kind. It does not change the state.
    Other,
}

/// How a session is run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Created {
    /// The options, as the client sent them.
    pub options: Box<RawValue>,
}

/// Why the agent cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failed {
    /// The reason.
    pub reason: String,
}

/// An agent was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AgentStarted {
    /// Its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// An agent has exited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AgentExited {
    /// Why, for a user.
    pub reason: String,
}

/// The id of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Conversation {
    /// As the agent has it.
    pub id: String,
}

/// Something that the agent wrote to stderr.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stderr {
    /// The text.
    pub text: String,
}

/// A line of the wire, byte for byte.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "lowercase")]
pub enum LineRecord {
    /// A line that is JSON.
    Json(Box<RawValue>),
    /// A line that is not.
    Text(String),
    /// A line that is not UTF-8: its bytes as two hexadecimal digits each.
    Hex(String),
}

impl LineRecord {
    /// The record of a line.
    pub fn new(raw: &[u8]) -> Self {
        use std::fmt::Write as _;
        let Ok(text) = std::str::from_utf8(raw) else {
            let mut hex = String::with_capacity(raw.len() * 2);
            for byte in raw {
                // Writing to a string does not fail.
                let _ = write!(hex, "{byte:02x}");
            }
            return Self::Hex(hex);
        };
        // A raw value is kept without the spaces around it.
        match serde_json::from_str::<&RawValue>(text) {
            Ok(json) if json.get().len() == text.len() => Self::Json(json.to_owned()),
            _ => Self::Text(text.to_owned()),
        }
    }
}

/// A turn begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnStarted {
    /// Its number within the session.
    pub turn: u64,
    /// The prompts that it answers, as far as they are known.
    #[serde(default)]
    pub prompts: Vec<PromptId>,
}

impl TurnStarted {
    /// The turn of some prompts.
    pub const fn new(turn: u64, prompts: Vec<PromptId>) -> Self {
        Self { turn, prompts }
    }
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnEnd {
    /// It has its result.
    Completed,
    /// Its result is an error, or the agent died.
    Failed,
    /// It was interrupted.
    Cancelled,
}

impl TurnEnd {
    const ALL: [Self; 3] = [Self::Completed, Self::Failed, Self::Cancelled];

    const fn kind(self) -> &'static str {
        match self {
            Self::Completed => "turns.completed",
            Self::Failed => "turns.failed",
            Self::Cancelled => "turns.cancelled",
        }
    }
}

/// A turn has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnEnded {
    /// Its number within the session.
    pub turn: u64,
    /// Why, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it cost, in USD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl TurnEnded {
    /// The end of a turn.
    pub const fn new(turn: u64) -> Self {
        Self { turn, reason: None, cost_usd: None }
    }
}

/// A prompt is in the queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptAccepted {
    /// The prompt.
    pub prompt: PromptId,
    /// A text or blocks.
    pub content: Box<RawValue>,
}

impl PromptAccepted {
    /// A prompt.
    pub const fn new(prompt: PromptId, content: Box<RawValue>) -> Self {
        Self { prompt, content }
    }
}

/// A prompt has another state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptChange {
    /// The prompt.
    pub prompt: PromptId,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl PromptChange {
    /// A change that needs no reason.
    pub const fn new(prompt: PromptId) -> Self {
        Self { prompt, reason: None }
    }

    /// Sets the reason.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// The agent asks something.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AskOpened {
    /// The ask.
    pub ask: AskId,
    /// What it is about.
    pub about: About,
    /// The id of the request on the wire of this agent.
    pub request: String,
    /// The tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use: Option<String>,
    /// The request, as the agent sent it.
    pub content: Box<RawValue>,
}

impl AskOpened {
    /// An ask about no tool call.
    pub fn new(
        ask: AskId,
        about: About,
        request: impl Into<String>,
        content: Box<RawValue>,
    ) -> Self {
        Self { ask, about, request: request.into(), tool_use: None, content }
    }

    /// Sets the tool call.
    #[must_use]
    pub fn tool_use(mut self, id: Option<String>) -> Self {
        self.tool_use = id;
        self
    }
}

/// An ask has its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AskAnswered {
    /// The ask.
    pub ask: AskId,
    /// The answer.
    pub answer: Answer,
}

/// An ask has another state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AskChange {
    /// The ask.
    pub ask: AskId,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl AskChange {
    /// A change that needs no reason.
    pub const fn new(ask: AskId) -> Self {
        Self { ask, reason: None }
    }

    /// Sets the reason.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// An entry of a known kind has another body than that kind.
#[derive(Debug, thiserror::Error)]
#[error("entry {seq} ({kind}) cannot be read: {source}")]
#[non_exhaustive]
pub struct RecordError {
    /// The entry.
    pub seq: u64,
    /// Its kind.
    pub kind: String,
    /// Why.
    pub source: serde_json::Error,
}

impl Record {
    /// The kind of its entry.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Created(_) => "sessions.created",
            Self::Owner => OWNER,
            Self::Failed(_) => "sessions.failed",
            Self::Closed => "sessions.closed",
            Self::AgentStarted(_) => "agents.started",
            Self::AgentExited(_) => "agents.exited",
            Self::Stderr(_) => "agents.stderr",
            Self::AgentLine(_) => "lines.agent",
            Self::HostLine(_) => "lines.host",
            Self::Conversation(_) => "sessions.conversation",
            Self::TurnStarted(_) => "turns.started",
            Self::Interrupting(_) => "turns.interrupting",
            Self::TurnEnded(end, _) => end.kind(),
            Self::PromptAccepted(_) => "prompts.accepted",
            Self::Prompt(state, _) => state.kind(),
            Self::AskOpened(_) => "asks.opened",
            Self::AskAnswered(_) => "asks.answered",
            Self::AskDelivering(_) => "asks.delivering",
            Self::AskDelivered(_) => "asks.delivered",
            Self::AskEnded(state, _) => state.kind(),
            Self::Other => "x.other",
        }
    }

    const fn origin(&self) -> Origin {
        match self {
            Self::AgentLine(_) | Self::Stderr(_) | Self::AskOpened(_) => Origin::Agent,
            Self::TurnStarted(_) | Self::TurnEnded(..) => Origin::Agent,
            Self::PromptAccepted(_) | Self::AskAnswered(_) | Self::Interrupting(_) => Origin::User,
            _ => Origin::Hub,
        }
    }

    /// The entry for the log.
    ///
    /// # Errors
    ///
    /// If the record has no JSON, which does not happen with records that were read or made here.
    pub fn entry(&self) -> Result<NewEntry, serde_json::Error> {
        let body = match self {
            Self::Created(body) => Body::encode(body),
            Self::Failed(body) => Body::encode(body),
            Self::Owner | Self::Closed | Self::Other => Body::parse("{}"),
            Self::AgentStarted(body) => Body::encode(body),
            Self::AgentExited(body) => Body::encode(body),
            Self::Stderr(body) => Body::encode(body),
            Self::AgentLine(body) | Self::HostLine(body) => Body::encode(body),
            Self::Conversation(body) => Body::encode(body),
            Self::TurnStarted(body) | Self::Interrupting(body) => Body::encode(body),
            Self::TurnEnded(_, body) => Body::encode(body),
            Self::PromptAccepted(body) => Body::encode(body),
            Self::Prompt(_, body) => Body::encode(body),
            Self::AskOpened(body) => Body::encode(body),
            Self::AskAnswered(body) => Body::encode(body),
            Self::AskDelivering(body) | Self::AskDelivered(body) | Self::AskEnded(_, body) => {
                Body::encode(body)
            }
        }?;
        NewEntry::new(self.kind(), self.origin(), body).map_err(serde::ser::Error::custom)
    }

    /// Reads an entry. Lines are not read: they do not change the state.
    ///
    /// # Errors
    ///
    /// If the entry is of a known kind and its body is not.
    pub fn read(entry: &Entry) -> Result<Self, RecordError> {
        let body = entry.body.as_str();
        let kind = entry.kind.as_str();
        let read = match kind {
            "sessions.created" => json(body).map(Self::Created),
            OWNER => Ok(Self::Owner),
            "sessions.failed" => json(body).map(Self::Failed),
            "sessions.closed" => Ok(Self::Closed),
            "agents.started" => json(body).map(Self::AgentStarted),
            "agents.exited" => json(body).map(Self::AgentExited),
            "sessions.conversation" => json(body).map(Self::Conversation),
            "turns.started" => json(body).map(Self::TurnStarted),
            "turns.interrupting" => json(body).map(Self::Interrupting),
            "prompts.accepted" => json(body).map(Self::PromptAccepted),
            "asks.opened" => json(body).map(Self::AskOpened),
            "asks.answered" => json(body).map(Self::AskAnswered),
            "asks.delivering" => json(body).map(Self::AskDelivering),
            "asks.delivered" => json(body).map(Self::AskDelivered),
            _ => {
                let turn = TurnEnd::ALL.into_iter().find(|end| end.kind() == kind);
                let prompt = PromptState::ALL.into_iter().find(|state| state.kind() == kind);
                let ask = AskState::ALL.into_iter().find(|state| state.kind() == kind);
                match (turn, prompt, ask) {
                    (Some(end), _, _) => json(body).map(|body| Self::TurnEnded(end, body)),
                    (_, Some(state), _) => json(body).map(|body| Self::Prompt(state, body)),
                    (_, _, Some(state)) => json(body).map(|body| Self::AskEnded(state, body)),
                    _ => Ok(Self::Other),
                }
            }
        };
        read.map_err(|source| RecordError { seq: entry.seq, kind: kind.to_owned(), source })
    }
}

fn json<T: DeserializeOwned>(body: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_byte_for_byte() {
        for (line, expected) in [
            (&br#"{"a":  1.0,"b":"\ud83d"}"#[..], r#"{"json":{"a":  1.0,"b":"\ud83d"}}"#),
            (b" {}", r#"{"text":" {}"}"#),
            (b"not JSON", r#"{"text":"not JSON"}"#),
            (b"\xff\x00", r#"{"hex":"ff00"}"#),
        ] {
            let body = Body::encode(&LineRecord::new(line)).unwrap();
            assert_eq!(body.as_str(), expected);
        }
    }
}
