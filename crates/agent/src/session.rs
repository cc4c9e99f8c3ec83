//! [`Session`]: a handle to the conversation as a whole.

use std::sync::Arc;

use duologue_protocol::agent_link::Outcome;
use duologue_protocol::control::{AgentRequest, Success};
use duologue_protocol::lines::Prompt;
use duologue_protocol::message::{Origin, Usage};
use duologue_protocol::permission::{PermissionMode, PermissionUpdate};
use duologue_protocol::system::{InitMcpServer, Status, System};
use duologue_protocol::{Field, SessionId, Text, ToHost, Wire};

use crate::connection::Connection;
use crate::options::{Listing, Options};
use crate::usage::UsageTotals;

/// A handle to the conversation as a whole: lines of any kind, requests to the host, turns without a
/// prompt. Cheap to clone; it may outlive the turn it came from.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) connection: Arc<Connection>,
}

/// Why the host did not answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The host refused.
    #[error("{0}")]
    Refused(String),
    /// The turn was interrupted.
    #[error("the turn was interrupted")]
    Interrupted,
    /// The host has closed its end.
    #[error("the host has closed its end")]
    Ended,
    /// The answer cannot be read.
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
        self.connection.with(|state| state.session.clone())
    }

    /// The model.
    pub fn model(&self) -> Text {
        self.connection.with(|state| state.model.clone())
    }

    /// The permission mode.
    pub fn permission_mode(&self) -> PermissionMode {
        self.connection.with(|state| state.mode.clone())
    }

    /// The working directory.
    pub fn cwd(&self) -> Text {
        self.connection.options.info.cwd.clone()
    }

    /// Money usage so far, in USD.
    pub fn cost_usd(&self) -> f64 {
        self.connection.with(|state| state.usage.cost_usd())
    }

    /// The MCP servers that the host serves.
    pub fn host_servers(&self) -> Vec<Text> {
        self.connection.with(|state| state.sdk_servers.clone())
    }

    /// A new id, in the form of a UUID.
    pub fn new_id(&self) -> String {
        self.connection.with(|state| state.link.new_id())
    }

    /// Changes the id of the conversation.
    pub fn set_id(&self, id: impl Into<SessionId>) {
        let id = id.into();
        self.connection.with(|state| {
            state.link.set_session(id.clone());
            state.session = id;
        });
    }

    /// Changes the model. The host is not told.
    pub fn set_model(&self, model: impl Into<Text>) {
        let model = model.into();
        self.connection.with(|state| state.model = model);
    }

    /// Changes the permission mode, and reports a change.
    pub async fn set_permission_mode(&self, mode: PermissionMode) {
        let before = self.connection.with(|state| std::mem::replace(&mut state.mode, mode.clone()));
        if before != mode {
            let mut line = Status::new().permission_mode(mode);
            line.status = Field::Null;
            self.status(line).await;
        }
    }

    /// Applies the changes of mode that a host sends with a permission.
    pub async fn apply(&self, updates: &[PermissionUpdate]) {
        for update in updates {
            if let PermissionUpdate::SetMode(set) = update
                && let Some(mode) = set.mode.value()
                && (*mode != PermissionMode::BypassPermissions
                    || self.connection.options.may_bypass)
            {
                self.set_permission_mode(mode.clone()).await;
            }
        }
    }

    /// Sends a status line. Its ids are filled in.
    pub async fn status(&self, line: Status) {
        let line = line.uuid(self.new_id()).session_id(self.id());
        self.connection.say(System::from(Box::new(line))).await;
    }

    /// The options that the agent is served with.
    pub fn options(&self) -> &Options {
        &self.connection.options
    }

    /// Whether the host has closed its end.
    pub fn host_has_gone(&self) -> bool {
        self.connection.with(|state| state.link.has_ended())
    }

    /// Tokens and money so far.
    pub fn usage(&self) -> UsageTotals {
        self.connection.with(|state| state.usage.clone())
    }

    /// Replaces what was counted so far: for a conversation that is resumed, or begins anew.
    pub fn set_usage(&self, usage: UsageTotals) {
        self.connection.with(|state| state.usage = usage);
    }

    /// Counts a message that belongs to no turn of the conversation, such as a summary.
    pub fn add_usage(&self, model: &Text, usage: &Usage, cost_usd: f64) {
        self.connection.with(|state| state.usage.add(model, usage, cost_usd));
    }

    /// Sets the tools and the MCP servers that the next `init` reports.
    pub fn set_tools(&self, tools: Vec<Text>, servers: Vec<InitMcpServer>) {
        self.connection.with(|state| {
            state.tools = Some(tools);
            state.servers = Some(servers);
        });
    }

    /// What `init` and the handshake list.
    pub fn listing(&self) -> Listing {
        let info = &self.connection.options.info;
        let usual = || Listing {
            commands: info.commands.clone(),
            agents: info.agents.clone(),
            skills: Vec::new(),
            plugins: Vec::new(),
            output_style: info.output_style.clone(),
            output_styles: vec![info.output_style.clone()],
        };
        self.connection.with(|state| state.listing.clone()).unwrap_or_else(usual)
    }

    /// Sets what the next `init` and the next handshake list.
    pub fn set_listing(&self, listing: Listing) {
        self.connection.with(|state| state.listing = Some(listing));
    }

    /// Replaces the list of MCP servers that the host serves.
    pub fn set_host_servers(&self, names: Vec<Text>) {
        self.connection.with(|state| state.sdk_servers = names);
    }

    /// Queues a line of any kind without waiting for room. For answers to requests, which cannot wait.
    pub fn say_line_now(&self, line: impl Into<ToHost>) {
        self.connection.with(|state| state.link.say(line.into()));
    }

    /// Sends a line of any kind, as it is.
    pub async fn say_line(&self, line: impl Into<ToHost> + Send) {
        self.connection.say(line).await;
    }

    /// Writes a line of any content, even one that is not a message.
    pub async fn raw(&self, line: &str) {
        self.connection.room().await;
        self.connection.with(|state| state.link.say_raw(line));
    }

    /// Asks the host for something.
    ///
    /// # Errors
    /// If the host refuses, has closed its end, or the turn is interrupted.
    pub async fn ask(&self, request: impl Into<AgentRequest> + Send) -> Result<Success, AskError> {
        match self.connection.ask(request.into(), false).await {
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

    /// Starts a turn without a prompt of the host. It begins when no other runs and no prompt waits.
    pub fn own_turn(&self, origin: Origin, prompt: Option<Prompt>) {
        self.connection.with(|state| state.link.begin_own_turn(origin, prompt));
    }

    /// Keeps the conversation open until this is dropped, even if the host has closed its end: for work in the
    /// background.
    #[must_use]
    pub fn keep_open(&self) -> Kept {
        self.connection.with(|state| state.keep(1));
        Kept { session: self.clone(), is_busy: false }
    }

    /// The same for work that ends with a turn of its own: until then the session is not idle.
    #[must_use]
    pub fn keep_busy(&self) -> Kept {
        self.connection.with(|state| {
            state.keep(1);
            state.busy(1);
        });
        Kept { session: self.clone(), is_busy: true }
    }

    /// Waits until the host stops work in the background, from now on.
    pub async fn background_stopped(&self) {
        let mut stop = self.connection.background_stop();
        // A closed channel means the same.
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
        self.session.connection.with(|state| {
            if self.is_busy {
                state.busy(-1);
            }
            state.keep(-1);
        });
    }
}
