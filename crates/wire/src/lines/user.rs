//! `user` lines on stdout: results of tools, markers, injected context, replays of prompts.

use crate::content::Content;
use crate::id::{AgentId, SessionId, ToolUseId, Uuid};
use crate::json::RawJson;
use crate::message::Origin;
use crate::text::Text;
use crate::tool::ToolOutput;
use crate::wire::{record, words};

use super::prompt::Priority;

record! {
    /// A message with the role `user`: the result of a tool, an interruption marker, injected context, or the
    /// replay of a prompt.
    User ["type" = "user"] {
        /// The message.
        message: UserMessage,
        /// The tool call whose sub-agent this belongs to; null for the main agent.
        parent_tool_use_id: ToolUseId,
        /// The session.
        session_id: SessionId,
        /// Names this line; on a replay, the uuid that the host gave the prompt.
        uuid: Uuid,
        /// When it was written.
        timestamp: Text,
        /// The output of the tool, in the form of that tool: see [`ToolOutput`](crate::tool::ToolOutput).
        tool_use_result: RawJson,
        /// The decision about each tool call.
        tool_result_meta: Vec<ToolResultMeta>,
        /// This is a prompt that the host sent, shown again.
        is_replay "isReplay": bool,
        /// Not typed by the user.
        is_synthetic "isSynthetic": bool,
        /// The message that was withheld, if this line replaces it.
        refused_message_id: Text,
        /// Where it came from.
        origin: Origin,
        /// Its priority in the queue.
        priority: Priority,
        /// Whether it asked for an answer.
        should_query "shouldQuery": bool,
        /// Its text was delivered as it was.
        client_composed: bool,
        /// The sub-agent it belongs to.
        agent_id: AgentId,
        /// The kind of sub-agent.
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

impl User {
    /// The output of the tool that ran, read as the built-in tool of this name. The line does not have the name: the tool
    /// call has it, whose id is in the `tool_result` block.
    ///
    /// ```
    /// use duologue_wire::{Wire, lines::User, tool::ToolOutput};
    ///
    /// let line = User::from_json(r#"{"type":"user","tool_use_result":{"stdout":"a.txt","stderr":""}}"#)?;
    /// let Some(ToolOutput::Bash(bash)) = line.tool_output("Bash") else { panic!() };
    /// assert_eq!(bash.stdout.as_str(), Some("a.txt"));
    /// # Ok::<(), duologue_wire::Fault>(())
    /// ```
    pub fn tool_output(&self, tool_name: &str) -> Option<ToolOutput> {
        self.tool_use_result.value().map(|output| ToolOutput::read(tool_name, output))
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
    /// The decision about one tool call.
    ToolResultMeta {
        /// The call.
        id: ToolUseId,
        /// Why it was not run.
        non_execution_kind: NonExecutionKind,
        /// The decision.
        permission_decision: PermissionDecision,
        /// The comment of the user.
        user_feedback: Text,
    }
}

words! {
    /// Why a tool was not run.
    NonExecutionKind {
        /// The user denied it.
        UserRejected = "user-rejected",
        /// A rule denied it.
        PermissionRule = "permission-rule",
        /// Auto mode denied it.
        AutomodeBlocked = "automode-blocked",
        /// Auto mode was not available.
        AutomodeUnavailable = "automode-unavailable",
        /// The answer of auto mode could not be parsed.
        AutomodeParsingError = "automode-parsing-error",
        /// The turn was interrupted.
        Interrupted = "interrupted",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

record! {
    /// The decision about a tool call.
    PermissionDecision {
        /// `accept`, `reject` or `cancelled`.
        decision: Text,
        /// The source: `user_temporary`, `user_reject`, `hook`, `config`…
        source: Text,
        /// The kind of reason.
        reason_type: Text,
    }
}
