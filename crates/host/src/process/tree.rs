//! Descendants that left the group.
//!
//! An agent may start its tools in sessions of their own, so that KILL to its group misses them, and
//! only it knows to end them. Where `/proc` tells who descends from whom, they are found before the
//! agent is signalled. Afterwards nobody can: an orphan's parent is the first process.

use std::collections::BTreeSet;

use super::group::{Signal, signal_group, signal_process};

/// More than this would be no agent, but a mistake of ours.
const MOST: usize = 10_000;

/// What `/proc` tells of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) lives: bool,
    pub(super) group: u32,
    /// When it started: a number that is used again has another one.
    started: u64,
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
    // It is the 22nd, and this was the fifth.
    let started = fields.nth(16)?.parse().ok()?;
    Some(Stat { lives: !matches!(state, "Z" | "X"), group, started })
}

/// The descendants of a leader that are not in its group.
#[derive(Debug)]
pub(super) struct Strays(Vec<Stray>);

#[derive(Debug)]
struct Stray {
    pid: u32,
    started: u64,
    /// The group it is in, if that is theirs as a whole.
    group: Option<u32>,
}

impl Strays {
    /// Nobody.
    pub(super) const fn none() -> Self {
        Self(Vec::new())
    }

    /// Looks for them.
    pub(super) fn of(leader: u32) -> Self {
        let descendants = descendants(leader);
        let mut strays = Vec::new();
        for &pid in &descendants {
            let Some(stat) = stat(pid) else { continue };
            if stat.group == leader {
                continue;
            }
            // A group that one of them leads is theirs. One that they joined may be anybody's, even
            // our own.
            let group = descendants.contains(&stat.group).then_some(stat.group);
            strays.push(Stray { pid, started: stat.started, group });
        }
        Self(strays)
    }

    /// Kills those who are still who they were.
    pub(super) fn kill(&self) {
        for stray in &self.0 {
            let now = stat(stray.pid);
            if now.is_none_or(|stat| stat.started != stray.started) {
                continue;
            }
            let _ = match stray.group {
                Some(group) => signal_group(group, Signal::Kill),
                None => signal_process(stray.pid, Signal::Kill),
            };
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
        let rest = "34 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 567 8 9";
        let stat = parse(format!("12 (a) S 1 2 (\n) Z 1 34 {rest}").as_bytes()).unwrap();
        assert_eq!(stat, Stat { lives: false, group: 34, started: 567 });
        assert_eq!(parse(b"12 (cut"), None);
        assert_eq!(parse(b"12 (cut) S"), None);
    }
}
