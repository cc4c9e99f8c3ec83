//! Command hooks, as `--include-hook-events` shows them, and plugins.

use crate::id::{SessionId, Uuid};
use crate::json::Number;
use crate::text::Text;
use crate::wire::{record, words};

record! {
    /// A command hook was started.
    HookStarted ["type" = "system", "subtype" = "hook_started"] {
        /// Names this run of the hook.
        hook_id: Text,
        /// The hook.
        hook_name: Text,
        /// What it was started for.
        hook_event: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// A command hook has printed something.
    HookProgress ["type" = "system", "subtype" = "hook_progress"] {
        /// Names this run of the hook.
        hook_id: Text,
        /// The hook.
        hook_name: Text,
        /// What it was started for.
        hook_event: Text,
        /// Its stdout so far.
        stdout: Text,
        /// Its stderr so far.
        stderr: Text,
        /// Both.
        output: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// A command hook has ended.
    HookResponse ["type" = "system", "subtype" = "hook_response"] {
        /// Names this run of the hook.
        hook_id: Text,
        /// The hook.
        hook_name: Text,
        /// What it was started for.
        hook_event: Text,
        /// Its stdout and stderr.
        output: Text,
        /// Its stdout.
        stdout: Text,
        /// Its stderr.
        stderr: Text,
        /// Its exit code.
        exit_code: Number,
        /// How it went.
        outcome: HookOutcome,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

words! {
    /// How a command hook went.
    HookOutcome {
        /// Well.
        Success = "success",
        /// It failed.
        Error = "error",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

record! {
    /// A plugin is being installed.
    PluginInstall ["type" = "system", "subtype" = "plugin_install"] {
        /// How it goes: `started`, `installed`, `failed` or `completed`.
        status: Text,
        /// The plugin.
        name: Text,
        /// What went wrong.
        error: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}
