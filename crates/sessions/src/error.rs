//! What can go wrong with stored sessions.

use std::io;
use std::path::{Path, PathBuf};

/// A `Result` with the [`Error`] of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on a stored session failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A session id is not a UUID. Ids become file names, so nothing else is accepted.
    #[error("invalid session id {0:?}: a session id is a UUID")]
    InvalidId(String),
    /// A project key, a subpath or an agent id could leave its folder.
    #[error("invalid name {0:?}: it cannot be used as a file name")]
    InvalidName(String),
    /// There is no such session.
    #[error("session {0} not found")]
    NotFound(String),
    /// The beginning of an id fits several sessions.
    #[error("{prefix} is the beginning of {} sessions: {}", ids.len(), ids.join(", "))]
    Ambiguous {
        /// The beginning that was looked for.
        prefix: String,
        /// The sessions that fit.
        ids: Vec<String>,
    },
    /// The session has no such sub-agent.
    #[error("session {session} has no sub-agent {agent}")]
    NoSuchAgent {
        /// The session.
        session: String,
        /// The id that was looked for.
        agent: String,
    },
    /// The session has no such message.
    #[error("session {session} has no message {message}")]
    NoSuchMessage {
        /// The session.
        session: String,
        /// The UUID that was looked for.
        message: String,
    },
    /// There is nothing to fork.
    #[error("session {0} has no messages to fork")]
    NoMessages(String),
    /// A title is empty or blank.
    #[error("a title must not be empty")]
    EmptyTitle,
    /// A tag is empty once invisible characters are removed.
    #[error("a tag must not be empty; use `None` to remove it")]
    EmptyTag,
    /// A session with this id exists already.
    #[error("session {0} exists already")]
    Exists(String),
    /// A running process has the session open. It is not written.
    #[error("session {session} is in use by process {process}; close it first")]
    Live {
        /// The session.
        session: String,
        /// The process that uses it.
        process: u32,
    },
    /// Whether a process uses the session could not be determined. It is not written.
    #[error("cannot tell whether session {session} is in use: {reason}")]
    MaybeLive {
        /// The session.
        session: String,
        /// Why this is not known.
        reason: String,
    },
    /// No config directory is known: neither `CLAUDE_CONFIG_DIR` nor `HOME` is set.
    #[error("no config directory: set CLAUDE_CONFIG_DIR or HOME")]
    NoConfigDir,
    /// An export or an archive is damaged.
    #[error("cannot import: {0}")]
    BadExport(String),
    /// The store does not have this optional operation.
    #[error("the store does not support `{0}`")]
    Unsupported(&'static str),
    /// A store took too long to answer.
    #[error("`{operation}` of the store took longer than {timeout:?}")]
    StoreTimeout {
        /// What it was asked for.
        operation: &'static str,
        /// How long it was given.
        timeout: std::time::Duration,
    },
    /// A store failed.
    #[error("the store failed: {0}")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system reported.
        source: io::Error,
    },
}

impl Error {
    /// An error of a store: any error of a database or a network.
    pub fn store(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Store(error.into())
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_path_buf(), source }
    }
}

/// Checks that a session id is a UUID, as the official SDKs do: 32 hexadecimal digits in five groups.
pub(crate) fn valid_id(id: &str) -> Result<&str> {
    let groups = [8, 4, 4, 4, 12];
    let mut parts = id.split('-');
    let fits = groups.iter().all(|length| {
        parts.next().is_some_and(|part| {
            part.len() == *length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    });
    if fits && parts.next().is_none() { Ok(id) } else { Err(Error::InvalidId(id.to_owned())) }
}

/// Checks that a name is one plain component of a path.
pub(crate) fn valid_name(name: &str) -> Result<&str> {
    let plain = !name.is_empty()
        && name.len() <= 255
        && name != "."
        && name != ".."
        && !name.contains(['/', '\\', '\0', ':'])
        && !name.chars().any(char::is_control);
    if plain { Ok(name) } else { Err(Error::InvalidName(name.to_owned())) }
}

/// Checks that a subpath such as `subagents/agent-1` stays below its folder.
pub(crate) fn valid_subpath(subpath: &str) -> Result<&str> {
    let plain = subpath.split('/').all(|part| valid_name(part).is_ok());
    if plain { Ok(subpath) } else { Err(Error::InvalidName(subpath.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uuids_are_session_ids() {
        assert!(valid_id("550e8400-e29b-41d4-a716-446655440000").is_ok());
        assert!(valid_id("550E8400-E29B-41D4-A716-446655440000").is_ok());
        for bad in [
            "",
            "../../etc/passwd",
            "550e8400e29b41d4a716446655440000",
            "550e8400-e29b-41d4-a716-44665544000",
            "550e8400-e29b-41d4-a716-446655440000-",
            "550e8400-e29b-41d4-a716-446655440000/..",
            "550e8400-e29b-41d4-a716-44665544000\u{661}",
        ] {
            assert!(valid_id(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn names_stay_in_their_folder() {
        for bad in ["", ".", "..", "a/b", "a\\b", "a\0b", "c:d", "a\nb"] {
            assert!(valid_name(bad).is_err(), "{bad:?}");
        }
        assert!(valid_subpath("subagents/workflows/run-1/agent-2").is_ok());
        for bad in ["", "/etc", "subagents/../../x", "subagents//x", "subagents/"] {
            assert!(valid_subpath(bad).is_err(), "{bad:?}");
        }
    }
}
