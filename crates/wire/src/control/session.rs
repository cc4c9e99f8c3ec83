//! Requests of the host about the session: interrupt, mode, model, tasks.

use crate::id::{SessionId, TaskId, ToolUseId, Uuid};
use crate::json::{Number, RawJson};
use crate::permission::PermissionMode;
use crate::text::Text;
use crate::wire::record;

use super::initialize::ModelInfo;

record! {
    /// Stop the turn.
    Interrupt ["subtype" = "interrupt"] {
        /// Throw away the prompts that wait.
        cancel_queued: bool,
        /// Why.
        reason: Text,
        /// Take the prompts that wait at once.
        send_now: RawJson,
        /// The prompt to take.
        message_uuid: Uuid,
        /// Only if the turn answers one of these.
        for_user_message_uuids: Vec<Uuid>,
        /// Leave tasks in the background alone.
        spare_background_tasks: bool,
        /// Which process this is of a hosted session.
        worker_epoch: RawJson,
    }
}

record! {
    /// What an interrupt met. Empty from older CLIs.
    InterruptReply {
        /// The prompts that still wait.
        still_queued: Vec<Uuid>,
        /// The prompts that were thrown away.
        cancelled: Vec<Uuid>,
        /// The prompts that were put back.
        put_back: Vec<Uuid>,
        /// What became of the prompts that wait.
        send_now: Text,
        /// What became of the turn: `stopped`, `idle` or `spared`.
        turn: Text,
    }
}

record! {
    /// Change the permission mode.
    SetPermissionMode ["subtype" = "set_permission_mode"] {
        /// The mode.
        mode: PermissionMode,
        /// Plan with more effort.
        ultraplan: RawJson,
        /// It comes from settings.
        from_settings: RawJson,
    }
}

record! {
    /// The permission mode.
    SetPermissionModeReply {
        /// The mode.
        mode: PermissionMode,
    }
}

record! {
    /// Change the model.
    SetModel ["subtype" = "set_model"] {
        /// The model; absent, null or `default` for the default.
        model: Text,
        /// The system prompt that goes with it.
        system_prompt: RawJson,
        /// Only if this is the model now.
        only_if_model_is_current: RawJson,
    }
}

record! {
    /// The model.
    SetModelReply {
        /// The model.
        model: Text,
    }
}

record! {
    /// Change how much the model may think.
    SetMaxThinkingTokens ["subtype" = "set_max_thinking_tokens"] {
        /// How many tokens; null for the default.
        max_thinking_tokens: Number,
        /// How much of it is shown.
        thinking_display: Text,
    }
}

record! {
    /// Take a prompt back that waits.
    CancelAsyncMessage ["subtype" = "cancel_async_message"] {
        /// The prompt.
        message_uuid: Uuid,
    }
}

record! {
    /// Whether it was taken back.
    CancelAsyncMessageReply {
        /// Whether.
        cancelled: bool,
    }
}

record! {
    /// What is the version?
    GetBinaryVersion ["subtype" = "get_binary_version"] {}
}

record! {
    /// The version.
    GetBinaryVersionReply {
        /// The version.
        version: Text,
        /// When it was built.
        build_time "buildTime": Text,
    }
}

record! {
    /// Which models are there?
    ListModels ["subtype" = "list_models"] {}
}

record! {
    /// The models.
    ListModelsReply {
        /// The models.
        models: Vec<ModelInfo>,
    }
}

record! {
    /// Give a session a title.
    RenameSession ["subtype" = "rename_session"] {
        /// The title.
        title: Text,
        /// Who: `remote` or `host`.
        source: Text,
        /// Which session.
        session_id: SessionId,
    }
}

record! {
    /// Give the session a colour.
    SetColor ["subtype" = "set_color"] {
        /// The colour.
        color: Text,
    }
}

record! {
    /// Stop a task.
    StopTask ["subtype" = "stop_task"] {
        /// The task.
        task_id: TaskId,
    }
}

record! {
    /// Put running tasks into the background.
    BackgroundTasks ["subtype" = "background_tasks"] {
        /// Only this call.
        tool_use_id: ToolUseId,
    }
}

record! {
    /// Whether tasks were put into the background.
    BackgroundTasksReply {
        /// Whether; absent means yes.
        backgrounded: bool,
    }
}

record! {
    /// What has a task printed?
    GetTaskOutput ["subtype" = "get_task_output"] {
        /// The task.
        task_id: TaskId,
    }
}

record! {
    /// What a task has printed.
    GetTaskOutputReply {
        /// The end of it.
        output: Text,
        /// How much there is.
        total_bytes: Number,
        /// Whether the beginning is missing.
        truncated: bool,
    }
}

record! {
    /// Whether anybody is looking.
    SetHasSubscribers ["subtype" = "set_has_subscribers"] {
        /// Whether; null if that is not known.
        has_subscribers: bool,
    }
}
