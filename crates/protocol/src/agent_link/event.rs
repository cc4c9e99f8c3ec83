//! What an [`AgentLink`](super::AgentLink) says and is told.

use std::fmt;

use crate::content::{Content, ContentBlock};
use crate::control::{ControlResponse, Failure, HostRequest, Response, Success};
use crate::id::RequestId;
use crate::json::RawJson;
use crate::legacy::ToolResultLine;
use crate::lines::Prompt;
use crate::message::Origin;
use crate::text::Text;
use crate::wire::Wire;

/// Something for the agent to serve.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// A turn begins. End it with [`end_turn`](super::AgentLink::end_turn); the next waits for that.
    TurnBegins(Box<TurnStart>),
    /// The host asks for something. Answer it once.
    Asked {
        /// The request.
        key: RequestKey,
        /// What is asked.
        request: Box<HostRequest>,
    },
    /// A question of the agent has ended.
    Answered {
        /// The question.
        id: RequestId,
        /// How it ended.
        outcome: Outcome,
    },
    /// The host wants the agent to stop. It has been answered already.
    Interrupted(Interruption),
    /// The host will say nothing more. Finish what is open, then leave.
    HostEnded,
    /// A line that the agent may not survive: say this on stderr and leave.
    Fatal(Fatal),
}

/// Why a turn begins, and with what.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TurnStart {
    /// The prompts that it answers, in their order; none if nobody asked for it.
    pub prompts: Vec<Prompt>,
    /// Who started it, if nobody asked for it.
    pub origin: Option<Origin>,
}

impl TurnStart {
    pub(super) const fn of(prompts: Vec<Prompt>) -> Self {
        Self { prompts, origin: None }
    }

    /// Its prompts as one: texts are joined by newlines, as the CLI does.
    pub fn content(&self) -> Content {
        join(&self.prompts)
    }
}

/// Several prompts as one.
pub(super) fn join(prompts: &[Prompt]) -> Content {
    let contents: Vec<&Content> = prompts
        .iter()
        .filter_map(|prompt| prompt.message.value())
        .filter_map(|message| message.content.value())
        .collect();
    match contents.as_slice() {
        [] => Content::Text(Text::default()),
        [only] => (*only).clone(),
        several if several.iter().all(|content| matches!(content, Content::Text(_))) => {
            let texts: Vec<String> = several.iter().map(|content| content.text()).collect();
            Content::from(texts.join("\n"))
        }
        several => {
            let mut blocks = Vec::new();
            for content in several {
                match content {
                    Content::Text(text) => blocks.push(ContentBlock::text(text)),
                    Content::Blocks(more) => blocks.extend_from_slice(more),
                }
            }
            Content::Blocks(blocks)
        }
    }
}

/// How a question of the agent ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The host answered.
    Success(Box<Success>),
    /// The host said that it could not.
    Refused(Box<Failure>),
    /// The host supplied the result of the tool that was asked about. Only the oldest descriptions
    /// know this.
    ToolResult(Box<ToolResultLine>),
    /// The turn was interrupted; the host has been told that nobody waits any more.
    Withdrawn,
    /// The host is gone.
    Ended,
}

/// How the host wants the agent to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interruption {
    /// A turn is running, and ends now. Otherwise only work in the background is meant.
    pub in_turn: bool,
    /// Another prompt wants to be next at once: the turn ends without complaint.
    pub preempted: bool,
    /// Leave tasks in the background alone.
    pub spare_background: bool,
}

/// The consequence of a line that the CLI does not survive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fatal {
    /// What the CLI says on stderr.
    pub message: String,
    /// What it exits with.
    pub exit_code: u8,
}

impl Fatal {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit_code: 1 }
    }
}

/// Names a request of the host. Its id cannot: hosts may leave it out, or use it twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey(pub(super) u64);

/// The answer to a request of the host.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reply {
    /// It went well, with this payload.
    Success(RawJson),
    /// It went well, and there is nothing more to say.
    Ack,
    /// It did not go well.
    Error {
        /// Why, in words.
        error: Text,
        /// Why, for programs.
        code: Option<Text>,
    },
    /// This agent knows no request of that subtype.
    Unsupported,
}

impl Reply {
    /// It went well, with this payload.
    pub fn of<T: Wire>(payload: &T) -> Self {
        Self::Success(RawJson::from_wire(payload))
    }

    /// It did not go well.
    pub fn error(error: impl Into<Text>) -> Self {
        Self::Error { error: error.into(), code: None }
    }

    /// It did not go well, and programs can tell why.
    pub fn coded(error: impl Into<Text>, code: impl Into<Text>) -> Self {
        Self::Error { error: error.into(), code: Some(code.into()) }
    }

    pub(super) fn response(&self, id: Option<&RequestId>, subtype: &str) -> ControlResponse {
        let mut body = match self {
            Self::Success(payload) => Response::Success(Success::new().response(payload.clone())),
            Self::Ack => Response::Success(Success::new()),
            Self::Error { error, code } => {
                let mut failure = Failure::new().error(error);
                failure.error_code = code.clone().into();
                Response::Error(failure)
            }
            Self::Unsupported => {
                let response = ControlResponse::unsupported("", subtype);
                match response.response.into_value() {
                    Some(body) => body,
                    None => Response::Error(Failure::new()),
                }
            }
        };
        let id = id.cloned().into();
        match &mut body {
            Response::Success(success) => success.request_id = id,
            Response::Error(failure) => failure.request_id = id,
            _ => {}
        }
        ControlResponse::new().response(body)
    }
}

/// A request that is not open: it was answered, or never made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotOpen;

impl fmt::Display for NotOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request is not open: it was answered or never made")
    }
}

impl std::error::Error for NotOpen {}
