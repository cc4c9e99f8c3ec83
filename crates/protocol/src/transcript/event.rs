//! [`Event`]: what happened.

use crate::id::{MessageId, ToolUseId};
use crate::wire::union;

use super::body::*;

/// The table of events, and what they all have.
macro_rules! event_union {
    (
        $(#[doc = $doc:literal])*
        Event {
            $($(#[doc = $row_doc:literal])* $tag:literal => $variant:ident($ty:ty),)*
        }
    ) => {
        union! {
            $(#[doc = $doc])*
            Event by "event" {
                $($(#[doc = $row_doc])* $tag => $variant($ty),)*
            }
        }

        impl Event {
            /// The turn it belongs to, counted from 1.
            pub fn turn(&self) -> Option<u64> {
                match self {
                    $(Self::$variant(event) => event.turn.as_u64(),)*
                    Self::Unknown(_) => None,
                }
            }

            /// The agent in which it happens: the tool call that started it, `None` for the main
            /// agent.
            pub fn agent(&self) -> Option<&ToolUseId> {
                match self {
                    $(Self::$variant(event) => event.agent.value(),)*
                    Self::Unknown(_) => None,
                }
            }

            /// The message of the model it belongs to.
            pub fn message_id(&self) -> Option<&MessageId> {
                match self {
                    $(Self::$variant(event) => event.message_id.value(),)*
                    Self::Unknown(_) => None,
                }
            }
        }
    };
}

event_union! {
    /// Something that happened in a conversation. Each happens exactly once, however often and in
    /// whatever form the wire tells of it.
    ///
    /// Events serialise: as JSON, each is an object whose `event` is its name.
    Event {
        /// More text. The finished text follows.
        "text_delta" => TextDelta(TextDelta),
        /// More thinking. The finished thinking follows.
        "thinking_delta" => ThinkingDelta(ThinkingDelta),
        /// A finished text.
        "text" => Text(TextFinished),
        /// Finished thinking.
        "thinking" => Thinking(ThinkingFinished),
        /// The model begins to call a tool. Only where the wire streams.
        "tool_call_started" => ToolCallStarted(Box<ToolCallStarted>),
        /// More of a tool's input, as JSON text. The finished call follows.
        "tool_input_delta" => ToolInputDelta(Box<ToolInputDelta>),
        /// A tool call is ready.
        "tool_call" => ToolCall(Box<ToolCall>),
        /// A tool gave something back.
        "tool_result" => ToolResult(Box<ToolResult>),
        /// Another block of the model's answer: a server tool, redacted thinking, something new.
        "block" => Block(Box<OtherBlock>),
        /// A block that was streamed will not be finished.
        "block_abandoned" => BlockAbandoned(Box<BlockAbandoned>),
        /// The agent has introduced itself.
        "run_started" => RunStarted(Box<RunStarted>),
        /// The stream has ended.
        "run_ended" => RunEnded(Box<RunEnded>),
        /// A turn begins.
        "turn_started" => TurnStarted(Box<TurnStarted>),
        /// A turn has ended.
        "turn_finished" => TurnFinished(Box<TurnFinished>),
        /// A prompt waits.
        "prompt_queued" => PromptQueued(Box<PromptQueued>),
        /// A prompt was taken.
        "prompt_accepted" => PromptAccepted(Box<PromptAccepted>),
        /// A prompt was taken together with others, or into a turn that was running.
        "prompt_merged" => PromptMerged(Box<PromptMerged>),
        /// A prompt was taken back or thrown away.
        "prompt_cancelled" => PromptCancelled(Box<PromptCancelled>),
        /// May this tool be called?
        "permission_asked" => PermissionAsked(Box<PermissionAsked>),
        /// The host has decided.
        "permission_resolved" => PermissionResolved(Box<PermissionResolved>),
        /// The agent no longer asks.
        "permission_withdrawn" => PermissionWithdrawn(Box<PermissionWithdrawn>),
        /// A tool call was not allowed, and nobody was asked.
        "permission_denied" => PermissionDenied(Box<PermissionDenied>),
        /// The person is asked something.
        "question_asked" => QuestionAsked(Box<QuestionAsked>),
        /// The person has answered.
        "question_answered" => QuestionAnswered(Box<QuestionAnswered>),
        /// The person has not answered.
        "question_skipped" => QuestionSkipped(Box<QuestionSkipped>),
        /// A plan is to be approved.
        "plan_proposed" => PlanProposed(Box<PlanProposed>),
        /// The plan was approved.
        "plan_approved" => PlanApproved(Box<PlanApproved>),
        /// The plan was sent back, with what is missing.
        "plan_sent_back" => PlanSentBack(Box<PlanSentBack>),
        /// The plan was rejected.
        "plan_rejected" => PlanRejected(Box<PlanRejected>),
        /// A hook of the host is called.
        "hook_called" => HookCalled(Box<HookCalled>),
        /// A hook of the host has answered.
        "hook_answered" => HookAnswered(Box<HookAnswered>),
        /// A command hook has run.
        "hook_ran" => HookRan(Box<HookRan>),
        /// A message for an MCP server in the host.
        "mcp_call" => McpCall(Box<McpCall>),
        /// The MCP server has answered.
        "mcp_answered" => McpAnswered(Box<McpAnswered>),
        /// A sub-agent begins.
        "agent_started" => AgentStarted(Box<AgentStarted>),
        /// A sub-agent is getting on.
        "agent_progress" => AgentProgress(Box<AgentProgress>),
        /// A sub-agent has ended.
        "agent_finished" => AgentFinished(Box<AgentFinished>),
        /// A task in the background begins.
        "task_started" => TaskStarted(Box<TaskStarted>),
        /// A task in the background changed.
        "task_updated" => TaskUpdated(Box<TaskUpdated>),
        /// A task in the background has ended.
        "task_finished" => TaskFinished(Box<TaskFinished>),
        /// The host asks the agent for something.
        "control_request" => ControlRequested(Box<ControlRequested>),
        /// The agent has answered.
        "control_response" => ControlAnswered(Box<ControlAnswered>),
        /// What the agent is busy with.
        "status" => Status(Box<StatusChanged>),
        /// The permission mode changed.
        "mode_changed" => ModeChanged(Box<ModeChanged>),
        /// The context was compacted.
        "compacted" => Compacted(Box<Compacted>),
        /// A request to the API is being tried again.
        "api_retry" => ApiRetry(Box<ApiRetried>),
        /// Another model answers.
        "model_fallback" => ModelFallback(Box<ModelFellBack>),
        /// How much of a rate limit is left.
        "rate_limit" => RateLimit(Box<RateLimited>),
        /// How logging in goes.
        "auth_status" => AuthStatus(Box<AuthStatusChanged>),
        /// An error line.
        "error" => Error(Box<ErrorReported>),
        /// Something the person should know.
        "notice" => Notice(Box<Notice>),
        /// Something was put into the conversation that nobody typed.
        "context" => Context(Box<ContextInjected>),
        /// The turn was interrupted: the marker stands there.
        "interrupted" => Interrupted(Box<InterruptMarked>),
        /// The conversation starts anew.
        "conversation_reset" => ConversationReset(Box<ConversationWasReset>),
        /// From now on the lines have another session id.
        "session_changed" => SessionChanged(Box<SessionChanged>),
        /// A line of a type or subtype that this version does not know.
        "unknown_line" => UnknownLine(Box<UnknownLine>),
        /// A line that is malformed.
        "malformed_line" => MalformedLine(Box<MalformedLine>),
        /// Something was done to the agent's process. Not on the wire: a tape tells.
        "process" => Process(Box<ProcessNoted>),
        /// The agent wrote a line to stderr. Not on the wire: a tape tells.
        "stderr" => Stderr(Box<StderrWritten>),
    }
}

impl Event {
    /// Whether it is a piece of something that follows whole.
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

/// Boxed events become events without the box being seen.
macro_rules! boxed {
    ($($name:ident => $variant:ident),* $(,)?) => {$(
        impl From<$name> for Event {
            fn from(event: $name) -> Self {
                Self::$variant(Box::new(event))
            }
        }
    )*};
}

boxed! {
    ToolCallStarted => ToolCallStarted,
    ToolInputDelta => ToolInputDelta,
    ToolCall => ToolCall,
    ToolResult => ToolResult,
    OtherBlock => Block,
    BlockAbandoned => BlockAbandoned,
    RunStarted => RunStarted,
    RunEnded => RunEnded,
    TurnStarted => TurnStarted,
    TurnFinished => TurnFinished,
    PromptQueued => PromptQueued,
    PromptAccepted => PromptAccepted,
    PromptMerged => PromptMerged,
    PromptCancelled => PromptCancelled,
    PermissionAsked => PermissionAsked,
    PermissionResolved => PermissionResolved,
    PermissionWithdrawn => PermissionWithdrawn,
    PermissionDenied => PermissionDenied,
    QuestionAsked => QuestionAsked,
    QuestionAnswered => QuestionAnswered,
    QuestionSkipped => QuestionSkipped,
    PlanProposed => PlanProposed,
    PlanApproved => PlanApproved,
    PlanSentBack => PlanSentBack,
    PlanRejected => PlanRejected,
    HookCalled => HookCalled,
    HookAnswered => HookAnswered,
    HookRan => HookRan,
    McpCall => McpCall,
    McpAnswered => McpAnswered,
    AgentStarted => AgentStarted,
    AgentProgress => AgentProgress,
    AgentFinished => AgentFinished,
    TaskStarted => TaskStarted,
    TaskUpdated => TaskUpdated,
    TaskFinished => TaskFinished,
    ControlRequested => ControlRequested,
    ControlAnswered => ControlAnswered,
    StatusChanged => Status,
    ModeChanged => ModeChanged,
    Compacted => Compacted,
    ApiRetried => ApiRetry,
    ModelFellBack => ModelFallback,
    RateLimited => RateLimit,
    AuthStatusChanged => AuthStatus,
    ErrorReported => Error,
    Notice => Notice,
    ContextInjected => Context,
    InterruptMarked => Interrupted,
    ConversationWasReset => ConversationReset,
    SessionChanged => SessionChanged,
    UnknownLine => UnknownLine,
    MalformedLine => MalformedLine,
    ProcessNoted => Process,
    StderrWritten => Stderr,
}
