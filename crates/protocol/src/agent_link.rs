//! [`AgentLink`]: the agent's end of the wire, as a machine without I/O.

mod asks;
mod event;
mod ids;
mod input;
mod lenient;
mod order;
mod prompts;
mod requests;
mod seeds;
mod turns;

use std::collections::VecDeque;

use crate::control::{AgentRequest, ControlRequestToHost, HostRequest, McpMessage, Response};
use crate::id::{RequestId, SessionId};
use crate::json::RawObject;
use crate::legacy::SdkControlInterrupt;
use crate::line::Line;
use crate::lines::ControlCancelRequest;
use crate::system::{SessionState, SessionStateChanged};
use crate::to_host::ToHost;
use crate::wire::Wire;

pub use event::{AgentEvent, Fatal, Interruption, NotOpen, Outcome, Reply, RequestKey, TurnStart};

use asks::{Ask, Asks};
use ids::Ids;
use input::{Input, Legacy};
use lenient::Early;
use prompts::Prompts;
use requests::Requests;
use seeds::Seeds;
use turns::Running;

/// What the model is told of a call that the person stopped. The words are the CLI's own.
pub const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was \
    rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you \
    are doing and wait for the user to tell you how to proceed.";

/// How many lines may wait to be written before the agent should stop saying more.
const MOST_UNWRITTEN: usize = 256;

/// The agent's end of a conversation: it correlates control requests both ways, keeps the prompts
/// that wait, begins turns, and knows when the process may end and with which code. It does no I/O,
/// has no clock, and its ids come from a seed.
///
/// Its methods fall into four groups.
///
/// - **What the application wants**: [`say`](Self::say), [`ask`](Self::ask),
///   [`withdraw`](Self::withdraw), [`answer`](Self::answer), [`fold`](Self::fold),
///   [`end_turn`](Self::end_turn), [`begin_own_turn`](Self::begin_own_turn).
/// - **What happened**: [`handle_line`](Self::handle_line), [`handle_interrupt`](Self::handle_interrupt),
///   [`handle_end`](Self::handle_end).
/// - **What the caller must do now**, after any of the above: write every line that
///   [`poll_transmit`](Self::poll_transmit) gives, in order, and serve every event of
///   [`poll_event`](Self::poll_event).
/// - **How things stand**: [`is_done`](Self::is_done), [`exit_code`](Self::exit_code).
///
/// What holds, in any order of things: a question of the agent ends exactly once; a request of the host
/// is delivered once and answered at most once; a prompt is answered by one turn, taken back, or thrown
/// away, and one turn runs at a time.
///
/// ```
/// use duologue_protocol::Line;
/// use duologue_protocol::agent_link::{AgentEvent, AgentLink};
/// use duologue_protocol::lines::{ResultSubtype, TurnResult};
///
/// let mut link = AgentLink::new();
/// link.handle_line(&Line::from(r#"{"type":"user","message":{"role":"user","content":"Hi"}}"#));
/// let Some(AgentEvent::TurnBegins(turn)) = link.poll_event() else { panic!() };
/// assert_eq!(turn.content().text(), "Hi");
///
/// link.end_turn(TurnResult::new().subtype(ResultSubtype::Success).result("Hello!"));
/// assert!(link.poll_transmit().unwrap().contains("Hello!"));
/// link.handle_end();
/// assert!(link.is_done());
/// assert_eq!(link.exit_code(), 0);
/// ```
#[derive(Debug, Default)]
pub struct AgentLink {
    transmit: VecDeque<String>,
    events: VecDeque<AgentEvent>,
    ids: Ids,
    session: Option<SessionId>,
    /// Every input form of the oldest descriptions works.
    lenient: bool,
    early: Early,
    /// Output takes the forms of the oldest descriptions.
    seeds: Option<Seeds>,
    /// Nothing may come before the handshake.
    awaits_hello: bool,
    /// Prompts are said again.
    replay: bool,
    /// What the session is doing is told.
    state_events: bool,
    /// It is told to the library that drives the agent, not to those who use it.
    hides_state: bool,
    state: Option<SessionState>,
    /// What the agent has asked.
    asks: Asks,
    /// What the host has asked.
    requests: Requests,
    prompts: Prompts,
    turn: Option<Running>,
    results: u64,
    /// Something goes on in the background that the results of a host that is gone wait for.
    holding: bool,
    held: Vec<String>,
    /// Something works beside the conversation and will speak up by itself.
    works_beside: bool,
    last_failed: bool,
    /// The host says nothing more.
    ended: bool,
    /// A line was not survived.
    fatal: Option<Fatal>,
}

impl AgentLink {
    /// One that has said and seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where its ids come from. The same seed gives the same ids.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.ids = Ids::seeded(seed);
        self
    }

    /// Takes every input form of the oldest descriptions: `approve`, `deny` and `tool_result` answer
    /// the call that waits, `abort` interrupts, `applyPermissionSuggestion` applies, and a bad line is
    /// answered with an `error` line instead of death.
    #[must_use]
    pub const fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// Speaks in the forms of the oldest descriptions: cumulative snapshots, one `init`, an echo of
    /// every prompt, results that are JSON inside JSON, a bare answer to `initialize`, hooks by name.
    #[must_use]
    pub fn seeds(mut self) -> Self {
        self.seeds = Some(Seeds::default());
        self
    }

    /// The same, with the end of a turn as a `system` line.
    #[must_use]
    pub fn seeds_with_system_result(mut self) -> Self {
        self.seeds = Some(Seeds::with_system_result());
        self
    }

    /// Says prompts, and the host's answers, again: `--replay-user-messages`.
    #[must_use]
    pub const fn replay(mut self) -> Self {
        self.replay = true;
        self
    }

    /// Wants the handshake before all else: `--await-initialize`.
    #[must_use]
    pub const fn await_initialize(mut self) -> Self {
        self.awaits_hello = true;
        self
    }

    /// Tells what the session is doing with `session_state_changed`.
    #[must_use]
    pub const fn state_events(mut self) -> Self {
        self.state_events = true;
        self
    }

    /// The same, for the library that drives the agent alone: those who use it do not see these lines.
    #[must_use]
    pub const fn hidden_state_events(mut self) -> Self {
        self.state_events = true;
        self.hides_state = true;
        self
    }

    /// The conversation from now on. It stands on the lines that the machine itself makes.
    pub fn set_session(&mut self, session: impl Into<SessionId>) {
        self.session = Some(session.into());
    }

    /// A new id, in the form of a UUID.
    pub fn new_id(&mut self) -> String {
        self.ids.uuid()
    }

    /// Says a line to the host.
    pub fn say(&mut self, line: impl Into<ToHost>) {
        let line = self.render(line.into());
        self.transmit.extend(line);
    }

    fn render(&mut self, line: ToHost) -> Option<String> {
        match (&mut self.seeds, line) {
            (Some(seeds), line) => seeds.render(line),
            (None, ToHost::Result(result)) => Some(order::result_line(&result)),
            (None, line) => Some(line.to_line()),
        }
    }

    /// Says a line of any content, as it is. Newlines inside are the caller's affair.
    pub fn say_raw(&mut self, line: &str) {
        self.transmit.push_back(format!("{}\n", line.trim_end_matches('\n')));
    }

    /// Asks the host for something; the answer comes as [`AgentEvent::Answered`] with this id.
    pub fn ask(&mut self, request: impl Into<AgentRequest>) -> RequestId {
        self.put(request.into(), true)
    }

    /// Waits for the host to answer a tool call without asking: only the lines of the oldest
    /// descriptions can, so that it takes a [`lenient`](Self::lenient) link.
    pub fn ask_by_call(&mut self, request: impl Into<AgentRequest>) -> RequestId {
        self.put(request.into(), false)
    }

    fn put(&mut self, request: AgentRequest, by_line: bool) -> RequestId {
        let id = RequestId::from(self.ids.uuid());
        if self.ended {
            self.events.push_back(AgentEvent::Answered { id: id.clone(), outcome: Outcome::Ended });
            return id;
        }
        let line = by_line.then(|| ControlRequestToHost::of(id.clone(), request.clone()));
        self.asks.add(id.clone(), request, by_line);
        self.tell_state();
        if let Some(line) = line {
            self.say(Box::new(line));
        }
        if self.lenient
            && let Some(call) = self.asks.about_id(&id).and_then(Ask::call).map(str::to_owned)
            && let Some(early) = self.early.take(&call)
        {
            self.legacy(early);
        }
        id
    }

    /// Takes a question back. Whatever the host still answers is ignored, and no event comes.
    pub fn withdraw(&mut self, id: &RequestId) {
        if let Some(ask) = self.asks.take(id) {
            self.tell_withdrawn(&ask);
            self.tell_state();
        }
    }

    fn tell_withdrawn(&mut self, ask: &Ask) {
        if !ask.sent || self.ended {
            return;
        }
        match &*ask.request {
            // The host's MCP server is told in its own language.
            AgentRequest::McpMessage(message) => {
                if let Some(request) = message.message.value().and_then(|body| body.get("id")) {
                    let notice = serde_json::json!({
                        "jsonrpc": "2.0",
                        "method": "notifications/cancelled",
                        "params": {
                            "requestId": request.to_value().unwrap_or_default(),
                            "reason": "The operation was aborted",
                        },
                    });
                    let mut cancel =
                        McpMessage::new().message(RawObject::of(&notice).unwrap_or_default());
                    cancel.server_name = message.server_name.clone();
                    let id = RequestId::from(self.ids.uuid());
                    // Its acknowledgement is of no interest.
                    self.say(Box::new(ControlRequestToHost::of(id, cancel)));
                }
            }
            _ => {
                let line = ControlCancelRequest::new().request_id(ask.id.clone());
                self.say(Box::new(line));
            }
        }
    }

    /// Takes a line of the host.
    pub fn handle_line(&mut self, line: &Line) {
        if self.fatal.is_some() || self.ended {
            return;
        }
        match self.first(input::read(line)) {
            Input::Prompt(prompt) => self.prompted(*prompt),
            Input::Request { id, request } => self.requested(id, request),
            Input::BadRequest { id, error } => {
                let reply = Reply::error(error);
                self.say(Box::new(reply.response(id.as_ref(), "")));
            }
            Input::Response(response) => self.answered(&response),
            Input::Environment { id } => {
                if let Some(id) = id {
                    let nothing = RawObject::of(&serde_json::json!({ "applied": [] }));
                    let reply = Reply::of(&nothing.unwrap_or_default());
                    self.say(Box::new(reply.response(Some(&id), "")));
                }
            }
            Input::Legacy(legacy) if self.lenient => self.legacy(legacy),
            Input::Legacy(_) | Input::Nothing => {}
            Input::Ignored { why } => {
                if self.lenient {
                    self.transmit.push_back(lenient::complaint(why));
                }
            }
            Input::Fatal(fatal) if self.lenient => {
                self.transmit.push_back(lenient::complaint(&fatal.message));
            }
            Input::Fatal(fatal) => {
                self.fatal = Some(fatal.clone());
                self.events.push_back(AgentEvent::Fatal(fatal));
            }
        }
    }

    fn answered(&mut self, response: &crate::control::ControlResponse) {
        let unknown = match response.response.value() {
            Some(Response::Unknown(body)) => body.json.get("request_id"),
            _ => None,
        };
        let unknown = unknown.and_then(|id| id.read::<RequestId>().ok());
        // Unknown ids, second answers, answers after a withdrawal: nobody waits for them.
        let Some(ask) =
            response.request_id().or(unknown.as_ref()).and_then(|id| self.asks.take(id))
        else {
            return;
        };
        if self.replay && self.seeds.is_none() {
            self.transmit.push_back(response.to_line());
        }
        let outcome = match response.response.value() {
            Some(Response::Success(success)) if self.lenient => {
                Outcome::Success(Box::new(lenient::with_suggestion(success)))
            }
            Some(Response::Success(success)) => Outcome::Success(Box::new(success.clone())),
            Some(Response::Error(failure)) => Outcome::Refused(Box::new(failure.clone())),
            _ => Outcome::Refused(Box::default()),
        };
        self.end_ask(ask.id, outcome);
    }

    fn end_ask(&mut self, id: RequestId, outcome: Outcome) {
        self.events.push_back(AgentEvent::Answered { id, outcome });
        self.tell_state();
    }

    fn legacy(&mut self, legacy: Legacy) {
        if matches!(legacy, Legacy::Abort) {
            return self.handle_interrupt();
        }
        let call = lenient::call_of(&legacy);
        let found = self.asks.about(call.as_ref());
        let Some((id, outcome)) =
            found.and_then(|ask| Some((ask.id.clone(), lenient::answer(ask, &legacy)?)))
        else {
            return self.early.keep(legacy);
        };
        if self.asks.take(&id).is_some() {
            self.end_ask(id, outcome);
        }
    }

    /// The host wants the agent to stop, by other means than a request: a signal.
    pub fn handle_interrupt(&mut self) {
        self.interrupt(false, false);
    }

    /// A line, if it may come now.
    fn first(&mut self, input: Input) -> Input {
        match &input {
            _ if !self.awaits_hello => input,
            Input::Nothing | Input::Fatal(_) => input,
            Input::Request { request, .. } if matches!(**request, HostRequest::Initialize(_)) => {
                self.awaits_hello = false;
                input
            }
            _ => Input::Fatal(Fatal::new(input::NOT_HELLO)),
        }
    }

    /// Everything that is open ends; the turn, if one runs, is told.
    fn interrupt(&mut self, preempted: bool, spare_background: bool) {
        for ask in self.asks.drain() {
            self.tell_withdrawn(&ask);
            self.events.push_back(AgentEvent::Answered { id: ask.id, outcome: Outcome::Withdrawn });
        }
        self.tell_state();
        let in_turn = self.turn.as_mut().is_some_and(Running::interrupt);
        self.events.push_back(AgentEvent::Interrupted(Interruption {
            in_turn,
            preempted,
            spare_background,
        }));
        if self.seeds.is_some() && !preempted {
            let id = RequestId::from(self.ids.uuid());
            self.say(Box::new(ControlRequestToHost::of(id, SdkControlInterrupt::new())));
        }
    }

    /// The host's lines have ended. What waits for an answer gets none; what was asked for is finished.
    pub fn handle_end(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        for ask in self.asks.drain() {
            self.events.push_back(AgentEvent::Answered { id: ask.id, outcome: Outcome::Ended });
        }
        self.tell_state();
        self.events.push_back(AgentEvent::HostEnded);
    }

    /// The next line to write.
    pub fn poll_transmit(&mut self) -> Option<String> {
        self.transmit.pop_front()
    }

    /// The next thing to serve.
    pub fn poll_event(&mut self) -> Option<AgentEvent> {
        self.events.pop_front()
    }

    /// Whether so many lines wait to be written that nothing more should be said for now.
    pub fn is_backed_up(&self) -> bool {
        self.transmit.len() >= MOST_UNWRITTEN
    }

    /// Whether there is nothing more to do and nobody who could ask for more.
    pub fn is_done(&self) -> bool {
        self.fatal.is_some() || (self.ended && self.is_idle() && self.requests.is_empty())
    }

    /// Whether no turn runs and no prompt waits.
    pub fn is_idle(&self) -> bool {
        self.turn.is_none() && self.prompts.is_empty()
    }

    /// Whether the host's lines have ended: nobody will answer any more.
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether a line was not survived: nothing that is open matters any more.
    pub const fn is_dead(&self) -> bool {
        self.fatal.is_some()
    }

    /// What the process exits with, if it ends now: 1 if the last turn failed, or if a line was not
    /// survived.
    pub fn exit_code(&self) -> u8 {
        self.fatal.as_ref().map_or(u8::from(self.last_failed), |fatal| fatal.exit_code)
    }

    /// How many questions wait for the host.
    pub fn open_asks(&self) -> usize {
        self.asks.len()
    }

    fn tell_state(&mut self) {
        let state = match (&self.turn, self.asks.wait_for_person()) {
            (_, true) => SessionState::RequiresAction,
            (Some(_), false) => SessionState::Running,
            (None, false) if self.works_beside => SessionState::Running,
            (None, false) => SessionState::Idle,
        };
        self.tell_state_as(state);
    }

    fn tell_state_as(&mut self, state: SessionState) {
        let before = self.state.replace(state.clone());
        let changed = before.unwrap_or(SessionState::Idle) != state;
        if changed && self.state_events {
            let mut line = SessionStateChanged::new().state(state).uuid(self.ids.uuid());
            line.session_id = self.session.clone().into();
            line.sdk_host_only = self.hides_state.then_some(true).into();
            self.say(crate::system::System::from(Box::new(line)));
        }
    }
}
