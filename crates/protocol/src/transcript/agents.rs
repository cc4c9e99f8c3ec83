//! Subagents: a tree. Each start and each end is reported once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::id::ToolUseId;
use crate::system::{TaskNotification, TaskStarted as TaskStartedLine, TaskType};
use crate::text::Text;
use crate::tool::{Agent, ExitPlanMode};

use super::event::{AgentFinishedEvent, AgentStartedEvent, ToolCallEvent};
use crate::budget::{Budget, Charge, compact};
use crate::ledger::Seen;

/// The tools that start subagents.
const STARTERS: [&str; 2] = ["Agent", "Task"];
/// The tool that proposes a plan.
pub(super) const PLAN: &str = "ExitPlanMode";

/// The memory for a call or a subagent without its texts.
const OVERHEAD: usize = 512;

/// The subagents that run, by the tool call that started them.
#[derive(Debug, Default)]
pub(super) struct Agents {
    budget: Budget,
    open: HashMap<String, AgentState>,
    /// The calls that have no result yet.
    calls: HashMap<String, Call>,
    finished: Seen,
}

/// A call that has no result yet.
#[derive(Debug)]
struct Call {
    /// The agent that made it.
    by: Option<ToolUseId>,
    /// The plan in it, if it proposes one.
    plan: Option<Text>,
    /// Its share of the budget.
    _charge: Charge,
}

#[derive(Debug, Default)]
struct AgentState {
    /// Its share of the budget.
    charge: Option<Charge>,
    /// The agent that started it.
    parent: Option<ToolUseId>,
    turn: Option<u64>,
    name: Option<Text>,
    description: Option<Text>,
    background: bool,
    reported: bool,
}

impl Agents {
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// A tool is called. It may start a subagent.
    pub(super) fn called(
        &mut self,
        call: &ToolCallEvent,
        agent: Option<&ToolUseId>,
        turn: Option<u64>,
    ) {
        let id = call.id.as_str();
        if id.is_empty() {
            return;
        }
        let plan = if call.name == PLAN {
            call.input.read::<ExitPlanMode>().ok().and_then(|input| input.plan.into_value())
        } else {
            None
        };
        let plan = plan.map(|plan| compact(&plan));
        let by = agent.map(ToolUseId::detach);
        let texts = [by.as_ref().map(ToolUseId::as_str), plan.as_deref(), Some(id)];
        let cost = OVERHEAD + texts.into_iter().flatten().map(str::len).sum::<usize>();
        // A call that does not fit into the budget counts as one of the main agent.
        if let Some(charge) = self.budget.charge(cost) {
            self.calls.insert(id.to_owned(), Call { by, plan, _charge: charge });
        }
        if !STARTERS.contains(&call.name.as_str()) {
            return;
        }
        let input = call.input.read::<Agent>().unwrap_or_default();
        let Some(state) = self.entry(id) else { return };
        *state = AgentState {
            charge: state.charge.take(),
            parent: agent.map(ToolUseId::detach),
            turn,
            background: input.run_in_background.is_true(),
            ..AgentState::default()
        };
        state.name(input.subagent_type.value());
        state.describe(input.description.value());
    }

    /// The state of this subagent; `None` if it does not fit into the budget.
    fn entry(&mut self, id: &str) -> Option<&mut AgentState> {
        match self.open.entry(id.to_owned()) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(place) => {
                let charge = Some(self.budget.charge(OVERHEAD + id.len())?);
                Some(place.insert(AgentState { charge, ..AgentState::default() }))
            }
        }
    }

    /// The turn has ended: open calls of the main agent get no result any more.
    pub(super) fn end_turn(&mut self) {
        self.calls.retain(|_, call| call.by.is_some());
        self.open.retain(|_, agent| agent.reported || agent.parent.is_some());
    }

    /// The agent that made this call.
    pub(super) fn caller(&self, tool_use_id: &str) -> Option<&ToolUseId> {
        self.calls.get(tool_use_id)?.by.as_ref()
    }

    /// The plan in this call.
    pub(super) fn plan(&self, tool_use_id: Option<&str>) -> Option<Text> {
        self.calls.get(tool_use_id?)?.plan.clone()
    }

    /// A call has its result.
    pub(super) fn returned(&mut self, tool_use_id: &str) {
        self.calls.remove(tool_use_id);
    }

    /// The turn in which this agent was started.
    pub(super) fn turn(&self, agent: &ToolUseId) -> Option<u64> {
        self.open.get(agent.as_str())?.turn
    }

    /// A line of this agent came. Returns its start, if that was not reported yet.
    pub(super) fn seen(
        &mut self,
        agent: &ToolUseId,
        name: Option<&Text>,
        turn: Option<u64>,
    ) -> Option<Started> {
        if self.finished.contains(agent.as_str()) {
            return None;
        }
        let state = self.entry(agent.as_str())?;
        state.turn = state.turn.or(turn);
        if state.name.is_none() {
            state.name(name);
        }
        state.report(agent)
    }

    /// A line reports that a subagent has started.
    pub(super) fn task_started(
        &mut self,
        line: &TaskStartedLine,
        turn: Option<u64>,
    ) -> Option<Started> {
        let agent = line.tool_use_id.value()?;
        if line.task_type.value() != Some(&TaskType::LocalAgent)
            || self.finished.contains(agent.as_str())
        {
            return None;
        }
        let state = self.entry(agent.as_str())?;
        state.turn = state.turn.or(turn);
        state.background |= line.is_backgrounded.is_true();
        state.name(line.subagent_type.value());
        state.describe(line.description.value());
        let mut started = state.report(agent)?;
        started.event.task_id = line.task_id.value().cloned();
        Some(started)
    }

    /// Whether this subagent has ended.
    pub(super) fn is_finished(&self, agent: &ToolUseId) -> bool {
        self.finished.contains(agent.as_str())
    }

    /// Whether this call started a subagent that runs.
    pub(super) fn is_agent(&self, tool_use_id: &str) -> bool {
        self.open.get(tool_use_id).is_some_and(|state| state.reported)
    }

    pub(super) fn parent(&self, agent: &ToolUseId) -> Option<&ToolUseId> {
        self.open.get(agent.as_str())?.parent.as_ref()
    }

    /// The call of a subagent has its result. The subagent has ended, unless it runs in the background.
    pub(super) fn call_returned(&mut self, agent: &ToolUseId, failed: bool) -> Option<Finished> {
        let state = self.open.get(agent.as_str())?;
        if !state.reported {
            self.open.remove(agent.as_str());
            return None;
        }
        if state.background {
            return None;
        }
        let status = if failed { "failed" } else { "completed" };
        self.finish(agent, AgentFinishedEvent::new().status(Text::from(status)))
    }

    /// A line reports that a subagent has ended.
    pub(super) fn notified(&mut self, line: &TaskNotification) -> Option<Finished> {
        let agent = line.tool_use_id.value()?;
        if !self.is_agent(agent.as_str()) {
            return None;
        }
        let event = AgentFinishedEvent::new()
            .status(line.status.as_str().map(Text::from))
            .summary(line.summary.value().cloned())
            .usage(line.usage.value().cloned());
        self.finish(agent, event)
    }

    fn finish(&mut self, agent: &ToolUseId, mut event: AgentFinishedEvent) -> Option<Finished> {
        let state = self.open.remove(agent.as_str())?;
        self.finished.note(agent.as_str());
        event.tool_use_id = agent.clone();
        Some(Finished { parent: state.parent, turn: state.turn, event })
    }
}

/// The start of a subagent: its place, and the event.
pub(super) struct Started {
    pub(super) parent: Option<ToolUseId>,
    pub(super) turn: Option<u64>,
    pub(super) event: AgentStartedEvent,
}

/// The end of a subagent: its place, and the event.
pub(super) struct Finished {
    pub(super) parent: Option<ToolUseId>,
    pub(super) turn: Option<u64>,
    pub(super) event: AgentFinishedEvent,
}

impl AgentState {
    fn name(&mut self, name: Option<&Text>) {
        if let Some(name) = name.and_then(|name| self.keep(name)) {
            self.name = Some(name);
        }
    }

    fn describe(&mut self, description: Option<&Text>) {
        if let Some(description) = description.and_then(|description| self.keep(description)) {
            self.description = Some(description);
        }
    }

    /// The same text, if it fits into the budget.
    fn keep(&mut self, text: &Text) -> Option<Text> {
        let text = compact(text);
        self.charge.as_mut().is_some_and(|charge| charge.grow(text.retained())).then_some(text)
    }

    fn report(&mut self, agent: &ToolUseId) -> Option<Started> {
        if std::mem::replace(&mut self.reported, true) {
            return None;
        }
        let event = AgentStartedEvent::new()
            .tool_use_id(agent.clone())
            .background(self.background)
            .name(self.name.clone())
            .description(self.description.clone());
        Some(Started { parent: self.parent.clone(), turn: self.turn, event })
    }
}
