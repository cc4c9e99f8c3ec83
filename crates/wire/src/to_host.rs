//! [`ToHost`]: every line of an agent's stdout.

use crate::control::{ControlRequestToHost, ControlResponse};
use crate::id::{AgentId, RequestId, SessionId, TaskId, ToolUseId, Uuid};
use crate::json::{Number, RawJson, RawObject};
use crate::legacy::ErrorLine;
use crate::lines::{Assistant, ResultSubtype, StreamEvent, StreamLine, TurnResult, User};
use crate::message::ApiErrorKind;
use crate::system::System;
use crate::text::Text;
use crate::wire::{Finding, Survey, Wire, record, union, words};

union! {
    /// A line to the host, by `type`.
    ToHost by "type" {
        /// The answer while it is being written.
        "stream_event" => StreamEvent(Box<StreamLine>),
        /// A finished block of the answer.
        "assistant" => Assistant(Box<Assistant>),
        /// The result of a tool, a marker, or the replay of a prompt.
        "user" => User(Box<User>),
        /// The end of a turn.
        "result" => Result(Box<TurnResult>),
        /// A system line.
        "system" => System(System),
        /// A request of the agent.
        "control_request" => ControlRequest(Box<ControlRequestToHost>),
        /// The response to a request of the host.
        "control_response" => ControlResponse(Box<ControlResponse>),
        /// The sender cancels its own request. Do not answer.
        "control_cancel_request" => ControlCancelRequest(Box<ControlCancelRequest>) {
            /// The request.
            request_id: RequestId,
        },
        /// A keep-alive without content.
        "keep_alive" => KeepAlive(Box<KeepAlive>) {
            /// How far the start has come.
            startup_mark: RawJson,
        },
        /// A tool is still running.
        "tool_progress" => ToolProgress(Box<ToolProgress>) {
            /// The call; on a heartbeat, another id.
            tool_use_id: ToolUseId,
            /// The tool.
            tool_name: Text,
            /// The sub-agent's call; on a heartbeat, the call itself.
            parent_tool_use_id: ToolUseId,
            /// For how long.
            elapsed_time_seconds: Number,
            /// The task, if the call moved to the background.
            task_id: TaskId,
            /// A sign of life without progress.
            heartbeat: bool,
            /// The kind of sub-agent.
            subagent_type: Text,
            /// A request of a sub-agent to the API is retried.
            subagent_retry: SubagentRetry,
            /// The session.
            session_id: SessionId,
            /// The id of this line.
            uuid: Uuid,
        },
        /// A summary of some tool calls, in one sentence.
        "tool_use_summary" => ToolUseSummary(Box<ToolUseSummary>) {
            /// The sentence.
            summary: Text,
            /// The calls.
            preceding_tool_use_ids: Vec<ToolUseId>,
            /// When it was written.
            timestamp: Text,
            /// The session.
            session_id: SessionId,
            /// The id of this line.
            uuid: Uuid,
        },
        /// The state of a login.
        "auth_status" => AuthStatus(Box<AuthStatus>) {
            /// Whether a login is in progress.
            is_authenticating "isAuthenticating": bool,
            /// What to show.
            output: Vec<Text>,
            /// The error.
            error: Text,
            /// The session.
            session_id: SessionId,
            /// The id of this line.
            uuid: Uuid,
        },
        /// How much of a rate limit is left.
        "rate_limit_event" => RateLimitEvent(Box<RateLimitEvent>) {
            /// The limit.
            rate_limit_info: RateLimitInfo,
            /// The session.
            session_id: SessionId,
            /// The id of this line.
            uuid: Uuid,
        },
        /// A suggestion for the next prompt.
        "prompt_suggestion" => PromptSuggestion(Box<PromptSuggestion>) {
            /// The prompt.
            suggestion: Text,
            /// The session.
            session_id: SessionId,
            /// The id of this line.
            uuid: Uuid,
        },
        /// The conversation was reset. Later lines have another `session_id`; totals start at zero.
        "conversation_reset" => ConversationReset(Box<ConversationReset>) {
            /// The new conversation. It is not the new `session_id`.
            new_conversation_id: Text,
            /// The reason.
            trigger: ResetTrigger,
            /// The prompt that caused it.
            user_message_uuid: Uuid,
            /// When.
            timestamp: Text,
            /// The old conversation.
            session_id: SessionId,
            /// The id of this line.
            uuid: Uuid,
        },
        /// The state of a prompt that has a uuid.
        "command_lifecycle" => CommandLifecycle(Box<CommandLifecycle>) {
            /// The prompt.
            command_uuid: Uuid,
            /// The state.
            state: CommandState,
            /// What woke the agent.
            wakeup_source: Text,
            /// When it should run.
            scheduled_for: RawJson,
            /// It overtook others.
            ran_ahead: bool,
            /// The session.
            session_id: SessionId,
            /// The id of this line.
            uuid: Uuid,
        },
        /// The goal that the agent works towards.
        "active_goal" => ActiveGoal(Box<ActiveGoalLine>) {
            /// The goal; null when there is none any more.
            value: ActiveGoal,
            /// The session.
            session_id: SessionId,
            /// The id of this line.
            uuid: Uuid,
        },
        /// When the context will be compacted.
        "autocompact_state" => AutocompactState(Box<AutocompactStateLine>) {
            /// The state.
            value: AutocompactState,
            /// The session.
            session_id: SessionId,
            /// The id of this line.
            uuid: Uuid,
        },
        /// Entries of the transcript on disk, for a host that keeps its own. Only with
        /// `--session-mirror`; it has no ids.
        "transcript_mirror" => TranscriptMirror(Box<TranscriptMirror>) {
            /// The file they were written to.
            file_path "filePath": Text,
            /// The entries.
            entries: Vec<RawObject>,
        },
        /// Text of a condensed output. Never seen; named by some descriptions.
        "streamlined_text" => StreamlinedText(Box<StreamlinedText>) {
            /// The text.
            text: Text,
            /// The session.
            session_id: SessionId,
            /// The id of this line.
            uuid: Uuid,
        },
        /// Tool calls of a condensed output. Never seen; named by some descriptions.
        "streamlined_tool_use_summary" => StreamlinedToolUseSummary(Box<StreamlinedToolUseSummary>) {
            /// The sentence.
            tool_summary: Text,
            /// The session.
            session_id: SessionId,
            /// The id of this line.
            uuid: Uuid,
        },
        /// Legacy: an error.
        "error" => Error(Box<ErrorLine>) => legacy,
    }
}

/// Whether the survey marks the whole message as legacy.
pub(crate) fn is_legacy<T: Wire>(message: &T) -> bool {
    let mut legacy = false;
    Survey::of(message, |path, finding| legacy |= path.is_empty() && finding == Finding::Legacy);
    legacy
}

/// An id that most lines have, but not all.
macro_rules! ids {
    ($message:expr, $id:ident) => {
        match $message {
            ToHost::StreamEvent(line) => line.$id.value(),
            ToHost::Assistant(line) => line.$id.value(),
            ToHost::User(line) => line.$id.value(),
            ToHost::Result(line) => line.$id.value(),
            ToHost::System(line) => line.$id(),
            ToHost::ToolProgress(line) => line.$id.value(),
            ToHost::ToolUseSummary(line) => line.$id.value(),
            ToHost::AuthStatus(line) => line.$id.value(),
            ToHost::RateLimitEvent(line) => line.$id.value(),
            ToHost::PromptSuggestion(line) => line.$id.value(),
            ToHost::ConversationReset(line) => line.$id.value(),
            ToHost::CommandLifecycle(line) => line.$id.value(),
            ToHost::ActiveGoal(line) => line.$id.value(),
            ToHost::AutocompactState(line) => line.$id.value(),
            ToHost::StreamlinedText(line) => line.$id.value(),
            ToHost::StreamlinedToolUseSummary(line) => line.$id.value(),
            ToHost::Error(line) => line.$id.value(),
            ToHost::ControlRequest(_)
            | ToHost::ControlResponse(_)
            | ToHost::ControlCancelRequest(_)
            | ToHost::KeepAlive(_)
            | ToHost::TranscriptMirror(_)
            | ToHost::Unknown(_) => None,
        }
    };
}

impl ToHost {
    /// The `subtype` that decides what the line means, where there is one: that of a system line, a
    /// result, a control request, or the type of a stream event.
    pub fn subtype(&self) -> Option<&str> {
        match self {
            Self::System(system) => Some(system.tag()),
            Self::Result(result) => result.subtype.as_str(),
            Self::ControlRequest(request) => request.request.value().map(|request| request.tag()),
            Self::ControlResponse(response) => response.response.value().map(|body| body.tag()),
            Self::StreamEvent(line) => line.event.value().map(|event| event.tag()),
            _ => None,
        }
    }

    /// The id of this line.
    pub fn uuid(&self) -> Option<&Uuid> {
        ids!(self, uuid)
    }

    /// The conversation that the line belongs to.
    pub fn session_id(&self) -> Option<&SessionId> {
        ids!(self, session_id)
    }

    /// Whether the type and the subtype are known.
    pub(crate) fn is_understood(&self) -> bool {
        match self {
            Self::Unknown(_) => false,
            Self::System(system) => system.is_known(),
            Self::Result(result) => result.subtype.value().is_some_and(ResultSubtype::is_known),
            Self::ControlRequest(line) => line.request.value().is_some_and(|body| body.is_known()),
            Self::ControlResponse(line) => {
                line.response.value().is_some_and(|body| body.is_known())
            }
            Self::StreamEvent(line) => line.event.value().is_none_or(StreamEvent::is_known),
            _ => true,
        }
    }

    /// Whether only the legacy descriptions of the protocol have this line.
    pub fn is_legacy(&self) -> bool {
        is_legacy(self)
    }
}

record! {
    /// A request of a sub-agent to the API is retried.
    SubagentRetry {
        /// The sub-agent.
        agent_id: AgentId,
        /// The number of this attempt, from 1.
        attempt: Number,
        /// The maximum number of attempts.
        max_retries: Number,
        /// The delay before the next attempt, in milliseconds.
        retry_delay_ms: Number,
        /// The API's HTTP status.
        error_status: Number,
        /// The error.
        error_category: ApiErrorKind,
    }
}

record! {
    /// A rate limit.
    RateLimitInfo {
        /// Whether requests are allowed.
        status: RateLimitStatus,
        /// When it resets, in seconds since 1970.
        resets_at "resetsAt": Number,
        /// Which limit.
        rate_limit_type "rateLimitType": RateLimitType,
        /// How much is used, from 0 to 1.
        utilization: Number,
        /// Whether more may be bought.
        overage_status "overageStatus": RateLimitStatus,
        /// When the overage resets, in seconds since 1970.
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
        /// The scope of the limit.
        limit_scope "limitScope": Text,
        /// What to do about it.
        error_code "errorCode": Text,
        /// Whether the user may buy credits.
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
        /// One hour. Legacy.
        Hourly = "hourly" => legacy,
    }
}

words! {
    /// The reason for a reset.
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

words! {
    /// The state of a prompt.
    CommandState {
        /// Queued.
        Queued = "queued",
        /// Its turn has begun.
        Started = "started",
        /// Its turn has ended.
        Completed = "completed",
        /// Cancelled.
        Cancelled = "cancelled",
        /// Discarded.
        Discarded = "discarded",
        /// Refused.
        Refused = "refused",
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
    AutocompactState {
        /// Whether it will be at all.
        enabled: bool,
        /// The window it goes by.
        effective_window: Number,
        /// The tokens at which it happens.
        threshold: Number,
        /// Whether it cannot be switched off.
        enforced: bool,
        /// The source of the decision.
        source: Text,
    }
}
