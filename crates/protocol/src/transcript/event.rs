//! [`Event`]: what happened in a conversation.

use crate::content::LazyContent;
use crate::hook::HookEvent;
use crate::id::{CallbackId, RequestId, SessionId, TaskId, ToolUseId, Uuid};
use crate::json::{RawJson, RawObject};
use crate::line::Direction;
use crate::message::{ApiErrorKind, ModelUsage, Origin, Usage};
use crate::permission::{PermissionMode, PermissionUpdate};
use crate::system::TaskUsage;
use crate::text::Text;
use crate::tool::{Answer, Question};
use crate::wire::{Map, words};

use super::event_table::{event_record, events};

events! {
    /// Something that happened in a conversation. Each event is reported once, in any presentation and
    /// however often lines repeat it.
    ///
    /// The struct of a variant has the name of the variant and `Event`: `Event::ToolCall` holds a
    /// [`ToolCallEvent`]. All of them have `turn`, `agent` and `message_id`.
    ///
    /// A field that is always known is plain. A field that a line may lack is an `Option`. A plain text or id is
    /// empty if a faulty line lacks it.
    ///
    /// A [`Text`] shares the memory of the line that it came in: an event that is kept keeps that whole
    /// line in memory. Call [`Text::detach`] on what you store for long.
    ///
    /// Events have JSON: an object whose `event` is the name of the event. [`Wire`](crate::Wire) and serde write
    /// and read it.
    Event {
        /// More text. The finished text follows.
        "text_delta" => TextDelta(TextDeltaEvent) {
            /// The text.
            text: Text,
        }
        /// More thinking. The finished thinking follows.
        "thinking_delta" => ThinkingDelta(ThinkingDeltaEvent) {
            /// The thinking.
            text: Text,
        }
        /// A finished text.
        "text" => Text(TextEvent) {
            /// The text.
            text: Text,
            /// Whether an interrupt cut it short.
            aborted: bool => omit_empty,
            /// Why the CLI wrote this text itself. `None` if the model wrote it.
            error: Option<ApiErrorKind>,
        }
        /// Finished thinking.
        "thinking" => Thinking(ThinkingEvent) {
            /// The thinking.
            text: Text,
            /// Whether an interrupt cut it short.
            aborted: bool => omit_empty,
        }
        /// The model begins to call a tool. Only where the agent streams.
        "tool_call_started" => ToolCallStarted(ToolCallStartedEvent) {
            /// The call.
            id: ToolUseId,
            /// The tool.
            name: Text,
        }
        /// More of a tool's input, as JSON text. The finished call follows.
        "tool_input_delta" => ToolInputDelta(ToolInputDeltaEvent) {
            /// The call.
            id: Option<ToolUseId>,
            /// A piece of JSON text.
            partial_json: Text,
        }
        /// A tool call is complete.
        "tool_call" => ToolCall(ToolCallEvent) {
            /// The call.
            id: ToolUseId,
            /// The tool.
            name: Text,
            /// Its input.
            input: RawObject,
        }
        /// A tool has returned.
        "tool_result" => ToolResult(ToolResultEvent) {
            /// The call.
            tool_use_id: ToolUseId,
            /// Whether it failed or was not run.
            is_error: bool,
            /// The content of the result: a string or blocks.
            content: Option<LazyContent> => null,
            /// The same in the tool's own format.
            structured: Option<RawJson>,
        }
        /// Another block of the model's answer: a server tool, redacted thinking, a new kind.
        "block" => Block(BlockEvent) {
            /// Its type.
            kind: Text,
            /// The block.
            block: RawJson,
        }
        /// A streamed block that will not be finished.
        "block_abandoned" => BlockAbandoned(BlockAbandonedEvent) {
            /// Its type.
            kind: Text,
            /// What was streamed of it, as far as the memory limit allowed.
            text: Text,
            /// How many bytes are missing because of the memory limit: see
            /// [`Transcript::open_limit`](super::Transcript::open_limit).
            omitted_bytes: Option<u64>,
            /// The call, if it was one.
            id: Option<ToolUseId>,
        }
        /// The agent has sent its first `init` line.
        "run_started" => RunStarted(RunStartedEvent) {
            /// The session.
            session_id: Option<SessionId>,
            /// The model.
            model: Option<Text>,
            /// The working directory.
            cwd: Option<Text>,
            /// The permission mode.
            permission_mode: Option<PermissionMode>,
            /// The agent's version.
            version: Option<Text>,
        }
        /// The agent's output has ended.
        "run_ended" => RunEnded(RunEndedEvent) {
            /// Turns that have no result.
            unfinished_turns: Vec<u64>,
        }
        /// A turn begins.
        "turn_started" => TurnStarted(TurnStartedEvent) {
            /// The prompts that it answers, as far as they are known.
            prompts: Vec<Uuid>,
            /// The session.
            session_id: Option<SessionId>,
        }
        /// A turn has ended.
        "turn_finished" => TurnFinished(TurnFinishedEvent) {
            /// How it ended.
            outcome: TurnStatus,
            /// Whether the result line has `is_error`.
            is_error: bool,
            /// The subtype of the result line.
            subtype: Option<Text> => null,
            /// The text of the main agent's last message, joined from its blocks.
            text: Text,
            /// The text of the result line.
            result: Option<Text>,
            /// Whether `text` and `result` differ.
            text_differs: bool,
            /// The error message, from whichever field of the result line has one.
            error: Option<Text>,
            /// Why it ended.
            terminal_reason: Option<Text>,
            /// The cost of this turn in USD.
            cost_usd: Option<f64> => null,
            /// The cost of the process so far in USD.
            total_cost_usd: Option<f64> => null,
            /// Tokens of the main agent in this turn.
            usage: Option<Usage> => null,
            /// Tokens and cost by model since the last result.
            models: Option<Map<ModelUsage>>,
            /// Tokens by agent, as far as the lines show them.
            agents: Vec<AgentUsage>,
            /// The number of requests to the model.
            num_turns: Option<u64> => null,
            /// The duration in milliseconds.
            duration_ms: Option<u64>,
            /// The value that the JSON Schema of the session asked for.
            structured_output: Option<RawJson>,
            /// The number of tool calls that were denied.
            permission_denials: u64,
            /// The prompts that it answers.
            prompts: Vec<Uuid>,
            /// What started it, if no prompt did.
            origin: Option<Origin>,
            /// The session.
            session_id: Option<SessionId> => null,
        }
        /// A prompt waits.
        "prompt_queued" => PromptQueued(PromptQueuedEvent) {
            /// The prompt, if the host gave it a uuid.
            uuid: Option<Uuid>,
            /// Its text.
            text: Option<Text>,
        }
        /// The agent took a prompt.
        "prompt_accepted" => PromptAccepted(PromptAcceptedEvent) {
            /// The prompt, if the host gave it a uuid.
            uuid: Option<Uuid>,
            /// Its text, if no earlier event had it.
            text: Option<Text>,
        }
        /// The agent took a prompt together with others, or into a running turn.
        "prompt_merged" => PromptMerged(PromptMergedEvent) {
            /// The prompt.
            uuid: Option<Uuid>,
            /// The prompts of the turn.
            with: Vec<Uuid>,
        }
        /// A prompt was cancelled or discarded. No turn answers it.
        "prompt_cancelled" => PromptCancelled(PromptCancelledEvent) {
            /// The prompt.
            uuid: Uuid,
            /// `cancelled`, `discarded` or `refused`.
            state: Text,
        }
        /// The agent asks for permission to call a tool.
        "permission_asked" => PermissionAsked(PermissionAskedEvent) {
            /// The request.
            request_id: RequestId,
            /// The call.
            tool_use_id: Option<ToolUseId> => null,
            /// The tool.
            tool_name: Text,
            /// Its input.
            input: RawObject,
            /// Why the agent asks.
            reason: Option<Text>,
            /// Permission rules that would allow it in future.
            suggestions: Vec<PermissionUpdate> => omit_empty,
        }
        /// The host has answered a permission request.
        "permission_resolved" => PermissionResolved(PermissionResolvedEvent) {
            /// The request.
            request_id: RequestId,
            /// `allow` or `deny`, or `error` if the host could not decide.
            behavior: Text,
            /// The message to the model.
            message: Option<Text>,
            /// Whether the turn ends.
            interrupt: bool => omit_empty,
            /// Changes of the permission rules.
            updates: Vec<PermissionUpdate> => omit_empty,
            /// The input that replaces the requested one, if it differs.
            changed_input: Option<RawObject>,
        }
        /// The agent has withdrawn a permission request.
        "permission_withdrawn" => PermissionWithdrawn(PermissionWithdrawnEvent) {
            /// The request.
            request_id: RequestId,
        }
        /// The agent denied a tool call without asking the host.
        "permission_denied" => PermissionDenied(PermissionDeniedEvent) {
            /// The call.
            tool_use_id: Option<ToolUseId>,
            /// The tool.
            tool_name: Text,
            /// The message to the model.
            message: Option<Text>,
            /// The reason.
            reason: Option<Text>,
        }
        /// The model asks the user a question.
        "question_asked" => QuestionAsked(QuestionAskedEvent) {
            /// The request.
            request_id: RequestId,
            /// The call.
            tool_use_id: Option<ToolUseId>,
            /// The questions.
            questions: Vec<Question>,
        }
        /// The user has answered a question.
        "question_answered" => QuestionAnswered(QuestionAnsweredEvent) {
            /// The request.
            request_id: RequestId,
            /// The answers, by the text of the question.
            answers: Map<Answer>,
        }
        /// The user has not answered a question.
        "question_skipped" => QuestionSkipped(QuestionSkippedEvent) {
            /// The request.
            request_id: RequestId,
            /// The message to the model.
            message: Option<Text>,
        }
        /// The model proposes a plan for approval.
        "plan_proposed" => PlanProposed(PlanProposedEvent) {
            /// The request.
            request_id: RequestId,
            /// The call.
            tool_use_id: Option<ToolUseId>,
            /// The plan.
            plan: Option<Text>,
        }
        /// The plan was approved.
        "plan_approved" => PlanApproved(PlanApprovedEvent) {
            /// The request.
            request_id: RequestId,
        }
        /// The plan was returned for revision.
        "plan_sent_back" => PlanSentBack(PlanSentBackEvent) {
            /// The request.
            request_id: RequestId,
            /// What to change.
            message: Option<Text>,
        }
        /// The plan was rejected.
        "plan_rejected" => PlanRejected(PlanRejectedEvent) {
            /// The request.
            request_id: RequestId,
            /// The message to the model.
            message: Option<Text>,
        }
        /// The agent calls a hook of the host.
        "hook_called" => HookCalled(HookCalledEvent) {
            /// The request.
            request_id: RequestId,
            /// The callback.
            callback_id: CallbackId,
            /// The hook event.
            hook_event: Option<HookEvent>,
            /// The tool call that it is about.
            tool_use_id: Option<ToolUseId>,
        }
        /// A hook of the host has answered.
        "hook_answered" => HookAnswered(HookAnsweredEvent) {
            /// The request.
            request_id: RequestId,
            /// Its output.
            output: Option<RawJson>,
            /// The error, if it failed.
            error: Option<Text>,
        }
        /// A command hook has run.
        "hook_ran" => HookRan(HookRanEvent) {
            /// The hook.
            hook_name: Text,
            /// The hook event.
            hook_event: Option<HookEvent>,
            /// `success`, `error` or `cancelled`.
            outcome: Option<Text>,
            /// Its exit code.
            exit_code: Option<i64>,
        }
        /// A message for an MCP server in the host.
        "mcp_call" => McpCall(McpCallEvent) {
            /// The request.
            request_id: RequestId,
            /// The server.
            server: Text,
            /// The method.
            method: Option<Text>,
            /// The tool, for `tools/call`.
            tool: Option<Text>,
        }
        /// The MCP server has answered.
        "mcp_answered" => McpAnswered(McpAnsweredEvent) {
            /// The request.
            request_id: RequestId,
            /// The error, if it failed.
            error: Option<Text>,
        }
        /// A subagent begins.
        "agent_started" => AgentStarted(AgentStartedEvent) {
            /// The call that starts it: the `agent` of its own events.
            tool_use_id: ToolUseId,
            /// Its task.
            task_id: Option<TaskId>,
            /// The kind of subagent.
            name: Option<Text>,
            /// What it does.
            description: Option<Text>,
            /// Whether it runs in the background.
            background: bool,
        }
        /// A subagent reports progress.
        "agent_progress" => AgentProgress(AgentProgressEvent) {
            /// The call that started it.
            tool_use_id: ToolUseId,
            /// What it does now.
            description: Option<Text>,
            /// What it has used.
            usage: Option<TaskUsage>,
        }
        /// A subagent has ended.
        "agent_finished" => AgentFinished(AgentFinishedEvent) {
            /// The call that started it.
            tool_use_id: ToolUseId,
            /// `completed`, `failed` or `stopped`.
            status: Option<Text>,
            /// A summary of its work.
            summary: Option<Text>,
            /// What it used.
            usage: Option<TaskUsage>,
        }
        /// A task begins: work in the background, or a call that takes long.
        "task_started" => TaskStarted(TaskStartedEvent) {
            /// The task.
            task_id: TaskId,
            /// The call that started it.
            tool_use_id: Option<ToolUseId>,
            /// The kind of task.
            kind: Option<Text>,
            /// What it does.
            description: Option<Text>,
            /// Whether it runs in the background: `false` for a long call that the turn waits for. `None` from
            /// versions that announce background tasks only.
            background: Option<bool>,
        }
        /// A task has changed.
        "task_updated" => TaskUpdated(TaskUpdatedEvent) {
            /// The task.
            task_id: TaskId,
            /// Its status.
            status: Option<Text>,
            /// The error, if it failed.
            error: Option<Text>,
            /// Whether it has moved to the background.
            background: Option<bool>,
        }
        /// A task has ended.
        "task_finished" => TaskFinished(TaskFinishedEvent) {
            /// The task.
            task_id: TaskId,
            /// The call that started it.
            tool_use_id: Option<ToolUseId>,
            /// `completed`, `failed` or `stopped`.
            status: Option<Text>,
            /// A summary of its work.
            summary: Option<Text>,
        }
        /// The host sends a control request.
        "control_request" => ControlRequested(ControlRequestedEvent) {
            /// The request.
            request_id: RequestId,
            /// Its subtype: `interrupt`, `set_model`…
            subtype: Text,
        }
        /// The agent has answered a control request.
        "control_response" => ControlAnswered(ControlAnsweredEvent) {
            /// The request.
            request_id: RequestId,
            /// The subtype of the request.
            subtype: Text,
            /// The error, if it failed.
            error: Option<Text>,
        }
        /// The agent's status has changed.
        "status" => Status(StatusEvent) {
            /// The status: `requesting`, `compacting`, `running`, `idle`… `None` if a status has ended.
            status: Option<Text> => null,
        }
        /// The permission mode has changed.
        "mode_changed" => ModeChanged(ModeChangedEvent) {
            /// The mode.
            mode: PermissionMode,
        }
        /// The context was compacted.
        "compacted" => Compacted(CompactedEvent) {
            /// `manual` or `auto`.
            trigger: Option<Text>,
            /// Tokens before.
            pre_tokens: Option<u64>,
            /// Tokens after.
            post_tokens: Option<u64>,
            /// The error, if it failed.
            error: Option<Text>,
        }
        /// The agent repeats a request to the API.
        "api_retry" => ApiRetry(ApiRetryEvent) {
            /// Attempt number.
            attempt: Option<u64>,
            /// The maximum number of attempts.
            max_retries: Option<u64>,
            /// The delay in milliseconds.
            delay_ms: Option<f64>,
            /// The HTTP status of the API.
            status: Option<u64> => null,
            /// The kind of error.
            error: Option<ApiErrorKind>,
        }
        /// Another model answers.
        "model_fallback" => ModelFallback(ModelFallbackEvent) {
            /// The requested model.
            from: Text,
            /// The model that answers instead. `None` if no model does.
            to: Option<Text>,
            /// The reason.
            reason: Option<Text>,
        }
        /// The state of a rate limit has changed.
        "rate_limit" => RateLimitChanged(RateLimitChangedEvent) {
            /// Whether requests are allowed.
            status: Option<Text>,
            /// Which limit.
            kind: Option<Text>,
            /// The used share, from 0 to 1.
            utilization: Option<f64>,
            /// When the limit resets, in seconds since 1970.
            resets_at: Option<u64>,
        }
        /// The state of the login has changed.
        "auth_status" => AuthStatus(AuthStatusEvent) {
            /// Whether a login is in progress.
            authenticating: bool,
            /// The error, if it failed.
            error: Option<Text>,
        }
        /// The agent sent an error line.
        "error" => Error(ErrorEvent) {
            /// The kind of error.
            kind: Option<Text>,
            /// The message.
            message: Text,
        }
        /// A notice for the user.
        "notice" => Notice(NoticeEvent) {
            /// The kind of notice: the subtype of the line.
            kind: Text,
            /// The text.
            text: Option<Text>,
            /// Its level or priority.
            level: Option<Text>,
        }
        /// Text was added to the conversation that the user did not write.
        "context" => Context(ContextEvent) {
            /// The text.
            text: Text,
        }
        /// The turn was interrupted.
        "interrupted" => Interrupted(InterruptedEvent) {
            /// The marker that the agent put into the conversation.
            text: Text,
        }
        /// The conversation starts again from nothing.
        "conversation_reset" => ConversationReset(ConversationResetEvent) {
            /// What caused it.
            trigger: Option<Text>,
        }
        /// The following lines have another session id.
        "session_changed" => SessionChanged(SessionChangedEvent) {
            /// The old session.
            from: SessionId,
            /// The new session.
            to: SessionId,
        }
        /// A line of an unknown type or subtype.
        "unknown_line" => UnknownLine(UnknownLineEvent) {
            /// Its type.
            kind: Text,
            /// Its subtype.
            subtype: Option<Text>,
            /// Its direction.
            direction: Direction,
            /// The line.
            line: Option<RawJson>,
        }
        /// A malformed line.
        "malformed_line" => MalformedLine(MalformedLineEvent) {
            /// What is wrong with it, and where.
            reason: Text,
            /// Its direction.
            direction: Direction,
            /// Its beginning.
            excerpt: Text,
        }
        /// The memory limit for open things is reached, so that some events may be missing: see
        /// [`Transcript::open_limit`](super::Transcript::open_limit). At most once per turn.
        "limit_reached" => LimitReached(LimitReachedEvent) {
            /// The limit in bytes.
            limit_bytes: u64,
        }
        /// Something happened to the agent's process. A tape has it, a [`Transcript`](super::Transcript) does
        /// not report it.
        "process" => Process(ProcessEvent) {
            /// A description.
            text: Text,
        }
        /// The agent wrote a line to stderr. A tape has it, a [`Transcript`](super::Transcript) does not
        /// report it.
        "stderr" => Stderr(StderrEvent) {
            /// The line.
            text: Text,
        }
    }
}

words! {
    /// How a turn ended.
    TurnStatus {
        /// It succeeded.
        Success = "success",
        /// It failed.
        Error = "error",
        /// It was interrupted.
        Interrupted = "interrupted",
        /// Its prompt was cancelled before it began. Only hosts report this, no line does.
        Cancelled = "cancelled",
    }
}

event_record! {
    /// The tokens of one agent. Each message is counted once.
    AgentUsage {
        /// The tool call that started it. `None` for the main agent.
        agent: Option<ToolUseId> => null,
        /// The number of messages of the model.
        messages: u64,
        /// Input tokens that were not in the cache.
        input_tokens: u64,
        /// Output tokens.
        output_tokens: u64,
        /// Input tokens that were read from the cache.
        cache_read_input_tokens: u64,
        /// Input tokens that were written to the cache.
        cache_creation_input_tokens: u64,
    }
}

impl Event {
    /// Whether it is a piece of something that follows as a whole.
    pub fn is_delta(&self) -> bool {
        matches!(
            self,
            Self::TextDelta(_)
                | Self::ThinkingDelta(_)
                | Self::ToolInputDelta(_)
                | Self::ToolCallStarted(_)
        )
    }
}
