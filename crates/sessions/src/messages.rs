//! The messages of a session, as they are shown.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use duologue_wire::{Decoded, Line, RawJson, ToHost};

use crate::chain::{self, Search};
use crate::error::{Error, Result};
use crate::head_tail::open_regular;
use crate::index::{self, Flags, Index, NONE, Queued, Scope, text_of};
use crate::json;
use crate::transcript::read_at;

/// Which messages to read.
///
/// ```
/// use duologue_sessions::MessageOptions;
///
/// let second_page = MessageOptions::default().limit(50).offset(50);
/// let with_notices = MessageOptions::default().system_messages(true);
/// # let _ = (second_page, with_notices);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MessageOptions {
    limit: Option<usize>,
    offset: usize,
    system: bool,
}

impl MessageOptions {
    /// At most this many messages. Zero means all, as in the SDKs.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = (limit > 0).then_some(limit);
        self
    }

    /// Leaves out this many messages at the beginning.
    #[must_use]
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Includes system messages, such as compact boundaries and notices.
    #[must_use]
    pub fn system_messages(mut self, include: bool) -> Self {
        self.system = include;
        self
    }
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageKind {
    /// A prompt, or results of tools.
    User,
    /// The model.
    Assistant,
    /// Claude Code itself.
    System,
}

impl MessageKind {
    /// The name on the wire: `user`, `assistant` or `system`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }
}

/// One message of a stored session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionMessage {
    /// Who wrote it.
    pub kind: MessageKind,
    /// Its UUID.
    pub uuid: String,
    /// The session it was written in.
    pub session_id: Option<String>,
    /// The message as the Messages API has it. System messages have none.
    pub message: Option<RawJson>,
    /// The call of a sub-agent that this belongs to.
    pub parent_tool_use_id: Option<String>,
    /// The sub-agent that started this sub-agent.
    pub parent_agent_id: Option<String>,
    /// When it was written: an ISO 8601 time.
    pub timestamp: Option<String>,
    /// Whether nobody typed it.
    pub is_meta: bool,
    /// Whether it sums up what a compaction removed.
    pub is_compact_summary: bool,
    /// Whether it was written while a turn ran.
    pub is_queued: bool,
    /// Whether it records a command that Claude Code ran itself, or its output.
    pub is_local_command: bool,
    /// Where it came from, if not from the prompt.
    pub origin: Option<RawJson>,
    /// The whole entry as it is in the file.
    pub entry: RawJson,
}

impl SessionMessage {
    /// The message as a line of the wire: what a live session would have printed for it, with types.
    ///
    /// ```
    /// use duologue_sessions::{MessageOptions, Sessions};
    /// use duologue_wire::{Decoded, ToHost};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let id = "11111111-2222-4333-8444-555555555555";
    /// # std::fs::create_dir_all(folder.path().join("projects/-my"))?;
    /// # let text = r#"{"type":"assistant","uuid":"a","message":{"role":"assistant","content":[{"type":"text","text":"Hi!"}]}}"#;
    /// # std::fs::write(folder.path().join(format!("projects/-my/{id}.jsonl")), format!("{text}\n"))?;
    /// let session = Sessions::in_config_dir(folder.path()).get(id)?;
    /// for message in session.messages(&MessageOptions::default())? {
    ///     assert!(matches!(message?.to_wire(), Decoded::Known(ToHost::Assistant(_))));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_wire(&self) -> Decoded<ToHost> {
        let optional =
            |text: &Option<String>| text.as_deref().map_or("null".to_owned(), json::quote);
        let mut line = format!("{{\"type\":\"{}\"", self.kind.as_str());
        if let Some(message) = &self.message {
            line.push_str(&format!(",\"message\":{}", message.as_json()));
        }
        if self.kind == MessageKind::System {
            for name in ["subtype", "content"] {
                if let Some(value) = self.entry.get(name) {
                    line.push_str(&format!(",\"{name}\":{}", value.as_json()));
                }
            }
        }
        line.push_str(&format!(
            ",\"parent_tool_use_id\":{},\"session_id\":{},\"uuid\":{}}}",
            optional(&self.parent_tool_use_id),
            optional(&self.session_id),
            json::quote(&self.uuid),
        ));
        Line::from(line).to_host()
    }
}

/// A message to be read.
#[derive(Clone, Copy, Debug)]
struct Item {
    place: u32,
    queued: bool,
    local_command: bool,
}

/// Reads the messages of a session one by one.
///
/// The texts are not in memory: each message is read from the file when it is asked for.
#[derive(Debug)]
pub struct Messages {
    path: PathBuf,
    file: File,
    index: Index,
    items: std::vec::IntoIter<Item>,
    parents: Parents,
    line: Vec<u8>,
}

/// Where a sub-agent comes from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parents {
    pub(crate) tool_use_id: Option<String>,
    pub(crate) agent_id: Option<String>,
}

impl Messages {
    pub(crate) fn of_session(path: &Path, options: &MessageOptions) -> Result<Self> {
        let index = Index::open(path, Scope::Session)?;
        let mut file = open_regular(path).map_err(Error::io(path))?;
        let mut chain = chain::resolve(&index, Search::default());
        chain::add_parallel(&index, &mut chain, &mut file).map_err(Error::io(path))?;
        let trailing = chain::trailing(&index, &chain);
        let waiting: HashSet<u32> = trailing.iter().copied().collect();
        let mut places = chain.places;
        places.extend(trailing);
        let items =
            items(&index, &mut file, &places, Some(&waiting), options).map_err(Error::io(path))?;
        Self::new(path, file, index, items, Parents::default(), options)
    }

    pub(crate) fn of_agent(
        path: &Path,
        parents: Parents,
        options: &MessageOptions,
    ) -> Result<Self> {
        let index = Index::open(path, Scope::Agent)?;
        let mut file = open_regular(path).map_err(Error::io(path))?;
        let leaf = index
            .places()
            .filter(|place| index.flags(*place).any(Flags::SAID))
            .max_by_key(|place| index.position(*place));
        let search = Search { from: Some(leaf.unwrap_or(NONE)), ..Search::default() };
        let chain = chain::resolve(&index, search);
        let items =
            items(&index, &mut file, &chain.places, None, options).map_err(Error::io(path))?;
        Self::new(path, file, index, items, parents, options)
    }

    fn new(
        path: &Path,
        file: File,
        index: Index,
        mut items: Vec<Item>,
        parents: Parents,
        options: &MessageOptions,
    ) -> Result<Self> {
        items.drain(..options.offset.min(items.len()));
        items.truncate(options.limit.unwrap_or(usize::MAX));
        let path = path.to_path_buf();
        Ok(Self { path, file, index, items: items.into_iter(), parents, line: Vec::new() })
    }

    /// How many lines of the file are not JSON, and where the first of them begins. They were passed over.
    pub fn damaged_lines(&self) -> Option<(u64, u64)> {
        self.index.damaged
    }

    fn read(&mut self, item: Item) -> Result<SessionMessage> {
        let node = *self.index.node(item.place);
        read_at(&mut self.file, node.offset, node.length, &mut self.line)
            .map_err(Error::io(&self.path))?;
        let text = text_of(&self.line);
        let text = text.trim_matches([' ', '\t', '\r']);
        let changed = || Error::Io {
            path: self.path.clone(),
            source: std::io::Error::other("the file was changed while it was read"),
        };
        let entry = RawJson::parse(text).map_err(|_| changed())?;
        let names = [
            "uuid",
            "sessionId",
            "message",
            "timestamp",
            "origin",
            "attachment",
            "isVisibleInTranscriptOnly",
            "isMeta",
            "isCompactSummary",
        ];
        let [uuid, session, message, timestamp, origin, attachment, only, meta, summary] =
            json::fields(text, &names).ok_or_else(changed)?;
        let owned =
            |value: Option<&str>| value.and_then(json::string).map(|text| text.into_owned());
        let raw = |value: Option<&str>| value.and_then(|value| RawJson::parse(value).ok());
        let is_true = |value: Option<&str>| value == Some("true");
        let mut found = SessionMessage {
            kind: if node.flags.any(Flags::ASSISTANT) {
                MessageKind::Assistant
            } else if node.flags.any(Flags::SYSTEM) {
                MessageKind::System
            } else {
                MessageKind::User
            },
            uuid: owned(uuid).unwrap_or_default(),
            session_id: owned(session),
            message: raw(message),
            parent_tool_use_id: self.parents.tool_use_id.clone(),
            parent_agent_id: self.parents.agent_id.clone(),
            timestamp: owned(timestamp),
            is_meta: is_true(meta) || is_true(summary) || is_true(only),
            is_compact_summary: is_true(summary),
            is_queued: item.queued,
            is_local_command: item.local_command,
            origin: raw(origin.filter(|origin| *origin != "null").map(public_origin).as_deref()),
            entry,
        };
        if item.queued
            && let Some(queued) = attachment.and_then(Queued::read)
        {
            let content = queued.prompt.unwrap_or("\"\"");
            found.message =
                RawJson::parse(&format!("{{\"role\":\"user\",\"content\":{content}}}")).ok();
            found.origin = raw(queued.public_origin().as_deref());
            found.is_meta = queued.meta;
            if let Some(source) = queued.source {
                found.uuid = source;
            }
        }
        Ok(found)
    }
}

impl Iterator for Messages {
    type Item = Result<SessionMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.items.next()?;
        Some(self.read(item))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl ExactSizeIterator for Messages {}

/// Which of these entries are shown, and as what. `waiting` is `None` for sub-agents, whose meta messages are shown.
fn items(
    index: &Index,
    file: &mut File,
    places: &[u32],
    waiting: Option<&HashSet<u32>>,
    options: &MessageOptions,
) -> std::io::Result<Vec<Item>> {
    let local = local_commands(index, places);
    let answered = answered(index, places, &local);
    let delivered = delivered(index, file, places)?;
    let mut uuids: HashSet<String> = HashSet::new();
    let has_queued = places.iter().any(|place| index.flags(*place).any(Flags::QUEUED));
    let mut line = Vec::new();
    if has_queued {
        for place in places {
            let node = index.node(*place);
            read_at(file, node.offset, node.length, &mut line)?;
            let text = text_of(&line);
            let [uuid] =
                json::fields(text.trim_matches([' ', '\t', '\r']), &["uuid"]).unwrap_or_default();
            uuids.extend(uuid.and_then(json::string).map(|uuid| uuid.into_owned()));
        }
    }
    let mut items = Vec::new();
    for (at, place) in places.iter().copied().enumerate() {
        let flags = index.flags(place);
        let item = Item { place, queued: false, local_command: local.contains(&at) };
        let hidden_meta = flags.any(Flags::META) && !flags.any(Flags::SHOWN);
        let aside = flags.any(Flags::SIDECHAIN) || flags.any(Flags::TEAM);
        let shown = waiting.is_none() || !(hidden_meta || aside);
        if flags.any(Flags::SAID)
            || (flags.any(Flags::SYSTEM) && options.system && waiting.is_some())
        {
            items.extend(shown.then_some(item));
        } else if flags.any(Flags::QUEUED) {
            let given = delivered.iter().find(|(found, _)| *found == at).map(|(_, given)| *given);
            let is_waiting = waiting.is_some_and(|waiting| waiting.contains(&place));
            let reached = answered.get(at).copied().unwrap_or_default() || is_waiting;
            if !given.unwrap_or(reached) {
                continue;
            }
            let node = index.node(place);
            read_at(file, node.offset, node.length, &mut line)?;
            let text = text_of(&line);
            let [uuid, attachment] =
                json::fields(text.trim_matches([' ', '\t', '\r']), &["uuid", "attachment"])
                    .unwrap_or_default();
            let Some(queued) = attachment.and_then(Queued::read) else { continue };
            let from_channel = queued.origin.is_some_and(index::is_channel);
            let is_prompt = queued.prompt.is_some_and(|prompt| prompt.starts_with(['"', '[']));
            if (queued.meta && waiting.is_some() && !from_channel)
                || !is_prompt
                || queued.is_forwarded()
            {
                continue;
            }
            let own = uuid.and_then(json::string).map(|uuid| uuid.into_owned()).unwrap_or_default();
            let uuid = queued.source.clone().unwrap_or_else(|| own.clone());
            if uuid != own && uuids.contains(&uuid) {
                continue;
            }
            uuids.insert(uuid);
            let side = flags.any(Flags::SIDECHAIN) || flags.any(Flags::TEAM);
            let hidden = waiting.is_some() && ((queued.meta && !from_channel) || side);
            items.extend((!hidden).then_some(Item { queued: true, ..item }));
        }
    }
    Ok(items)
}

/// The records of commands that Claude Code ran itself, by their place in the conversation.
fn local_commands(index: &Index, places: &[u32]) -> HashSet<usize> {
    let mut found = HashSet::new();
    for (at, place) in places.iter().enumerate() {
        let flags = index.flags(*place);
        if !(flags.any(Flags::USER) && flags.any(Flags::META) && flags.any(Flags::LOCAL_CAVEAT)) {
            continue;
        }
        let mut ran = false;
        for (next, place) in places.iter().enumerate().skip(at + 1) {
            let flags = index.flags(*place);
            if flags.any(Flags::ASSISTANT) {
                break;
            }
            if !flags.any(Flags::USER) || flags.any(Flags::META) {
                continue;
            }
            if flags.any(Flags::LOCAL_COMMAND) && !ran {
                ran = true;
            } else if !flags.any(Flags::LOCAL_OUTPUT) || !ran {
                break;
            }
            found.insert(next);
        }
    }
    found
}

/// For each entry, whether an answer comes after it before the next prompt.
fn answered(index: &Index, places: &[u32], local: &HashSet<usize>) -> Vec<bool> {
    let mut answered = vec![false; places.len()];
    let mut reply = false;
    for (at, slot) in answered.iter_mut().enumerate().rev() {
        *slot = reply;
        let flags = places.get(at).map(|place| index.flags(*place)).unwrap_or_default();
        let is_reply = flags.any(Flags::ASSISTANT)
            || flags.any(Flags::TOOL_RESULT)
            || flags.any(Flags::INTERRUPTED);
        if is_reply {
            reply = true;
        } else if flags.any(Flags::USER)
            && !flags.any(Flags::META)
            && !flags.any(Flags::COMPACT_SUMMARY)
            && !local.contains(&at)
        {
            reply = false;
        }
    }
    answered
}

/// For queued prompts whose delivery was recorded: whether they were delivered, by their place in the conversation.
fn delivered(
    index: &Index,
    file: &mut File,
    places: &[u32],
) -> std::io::Result<Vec<(usize, bool)>> {
    let mut found = Vec::new();
    if index.delivered.is_empty() {
        return Ok(found);
    }
    let mut by_key: Vec<(String, Vec<(usize, String)>)> = Vec::new();
    let mut line = Vec::new();
    for (at, place) in places.iter().enumerate() {
        if !index.flags(*place).any(Flags::QUEUED) {
            continue;
        }
        let node = index.node(*place);
        read_at(file, node.offset, node.length, &mut line)?;
        let text = text_of(&line);
        let [uuid, attachment] =
            json::fields(text.trim_matches([' ', '\t', '\r']), &["uuid", "attachment"])
                .unwrap_or_default();
        let Some(queued) = attachment.and_then(Queued::read) else { continue };
        let key = match (&queued.delivery, &queued.source) {
            (Some(id), _) => index::by_delivery(id),
            (None, Some(source)) => index::by_uuid(source),
            (None, None) => continue,
        };
        if !index.delivered.contains_key(&key) {
            continue;
        }
        let uuid = uuid.and_then(json::string).map(|uuid| uuid.into_owned()).unwrap_or_default();
        match by_key.iter_mut().find(|(found, _)| *found == key) {
            Some((_, list)) => list.push((at, uuid)),
            None => by_key.push((key, vec![(at, uuid)])),
        }
    }
    for (key, list) in by_key {
        let count = index.delivered.get(&key).copied().unwrap_or_default();
        let first = list.len().saturating_sub(count);
        for (number, (at, uuid)) in list.into_iter().enumerate() {
            let given = if key.starts_with("delivery:") {
                index.delivered.contains_key(&index::by_entry(&uuid))
            } else {
                number >= first
            };
            found.push((at, given));
        }
    }
    Ok(found)
}

impl Queued<'_> {
    /// Whether the prompt was passed on to another session.
    fn is_forwarded(&self) -> bool {
        let lineage =
            self.forwarded.and_then(|it| json::fields(it, &["lineage"])).and_then(|[it]| it);
        lineage.and_then(json::string).is_some_and(|lineage| !lineage.is_empty())
    }

    /// Where the prompt came from.
    fn public_origin(&self) -> Option<String> {
        let is_object = |origin: &&str| {
            json::fields(origin, &["kind"])
                .is_some_and(|[kind]| kind.and_then(json::string).is_some())
        };
        let origin = self.origin.filter(is_object).map(public_origin);
        let origin = origin.or_else(|| {
            (self.mode == Some("\"task-notification\""))
                .then(|| "{\"kind\":\"task-notification\"}".to_owned())
        })?;
        let names = ["kind", "runId"];
        let run = self.run.filter(|run| is_run_id(run));
        match (json::fields(&origin, &names), run) {
            (Some([Some("\"task-notification\""), None]), Some(run)) => {
                Some(format!("{},\"runId\":{run}}}", origin.strip_suffix('}').unwrap_or(&origin)))
            }
            _ => Some(origin),
        }
    }
}

/// Where a message came from, without what is only for Claude Code itself.
fn public_origin(origin: &str) -> String {
    let names = ["kind", "subkind", "fireReason", "producer", "runId", "taskKind"];
    let Some(found) = json::fields(origin, &names) else { return origin.to_owned() };
    if found.first() != Some(&Some("\"task-notification\"")) {
        return origin.to_owned();
    }
    let fields = names.iter().zip(found).filter_map(|(name, value)| {
        let value = value?;
        let keep = match *name {
            "runId" => is_run_id(value),
            "taskKind" => value == "\"mcp-task\"",
            _ => true,
        };
        keep.then(|| format!("\"{name}\":{value}"))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// Whether a value is an id that may be passed on.
pub(crate) fn is_run_id(value: &str) -> bool {
    json::string(value).is_some_and(|id| {
        (1..=128).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
    })
}
