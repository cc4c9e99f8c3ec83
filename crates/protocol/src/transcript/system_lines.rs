//! System lines: what each means for the conversation.

use crate::hook::HookEvent;
use crate::id::TaskId;
use crate::ledger::Reading;
use crate::system::{Init, SessionState, Status, System};
use crate::text::Text;
use crate::wire::Field;

use super::Transcript;
use super::event::*;
use super::out::Out;

impl Transcript {
    pub(super) fn system(&mut self, system: &System) {
        if let System::BackgroundTasksChanged(_)
        | System::TaskStarted(_)
        | System::TaskUpdated(_)
        | System::TaskNotification(_) = system
        {
            self.ledger.follow(&Reading::of_task(system));
        }
        match system {
            System::Init(init) => self.init(init),
            System::Status(status) => self.status(status),
            System::Result(line) => self.result(&line.as_result()),
            System::CompactBoundary(line) => {
                let metadata = line.compact_metadata.value().cloned().unwrap_or_default();
                let event = CompactedEvent::new()
                    .trigger(metadata.trigger.as_str().map(Text::from))
                    .pre_tokens(metadata.pre_tokens.as_u64())
                    .post_tokens(metadata.post_tokens.as_u64());
                self.out(None).emit(event);
            }
            System::ApiRetry(line) => {
                let event = ApiRetryEvent::new()
                    .attempt(line.attempt.as_u64())
                    .max_retries(line.max_retries.as_u64())
                    .delay_ms(line.retry_delay_ms.as_f64())
                    .status(line.error_status.as_u64())
                    .error(line.error.value().cloned());
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
                let event = HookRanEvent::new()
                    .hook_name(line.hook_name.value().cloned().unwrap_or_default())
                    .hook_event(line.hook_event.as_str().map(HookEvent::from))
                    .outcome(line.outcome.as_str().map(Text::from))
                    .exit_code(line.exit_code.value().and_then(|code| code.as_i64()));
                self.out(None).emit(event);
            }
            System::TaskStarted(_)
            | System::TaskProgress(_)
            | System::TaskUpdated(_)
            | System::TaskNotification(_) => self.task(system),
            System::PermissionDenied(line) => {
                let event = PermissionDeniedEvent::new()
                    .tool_use_id(line.tool_use_id.value().cloned())
                    .tool_name(line.tool_name.value().cloned().unwrap_or_default())
                    .message(line.message.value().cloned())
                    .reason(line.decision_reason.value().cloned());
                let agent = self.agent_of_call(line.tool_use_id.as_str());
                self.out(agent.as_ref()).emit(event);
            }
            System::SessionStateChanged(line) => {
                let event = StatusEvent::new().status(line.state.as_str().map(Text::from));
                self.out(None).emit(event);
                if line.state.value() == Some(&SessionState::Idle) {
                    self.idle();
                }
            }
            System::Informational(line) => {
                let event = NoticeEvent::new()
                    .kind("informational")
                    .text(line.content.value().cloned())
                    .level(line.level.as_str().map(Text::from));
                self.out(None).emit(event);
            }
            System::Notification(line) => {
                let event = NoticeEvent::new()
                    .kind("notification")
                    .text(line.text.value().cloned())
                    .level(line.priority.as_str().map(Text::from));
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
                self.out(None).emit(NoticeEvent::new().kind(kind));
            }
        }
    }

    fn init(&mut self, init: &Init) {
        if !self.run_started {
            self.run_started = true;
            let event = RunStartedEvent::new()
                .session_id(init.session_id.value().cloned())
                .model(init.model.value().cloned())
                .cwd(init.cwd.value().cloned())
                .permission_mode(init.permission_mode.value().cloned())
                .version(init.claude_code_version.value().cloned());
            self.out(None).emit(event);
        }
        self.begin_turn(true);
        self.ledger.take(init.user_message_uuids.items().iter());
        self.tell_steps();
    }

    fn status(&mut self, status: &Status) {
        if let Some(mode) = status.permission_mode.value() {
            self.out(None).emit(ModeChangedEvent::new().mode(mode.clone()));
        }
        if let Some(error) = status.compact_error.value() {
            self.out(None).emit(CompactedEvent::new().error(error.clone()));
        }
        // A change of mode has `status: null` too, but does not change the status.
        if status.permission_mode.is_absent() {
            let event = StatusEvent::new().status(status.status.as_str().map(Text::from));
            self.out(None).emit(event);
        }
    }

    fn fallback(&mut self, from: &Field<Text>, to: &Field<Text>, reason: &Field<Text>) {
        let event = ModelFallbackEvent::new()
            .from(from.value().cloned().unwrap_or_default())
            .to(to.value().cloned())
            .reason(reason.value().cloned());
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
                    let event = TaskStartedEvent::new()
                        .task_id(task_id(&line.task_id))
                        .tool_use_id(line.tool_use_id.value().cloned())
                        .kind(line.task_type.as_str().map(Text::from))
                        .description(line.description.value().cloned())
                        .background(line.is_backgrounded.value().copied());
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
                let event = AgentProgressEvent::new()
                    .tool_use_id(id.clone())
                    .description(line.description.value().cloned())
                    .usage(line.usage.value().cloned());
                let turn = self.agents.turn(id).or(self.ledger.turns.current());
                Out::new(&mut self.events, turn, parent.as_ref()).emit(event);
            }
            System::TaskUpdated(line) => {
                let patch = line.patch.value().cloned().unwrap_or_default();
                let event = TaskUpdatedEvent::new()
                    .task_id(task_id(&line.task_id))
                    .status(patch.status.as_str().map(Text::from))
                    .error(patch.error.into_value())
                    .background(patch.is_backgrounded.into_value());
                self.out(None).emit(event);
            }
            System::TaskNotification(line) => {
                if let Some(finished) = self.agents.notified(line) {
                    return self.agent_finished(finished);
                }
                let event = TaskFinishedEvent::new()
                    .task_id(task_id(&line.task_id))
                    .tool_use_id(line.tool_use_id.value().cloned())
                    .status(line.status.as_str().map(Text::from))
                    .summary(line.summary.value().cloned());
                self.out(None).emit(event);
            }
            _ => {}
        }
    }
}

fn task_id(field: &Field<TaskId>) -> TaskId {
    field.value().cloned().unwrap_or_else(|| TaskId::from(""))
}
