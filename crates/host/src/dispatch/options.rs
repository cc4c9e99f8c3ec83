//! How a run is read and what is kept for subscribers.

use std::path::PathBuf;
use std::sync::Arc;

use duologue_protocol::{DEFAULT_MAX_LINE, Direction, Line};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::spill::Spill;

/// How many bytes are kept in memory for each subscriber by default: 64 MiB.
pub(crate) const DEFAULT_BUDGET: usize = 64 * 1024 * 1024;

/// How many bytes of open requests of the agent are kept by default: 64 MiB. Each counts 4 KiB beside
/// its line.
pub(crate) const DEFAULT_OPEN_REQUESTS: usize = 64 * 1024 * 1024;

/// How a run is read.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The most bytes a line may have. A longer one is reported as malformed.
    pub(crate) max_line: usize,
    /// How many bytes of requests of the agent may be open. Beyond that, the agent is not read until some
    /// are answered; while it awaits or owes an answer it is read up to twice as far.
    pub(crate) open_requests: usize,
    /// Keeps one control request of the host in flight.
    pub(crate) serial: bool,
    /// Follows tool calls, so that [`Status::tools_running`](super::Status::tools_running) is set.
    pub(crate) watch_tools: bool,
    /// Treats every tool call as a request for permission, as legacy agents need it.
    pub(crate) legacy: bool,
    pub(crate) tap: Option<Tap>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_line: DEFAULT_MAX_LINE,
            open_requests: DEFAULT_OPEN_REQUESTS,
            serial: false,
            watch_tools: false,
            legacy: false,
            tap: None,
        }
    }
}

/// What is kept for each subscriber.
#[derive(Clone, Debug)]
pub(crate) struct QueueOptions {
    /// How many bytes are kept in memory.
    pub(crate) budget: usize,
    /// What happens beyond the budget.
    pub(crate) overflow: Overflow,
    /// Where temporary files are created; where the system keeps them if unset.
    pub(crate) spill_dir: Option<PathBuf>,
    /// Where files are read and written.
    pub(crate) runtime: Handle,
    /// Notified when a queue was drained or written.
    pub(crate) drained: Arc<Notify>,
}

impl QueueOptions {
    /// The defaults with this budget. Needs a runtime.
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            budget,
            overflow: Overflow::default(),
            spill_dir: None,
            runtime: Handle::current(),
            drained: Arc::default(),
        }
    }

    #[must_use]
    pub(crate) fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    #[must_use]
    pub(crate) fn spill_dir(mut self, dir: Option<PathBuf>) -> Self {
        self.spill_dir = dir;
        self
    }

    /// A new temporary file for a queue.
    pub(crate) fn spill(&self) -> Spill {
        Spill::new(self.spill_dir.clone(), self.runtime.clone(), Arc::clone(&self.drained))
    }
}

type OnLine = dyn Fn(Direction, &Line) + Send + Sync;

/// A callback that gets every line, both ways, in the order of the conversation.
#[derive(Clone)]
pub(crate) struct Tap(Arc<OnLine>);

impl Tap {
    /// Creates a tap. The callback must not block: the conversation waits for it.
    pub(crate) fn new(on_line: impl Fn(Direction, &Line) + Send + Sync + 'static) -> Self {
        Self(Arc::new(on_line))
    }

    pub(crate) fn show(&self, direction: Direction, line: &Line) {
        (self.0)(direction, line);
    }
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tap").finish_non_exhaustive()
    }
}

/// What happens when a subscriber does not read and its memory budget is used up. Nothing is ever
/// dropped silently.
///
/// A subscriber is a [`Turn`](crate::Turn), [`Events`](crate::Events) or [`Messages`](crate::Messages).
/// Each has a budget of its own; dropping it frees what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// What is not read goes to a temporary file that only its owner can read, and comes back in order.
    /// If the file cannot be written (the disk is full), the agent is not read until the subscriber has
    /// caught up. While an answer of the agent is awaited it is read nevertheless, up to another
    /// budget's worth of memory; beyond that, the subscriber gets an error.
    #[default]
    Spill,
    /// The agent is not read until the subscriber has caught up. While an answer of the agent is
    /// awaited it is read nevertheless, into a temporary file.
    Pause,
    /// The subscriber gets an [error](crate::Error::TooSlow) after what was kept. Other subscribers are
    /// not affected.
    Fail,
}
