//! What is counted during a turn, for its result.

use std::time::{Duration, Instant};

use duologue_protocol::lines::{PermissionDenial, Prompt};
use duologue_protocol::message::{StopReason, Usage};
use duologue_protocol::{RawJson, Text, ToolUseId};

use super::ToolCall;
use crate::usage;

#[derive(Debug)]
pub(crate) struct TurnRecord {
    started: Instant,
    pub(crate) first_line: Option<Duration>,
    /// Lines in the user's place: each is a step of the turn.
    pub(crate) user_lines: u64,
    pub(crate) last_text: Text,
    pub(crate) denials: Vec<PermissionDenial>,
    pub(crate) usage: Usage,
    pub(crate) stop_reason: Option<StopReason>,
    pub(crate) structured: Option<RawJson>,
    /// Calls that have no result yet.
    calls: Vec<ToolCall>,
    /// Those of them that may run.
    permitted: Vec<ToolUseId>,
    /// Prompts that came while the turn ran and that it took.
    pub(crate) folded: Vec<Prompt>,
    /// What hooks want the model to know.
    pub(crate) context: Vec<Text>,
    /// The call that a hook put off.
    pub(crate) deferred: Option<ToolCall>,
    /// The result of a turn in which no model was asked.
    pub(crate) local: Option<Text>,
    /// A hook stops the turn.
    pub(crate) is_stopped: bool,
    /// The host stopped the turn by its answer about a tool.
    pub(crate) is_rejected: bool,
}

impl TurnRecord {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            first_line: None,
            user_lines: 0,
            last_text: Text::default(),
            denials: Vec::new(),
            usage: usage::nothing(),
            stop_reason: None,
            structured: None,
            calls: Vec::new(),
            permitted: Vec::new(),
            folded: Vec::new(),
            context: Vec::new(),
            deferred: None,
            local: None,
            is_stopped: false,
            is_rejected: false,
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Notes the first line of the answer. True once.
    pub(super) fn begins(&mut self) -> bool {
        let first = self.first_line.is_none();
        self.first_line.get_or_insert(self.started.elapsed());
        first
    }

    pub(super) fn open(&mut self, call: &ToolCall) {
        self.calls.push(call.clone());
    }

    pub(super) fn permit(&mut self, id: &ToolUseId) {
        self.permitted.push(id.clone());
    }

    pub(super) fn is_permitted(&self, id: &ToolUseId) -> bool {
        self.permitted.contains(id)
    }

    pub(super) fn close(&mut self, id: &ToolUseId) {
        self.calls.retain(|call| call.id != *id);
        self.permitted.retain(|permitted| permitted != id);
    }

    /// Calls that may run and have no result, though the agent has continued.
    pub(super) fn forgotten(&self) -> Vec<ToolCall> {
        let permitted = |call: &&ToolCall| self.permitted.contains(&call.id);
        self.calls.iter().filter(permitted).cloned().collect()
    }

    pub(crate) fn open_calls(&self) -> Vec<ToolCall> {
        self.calls.clone()
    }

    pub(super) fn deny(&mut self, call: &ToolCall) {
        let denial = PermissionDenial::new()
            .tool_name(&call.name)
            .tool_use_id(call.id.clone())
            .tool_input(call.input.clone());
        self.denials.push(denial);
    }

    pub(super) fn add_usage(&mut self, usage: &Usage) {
        usage::add(&mut self.usage, usage);
    }
}
