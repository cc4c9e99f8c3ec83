//! What runs in the background.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use thiserror::Error;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::context::lock;
use super::persist::name;
use super::process::{Capture, Group};

/// How many tasks may run at once.
const MAX_RUNNING: usize = 64;

/// How many ended tasks wait to be told of.
const MAX_ENDED: usize = 256;

/// There are too many background tasks.
#[derive(Clone, Copy, Debug, Error)]
#[error("there are {MAX_RUNNING} background tasks already: stop one first")]
#[non_exhaustive]
pub struct TooManyTasks;

/// What runs in the background. Clones share it; when the last is gone, so are the tasks.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    running: Vec<(Task, AbortHandle)>,
    ended: VecDeque<Task>,
}

/// A command in the background.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Task {
    /// Its name: `b59saqnsm`.
    pub id: String,
    /// The command.
    pub command: String,
    /// What it does, for people.
    pub description: Option<String>,
    /// The call that started it, if it is known.
    pub tool_use_id: Option<String>,
    /// What it writes.
    pub output_file: PathBuf,
    /// How it stands.
    pub status: TaskStatus,
}

/// How a background task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskStatus {
    /// It runs.
    Running,
    /// It ended, with this exit code; none if a signal ended it.
    Ended(Option<i32>),
    /// It was stopped.
    Stopped,
}

impl Tasks {
    /// Those that run.
    pub fn running(&self) -> Vec<Task> {
        lock(&self.shared.state).running.iter().map(|(task, _)| task.clone()).collect()
    }

    /// Stops a task and all that it started. False if there is none of that name.
    pub fn stop(&self, id: &str) -> bool {
        let stopped = self.take(id, TaskStatus::Stopped);
        stopped.inspect(AbortHandle::abort).is_some()
    }

    /// Stops them all.
    pub fn stop_all(&self) {
        for task in self.running() {
            self.stop(&task.id);
        }
    }

    /// The next task that has ended or was stopped. Each is told once.
    pub async fn next_ended(&self) -> Task {
        loop {
            let changed = self.shared.changed.notified();
            if let Some(task) = lock(&self.shared.state).ended.pop_front() {
                return task;
            }
            changed.await;
        }
    }

    /// A task that may be started: a name and a file.
    pub(super) fn plan(
        &self,
        folder: &std::path::Path,
        command: &str,
        description: Option<String>,
    ) -> Result<Task, TooManyTasks> {
        if lock(&self.shared.state).running.len() >= MAX_RUNNING {
            return Err(TooManyTasks);
        }
        let id = name('b');
        Ok(Task {
            output_file: folder.join(format!("{id}.output")),
            id,
            command: command.to_owned(),
            description,
            tool_use_id: None,
            status: TaskStatus::Running,
        })
    }

    /// Lets a group run in the background. It is killed when its task is stopped, and when nobody
    /// holds the tasks any more.
    pub(super) fn watch(&self, task: Task, mut group: Group, mut capture: Capture) {
        let id = task.id.clone();
        // The running task must not keep the tasks alive: they are what ends it.
        let shared = Arc::downgrade(&self.shared);
        let mut pipe = group.stdout();
        let mut state = lock(&self.shared.state);
        let worker = tokio::spawn(async move {
            let status = capture.until_exit(&mut group, &mut pipe).await;
            if let Some(shared) = shared.upgrade() {
                let code = status.ok().and_then(|status| status.code());
                Self { shared }.take(&id, TaskStatus::Ended(code));
            }
        });
        state.running.push((task, worker.abort_handle()));
    }

    fn take(&self, id: &str, status: TaskStatus) -> Option<AbortHandle> {
        let mut state = lock(&self.shared.state);
        let index = state.running.iter().position(|(task, _)| task.id == id)?;
        let (mut task, worker) = state.running.remove(index);
        task.status = status;
        if state.ended.len() == MAX_ENDED {
            state.ended.pop_front();
        }
        state.ended.push_back(task);
        drop(state);
        self.shared.changed.notify_one();
        Some(worker)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for (_, worker) in &lock(&self.state).running {
            worker.abort();
        }
    }
}
