//! `assistant` lines: what the model said, one finished block each.

use crate::id::{AgentId, SessionId, ToolUseId, Uuid};
use crate::json::{Number, RawJson};
use crate::message::{ApiErrorKind, Message};
use crate::text::Text;
use crate::wire::record;

record! {
    /// One finished block of the model's answer, or a text the CLI wrote in its place.
    ///
    /// Today's CLI writes one block per line; the lines of one message share `message.id`.
    Assistant ["type" = "assistant"] {
        /// The message, with this block.
        message: Message,
        /// The tool call whose sub-agent speaks; null for the main agent.
        parent_tool_use_id: ToolUseId,
        /// The session.
        session_id: SessionId,
        /// The id of this line.
        uuid: Uuid,
        /// When it was written, for display.
        timestamp: Text,
        /// The API's name for the request.
        request_id: Text,
        /// The kind of API error. The text describes it.
        error: ApiErrorKind,
        /// The prompt that this turn answers, on its first line.
        user_message_uuid: Uuid,
        /// The prompts that this turn answers, on its first line.
        user_message_uuids: Vec<Uuid>,
        /// This turn continues one that a restart interrupted.
        resume_reason: Text,
        /// The thinking before it was cut off.
        resumed_from_incomplete_thinking: bool,
        /// Lines that this one replaces.
        supersedes: Vec<Uuid>,
        /// It was cut short by an interrupt.
        aborted: bool,
        /// The sub-agent that speaks.
        agent_id: AgentId,
        /// The kind of sub-agent.
        subagent_type: Text,
        /// What the sub-agent was asked to do.
        task_description: Text,
        /// The answer to `/context`.
        context_usage: Box<ContextUsageReport>,
        /// The answer to `/usage`.
        usage_report: RawJson,
        /// The text is an error of the API.
        is_api_error_message: bool,
        /// The API's HTTP status.
        api_error_status: Number,
        /// The API's error type.
        api_error_type: Text,
        /// The API's error, in the CLI's words.
        api_error: Text,
        /// The API's error code.
        api_error_code: Text,
        /// How long the model thought.
        thinking_duration_ms: Number,
        /// How much of the thinking is shown.
        thinking_display: Text,
        /// How to show the tool calls in this line.
        tool_use_meta: Vec<ToolUseMeta>,
        /// The local command that wrote this line.
        local_command_source: Text,
        /// The local command and its arguments.
        local_command_run: LocalCommandRun,
        /// The outcome of the local command.
        local_command_outcome: LocalCommandOutcome,
        /// Not for display.
        is_meta: bool,
        /// Not part of the conversation.
        is_virtual: bool,
        /// The model that advised.
        advisor_model: Text,
        /// It happened before this process started.
        historical: bool,
    }
}

record! {
    /// How to show one tool call.
    ToolUseMeta {
        /// The call.
        id: ToolUseId,
        /// Its name for people.
        display_name: Text,
        /// The name of its MCP server for people.
        server_display_name: Text,
        /// The name of the tool on its server.
        tool_name: Text,
    }
}

record! {
    /// A local command and its arguments.
    LocalCommandRun {
        /// The command, without its slash.
        command: Text,
        /// The arguments.
        args: Text,
        /// The plugin it belongs to.
        plugin: Text,
    }
}

record! {
    /// The outcome of a local command.
    LocalCommandOutcome {
        /// The outcome.
        kind: Text,
    }
}

record! {
    /// The use of the context: the answer to `/context`.
    ContextUsageReport {
        /// The model.
        model: Text,
        /// Tokens in the context.
        total_tokens: Number,
        /// Tokens it can hold.
        raw_max_tokens: Number,
        /// How full it is.
        percentage: Number,
        /// By how much it is too full.
        over_limit: OverLimit,
        /// By category.
        categories: Vec<ContextShare>,
        /// By MCP tool.
        mcp_tools: Vec<ContextShare>,
        /// By memory file.
        memory_files: Vec<ContextShare>,
        /// By agent.
        agents: Vec<ContextShare>,
        /// By skill.
        skills: Vec<ContextShare>,
    }
}

record! {
    /// By how much the context is too full.
    OverLimit {
        /// Tokens too many.
        tokens_over: Number,
        /// Which limit: `hard_limit` or `compaction_window`.
        kind: Text,
    }
}

record! {
    /// One part of the context.
    ContextShare {
        /// Its name.
        name: Text,
        /// Its tokens.
        tokens: Number,
        /// Whether it is used, free or kept back.
        kind: Text,
        /// The MCP server it comes from.
        server_name: Text,
        /// The file it comes from.
        path: Text,
        /// What kind of memory file.
        file_type "type": Text,
        /// The kind of agent.
        agent_type: Text,
        /// Where it was defined.
        source: Text,
        /// The plugin it belongs to.
        plugin_name: Text,
    }
}
