//! The types of `initialize`: what the host offers, and what the agent offers.

use crate::id::CallbackId;
use crate::json::{Number, RawJson, RawObject};
use crate::permission::PermissionMode;
use crate::text::Text;
use crate::wire::{record, words};

record! {
    /// Which calls of an event go to which callbacks.
    HookMatcher {
        /// What must match: a name, several with `|`, or a regular expression; absent for all.
        matcher: Text,
        /// The callbacks, by the host's choice.
        hook_callback_ids "hookCallbackIds": Vec<CallbackId>,
        /// How long the agent waits, in seconds.
        timeout: Number,
        /// What happens if the callback fails: `continue` or `block`.
        on_failure "onFailure": HookFailurePolicy,
    }
}

words! {
    /// What happens if a hook callback fails.
    HookFailurePolicy {
        /// The failure is ignored.
        Continue = "continue",
        /// The action is blocked.
        Block = "block",
    }
}

record! {
    /// Settings for an MCP server that the host serves.
    SdkMcpServerConfig {
        /// How long a tool may take, in milliseconds.
        timeout: Number,
        /// What its tools may do.
        tools: Vec<ToolPolicy>,
        /// Do not put long calls into the background.
        disable_auto_background "disableAutoBackground": RawJson,
        /// The connector that it represents.
        connector_id "connectorId": RawJson,
        /// Tools that auto mode may judge.
        auto_mode_verdict_tools "autoModeVerdictTools": RawJson,
        /// It moves data.
        data_flow_server "dataFlowServer": RawJson,
    }
}

record! {
    /// What a tool may do.
    ToolPolicy {
        /// The tool.
        name: Text,
        /// `always_allow`, `always_ask` or `always_deny`.
        permission_policy: Text,
        /// The most that the organisation allows.
        org_max_permission: Text,
    }
}

record! {
    /// The handshake of an MCP server, done beforehand.
    SdkMcpServerManifest {
        /// The answer to its `initialize`.
        initialize_result "initializeResult": RawObject,
        /// The answer to its `tools/list`.
        tools_list_result "toolsListResult": RawObject,
    }
}

record! {
    /// A kind of sub-agent.
    AgentDefinition {
        /// When to use it. Required.
        description: Text,
        /// The prompt. Required.
        prompt: Text,
        /// The tools it has.
        tools: Vec<Text>,
        /// The tools it does not have.
        disallowed_tools "disallowedTools": Vec<Text>,
        /// Its model.
        model: Text,
        /// Its MCP servers: names or configurations.
        mcp_servers "mcpServers": Vec<RawJson>,
        /// What it must never forget.
        critical_system_reminder "criticalSystemReminder_EXPERIMENTAL": Text,
        /// Its skills.
        skills: Vec<Text>,
        /// Its first prompt.
        initial_prompt "initialPrompt": Text,
        /// How many steps it may take.
        max_turns "maxTurns": Number,
        /// When its context is compacted.
        auto_compact_window "autoCompactWindow": Number,
        /// It runs in the background.
        background: bool,
        /// It does not read the project's instructions.
        omit_claude_md "omitClaudeMd": bool,
        /// Whose memory it has: `user`, `project` or `local`.
        memory: Text,
        /// The effort level: a word or a number.
        effort: RawJson,
        /// Its permission mode.
        permission_mode "permissionMode": PermissionMode,
        /// It watches another.
        observer: RawJson,
        /// The prompt of the observer.
        observer_message "observerMessage": Text,
    }
}

record! {
    /// A plugin on disk.
    PluginRef {
        /// Always `local`.
        kind "type": Text,
        /// The path.
        path: Text,
        /// Do not look for MCP servers in it.
        skip_mcp_discovery "skipMcpDiscovery": bool,
    }
}

record! {
    /// Whether the user trusts a directory.
    WorkspaceTrust {
        /// Whether.
        accepted: bool,
        /// Which.
        directory: Text,
    }
}

record! {
    /// A slash command.
    SlashCommand {
        /// Its name, without the slash.
        name: Text,
        /// What it does.
        description: Text,
        /// What may stand after it.
        argument_hint "argumentHint": Text,
        /// Other names.
        aliases: Vec<Text>,
        /// Whether it belongs to the CLI.
        builtin: bool,
        /// The plugin it belongs to.
        plugin: Text,
    }
}

record! {
    /// A kind of sub-agent.
    AgentInfo {
        /// Its name.
        name: Text,
        /// When to use it.
        description: Text,
        /// Its model.
        model: Text,
    }
}

record! {
    /// A model.
    ModelInfo {
        /// What to ask for.
        value: Text,
        /// Which model that is.
        resolved_model "resolvedModel": Text,
        /// Its name for people.
        display_name "displayName": Text,
        /// What it is good for.
        description: Text,
        /// Whether effort can be set.
        supports_effort "supportsEffort": bool,
        /// Which efforts there are.
        supported_effort_levels "supportedEffortLevels": Vec<Text>,
        /// Whether the model supports adaptive thinking.
        supports_adaptive_thinking "supportsAdaptiveThinking": bool,
        /// Whether it has a fast mode.
        supports_fast_mode "supportsFastMode": bool,
        /// Whether auto mode works with it.
        supports_auto_mode "supportsAutoMode": bool,
        /// Whether it can do without thinking.
        supports_thinking_off "supportsThinkingOff": bool,
        /// Whether it cannot be used.
        disabled: RawJson,
        /// Its price, before a discount.
        promo_list_price "promoListPrice": RawJson,
    }
}

record! {
    /// The account.
    Account {
        /// The address.
        email: Text,
        /// The organisation.
        organization: Text,
        /// The subscription.
        subscription_type "subscriptionType": Text,
        /// Where the token comes from.
        token_source "tokenSource": Text,
        /// Where the API key comes from.
        api_key_source "apiKeySource": Text,
        /// Who runs the model: `firstParty`, `bedrock`, `vertex`…
        api_provider "apiProvider": Text,
    }
}
