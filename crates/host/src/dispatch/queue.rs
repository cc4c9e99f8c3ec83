//! [`Queue`]: what waits for one subscriber, in memory up to a budget, then in a file. [`Reader`] is the
//! subscriber's end.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use duologue_protocol::transcript::Event;
use duologue_protocol::{Decoded, Line, ToHost, Wire as _};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::outcome::TurnOutcome;

use super::options::{Overflow, QueueOptions};
use super::spill::{Entries, SEGMENT, Segment, Spill};

/// What a delivery costs beside the bytes of its line.
const OVERHEAD: usize = 256;

/// How many bytes may wait for a subscriber that reads before the agent is read further: enough for both
/// to work at once, and little beside what a program needs anyway.
const READ_AHEAD: usize = 256 * 1024;

/// How many bytes may wait to be written to the file before the agent is not read.
const WRITE_BEHIND: usize = 4 * SEGMENT;

/// Something for a subscriber.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// An event.
    Event(Event),
    /// A line to the host, and what it says. A line that was in a file is decoded again when it is read.
    Line(Line, Option<Decoded<ToHost>>),
}

/// How a subscription ends: with an outcome if it is that of a turn.
pub(crate) type End = Result<Option<TurnOutcome>, Error>;

/// What waits for one subscriber.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    spill: Spill,
    budget: usize,
    overflow: Overflow,
    /// Notified when the subscriber has taken something.
    drained: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    ready: VecDeque<Delivery>,
    /// What the deliveries in `ready` cost.
    ready_bytes: usize,
    /// What the deliveries cost that the reader has taken last.
    taken_bytes: usize,
    /// Everything new goes to the file, to keep the order.
    spilling: bool,
    /// The reader has come for more since it last was too slow.
    reading: bool,
    /// The agent has accepted the prompt of this subscription.
    accepted: bool,
    /// What follows after all deliveries.
    end: Option<End>,
    waker: Option<Waker>,
}

/// Whether a queue wants the agent not to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pressure {
    /// It does not.
    #[default]
    None,
    /// For a moment: its subscriber reads, and has enough to read.
    ReadAhead,
    /// Until its subscriber has caught up, or the disk has.
    Full,
    /// Whatever else is awaited from the agent: the disk is writing more than memory may hold.
    Blocked,
}

impl Queue {
    pub(crate) fn new(options: &QueueOptions) -> Self {
        Self {
            state: Mutex::default(),
            spill: options.spill(),
            budget: options.budget,
            overflow: options.overflow,
            drained: Arc::clone(&options.drained),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a delivery; `size` is that of its line. False if the queue has failed: nothing more is kept.
    pub(crate) fn push(&self, delivery: Delivery, size: usize) -> bool {
        let mut state = self.lock();
        if state.end.is_some() {
            return false;
        }
        let cost = size + OVERHEAD;
        let waiting = state.ready_bytes + state.taken_bytes;
        let fits = waiting + cost <= self.budget || state.ready.is_empty();
        if fits && !state.spilling {
            state.ready_bytes += cost;
            state.ready.push_back(delivery);
            return true;
        }
        if self.overflow == Overflow::Fail {
            state.end = Some(Err(Error::TooSlow { budget: self.budget }));
            return false;
        }
        state.spilling = true;
        let written = match delivery {
            Delivery::Event(event) => self.spill.push(EVENT, event.to_json().as_bytes()),
            Delivery::Line(line, _) if line.has_newline() => self.spill.push(LINE, line.raw()),
            Delivery::Line(line, _) => self.spill.push(LAST_LINE, line.raw()),
        };
        let progress = self.spill.progress();
        let failed = progress
            .failed
            .filter(|_| !progress.writing && progress.unwritten > spill_limit(self.budget));
        match failed.or_else(|| written.err().map(Arc::new)) {
            None => true,
            Some(error) => {
                state.end = Some(Err(Error::Spill(error)));
                false
            }
        }
    }

    /// Appends segments with events.
    pub(crate) fn append(&self, segments: Vec<Segment>) {
        if !segments.is_empty() {
            self.lock().spilling = true;
            self.spill.append(segments);
        }
    }

    /// Says what follows after all deliveries, unless that was said before.
    pub(crate) fn end(&self, end: End) {
        self.lock().end.get_or_insert(end);
    }

    /// The agent has accepted the prompt of this subscription.
    pub(crate) fn accept(&self) {
        self.lock().accepted = true;
    }

    /// The agent that has accepted the prompt is gone; the next one gets the prompt again.
    pub(crate) fn reject(&self) {
        self.lock().accepted = false;
    }

    /// Wakes the subscriber, who may find something.
    pub(crate) fn wake(&self) {
        let waker = self.lock().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether the agent should not be read.
    pub(crate) fn pressure(&self) -> Pressure {
        let state = self.lock();
        if state.end.is_some() {
            return Pressure::None;
        }
        if state.spilling {
            let progress = self.spill.progress();
            if progress.writing && progress.unwritten > spill_limit(self.budget) {
                return Pressure::Blocked;
            }
            let is_stuck = progress.failed.is_some() || progress.unwritten > WRITE_BEHIND;
            if is_stuck || self.overflow == Overflow::Pause {
                return Pressure::Full;
            }
        }
        let waiting = state.ready_bytes + state.taken_bytes;
        if self.overflow == Overflow::Pause && waiting > self.budget {
            Pressure::Full
        } else if state.reading && state.ready_bytes > READ_AHEAD {
            Pressure::ReadAhead
        } else {
            Pressure::None
        }
    }

    /// The reader is too slow: the agent is not paused for it until it reads again.
    pub(crate) fn stop_pausing(&self) {
        let mut state = self.lock();
        state.reading &= state.ready_bytes <= READ_AHEAD;
    }
}

/// How many bytes of a queue that cannot be written may be in memory.
pub(crate) fn spill_limit(budget: usize) -> usize {
    budget.max(SEGMENT) + SEGMENT
}

/// The kinds of entries in a file.
const EVENT: u8 = 0;
const LINE: u8 = 1;
/// The last line of its stream: it had no newline.
const LAST_LINE: u8 = 2;

/// Writes an event to a file.
pub(crate) fn spill_event(spill: &Spill, event: &Event) -> io::Result<()> {
    spill.push(EVENT, event.to_json().as_bytes())
}

fn decode(kind: u8, entry: &[u8]) -> io::Result<Delivery> {
    match kind {
        EVENT => {
            let json = std::str::from_utf8(entry).map_err(io::Error::other)?;
            Event::from_json(json).map(Delivery::Event).map_err(io::Error::other)
        }
        LAST_LINE => Ok(Delivery::Line(Line::from(entry.to_vec()).without_newline(), None)),
        _ => Ok(Delivery::Line(Line::from(entry.to_vec()), None)),
    }
}

/// The subscriber's end of a queue.
#[derive(Debug)]
pub(crate) struct Reader {
    queue: Arc<Queue>,
    runtime: tokio::runtime::Handle,
    /// What was taken out of the queue, all at once, as taking needs a lock.
    batch: VecDeque<Delivery>,
    /// What was read from the file.
    entries: Option<Entries>,
    /// Reads from the file.
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl Reader {
    pub(crate) fn new(queue: Arc<Queue>, runtime: tokio::runtime::Handle) -> Self {
        Self { queue, runtime, batch: VecDeque::new(), entries: None, reading: None }
    }

    /// The next delivery, or how the subscription ends. Cancel safe.
    #[cfg(test)]
    pub(crate) async fn next(&mut self) -> Result<Delivery, End> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The next delivery, if it was taken out of the queue already.
    pub(crate) fn next_in_batch(&mut self) -> Option<Delivery> {
        self.batch.pop_front()
    }

    /// Waits until the agent has accepted the prompt. False if the subscription ends before. Cancel safe.
    pub(crate) async fn accepted(&mut self) -> bool {
        poll_fn(|context| {
            let mut state = self.queue.lock();
            if state.accepted {
                return Poll::Ready(true);
            }
            if state.end.is_some() {
                return Poll::Ready(false);
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Delivery, End>> {
        loop {
            if let Some(delivery) = self.batch.pop_front() {
                return Poll::Ready(Ok(delivery));
            }
            if let Some(entries) = &mut self.entries {
                if let Some((kind, entry)) = entries.next() {
                    return Poll::Ready(decode(kind, entry).map_err(failed));
                }
                self.entries = None;
            }
            if let Some(reading) = &mut self.reading {
                let read = ready!(Pin::new(reading).poll(context));
                self.reading = None;
                match read.map_err(io::Error::other).flatten() {
                    Ok(bytes) => self.entries = Some(Entries::new(Arc::new(bytes))),
                    Err(error) => {
                        self.queue.end(failed(error));
                    }
                }
                continue;
            }
            if let Some(end) = self.take(context) {
                return end.map(Err);
            }
        }
    }

    /// Takes what is there; `None` if something was.
    fn take(&mut self, context: &mut Context<'_>) -> Option<Poll<End>> {
        let mut state = self.queue.lock();
        state.reading = true;
        state.taken_bytes = 0;
        if !state.ready.is_empty() {
            std::mem::swap(&mut state.ready, &mut self.batch);
            state.taken_bytes = std::mem::take(&mut state.ready_bytes);
        } else if state.spilling {
            match self.queue.spill.pop() {
                None => state.spilling = false,
                Some(Segment::Memory(bytes)) => self.entries = Some(Entries::new(bytes)),
                Some(Segment::File(segment)) => {
                    self.reading = Some(self.runtime.spawn_blocking(move || segment.read()));
                }
            }
        } else if let Some(end) = &state.end {
            return Some(Poll::Ready(end.clone()));
        } else {
            state.waker = Some(context.waker().clone());
            return Some(Poll::Pending);
        }
        drop(state);
        self.queue.drained.notify_one();
        None
    }
}

fn failed(error: io::Error) -> End {
    Err(Error::Spill(Arc::new(error)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue_protocol::transcript::TextDeltaEvent;
    use tokio::runtime::Handle;

    use super::*;

    fn event(number: usize) -> Event {
        TextDeltaEvent::new()
            .text(format!("{number} \u{2028} \"x\" {}", "y".repeat(number % 900)))
            .into()
    }

    fn queue(options: &QueueOptions) -> (Arc<Queue>, Reader) {
        let queue = Arc::new(Queue::new(options));
        (Arc::clone(&queue), Reader::new(queue, Handle::current()))
    }

    #[tokio::test]
    async fn events_and_lines_come_back_in_order_beyond_the_budget() {
        let (queue, mut reader) = queue(&QueueOptions::new(2_000));
        let (first, second) = (5_000, 9_000);
        let push = |number: usize| {
            let delivery = if number.is_multiple_of(3) {
                Delivery::Line(Line::from(format!("{{\"type\":\"x{number}\"}}")), None)
            } else {
                Delivery::Event(event(number))
            };
            assert!(queue.push(delivery, 20));
        };
        (0..first).for_each(push);
        for number in 0..second {
            if number == first / 2 {
                (first..second).for_each(push);
                queue.end(Ok(None));
            }
            match reader.next().await.unwrap() {
                Delivery::Event(found) => assert_eq!(found, event(number)),
                Delivery::Line(line, _) => {
                    assert_eq!(line.kind().unwrap(), format!("x{number}"));
                }
            }
        }
        assert!(matches!(reader.next().await, Err(Ok(None))));
    }

    #[tokio::test]
    async fn a_queue_that_must_not_overflow_fails_after_what_was_kept() {
        let options = QueueOptions::new(5_000).overflow(Overflow::Fail);
        let (queue, mut reader) = queue(&options);
        let kept = (0..100).take_while(|n| queue.push(Delivery::Event(event(*n)), 0)).count();
        assert!((10..30).contains(&kept), "{kept}");
        for _ in 0..kept {
            assert!(reader.next().await.is_ok());
        }
        assert!(matches!(reader.next().await, Err(Err(Error::TooSlow { budget: 5_000 }))));
    }

    #[tokio::test]
    async fn a_waiting_reader_is_woken() {
        let (queue, mut reader) = queue(&QueueOptions::new(5_000));
        let reading = tokio::spawn(async move { reader.next().await });
        tokio::task::yield_now().await;
        queue.push(Delivery::Event(event(1)), 0);
        queue.wake();
        assert!(matches!(reading.await.unwrap(), Ok(Delivery::Event(_))));
    }
}
