//! `--timeout`: one limit for everything that a command does.

use std::fmt;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

/// How long a turn gets at most, out of the limit, to stop when it is interrupted.
const TO_STOP: Duration = Duration::from_secs(1);

/// How long the last lines of output may take beyond the limit.
const LAST_WRITES: Duration = Duration::from_millis(500);

/// How long a command may take, counted from its start: starting the agent, the turn, and ending the
/// agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    most: Option<Duration>,
    began: Instant,
}

impl Limit {
    /// Counts from now on.
    pub(crate) fn new(most: Option<Duration>) -> Self {
        Self { most, began: Instant::now() }
    }

    /// When the command must be over; `None` without a limit.
    fn at(&self) -> Option<Instant> {
        self.began.checked_add(self.most?)
    }

    /// Whether there is a limit.
    pub(crate) const fn is_set(&self) -> bool {
        self.most.is_some()
    }

    /// What is left; `None` without a limit.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.at().map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Waits until a turn must be interrupted, so that it can still stop in time. For ever without a
    /// limit.
    pub(crate) async fn nearly_over(&self) {
        let most = self.most.unwrap_or_default();
        until(self.at().map(|at| at - TO_STOP.min(most / 10))).await;
    }

    /// Waits until the limit is reached. For ever without a limit.
    pub(crate) async fn over(&self) {
        until(self.at()).await;
    }

    /// Waits until the limit is long past: something could not be stopped.
    pub(crate) async fn long_over(&self) {
        until(self.at().and_then(|at| at.checked_add(LAST_WRITES))).await;
    }

    /// Runs this, unless it takes too long. Then `what` says what was not done.
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

    /// The limit was reached.
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

/// As it can be given: 3s, 50ms.
pub(crate) fn shown(most: Duration) -> String {
    match most.subsec_millis() {
        0 => format!("{}s", most.as_secs()),
        millis if most.as_secs() == 0 => format!("{millis}ms"),
        _ => format!("{}s", most.as_secs_f64()),
    }
}
