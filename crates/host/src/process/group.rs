//! Process groups, as the system knows them.

/// What can be told to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// As Ctrl-C does.
    Int,
    /// Please end.
    Term,
    /// The end.
    Kill,
}

#[cfg(unix)]
pub(super) use unix::*;

#[cfg(not(unix))]
pub(super) use other::*;

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::process::{
        Pid, WaitId, WaitIdOptions, kill_process, kill_process_group, test_kill_process_group,
        waitid,
    };

    use super::Signal;

    impl From<Signal> for rustix::process::Signal {
        fn from(signal: Signal) -> Self {
            match signal {
                Signal::Int => Self::INT,
                Signal::Term => Self::TERM,
                Signal::Kill => Self::KILL,
            }
        }
    }

    /// The number, if it is that of one process: 0 and 1 mean other things to `kill`.
    fn proper(number: u32) -> io::Result<Pid> {
        let number = i32::try_from(number).ok().filter(|number| *number > 1);
        number.and_then(Pid::from_raw).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    /// Signals every process of the group.
    pub(in crate::process) fn signal_group(group: u32, signal: Signal) -> io::Result<()> {
        Ok(kill_process_group(proper(group)?, signal.into())?)
    }

    /// Signals one process.
    pub(in crate::process) fn signal_process(pid: u32, signal: Signal) -> io::Result<()> {
        Ok(kill_process(proper(pid)?, signal.into())?)
    }

    /// Whether our child has ended and waits to be reaped, which it still does afterwards.
    pub(in crate::process) fn awaits_reaping(pid: u32) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        proper(pid).is_ok_and(|pid| matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_))))
    }

    /// Whether the group has a member, be it a dead one that nobody has reaped.
    pub(in crate::process) fn exists(group: u32) -> bool {
        proper(group)
            .is_ok_and(|group| test_kill_process_group(group) != Err(rustix::io::Errno::SRCH))
    }

    /// Whether a member of the group lives. In a container whose first process reaps nobody, a
    /// group may have dead members for ever. Where there is no `/proc` they count as living.
    pub(in crate::process) fn lives(group: u32) -> bool {
        if !exists(group) {
            return false;
        }
        let Ok(entries) = std::fs::read_dir("/proc") else { return true };
        let mut seen = false;
        for entry in entries.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let Some(stat) = super::super::tree::stat(pid) else { continue };
            seen = true;
            if stat.group == group && stat.lives {
                return true;
            }
        }
        !seen
    }
}

/// Elsewhere there are no groups, and a child is killed by its handle: see `child.rs`. This compiles
/// for such systems but has never run on one. A Windows job object would end grandchildren too; it
/// needs `unsafe` or a crate for it.
#[cfg(not(unix))]
mod other {
    use std::io;

    use super::Signal;

    pub(in crate::process) fn signal_group(_: u32, _: Signal) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::process) fn signal_process(_: u32, _: Signal) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::process) fn awaits_reaping(_: u32) -> bool {
        false
    }

    pub(in crate::process) fn exists(_: u32) -> bool {
        false
    }

    pub(in crate::process) fn lives(_: u32) -> bool {
        false
    }
}
