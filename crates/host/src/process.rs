//! The agent as a process: started, watched, ended, and never left behind.
//!
//! [`Spawn`] starts one, in a process group of its own. A task drains its stderr from before the
//! first write, and another waits for its end and tells everybody who asked. [`Process`] owns it:
//! dropped, it kills the group, with or without a runtime. [`Control`] is what tasks share.
//!
//! # What holds
//!
//! - When the leader is gone, what is left of its group is killed at once: nobody is there any more
//!   to whom it could be of use, and its pipes would keep a reader waiting.
//! - A signal is only sent while the leader is not reaped yet. Until then the number of the group
//!   cannot be given to anybody else.
//! - Every wait is bounded, except that for the end itself.
//!
//! The runtime needs its I/O and its clock (`enable_all`).

mod child;
mod control;
mod error;
mod group;
mod guard;
mod ladder;
mod spawn;
mod stderr;
mod tree;

#[cfg(all(test, unix))]
mod tests;

pub use error::SpawnError;
pub use ladder::{ExitReport, Ladder, Rung};

pub(crate) use {
    control::{Control, Process},
    group::Signal,
    spawn::{Spawn, Started},
};
