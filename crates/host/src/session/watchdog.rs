//! The watchdog: an agent that is stuck is interrupted, then killed.

use std::sync::Arc;
use std::time::Duration;

use duologue_link::Standing;
use tokio::time::Instant;

use super::config::Watchdog;
use super::inner::Inner;
use super::inner::Live;
use super::interrupt::interrupt;

/// The two clocks, which stand still while the agent waits for somebody else.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    /// How long the turn has taken so far.
    turn: Duration,
    /// When the agent was last seen to be at work.
    since: Instant,
    looked: Instant,
    results: u64,
}

impl Clocks {
    fn new(now: Instant) -> Self {
        Self { turn: Duration::ZERO, since: now, looked: now, results: 0 }
    }

    /// Looks at how things stand. What has passed since the last look counts as they stood then.
    fn look(&mut self, now: Instant, before: &Standing, standing: &Standing) {
        let passed = now.saturating_duration_since(self.looked);
        self.looked = now;
        if counts(before) {
            self.turn += passed;
        } else {
            self.since = now;
        }
        if standing.results != self.results || standing.between_turns {
            self.results = standing.results;
            self.turn = Duration::ZERO;
        }
        self.since = self.since.max(standing.heard);
    }

    /// When it will be too late, if nothing happens; `None` while the clocks stand still.
    fn deadline(&self, watchdog: &Watchdog, standing: &Standing) -> Option<(Instant, String)> {
        if !counts(standing) {
            return None;
        }
        let silence = watchdog.silence.map(|most| {
            (self.since + most, format!("it was silent for {} s in a turn", most.as_secs_f64()))
        });
        let turn = watchdog.turn.map(|most| {
            let left = most.saturating_sub(self.turn);
            (self.looked + left, format!("its turn took more than {} s", most.as_secs_f64()))
        });
        silence.into_iter().chain(turn).min_by_key(|(at, _)| *at)
    }
}

/// Whether time passes for the agent: it is at work, and waits for nobody.
fn counts(standing: &Standing) -> bool {
    !standing.between_turns && !standing.asking && !standing.tools_running
}

/// Watches one run of the agent.
pub(crate) async fn watch(inner: Arc<Inner>, live: Live) {
    let mut stands = live.link.standing();
    let mut clocks = Clocks::new(Instant::now());
    let mut before = stands.borrow_and_update().clone();
    loop {
        let standing = stands.borrow_and_update().clone();
        if standing.ended {
            return;
        }
        clocks.look(Instant::now(), &before, &standing);
        let deadline = clocks.deadline(&inner.config.watchdog, &standing);
        before = standing;
        match deadline {
            None => {
                if stands.changed().await.is_err() {
                    return;
                }
            }
            Some((at, _)) if Instant::now() < at => {
                // Whether it was heard meanwhile is looked at when the time has come.
                let _ = tokio::time::timeout_at(at, stands.changed()).await;
            }
            Some((_, why)) => {
                inner.notice(format!("the agent seems stuck: {why}. It is interrupted"));
                interrupt(&inner, &live, Some(why)).await.ok();
                clocks = Clocks::new(Instant::now());
                // Once interrupted, it has the time that an interrupt may take.
                let ended = stands.wait_for(|standing| standing.ended);
                let _ = tokio::time::timeout(inner.config.settle, ended).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::*;

    fn at_work(now: Instant) -> Standing {
        let (link, _asks, _inbox, _driver) = duologue_link::connect(
            tokio::io::empty(),
            tokio::io::sink(),
            duologue_link::Options::default(),
        );
        let mut standing = link.standing().borrow().clone();
        standing.between_turns = false;
        standing.heard = now;
        standing
    }

    #[tokio::test(start_paused = true)]
    async fn silence_counts_from_the_last_line_and_not_while_somebody_is_asked() {
        let start = Instant::now();
        let watchdog = Watchdog::new().silence(Duration::from_secs(10));
        let work = at_work(start);
        let mut clocks = Clocks::new(start);
        assert_eq!(clocks.deadline(&watchdog, &work).unwrap().0, start + Duration::from_secs(10));

        let mut asking = work.clone();
        asking.asking = true;
        let later = start + Duration::from_secs(5);
        clocks.look(later, &work, &asking);
        assert!(clocks.deadline(&watchdog, &asking).is_none());
        let answered = start + Duration::from_secs(500);
        clocks.look(answered, &asking, &work);
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
        clocks.look(start + Duration::from_secs(20), &work, &tool);
        clocks.look(start + Duration::from_secs(920), &tool, &work);
        let deadline = clocks.deadline(&watchdog, &work).unwrap().0;
        assert_eq!(deadline, start + Duration::from_secs(960));
        // The next turn begins anew.
        let mut done = work.clone();
        done.results = 1;
        clocks.look(start + Duration::from_secs(930), &work, &done);
        let deadline = clocks.deadline(&watchdog, &done).unwrap().0;
        assert_eq!(deadline, start + Duration::from_secs(990));
    }
}
