//! How a link behaves.

use duologue_protocol::DEFAULT_MAX_LINE;

/// How many bytes of unread lines are kept in memory unless told otherwise: 64 MiB.
pub const DEFAULT_BUDGET: usize = 64 * 1024 * 1024;

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
    pub(crate) serial: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            budget: DEFAULT_BUDGET,
            overflow: Overflow::Spill,
            max_line: DEFAULT_MAX_LINE,
            serial: false,
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

    /// Keeps one control request in flight, as the oldest descriptions want it.
    #[must_use]
    pub const fn serial(mut self) -> Self {
        self.serial = true;
        self
    }
}

/// What happens when a consumer does not read, and the budget is used up. Never a silent drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// Lines go to a temporary file that only its owner can read, and come back in order.
    #[default]
    Spill,
    /// The agent is not read until the consumer has caught up; but it is while an answer is awaited.
    Pause,
    /// The inbox ends with an error. Control lines are served all the same.
    Fail,
}
