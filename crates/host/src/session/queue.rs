//! What waits for one reader: events or lines, in memory up to a budget, then in a file.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;

use duologue_link::{Item, Spill};
use duologue_protocol::transcript::Event;
use duologue_protocol::{Decoded, Direction, Line, ToHost, Wire as _};

/// What a parcel costs beside the bytes of its line.
const OVERHEAD: usize = 256;

/// From how many bytes on a reader has taken enough at once.
const TAKEN_AT_ONCE: usize = 64 * 1024;

/// Something for a reader.
#[derive(Debug)]
pub(crate) enum Parcel {
    Event(Event),
    /// A line, and what was read of it if somebody has.
    Line(Line, Option<Decoded<ToHost>>),
}

/// What waits for one reader.
#[derive(Debug)]
pub(crate) struct Queue {
    parcels: VecDeque<(usize, Parcel)>,
    bytes: usize,
    budget: usize,
    spill: Spill,
}

impl Queue {
    pub(crate) fn new(budget: usize, spill_dir: Option<PathBuf>) -> Self {
        Self { parcels: VecDeque::new(), bytes: 0, budget, spill: Spill::in_dir(spill_dir) }
    }

    /// Puts a parcel at the end. `size` is that of the line it came from.
    pub(crate) fn push(&mut self, parcel: Parcel, size: usize) -> io::Result<()> {
        let cost = size + OVERHEAD;
        let fits = self.parcels.is_empty() || self.bytes + cost <= self.budget;
        if fits && self.spill.is_empty() {
            self.bytes += cost;
            self.parcels.push_back((cost, parcel));
            return Ok(());
        }
        // The direction tells what it is.
        let item = match parcel {
            Parcel::Event(event) => Item::new(Direction::ToAgent, Line::from(event.to_json())),
            Parcel::Line(line, _) => Item::new(Direction::ToHost, line),
        };
        self.spill.push(&item)
    }

    /// Takes the oldest parcels out: several, unless they are large.
    pub(crate) fn pop_some(&mut self, into: &mut VecDeque<Parcel>) -> io::Result<()> {
        let mut taken = 0;
        while taken < TAKEN_AT_ONCE
            && let Some((cost, parcel)) = self.parcels.pop_front()
        {
            self.bytes -= cost;
            taken += cost;
            into.push_back(parcel);
        }
        if taken == 0 {
            into.extend(self.pop_spilled()?.map(|(parcel, _)| parcel));
        }
        Ok(())
    }

    /// Takes the oldest parcel out, with the size of the line it came from.
    pub(crate) fn pop(&mut self) -> io::Result<Option<(Parcel, usize)>> {
        match self.parcels.pop_front() {
            Some((cost, parcel)) => {
                self.bytes -= cost;
                Ok(Some((parcel, cost.saturating_sub(OVERHEAD))))
            }
            None => self.pop_spilled(),
        }
    }

    fn pop_spilled(&mut self) -> io::Result<Option<(Parcel, usize)>> {
        let Some(item) = self.spill.pop()? else { return Ok(None) };
        let size = item.line.raw().len();
        let parcel = match item.direction {
            Direction::ToHost => Parcel::Line(item.line, None),
            Direction::ToAgent => {
                let json = std::str::from_utf8(item.line.raw()).map_err(io::Error::other)?;
                Parcel::Event(Event::from_json(json).map_err(io::Error::other)?)
            }
        };
        Ok(Some((parcel, size)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue_protocol::transcript::TextDelta;

    use super::*;

    fn event(number: usize) -> Event {
        TextDelta::new().text(format!("{number} \u{2028} \"x\"")).into()
    }

    #[test]
    fn events_and_lines_come_back_in_order_beyond_the_budget() {
        let mut queue = Queue::new(2_000, None);
        for number in 0..500 {
            if number % 3 == 0 {
                let line = Line::from(format!("{{\"type\":\"x{number}\"}}"));
                queue.push(Parcel::Line(line, None), 20).unwrap();
            } else {
                queue.push(Parcel::Event(event(number)), 20).unwrap();
            }
        }
        let mut taken = VecDeque::new();
        for number in 0..500 {
            if taken.is_empty() {
                queue.pop_some(&mut taken).unwrap();
            }
            match taken.pop_front().unwrap() {
                Parcel::Event(found) => assert_eq!(found, event(number)),
                Parcel::Line(line, _) => {
                    assert_eq!(line.kind().unwrap(), format!("x{number}"));
                }
            }
        }
        queue.pop_some(&mut taken).unwrap();
        assert!(taken.is_empty());
    }
}
