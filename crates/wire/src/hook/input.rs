//! What a hook callback is told: tools, prompts, stops.

use crate::id::{AgentId, SessionId, TaskId, ToolUseId};
use crate::json::{Number, RawJson, RawObject};
use crate::message::ApiErrorKind;
use crate::permission::{PermissionMode, PermissionUpdate};
use crate::text::Text;
use crate::wire::{record, union};

use super::input_rest::*;

union! {
    /// What a hook callback is told, by event.
    HookInput by "hook_event_name" {
        /// A tool is about to be called.
        "PreToolUse" => PreToolUse(Box<PreToolUse>),
        /// A tool was called.
        "PostToolUse" => PostToolUse(Box<PostToolUse>),
        /// A tool failed.
        "PostToolUseFailure" => PostToolUseFailure(Box<PostToolUseFailure>),
        /// All tools of one message were called.
        "PostToolBatch" => PostToolBatch(Box<PostToolBatch>),
        /// The person is to be notified.
        "Notification" => Notification(Box<NotificationInput>),
        /// A prompt came in.
        "UserPromptSubmit" => UserPromptSubmit(Box<UserPromptSubmit>),
        /// A slash command was expanded.
        "UserPromptExpansion" => UserPromptExpansion(Box<UserPromptExpansion>),
        /// A session begins.
        "SessionStart" => SessionStart(Box<SessionStart>),
        /// A session ends.
        "SessionEnd" => SessionEnd(Box<SessionEnd>),
        /// The agent is about to stop.
        "Stop" => Stop(Box<Stop>),
        /// The agent stopped because the API failed.
        "StopFailure" => StopFailure(Box<StopFailure>),
        /// A sub-agent begins.
        "SubagentStart" => SubagentStart(Box<SubagentStart>),
        /// A sub-agent is about to stop.
        "SubagentStop" => SubagentStop(Box<SubagentStop>),
        /// The context is about to be compacted.
        "PreCompact" => PreCompact(Box<PreCompact>),
        /// The context was compacted.
        "PostCompact" => PostCompact(Box<PostCompact>),
        /// Another model is about to be used.
        "PreModelSwitch" => PreModelSwitch(Box<PreModelSwitch>),
        /// Another model is used.
        "PostModelSwitch" => PostModelSwitch(Box<PostModelSwitch>),
        /// Permission is being asked for.
        "PermissionRequest" => PermissionRequest(Box<PermissionRequest>),
        /// Permission was not given.
        "PermissionDenied" => PermissionDenied(Box<PermissionDeniedInput>),
        /// The project is being set up.
        "Setup" => Setup(Box<Setup>),
        /// A team mate has nothing to do.
        "TeammateIdle" => TeammateIdle(Box<TeammateIdle>),
        /// A task was created.
        "TaskCreated" => TaskCreated(Box<TaskCreated>),
        /// A task was completed.
        "TaskCompleted" => TaskCompleted(Box<TaskCompleted>),
        /// An MCP server asks the person something.
        "Elicitation" => Elicitation(Box<ElicitationInput>),
        /// The person has answered.
        "ElicitationResult" => ElicitationResult(Box<ElicitationResult>),
        /// Settings changed.
        "ConfigChange" => ConfigChange(Box<ConfigChange>),
        /// A work tree is being made.
        "WorktreeCreate" => WorktreeCreate(Box<WorktreeCreate>),
        /// A work tree is being removed.
        "WorktreeRemove" => WorktreeRemove(Box<WorktreeRemove>),
        /// Instructions were loaded.
        "InstructionsLoaded" => InstructionsLoaded(Box<InstructionsLoaded>),
        /// The working directory changed.
        "CwdChanged" => CwdChanged(Box<CwdChanged>),
        /// A file that is watched changed.
        "FileChanged" => FileChanged(Box<FileChanged>),
        /// A directory was added.
        "DirectoryAdded" => DirectoryAdded(Box<DirectoryAdded>),
        /// Text is about to be shown.
        "MessageDisplay" => MessageDisplay(Box<MessageDisplay>),
    }
}

/// A record with the fields that every hook input has.
macro_rules! hook_input {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident = $event:literal {
            $($(#[doc = $field_doc:literal])* $field:ident $($wire:literal)?: $ty:ty),* $(,)?
        }
    )*) => {$(
        $crate::wire::record! {
            $(#[doc = $doc])*
            $name ["hook_event_name" = $event] {
                $($(#[doc = $field_doc])* $field $($wire)?: $ty,)*
                /// The conversation.
                session_id: $crate::id::SessionId,
                /// The transcript on disk.
                transcript_path: $crate::text::Text,
                /// The working directory.
                cwd: $crate::text::Text,
                /// The prompt that this turn answers.
                prompt_id: $crate::text::Text,
                /// The permission mode.
                permission_mode: $crate::permission::PermissionMode,
                /// The sub-agent in which this happens.
                agent_id: $crate::id::AgentId,
                /// The kind of agent in which this happens.
                agent_type: $crate::text::Text,
                /// How hard the model thinks.
                effort: $crate::hook::EffortLevel,
            }
        }
    )*};
}
pub(super) use hook_input;

record! {
    /// How hard the model thinks.
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

hook_input! {
    /// A tool is about to be called.
    PreToolUse = "PreToolUse" {
        /// The tool.
        tool_name: Text,
        /// Its input.
        tool_input: RawObject,
        /// The call.
        tool_use_id: ToolUseId,
        /// The tool's MCP server.
        mcp_server: McpServerRef,
    }
    /// A tool was called.
    PostToolUse = "PostToolUse" {
        /// The tool.
        tool_name: Text,
        /// Its input.
        tool_input: RawObject,
        /// What it gave back.
        tool_response: RawJson,
        /// The call.
        tool_use_id: ToolUseId,
        /// How long it took.
        duration_ms: Number,
        /// The tool's MCP server.
        mcp_server: McpServerRef,
    }
    /// A tool failed.
    PostToolUseFailure = "PostToolUseFailure" {
        /// The tool.
        tool_name: Text,
        /// Its input.
        tool_input: RawObject,
        /// The call.
        tool_use_id: ToolUseId,
        /// What went wrong.
        error: Text,
        /// Whether it was interrupted.
        is_interrupt: bool,
        /// How long it took.
        duration_ms: Number,
        /// The tool's MCP server.
        mcp_server: McpServerRef,
    }
    /// All tools of one message were called.
    PostToolBatch = "PostToolBatch" {
        /// The calls.
        tool_calls: Vec<BatchedToolCall>,
    }
    /// The person is to be notified.
    NotificationInput = "Notification" {
        /// The text.
        message: Text,
        /// Its title.
        title: Text,
        /// What kind of notification.
        notification_type: Text,
    }
    /// A prompt came in.
    UserPromptSubmit = "UserPromptSubmit" {
        /// The prompt.
        prompt: Text,
        /// Where it came from: `user`, `sdk`, `system`…
        source: Text,
        /// The title of the session.
        session_title: Text,
    }
    /// A slash command was expanded.
    UserPromptExpansion = "UserPromptExpansion" {
        /// `slash_command` or `mcp_prompt`.
        expansion_type: Text,
        /// The command.
        command_name: Text,
        /// What stood after it.
        command_args: Text,
        /// Where it was defined.
        command_source: Text,
        /// What it became.
        prompt: Text,
    }
    /// The agent is about to stop.
    Stop = "Stop" {
        /// Whether a Stop hook made it go on before.
        stop_hook_active: bool,
        /// What it said last.
        last_assistant_message: Text,
        /// What still runs in the background.
        background_tasks: Vec<BackgroundTaskSummary>,
        /// What is scheduled.
        session_crons: Vec<SessionCronSummary>,
    }
    /// The agent stopped because the API failed.
    StopFailure = "StopFailure" {
        /// What went wrong.
        error: ApiErrorKind,
        /// In more detail.
        error_details: Text,
        /// What it said last.
        last_assistant_message: Text,
    }
    /// Permission is being asked for.
    PermissionRequest = "PermissionRequest" {
        /// The tool.
        tool_name: Text,
        /// Its input.
        tool_input: RawObject,
        /// What could be allowed for good.
        permission_suggestions: Vec<PermissionUpdate>,
        /// The tool's MCP server.
        mcp_server: McpServerRef,
    }
    /// Permission was not given.
    PermissionDeniedInput = "PermissionDenied" {
        /// The tool.
        tool_name: Text,
        /// Its input.
        tool_input: RawObject,
        /// The call.
        tool_use_id: ToolUseId,
        /// Why.
        reason: Text,
        /// The tool's MCP server.
        mcp_server: McpServerRef,
    }
}

record! {
    /// A sub-agent begins.
    SubagentStart ["hook_event_name" = "SubagentStart"] {
        /// The sub-agent.
        agent_id: AgentId,
        /// What kind of sub-agent.
        agent_type: Text,
        /// The conversation.
        session_id: SessionId,
        /// The transcript on disk.
        transcript_path: Text,
        /// The working directory.
        cwd: Text,
        /// The prompt that this turn answers.
        prompt_id: Text,
        /// The permission mode.
        permission_mode: PermissionMode,
        /// How hard the model thinks.
        effort: EffortLevel,
    }
}

record! {
    /// A sub-agent is about to stop.
    SubagentStop ["hook_event_name" = "SubagentStop"] {
        /// Whether a SubagentStop hook made it go on before.
        stop_hook_active: bool,
        /// The sub-agent.
        agent_id: AgentId,
        /// The sub-agent's transcript on disk.
        agent_transcript_path: Text,
        /// What kind of sub-agent.
        agent_type: Text,
        /// What it said last.
        last_assistant_message: Text,
        /// What still runs in the background.
        background_tasks: Vec<BackgroundTaskSummary>,
        /// What is scheduled.
        session_crons: Vec<SessionCronSummary>,
        /// The conversation.
        session_id: SessionId,
        /// The transcript on disk.
        transcript_path: Text,
        /// The working directory.
        cwd: Text,
        /// The prompt that this turn answers.
        prompt_id: Text,
        /// The permission mode.
        permission_mode: PermissionMode,
        /// How hard the model thinks.
        effort: EffortLevel,
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
        /// What it gave back.
        tool_response: RawJson,
    }
}

record! {
    /// Something that still runs in the background.
    BackgroundTaskSummary {
        /// The task.
        id: TaskId,
        /// What kind of task.
        kind "type": Text,
        /// How it stands.
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
        /// Names it.
        id: Text,
        /// When it runs.
        schedule: Text,
        /// Whether it runs again and again.
        recurring: bool,
        /// What it will say.
        prompt: Text,
    }
}
