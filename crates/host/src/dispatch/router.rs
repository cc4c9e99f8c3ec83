//! [`Router`]: folds lines into events and delivers both to the subscriptions they belong to.
//!
//! All runs of a session share one router; their dispatchers feed it, one after the other.

use std::sync::Arc;

use duologue_protocol::transcript::{Event, Transcript, TurnState, TurnStatus};
use duologue_protocol::{Decoded, Line, SessionId, Text, ToHost, TooLong, Uuid};

use crate::error::Error;
use crate::outcome::TurnOutcome;

use super::applied::Applied;
use super::options::QueueOptions;
use super::queue::{Delivery, End, Pressure, Queue, Reader};
use super::unattributed::{Unattributed, names_prompt, prompt_of};

/// A line to the host, and what it says.
pub(crate) type DecodedLine = (Line, Decoded<ToHost>);

/// The number of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubscriptionId(u64);

/// What a subscriber gets.
#[derive(Clone, Debug)]
pub(crate) enum Filter {
    /// The events of the turn that answers this prompt.
    Turn(Uuid),
    /// All events.
    Events,
    /// All lines to the host.
    Lines,
}

#[derive(Debug)]
struct Subscription {
    id: SubscriptionId,
    filter: Filter,
    queue: Arc<Queue>,
    /// The number of the turn, once it is known.
    turn: Option<u64>,
    /// The run to which the prompt was sent.
    run: u64,
    /// Nothing more is delivered.
    ended: bool,
    /// Its reader must be woken.
    changed: bool,
}

/// How a run of the agent ended.
#[derive(Clone, Debug)]
pub(crate) struct RunEnd {
    /// The error of its unfinished turns.
    pub(crate) error: Error,
    /// This host has stopped it: its unfinished turns were interrupted.
    pub(crate) interrupted: bool,
    /// Prompts without a result are sent again: their turns stay open.
    pub(crate) resend: bool,
    /// Set if there will be no other run; an error if that was not intended.
    pub(crate) last: Option<Result<(), Error>>,
}

#[derive(Debug)]
pub(crate) struct Router {
    transcript: Transcript,
    subscriptions: Vec<Subscription>,
    next_id: u64,
    /// Events of turns whose prompt is not known yet.
    unattributed: Unattributed,
    /// Reused for each event.
    recipients: Vec<usize>,
    events: Vec<Event>,
    options: QueueOptions,
    /// How the session ended.
    ended: Option<Result<(), Error>>,
    spent_usd: f64,
    /// The error of the last result of this run, if it has one.
    failure: Option<Text>,
    session_id: Option<SessionId>,
    /// What was changed since the agent was started.
    applied: Applied,
}

impl Router {
    pub(crate) fn new(options: QueueOptions) -> Self {
        Self {
            transcript: Transcript::new(),
            subscriptions: Vec::new(),
            next_id: 0,
            unattributed: Unattributed::new(options.clone()),
            recipients: Vec::new(),
            events: Vec::new(),
            options,
            ended: None,
            spent_usd: 0.0,
            failure: None,
            session_id: None,
            applied: Applied::default(),
        }
    }

    /// What all turns have cost, in USD.
    pub(crate) const fn spent_usd(&self) -> f64 {
        self.spent_usd
    }

    /// The error of the last result of this run, if it has one.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    pub(crate) const fn session_id(&self) -> Option<&SessionId> {
        self.session_id.as_ref()
    }

    pub(crate) const fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Subscribes: everything that is routed from now on is delivered.
    pub(crate) fn subscribe(&mut self, filter: Filter, run: u64) -> (SubscriptionId, Reader) {
        self.next_id += 1;
        let id = SubscriptionId(self.next_id);
        let queue = Arc::new(Queue::new(&self.options));
        let reader = Reader::new(Arc::clone(&queue), self.options.runtime.clone());
        let mut subscription =
            Subscription { id, filter, queue, turn: None, run, ended: false, changed: false };
        match (&self.ended, &subscription.filter) {
            (None, _) => {}
            (Some(Err(error)), _) => subscription.end(Err(error.clone())),
            (Some(Ok(())), Filter::Turn(_)) => subscription.end(Err(Error::Closed)),
            (Some(Ok(())), _) => subscription.end(Ok(None)),
        }
        self.subscriptions.push(subscription);
        (id, reader)
    }

    pub(crate) fn unsubscribe(&mut self, id: SubscriptionId) {
        self.subscriptions.retain(|subscription| subscription.id != id);
        self.options.drained.notify_one();
    }

    /// The prompts that no result has answered yet, oldest first.
    pub(crate) fn unanswered(&self) -> impl Iterator<Item = &Uuid> {
        let open = self.subscriptions.iter().filter(|subscription| !subscription.ended);
        open.filter_map(|subscription| match &subscription.filter {
            Filter::Turn(uuid) => Some(uuid),
            Filter::Events | Filter::Lines => None,
        })
    }

    /// Moves the turns that are open to another run, which gets their prompts again.
    pub(crate) fn move_turns(&mut self, run: u64) {
        for subscription in self.subscriptions.iter_mut().filter(|known| !known.ended) {
            if matches!(subscription.filter, Filter::Turn(_)) {
                (subscription.run, subscription.turn) = (run, None);
                subscription.queue.reject();
            }
        }
    }

    /// Whether the agent should not be read, for the subscriber that needs it most.
    pub(crate) fn pressure(&self) -> Pressure {
        let queues = self.subscriptions.iter().map(|subscription| &subscription.queue);
        queues.map(|queue| queue.pressure()).max().unwrap_or_default()
    }

    /// Subscribers have had the time to catch up that they may have.
    pub(crate) fn stop_pausing(&self) {
        for subscription in &self.subscriptions {
            subscription.queue.stop_pausing();
        }
    }

    /// Routes lines of the agent, `bytes` in all. Like the other methods that route, it returns what is open then.
    pub(crate) fn lines_to_host(
        &mut self,
        lines: &mut Vec<DecodedLine>,
        bytes: usize,
    ) -> TurnState {
        for (line, decoded) in lines.iter() {
            self.applied.came(decoded);
            self.transcript.handle_to_host(decoded, line);
        }
        if self.subscriptions.iter().any(Subscription::wants_lines) {
            for (line, decoded) in lines.drain(..) {
                self.deliver_line(line, decoded);
            }
        }
        lines.clear();
        self.route_events(bytes);
        self.transcript.turn_state()
    }

    /// Routes a line to the agent.
    pub(crate) fn line_to_agent(&mut self, line: &Line) -> TurnState {
        let decoded = line.to_agent();
        self.applied.sent(&decoded);
        self.transcript.handle_to_agent(&decoded, line);
        self.route_events(line.raw().len());
        self.transcript.turn_state()
    }

    /// Routes a line of the agent that was longer than the cap.
    pub(crate) fn too_long(&mut self, too_long: &TooLong) -> TurnState {
        self.transcript.handle_too_long(too_long);
        self.route_events(too_long.start().len());
        self.transcript.turn_state()
    }

    /// A run has ended, and all its lines were routed.
    pub(crate) fn end_run(&mut self, number: u64, end: RunEnd) {
        self.transcript.handle_end();
        self.route_events(0);
        self.transcript.handle_restart();
        self.failure = None;
        self.unattributed.clear();
        self.applied.ended();
        self.end_session(number, end);
    }

    /// Ends what ends with this run, and all if it was the last.
    pub(crate) fn end_session(&mut self, number: u64, end: RunEnd) {
        for subscription in self.subscriptions.iter_mut().filter(|known| !known.ended) {
            match (&subscription.filter, &end.last) {
                (Filter::Turn(_), _) if subscription.run <= number => {
                    if end.interrupted {
                        let outcome = TurnOutcome::without_result(TurnStatus::Interrupted, None);
                        subscription.end(Ok(Some(outcome)));
                    } else if !end.resend {
                        subscription.end(Err(end.error.clone()));
                    }
                }
                (Filter::Turn(_), Some(Ok(()))) => subscription.end(Err(Error::Closed)),
                (_, Some(Ok(()))) => subscription.end(Ok(None)),
                (_, Some(Err(error))) => subscription.end(Err(error.clone())),
                (_, None) => {}
            }
        }
        if end.last.is_some() {
            self.ended = end.last;
        }
        self.wake();
    }

    /// Wakes the readers for whom something came.
    pub(crate) fn wake(&mut self) {
        for subscription in &mut self.subscriptions {
            if std::mem::take(&mut subscription.changed) {
                subscription.queue.wake();
            }
        }
    }

    fn deliver_line(&mut self, line: Line, decoded: Decoded<ToHost>) {
        let size = line.raw().len();
        let (mut line, mut decoded) = (Some(line), Some(decoded));
        let count = self.subscriptions.iter().filter(|known| known.wants_lines()).count();
        let wanted = self.subscriptions.iter_mut().filter(|known| known.wants_lines());
        for (at, subscription) in wanted.enumerate() {
            let is_last = at + 1 == count;
            let line = if is_last { line.take() } else { line.clone() };
            let decoded = if is_last { decoded.take() } else { decoded.clone() };
            if let Some(line) = line {
                subscription.deliver(Delivery::Line(line, decoded), size);
            }
        }
    }

    fn route_events(&mut self, bytes: usize) {
        let mut events = std::mem::take(&mut self.events);
        events.extend(std::iter::from_fn(|| self.transcript.poll_event()));
        // An event keeps its line in memory. On the whole that comes to this for each.
        let size = bytes / events.len().max(1);
        for event in events.drain(..) {
            self.route(event, size);
        }
        self.events = events;
    }

    /// Delivers an event to the subscriptions it belongs to.
    fn route(&mut self, event: Event, size: usize) {
        self.learn(&event);
        let turn = event.turn();
        let uuid = prompt_of(&event);
        let mut recipients = std::mem::take(&mut self.recipients);
        let (mut is_owned, mut is_awaited) = (false, false);
        for (at, subscription) in self.subscriptions.iter().enumerate() {
            match &subscription.filter {
                _ if subscription.ended => {}
                Filter::Events => recipients.push(at),
                Filter::Lines => {}
                Filter::Turn(prompt) => {
                    if (turn.is_some() && subscription.turn == turn) || uuid == Some(prompt) {
                        is_owned = true;
                        recipients.push(at);
                    } else if subscription.turn.is_none() {
                        is_awaited = true;
                    }
                }
            }
        }
        match turn {
            // The agent may name the prompt of a turn only after it has begun.
            Some(turn) if is_awaited && !is_owned => {
                self.unattributed.push(turn, event.clone(), size);
            }
            // A prompt that joins the turn from now on gets what happens from then on.
            Some(turn) if is_owned && !names_prompt(&event) => self.unattributed.forget(turn),
            _ => {}
        }
        let ends = matches!(event, Event::TurnFinished(_) | Event::PromptCancelled(_));
        let kept = ends.then(|| event.clone());
        let last = recipients.pop();
        for at in recipients.drain(..) {
            if let Some(subscription) = self.subscriptions.get_mut(at) {
                subscription.deliver(Delivery::Event(event.clone()), size);
            }
        }
        self.recipients = recipients;
        if let Some(subscription) = last.and_then(|at| self.subscriptions.get_mut(at)) {
            subscription.deliver(Delivery::Event(event), size);
        }
        if let Some(event) = kept {
            self.end_turns(&event);
        }
    }

    /// Learns from an event what it says about the session and about whose turn it is.
    fn learn(&mut self, event: &Event) {
        match event {
            Event::PromptAccepted(accepted) => {
                self.assign(accepted.uuid.iter(), event.turn());
            }
            Event::PromptMerged(merged) => {
                self.assign(merged.uuid.iter(), event.turn());
            }
            Event::TurnStarted(started) => {
                self.assign(started.prompts.iter(), event.turn());
            }
            Event::TurnFinished(finished) => {
                self.assign(finished.prompts.iter(), event.turn());
                self.spent_usd += finished.cost_usd.unwrap_or_default();
                self.failure = finished.error.as_ref().map(Text::detach);
                if let Some(session) = &finished.session_id {
                    self.session_id = Some(session.detach());
                }
            }
            Event::RunStarted(started) => {
                self.session_id = started.session_id.as_ref().map(SessionId::detach);
            }
            Event::SessionChanged(changed) => {
                self.session_id = Some(changed.to.detach());
            }
            _ => {}
        }
    }

    /// These prompts are answered in this turn.
    fn assign<'u>(&mut self, uuids: impl Iterator<Item = &'u Uuid>, turn: Option<u64>) {
        for uuid in uuids {
            let mut turns = self.subscriptions.iter_mut();
            let Some(subscription) = turns.find(|known| known.is_turn_of(uuid)) else { continue };
            subscription.queue.accept();
            subscription.changed = true;
            let (None, Some(turn)) = (subscription.turn, turn) else { continue };
            subscription.turn = Some(turn);
            if let Err(error) = self.unattributed.copy_to(turn, &subscription.queue) {
                subscription.end(Err(error));
            }
        }
    }

    /// Ends the turns that this event ends.
    fn end_turns(&mut self, event: &Event) {
        match event {
            Event::TurnFinished(finished) => {
                let Some(turn) = event.turn() else { return };
                let subscriptions = self.subscriptions.iter_mut();
                for subscription in subscriptions.filter(|known| known.turn == Some(turn)) {
                    subscription.end(Ok(Some(TurnOutcome::new(finished.clone()))));
                }
                self.unattributed.forget(turn);
            }
            Event::PromptCancelled(cancelled) => {
                let uuid = &cancelled.uuid;
                let subscriptions = self.subscriptions.iter_mut();
                for subscription in subscriptions.filter(|known| known.is_turn_of(uuid)) {
                    let state = Some(cancelled.state.as_str());
                    let outcome = TurnOutcome::without_result(TurnStatus::Cancelled, state);
                    subscription.end(Ok(Some(outcome)));
                }
            }
            _ => {}
        }
    }
}

impl Subscription {
    fn wants_lines(&self) -> bool {
        !self.ended && matches!(self.filter, Filter::Lines)
    }

    fn is_turn_of(&self, uuid: &Uuid) -> bool {
        !self.ended && matches!(&self.filter, Filter::Turn(prompt) if prompt == uuid)
    }

    fn deliver(&mut self, delivery: Delivery, size: usize) {
        self.changed = true;
        self.ended |= !self.queue.push(delivery, size);
    }

    fn end(&mut self, end: End) {
        self.changed = true;
        self.ended = true;
        self.queue.end(end);
    }
}
