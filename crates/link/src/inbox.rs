//! [`Inbox`]: the lines of the conversation, kept until somebody reads them.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duologue_protocol::{Direction, Frame, Line, LineDecoder, TooLong};
use tokio::sync::Notify;

use crate::options::{Options, Overflow};
use crate::spill::{READ_BACK, Spill};

/// What an entry costs beside its bytes.
const OVERHEAD: usize = 96;

/// How much may wait for a consumer that reads before the agent is read on: enough for both to work
/// at once, and little beside what a program needs anyway.
const AHEAD: usize = 256 * 1024;

/// How many buffers that were read are kept to be filled again.
const SPARE: usize = 4;

/// How large they must be for that.
const WORTH_KEEPING: usize = 8 * 1024;

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
///
/// What the agent said is kept as it came, and cut into lines by whoever reads: a line is then read
/// where it was made, and as soon.
#[derive(Debug)]
pub struct Inbox {
    shared: Arc<Shared>,
    /// What was taken out of the shared queue, a batch at a time.
    batch: VecDeque<Entry>,
    decoder: LineDecoder,
    /// The bytes at hand, and how many of them have been read.
    chunk: Vec<u8>,
    at: usize,
    /// Buffers that were read.
    used: Vec<Vec<u8>>,
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
    /// What did not fit: chunks of what the agent said as if they were lines, and lines to it.
    spill: Spill,
    /// The temporary file could not be written: the agent is held up.
    stuck: bool,
    spare: Vec<Vec<u8>>,
    ended: bool,
    /// Why nothing more is kept.
    lost: Option<InboxError>,
    /// The consumer has not been told of that yet.
    untold: bool,
}

impl State {
    fn lose(&mut self, error: InboxError) {
        self.lost = Some(error);
        self.untold = true;
        self.ended = true;
    }
}

/// What waits to be read.
#[derive(Debug)]
enum Entry {
    /// What the agent said next, wherever its lines begin and end.
    Heard(Vec<u8>),
    /// A line that was said to it.
    Said(Line),
    Failed(InboxError),
}

impl Entry {
    fn cost(&self) -> usize {
        match self {
            Self::Heard(bytes) => bytes.capacity() + OVERHEAD,
            Self::Said(line) => line.raw().len() + OVERHEAD,
            Self::Failed(_) => 0,
        }
    }

    fn into_spilled(self) -> Option<Item> {
        match self {
            Self::Heard(bytes) => Some(Item::new(Direction::ToHost, Line::from(bytes))),
            Self::Said(line) => Some(Item::new(Direction::ToAgent, line)),
            Self::Failed(_) => None,
        }
    }

    fn from_spilled(item: Item) -> Self {
        match item.direction {
            Direction::ToHost => Self::Heard(item.line.raw().to_vec()),
            Direction::ToAgent => Self::Said(item.line),
        }
    }
}

pub(crate) fn inbox(options: &Options) -> (Deliver, Inbox) {
    let Options { budget, overflow, max_line, .. } = *options;
    let state = State { spill: Spill::in_dir(options.spill_dir.clone()), ..State::default() };
    let shared = Shared {
        state: Mutex::new(state),
        filled: Arc::clone(&options.filled),
        ..Shared::default()
    };
    let shared = Arc::new(shared);
    let deliver = Deliver { shared: Arc::clone(&shared), budget, overflow };
    let inbox = Inbox {
        shared,
        batch: VecDeque::new(),
        decoder: LineDecoder::new().max_line(max_line),
        chunk: Vec::new(),
        at: 0,
        used: Vec::new(),
    };
    (deliver, inbox)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere does not make the queue wrong.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        loop {
            if let Some(frame) = self.cut() {
                match frame {
                    Frame::TooLong(too_long) => return Err(InboxError::TooLong(too_long)),
                    Frame::Line(line) if line.kind().is_ok_and(|kind| kind == "keep_alive") => {}
                    Frame::Line(line) => {
                        return Ok(Taken::Item(Item::new(Direction::ToHost, line)));
                    }
                }
                continue;
            }
            match self.batch.pop_front() {
                Some(Entry::Heard(bytes)) => {
                    let read = std::mem::replace(&mut self.chunk, bytes);
                    self.at = 0;
                    if read.capacity() >= WORTH_KEEPING && self.used.len() < SPARE {
                        self.used.push(read);
                    }
                }
                Some(Entry::Said(line)) => {
                    return Ok(Taken::Item(Item::new(Direction::ToAgent, line)));
                }
                Some(Entry::Failed(error)) => {
                    if !matches!(error, InboxError::Read(_)) {
                        // The rest of the line at hand is lost.
                        self.decoder.finish();
                    }
                    return Err(error);
                }
                None if self.refill() => {}
                None => {
                    let ended = self.shared.lock().ended;
                    // The last lines may have come together with the end.
                    if !ended {
                        return Ok(Taken::Nothing);
                    }
                    if self.refill() {
                        continue;
                    }
                    return Ok(match self.decoder.finish() {
                        Some(Frame::Line(line)) => Taken::Item(Item::new(Direction::ToHost, line)),
                        Some(Frame::TooLong(too_long)) => {
                            return Err(InboxError::TooLong(too_long));
                        }
                        None => Taken::Ended,
                    });
                }
            }
        }
    }

    /// The next line of the bytes at hand.
    fn cut(&mut self) -> Option<Frame> {
        let mut rest = self.chunk.get(self.at..).filter(|rest| !rest.is_empty())?;
        let frame = self.decoder.next(&mut rest);
        self.at = self.chunk.len() - rest.len();
        frame
    }

    /// Takes what is there. False if nothing is.
    fn refill(&mut self) -> bool {
        let mut state = self.shared.lock();
        let room = SPARE.saturating_sub(state.spare.len()).min(self.used.len());
        state.spare.extend(self.used.drain(..room));
        // Emptied here, so that others need not wait for it.
        let mut taken = std::mem::replace(&mut state.queue, std::mem::take(&mut self.batch));
        let mut bytes: usize = taken.iter().map(Entry::cost).sum();
        while bytes < AHEAD && !state.spill.is_empty() {
            let entry = match state.spill.pop() {
                Ok(Some(item)) => Entry::from_spilled(item),
                Ok(None) => break,
                Err(error) => {
                    // What is left in the file cannot be read either.
                    state.spill = Spill::default();
                    state.lose(InboxError::Spill(Arc::new(error)));
                    break;
                }
            };
            bytes += entry.cost();
            taken.push_back(entry);
        }
        state.stuck &= state.spill.in_memory() > READ_BACK;
        // Everything that was kept is read first.
        if state.untold && taken.is_empty() && state.spill.is_empty() {
            state.untold = false;
            taken.extend(state.lost.clone().map(Entry::Failed));
        }
        // What was taken last has been read by now.
        state.bytes = bytes;
        state.waiting = 0;
        state.reading = true;
        drop(state);
        self.batch = taken;
        self.used.clear();
        self.shared.drained.notify_one();
        !self.batch.is_empty()
    }
}

impl Deliver {
    /// Takes what the agent said. It never waits.
    pub(crate) fn heard(&self, bytes: Vec<u8>) {
        self.push(Entry::Heard(bytes));
    }

    /// Takes a line that was said to it.
    pub(crate) fn said(&self, line: Line) {
        self.push(Entry::Said(line));
    }

    fn push(&self, entry: Entry) {
        let mut state = self.shared.lock();
        if state.lost.is_none() {
            self.keep(&mut state, entry);
        }
        drop(state);
        self.shared.filled.notify_waiters();
    }

    fn keep(&self, state: &mut State, entry: Entry) {
        let cost = entry.cost();
        let fits = state.bytes + cost <= self.budget && state.spill.is_empty();
        if fits || self.overflow == Overflow::Pause {
            state.bytes += cost;
            state.waiting += cost;
            state.queue.push_back(entry);
            return;
        }
        let (Overflow::Spill, Some(item)) = (self.overflow, entry.into_spilled()) else {
            return state.lose(InboxError::TooSlow { budget: self.budget });
        };
        match state.spill.push(&item) {
            Ok(()) => state.stuck = false,
            // It is kept in memory; the agent is held up as soon as possible.
            Err(_) if state.spill.in_memory() <= self.budget.max(READ_BACK) + READ_BACK => {
                state.stuck = true;
            }
            Err(error) => state.lose(InboxError::Spill(Arc::new(error))),
        }
    }

    /// A buffer that was read, to be filled again.
    pub(crate) fn spare(&self) -> Option<Vec<u8>> {
        self.shared.lock().spare.pop()
    }

    /// Little comes now: no buffers need be kept.
    pub(crate) fn forget_spare(&self) {
        self.shared.lock().spare.clear();
    }

    /// Tells the consumer of something that is no line.
    pub(crate) fn push_error(&self, error: InboxError) {
        let mut state = self.shared.lock();
        if state.lost.is_none() {
            state.queue.push_back(Entry::Failed(error));
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
        let state = self.shared.lock();
        match self.overflow {
            Overflow::Pause => state.bytes > self.budget,
            Overflow::Spill => state.stuck,
            Overflow::Fail => false,
        }
    }

    /// Why nothing more is kept, if so.
    pub(crate) fn lost(&self) -> Option<InboxError> {
        self.shared.lock().lost.clone()
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
