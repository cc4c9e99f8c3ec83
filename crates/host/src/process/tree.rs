//! Descendants that left the group.
//!
//! An agent may start its tools in sessions of their own, so that KILL to its group misses them, and
//! only it knows to end them. Where `/proc` tells who descends from whom, they are found before the
//! agent is killed. Afterwards nobody can: an orphan's parent is the first process.

use std::collections::BTreeSet;

use super::group::{Signal, signal_group, signal_process};

/// More than this would be no agent, but a mistake of ours.
const MOST: usize = 10_000;

/// What `/proc` tells of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) lives: bool,
    pub(super) group: u32,
}

/// `None` if there is no such process, or no `/proc`.
pub(super) fn stat(pid: u32) -> Option<Stat> {
    parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// `12 (a name) S 1 34 …`: the name may hold anything, also parentheses and newlines.
fn parse(stat: &[u8]) -> Option<Stat> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = String::from_utf8_lossy(stat.get(end + 1..)?);
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let _parent = fields.next()?;
    let group = fields.next()?.parse().ok()?;
    Some(Stat { lives: !matches!(state, "Z" | "X"), group })
}

/// The descendants of a leader that are not in its group.
#[derive(Debug, Default)]
pub(super) struct Strays {
    groups: BTreeSet<u32>,
    others: BTreeSet<u32>,
}

impl Strays {
    /// Looks for them.
    pub(super) fn of(leader: u32) -> Self {
        let descendants = descendants(leader);
        let mut strays = Self::default();
        for &pid in &descendants {
            let Some(stat) = stat(pid) else { continue };
            if stat.group == leader {
                continue;
            }
            // A group that one of them leads is theirs as a whole. One that they joined may be
            // anybody's, even our own.
            if descendants.contains(&stat.group) {
                strays.groups.insert(stat.group);
            } else {
                strays.others.insert(pid);
            }
        }
        strays
    }

    /// Kills them.
    pub(super) fn kill(&self) {
        for &group in &self.groups {
            let _ = signal_group(group, Signal::Kill);
        }
        for &pid in &self.others {
            let _ = signal_process(pid, Signal::Kill);
        }
    }
}

fn descendants(leader: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open = vec![leader];
    while let Some(pid) = open.pop() {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for thread in threads.flatten() {
            let children = std::fs::read_to_string(thread.path().join("children"));
            let children = children.unwrap_or_default();
            for child in children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()) {
                if found.len() < MOST && child != leader && found.insert(child) {
                    open.push(child);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = parse(b"12 (a) S 1 2 (\n) Z 1 34 34 0").unwrap();
        assert_eq!(stat, Stat { lives: false, group: 34 });
        assert_eq!(parse(b"12 (cut"), None);
        assert_eq!(parse(b"12 (cut) S"), None);
    }
}
