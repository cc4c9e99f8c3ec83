//! Lines folded into events, each reported exactly once.
//!
//! One conversation has several presentations: a line per block, snapshots that repeat earlier blocks, deltas followed by
//! the whole block, repeated lines, and any mixture. [`Transcript`] folds them all into the same [`Event`]s, each
//! attributed to its agent and its turn.
//!
//! ```
//! use duologue_protocol::transcript::{Event, Transcript};
//! use duologue_protocol::{Direction, Line};
//!
//! let mut transcript = Transcript::new();
//! let mut texts = Vec::new();
//! for line in [
//!     r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"Hm."}]}}"#,
//!     r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hello!"}]}}"#,
//!     r#"{"type":"result","subtype":"success","result":"Hello!"}"#,
//! ] {
//!     transcript.handle_line(Direction::ToHost, &Line::from(line));
//!     while let Some(event) = transcript.poll_event() {
//!         match event {
//!             Event::Thinking(thinking) => texts.push(thinking.text),
//!             Event::Text(text) => texts.push(text.text),
//!             Event::TurnFinished(turn) => assert_eq!(turn.text, "Hello!"),
//!             _ => {}
//!         }
//!     }
//! }
//! assert_eq!(texts, ["Hm.", "Hello!"]);
//! ```

mod agents;
mod asks;
mod block;
pub mod event;
mod event_table;

mod fold;
mod messages;
mod out;
mod streaming;
mod turns;

use std::collections::{HashMap, VecDeque};

use crate::frame::TooLong;
use crate::id::{SessionId, ToolUseId, Uuid};
use crate::ledger::{Ledger, Reading, Salvaged, Seen};
use crate::line::{Decoded, Direction, Line};
use crate::message::ModelUsage;
use crate::text::Text;
use crate::to_agent::ToAgent;
use crate::to_host::ToHost;
use crate::wire::{Map, Wire};

pub use crate::budget::DEFAULT_OPEN_LIMIT;
pub use crate::ledger::TurnState;
pub use event::*;

use crate::budget::{Budget, Charge};
use out::Out;

/// How much of a malformed line an event shows.
const EXCERPT: usize = 200;

/// Folds the lines of one conversation into events.
///
/// It does no I/O. Pass lines to the `handle_*` methods in the order of the wire, then take events with
/// [`poll_event`](Self::poll_event) until there are none. With the agent's stdout alone, the events that come from the
/// host's lines are missing.
///
/// Its memory depends on what is open (unfinished messages, running calls and agents, prompts that wait, requests without
/// an answer), not on the length of the conversation, and is at most [`open_limit`](Self::open_limit) bytes.
#[derive(Debug, Default)]
pub struct Transcript {
    budget: Budget,
    /// The limit was reported in this turn.
    limit_reported: bool,
    events: VecDeque<Event>,
    /// Lines to the host that came already.
    seen: Seen,
    session: Option<SessionId>,
    run_started: bool,
    host_seen: bool,
    messages: messages::Messages,
    /// Which turns and prompts are open.
    ledger: Ledger,
    /// The prompt that was echoed last in this turn.
    echoed: Option<Text>,
    agents: agents::Agents,
    /// Tool calls whose results came already.
    results: Seen,
    asks: asks::Asks,
    /// The open requests of the host, by id.
    host_asks: HashMap<String, HostAsk>,
    model_usage: Map<ModelUsage>,
}

/// An open request of the host.
#[derive(Debug)]
struct HostAsk {
    subtype: Text,
    /// The prompt that it cancels.
    prompt: Option<Uuid>,
    /// Its share of the budget.
    _charge: Charge,
}

impl Transcript {
    /// Creates the transcript of a new conversation.
    pub fn new() -> Self {
        Self::with_budget(Budget::default())
    }

    /// Sets how many bytes are kept for what is open. The default is 64 MiB. Call it before anything else.
    ///
    /// Beyond the limit, there is an [`Event::LimitReached`], at most once per turn, and less is reported:
    ///
    /// - Deltas are still reported. If a streamed block is never finished,
    ///   [`BlockAbandonedEvent::omitted_bytes`] is the number of missing bytes. The line with the whole block still gives
    ///   all of it.
    /// - Each line of a message that does not fit is reported; snapshots of it may repeat blocks.
    /// - The beginning of calls, agents and requests that do not fit is reported, but their end may be missing, and an agent
    ///   may be reported as the main agent.
    ///
    /// ```
    /// use duologue_protocol::transcript::{Event, Transcript};
    /// use duologue_protocol::{Direction, Line};
    ///
    /// let mut transcript = Transcript::new().open_limit(10_000);
    /// let piece = "x".repeat(1_000);
    /// let delta = format!(
    ///     r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{piece}"}}}}}}"#
    /// );
    /// for _ in 0..1_000 {
    ///     transcript.handle_line(Direction::ToHost, &Line::from(delta.as_str()));
    /// }
    /// transcript.handle_end();
    /// let events: Vec<Event> = std::iter::from_fn(|| transcript.poll_event()).collect();
    /// let deltas = events.iter().filter(|event| matches!(event, Event::TextDelta(_))).count();
    /// assert_eq!(deltas, 1_000);
    /// let abandoned = events.iter().find_map(|event| match event {
    ///     Event::BlockAbandoned(block) => Some(block),
    ///     _ => None,
    /// });
    /// let block = abandoned.unwrap();
    /// let kept = block.text.len() as u64;
    /// assert!(kept < 10_000);
    /// assert_eq!(kept + block.omitted_bytes.unwrap(), 1_000_000);
    /// ```
    #[must_use]
    pub fn open_limit(self, bytes: usize) -> Self {
        Self::with_budget(Budget::new(bytes))
    }

    fn with_budget(budget: Budget) -> Self {
        Self {
            messages: messages::Messages::new(budget.clone()),
            agents: agents::Agents::new(budget.clone()),
            asks: asks::Asks::new(budget.clone()),
            ledger: Ledger::new(budget.clone()),
            budget,
            ..Self::default()
        }
    }

    /// Reports that something did not fit into the budget.
    fn report_limit(&mut self) {
        if self.budget.take_exceeded() && !self.limit_reported {
            self.limit_reported = true;
            let limit = self.budget.limit() as u64;
            self.out(None).emit(LimitReachedEvent::new().limit_bytes(limit));
        }
    }

    /// Takes the next event, or `None` until another line is handled.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Handles a line.
    pub fn handle_line(&mut self, direction: Direction, line: &Line) {
        if line.is_blank() {
            return;
        }
        match direction {
            Direction::ToHost => self.handle_to_host(&line.to_host(), line),
            Direction::ToAgent => self.handle_to_agent(&line.to_agent(), line),
        }
    }

    /// Handles a line to the host that the caller has decoded.
    pub fn handle_to_host(&mut self, decoded: &Decoded<ToHost>, line: &Line) {
        self.take_to_host(decoded, line);
        self.report_limit();
    }

    fn take_to_host(&mut self, decoded: &Decoded<ToHost>, line: &Line) {
        match decoded {
            Decoded::Known(message) => self.message_to_host(message),
            // A result with a new subtype ends its turn, too.
            Decoded::Unknown(message @ ToHost::Result(_)) => self.message_to_host(message),
            Decoded::Unknown(message) => {
                let Salvaged { uuid, reading } = Reading::salvage(line.raw(), "");
                if uuid.is_none_or(|uuid| self.seen.note(&uuid)) {
                    let (kind, subtype) = (message.tag(), message.subtype());
                    self.unknown(Direction::ToHost, kind, subtype, message.to_json());
                    self.salvaged(&reading);
                }
            }
            Decoded::Malformed(fault) => {
                let fault = fault.to_string();
                let Salvaged { uuid, reading } = Reading::salvage(line.raw(), &fault);
                self.malformed(Direction::ToHost, fault, line.raw());
                if uuid.is_none_or(|uuid| self.seen.note(&uuid)) {
                    self.salvaged(&reading);
                }
            }
        }
    }

    /// Handles a line to the host that was longer than the cap. If it was a result, its turn ends.
    ///
    /// ```
    /// use duologue_protocol::transcript::{Event, Transcript};
    /// use duologue_protocol::{Direction, Frame, Line, LineDecoder};
    ///
    /// let mut transcript = Transcript::new();
    /// let text = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Hi"}]}}"#;
    /// transcript.handle_line(Direction::ToHost, &Line::from(text));
    /// let long = format!("{{\"type\":\"result\",\"result\":\"{}\"}}\n", "x".repeat(100));
    /// let mut decoder = LineDecoder::new().max_line(50);
    /// let Some(Frame::TooLong(too_long)) = decoder.next(&mut long.as_bytes()) else { panic!() };
    /// transcript.handle_too_long(&too_long);
    /// let events = std::iter::from_fn(|| transcript.poll_event());
    /// assert!(events.into_iter().any(|event| matches!(event, Event::TurnFinished(_))));
    /// ```
    pub fn handle_too_long(&mut self, too_long: &TooLong) {
        let reason = format!("{too_long}; raise max_line to read it");
        self.malformed(Direction::ToHost, reason.clone(), too_long.start());
        let Salvaged { uuid, reading } = Reading::salvage(too_long.start(), &reason);
        if uuid.is_none_or(|uuid| self.seen.note(&uuid)) {
            self.salvaged(&reading);
        }
    }

    /// What is open, for [`HostLink::may_close`](crate::host_link::HostLink::may_close).
    pub fn turn_state(&self) -> TurnState {
        self.ledger.state()
    }

    /// Handles a line to the agent that the caller has decoded.
    pub fn handle_to_agent(&mut self, decoded: &Decoded<ToAgent>, line: &Line) {
        self.host_seen = true;
        match decoded {
            Decoded::Known(message) => self.message_to_agent(message),
            Decoded::Unknown(message) => {
                self.unknown(
                    Direction::ToAgent,
                    message.tag(),
                    message.subtype(),
                    message.to_json(),
                );
            }
            Decoded::Malformed(fault) => {
                self.malformed(Direction::ToAgent, fault.to_string(), line.raw())
            }
        }
        self.report_limit();
    }

    /// Handles the end of the agent's stdout. What is open stays unfinished.
    pub fn handle_end(&mut self) {
        let unfinished: Vec<u64> = self.ledger.turns.open().collect();
        let agents = self.messages.agents();
        for agent in agents.iter().map(Some).chain([None]) {
            let turn = self.turn_of(agent);
            let mut out = Out::new(&mut self.events, turn, agent);
            self.messages.of(agent).end_turn(&mut out);
        }
        self.out(None).emit(RunEndedEvent::new().unfinished_turns(unfinished));
    }

    /// Prepares for another process of the agent in the same conversation. Call it after [`handle_end`](Self::handle_end).
    /// The numbers of turns continue; everything else starts empty.
    pub fn handle_restart(&mut self) {
        let events = std::mem::take(&mut self.events);
        let session = self.session.take();
        // Nothing is open any more, so a new budget is empty.
        let budget = Budget::new(self.budget.limit());
        let ledger = self.ledger.restart(budget.clone());
        *self = Self { events, ledger, session, ..Self::with_budget(budget) };
    }

    fn unknown(&mut self, way: Direction, kind: &str, subtype: Option<&str>, json: String) {
        let event = UnknownLineEvent::new()
            .kind(kind)
            .direction(way)
            .subtype(subtype.map(Text::from))
            .line(crate::json::RawJson::parse(&json).ok());
        self.out(None).emit(event);
    }

    fn malformed(&mut self, way: Direction, reason: String, bytes: &[u8]) {
        // A character has at most four bytes.
        let start = bytes.get(..EXCERPT * 4).unwrap_or(bytes);
        let excerpt: String = String::from_utf8_lossy(start).chars().take(EXCERPT).collect();
        let event = MalformedLineEvent::new().reason(reason).direction(way).excerpt(excerpt);
        self.out(None).emit(event);
    }

    /// Where events of this agent go.
    fn out(&mut self, agent: Option<&ToolUseId>) -> Out<'_> {
        let turn = self.turn_of(agent);
        Out::new(&mut self.events, turn, agent)
    }

    /// The turn of this agent: the one in which it was started, else the one that runs.
    fn turn_of(&self, agent: Option<&ToolUseId>) -> Option<u64> {
        agent.and_then(|agent| self.agents.turn(agent)).or(self.ledger.turns.current())
    }
}
