//! The hook events: one table with the input and the output of each.

use crate::id::{AgentId, SessionId, TaskId, ToolUseId};
use crate::json::{Number, RawJson, RawObject};
use crate::message::ApiErrorKind;
use crate::permission::{PermissionMode, PermissionResult, PermissionUpdate};
use crate::text::Text;
use crate::wire::{record, union, words};

use super::output::ToolDecision;

/// Makes [`HookEvent`], [`HookInput`], [`HookSpecificOutput`] and their records. An event without `->` has no output of
/// its own.
macro_rules! hook_events {
    (
        each $each:tt
        $(
            $(#[doc = $doc:expr])*
            $event:literal => $variant:ident($input:ident) { $($field:tt)* } $(=> $mark:ident)?
            $(-> $output:ident { $($output_field:tt)* })?,
        )*
    ) => {
        words! {
            /// When a hook runs: the `hook_event_name` of its input, and its key in the settings.
            ///
            /// ```
            /// use duologue_wire::hook::HookEvent;
            ///
            /// assert_eq!(HookEvent::from("PreToolUse"), HookEvent::PreToolUse);
            /// assert!(!HookEvent::from("PreToolUSe").is_known());
            /// ```
            HookEvent {
                $($(#[doc = $doc])* $variant = $event,)*
            }
        }

        union! {
            /// The input of a hook callback, by event.
            HookInput by "hook_event_name" {
                each $each
                $(
                    $(#[doc = $doc])*
                    $event => $variant(Box<$input>) { $($field)* } $(=> $mark)?,
                )*
            }
        }

        union! {
            /// The part of a [`HookOutput`](super::HookOutput) that only one event has.
            HookSpecificOutput by "hookEventName" {
                $($(
                    #[doc = concat!("The output for `", $event, "`.")]
                    $event => $variant($output) { $($output_field)* },
                )?)*
            }
        }
    };
}

hook_events! {
    each {
        /// The session.
        session_id: SessionId,
        /// The transcript on disk.
        transcript_path: Text,
        /// The working directory.
        cwd: Text,
        /// The prompt that this turn answers.
        prompt_id: Text,
        /// The permission mode.
        permission_mode: PermissionMode,
        /// The sub-agent in which this happens.
        agent_id: AgentId,
        /// The kind of agent in which this happens.
        agent_type: Text,
        /// The effort level of the model.
        effort: EffortLevel,
    }

    /// A tool is about to be called.
    "PreToolUse" => PreToolUse(PreToolUse) {
        /// The tool.
        tool_name: Text,
        /// Its input.
        tool_input: RawObject,
        /// The call.
        tool_use_id: ToolUseId,
        /// The tool's MCP server.
        mcp_server: McpServerRef,
    } -> PreToolUseOutput {
        /// Whether the tool is called.
        permission_decision "permissionDecision": ToolDecision,
        /// The reason.
        permission_decision_reason "permissionDecisionReason": Text,
        /// The input to call it with.
        updated_input "updatedInput": RawObject,
        /// Additional context for the model.
        additional_context "additionalContext": Text,
        /// How to show the question.
        permission_display "permissionDisplay": RawJson,
    },
    /// A tool was called.
    "PostToolUse" => PostToolUse(PostToolUse) {
        /// The tool.
        tool_name: Text,
        /// Its input.
        tool_input: RawObject,
        /// The output.
        tool_response: RawJson,
        /// The call.
        tool_use_id: ToolUseId,
        /// Duration in milliseconds.
        duration_ms: Number,
        /// The tool's MCP server.
        mcp_server: McpServerRef,
    } -> PostToolUseOutput {
        /// Additional context for the model.
        additional_context "additionalContext": Text,
        /// Additional context for the classifier of auto mode.
        classifier_context "classifierContext": Text,
        /// What the model sees instead of the tool's output.
        updated_tool_output "updatedToolOutput": RawJson,
        /// The same, for MCP tools.
        updated_mcp_tool_output "updatedMCPToolOutput": RawJson,
    },
    /// A tool failed.
    "PostToolUseFailure" => PostToolUseFailure(PostToolUseFailure) {
        /// The tool.
        tool_name: Text,
        /// Its input.
        tool_input: RawObject,
        /// The call.
        tool_use_id: ToolUseId,
        /// The error.
        error: Text,
        /// Whether it was interrupted.
        is_interrupt: bool,
        /// Duration in milliseconds.
        duration_ms: Number,
        /// The tool's MCP server.
        mcp_server: McpServerRef,
    } -> PostToolUseFailureOutput {
        /// Additional context for the model.
        additional_context "additionalContext": Text,
    },
    /// All tools of one message were called.
    "PostToolBatch" => PostToolBatch(PostToolBatch) {
        /// The calls.
        tool_calls: Vec<BatchedToolCall>,
    } -> PostToolBatchOutput {
        /// Additional context for the model.
        additional_context "additionalContext": Text,
    },
    /// A notification for the user.
    "Notification" => Notification(NotificationInput) {
        /// The text.
        message: Text,
        /// Its title.
        title: Text,
        /// The kind of notification.
        notification_type: Text,
    } -> NotificationOutput {
        /// Additional context for the model.
        additional_context "additionalContext": Text,
    },
    /// The user sent a prompt.
    "UserPromptSubmit" => UserPromptSubmit(UserPromptSubmit) {
        /// The prompt.
        prompt: Text,
        /// Where it came from: `user`, `sdk`, `system`…
        source: Text,
        /// The title of the session.
        session_title: Text,
    } -> UserPromptSubmitOutput {
        /// Additional context for the model.
        additional_context "additionalContext": Text,
        /// A title for the session.
        session_title "sessionTitle": Text,
        /// Do not show the prompt.
        suppress_original_prompt "suppressOriginalPrompt": bool,
    },
    /// A slash command was expanded.
    "UserPromptExpansion" => UserPromptExpansion(UserPromptExpansion) {
        /// `slash_command` or `mcp_prompt`.
        expansion_type: Text,
        /// The command.
        command_name: Text,
        /// The arguments.
        command_args: Text,
        /// Where it was defined.
        command_source: Text,
        /// The expanded prompt.
        prompt: Text,
    } -> UserPromptExpansionOutput {
        /// Additional context for the model.
        additional_context "additionalContext": Text,
        /// Do not show the prompt.
        suppress_original_prompt "suppressOriginalPrompt": bool,
    },
    /// A session begins.
    "SessionStart" => SessionStart(SessionStart) {
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
        /// Whether the prompt cache has probably expired.
        prompt_cache_likely_expired: bool,
        /// The estimated cost of filling the cache again.
        estimated_cache_write_usd: Number,
        /// The session.
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
        /// The effort level.
        effort: super::EffortLevel,
    } => alone -> SessionStartOutput {
        /// Additional context for the model.
        additional_context "additionalContext": Text,
        /// A first prompt.
        initial_user_message "initialUserMessage": Text,
        /// A title for the session.
        session_title "sessionTitle": Text,
        /// Files to watch.
        watch_paths "watchPaths": Vec<Text>,
        /// Look for skills again.
        reload_skills "reloadSkills": bool,
    },
    /// A session ends.
    "SessionEnd" => SessionEnd(SessionEnd) {
        /// Why.
        reason: ExitReason,
    },
    /// The agent is about to stop.
    "Stop" => Stop(Stop) {
        /// Whether a Stop hook has already prevented a stop.
        stop_hook_active: bool,
        /// The last message of the agent.
        last_assistant_message: Text,
        /// What still runs in the background.
        background_tasks: Vec<BackgroundTaskSummary>,
        /// What is scheduled.
        session_crons: Vec<SessionCronSummary>,
    } -> StopOutput {
        /// Additional context for the model.
        additional_context "additionalContext": Text,
    },
    /// The agent stopped because the API failed.
    "StopFailure" => StopFailure(StopFailure) {
        /// The error.
        error: ApiErrorKind,
        /// In more detail.
        error_details: Text,
        /// The last message of the agent.
        last_assistant_message: Text,
    },
    /// A sub-agent begins.
    "SubagentStart" => SubagentStart(SubagentStart) {
        /// The sub-agent.
        agent_id: AgentId,
        /// The kind of sub-agent.
        agent_type: Text,
        /// The session.
        session_id: SessionId,
        /// The transcript on disk.
        transcript_path: Text,
        /// The working directory.
        cwd: Text,
        /// The prompt that this turn answers.
        prompt_id: Text,
        /// The permission mode.
        permission_mode: PermissionMode,
        /// The effort level.
        effort: EffortLevel,
    } => alone -> SubagentStartOutput {
        /// Additional context for the model.
        additional_context "additionalContext": Text,
    },
    /// A sub-agent is about to stop.
    "SubagentStop" => SubagentStop(SubagentStop) {
        /// Whether a SubagentStop hook has already prevented a stop.
        stop_hook_active: bool,
        /// The sub-agent.
        agent_id: AgentId,
        /// The sub-agent's transcript on disk.
        agent_transcript_path: Text,
        /// The kind of sub-agent.
        agent_type: Text,
        /// The last message of the agent.
        last_assistant_message: Text,
        /// What still runs in the background.
        background_tasks: Vec<BackgroundTaskSummary>,
        /// What is scheduled.
        session_crons: Vec<SessionCronSummary>,
        /// The session.
        session_id: SessionId,
        /// The transcript on disk.
        transcript_path: Text,
        /// The working directory.
        cwd: Text,
        /// The prompt that this turn answers.
        prompt_id: Text,
        /// The permission mode.
        permission_mode: PermissionMode,
        /// The effort level.
        effort: EffortLevel,
    } => alone -> SubagentStopOutput {
        /// Additional context for the model.
        additional_context "additionalContext": Text,
    },
    /// The context is about to be compacted.
    "PreCompact" => PreCompact(PreCompact) {
        /// `manual` or `auto`.
        trigger: Text,
        /// Instructions of the user.
        custom_instructions: Text,
    },
    /// The context was compacted.
    "PostCompact" => PostCompact(PostCompact) {
        /// `manual` or `auto`.
        trigger: Text,
        /// The summary.
        compact_summary: Text,
    },
    /// Another model is about to be used.
    "PreModelSwitch" => PreModelSwitch(PreModelSwitch) {
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
        /// The estimated cost of filling the cache again.
        estimated_cache_write_usd: Number,
        /// Where the prices come from.
        pricing: Text,
    } -> PreModelSwitchOutput {
        /// Whether the model is switched.
        permission_decision "permissionDecision": ToolDecision,
        /// The reason.
        permission_decision_reason "permissionDecisionReason": Text,
    },
    /// Another model is used.
    "PostModelSwitch" => PostModelSwitch(PostModelSwitch) {
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
        /// The estimated cost of filling the cache again.
        estimated_cache_write_usd: Number,
        /// Where the prices come from.
        pricing: Text,
    } -> PostModelSwitchOutput {
        /// Additional context for the model.
        additional_context "additionalContext": Text,
    },
    /// Permission is being asked for.
    "PermissionRequest" => PermissionRequest(PermissionRequest) {
        /// The tool.
        tool_name: Text,
        /// Its input.
        tool_input: RawObject,
        /// Suggested changes of the permissions.
        permission_suggestions: Vec<PermissionUpdate>,
        /// The tool's MCP server.
        mcp_server: McpServerRef,
    } -> PermissionRequestOutput {
        /// The decision.
        decision: PermissionResult,
    },
    /// Permission was not given.
    "PermissionDenied" => PermissionDenied(PermissionDeniedInput) {
        /// The tool.
        tool_name: Text,
        /// Its input.
        tool_input: RawObject,
        /// The call.
        tool_use_id: ToolUseId,
        /// The reason.
        reason: Text,
        /// The tool's MCP server.
        mcp_server: McpServerRef,
    } -> PermissionDeniedOutput {
        /// Retry.
        retry: bool,
    },
    /// The project is being set up.
    "Setup" => Setup(Setup) {
        /// `init` or `maintenance`.
        trigger: Text,
    } -> SetupOutput {
        /// Additional context for the model.
        additional_context "additionalContext": Text,
    },
    /// A teammate is idle.
    "TeammateIdle" => TeammateIdle(TeammateIdle) {
        /// Who.
        teammate_name: Text,
        /// Of which team.
        team_name: Text,
    },
    /// A task was created.
    "TaskCreated" => TaskCreated(TaskCreated) {
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
    },
    /// A task was completed.
    "TaskCompleted" => TaskCompleted(TaskCompleted) {
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
    },
    /// An MCP server asks the user something.
    "Elicitation" => Elicitation(ElicitationInput) {
        /// The server.
        mcp_server_name: Text,
        /// The question.
        message: Text,
        /// `form` or `url`.
        mode: Text,
        /// Where to answer.
        url: Text,
        /// The id of the question.
        elicitation_id: Text,
        /// What the answer must look like.
        requested_schema: RawObject,
    } -> ElicitationOutput {
        /// `accept`, `decline` or `cancel`.
        action: Text,
        /// The answer.
        content: RawJson,
    },
    /// The user has answered.
    "ElicitationResult" => ElicitationResult(ElicitationResult) {
        /// The server.
        mcp_server_name: Text,
        /// The id of the question.
        elicitation_id: Text,
        /// `form` or `url`.
        mode: Text,
        /// `accept`, `decline` or `cancel`.
        action: Text,
        /// The answer.
        content: RawJson,
    } -> ElicitationResultOutput {
        /// `accept`, `decline` or `cancel`.
        action: Text,
        /// The answer.
        content: RawJson,
    },
    /// Settings changed.
    "ConfigChange" => ConfigChange(ConfigChange) {
        /// Which: `user_settings`, `project_settings`, `local_settings`, `policy_settings`, `skills`.
        source: Text,
        /// The file.
        file_path: Text,
    },
    /// A work tree is being made.
    "WorktreeCreate" => WorktreeCreate(WorktreeCreate) {
        /// Its name.
        name: Text,
    } -> WorktreeCreateOutput {
        /// The path of the work tree. Required.
        worktree_path "worktreePath": Text,
    },
    /// A work tree is being removed.
    "WorktreeRemove" => WorktreeRemove(WorktreeRemove) {
        /// The path.
        worktree_path: Text,
    },
    /// Instructions were loaded.
    "InstructionsLoaded" => InstructionsLoaded(InstructionsLoaded) {
        /// The file.
        file_path: Text,
        /// Whose: `User`, `Project`, `Local` or `Managed`.
        memory_type: Text,
        /// The reason.
        load_reason: Text,
        /// The patterns that matched.
        globs: RawJson,
        /// The file that caused it.
        trigger_file_path: Text,
        /// The file that includes it.
        parent_file_path: Text,
    },
    /// The working directory changed.
    "CwdChanged" => CwdChanged(CwdChanged) {
        /// From.
        old_cwd: Text,
        /// To.
        new_cwd: Text,
    } -> CwdChangedOutput {
        /// Files to watch.
        watch_paths "watchPaths": Vec<Text>,
    },
    /// A file that is watched changed.
    "FileChanged" => FileChanged(FileChanged) {
        /// The file.
        file_path: Text,
        /// How: `change`, `add` or `unlink`.
        event: Text,
    } -> FileChangedOutput {
        /// Files to watch.
        watch_paths "watchPaths": Vec<Text>,
    },
    /// A directory was added.
    "DirectoryAdded" => DirectoryAdded(DirectoryAdded) {
        /// Which.
        directory: Text,
        /// The source: `slash_command` or `register_repo_root`.
        source: Text,
    },
    /// Text is about to be shown.
    "MessageDisplay" => MessageDisplay(MessageDisplay) {
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
    } -> MessageDisplayOutput {
        /// What to show instead.
        display_content "displayContent": Text,
    },
}

impl HookInput {
    /// The event that this input belongs to.
    pub fn event(&self) -> HookEvent {
        HookEvent::from(self.tag())
    }

    /// The name of the tool, for events about one tool call.
    pub fn tool_name(&self) -> Option<&str> {
        match self {
            Self::PreToolUse(input) => input.tool_name.as_str(),
            Self::PostToolUse(input) => input.tool_name.as_str(),
            Self::PostToolUseFailure(input) => input.tool_name.as_str(),
            Self::PermissionRequest(input) => input.tool_name.as_str(),
            Self::PermissionDenied(input) => input.tool_name.as_str(),
            // A test checks that no other input has the field.
            _ => None,
        }
    }
}

record! {
    /// The effort level.
    EffortLevel {
        /// `low` to `max`.
        level: Text,
    }
}

record! {
    /// An MCP server, and where it was configured. Trust by the source, not the name.
    McpServerRef {
        /// Its name.
        name: Text,
        /// Where it was configured.
        source: Text,
    }
}

record! {
    /// One tool call of several.
    BatchedToolCall {
        /// The tool.
        tool_name: Text,
        /// Its input.
        tool_input: RawObject,
        /// The call.
        tool_use_id: ToolUseId,
        /// The output.
        tool_response: RawJson,
    }
}

record! {
    /// Something that still runs in the background.
    BackgroundTaskSummary {
        /// The task.
        id: TaskId,
        /// The kind of task.
        kind "type": Text,
        /// The status.
        status: Text,
        /// What it does.
        description: Text,
        /// The command.
        command: Text,
        /// The kind of sub-agent.
        agent_type: Text,
        /// The MCP server.
        server: Text,
        /// The tool.
        tool: Text,
        /// Its name.
        name: Text,
    }
}

record! {
    /// Something that is scheduled.
    SessionCronSummary {
        /// Its id.
        id: Text,
        /// When it runs.
        schedule: Text,
        /// Whether it runs again and again.
        recurring: bool,
        /// The prompt.
        prompt: Text,
    }
}

words! {
    /// Why a session ends.
    ExitReason {
        /// `/clear` starts another one.
        Clear = "clear",
        /// Another session is resumed.
        Resume = "resume",
        /// The user has logged out.
        Logout = "logout",
        /// The user has left the prompt.
        PromptInputExit = "prompt_input_exit",
        /// Another reason.
        Unspecified = "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Finding, Schemas, Survey, Wire as _};

    #[test]
    fn each_known_event_has_an_input_and_each_input_an_event() {
        for name in HookEvent::KNOWN {
            let input = HookInput::from_json(&format!(r#"{{"hook_event_name":"{name}"}}"#));
            assert!(input.unwrap().is_known(), "{name}");
        }
        let inputs = HookInput::known_schema(&mut Schemas::default());
        assert_eq!(inputs.len(), HookEvent::KNOWN.len());
    }

    #[test]
    fn each_input_with_a_tool_name_gives_it() {
        for name in HookEvent::KNOWN {
            let json = format!(r#"{{"hook_event_name":"{name}","tool_name":"Bash"}}"#);
            let input = HookInput::from_json(&json).unwrap();
            let mut has_field = true;
            Survey::of(&input, |_, finding| has_field &= finding != Finding::UnknownField);
            assert_eq!(input.tool_name(), has_field.then_some("Bash"), "{name}");
        }
    }
}
