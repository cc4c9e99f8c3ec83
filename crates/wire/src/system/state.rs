//! What the session is doing: status, compaction, retries, fallbacks, state.

use crate::control::SlashCommand;
use crate::id::{RequestId, SessionId, Uuid};
use crate::json::{Number, RawJson};
use crate::message::ApiErrorKind;
use crate::permission::PermissionMode;
use crate::text::Text;
use crate::wire::{record, words};

record! {
    /// What the agent is busy with, or a change of permission mode.
    Status ["type" = "system", "subtype" = "status"] {
        /// What it is busy with; null when it is no longer.
        status: StatusKind,
        /// The new permission mode.
        permission_mode "permissionMode": PermissionMode,
        /// How compaction went.
        compact_result: CompactResult,
        /// Why compaction failed.
        compact_error: Text,
        /// How long the summary has become.
        compact_output_chars: Number,
        /// The prompts that this turn answers.
        user_message_uuids: Vec<Uuid>,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

words! {
    /// What the agent is busy with.
    StatusKind {
        /// It compacts the context.
        Compacting = "compacting",
        /// It waits for the API.
        Requesting = "requesting",
    }
}

words! {
    /// How compaction went.
    CompactResult {
        /// Well.
        Success = "success",
        /// It failed.
        Failed = "failed",
    }
}

record! {
    /// The context was compacted here.
    CompactBoundary ["type" = "system", "subtype" = "compact_boundary"] {
        /// How.
        compact_metadata: CompactMetadata,
        /// The line before, for those who keep a tree.
        logical_parent_uuid: Uuid,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// How the context was compacted.
    CompactMetadata {
        /// Who asked for it.
        trigger: CompactTrigger,
        /// Tokens before.
        pre_tokens: Number,
        /// Tokens after.
        post_tokens: Number,
        /// Tokens dropped so far.
        cumulative_dropped_tokens: Number,
        /// How long it took.
        duration_ms: Number,
        /// What was kept.
        preserved_segment: PreservedSegment,
        /// What was kept.
        preserved_messages: PreservedMessages,
    }
}

words! {
    /// Who asked for compaction.
    CompactTrigger {
        /// A person.
        Manual = "manual",
        /// The context was full.
        Auto = "auto",
    }
}

record! {
    /// Lines that compaction kept.
    PreservedSegment {
        /// The first.
        head_uuid: Uuid,
        /// The one they hang on.
        anchor_uuid: Uuid,
        /// The last.
        tail_uuid: Uuid,
    }
}

record! {
    /// Lines that compaction kept.
    PreservedMessages {
        /// The one they hang on.
        anchor_uuid: Uuid,
        /// Which.
        uuids: Vec<Uuid>,
        /// Which, with those that are not shown.
        all_uuids: Vec<Uuid>,
    }
}

record! {
    /// A request to the API is being tried again.
    ApiRetry ["type" = "system", "subtype" = "api_retry"] {
        /// The how-many-eth try.
        attempt: Number,
        /// How many there will be.
        max_retries: Number,
        /// How long it waits.
        retry_delay_ms: Number,
        /// The API's HTTP status; null if there was no answer.
        error_status: Number,
        /// What went wrong.
        error: ApiErrorKind,
        /// There was no answer at all.
        no_response: NoResponse,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// The API did not answer.
    NoResponse {
        /// How long it was waited for.
        waited_ms: Number,
        /// How long until the next try.
        retry_wait_ms: Number,
    }
}

record! {
    /// A control request takes its time.
    ControlRequestProgress ["type" = "system", "subtype" = "control_request_progress"] {
        /// The request.
        request_id: RequestId,
        /// How it goes: `started` or `api_retry`.
        status: Text,
        /// The how-many-eth try.
        attempt: Number,
        /// How many there will be.
        max_retries: Number,
        /// How long it waits.
        retry_delay_ms: Number,
        /// The API's HTTP status.
        error_status: Number,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// The model refused, another one answers.
    ModelRefusalFallback ["type" = "system", "subtype" = "model_refusal_fallback"] {
        /// Always `refusal`.
        trigger: Text,
        /// `retry`, `revert` or `sticky`.
        direction: Text,
        /// For how long: `session` or `local`.
        scope: Text,
        /// The model that refused.
        original_model: Text,
        /// The model that answers.
        fallback_model: Text,
        /// The API's name for the request.
        request_id: Text,
        /// What kind of refusal.
        api_refusal_category: Text,
        /// Why.
        api_refusal_explanation: Text,
        /// Lines that no longer count.
        retracted_message_uuids: Vec<Uuid>,
        /// The prompt that was refused.
        refused_user_message_uuid: Uuid,
        /// What to tell the person.
        content: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// The model refused, and no other one answers.
    ModelRefusalNoFallback ["type" = "system", "subtype" = "model_refusal_no_fallback"] {
        /// The model that refused.
        original_model: Text,
        /// The API's name for the request.
        request_id: Text,
        /// What kind of refusal.
        api_refusal_category: Text,
        /// Why.
        api_refusal_explanation: Text,
        /// The prompt that was refused.
        refused_user_message_uuid: Uuid,
        /// What to tell the person.
        content: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// The model cannot answer, another one does.
    ModelFallback ["type" = "system", "subtype" = "model_fallback"] {
        /// Why.
        trigger: Text,
        /// The model that was asked.
        original_model: Text,
        /// The model that answers.
        fallback_model: Text,
        /// What to tell the person.
        content: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// How much the model has thought so far.
    ThinkingTokens ["type" = "system", "subtype" = "thinking_tokens"] {
        /// In all.
        estimated_tokens: Number,
        /// Since the last such line.
        estimated_tokens_delta: Number,
        /// The prompt that this turn answers.
        user_message_uuid: Uuid,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// The session is busy, waits for a person, or is idle.
    SessionStateChanged ["type" = "system", "subtype" = "session_state_changed"] {
        /// The state.
        state: SessionState,
        /// For the host library only, not for its user.
        sdk_host_only: bool,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

words! {
    /// What a session is doing.
    SessionState {
        /// Nothing more will happen without input.
        Idle = "idle",
        /// It works.
        Running = "running",
        /// It waits for an answer.
        RequiresAction = "requires_action",
    }
}

record! {
    /// The process is about to end.
    WorkerShuttingDown ["type" = "system", "subtype" = "worker_shutting_down"] {
        /// Why.
        reason: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// The slash commands, all of them.
    CommandsChanged ["type" = "system", "subtype" = "commands_changed"] {
        /// The commands.
        commands: Vec<SlashCommand>,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// The session has a title.
    SessionTitleChanged ["type" = "system", "subtype" = "session_title_changed"] {
        /// The title.
        title: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// Facts about the session.
    SessionMetadata ["type" = "system", "subtype" = "session_metadata"] {
        /// The facts.
        metadata: RawJson,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}
