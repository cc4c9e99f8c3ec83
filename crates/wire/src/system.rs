//! `system` lines: everything the agent says about itself.

mod hook;
mod init;
mod internal;
mod notice;
mod state;
mod task;

pub use hook::*;
pub use init::*;
pub use internal::*;
pub use notice::*;
pub use state::*;
pub use task::*;

use crate::id::{SessionId, Uuid};
use crate::legacy::SystemResult;
use crate::wire::union;

/// The table of system lines, and the ids that they all have.
macro_rules! system_lines {
    ($($(#[doc = $doc:literal])* $tag:literal => $variant:ident($ty:ty),)*) => {
        union! {
            /// What the agent says about itself, by `subtype`.
            System by "subtype" closed, "type" = "system" {
                $($(#[doc = $doc])* $tag => $variant($ty),)*
            }
        }

        impl System {
            /// Names the line.
            pub fn uuid(&self) -> Option<&Uuid> {
                match self {
                    $(Self::$variant(line) => line.uuid.value(),)*
                    Self::Unknown(_) => None,
                }
            }

            /// The conversation that the line belongs to.
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
    /// A turn begins: the session as it is now.
    "init" => Init(Box<Init>),
    /// What the agent is busy with, or a change of permission mode.
    "status" => Status(Box<Status>),
    /// The context was compacted here.
    "compact_boundary" => CompactBoundary(Box<CompactBoundary>),
    /// A request to the API is being tried again.
    "api_retry" => ApiRetry(Box<ApiRetry>),
    /// A control request takes its time.
    "control_request_progress" => ControlRequestProgress(Box<ControlRequestProgress>),
    /// The model refused, another one answers.
    "model_refusal_fallback" => ModelRefusalFallback(Box<ModelRefusalFallback>),
    /// The model refused, and no other one answers.
    "model_refusal_no_fallback" => ModelRefusalNoFallback(Box<ModelRefusalNoFallback>),
    /// The model cannot answer, another one does.
    "model_fallback" => ModelFallback(Box<ModelFallback>),
    /// What a local command printed.
    "local_command_output" => LocalCommandOutput(Box<LocalCommandOutput>),
    /// A command hook was started.
    "hook_started" => HookStarted(Box<HookStarted>),
    /// A command hook has printed something.
    "hook_progress" => HookProgress(Box<HookProgress>),
    /// A command hook has ended.
    "hook_response" => HookResponse(Box<HookResponse>),
    /// A plugin is being installed.
    "plugin_install" => PluginInstall(Box<PluginInstall>),
    /// A sub-agent or a background command was started.
    "task_started" => TaskStarted(Box<TaskStarted>),
    /// A sub-agent or a background command is getting on.
    "task_progress" => TaskProgress(Box<TaskProgress>),
    /// Something about a task changed.
    "task_updated" => TaskUpdated(Box<TaskUpdated>),
    /// A task has ended.
    "task_notification" => TaskNotification(Box<TaskNotification>),
    /// The tasks in the background, all of them.
    "background_tasks_changed" => BackgroundTasksChanged(Box<BackgroundTasksChanged>),
    /// How much the model has thought so far.
    "thinking_tokens" => ThinkingTokens(Box<ThinkingTokens>),
    /// The session is busy, waits for a person, or is idle.
    "session_state_changed" => SessionStateChanged(Box<SessionStateChanged>),
    /// The process is about to end.
    "worker_shutting_down" => WorkerShuttingDown(Box<WorkerShuttingDown>),
    /// The slash commands, all of them.
    "commands_changed" => CommandsChanged(Box<CommandsChanged>),
    /// Something to show to the person.
    "notification" => Notification(Box<Notification>),
    /// Files were uploaded.
    "files_persisted" => FilesPersisted(Box<FilesPersisted>),
    /// Memories were looked up.
    "memory_recall" => MemoryRecall(Box<MemoryRecall>),
    /// An MCP server's question was answered elsewhere.
    "elicitation_complete" => ElicitationComplete(Box<ElicitationComplete>),
    /// A tool call was not allowed, and nobody was asked.
    "permission_denied" => PermissionDenied(Box<PermissionDenied>),
    /// The host's own transcript store failed.
    "mirror_error" => MirrorError(Box<MirrorError>),
    /// A notice in the conversation.
    "informational" => Informational(Box<Informational>),
    /// The disk is full: something was not written.
    "session_writes_lost" => SessionWritesLost(Box<SessionWritesLost>),
    /// The session has a title.
    "session_title_changed" => SessionTitleChanged(Box<SessionTitleChanged>),
    /// A tool call is being checked.
    "permission_check_status" => PermissionCheckStatus(Box<PermissionCheckStatus>),
    /// The effort of this turn changed.
    "per_turn_effort_changed" => PerTurnEffortChanged(Box<PerTurnEffortChanged>),
    /// A prompt overtook the turn.
    "turn_preempted" => TurnPreempted(Box<TurnPreempted>),
    /// A message of another agent is held back.
    "peer_message_hold" => PeerMessageHold(Box<PeerMessageHold>),
    /// Questions of an earlier process were settled.
    "inherited_asks_settled" => InheritedAsksSettled(Box<InheritedAsksSettled>),
    /// The instructions are very long.
    "instruction_size_warning" => InstructionSizeWarning(Box<InstructionSizeWarning>),
    /// Files of a prompt did not arrive.
    "file_attachments_missing" => FileAttachmentsMissing(Box<FileAttachmentsMissing>),
    /// A change was published for review.
    "code_change_published" => CodeChangePublished(Box<CodeChangePublished>),
    /// The repository changed.
    "vcs_state_changed" => VcsStateChanged(Box<VcsStateChanged>),
    /// What the person is about to do.
    "dev_intent" => DevIntent(Box<DevIntent>),
    /// A draft of feedback waits.
    "feedback_draft_queued" => FeedbackDraftQueued(Box<FeedbackDraftQueued>),
    /// A cloud session changed.
    "cloud_session_delta" => CloudSessionDelta(Box<CloudSessionDelta>),
    /// The turn may be handed over.
    "turn_handoff_available" => TurnHandoffAvailable(Box<TurnHandoffAvailable>),
    /// A plugin's surface must be drawn again.
    "ui_invalidate" => UiInvalidate(Box<UiInvalidate>),
    /// A plugin logs.
    "ui_log" => UiLog(Box<UiLog>),
    /// A plugin notifies.
    "ui_notify" => UiNotify(Box<UiNotify>),
    /// A plugin takes a notification back.
    "ui_notify_cancel" => UiNotifyCancel(Box<UiNotifyCancel>),
    /// A plugin says something in passing.
    "ui_toast" => UiToast(Box<UiToast>),
    /// A plugin's status line.
    "ui_status" => UiStatus(Box<UiStatus>),
    /// The panes of plugins.
    "ui_panes" => UiPanes(Box<UiPanes>),
    /// A plugin's surface was placed.
    "ui_placed" => UiPlaced(Box<UiPlaced>),
    /// A plugin's surface was scrolled.
    "ui_scroll" => UiScroll(Box<UiScroll>),
    /// A plugin's surface has the focus.
    "ui_focus" => UiFocus(Box<UiFocus>),
    /// What the turn came to, in one sentence.
    "post_turn_summary" => PostTurnSummary(Box<PostTurnSummary>),
    /// What the agent does now, in one sentence.
    "task_summary" => TaskSummary(Box<TaskSummary>),
    /// Facts about the session.
    "session_metadata" => SessionMetadata(Box<SessionMetadata>),
    /// Legacy: the end of a turn, as the oldest descriptions have it.
    "result" => Result(Box<SystemResult>),
}
