//! What can be waited for, whether it is there or not.

use duologue::{Error, Turn, TurnOutcome};
use tokio::task::JoinHandle;

use super::Open;

pub(super) async fn withdrawn(dialog: &mut Option<Open>) {
    match dialog {
        Some(open) => open.reply.closed().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn outcome(turn: &mut Option<Turn>) -> Result<TurnOutcome, Error> {
    match turn {
        Some(turn) => turn.outcome().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn failed(task: &mut Option<JoinHandle<Option<Error>>>) -> Option<Error> {
    let ended = match task {
        Some(task) => task.await,
        None => std::future::pending().await,
    };
    *task = None;
    ended.ok().flatten()
}
