//! [`Process`], the owner of a process, and [`Control`], the handle that tasks share.

use std::future::poll_fn;
use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time;

use crate::timeouts::{DROP_WAIT, EXIT_SETTLE};

use super::child::Slot;
use super::group::{self, Signal};
use super::ladder::{ExitReport, Ladder, Rung};
use super::spawn::Files;
use super::stderr::Tail;
use super::tree;

/// An agent's process. Dropping it kills the whole group.
#[derive(Debug)]
pub(crate) struct Process {
    control: Control,
}

/// A handle to a process, for any task. Clones do not keep the process alive.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    shared: Arc<Shared>,
    ended: watch::Receiver<Option<ExitReport>>,
}

#[derive(Debug)]
struct Shared {
    pid: u32,
    slot: Mutex<Slot>,
    tail: Tail,
    unguarded: Option<String>,
    /// The plan's files. They are removed with the process.
    files: Mutex<Option<Files>>,
}

/// The parts of a new process.
pub(super) struct Beginning {
    pub(super) pid: u32,
    pub(super) slot: Slot,
    pub(super) tail: Tail,
    pub(super) drain: JoinHandle<()>,
    pub(super) unguarded: Option<String>,
    pub(super) files: Option<Files>,
}

impl Process {
    /// Starts to wait for the exit. Needs a runtime.
    pub(super) fn new(begin: Beginning) -> Self {
        let Beginning { pid, slot, tail, drain, unguarded, files } = begin;
        let (slot, files) = (Mutex::new(slot), Mutex::new(files));
        let shared = Arc::new(Shared { pid, slot, tail, unguarded, files });
        let (sender, ended) = watch::channel(None);
        tokio::spawn(supervise(Arc::clone(&shared), drain, sender));
        Self { control: Control { shared, ended } }
    }

    /// A handle for other tasks.
    pub(crate) fn control(&self) -> Control {
        self.control.clone()
    }
}

impl Deref for Process {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl Drop for Process {
    /// Kills and reaps without a runtime. The wait is short: after that, the task that waits for the exit reaps
    /// it, or tokio does.
    fn drop(&mut self) {
        let shared = &self.control.shared;
        shared.slot().kill();
        let until = Instant::now() + DROP_WAIT;
        let mut pause = Duration::from_micros(100);
        while !shared.slot().try_reap() && Instant::now() < until {
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
        shared.remove_files();
    }
}

impl Control {
    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.shared.pid
    }

    /// The id of its group, which it leads.
    #[cfg(test)]
    pub(crate) fn group(&self) -> u32 {
        self.shared.pid
    }

    /// The resident memory of the process group, in bytes; `None` where there is no `/proc`.
    pub(crate) fn memory(&self) -> Option<u64> {
        tree::memory(self.shared.pid)
    }

    /// Why the agent would survive if the host is killed; `None` if it would not.
    pub(crate) fn unguarded(&self) -> Option<&str> {
        self.shared.unguarded.as_deref()
    }

    /// The last lines of stderr, at most about 2 KiB, for error messages. Complete once
    /// [`exited`](Self::exited) has returned.
    pub(crate) fn tail(&self) -> String {
        self.shared.tail.shown()
    }

    /// The last 64 KiB of stderr.
    pub(crate) fn stderr(&self) -> String {
        self.shared.tail.all()
    }

    /// The exit report, if the process has exited.
    #[cfg(test)]
    pub(crate) fn exited_now(&self) -> Option<ExitReport> {
        *self.ended.borrow()
    }

    /// Waits until the process has exited and its group and stderr have ended. Cancel safe.
    pub(crate) async fn exited(&self) -> ExitReport {
        let report = self.report().await;
        report.unwrap_or_else(|| self.unknown())
    }

    /// `None` if the runtime that waited for the process has ended.
    async fn report(&self) -> Option<ExitReport> {
        let mut ended = self.ended.clone();
        ended.wait_for(Option::is_some).await.ok().and_then(|report| *report)
    }

    fn unknown(&self) -> ExitReport {
        ExitReport::new(None, self.shared.slot().rung(), false)
    }

    /// Signals the process alone, not its group.
    ///
    /// # Errors
    /// If it has ended.
    pub(crate) fn signal_child(&self, signal: Signal) -> io::Result<()> {
        self.shared.slot().signal_child(signal)
    }

    /// Notes that its stdin is about to be closed, so that its exit counts as requested.
    pub(crate) fn asked_to_go(&self) {
        self.shared.slot().climb(Rung::Stdin);
    }

    /// Kills the whole group at once. Needs no runtime.
    pub(crate) fn kill(&self) {
        self.shared.slot().kill();
    }

    /// Ends the process step by step. Its stdin must be closed already, or the first grace period has no effect.
    /// Call [`asked_to_go`](Self::asked_to_go) before stdin is closed if time passes in between.
    ///
    /// Several tasks may call it: each step is taken once. If the future is dropped, the remaining steps are not
    /// taken.
    pub(crate) async fn end(&self, ladder: Ladder) -> ExitReport {
        self.asked_to_go();
        if let Some(report) = self.exits_within(ladder.stdin_grace).await {
            return report;
        }
        if !ladder.term_grace.is_zero() {
            self.shared.slot().terminate();
            if let Some(report) = self.exits_within(ladder.term_grace).await {
                return report;
            }
        }
        self.shared.slot().kill();
        let last = self.exits_within(ladder.kill_wait).await;
        last.unwrap_or_else(|| self.unknown())
    }

    async fn exits_within(&self, grace: Duration) -> Option<ExitReport> {
        time::timeout(grace, self.report()).await.ok().flatten()
    }
}

impl Shared {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove_files(&self) {
        drop(self.files.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Waits until the group is empty. Returns false if that takes too long.
    async fn group_ends(&self) -> bool {
        let until = time::Instant::now() + EXIT_SETTLE;
        let mut pause = Duration::from_millis(1);
        while group::exists(self.pid) {
            // Finding zombies means reading all of `/proc`, so not on the first attempts.
            if pause > Duration::from_millis(8) && !group::lives(self.pid) {
                return true;
            }
            if time::Instant::now() >= until {
                return false;
            }
            time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(32));
        }
        true
    }
}

/// Waits for the exit and reports it.
async fn supervise(
    shared: Arc<Shared>,
    mut drain: JoinHandle<()>,
    ended: watch::Sender<Option<ExitReport>>,
) {
    let status = poll_fn(|context| shared.slot().poll_exit(context)).await;
    let rung = shared.slot().rung();
    // A process that has left the group may keep stderr open.
    let drained = async {
        if time::timeout(EXIT_SETTLE, &mut drain).await.is_err() {
            drain.abort();
        }
    };
    let (gone, ()) = tokio::join!(shared.group_ends(), drained);
    shared.remove_files();
    ended.send_replace(Some(ExitReport::new(status, rung, gone)));
}
