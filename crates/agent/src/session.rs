//! [`Session`]: a handle to the conversation as a whole.

use std::sync::Arc;

use duologue_protocol::agent_link::Outcome;
use duologue_protocol::control::{AgentRequest, Success};
use duologue_protocol::lines::Prompt;
use duologue_protocol::message::Origin;
use duologue_protocol::permission::{PermissionMode, PermissionUpdate};
use duologue_protocol::system::{Status, System};
use duologue_protocol::{Field, SessionId, Text, ToHost, Wire};

use crate::core::Core;

/// A handle to the conversation as a whole: lines of any kind, requests to the host, turns that nobody
/// asked for. Cheap to clone; it may outlive the turn it came from.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) core: Arc<Core>,
}

/// Why the host did not answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// It could not.
    #[error("{0}")]
    Refused(String),
    /// The turn was interrupted.
    #[error("the turn was interrupted")]
    Interrupted,
    /// It is gone.
    #[error("the host is gone")]
    Ended,
    /// Its answer cannot be read.
    #[error("the answer is malformed: {0}")]
    Malformed(String),
}

impl From<AskError> for crate::TurnError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Interrupted => Self::Interrupted,
            other => Self::failed(other),
        }
    }
}

impl Session {
    /// The conversation.
    pub fn id(&self) -> SessionId {
        self.core.with(|state| state.session.clone())
    }

    /// The model.
    pub fn model(&self) -> Text {
        self.core.with(|state| state.model.clone())
    }

    /// Whether the host follows the oldest descriptions: it approves every tool that it sees.
    pub(crate) fn approves_tools(&self) -> bool {
        let options = &self.core.options;
        options.lenient && !options.prompts && !self.core.with(|state| state.greeted)
    }

    /// The permission mode.
    pub fn permission_mode(&self) -> PermissionMode {
        self.core.with(|state| state.mode.clone())
    }

    /// The working directory.
    pub fn cwd(&self) -> Text {
        self.core.options.info.cwd.clone()
    }

    /// Money spent so far, in USD.
    pub fn cost_usd(&self) -> f64 {
        self.core.with(|state| state.spent.cost_usd())
    }

    /// The MCP servers that the host serves.
    pub fn host_servers(&self) -> Vec<Text> {
        self.core.with(|state| state.sdk_servers.clone())
    }

    /// A new id, in the form of a UUID.
    pub fn new_id(&self) -> String {
        self.core.with(|state| state.link.new_id())
    }

    /// The conversation has another name from now on.
    pub fn set_id(&self, id: impl Into<SessionId>) {
        let id = id.into();
        self.core.with(|state| {
            state.link.set_session(id.clone());
            state.session = id;
        });
    }

    /// The model is another from now on. The host is not told.
    pub fn set_model(&self, model: impl Into<Text>) {
        let model = model.into();
        self.core.with(|state| state.model = model);
    }

    /// The permission mode is another from now on; the host is told if it was not.
    pub async fn set_permission_mode(&self, mode: PermissionMode) {
        let before = self.core.with(|state| std::mem::replace(&mut state.mode, mode.clone()));
        if before != mode {
            let mut line = Status::new().permission_mode(mode);
            line.status = Field::Null;
            self.status(line).await;
        }
    }

    /// What a host sends with a permission, as far as it is the session's business: a change of mode.
    pub async fn apply(&self, updates: &[PermissionUpdate]) {
        for update in updates {
            if let PermissionUpdate::SetMode(set) = update
                && let Some(mode) = set.mode.value()
                && (*mode != PermissionMode::BypassPermissions || self.core.options.may_bypass)
            {
                self.set_permission_mode(mode.clone()).await;
            }
        }
    }

    /// Says what the agent is busy with. The line's ids are filled in.
    pub async fn status(&self, line: Status) {
        let line = line.uuid(self.new_id()).session_id(self.id());
        self.core.say(System::from(Box::new(line))).await;
    }

    /// Says a line of any kind, as it is.
    pub async fn say_line(&self, line: impl Into<ToHost> + Send) {
        self.core.say(line).await;
    }

    /// Writes a line of any content, even such as is no message.
    pub async fn raw(&self, line: &str) {
        self.core.room().await;
        self.core.with(|state| state.link.say_raw(line));
    }

    /// Asks the host for something.
    ///
    /// # Errors
    /// If the host cannot, is gone, or the turn is interrupted.
    pub async fn ask(&self, request: impl Into<AgentRequest> + Send) -> Result<Success, AskError> {
        match self.core.ask(request.into(), false).await {
            Outcome::Success(success) => Ok(*success),
            Outcome::Refused(failure) => {
                Err(AskError::Refused(failure.error.as_str().unwrap_or_default().to_owned()))
            }
            Outcome::Withdrawn => Err(AskError::Interrupted),
            _ => Err(AskError::Ended),
        }
    }

    /// Asks the host for something, and reads its answer.
    ///
    /// # Errors
    /// As [`ask`](Self::ask), or if the answer has another shape.
    pub async fn ask_for<T: Wire>(
        &self,
        request: impl Into<AgentRequest> + Send,
    ) -> Result<T, AskError> {
        let success = self.ask(request).await?;
        success.read().map_err(|fault| AskError::Malformed(fault.to_string()))
    }

    /// Wants a turn that nobody asked for. It begins when no other runs and no prompt waits.
    pub fn own_turn(&self, origin: Origin, prompt: Option<Prompt>) {
        self.core.with(|state| state.link.begin_own_turn(origin, prompt));
    }

    /// Keeps the conversation open, though the host may have gone, until this is dropped: work goes
    /// on in the background.
    #[must_use]
    pub fn keep_open(&self) -> Kept {
        self.core.with(|state| state.keep(1));
        Kept { session: self.clone(), is_busy: false }
    }

    /// The same for work that will speak up by itself: until then the session is not idle.
    pub(crate) fn keep_busy(&self) -> Kept {
        self.core.with(|state| {
            state.keep(1);
            state.busy(1);
        });
        Kept { session: self.clone(), is_busy: true }
    }

    /// Waits until the host wants work in the background to stop, from now on.
    pub async fn background_stopped(&self) {
        let mut stop = self.core.background_stop();
        // If nobody is left who could say so, it has been said.
        let _ = stop.changed().await;
    }
}

/// Keeps a conversation open.
#[derive(Debug)]
pub struct Kept {
    session: Session,
    is_busy: bool,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.session.core.with(|state| {
            if self.is_busy {
                state.busy(-1);
            }
            state.keep(-1);
        });
    }
}
