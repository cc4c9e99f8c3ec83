//! [`Event`]: what happened.

use crate::id::{MessageId, ToolUseId};
use crate::wire::union;

use super::body::*;

/// The table of events, and what they all have.
macro_rules! event_union {
    (
        $(#[doc = $doc:literal])*
        Event {
            $($(#[doc = $row_doc:literal])* $tag:literal => $variant:ident($ty:ident),)*
        }
    ) => {
        union! {
            $(#[doc = $doc])*
            Event by "event" {
                $($(#[doc = $row_doc])* $tag => $variant(Box<$ty>),)*
            }
        }

        // Boxed, as an event changes hands often; nobody has to see the box.
        $(impl From<$ty> for Event {
            fn from(event: $ty) -> Self {
                Self::$variant(Box::new(event))
            }
        })*

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
        "tool_call_started" => ToolCallStarted(ToolCallStarted),
        /// More of a tool's input, as JSON text. The finished call follows.
        "tool_input_delta" => ToolInputDelta(ToolInputDelta),
        /// A tool call is ready.
        "tool_call" => ToolCall(ToolCall),
        /// A tool gave something back.
        "tool_result" => ToolResult(ToolResult),
        /// Another block of the model's answer: a server tool, redacted thinking, something new.
        "block" => Block(OtherBlock),
        /// A block that was streamed will not be finished.
        "block_abandoned" => BlockAbandoned(BlockAbandoned),
        /// The agent has introduced itself.
        "run_started" => RunStarted(RunStarted),
        /// The stream has ended.
        "run_ended" => RunEnded(RunEnded),
        /// A turn begins.
        "turn_started" => TurnStarted(TurnStarted),
        /// A turn has ended.
        "turn_finished" => TurnFinished(TurnFinished),
        /// A prompt waits.
        "prompt_queued" => PromptQueued(PromptQueued),
        /// A prompt was taken.
        "prompt_accepted" => PromptAccepted(PromptAccepted),
        /// A prompt was taken together with others, or into a turn that was running.
        "prompt_merged" => PromptMerged(PromptMerged),
        /// A prompt was taken back or thrown away.
        "prompt_cancelled" => PromptCancelled(PromptCancelled),
        /// May this tool be called?
        "permission_asked" => PermissionAsked(PermissionAsked),
        /// The host has decided.
        "permission_resolved" => PermissionResolved(PermissionResolved),
        /// The agent no longer asks.
        "permission_withdrawn" => PermissionWithdrawn(PermissionWithdrawn),
        /// A tool call was not allowed, and nobody was asked.
        "permission_denied" => PermissionDenied(PermissionDenied),
        /// The person is asked something.
        "question_asked" => QuestionAsked(QuestionAsked),
        /// The person has answered.
        "question_answered" => QuestionAnswered(QuestionAnswered),
        /// The person has not answered.
        "question_skipped" => QuestionSkipped(QuestionSkipped),
        /// A plan is to be approved.
        "plan_proposed" => PlanProposed(PlanProposed),
        /// The plan was approved.
        "plan_approved" => PlanApproved(PlanApproved),
        /// The plan was sent back, with what is missing.
        "plan_sent_back" => PlanSentBack(PlanSentBack),
        /// The plan was rejected.
        "plan_rejected" => PlanRejected(PlanRejected),
        /// A hook of the host is called.
        "hook_called" => HookCalled(HookCalled),
        /// A hook of the host has answered.
        "hook_answered" => HookAnswered(HookAnswered),
        /// A command hook has run.
        "hook_ran" => HookRan(HookRan),
        /// A message for an MCP server in the host.
        "mcp_call" => McpCall(McpCall),
        /// The MCP server has answered.
        "mcp_answered" => McpAnswered(McpAnswered),
        /// A sub-agent begins.
        "agent_started" => AgentStarted(AgentStarted),
        /// A sub-agent is getting on.
        "agent_progress" => AgentProgress(AgentProgress),
        /// A sub-agent has ended.
        "agent_finished" => AgentFinished(AgentFinished),
        /// A task in the background begins.
        "task_started" => TaskStarted(TaskStarted),
        /// A task in the background changed.
        "task_updated" => TaskUpdated(TaskUpdated),
        /// A task in the background has ended.
        "task_finished" => TaskFinished(TaskFinished),
        /// The host asks the agent for something.
        "control_request" => ControlRequested(ControlRequested),
        /// The agent has answered.
        "control_response" => ControlAnswered(ControlAnswered),
        /// What the agent is busy with.
        "status" => Status(StatusChanged),
        /// The permission mode changed.
        "mode_changed" => ModeChanged(ModeChanged),
        /// The context was compacted.
        "compacted" => Compacted(Compacted),
        /// A request to the API is being tried again.
        "api_retry" => ApiRetry(ApiRetried),
        /// Another model answers.
        "model_fallback" => ModelFallback(ModelFellBack),
        /// How much of a rate limit is left.
        "rate_limit" => RateLimit(RateLimited),
        /// How logging in goes.
        "auth_status" => AuthStatus(AuthStatusChanged),
        /// An error line.
        "error" => Error(ErrorReported),
        /// Something the person should know.
        "notice" => Notice(Notice),
        /// Something was put into the conversation that nobody typed.
        "context" => Context(ContextInjected),
        /// The turn was interrupted: the marker stands there.
        "interrupted" => Interrupted(InterruptMarked),
        /// The conversation starts anew.
        "conversation_reset" => ConversationReset(ConversationWasReset),
        /// From now on the lines have another session id.
        "session_changed" => SessionChanged(SessionChanged),
        /// A line of a type or subtype that this version does not know.
        "unknown_line" => UnknownLine(UnknownLine),
        /// A line that is malformed.
        "malformed_line" => MalformedLine(MalformedLine),
        /// So much is open that not all of it could be followed: see
        /// [`Transcript::open_limit`](super::Transcript::open_limit). At most once a turn.
        "limit_reached" => LimitReached(LimitReached),
        /// Something was done to the agent's process. Not on the wire: a tape tells.
        "process" => Process(ProcessNoted),
        /// The agent wrote a line to stderr. Not on the wire: a tape tells.
        "stderr" => Stderr(StderrWritten),
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
