//! What a list says about a session.

use std::fs;
use std::path::{Path, PathBuf};

use duologue_wire::RawJson;
use serde_json::Value;

use crate::head_tail::{HeadTail, first_field, first_text, last_field, last_text};
use crate::prompt::{FirstPrompt, attachment_title, first_prompt};
use crate::{js, text};

/// What a list says about a session. It is read from both ends of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The id of the session: a UUID.
    pub id: String,
    /// The transcript. Empty if the session comes from a store.
    pub path: PathBuf,
    /// A title to show: that of the user, else that of the model, else the last prompt, else the first. Empty only where
    /// [`problem`](Self::problem) says why.
    pub summary: String,
    /// The title that the user or the model gave.
    pub title: Option<String>,
    /// The first prompt that somebody typed, at most 200 characters.
    pub first_prompt: Option<String>,
    /// The git branch at the end of the session.
    pub git_branch: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The tag that the user gave.
    pub tag: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub created: Option<i64>,
    /// When the file was last written, in milliseconds since 1970.
    pub modified: i64,
    /// The size of the file in bytes. `None` if the session comes from a store.
    pub size: Option<u64>,
    /// Whether it is archived. `None` if it never was.
    pub archived: Option<bool>,
    /// Whether a program wrote it and not a person: an SDK or a daemon.
    pub programmatic: bool,
    /// What is wrong with the file, as far as both ends show it.
    pub problem: Option<Problem>,
}

/// What is wrong with a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The file is empty.
    Empty,
    /// The file could not be read.
    Unreadable(String),
    /// No line is JSON.
    NotATranscript,
    /// The last line is not complete: its writer was interrupted.
    TornLastLine,
    /// A line within the first or last 64 KiB is not JSON.
    BadLine,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => formatter.write_str("the file is empty"),
            Self::Unreadable(error) => write!(formatter, "the file cannot be read: {error}"),
            Self::NotATranscript => formatter.write_str("no line of the file is JSON"),
            Self::TornLastLine => formatter.write_str("the last line is not complete"),
            Self::BadLine => formatter.write_str("a line is not JSON"),
        }
    }
}

/// Why a file is not in the list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// It is a part of another session, or holds nothing to show.
    Out,
    Damaged(Problem),
}

/// The parts of [`SessionInfo`] that stand in side files.
#[derive(Debug, Default)]
pub(crate) struct Sidecars {
    title: Option<String>,
    archived: Option<Archived>,
}

#[derive(Debug)]
struct Archived {
    archived: bool,
    at: i64,
}

impl Sidecars {
    /// Reads the side files of a transcript. They are few, so a missing one is the usual case.
    pub(crate) fn read(transcript: &Path) -> Self {
        let folder = transcript.with_extension("");
        Self {
            title: read_json(&folder.join("custom-title.json")).and_then(|json| {
                let title = text::one_line(json.get("customTitle")?.as_str()?);
                (!title.is_empty()).then_some(title)
            }),
            archived: read_json(&folder.join(ARCHIVED)).and_then(|json| {
                let at = js::parse_time(json.get("at")?.as_str()?)?;
                Some(Archived { archived: json.get("archived")?.as_bool()?, at })
            }),
        }
    }
}

/// The side file that marks a session as archived.
pub(crate) const ARCHIVED: &str = "archived.json";

fn read_json(path: &Path) -> Option<Value> {
    let length = fs::metadata(path).ok().filter(|metadata| metadata.is_file())?.len();
    if length > 4096 {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

impl SessionInfo {
    /// Reads what a list shows.
    pub(crate) fn read(id: &str, path: &Path, project: Option<&Path>) -> Result<Self, Left> {
        let ends = match HeadTail::read(path) {
            Ok(Some(ends)) => ends,
            Ok(None) => return Err(Left::Damaged(Problem::Empty)),
            Err(error) => return Err(Left::Damaged(Problem::Unreadable(error.to_string()))),
        };
        Self::from_ends(id, path, &ends, project, &Sidecars::read(path))
    }

    pub(crate) fn from_ends(
        id: &str,
        path: &Path,
        ends: &HeadTail,
        project: Option<&Path>,
        sidecars: &Sidecars,
    ) -> Result<Self, Left> {
        let (head, tail) = (ends.head.as_str(), ends.tail());
        let problem = problem(ends);
        if problem == Some(Problem::NotATranscript) {
            return Err(Left::Damaged(Problem::NotATranscript));
        }
        let first_line = head.split('\n').next().unwrap_or_default();
        if first_line.contains("\"isSidechain\":true")
            || first_line.contains("\"isSidechain\": true")
        {
            return Err(Left::Out);
        }
        let filled = |text: &String| !text.is_empty();
        let title = last_field(tail, "customTitle", Some("custom-title"))
            .filter(filled)
            .or_else(|| sidecars.title.clone())
            .or_else(|| last_field(head, "customTitle", Some("custom-title")).filter(filled))
            .or_else(|| last_field(tail, "aiTitle", Some("ai-title")).filter(filled))
            .or_else(|| last_field(head, "aiTitle", Some("ai-title")).filter(filled));
        let first_prompt = first_prompt(head);
        let summary = title
            .clone()
            .or_else(|| last_field(tail, "lastPrompt", None).filter(filled))
            .or_else(|| last_field(tail, "summary", None).filter(filled))
            .or_else(|| first_prompt.clone())
            .or_else(|| attachment_title(head).map(str::to_owned));
        let Some(summary) = summary else {
            return Err(problem.map_or(Left::Out, Left::Damaged));
        };
        let relocated = last_field(tail, "relocatedCwd", Some("relocated")).filter(filled);
        Ok(Self {
            id: id.to_owned(),
            path: path.to_path_buf(),
            summary,
            title,
            first_prompt,
            git_branch: last_text(tail, "gitBranch")
                .filter(filled)
                .or_else(|| first_text(head, "gitBranch").filter(filled)),
            cwd: relocated
                .or_else(|| first_text(head, "cwd").filter(filled))
                .or_else(|| project.map(|path| path.to_string_lossy().into_owned())),
            tag: last_field(tail, "tag", Some("tag")).filter(filled),
            created: first_text(head, "timestamp").and_then(|time| js::parse_time(&time)),
            modified: ends.modified,
            size: Some(ends.size),
            archived: sidecars.archived.as_ref().map(|mark| {
                let reopened = || {
                    has_prompt_after(tail, mark.at)
                        || (ends.is_long() && has_prompt_after(head, mark.at))
                };
                mark.archived && !reopened()
            }),
            programmatic: is_programmatic(head, tail),
            problem,
        })
    }
}

/// The directory that a session belongs to, by its own account.
pub(crate) fn home_of(ends: &HeadTail) -> Option<String> {
    last_field(ends.tail(), "relocatedCwd", Some("relocated"))
        .or_else(|| first_field(&ends.head, "cwd"))
}

/// What both ends show to be wrong. Only whole lines count: the ends cut others.
fn problem(ends: &HeadTail) -> Option<Problem> {
    let is_json = |line: &str| line.trim().is_empty() || RawJson::parse(line).is_ok();
    let whole = !ends.is_long();
    let (mut seen, mut bad) = (0_usize, 0_usize);
    let mut count = |line: &str| {
        seen += 1;
        bad += usize::from(!is_json(line));
    };
    let head: Vec<&str> = ends.head.split('\n').collect();
    let (last, lines) = head.split_last()?;
    lines.iter().for_each(|line| count(line));
    let tail: Vec<&str> = ends.tail().split('\n').collect();
    let (torn, tail_lines) = tail.split_last()?;
    if !whole {
        tail_lines.iter().skip(1).for_each(|line| count(line));
    }
    let is_torn = !torn.trim().is_empty() && RawJson::parse(torn).is_err();
    let nothing = bad == seen && (if whole { is_torn || last.trim().is_empty() } else { seen > 0 });
    if nothing {
        Some(Problem::NotATranscript)
    } else if bad > 0 {
        Some(Problem::BadLine)
    } else {
        // In a long file a tail without a newline is the middle of one long line.
        (is_torn && (whole || tail.len() > 1)).then_some(Problem::TornLastLine)
    }
}

/// Whether an SDK or a daemon wrote a session.
fn is_programmatic(head: &str, tail: &str) -> bool {
    let entrypoint = first_text(head, "entrypoint").or_else(|| last_text(tail, "entrypoint"));
    if entrypoint.is_some_and(|name| ["sdk-cli", "sdk-ts", "sdk-py"].contains(&name.as_str())) {
        return true;
    }
    let line = head.split('\n').find(|line| line.contains("\"parentUuid\":")).unwrap_or(head);
    first_text(line, "sessionKind").is_some_and(|kind| kind == "daemon" || kind == "daemon-worker")
}

/// Whether somebody has written a prompt after this time. A prompt takes a session out of the archive.
fn has_prompt_after(text: &str, time: i64) -> bool {
    text.split('\n').any(|line| {
        let may_be = line.contains("\"user\"") || line.contains("\"queued_command\"");
        if !may_be || line.contains("\"tool_result\"") {
            return false;
        }
        let entry = RawJson::parse(line).ok().and_then(|entry| entry.to_value_lossy().ok());
        entry.and_then(|entry| prompt_time(&entry)).is_some_and(|written| written > time)
    })
}

/// When a prompt was written, if the entry is one that a person wrote.
fn prompt_time(entry: &Value) -> Option<i64> {
    let is_false = |name: &str| entry.get(name).is_none_or(|value| value == false);
    let absent = |name: &str| entry.get(name).is_none();
    if !is_false("isSidechain") {
        return None;
    }
    let (content, origin) = match entry["type"].as_str()? {
        "user" => {
            let flags = [
                "isCompactSummary",
                "isVirtual",
                "isVisibleInTranscriptOnly",
                "isMeta",
                "textNotTyped",
                "handedOff",
                "queueSkipAttachments",
            ];
            let turn = entry.get("turnOrigin").and_then(Value::as_str);
            let by_hand = turn.is_none_or(|turn| ["human", "sdk", "unknown"].contains(&turn));
            let plain = flags.iter().all(|name| is_false(name))
                && ["persist", "wakeupSource", "scheduledTaskId", "toolUseResult"]
                    .iter()
                    .all(|name| absent(name));
            if !plain || !by_hand {
                return None;
            }
            (entry["message"].get("content")?, entry.get("origin"))
        }
        "attachment" => {
            let attachment = &entry["attachment"];
            let mode = attachment.get("commandMode").and_then(Value::as_str);
            let typed = attachment["type"] == "queued_command"
                && mode.is_none_or(|mode| mode == "prompt" || mode == "bash")
                && attachment.get("isMeta").is_none_or(|value| value == false);
            if !typed {
                return None;
            }
            (attachment.get("prompt")?, attachment.get("origin"))
        }
        _ => return None,
    };
    if origin.is_some_and(|origin| origin["kind"] != "human") {
        return None;
    }
    let has_block = |kinds: &[&str]| {
        let blocks = content.as_array().into_iter().flatten();
        blocks.filter_map(|block| block["type"].as_str()).any(|kind| kinds.contains(&kind))
    };
    if has_block(&["tool_result"]) {
        return None;
    }
    let texts: Vec<&str> = match content {
        Value::String(text) => vec![js::trim_start(text)],
        Value::Array(blocks) => blocks
            .iter()
            .map(|block| js::trim_start(block["text"].as_str().unwrap_or_default()))
            .collect(),
        _ => Vec::new(),
    };
    let written = if origin.is_some() {
        texts.iter().any(|text| !text.is_empty())
            && !texts.iter().any(|text| text.starts_with("<command-name>"))
    } else {
        let user = serde_json::json!({ "type": "user", "message": { "content": content } });
        FirstPrompt::default().of(&user).is_some()
            || texts.iter().any(|text| text.starts_with("<command-message>"))
    };
    if written || has_block(&["image", "document"]) {
        js::parse_time(entry["timestamp"].as_str()?)
    } else {
        None
    }
}

/// The session in which this one is continued, if nothing was said here since.
pub(crate) fn continued_in(tail: &str) -> Option<String> {
    const MARK: &str = "\"type\":\"continued-in\"";
    if !tail.contains(MARK) {
        return None;
    }
    for line in tail.rsplit('\n') {
        let is_mark = line.contains(MARK);
        let is_said = line.contains("\"type\":\"user\"") || line.contains("\"type\":\"assistant\"");
        if !is_mark && !is_said {
            continue;
        }
        let Some(entry) = RawJson::parse(line).ok().and_then(|entry| entry.to_value_lossy().ok())
        else {
            continue;
        };
        if entry["type"] == "continued-in"
            && let Some(id) = entry["continuedInSessionId"].as_str()
        {
            return crate::error::valid_id(id).ok().map(str::to_owned);
        }
        let answered = entry["type"] == "assistant"
            && entry["isApiErrorMessage"] != true
            && entry["message"]["stop_reason"].is_string();
        if answered || FirstPrompt::default().of(&entry).is_some() {
            return None;
        }
    }
    None
}
