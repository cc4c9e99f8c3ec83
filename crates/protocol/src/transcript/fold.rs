//! What each line means for the conversation.

use crate::content::{ContentBlock, ToolResultBlock};
use crate::control::{
    AgentRequest, CancelAsyncMessageReply, ControlResponse, HostRequest, InterruptReply, Response,
};
use crate::hook::HookEvent;
use crate::id::{RequestId, TaskId, ToolUseId};
use crate::ledger::{INTERRUPTED, LOCAL_COMMAND, Reading};
use crate::lines::{Assistant, CommandLifecycle, Prompt, StreamLine, User};
use crate::system::{Init, SessionState, Status, System};
use crate::text::Text;
use crate::to_agent::ToAgent;
use crate::to_host::ToHost;
use crate::wire::Field;

use super::asks::{Ask, report_answer, report_request};
use super::event::*;
use super::out::Out;
use super::{HostAsk, Transcript};

/// The memory for a request of the host without its id.
const HOST_ASK: usize = 256;

impl Transcript {
    pub(super) fn message_to_host(&mut self, message: &ToHost) {
        if let Some(uuid) = message.uuid()
            && !self.seen.note(uuid.as_str())
        {
            return;
        }
        if let Some(session) = message.session_id() {
            self.follow_session(session);
        }
        match message {
            ToHost::StreamEvent(line) => self.stream_event(line),
            ToHost::Assistant(line) => self.assistant(line),
            ToHost::User(line) => self.user(line),
            ToHost::Result(result) => self.result(result),
            ToHost::System(system) => self.system(system),
            ToHost::ControlRequest(line) => {
                let (Some(id), Some(request)) = (line.request_id.value(), line.request.value())
                else {
                    return;
                };
                let agent = self.agent_of_request(request);
                if self.asks.asked(id.as_str(), request, agent.as_ref(), self.host_seen) {
                    let plan = match request {
                        AgentRequest::CanUseTool(ask) => self.agents.plan(ask.tool_use_id.as_str()),
                        _ => None,
                    };
                    report_request(id, request, plan, &mut self.out(agent.as_ref()));
                }
            }
            ToHost::ControlResponse(response) => self.answer_to_host(response),
            ToHost::ControlCancelRequest(cancel) => {
                let Some(id) = cancel.request_id.value() else {
                    return self.ledger.follow(&Reading::Unclear);
                };
                if let Some(open) = self.asks.take(id.as_str())
                    && matches!(open.ask, Ask::Permission(_))
                {
                    let event = PermissionWithdrawnEvent::new().request_id(id.clone());
                    self.out(open.agent.as_ref()).emit(event);
                }
            }
            ToHost::CommandLifecycle(line) => self.command_lifecycle(line),
            ToHost::ConversationReset(line) => {
                self.ledger.turns.reset_cost();
                self.model_usage = crate::wire::Map::new();
                let event = ConversationResetEvent::new();
                self.out(None).emit(event.trigger(line.trigger.as_str().map(Text::from)));
            }
            ToHost::RateLimitEvent(line) => {
                let info = line.rate_limit_info.value().cloned().unwrap_or_default();
                let event = RateLimitChangedEvent::new()
                    .status(info.status.as_str().map(Text::from))
                    .kind(info.rate_limit_type.as_str().map(Text::from))
                    .utilization(info.utilization.as_f64())
                    .resets_at(info.resets_at.as_u64());
                self.out(None).emit(event);
            }
            ToHost::AuthStatus(line) => {
                let event = AuthStatusEvent::new()
                    .authenticating(line.is_authenticating.is_true())
                    .error(line.error.value().cloned());
                self.out(None).emit(event);
            }
            ToHost::Error(line) => {
                let error = line.error.value().cloned().unwrap_or_default();
                let event = ErrorEvent::new()
                    .kind(error.kind.into_value())
                    .message(error.message.into_value().unwrap_or_default());
                self.out(None).emit(event);
            }
            ToHost::StreamlinedText(line) => {
                let text = line.text.value().cloned().unwrap_or_default();
                self.out(None).emit(TextEvent::new().text(text));
            }
            ToHost::ToolUseSummary(line) => self.notice("tool_use_summary", &line.summary),
            ToHost::PromptSuggestion(line) => self.notice("prompt_suggestion", &line.suggestion),
            ToHost::StreamlinedToolUseSummary(line) => {
                self.notice("streamlined_tool_use_summary", &line.tool_summary);
            }
            // No event: `tool_progress`, `active_goal`, `autocompact_state`, `transcript_mirror`, `keep_alive`, unknown types.
            _ => {}
        }
    }

    pub(super) fn message_to_agent(&mut self, message: &ToAgent) {
        match message {
            ToAgent::Prompt(prompt) => self.prompt(prompt),
            ToAgent::ControlRequest(line) => {
                let (Some(id), Some(request)) = (line.request_id.value(), line.request.value())
                else {
                    return;
                };
                if matches!(request, HostRequest::Interrupt(_)) {
                    self.ledger.turns.interrupt_asked();
                }
                let prompt = match request {
                    HostRequest::CancelAsyncMessage(cancel) => cancel.message_uuid.value().cloned(),
                    _ => None,
                };
                let subtype = Text::from(request.tag());
                // If it does not fit into the budget, its answer is not reported.
                if let Some(charge) = self.budget.charge(HOST_ASK + id.as_str().len()) {
                    let subtype = Text::from(request.tag());
                    let prompt = prompt.map(|prompt| prompt.detach());
                    let ask = HostAsk { subtype, prompt, _charge: charge };
                    self.host_asks.insert(id.as_str().to_owned(), ask);
                }
                let event = ControlRequestedEvent::new().request_id(id.clone()).subtype(subtype);
                self.out(None).emit(event);
            }
            ToAgent::ControlResponse(response) => self.answer_to_agent(response),
            ToAgent::ControlCancelRequest(cancel) => {
                if let Some(id) = cancel.request_id.as_str() {
                    self.host_asks.remove(id);
                }
            }
            _ => {}
        }
    }

    fn follow_session(&mut self, session: &crate::id::SessionId) {
        if self.session.as_ref() == Some(session) {
            return;
        }
        let session = session.detach();
        if let Some(from) = self.session.replace(session.clone()) {
            self.out(None).emit(SessionChangedEvent::new().from(from).to(session));
        }
    }

    pub(super) fn notice(&mut self, kind: &'static str, text: &Field<Text>) {
        let event = NoticeEvent::new().kind(Text::from_static(kind));
        self.out(None).emit(event.text(text.value().cloned()));
    }

    /// A line of this agent came: a turn runs, and the agent has started.
    fn enter(&mut self, agent: Option<&ToolUseId>, name: Option<&Text>) {
        match agent {
            None => {
                // A late line begins no turn: without a prompt, a turn begins with `init`.
                let may_begin = !self.host_seen || self.ledger.awaits_turn();
                if self.ledger.turns.current().is_none() && may_begin {
                    self.begin_turn(false);
                }
            }
            Some(agent) => {
                let turn = self.ledger.turns.current();
                if let Some(started) = self.agents.seen(agent, name, turn) {
                    self.agent_started(started);
                }
            }
        }
    }

    fn stream_event(&mut self, line: &StreamLine) {
        let agent = line.parent_tool_use_id.value();
        self.enter(agent, None);
        if agent.is_none() {
            self.ledger.spoke();
            self.report_steps();
        }
        let turn = self.turn_of(agent);
        let mut out = Out::new(&mut self.events, turn, agent);
        let messages = self.messages.of(agent);
        messages.release(&mut out);
        if let Some((message, usage)) = messages.streaming.event(line, &mut out) {
            messages.count_streamed(&message, usage);
        }
    }

    fn assistant(&mut self, line: &Assistant) {
        let agent = line.parent_tool_use_id.value();
        self.enter(agent, line.subagent_type.value());
        if agent.is_none() {
            let named = line.user_message_uuid.value().into_iter();
            self.ledger.take(named.chain(line.user_message_uuids.items()));
            self.ledger.spoke();
            self.report_steps();
        }
        let turn = self.turn_of(agent);
        let before = self.events.len();
        let mut out = Out::new(&mut self.events, turn, agent);
        self.messages.of(agent).line(line, &mut out);
        for event in self.events.iter().skip(before) {
            if let Event::ToolCall(call) = event {
                self.agents.called(call, agent, turn);
                // Some agents number their calls from 1 in every turn.
                self.results.forget(call.id.as_str());
            }
        }
        self.end_if_finished(agent);
    }

    /// Removes a subagent that has ended, after a late line of it.
    fn end_if_finished(&mut self, agent: Option<&ToolUseId>) {
        if let Some(agent) = agent
            && self.agents.is_finished(agent)
        {
            let turn = self.ledger.turns.current();
            self.messages.of(Some(agent)).end(&mut Out::new(&mut self.events, turn, Some(agent)));
        }
    }

    fn user(&mut self, line: &User) {
        let agent = line.parent_tool_use_id.value();
        let Some(content) = line.message.value().and_then(|message| message.content.value()) else {
            return;
        };
        let turn = self.turn_of(agent);
        let mut out = Out::new(&mut self.events, turn, agent);
        self.messages.of(agent).release(&mut out);
        let mut has_result = false;
        for block in content.blocks() {
            if let ContentBlock::ToolResult(result) = block {
                has_result = true;
                self.tool_result(result, line);
            }
        }
        let text = content.text();
        if !has_result || !text.is_empty() {
            self.user_text(line, Text::from(text));
        }
        self.end_if_finished(agent);
    }

    fn tool_result(&mut self, result: &ToolResultBlock, line: &User) {
        let agent = line.parent_tool_use_id.value();
        self.enter(agent, line.subagent_type.value());
        if let Some(id) = result.tool_use_id.as_str() {
            if !self.results.note(id) {
                return;
            }
            self.infer_permission(id, line);
            self.agents.returned(id);
        }
        let event = ToolResultEvent::new()
            .tool_use_id(result.tool_use_id.value().cloned().unwrap_or_else(|| "".into()))
            .is_error(result.is_error.is_true())
            .content(result.content.value().cloned())
            .structured(line.tool_use_result.value().cloned());
        self.out(agent).emit(event);
        if let Some(id) = result.tool_use_id.value()
            && let Some(finished) = self.agents.call_returned(id, result.is_error.is_true())
        {
            self.agent_finished(finished);
        }
    }

    /// The result of a tool ends its permission request. If only stdout is seen, the result may show the decision.
    fn infer_permission(&mut self, tool_use_id: &str, line: &User) {
        let Some(request) = self.asks.permission_of(tool_use_id).map(str::to_owned) else { return };
        let agent = self.asks.take(&request).and_then(|open| open.agent);
        let meta = line
            .tool_result_meta
            .items()
            .iter()
            .find(|meta| meta.id.as_str() == Some(tool_use_id))
            .and_then(|meta| meta.permission_decision.value());
        let behavior = match meta.and_then(|decision| decision.decision.as_str()) {
            Some("accept") => "allow",
            Some("reject") => "deny",
            _ => return,
        };
        if self.host_seen {
            return;
        }
        let event =
            PermissionResolvedEvent::new().request_id(RequestId::from(request)).behavior(behavior);
        self.out(agent.as_ref()).emit(event);
    }

    fn user_text(&mut self, line: &User, text: Text) {
        let agent = line.parent_tool_use_id.value();
        if INTERRUPTED.contains(&text.as_str()) && !line.is_replay.is_true() {
            if agent.is_none() {
                self.ledger.turns.interrupt_marked();
            }
            return self.out(agent).emit(InterruptedEvent::new().text(text));
        }
        if let Some(agent) = agent {
            self.enter(Some(agent), line.subagent_type.value());
            return self.out(Some(agent)).emit(ContextEvent::new().text(text));
        }
        if text.starts_with(LOCAL_COMMAND) {
            return self.notice("local_command", &Field::Value(text));
        }
        if line.is_synthetic.is_true() {
            return self.out(None).emit(ContextEvent::new().text(text));
        }
        self.echo(line, text);
    }

    /// The echo of a prompt. If only stdout is seen, it is the first that is seen of the prompt.
    fn echo(&mut self, line: &User, text: Text) {
        if self.ledger.echo(line, &text, self.host_seen) {
            self.report_steps();
        } else if self.host_seen && !line.is_replay.is_true() {
            self.out(None).emit(ContextEvent::new().text(text));
        } else if !self.host_seen && self.echoed.as_ref() != Some(&text) {
            self.echoed = Some(text.clone());
            self.ledger.taken(line.uuid.value().cloned(), Some(text));
            self.report_steps();
        }
    }

    pub(super) fn prompt(&mut self, prompt: &Prompt) {
        let Some(text) = self.ledger.prompt(prompt) else { return };
        let event = PromptQueuedEvent::new().uuid(prompt.uuid.value().cloned()).text(text);
        self.out(None).emit(event);
    }

    fn command_lifecycle(&mut self, line: &CommandLifecycle) {
        if let (Some(uuid), Some(state)) = (line.command_uuid.value(), line.state.value()) {
            self.ledger.command(uuid, state);
            self.report_steps();
        } else {
            self.ledger.follow(&Reading::Unclear);
        }
    }

    fn answer_to_host(&mut self, response: &ControlResponse) {
        let Some(id) = response.request_id() else {
            return self.ledger.follow(&Reading::Unclear);
        };
        let Some(ask) = self.host_asks.remove(id.as_str()) else {
            // With --replay-user-messages the agent echoes the host's answers.
            if self.asks.contains(id.as_str()) {
                self.answer_to_agent(response);
            }
            return;
        };
        let mut event =
            ControlAnsweredEvent::new().request_id(id.clone()).subtype(ask.subtype.clone());
        match response.response.value() {
            Some(Response::Error(failure)) => event.error = failure.error.value().cloned(),
            Some(Response::Success(success)) => {
                let cancelled = success.read::<CancelAsyncMessageReply>().unwrap_or_default();
                if let Some(prompt) = ask.prompt.filter(|_| cancelled.cancelled.is_true()) {
                    self.ledger.cancel(&prompt, "cancelled");
                }
                if ask.subtype == "interrupt" {
                    let reply = success.read::<InterruptReply>().unwrap_or_default();
                    for prompt in reply.cancelled.items() {
                        self.ledger.cancel(prompt, "cancelled");
                    }
                }
                self.report_steps();
            }
            _ => {}
        }
        self.out(None).emit(event);
    }

    fn answer_to_agent(&mut self, response: &ControlResponse) {
        let Some(id) = response.request_id() else { return };
        let Some(open) = self.asks.take(id.as_str()) else { return };
        report_answer(&open.ask, response, &mut self.out(open.agent.as_ref()));
    }
}

/// System lines.
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
            // No event: the hook's response or the result reports them, or they do not concern the conversation.
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
        self.report_steps();
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
