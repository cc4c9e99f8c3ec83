//! The watchdog: an agent that is stuck is interrupted, then killed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::dispatch::Status;

use super::config::Watchdog;
use super::inner::Inner;
use super::inner::Live;
use super::interrupt::interrupt;

/// The two clocks. Both are paused while the agent waits for a tool or for the host.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    /// How long the turn has taken so far.
    turn: Duration,
    /// When the agent last showed that it works.
    since: Instant,
    /// When the clocks were last updated.
    updated: Instant,
    results: u64,
}

impl Clocks {
    fn new(now: Instant) -> Self {
        Self { turn: Duration::ZERO, since: now, updated: now, results: 0 }
    }

    /// Updates the clocks. The time since the last update counts as the status was then.
    fn update(&mut self, now: Instant, before: &Status, status: &Status) {
        let passed = now.saturating_duration_since(self.updated);
        self.updated = now;
        if runs(before) {
            self.turn += passed;
        } else {
            self.since = now;
        }
        if status.results != self.results || status.between_turns {
            self.results = status.results;
            self.turn = Duration::ZERO;
        }
        self.since = self.since.max(status.heard);
    }

    /// When the agent is considered stuck if nothing happens; `None` while the clocks are paused.
    fn deadline(&self, watchdog: &Watchdog, status: &Status) -> Option<(Instant, String)> {
        if !runs(status) {
            return None;
        }
        let silence = watchdog.silence.map(|most| {
            (self.since + most, format!("it was silent for {} s in a turn", most.as_secs_f64()))
        });
        let turn = watchdog.turn.map(|most| {
            let left = most.saturating_sub(self.turn);
            (self.updated + left, format!("its turn took more than {} s", most.as_secs_f64()))
        });
        silence.into_iter().chain(turn).min_by_key(|(at, _)| *at)
    }
}

/// Whether the clocks run: the agent works, and waits for neither a tool nor the host.
fn runs(status: &Status) -> bool {
    !status.between_turns && !status.asking && !status.tools_running
}

/// Watches one run of the agent.
pub(crate) async fn watch(inner: Arc<Inner>, live: Live) {
    let mut changes = live.link.status();
    let mut clocks = Clocks::new(Instant::now());
    let mut before = changes.borrow_and_update().clone();
    loop {
        let status = changes.borrow_and_update().clone();
        if status.ended {
            return;
        }
        clocks.update(Instant::now(), &before, &status);
        let deadline = clocks.deadline(&inner.config.watchdog, &status);
        before = status;
        match deadline {
            None => {
                if changes.changed().await.is_err() {
                    return;
                }
            }
            Some((at, _)) if Instant::now() < at => {
                // A line alone does not change the status: `heard` is checked at the deadline.
                let _ = tokio::time::timeout_at(at, changes.changed()).await;
            }
            Some((_, why)) => {
                inner.notice(format!("the agent seems stuck: {why}. It is interrupted"));
                interrupt(&inner, &live, Some(why)).await.ok();
                clocks = Clocks::new(Instant::now());
                // An interrupt may take this long.
                let ended = changes.wait_for(|status| status.ended);
                let _ = tokio::time::timeout(inner.config.settle, ended).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::*;

    fn at_work(now: Instant) -> Status {
        let mut status = Status::new(Arc::default());
        status.between_turns = false;
        status.heard = now;
        status
    }

    #[tokio::test(start_paused = true)]
    async fn silence_counts_from_the_last_line_and_not_while_the_host_is_asked() {
        let start = Instant::now();
        let watchdog = Watchdog::new().silence(Duration::from_secs(10));
        let work = at_work(start);
        let mut clocks = Clocks::new(start);
        assert_eq!(clocks.deadline(&watchdog, &work).unwrap().0, start + Duration::from_secs(10));

        let mut asking = work.clone();
        asking.asking = true;
        let later = start + Duration::from_secs(5);
        clocks.update(later, &work, &asking);
        assert!(clocks.deadline(&watchdog, &asking).is_none());
        let answered = start + Duration::from_secs(500);
        clocks.update(answered, &asking, &work);
        assert_eq!(
            clocks.deadline(&watchdog, &work).unwrap().0,
            answered + Duration::from_secs(10)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_timed_without_its_tools() {
        let start = Instant::now();
        let watchdog = Watchdog::new().turn(Duration::from_secs(60));
        let work = at_work(start);
        let mut tool = work.clone();
        tool.tools_running = true;
        let mut clocks = Clocks::new(start);
        clocks.update(start + Duration::from_secs(20), &work, &tool);
        clocks.update(start + Duration::from_secs(920), &tool, &work);
        let deadline = clocks.deadline(&watchdog, &work).unwrap().0;
        assert_eq!(deadline, start + Duration::from_secs(960));
        // The next turn starts at zero.
        let mut done = work.clone();
        done.results = 1;
        clocks.update(start + Duration::from_secs(930), &work, &done);
        let deadline = clocks.deadline(&watchdog, &done).unwrap().0;
        assert_eq!(deadline, start + Duration::from_secs(990));
    }
}
