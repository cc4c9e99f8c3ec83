//! [`LaunchPlan`]: what the options become.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::control::Initialize;

use super::argv::{Argv, token};
use super::choice::Delivery;
use super::environment::{self, EnvChange};
use super::error::LaunchError;
use super::flags::AWAIT_INITIALIZE;
use super::options::Launch;
use super::version::CliVersion;
use super::{check, handshake, to_flags};

/// How to start the agent: the result of [`Launch::plan`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LaunchPlan {
    /// The arguments, without the program. Those of [`files`](Self::files) still hold placeholders.
    pub args: Vec<OsString>,
    /// Changes of the environment that the agent inherits. Each name occurs once.
    pub env: Vec<(OsString, EnvChange)>,
    /// The handshake to send.
    pub initialize: Initialize,
    /// Whether the handshake must be the first line: the CLI waits for it, and exits on another.
    pub initialize_first: bool,
    /// Values that are too long for the arguments. The host writes each to a file that only its owner can read, sets its path
    /// with [`place`](Self::place), and removes it when the agent has ended.
    pub files: Vec<PlannedFile>,
    /// The host stamps `client_composed` on every prompt.
    pub verbatim_prompts: bool,
    /// The directory to start the agent in; `None` for the host's own.
    pub cwd: Option<PathBuf>,
    /// The options that this version of the CLI ignores.
    pub unheeded: Vec<&'static str>,
}

/// A value that is passed as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedFile {
    /// The placeholder in the arguments until the path is known.
    pub placeholder: String,
    /// What to write.
    pub contents: String,
    /// How the file's name must end: `.json`.
    pub suffix: &'static str,
    pub(super) flag: &'static str,
    pub(super) arg: usize,
}

impl LaunchPlan {
    /// Sets the path of the file with this index: replaces its placeholder.
    ///
    /// ```
    /// use duologue_protocol::launch::{ArgvBudget, Launch, Settings};
    /// use duologue_protocol::RawObject;
    ///
    /// let settings = RawObject::of(&serde_json::json!({ "note": "x".repeat(100_000) }))?;
    /// let mut plan = Launch::new().settings(Settings::Object(settings)).plan(None)?;
    /// assert_eq!(plan.files.len(), 1);
    /// plan.place(0, "settings-1.json");
    /// assert!(plan.args.iter().any(|arg| arg == "--settings=settings-1.json"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn place(&mut self, file: usize, path: impl AsRef<OsStr>) {
        if let Some(file) = self.files.get(file)
            && let Some(arg) = self.args.get_mut(file.arg)
        {
            *arg = token(file.flag, path.as_ref());
        }
    }
}

impl Launch {
    /// What these options become for this version of the CLI; `None` for the newest.
    ///
    /// # Errors
    /// If the options contradict each other, if this version does not support one of them, or if a value is
    /// too long and cannot be passed in another way.
    ///
    /// ```
    /// use duologue_protocol::launch::{CliVersion, Launch, LaunchError};
    ///
    /// let launch = Launch::new().system_prompt("You are a poet.");
    /// let old = launch.plan(Some(&CliVersion::new(2, 0, 77)))?;
    /// assert!(old.args.iter().any(|arg| arg == "--system-prompt=You are a poet."));
    ///
    /// let launch = Launch::new().task_budget(10_000);
    /// let error = launch.plan(Some(&CliVersion::new(2, 0, 77))).unwrap_err();
    /// assert!(matches!(error, LaunchError::Unsupported { option: "task_budget", .. }));
    /// # Ok::<(), LaunchError>(())
    /// ```
    pub fn plan(&self, version: Option<&CliVersion>) -> Result<LaunchPlan, LaunchError> {
        check::all(self)?;
        let mut argv = Argv::new(version, self.argv_budget);
        to_flags::all(self, &mut argv)?;
        let done = argv.finish()?;
        let managed = done.managed_settings_in_initialize
            || self.managed_settings_delivery == Delivery::Initialize;
        Ok(LaunchPlan {
            initialize_first: done.args.iter().any(|arg| arg == AWAIT_INITIALIZE.name),
            initialize: handshake::initialize(self, version, managed)?,
            env: environment::changes(self)?,
            args: done.args,
            files: done.files,
            verbatim_prompts: self.verbatim_prompts,
            cwd: self.cwd.clone(),
            unheeded: handshake::unheeded(self, version),
        })
    }
}
