//! Forking: a copy of a session with new ids, from which the conversation can go another way.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufWriter, Write};

use crate::chain::{self, Places, Search};
use crate::error::{Error, Result};
use crate::head_tail::open_regular;
use crate::index::{Flags, Index, NONE, Queued, Scope, text_of};
use crate::session::{StoredSession, create_private};
use crate::transcript::{Entries, read_at};
use crate::{js, json};

/// How to fork.
///
/// ```
/// use duologue_sessions::ForkOptions;
///
/// let options = ForkOptions::default().up_to("6d0f9e0c-0000-4000-8000-000000000000").title("Another way");
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ForkOptions {
    up_to: Option<String>,
    title: Option<String>,
}

impl ForkOptions {
    /// The fork ends with this message. The id of a compaction's summary leaves out the messages that were kept after it;
    /// that of the boundary itself ends the fork before the compaction.
    #[must_use]
    pub fn up_to(mut self, message: impl Into<String>) -> Self {
        self.up_to = Some(message.into());
        self
    }

    /// The title of the fork. Without one it is that of the original with ` (fork)`.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }
}

/// The ids of the fork. They are computed, not stored: a random key decides them.
struct NewIds {
    index: Index,
    keys: [RandomState; 2],
    without: Places,
    end: u32,
}

impl NewIds {
    fn has(&self, place: u32) -> bool {
        place != NONE && place < self.end && !self.without.has(place)
    }

    /// The new id of an entry.
    fn of(&self, place: u32) -> String {
        let [high, low] = &self.keys;
        let bytes = u128::from(high.hash_one(place)) << 64 | u128::from(low.hash_one(place));
        uuid::Builder::from_random_bytes(bytes.to_be_bytes()).into_uuid().to_string()
    }

    /// The new id for an old one, if its entry is in the fork.
    fn map(&self, uuid: &str) -> Option<String> {
        self.index.find_uuid(uuid).filter(|place| self.has(*place)).map(|place| self.of(place))
    }

    /// As [`map`](Self::map), for entries that are written.
    fn map_written(&self, uuid: &str) -> Option<String> {
        let place = self.index.find_uuid(uuid).filter(|place| self.has(*place))?;
        (!self.index.flags(place).any(Flags::PROGRESS)).then(|| self.of(place))
    }

    /// The new parent of an entry. Progress is not copied, so it is passed over.
    fn parent(&self, place: u32) -> Option<String> {
        let mut seen = HashSet::new();
        let mut place = place;
        loop {
            place = self.index.find(&self.index.node(place).parent).filter(|it| self.has(*it))?;
            if !self.index.flags(place).any(Flags::PROGRESS) || !seen.insert(place) {
                return Some(self.of(place));
            }
        }
    }
}

/// What else a fork takes over from its original.
#[derive(Default)]
struct Inherited {
    replacements: Vec<String>,
    atis: Option<String>,
    tools: Option<String>,
    relocated: Option<String>,
    suppressed: bool,
    data_flow: bool,
}

impl StoredSession {
    /// Copies the session under a new id, with new ids for all entries.
    ///
    /// All branches are copied. The history of files and other entries that belong to the original are not.
    ///
    /// ```
    /// use duologue_sessions::{ForkOptions, Sessions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let id = "11111111-2222-4333-8444-555555555555";
    /// # std::fs::create_dir_all(folder.path().join("projects/-my"))?;
    /// # let text = r#"{"type":"user","uuid":"a","message":{"role":"user","content":"Hello?"}}"#;
    /// # std::fs::write(folder.path().join(format!("projects/-my/{id}.jsonl")), format!("{text}\n"))?;
    /// let session = Sessions::in_config_dir(folder.path()).get(id)?;
    /// let fork = session.fork(&ForkOptions::default())?;
    /// assert_ne!(fork.id(), session.id());
    /// assert_eq!(fork.info()?.expect("it has a title").summary, "Hello? (fork)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchMessage`] if the message of [`ForkOptions::up_to`] is not in the session, [`Error::NoMessages`] if there
    /// is nothing to copy, or if a file cannot be read or written. The original is only read, so it may be in use.
    pub fn fork(&self, options: &ForkOptions) -> Result<Self> {
        let path = self.path();
        let io = || Error::io(path);
        let index = Index::open(path, Scope::Session)?;
        let mut file = open_regular(path).map_err(io())?;
        let mut without = Places::new(index.nodes.len());
        for place in 0..u32::try_from(index.nodes.len()).unwrap_or(NONE) {
            let flags = index.flags(place);
            if flags.any(Flags::SIDECHAIN) || flags.any(Flags::REPLACED) {
                without.add(place);
            }
        }
        let mut end = u32::try_from(index.nodes.len()).unwrap_or(NONE);
        let mut cut = None;
        if let Some(message) = &options.up_to {
            let missing =
                || Error::NoSuchMessage { session: self.id().to_owned(), message: message.clone() };
            let place = find_message(&index, &mut file, &without, message).map_err(io())?;
            let place = place.ok_or_else(missing)?;
            cut = Some(place);
            end = before_compaction(&index, &mut file, &without, place + 1).map_err(io())?;
            leave_out_branches(&index, &mut file, &mut without, end).map_err(io())?;
        }
        let ids = NewIds { index, keys: [RandomState::new(), RandomState::new()], without, end };
        let written: Vec<u32> = ids
            .index
            .places()
            .filter(|place| ids.has(*place) && !ids.index.flags(*place).any(Flags::PROGRESS))
            .collect();
        let Some(last) = written.last().copied() else {
            return Err(Error::NoMessages(self.id().to_owned()));
        };
        let title = match options.title.as_deref().map(js::trim).filter(|title| !title.is_empty()) {
            Some(title) => title.to_owned(),
            None => {
                let info = self.info()?;
                let old = info.and_then(|info| info.title.or(info.first_prompt));
                format!("{} (fork)", old.as_deref().unwrap_or("Forked session"))
            }
        };
        let inherited = inherited(path, self.id())?;
        let fork = self.sibling(&uuid::Uuid::new_v4().to_string());
        let draft = path.with_file_name(format!("{}.fork", fork.id()));
        let now = js::format_time(js::now());
        let result = (|| {
            let mut out = BufWriter::new(create_private(&draft)?);
            let wrote = || Error::io(&draft);
            if inherited.suppressed {
                let line = format!(
                    "{{\"type\":\"history-suppression\",\"sessionId\":\"{}\",\"cause\":\"fork_inherit\",\"ts\":\"{now}\"}}",
                    fork.id()
                );
                writeln!(out, "{line}").map_err(wrote())?;
            }
            let mut line = Vec::new();
            for place in written {
                let node = ids.index.node(place);
                read_at(&mut file, node.offset, node.length, &mut line).map_err(io())?;
                let time = (place == last).then_some(now.as_str());
                let text = text_of(&line);
                let copy = copy(
                    &ids,
                    place,
                    text.trim_matches([' ', '\t', '\r']),
                    self.id(),
                    fork.id(),
                    time,
                    cut,
                );
                let copy = copy.ok_or_else(|| Error::Io {
                    path: path.to_path_buf(),
                    source: std::io::Error::other(format!(
                        "the entry at byte {} cannot be copied",
                        node.offset
                    )),
                })?;
                writeln!(out, "{copy}").map_err(wrote())?;
            }
            for line in inherited.lines(fork.id(), &now) {
                writeln!(out, "{line}").map_err(wrote())?;
            }
            let entry = uuid::Uuid::new_v4();
            let title = json::quote(&title);
            writeln!(
                out,
                "{{\"type\":\"custom-title\",\"sessionId\":\"{}\",\"customTitle\":{title},\"uuid\":\"{entry}\",\"timestamp\":\"{now}\"}}",
                fork.id()
            )
            .map_err(wrote())?;
            out.flush().map_err(wrote())?;
            fs::rename(&draft, fork.path()).map_err(Error::io(fork.path()))
        })();
        if result.is_err() {
            let _ = fs::remove_file(&draft);
        }
        result.map(|()| fork)
    }
}

/// The entry with this id, or the queued prompt that was given it.
fn find_message(
    index: &Index,
    file: &mut File,
    without: &Places,
    message: &str,
) -> std::io::Result<Option<u32>> {
    if let Some(place) = index.find_uuid(message).filter(|place| !without.has(*place)) {
        return Ok(Some(place));
    }
    let mut chain = chain::resolve(index, Search { without: Some(without), ..Search::default() });
    chain::add_parallel(index, &mut chain, file)?;
    let newest = chain.places.iter().max().copied().unwrap_or_default();
    let after = index.places().filter(|place| *place > newest);
    let queued = chain.places.iter().copied().chain(after).chain(index.places());
    let mut line = Vec::new();
    for place in
        queued.filter(|place| index.flags(*place).any(Flags::QUEUED) && !without.has(*place))
    {
        let node = index.node(place);
        read_at(file, node.offset, node.length, &mut line)?;
        let text = text_of(&line);
        let [attachment] =
            json::fields(text.trim_matches([' ', '\t', '\r']), &["attachment"]).unwrap_or_default();
        let source = attachment.and_then(Queued::read).and_then(|queued| queued.source);
        if source.as_deref() == Some(message) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// What a compact boundary says about the entries around it.
#[derive(Default)]
struct BoundaryNote {
    kept: Vec<String>,
    anchor: Option<String>,
    above: Option<String>,
    /// It kept everything: nothing was summed up.
    is_empty: bool,
    own: String,
}

impl BoundaryNote {
    fn read(index: &Index, file: &mut File, place: u32) -> std::io::Result<Self> {
        let node = index.node(place);
        let mut line = Vec::new();
        read_at(file, node.offset, node.length, &mut line)?;
        let text = text_of(&line);
        let owned =
            |value: Option<&str>| value.and_then(json::string).map(|text| text.into_owned());
        let names = ["uuid", "logicalParentUuid", "compactMetadata"];
        let [own, above, metadata] =
            json::fields(text.trim_matches([' ', '\t', '\r']), &names).unwrap_or_default();
        let own = owned(own).unwrap_or_default();
        let names = ["preservedMessages", "preservedSegment", "durationMs"];
        let [messages, segment, duration] =
            metadata.and_then(|it| json::fields(it, &names)).unwrap_or_default();
        let [uuids] = messages.and_then(|it| json::fields(it, &["uuids"])).unwrap_or_default();
        let [head, tail] =
            segment.and_then(|it| json::fields(it, &["headUuid", "tailUuid"])).unwrap_or_default();
        let mut kept: Vec<String> = uuids
            .map(json::elements)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|it| owned(Some(it)))
            .collect();
        kept.extend(owned(head));
        kept.extend(owned(tail));
        let anchor = messages.or(segment).and_then(|it| json::fields(it, &["anchorUuid"]));
        let anchor = anchor.and_then(|[anchor]| owned(anchor));
        let is_empty = duration == Some("0") && anchor.as_deref() == Some(&own);
        Ok(Self { kept, anchor, above: owned(above), is_empty, own })
    }
}

/// Where the copy ends if it would end between a compact boundary and its summary: before the boundary.
fn before_compaction(
    index: &Index,
    file: &mut File,
    without: &Places,
    end: u32,
) -> std::io::Result<u32> {
    let slice: Vec<u32> =
        index.places().filter(|place| *place < end && !without.has(*place)).collect();
    let said = slice.iter().rposition(|place| index.flags(*place).any(Flags::SAID));
    let mut found = None;
    for place in slice.iter().skip(said.map_or(0, |at| at + 1)) {
        if index.flags(*place).any(Flags::BOUNDARY) {
            let note = BoundaryNote::read(index, file, *place)?;
            if !note.is_empty {
                found = Some((*place, note));
                break;
            }
        }
    }
    let Some((boundary, note)) = found else { return Ok(end) };
    let before: Vec<u32> = slice.into_iter().filter(|place| *place < boundary).collect();
    let mut last = None;
    if note.anchor.as_deref() != Some(&note.own) {
        let above = note.kept.iter().chain(&note.above).filter_map(|uuid| index.find_uuid(uuid));
        last = above.filter(|place| before.contains(place)).max();
    }
    let earlier = before.iter().rev().find(|place| index.flags(**place).any(Flags::BOUNDARY));
    if let (Some(found), Some(earlier)) = (last, earlier) {
        let note = BoundaryNote::read(index, file, *earlier)?;
        let kept = note.kept.iter().any(|uuid| index.find_uuid(uuid) == Some(found));
        if !note.is_empty && kept {
            let anchor = note.anchor.as_deref().and_then(|uuid| index.find_uuid(uuid));
            last = anchor.filter(|place| before.contains(place)).max(last);
        }
    }
    let new_end = last.map_or(boundary, |last| last + 1);
    let has_content =
        before.iter().any(|place| *place < new_end && !index.flags(*place).any(Flags::PROGRESS));
    Ok(if has_content { new_end } else { end })
}

/// Leaves out branches that would make the copy end elsewhere than at its last entry.
fn leave_out_branches(
    index: &Index,
    file: &mut File,
    without: &mut Places,
    end: u32,
) -> std::io::Result<()> {
    let slice: Vec<u32> =
        index.places().filter(|place| *place < end && !without.has(*place)).collect();
    let Some(last) = slice.last().copied() else { return Ok(()) };
    fn search(without: &Places, end: u32, from: Option<u32>) -> Search<'_> {
        Search { without: Some(without), end: Some(end), all_sides: true, from }
    }
    let mut wanted = chain::resolve(index, search(without, end, Some(last)));
    chain::add_parallel_within(index, &mut wanted, file, &|place| {
        place < end && !without.has(place)
    })?;
    let Some(start) = wanted.places.first().copied() else { return Ok(()) };
    let above = |without: &Places, place: u32| {
        index.find(&index.node(place).parent).filter(|it| *it < end && !without.has(*it))
    };
    let mut live = Places::new(index.nodes.len());
    for place in std::iter::once(last).chain(wanted.places.iter().copied()) {
        let mut place = Some(place);
        while let Some(at) = place.filter(|at| live.add(*at)) {
            place = above(without, at);
        }
    }
    let is_dead = |place: u32| !live.has(place) && place >= start;
    let leave_out = |without: &mut Places, place: u32| {
        let mut at = Some(place);
        let mut dropped = Places::new(index.nodes.len());
        while let Some(dead) = at.filter(|at| is_dead(*at) && dropped.add(*at)) {
            at = above(without, dead);
        }
        for place in &slice {
            let parent = index.find(&index.node(*place).parent);
            if parent.is_some_and(|parent| {
                dropped.has(parent)
                    || (without.has(parent) && parent >= start && slice.contains(&parent))
            }) {
                dropped.add(*place);
            }
        }
        for place in &slice {
            if dropped.has(*place) {
                without.add(*place);
            }
        }
    };
    for place in &slice {
        if index.flags(*place).any(Flags::BOUNDARY) && is_dead(*place) {
            let note = BoundaryNote::read(index, file, *place)?;
            let kept = note.kept.iter().filter_map(|uuid| index.find_uuid(uuid));
            if !kept.into_iter().any(|place| live.has(place)) {
                leave_out(without, *place);
            }
        }
    }
    loop {
        let mut found = chain::resolve(index, search(without, end, None));
        chain::add_parallel_within(index, &mut found, file, &|place| {
            place < end && !without.has(place)
        })?;
        let same = found.places.len() == wanted.places.len()
            && found.places.iter().all(|place| wanted.seen.has(*place));
        if same || found.terminal == NONE || !is_dead(found.terminal) {
            return Ok(());
        }
        leave_out(without, found.terminal);
    }
}

/// Fields that belong to the original.
const DROPPED: [&str; 8] = [
    "teamName",
    "agentName",
    "sessionKind",
    "slug",
    "sourceToolAssistantUUID",
    "summarizedTurnPromptUuids",
    "droppedPromptUuids",
    "turnAttributionKey",
];

/// An entry of the fork. All fields that are not about ids stay as they are.
fn copy(
    ids: &NewIds,
    place: u32,
    line: &str,
    from: &str,
    to: &str,
    time: Option<&str>,
    cut: Option<u32>,
) -> Option<String> {
    let mut fields: Vec<(String, String)> = json::all_fields(line)?
        .into_iter()
        .filter(|(name, _)| !DROPPED.contains(&name.as_str()))
        .map(|(name, value)| (name, value.to_owned()))
        .collect();
    let get = |fields: &[(String, String)], name: &str| {
        fields.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone())
    };
    let own = get(&fields, "uuid")?;
    let or_null = |id: Option<String>| id.map_or_else(|| "null".to_owned(), |id| json::quote(&id));
    let text = |value: &str| json::string(value).map(|text| text.into_owned());
    if let Some(above) = get(&fields, "logicalParentUuid").filter(|above| above != "null") {
        set(
            &mut fields,
            "logicalParentUuid",
            or_null(text(&above).and_then(|above| ids.map(&above))),
        );
    }
    if get(&fields, "subtype").as_deref() == Some("\"model_refusal_fallback\"") {
        set(&mut fields, "neutralizedByFork", "true".to_owned());
    }
    if let Some(attachment) = get(&fields, "attachment") {
        set(&mut fields, "attachment", copy_attachment(ids, &attachment).unwrap_or(attachment));
    }
    if ids.index.flags(place).any(Flags::SYSTEM)
        && let Some(metadata) = get(&fields, "compactMetadata")
    {
        let copied = copy_metadata(ids, place, &metadata, cut);
        set(&mut fields, "compactMetadata", copied.unwrap_or(metadata));
    }
    set(&mut fields, "uuid", json::quote(&ids.of(place)));
    set(&mut fields, "parentUuid", or_null(ids.parent(place)));
    set(&mut fields, "sessionId", json::quote(to));
    if let Some(time) = time {
        set(&mut fields, "timestamp", json::quote(time));
    }
    set(&mut fields, "isSidechain", "false".to_owned());
    set(
        &mut fields,
        "forkedFrom",
        format!("{{\"sessionId\":{},\"messageUuid\":{own}}}", json::quote(from)),
    );
    Some(object(&fields))
}

fn set(fields: &mut Vec<(String, String)>, name: &str, value: String) {
    match fields.iter_mut().find(|(found, _)| found == name) {
        Some(field) => field.1 = value,
        None => fields.push((name.to_owned(), value)),
    }
}

fn object(fields: &[(String, String)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}:{value}", json::quote(name))).collect();
    format!("{{{}}}", fields.join(","))
}

/// An attachment with new ids in it.
fn copy_attachment(ids: &NewIds, attachment: &str) -> Option<String> {
    let mut fields: Vec<(String, String)> = json::all_fields(attachment)?
        .into_iter()
        .map(|(name, value)| (name, value.to_owned()))
        .collect();
    let kind = fields.iter().find(|(name, _)| name == "type").map(|(_, value)| value.clone())?;
    for (name, value) in &mut fields {
        if kind == "\"queued_command\"" && name == "source_uuid" {
            let new =
                json::string(value).filter(|uuid| !uuid.is_empty()).and_then(|uuid| ids.map(&uuid));
            if let Some(new) = new {
                *value = json::quote(&new);
            }
        }
        if kind == "\"deferred_tools_record\""
            && name == "nameOnlyAnnouncements"
            && value.starts_with('[')
        {
            let new =
                json::elements(value).into_iter().filter_map(|it| ids.map(&json::string(it)?));
            *value = format!("[{}]", new.map(|id| json::quote(&id)).collect::<Vec<_>>().join(","));
        }
    }
    Some(object(&fields))
}

/// The metadata of a compaction with new ids in it.
fn copy_metadata(ids: &NewIds, place: u32, metadata: &str, cut: Option<u32>) -> Option<String> {
    let all = json::all_fields(metadata)?;
    let [messages, segment] =
        json::fields(metadata, &["preservedMessages", "preservedSegment"]).unwrap_or_default();
    let anchor = messages.or(segment).and_then(|it| json::fields(it, &["anchorUuid"]));
    let anchor = anchor.and_then(|[anchor]| ids.index.find_uuid(&json::string(anchor?)?));
    // The copy ends with the summary: what was kept after it is left out.
    let ends_here = cut.is_some() && anchor == cut && ids.index.flags(place).any(Flags::BOUNDARY);
    let new = |value: &str| {
        let id = json::string(value).and_then(|uuid| ids.map_written(&uuid));
        id.map_or_else(|| value.to_owned(), |id| json::quote(&id))
    };
    let mut fields: Vec<(String, String)> = Vec::new();
    for (name, value) in all {
        let is_kept = name == "preservedMessages" || name == "preservedSegment";
        if name == "runningTurnSends" || (ends_here && (is_kept || name == "postTokens")) {
            continue;
        }
        let inner = json::all_fields(value).filter(|_| is_kept);
        let value = match inner {
            Some(inner) => {
                let inner: Vec<(String, String)> = inner
                    .into_iter()
                    .map(|(name, value)| {
                        let ids = ["anchorUuid", "uuids", "allUuids", "headUuid", "tailUuid"];
                        let value = if !ids.contains(&name.as_str()) {
                            value.to_owned()
                        } else if value.starts_with('[') {
                            let list: Vec<String> =
                                json::elements(value).into_iter().map(new).collect();
                            format!("[{}]", list.join(","))
                        } else {
                            new(value)
                        };
                        (name, value)
                    })
                    .collect();
                object(&inner)
            }
            None => value.to_owned(),
        };
        fields.push((name, value));
    }
    Some(object(&fields))
}

/// Collects what else the fork takes over.
fn inherited(path: &std::path::Path, session: &str) -> Result<Inherited> {
    let mut found = Inherited::default();
    let mut entries = Entries::open(path)?;
    let mut line = Vec::new();
    let kinds = [
        "content-replacement",
        "atis-latch",
        "tools-used",
        "relocated",
        "history-suppression",
        "data-flow",
    ];
    let finders = kinds.map(|kind| memchr::memmem::Finder::new(kind.as_bytes()).into_owned());
    while entries.read_into(&mut line).map_err(Error::io(path))?.is_some() {
        if !finders.iter().any(|finder| finder.find(&line).is_some()) {
            continue;
        }
        let text = text_of(&line);
        let names = ["type", "sessionId", "replacements", "atis", "tools", "relocatedCwd"];
        let Some([kind, owner, replacements, atis, tools, cwd]) =
            json::fields(text.trim_matches([' ', '\t', '\r']), &names)
        else {
            continue;
        };
        let kind = kind.and_then(json::string).unwrap_or_default();
        let is_own = owner.and_then(json::string).as_deref() == Some(session);
        match &*kind {
            "history-suppression" => found.suppressed = true,
            "content-replacement" if is_own => {
                let list = replacements.map(json::elements).unwrap_or_default();
                found
                    .replacements
                    .extend(list.into_iter().filter(|it| it.starts_with('{')).map(str::to_owned));
            }
            "atis-latch" if is_own => {
                let plain = |atis: &&str| {
                    json::string(atis)
                        .is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_graphic()))
                };
                found.atis = atis.filter(plain).map(str::to_owned).or(found.atis);
            }
            "tools-used" if is_own && tools.is_some_and(|tools| tools.starts_with('[')) => {
                let list = tools.map(json::elements).unwrap_or_default();
                let names = list.into_iter().filter(|it| it.starts_with('"') && *it != "\"\"");
                found.tools = Some(format!("[{}]", names.collect::<Vec<_>>().join(",")));
            }
            "relocated" if is_own => {
                found.relocated = cwd
                    .filter(|cwd| cwd.starts_with('"') && *cwd != "\"\"")
                    .map(str::to_owned)
                    .or(found.relocated);
            }
            "data-flow-records" | "data-flow-incomplete" if is_own => found.data_flow = true,
            _ => {}
        }
    }
    Ok(found)
}

impl Inherited {
    fn lines(&self, session: &str, now: &str) -> Vec<String> {
        let line = |kind: &str, fields: String| {
            format!("{{\"type\":\"{kind}\",\"sessionId\":\"{session}\",{fields}}}")
        };
        let mut lines = Vec::new();
        if !self.replacements.is_empty() {
            let list = self.replacements.join(",");
            let entry = uuid::Uuid::new_v4();
            lines.push(line(
                "content-replacement",
                format!("\"replacements\":[{list}],\"uuid\":\"{entry}\",\"timestamp\":\"{now}\""),
            ));
        }
        lines.extend(self.atis.as_ref().map(|atis| line("atis-latch", format!("\"atis\":{atis}"))));
        lines.extend(
            self.tools.as_ref().map(|tools| line("tools-used", format!("\"tools\":{tools}"))),
        );
        if self.data_flow {
            // Records are not judged here, so the fork does not claim to have all of them.
            lines.push(line("data-flow-incomplete", "\"v\":1".to_owned()));
        }
        lines.extend(
            self.relocated.as_ref().map(|cwd| line("relocated", format!("\"relocatedCwd\":{cwd}"))),
        );
        lines
    }
}
