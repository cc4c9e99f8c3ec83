//! [`HostLink`]: the host's end of the wire, as a machine without I/O.

mod asked;
mod control;
mod event;
mod pending;
mod tool_calls;

use core::time::Duration;
use std::collections::VecDeque;

use crate::control::{AgentRequest, ControlRequestToAgent, HostRequest};
use crate::frame::TooLong;
use crate::id::RequestId;
use crate::json::RawObject;
use crate::ledger::{Reading, Salvage, TurnState};
use crate::legacy::host::LegacyAsks;
use crate::line::{Decoded, Line};
use crate::lines::{ControlCancelRequest, Prompt};
use crate::to_host::ToHost;
use crate::wire::Wire;

pub use event::{Answer, Failure, LinkEvent, NotOpen};

use asked::Asked;
use pending::Pending;
use tool_calls::ToolCalls;

/// How many lines may wait to be written before the host should send nothing more.
const MOST_UNWRITTEN: usize = 256;

/// The host's end of a conversation: it matches control requests of both sides with their answers, and decides when the
/// agent's stdin may be closed. It does no I/O and has no clock.
///
/// It has no ledger of turns. A [`Transcript`](crate::transcript::Transcript) of the same lines keeps it, and
/// [`may_close`](Self::may_close) takes its state.
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
/// - **The state**: [`may_close`](Self::may_close), [`open_asks`](Self::open_asks).
///
/// In any order of calls, a request of the host ends exactly once: with an answer, a failure or a timeout. A request of
/// the agent is delivered once and answered at most once, and never after it was withdrawn.
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
    /// Open requests of the host.
    pending: Pending,
    /// Open requests of the agent.
    asked: Asked,
    /// How many prompts were sent.
    prompts: u64,
    /// Send one request at a time. Legacy agents need it.
    serial: bool,
    /// Tool calls without a result, if they are followed.
    tool_calls: Option<ToolCalls>,
    /// With a legacy agent, each tool call is a permission request.
    legacy: Option<LegacyAsks>,
    ended: bool,
}

impl HostLink {
    /// Creates the host's end of a new conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends one control request at a time: the next one is sent when the last has ended.
    #[must_use]
    pub fn serial(mut self) -> Self {
        self.serial = true;
        self
    }

    /// Follows tool calls, for [`awaits_tools`](Self::awaits_tools). It costs decoding all messages of the model.
    #[must_use]
    pub fn watch_tools(mut self) -> Self {
        self.tool_calls = Some(ToolCalls::default());
        self
    }

    /// Drives a legacy agent: each tool call is a permission request, and the answers are `approve`, `deny` and
    /// `tool_result` lines. Today's CLI ignores such lines or exits.
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

    /// Sends a prompt. Give it a uuid, so that its turn can be found.
    pub fn prompt(&mut self, prompt: &Prompt) {
        self.prompts += 1;
        self.transmit.push_back(prompt.to_line());
    }

    /// Sends a request to the agent. The answer is a [`LinkEvent::Replied`] with this id. Without a timeout, the request
    /// stays open until the agent answers.
    pub fn request(
        &mut self,
        now: Duration,
        request: impl Into<HostRequest>,
        timeout: Option<Duration>,
    ) -> RequestId {
        let id = self.pending.next_id();
        let line = ControlRequestToAgent::of(id.clone(), request.into()).to_line();
        self.send_request(now, id, line, timeout)
    }

    /// Sends a request that has no type here. The object needs its own `subtype`.
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
        self.send_request(now, id, line, timeout)
    }

    fn send_request(
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

    /// Withdraws a request of the host. A late answer is ignored.
    pub fn withdraw(&mut self, id: &RequestId) {
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

    /// Handles a line of the agent's stdout. Lines that cannot change anything here are not decoded.
    pub fn handle_line(&mut self, line: &Line) {
        let is_needed = match line.kind().as_deref() {
            Ok("control_request" | "control_response" | "control_cancel_request") => true,
            Ok("assistant" | "user" | "result" | "system") => self.reads_calls(),
            Ok(_) => false,
            Err(_) => true,
        };
        if is_needed {
            self.handle_decoded(line, &line.to_host());
        }
    }

    /// Handles a line of the agent's stdout that the caller has decoded with [`Line::to_host`]. It has the
    /// same effect as [`handle_line`](Self::handle_line), for callers that need the message themselves.
    ///
    /// ```
    /// use duologue_protocol::Line;
    /// use duologue_protocol::host_link::{HostLink, LinkEvent};
    ///
    /// let mut link = HostLink::new();
    /// let line = Line::from(concat!(
    ///     r#"{"type":"control_request","request_id":"1","#,
    ///     r#""request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}"#,
    /// ));
    /// let decoded = line.to_host();
    /// link.handle_decoded(&line, &decoded);
    /// assert!(matches!(link.poll_event(), Some(LinkEvent::Asked { .. })));
    /// ```
    pub fn handle_decoded(&mut self, line: &Line, decoded: &Decoded<ToHost>) {
        match decoded {
            Decoded::Known(message) | Decoded::Unknown(message) => match message {
                ToHost::ControlRequest(_)
                | ToHost::ControlResponse(_)
                | ToHost::ControlCancelRequest(_) => self.control(line, message),
                _ if self.reads_calls() => self.follow_calls(message),
                _ => {}
            },
            Decoded::Malformed(fault) => self.salvage(line.raw(), &fault.to_string()),
        }
    }

    /// Handles the beginning of a line that was longer than the cap. What the line ended has ended here, too.
    pub fn handle_too_long(&mut self, too_long: &TooLong) {
        self.salvage(too_long.start(), &too_long.to_string());
    }

    /// Handles a line that could not be decoded.
    fn salvage(&mut self, bytes: &[u8], fault: &str) {
        let line = Salvage::of(bytes);
        match line.kind().as_deref() {
            Some(kind @ ("control_request" | "control_response" | "control_cancel_request")) => {
                self.salvage_control(kind, &line, fault);
            }
            _ if self.reads_calls() => {
                if let Reading::Ended { result, .. } = Reading::salvage(bytes, fault).reading {
                    self.follow_calls(&ToHost::Result(result));
                }
            }
            _ => {}
        }
    }

    /// Whether tool calls and their results are followed.
    fn reads_calls(&self) -> bool {
        self.tool_calls.is_some() || self.legacy.is_some()
    }

    fn follow_calls(&mut self, message: &ToHost) {
        if let Some(calls) = &mut self.tool_calls {
            calls.follow(message);
        }
        self.ask_by_call(message);
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
        // A legacy agent does not withdraw requests.
        for id in legacy.settled(message) {
            if self.asked.withdrawn(&id) {
                self.events.push_back(LinkEvent::Withdrawn { id });
            }
        }
    }

    /// Ends the requests of the host that are overdue at this time.
    pub fn handle_timeout(&mut self, now: Duration) {
        for id in self.pending.overdue(now) {
            self.fail(&id, Failure::TimedOut);
        }
        self.send_held();
    }

    /// Handles the end of the agent's stdout: all open requests of both sides end.
    pub fn handle_end(&mut self) {
        self.ended = true;
        for id in self.pending.all() {
            self.fail(&id, Failure::Ended);
        }
        for id in self.asked.drain() {
            self.events.push_back(LinkEvent::Withdrawn { id });
        }
        if let Some(calls) = &mut self.tool_calls {
            *calls = ToolCalls::default();
        }
    }

    /// Takes the next line to write to the agent's stdin.
    pub fn poll_transmit(&mut self) -> Option<String> {
        self.transmit.pop_front()
    }

    /// Takes the next event to serve.
    pub fn poll_event(&mut self) -> Option<LinkEvent> {
        self.events.pop_front()
    }

    /// Whether so many lines wait to be written that nothing more should be sent for now.
    pub fn is_backed_up(&self) -> bool {
        self.transmit.len() >= MOST_UNWRITTEN
    }

    /// When [`handle_timeout`](Self::handle_timeout) must be called, if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.pending.next_deadline()
    }

    /// Whether the agent's stdin may be closed without cutting anything off: no line waits to be written, no request is
    /// open, and according to the transcript no turn runs, no prompt waits and no task works in the background.
    ///
    /// ```
    /// use duologue_protocol::host_link::HostLink;
    /// use duologue_protocol::lines::Prompt;
    /// use duologue_protocol::transcript::Transcript;
    /// use duologue_protocol::{Direction, Line};
    ///
    /// let mut link = HostLink::new();
    /// let mut transcript = Transcript::new();
    /// link.prompt(&Prompt::text("Hi").uuid("p1"));
    /// assert!(!link.may_close(transcript.turn_state()));
    /// let sent = link.poll_transmit().unwrap();
    /// transcript.handle_line(Direction::ToAgent, &Line::from(sent.trim_end()));
    /// assert!(!link.may_close(transcript.turn_state()));
    ///
    /// let line = Line::from(r#"{"type":"result","subtype":"success","user_message_uuids":["p1"]}"#);
    /// link.handle_line(&line);
    /// transcript.handle_line(Direction::ToHost, &line);
    /// assert!(link.may_close(transcript.turn_state()));
    /// ```
    pub fn may_close(&self, turns: TurnState) -> bool {
        self.ended
            || (self.transmit.is_empty()
                && self.pending.is_empty()
                && self.asked.is_empty()
                && self.is_between_turns(turns)
                && turns.is_idle())
    }

    /// Whether no turn runs and no prompt waits, neither in the transcript nor to be written. Tasks in the background may
    /// still run.
    pub const fn is_between_turns(&self, turns: TurnState) -> bool {
        self.ended || (self.prompts <= turns.prompts && turns.is_between_turns())
    }

    /// Whether a tool call has no result yet. Needs [`watch_tools`](Self::watch_tools).
    pub fn awaits_tools(&self) -> bool {
        self.tool_calls.as_ref().is_some_and(ToolCalls::any_open)
    }

    /// Whether a request of the host is open.
    pub fn awaits_replies(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The open requests of the agent.
    pub fn open_asks(&self) -> impl Iterator<Item = &RequestId> {
        self.asked.open()
    }
}
