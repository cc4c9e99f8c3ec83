//! Tasks: sub-agents and commands in the background.

use crate::id::{SessionId, TaskId, ToolUseId, Uuid};
use crate::json::{Number, RawJson};
use crate::text::Text;
use crate::wire::{record, words};

record! {
    /// A sub-agent or a background command was started.
    TaskStarted ["type" = "system", "subtype" = "task_started"] {
        /// The task.
        task_id: TaskId,
        /// The run it belongs to.
        run_id: Text,
        /// The tool call that started it.
        tool_use_id: ToolUseId,
        /// What it does.
        description: Text,
        /// What kind of sub-agent.
        subagent_type: Text,
        /// Whether the conversation goes on meanwhile.
        is_backgrounded: bool,
        /// How deep it is nested, from 1.
        spawn_depth: Number,
        /// The task that started it.
        parent_task_id: TaskId,
        /// What kind of task.
        task_type: TaskType,
        /// The workflow it runs.
        workflow_name: Text,
        /// What it was told.
        prompt: Text,
        /// Not for the transcript.
        skip_transcript: bool,
        /// Not worth showing.
        ambient: bool,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

words! {
    /// What kind of task.
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
    /// A sub-agent or a background command is getting on.
    TaskProgress ["type" = "system", "subtype" = "task_progress"] {
        /// The task.
        task_id: TaskId,
        /// The run it belongs to.
        run_id: Text,
        /// The tool call that started it.
        tool_use_id: ToolUseId,
        /// What it does now.
        description: Text,
        /// What kind of sub-agent.
        subagent_type: Text,
        /// What it has used.
        usage: TaskUsage,
        /// The tool it called last.
        last_tool_name: Text,
        /// What it has come to.
        summary: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// What a task has used.
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
    /// Something about a task changed.
    TaskUpdated ["type" = "system", "subtype" = "task_updated"] {
        /// The task.
        task_id: TaskId,
        /// The run it belongs to.
        run_id: Text,
        /// What changed.
        patch: TaskPatch,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
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
        /// What went wrong.
        error: Text,
        /// Whether the conversation goes on meanwhile.
        is_backgrounded: bool,
    }
}

words! {
    /// How a task stands.
    TaskStatus {
        /// It has not begun.
        Pending = "pending",
        /// It runs.
        Running = "running",
        /// It is done.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// It was killed.
        Killed = "killed",
        /// It is paused.
        Paused = "paused",
        /// It was stopped.
        Stopped = "stopped",
    }
}

record! {
    /// A task has ended.
    TaskNotification ["type" = "system", "subtype" = "task_notification"] {
        /// The task.
        task_id: TaskId,
        /// The run it belongs to.
        run_id: Text,
        /// The tool call that started it.
        tool_use_id: ToolUseId,
        /// How it ended.
        status: TaskStatus,
        /// Why it was stopped.
        reason: Text,
        /// Where its output lies.
        output_file: Text,
        /// What it came to.
        summary: Text,
        /// What it used.
        usage: TaskUsage,
        /// What it links to.
        resource_links: RawJson,
        /// Not for the transcript.
        skip_transcript: bool,
        /// Not worth showing.
        ambient: bool,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// The tasks in the background, all of them.
    BackgroundTasksChanged ["type" = "system", "subtype" = "background_tasks_changed"] {
        /// The tasks: they replace those known before.
        tasks: Vec<BackgroundTask>,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// A task in the background.
    BackgroundTask {
        /// The task.
        task_id: TaskId,
        /// The run it belongs to.
        run_id: Text,
        /// What kind of task.
        task_type: TaskType,
        /// What kind of sub-agent.
        subagent_type: Text,
        /// What it does.
        description: Text,
        /// The task that started it.
        parent_task_id: TaskId,
        /// Not worth showing.
        ambient: bool,
    }
}

record! {
    /// What the agent does now, in one sentence.
    TaskSummary ["type" = "system", "subtype" = "task_summary"] {
        /// The sentence.
        detail: Text,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}

record! {
    /// What the turn came to, in one sentence.
    PostTurnSummary ["type" = "system", "subtype" = "post_turn_summary"] {
        /// The line it is about.
        summarizes_uuid: Uuid,
        /// How things stand.
        status_category: Text,
        /// In one sentence.
        status_detail: Text,
        /// What the person must do.
        needs_action: RawJson,
        /// The conversation.
        session_id: SessionId,
        /// Names this line.
        uuid: Uuid,
    }
}
