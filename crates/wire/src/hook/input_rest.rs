//! What a hook callback is told: sessions, models, teams, files, display.

use crate::json::{Number, RawJson, RawObject};
use crate::text::Text;
use crate::wire::record;

use super::input::hook_input;

record! {
    /// A session begins.
    SessionStart ["hook_event_name" = "SessionStart"] {
        /// How: `startup`, `resume`, `clear`, `compact` or `fork`.
        source: Text,
        /// The kind of agent.
        agent_type: Text,
        /// The model.
        model: Text,
        /// The title of the session.
        session_title: Text,
        /// How long ago it answered last.
        seconds_since_last_response: Number,
        /// Tokens in the context.
        context_tokens: Number,
        /// Whether the prompt cache is probably gone.
        prompt_cache_likely_expired: bool,
        /// What filling it again may cost.
        estimated_cache_write_usd: Number,
        /// The conversation.
        session_id: crate::id::SessionId,
        /// The transcript on disk.
        transcript_path: Text,
        /// The working directory.
        cwd: Text,
        /// The prompt that this turn answers.
        prompt_id: Text,
        /// The permission mode.
        permission_mode: crate::permission::PermissionMode,
        /// The sub-agent in which this happens.
        agent_id: crate::id::AgentId,
        /// How hard the model thinks.
        effort: super::EffortLevel,
    }
}

hook_input! {
    /// A session ends.
    SessionEnd = "SessionEnd" {
        /// Why: `clear`, `resume`, `logout`, `prompt_input_exit` or `other`.
        reason: Text,
    }
    /// The context is about to be compacted.
    PreCompact = "PreCompact" {
        /// `manual` or `auto`.
        trigger: Text,
        /// What the person asked to keep.
        custom_instructions: Text,
    }
    /// The context was compacted.
    PostCompact = "PostCompact" {
        /// `manual` or `auto`.
        trigger: Text,
        /// The summary.
        compact_summary: Text,
    }
    /// Another model is about to be used.
    PreModelSwitch = "PreModelSwitch" {
        /// The model so far.
        from_model: Text,
        /// The model from now on.
        to_model: Text,
        /// What was asked for.
        requested_model: Text,
        /// Who asked: `command`, `picker` or `sdk`.
        source: Text,
        /// Tokens in the context.
        context_tokens: Number,
        /// Whether the prompt cache is still there.
        prompt_cache_warm: bool,
        /// How long it stays.
        cache_ttl: Text,
        /// What filling it again may cost.
        estimated_cache_write_usd: Number,
        /// Where the prices come from.
        pricing: Text,
    }
    /// Another model is used.
    PostModelSwitch = "PostModelSwitch" {
        /// The model so far.
        from_model: Text,
        /// The model from now on.
        to_model: Text,
        /// What was asked for.
        requested_model: Text,
        /// Who asked: `command`, `picker`, `sdk`, `auto` or `resume`.
        source: Text,
        /// Tokens in the context.
        context_tokens: Number,
        /// Whether the prompt cache is still there.
        prompt_cache_warm: bool,
        /// How long it stays.
        cache_ttl: Text,
        /// What filling it again may cost.
        estimated_cache_write_usd: Number,
        /// Where the prices come from.
        pricing: Text,
    }
    /// The project is being set up.
    Setup = "Setup" {
        /// `init` or `maintenance`.
        trigger: Text,
    }
    /// A team mate has nothing to do.
    TeammateIdle = "TeammateIdle" {
        /// Who.
        teammate_name: Text,
        /// Of which team.
        team_name: Text,
    }
    /// A task was created.
    TaskCreated = "TaskCreated" {
        /// The task.
        task_id: Text,
        /// What it is about.
        task_subject: Text,
        /// In more detail.
        task_description: Text,
        /// Whose it is.
        teammate_name: Text,
        /// Of which team.
        team_name: Text,
    }
    /// A task was completed.
    TaskCompleted = "TaskCompleted" {
        /// The task.
        task_id: Text,
        /// What it is about.
        task_subject: Text,
        /// In more detail.
        task_description: Text,
        /// Whose it was.
        teammate_name: Text,
        /// Of which team.
        team_name: Text,
    }
    /// An MCP server asks the person something.
    ElicitationInput = "Elicitation" {
        /// The server.
        mcp_server_name: Text,
        /// The question.
        message: Text,
        /// `form` or `url`.
        mode: Text,
        /// Where to answer.
        url: Text,
        /// Names the question.
        elicitation_id: Text,
        /// What the answer must look like.
        requested_schema: RawObject,
    }
    /// The person has answered.
    ElicitationResult = "ElicitationResult" {
        /// The server.
        mcp_server_name: Text,
        /// Names the question.
        elicitation_id: Text,
        /// `form` or `url`.
        mode: Text,
        /// `accept`, `decline` or `cancel`.
        action: Text,
        /// The answer.
        content: RawJson,
    }
    /// Settings changed.
    ConfigChange = "ConfigChange" {
        /// Which: `user_settings`, `project_settings`, `local_settings`, `policy_settings`, `skills`.
        source: Text,
        /// The file.
        file_path: Text,
    }
    /// A work tree is being made.
    WorktreeCreate = "WorktreeCreate" {
        /// Its name.
        name: Text,
    }
    /// A work tree is being removed.
    WorktreeRemove = "WorktreeRemove" {
        /// Where it lies.
        worktree_path: Text,
    }
    /// Instructions were loaded.
    InstructionsLoaded = "InstructionsLoaded" {
        /// The file.
        file_path: Text,
        /// Whose: `User`, `Project`, `Local` or `Managed`.
        memory_type: Text,
        /// Why.
        load_reason: Text,
        /// The patterns that matched.
        globs: RawJson,
        /// The file that caused it.
        trigger_file_path: Text,
        /// The file that includes it.
        parent_file_path: Text,
    }
    /// The working directory changed.
    CwdChanged = "CwdChanged" {
        /// From.
        old_cwd: Text,
        /// To.
        new_cwd: Text,
    }
    /// A file that is watched changed.
    FileChanged = "FileChanged" {
        /// The file.
        file_path: Text,
        /// How: `change`, `add` or `unlink`.
        event: Text,
    }
    /// A directory was added.
    DirectoryAdded = "DirectoryAdded" {
        /// Which.
        directory: Text,
        /// By whom: `slash_command` or `register_repo_root`.
        source: Text,
    }
    /// Text is about to be shown.
    MessageDisplay = "MessageDisplay" {
        /// The turn.
        turn_id: Text,
        /// The message.
        message_id: Text,
        /// Which piece of it.
        index: Number,
        /// Whether it is the last piece.
        is_final "final": bool,
        /// The text.
        delta: Text,
    }
}
