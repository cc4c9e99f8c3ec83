//! Which entries are the conversation.
//!
//! Entries form a tree: editing a prompt, going back and parallel tool calls make branches. The conversation is the branch
//! that was written last, as Claude Code and the TypeScript SDK resolve it. Messages that a compaction kept hang below its
//! summary, and results of parallel calls that are off the branch are put back after their calls.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;

use crate::index::{Flags, Index, Kept, Key, NONE, text_of};
use crate::json;
use crate::transcript::read_at;

/// The conversation in an index.
#[derive(Debug)]
pub(crate) struct Chain {
    /// From the first entry to the last.
    pub(crate) places: Vec<u32>,
    /// Whether an entry is in `places`.
    pub(crate) seen: Places,
    /// Parents after compactions are taken into account.
    pub(crate) parents: Vec<u32>,
    /// The last message.
    pub(crate) leaf: u32,
    /// The entry from which the last message was found, unless there was only one to choose.
    pub(crate) terminal: u32,
}

/// A set of entries: one bit for each.
#[derive(Clone, Debug)]
pub(crate) struct Places(Vec<u64>);

impl Places {
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    pub(crate) fn has(&self, place: u32) -> bool {
        let word = self.0.get(place as usize / 64).copied().unwrap_or_default();
        word & (1 << (place % 64)) != 0
    }

    /// Adds an entry. False if it was there.
    pub(crate) fn add(&mut self, place: u32) -> bool {
        let Some(word) = self.0.get_mut(place as usize / 64) else { return false };
        let bit = 1 << (place % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}

/// What the search leaves out or ignores.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Search<'a> {
    /// Entries that do not count.
    pub(crate) without: Option<&'a Places>,
    /// Entries from this place on do not count.
    pub(crate) end: Option<u32>,
    /// Sidechains and teams count as the conversation.
    pub(crate) all_sides: bool,
    /// The conversation ends here.
    pub(crate) from: Option<u32>,
}

impl Search<'_> {
    fn counts(&self, index: &Index, place: u32) -> bool {
        place != NONE
            && !index.flags(place).any(Flags::REPLACED)
            && self.end.is_none_or(|end| place < end)
            && !self.without.is_some_and(|without| without.has(place))
    }
}

/// Finds the conversation without the results of parallel calls.
pub(crate) fn resolve(index: &Index, search: Search<'_>) -> Chain {
    let parents = parents(index, search);
    let (leaf, terminal) = match search.from {
        Some(from) => (said_above(index, &parents, from), from),
        None => leaf(index, &parents, search),
    };
    let mut seen = Places::new(index.nodes.len());
    let mut places = Vec::new();
    let mut place = leaf;
    while place != NONE && seen.add(place) {
        places.push(place);
        place = parent(&parents, place);
    }
    places.reverse();
    Chain { places, seen, parents, leaf, terminal }
}

fn parent(parents: &[u32], place: u32) -> u32 {
    parents.get(place as usize).copied().unwrap_or(NONE)
}

/// The parent of each entry, with what compactions kept below their summaries.
fn parents(index: &Index, search: Search<'_>) -> Vec<u32> {
    let find = |key: &Key| index.find(key).filter(|place| search.counts(index, *place));
    let mut parents = vec![NONE; index.nodes.len()];
    for (place, parent) in (0_u32..).zip(&mut parents) {
        if search.counts(index, place) {
            *parent = find(&index.node(place).parent).unwrap_or(NONE);
        }
    }
    let boundaries = || index.boundaries.iter().filter(|it| search.counts(index, it.node));
    let mut links = Links::new(index, parents, boundaries().map(|it| (it.kept.anchor(), find)));
    for boundary in boundaries() {
        let (anchor, first, last) = match &boundary.kept {
            Kept::Messages { anchor, uuids } => {
                let places: Option<Vec<u32>> = uuids.iter().map(find).collect();
                let Some(places) = places.filter(|places| !places.is_empty()) else { continue };
                let mut above = find(anchor).unwrap_or(NONE);
                for place in &places {
                    links.set(*place, above);
                    above = *place;
                }
                (anchor, places.first().copied(), places.last().copied())
            }
            Kept::Segment { anchor, head, tail } => {
                let head = find(head);
                if let Some(head) = head {
                    links.set(head, find(anchor).unwrap_or(NONE));
                }
                (anchor, head, find(tail))
            }
        };
        links.move_below(find(anchor), anchor, first, last.unwrap_or(NONE));
    }
    links.parents
}

/// The parents of entries, and the children of those entries below which compactions put what they kept.
///
/// Without the children, each compaction would have to look at all entries.
struct Links<'i> {
    index: &'i Index,
    parents: Vec<u32>,
    /// The children of anchors. It may hold entries that have been moved since.
    below: HashMap<u32, Vec<u32>>,
    /// Entries without a parent that name an anchor that is not there.
    orphans: HashMap<Key, Vec<u32>>,
}

impl<'i> Links<'i> {
    fn new<'k>(
        index: &'i Index,
        parents: Vec<u32>,
        anchors: impl Iterator<Item = (&'k Key, impl Fn(&Key) -> Option<u32>)>,
    ) -> Self {
        let (mut below, mut orphans) = (HashMap::new(), HashMap::new());
        for (anchor, find) in anchors {
            match find(anchor) {
                Some(place) => drop(below.entry(place).or_insert_with(Vec::new)),
                None => drop(orphans.entry(*anchor).or_insert_with(Vec::new)),
            }
        }
        let mut links = Self { index, parents, below, orphans };
        if links.below.is_empty() && links.orphans.is_empty() {
            return links;
        }
        for place in 0..u32::try_from(links.parents.len()).unwrap_or(NONE) {
            links.note(place, parent(&links.parents, place));
        }
        links
    }

    fn note(&mut self, place: u32, above: u32) {
        let list = match above {
            NONE => self.orphans.get_mut(&self.index.node(place).parent),
            above => self.below.get_mut(&above),
        };
        if let Some(list) = list {
            list.push(place);
        }
    }

    fn set(&mut self, place: u32, to: u32) {
        if let Some(slot) = self.parents.get_mut(place as usize)
            && *slot != to
        {
            *slot = to;
            self.note(place, to);
        }
    }

    /// Moves the children of an anchor below another entry, except one of them.
    fn move_below(&mut self, anchor: Option<u32>, key: &Key, except: Option<u32>, to: u32) {
        let (above, list) = match anchor {
            Some(anchor) => (anchor, self.below.get_mut(&anchor)),
            None => (NONE, self.orphans.get_mut(key)),
        };
        if above == to {
            return;
        }
        for place in list.map(std::mem::take).unwrap_or_default() {
            if parent(&self.parents, place) != above {
                continue;
            }
            if Some(place) == except {
                self.note(place, above);
            } else {
                self.set(place, to);
            }
        }
    }
}

/// The nearest message at or above an entry.
fn said_above(index: &Index, parents: &[u32], from: u32) -> u32 {
    let mut seen = HashSet::new();
    let mut place = from;
    while place != NONE && seen.insert(place) {
        if index.flags(place).any(Flags::SAID) {
            return place;
        }
        place = parent(parents, place);
    }
    NONE
}

/// The last message of the conversation, and the entry from which it was found.
fn leaf(index: &Index, parents: &[u32], search: Search<'_>) -> (u32, u32) {
    let side =
        |flags: Flags| !search.all_sides && (flags.any(Flags::SIDECHAIN) || flags.any(Flags::TEAM));
    let belongs = |place: u32| {
        let flags = index.flags(place);
        !side(flags) && !flags.any(Flags::PROGRESS) && !flags.any(Flags::FORK_BRIEFING)
    };
    let counting = || index.places().filter(|place| search.counts(index, *place));
    let mut continued = Places::new(index.nodes.len());
    for place in counting().filter(|place| belongs(*place)) {
        let above = parent(parents, place);
        if above != NONE {
            continued.add(above);
        }
    }
    let mut ends: Vec<u32> =
        counting().filter(|place| belongs(*place) && !continued.has(*place)).collect();
    ends.sort_by_key(|place| std::cmp::Reverse(index.position(*place)));
    // Entries above which there is no message.
    let mut silent = Places::new(index.nodes.len());
    for end in ends {
        let mut place = end;
        while place != NONE && !silent.has(place) {
            if index.flags(place).any(Flags::SAID) {
                return (place, end);
            }
            silent.add(place);
            place = parent(parents, place);
        }
    }
    // Only sidechains are left.
    let mut has_child = Places::new(index.nodes.len());
    for place in counting() {
        let above = parent(parents, place);
        if above != NONE {
            has_child.add(above);
        }
    }
    let ends = counting().filter(|place| !has_child.has(*place));
    let leaves: Vec<u32> =
        ends.map(|end| said_above(index, parents, end)).filter(|leaf| *leaf != NONE).collect();
    let newest =
        |leaves: &mut dyn Iterator<Item = u32>| leaves.max_by_key(|leaf| index.position(*leaf));
    let plain = |leaf: &u32| {
        let flags = index.flags(*leaf);
        !side(flags) && !flags.any(Flags::META)
    };
    let leaf = newest(&mut leaves.iter().copied().filter(plain))
        .or_else(|| newest(&mut leaves.iter().copied()));
    (leaf.unwrap_or(NONE), NONE)
}

/// What is needed of an entry to put results after their calls.
#[derive(Debug, Default)]
struct Detail {
    message: Option<String>,
    calls: Vec<String>,
    results: Vec<String>,
    source: Option<String>,
    agent: Option<String>,
    timestamp: String,
}

impl Detail {
    fn read(index: &Index, file: &mut File, place: u32, line: &mut Vec<u8>) -> io::Result<Self> {
        let node = index.node(place);
        read_at(file, node.offset, node.length, line)?;
        let text = text_of(line);
        let names = ["message", "sourceToolAssistantUUID", "agentId", "timestamp"];
        let [message, source, agent, timestamp] =
            json::fields(text.trim_matches([' ', '\t', '\r']), &names).unwrap_or_default();
        let owned =
            |value: Option<&str>| value.and_then(json::string).map(|text| text.into_owned());
        let [id, content] = message
            .and_then(|message| json::fields(message, &["id", "content"]))
            .unwrap_or_default();
        let mut detail = Self {
            message: owned(id).filter(|id| !id.is_empty() && node.flags.any(Flags::ASSISTANT)),
            source: owned(source),
            agent: agent.map(str::to_owned),
            timestamp: owned(timestamp).unwrap_or_default(),
            ..Self::default()
        };
        for block in content.map(json::elements).unwrap_or_default() {
            let names = ["type", "id", "tool_use_id"];
            let [kind, id, tool_use] = json::fields(block, &names).unwrap_or_default();
            match kind {
                Some("\"tool_use\"") => detail.calls.extend(owned(id)),
                Some("\"tool_result\"") => detail.results.extend(owned(tool_use)),
                _ => {}
            }
        }
        Ok(detail)
    }
}

/// Puts tool calls and results back that parallel calls left off the branch.
///
/// Claude Code writes one entry for each block of a response. The result of a call hangs below its call, so that results of
/// parallel calls are on different branches. Each response gets the rest of its calls, and their results, after its last
/// entry on the branch.
pub(crate) fn add_parallel(index: &Index, chain: &mut Chain, file: &mut File) -> io::Result<()> {
    add_parallel_within(index, chain, file, &|_| true)
}

/// As [`add_parallel`], of these entries only.
pub(crate) fn add_parallel_within(
    index: &Index,
    chain: &mut Chain,
    file: &mut File,
    within: &dyn Fn(u32) -> bool,
) -> io::Result<()> {
    let is_result = |place: u32| index.flags(place).any(Flags::TOOL_RESULT);
    let is_response = |place: u32| index.flags(place).any(Flags::HAS_MESSAGE_ID);
    let off: Vec<u32> = index
        .places()
        .filter(|place| !chain.seen.has(*place) && within(*place))
        .filter(|place| is_result(*place) || is_response(*place))
        .collect();
    if off.is_empty() {
        return Ok(());
    }
    let mut line = Vec::new();
    let mut details: HashMap<u32, Detail> = HashMap::new();
    for place in &off {
        details.insert(*place, Detail::read(index, file, *place, &mut line)?);
    }
    // Calls that are answered off the branch. Other calls need no attention.
    let asked: HashSet<String> =
        details.values().flat_map(|detail| detail.results.iter().cloned()).collect();
    let mut answered: HashSet<String> = HashSet::new();
    let mut responses: Vec<(u32, String)> = Vec::new();
    for place in chain.places.iter().copied() {
        if is_response(place) {
            let mut detail = Detail::read(index, file, place, &mut line)?;
            detail.calls.retain(|call| asked.contains(call));
            responses.extend(detail.message.clone().map(|message| (place, message)));
            details.insert(place, detail);
        } else if index.flags(place).any(Flags::USER) {
            let detail = Detail::read(index, file, place, &mut line)?;
            answered.extend(detail.results.into_iter().filter(|call| asked.contains(call)));
        }
    }
    let empty = Detail::default();
    let detail = |place: u32| details.get(&place).unwrap_or(&empty);
    // The entries of each response, and which entry made which call. A call of two responses belongs to neither.
    let mut groups: HashMap<&str, Vec<u32>> = HashMap::new();
    let mut owners: HashMap<&str, Option<u32>> = HashMap::new();
    for place in index.places() {
        let Some(message) = detail(place).message.as_deref() else { continue };
        groups.entry(message).or_default().push(place);
        for call in &detail(place).calls {
            let owner = owners.entry(call).or_insert(Some(place));
            let same = owner.is_some_and(|owner| detail(owner).message.as_deref() == Some(message));
            *owner = same.then_some(place);
        }
    }
    let same_writer = |a: u32, b: u32| {
        let side = |place: u32| index.flags(place).any(Flags::SIDECHAIN);
        side(a) == side(b) && detail(a).agent == detail(b).agent
    };
    let mut below: HashMap<u32, Vec<u32>> = HashMap::new();
    for result in off.iter().copied().filter(|place| is_result(*place)) {
        let mut add = |assistant: u32| {
            let results = below.entry(assistant).or_default();
            if !results.contains(&result) {
                results.push(result);
            }
        };
        let parent = parent(&chain.parents, result);
        if parent != NONE {
            add(parent);
        }
        let source = detail(result).source.as_deref().and_then(|uuid| index.find_uuid(uuid));
        if let Some(source) =
            source.filter(|source| *source != parent && same_writer(result, *source))
        {
            add(source);
        }
        for call in &detail(result).results {
            let owner = owners.get(call.as_str()).copied().flatten();
            if let Some(owner) = owner.filter(|owner| same_writer(result, *owner)) {
                add(owner);
            }
        }
    }
    let last: HashMap<&str, u32> =
        responses.iter().map(|(place, message)| (message.as_str(), *place)).collect();
    let mut done: HashSet<&str> = HashSet::new();
    let mut inserts: HashMap<u32, Vec<u32>> = HashMap::new();
    for (_, message) in &responses {
        if !done.insert(message) {
            continue;
        }
        let group = groups.get(message.as_str()).map(Vec::as_slice).unwrap_or_default();
        let members: HashSet<u32> = group.iter().copied().collect();
        let mut calls: Vec<u32> =
            group.iter().copied().filter(|place| !chain.seen.has(*place)).collect();
        let (mut results, mut strays) = (Vec::new(), Vec::new());
        let mut collected = HashSet::new();
        for member in group {
            for result in below.get(member).into_iter().flatten().copied() {
                if chain.seen.has(result) || !collected.insert(result) {
                    continue;
                }
                let list = if members.contains(&parent(&chain.parents, result)) {
                    &mut results
                } else {
                    &mut strays
                };
                list.push(result);
            }
        }
        // A result that hangs elsewhere counts only if its call has no other.
        if !strays.is_empty() {
            let mut answered = answered.clone();
            for result in &results {
                answered.extend(detail(*result).results.iter().cloned());
            }
            strays.sort_unstable();
            for result in strays {
                let found = &detail(result).results;
                let open = found.iter().any(|call| {
                    let owner = owners.get(call.as_str()).copied().flatten();
                    !answered.contains(call) && owner.is_some_and(|owner| members.contains(&owner))
                });
                if open {
                    answered.extend(found.iter().cloned());
                    results.push(result);
                }
            }
        }
        calls.sort_by(|a, b| detail(*a).timestamp.cmp(&detail(*b).timestamp));
        results.sort_by(|a, b| detail(*a).timestamp.cmp(&detail(*b).timestamp));
        calls.extend(results);
        if let Some(last) = last.get(message.as_str()).filter(|_| !calls.is_empty()) {
            for place in &calls {
                chain.seen.add(*place);
            }
            inserts.insert(*last, calls);
        }
    }
    if !inserts.is_empty() {
        let branch = std::mem::take(&mut chain.places);
        for place in branch {
            chain.places.push(place);
            chain.places.extend(inserts.remove(&place).unwrap_or_default());
        }
    }
    Ok(())
}

/// Queued prompts that hang below the last message and are not part of the branch.
pub(crate) fn trailing(index: &Index, chain: &Chain) -> Vec<u32> {
    let is_waiting =
        |place: &u32| index.flags(*place).any(Flags::QUEUED) && !chain.seen.has(*place);
    if chain.leaf == NONE || !index.places().any(|place| is_waiting(&place)) {
        return Vec::new();
    }
    let original = |place: u32| index.find(&index.node(place).parent).unwrap_or(NONE);
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    // Entries that lead to messages of other branches.
    let mut elsewhere = Places::new(index.nodes.len());
    for place in index.places() {
        let flags = index.flags(place);
        if !flags.any(Flags::SAID) {
            let (first, second) = (original(place), parent(&chain.parents, place));
            for above in [Some(first), (second != first).then_some(second)].into_iter().flatten() {
                if above != NONE {
                    children.entry(above).or_default().push(place);
                }
            }
        } else if !flags.any(Flags::SIDECHAIN) && !flags.any(Flags::TEAM) && !chain.seen.has(place)
        {
            let mut above = original(place);
            while above != NONE && !chain.seen.has(above) && elsewhere.add(above) {
                above = original(above);
            }
        }
    }
    let mut seen = chain.seen.clone();
    let mut found = Vec::new();
    let mut open = vec![chain.leaf];
    while let Some(place) = open.pop() {
        if place != chain.leaf {
            if !seen.add(place) {
                continue;
            }
            if index.flags(place).any(Flags::QUEUED) && !elsewhere.has(place) {
                found.push(place);
            }
        }
        // Siblings are written one after the other, so the order of the file is that of their times.
        let below = children.get(&place).into_iter().flatten().rev();
        open.extend(below.copied().filter(|child| !seen.has(*child)));
    }
    found
}
