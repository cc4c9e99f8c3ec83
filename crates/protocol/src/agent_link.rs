//! [`AgentLink`]: the agent's end of the wire, as a machine without I/O.

mod asks;
mod event;
mod ids;
mod input;
mod prompts;
mod requests;
mod result_key_order;
mod turns;

use std::collections::VecDeque;

use crate::control::{AgentRequest, ControlRequestToHost, HostRequest, McpMessage, Response};
use crate::id::{RequestId, SessionId};
use crate::json::RawObject;
use crate::legacy::SdkControlInterrupt;
use crate::legacy::agent_input::{self, Early, Legacy};
use crate::legacy::agent_output::LegacyOutput;
use crate::line::Line;
use crate::lines::ControlCancelRequest;
use crate::system::{SessionState, SessionStateChanged};
use crate::to_host::ToHost;
use crate::wire::Wire;

pub use event::{AgentEvent, Fatal, Interruption, NotOpen, Outcome, Reply, RequestKey, TurnStart};

pub(crate) use asks::Ask;

use asks::Asks;
use ids::Ids;
use input::Input;
use prompts::Prompts;
use requests::Requests;
use turns::Running;

/// The tool result that the model gets if the user rejects a call. The text is the CLI's.
pub const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was \
    rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you \
    are doing and wait for the user to tell you how to proceed.";

/// How many lines may wait to be written before the agent should send nothing more.
const MOST_UNWRITTEN: usize = 256;

/// The agent's end of a conversation: it matches control requests of both sides with their answers, queues prompts, begins
/// turns, and decides when the process may end and with which exit code. It does no I/O, has no clock, and its ids come
/// from a seed.
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
/// - **The state**: [`is_done`](Self::is_done), [`exit_code`](Self::exit_code).
///
/// In any order of calls: a request of the agent ends exactly once; a request of the host is delivered once and answered at
/// most once; a prompt is answered by one turn, cancelled or discarded; one turn runs at a time.
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
    /// Accepts every legacy form of input.
    lenient: bool,
    early: Early,
    /// Writes legacy forms.
    legacy: Option<LegacyOutput>,
    /// `initialize` must be the first line.
    awaits_initialize: bool,
    /// Echoes prompts.
    replay: bool,
    /// Reports the state of the session.
    state_events: bool,
    /// The state is for the library that drives the agent, not for its users.
    hides_state: bool,
    state: Option<SessionState>,
    /// Open requests of the agent.
    asks: Asks,
    /// Open requests of the host.
    requests: Requests,
    prompts: Prompts,
    turn: Option<Running>,
    results: u64,
    /// Background tasks run. If the host's input has ended, results wait for them.
    holding: bool,
    held: Vec<String>,
    /// Something runs beside the turns and will begin a turn.
    works_beside: bool,
    last_failed: bool,
    /// The host's input has ended.
    ended: bool,
    /// The line that ended the agent.
    fatal: Option<Fatal>,
}

impl AgentLink {
    /// Creates the agent's end of a new conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the seed of the ids. The same seed gives the same ids.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.ids = Ids::seeded(seed);
        self
    }

    /// Accepts legacy input: `approve`, `deny` and `tool_result` answer the tool call that waits, `abort` interrupts,
    /// `applyPermissionSuggestion` applies, and a bad line is answered with an `error` line and does not end the agent.
    #[must_use]
    pub const fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// Writes legacy forms: cumulative snapshots, one `init`, an echo of every prompt, results that are JSON inside JSON,
    /// hooks by name, and a bare answer to `initialize`. A host that sends hooks or MCP servers in `initialize` gets the
    /// whole answer.
    #[must_use]
    pub fn legacy(mut self) -> Self {
        self.legacy = Some(LegacyOutput::default());
        self
    }

    /// Writes legacy forms, with a `system` line as the end of a turn.
    #[must_use]
    pub fn legacy_with_system_result(mut self) -> Self {
        self.legacy = Some(LegacyOutput::with_system_result());
        self
    }

    /// Echoes prompts and the host's answers: `--replay-user-messages`.
    #[must_use]
    pub const fn replay(mut self) -> Self {
        self.replay = true;
        self
    }

    /// Requires `initialize` as the first line: `--await-initialize`.
    #[must_use]
    pub const fn await_initialize(mut self) -> Self {
        self.awaits_initialize = true;
        self
    }

    /// Reports the state of the session with `session_state_changed`.
    #[must_use]
    pub const fn state_events(mut self) -> Self {
        self.state_events = true;
        self
    }

    /// Reports the state only to the library that drives the agent, not to its users.
    #[must_use]
    pub const fn hidden_state_events(mut self) -> Self {
        self.state_events = true;
        self.hides_state = true;
        self
    }

    /// Sets the session id. The lines that the machine itself makes have it.
    pub fn set_session(&mut self, session: impl Into<SessionId>) {
        self.session = Some(session.into());
    }

    /// Creates an id in the form of a UUID.
    pub fn new_id(&mut self) -> String {
        self.ids.uuid()
    }

    /// Sends a line to the host.
    pub fn say(&mut self, line: impl Into<ToHost>) {
        let line = self.render(line.into());
        self.transmit.extend(line);
    }

    fn render(&mut self, line: ToHost) -> Option<String> {
        match (&mut self.legacy, line) {
            (Some(legacy), line) => legacy.render(line),
            (None, ToHost::Result(result)) => Some(result_key_order::result_line(&result)),
            (None, line) => Some(line.to_line()),
        }
    }

    /// Sends a line of any content, unchanged. It must not contain newlines.
    pub fn say_raw(&mut self, line: &str) {
        self.transmit.push_back(format!("{}\n", line.trim_end_matches('\n')));
    }

    /// Sends a request to the host. The answer is an [`AgentEvent::Answered`] with this id.
    pub fn ask(&mut self, request: impl Into<AgentRequest>) -> RequestId {
        self.put(request.into(), true)
    }

    /// Waits for the host to answer a tool call, without sending a request. Only legacy lines can answer it, so the link must be
    /// [`lenient`](Self::lenient).
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
        self.report_state();
        if let Some(line) = line {
            self.say(Box::new(line));
        }
        if self.lenient
            && let Some(call) = self.asks.about_id(&id).and_then(Ask::call).map(str::to_owned)
            && let Some(early) = self.early.take(&call)
        {
            self.legacy_line(early);
        }
        id
    }

    /// Withdraws a request of the agent. A late answer is ignored, and there is no event.
    pub fn withdraw(&mut self, id: &RequestId) {
        if let Some(ask) = self.asks.take(id) {
            self.send_withdrawal(&ask);
            self.report_state();
        }
    }

    fn send_withdrawal(&mut self, ask: &Ask) {
        if !ask.sent || self.ended {
            return;
        }
        match &*ask.request {
            // An MCP server gets a notification of MCP.
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
                    // Its acknowledgement is ignored.
                    self.say(Box::new(ControlRequestToHost::of(id, cancel)));
                }
            }
            _ => {
                let line = ControlCancelRequest::new().request_id(ask.id.clone());
                self.say(Box::new(line));
            }
        }
    }

    /// Handles a line of the host.
    pub fn handle_line(&mut self, line: &Line) {
        if self.fatal.is_some() || self.ended {
            return;
        }
        match self.check_first(input::read(line)) {
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
            Input::Legacy(legacy) if self.lenient => self.legacy_line(legacy),
            Input::Legacy(_) | Input::Nothing => {}
            Input::Ignored { why } => {
                if self.lenient {
                    self.transmit.push_back(agent_input::error_line(why));
                }
            }
            Input::Fatal(fatal) if self.lenient => {
                self.transmit.push_back(agent_input::error_line(&fatal.message));
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
        // Not open: an unknown id, a second answer, or one after a withdrawal.
        let Some(ask) =
            response.request_id().or(unknown.as_ref()).and_then(|id| self.asks.take(id))
        else {
            return;
        };
        if self.replay && self.legacy.is_none() {
            self.transmit.push_back(response.to_line());
        }
        let outcome = match response.response.value() {
            Some(Response::Success(success)) if self.lenient => {
                Outcome::Success(Box::new(agent_input::with_suggestion(success)))
            }
            Some(Response::Success(success)) => Outcome::Success(Box::new(success.clone())),
            Some(Response::Error(failure)) => Outcome::Refused(Box::new(failure.clone())),
            _ => Outcome::Refused(Box::default()),
        };
        self.end_ask(ask.id, outcome);
    }

    fn end_ask(&mut self, id: RequestId, outcome: Outcome) {
        self.events.push_back(AgentEvent::Answered { id, outcome });
        self.report_state();
    }

    fn legacy_line(&mut self, legacy: Legacy) {
        if matches!(legacy, Legacy::Abort) {
            return self.handle_interrupt();
        }
        let call = agent_input::call_of(&legacy);
        let found = self.asks.about(call.as_ref());
        let Some((id, outcome)) =
            found.and_then(|ask| Some((ask.id.clone(), agent_input::answer(ask, &legacy)?)))
        else {
            return self.early.keep(legacy);
        };
        if self.asks.take(&id).is_some() {
            self.end_ask(id, outcome);
        }
    }

    /// Handles an interrupt that is not a request: a signal.
    pub fn handle_interrupt(&mut self) {
        self.interrupt(false, false);
    }

    /// Replaces a line that must not come before `initialize`.
    fn check_first(&mut self, input: Input) -> Input {
        match &input {
            _ if !self.awaits_initialize => input,
            Input::Nothing | Input::Fatal(_) => input,
            Input::Request { request, .. } if matches!(**request, HostRequest::Initialize(_)) => {
                self.awaits_initialize = false;
                input
            }
            _ => Input::Fatal(Fatal::new(input::NOT_INITIALIZE)),
        }
    }

    /// Ends all open requests of the agent, and interrupts the turn that runs.
    fn interrupt(&mut self, preempted: bool, spare_background: bool) {
        for ask in self.asks.drain() {
            self.send_withdrawal(&ask);
            self.events.push_back(AgentEvent::Answered { id: ask.id, outcome: Outcome::Withdrawn });
        }
        self.report_state();
        let in_turn = self.turn.as_mut().is_some_and(Running::interrupt);
        self.events.push_back(AgentEvent::Interrupted(Interruption {
            in_turn,
            preempted,
            spare_background,
        }));
        if self.legacy.is_some() && !preempted {
            let id = RequestId::from(self.ids.uuid());
            self.say(Box::new(ControlRequestToHost::of(id, SdkControlInterrupt::new())));
        }
    }

    /// Handles the end of the host's input. Open requests of the agent end without an answer; turns are finished.
    pub fn handle_end(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        for ask in self.asks.drain() {
            self.events.push_back(AgentEvent::Answered { id: ask.id, outcome: Outcome::Ended });
        }
        self.report_state();
        self.events.push_back(AgentEvent::HostEnded);
    }

    /// Takes the next line to write.
    pub fn poll_transmit(&mut self) -> Option<String> {
        self.transmit.pop_front()
    }

    /// Takes the next event to serve.
    pub fn poll_event(&mut self) -> Option<AgentEvent> {
        self.events.pop_front()
    }

    /// Whether so many lines wait to be written that nothing more should be sent for now.
    pub fn is_backed_up(&self) -> bool {
        self.transmit.len() >= MOST_UNWRITTEN
    }

    /// Whether all work is done and the host can send no more.
    pub fn is_done(&self) -> bool {
        self.fatal.is_some() || (self.ended && self.is_idle() && self.requests.is_empty())
    }

    /// Whether no turn runs and no prompt waits.
    pub fn is_idle(&self) -> bool {
        self.turn.is_none() && self.prompts.is_empty()
    }

    /// Whether the host's input has ended, so that it answers nothing more.
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether a line has ended the agent.
    pub const fn is_dead(&self) -> bool {
        self.fatal.is_some()
    }

    /// The exit code if the process ends now: 1 if the last turn failed or a line has ended the agent.
    pub fn exit_code(&self) -> u8 {
        self.fatal.as_ref().map_or(u8::from(self.last_failed), |fatal| fatal.exit_code)
    }

    /// How many requests of the agent are open.
    pub fn open_asks(&self) -> usize {
        self.asks.len()
    }

    fn report_state(&mut self) {
        let state = match (&self.turn, self.asks.wait_for_person()) {
            (_, true) => SessionState::RequiresAction,
            (Some(_), false) => SessionState::Running,
            (None, false) if self.works_beside => SessionState::Running,
            (None, false) => SessionState::Idle,
        };
        self.report_state_as(state);
    }

    fn report_state_as(&mut self, state: SessionState) {
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
