//! The exit codes, all of them.

use duologue::{Error, find};

use crate::limit::TimedOut;

/// Success.
pub(crate) const OK: u8 = 0;

/// `check`: something is not understood.
pub(crate) const NOT_UNDERSTOOD: u8 = 1;

/// `diff`: the two are not the same.
pub(crate) const DIFFERENT: u8 = 1;

/// `replay`: the other side differs from the tape.
pub(crate) const MISMATCH: u8 = 3;

/// `run`, `chat`: the agent failed, or took longer than `--timeout`. `doctor`: something is broken.
/// `sessions`: there is no such session, it is in use, or `rm` was not confirmed. `usage`: a transcript could not be read.
pub(crate) const FAILED: u8 = 1;

/// The command line is wrong, a file cannot be read, or the output cannot be written.
pub(crate) const UNREADABLE: u8 = 2;

/// `record`: it failed, and no agent was started. Other codes are the agent's; 126 and 127 mean that it cannot be started,
/// as in shells.
pub(crate) const NOT_RECORDED: u8 = 125;

/// `run`: the turn failed because a tool was denied.
pub(crate) const DENIED: u8 = 3;

/// `run`: the budget is used up.
pub(crate) const OVER_BUDGET: u8 = 4;

/// There is no agent; or, without a terminal and without --embedded, the embedded agent answered without a model.
pub(crate) const NO_AGENT: u8 = 5;

/// Interrupted by Ctrl-C, as in shells: 128 + SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// The exit code of an error of stored sessions: whether the request or a file was at fault.
fn stored(error: &duologue_sessions::Error) -> u8 {
    use duologue_sessions::Error;
    match error {
        Error::NotFound(_)
        | Error::Ambiguous { .. }
        | Error::NoSuchMessage { .. }
        | Error::NoMessages(_)
        | Error::Exists(_)
        | Error::Live { .. }
        | Error::MaybeLive { .. } => FAILED,
        _ => UNREADABLE,
    }
}

/// The exit code of an error.
pub(crate) fn of(error: &anyhow::Error) -> u8 {
    if error.is::<find::NotFound>() {
        return NO_AGENT;
    }
    if error.is::<TimedOut>() {
        return FAILED;
    }
    if let Some(error) = error.downcast_ref::<duologue_sessions::Error>() {
        return stored(error);
    }
    match error.downcast_ref() {
        None | Some(Error::Launch(_) | Error::Prompt(_)) => UNREADABLE,
        Some(Error::NotFound(_)) => NO_AGENT,
        Some(Error::OverBudget { .. }) => OVER_BUDGET,
        Some(_) => FAILED,
    }
}
