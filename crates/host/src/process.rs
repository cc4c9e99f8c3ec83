//! The agent's process, from start to reaping.
//!
//! [`Spawn`] starts it in a process group of its own. One task reads its stderr from the start, another waits
//! for its exit and reports it. [`Process`] owns it: dropping it kills the group, with or without a runtime.
//! [`Control`] is the handle that tasks share.
//!
//! # Invariants
//!
//! - When the leader has exited, the rest of its group is killed at once. It is of no use without the leader,
//!   and its open pipes would keep a reader waiting.
//! - A signal is only sent before the leader is reaped. Until then the system cannot reuse the group's id.
//! - Every wait is bounded, except the wait for the exit itself.
//!
//! The runtime needs I/O and time (`enable_all`). Unix only.

mod child;
mod control;
mod error;
mod group;
mod guard;
mod ladder;
mod spawn;
mod stderr;
mod tree;
mod user;

#[cfg(test)]
mod tests;

pub use error::SpawnError;
pub use ladder::{ExitReport, Ladder, Rung};
pub use user::OsUser;

pub(crate) use {
    control::{Control, Process},
    group::Signal,
    spawn::{Spawn, Started},
};
