//! Errors, as the client shows them.

use agent_client_protocol::Error;

/// Why the bridge ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client could not be read or written.
    #[error("the connection to the client failed: {0}")]
    Io(#[from] std::io::Error),
    /// The protocol failed.
    #[error("the connection to the client failed: {0}")]
    Protocol(String),
}

/// An error with a message for the user.
pub(crate) fn internal(message: impl Into<String>) -> Error {
    Error::new(-32603, message.into())
}

/// Wrong params.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(-32602, message.into())
}

/// A session that does not exist.
pub(crate) fn no_session(id: &str) -> Error {
    Error::new(-32002, format!("there is no session {id}"))
}

/// An error of the host library.
pub(crate) fn of_host(error: &duologue::Error) -> Error {
    match error {
        duologue::Error::Prompt(wrong) => invalid(wrong.to_string()),
        other => internal(other.to_string()),
    }
}

/// An error of the stored sessions.
pub(crate) fn of_stored(error: &duologue_sessions::Error) -> Error {
    match error {
        duologue_sessions::Error::NotFound(id) | duologue_sessions::Error::InvalidId(id) => {
            no_session(id)
        }
        other => internal(other.to_string()),
    }
}
