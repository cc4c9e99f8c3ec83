//! What runs in the background.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use thiserror::Error;
use tokio::process::ChildStdout;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::context::lock;
use super::persist::name;
use super::process::{Capture, Group};

/// How many tasks may run at once.
const MAX_RUNNING: usize = 64;

/// How many ended tasks wait to be reported.
const MAX_ENDED: usize = 256;

/// There are too many background tasks.
#[derive(Clone, Copy, Debug, Error)]
#[error("there are {MAX_RUNNING} background tasks already: stop one first")]
#[non_exhaustive]
pub struct TooManyShellTasks;

/// What runs in the background. Clones share it; when the last is gone, so are the tasks.
#[derive(Clone, Debug, Default)]
pub struct ShellTasks {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    running: Vec<(ShellTask, AbortHandle)>,
    /// Commands in the foreground, each with the signal that sends it to the background.
    foreground: Vec<(ShellTask, Arc<Notify>)>,
    ended: VecDeque<ShellTask>,
}

/// A command in the background.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ShellTask {
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
    /// Its status.
    pub status: ShellTaskStatus,
}

/// The status of a background task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShellTaskStatus {
    /// It runs.
    Running,
    /// It ended, with this exit code; none if a signal ended it.
    Ended(Option<i32>),
    /// It was stopped.
    Stopped,
}

impl ShellTasks {
    /// Those that run.
    pub fn running(&self) -> Vec<ShellTask> {
        lock(&self.shared.state).running.iter().map(|(task, _)| task.clone()).collect()
    }

    /// Commands that are being waited for.
    pub fn in_foreground(&self) -> Vec<ShellTask> {
        lock(&self.shared.state).foreground.iter().map(|(task, _)| task.clone()).collect()
    }

    /// Sends a command from the foreground to the background; its call then ends. The
    /// name is the task's or the call's. False if it does not exist, or there is no room.
    pub fn send_to_background(&self, name: &str) -> bool {
        let state = lock(&self.shared.state);
        let named = |task: &ShellTask| task.id == name || task.tool_use_id.as_deref() == Some(name);
        let found = state.foreground.iter().find(|(task, _)| named(task));
        let room = state.running.len() < MAX_RUNNING;
        found.filter(|_| room).inspect(|(_, sign)| sign.notify_one()).is_some()
    }

    /// Notes a command that is waited for, as long as the answer lives.
    pub(super) fn wait_for(&self, task: &ShellTask) -> Foreground {
        let sign = Arc::new(Notify::new());
        lock(&self.shared.state).foreground.push((task.clone(), Arc::clone(&sign)));
        Foreground { tasks: self.clone(), id: task.id.clone(), sign }
    }

    /// Stops a task and all that it started. False if it does not exist.
    pub fn stop(&self, id: &str) -> bool {
        let stopped = self.take(id, ShellTaskStatus::Stopped);
        stopped.inspect(AbortHandle::abort).is_some()
    }

    /// Stops them all.
    pub fn stop_all(&self) {
        for task in self.running() {
            self.stop(&task.id);
        }
    }

    /// The next task that has ended or was stopped. Each is returned once.
    pub async fn next_ended(&self) -> ShellTask {
        loop {
            let changed = self.shared.changed.notified();
            if let Some(task) = lock(&self.shared.state).ended.pop_front() {
                return task;
            }
            changed.await;
        }
    }

    /// A task that is not started yet: a name and a file.
    pub(super) fn plan(
        folder: &Path,
        command: &str,
        description: Option<&str>,
        tool_use_id: Option<&str>,
    ) -> ShellTask {
        let id = name('b');
        ShellTask {
            output_file: folder.join(format!("{id}.output")),
            id,
            command: command.to_owned(),
            description: description.map(str::to_owned),
            tool_use_id: tool_use_id.map(str::to_owned),
            status: ShellTaskStatus::Running,
        }
    }

    /// Whether another task may run.
    pub(super) fn room(&self) -> Result<(), TooManyShellTasks> {
        let running = lock(&self.shared.state).running.len();
        if running < MAX_RUNNING { Ok(()) } else { Err(TooManyShellTasks) }
    }

    /// Lets a group run in the background. It is killed when its task is stopped, and when nobody
    /// holds the tasks any more.
    pub(super) fn watch(
        &self,
        task: ShellTask,
        mut group: Group,
        mut pipe: Option<ChildStdout>,
        mut capture: Capture,
        limit: Duration,
    ) {
        let id = task.id.clone();
        // The running task must not keep the tasks alive: they are what ends it.
        let shared = Arc::downgrade(&self.shared);
        let mut state = lock(&self.shared.state);
        let worker = tokio::spawn(async move {
            let ended = timeout(limit, capture.until_exit(&mut group, &mut pipe)).await;
            let status = match ended {
                Ok(status) => ShellTaskStatus::Ended(status.ok().and_then(|status| status.code())),
                Err(_) => {
                    group.stop().await;
                    ShellTaskStatus::Stopped
                }
            };
            if let Some(shared) = shared.upgrade() {
                Self { shared }.take(&id, status);
            }
        });
        state.running.push((task, worker.abort_handle()));
    }

    fn take(&self, id: &str, status: ShellTaskStatus) -> Option<AbortHandle> {
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

/// A command that is waited for.
#[derive(Debug)]
pub(super) struct Foreground {
    tasks: ShellTasks,
    id: String,
    sign: Arc<Notify>,
}

impl Foreground {
    /// Waits for the signal to go to the background.
    pub(super) async fn let_go(&self) {
        self.sign.notified().await;
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        lock(&self.tasks.shared.state).foreground.retain(|(task, _)| task.id != self.id);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for (_, worker) in &lock(&self.state).running {
            worker.abort();
        }
    }
}
