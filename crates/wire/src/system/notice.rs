//! What the person should know: notices, notifications, denials, losses.

use crate::id::{AgentId, SessionId, ToolUseId, Uuid};
use crate::json::{Number, RawJson};
use crate::text::Text;
use crate::wire::{record, words};

record! {
    /// A notice in the conversation.
    Informational ["type" = "system", "subtype" = "informational"] {
        /// The notice.
        content: Text,
        /// How important it is.
        level: NoticeLevel,
        /// The tool call it is about.
        tool_use_id: ToolUseId,
        /// The turn does not go on.
        prevent_continuation: bool,
        /// What kind of notice: `hook_callback_failed`…
        tag: Text,
        /// What became of the prompt.
        prompt_submit_outcome: PromptSubmitOutcome,
        /// A model may not be used.
        model_restriction: RawJson,
        /// A hook gave no verdict.
        hook_no_verdict: RawJson,
        /// Not for display.
        is_meta "isMeta": bool,
        /// When it was written.
        timestamp: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

words! {
    /// How important a notice is.
    NoticeLevel {
        /// Good to know.
        Info = "info",
        /// Worth reading.
        Notice = "notice",
        /// Worth trying.
        Suggestion = "suggestion",
        /// Worth worrying.
        Warning = "warning",
    }
}

record! {
    /// What became of a prompt that a hook looked at.
    PromptSubmitOutcome {
        /// What happened.
        kind: Text,
        /// Whether the prompt stays in the conversation.
        prompt_kept: bool,
        /// Why.
        reason: Text,
    }
}

record! {
    /// Something to show to the person.
    Notification ["type" = "system", "subtype" = "notification"] {
        /// Names it, so that a later one can replace it.
        key: Text,
        /// The text.
        text: Text,
        /// How urgent it is.
        priority: NotificationPriority,
        /// Its colour.
        color: Text,
        /// For how long it should be seen.
        timeout_ms: Number,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

words! {
    /// How urgent a notification is.
    NotificationPriority {
        /// Not very.
        Low = "low",
        /// Somewhat.
        Medium = "medium",
        /// Very.
        High = "high",
        /// At once.
        Immediate = "immediate",
    }
}

record! {
    /// A tool call was not allowed, and nobody was asked. The result has the full list.
    PermissionDenied ["type" = "system", "subtype" = "permission_denied"] {
        /// The tool.
        tool_name: Text,
        /// The call.
        tool_use_id: ToolUseId,
        /// The sub-agent that called.
        agent_id: AgentId,
        /// By what kind of reason.
        decision_reason_type: Text,
        /// By which reason.
        decision_reason_code: Text,
        /// Why.
        decision_reason: Text,
        /// What the model is told.
        message: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// What a local command printed.
    LocalCommandOutput ["type" = "system", "subtype" = "local_command_output"] {
        /// The text.
        content: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// Files were uploaded.
    FilesPersisted ["type" = "system", "subtype" = "files_persisted"] {
        /// Those that were.
        files: Vec<PersistedFile>,
        /// Those that were not.
        failed: Vec<PersistedFile>,
        /// When.
        processed_at: RawJson,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// A file that was uploaded, or not.
    PersistedFile {
        /// The file.
        filename: Text,
        /// Its name at the API.
        file_id: Text,
        /// Why it was not uploaded.
        error: Text,
    }
}

record! {
    /// Memories were looked up.
    MemoryRecall ["type" = "system", "subtype" = "memory_recall"] {
        /// How: `select` or `synthesize`.
        mode: Text,
        /// The memories.
        memories: Vec<Memory>,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// A memory.
    Memory {
        /// Where it lies.
        path: Text,
        /// Whose it is: `personal`, `team` or `organization`.
        scope: Text,
        /// What it says.
        content: Text,
    }
}

record! {
    /// An MCP server's question was answered elsewhere.
    ElicitationComplete ["type" = "system", "subtype" = "elicitation_complete"] {
        /// The server.
        mcp_server_name: Text,
        /// The question.
        elicitation_id: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// The host's own transcript store failed. Written by host libraries, not by the CLI.
    MirrorError ["type" = "system", "subtype" = "mirror_error"] {
        /// What went wrong.
        error: Text,
        /// Which transcript.
        key: RawJson,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// The disk is full: something was not written.
    SessionWritesLost ["type" = "system", "subtype" = "session_writes_lost"] {
        /// The system's error: `ENOSPC` or `EDQUOT`.
        error_code: Text,
        /// What was lost: `transcript`, `global_config`.
        lost: Vec<Text>,
        /// Whose transcripts.
        transcript_session_ids: Vec<SessionId>,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// The instructions are very long.
    InstructionSizeWarning ["type" = "system", "subtype" = "instruction_size_warning"] {
        /// How long.
        total_chars: Number,
        /// How long they may be.
        total_limit_chars: Number,
        /// In how many files.
        file_count: Number,
        /// The longest.
        largest_chars: Number,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}
