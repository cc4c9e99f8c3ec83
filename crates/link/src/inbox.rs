//! [`Inbox`]: the lines of the conversation, kept until somebody reads them.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duologue_protocol::{Direction, Line, TooLong};
use tokio::sync::Notify;

use crate::options::Overflow;
use crate::spill::Spill;

/// What one line costs beside its bytes.
const OVERHEAD: usize = 96;

/// How much may wait for a consumer that reads before the agent is read on: enough for both to work
/// at once, and little beside what a program needs anyway.
const AHEAD: usize = 256 * 1024;

/// How many lines come back from the temporary file at a time.
const BATCH: usize = 256;

/// A line of the conversation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Item {
    /// Which way it went.
    pub direction: Direction,
    /// The line.
    pub line: Line,
}

impl Item {
    /// A line that went this way.
    pub const fn new(direction: Direction, line: Line) -> Self {
        Self { direction, line }
    }
}

/// What [`Inbox::try_next`] found.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "there is a line, or there will be, or not")]
pub enum Taken {
    /// A line.
    Item(Item),
    /// Nothing yet.
    Nothing,
    /// Nothing, and nothing more will come.
    Ended,
}

/// Why an inbox has ended before its stream.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InboxError {
    /// Nobody read, and the budget was used up.
    #[error("the consumer is too slow: more than {budget} bytes of lines wait to be read")]
    TooSlow {
        /// The budget.
        budget: usize,
    },
    /// The temporary file for what was not read could not be used.
    #[error("could not keep unread lines in a temporary file: {0}")]
    Spill(Arc<io::Error>),
    /// The agent could not be read any further.
    #[error("could not read from the agent: {0}")]
    Read(Arc<io::Error>),
    /// A line was longer than the cap. Reading goes on after it.
    #[error("{0}")]
    TooLong(TooLong),
}

/// Where the lines of a conversation can be read, in the order of the wire.
#[derive(Debug)]
pub struct Inbox {
    shared: Arc<Shared>,
    /// Lines that were taken out of the shared queue, a batch at a time.
    batch: VecDeque<Entry>,
}

/// The driver's end of an inbox.
#[derive(Debug)]
pub(crate) struct Deliver {
    shared: Arc<Shared>,
    budget: usize,
    overflow: Overflow,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Something came, or the stream has ended.
    filled: Arc<Notify>,
    /// There is room again.
    drained: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Entry>,
    /// The bytes in the queue and in the batch that the consumer has taken.
    bytes: usize,
    /// The bytes in the queue alone.
    waiting: usize,
    /// The consumer has come for more since it was last waited for in vain.
    reading: bool,
    spill: Spill,
    ended: bool,
    failed: bool,
}

type Entry = Result<Item, InboxError>;

pub(crate) fn inbox(budget: usize, overflow: Overflow, filled: Arc<Notify>) -> (Deliver, Inbox) {
    let shared = Arc::new(Shared { filled, ..Shared::default() });
    let deliver = Deliver { shared: Arc::clone(&shared), budget, overflow };
    (deliver, Inbox { shared, batch: VecDeque::new() })
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere does not make the queue wrong.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cost(item: &Item) -> usize {
    item.line.raw().len() + OVERHEAD
}

impl Inbox {
    /// The next line, or `None` when the stream has ended. It may be dropped while it waits, as in
    /// `select!`: no line is lost by that.
    ///
    /// # Errors
    /// If a line was too long (the next call goes on), or the inbox has ended early.
    pub async fn next(&mut self) -> Result<Option<Item>, InboxError> {
        loop {
            // Asked for before looking: what comes in between wakes it all the same.
            let filled = Arc::clone(&self.shared.filled);
            let mut filled = std::pin::pin!(filled.notified());
            filled.as_mut().enable();
            match self.try_next()? {
                Taken::Item(item) => return Ok(Some(item)),
                Taken::Ended => return Ok(None),
                Taken::Nothing => filled.await,
            }
        }
    }

    /// The next line, if it is there already.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn try_next(&mut self) -> Result<Taken, InboxError> {
        if self.batch.is_empty() && !self.refill() {
            let ended = self.shared.lock().ended;
            // The last lines may have come together with the end.
            if !ended || !self.refill() {
                return Ok(if ended { Taken::Ended } else { Taken::Nothing });
            }
        }
        match self.batch.pop_front() {
            Some(entry) => entry.map(Taken::Item),
            None => Ok(Taken::Nothing),
        }
    }

    /// Takes what is there. False if nothing is.
    fn refill(&mut self) -> bool {
        let mut state = self.shared.lock();
        // What was taken last has been read by now.
        state.bytes = 0;
        while state.queue.len() < BATCH && !state.spill.is_empty() {
            match state.spill.pop() {
                Ok(Some(item)) => state.queue.push_back(Ok(item)),
                Ok(None) => break,
                Err(error) => {
                    state.ended = true;
                    state.failed = true;
                    state.queue.push_back(Err(InboxError::Spill(Arc::new(error))));
                    break;
                }
            }
        }
        state.bytes = state.queue.iter().flatten().map(cost).sum();
        state.waiting = 0;
        state.reading = true;
        std::mem::swap(&mut state.queue, &mut self.batch);
        drop(state);
        self.shared.drained.notify_one();
        !self.batch.is_empty()
    }
}

impl Deliver {
    /// Takes lines for the consumer. It never waits.
    pub(crate) fn push(&self, items: impl IntoIterator<Item = Item>) {
        let mut state = self.shared.lock();
        for item in items {
            if state.failed {
                break;
            }
            self.push_one(&mut state, item);
        }
        drop(state);
        self.shared.filled.notify_waiters();
    }

    fn push_one(&self, state: &mut State, item: Item) {
        let cost = cost(&item);
        let fits = state.bytes + cost <= self.budget && state.spill.is_empty();
        if fits || self.overflow == Overflow::Pause {
            state.bytes += cost;
            state.waiting += cost;
            state.queue.push_back(Ok(item));
            return;
        }
        let result = match self.overflow {
            Overflow::Spill => {
                state.spill.push(&item).map_err(|error| InboxError::Spill(Arc::new(error)))
            }
            _ => Err(InboxError::TooSlow { budget: self.budget }),
        };
        if let Err(error) = result {
            state.queue.push_back(Err(error));
            state.failed = true;
            state.ended = true;
        }
    }

    /// Tells the consumer of something that is no line.
    pub(crate) fn push_error(&self, error: InboxError) {
        let mut state = self.shared.lock();
        if !state.failed {
            state.queue.push_back(Err(error));
        }
        drop(state);
        self.shared.filled.notify_waiters();
    }

    /// There will be nothing more.
    pub(crate) fn end(&self) {
        self.shared.lock().ended = true;
        self.shared.filled.notify_waiters();
    }

    /// Whether the agent should not be read for now.
    pub(crate) fn is_full(&self) -> bool {
        self.overflow == Overflow::Pause && self.shared.lock().bytes > self.budget
    }

    /// Whether the consumer reads, and has enough to read for now.
    pub(crate) fn is_ahead(&self) -> bool {
        let state = self.shared.lock();
        state.reading && state.waiting > AHEAD
    }

    /// The consumer was waited for in vain: it is not, until it comes again.
    pub(crate) fn wait_no_more(&self) {
        self.shared.lock().reading = false;
    }

    /// Waits until something was read.
    pub(crate) async fn drained(&self) {
        self.shared.drained.notified().await;
    }
}

impl Drop for Deliver {
    fn drop(&mut self) {
        self.end();
    }
}
