//! [`Arrivals`]: the lines of an agent on their way into the log.

use std::collections::VecDeque;
use std::sync::Mutex;

use duologue::protocol::{Direction, Line};
use tokio::sync::Notify;

use super::lock;
use crate::state::{LineRecord, Record, Stderr};

/// How many bytes of stderr may wait. An agent can write it faster than it can be kept, and nothing stops it.
const MOST_STDERR: usize = 1 << 20;

/// Something that passed between hub and agent.
#[derive(Debug)]
pub(super) enum Arrival {
    Line(Direction, Line),
    Stderr(String),
}

/// What waits for the log, in the order of the conversation.
///
/// The host library does not read the agent while more than its budget waits for our subscription, which we read only as fast as the
/// log takes the lines. So the lines here are bounded too.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    waiting: Mutex<Waiting>,
    pub(super) changed: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    arrivals: VecDeque<Arrival>,
    stderr: usize,
    /// Bytes of stderr that found no room.
    dropped: usize,
}

impl Arrivals {
    pub(super) fn line(&self, direction: Direction, line: &Line) {
        // What is being streamed is not history: the finished block follows.
        if line.kind().is_ok_and(|kind| kind == "stream_event") {
            return;
        }
        lock(&self.waiting).arrivals.push_back(Arrival::Line(direction, line.clone()));
        self.changed.notify_one();
    }

    pub(super) fn stderr(&self, text: &str) {
        let mut waiting = lock(&self.waiting);
        if waiting.stderr + text.len() > MOST_STDERR {
            waiting.dropped += text.len();
            return;
        }
        waiting.stderr += text.len();
        waiting.arrivals.push_back(Arrival::Stderr(text.to_owned()));
        drop(waiting);
        self.changed.notify_one();
    }

    /// Takes everything.
    pub(super) fn take(&self) -> VecDeque<Arrival> {
        let mut waiting = std::mem::take(&mut *lock(&self.waiting));
        if waiting.dropped > 0 {
            let text = format!("[{} bytes of stderr were not kept]", waiting.dropped);
            waiting.arrivals.push_back(Arrival::Stderr(text));
        }
        waiting.arrivals
    }
}

impl Arrival {
    /// Its entry.
    pub(super) fn record(&self) -> Record {
        match self {
            Self::Stderr(text) => Record::Stderr(Stderr { text: text.clone() }),
            Self::Line(Direction::ToHost, line) => Record::AgentLine(LineRecord::new(line.raw())),
            Self::Line(_, line) => Record::HostLine(match line.kind() {
                // Its values are secrets.
                Ok(kind) if kind == "update_environment_variables" => LineRecord::new(
                    br#"{"type":"update_environment_variables","variables":"withheld"}"#,
                ),
                _ => LineRecord::new(line.raw()),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streamed_pieces_and_secrets_are_not_kept() {
        let arrivals = Arrivals::default();
        arrivals.line(Direction::ToHost, &Line::from(r#"{"type":"stream_event","event":{}}"#));
        let secret = r#"{"type":"update_environment_variables","variables":{"KEY":"secret"}}"#;
        arrivals.line(Direction::ToAgent, &Line::from(secret));
        let taken = arrivals.take();
        assert_eq!(taken.len(), 1);
        let entry = taken[0].record().entry().unwrap();
        assert_eq!(entry.kind.as_str(), "lines.host");
        assert!(!entry.body.as_str().contains("secret"), "{:?}", entry.body);
    }

    #[test]
    fn stderr_is_bounded_and_says_so() {
        let arrivals = Arrivals::default();
        let line = "x".repeat(1_000);
        for _ in 0..2_000 {
            arrivals.stderr(&line);
        }
        let taken = arrivals.take();
        assert!(taken.len() < 1_100, "{}", taken.len());
        let last = taken.back().unwrap().record().entry().unwrap();
        assert!(last.body.as_str().contains("were not kept"), "{:?}", last.body);
        assert!(arrivals.take().is_empty());
    }
}
