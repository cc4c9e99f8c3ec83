//! What a check found in one file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use duologue_protocol::Direction;
use duologue_protocol::rules::Violation;
use duologue_tape::{Header, Torn};

/// How many malformed lines, and how many different paths, are listed one by one; the rest is
/// counted, so that a file of garbage does not fill the memory.
pub(crate) const MOST_LISTED: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) path: PathBuf,
    pub(crate) header: Option<Header>,
    pub(crate) lines_to_host: u64,
    pub(crate) lines_to_agent: u64,
    pub(crate) lines_of_stderr: u64,
    /// How many messages of each kind there are.
    pub(crate) kinds: Counted<Kind>,
    pub(crate) unknown_tags: Counted<UnknownTag>,
    /// Those that are no mere warning.
    pub(crate) serious_tags: u64,
    pub(crate) unknown_fields: Counted<AtPath>,
    pub(crate) unknown_words: Counted<UnknownWord>,
    pub(crate) legacy: Counted<AtPath>,
    pub(crate) malformed: Listed<Malformed>,
    pub(crate) malformed_to_host: u64,
    pub(crate) violations: Vec<Violation>,
    pub(crate) torn: Option<Torn>,
}

impl Report {
    /// Whether the exit code is 0 as far as this file is concerned.
    pub(crate) fn is_understood(&self, strict: bool) -> bool {
        !self.is_empty()
            && self.malformed_to_host == 0
            && self.serious_tags == 0
            && (!strict || self.warnings() == 0)
    }

    /// Whether nothing was said: an empty file proves nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines_to_host + self.lines_to_agent + self.malformed.total == 0
    }

    pub(crate) fn warnings(&self) -> u64 {
        let tags = self.unknown_tags.total() - self.serious_tags;
        let malformed_to_agent = self.malformed.total - self.malformed_to_host;
        tags + malformed_to_agent + self.unknown_fields.total() + self.violations.len() as u64
    }
}

/// What a message is: which way it goes, its type, its subtype.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) direction: Direction,
    pub(crate) kind: String,
    pub(crate) subtype: Option<String>,
}

impl Kind {
    /// `system/init`.
    pub(crate) fn name(&self) -> String {
        match &self.subtype {
            Some(subtype) => format!("{}/{subtype}", self.kind),
            None => self.kind.clone(),
        }
    }
}

/// A kind of object that is not known, inside a kind of message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UnknownTag {
    pub(crate) message: Kind,
    /// Where the object stands; empty for the line itself.
    pub(crate) path: String,
    /// The field that names the kind.
    pub(crate) name: String,
    pub(crate) tag: String,
    /// Whether the line itself is unknown, or only something in it.
    pub(crate) is_line: bool,
}

impl UnknownTag {
    /// What the host puts into its own lines is its own business.
    pub(crate) fn is_serious(&self) -> bool {
        self.is_line || self.message.direction == Direction::ToHost
    }
}

/// A path inside a kind of message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AtPath {
    pub(crate) message: Kind,
    pub(crate) path: String,
}

/// A word that is not known, at a path inside a kind of message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UnknownWord {
    pub(crate) at: AtPath,
    pub(crate) word: String,
}

/// A line that is malformed.
#[derive(Clone, Debug)]
pub(crate) struct Malformed {
    pub(crate) direction: Direction,
    /// Its line in the file, from 1.
    pub(crate) line: u64,
    /// Where that line begins in the file.
    pub(crate) offset: u64,
    pub(crate) reason: String,
}

/// Different things and how often each was seen, up to a limit.
#[derive(Debug)]
pub(crate) struct Counted<T> {
    counts: BTreeMap<T, u64>,
    /// Those beyond the limit.
    pub(crate) more: u64,
}

impl<T> Default for Counted<T> {
    fn default() -> Self {
        Self { counts: BTreeMap::new(), more: 0 }
    }
}

impl<T: Ord> Counted<T> {
    pub(crate) fn add(&mut self, thing: T) {
        if self.counts.len() >= MOST_LISTED && !self.counts.contains_key(&thing) {
            self.more += 1;
        } else {
            *self.counts.entry(thing).or_default() += 1;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&T, u64)> {
        self.counts.iter().map(|(thing, count)| (thing, *count))
    }

    pub(crate) fn total(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.more
    }
}

/// Things in their order, up to a limit.
#[derive(Debug)]
pub(crate) struct Listed<T> {
    pub(crate) first: Vec<T>,
    pub(crate) total: u64,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { first: Vec::new(), total: 0 }
    }
}

impl<T> Listed<T> {
    pub(crate) fn add(&mut self, thing: T) {
        self.total += 1;
        if self.first.len() < MOST_LISTED {
            self.first.push(thing);
        }
    }
}
