//! [`Agent`]: the trait of an agent.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use duologue_protocol::agent_link::Reply;
use duologue_protocol::control::HostRequest;
use duologue_protocol::message::ApiErrorKind;

use crate::hooks::LocalHooks;
use crate::session::Session;
use crate::turn::Turn;

/// An agent. It gets turns, and sends an answer in each.
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
    /// One turn. What was sent when it returns is the answer. If it is interrupted, every method
    /// of the turn fails, so that `?` returns; an agent that does not notice is dropped after [`Options::grace`](crate::Options::grace).
    fn turn(&mut self, turn: &mut Turn<'_>) -> impl Future<Output = TurnResult> + Send;

    /// Called before a turn begins and before anything is sent.
    fn before_turn(&mut self, session: &Session) -> impl Future<Output = ()> + Send {
        let _ = session;
        async {}
    }

    /// Called when the hooks have let a turn begin, before its `init` is sent. A change of the conversation itself belongs here.
    fn opening(&mut self, turn: &mut Turn<'_>) -> impl Future<Output = ()> + Send {
        let _ = turn;
        async {}
    }

    /// Called at the start, before anything is read. Keep the session for work in the background.
    fn start(&mut self, session: &Session) {
        let _ = session;
    }

    /// Resumes an earlier conversation: `--resume`. Returns whether the agent knows it; if not,
    /// [`serve_stdio`](crate::serve_stdio) refuses to start. Agents that keep no conversations know none.
    fn resume(&mut self, session_id: &str) -> bool {
        let _ = session_id;
        false
    }

    /// Answers requests of the host before the default answers do. It is a value of its own, because
    /// requests arrive during turns.
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
    /// When this is done. The turn continues meanwhile.
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

/// The outcome of a turn.
pub type TurnResult = Result<(), TurnError>;

/// Why a turn ends early.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The host interrupted it.
    #[error("the turn was interrupted")]
    Interrupted,
    /// A hook stopped it.
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
    /// The model's API failed. A message reports it.
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
    /// The HTTP status, if there was a response.
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
