//! [`Slot`]: the child, behind a lock, so that nobody signals a number that is no longer its own.

use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::task::{Context, Poll, Waker};

use tokio::process::Child;

use super::group::{self, Signal};
use super::guard::Guarded;
use super::ladder::Rung;
use super::tree::Strays;

/// The child, which leads the group of its number.
#[derive(Debug)]
pub(super) struct Slot {
    child: Child,
    pid: u32,
    /// Its number may belong to somebody else now.
    reaped: bool,
    /// The rest of the group was killed.
    cleared: bool,
    /// What it took so far.
    rung: Rung,
    guarded: Option<Guarded>,
    /// Who descended from it when it was asked to end by a signal, and had left the group.
    strays: Strays,
    /// Who waits for the end.
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

    /// The next step was taken. Once the child is reaped, none was needed.
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
        if cfg!(not(unix)) && signal == Signal::Kill {
            return self.child.start_kill();
        }
        group::signal_process(self.pid, signal)
    }

    /// Asks the group to end.
    pub(super) fn terminate(&mut self) {
        self.climb(Rung::Term);
        if !self.reaped {
            // Once it has ended, nobody can tell whose they were.
            self.strays = Strays::of(self.pid);
            let _ = group::signal_group(self.pid, Signal::Term);
        }
    }

    /// Kills the group, the child even if it left that, and what else descends from it.
    pub(super) fn kill(&mut self) {
        if self.reaped {
            return;
        }
        // One that has ended already needed no killing, only its group.
        if !group::awaits_reaping(self.pid) {
            self.climb(Rung::Kill);
        }
        let strays = Strays::of(self.pid);
        let _ = group::signal_group(self.pid, Signal::Kill);
        let _ = self.child.start_kill();
        strays.kill();
    }

    /// Waits for the child, kills what is left of its group, and reaps it: in this order, for its
    /// number is its own until it is reaped.
    ///
    /// If the child ends between the first two steps, it is reaped before the group is killed, by
    /// microseconds. The system would have to give out every other number first to use it again.
    pub(super) fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<Option<ExitStatus>> {
        if !self.reaped && group::awaits_reaping(self.pid) {
            self.clear();
        }
        // What this future knows is in the child: it may be made anew each time.
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
            // Tokio does not: to it, a child that was reaped here has no more news.
            if let Some(waiting) = self.waiting.take() {
                waiting.wake();
            }
        }
        self.reaped
    }

    /// The child has ended: its group does too, and needs no guard any more. One that had to be signalled
    /// takes along whoever left the group.
    fn clear(&mut self) {
        if !self.cleared && !self.reaped {
            self.cleared = true;
            let _ = group::signal_group(self.pid, Signal::Kill);
            self.strays.kill();
        }
        self.guarded = None;
    }
}
