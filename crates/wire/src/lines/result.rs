//! `result` lines: the end of a turn.

use crate::id::{SessionId, ToolUseId, Uuid};
use crate::json::{Number, RawJson, RawObject};
use crate::message::{FastModeState, ModelUsage, Origin, StopReason, Usage};
use crate::text::Text;
use crate::wire::{Map, record, words};

record! {
    /// The end of a turn: its outcome and its cost.
    ///
    /// Use [`is_success`](Self::is_success) to see whether a turn succeeded: new versions report an API error as
    /// `success` with `is_error`, old ones an error subtype without it.
    TurnResult ["type" = "result"] {
        /// The outcome of the turn.
        subtype: ResultSubtype => required,
        /// Whether it failed.
        is_error: bool,
        /// The last text of the answer, or the JSON text of the structured output.
        result: Text,
        /// The error.
        errors: Vec<Text>,
        /// The duration of the turn in milliseconds.
        duration_ms: Number,
        /// The duration of the API calls in milliseconds, total of the session.
        duration_api_ms: Number,
        /// How many steps the turn had.
        num_turns: Number,
        /// Why the last message ended.
        stop_reason: StopReason,
        /// Cost in USD, total of the session.
        total_cost_usd: Number,
        /// Tokens of the main agent in this turn.
        usage: Usage,
        /// Tokens and cost by model, totals of the session.
        model_usage "modelUsage": Map<ModelUsage>,
        /// The same since the last result.
        model_usage_since_last_result: Map<ModelUsage>,
        /// Tool calls that were denied.
        permission_denials: Vec<PermissionDenial>,
        /// The value that a JSON Schema asked for.
        structured_output: RawJson,
        /// The tool call that a hook deferred.
        deferred_tool_use: DeferredToolUse,
        /// Why the turn ended, in more detail.
        terminal_reason: TerminalReason,
        /// The API's HTTP status, if the turn failed on it.
        api_error_status: Number,
        /// The API's error type, if the turn failed on it.
        api_error_type: Text,
        /// The API's error, in the CLI's words.
        api_error: Text,
        /// The session.
        session_id: SessionId,
        /// The id of this line.
        uuid: Uuid,
        /// The number of queued prompts.
        queued_turn_count: Number,
        /// The index of this result, from 0.
        result_index: Number,
        /// The prompt that the turn answers.
        user_message_uuid: Uuid,
        /// The prompts that the turn answers.
        user_message_uuids: Vec<Uuid>,
        /// The turn continued one that a restart interrupted.
        resume_reason: Text,
        /// The origin of the turn, if no prompt started it.
        origin: Origin,
        /// Whether fast mode is on.
        fast_mode_state: FastModeState,
        /// The reason, if it is off.
        fast_mode_disabled_reason: Text,
        /// When the credentials expire.
        credential_expires_at: RawJson,
        /// The local command that was the whole turn.
        local_command: RawJson,
        /// What the sub-agents did.
        subagent_stats: SubagentStats,
        /// How often safety stopped the model.
        safety_stops: RawJson,
        /// Why the process could not start.
        startup_failure_reason: StartupFailureReason,
        /// The file that could not be read.
        invalid_config_file: RawJson,
        /// The turn ended because the process shut down.
        interrupted_by_shutdown: bool,
        /// A permission check ended the turn.
        stopped_by_permission_check: RawJson,
        /// How a hosted runner ended.
        runner_exit: RawJson,
        /// Milliseconds to the first token.
        ttft_ms: Number,
        /// Milliseconds to the first token that was streamed.
        ttft_stream_ms: Number,
        /// Milliseconds to the request.
        time_to_request_ms: Number,
        /// Milliseconds from the start of the process to the request.
        time_to_request_from_spawn_ms: Number,
        /// Milliseconds to the first content.
        first_content_frame_ms: Number,
        /// When the request was sent.
        request_sent_wall_ms: Number,
        /// Tokens of the first request that were not in the cache.
        first_request_input_tokens: Number,
        /// Tokens of the first request that were in the cache.
        first_request_cache_read_input_tokens: Number,
        /// When the clock of this process began.
        time_origin_ms: Number,
        /// A process that was kept warm took the session.
        warm_spare_claimed: bool,
        /// Timing of the hosted stream.
        first_stream_post_ms: Number,
        /// Timing of the hosted stream.
        first_stream_post_ack_ms: Number,
        /// Timing of the hosted stream.
        first_stream_post_queue_wait_ms: Number,
        /// Timing of the hosted stream.
        first_stream_post_wall_ms: Number,
        /// What the first post waited for.
        first_stream_post_queued_behind: Text,
        /// Timing of the hosted stream.
        first_text_post_ms: Number,
        /// Timing of the hosted stream.
        first_text_post_queue_wait_ms: Number,
        /// Timing of the hosted stream.
        first_text_post_wall_ms: Number,
        /// What the first text waited for.
        first_text_post_queued_behind: Text,
    }
}

impl TurnResult {
    /// Whether the turn succeeded: `is_error` is not true and the subtype is `success`.
    ///
    /// ```
    /// use duologue_wire::{Wire, lines::TurnResult};
    ///
    /// let failed = r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: 400"}"#;
    /// assert!(!TurnResult::from_json(failed)?.is_success());
    /// # Ok::<(), duologue_wire::Fault>(())
    /// ```
    pub fn is_success(&self) -> bool {
        !self.is_error.is_true() && self.subtype.value() == Some(&ResultSubtype::Success)
    }

    /// The best account of what went wrong, if the turn failed: its errors, else its text, else the
    /// API's status, else its subtype.
    pub fn error_message(&self) -> Option<String> {
        if self.is_success() {
            return None;
        }
        let errors: Vec<&str> = self.errors.items().iter().map(|text| text.as_str()).collect();
        if !errors.is_empty() {
            return Some(errors.join("; "));
        }
        if let Some(text) = self.result.as_str().filter(|text| !text.is_empty()) {
            return Some(text.to_owned());
        }
        if let Some(status) = self.api_error_status.value() {
            return Some(format!("the API answered with status {status}"));
        }
        // `success` would be the worst word of all.
        let subtype = self.subtype.as_str().filter(|subtype| *subtype != "success");
        subtype.or(self.terminal_reason.as_str()).map(str::to_owned)
    }
}

words! {
    /// The outcome of a turn.
    ResultSubtype closed {
        /// Success, unless `is_error` is true.
        Success = "success",
        /// Something went wrong, or it was interrupted.
        ErrorDuringExecution = "error_during_execution",
        /// It reached the maximum number of steps.
        ErrorMaxTurns = "error_max_turns",
        /// It reached the budget.
        ErrorMaxBudgetUsd = "error_max_budget_usd",
        /// The model did not produce the structured output.
        ErrorMaxStructuredOutputRetries = "error_max_structured_output_retries",
        /// Legacy: an error.
        Error = "error" => legacy,
    }
}

words! {
    /// Why the CLI could not start.
    StartupFailureReason {
        /// An API key conflicts with the organization that is required.
        OrgPinApiKeyConflict = "org_pin_api_key_conflict",
        /// The API provider is not allowed.
        ProviderNotAllowed = "provider_not_allowed",
        /// The organization could not be verified.
        OrgVerifyFailed = "org_verify_failed",
        /// The login belongs to another organization than the required one.
        OrgPinMismatch = "org_pin_mismatch",
        /// The managed settings are not valid.
        ManagedSettingsInvalid = "managed_settings_invalid",
        /// The managed settings of the server are required and could not be fetched.
        RemoteSettingsRequiredUnavailable = "remote_settings_required_unavailable",
        /// A login at the gateway is required.
        GatewaySigninRequired = "gateway_signin_required",
        /// The gateway has denied access.
        GatewayAccessDenied = "gateway_access_denied",
        /// The proxy setting is not valid.
        ProxyInvalid = "proxy_invalid",
        /// The temporary directory cannot be used.
        TempDirUnusable = "temp_dir_unusable",
        /// The working directory is not available.
        CwdUnavailable = "cwd_unavailable",
        /// No shell was found.
        ShellToolMissing = "shell_tool_missing",
        /// A background agent uses the session.
        SessionHeldByBackground = "session_held_by_background",
        /// The session of a work tree cannot be resumed here.
        WorktreeResumeRefused = "worktree_resume_refused",
        /// The work tree could not be verified.
        WorktreeUnverified = "worktree_unverified",
        /// The CLI is older than the minimum version.
        CliVersionTooOld = "cli_version_too_old",
        /// Root may not bypass permissions.
        BypassRoot = "bypass_root",
        /// The configuration of the organization is required and not available.
        OrgConfigRequiredUnavailable = "org_config_required_unavailable",
        /// The configuration of the organization was refused.
        OrgConfigRefused = "org_config_refused",
        /// A sandbox is required and not available.
        SandboxRequiredUnavailable = "sandbox_required_unavailable",
        /// `initialize` was not the first line.
        InitializeNotFirst = "initialize_not_first",
        /// A configuration file is not valid JSON.
        ConfigFileInvalid = "config_file_invalid",
        /// The managed settings were not delivered.
        ManagedSettingsNotDelivered = "managed_settings_not_delivered",
    }
}

words! {
    /// Why a turn ended.
    TerminalReason {
        /// A limit blocks the account.
        BlockingLimit = "blocking_limit",
        /// The context filled up again and again.
        RapidRefillBreaker = "rapid_refill_breaker",
        /// The prompt is too long.
        PromptTooLong = "prompt_too_long",
        /// An image was rejected.
        ImageError = "image_error",
        /// The model failed.
        ModelError = "model_error",
        /// The API failed.
        ApiError = "api_error",
        /// The model could not call a tool properly.
        MalformedToolUseExhausted = "malformed_tool_use_exhausted",
        /// It was interrupted while the model spoke.
        AbortedStreaming = "aborted_streaming",
        /// It was interrupted while tools ran or were asked about.
        AbortedTools = "aborted_tools",
        /// A Stop hook ended it.
        StopHookPrevented = "stop_hook_prevented",
        /// A hook ended it.
        HookStopped = "hook_stopped",
        /// A hook deferred a tool call.
        ToolDeferred = "tool_deferred",
        /// It reached the maximum number of steps.
        MaxTurns = "max_turns",
        /// It went on in the background.
        BackgroundRequested = "background_requested",
        /// Completed.
        Completed = "completed",
        /// It reached the budget.
        BudgetExhausted = "budget_exhausted",
        /// The model did not produce the structured output.
        StructuredOutputRetryExhausted = "structured_output_retry_exhausted",
        /// A tool call could not be deferred.
        ToolDeferredUnavailable = "tool_deferred_unavailable",
        /// The turn could not start.
        TurnSetupFailed = "turn_setup_failed",
    }
}

record! {
    /// A tool call that was denied.
    PermissionDenial {
        /// The tool.
        tool_name: Text,
        /// The call.
        tool_use_id: ToolUseId,
        /// Its input.
        tool_input: RawObject,
    }
}

record! {
    /// A tool call that a hook deferred.
    DeferredToolUse {
        /// The call.
        id: ToolUseId,
        /// The tool.
        name: Text,
        /// Its input.
        input: RawObject,
    }
}

record! {
    /// What the sub-agents did, running totals.
    SubagentStats {
        /// How many were started.
        spawned: Number,
        /// How they were asked for.
        requested: SubagentRequests,
        /// How many started in the background.
        started_in_background: Number,
        /// How deep they nested.
        max_depth: Number,
        /// How many were started by sub-agents.
        spawned_by_subagents: Number,
        /// How many were done.
        completed: Number,
        /// How many failed.
        failed: Number,
        /// How many were killed, by origin.
        killed: SubagentKills,
        /// How many were not started, and why.
        refused: SubagentRefusals,
        /// How many of each type.
        by_type: Map<Number>,
    }
}

record! {
    /// How sub-agents were asked for.
    SubagentRequests {
        /// In the background.
        background: Number,
        /// In the foreground.
        foreground: Number,
        /// Without saying.
        unset: Number,
    }
}

record! {
    /// Who killed sub-agents.
    SubagentKills {
        /// The agent that started them.
        parent: Number,
        /// The user.
        user: Number,
        /// The CLI.
        system: Number,
    }
}

record! {
    /// Why sub-agents were not started.
    SubagentRefusals {
        /// They would nest too deep.
        depth_limit: Number,
        /// There were too many.
        concurrency_limit: Number,
        /// They would cost too much.
        budget: Number,
    }
}
