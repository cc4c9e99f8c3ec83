//! [`Agent`]: what somebody writes who wants to be driven.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use duologue_protocol::agent_link::Reply;
use duologue_protocol::control::HostRequest;
use duologue_protocol::message::ApiErrorKind;

use crate::hooks::LocalHooks;
use crate::session::Session;
use crate::turn::Turn;

/// An agent: it is given turns, and says what it wants to say in each.
///
/// Everything else of the wire is done for it: `init` at the start of a turn and `result` at its end,
/// prompts that wait, interrupts, hooks around prompts and tools, and the answers to requests.
///
/// ```
/// use duologue_agent::{Agent, Turn, TurnResult};
///
/// struct Parrot;
///
/// impl Agent for Parrot {
///     async fn turn(&mut self, turn: &mut Turn<'_>) -> TurnResult {
///         turn.say(turn.text()).await
///     }
/// }
/// ```
pub trait Agent: Send {
    /// One turn. Whatever was said when it returns is the answer. If it is interrupted, every method
    /// of the turn fails, so that `?` leaves; an agent that does not notice is left behind.
    fn turn(&mut self, turn: &mut Turn<'_>) -> impl Future<Output = TurnResult> + Send;

    /// A turn is about to begin, and the host has not been told yet: time to be ready for it.
    fn before_turn(&mut self, session: &Session) -> impl Future<Output = ()> + Send {
        let _ = session;
        async {}
    }

    /// The hooks have let a turn begin, and its `init` is not said yet: time for what changes the conversation itself.
    fn opening(&mut self, turn: &mut Turn<'_>) -> impl Future<Output = ()> + Send {
        let _ = turn;
        async {}
    }

    /// The conversation begins, before anything is heard. Keep the session for work in the background.
    fn start(&mut self, session: &Session) {
        let _ = session;
    }

    /// Resumes an earlier conversation: `--resume`. Returns whether the agent knows it; if not,
    /// [`serve_stdio`](crate::serve_stdio) refuses to start. Agents that keep no conversations know none.
    fn resume(&mut self, session_id: &str) -> bool {
        let _ = session_id;
        false
    }

    /// Who answers the host's requests before the default answers do. It is a value of its own, since
    /// requests come in the middle of turns.
    fn requests(&self) -> Option<RequestHandler> {
        None
    }

    /// Hooks that run in this process, beside the callbacks of the host.
    fn local_hooks(&self) -> Option<Arc<dyn LocalHooks>> {
        None
    }
}

/// Answers requests of the host, or leaves them to the default answers.
pub type RequestHandler = Arc<dyn Fn(&Session, &HostRequest) -> Option<Answer> + Send + Sync>;

/// How a request is answered.
#[non_exhaustive]
pub enum Answer {
    /// At once.
    Now(Reply),
    /// When this is done. The turn goes on meanwhile.
    Later(Pin<Box<dyn Future<Output = Reply> + Send>>),
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Now(reply) => f.debug_tuple("Now").field(reply).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}

/// How a turn went, as far as its agent can tell.
pub type TurnResult = Result<(), TurnError>;

/// Why a turn ends early.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The host wants it so.
    #[error("the turn was interrupted")]
    Interrupted,
    /// A hook of the host wants it so.
    #[error("a hook stopped the turn")]
    Stopped,
    /// A hook of the host put a tool call off.
    #[error("a hook put a tool call off")]
    Deferred,
    /// It took too many steps.
    #[error("Reached maximum number of turns ({0})")]
    MaxTurns(u64),
    /// It cost too much.
    #[error("Reached maximum budget (${0})")]
    MaxBudget(f64),
    /// The model's API failed, and the host is told so in the model's place.
    #[error("{}", .0.message)]
    Api(Box<ApiFailure>),
    /// Something else went wrong.
    #[error("{0}")]
    Failed(String),
}

impl TurnError {
    /// Something went wrong.
    pub fn failed(why: impl std::fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }
}

/// A failure of the model's API.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ApiFailure {
    /// What happened, for the person: `API Error: 529 …`.
    pub message: String,
    /// Its kind.
    pub kind: ApiErrorKind,
    /// The HTTP status, if there was an answer at all.
    pub status: Option<u16>,
    /// The API's own word for it: `invalid_request_error`.
    pub api_type: Option<String>,
}

impl ApiFailure {
    /// A failure in these words.
    pub fn new(message: impl Into<String>, kind: ApiErrorKind, status: Option<u16>) -> Self {
        Self { message: message.into(), kind, status, api_type: None }
    }
}
