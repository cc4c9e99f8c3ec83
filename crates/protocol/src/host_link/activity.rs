//! What the agent is busy with, as far as the wire tells.

use std::collections::{HashSet, VecDeque};

use crate::content::ContentBlock;
use crate::id::SessionId;
use crate::lines::{CommandState, TurnResult};
use crate::system::{SessionState, System, TaskStatus, TaskType};
use crate::to_host::ToHost;

/// Prompts that wait, turns that run, work in the background.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Prompts that no result has named yet, in order. Those without a name are empty.
    prompts: VecDeque<String>,
    /// How many of them, from the first on, were repeated by the agent: the next result answers those,
    /// if it names none.
    taken: usize,
    /// A turn has begun and has no result. There is one at a time: what begins twice, begins once.
    in_turn: bool,
    /// Somebody has prompted: before that no turn begins, also if the agent introduces itself.
    prompted: bool,
    /// Sub-agents and workflows in the background, by their task. A command in the background does
    /// not keep the conversation open.
    background: HashSet<String>,
    /// Tool calls without a result. Only known if assistant and user lines are read.
    tools: HashSet<String>,
    /// Results so far.
    pub(super) results: u64,
    /// What the last result says went wrong, if it did.
    pub(super) failure: Option<String>,
    pub(super) session: Option<SessionId>,
}

impl Activity {
    pub(super) fn prompted(&mut self, uuid: Option<&str>) {
        self.prompts.push_back(uuid.unwrap_or_default().to_owned());
        self.prompted = true;
    }

    /// A prompt no longer waits.
    pub(super) fn taken_back(&mut self, uuid: &str) {
        self.prompts.retain(|prompt| prompt != uuid);
    }

    /// Whether it matters which prompts the agent repeats: one alone needs no telling.
    pub(super) fn minds_replays(&self) -> bool {
        self.prompts.len() > 1
    }

    /// The agent repeats a prompt: it has taken this one, and those before it.
    pub(super) fn replayed(&mut self, uuid: &str) {
        if let Some(at) = self.prompts.iter().position(|prompt| prompt == uuid) {
            self.taken = self.taken.max(at + 1);
        }
    }

    pub(super) fn saw(&mut self, message: &ToHost) {
        match message {
            ToHost::Result(result) => self.result(result),
            ToHost::CommandLifecycle(line) => {
                let ended = !matches!(
                    line.state.value(),
                    Some(CommandState::Queued | CommandState::Started) | None
                );
                if let Some(uuid) = line.command_uuid.as_str()
                    && ended
                {
                    self.taken_back(uuid);
                }
            }
            ToHost::System(System::Result(result)) => self.result(&result.as_result()),
            ToHost::System(System::Init(init)) => {
                self.in_turn = self.prompted;
                if let Some(session) = init.session_id.value()
                    && self.session.as_ref() != Some(session)
                {
                    self.session = Some(session.detach());
                }
            }
            ToHost::Assistant(line) => {
                let message = line.message.value();
                for block in message.iter().flat_map(|message| message.content.items()) {
                    if let ContentBlock::ToolUse(call) = block
                        && let Some(id) = call.id.as_str()
                    {
                        self.tools.insert(id.to_owned());
                    }
                }
            }
            ToHost::User(line) => {
                if let Some(uuid) = line.uuid.as_str() {
                    self.replayed(uuid);
                }
                let message = line.message.value();
                let blocks = message.and_then(|message| message.content.value());
                for block in blocks.iter().flat_map(|content| content.blocks()) {
                    if let ContentBlock::ToolResult(result) = block
                        && let Some(id) = result.tool_use_id.as_str()
                    {
                        self.tools.remove(id);
                    }
                }
            }
            // Nothing more happens without input: whatever we thought to be open is not.
            ToHost::System(System::SessionStateChanged(line))
                if line.state.value() == Some(&SessionState::Idle) =>
            {
                self.prompts.clear();
                self.in_turn = false;
                self.background.clear();
            }
            ToHost::System(System::BackgroundTasksChanged(line)) => {
                let tasks = line.tasks.items().iter();
                self.background = tasks
                    .filter(|task| holds_open(task.task_type.value()))
                    .filter_map(|task| task.task_id.as_str().map(str::to_owned))
                    .collect();
            }
            ToHost::System(System::TaskStarted(line)) => {
                if line.is_backgrounded.is_true()
                    && holds_open(line.task_type.value())
                    && let Some(id) = line.task_id.as_str()
                {
                    self.background.insert(id.to_owned());
                }
            }
            ToHost::System(System::TaskUpdated(line)) => {
                let status = line.patch.value().and_then(|patch| patch.status.value());
                let ended = matches!(
                    status,
                    Some(TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Killed)
                );
                if let Some(id) = line.task_id.as_str()
                    && ended
                {
                    self.background.remove(id);
                }
            }
            ToHost::System(System::TaskNotification(line)) => {
                if let Some(id) = line.task_id.as_str() {
                    self.background.remove(id);
                }
            }
            _ => {}
        }
    }

    fn result(&mut self, result: &TurnResult) {
        self.results += 1;
        self.failure = result.error_message();
        self.tools.clear();
        self.in_turn = false;
        let named = result.user_message_uuid.value().into_iter();
        let named: Vec<&str> =
            named.chain(result.user_message_uuids.items()).map(|uuid| uuid.as_str()).collect();
        if named.is_empty() {
            // The wire is silent: a turn that somebody asked for answers what was repeated, or else the
            // oldest prompt.
            if result.origin.value().is_none() {
                let answered = self.taken.max(1).min(self.prompts.len());
                self.prompts.drain(..answered);
            }
        } else {
            self.prompts.retain(|prompt| !named.contains(&prompt.as_str()));
        }
        self.taken = 0;
    }

    pub(super) fn ended(&mut self) {
        let (results, session, failure) = (self.results, self.session.take(), self.failure.take());
        *self = Self { results, session, failure, ..Self::default() };
    }

    pub(super) fn awaits_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    pub(super) fn is_between_turns(&self) -> bool {
        self.prompts.is_empty() && !self.in_turn
    }

    pub(super) fn is_idle(&self) -> bool {
        self.is_between_turns() && self.background.is_empty()
    }
}

fn holds_open(kind: Option<&TaskType>) -> bool {
    !matches!(kind, Some(TaskType::LocalBash))
}
