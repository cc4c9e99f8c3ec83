//! `stream_event` lines: the answer while it is being written.

use crate::content::ContentBlock;
use crate::id::{MessageId, SessionId, ToolUseId, Uuid};
use crate::json::{Number, RawJson};
use crate::message::{Message, StopReason, Usage};
use crate::text::Text;
use crate::wire::{record, union};

record! {
    /// One step of an answer that is being written. Only with `--include-partial-messages`.
    StreamLine ["type" = "stream_event"] {
        /// The event, as the Messages API streams it.
        event: StreamEvent,
        /// The session.
        session_id: SessionId,
        /// The tool call whose sub-agent speaks; null for the main agent.
        parent_tool_use_id: ToolUseId,
        /// The id of this line.
        uuid: Uuid,
        /// The message that is being written.
        api_message_id: MessageId,
        /// Milliseconds to the first token, on `message_start`.
        ttft_ms: Number,
        /// How much of the thinking is shown.
        thinking_display: Text,
        /// Blocks that will not be finished, on `message_stop`.
        abandoned_blocks: Box<AbandonedBlocks>,
        /// The prompt that this turn answers.
        user_message_uuid: Uuid,
        /// The prompts that this turn answers.
        user_message_uuids: Box<Vec<Uuid>>,
        /// The turn continues one that a restart interrupted.
        resume_reason: Box<Text>,
        /// How many text deltas were joined in this one.
        text_runs_joined: Box<RawJson>,
        /// A list, on `message_start`; only an empty one was seen.
        owed_rows: Box<RawJson>,
    }
}

record! {
    /// Blocks that will not be finished.
    AbandonedBlocks {
        /// Their message.
        api_message_id: MessageId,
        /// The first of them.
        from_block_index: Number,
    }
}

union! {
    /// An event of the Messages API's stream.
    StreamEvent by "type" closed {
        /// More of a block.
        "content_block_delta" => ContentBlockDelta(ContentBlockDelta) {
            /// The block's place in the message.
            index: Number,
            /// What is added.
            delta: Delta,
        },
        /// A block begins.
        "content_block_start" => ContentBlockStart(Box<ContentBlockStart>) {
            /// Its place in the message.
            index: Number,
            /// The block, without content.
            content_block: ContentBlock,
        },
        /// A block ends.
        "content_block_stop" => ContentBlockStop(ContentBlockStop) {
            /// Its place in the message.
            index: Number,
        },
        /// A message begins.
        "message_start" => MessageStart(Box<MessageStart>) {
            /// The message, without content.
            message: Message,
        },
        /// The message is about to end.
        "message_delta" => MessageDelta(Box<MessageDelta>) {
            /// The reason.
            delta: MessageDeltaBody,
            /// What it used in all.
            usage: Usage,
            /// What the server did to the context.
            context_management: RawJson,
        },
        /// A message ends.
        "message_stop" => MessageStop(MessageStop) {},
        /// A keep-alive without content.
        "ping" => Ping(Ping) {},
        /// The stream broke.
        "error" => Error(Box<StreamError>) {
            /// The error.
            error: RawJson,
        },
    }
}

record! {
    /// Why a message ends.
    MessageDeltaBody {
        /// The reason.
        stop_reason: StopReason,
        /// The sequence that ended it.
        stop_sequence: Text,
        /// More about the reason.
        stop_details: RawJson,
        /// The server's container.
        container: RawJson,
    }
}

union! {
    /// What is added to a block.
    Delta by "type" {
        /// More text.
        "text_delta" => Text(TextDelta) {
            /// The text.
            text: Text,
        },
        /// More thinking.
        "thinking_delta" => Thinking(ThinkingDelta) {
            /// The thinking.
            thinking: Text,
            /// How many tokens it may have been.
            estimated_tokens: Number,
        },
        /// More of a tool's input.
        "input_json_delta" => InputJson(InputJsonDelta) {
            /// A piece of JSON text.
            partial_json: Text,
        },
        /// The proof that the model wrote the thinking.
        "signature_delta" => Signature(SignatureDelta) {
            /// The proof.
            signature: Text,
        },
        /// Where a text comes from.
        "citations_delta" => Citations(Box<CitationsDelta>) {
            /// One citation.
            citation: RawJson,
        },
        /// A summary that replaces the earlier conversation.
        "compaction_delta" => Compaction(Box<CompactionDelta>) {
            /// The summary.
            content: Text,
            /// The summary, encrypted.
            encrypted_content: Text,
        },
    }
}
