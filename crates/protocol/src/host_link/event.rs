//! The events of a [`HostLink`](super::HostLink), and the answers that it takes.

use std::fmt;

use crate::control::{AgentRequest, ControlResponse, Failure as ErrorBody, Success};
use crate::id::RequestId;
use crate::json::RawJson;
use crate::text::Text;
use crate::wire::Wire;

/// Something for the host to serve.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LinkEvent {
    /// A request of the host has ended.
    Replied {
        /// The request.
        id: RequestId,
        /// Its answer, or why there is none.
        outcome: Result<Box<Success>, Failure>,
    },
    /// A request of the agent. Answer it once.
    Asked {
        /// The request.
        id: RequestId,
        /// Its content.
        request: Box<AgentRequest>,
    },
    /// The agent has withdrawn a request: stop working on it and do not answer.
    Withdrawn {
        /// The request.
        id: RequestId,
    },
}

/// Why a request of the host has no answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Failure {
    /// The agent refused.
    Refused(ErrorBody),
    /// The agent did not answer in time.
    TimedOut,
    /// The agent has ended.
    Ended,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(body) => {
                f.write_str(body.error.as_str().unwrap_or("the agent refused without a reason"))
            }
            Self::TimedOut => f.write_str("the agent did not answer in time"),
            Self::Ended => f.write_str("the agent ended before it answered"),
        }
    }
}

impl std::error::Error for Failure {}

/// The answer to a request of the agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// Success, with this payload.
    Success(RawJson),
    /// Success, without a payload.
    Ack,
    /// An error, with its reason.
    Error(Text),
    /// The host does not support requests of this subtype.
    Unsupported(Text),
}

impl Answer {
    /// Success, with this payload.
    pub fn of<T: Wire>(payload: &T) -> Self {
        Self::Success(RawJson::from_wire(payload))
    }

    pub(super) fn response(&self, id: &RequestId) -> ControlResponse {
        match self {
            Self::Success(payload) => ControlResponse::success(id.clone(), payload),
            Self::Ack => ControlResponse::ack(id.clone()),
            Self::Error(error) => ControlResponse::error(id.clone(), error),
            Self::Unsupported(subtype) => ControlResponse::unsupported(id.clone(), subtype),
        }
    }
}

/// A request that is not open: it was withdrawn, was answered, or never made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotOpen {
    /// The request.
    pub id: RequestId,
}

impl fmt::Display for NotOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {} is not open: it was withdrawn, answered or never made", self.id)
    }
}

impl std::error::Error for NotOpen {}
