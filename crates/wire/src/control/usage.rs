//! The use of tokens and money, and of the context window.

use crate::json::Number;
use crate::message::ModelUsage;
use crate::text::Text;
use crate::wire::{Map, record};

record! {
    /// What was used in a session.
    SessionUsage {
        /// Cost in USD.
        total_cost_usd: Number,
        /// The duration of the API calls in milliseconds.
        total_api_duration_ms: Number,
        /// Duration in milliseconds.
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
    /// A category of the context.
    ContextCategory {
        /// Its id.
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
    /// A square of the drawing.
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
        /// The path.
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
        /// How many the model can see.
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
        /// How many the model can see.
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
        /// Messages of the model.
        assistant_message_tokens "assistantMessageTokens": Number,
        /// Messages of the user.
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
