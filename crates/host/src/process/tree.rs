//! What `/proc` says about processes: descendants that have left the group, and the memory of a group.
//!
//! An agent may start its tools in sessions of their own, so that KILL to its group misses them. Where `/proc`
//! exists, they are found before the agent gets a signal. Afterwards that is not possible: the parent of an
//! orphan is the first process.

use std::collections::BTreeSet;

use super::group::{Signal, signal_group, signal_process};

/// A bound on the search.
const MOST: usize = 10_000;

/// The part of `/proc/<pid>/stat` that is used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) lives: bool,
    pub(super) group: u32,
    /// Resident memory, in pages.
    pages: u64,
    /// When it started, which differs if the id is reused.
    started: u64,
}

/// `None` if there is no such process, or no `/proc`.
pub(super) fn stat(pid: u32) -> Option<Stat> {
    parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// `12 (a name) S 1 34 …`: the name may contain anything, including parentheses and newlines.
fn parse(stat: &[u8]) -> Option<Stat> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = String::from_utf8_lossy(stat.get(end + 1..)?);
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let _parent = fields.next()?;
    let group = fields.next()?.parse().ok()?;
    // The group was field 5. `starttime` is field 22 and `rss` field 24.
    let started = fields.nth(16)?.parse().ok()?;
    let pages = fields.nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    Some(Stat { lives: !matches!(state, "Z" | "X"), group, pages, started })
}

/// The processes of a group; `None` if there is no `/proc`.
pub(super) fn members(group: u32) -> Option<impl Iterator<Item = Stat>> {
    let mut entries = std::fs::read_dir("/proc").ok()?.flatten().peekable();
    let pid = |entry: &std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    stat(std::process::id())?;
    entries.peek()?;
    let stats = entries.filter_map(move |entry| stat(pid(&entry)?));
    Some(stats.filter(move |stat| stat.group == group))
}

/// The resident memory of a group, in bytes; `None` if there is no `/proc`.
pub(super) fn memory(group: u32) -> Option<u64> {
    let pages: u64 = members(group)?.map(|stat| stat.pages).sum();
    Some(pages * rustix::param::page_size() as u64)
}

/// The descendants of a leader that are not in its group.
#[derive(Debug)]
pub(super) struct Strays(Vec<Stray>);

#[derive(Debug)]
struct Stray {
    pid: u32,
    started: u64,
    /// Its group, if all members descend from the leader.
    group: Option<u32>,
}

impl Strays {
    /// An empty list.
    pub(super) const fn none() -> Self {
        Self(Vec::new())
    }

    /// Finds them.
    pub(super) fn of(leader: u32) -> Self {
        let descendants = descendants(leader);
        let mut strays = Vec::new();
        for &pid in &descendants {
            let Some(stat) = stat(pid) else { continue };
            if stat.group == leader {
                continue;
            }
            // If a descendant leads the group, all of it descends from the leader. Another group may even be our
            // own.
            let group = descendants.contains(&stat.group).then_some(stat.group);
            strays.push(Stray { pid, started: stat.started, group });
        }
        Self(strays)
    }

    /// Kills those whose id was not reused.
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
    fn a_name_may_contain_anything() {
        let rest = "34 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 567 8 9";
        let stat = parse(format!("12 (a) S 1 2 (\n) Z 1 34 {rest}").as_bytes()).unwrap();
        assert_eq!(stat, Stat { lives: false, group: 34, pages: 9, started: 567 });
        assert_eq!(parse(b"12 (cut"), None);
        assert_eq!(parse(b"12 (cut) S"), None);
    }
}
