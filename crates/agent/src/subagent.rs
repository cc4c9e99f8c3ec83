//! [`Subagent`]: another agent at work, in the foreground or beside the conversation.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use duologue_protocol::content::ContentBlock;
use duologue_protocol::lines::{SubagentKills, SubagentRefusals, SubagentRequests, SubagentStats};
use duologue_protocol::system::{
    BackgroundTask, BackgroundTasksChanged, System, TaskNotification, TaskPatch, TaskProgress,
    TaskStarted, TaskStatus, TaskType, TaskUpdated, TaskUsage,
};
use duologue_protocol::{AgentId, Number, TaskId, Text};

use crate::clock;
use crate::emitter::{Emitter, ToolCall, Who};
use crate::session::{Kept, Session};

/// What a sub-agent is asked to do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubagentTask {
    /// In a few words.
    pub description: Text,
    /// In full.
    pub prompt: Text,
    /// What kind of sub-agent does it.
    pub kind: Text,
    /// Whether the conversation continues meanwhile.
    pub is_background: bool,
}

impl SubagentTask {
    /// A task in the foreground, for a sub-agent of the general kind.
    pub fn new(description: impl Into<Text>, prompt: impl Into<Text>) -> Self {
        Self {
            description: description.into(),
            prompt: prompt.into(),
            kind: Text::from_static("general-purpose"),
            is_background: false,
        }
    }

    /// Another kind of sub-agent.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<Text>) -> Self {
        self.kind = kind.into();
        self
    }

    /// Lets the conversation continue meanwhile.
    #[must_use]
    pub const fn in_background(mut self) -> Self {
        self.is_background = true;
        self
    }
}

/// A sub-agent: an [emitter](Emitter) whose lines name the call that started it, and a task that is reported.
#[derive(Debug)]
pub struct Subagent {
    emitter: Emitter,
    call: ToolCall,
    task: SubagentTask,
    id: TaskId,
    depth: u64,
    started: Instant,
    /// Tokens and calls of tools so far.
    used: Mutex<(u64, u64)>,
    /// Work in the background keeps the conversation open.
    kept: Option<Kept>,
}

impl Emitter {
    /// Starts a sub-agent for this call. The caller sends the result of the call, at once for
    /// one in the background.
    pub async fn subagent(&self, call: &ToolCall, task: SubagentTask) -> Subagent {
        let session = self.session.clone();
        let name = session.new_id().replace('-', "");
        let name = format!("a{}", name.get(..16).unwrap_or_default());
        let who = Who {
            parent: Some(call.id.clone()),
            agent_id: Some(AgentId::from(name.as_str())),
            kind: Some(task.kind.clone()),
            task: Some(task.description.clone()),
            is_hidden: !task.is_background && !session.connection.with(|state| state.forwards),
        };
        let stop = if task.is_background {
            session.connection.background_stop()
        } else {
            self.stop.clone()
        };
        let emitter = Self::new(session.clone(), self.record.clone(), who, stop);
        let kept = task.is_background.then(|| session.keep_busy());
        let depth = if self.is_main() { 1 } else { 2 };
        let subagent = Subagent {
            emitter,
            call: call.clone(),
            id: TaskId::from(name),
            depth,
            started: Instant::now(),
            used: Mutex::default(),
            kept,
            task,
        };
        session.connection.with(|state| state.subagents.begin(&subagent.task, depth));
        subagent.begin().await;
        subagent
    }
}

impl Subagent {
    /// The task that it is.
    pub const fn task_id(&self) -> &TaskId {
        &self.id
    }

    /// Records tokens and tool calls so far. They are reported with its progress and its end.
    pub fn note_usage(&self, total_tokens: u64, tool_uses: u64) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = (total_tokens, tool_uses);
    }

    async fn begin(&self) {
        if self.task.is_background {
            self.tell_background(true).await;
        }
        let line = TaskStarted::new()
            .task_id(self.id.clone())
            .tool_use_id(self.call.id.clone())
            .description(&self.task.description)
            .subagent_type(&self.task.kind)
            .is_backgrounded(self.task.is_background)
            .spawn_depth(self.depth)
            .task_type(TaskType::LocalAgent)
            .prompt(&self.task.prompt)
            .uuid(self.session().new_id())
            .session_id(self.session().id());
        self.tell(Box::new(line)).await;
        if !self.task.is_background {
            let line = self.emitter.user_line([ContentBlock::text(&self.task.prompt)].into());
            self.session().say_line(Box::new(line)).await;
        }
    }

    /// Reports what it is doing now.
    pub async fn progress(&self, description: impl Into<Text> + Send, last_tool: Option<&str>) {
        let mut line = TaskProgress::new()
            .task_id(self.id.clone())
            .tool_use_id(self.call.id.clone())
            .description(description)
            .subagent_type(&self.task.kind)
            .usage(self.usage())
            .uuid(self.session().new_id())
            .session_id(self.session().id());
        line.last_tool_name = last_tool.map(Text::from).into();
        self.tell(Box::new(line)).await;
    }

    /// Ends it. For one in the background, the caller may start a turn that reports it:
    /// [`own_turn`](crate::Session::own_turn).
    pub async fn finish(mut self, status: TaskStatus, summary: impl Into<Text> + Send) {
        self.session().connection.with(|state| state.subagents.end(&status));
        let patch = TaskPatch::new().status(status.clone()).end_time(clock::millis());
        let updated = TaskUpdated::new()
            .task_id(self.id.clone())
            .patch(patch)
            .uuid(self.session().new_id())
            .session_id(self.session().id());
        self.tell(Box::new(updated)).await;
        let told = if status == TaskStatus::Killed { TaskStatus::Stopped } else { status };
        let notification = TaskNotification::new()
            .task_id(self.id.clone())
            .tool_use_id(self.call.id.clone())
            .status(told)
            .output_file("")
            .summary(summary)
            .usage(self.usage())
            .uuid(self.session().new_id())
            .session_id(self.session().id());
        self.tell(Box::new(notification)).await;
        if self.task.is_background {
            self.tell_background(false).await;
        }
        self.kept = None;
    }

    async fn tell_background(&self, is_running: bool) {
        let task = BackgroundTask::new()
            .task_id(self.id.clone())
            .task_type(TaskType::LocalAgent)
            .subagent_type(&self.task.kind)
            .description(&self.task.description);
        self.session().background_changed(task, is_running).await;
    }

    fn usage(&self) -> TaskUsage {
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (tokens, uses) = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        TaskUsage::new().total_tokens(tokens).tool_uses(uses).duration_ms(millis)
    }

    async fn tell(&self, line: impl Into<System> + Send) {
        self.session().say_line(line.into()).await;
    }
}

impl Session {
    /// Reports that a task in the background started or ended. The line lists all that run.
    pub async fn background_changed(&self, task: BackgroundTask, is_running: bool) {
        let tasks = self.connection.with(|state| {
            state.running.retain(|other| other.task_id != task.task_id);
            if is_running {
                state.running.push(task);
            }
            state.running.clone()
        });
        let line =
            BackgroundTasksChanged::new().tasks(tasks).uuid(self.new_id()).session_id(self.id());
        self.say_line(System::from(Box::new(line))).await;
    }
}

impl Deref for Subagent {
    type Target = Emitter;

    fn deref(&self) -> &Emitter {
        &self.emitter
    }
}

/// How many sub-agents there were, for the result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    foreground: u64,
    background: u64,
    nested: u64,
    max_depth: u64,
    completed: u64,
    failed: u64,
    killed: u64,
    by_kind: BTreeMap<Text, u64>,
}

impl Count {
    fn begin(&mut self, task: &SubagentTask, depth: u64) {
        if task.is_background {
            self.background += 1;
        } else {
            self.foreground += 1;
        }
        self.nested += u64::from(depth > 1);
        self.max_depth = self.max_depth.max(depth);
        *self.by_kind.entry(task.kind.clone()).or_default() += 1;
    }

    const fn end(&mut self, status: &TaskStatus) {
        match status {
            TaskStatus::Completed => self.completed += 1,
            TaskStatus::Failed => self.failed += 1,
            _ => self.killed += 1,
        }
    }

    pub(crate) fn stats(&self) -> SubagentStats {
        let requested = SubagentRequests::new()
            .background(self.background)
            .foreground(self.foreground)
            .unset(0_u64);
        let refused =
            SubagentRefusals::new().depth_limit(0_u64).concurrency_limit(0_u64).budget(0_u64);
        let by_kind = self.by_kind.iter().map(|(kind, count)| (kind, Number::from(*count)));
        SubagentStats::new()
            .spawned(self.foreground + self.background)
            .requested(requested)
            .started_in_background(self.background)
            .max_depth(self.max_depth)
            .spawned_by_subagents(self.nested)
            .completed(self.completed)
            .failed(self.failed)
            .killed(SubagentKills::new().parent(0_u64).user(self.killed).system(0_u64))
            .refused(refused)
            .by_type(by_kind.collect::<duologue_protocol::Map<Number>>())
    }
}
