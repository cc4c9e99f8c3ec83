//! System lines: what each means for the conversation.

use crate::system::{Init, SessionState, Status, System};
use crate::text::Text;
use crate::wire::Field;

use super::Transcript;
use super::body::*;
use super::out::Out;

impl Transcript {
    pub(super) fn system(&mut self, system: &System) {
        match system {
            System::Init(init) => self.init(init),
            System::Status(status) => self.status(status),
            System::Result(line) => self.result(&line.as_result()),
            System::CompactBoundary(line) => {
                let metadata = line.compact_metadata.value().cloned().unwrap_or_default();
                let mut event = Compacted::new();
                event.trigger = metadata.trigger.as_str().map(Text::from).into();
                event.pre_tokens = metadata.pre_tokens;
                event.post_tokens = metadata.post_tokens;
                self.out(None).emit(event);
            }
            System::ApiRetry(line) => {
                let mut event = ApiRetried::new();
                event.attempt = line.attempt;
                event.max_retries = line.max_retries;
                event.delay_ms = line.retry_delay_ms;
                event.status = line.error_status;
                event.error = line.error.clone();
                self.out(None).emit(event);
            }
            System::ModelFallback(line) => {
                self.fallback(&line.original_model, &line.fallback_model, &line.content)
            }
            System::ModelRefusalFallback(line) => {
                self.fallback(&line.original_model, &line.fallback_model, &line.content)
            }
            System::ModelRefusalNoFallback(line) => {
                self.fallback(&line.original_model, &Field::Absent, &line.content);
            }
            System::HookResponse(line) => {
                let mut event = HookRan::new();
                event.hook_name = line.hook_name.clone();
                event.hook_event = line.hook_event.clone();
                event.outcome = line.outcome.as_str().map(Text::from).into();
                event.exit_code = line.exit_code;
                self.out(None).emit(event);
            }
            System::TaskStarted(_)
            | System::TaskProgress(_)
            | System::TaskUpdated(_)
            | System::TaskNotification(_) => self.task(system),
            System::PermissionDenied(line) => {
                let mut event = PermissionDenied::new();
                event.tool_use_id = line.tool_use_id.clone();
                event.tool_name = line.tool_name.clone();
                event.message = line.message.clone();
                event.reason = line.decision_reason.clone();
                let agent = self.agent_of_call(line.tool_use_id.as_str());
                self.out(agent.as_ref()).emit(event);
            }
            System::SessionStateChanged(line) => {
                let mut event = StatusChanged::new();
                event.status = line.state.as_str().map(Text::from).into();
                self.out(None).emit(event);
                if line.state.value() == Some(&SessionState::Idle) {
                    self.idle();
                }
            }
            System::Informational(line) => {
                let mut event = Notice::new().kind("informational");
                event.text = line.content.clone();
                event.level = line.level.as_str().map(Text::from).into();
                self.out(None).emit(event);
            }
            System::Notification(line) => {
                let mut event = Notice::new().kind("notification");
                event.text = line.text.clone();
                event.level = line.priority.as_str().map(Text::from).into();
                self.out(None).emit(event);
            }
            System::LocalCommandOutput(line) => self.notice("local_command_output", &line.content),
            System::SessionTitleChanged(line) => self.notice("session_title_changed", &line.title),
            System::MirrorError(line) => self.notice("mirror_error", &line.error),
            System::WorkerShuttingDown(line) => self.notice("worker_shutting_down", &line.reason),
            System::PostTurnSummary(line) => self.notice("post_turn_summary", &line.status_detail),
            System::TaskSummary(line) => self.notice("task_summary", &line.detail),
            // Told by the hook's response, by the result, or of no interest to a conversation.
            System::HookStarted(_)
            | System::HookProgress(_)
            | System::ThinkingTokens(_)
            | System::BackgroundTasksChanged(_)
            | System::ControlRequestProgress(_)
            | System::CommandsChanged(_)
            | System::PermissionCheckStatus(_) => {}
            other => {
                let kind = Text::from(other.tag());
                self.out(None).emit(Notice::new().kind(kind));
            }
        }
    }

    fn init(&mut self, init: &Init) {
        if !self.run_started {
            self.run_started = true;
            let mut event = RunStarted::new();
            event.session_id = init.session_id.clone();
            event.model = init.model.clone();
            event.cwd = init.cwd.clone();
            event.permission_mode = init.permission_mode.clone();
            event.version = init.claude_code_version.clone();
            self.out(None).emit(event);
        }
        self.begin_turn(true);
        self.ledger.take(init.user_message_uuids.items().iter());
        self.tell_steps();
    }

    fn status(&mut self, status: &Status) {
        if let Some(mode) = status.permission_mode.value() {
            self.out(None).emit(ModeChanged::new().mode(mode.clone()));
        }
        if let Some(error) = status.compact_error.value() {
            self.out(None).emit(Compacted::new().error(error.clone()));
        }
        // A change of mode says `null` too, but is no change of status.
        if status.permission_mode.is_absent() {
            let mut event = StatusChanged::new();
            event.status = match &status.status {
                Field::Value(status) => Field::Value(Text::from(status.as_str())),
                Field::Null | Field::Absent => Field::Null,
            };
            self.out(None).emit(event);
        }
    }

    fn fallback(&mut self, from: &Field<Text>, to: &Field<Text>, reason: &Field<Text>) {
        let mut event = ModelFellBack::new();
        event.from = from.clone();
        event.to = to.clone();
        event.reason = reason.clone();
        self.out(None).emit(event);
    }

    fn task(&mut self, system: &System) {
        match system {
            System::TaskStarted(line) => {
                let turn = self.ledger.turns.current();
                let is_agent = line.task_type.as_str() == Some("local_agent");
                if let Some(started) = self.agents.task_started(line, turn) {
                    self.agent_started(started);
                } else if !is_agent {
                    let mut event = TaskStarted::new();
                    event.task_id = line.task_id.clone();
                    event.tool_use_id = line.tool_use_id.clone();
                    event.kind = line.task_type.as_str().map(Text::from).into();
                    event.description = line.description.clone();
                    event.background = line.is_backgrounded;
                    let agent = self.agent_of_call(line.tool_use_id.as_str());
                    self.out(agent.as_ref()).emit(event);
                }
            }
            System::TaskProgress(line) => {
                let Some(id) = line.tool_use_id.value() else { return };
                if !self.agents.is_agent(id.as_str()) {
                    return;
                }
                let parent = self.agents.parent(id).cloned();
                let mut event = AgentProgress::new().tool_use_id(id.clone());
                event.description = line.description.clone();
                event.usage = line.usage.clone();
                let turn = self.agents.turn(id).or(self.ledger.turns.current());
                Out::new(&mut self.events, turn, parent.as_ref()).emit(event);
            }
            System::TaskUpdated(line) => {
                let patch = line.patch.value().cloned().unwrap_or_default();
                let mut event = TaskUpdated::new();
                event.task_id = line.task_id.clone();
                event.status = patch.status.as_str().map(Text::from).into();
                event.error = patch.error;
                event.background = patch.is_backgrounded;
                self.out(None).emit(event);
            }
            System::TaskNotification(line) => {
                if let Some(finished) = self.agents.notified(line) {
                    return self.agent_finished(finished);
                }
                let mut event = TaskFinished::new();
                event.task_id = line.task_id.clone();
                event.tool_use_id = line.tool_use_id.clone();
                event.status = line.status.as_str().map(Text::from).into();
                event.summary = line.summary.clone();
                self.out(None).emit(event);
            }
            _ => {}
        }
    }
}
