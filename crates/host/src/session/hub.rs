//! [`Hub`]: takes lines in, folds them into events, and gives each to whoever it belongs to.
//!
//! Nobody runs it: whoever reads pumps it. What belongs to others meanwhile waits in their queues.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use duologue_link::{Inbox, InboxError, Item, Taken};
use duologue_protocol::transcript::{Event, Outcome, Transcript};
use duologue_protocol::{Decoded, Direction, SessionId, ToHost, Uuid};

use crate::error::Error;
use crate::outcome::TurnOutcome;

use super::applied::Applied;
use super::limbo::{Limbo, prompt_of, tells_whose};
use super::queue::{Parcel, Queue};

/// How many lines are worked on at once if they are there, and from how many bytes on it is enough.
///
/// All are read, then all are folded, then all are given out: so each step keeps the processor's
/// caches to itself. Its instructions miss them a quarter as often as if each line went through all.
const LINES_AT_ONCE: usize = 32;
const BYTES_AT_ONCE: usize = 64 * 1024;

/// Where a reader sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeatId(u64);

/// What a reader wants.
#[derive(Clone, Debug)]
pub(crate) enum Wants {
    /// The events of the turn that answers this prompt.
    Turn(Uuid),
    /// All events.
    Events,
    /// All lines to the host.
    Lines,
}

#[derive(Debug)]
struct Seat {
    id: SeatId,
    wants: Wants,
    queue: Queue,
    /// The number of the turn, once it is known.
    turn: Option<u64>,
    /// The run of the agent to which the prompt was sent.
    run: u64,
    accepted: bool,
    /// What comes after the queue.
    over: Option<Over>,
}

/// How a run of the agent ended.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    /// What its unfinished turns are told.
    pub(crate) error: Error,
    /// This host has stopped it: its unfinished turns were interrupted.
    pub(crate) interrupted: bool,
    /// Prompts without a result are sent again: their turns stay open.
    pub(crate) resend: bool,
    /// There will be no other run. An error if that was not meant to be.
    pub(crate) last: Option<Result<(), Error>>,
}

/// One process of the agent, as far as its lines go.
#[derive(Debug)]
struct Run {
    number: u64,
    inbox: Inbox,
    ending: Option<Ending>,
}

/// What pumping came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pumped {
    /// Something happened.
    Something,
    /// Nothing is there now.
    Nothing,
}

/// How it ends for a reader: with an outcome if it is that of a turn.
pub(crate) type Over = Result<Option<TurnOutcome>, Error>;

/// What a reader finds.
#[derive(Debug)]
pub(crate) enum Found {
    /// Some parcels.
    Parcels,
    /// There will be nothing more.
    Over(Over),
    /// Nothing now.
    Nothing,
}

#[derive(Debug)]
pub(crate) struct Hub {
    runs: VecDeque<Run>,
    transcript: Transcript,
    seats: Vec<Seat>,
    seated: u64,
    /// Events of turns of which it is not known whose they are.
    limbo: Limbo,
    /// Who gets the event at hand: kept, as there are many events. So are the lines at hand.
    recipients: Vec<usize>,
    lines: Vec<(Item, Option<Decoded<ToHost>>)>,
    budget: usize,
    spill_dir: Option<PathBuf>,
    over: Option<Result<(), Error>>,
    pub(crate) spent_usd: f64,
    pub(crate) session_id: Option<SessionId>,
    /// What was changed since the agent was started.
    pub(crate) applied: Applied,
}

impl Hub {
    pub(crate) fn new(budget: usize, spill_dir: Option<PathBuf>) -> Self {
        Self {
            runs: VecDeque::new(),
            transcript: Transcript::new(),
            seats: Vec::new(),
            seated: 0,
            limbo: Limbo::new(budget, spill_dir.clone()),
            recipients: Vec::new(),
            lines: Vec::new(),
            budget,
            spill_dir,
            over: None,
            spent_usd: 0.0,
            session_id: None,
            applied: Applied::default(),
        }
    }

    /// How many read.
    pub(crate) fn readers(&self) -> usize {
        self.seats.len()
    }

    /// The agent runs (again).
    pub(crate) fn add_run(&mut self, number: u64, inbox: Inbox) {
        self.runs.push_back(Run { number, inbox, ending: None });
    }

    /// A run has ended. What it wrote before is still read first.
    pub(crate) fn end_run(&mut self, number: u64, ending: Ending) {
        // If it was never there, what those before it wrote is still read first.
        match self.runs.iter_mut().rev().find(|run| run.number <= number) {
            Some(run) => run.ending = Some(ending),
            None => self.apply(number, ending),
        }
    }

    pub(crate) fn sit(&mut self, wants: Wants, run: u64) -> SeatId {
        self.seated += 1;
        let id = SeatId(self.seated);
        let over = match (&self.over, &wants) {
            (Some(Err(error)), _) => Some(Err(error.clone())),
            (Some(Ok(())), Wants::Turn(_)) => Some(Err(Error::Closed)),
            (Some(Ok(())), _) => Some(Ok(None)),
            (None, _) => None,
        };
        let queue = Queue::new(self.budget, self.spill_dir.clone());
        self.seats.push(Seat { id, wants, queue, turn: None, run, accepted: false, over });
        id
    }

    pub(crate) fn leave(&mut self, id: SeatId) {
        self.seats.retain(|seat| seat.id != id);
    }

    /// Whether what the agent says can be told.
    ///
    /// # Errors
    /// If its lines could not be kept.
    pub(crate) fn can_be_followed(&self) -> Result<(), Error> {
        match &self.over {
            Some(Err(error @ Error::Stream(_))) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// The prompts that no result has answered yet, oldest first.
    pub(crate) fn unanswered(&self) -> impl Iterator<Item = &Uuid> {
        self.seats.iter().filter(|seat| seat.over.is_none()).filter_map(|seat| match &seat.wants {
            Wants::Turn(uuid) => Some(uuid),
            _ => None,
        })
    }

    /// The prompts of this run stay open, and belong to another run now.
    pub(crate) fn move_turns(&mut self, to: u64) {
        for seat in &mut self.seats {
            if matches!(seat.wants, Wants::Turn(_)) && seat.over.is_none() {
                (seat.run, seat.turn, seat.accepted) = (to, None, false);
            }
        }
    }

    /// Whether the prompt of this seat was taken; `None` if it no longer matters.
    pub(crate) fn accepted(&self, id: SeatId) -> Option<bool> {
        let seat = self.seats.iter().find(|seat| seat.id == id)?;
        if seat.accepted {
            Some(true)
        } else if seat.over.is_some() {
            None
        } else {
            Some(false)
        }
    }

    /// What is there for this reader. Parcels are put where it says.
    pub(crate) fn take(&mut self, id: SeatId, parcels: &mut VecDeque<Parcel>) -> Found {
        let Some(seat) = self.seats.iter_mut().find(|seat| seat.id == id) else {
            return Found::Over(Ok(None));
        };
        match seat.queue.pop_some(parcels) {
            Ok(()) if !parcels.is_empty() => Found::Parcels,
            Ok(()) => match &seat.over {
                Some(over) => Found::Over(over.clone()),
                None => Found::Nothing,
            },
            Err(error) => Found::Over(Err(Error::Queue(Arc::new(error)))),
        }
    }

    /// Reads some lines, if they are there.
    pub(crate) fn pump(&mut self) -> Pumped {
        let Some(run) = self.runs.front_mut() else { return Pumped::Nothing };
        let mut bytes = 0;
        let stopped = loop {
            if self.lines.len() == LINES_AT_ONCE || bytes >= BYTES_AT_ONCE {
                break None;
            }
            match run.inbox.try_next() {
                Ok(Taken::Item(item)) => {
                    bytes += item.line.raw().len();
                    self.lines.push((item, None));
                }
                other => break Some(other),
            }
        };
        let found = !self.lines.is_empty();
        if found {
            self.fold(bytes);
        }
        match stopped {
            None | Some(Ok(Taken::Item(_))) => {}
            // The end is found again; what came before it is told first.
            Some(Ok(_)) if found => {}
            Some(Ok(Taken::Nothing)) => return Pumped::Nothing,
            Some(Ok(Taken::Ended)) => return self.run_ended(),
            Some(Err(error)) => self.failed(error),
        }
        Pumped::Something
    }

    fn run_ended(&mut self) -> Pumped {
        let Some(run) = self.runs.front_mut() else { return Pumped::Nothing };
        let Some(ending) = run.ending.take() else { return Pumped::Nothing };
        let number = run.number;
        self.runs.pop_front();
        self.transcript.handle_end();
        self.route_all(0);
        self.transcript.handle_restart();
        self.applied.ended();
        self.apply(number, ending);
        Pumped::Something
    }

    fn failed(&mut self, error: InboxError) {
        if let InboxError::TooLong(too_long) = error {
            // It may have been the end of a turn.
            self.transcript.handle_too_long(&too_long);
            return self.route_all(0);
        }
        let for_good = !matches!(error, InboxError::Read(_));
        let error = Error::from(error);
        for seat in self.seats.iter_mut().filter(|seat| seat.over.is_none()) {
            seat.over = Some(Err(error.clone()));
        }
        // Nothing more will be told of any turn, also to those who ask later.
        if for_good {
            self.over = Some(Err(error));
        }
    }

    fn apply(&mut self, number: u64, ending: Ending) {
        for seat in self.seats.iter_mut().filter(|seat| seat.over.is_none()) {
            match (&seat.wants, &ending.last) {
                (Wants::Turn(_), _) if seat.run <= number => {
                    if ending.interrupted {
                        let outcome = TurnOutcome::without_result(Outcome::Interrupted, None);
                        seat.over = Some(Ok(Some(outcome)));
                    } else if !ending.resend {
                        seat.over = Some(Err(ending.error.clone()));
                    }
                }
                (Wants::Turn(_), Some(Ok(()))) => seat.over = Some(Err(Error::Closed)),
                (_, Some(Ok(()))) => seat.over = Some(Ok(None)),
                (_, Some(Err(error))) => seat.over = Some(Err(error.clone())),
                (_, None) => {}
            }
        }
        if ending.last.is_some() {
            self.over = ending.last;
        }
    }

    /// Folds the lines at hand into events, and gives out both.
    fn fold(&mut self, bytes: usize) {
        for (item, decoded) in &mut self.lines {
            if item.direction == Direction::ToHost {
                *decoded = Some(item.line.to_host());
            }
        }
        for (item, decoded) in &self.lines {
            match decoded {
                Some(decoded) => {
                    self.applied.came(decoded);
                    self.transcript.handle_to_host(decoded, &item.line);
                }
                None => {
                    self.applied.sent(&item.line);
                    self.transcript.handle_line(Direction::ToAgent, &item.line);
                }
            }
        }
        // What an event keeps in memory is its line. On the whole that comes to this.
        let size = bytes / self.lines.len().max(1);
        for (item, mut decoded) in self.lines.drain(..) {
            let readers = self.seats.iter_mut().filter(|seat| seat.over.is_none());
            for seat in readers.filter(|seat| matches!(seat.wants, Wants::Lines)) {
                if item.direction == Direction::ToHost {
                    let size = item.line.raw().len();
                    // The first gets what was read of it; the others read it again.
                    seat.push(Parcel::Line(item.line.clone(), decoded.take()), size);
                }
            }
        }
        self.route_all(size);
    }

    fn route_all(&mut self, size: usize) {
        while let Some(event) = self.transcript.poll_event() {
            self.route(event, size);
        }
    }

    /// Gives an event to whoever it belongs to.
    fn route(&mut self, event: Event, size: usize) {
        self.attribute(&event);
        let turn = event.turn();
        let uuid = prompt_of(&event).cloned();
        let mut recipients = std::mem::take(&mut self.recipients);
        let mut waiting = false;
        for (at, seat) in self.seats.iter().enumerate().filter(|(_, seat)| seat.over.is_none()) {
            match &seat.wants {
                Wants::Events => recipients.push(at),
                Wants::Lines => {}
                Wants::Turn(prompt) => {
                    if (turn.is_some() && seat.turn == turn) || uuid.as_ref() == Some(prompt) {
                        recipients.push(at);
                    } else if seat.turn.is_none() {
                        waiting = true;
                    }
                }
            }
        }
        // Whose turn it is may be told only after it has begun.
        let owned = recipients
            .iter()
            .any(|at| self.seats.get(*at).is_some_and(|seat| matches!(seat.wants, Wants::Turn(_))));
        match turn {
            Some(turn) if waiting && !owned => self.limbo.push(turn, event.clone(), size),
            // From now on a prompt that joins the turn is told what happens after that.
            Some(turn) if owned && !tells_whose(&event) => self.limbo.forget(turn),
            _ => {}
        }
        let last = recipients.pop();
        for at in recipients.drain(..) {
            if let Some(seat) = self.seats.get_mut(at) {
                seat.push(Parcel::Event(event.clone()), size);
            }
        }
        self.recipients = recipients;
        self.settle(&event);
        if let Some(seat) = last.and_then(|at| self.seats.get_mut(at)) {
            seat.push(Parcel::Event(event), size);
        }
    }

    /// Learns from an event whose turn it is.
    fn attribute(&mut self, event: &Event) {
        match event {
            Event::PromptAccepted(accepted) => {
                self.assign(accepted.uuid.value().into_iter(), event.turn());
            }
            Event::PromptMerged(merged) => {
                self.assign(merged.uuid.value().into_iter(), event.turn());
            }
            Event::TurnStarted(started) => {
                self.assign(started.prompts.items().iter(), event.turn())
            }
            Event::TurnFinished(finished) => {
                self.assign(finished.prompts.items().iter(), event.turn());
                if let Some(cost) = finished.cost_usd.value() {
                    self.spent_usd += cost.as_f64();
                }
                if let Some(session) = finished.session_id.value() {
                    self.session_id = Some(session.detach());
                }
            }
            Event::RunStarted(started) => {
                self.session_id = started.session_id.value().map(SessionId::detach);
            }
            Event::SessionChanged(changed) => {
                self.session_id = changed.to.value().map(SessionId::detach);
            }
            _ => {}
        }
    }

    /// These prompts are answered in this turn.
    fn assign<'u>(&mut self, uuids: impl Iterator<Item = &'u Uuid>, turn: Option<u64>) {
        for uuid in uuids {
            let is_theirs = |seat: &&mut Seat| match &seat.wants {
                Wants::Turn(prompt) => prompt == uuid,
                _ => false,
            };
            let Some(seat) = self.seats.iter_mut().find(is_theirs) else { continue };
            seat.accepted = true;
            if seat.turn.is_some() || turn.is_none() {
                continue;
            }
            seat.turn = turn;
            let Some(turn) = turn else { continue };
            let shown = self.limbo.show(turn, |event, size| {
                seat.push(Parcel::Event(event), size);
            });
            if let Err(error) = shown {
                seat.over = Some(Err(Error::Queue(Arc::new(error))));
            }
        }
    }

    /// Ends the turns that this event ends.
    fn settle(&mut self, event: &Event) {
        match event {
            Event::TurnFinished(finished) => {
                let turn = event.turn();
                for seat in &mut self.seats {
                    if seat.turn.is_some() && seat.turn == turn && seat.over.is_none() {
                        seat.over = Some(Ok(Some(TurnOutcome::new(finished.clone()))));
                    }
                }
                if let Some(turn) = turn {
                    self.limbo.forget(turn);
                }
            }
            Event::PromptCancelled(cancelled) => {
                for seat in self.seats.iter_mut().filter(|seat| seat.over.is_none()) {
                    if let (Wants::Turn(prompt), Some(uuid)) = (&seat.wants, cancelled.uuid.value())
                        && prompt == uuid
                    {
                        let outcome = TurnOutcome::without_result(
                            Outcome::Cancelled,
                            cancelled.state.as_str(),
                        );
                        seat.over = Some(Ok(Some(outcome)));
                    }
                }
            }
            _ => {}
        }
    }
}

impl Seat {
    fn push(&mut self, parcel: Parcel, size: usize) {
        if let Err(error) = self.queue.push(parcel, size) {
            self.over = Some(Err(Error::Queue(Arc::new(error))));
        }
    }
}
