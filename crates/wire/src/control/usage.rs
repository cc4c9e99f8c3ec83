//! Requests of the host about tokens and money.

use crate::json::{Number, RawJson};
use crate::message::{ModelUsage, Usage};
use crate::text::Text;
use crate::wire::{Map, record};

record! {
    /// What did the session cost, in words?
    GetSessionCost ["subtype" = "get_session_cost"] {}
}

record! {
    /// What the session cost.
    GetSessionCostReply {
        /// In words.
        text: Text,
    }
}

record! {
    /// What was used, and how much is left?
    GetUsage ["subtype" = "get_usage"] {
        /// Leave habits out.
        skip_behaviors: bool,
    }
}

record! {
    /// What was used, and how much is left. Experimental.
    GetUsageReply {
        /// In this session.
        session: SessionUsage,
        /// The subscription.
        subscription_type: Text,
        /// Whether limits are known.
        rate_limits_available: bool,
        /// The limits.
        rate_limits: RawJson,
        /// Habits.
        behaviors: RawJson,
    }
}

record! {
    /// What was used in a session.
    SessionUsage {
        /// Money in USD.
        total_cost_usd: Number,
        /// How long the API took.
        total_api_duration_ms: Number,
        /// How long it took.
        total_duration_ms: Number,
        /// Lines added.
        total_lines_added: Number,
        /// Lines removed.
        total_lines_removed: Number,
        /// By model.
        model_usage: Map<ModelUsage>,
    }
}

record! {
    /// What fills the context?
    GetContextUsage ["subtype" = "get_context_usage"] {
        /// `summary` or `full`.
        detail: Text,
    }
}

record! {
    /// What fills the context.
    GetContextUsageReply {
        /// By category.
        categories: Vec<ContextCategory>,
        /// Tokens in it.
        total_tokens "totalTokens": Number,
        /// Tokens it can hold before it is compacted.
        max_tokens "maxTokens": Number,
        /// Tokens it can hold.
        raw_max_tokens "rawMaxTokens": Number,
        /// Who decided when it is compacted.
        autocompact_source "autocompactSource": Text,
        /// How full it is.
        percentage: Number,
        /// A picture of it.
        grid_rows "gridRows": Vec<Vec<ContextGridSquare>>,
        /// The model.
        model: Text,
        /// By memory file.
        memory_files "memoryFiles": Vec<MemoryFileShare>,
        /// By MCP tool.
        mcp_tools "mcpTools": Vec<McpToolShare>,
        /// By the instructions of MCP servers.
        mcp_instructions "mcpInstructions": Vec<McpToolShare>,
        /// Built-in tools that are loaded on demand.
        deferred_builtin_tools "deferredBuiltinTools": Vec<NamedShare>,
        /// Built-in tools.
        system_tools "systemTools": Vec<NamedShare>,
        /// Parts of the system prompt.
        system_prompt_sections "systemPromptSections": Vec<NamedShare>,
        /// By kind of sub-agent.
        agents: Vec<AgentShare>,
        /// Slash commands.
        slash_commands "slashCommands": SlashCommandsShare,
        /// Skills.
        skills: SkillsShare,
        /// When it is compacted.
        auto_compact_threshold "autoCompactThreshold": Number,
        /// Whether it is compacted.
        is_auto_compact_enabled "isAutoCompactEnabled": bool,
        /// The messages, in more detail.
        message_breakdown "messageBreakdown": MessageBreakdown,
        /// What the API said last.
        api_usage "apiUsage": Usage,
    }
}

record! {
    /// A category of what fills the context.
    ContextCategory {
        /// Names it.
        id: Text,
        /// Its name for people.
        name: Text,
        /// Its tokens.
        tokens: Number,
        /// Its colour.
        color: Text,
        /// It is loaded on demand.
        is_deferred "isDeferred": bool,
        /// `used`, `free`, `buffer` or `deferred`.
        kind: Text,
    }
}

record! {
    /// A square of the picture.
    ContextGridSquare {
        /// Its colour.
        color: Text,
        /// Whether it is filled.
        is_filled "isFilled": bool,
        /// The category.
        category_name "categoryName": Text,
        /// The category's tokens.
        tokens: Number,
        /// The category's share.
        percentage: Number,
        /// How full the square is.
        square_fullness "squareFullness": Number,
    }
}

record! {
    /// A memory file.
    MemoryFileShare {
        /// Where it lies.
        path: Text,
        /// Whose it is.
        kind "type": Text,
        /// Its tokens.
        tokens: Number,
    }
}

record! {
    /// An MCP tool, or the instructions of an MCP server.
    McpToolShare {
        /// The tool.
        name: Text,
        /// The server.
        server_name "serverName": Text,
        /// Its tokens.
        tokens: Number,
        /// Whether it is loaded.
        is_loaded "isLoaded": bool,
    }
}

record! {
    /// Something with a name.
    NamedShare {
        /// The name.
        name: Text,
        /// Its tokens.
        tokens: Number,
        /// Whether it is loaded.
        is_loaded "isLoaded": bool,
    }
}

record! {
    /// A kind of sub-agent.
    AgentShare {
        /// Which.
        agent_type "agentType": Text,
        /// Where it is defined.
        source: Text,
        /// The plugin it belongs to.
        plugin_id "pluginId": Text,
        /// The file it is defined in.
        path: Text,
        /// Its tokens.
        tokens: Number,
    }
}

record! {
    /// Slash commands.
    SlashCommandsShare {
        /// How many there are.
        total_commands "totalCommands": Number,
        /// How many the model knows of.
        included_commands "includedCommands": Number,
        /// Their tokens.
        tokens: Number,
    }
}

record! {
    /// Skills.
    SkillsShare {
        /// How many there are.
        total_skills "totalSkills": Number,
        /// How many the model knows of.
        included_skills "includedSkills": Number,
        /// Their tokens.
        tokens: Number,
        /// One by one.
        skill_frontmatter "skillFrontmatter": Vec<SkillShare>,
    }
}

record! {
    /// A skill.
    SkillShare {
        /// Its name.
        name: Text,
        /// Where it is defined.
        source: Text,
        /// The plugin it belongs to.
        plugin_name "pluginName": Text,
        /// The plugin it belongs to.
        plugin_id "pluginId": Text,
        /// The file it is defined in.
        path: Text,
        /// Its tokens.
        tokens: Number,
    }
}

record! {
    /// The messages, in more detail.
    MessageBreakdown {
        /// Tool calls.
        tool_call_tokens "toolCallTokens": Number,
        /// Tool results.
        tool_result_tokens "toolResultTokens": Number,
        /// Attachments.
        attachment_tokens "attachmentTokens": Number,
        /// What the model said.
        assistant_message_tokens "assistantMessageTokens": Number,
        /// What the person said.
        user_message_tokens "userMessageTokens": Number,
        /// What was put elsewhere.
        redirected_context_tokens "redirectedContextTokens": Number,
        /// What is left.
        unattributed_tokens "unattributedTokens": Number,
        /// By tool.
        tool_calls_by_type "toolCallsByType": Vec<ToolCallShare>,
        /// By attachment.
        attachments_by_type "attachmentsByType": Vec<NamedShare>,
    }
}

record! {
    /// The calls of one tool.
    ToolCallShare {
        /// The tool.
        name: Text,
        /// Its calls.
        call_tokens "callTokens": Number,
        /// Its results.
        result_tokens "resultTokens": Number,
    }
}
