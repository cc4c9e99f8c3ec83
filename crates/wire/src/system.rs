//! `system` lines: the agent reports on itself.
//!
//! The table below has one entry for each `subtype`, with its fields. The types of those fields follow it.

use crate::control::SlashCommand;
use crate::id::{AgentId, RequestId, SessionId, TaskId, ToolUseId, Uuid};
use crate::json::{Number, RawJson};
use crate::legacy::SystemResult;
use crate::message::{ApiErrorKind, FastModeState};
use crate::permission::PermissionMode;
use crate::text::Text;
use crate::wire::{record, union, words};

/// Makes the union, and the accessors for the ids that every system line has.
macro_rules! system_lines {
    (
        $(#[doc = $doc:expr])*
        System {
            each $each:tt
            $(
                $(#[doc = $row_doc:expr])*
                $subtype:literal => $variant:ident($($ty:tt)+)
                $({ $($field:tt)* })? $(=> $mark:ident)?,
            )*
        }
    ) => {
        union! {
            $(#[doc = $doc])*
            System by "subtype" closed, "type" = "system" {
                each $each
                $(
                    $(#[doc = $row_doc])*
                    $subtype => $variant($($ty)+) $({ $($field)* })? $(=> $mark)?,
                )*
            }
        }

        impl System {
            /// The id of the line.
            pub fn uuid(&self) -> Option<&Uuid> {
                match self {
                    $(Self::$variant(line) => line.uuid.value(),)*
                    Self::Unknown(_) => None,
                }
            }

            /// The session that the line belongs to.
            pub fn session_id(&self) -> Option<&SessionId> {
                match self {
                    $(Self::$variant(line) => line.session_id.value(),)*
                    Self::Unknown(_) => None,
                }
            }
        }
    };
}

system_lines! {
    /// A system line, by `subtype`.
    System {
        each {
            /// The session.
            session_id: SessionId,
            /// The id of this line.
            uuid: Uuid,
        }

        /// A turn begins: the session as it is now.
        ///
        /// Sent at the start of every turn, not at the start of the process, and not always as the first
        /// line of its turn.
        "init" => Init(Box<Init>) {
            /// The working directory.
            cwd: Text,
            /// The session.
            session_id: SessionId,
            /// The tools the model has.
            tools: Vec<Text>,
            /// The MCP servers.
            mcp_servers: Vec<InitMcpServer>,
            /// The model.
            model: Text,
            /// The permission mode.
            permission_mode "permissionMode": PermissionMode,
            /// The slash commands that work here.
            slash_commands: Vec<Text>,
            /// The slash commands that only work in a terminal.
            terminal_slash_commands: Vec<Text>,
            /// Where the API key comes from.
            api_key_source "apiKeySource": ApiKeySource,
            /// The CLI's version.
            claude_code_version: Text,
            /// The output style.
            output_style: Text,
            /// The kinds of sub-agent.
            agents: Vec<Text>,
            /// The skills.
            skills: Vec<Text>,
            /// The plugins.
            plugins: Vec<InitPlugin>,
            /// Plugins that could not be loaded.
            plugin_errors: Vec<PluginError>,
            /// Plugins that were loaded with a warning.
            plugin_warnings: RawJson,
            /// MCP servers that could not be started.
            mcp_server_errors: RawJson,
            /// Beta features that are on.
            betas: Vec<Text>,
            /// The capabilities of this CLI.
            capabilities: Vec<Text>,
            /// The id of this line.
            uuid: Uuid,
            /// The prompts that this turn answers.
            user_message_uuids: Vec<Uuid>,
            /// Whether fast mode is on.
            fast_mode_state: FastModeState,
            /// The reason, if it is off.
            fast_mode_disabled_reason: Text,
            /// The effort level.
            effort: Text,
            /// The view mode of the user.
            view_mode: Text,
            /// Where memories are kept.
            memory_paths: MemoryPaths,
            /// The directory in which the process started.
            original_cwd: Text,
            /// Further directories.
            additional_directories: Vec<Text>,
            /// Where other agents can reach this one.
            messaging_socket_path: Text,
            /// Where the agent may leave notes.
            scratchpad_path: Text,
            /// Whether analytics are off.
            analytics_disabled: bool,
            /// Whether feedback is off.
            product_feedback_disabled: bool,
            /// Whether the effort may change from turn to turn.
            per_turn_effort_active: bool,
            /// Whether a word can ask for more thinking.
            ultrathink_available: bool,
            /// Whether that word raises the effort.
            ultrathink_typed_raises: bool,
            /// Which process this is of a hosted session.
            worker_epoch: RawJson,
            /// The cloud session.
            cloud_session: RawJson,
        } => alone,
        /// The activity of the agent, or a change of the permission mode.
        "status" => Status(Box<Status>) {
            /// The activity; null at its end.
            status: StatusKind,
            /// The new permission mode.
            permission_mode "permissionMode": PermissionMode,
            /// The result of compaction.
            compact_result: CompactResult,
            /// Why compaction failed.
            compact_error: Text,
            /// How long the summary has become.
            compact_output_chars: Number,
            /// The prompts that this turn answers.
            user_message_uuids: Vec<Uuid>,
        },
        /// The context was compacted here.
        "compact_boundary" => CompactBoundary(Box<CompactBoundary>) {
            /// How.
            compact_metadata: CompactMetadata,
            /// The previous line in the tree of lines.
            logical_parent_uuid: Uuid,
        },
        /// A request to the API is retried.
        "api_retry" => ApiRetry(Box<ApiRetry>) {
            /// The number of this attempt, from 1.
            attempt: Number,
            /// The maximum number of attempts.
            max_retries: Number,
            /// The delay before the next attempt, in milliseconds.
            retry_delay_ms: Number,
            /// The API's HTTP status; null if there was no answer.
            error_status: Number,
            /// The error.
            error: ApiErrorKind,
            /// There was no answer at all.
            no_response: NoResponse,
        },
        /// The progress of a slow control request.
        "control_request_progress" => ControlRequestProgress(Box<ControlRequestProgress>) {
            /// The request.
            request_id: RequestId,
            /// The status: `started` or `api_retry`.
            status: Text,
            /// The number of this attempt, from 1.
            attempt: Number,
            /// The maximum number of attempts.
            max_retries: Number,
            /// The delay before the next attempt, in milliseconds.
            retry_delay_ms: Number,
            /// The API's HTTP status.
            error_status: Number,
        },
        /// The model refused, another one answers.
        "model_refusal_fallback" => ModelRefusalFallback(Box<ModelRefusalFallback>) {
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
            /// The category of the refusal.
            api_refusal_category: Text,
            /// The reason.
            api_refusal_explanation: Text,
            /// Lines that no longer count.
            retracted_message_uuids: Vec<Uuid>,
            /// The prompt that was refused.
            refused_user_message_uuid: Uuid,
            /// A text for the user.
            content: Text,
        },
        /// The model refused, and no other one answers.
        "model_refusal_no_fallback" => ModelRefusalNoFallback(Box<ModelRefusalNoFallback>) {
            /// The model that refused.
            original_model: Text,
            /// The API's name for the request.
            request_id: Text,
            /// The category of the refusal.
            api_refusal_category: Text,
            /// The reason.
            api_refusal_explanation: Text,
            /// The prompt that was refused.
            refused_user_message_uuid: Uuid,
            /// A text for the user.
            content: Text,
        },
        /// Another model answers because the first cannot.
        "model_fallback" => ModelFallback(Box<ModelFallback>) {
            /// The reason.
            trigger: Text,
            /// The model that was asked.
            original_model: Text,
            /// The model that answers.
            fallback_model: Text,
            /// A text for the user.
            content: Text,
        },
        /// What a local command printed.
        "local_command_output" => LocalCommandOutput(Box<LocalCommandOutput>) {
            /// The text.
            content: Text,
        },
        /// A command hook was started.
        "hook_started" => HookStarted(Box<HookStarted>) {
            /// The id of this run of the hook.
            hook_id: Text,
            /// The hook.
            hook_name: Text,
            /// What it was started for.
            hook_event: Text,
        },
        /// A command hook has printed something.
        "hook_progress" => HookProgress(Box<HookProgress>) {
            /// The id of this run of the hook.
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
        },
        /// A command hook has ended.
        "hook_response" => HookResponse(Box<HookResponse>) {
            /// The id of this run of the hook.
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
            /// The outcome.
            outcome: HookOutcome,
        },
        /// A plugin is being installed.
        "plugin_install" => PluginInstall(Box<PluginInstall>) {
            /// The status: `started`, `installed`, `failed` or `completed`.
            status: Text,
            /// The plugin.
            name: Text,
            /// The error.
            error: Text,
        },
        /// A sub-agent or a background command was started.
        "task_started" => TaskStarted(Box<TaskStarted>) {
            /// The task.
            task_id: TaskId,
            /// The run it belongs to.
            run_id: Text,
            /// The tool call that started it.
            tool_use_id: ToolUseId,
            /// What it does.
            description: Text,
            /// The kind of sub-agent.
            subagent_type: Text,
            /// Whether it runs in the background.
            is_backgrounded: bool,
            /// How deep it is nested, from 1.
            spawn_depth: Number,
            /// The task that started it.
            parent_task_id: TaskId,
            /// The kind of task.
            task_type: TaskType,
            /// The workflow it runs.
            workflow_name: Text,
            /// The prompt.
            prompt: Text,
            /// Not for the transcript.
            skip_transcript: bool,
            /// Not worth showing.
            ambient: bool,
        },
        /// A sub-agent or a background command made progress.
        "task_progress" => TaskProgress(Box<TaskProgress>) {
            /// The task.
            task_id: TaskId,
            /// The run it belongs to.
            run_id: Text,
            /// The tool call that started it.
            tool_use_id: ToolUseId,
            /// What it does now.
            description: Text,
            /// The kind of sub-agent.
            subagent_type: Text,
            /// The usage.
            usage: TaskUsage,
            /// The tool it called last.
            last_tool_name: Text,
            /// The summary.
            summary: Text,
        },
        /// Something about a task changed.
        "task_updated" => TaskUpdated(Box<TaskUpdated>) {
            /// The task.
            task_id: TaskId,
            /// The run it belongs to.
            run_id: Text,
            /// What changed.
            patch: TaskPatch,
        },
        /// A task has ended.
        "task_notification" => TaskNotification(Box<TaskNotification>) {
            /// The task.
            task_id: TaskId,
            /// The run it belongs to.
            run_id: Text,
            /// The tool call that started it.
            tool_use_id: ToolUseId,
            /// The status at the end.
            status: TaskStatus,
            /// Why it was stopped.
            reason: Text,
            /// The file with its output.
            output_file: Text,
            /// The summary.
            summary: Text,
            /// The usage.
            usage: TaskUsage,
            /// What it links to.
            resource_links: RawJson,
            /// Not for the transcript.
            skip_transcript: bool,
            /// Not worth showing.
            ambient: bool,
        },
        /// The tasks in the background, all of them.
        "background_tasks_changed" => BackgroundTasksChanged(Box<BackgroundTasksChanged>) {
            /// The tasks: they replace those known before.
            tasks: Vec<BackgroundTask>,
        },
        /// An estimate of the thinking tokens so far.
        "thinking_tokens" => ThinkingTokens(Box<ThinkingTokens>) {
            /// In all.
            estimated_tokens: Number,
            /// Since the last such line.
            estimated_tokens_delta: Number,
            /// The prompt that this turn answers.
            user_message_uuid: Uuid,
        },
        /// The session is running, requires action, or is idle.
        "session_state_changed" => SessionStateChanged(Box<SessionStateChanged>) {
            /// The state.
            state: SessionState,
            /// For the host library only, not for its user.
            sdk_host_only: bool,
        },
        /// The process is shutting down.
        "worker_shutting_down" => WorkerShuttingDown(Box<WorkerShuttingDown>) {
            /// The reason.
            reason: Text,
        },
        /// The slash commands, all of them.
        "commands_changed" => CommandsChanged(Box<CommandsChanged>) {
            /// The commands.
            commands: Vec<SlashCommand>,
        },
        /// A notification for the user.
        "notification" => Notification(Box<Notification>) {
            /// Names it, so that a later one can replace it.
            key: Text,
            /// The text.
            text: Text,
            /// The priority.
            priority: NotificationPriority,
            /// Its colour.
            color: Text,
            /// How long to show it, in milliseconds.
            timeout_ms: Number,
        },
        /// Files were uploaded.
        "files_persisted" => FilesPersisted(Box<FilesPersisted>) {
            /// Those that were.
            files: Vec<PersistedFile>,
            /// Those that were not.
            failed: Vec<PersistedFile>,
            /// When.
            processed_at: RawJson,
        },
        /// Memories were recalled.
        "memory_recall" => MemoryRecall(Box<MemoryRecall>) {
            /// How: `select` or `synthesize`.
            mode: Text,
            /// The memories.
            memories: Vec<Memory>,
        },
        /// An MCP server's question was answered elsewhere.
        "elicitation_complete" => ElicitationComplete(Box<ElicitationComplete>) {
            /// The server.
            mcp_server_name: Text,
            /// The question.
            elicitation_id: Text,
        },
        /// A tool call was denied without asking the host. The result has the full list.
        "permission_denied" => PermissionDenied(Box<PermissionDenied>) {
            /// The tool.
            tool_name: Text,
            /// The call.
            tool_use_id: ToolUseId,
            /// The sub-agent that called.
            agent_id: AgentId,
            /// The kind of reason.
            decision_reason_type: Text,
            /// The reason code.
            decision_reason_code: Text,
            /// The reason.
            decision_reason: Text,
            /// The message for the model.
            message: Text,
        },
        /// The host's own transcript store failed. Written by host libraries, not by the CLI.
        "mirror_error" => MirrorError(Box<MirrorError>) {
            /// The error.
            error: Text,
            /// Which transcript.
            key: RawJson,
        },
        /// A notice in the conversation.
        "informational" => Informational(Box<Informational>) {
            /// The notice.
            content: Text,
            /// The level.
            level: NoticeLevel,
            /// The tool call it is about.
            tool_use_id: ToolUseId,
            /// The turn ends.
            prevent_continuation: bool,
            /// What kind of notice: `hook_callback_failed`…
            tag: Text,
            /// What happened to the prompt.
            prompt_submit_outcome: PromptSubmitOutcome,
            /// A model may not be used.
            model_restriction: RawJson,
            /// A hook gave no verdict.
            hook_no_verdict: RawJson,
            /// Not for display.
            is_meta "isMeta": bool,
            /// When it was written.
            timestamp: Text,
        },
        /// The disk is full: writes were lost.
        "session_writes_lost" => SessionWritesLost(Box<SessionWritesLost>) {
            /// The system's error: `ENOSPC` or `EDQUOT`.
            error_code: Text,
            /// What was lost: `transcript`, `global_config`.
            lost: Vec<Text>,
            /// Whose transcripts.
            transcript_session_ids: Vec<SessionId>,
        },
        /// The session has a title.
        "session_title_changed" => SessionTitleChanged(Box<SessionTitleChanged>) {
            /// The title.
            title: Text,
        },
        /// A tool call is being checked.
        "permission_check_status" => PermissionCheckStatus(Box<PermissionCheckStatus>) {
            /// The call.
            tool_use_id: ToolUseId,
            /// The sub-agent that called.
            agent_id: AgentId,
            /// `checking` or `done`.
            status: Text,
        },
        /// The effort of this turn changed.
        "per_turn_effort_changed" => PerTurnEffortChanged(Box<PerTurnEffortChanged>) {
            /// Whether it may change from turn to turn.
            per_turn_effort_active: bool,
        },
        /// A prompt overtook the turn.
        "turn_preempted" => TurnPreempted(Box<TurnPreempted>) {
            /// The reason.
            reason: Text,
            /// The prompt that overtook.
            preempted_by_uuid: Uuid,
            /// The prompts that were overtaken.
            preempted_message_uuids: Vec<Uuid>,
        },
        /// A message of another agent is held back.
        "peer_message_hold" => PeerMessageHold(Box<PeerMessageHold>) {
            /// Whether it is, still.
            state: Text,
            /// Which lane.
            lane: Text,
            /// The sender.
            from: RawJson,
        },
        /// Questions of an earlier process were settled.
        "inherited_asks_settled" => InheritedAsksSettled(Box<InheritedAsksSettled>) {
            /// Those that are still open.
            kept_request_ids: Vec<RequestId>,
        },
        /// The instructions are very long.
        "instruction_size_warning" => InstructionSizeWarning(Box<InstructionSizeWarning>) {
            /// How long.
            total_chars: Number,
            /// How long they may be.
            total_limit_chars: Number,
            /// In how many files.
            file_count: Number,
            /// The longest.
            largest_chars: Number,
        },
        /// Files of a prompt did not arrive.
        "file_attachments_missing" => FileAttachmentsMissing(Box<FileAttachmentsMissing>) {
            /// The prompt.
            message_uuid: Uuid,
            /// How many were sent.
            sent_count: Number,
            /// Which are missing.
            missing: RawJson,
        },
        /// A change was published for review.
        "code_change_published" => CodeChangePublished(Box<CodeChangePublished>) {
            /// Where.
            provider: Text,
            /// Its address.
            url: Text,
            /// The repository.
            repo: Text,
            /// Its number.
            identifier: RawJson,
            /// What was done.
            action: Text,
            /// The branch.
            branch: Text,
        },
        /// The repository changed.
        "vcs_state_changed" => VcsStateChanged(Box<VcsStateChanged>) {
            /// How: `commit`, `push`, `merge` or `rebase`.
            kind: Text,
            /// Where.
            cwd: Text,
            /// The branch.
            branch: Text,
        },
        /// The intent of the user.
        "dev_intent" => DevIntent(Box<DevIntent>) {
            /// What.
            kind: Text,
            /// The trigger.
            trigger: Text,
        },
        /// A draft of feedback waits.
        "feedback_draft_queued" => FeedbackDraftQueued(Box<FeedbackDraftQueued>) {
            /// The draft.
            draft_id: Text,
            /// What kind of draft.
            draft_type: Text,
            /// Its title.
            title: Text,
            /// The beginning of its text.
            details_preview: Text,
        },
        /// A cloud session changed.
        "cloud_session_delta" => CloudSessionDelta(Box<CloudSessionDelta>) {
            /// The number of this change.
            seq: Number,
            /// What changed.
            changed: RawJson,
            /// The session.
            cloud_session: RawJson,
        },
        /// The turn may be handed over.
        "turn_handoff_available" => TurnHandoffAvailable(Box<TurnHandoffAvailable>) {},
        /// A plugin's surface must be drawn again.
        "ui_invalidate" => UiInvalidate(Box<UiInvalidate>) {},
        /// A plugin logs.
        "ui_log" => UiLog(Box<UiLog>) {
            /// The plugin.
            plugin: Text,
            /// The text.
            text: Text,
        },
        /// A plugin notifies.
        "ui_notify" => UiNotify(Box<UiNotify>) {},
        /// A plugin cancels a notification.
        "ui_notify_cancel" => UiNotifyCancel(Box<UiNotifyCancel>) {},
        /// A plugin shows a short message.
        "ui_toast" => UiToast(Box<UiToast>) {
            /// The plugin.
            plugin: Text,
            /// The text.
            text: Text,
            /// How long to show it, in milliseconds.
            timeout_ms: Number,
        },
        /// A plugin's status line.
        "ui_status" => UiStatus(Box<UiStatus>) {
            /// The plugin.
            plugin: Text,
            /// The text; null to take it away.
            text: Text,
        },
        /// The panes of plugins.
        "ui_panes" => UiPanes(Box<UiPanes>) {
            /// The panes.
            panes: RawJson,
        },
        /// A plugin's surface was placed.
        "ui_placed" => UiPlaced(Box<UiPlaced>) {},
        /// A plugin's surface was scrolled.
        "ui_scroll" => UiScroll(Box<UiScroll>) {},
        /// A plugin's surface has the focus.
        "ui_focus" => UiFocus(Box<UiFocus>) {},
        /// A summary of the turn, in one sentence.
        "post_turn_summary" => PostTurnSummary(Box<PostTurnSummary>) {
            /// The line it is about.
            summarizes_uuid: Uuid,
            /// The status.
            status_category: Text,
            /// In one sentence.
            status_detail: Text,
            /// What the user must do.
            needs_action: RawJson,
        },
        /// The current activity of the agent, in one sentence.
        "task_summary" => TaskSummary(Box<TaskSummary>) {
            /// The sentence.
            detail: Text,
        },
        /// Facts about the session.
        "session_metadata" => SessionMetadata(Box<SessionMetadata>) {
            /// The facts.
            metadata: RawJson,
        },
        /// Legacy: the end of a turn.
        "result" => Result(Box<SystemResult>) => legacy,
    }
}

words! {
    /// Where the API key comes from.
    ApiKeySource {
        /// The environment.
        Environment = "ANTHROPIC_API_KEY",
        /// A program that prints it.
        ApiKeyHelper = "apiKeyHelper",
        /// A login.
        LoginManagedKey = "/login managed key",
        /// There is none.
        None = "none",
        /// The user's settings.
        User = "user" => legacy,
        /// The project's settings.
        Project = "project" => legacy,
        /// The organisation.
        Org = "org" => legacy,
        /// A temporary one.
        Temporary = "temporary" => legacy,
        /// A login.
        Oauth = "oauth" => legacy,
    }
}

record! {
    /// An MCP server.
    InitMcpServer {
        /// Its name.
        name: Text,
        /// Whether it is connected.
        status: McpStatus,
        /// Where it was configured.
        source: Text,
    }
}

words! {
    /// Whether an MCP server is connected.
    McpStatus {
        /// It is.
        Connected = "connected",
        /// It could not be.
        Failed = "failed",
        /// It needs a login.
        NeedsAuth = "needs-auth",
        /// Not yet.
        Pending = "pending",
        /// It is switched off.
        Disabled = "disabled",
    }
}

record! {
    /// A plugin.
    InitPlugin {
        /// Its name.
        name: Text,
        /// The path.
        path: Text,
        /// Its version.
        version: Text,
        /// Where it came from.
        source: Text,
    }
}

record! {
    /// A plugin that could not be loaded.
    PluginError {
        /// Which.
        plugin: Text,
        /// What kind of error.
        kind "type": Text,
        /// The error.
        message: Text,
        /// The file.
        path: Text,
        /// The policy that requires it.
        managed_lock: RawJson,
    }
}

record! {
    /// Where memories are kept.
    MemoryPaths {
        /// The agent's own.
        auto: Text,
        /// The team's.
        team: Text,
    }
}

words! {
    /// The activity of the agent.
    StatusKind {
        /// It compacts the context.
        Compacting = "compacting",
        /// It waits for the API.
        Requesting = "requesting",
    }
}

words! {
    /// The result of compaction.
    CompactResult {
        /// Success.
        Success = "success",
        /// It failed.
        Failed = "failed",
    }
}

record! {
    /// Details of a compaction.
    CompactMetadata {
        /// The trigger.
        trigger: CompactTrigger,
        /// Tokens before.
        pre_tokens: Number,
        /// Tokens after.
        post_tokens: Number,
        /// Tokens dropped so far.
        cumulative_dropped_tokens: Number,
        /// Duration in milliseconds.
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
        /// The user.
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
        /// The line they follow.
        anchor_uuid: Uuid,
        /// The last.
        tail_uuid: Uuid,
    }
}

record! {
    /// Lines that compaction kept.
    PreservedMessages {
        /// The line they follow.
        anchor_uuid: Uuid,
        /// Which.
        uuids: Vec<Uuid>,
        /// Which, with those that are not shown.
        all_uuids: Vec<Uuid>,
    }
}

record! {
    /// The API did not answer.
    NoResponse {
        /// How long it waited, in milliseconds.
        waited_ms: Number,
        /// The delay before the next attempt, in milliseconds.
        retry_wait_ms: Number,
    }
}

words! {
    /// The state of a session.
    SessionState {
        /// It waits for input.
        Idle = "idle",
        /// Running.
        Running = "running",
        /// It waits for an answer.
        RequiresAction = "requires_action",
    }
}

words! {
    /// The kind of task.
    TaskType {
        /// A sub-agent.
        LocalAgent = "local_agent",
        /// A command.
        LocalBash = "local_bash",
        /// A workflow.
        LocalWorkflow = "local_workflow",
        /// A task of an MCP server.
        McpTask = "mcp_task",
    }
}

record! {
    /// The usage of a task.
    TaskUsage {
        /// Tokens.
        total_tokens: Number,
        /// Tool calls.
        tool_uses: Number,
        /// Time.
        duration_ms: Number,
    }
}

record! {
    /// What changed about a task.
    TaskPatch {
        /// Its status.
        status: TaskStatus,
        /// What it does.
        description: Text,
        /// When it ended.
        end_time: Number,
        /// For how long it was paused.
        total_paused_ms: Number,
        /// The error.
        error: Text,
        /// Whether it runs in the background.
        is_backgrounded: bool,
    }
}

words! {
    /// The status of a task.
    TaskStatus {
        /// Pending.
        Pending = "pending",
        /// Running.
        Running = "running",
        /// Completed.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// Killed.
        Killed = "killed",
        /// Paused.
        Paused = "paused",
        /// Stopped.
        Stopped = "stopped",
    }
}

record! {
    /// A task in the background.
    BackgroundTask {
        /// The task.
        task_id: TaskId,
        /// The run it belongs to.
        run_id: Text,
        /// The kind of task.
        task_type: TaskType,
        /// The kind of sub-agent.
        subagent_type: Text,
        /// What it does.
        description: Text,
        /// The task that started it.
        parent_task_id: TaskId,
        /// Not worth showing.
        ambient: bool,
    }
}

words! {
    /// The level of a notice.
    NoticeLevel {
        /// Information.
        Info = "info",
        /// A notice.
        Notice = "notice",
        /// A suggestion.
        Suggestion = "suggestion",
        /// A warning.
        Warning = "warning",
    }
}

record! {
    /// What happened to a prompt that a hook checked.
    PromptSubmitOutcome {
        /// What happened.
        kind: Text,
        /// Whether the prompt stays in the conversation.
        prompt_kept: bool,
        /// The reason.
        reason: Text,
    }
}

words! {
    /// The priority of a notification.
    NotificationPriority {
        /// Low.
        Low = "low",
        /// Medium.
        Medium = "medium",
        /// High.
        High = "high",
        /// Immediate.
        Immediate = "immediate",
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
    /// A memory.
    Memory {
        /// The path.
        path: Text,
        /// Whose it is: `personal`, `team` or `organization`.
        scope: Text,
        /// The text.
        content: Text,
    }
}

words! {
    /// The outcome of a command hook.
    HookOutcome {
        /// Success.
        Success = "success",
        /// It failed.
        Error = "error",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}
