//! The rules of a conversation: a checker for whole conversations.
//!
//! Pass it the lines of both directions in the order of the wire. It reports which rules were broken, and where.
//!
//! ```
//! use duologue_protocol::{Direction, Line, rules::{Checker, Rule}};
//!
//! let mut checker = Checker::new();
//! let hello = Line::from(r#"{"type":"keep_alive"}"#);
//! checker.to_host(hello.to_host().message().unwrap(), 1);
//! let answer = Line::from(
//!     r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1"}}"#,
//! );
//! checker.to_agent(answer.to_agent().message().unwrap(), 2);
//! assert_eq!(checker.finish()[0].rule, Rule::AnswerToNothing);
//! ```

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

use crate::content::ContentBlock;
use crate::control::{AgentRequest, ControlResponse};
use crate::line::{Direction, Line};
use crate::lines::{StreamEvent, StreamLine};
use crate::system::System;
use crate::to_agent::ToAgent;
use crate::to_host::ToHost;

/// A rule of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A control request was neither answered nor withdrawn.
    RequestNeverAnswered,
    /// A control response names a request that does not exist.
    AnswerToNothing,
    /// A request was answered after it had been withdrawn.
    AnswerAfterCancellation,
    /// A tool result names a tool call that does not exist.
    ToolResultWithoutCall,
    /// A turn began and never ended with a result.
    TurnWithoutResult,
}

impl Rule {
    /// Its name in machine-readable reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RequestNeverAnswered => "request_never_answered",
            Self::AnswerToNothing => "answer_to_nothing",
            Self::AnswerAfterCancellation => "answer_after_cancellation",
            Self::ToolResultWithoutCall => "tool_result_without_call",
            Self::TurnWithoutResult => "turn_without_result",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::RequestNeverAnswered => "control request never answered",
            Self::AnswerToNothing => "answer to a request that does not exist",
            Self::AnswerAfterCancellation => "answer after the request was withdrawn",
            Self::ToolResultWithoutCall => "tool result without a tool call",
            Self::TurnWithoutResult => "turn without a result",
        })
    }
}

/// A rule that was broken, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The number of the line that breaks it, or that was left without an answer.
    pub line: u64,
    /// Which request, call or turn.
    pub subject: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.rule, self.subject)
    }
}

/// Follows a conversation and collects the rules that are broken.
#[derive(Debug, Default)]
pub struct Checker {
    seen_to_host: bool,
    seen_to_agent: bool,
    /// Requests made by the host.
    by_host: Requests,
    /// Requests made by the agent.
    by_agent: Requests,
    tool_calls: HashSet<String>,
    /// The same, in order.
    calls_in_order: VecDeque<String>,
    /// Where each turn began that has no result yet.
    open_turns: VecDeque<u64>,
    violations: Vec<Violation>,
}

/// How many answered requests and how many tool calls are remembered, since a conversation may be long. Lines that belong
/// together are closer together than that.
const REMEMBERED: usize = 10_000;

/// How many requests of one side are followed at once.
const MOST_FOLLOWED: usize = 100_000;

/// How many violations are reported.
const MOST_REPORTED: usize = 100_000;

/// The requests that one side has made, by id.
#[derive(Debug, Default)]
struct Requests {
    made: HashMap<String, Request>,
    /// Those that have ended, oldest first. They are kept for a while, since a second answer breaks no rule.
    ended: VecDeque<String>,
    /// Some requests were not followed: an answer may be to one of them.
    overflowed: bool,
}

#[derive(Debug)]
struct Request {
    state: RequestState,
    line: u64,
    subtype: String,
}

#[derive(Debug, PartialEq)]
enum RequestState {
    Open,
    /// Some requests are left unanswered on purpose.
    NeedsNoAnswer,
    Answered,
    Cancelled,
}

impl Requests {
    fn made(&mut self, id: &str, subtype: &str, line: u64, needs_answer: bool) {
        // A request that is delivered again is the same request.
        if self.made.contains_key(id) {
            return;
        }
        if self.made.len() == MOST_FOLLOWED {
            self.overflowed = true;
            return;
        }
        let state = if needs_answer { RequestState::Open } else { RequestState::NeedsNoAnswer };
        let request = Request { state, line, subtype: subtype.to_owned() };
        self.made.insert(id.to_owned(), request);
        if !needs_answer {
            self.end(id);
        }
    }

    fn cancelled(&mut self, id: &str) {
        if let Some(request) = self.made.get_mut(id)
            && request.state == RequestState::Open
        {
            request.state = RequestState::Cancelled;
            self.end(id);
        }
    }

    fn end(&mut self, id: &str) {
        self.ended.push_back(id.to_owned());
        if self.ended.len() > REMEMBERED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.made.remove(&oldest);
        }
    }

    /// The rule that an answer breaks. A second answer breaks none.
    fn answered(&mut self, id: &str) -> Option<Rule> {
        let Some(request) = self.made.get_mut(id) else {
            return (!self.overflowed).then_some(Rule::AnswerToNothing);
        };
        match request.state {
            RequestState::Cancelled => Some(Rule::AnswerAfterCancellation),
            RequestState::Answered => None,
            RequestState::NeedsNoAnswer => {
                request.state = RequestState::Answered;
                None
            }
            RequestState::Open => {
                request.state = RequestState::Answered;
                self.end(id);
                None
            }
        }
    }
}

impl Checker {
    /// Creates a checker for one conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks the next line, which goes to the host.
    pub fn to_host(&mut self, message: &ToHost, line: u64) {
        self.seen_to_host = true;
        match message {
            ToHost::ControlRequest(request) => {
                if let (Some(id), Some(body)) =
                    (request.request_id.as_str(), request.request.value())
                {
                    self.by_agent.made(id, body.tag(), line, wants_answer(body));
                }
            }
            ToHost::ControlResponse(response) => self.answer(response, Direction::ToHost, line),
            ToHost::ControlCancelRequest(cancel) => {
                if let Some(id) = cancel.request_id.as_str() {
                    self.by_agent.cancelled(id);
                }
            }
            ToHost::Assistant(assistant) => {
                for block in assistant.message.value().map_or(&[][..], |m| m.content.items()) {
                    self.call(block);
                }
            }
            ToHost::StreamEvent(line) => {
                let StreamLine { event, .. } = &**line;
                if let Some(StreamEvent::ContentBlockStart(start)) = event.value()
                    && let Some(block) = start.content_block.value()
                {
                    self.call(block);
                }
            }
            ToHost::User(user) => {
                if let Some(content) = user.message.value().and_then(|m| m.content.value()) {
                    self.results(content.blocks(), line);
                }
            }
            ToHost::System(System::Init(_)) => self.open_turns.push_back(line),
            ToHost::Result(_) | ToHost::System(System::Result(_)) => {
                // Results may be held back: which turn one belongs to does not matter here.
                self.open_turns.pop_front();
            }
            _ => {}
        }
    }

    /// Checks the next line, which goes to the agent.
    pub fn to_agent(&mut self, message: &ToAgent, line: u64) {
        self.seen_to_agent = true;
        match message {
            ToAgent::ControlRequest(request) => {
                if let (Some(id), Some(body)) =
                    (request.request_id.as_str(), request.request.value())
                {
                    self.by_host.made(id, body.tag(), line, true);
                }
            }
            ToAgent::UpdateEnvironmentVariables(update) => {
                if let Some(id) = update.request_id.as_str() {
                    self.by_host.made(id, message.tag(), line, true);
                }
            }
            ToAgent::ControlResponse(response) => self.answer(response, Direction::ToAgent, line),
            ToAgent::ControlCancelRequest(cancel) => {
                if let Some(id) = cancel.request_id.as_str() {
                    self.by_host.cancelled(id);
                }
            }
            ToAgent::Prompt(prompt) => {
                if let Some(content) = prompt.message.value().and_then(|m| m.content.value()) {
                    self.results(content.blocks(), line);
                }
            }
            _ => {}
        }
    }

    /// Checks the next line, which is malformed. If it is a request, neither an answer nor a missing answer breaks a rule.
    pub fn malformed(&mut self, direction: Direction, line: &Line, number: u64) {
        let requests = match direction {
            Direction::ToHost => &mut self.by_agent,
            Direction::ToAgent => &mut self.by_host,
        };
        if let Ok(head) = line.head()
            && head.kind == "control_request"
            && let Some(id) = head.request_id
        {
            requests.made(&id, "malformed", number, false);
        }
    }

    /// Ends the conversation and returns the violations, in order of their lines. With lines of one direction only, the list
    /// is empty, since nothing can be checked.
    pub fn finish(mut self) -> Vec<Violation> {
        if !(self.seen_to_host && self.seen_to_agent) {
            return Vec::new();
        }
        let by_host = std::mem::take(&mut self.by_host.made);
        for (id, request) in by_host.into_iter().chain(std::mem::take(&mut self.by_agent.made)) {
            if request.state == RequestState::Open {
                let subject = format!("{} {id}", request.subtype);
                self.broken(Rule::RequestNeverAnswered, request.line, subject);
            }
        }
        for line in std::mem::take(&mut self.open_turns) {
            let subject = "the turn that begins here".to_owned();
            self.broken(Rule::TurnWithoutResult, line, subject);
        }
        self.violations.sort_by_key(|violation| (violation.line, violation.rule));
        self.violations
    }

    fn answer(&mut self, response: &ControlResponse, direction: Direction, line: u64) {
        let Some(id) = response.request_id() else { return };
        let id = id.as_str();
        let (asked, other) = match direction {
            Direction::ToHost => (&mut self.by_host, &self.by_agent),
            Direction::ToAgent => (&mut self.by_agent, &self.by_host),
        };
        // With --replay-user-messages the CLI echoes the host's own answers: no violation.
        if !asked.made.contains_key(id) && other.made.contains_key(id) {
            return;
        }
        if let Some(rule) = asked.answered(id) {
            self.broken(rule, line, id.to_owned());
        }
    }

    fn broken(&mut self, rule: Rule, line: u64, subject: String) {
        if self.violations.len() < MOST_REPORTED {
            self.violations.push(Violation { rule, line, subject });
        }
    }

    fn call(&mut self, block: &ContentBlock) {
        let id = match block {
            ContentBlock::ToolUse(call) => call.id.as_str(),
            ContentBlock::ServerToolUse(call) => call.id.as_str(),
            ContentBlock::McpToolUse(call) => call.id.as_str(),
            _ => None,
        };
        if let Some(id) = id
            && self.tool_calls.insert(id.to_owned())
        {
            self.calls_in_order.push_back(id.to_owned());
            if self.calls_in_order.len() > REMEMBERED
                && let Some(oldest) = self.calls_in_order.pop_front()
            {
                self.tool_calls.remove(&oldest);
            }
        }
    }

    fn results(&mut self, blocks: &[ContentBlock], line: u64) {
        for block in blocks {
            if let ContentBlock::ToolResult(result) = block
                && let Some(id) = result.tool_use_id.as_str()
                && !self.tool_calls.contains(id)
            {
                self.broken(Rule::ToolResultWithoutCall, line, id.to_owned());
            }
        }
    }
}

/// Whether the host must answer. Dialogs that it did not declare and requests of hosted sessions stay unanswered.
fn wants_answer(request: &AgentRequest) -> bool {
    !matches!(
        request,
        AgentRequest::RequestUserDialog(_)
            | AgentRequest::RemoteToolCall(_)
            | AgentRequest::RemotePlumbingCall(_)
            | AgentRequest::RemoteToolsProbe(_)
            | AgentRequest::RemoteToolsReannounce(_)
    )
}
