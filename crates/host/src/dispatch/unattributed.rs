//! [`Unattributed`]: the events of turns whose prompt is not known yet.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use duologue_protocol::Uuid;
use duologue_protocol::transcript::Event;

use crate::error::Error;

use super::options::QueueOptions;
use super::queue::{Delivery, Queue, spill_event, spill_limit};
use super::spill::Spill;

/// What an event costs beside the bytes of its line.
const OVERHEAD: usize = 256;

/// The events of turns that no prompt is known to belong to, by turn and in order: in memory up to
/// the budget, then in files.
#[derive(Debug)]
pub(crate) struct Unattributed {
    turns: HashMap<u64, Kept>,
    /// What the events in memory cost.
    bytes: usize,
    options: QueueOptions,
}

/// The events of one turn.
#[derive(Debug, Default)]
struct Kept {
    events: Vec<(Event, usize)>,
    spill: Option<Spill>,
    bytes: usize,
    /// Events were lost because the file could not be written.
    failed: Option<Arc<io::Error>>,
}

impl Unattributed {
    pub(crate) fn new(options: QueueOptions) -> Self {
        Self { turns: HashMap::new(), bytes: 0, options }
    }

    /// Keeps an event of this turn. `size` is that of its line.
    pub(crate) fn push(&mut self, turn: u64, event: Event, size: usize) {
        let kept = self.turns.entry(turn).or_default();
        let cost = size + OVERHEAD;
        if kept.spill.is_none() && self.bytes + cost <= self.options.budget {
            self.bytes += cost;
            kept.bytes += cost;
            kept.events.push((event, size));
            return;
        }
        if kept.failed.is_some() {
            return;
        }
        let spill = kept.spill.get_or_insert_with(|| self.options.spill());
        let progress = match spill_event(spill, &event) {
            Ok(()) => spill.progress(),
            Err(error) => {
                kept.failed = Some(Arc::new(error));
                return;
            }
        };
        if !progress.writing && progress.unwritten > spill_limit(self.options.budget) {
            kept.failed = progress.failed;
        }
    }

    /// Copies all events of this turn to the end of a queue.
    ///
    /// # Errors
    /// If some of the events could not be kept.
    pub(crate) fn copy_to(&self, turn: u64, queue: &Queue) -> Result<(), Error> {
        let Some(kept) = self.turns.get(&turn) else { return Ok(()) };
        for (event, size) in &kept.events {
            queue.push(Delivery::Event(event.clone()), *size);
        }
        if let Some(spill) = &kept.spill {
            queue.append(spill.segments());
        }
        match &kept.failed {
            Some(error) => Err(Error::Spill(Arc::clone(error))),
            None => Ok(()),
        }
    }

    /// Drops the events of this turn.
    pub(crate) fn forget(&mut self, turn: u64) {
        if let Some(kept) = self.turns.remove(&turn) {
            self.bytes -= kept.bytes;
        }
    }

    /// Drops all events.
    pub(crate) fn clear(&mut self) {
        self.turns.clear();
        self.bytes = 0;
    }
}

/// Whether an event says which prompt its turn answers. Several of them may follow each other.
pub(crate) fn names_prompt(event: &Event) -> bool {
    matches!(event, Event::PromptAccepted(_) | Event::PromptMerged(_) | Event::TurnStarted(_))
}

/// The prompt that an event is about.
pub(crate) fn prompt_of(event: &Event) -> Option<&Uuid> {
    match event {
        Event::PromptQueued(event) => event.uuid.as_ref(),
        Event::PromptAccepted(event) => event.uuid.as_ref(),
        Event::PromptMerged(event) => event.uuid.as_ref(),
        Event::PromptCancelled(event) => Some(&event.uuid),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use std::path::PathBuf;

    use duologue_protocol::transcript::TextDeltaEvent;
    use tokio::runtime::Handle;

    use super::super::queue::Reader;
    use super::*;

    fn event(turn: u64, number: u64) -> Event {
        TextDeltaEvent::new().turn(turn).text(format!("{number}")).into()
    }

    async fn copied(unattributed: &Unattributed, turn: u64) -> Vec<Event> {
        let queue = Arc::new(Queue::new(&QueueOptions::new(500)));
        unattributed.copy_to(turn, &queue).unwrap();
        queue.end(Ok(None));
        let mut reader = Reader::new(queue, Handle::current());
        let mut events = Vec::new();
        while let Ok(Delivery::Event(event)) = reader.next().await {
            events.push(event);
        }
        events
    }

    #[tokio::test]
    async fn events_stay_in_order_beyond_the_budget_until_they_are_forgotten() {
        let mut unattributed = Unattributed::new(QueueOptions::new(3_000));
        for number in 0..1_000 {
            unattributed.push(number % 2, event(number % 2, number), 100);
        }
        let expected =
            |turn: u64| (0..1_000).filter(move |n| n % 2 == turn).map(move |n| event(turn, n));
        for _ in 0..2 {
            assert_eq!(copied(&unattributed, 1).await, expected(1).collect::<Vec<_>>());
        }
        unattributed.forget(1);
        assert!(copied(&unattributed, 1).await.is_empty());
        assert_eq!(copied(&unattributed, 0).await, expected(0).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn events_that_could_not_be_kept_are_an_error() {
        let dir = Some(PathBuf::from("/there is no such directory"));
        let mut unattributed = Unattributed::new(QueueOptions::new(3_000).spill_dir(dir));
        let failed = |unattributed: &Unattributed| {
            unattributed.copy_to(1, &Queue::new(&QueueOptions::new(500))).is_err()
        };
        while !failed(&unattributed) {
            for _ in 0..20 {
                let text = "x".repeat(100_000);
                unattributed.push(1, TextDeltaEvent::new().turn(1_u64).text(text).into(), 100);
            }
            tokio::task::yield_now().await;
        }
    }
}
