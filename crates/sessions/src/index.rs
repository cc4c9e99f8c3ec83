//! Where the entries of a conversation are in their file, and how they hang together.
//!
//! The index holds 48 bytes for each entry of the conversation and nothing of its text. Texts are read again when they are
//! asked for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};
use crate::json;
use crate::transcript::Entries;

/// Identifies a UUID: its bytes, or a hash of whatever text stands in its place.
pub(crate) type Key = [u8; 16];

/// No entry.
pub(crate) const NONE: u32 = u32::MAX;

/// One entry of the conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) offset: u64,
    pub(crate) uuid: Key,
    /// All zero if there is no parent.
    pub(crate) parent: Key,
    pub(crate) length: u32,
    pub(crate) flags: Flags,
}

const _: () = assert!(size_of::<Node>() == 48, "the index must stay small");

/// What an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u32);

impl Flags {
    pub(crate) const USER: Self = Self(1);
    pub(crate) const ASSISTANT: Self = Self(1 << 1);
    pub(crate) const SYSTEM: Self = Self(1 << 2);
    pub(crate) const ATTACHMENT: Self = Self(1 << 3);
    pub(crate) const PROGRESS: Self = Self(1 << 4);
    pub(crate) const SIDECHAIN: Self = Self(1 << 5);
    pub(crate) const TEAM: Self = Self(1 << 6);
    pub(crate) const META: Self = Self(1 << 7);
    /// It is shown although it is meta: it came in through a channel.
    pub(crate) const SHOWN: Self = Self(1 << 8);
    pub(crate) const COMPACT_SUMMARY: Self = Self(1 << 9);
    /// A user message with a parent and a tool result.
    pub(crate) const TOOL_RESULT: Self = Self(1 << 10);
    /// It says that something was interrupted.
    pub(crate) const INTERRUPTED: Self = Self(1 << 11);
    pub(crate) const LOCAL_CAVEAT: Self = Self(1 << 12);
    pub(crate) const LOCAL_COMMAND: Self = Self(1 << 13);
    pub(crate) const LOCAL_OUTPUT: Self = Self(1 << 14);
    pub(crate) const FORK_BRIEFING: Self = Self(1 << 15);
    /// A prompt that was written while a turn ran.
    pub(crate) const QUEUED: Self = Self(1 << 16);
    /// A message of the model with an id.
    pub(crate) const HAS_MESSAGE_ID: Self = Self(1 << 17);
    pub(crate) const BOUNDARY: Self = Self(1 << 18);
    /// The entry stands again further down. That one counts.
    pub(crate) const REPLACED: Self = Self(1 << 19);
    pub(crate) const SAID: Self = Self(1 | 1 << 1);

    pub(crate) const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn set(&mut self, other: Self, on: bool) {
        if on {
            self.0 |= other.0;
        }
    }
}

/// A compaction that kept some messages.
#[derive(Clone, Debug)]
pub(crate) struct Boundary {
    pub(crate) node: u32,
    pub(crate) kept: Kept,
}

/// What a compaction kept, and after which entry it stands now.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    Messages { anchor: Key, uuids: Vec<Key> },
    Segment { anchor: Key, head: Key, tail: Key },
}

impl Kept {
    /// The entry after which the kept ones stand.
    pub(crate) fn anchor(&self) -> &Key {
        match self {
            Self::Messages { anchor, .. } | Self::Segment { anchor, .. } => anchor,
        }
    }
}

/// Which queued prompts were taken into a running turn.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    counts: HashMap<String, usize>,
    copies: HashMap<String, String>,
    mixed: Vec<String>,
    delivery_copies: HashMap<String, Vec<String>>,
}

/// The entries of a conversation.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) nodes: Vec<Node>,
    /// Positions in order of their keys; of equal ones the last in the file.
    sorted: Vec<u32>,
    /// For entries that stand more than once: where they stand last.
    last: HashMap<u32, u32>,
    pub(crate) boundaries: Vec<Boundary>,
    pub(crate) delivered: HashMap<String, usize>,
    /// Lines that are not JSON: how many, and where the first begins.
    pub(crate) damaged: Option<(u64, u64)>,
    hashers: [RandomState; 2],
}

/// Which kinds of entries belong to the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Session,
    /// The transcripts of sub-agents are simpler.
    Agent,
}

impl Index {
    pub(crate) fn open(path: &Path, scope: Scope) -> Result<Self> {
        Self::read(Entries::open(path)?, scope).map_err(Error::io(path))
    }

    pub(crate) fn read<R: Read>(mut entries: Entries<R>, scope: Scope) -> std::io::Result<Self> {
        let mut index = Self {
            nodes: Vec::new(),
            sorted: Vec::new(),
            last: HashMap::new(),
            boundaries: Vec::new(),
            delivered: HashMap::new(),
            damaged: None,
            hashers: [RandomState::new(), RandomState::new()],
        };
        let mut deliveries = Deliveries::default();
        let mut line = Vec::new();
        while let Some(offset) = entries.read_into(&mut line)? {
            if !index.add(offset, &line, scope, &mut deliveries) {
                index.damaged.get_or_insert((0, offset)).0 += 1;
            }
        }
        index.nodes.shrink_to_fit();
        index.sort();
        index.delivered = deliveries.finish();
        Ok(index)
    }

    /// Adds a line if it belongs to the conversation. False if it is not JSON.
    fn add(&mut self, offset: u64, line: &[u8], scope: Scope, deliveries: &mut Deliveries) -> bool {
        let text = text_of(line);
        let Some(entry) = Parsed::read(&text) else { return false };
        deliveries.add(&entry);
        let Some(uuid) = entry.uuid.as_deref() else { return true };
        let Some(flags) = entry.flags(scope) else { return true };
        // Nothing that long can be a line: JavaScript strings end at 512 MiB.
        let Ok(length) = u32::try_from(line.len()) else { return false };
        let parent = entry.parent.as_deref().map_or([0; 16], |parent| self.key(parent));
        let position = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        if position == NONE {
            return false;
        }
        if flags.any(Flags::BOUNDARY)
            && let Some(kept) = entry.compact.and_then(|compact| self.kept(compact))
        {
            self.boundaries.push(Boundary { node: position, kept });
        }
        if self.nodes.len() == self.nodes.capacity() {
            // Growing by a quarter keeps the index within its bound while it grows.
            self.nodes.reserve_exact((self.nodes.len() / 4).max(256));
        }
        self.nodes.push(Node { offset, uuid: self.key(uuid), parent, length, flags });
        true
    }

    fn kept(&self, compact: &str) -> Option<Kept> {
        let [messages, segment] =
            json::fields(compact, &["preservedMessages", "preservedSegment"])?;
        let key = |value: Option<&str>| value.and_then(json::string).map(|text| self.key(&text));
        if let Some(messages) = messages.filter(|value| json::is_truthy(value)) {
            let [anchor, uuids] = json::fields(messages, &["anchorUuid", "uuids"])?;
            let uuids = json::elements(uuids?).iter().filter_map(|uuid| key(Some(uuid))).collect();
            return Some(Kept::Messages { anchor: key(anchor)?, uuids });
        }
        let segment = segment.filter(|value| json::is_truthy(value))?;
        let [anchor, head, tail] = json::fields(segment, &["anchorUuid", "headUuid", "tailUuid"])?;
        Some(Kept::Segment { anchor: key(anchor)?, head: key(head)?, tail: key(tail)? })
    }

    /// Sorts the keys, and lets the last of equal ones stand in the place of the first.
    fn sort(&mut self) {
        let count = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        let mut sorted: Vec<u32> = (0..count).collect();
        let nodes = &self.nodes;
        sorted.sort_unstable_by_key(|place| {
            (nodes.get(*place as usize).map(|node| node.uuid), *place)
        });
        let mut first: Option<u32> = None;
        let mut unique = Vec::with_capacity(sorted.len());
        for place in sorted {
            let same = first.filter(|first| self.node(*first).uuid == self.node(place).uuid);
            match same {
                Some(first) => {
                    let copy = *self.node(place);
                    if let Some(node) = self.nodes.get_mut(first as usize) {
                        *node = copy;
                    }
                    if let Some(node) = self.nodes.get_mut(place as usize) {
                        node.flags.set(Flags::REPLACED, true);
                    }
                    self.last.insert(first, place);
                }
                None => {
                    unique.push(place);
                    first = Some(place);
                }
            }
        }
        self.sorted = unique;
        for boundary in &mut self.boundaries {
            // Boundaries point at what counts.
            let uuid = self.nodes.get(boundary.node as usize).map(|node| node.uuid);
            let nodes = &self.nodes;
            let found = self.sorted.binary_search_by_key(&uuid, |place| {
                nodes.get(*place as usize).map(|node| node.uuid)
            });
            boundary.node = found.ok().and_then(|at| self.sorted.get(at).copied()).unwrap_or(NONE);
        }
    }

    pub(crate) fn node(&self, place: u32) -> &Node {
        const MISSING: Node =
            Node { offset: 0, uuid: [0; 16], parent: [0; 16], length: 0, flags: Flags(0) };
        self.nodes.get(place as usize).unwrap_or(const { &MISSING })
    }

    pub(crate) fn flags(&self, place: u32) -> Flags {
        self.node(place).flags
    }

    /// The place of an entry in the file that decides which of two is newer.
    pub(crate) fn position(&self, place: u32) -> u32 {
        self.last.get(&place).copied().unwrap_or(place)
    }

    /// All entries that count, in the order of the file.
    pub(crate) fn places(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let count = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        (0..count).filter(|place| !self.flags(*place).any(Flags::REPLACED))
    }

    pub(crate) fn find(&self, key: &Key) -> Option<u32> {
        let found = self.sorted.binary_search_by_key(&key, |place| &self.node(*place).uuid).ok()?;
        self.sorted.get(found).copied()
    }

    pub(crate) fn find_uuid(&self, uuid: &str) -> Option<u32> {
        self.find(&self.key(uuid))
    }

    pub(crate) fn key(&self, uuid: &str) -> Key {
        if let Some(key) = uuid_bytes(uuid) {
            return key;
        }
        let mut key = [0; 16];
        for (half, hasher) in key.chunks_exact_mut(8).zip(&self.hashers) {
            half.copy_from_slice(&hasher.hash_one(uuid).to_le_bytes());
        }
        key
    }
}

/// The bytes of a UUID in lower case. `None` for any other text.
fn uuid_bytes(text: &str) -> Option<Key> {
    let mut key = [0; 16];
    let bytes: &[u8; 36] = text.as_bytes().try_into().ok()?;
    let mut digits = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 8 | 13 | 18 | 23) {
            if *byte != b'-' {
                return None;
            }
            continue;
        }
        let value = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        let slot = key.get_mut(digits / 2)?;
        *slot = *slot << 4 | value;
        digits += 1;
    }
    // All zero means that there is none.
    (key != [0; 16]).then_some(key)
}

/// A line as text; what is not UTF-8 becomes U+FFFD, as in the SDKs.
pub(crate) fn text_of(line: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(line)
}

/// The fields of an entry that decide what becomes of it.
#[derive(Debug)]
pub(crate) struct Parsed<'l> {
    kind: Cow<'l, str>,
    subtype: Option<Cow<'l, str>>,
    uuid: Option<Cow<'l, str>>,
    parent: Option<Cow<'l, str>>,
    sidechain: bool,
    team: bool,
    meta: bool,
    compact_summary: bool,
    prompt_source: bool,
    message: Option<&'l str>,
    attachment: Option<&'l str>,
    origin: Option<&'l str>,
    compact: Option<&'l str>,
    operation: Option<&'l str>,
    reason: Option<&'l str>,
    delivery: Option<&'l str>,
    command: Option<&'l str>,
}

impl<'l> Parsed<'l> {
    fn read(line: &'l str) -> Option<Self> {
        let line = line.trim_matches([' ', '\t', '\r', '\n']);
        let names = [
            "type",
            "subtype",
            "uuid",
            "parentUuid",
            "isSidechain",
            "teamName",
            "isMeta",
            "isCompactSummary",
            "promptSource",
            "message",
            "attachment",
            "origin",
            "compactMetadata",
            "operation",
            "reason",
            "deliveryId",
            "commandUuid",
        ];
        if !line.starts_with('{') {
            // Other JSON is not an entry, but not damaged either.
            let valid = duologue_wire::RawJson::parse(line).is_ok();
            return valid.then(Self::empty);
        }
        let [
            kind,
            subtype,
            uuid,
            parent,
            sidechain,
            team,
            meta,
            compact_summary,
            prompt_source,
            message,
            attachment,
            origin,
            compact,
            operation,
            reason,
            delivery,
            command,
        ] = json::fields(line, &names)?;
        let truthy = |value: Option<&str>| value.is_some_and(json::is_truthy);
        let parent = parent.and_then(json::string).filter(|parent| !parent.is_empty());
        Some(Self {
            kind: kind.and_then(json::string).unwrap_or_default(),
            subtype: subtype.and_then(json::string),
            uuid: uuid.and_then(json::string),
            parent,
            sidechain: truthy(sidechain),
            team: truthy(team),
            meta: truthy(meta),
            compact_summary: truthy(compact_summary),
            prompt_source: prompt_source.is_some(),
            message,
            attachment,
            origin,
            compact,
            operation,
            reason,
            delivery,
            command,
        })
    }

    fn empty() -> Self {
        Self {
            kind: Cow::Borrowed(""),
            subtype: None,
            uuid: None,
            parent: None,
            sidechain: false,
            team: false,
            meta: false,
            compact_summary: false,
            prompt_source: false,
            message: None,
            attachment: None,
            origin: None,
            compact: None,
            operation: None,
            reason: None,
            delivery: None,
            command: None,
        }
    }

    /// What the entry is. `None` if it does not belong to the conversation.
    fn flags(&self, scope: Scope) -> Option<Flags> {
        let mut flags = match (&*self.kind, scope) {
            ("user", _) => Flags::USER,
            ("assistant", _) => Flags::ASSISTANT,
            ("attachment", _) => Flags::ATTACHMENT,
            ("system", Scope::Session) => Flags::SYSTEM,
            ("progress", Scope::Session) => Flags::PROGRESS,
            _ => return None,
        };
        flags.set(Flags::SIDECHAIN, self.sidechain);
        flags.set(Flags::TEAM, self.team);
        flags.set(Flags::META, self.meta);
        flags.set(Flags::COMPACT_SUMMARY, self.compact_summary);
        flags.set(Flags::SHOWN, self.meta && self.origin.is_some_and(is_channel));
        if flags.any(Flags::USER) {
            self.user_flags(&mut flags);
        } else if flags.any(Flags::ASSISTANT) {
            let id = self.message.and_then(|message| json::fields(message, &["id"]));
            let id = id.and_then(|[id]| id).and_then(json::string);
            flags.set(Flags::HAS_MESSAGE_ID, id.is_some_and(|id| !id.is_empty()));
        } else if flags.any(Flags::SYSTEM) {
            let boundary = self.subtype.as_deref() == Some("compact_boundary");
            flags.set(Flags::BOUNDARY, boundary);
        } else if let Some([Some(kind)]) =
            self.attachment.and_then(|it| json::fields(it, &["type"]))
        {
            let kind = json::string(kind).unwrap_or_default();
            flags.set(Flags::QUEUED, kind == "queued_command");
            flags.set(Flags::FORK_BRIEFING, kind == "fork_briefing");
        }
        Some(flags)
    }

    fn user_flags(&self, flags: &mut Flags) {
        let Some([Some(content)]) = self.message.and_then(|it| json::fields(it, &["content"]))
        else {
            return;
        };
        let mut last_text = None;
        if let Some(text) = json::string(content) {
            flags.set(Flags::INTERRUPTED, is_interruption(&text));
            last_text = Some(text);
        } else {
            let blocks = json::elements(content);
            let mut all = !blocks.is_empty();
            let mut results = false;
            for block in &blocks {
                let names = ["type", "text", "is_error", "content"];
                let found = json::fields(block, &names).unwrap_or_default();
                let [kind, text, is_error, content] = found;
                let said = match kind.and_then(json::string).as_deref() {
                    Some("text") => {
                        let text = text.and_then(json::string);
                        last_text = text.clone();
                        text
                    }
                    Some("tool_result") => {
                        results = true;
                        content.filter(|_| is_error == Some("true")).and_then(json::string)
                    }
                    _ => None,
                };
                all &= said.is_some_and(|said| is_interruption(&said));
            }
            flags.set(Flags::INTERRUPTED, all);
            flags.set(Flags::TOOL_RESULT, results && self.parent.is_some());
        }
        if self.prompt_source {
            return;
        }
        if let Some(text) = last_text {
            flags.set(Flags::LOCAL_COMMAND, text.starts_with("<command-name>"));
            let output = ["<local-command-stdout>", "<local-command-stderr>"];
            flags.set(Flags::LOCAL_OUTPUT, output.iter().any(|tag| text.starts_with(tag)));
            flags.set(Flags::LOCAL_CAVEAT, text.starts_with("<local-command-caveat>"));
        }
    }
}

/// Whether a message came in through a channel: such are shown although they are meta.
pub(crate) fn is_channel(origin: &str) -> bool {
    let kinds = ["channel", "observer", "observer-activity", "slack-ping", "voice-call", "peer"];
    let kind = json::fields(origin, &["kind"]).and_then(|[kind]| kind).and_then(json::string);
    kind.is_some_and(|kind| kinds.contains(&&*kind))
}

/// Texts that Claude Code writes in place of an answer.
const INTERRUPTIONS: [&str; 10] = [
    "[Request interrupted by user]",
    "[Request interrupted: the session ended before this agent finished. Nobody asked it to stop.]",
    "[Agent call interrupted: the process running this conversation stopped before this agent finished, so it returned no result. Nobody asked it to stop.]",
    "[Request interrupted by user for tool use]",
    "[Tool call did not complete: the turn was ended to deliver the message that follows. Nothing refused it; re-run it if still needed.]",
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. Check whether it took effect before relying on it or running it again.]",
    "[Tool call result not in this copy: this session was copied from another session before that session recorded this call's result. The call may have finished there, may still be running there, or may never have run. Check whether it took effect before relying on it or running it again.]",
    "The user doesn't want to take this action right now. STOP what you are doing and wait for the user to tell you how to proceed.",
    "[Tool call skipped: the turn was stopped before this call ran, by the check whose denial is on another call in this batch. Nothing refused this call and it had no effects; re-run it if still needed.]",
    "[Tool call skipped: the turn ended to deliver the message that follows before this call ran. Nothing refused it; re-run it if still needed.]",
];

fn is_interruption(text: &str) -> bool {
    INTERRUPTIONS.iter().any(|start| text.starts_with(start))
}

impl Deliveries {
    fn add(&mut self, entry: &Parsed<'_>) {
        let filled = |value: Option<&str>| value.and_then(json::string).map(Cow::into_owned);
        if &*entry.kind == "queue-operation" {
            let removed = entry.operation == Some("\"remove\"");
            if removed && entry.reason == Some("\"absorbed_mid_turn\"") {
                let key = match filled(entry.delivery).filter(|id| !id.is_empty()) {
                    Some(id) => Some(by_delivery(&id)),
                    None => filled(entry.command).map(|uuid| by_uuid(&uuid)),
                };
                if let Some(key) = key {
                    *self.counts.entry(key).or_default() += 1;
                }
            }
            return;
        }
        let Some(attachment) = entry.attachment.filter(|_| &*entry.kind == "attachment") else {
            return;
        };
        let Some(uuid) = entry.uuid.as_deref() else { return };
        let Some(queued) = Queued::read(attachment) else { return };
        if let Some(id) = queued.delivery {
            let copies = self.delivery_copies.entry(by_delivery(&id)).or_default();
            if !copies.iter().any(|copy| copy == uuid) {
                copies.push(uuid.to_owned());
            }
        } else if let Some(source) = queued.source {
            let copy = self.copies.entry(source.clone()).or_insert_with(|| attachment.to_owned());
            if copy != attachment {
                self.mixed.push(source);
            }
        }
    }

    fn finish(mut self) -> HashMap<String, usize> {
        for uuid in &self.mixed {
            self.counts.remove(&by_uuid(uuid));
        }
        for (key, copies) in &self.delivery_copies {
            let count = self.counts.get(key).copied().unwrap_or_default();
            for copy in copies.iter().rev().take(count) {
                self.counts.insert(by_entry(copy), 1);
            }
        }
        self.counts
    }
}

pub(crate) fn by_delivery(id: &str) -> String {
    format!("delivery:{id}")
}

pub(crate) fn by_uuid(uuid: &str) -> String {
    format!("uuid:{uuid}")
}

pub(crate) fn by_entry(uuid: &str) -> String {
    format!("entry:{uuid}")
}

/// A prompt that was queued while a turn ran.
#[derive(Debug)]
pub(crate) struct Queued<'l> {
    pub(crate) prompt: Option<&'l str>,
    pub(crate) source: Option<String>,
    pub(crate) delivery: Option<String>,
    pub(crate) meta: bool,
    pub(crate) forwarded: Option<&'l str>,
    pub(crate) origin: Option<&'l str>,
    pub(crate) mode: Option<&'l str>,
    pub(crate) run: Option<&'l str>,
}

impl<'l> Queued<'l> {
    pub(crate) fn read(attachment: &'l str) -> Option<Self> {
        let names = [
            "type",
            "prompt",
            "source_uuid",
            "delivery_id",
            "isMeta",
            "forwardedIntent",
            "origin",
            "commandMode",
            "runId",
        ];
        let [kind, prompt, source, delivery, meta, forwarded, origin, mode, run] =
            json::fields(attachment, &names)?;
        if kind != Some("\"queued_command\"") {
            return None;
        }
        let filled = |value: Option<&str>| {
            value.and_then(json::string).filter(|text| !text.is_empty()).map(Cow::into_owned)
        };
        Some(Self {
            prompt,
            source: filled(source),
            delivery: filled(delivery),
            meta: meta.is_some_and(json::is_truthy),
            forwarded,
            origin,
            mode,
            run,
        })
    }
}
