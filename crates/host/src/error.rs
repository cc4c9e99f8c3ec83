//! Errors.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use duologue_protocol::Fault;
use duologue_protocol::host_link::Failure;
use duologue_protocol::launch::LaunchError;

use crate::dispatch::RequestError;
use crate::find::NotFound;
use crate::process::SpawnError;
use crate::prompt::PromptError;

/// An error of a session.
///
/// Every message says what happened. If the agent is gone, it has the end of its stderr.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Claude Code was not found.
    #[error(transparent)]
    NotFound(Arc<NotFound>),
    /// The options contradict each other, or this CLI version does not support one of them.
    #[error("these options cannot be used: {0}")]
    Launch(#[from] LaunchError),
    /// The agent could not be started.
    #[error(transparent)]
    Spawn(Arc<SpawnError>),
    /// The agent is gone.
    #[error(transparent)]
    Gone(Arc<Gone>),
    /// The agent refused a request.
    #[error("the agent refused {subtype}: {reason}")]
    #[non_exhaustive]
    Refused {
        /// The request.
        subtype: String,
        /// The reason.
        reason: String,
        /// The agent does not support the request.
        unsupported: bool,
    },
    /// The agent did not answer a request in time.
    #[error("the agent did not answer {subtype} within {} s", .after.as_secs_f64())]
    #[non_exhaustive]
    TimedOut {
        /// The request.
        subtype: String,
        /// The time limit.
        after: Duration,
    },
    /// The answer to a request has a field of the wrong type.
    #[error("the answer to {subtype} is malformed: {fault}")]
    #[non_exhaustive]
    Malformed {
        /// The request.
        subtype: String,
        /// What is wrong.
        fault: Fault,
    },
    /// The prompt cannot be sent.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// This subscriber did not read, and its memory budget was used up
    /// ([`Overflow::Fail`](crate::Overflow::Fail)). The session and other subscribers continue.
    #[error("the subscriber is too slow: more than {budget} bytes wait to be read")]
    #[non_exhaustive]
    TooSlow {
        /// The memory budget in bytes.
        budget: usize,
    },
    /// What this subscriber has not read could not be kept in a temporary file. The session and other
    /// subscribers continue.
    #[error(
        "could not keep what was not read in a temporary file: {0}. Read it sooner, make room on the \
         disk, or raise memory_budget"
    )]
    Spill(Arc<std::io::Error>),
    /// The conversation has reached its budget.
    #[error(
        "the budget is used up: {spent_usd:.4} of {limit_usd:.4} USD. Raise max_budget_usd to go on"
    )]
    #[non_exhaustive]
    OverBudget {
        /// The cost so far.
        spent_usd: f64,
        /// The limit.
        limit_usd: f64,
    },
    /// A request of the agent is not open: it was withdrawn, answered or never made.
    #[error("request {id} is not open: it was withdrawn, answered or never made")]
    #[non_exhaustive]
    NotOpen {
        /// The request.
        id: String,
    },
    /// The runtime of [`blocking`](crate::blocking) could not be started.
    #[error("the runtime could not be started: {0}")]
    Runtime(Arc<std::io::Error>),
    /// A blocking function was called in `async` code, where it would block a worker thread.
    #[error("blocking functions cannot be called in async code: use the async ones")]
    InsideAsync,
    /// The session was closed by this program.
    #[error("the session is closed")]
    Closed,
}

/// How an agent ended.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Gone {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The end of what it wrote to stderr.
    pub stderr: String,
    /// Why this host ended it, if it did.
    pub reason: Option<String>,
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the agent is gone")?;
        // A reason that is part of stderr is not repeated.
        let new = |reason: &&String| !self.stderr.contains(reason.as_str());
        if let Some(reason) = self.reason.as_ref().filter(new) {
            write!(f, ": {reason}")?;
        }
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, " (exit code {code})")?,
            (None, Some(signal)) => write!(f, " (ended by signal {signal})")?,
            (None, None) => {}
        }
        let stderr = self.stderr.trim_end();
        if !stderr.is_empty() {
            write!(f, ". The end of its stderr:\n{stderr}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Gone {}

impl Gone {
    /// Whether the CLI has not found the conversation.
    pub fn is_unknown_conversation(&self) -> bool {
        const MESSAGE: &str = "No conversation found";
        self.stderr.contains(MESSAGE)
            || self.reason.as_ref().is_some_and(|why| why.contains(MESSAGE))
    }

    /// Whether the id of the conversation is in use.
    pub(crate) fn is_id_in_use(&self) -> bool {
        self.stderr.contains("is already in use")
    }
}

impl From<NotFound> for Error {
    fn from(error: NotFound) -> Self {
        Self::NotFound(Arc::new(error))
    }
}

impl From<SpawnError> for Error {
    fn from(error: SpawnError) -> Self {
        Self::Spawn(Arc::new(error))
    }
}

impl Error {
    /// What became of a request; `None` if the agent ended, of which more is to be found out.
    pub(crate) fn of_request(
        subtype: &str,
        timeout: Option<Duration>,
        error: RequestError,
    ) -> Option<Self> {
        let subtype = subtype.to_owned();
        match error {
            RequestError::Failed(Failure::Refused(body)) => Some(Self::Refused {
                unsupported: body.error_code.as_str() == Some("unsupported_request")
                    || body.error.as_str().is_some_and(|text| text.starts_with("Unsupported")),
                reason: Failure::Refused(body).to_string(),
                subtype,
            }),
            RequestError::Failed(Failure::TimedOut) => {
                Some(Self::TimedOut { subtype, after: timeout.unwrap_or_default() })
            }
            RequestError::Malformed(fault) => Some(Self::Malformed { subtype, fault }),
            _ => None,
        }
    }

    /// Whether another attempt to start the agent may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Gone(_) | Self::TimedOut { .. } => true,
            Self::Spawn(error) => matches!(&**error, SpawnError::Other { .. }),
            _ => false,
        }
    }

    /// Whether a new session is needed: the agent could not be started, or is gone.
    pub const fn is_fatal(&self) -> bool {
        matches!(
            self,
            Self::NotFound(_) | Self::Launch(_) | Self::Spawn(_) | Self::Gone(_) | Self::Closed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_is_part_of_stderr_is_not_repeated() {
        let stderr = "warning\nError: no such session\n".to_owned();
        let reason = Some("Error: no such session".to_owned());
        let gone = Gone { code: Some(1), stderr, reason, ..Gone::default() };
        assert_eq!(
            gone.to_string(),
            "the agent is gone (exit code 1). The end of its stderr:\nwarning\nError: no such session"
        );
        let gone = Gone { stderr: String::new(), ..gone };
        assert_eq!(gone.to_string(), "the agent is gone: Error: no such session (exit code 1)");
    }
}
