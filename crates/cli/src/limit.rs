//! `--timeout`: the time limit of a command.

use std::fmt;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

/// The longest part of the limit that is reserved for interrupting a turn.
const INTERRUPT_RESERVE: Duration = Duration::from_secs(1);

/// How long the last output may take beyond the limit.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);

/// How long a command may take, counted from its start: starting the agent, the turn, and ending the
/// agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    most: Option<Duration>,
    began: Instant,
}

impl Limit {
    /// A limit that starts now.
    pub(crate) fn new(most: Option<Duration>) -> Self {
        Self { most, began: Instant::now() }
    }

    /// The deadline; `None` without a limit.
    fn at(&self) -> Option<Instant> {
        self.began.checked_add(self.most?)
    }

    /// Whether there is a limit.
    pub(crate) const fn is_set(&self) -> bool {
        self.most.is_some()
    }

    /// The time left; `None` without a limit.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.at().map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Waits until a turn must be interrupted, so that it can still end in time. Pending forever without a limit.
    pub(crate) async fn nearly_over(&self) {
        let most = self.most.unwrap_or_default();
        until(self.at().map(|at| at - INTERRUPT_RESERVE.min(most / 10))).await;
    }

    /// Waits until the limit is reached. Pending forever without a limit.
    pub(crate) async fn over(&self) {
        until(self.at()).await;
    }

    /// Waits until the grace period after the limit has passed.
    pub(crate) async fn long_over(&self) {
        until(self.at().and_then(|at| at.checked_add(OUTPUT_GRACE))).await;
    }

    /// Runs a future within the limit. `what` describes what was not done in time.
    pub(crate) async fn within<T>(
        &self,
        what: &'static str,
        future: impl Future<Output = T>,
    ) -> Result<T, TimedOut> {
        match self.at() {
            None => Ok(future.await),
            Some(at) => timeout_at(at, future).await.map_err(|_| self.error(what)),
        }
    }

    /// The error for a reached limit.
    pub(crate) fn error(&self, what: &'static str) -> TimedOut {
        TimedOut { most: self.most.unwrap_or_default(), what }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// A command took longer than its limit.
#[derive(Clone, Debug)]
pub(crate) struct TimedOut {
    most: Duration,
    what: &'static str,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--timeout {}: {}", shown(self.most), self.what)
    }
}

impl std::error::Error for TimedOut {}

/// In the form of the option: 3s, 50ms.
pub(crate) fn shown(most: Duration) -> String {
    match most.subsec_millis() {
        0 => format!("{}s", most.as_secs()),
        millis if most.as_secs() == 0 => format!("{millis}ms"),
        _ => format!("{}s", most.as_secs_f64()),
    }
}
