//! The events of an [`AgentLink`](super::AgentLink), and the answers that it takes.

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
    /// A request of the host. Answer it once.
    Asked {
        /// The request.
        key: RequestKey,
        /// Its content.
        request: Box<HostRequest>,
    },
    /// A request of the agent has ended.
    Answered {
        /// The request.
        id: RequestId,
        /// How it ended.
        outcome: Outcome,
    },
    /// The host interrupts the agent. The request has been answered already.
    Interrupted(Interruption),
    /// The host's input has ended. Finish what is open, then exit.
    HostEnded,
    /// A line that ends the agent: print this on stderr and exit.
    Fatal(Fatal),
}

/// Why a turn begins, and with what.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TurnStart {
    /// The prompts that it answers, oldest first. Empty for a turn without a prompt of the host.
    pub prompts: Vec<Prompt>,
    /// What started it, if the host did not.
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

/// How a request of the agent ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The host answered.
    Success(Box<Success>),
    /// The host refused.
    Refused(Box<Failure>),
    /// The host supplied the result of the tool. A legacy form.
    ToolResult(Box<ToolResultLine>),
    /// The turn was interrupted, and the request withdrawn.
    Withdrawn,
    /// The host's input has ended.
    Ended,
}

/// How the host interrupts the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interruption {
    /// A turn is running, and ends now. Otherwise only work in the background is meant.
    pub in_turn: bool,
    /// Another prompt has to run at once: the turn ends without an error.
    pub preempted: bool,
    /// Leave tasks in the background alone.
    pub spare_background: bool,
}

/// How the CLI ends after a line that it does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fatal {
    /// What the CLI prints on stderr.
    pub message: String,
    /// The exit code.
    pub exit_code: u8,
}

impl Fatal {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit_code: 1 }
    }
}

/// Identifies a request of the host. Its id does not: a host may omit it or use it twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey(pub(super) u64);

/// The answer to a request of the host.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reply {
    /// Success, with this payload.
    Success(RawJson),
    /// Success, without a payload.
    Ack,
    /// An error.
    Error {
        /// The reason, for people.
        error: Text,
        /// The reason, for programs.
        code: Option<Text>,
    },
    /// The agent does not support requests of this subtype.
    Unsupported,
}

impl Reply {
    /// Success, with this payload.
    pub fn of<T: Wire>(payload: &T) -> Self {
        Self::Success(RawJson::from_wire(payload))
    }

    /// An error.
    pub fn error(error: impl Into<Text>) -> Self {
        Self::Error { error: error.into(), code: None }
    }

    /// An error with a code for programs.
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
