//! Turns: which prompts begin one, which are folded into one, and how one ends.

use crate::legacy::agent_output;
use crate::lines::{
    CommandLifecycle, CommandState, Priority, Prompt, TerminalReason, TurnResult, User, UserMessage,
};
use crate::message::{Origin, OriginKind};
use crate::system::SessionState;
use crate::text::Text;
use crate::wire::Field;

use super::AgentLink;
use super::event::{AgentEvent, TurnStart, join};

/// The turn that runs.
#[derive(Debug)]
pub(super) struct Running {
    start: TurnStart,
    /// Prompts that came while it ran and that it took.
    folded: Vec<Prompt>,
    interrupted: bool,
    /// The uuid under which its prompt was repeated, if the host gave it none.
    repeated_as: Option<crate::id::Uuid>,
}

impl Running {
    /// Interrupts the turn. False if it was interrupted before.
    pub(super) const fn interrupt(&mut self) -> bool {
        !std::mem::replace(&mut self.interrupted, true)
    }
}

impl AgentLink {
    pub(super) fn prompted(&mut self, prompt: Prompt) {
        if self.legacy.is_some() {
            self.transmit.push_back(agent_output::echo(&prompt));
        }
        if !self.prompts.is_new(&prompt) {
            // The CLI echoes it, and does nothing else.
            self.echo_prompt(&prompt, None);
            return;
        }
        let at_once = prompt.priority.value() == Some(&Priority::Now);
        if self.turn.is_none() {
            self.report_state_as(SessionState::Running);
        }
        self.report(&prompt, CommandState::Queued);
        self.prompts.add(prompt);
        if self.turn.is_none() {
            self.next_turn();
        } else if at_once {
            self.interrupt(true, true);
        }
    }

    /// Requests a turn without a prompt of the host, for something that happened in the background. It begins when no
    /// other turn runs and no prompt waits.
    pub fn begin_own_turn(&mut self, origin: Origin, prompt: Option<Prompt>) {
        self.prompts.add_own(origin, prompt);
        if self.turn.is_none() {
            self.next_turn();
        }
    }

    fn next_turn(&mut self) {
        if let Some(start) = self.prompts.next_turn() {
            // All but the last are echoed alone, the last with all of their texts.
            for prompt in start.prompts.split_last().map_or(&[][..], |(_, rest)| rest) {
                self.echo_prompt(prompt, None);
            }
            self.turn = Some(Running {
                start: start.clone(),
                folded: Vec::new(),
                interrupted: false,
                repeated_as: None,
            });
            self.report_state();
            for prompt in &start.prompts {
                self.report(prompt, CommandState::Started);
            }
            self.events.push_back(AgentEvent::TurnBegins(Box::new(start)));
        } else {
            self.report_state();
        }
    }

    /// Echoes the prompts of the turn, if the host wants that. Call it after `init`.
    pub fn replay_prompts(&mut self, timestamp: Option<Text>) {
        let Some(turn) = &self.turn else { return };
        if turn.start.origin.is_some() {
            return;
        }
        if let Some(last) = turn.start.prompts.last() {
            let mut merged = last.clone();
            let content = join(&turn.start.prompts);
            merged.message = UserMessage::new().role("user").content(content).into();
            if self.replay && merged.uuid.value().is_none() {
                let uuid = crate::id::Uuid::from(self.ids.uuid());
                merged.uuid = Field::Value(uuid.clone());
                if let Some(turn) = &mut self.turn {
                    turn.repeated_as = Some(uuid);
                }
            }
            self.echo_prompt(&merged, Some(timestamp.unwrap_or_default()));
        }
    }

    /// The uuid of the prompt that the running turn answers: the host's, or the one under which it was repeated.
    pub fn prompt_uuid(&self) -> Option<crate::id::Uuid> {
        let turn = self.turn.as_ref()?;
        let given = turn.start.prompts.last().and_then(|prompt| prompt.uuid.value().cloned());
        given.or_else(|| turn.repeated_as.clone())
    }

    fn echo_prompt(&mut self, prompt: &Prompt, timestamp: Option<Text>) {
        if !self.replay || self.legacy.is_some() {
            return;
        }
        let mut line = User::new().is_replay(true);
        line.message = prompt.message.clone();
        line.parent_tool_use_id = Field::Null;
        line.session_id = self.session.clone().into();
        line.uuid = prompt.uuid.clone();
        if line.uuid.value().is_none() {
            line = line.uuid(self.ids.uuid());
        }
        line.timestamp = timestamp.filter(|time| !time.is_empty()).into();
        self.say(Box::new(line));
    }

    /// Takes the prompts that wait into the running turn. Call it after the result of a tool.
    pub fn fold(&mut self, timestamp: Option<Text>) -> Vec<Prompt> {
        if self.turn.as_ref().is_none_or(|turn| turn.interrupted) {
            return Vec::new();
        }
        let folded = self.prompts.fold();
        for prompt in &folded {
            self.echo_prompt(prompt, Some(timestamp.clone().unwrap_or_default()));
            self.report(prompt, CommandState::Started);
        }
        if let Some(turn) = &mut self.turn {
            turn.folded.extend(folded.iter().cloned());
        }
        folded
    }

    /// The uuids of the prompts that the running turn began with.
    pub fn turn_prompts(&self) -> Vec<crate::id::Uuid> {
        let prompts = self.turn.iter().flat_map(|turn| &turn.start.prompts);
        prompts.filter_map(|prompt| prompt.uuid.value().cloned()).collect()
    }

    /// Ends the running turn with this result. The machine fills in prompts, origin and index. The prompts that wait become
    /// the next turn. False if no turn runs; then nothing happens.
    pub fn end_turn(&mut self, mut result: TurnResult) -> bool {
        let uuids = self.turn_prompts();
        let Some(turn) = self.turn.take() else { return false };
        for prompt in &turn.folded {
            self.report(prompt, CommandState::Completed);
        }
        if let Some(last) = uuids.last() {
            result = result.user_message_uuid(last.clone()).user_message_uuids(uuids);
        }
        // A host can claim only that a person typed a prompt.
        let prompts = turn.start.prompts.iter().chain(&turn.folded);
        let typed = prompts
            .last()
            .and_then(|prompt| prompt.origin.value())
            .filter(|origin| origin.kind.value().is_some_and(|kind| *kind == OriginKind::Human));
        let typed = typed.cloned();
        if let Some(origin) = turn.start.origin.or(typed) {
            result = result.origin(origin);
        }
        // The CLI does so even while prompts are queued.
        result = result.queued_turn_count(0_u64).result_index(self.results);
        self.results += 1;
        self.last_failed = result.is_error.is_true();
        // The CLI counts a prompt without an answer as cancelled, but not one that took too many turns.
        let was_refused = matches!(
            result.terminal_reason.value(),
            Some(TerminalReason::ApiError | TerminalReason::BudgetExhausted)
        );
        let line = self.render(Box::new(result).into());
        self.held.extend(line);
        if !(self.ended && self.holding) {
            self.transmit.extend(self.held.drain(..));
        }
        let became = if turn.interrupted || was_refused {
            CommandState::Cancelled
        } else {
            CommandState::Completed
        };
        for prompt in &turn.start.prompts {
            self.report(prompt, became.clone());
        }
        self.early.clear();
        self.next_turn();
        true
    }

    /// Sets whether tasks run in the background. Once the host's input has ended, results wait for them, as with the CLI:
    /// they are sent when the tasks are done, after the turn that reports them.
    pub fn hold_results(&mut self, hold: bool) {
        self.holding = hold;
        if !hold && self.is_idle() {
            self.transmit.extend(self.held.drain(..));
        }
    }

    /// Sets whether something runs beside the turns that will begin a turn. Until then the session is not idle, although no
    /// turn runs.
    pub fn work_beside(&mut self, works: bool) {
        let before = std::mem::replace(&mut self.works_beside, works);
        if before != works {
            self.report_state();
        }
    }

    /// Cancels one prompt that waits. False if it does not wait.
    pub(super) fn cancel_prompt(&mut self, uuid: &str) -> bool {
        let found = self.prompts.waiting().find(|prompt| prompt.uuid.as_str() == Some(uuid));
        let Some(prompt) = found.cloned() else { return false };
        self.prompts.cancel(uuid);
        self.report(&prompt, CommandState::Cancelled);
        true
    }

    pub(super) fn discard_queue(&mut self) -> Vec<String> {
        let discarded = self.prompts.cancel_all();
        for prompt in &discarded {
            self.report(prompt, CommandState::Cancelled);
        }
        discarded.iter().filter_map(|prompt| prompt.uuid.as_str().map(str::to_owned)).collect()
    }

    pub(super) fn queued_uuids(&self) -> Vec<String> {
        let waiting = self.prompts.waiting();
        waiting.filter_map(|prompt| prompt.uuid.as_str().map(str::to_owned)).collect()
    }

    /// Reports the state of a prompt, if it has a uuid.
    fn report(&mut self, prompt: &Prompt, state: CommandState) {
        let Some(uuid) = prompt.uuid.value() else { return };
        let mut line = CommandLifecycle::new().command_uuid(uuid.clone()).state(state);
        line = line.uuid(self.ids.uuid());
        line.session_id = self.session.clone().into();
        self.say(Box::new(line));
    }
}
