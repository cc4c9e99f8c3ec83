//! [`HostRequest`]: the requests of the host to the agent, and their replies. One table.
//!
//! The types that several requests share, or that hosts build, are in the files next to this one.

use crate::id::{SessionId, TaskId, ToolUseId, Uuid};
use crate::json::{Number, RawJson, RawObject};
use crate::message::{FastModeState, Usage};
use crate::permission::PermissionMode;
use crate::system::SessionState;
use crate::text::Text;
use crate::wire::{Map, record};

use super::initialize::*;
use super::mcp::*;
use super::settings::*;
use super::usage::*;
use super::{Ack, Opaque, control_requests};

control_requests! {
    /// A request of the host to the agent, by `subtype`.
    HostRequest, HostRequestReply {
        /// The handshake: what the host offers and wants. Optional; may be repeated.
        "initialize" => Initialize {
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
            /// False: build the system prompt again for every request.
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
            /// Send summaries of the progress of sub-agents.
            agent_progress_summaries "agentProgressSummaries": bool,
            /// Send the text of foreground sub-agents.
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
            /// The user trusts this directory.
            workspace_trust "workspaceTrust": WorkspaceTrust,
            /// Settings that cannot be changed.
            managed_settings "managedSettings": RawObject,
            /// The host can offer to set up Chrome.
            renders_chrome_setup_offer "rendersChromeSetupOffer": bool,
            /// The host serves attachments.
            attach_serve_request "attachServeRequest": RawJson,
            /// How proactive the agent is.
            proactivity: RawJson,
            /// Legacy: the version.
            protocol_version "protocolVersion": Text => legacy,
            /// Legacy: the features.
            features: RawJson => legacy,
        } -> InitializeReply {
            /// The slash commands.
            commands: Vec<SlashCommand>,
            /// The kinds of sub-agent.
            agents: Vec<AgentInfo>,
            /// The output style.
            output_style: Text,
            /// The styles there are.
            available_output_styles: Vec<Text>,
            /// The models there are.
            models: Vec<ModelInfo>,
            /// The account.
            account: Account,
            /// Whether the hooks were registered.
            hooks_applied: bool,
            /// Whether `onFailure` is honoured.
            hook_on_failure_supported: bool,
            /// Whether all plugins were loaded.
            plugins_applied: bool,
            /// The state of the handshakes that were done beforehand.
            sdk_mcp_manifests_parked: Map<Text>,
            /// The CLI's version.
            claude_code_version: Text,
            /// Whether fast mode is on.
            fast_mode_state: FastModeState,
            /// The reason, if it is off.
            fast_mode_disabled_reason: Text,
            /// The process.
            pid: Number,
            /// The model.
            current_model: Text,
            /// The permission mode.
            current_permission_mode: PermissionMode,
            /// The state of the session.
            session_state: SessionState,
            /// The capabilities of this CLI.
            capabilities: Vec<Text>,
            /// Models that cannot be used.
            unavailable_models: RawJson,
            /// The directory of the user's output styles.
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
            /// Remote control connects automatically.
            remote_control_auto_connect_default: bool,
            /// Remote control is on by default.
            remote_control_auto_on_by_default: bool,
            /// Editors may switch remote control on.
            ide_rc_auto_enable_gate: bool,
        },
        /// Stop the turn.
        "interrupt" => Interrupt {
            /// Cancel the queued prompts.
            cancel_queued: bool,
            /// The reason.
            reason: Text,
            /// Send the queued prompts now.
            send_now: RawJson,
            /// The prompt to take.
            message_uuid: Uuid,
            /// Only if the turn answers one of these.
            for_user_message_uuids: Vec<Uuid>,
            /// Leave tasks in the background alone.
            spare_background_tasks: bool,
            /// Which process this is of a hosted session.
            worker_epoch: RawJson,
        } -> InterruptReply {
            /// The prompts that are still queued.
            still_queued: Vec<Uuid>,
            /// The prompts that were cancelled.
            cancelled: Vec<Uuid>,
            /// The prompts that were put back.
            put_back: Vec<Uuid>,
            /// What happened to the queued prompts.
            send_now: Text,
            /// What happened to the turn: `stopped`, `idle` or `spared`.
            turn: Text,
        },
        /// Change the permission mode.
        "set_permission_mode" => SetPermissionMode {
            /// The mode.
            mode: PermissionMode,
            /// Plan with more effort.
            ultraplan: RawJson,
            /// It comes from settings.
            from_settings: RawJson,
        } -> SetPermissionModeReply {
            /// The mode.
            mode: PermissionMode,
        },
        /// Change the model.
        "set_model" => SetModel {
            /// The model; absent, null or `default` for the default.
            model: Text,
            /// The system prompt that goes with it.
            system_prompt: RawJson,
            /// Only if this is the model now.
            only_if_model_is_current: RawJson,
        } -> SetModelReply {
            /// The model.
            model: Text,
        },
        /// Change how much the model may think.
        "set_max_thinking_tokens" => SetMaxThinkingTokens {
            /// How many tokens; null for the default.
            max_thinking_tokens: Number,
            /// How much of it is shown.
            thinking_display: Text,
        } -> Ack,
        /// Change settings, as if they had been given as flags.
        "apply_flag_settings" => ApplyFlagSettings {
            /// The settings; null takes one away.
            settings: RawObject,
        } -> Ack,
        /// Write settings to a file.
        "update_settings" => UpdateSettings {
            /// Which: `localSettings` or `userSettings`.
            source: Text,
            /// The settings.
            settings: RawObject,
        } -> Ack,
        /// Get the settings.
        "get_settings" => GetSettings {} -> GetSettingsReply {
            /// All together.
            effective: RawObject,
            /// By where they were set.
            sources: Vec<SettingsSource>,
            /// What is in force.
            applied: AppliedSettings,
            /// What could not be read.
            errors: Vec<SettingsError>,
        },
        /// Get the state of the MCP servers.
        "mcp_status" => McpStatusRequest {
            /// Answer even while a turn runs.
            live_reply "liveReply": bool,
        } -> McpStatusReply {
            /// The servers.
            mcp_servers "mcpServers": Vec<McpServerStatus>,
        },
        /// Replace the MCP servers that were set this way.
        "mcp_set_servers" => McpSetServers {
            /// The servers.
            servers: Map<McpServerConfig>,
            /// The reason.
            hint: RawJson,
            /// Tools that may not be used.
            denied_tools: RawJson,
        } -> McpSetServersReply {
            /// Those that are new.
            added: Vec<Text>,
            /// Those that are gone.
            removed: Vec<Text>,
            /// Those that failed.
            errors: Map<Text>,
        },
        /// Connect to an MCP server again.
        "mcp_reconnect" => McpReconnect {
            /// The server.
            server_name "serverName": Text,
        } -> Ack,
        /// Switch an MCP server on or off.
        "mcp_toggle" => McpToggle {
            /// The server.
            server_name "serverName": Text,
            /// On or off.
            enabled: bool,
        } -> Ack,
        /// A JSON-RPC message for an MCP server, or from one. Both sides send it.
        "mcp_message" => McpMessage {
            /// The server.
            server_name: Text,
            /// The message.
            message: RawObject,
        } -> McpMessageReply {
            /// The JSON-RPC response.
            mcp_response: RawObject,
        },
        /// Call a tool of an MCP server.
        "mcp_call" => McpCall {
            /// The tool: `mcp__server__tool`.
            tool: Text,
            /// Its input.
            arguments: RawObject,
            /// Not after this time.
            expires_at: RawJson,
            /// Timeout in milliseconds.
            timeout_ms: Number,
            /// The model should not see the result.
            result_not_for_model: bool,
            /// Ask for permission.
            check_permissions: bool,
            /// Files to give it.
            input_files: RawJson,
            /// Files to take from it.
            output_files: RawJson,
        } -> McpCallReply {
            /// For people.
            content: RawJson,
            /// For programs.
            structured_content "structuredContent": RawJson,
            /// Metadata.
            meta "_meta": RawJson,
            /// What happened to the files.
            staging: RawJson,
        },
        /// Read a resource of an MCP server.
        "mcp_read_resource" => McpReadResource {
            /// The server.
            server_name "serverName": Text,
            /// The resource: `ui://…` only.
            uri: Text,
        } -> McpReadResourceReply {
            /// The content.
            contents: Vec<McpResourceContents>,
        },
        /// Restore files to their state before a prompt.
        "rewind_files" => RewindFiles {
            /// The prompt.
            user_message_id: Uuid,
            /// Only report what would change.
            dry_run: bool,
        } -> RewindFilesReply {
            /// Whether it can be done.
            can_rewind "canRewind": bool,
            /// Why not.
            error: Text,
            /// The files.
            files_changed "filesChanged": Vec<Text>,
            /// Lines added.
            insertions: Number,
            /// Lines removed.
            deletions: Number,
            /// Links that were left alone.
            skipped_links "skippedLinks": RawJson,
        },
        /// Cancel a queued prompt.
        "cancel_async_message" => CancelAsyncMessage {
            /// The prompt.
            message_uuid: Uuid,
        } -> CancelAsyncMessageReply {
            /// Whether.
            cancelled: bool,
        },
        /// Mark a file as read, so that it can be edited.
        "seed_read_state" => SeedReadState {
            /// The file.
            path: Text,
            /// When it was changed last, in milliseconds since 1970.
            mtime: Number,
        } -> Ack,
        /// Read a file.
        "read_file" => ReadFile {
            /// The file.
            path: Text,
            /// How much of it.
            max_bytes: Number,
            /// `utf-8` or `base64`.
            encoding: Text,
            /// What the path is relative to.
            anchor: RawJson,
            /// From where on.
            offset: Number,
            /// To be uploaded.
            for_upload: RawJson,
            /// Answer even while a turn runs.
            live_reply "liveReply": bool,
        } -> ReadFileReply {
            /// The content.
            contents: Text,
            /// The path.
            abs_path "absPath": Text,
            /// Whether the end is missing.
            truncated: bool,
            /// `base64`, if it is.
            encoding: Text,
            /// Whether something in it was no text.
            lossy: bool,
            /// What was asked for.
            requested_path: Text,
        },
        /// Suggest files for a query.
        "file_suggestions" => FileSuggestions {
            /// What was typed.
            query: Text,
        } -> FileSuggestionsReply {
            /// The files.
            suggestions: Vec<FileSuggestion>,
            /// What they are relative to.
            cwd: Text,
        },
        /// The use of the context.
        "get_context_usage" => GetContextUsage {
            /// `summary` or `full`.
            detail: Text,
        } -> GetContextUsageReply {
            /// By category.
            categories: Vec<ContextCategory>,
            /// Tokens in it.
            total_tokens "totalTokens": Number,
            /// Tokens it can hold before it is compacted.
            max_tokens "maxTokens": Number,
            /// Tokens it can hold.
            raw_max_tokens "rawMaxTokens": Number,
            /// The source of the compaction threshold.
            autocompact_source "autocompactSource": Text,
            /// How full it is.
            percentage: Number,
            /// A drawing of it.
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
            /// The usage that the API reported last.
            api_usage "apiUsage": Usage,
        },
        /// Get the usage and the limits.
        "get_usage" => GetUsage {
            /// Leave habits out.
            skip_behaviors: bool,
        } -> GetUsageReply {
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
        },
        /// Get the cost of the session as text.
        "get_session_cost" => GetSessionCost {} -> GetSessionCostReply {
            /// In words.
            text: Text,
        },
        /// Get the version.
        "get_binary_version" => GetBinaryVersion {} -> GetBinaryVersionReply {
            /// The version.
            version: Text,
            /// When it was built.
            build_time "buildTime": Text,
        },
        /// List the models.
        "list_models" => ListModels {} -> ListModelsReply {
            /// The models.
            models: Vec<ModelInfo>,
        },
        /// List the permission rules.
        "list_permission_rules" => ListPermissionRules {} -> ListPermissionRulesReply {
            /// The rules and directories.
            state: PermissionRulesState,
        },
        /// List the hooks.
        "get_hooks_listing" => GetHooksListing {} -> GetHooksListingReply {
            /// The events that have hooks.
            events: Vec<HookEventInfo>,
            /// The hooks.
            hooks: Vec<ListedHook>,
            /// All events.
            event_catalog "eventCatalog": Vec<HookEventInfo>,
            /// Who may set hooks.
            policy: HookPolicy,
            /// Safe mode is on.
            safe_mode "safeMode": RawJson,
            /// Bare mode is on.
            bare_mode "bareMode": RawJson,
            /// What could not be read.
            errors: RawJson,
        },
        /// Load the plugins again.
        "reload_plugins" => ReloadPlugins {
            /// Not if it would make the prompt cache useless.
            hold_on_cache_impact: bool,
            /// Further plugins.
            add_plugins: Vec<PluginRef>,
            /// Not while a turn runs.
            refuse_if_busy: bool,
        } -> ReloadPluginsReply {
            /// The slash commands.
            commands: Vec<SlashCommand>,
            /// The kinds of sub-agent.
            agents: Vec<AgentInfo>,
            /// The plugins.
            plugins: Vec<LoadedPlugin>,
            /// The MCP servers.
            mcp_servers "mcpServers": Vec<McpServerStatus>,
            /// How many could not be loaded.
            error_count: Number,
            /// It was not done.
            held: bool,
            /// What it would do to the prompt cache.
            cache_impact: RawJson,
        },
        /// Look for skills again.
        "reload_skills" => ReloadSkills {} -> ReloadSkillsReply {
            /// The skills.
            skills: Vec<SlashCommand>,
        },
        /// Look for output styles again.
        "reload_output_styles" => ReloadOutputStyles {} -> ReloadOutputStylesReply {
            /// The styles.
            available_output_styles: Vec<Text>,
        },
        /// Add a repository.
        "register_repo_root" => RegisterRepoRoot {
            /// The directory.
            directory: Text,
            /// Read its instructions.
            reload_claude_md: bool,
            /// Load its plugins.
            reload_plugins: bool,
            /// Look for its skills.
            reload_skills: bool,
        } -> RegisterRepoRootReply {
            /// The directory.
            directory: Text,
        },
        /// Give a session a title.
        "rename_session" => RenameSession {
            /// The title.
            title: Text,
            /// Who: `remote` or `host`.
            source: Text,
            /// Which session.
            session_id: SessionId,
        } -> Ack,
        /// Give the session a colour.
        "set_color" => SetColor {
            /// The colour.
            color: Text,
        } -> Ack,
        /// Stop a task.
        "stop_task" => StopTask {
            /// The task.
            task_id: TaskId,
        } -> Ack,
        /// Put running tasks into the background.
        "background_tasks" => BackgroundTasks {
            /// Only this call.
            tool_use_id: ToolUseId,
        } -> BackgroundTasksReply {
            /// Whether; absent means yes.
            backgrounded: bool,
        },
        /// Get the output of a task.
        "get_task_output" => GetTaskOutput {
            /// The task.
            task_id: TaskId,
        } -> GetTaskOutputReply {
            /// The end of it.
            output: Text,
            /// How much there is.
            total_bytes: Number,
            /// Whether the beginning is missing.
            truncated: bool,
        },
        /// Whether the session has subscribers.
        "set_has_subscribers" => SetHasSubscribers {
            /// Whether; null if that is not known.
            has_subscribers: bool,
        } -> Ack,

        // Requests that official hosts send without declaring them.

        /// Use another permission mode for one MCP server.
        "set_mcp_permission_mode_override" => SetMcpPermissionModeOverride {
            /// The server.
            server_name "serverName": Text,
            /// `default`, `auto`, or null for none.
            mode: PermissionMode,
        } -> SetMcpPermissionModeOverrideReply {
            /// What to beware of.
            warning: Text,
        },
        /// Do not suggest what to ask next.
        "set_prompt_suggestions_paused" => SetPromptSuggestionsPaused {
            /// Whether.
            paused: bool,
        } -> Ack,
        /// Which browser to use.
        "set_chrome_browser_hints" => SetChromeBrowserHints {
            /// The one to prefer.
            preferred_device_id "preferredDeviceId": Text,
            /// Those on this machine.
            local_device_ids "localDeviceIds": Vec<Text>,
            /// Where the host runs.
            host_platform "hostPlatform": Text,
        } -> Ack,
        /// Generate a title.
        "generate_session_title" => GenerateSessionTitle {
            /// What the session is about.
            description: Text,
            /// Keep it.
            persist: bool,
        } -> GenerateSessionTitleReply {
            /// The title; null if none was found.
            title: Text,
        },
        /// Ask a question outside the conversation.
        "side_question" => SideQuestion {
            /// The question.
            question: Text,
            /// The history.
            history: RawJson,
        } -> SideQuestionReply {
            /// The answer.
            response: Text,
            /// The CLI wrote it.
            synthetic: bool,
            /// Another model answered.
            refusal_fallback: RawJson,
        },
        /// Change the working directory.
        "set_cwd" => SetCwd {
            /// Where to.
            path: Text,
            /// The user trusts it.
            trust_accepted: bool,
            /// The directory that the user trusts.
            trusted_directory: Text,
        } -> SetCwdReply {
            /// `ok`, `needs_trust` or `rejected`.
            status: Text,
        },
        /// Take over a process that was kept warm.
        "claim_session" => ClaimSession {
            /// The working directory.
            cwd: Text,
            /// The environment.
            env: RawObject,
            /// Further directories.
            additional_directories: Vec<Text>,
            /// The permission mode.
            permission_mode: PermissionMode,
            /// Is added to the system prompt.
            append_system_prompt: Text,
            /// A title.
            title: Text,
            /// Kinds of sub-agent.
            agents: RawJson,
            /// MCP servers in the host.
            sdk_mcp_servers: RawJson,
            /// Answer as to `initialize` too.
            include_initialize: bool,
            /// The user trusts the directory.
            workspace_trust: RawJson,
        } -> ClaimSessionReply {
            /// `ok`.
            status: Text,
            /// The working directory.
            cwd: Text,
            /// The session.
            session_id: SessionId,
            /// How long it had waited.
            parked_ms: Number,
            /// The state of the MCP servers.
            sdk_mcp_settled: RawJson,
            /// The answer as to `initialize`.
            initialize: RawJson,
        },
        /// Let the session be controlled from elsewhere.
        "remote_control" => RemoteControl {
            /// Whether.
            enabled: bool,
            /// Under which name.
            name: Text,
            /// The session to continue.
            reattach_session_id: SessionId,
            /// Keep it when the process ends.
            keep_session_on_exit: bool,
            /// A secret.
            work_secret: RawJson,
        } -> Opaque,
        /// Send feedback.
        "submit_feedback" => SubmitFeedback {} -> Opaque,
        /// Send the answers to a survey.
        "submit_survey_feedback" => SubmitSurveyFeedback {} -> Opaque,
        /// The user rates a message.
        "message_rated" => MessageRated {
            /// The message.
            message_uuid "messageUuid": Uuid,
            /// How.
            sentiment: Text,
            /// Where.
            surface: Text,
            /// The rating is removed.
            cleared: bool,
        } -> Ack,
        /// Log in to an MCP server.
        "mcp_authenticate" => McpAuthenticate {
            /// The server.
            server_name "serverName": Text,
            /// Where to return to.
            redirect_uri "redirectUri": Text,
            /// Only there.
            redirect_uri_only "redirectUriOnly": bool,
        } -> Opaque,
        /// Log out of an MCP server.
        "mcp_clear_auth" => McpClearAuth {
            /// The server.
            server_name "serverName": Text,
        } -> Opaque,
        /// The address to which a login returned.
        "mcp_oauth_callback_url" => McpOauthCallbackUrl {
            /// The server.
            server_name "serverName": Text,
            /// The address.
            callback_url "callbackUrl": Text,
        } -> Opaque,
        /// Log in.
        "claude_authenticate" => ClaudeAuthenticate {
            /// The kind of login.
            login_with_claude_ai "loginWithClaudeAi": bool,
            /// The profile of the console.
            console_profile "consoleProfile": RawJson,
        } -> Opaque,
        /// The code that a login gave.
        "claude_oauth_callback" => ClaudeOauthCallback {
            /// The code.
            authorization_code "authorizationCode": Text,
            /// What must match.
            state: Text,
        } -> Opaque,
        /// Wait until the login is done.
        "claude_oauth_wait_for_completion" => ClaudeOauthWaitForCompletion {} -> Opaque,
        /// Listen to the channel of an MCP server.
        "channel_enable" => ChannelEnable {
            /// The server.
            server_name "serverName": Text,
        } -> Opaque,
        /// Start a thorough review.
        "ultrareview_launch" => UltrareviewLaunch {
            /// The arguments.
            args: RawJson,
            /// The user accepts the cost.
            confirm: RawJson,
        } -> Opaque,
        /// Get the content of the memory dialog.
        "get_memory_dialog" => GetMemoryDialog {} -> Opaque,
        /// Get the content of the skills dialog.
        "get_skills_dialog" => GetSkillsDialog {} -> Opaque,
        /// Get the content of the sandbox dialog.
        "get_sandbox_dialog" => GetSandboxDialog {} -> Opaque,
        /// Get the content of the Chrome dialog.
        "get_chrome_dialog" => GetChromeDialog {} -> Opaque,
        /// List the browsers.
        "get_chrome_browsers" => GetChromeBrowsers {} -> Opaque,
        /// Use this browser.
        "select_chrome_browser" => SelectChromeBrowser {
            /// Which.
            device_id: Text,
        } -> Opaque,
        /// Get the content of the status dialog.
        "get_status" => GetStatus {} -> GetStatusReply {
            /// Its sections.
            sections: Vec<StatusSection>,
        },
        /// Get the plan.
        "get_plan" => GetPlan {} -> GetPlanReply {
            /// Whether there is one.
            exists: bool,
            /// The text.
            content: Text,
            /// The path.
            path: Text,
        },
        /// The conversation as text.
        "export_conversation" => ExportConversation {} -> ExportConversationReply {
            /// The text.
            text: Text,
            /// What to call the file.
            default_filename: Text,
        },
        /// List the cloud sessions.
        "list_cloud_sessions" => ListCloudSessions {} -> Opaque,
        /// Get a cloud session.
        "get_cloud_session" => GetCloudSession {} -> Opaque,
        /// Its transcript.
        "get_cloud_session_transcript" => GetCloudSessionTranscript {} -> Opaque,

        // Requests of hosted and desktop applications. Do not depend on them.

        /// End the session: an answer, then the end.
        "end_session" => EndSession {
            /// The reason.
            reason: Text,
        } -> Ack,
        /// List a directory.
        "list_directory" => ListDirectory {
            /// Which.
            path: Text,
        } -> Opaque,
        /// Get the changes in the work tree.
        "get_workspace_diff" => GetWorkspaceDiff {} -> GetWorkspaceDiffReply {
            /// The difference; null if there is none.
            diff: Text,
            /// Why there is none.
            no_diff_reason "noDiffReason": Text,
        },
        /// Run a command as a task.
        "start_shell_task" => StartShellTask {
            /// The command.
            command: Text,
            /// Its arguments.
            args: RawJson,
            /// Where.
            cwd: Text,
            /// Its environment.
            env: RawObject,
            /// Timeout in milliseconds.
            timeout_ms: Number,
            /// What it does.
            description: Text,
        } -> Opaque,
        /// How proactive the agent is.
        "set_proactivity_level" => SetProactivityLevel {
            /// `ask`, `default` or `proactive`.
            level: Text,
        } -> Ack,
        /// Add a working directory.
        "add_directory" => AddDirectory {} -> Opaque,
        /// Fork the conversation into another session.
        "fork_conversation" => ForkConversation {} -> Opaque,
        /// Go back in the conversation.
        "rewind_conversation" => RewindConversation {} -> Opaque,
        /// Poll for events from elsewhere.
        "poll_event" => PollEvent {} -> Opaque,
        /// Take a file.
        "stage_file" => StageFile {} -> Opaque,
        /// The tasks of an MCP server changed.
        "mcp_tasks_changed" => McpTasksChanged {} -> Opaque,
        /// Hand the turn over.
        "turn_handoff" => TurnHandoff {} -> Opaque,
        /// Hooks of a device.
        "register_device_hooks" => RegisterDeviceHooks {} -> Opaque,
        /// A template for hooks of a device.
        "upload_device_hook_template" => UploadDeviceHookTemplate {} -> Opaque,
        /// Tools that run elsewhere.
        "remote_tools_announce" => RemoteToolsAnnounce {} -> Opaque,
        /// A plugin's surface: attach.
        "ui_attach" => UiAttach {} -> Opaque,
        /// A plugin's surface: detach.
        "ui_detach" => UiDetach {} -> Opaque,
        /// A plugin's surface: render.
        "ui_render" => UiRender {} -> Opaque,
        /// A plugin's surface: press.
        "ui_press" => UiPress {} -> Opaque,
        /// A plugin's surface: its code.
        "ui_client_module" => UiClientModule {} -> Opaque,
        /// A plugin's surface: press, in the host.
        "ui_client_press" => UiClientPress {} -> Opaque,
        /// A plugin's surface: a message.
        "ui_message" => UiMessage {} -> Opaque,
        /// A plugin's surface: a fault in the host.
        "ui_client_fault" => UiClientFault {} -> Opaque,
        /// A plugin's surface: input.
        "ui_input" => UiInput {} -> Opaque,
        /// A plugin's surface: select.
        "ui_select" => UiSelect {} -> Opaque,
        /// A plugin's surface: all panes.
        "ui_panes" => UiPanesRequest {} -> Opaque,
        /// A plugin's surface: show a pane.
        "ui_pane_show" => UiPaneShow {} -> Opaque,
        /// A plugin's surface: focus a pane.
        "ui_pane_focus" => UiPaneFocus {} -> Opaque,
        /// A plugin's surface: close.
        "ui_close" => UiClose {} -> Opaque,
        /// A plugin's surface: scroll.
        "ui_scroll" => UiScrollRequest {} -> Opaque,
        /// A plugin's surface: focus.
        "ui_focus" => UiFocusRequest {} -> Opaque,
        /// A plugin's surface: the input line was edited.
        "ui_prompt_edit" => UiPromptEdit {} -> Opaque,
        /// A plugin's surface: complete the input line.
        "ui_prompt_autocomplete" => UiPromptAutocomplete {} -> Opaque,
    }
}

record! {
    /// A suggested file.
    FileSuggestion {
        /// The file.
        path: Text,
        /// How well it fits.
        score: Number,
    }
}

record! {
    /// A section of the status dialog.
    StatusSection {
        /// Its title.
        title: Text,
        /// Its rows.
        rows: Vec<StatusRow>,
    }
}

record! {
    /// A row of the status dialog.
    StatusRow {
        /// What it is about.
        label: Text,
        /// The text.
        value: Text,
    }
}
