//! [`Agents`]: how a session's agent is started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use duologue::launch::Conversation;
use duologue::permission::PermissionMode;
use duologue::{Overflow, Session, SessionBuilder};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::lines::Arrivals;
use crate::id::SessionId;
use crate::state::SessionState;

/// How much of what the agent wrote may wait for the log. Beyond that, the agent is not read.
const WAITING: usize = 4 << 20;

/// How long an agent may go on with what it does when its session is closed.
const LINGER: Duration = Duration::from_secs(5);

/// How agents are started.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Agents {
    /// The program; `claude` if unset.
    pub program: Option<PathBuf>,
    /// Arguments before all others.
    pub args: Vec<OsString>,
    /// Further environment variables.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory of every session.
    pub cwd: PathBuf,
}

impl Agents {
    /// Agents that work in a directory.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self { program: None, args: Vec::new(), env: Vec::new(), cwd: cwd.into() }
    }

    /// Sets the program.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Sets arguments before all others.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// Adds an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Checks options before anything is written down.
    pub(super) fn check(&self, options: &SessionOptions) -> Result<(), InvalidOptions> {
        options.mode().map(|_| ())
    }

    /// The agent of a session.
    pub(super) fn builder(
        &self,
        id: SessionId,
        state: &SessionState,
        arrivals: &Arc<Arrivals>,
    ) -> Result<SessionBuilder, InvalidOptions> {
        let options = match state.options() {
            Some(options) => SessionOptions::parse(options)?,
            None => SessionOptions::default(),
        };
        let conversation = state.conversation().map_or_else(|| id.to_string(), str::to_owned);
        let conversation = if state.had_agent() {
            // It may have stored the conversation or not: both work.
            Conversation::ResumeOrNew(conversation.into())
        } else {
            Conversation::NewWithId(conversation.into())
        };
        let (lines, stderr) = (Arc::clone(arrivals), Arc::clone(arrivals));
        let mut builder = Session::builder()
            .program_args(self.args.iter().cloned())
            .cwd(&self.cwd)
            .conversation(conversation)
            .answer_by_hand()
            .overflow(Overflow::Pause)
            .memory_budget(WAITING)
            .linger(LINGER)
            .tap(move |direction, line| lines.line(direction, line))
            .on_stderr(move |text| stderr.stderr(text));
        if let Some(program) = &self.program {
            builder = builder.program(program);
        }
        for (name, value) in &self.env {
            builder = builder.env(name, value);
        }
        if let Some(mode) = options.mode()? {
            builder = builder.permission_mode(mode);
        }
        if let Some(model) = options.model {
            builder = builder.model(model);
        }
        Ok(builder)
    }
}

/// Options of a session. There are no others: everything that could run a command is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The model.
    pub model: Option<String>,
    /// The permission mode: `default`, `acceptEdits` or `plan`.
    pub permission_mode: Option<String>,
}

/// The options are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the options are not valid: {0}")]
#[non_exhaustive]
pub struct InvalidOptions(String);

impl SessionOptions {
    /// Reads options.
    ///
    /// # Errors
    ///
    /// If there are others, or they have other types.
    pub fn parse(options: &RawValue) -> Result<Self, InvalidOptions> {
        // A list would be read as the fields in their order.
        if !options.get().starts_with('{') {
            return Err(InvalidOptions("they are an object".to_owned()));
        }
        serde_json::from_str(options.get()).map_err(|error| InvalidOptions(error.to_string()))
    }

    fn mode(&self) -> Result<Option<PermissionMode>, InvalidOptions> {
        match self.permission_mode.as_deref() {
            None => Ok(None),
            Some(mode @ ("default" | "acceptEdits" | "plan")) => Ok(Some(mode.into())),
            Some(mode) => Err(InvalidOptions(format!(
                "permission_mode is default, acceptEdits or plan, not {mode:?}"
            ))),
        }
    }
}
