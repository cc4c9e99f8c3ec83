//! [`Report`]: the result of a check.

use std::collections::BTreeMap;

use duologue_protocol::Direction;
use duologue_protocol::rules::Violation;
use serde_json::{Value, json};

use crate::entry::Header;
use crate::error::Torn;

/// The most malformed lines, and the most different paths, that a report lists one by one. The rest is only
/// counted, so that a file of garbage cannot fill the memory.
pub const MAX_LISTED: usize = 10_000;

/// What a check found in one tape or capture.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The header; `None` for a plain capture.
    pub header: Option<Header>,
    /// How many lines the agent wrote.
    pub lines_to_host: u64,
    /// How many lines the host wrote.
    pub lines_to_agent: u64,
    /// How many lines the agent wrote to stderr.
    pub lines_of_stderr: u64,
    /// How many messages of each kind there are.
    pub kinds: Counted<Kind>,
    /// Unknown types and subtypes.
    pub unknown_tags: Counted<UnknownTag>,
    /// How many of the unknown types and subtypes are errors, not warnings.
    pub serious_tags: u64,
    /// Unknown fields.
    pub unknown_fields: Counted<AtPath>,
    /// Unknown words, where a known set is expected.
    pub unknown_words: Counted<UnknownWord>,
    /// Legacy forms.
    pub legacy: Counted<AtPath>,
    /// Malformed lines of both directions.
    pub malformed: Listed<Malformed>,
    /// How many malformed lines the agent wrote.
    pub malformed_to_host: u64,
    /// Broken rules of the conversation.
    pub violations: Vec<Violation>,
    /// The last line, if it was cut off.
    pub torn: Option<Torn>,
}

impl Report {
    /// Whether every type and subtype is known and no line of the agent is malformed. With `strict`, whether there
    /// are no warnings either. An empty input is not understood: it proves nothing.
    pub fn is_understood(&self, strict: bool) -> bool {
        !self.is_empty()
            && self.malformed_to_host == 0
            && self.serious_tags == 0
            && (!strict || self.warnings() == 0)
    }

    /// Whether there is no line in either direction.
    pub fn is_empty(&self) -> bool {
        self.lines_to_host + self.lines_to_agent + self.malformed.total == 0
    }

    /// How many warnings there are: unknown fields, broken rules, and unknown or malformed parts of the host's lines.
    pub fn warnings(&self) -> u64 {
        let tags = self.unknown_tags.total() - self.serious_tags;
        let malformed_to_agent = self.malformed.total - self.malformed_to_host;
        tags + malformed_to_agent + self.unknown_fields.total() + self.violations.len() as u64
    }

    /// The report as a JSON object, as `duologue check --json` prints it for each file.
    pub fn to_json(&self, strict: bool) -> Value {
        json!({
            "understood": self.is_understood(strict),
            "empty": self.is_empty(),
            "format": if self.header.is_some() { "tape" } else { "ndjson" },
            "agent_version": self.header.as_ref().and_then(|header| header.version.as_deref()),
            "lines": {
                "to_host": self.lines_to_host,
                "to_agent": self.lines_to_agent,
                "stderr": self.lines_of_stderr,
            },
            "messages": self.kinds.to_json(|kind| (kind, json!({}))),
            "unknown": self.unknown_tags.to_json(|tag| (&tag.message, json!({
                "path": tag.path,
                "name": tag.name,
                "tag": tag.tag,
                "line": tag.is_line,
            }))),
            "unknown_fields": self.unknown_fields.to_json(AtPath::to_json),
            "unknown_words": self.unknown_words.to_json(|word| (&word.at.message, json!({
                "path": word.at.path,
                "word": word.word,
            }))),
            "legacy": self.legacy.to_json(AtPath::to_json),
            "malformed": self.malformed.first.iter().map(|malformed| json!({
                "direction": malformed.direction.name(),
                "line": malformed.line,
                "offset": malformed.offset,
                "reason": malformed.reason,
            })).collect::<Vec<_>>(),
            "malformed_count": self.malformed.total,
            "not_listed": {
                "messages": self.kinds.more,
                "unknown": self.unknown_tags.more,
                "unknown_fields": self.unknown_fields.more,
                "unknown_words": self.unknown_words.more,
                "legacy": self.legacy.more,
            },
            "violations": self.violations.iter().map(|violation| json!({
                "rule": violation.rule.name(),
                "line": violation.line,
                "subject": violation.subject,
            })).collect::<Vec<_>>(),
            "torn": self.torn.as_ref().map(|torn| json!({
                "line": torn.line,
                "bytes": torn.length,
            })),
        })
    }
}

/// The kind of a message: its direction, type and subtype.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Kind {
    /// Which way it goes.
    pub direction: Direction,
    /// Its type: `system`.
    pub kind: String,
    /// Its subtype: `init`.
    pub subtype: Option<String>,
}

impl Kind {
    pub(super) const fn new(direction: Direction, kind: String, subtype: Option<String>) -> Self {
        Self { direction, kind, subtype }
    }

    /// Type and subtype: `system/init`.
    pub fn name(&self) -> String {
        match &self.subtype {
            Some(subtype) => format!("{}/{subtype}", self.kind),
            None => self.kind.clone(),
        }
    }
}

/// An object of unknown type or subtype in a message, or an unknown message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct UnknownTag {
    /// The message.
    pub message: Kind,
    /// The path of the object; empty for the message itself.
    pub path: String,
    /// The field that names its type.
    pub name: String,
    /// The unknown type or subtype.
    pub tag: String,
    /// Whether the message itself is unknown, and not only an object in it.
    pub is_line: bool,
}

impl UnknownTag {
    /// Whether this is an error. Unknown objects inside the host's own lines are only a warning.
    pub(super) fn is_serious(&self) -> bool {
        self.is_line || self.message.direction == Direction::ToHost
    }
}

/// A path in a kind of message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct AtPath {
    /// The message.
    pub message: Kind,
    /// The path; empty for the message itself.
    pub path: String,
}

impl AtPath {
    fn to_json(&self) -> (&Kind, Value) {
        (&self.message, json!({ "path": self.path }))
    }
}

/// An unknown word at a path in a kind of message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct UnknownWord {
    /// Where it is.
    pub at: AtPath,
    /// The word.
    pub word: String,
}

/// A malformed line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Malformed {
    /// Which way it goes.
    pub direction: Direction,
    /// Its line in the file, from 1.
    pub line: u64,
    /// The offset in the file at which that line begins.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// Different things and how often each was seen, up to [`MAX_LISTED`] of them.
#[derive(Debug)]
#[non_exhaustive]
pub struct Counted<T> {
    counts: BTreeMap<T, u64>,
    /// How many were seen beyond the limit.
    pub more: u64,
}

impl<T> Default for Counted<T> {
    fn default() -> Self {
        Self { counts: BTreeMap::new(), more: 0 }
    }
}

impl<T: Ord> Counted<T> {
    pub(super) fn add(&mut self, thing: T) {
        if self.counts.len() >= MAX_LISTED && !self.counts.contains_key(&thing) {
            self.more += 1;
        } else {
            *self.counts.entry(thing).or_default() += 1;
        }
    }

    /// The things in order, each with its count.
    pub fn iter(&self) -> impl Iterator<Item = (&T, u64)> {
        self.counts.iter().map(|(thing, count)| (thing, *count))
    }

    /// How many were seen in total.
    pub fn total(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.more
    }

    fn to_json<'a>(&'a self, fields: impl Fn(&'a T) -> (&'a Kind, Value)) -> Vec<Value> {
        let entry = |(thing, count): (&'a T, u64)| {
            let (kind, mut entry) = fields(thing);
            entry["direction"] = kind.direction.name().into();
            entry["type"] = kind.kind.as_str().into();
            entry["subtype"] = kind.subtype.as_deref().into();
            entry["count"] = count.into();
            entry
        };
        self.iter().map(entry).collect()
    }
}

/// Things in the order in which they were seen, up to [`MAX_LISTED`] of them.
#[derive(Debug)]
#[non_exhaustive]
pub struct Listed<T> {
    /// The first of them.
    pub first: Vec<T>,
    /// How many there are in total.
    pub total: u64,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { first: Vec::new(), total: 0 }
    }
}

impl<T> Listed<T> {
    pub(super) fn add(&mut self, thing: T) {
        self.total += 1;
        if self.first.len() < MAX_LISTED {
            self.first.push(thing);
        }
    }
}
