//! The remaining lines to the host.

use crate::id::{AgentId, RequestId, SessionId, TaskId, ToolUseId, Uuid};
use crate::json::{Number, RawJson, RawObject};
use crate::message::ApiErrorKind;
use crate::text::Text;
use crate::wire::{record, words};

record! {
    /// A tool is still running.
    ToolProgress ["type" = "tool_progress"] {
        /// The call; on a heartbeat, an id of its own.
        tool_use_id: ToolUseId,
        /// The tool.
        tool_name: Text,
        /// The sub-agent's call; on a heartbeat, the call itself.
        parent_tool_use_id: ToolUseId,
        /// For how long.
        elapsed_time_seconds: Number,
        /// The task it became.
        task_id: TaskId,
        /// Only to say that it lives.
        heartbeat: bool,
        /// The kind of sub-agent.
        subagent_type: Text,
        /// A sub-agent's request to the API is being tried again.
        subagent_retry: SubagentRetry,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// A sub-agent's request to the API is being tried again.
    SubagentRetry {
        /// The sub-agent.
        agent_id: AgentId,
        /// The how-many-eth try.
        attempt: Number,
        /// How many there will be.
        max_retries: Number,
        /// How long it waits.
        retry_delay_ms: Number,
        /// The API's HTTP status.
        error_status: Number,
        /// What went wrong.
        error_category: ApiErrorKind,
    }
}

record! {
    /// What some tool calls came to, in one sentence.
    ToolUseSummary ["type" = "tool_use_summary"] {
        /// The sentence.
        summary: Text,
        /// The calls.
        preceding_tool_use_ids: Vec<ToolUseId>,
        /// When it was written.
        timestamp: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// How logging in goes.
    AuthStatus ["type" = "auth_status"] {
        /// Whether it is going on.
        is_authenticating "isAuthenticating": bool,
        /// What to show.
        output: Vec<Text>,
        /// What went wrong.
        error: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// How much of a rate limit is left.
    RateLimitEvent ["type" = "rate_limit_event"] {
        /// The limit.
        rate_limit_info: RateLimitInfo,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// A rate limit.
    RateLimitInfo {
        /// Whether requests are allowed.
        status: RateLimitStatus,
        /// When it starts anew, in seconds since 1970.
        resets_at "resetsAt": Number,
        /// Which limit.
        rate_limit_type "rateLimitType": RateLimitType,
        /// How much is used, from 0 to 1.
        utilization: Number,
        /// Whether more may be bought.
        overage_status "overageStatus": RateLimitStatus,
        /// When that starts anew.
        overage_resets_at "overageResetsAt": Number,
        /// Why no more may be bought.
        overage_disabled_reason "overageDisabledReason": Text,
        /// Whether more is being bought.
        is_using_overage "isUsingOverage": bool,
        /// Whether more is being bought.
        overage_in_use "overageInUse": bool,
        /// Whether buying more is switched on.
        overage_enabled "overageEnabled": bool,
        /// The threshold that was passed.
        surpassed_threshold "surpassedThreshold": Number,
        /// Whom it limits.
        limit_scope "limitScope": Text,
        /// What to do about it.
        error_code "errorCode": Text,
        /// Whether the person may buy credits.
        can_user_purchase_credits "canUserPurchaseCredits": bool,
        /// Whether there is a way to pay.
        has_chargeable_saved_payment_method "hasChargeableSavedPaymentMethod": bool,
        /// All windows together.
        unified_windows "unifiedWindows": RawJson,
        /// Whether the cap of the day stopped it.
        daily_cap_paused "dailyCapPaused": RawJson,
    }
}

words! {
    /// Whether requests are allowed.
    RateLimitStatus {
        /// They are.
        Allowed = "allowed",
        /// They are, but not for long.
        AllowedWarning = "allowed_warning",
        /// They are not.
        Rejected = "rejected",
    }
}

words! {
    /// Which limit.
    RateLimitType {
        /// Five hours.
        FiveHour = "five_hour",
        /// Seven days.
        SevenDay = "seven_day",
        /// Seven days, for Opus.
        SevenDayOpus = "seven_day_opus",
        /// Seven days, for Sonnet.
        SevenDaySonnet = "seven_day_sonnet",
        /// Seven days, with what may be bought.
        SevenDayOverageIncluded = "seven_day_overage_included",
        /// What may be bought.
        Overage = "overage",
        /// One hour. Only the oldest descriptions have it.
        Hourly = "hourly",
    }
}

record! {
    /// What the person may want to ask next.
    PromptSuggestion ["type" = "prompt_suggestion"] {
        /// The prompt.
        suggestion: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// The conversation starts anew; later lines have another `session_id`, totals start at zero.
    ConversationReset ["type" = "conversation_reset"] {
        /// The new conversation. It is not the new `session_id`.
        new_conversation_id: Text,
        /// Why.
        trigger: ResetTrigger,
        /// The prompt that caused it.
        user_message_uuid: Uuid,
        /// When.
        timestamp: Text,
        /// The old conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

words! {
    /// Why a conversation starts anew.
    ResetTrigger {
        /// `/clear`.
        Clear = "clear",
        /// Plan mode was left.
        PlanModeExit = "plan_mode_exit",
        /// A fresh session.
        FreshSession = "fresh_session",
        /// Onboarding.
        Onboarding = "onboarding",
    }
}

record! {
    /// What becomes of a prompt that the host gave a uuid.
    CommandLifecycle ["type" = "command_lifecycle"] {
        /// The prompt.
        command_uuid: Uuid,
        /// What became of it.
        state: CommandState,
        /// What woke the agent.
        wakeup_source: Text,
        /// When it should run.
        scheduled_for: RawJson,
        /// It overtook others.
        ran_ahead: bool,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

words! {
    /// What becomes of a prompt.
    CommandState {
        /// It waits.
        Queued = "queued",
        /// Its turn has begun.
        Started = "started",
        /// Its turn has ended.
        Completed = "completed",
        /// It was taken back.
        Cancelled = "cancelled",
        /// It was thrown away.
        Discarded = "discarded",
        /// It was not taken.
        Refused = "refused",
    }
}

record! {
    /// The goal that the agent works towards.
    ActiveGoalLine ["type" = "active_goal"] {
        /// The goal; null when there is none any more.
        value: ActiveGoal,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// A goal.
    ActiveGoal {
        /// When it is reached.
        condition: Text,
        /// How often the agent has tried.
        iterations: Number,
        /// When it was set.
        set_at: RawJson,
        /// How many tokens had been used by then.
        tokens_at_start: Number,
        /// Why it is not reached yet.
        last_reason: Text,
    }
}

record! {
    /// When the context will be compacted.
    AutocompactStateLine ["type" = "autocompact_state"] {
        /// The state.
        value: AutocompactState,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// When the context will be compacted.
    AutocompactState {
        /// Whether it will be at all.
        enabled: bool,
        /// The window it goes by.
        effective_window: Number,
        /// The tokens at which it happens.
        threshold: Number,
        /// Whether it cannot be switched off.
        enforced: bool,
        /// Who decided.
        source: Text,
    }
}

record! {
    /// Entries of the transcript on disk, for a host that keeps its own. Only with
    /// `--session-mirror`; it has no ids.
    TranscriptMirror ["type" = "transcript_mirror"] {
        /// The file they were written to.
        file_path "filePath": Text,
        /// The entries.
        entries: Vec<RawObject>,
    }
}

record! {
    /// Nothing, to keep the connection alive.
    KeepAlive ["type" = "keep_alive"] {
        /// How far the start has come.
        startup_mark: RawJson,
    }
}

record! {
    /// The sender takes its own request back. Answer nothing.
    ControlCancelRequest ["type" = "control_cancel_request"] {
        /// The request.
        request_id: RequestId,
    }
}

record! {
    /// Text of a condensed output. Never seen; named by some descriptions.
    StreamlinedText ["type" = "streamlined_text"] {
        /// The text.
        text: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// Tool calls of a condensed output. Never seen; named by some descriptions.
    StreamlinedToolUseSummary ["type" = "streamlined_tool_use_summary"] {
        /// The sentence.
        tool_summary: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}
