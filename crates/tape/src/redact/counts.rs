//! [`Counts`]: what was replaced, and how often.

use std::collections::BTreeMap;
use std::fmt;

/// How often what kind of thing was replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    /// The kind of what stood at a path that was [chosen](super::Redactor::path).
    pub const CHOSEN: &'static str = "chosen fields";

    pub(super) fn add(&mut self, kind: &'static str) {
        *self.0.entry(kind).or_default() += 1;
    }

    pub(super) fn add_all(&mut self, more: &Self) {
        more.iter().for_each(|(kind, count)| *self.0.entry(kind).or_default() += count);
    }

    /// What was replaced since these were counted.
    pub(super) fn since(&self, before: &Self) -> Self {
        let before = |kind| before.0.get(kind).copied().unwrap_or_default();
        Self(self.iter().map(|(kind, count)| (kind, count - before(kind))).collect())
    }

    /// Each kind, and how often it was replaced.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }

    /// How often anything was.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        for (position, (kind, count)) in self.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}{count} {kind}")?;
        }
        Ok(())
    }
}
