//! [`Process`], which owns an agent, and [`Control`], which tasks share.

use std::future::poll_fn;
use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time;

use super::child::Slot;
use super::group::{self, Signal};
use super::ladder::{ExitReport, Ladder, Rung};
use super::spawn::Files;
use super::stderr::Tail;

/// How long stderr and the group may take to end once the leader has.
const SETTLE: Duration = Duration::from_millis(200);

/// How long a drop may take to reap what it killed.
const DROP: Duration = Duration::from_millis(100);

/// An agent's process. Dropped, it kills the whole group.
#[derive(Debug)]
pub(crate) struct Process {
    control: Control,
}

/// What can be done to a process, from any task. Clones share it, and keep nothing alive.
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
    /// The plan's files, which go with the process.
    files: Mutex<Option<Files>>,
}

/// What a process begins with.
pub(super) struct Beginning {
    pub(super) pid: u32,
    pub(super) slot: Slot,
    pub(super) tail: Tail,
    pub(super) drain: JoinHandle<()>,
    pub(super) unguarded: Option<String>,
    pub(super) files: Option<Files>,
}

impl Process {
    /// Watches over a process from now on. Needs a runtime.
    pub(super) fn new(begin: Beginning) -> Self {
        let Beginning { pid, slot, tail, drain, unguarded, files } = begin;
        let (slot, files) = (Mutex::new(slot), Mutex::new(files));
        let shared = Arc::new(Shared { pid, slot, tail, unguarded, files });
        let (sender, ended) = watch::channel(None);
        tokio::spawn(supervise(Arc::clone(&shared), drain, sender));
        Self { control: Control { shared, ended } }
    }

    /// For other tasks.
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
    /// Kills and reaps without a runtime. The little wait is bounded: what takes longer is left to
    /// the task that waits for the end, or to tokio, which reaps orphans when it next can.
    fn drop(&mut self) {
        let shared = &self.control.shared;
        shared.slot().kill();
        let until = Instant::now() + DROP;
        let mut pause = Duration::from_micros(100);
        while !shared.slot().try_reap() && Instant::now() < until {
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
        shared.remove_files();
    }
}

impl Control {
    /// The number of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.shared.pid
    }

    /// The number of its group: the same, since it leads that.
    #[cfg(test)]
    pub(crate) fn group(&self) -> u32 {
        self.shared.pid
    }

    /// Why the agent would outlive a host that is killed; `None` if it would not.
    pub(crate) fn unguarded(&self) -> Option<&str> {
        self.shared.unguarded.as_deref()
    }

    /// The last lines of stderr, for an error message: at most some 2 KiB. Complete once
    /// [`exited`](Self::exited) has returned.
    pub(crate) fn tail(&self) -> String {
        self.shared.tail.shown()
    }

    /// All of stderr that is kept: the last 64 KiB.
    pub(crate) fn stderr(&self) -> String {
        self.shared.tail.all()
    }

    /// How it ended, if it has.
    #[cfg(test)]
    pub(crate) fn exited_now(&self) -> Option<ExitReport> {
        *self.ended.borrow()
    }

    /// Waits for the end, of the process itself and of its group and stderr. Any number of tasks
    /// may, and may give up.
    pub(crate) async fn exited(&self) -> ExitReport {
        let report = self.report().await;
        report.unwrap_or_else(|| self.unknown())
    }

    /// `None` if the runtime that watched the process is no more.
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

    /// Says that its stdin is about to be closed: from now on, it goes because it was asked to.
    pub(crate) fn asked_to_go(&self) {
        self.shared.slot().climb(Rung::Stdin);
    }

    /// Kills the whole group at once. Needs no runtime.
    pub(crate) fn kill(&self) {
        self.shared.slot().kill();
    }

    /// Ends it. Its stdin must be closed already, or the first grace is in vain. If time passes
    /// between the two, say so with [`asked_to_go`](Self::asked_to_go) before it is closed.
    ///
    /// May be called again and from several tasks: each step is taken once or has no effect. Given
    /// up half-way, it has done half of it.
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

    /// Waits until nothing of the group is left, and says whether that is so.
    async fn group_ends(&self) -> bool {
        let until = time::Instant::now() + SETTLE;
        let mut pause = Duration::from_millis(1);
        while group::exists(self.pid) {
            // To tell the dead from the living means to read all of `/proc`: not at once.
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

/// Waits for the end and tells it.
async fn supervise(
    shared: Arc<Shared>,
    mut drain: JoinHandle<()>,
    ended: watch::Sender<Option<ExitReport>>,
) {
    let status = poll_fn(|context| shared.slot().poll_exit(context)).await;
    let rung = shared.slot().rung();
    // Who left the group may hold stderr open, for as long as it likes.
    let drained = async {
        if time::timeout(SETTLE, &mut drain).await.is_err() {
            drain.abort();
        }
    };
    let (gone, ()) = tokio::join!(shared.group_ends(), drained);
    shared.remove_files();
    ended.send_replace(Some(ExitReport::new(status, rung, gone)));
}
