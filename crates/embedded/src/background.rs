//! Commands in the background, and how tasks are stopped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use duologue_protocol::TaskId;
use duologue_protocol::lines::Prompt;
use duologue_protocol::message::{Origin, OriginKind};
use duologue_protocol::system::{
    BackgroundTask, System, TaskNotification, TaskPatch, TaskStarted, TaskStatus, TaskType,
    TaskUpdated,
};
use tokio::sync::Notify;

use super::agent_loop::AgentLoop;
use super::shared::{Shared, lock};
use crate::tools::{ShellTask, ShellTaskStatus, ToolOutput};
use duologue_agent::ToolCall;
use duologue_agent::TurnError;
use duologue_agent::clock;
use duologue_agent::{Kept, Session};

/// How long the agent waits for a command in the background when the host has closed its end, as the CLI does.
const COMMAND_GRACE: Duration = Duration::from_secs(30);

/// A command that takes longer than this is reported, as the CLI does.
const REPORT_AFTER: Duration = Duration::from_secs(3);

/// What runs in the background.
#[derive(Debug, Default)]
pub(super) struct Background {
    commands: Mutex<Commands>,
    /// Sub-agents, each with the sign to stop.
    agents: Mutex<HashMap<String, Arc<Notify>>>,
}

#[derive(Debug, Default)]
struct Commands {
    /// Those that were reported to the host. Each keeps the conversation open.
    announced: HashMap<String, Option<Kept>>,
    /// Those that ended before the host knew of them.
    early: Vec<ShellTask>,
}

impl Background {
    /// Notes a sub-agent, and gives the sign on which it stops.
    pub(super) fn agent(&self, id: &str) -> Arc<Notify> {
        let stop = Arc::new(Notify::new());
        lock(&self.agents).insert(id.to_owned(), Arc::clone(&stop));
        stop
    }

    pub(super) fn forget_agent(&self, id: &str) {
        lock(&self.agents).remove(id);
    }

    /// Stops a sub-agent. False if it does not exist.
    pub(super) fn stop_agent(&self, id: &str) -> bool {
        lock(&self.agents).get(id).inspect(|stop| stop.notify_one()).is_some()
    }
}

impl AgentLoop {
    /// Waits for a command. If it takes long, its start and its end are reported.
    pub(super) async fn watch_command(
        &self,
        call: &ToolCall,
        running: impl Future<Output = ToolOutput> + Send,
    ) -> Result<ToolOutput, TurnError> {
        tokio::pin!(running);
        let mut told = None;
        let output = loop {
            tokio::select! {
                biased;
                () = self.emitter.interrupted() => break Err(TurnError::Interrupted),
                output = &mut running => break Ok(output),
                () = tokio::time::sleep(REPORT_AFTER), if told.is_none() => {
                    told = Some(self.report_long(call).await);
                }
            }
        };
        let long = told.flatten();
        match &output {
            Ok(output) if output.tool_use_result.get("backgroundTaskId").is_some() => {
                self.announce_background(call, output, long.is_some()).await;
            }
            _ => {
                if let Some(task) = long {
                    let status = match &output {
                        Err(_) => TaskStatus::Stopped,
                        Ok(output) if output.is_failure() => TaskStatus::Failed,
                        Ok(_) => TaskStatus::Completed,
                    };
                    self.report_long_ended(&task, status).await;
                }
            }
        }
        output
    }

    /// Reports a command that takes long and is waited for.
    async fn report_long(&self, call: &ToolCall) -> Option<ShellTask> {
        let tasks = self.shared.context.tasks().in_foreground();
        let is_it = |task: &ShellTask| task.tool_use_id.as_deref() == Some(call.id.as_str());
        // Commands of sub-agents are not reported.
        let task = tasks.into_iter().find(is_it).filter(|_| self.kind.is_none())?;
        let session = self.emitter.session();
        let started = TaskStarted::new()
            .task_id(TaskId::from(task.id.as_str()))
            .tool_use_id(call.id.clone())
            .description(task.description.as_deref().unwrap_or(&task.command))
            .is_backgrounded(false)
            .task_type(TaskType::LocalBash)
            .uuid(session.new_id())
            .session_id(session.id());
        session.say_line(System::from(Box::new(started))).await;
        Some(task)
    }

    async fn report_long_ended(&self, task: &ShellTask, status: TaskStatus) {
        let session = self.emitter.session();
        let mut line = TaskNotification::new()
            .task_id(TaskId::from(task.id.as_str()))
            .status(status)
            .output_file("")
            .summary(task.description.as_deref().unwrap_or(&task.command))
            .uuid(session.new_id())
            .session_id(session.id());
        line.tool_use_id = task.tool_use_id.as_deref().map(Into::into).into();
        session.say_line(System::from(Box::new(line))).await;
    }

    /// Reports a command that went to the background. Its start may have been reported.
    async fn announce_background(&self, call: &ToolCall, output: &ToolOutput, is_known: bool) {
        let Some(id) = output.tool_use_result.get("backgroundTaskId").and_then(|id| id.as_str())
        else {
            return;
        };
        let session = self.emitter.session();
        let what = call.input.get("description").or_else(|| call.input.get("command"));
        let what = what.and_then(|what| what.as_str()).unwrap_or_default();
        let task = BackgroundTask::new()
            .task_id(TaskId::from(id.as_str()))
            .task_type(TaskType::LocalBash)
            .description(&what);
        let kept = session.keep_open();
        session.background_changed(task, true).await;
        if is_known {
            let updated = TaskUpdated::new()
                .task_id(TaskId::from(id.as_str()))
                .patch(TaskPatch::new().is_backgrounded(true))
                .uuid(session.new_id())
                .session_id(session.id());
            session.say_line(System::from(Box::new(updated))).await;
        } else {
            let started = TaskStarted::new()
                .task_id(TaskId::from(id.as_str()))
                .tool_use_id(call.id.clone())
                .description(what)
                .is_backgrounded(true)
                .task_type(TaskType::LocalBash)
                .uuid(session.new_id())
                .session_id(session.id());
            session.say_line(System::from(Box::new(started))).await;
        }
        let early = {
            let mut commands = lock(&self.shared.background.commands);
            commands.announced.insert(id.as_str().to_owned(), Some(kept));
            let at = commands.early.iter().position(|task| task.id == id.as_str());
            at.map(|at| commands.early.remove(at))
        };
        if let Some(task) = early {
            self.shared.report_ended(session, &task).await;
        }
    }
}

impl Shared {
    /// Reports commands that end, until the agent is dropped.
    pub(super) async fn watch_commands(this: Weak<Self>, session: Session) {
        while let Some(shared) = this.upgrade() {
            let tasks = shared.context.tasks().clone();
            drop(shared);
            let ended = tokio::select! {
                ended = tasks.next_ended() => Some(ended),
                () = tokio::time::sleep(COMMAND_GRACE) => None,
            };
            let Some(shared) = this.upgrade() else { return };
            let Some(task) = ended else {
                shared.give_up_commands(&session);
                continue;
            };
            let is_known = {
                let mut commands = lock(&shared.background.commands);
                let is_known = commands.announced.contains_key(&task.id);
                if !is_known {
                    commands.early.push(task.clone());
                }
                is_known
            };
            if is_known {
                shared.report_ended(&session, &task).await;
            }
        }
    }

    /// When the host has closed its end, commands do not keep the conversation open any longer.
    fn give_up_commands(&self, session: &Session) {
        if session.host_has_gone() {
            let mut commands = lock(&self.background.commands);
            let kept: Vec<_> = commands.announced.values_mut().map(Option::take).collect();
            drop(commands);
            drop(kept);
        }
    }

    async fn report_ended(&self, session: &Session, task: &ShellTask) {
        let kept = lock(&self.background.commands).announced.remove(&task.id);
        let name = task.description.as_deref().unwrap_or(&task.command);
        let (status, told, summary) = match task.status {
            ShellTaskStatus::Ended(Some(0)) => (
                TaskStatus::Completed,
                TaskStatus::Completed,
                format!("Background command \"{name}\" completed (exit code 0)"),
            ),
            ShellTaskStatus::Ended(Some(code)) => (
                TaskStatus::Failed,
                TaskStatus::Failed,
                format!("Background command \"{name}\" failed with exit code {code}"),
            ),
            ShellTaskStatus::Ended(None) => (
                TaskStatus::Failed,
                TaskStatus::Failed,
                format!("Background command \"{name}\" was ended by a signal"),
            ),
            _ => (TaskStatus::Killed, TaskStatus::Stopped, name.to_owned()),
        };
        let id = TaskId::from(task.id.as_str());
        let patch = TaskPatch::new().status(status.clone()).end_time(clock::millis());
        let updated = TaskUpdated::new()
            .task_id(id.clone())
            .patch(patch)
            .uuid(session.new_id())
            .session_id(session.id());
        session.say_line(System::from(Box::new(updated))).await;
        let file = task.output_file.to_string_lossy().into_owned();
        let mut notification = TaskNotification::new()
            .task_id(id.clone())
            .status(told.clone())
            .output_file(&*file)
            .summary(&*summary)
            .uuid(session.new_id())
            .session_id(session.id());
        notification.tool_use_id = task.tool_use_id.as_deref().map(Into::into).into();
        session.say_line(System::from(Box::new(notification))).await;
        let changed = BackgroundTask::new().task_id(id);
        session.background_changed(changed, false).await;
        if told != TaskStatus::Stopped {
            let status = told.as_str();
            let text = format!(
                "<task-notification>\n<task-id>{}</task-id>\n<output-file>{file}</output-file>\n<status>{status}</status>\n<summary>{summary}</summary>\n</task-notification>",
                task.id
            );
            session.own_turn(
                Origin::new().kind(OriginKind::TaskNotification).producer("session-task"),
                Some(Prompt::text(text)),
            );
        }
        drop(kept);
    }
}
