//! [`HostLink`]: the host's end of the wire, as a machine without I/O.

mod activity;
mod asked;
mod control;
mod event;
mod legacy;
mod pending;

use core::time::Duration;
use std::collections::{HashMap, VecDeque};

use crate::control::{AgentRequest, ControlRequestToAgent, HostRequest};
use crate::frame::TooLong;
use crate::id::{RequestId, SessionId, Uuid};
use crate::json::RawObject;
use crate::ledger::{Reading, Salvage};

pub use crate::ledger::TurnState;
use crate::line::{Decoded, Line};
use crate::lines::{ControlCancelRequest, Prompt};
use crate::to_host::ToHost;
use crate::wire::Wire;

pub use event::{Answer, Failure, LinkEvent, NotOpen, Route};

use activity::Activity;
use asked::Asked;
use legacy::LegacyAsks;
use pending::Pending;

/// How many lines may wait to be written before the host should stop saying more.
const MOST_UNWRITTEN: usize = 256;

/// The host's end of a conversation: it correlates control requests both ways, knows what is open,
/// and when the agent's stdin may be closed. It does no I/O and has no clock.
///
/// Its methods fall into four groups.
///
/// - **What the application wants**: [`prompt`](Self::prompt), [`request`](Self::request),
///   [`request_raw`](Self::request_raw), [`withdraw`](Self::withdraw), [`answer`](Self::answer).
/// - **What happened**: [`handle_line`](Self::handle_line),
///   [`handle_decoded`](Self::handle_decoded), [`handle_timeout`](Self::handle_timeout),
///   [`handle_end`](Self::handle_end). Time comes in as an argument: the time since any fixed moment.
/// - **What the caller must do now**, after any of the above: write every line that
///   [`poll_transmit`](Self::poll_transmit) gives, in order; serve every event of
///   [`poll_event`](Self::poll_event); come back at [`poll_timeout`](Self::poll_timeout).
/// - **How things stand**: [`may_close`](Self::may_close), [`open_asks`](Self::open_asks).
///
/// What holds, in any order of things: a request of the host ends exactly once, with an answer, a
/// failure or a timeout; a request of the agent is delivered once and answered at most once, and never
/// after it was withdrawn.
///
/// ```
/// use core::time::Duration;
/// use duologue_protocol::Line;
/// use duologue_protocol::control::Interrupt;
/// use duologue_protocol::host_link::{HostLink, LinkEvent};
///
/// let mut link = HostLink::new();
/// let now = Duration::ZERO;
/// let id = link.request(now, Interrupt::new(), Some(Duration::from_secs(5)));
/// assert!(link.poll_transmit().unwrap().contains("interrupt"));
///
/// let answer = format!(
///     r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{id}"}}}}"#
/// );
/// link.handle_line(&Line::from(answer));
/// assert!(matches!(link.poll_event(), Some(LinkEvent::Replied { outcome: Ok(_), .. })));
/// assert_eq!(link.poll_timeout(), None);
/// ```
#[derive(Debug, Default)]
pub struct HostLink {
    transmit: VecDeque<String>,
    events: VecDeque<LinkEvent>,
    /// What the host has asked.
    pending: Pending,
    /// What the agent has asked.
    asked: Asked,
    activity: Activity,
    /// Open requests that may take prompts back.
    taking_back: HashMap<RequestId, TakesBack>,
    /// One request at a time, as the oldest descriptions want it.
    serial: bool,
    /// Whether tool calls are followed.
    watch_tools: bool,
    /// Every tool call is a question, as the oldest descriptions have it.
    legacy: Option<LegacyAsks>,
    ended: bool,
}

/// What an open request takes back.
#[derive(Debug)]
enum TakesBack {
    /// This prompt.
    Prompt(Uuid),
    /// The prompts that its answer names.
    Named,
}

impl HostLink {
    /// One that has sent and seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps one control request of the host in flight: the next is sent when the last has ended.
    #[must_use]
    pub fn serial(mut self) -> Self {
        self.serial = true;
        self
    }

    /// Follows tool calls, so that [`awaits_tools`](Self::awaits_tools) tells. It costs the reading of
    /// all that the model says.
    #[must_use]
    pub fn watch_tools(mut self) -> Self {
        self.watch_tools = true;
        self
    }

    /// Takes every tool call for a question, and answers with `approve`, `deny` and `tool_result`
    /// lines, as the oldest descriptions want it. Today's CLI ignores them or dies of them.
    ///
    /// ```
    /// use duologue_protocol::control::AgentRequest;
    /// use duologue_protocol::host_link::{Answer, HostLink, LinkEvent};
    /// use duologue_protocol::Line;
    ///
    /// let mut link = HostLink::new().legacy();
    /// link.handle_line(&Line::from(concat!(
    ///     r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_1","#,
    ///     r#""name":"Bash","input":{"command":"ls"}}]}}"#,
    /// )));
    /// let Some(LinkEvent::Asked { id, request }) = link.poll_event() else { panic!() };
    /// let AgentRequest::CanUseTool(ask) = *request else { panic!() };
    /// link.answer(&id, &Answer::of(&ask.allow()))?;
    /// let line = link.poll_transmit().unwrap();
    /// assert_eq!(line.trim_end(), r#"{"type":"approve","tool_use_id":"toolu_1"}"#);
    /// # Ok::<(), duologue_protocol::host_link::NotOpen>(())
    /// ```
    #[must_use]
    pub fn legacy(mut self) -> Self {
        self.legacy = Some(LegacyAsks::default());
        self
    }

    /// Keeps no ledger of turns: [`set_turns`](Self::set_turns) passes the state of a
    /// [`Transcript`](crate::transcript::Transcript). For hosts that have both, so that they cannot disagree. Call it
    /// first.
    #[must_use]
    pub fn follow_transcript(mut self) -> Self {
        self.activity.follow_transcript();
        self
    }

    /// Passes what is open, after the transcript has handled lines or prompts. Needs
    /// [`follow_transcript`](Self::follow_transcript).
    ///
    /// ```
    /// use duologue_protocol::host_link::HostLink;
    /// use duologue_protocol::lines::Prompt;
    /// use duologue_protocol::transcript::Transcript;
    /// use duologue_protocol::{Direction, Line};
    ///
    /// let mut transcript = Transcript::new();
    /// let mut link = HostLink::new().follow_transcript();
    /// let prompt = Prompt::text("Hi").uuid("p1");
    /// link.prompt(&prompt);
    /// transcript.handle_prompt(&prompt);
    /// link.set_turns(transcript.turn_state());
    /// assert!(!link.is_between_turns());
    ///
    /// let line = Line::from(r#"{"type":"result","subtype":"success","user_message_uuids":["p1"]}"#);
    /// let decoded = line.to_host();
    /// link.handle_decoded(&line, &decoded);
    /// transcript.handle_to_host(&decoded, &line);
    /// link.set_turns(transcript.turn_state());
    /// assert!(link.is_between_turns());
    /// ```
    pub fn set_turns(&mut self, turns: TurnState) {
        self.activity.set_turns(turns);
    }

    /// Sends a prompt. Give it a uuid, so that its turn can be told.
    pub fn prompt(&mut self, prompt: &Prompt) {
        self.activity.prompted(prompt);
        self.transmit.push_back(prompt.to_line());
    }

    /// Asks the agent for something; the answer comes as [`LinkEvent::Replied`] with this id. Without
    /// a timeout it may take as long as it takes.
    pub fn request(
        &mut self,
        now: Duration,
        request: impl Into<HostRequest>,
        timeout: Option<Duration>,
    ) -> RequestId {
        let id = self.pending.next_id();
        let request = request.into();
        let takes_back = match &request {
            HostRequest::CancelAsyncMessage(cancel) => {
                cancel.message_uuid.value().cloned().map(TakesBack::Prompt)
            }
            HostRequest::Interrupt(_) => Some(TakesBack::Named),
            _ => None,
        };
        if let Some(takes_back) = takes_back {
            self.taking_back.insert(id.clone(), takes_back);
        }
        let line = ControlRequestToAgent::of(id.clone(), request).to_line();
        self.ask(now, id, line, timeout)
    }

    /// Asks for something that this version has no type for. The object needs its own `subtype`.
    pub fn request_raw(
        &mut self,
        now: Duration,
        request: &RawObject,
        timeout: Option<Duration>,
    ) -> RequestId {
        let id = self.pending.next_id();
        let json = request.to_json();
        let line = format!(
            "{{\"type\":\"control_request\",\"request_id\":\"{id}\",\"request\":{json}}}\n"
        );
        self.ask(now, id, line, timeout)
    }

    fn ask(
        &mut self,
        now: Duration,
        id: RequestId,
        line: String,
        timeout: Option<Duration>,
    ) -> RequestId {
        let deadline = timeout.map(|timeout| now.saturating_add(timeout));
        self.pending.add(id.clone(), deadline);
        if self.ended {
            self.fail(&id, Failure::Ended);
        } else if self.serial && !self.pending.may_send() {
            self.pending.hold(line);
        } else {
            self.pending.sent();
            self.transmit.push_back(line);
        }
        id
    }

    /// Takes a request of the host back. Whatever the agent still answers is ignored.
    pub fn withdraw(&mut self, id: &RequestId) {
        self.taking_back.remove(id);
        if self.pending.take(id).is_some() {
            self.transmit.push_back(ControlCancelRequest::new().request_id(id.clone()).to_line());
            self.send_held();
        }
    }

    /// Answers a request of the agent.
    ///
    /// # Errors
    /// If the request is not open: it was withdrawn, was answered, or never made. Nothing is sent.
    pub fn answer(&mut self, id: &RequestId, answer: &Answer) -> Result<(), NotOpen> {
        if !self.asked.answered(id) {
            return Err(NotOpen { id: id.clone() });
        }
        let legacy = self.legacy.as_mut().and_then(|asks| asks.answer(id, answer));
        self.transmit.push_back(legacy.unwrap_or_else(|| answer.response(id).to_line()));
        Ok(())
    }

    /// Leaves a request of the agent unanswered, as some must be.
    pub fn leave_unanswered(&mut self, id: &RequestId) {
        self.asked.answered(id);
    }

    /// Handles a line of the agent's stdout. The result says whether the line belongs to the conversation
    /// as well. Lines that cannot change anything here are not decoded.
    pub fn handle_line(&mut self, line: &Line) -> Route {
        match line.kind().as_deref() {
            Ok("keep_alive") => Route::Dropped,
            Ok("stream_event") if !self.activity.awaits_speech() => Route::Conversation,
            Ok("assistant") if !self.needs_assistant() => Route::Conversation,
            Ok("user") if !self.needs_user() => Route::Conversation,
            _ if line.is_blank() => Route::Conversation,
            _ => self.handle_decoded(line, &line.to_host()),
        }
    }

    /// Handles a line of the agent's stdout that the caller has decoded with [`Line::to_host`]. It has the
    /// same effect as [`handle_line`](Self::handle_line), for callers that need the message themselves.
    ///
    /// ```
    /// use duologue_protocol::Line;
    /// use duologue_protocol::host_link::{HostLink, Route};
    ///
    /// let mut link = HostLink::new();
    /// let line = Line::from(r#"{"type":"system","subtype":"init","session_id":"s"}"#);
    /// let decoded = line.to_host();
    /// assert_eq!(link.handle_decoded(&line, &decoded), Route::Conversation);
    /// assert_eq!(link.session_id().unwrap().as_str(), "s");
    /// ```
    pub fn handle_decoded(&mut self, line: &Line, decoded: &Decoded<ToHost>) -> Route {
        match decoded {
            Decoded::Known(message) | Decoded::Unknown(message) => match message {
                ToHost::ControlRequest(_)
                | ToHost::ControlResponse(_)
                | ToHost::ControlCancelRequest(_) => return self.control(line, decoded),
                ToHost::KeepAlive(_) => return Route::Dropped,
                ToHost::StreamEvent(_) if !self.activity.awaits_speech() => {
                    return Route::Conversation;
                }
                ToHost::Assistant(_) if !self.needs_assistant() => return Route::Conversation,
                ToHost::User(_) if !self.needs_user() => return Route::Conversation,
                _ => {}
            },
            Decoded::Malformed(_) => match line.kind().as_deref() {
                Ok("control_request" | "control_response" | "control_cancel_request") => {
                    return self.control(line, decoded);
                }
                Ok("keep_alive") => return Route::Dropped,
                _ if line.is_blank() => return Route::Conversation,
                _ => {}
            },
        }
        let known = decoded.known();
        let ended = self.activity.saw(Reading::of(decoded, line), known, self.reads_calls());
        if let Some(message) = known {
            self.ask_by_call(message);
        } else if let Some(result) = ended {
            self.ask_by_call(&ToHost::Result(result));
        }
        Route::Conversation
    }

    /// Whether assistant lines can change anything.
    fn needs_assistant(&self) -> bool {
        self.reads_calls() || self.activity.awaits_speech()
    }

    /// Whether user lines can change anything.
    fn needs_user(&self) -> bool {
        self.reads_calls() || self.activity.awaits_echo()
    }

    /// Takes the beginning of a line that was longer than the cap. If the line ended something, it has
    /// ended here, too.
    pub fn handle_too_long(&mut self, too_long: &TooLong) -> Route {
        let start = Salvage::of(too_long.start());
        match start.kind().as_deref() {
            Some("control_request" | "control_response" | "control_cancel_request") => {
                self.salvage_control(&start, &too_long.to_string());
            }
            _ => {
                let salvaged = Reading::salvage(too_long.start(), &too_long.to_string());
                if let Some(result) = self.activity.saw(salvaged, None, false) {
                    self.ask_by_call(&ToHost::Result(result));
                }
            }
        }
        Route::Conversation
    }

    /// Whether tool calls and their results are followed.
    fn reads_calls(&self) -> bool {
        self.watch_tools || self.legacy.is_some()
    }

    fn ask_by_call(&mut self, message: &ToHost) {
        let Some(legacy) = &mut self.legacy else { return };
        if let ToHost::Assistant(line) = message {
            for (id, ask) in legacy.asks(line) {
                self.asked.asked(&id);
                let request = Box::new(AgentRequest::CanUseTool(Box::new(ask)));
                self.events.push_back(LinkEvent::Asked { id, request });
            }
        }
        // Nobody waits for an answer any more: such an agent cannot say so.
        for id in legacy.settled(message) {
            if self.asked.withdrawn(&id) {
                self.events.push_back(LinkEvent::Withdrawn { id });
            }
        }
    }

    /// It is this time now: requests that have waited too long end.
    pub fn handle_timeout(&mut self, now: Duration) {
        for id in self.pending.overdue(now) {
            self.fail(&id, Failure::TimedOut);
        }
        self.send_held();
    }

    /// The agent's stdout has ended: nothing more will be answered, and nothing more is asked.
    pub fn handle_end(&mut self) {
        self.ended = true;
        for id in self.pending.all() {
            self.fail(&id, Failure::Ended);
        }
        for id in self.asked.drain() {
            self.events.push_back(LinkEvent::Withdrawn { id });
        }
        self.activity.ended();
    }

    /// The next line to write to the agent's stdin.
    pub fn poll_transmit(&mut self) -> Option<String> {
        self.transmit.pop_front()
    }

    /// The next thing to serve.
    pub fn poll_event(&mut self) -> Option<LinkEvent> {
        self.events.pop_front()
    }

    /// Whether so many lines wait to be written that nothing more should be said for now.
    pub fn is_backed_up(&self) -> bool {
        self.transmit.len() >= MOST_UNWRITTEN
    }

    /// When [`handle_timeout`](Self::handle_timeout) must be called, if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.pending.next_deadline()
    }

    /// Whether the agent's stdin may be closed without cutting anything off: nothing is written, asked,
    /// queued, running, or at work in the background.
    pub fn may_close(&self) -> bool {
        self.ended
            || (self.transmit.is_empty()
                && self.pending.is_empty()
                && self.asked.is_empty()
                && self.activity.turns().idle)
    }

    /// Whether no turn runs and no prompt waits. Work in the background may still go on.
    pub fn is_between_turns(&self) -> bool {
        self.activity.turns().between_turns
    }

    /// Whether a line came that could not be read and may have said that something has ended. What
    /// keeps [`may_close`](Self::may_close) from being true may be over, then: do not wait for it
    /// longer than the agent keeps talking.
    ///
    /// ```
    /// use duologue_protocol::Line;
    /// use duologue_protocol::host_link::HostLink;
    ///
    /// let mut link = HostLink::new();
    /// link.handle_line(&Line::from(r#"{"type":"system","subtype":"task_notification"}"#));
    /// assert!(link.is_unclear(), "a task has ended, but which?");
    /// ```
    pub fn is_unclear(&self) -> bool {
        self.activity.turns().unclear
    }

    /// Whether a tool call has no result yet. Needs [`watch_tools`](Self::watch_tools).
    pub fn awaits_tools(&self) -> bool {
        self.activity.awaits_tools()
    }

    /// How many turns have ended.
    pub fn results(&self) -> u64 {
        self.activity.turns().results
    }

    /// What the last result says went wrong; `None` if it went well, or there is none.
    pub fn failure(&self) -> Option<&str> {
        self.activity.failure.as_deref()
    }

    /// The conversation, once a turn has begun.
    pub fn session_id(&self) -> Option<&SessionId> {
        self.activity.session.as_ref()
    }

    /// Whether the host waits for an answer of the agent.
    pub fn awaits_replies(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The requests of the agent that wait for an answer.
    pub fn open_asks(&self) -> impl Iterator<Item = &RequestId> {
        self.asked.open()
    }
}
