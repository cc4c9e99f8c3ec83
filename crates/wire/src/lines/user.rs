//! `user` lines on stdout: results of tools, markers, injected context, replays of prompts.

use crate::content::Content;
use crate::id::{AgentId, SessionId, ToolUseId, Uuid};
use crate::json::RawJson;
use crate::message::Origin;
use crate::text::Text;
use crate::wire::{record, words};

use super::prompt::Priority;

record! {
    /// A message in the user's place: what a tool gave back, an interruption marker, context that
    /// was injected, or the replay of a prompt.
    User ["type" = "user"] {
        /// The message.
        message: UserMessage,
        /// The tool call whose sub-agent this belongs to; null for the main agent.
        parent_tool_use_id: ToolUseId,
        /// The conversation.
        session_id: SessionId,
        /// Names this line; on a replay, the uuid that the host gave the prompt.
        uuid: Uuid,
        /// When it was written.
        timestamp: Text,
        /// What the tool gave back, in the tool's own shape, or a string that begins `Error: `.
        tool_use_result: RawJson,
        /// How each tool call was decided.
        tool_result_meta: Vec<ToolResultMeta>,
        /// This is a prompt that the host sent, shown again.
        is_replay "isReplay": bool,
        /// Not typed by a person.
        is_synthetic "isSynthetic": bool,
        /// The answer that was withheld, if this tells the model to go on without it.
        refused_message_id: Text,
        /// Where it came from.
        origin: Origin,
        /// Its place in the queue.
        priority: Priority,
        /// Whether it asked for an answer.
        should_query "shouldQuery": bool,
        /// Its text was delivered as it was.
        client_composed: bool,
        /// The sub-agent it belongs to.
        agent_id: AgentId,
        /// What kind of sub-agent.
        subagent_type: Text,
        /// What the sub-agent was asked to do.
        task_description: Text,
        /// Files that came with the prompt.
        file_attachments: RawJson,
        /// Metadata of an MCP result.
        mcp_meta: RawJson,
        /// This is the summary of what was compacted.
        is_compact_summary: bool,
        /// Not sent to the model.
        is_visible_in_transcript_only: bool,
        /// The plan that was approved.
        plan_content: Text,
        /// The tool call that caused this.
        source_tool_use_id: ToolUseId,
        /// Not for display.
        is_meta: bool,
        /// It happened before this process started.
        historical: bool,
    }
}

record! {
    /// The message of a `user` line.
    UserMessage {
        /// Always `user`.
        role: Text,
        /// A string or blocks.
        content: Content,
    }
}

record! {
    /// How one tool call was decided.
    ToolResultMeta {
        /// The call.
        id: ToolUseId,
        /// Why it was not run.
        non_execution_kind: NonExecutionKind,
        /// Who decided, and how.
        permission_decision: PermissionDecision,
        /// What the person said about it.
        user_feedback: Text,
    }
}

words! {
    /// Why a tool was not run.
    NonExecutionKind {
        /// A person said no.
        UserRejected = "user-rejected",
        /// A rule said no.
        PermissionRule = "permission-rule",
        /// Auto mode said no.
        AutomodeBlocked = "automode-blocked",
        /// Auto mode was not there to ask.
        AutomodeUnavailable = "automode-unavailable",
        /// Auto mode could not be understood.
        AutomodeParsingError = "automode-parsing-error",
        /// The turn was interrupted.
        Interrupted = "interrupted",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

record! {
    /// Who decided about a tool call, and how.
    PermissionDecision {
        /// `accept`, `reject` or `cancelled`.
        decision: Text,
        /// Who: `user_temporary`, `user_reject`, `hook`, `config`…
        source: Text,
        /// By what kind of reason.
        reason_type: Text,
    }
}
