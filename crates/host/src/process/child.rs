//! [`Slot`]: the child, behind a lock, so that no signal goes to an id that the system has reused.

use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::task::{Context, Poll, Waker};

use tokio::process::Child;

use super::group::{self, Signal};
use super::guard::Guarded;
use super::ladder::Rung;
use super::tree::Strays;

/// The child. It leads the process group with its id.
#[derive(Debug)]
pub(super) struct Slot {
    child: Child,
    pid: u32,
    /// The system may have reused the id.
    reaped: bool,
    /// The rest of the group was killed.
    cleared: bool,
    /// The last step that was taken to end it.
    rung: Rung,
    guarded: Option<Guarded>,
    /// The descendants outside of the group, found when the group got TERM.
    strays: Strays,
    /// The task that waits for the exit.
    waiting: Option<Waker>,
}

impl Slot {
    pub(super) const fn new(child: Child, pid: u32, guarded: Option<Guarded>) -> Self {
        Self {
            child,
            pid,
            reaped: false,
            cleared: false,
            rung: Rung::Unasked,
            guarded,
            strays: Strays::none(),
            waiting: None,
        }
    }

    pub(super) const fn rung(&self) -> Rung {
        self.rung
    }

    /// Notes that a step was taken. Steps after reaping do not count.
    pub(super) fn climb(&mut self, rung: Rung) {
        if !self.reaped {
            self.rung = self.rung.max(rung);
        }
    }

    /// Signals the child alone.
    pub(super) fn signal_child(&mut self, signal: Signal) -> io::Result<()> {
        if self.reaped {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the agent has ended"));
        }
        group::signal_process(self.pid, signal)
    }

    /// Sends TERM to the group.
    pub(super) fn terminate(&mut self) {
        self.climb(Rung::Term);
        if !self.reaped {
            // After its exit, the descendants can no longer be found.
            self.strays = Strays::of(self.pid);
            let _ = group::signal_group(self.pid, Signal::Term);
        }
    }

    /// Kills the group, the child even if it has left the group, and its other descendants.
    pub(super) fn kill(&mut self) {
        if self.reaped {
            return;
        }
        // If the child has already exited, only its group is killed.
        if !group::awaits_reaping(self.pid) {
            self.climb(Rung::Kill);
        }
        let strays = Strays::of(self.pid);
        let _ = group::signal_group(self.pid, Signal::Kill);
        let _ = self.child.start_kill();
        strays.kill();
    }

    /// Waits for the child, kills the rest of its group, and reaps the child, in this order: its id is not reused
    /// before it is reaped.
    ///
    /// If the child exits between the first two steps, it is reaped microseconds before the group is killed. The
    /// system would have to use all other ids in that time to reuse this one.
    pub(super) fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<Option<ExitStatus>> {
        if !self.reaped && group::awaits_reaping(self.pid) {
            self.clear();
        }
        // The future keeps its state in the child, so it can be created again for each poll.
        let polled = pin!(self.child.wait()).poll(context);
        if polled.is_ready() {
            self.clear();
            self.reaped = true;
        } else {
            self.waiting = Some(context.waker().clone());
        }
        polled.map(Result::ok)
    }

    /// Reaps the child if it has ended. Needs no runtime.
    pub(super) fn try_reap(&mut self) -> bool {
        if !self.reaped && !matches!(self.child.try_wait(), Ok(None)) {
            self.clear();
            self.reaped = true;
            // Tokio does not wake the task for a child that was reaped here.
            if let Some(waiting) = self.waiting.take() {
                waiting.wake();
            }
        }
        self.reaped
    }

    /// Kills the rest of the group after the child's exit, and the descendants outside of the group if the child
    /// got a signal. The group needs no guard any more.
    fn clear(&mut self) {
        if !self.cleared && !self.reaped {
            self.cleared = true;
            let _ = group::signal_group(self.pid, Signal::Kill);
            self.strays.kill();
        }
        self.guarded = None;
    }
}
