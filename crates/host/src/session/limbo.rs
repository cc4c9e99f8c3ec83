//! [`Limbo`]: events of turns of which nobody knows yet whose they are.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

use duologue_protocol::Uuid;
use duologue_protocol::transcript::Event;

use super::queue::{Parcel, Queue};

/// The events of turns that no prompt is known to belong to, in order: in memory up to the budget of
/// the session, then in a file.
#[derive(Debug)]
pub(crate) struct Limbo {
    queue: Queue,
    /// How many events of each turn are in it.
    turns: HashMap<u64, usize>,
    budget: usize,
    spill_dir: Option<PathBuf>,
    /// Events were lost because the file could not be used.
    failed: Option<io::ErrorKind>,
}

impl Limbo {
    pub(crate) fn new(budget: usize, spill_dir: Option<PathBuf>) -> Self {
        let queue = Queue::new(budget, spill_dir.clone());
        Self { queue, turns: HashMap::new(), budget, spill_dir, failed: None }
    }

    /// Keeps an event of this turn. `size` is that of the line it came from.
    pub(crate) fn push(&mut self, turn: u64, event: Event, size: usize) {
        *self.turns.entry(turn).or_default() += 1;
        if let Err(error) = self.queue.push(Parcel::Event(event), size) {
            self.failed = Some(error.kind());
        }
    }

    /// Whether there are events of this turn.
    pub(crate) fn has(&self, turn: u64) -> bool {
        self.turns.contains_key(&turn)
    }

    /// Shows all events of this turn, in order. They stay.
    ///
    /// # Errors
    /// If some of the events could not be kept.
    pub(crate) fn show(&mut self, turn: u64, mut each: impl FnMut(Event, usize)) -> io::Result<()> {
        if !self.has(turn) {
            return Ok(());
        }
        self.go_through(|event, size| {
            if event.turn() == Some(turn) {
                each(event.clone(), size);
            }
            true
        });
        self.failed.map_or(Ok(()), |kind| Err(kind.into()))
    }

    /// Nobody needs the events of this turn any more.
    pub(crate) fn forget(&mut self, turn: u64) {
        if self.turns.remove(&turn).is_none() {
            return;
        }
        if self.turns.is_empty() {
            *self = Self::new(self.budget, self.spill_dir.take());
        } else {
            self.go_through(|event, _| event.turn() != Some(turn));
        }
    }

    /// Goes through all events in order, and keeps some.
    fn go_through(&mut self, mut keep: impl FnMut(&Event, usize) -> bool) {
        let mut kept = Queue::new(self.budget, self.spill_dir.clone());
        loop {
            match self.queue.pop() {
                Ok(Some((Parcel::Event(event), size))) => {
                    if keep(&event, size)
                        && let Err(error) = kept.push(Parcel::Event(event), size)
                    {
                        self.failed = Some(error.kind());
                    }
                }
                Ok(Some((Parcel::Line(..), _))) => {}
                Ok(None) => break,
                Err(error) => {
                    self.failed = Some(error.kind());
                    break;
                }
            }
        }
        self.queue = kept;
    }
}

/// Whether an event tells whose turn it is: several in a row may.
pub(crate) fn tells_whose(event: &Event) -> bool {
    matches!(event, Event::PromptAccepted(_) | Event::PromptMerged(_) | Event::TurnStarted(_))
}

/// The prompt that an event is about.
pub(crate) fn prompt_of(event: &Event) -> Option<&Uuid> {
    match event {
        Event::PromptQueued(event) => event.uuid.value(),
        Event::PromptAccepted(event) => event.uuid.value(),
        Event::PromptMerged(event) => event.uuid.value(),
        Event::PromptCancelled(event) => event.uuid.value(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue_protocol::transcript::TextDelta;

    use super::*;

    fn event(turn: u64, number: u64) -> Event {
        TextDelta::new().turn(turn).text(format!("{number}")).into()
    }

    fn shown(limbo: &mut Limbo, turn: u64) -> Vec<Event> {
        let mut shown = Vec::new();
        limbo.show(turn, |event, _| shown.push(event)).unwrap();
        shown
    }

    #[test]
    fn events_stay_in_order_beyond_the_budget_until_they_are_forgotten() {
        let mut limbo = Limbo::new(3_000, None);
        for number in 0..1_000 {
            limbo.push(number % 2, event(number % 2, number), 100);
        }
        let expected =
            |turn: u64| (0..1_000).filter(move |n| n % 2 == turn).map(move |n| event(turn, n));
        for _ in 0..2 {
            assert_eq!(shown(&mut limbo, 1), expected(1).collect::<Vec<_>>());
        }
        limbo.forget(1);
        assert!(shown(&mut limbo, 1).is_empty());
        assert_eq!(shown(&mut limbo, 0), expected(0).collect::<Vec<_>>());
    }

    #[test]
    fn what_could_not_be_kept_is_an_error() {
        let dir = Some(PathBuf::from("/there is no such directory"));
        let mut limbo = Limbo::new(3_000, dir);
        for number in 0..100 {
            let text = "x".repeat(100_000);
            limbo.push(1, TextDelta::new().turn(1_u64).text(text).into(), number);
        }
        assert!(limbo.show(1, |_, _| {}).is_err());
    }
}
