//! The bodies of events: what they say.

use crate::content::LazyContent;
use crate::id::{MessageId, SessionId, ToolUseId, Uuid};
use crate::json::{Number, RawJson, RawObject};
use crate::message::{ApiErrorKind, ModelUsage, Origin, Usage};
use crate::permission::PermissionMode;
use crate::text::Text;
use crate::wire::{Map, words};

pub use super::body_ask::*;
pub use super::body_work::*;

/// Records that are events: each has its name as its tag, and says where it belongs.
macro_rules! events {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident = $event:literal {
            $($(#[doc = $field_doc:literal])* $field:ident $($wire:literal)?: $ty:ty),* $(,)?
        }
    )*) => {$(
        $crate::wire::record! {
            $(#[doc = $doc])*
            $name ["event" = $event] {
                /// The turn, counted from 1 in order of start; absent outside of turns.
                turn: Number,
                /// The agent in which it happens: the tool call that started it, null for the main
                /// agent.
                agent: ToolUseId,
                /// The message of the model it belongs to.
                message_id: MessageId,
                $($(#[doc = $field_doc])* $field $($wire)?: $ty,)*
            }
        }

        impl Placed for $name {
            fn placed(mut self, place: &Place) -> Self {
                self.turn = place.turn.map(Number::from).into();
                self.agent = place.agent.clone();
                self.message_id = place.message_id.clone().into();
                self
            }
        }
    )*};
}
pub(super) use events;

/// Where an event belongs.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) turn: Option<u64>,
    pub(super) agent: crate::wire::Field<ToolUseId>,
    pub(super) message_id: Option<MessageId>,
}

/// An event that can be told where it belongs.
pub(super) trait Placed: Sized {
    fn placed(self, place: &Place) -> Self;
}

events! {
    /// More text.
    TextDelta = "text_delta" {
        /// The text.
        text: Text,
    }
    /// More thinking.
    ThinkingDelta = "thinking_delta" {
        /// The thinking.
        text: Text,
    }
    /// A finished text.
    TextFinished = "text" {
        /// The text.
        text: Text,
        /// It was cut short by an interrupt.
        aborted: bool,
        /// The CLI wrote it in place of the model, for this reason.
        error: ApiErrorKind,
    }
    /// Finished thinking.
    ThinkingFinished = "thinking" {
        /// The thinking.
        text: Text,
        /// It was cut short by an interrupt.
        aborted: bool,
    }
    /// The model begins to call a tool.
    ToolCallStarted = "tool_call_started" {
        /// The call.
        id: ToolUseId,
        /// The tool.
        name: Text,
    }
    /// More of a tool's input.
    ToolInputDelta = "tool_input_delta" {
        /// The call.
        id: ToolUseId,
        /// A piece of JSON text.
        partial_json: Text,
    }
    /// A tool call is ready.
    ToolCall = "tool_call" {
        /// The call.
        id: ToolUseId,
        /// The tool.
        name: Text,
        /// Its input.
        input: RawObject,
    }
    /// A tool gave something back.
    ToolResult = "tool_result" {
        /// The call.
        tool_use_id: ToolUseId,
        /// Whether it failed or was not run.
        is_error: bool,
        /// What it gave back: a string, blocks, or null.
        content: LazyContent,
        /// The same in the tool's own shape.
        structured: RawJson,
    }
    /// Another block of the model's answer.
    OtherBlock = "block" {
        /// Its type.
        kind: Text,
        /// The block.
        block: RawJson,
    }
    /// A block that was streamed will not be finished.
    BlockAbandoned = "block_abandoned" {
        /// Its type.
        kind: Text,
        /// What had been streamed of it, as far as there was room.
        text: Text,
        /// How many bytes of it are left out, if there was no room for them: see
        /// [`Transcript::open_limit`](super::Transcript::open_limit).
        omitted_bytes: Number,
        /// The call, if it was one.
        id: ToolUseId,
    }
    /// The agent has introduced itself.
    RunStarted = "run_started" {
        /// The conversation.
        session_id: SessionId,
        /// The model.
        model: Text,
        /// The working directory.
        cwd: Text,
        /// The permission mode.
        permission_mode: PermissionMode,
        /// The agent's version.
        version: Text,
    }
    /// The stream has ended.
    RunEnded = "run_ended" {
        /// Turns that never got a result.
        unfinished_turns: Vec<Number>,
    }
    /// A turn begins.
    TurnStarted = "turn_started" {
        /// The prompts that it answers, as far as the wire tells.
        prompts: Vec<Uuid>,
        /// The conversation.
        session_id: SessionId,
    }
    /// A turn has ended.
    TurnFinished = "turn_finished" {
        /// How.
        outcome: Outcome,
        /// Whether the result says that it failed.
        is_error: bool,
        /// What the result says.
        subtype: Text,
        /// The text of the main agent's last message, put together from its blocks.
        text: Text,
        /// The text that the result has.
        result: Text,
        /// Whether the two say something different.
        text_differs: bool,
        /// What went wrong, in the best words there are.
        error: Text,
        /// Why it ended.
        terminal_reason: Text,
        /// Money in USD, for this turn.
        cost_usd: Number,
        /// Money in USD, all in all.
        total_cost_usd: Number,
        /// Tokens of the main agent in this turn, as the result has them.
        usage: Usage,
        /// Tokens and money by model since the last result.
        models: Map<ModelUsage>,
        /// Tokens by agent, as far as the wire tells.
        agents: Vec<AgentUsage>,
        /// How many steps the turn had.
        num_turns: Number,
        /// How long it took.
        duration_ms: Number,
        /// The value that a JSON Schema asked for.
        structured_output: RawJson,
        /// Tool calls that were not allowed.
        permission_denials: Number,
        /// The prompts that it answers.
        prompts: Vec<Uuid>,
        /// Who started it, if nobody asked for it.
        origin: Origin,
        /// The conversation.
        session_id: SessionId,
    }
    /// So much is open that not all of it could be followed.
    LimitReached = "limit_reached" {
        /// How many bytes may be kept for what is open.
        limit_bytes: Number,
    }
    /// A prompt waits.
    PromptQueued = "prompt_queued" {
        /// The prompt, if the host gave it a name.
        uuid: Uuid,
        /// What it says.
        text: Text,
    }
    /// A prompt was taken.
    PromptAccepted = "prompt_accepted" {
        /// The prompt, if the host gave it a name.
        uuid: Uuid,
        /// What it says, if nothing did before.
        text: Text,
    }
    /// A prompt was taken together with others.
    PromptMerged = "prompt_merged" {
        /// The prompt.
        uuid: Uuid,
        /// The prompts of the turn.
        with: Vec<Uuid>,
    }
    /// A prompt was taken back or thrown away.
    PromptCancelled = "prompt_cancelled" {
        /// The prompt.
        uuid: Uuid,
        /// What became of it: `cancelled`, `discarded` or `refused`.
        state: Text,
    }
}

words! {
    /// How a turn ended.
    Outcome {
        /// Well.
        Success = "success",
        /// Something went wrong.
        Error = "error",
        /// Somebody stopped it.
        Interrupted = "interrupted",
        /// Its prompt was taken back before it began. No wire says so: a host does.
        Cancelled = "cancelled",
    }
}

crate::wire::record! {
    /// Tokens of one agent, counted once per message.
    AgentUsage {
        /// The tool call that started it; null for the main agent.
        agent: ToolUseId,
        /// Messages of the model.
        messages: Number,
        /// Tokens read that were not in the cache.
        input_tokens: Number,
        /// Tokens written.
        output_tokens: Number,
        /// Tokens read from the cache.
        cache_read_input_tokens: Number,
        /// Tokens put into the cache.
        cache_creation_input_tokens: Number,
    }
}
