//! Signals to processes and process groups.

use std::io;

use rustix::process::{
    Pid, WaitId, WaitIdOptions, kill_process, kill_process_group, test_kill_process_group, waitid,
};

use super::tree;

/// A signal that this crate sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// What Ctrl-C sends.
    Int,
    Term,
    Kill,
}

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Int => Self::INT,
            Signal::Term => Self::TERM,
            Signal::Kill => Self::KILL,
        }
    }
}

/// The id as a `Pid`, if it names one process or group: `kill` treats 0 and 1 differently.
fn pid(number: u32) -> io::Result<Pid> {
    let number = i32::try_from(number).ok().filter(|number| *number > 1);
    number.and_then(Pid::from_raw).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Signals every process of the group.
pub(super) fn signal_group(group: u32, signal: Signal) -> io::Result<()> {
    Ok(kill_process_group(pid(group)?, signal.into())?)
}

/// Signals one process.
pub(super) fn signal_process(number: u32, signal: Signal) -> io::Result<()> {
    Ok(kill_process(pid(number)?, signal.into())?)
}

/// Whether our child has ended and is not reaped. Does not reap it.
pub(super) fn awaits_reaping(number: u32) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    pid(number).is_ok_and(|pid| matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_))))
}

/// Whether the group has a member, including zombies.
pub(super) fn exists(group: u32) -> bool {
    pid(group).is_ok_and(|group| test_kill_process_group(group) != Err(rustix::io::Errno::SRCH))
}

/// Whether a member of the group is alive. In a container whose first process does not reap orphans, a group
/// may have zombies for ever. Without `/proc`, zombies count as alive.
pub(super) fn lives(group: u32) -> bool {
    if !exists(group) {
        return false;
    }
    let Some(mut members) = tree::members(group) else { return true };
    members.any(|stat| stat.lives)
}
