//! Closing a session: what is waited for, and for how long.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::error::Error;
use crate::process::ExitReport;

use super::inner::{Inner, Live};

/// How long an agent may take nothing off its stdin before it is not waited for.
const UNREAD: Duration = Duration::from_secs(5);

/// How long an agent may be silent before it is not waited for, once a line of it could not be read.
const SILENT: Duration = Duration::from_secs(5);

/// How often to look whether the agent reads and writes.
const LOOK: Duration = Duration::from_secs(1);

/// How long the end of a run may take to be noted once its process has ended.
const NOTED: Duration = Duration::from_secs(1);

/// Ends the conversation within the deadline that [`Session::close`](super::Session::close) states.
pub(super) async fn close(inner: &Inner) -> Result<ExitReport, Error> {
    let began = Instant::now();
    // None: for ever.
    let until = began.checked_add(inner.config.linger);
    let live = match before(until, inner.live()).await {
        Some(live) => live?,
        // It is being started again, and takes too long.
        None => {
            inner.kill();
            return Err(Error::Closed);
        }
    };
    inner.closing.store(true, Ordering::Relaxed);
    if let Some(process) = &live.process {
        process.asked_to_go();
    }
    settle(&live, began, until).await;
    let ladder = inner.config.ladder;
    // If the command does not reach the driver, the agent is not reading, and a signal ends it.
    live.link.close_now();
    let report = match &live.process {
        Some(process) => process.end(ladder).await,
        None => {
            let mut ended = inner.ended.subscribe();
            let end = ended.wait_for(|(number, _)| *number >= live.number);
            if timeout(ladder.stdin_grace, end).await.is_err() {
                live.kill();
            }
            ExitReport::default()
        }
    };
    let _ = timeout(NOTED, inner.why_ended(live.number)).await;
    Ok(report)
}

async fn before<T>(until: Option<Instant>, future: impl Future<Output = T>) -> Option<T> {
    match until {
        Some(until) => timeout_at(until, future).await.ok(),
        None => Some(future.await),
    }
}

/// Waits until nothing is open, so that stdin closes; but not beyond `until`, and not for an agent
/// that can no longer be talked to.
async fn settle(live: &Live, began: Instant, until: Option<Instant>) {
    let mut stands = live.link.standing();
    let tell = live.link.close_when_idle();
    tokio::pin!(tell);
    let mut told = false;
    loop {
        let standing = stands.borrow_and_update().clone();
        let now = Instant::now();
        let unread = standing.unread_since().map(|since| since + UNREAD);
        let silent = standing.unclear.then(|| standing.heard.max(began) + SILENT);
        let limit = until.into_iter().chain(unread).chain(silent).min();
        if standing.ended || (standing.idle && told) || limit.is_some_and(|limit| limit <= now) {
            return;
        }
        let look = limit.map_or(now + LOOK, |limit| limit.min(now + LOOK));
        tokio::select! {
            result = &mut tell, if !told => {
                told = true;
                if result.is_err() {
                    return;
                }
            }
            changed = stands.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            () = sleep_until(look) => {}
        }
    }
}
