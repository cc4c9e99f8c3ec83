//! What changes in the environment.

use std::ffi::{OsStr, OsString};
use std::fmt;

use super::error::LaunchError;
use super::options::Launch;

/// The variables of an outer Claude Code or a developer's shell that an agent must not inherit. With the first ones it
/// refuses to start, writes no transcript or acts as a child; with the last ones it prints text between its lines.
pub const OUTER_MARKS: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_PARENT_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ACCESS_TOKEN",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_EFFORT",
    "CLAUDE_PID",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP",
    "AI_AGENT",
    "NODE_OPTIONS",
    "ANTHROPIC_LOG",
    "DEBUG",
];

/// A change of a variable. Its value may be secret, so `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a variable is set or it is not")]
pub enum EnvChange {
    /// It is set to this.
    Set(OsString),
    /// It is removed.
    Remove,
}

impl fmt::Debug for EnvChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Set(_) => "Set(…)",
            Self::Remove => "Remove",
        })
    }
}

/// The changes, each variable once. Later ones take the place of earlier ones.
#[derive(Default)]
struct Changes(Vec<(OsString, EnvChange)>);

impl Changes {
    fn make(&mut self, name: impl Into<OsString>, change: EnvChange) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = change,
            None => self.0.push((name, change)),
        }
    }

    fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.make(name, EnvChange::Set(value.as_ref().to_owned()));
    }
}

/// All changes: marks are removed, options are set, and the caller's variables override both.
pub(super) fn changes(launch: &Launch) -> Result<Vec<(OsString, EnvChange)>, LaunchError> {
    let mut changes = Changes::default();
    if !launch.keep_outer_marks {
        for mark in OUTER_MARKS {
            changes.make(*mark, EnvChange::Remove);
        }
    }
    if let Some(cwd) = launch.cwd.as_ref().filter(|cwd| cwd.is_absolute()) {
        changes.set("PWD", cwd);
    }
    if let Some(directory) = &launch.config_dir {
        changes.set("CLAUDE_CONFIG_DIR", directory);
    }
    if let Some(app) = &launch.client_app {
        changes.set("CLAUDE_AGENT_SDK_CLIENT_APP", app);
    }
    if let Some(entrypoint) = &launch.entrypoint {
        changes.set("CLAUDE_CODE_ENTRYPOINT", entrypoint);
    }
    if launch.file_checkpointing {
        changes.set("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "true");
    }
    if let Some(format) = &launch.question_preview {
        changes.set("CLAUDE_CODE_QUESTION_PREVIEW_FORMAT", format.as_str());
    }
    if launch.session_state_events {
        changes.set("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1");
    }
    for (name, change) in &launch.env {
        changes.make(name.clone(), change.clone());
    }
    for (name, change) in &changes.0 {
        check(name, change)?;
    }
    Ok(changes.0)
}

fn check(name: &OsStr, change: &EnvChange) -> Result<(), LaunchError> {
    let shown = name.to_string_lossy();
    let bytes = name.as_encoded_bytes();
    if bytes.is_empty() || bytes.contains(&b'=') || bytes.contains(&0) {
        let why = "a variable needs a name without '=' and NUL";
        return Err(LaunchError::invalid("env", &shown, why));
    }
    match change {
        EnvChange::Set(value) if value.as_encoded_bytes().contains(&0) => {
            Err(LaunchError::invalid("env", &shown, "its value holds a NUL byte"))
        }
        _ => Ok(()),
    }
}
