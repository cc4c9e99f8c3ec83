//! Closing a session: what is waited for, and for how long.

use std::sync::atomic::Ordering;

use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::error::Error;
use crate::process::ExitReport;
use crate::timeouts::{CLOSE_CHECK, CLOSE_RUN_END, CLOSE_SILENT, CLOSE_UNREAD};

use super::inner::{Inner, Live, lock};

/// Kills the agent if a close is cancelled.
struct KillUnlessClosed<'i> {
    inner: &'i Inner,
    closed: bool,
}

impl Drop for KillUnlessClosed<'_> {
    fn drop(&mut self) {
        if !self.closed {
            self.inner.kill();
        }
    }
}

/// Ends the conversation within the deadline that [`Session::close`](super::Session::close) states.
pub(super) async fn close(inner: &Inner) -> Result<ExitReport, Error> {
    let mut guard = KillUnlessClosed { inner, closed: false };
    let result = close_in_order(inner).await;
    guard.closed = true;
    result
}

async fn close_in_order(inner: &Inner) -> Result<ExitReport, Error> {
    let began = Instant::now();
    // `None`: without a limit.
    let until = began.checked_add(inner.config.linger);
    let live = match before(until, inner.live()).await {
        Some(Ok(live)) => live,
        Some(Err(error)) => {
            let report = *lock(&inner.exit);
            return report.ok_or(error);
        }
        // The agent is being started again, and takes too long.
        None => {
            inner.kill();
            return Err(Error::Closed);
        }
    };
    inner.closing.store(true, Ordering::Relaxed);
    live.remote.mark_asked_to_end();
    settle(&live, began, until).await;
    let ladder = inner.config.ladder;
    // If the dispatcher cannot take the command, the agent does not read, and a signal ends it.
    live.link.close_now();
    let ended = async {
        inner.why_ended(live.number).await;
    };
    let report = live.remote.end(ladder, ended).await;
    let _ = timeout(CLOSE_RUN_END, inner.why_ended(live.number)).await;
    Ok(report)
}

async fn before<T>(until: Option<Instant>, future: impl Future<Output = T>) -> Option<T> {
    match until {
        Some(until) => timeout_at(until, future).await.ok(),
        None => Some(future.await),
    }
}

/// Waits until nothing is open, so that stdin closes; at most until `until`, and not for an agent that
/// does not respond.
async fn settle(live: &Live, began: Instant, until: Option<Instant>) {
    let mut changes = live.link.status();
    let close = live.link.close_when_idle();
    tokio::pin!(close);
    let mut sent = false;
    loop {
        let status = changes.borrow_and_update().clone();
        let now = Instant::now();
        let unread = status.unread_since().map(|since| since + CLOSE_UNREAD);
        let silent = status.unclear.then(|| status.heard.max(began) + CLOSE_SILENT);
        let limit = until.into_iter().chain(unread).chain(silent).min();
        if status.ended || (status.idle && sent) || limit.is_some_and(|limit| limit <= now) {
            return;
        }
        let check = limit.map_or(now + CLOSE_CHECK, |limit| limit.min(now + CLOSE_CHECK));
        tokio::select! {
            result = &mut close, if !sent => {
                sent = true;
                if result.is_err() {
                    return;
                }
            }
            changed = changes.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            () = sleep_until(check) => {}
        }
    }
}
