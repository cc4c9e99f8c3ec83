//! `system/init`: the session as it is when a turn begins.

use crate::id::{SessionId, Uuid};
use crate::json::RawJson;
use crate::message::FastModeState;
use crate::permission::PermissionMode;
use crate::text::Text;
use crate::wire::{record, words};

record! {
    /// A turn begins: the session as it is now.
    ///
    /// Sent at the start of every turn, not at the start of the process, and not always as the first
    /// line of its turn.
    Init ["type" = "system", "subtype" = "init"] {
        /// The working directory.
        cwd: Text,
        /// The conversation.
        session_id: SessionId,
        /// The tools the model has.
        tools: Vec<Text>,
        /// The MCP servers.
        mcp_servers: Vec<InitMcpServer>,
        /// The model.
        model: Text,
        /// The permission mode.
        permission_mode "permissionMode": PermissionMode,
        /// The slash commands that work here.
        slash_commands: Vec<Text>,
        /// The slash commands that only work in a terminal.
        terminal_slash_commands: Vec<Text>,
        /// Where the API key comes from.
        api_key_source "apiKeySource": ApiKeySource,
        /// The CLI's version.
        claude_code_version: Text,
        /// How answers are styled.
        output_style: Text,
        /// The kinds of sub-agent.
        agents: Vec<Text>,
        /// The skills.
        skills: Vec<Text>,
        /// The plugins.
        plugins: Vec<InitPlugin>,
        /// Plugins that could not be loaded.
        plugin_errors: Vec<PluginError>,
        /// Plugins that were loaded with a warning.
        plugin_warnings: RawJson,
        /// MCP servers that could not be started.
        mcp_server_errors: RawJson,
        /// Beta features that are on.
        betas: Vec<Text>,
        /// What this CLI can do.
        capabilities: Vec<Text>,
        /// Names this line.
        uuid: Uuid,
        /// The prompts that this turn answers.
        user_message_uuids: Vec<Uuid>,
        /// Whether fast mode is on.
        fast_mode_state: FastModeState,
        /// Why it is not.
        fast_mode_disabled_reason: Text,
        /// How hard the model thinks.
        effort: Text,
        /// How the person looks at it.
        view_mode: Text,
        /// Where memories are kept.
        memory_paths: MemoryPaths,
        /// The directory in which the process started.
        original_cwd: Text,
        /// Further directories.
        additional_directories: Vec<Text>,
        /// Where other agents can reach this one.
        messaging_socket_path: Text,
        /// Where the agent may leave notes.
        scratchpad_path: Text,
        /// Whether analytics are off.
        analytics_disabled: bool,
        /// Whether feedback is off.
        product_feedback_disabled: bool,
        /// Whether the effort may change from turn to turn.
        per_turn_effort_active: bool,
        /// Whether a word can ask for more thinking.
        ultrathink_available: bool,
        /// Whether that word raises the effort.
        ultrathink_typed_raises: bool,
        /// Which process this is of a hosted session.
        worker_epoch: RawJson,
        /// The cloud session.
        cloud_session: RawJson,
    }
}

words! {
    /// Where the API key comes from.
    ApiKeySource {
        /// The environment.
        Environment = "ANTHROPIC_API_KEY",
        /// A program that prints it.
        ApiKeyHelper = "apiKeyHelper",
        /// A login.
        LoginManagedKey = "/login managed key",
        /// There is none.
        None = "none",
        /// The user's settings. Legacy.
        User = "user",
        /// The project's settings. Legacy.
        Project = "project",
        /// The organisation. Legacy.
        Org = "org",
        /// A temporary one. Legacy.
        Temporary = "temporary",
        /// A login. Legacy.
        Oauth = "oauth",
    }
}

record! {
    /// An MCP server.
    InitMcpServer {
        /// Its name.
        name: Text,
        /// Whether it is connected.
        status: McpStatus,
        /// Where it was configured.
        source: Text,
    }
}

words! {
    /// Whether an MCP server is connected.
    McpStatus {
        /// It is.
        Connected = "connected",
        /// It could not be.
        Failed = "failed",
        /// Somebody must log in.
        NeedsAuth = "needs-auth",
        /// Not yet.
        Pending = "pending",
        /// It is switched off.
        Disabled = "disabled",
    }
}

record! {
    /// A plugin.
    InitPlugin {
        /// Its name.
        name: Text,
        /// Where it lies.
        path: Text,
        /// Its version.
        version: Text,
        /// Where it came from.
        source: Text,
    }
}

record! {
    /// A plugin that could not be loaded.
    PluginError {
        /// Which.
        plugin: Text,
        /// What kind of error.
        kind "type": Text,
        /// What went wrong.
        message: Text,
        /// The file.
        path: Text,
        /// Who insists on it.
        managed_lock: RawJson,
    }
}

record! {
    /// Where memories are kept.
    MemoryPaths {
        /// The agent's own.
        auto: Text,
        /// The team's.
        team: Text,
    }
}
