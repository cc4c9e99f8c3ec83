//! `initialize`: the handshake.

use crate::id::CallbackId;
use crate::json::{Number, RawJson, RawObject};
use crate::message::FastModeState;
use crate::permission::PermissionMode;
use crate::system::SessionState;
use crate::text::Text;
use crate::wire::{Map, record, words};

record! {
    /// The handshake: what the host offers and wants. Optional; may be repeated.
    Initialize ["subtype" = "initialize"] {
        /// The hooks that the host serves, by event.
        hooks: Map<Vec<HookMatcher>>,
        /// The MCP servers that the host serves.
        sdk_mcp_servers "sdkMcpServers": Vec<Text>,
        /// Settings for them.
        sdk_mcp_server_configs "sdkMcpServerConfigs": Map<SdkMcpServerConfig>,
        /// Their handshakes, done beforehand.
        sdk_mcp_server_manifests "sdkMcpServerManifests": Map<SdkMcpServerManifest>,
        /// Where those come from.
        sdk_mcp_server_manifests_origin "sdkMcpServerManifestsOrigin": Text,
        /// What the structured output must look like.
        json_schema "jsonSchema": RawObject,
        /// Replaces the system prompt.
        system_prompt "systemPrompt": Vec<Text>,
        /// Is added to the system prompt.
        append_system_prompt "appendSystemPrompt": Text,
        /// False: make the system prompt anew for every request.
        system_prompt_snapshot "systemPromptSnapshot": bool,
        /// Replaces the instructions of plan mode.
        plan_mode_instructions "planModeInstructions": Text,
        /// Other names for tools.
        tool_aliases "toolAliases": Map<Text>,
        /// Keep facts about this machine out of the system prompt.
        exclude_dynamic_sections "excludeDynamicSections": bool,
        /// Kinds of sub-agent.
        agents: Map<AgentDefinition>,
        /// A title for the session.
        title: Text,
        /// The skills that may be used.
        skills: Vec<Text>,
        /// Suggest what to ask next.
        prompt_suggestions "promptSuggestions": bool,
        /// Say what sub-agents are doing.
        agent_progress_summaries "agentProgressSummaries": bool,
        /// Show what foreground sub-agents say.
        forward_subagent_text "forwardSubagentText": bool,
        /// The dialogs that the host can show.
        supported_dialog_kinds "supportedDialogKinds": Vec<Text>,
        /// The host can stop single tasks, so that an interrupt spares them.
        per_task_stop_affordance "perTaskStopAffordance": bool,
        /// Plugins to load.
        plugins: Vec<PluginRef>,
        /// Is added to the system prompt of sub-agents.
        append_subagent_system_prompt "appendSubagentSystemPrompt": Text,
        /// MCP tools that run code.
        code_running_mcp_tools "codeRunningMcpTools": Map<Vec<Text>>,
        /// MCP servers that web search need not be kept from.
        web_search_isolation_exempt_mcp_servers "webSearchIsolationExemptMcpServers": Vec<Text>,
        /// A prompt soon after another takes its place.
        rapid_followup_preempt "rapidFollowupPreempt": bool,
        /// Show the tool calls of nested sub-agents.
        forward_nested_subagent_tool_calls "forwardNestedSubagentToolCalls": bool,
        /// The person trusts this directory.
        workspace_trust "workspaceTrust": WorkspaceTrust,
        /// Settings that cannot be changed.
        managed_settings "managedSettings": RawObject,
        /// The host can offer to set up Chrome.
        renders_chrome_setup_offer "rendersChromeSetupOffer": bool,
        /// The host serves attachments.
        attach_serve_request "attachServeRequest": RawJson,
        /// How much the agent does by itself.
        proactivity: RawJson,
        /// The version, as the oldest descriptions have it.
        protocol_version "protocolVersion": Text => legacy,
        /// The features, as the oldest descriptions have them.
        features: RawJson => legacy,
    }
}

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
        /// As if it had no opinion.
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
        /// The connector it stands for.
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
        /// What it is told. Required.
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
        /// How hard it thinks: a word or a number.
        effort: RawJson,
        /// Its permission mode.
        permission_mode "permissionMode": PermissionMode,
        /// It watches another.
        observer: RawJson,
        /// What it is told when it watches.
        observer_message "observerMessage": Text,
    }
}

record! {
    /// A plugin on disk.
    PluginRef {
        /// Always `local`.
        kind "type": Text,
        /// Where it lies.
        path: Text,
        /// Do not look for MCP servers in it.
        skip_mcp_discovery "skipMcpDiscovery": bool,
    }
}

record! {
    /// Whether the person trusts a directory.
    WorkspaceTrust {
        /// Whether.
        accepted: bool,
        /// Which.
        directory: Text,
    }
}

record! {
    /// The answer to `initialize`: what the agent offers. Every field may be absent.
    InitializeReply {
        /// The slash commands.
        commands: Vec<SlashCommand>,
        /// The kinds of sub-agent.
        agents: Vec<AgentInfo>,
        /// How answers are styled.
        output_style: Text,
        /// The styles there are.
        available_output_styles: Vec<Text>,
        /// The models there are.
        models: Vec<ModelInfo>,
        /// Who is logged in.
        account: Account,
        /// Whether the hooks were registered.
        hooks_applied: bool,
        /// Whether `onFailure` is honoured.
        hook_on_failure_supported: bool,
        /// Whether all plugins were loaded.
        plugins_applied: bool,
        /// What became of the handshakes done beforehand.
        sdk_mcp_manifests_parked: Map<Text>,
        /// The CLI's version.
        claude_code_version: Text,
        /// Whether fast mode is on.
        fast_mode_state: FastModeState,
        /// Why it is not.
        fast_mode_disabled_reason: Text,
        /// The process.
        pid: Number,
        /// The model.
        current_model: Text,
        /// The permission mode.
        current_permission_mode: PermissionMode,
        /// What the session is doing.
        session_state: SessionState,
        /// What this CLI can do.
        capabilities: Vec<Text>,
        /// Models that cannot be used.
        unavailable_models: RawJson,
        /// Where the person's output styles lie.
        user_output_styles_dir: Text,
        /// Another hook's "ask" outranks the host's answer.
        other_hook_ask_outranks_host: bool,
        /// The host words its own questions.
        host_worded_asks: RawJson,
        /// Whether managed settings were taken.
        managed_settings_applied: bool,
        /// Whether the list of code-running tools was taken.
        code_running_mcp_tools_applied: bool,
        /// Whether trust was recorded.
        workspace_trust_recorded: bool,
        /// Two ways to log in contradict each other.
        auth_conflict: RawJson,
        /// Whether analytics are off.
        analytics_disabled: bool,
        /// How feedback is taken.
        feedback_mode: RawJson,
        /// When to ask for feedback.
        feedback_survey_config: RawJson,
        /// Remote control may be switched on.
        remote_control_available: bool,
        /// Remote control switches itself on.
        remote_control_auto_enable: bool,
        /// Remote control connects by itself.
        remote_control_auto_connect_default: bool,
        /// Remote control is on by default.
        remote_control_auto_on_by_default: bool,
        /// Editors may switch remote control on.
        ide_rc_auto_enable_gate: bool,
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
        /// Whether it decides by itself how much to think.
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
    /// Who is logged in.
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
