//! How a link behaves.

use std::path::PathBuf;
use std::sync::Arc;

use duologue_protocol::{DEFAULT_MAX_LINE, Direction, Line};
use tokio::sync::Notify;

/// How many bytes of unread lines are kept in memory unless told otherwise: 64 MiB.
pub const DEFAULT_BUDGET: usize = 64 * 1024 * 1024;

/// How many bytes of open requests of the agent are kept unless told otherwise: 64 MiB. Each counts
/// 4 KiB beside its line.
pub const DEFAULT_OPEN_REQUESTS: usize = 64 * 1024 * 1024;

/// How a link behaves.
///
/// ```
/// use duologue_link::{Options, Overflow};
///
/// let options = Options::default().budget(1024 * 1024).overflow(Overflow::Pause);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    pub(crate) budget: usize,
    pub(crate) overflow: Overflow,
    pub(crate) max_line: usize,
    pub(crate) open_requests: usize,
    pub(crate) spill_dir: Option<PathBuf>,
    pub(crate) serial: bool,
    pub(crate) watch_tools: bool,
    pub(crate) legacy: bool,
    pub(crate) filled: Arc<Notify>,
    pub(crate) tap: Option<Tap>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            budget: DEFAULT_BUDGET,
            overflow: Overflow::Spill,
            max_line: DEFAULT_MAX_LINE,
            open_requests: DEFAULT_OPEN_REQUESTS,
            spill_dir: None,
            serial: false,
            watch_tools: false,
            legacy: false,
            filled: Arc::new(Notify::new()),
            tap: None,
        }
    }
}

impl Options {
    /// How many bytes of unread lines may be kept in memory.
    #[must_use]
    pub const fn budget(mut self, bytes: usize) -> Self {
        self.budget = bytes;
        self
    }

    /// What happens beyond the budget.
    #[must_use]
    pub const fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// The most bytes a line may have; a longer one is reported and passed over.
    #[must_use]
    pub const fn max_line(mut self, bytes: usize) -> Self {
        self.max_line = bytes;
        self
    }

    /// How many bytes of requests of the agent may be open. Beyond that, the agent is not read until
    /// some are answered; but it is, up to twice as many, while an answer of the agent is awaited or it
    /// does not read what was sent to it.
    #[must_use]
    pub const fn open_requests(mut self, bytes: usize) -> Self {
        self.open_requests = bytes;
        self
    }

    /// The directory for the temporary file of [`Overflow::Spill`]; that of the system by default.
    #[must_use]
    pub fn spill_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.spill_dir = Some(dir.into());
        self
    }

    /// Keeps one control request in flight, as the oldest descriptions want it.
    #[must_use]
    pub const fn serial(mut self) -> Self {
        self.serial = true;
        self
    }

    /// Follows tool calls, so that [`Standing`](crate::Standing) tells of them. It costs the reading
    /// of all that the model says.
    #[must_use]
    pub const fn watch_tools(mut self) -> Self {
        self.watch_tools = true;
        self
    }

    /// Takes every tool call for a question, and answers as the oldest descriptions want it.
    #[must_use]
    pub const fn legacy(mut self) -> Self {
        self.legacy = true;
        self
    }

    /// Shows every line to this, both ways.
    #[must_use]
    pub fn tap(mut self, tap: Tap) -> Self {
        self.tap = Some(tap);
        self
    }

    /// Wakes all who wait on this whenever the inbox is filled, besides those who wait in
    /// [`Inbox::next`](crate::Inbox::next).
    #[must_use]
    pub fn wake(mut self, filled: Arc<Notify>) -> Self {
        self.filled = filled;
        self
    }
}

type OnLine = dyn Fn(Direction, &Line) + Send + Sync;

/// Something that is shown every line of the wire, both ways, in the order of the conversation.
#[derive(Clone)]
pub struct Tap(Arc<OnLine>);

impl Tap {
    /// Shows each line to this. It must not wait: the conversation does, meanwhile.
    pub fn new(on_line: impl Fn(Direction, &Line) + Send + Sync + 'static) -> Self {
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

/// What happens when a consumer does not read, and the budget is used up. Never a silent drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// Lines go to a temporary file that only its owner can read, and come back in order. If the file
    /// cannot be written (the disk is full), the agent is not read until the consumer has caught up. While
    /// an answer of the agent is awaited it is read all the same, up to another budget's worth of
    /// memory; beyond that, the inbox ends with an error.
    #[default]
    Spill,
    /// The agent is not read until the consumer has caught up; but it is while an answer is awaited.
    Pause,
    /// The inbox ends with an error. Control lines are served all the same.
    Fail,
}
