//! The bodies of events: sub-agents, tasks, and how the agent is.

use crate::id::{AgentId, MessageId, RequestId, SessionId, TaskId, ToolUseId};
use crate::json::{Number, RawJson};
use crate::message::ApiErrorKind;
use crate::permission::PermissionMode;
use crate::system::TaskUsage;
use crate::text::Text;

use super::body::{Place, Placed, events};

events! {
    /// A sub-agent begins.
    AgentStarted = "agent_started" {
        /// The call that starts it: the `agent` of its own events.
        tool_use_id: ToolUseId,
        /// Its task.
        task_id: TaskId,
        /// What kind of sub-agent.
        name: Text,
        /// What it does.
        description: Text,
        /// Whether the conversation goes on meanwhile.
        background: bool,
    }
    /// A sub-agent is getting on.
    AgentProgress = "agent_progress" {
        /// The call that started it.
        tool_use_id: ToolUseId,
        /// What it does now.
        description: Text,
        /// What it has used.
        usage: TaskUsage,
    }
    /// A sub-agent has ended.
    AgentFinished = "agent_finished" {
        /// The call that started it.
        tool_use_id: ToolUseId,
        /// How: `completed`, `failed`, `stopped`.
        status: Text,
        /// What it came to.
        summary: Text,
        /// What it used.
        usage: TaskUsage,
    }
    /// A task begins: work in the background, or a call that takes long.
    TaskStarted = "task_started" {
        /// The task.
        task_id: TaskId,
        /// The call that started it.
        tool_use_id: ToolUseId,
        /// What kind of task.
        kind: Text,
        /// What it does.
        description: Text,
        /// Whether it runs in the background: `false` for a call that takes long and is waited for. Absent
        /// from versions that announce tasks in the background only.
        background: bool,
    }
    /// A task changed.
    TaskUpdated = "task_updated" {
        /// The task.
        task_id: TaskId,
        /// How it stands.
        status: Text,
        /// What went wrong.
        error: Text,
        /// Whether it has moved to the background.
        background: bool,
    }
    /// A task has ended.
    TaskFinished = "task_finished" {
        /// The task.
        task_id: TaskId,
        /// The call that started it.
        tool_use_id: ToolUseId,
        /// How.
        status: Text,
        /// What it came to.
        summary: Text,
    }
    /// The host asks the agent for something.
    ControlRequested = "control_request" {
        /// The request.
        request_id: RequestId,
        /// What: `interrupt`, `set_model`…
        subtype: Text,
    }
    /// The agent has answered.
    ControlAnswered = "control_response" {
        /// The request.
        request_id: RequestId,
        /// What was asked.
        subtype: Text,
        /// What went wrong.
        error: Text,
    }
    /// What the agent is busy with.
    StatusChanged = "status" {
        /// What; null if nothing any more.
        status: Text,
    }
    /// The permission mode changed.
    ModeChanged = "mode_changed" {
        /// The mode.
        mode: PermissionMode,
    }
    /// The context was compacted.
    Compacted = "compacted" {
        /// Who asked for it.
        trigger: Text,
        /// Tokens before.
        pre_tokens: Number,
        /// Tokens after.
        post_tokens: Number,
        /// Why it failed.
        error: Text,
    }
    /// A request to the API is being tried again.
    ApiRetried = "api_retry" {
        /// The how-many-eth try.
        attempt: Number,
        /// How many there will be.
        max_retries: Number,
        /// How long it waits.
        delay_ms: Number,
        /// The API's HTTP status.
        status: Number,
        /// What went wrong.
        error: ApiErrorKind,
    }
    /// Another model answers.
    ModelFellBack = "model_fallback" {
        /// The model that was asked.
        from: Text,
        /// The model that answers; absent if none does.
        to: Text,
        /// Why.
        reason: Text,
    }
    /// How much of a rate limit is left.
    RateLimited = "rate_limit" {
        /// Whether requests are allowed.
        status: Text,
        /// Which limit.
        kind: Text,
        /// How much is used, from 0 to 1.
        utilization: Number,
        /// When it starts anew, in seconds since 1970.
        resets_at: Number,
    }
    /// How logging in goes.
    AuthStatusChanged = "auth_status" {
        /// Whether it is going on.
        authenticating: bool,
        /// What went wrong.
        error: Text,
    }
    /// An error line.
    ErrorReported = "error" {
        /// Which kind.
        kind: Text,
        /// In words.
        message: Text,
    }
    /// Something the person should know.
    Notice = "notice" {
        /// What kind of notice: the subtype of the line.
        kind: Text,
        /// In words.
        text: Text,
        /// How important it is.
        level: Text,
        /// The task it is about.
        agent_id: AgentId,
    }
    /// Something was put into the conversation that nobody typed.
    ContextInjected = "context" {
        /// What.
        text: Text,
    }
    /// The turn was interrupted.
    InterruptMarked = "interrupted" {
        /// The marker.
        text: Text,
    }
    /// The conversation starts anew.
    ConversationWasReset = "conversation_reset" {
        /// Why.
        trigger: Text,
    }
    /// From now on the lines have another session id.
    SessionChanged = "session_changed" {
        /// The old one.
        from: SessionId,
        /// The new one.
        to: SessionId,
    }
    /// A line of a type or subtype that this version does not know.
    UnknownLine = "unknown_line" {
        /// Its type.
        kind: Text,
        /// Its subtype.
        subtype: Text,
        /// Which way it went: `to_host` or `to_agent`.
        direction: Text,
        /// The line.
        line: RawJson,
    }
    /// A line that is malformed.
    MalformedLine = "malformed_line" {
        /// What is wrong with it, and where.
        reason: Text,
        /// Which way it went: `to_host` or `to_agent`.
        direction: Text,
        /// How it begins.
        excerpt: Text,
    }
    /// Something was done to the agent's process.
    ProcessNoted = "process" {
        /// What, in words.
        text: Text,
    }
    /// The agent wrote a line to stderr.
    StderrWritten = "stderr" {
        /// The line.
        text: Text,
    }
}
