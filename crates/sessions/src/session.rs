//! [`StoredSession`]: one session on disk.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::index::{Index, Scope};
use crate::info::{ARCHIVED, Left, SessionInfo};
use crate::live::{self, Liveness};
use crate::messages::{MessageOptions, Messages, Parents};
use crate::transcript::Entries;
use crate::{js, json, text};

/// A session on disk. [`Sessions::get`](crate::Sessions::get) finds it.
///
/// ```
/// use duologue_sessions::{MessageOptions, Sessions};
///
/// # let folder = tempfile::tempdir()?;
/// # let id = "11111111-2222-4333-8444-555555555555";
/// # std::fs::create_dir_all(folder.path().join("projects/-my"))?;
/// # let text = r#"{"type":"user","uuid":"a","message":{"role":"user","content":"Hello?"}}"#;
/// # std::fs::write(folder.path().join(format!("projects/-my/{id}.jsonl")), format!("{text}\n"))?;
/// let session = Sessions::in_config_dir(folder.path()).get(id)?;
/// session.rename("A greeting")?;
/// session.tag(Some("example"))?;
/// let info = session.info()?.expect("it has a prompt");
/// assert_eq!((info.summary.as_str(), info.tag.as_deref()), ("A greeting", Some("example")));
/// assert_eq!(session.messages(&MessageOptions::default())?.len(), 1);
/// session.delete()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StoredSession {
    config_dir: PathBuf,
    id: String,
    path: PathBuf,
    project: Option<PathBuf>,
}

impl StoredSession {
    pub(crate) fn new(
        config_dir: PathBuf,
        id: &str,
        path: PathBuf,
        project: Option<PathBuf>,
    ) -> Self {
        Self { config_dir, id: id.to_owned(), path, project }
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The transcript.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the project's folder.
    pub fn project_key(&self) -> String {
        let folder = self.path.parent().and_then(Path::file_name);
        folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The folder beside the transcript: sub-agents and side files. It need not exist.
    pub fn folder(&self) -> PathBuf {
        self.path.with_extension("")
    }

    pub(crate) fn sibling(&self, id: &str) -> Self {
        let path = self.path.with_file_name(format!("{id}.jsonl"));
        Self {
            config_dir: self.config_dir.clone(),
            id: id.to_owned(),
            path,
            project: self.project.clone(),
        }
    }

    /// What a list says about the session. `None` if it has nothing to show: no prompt, no title, or it is a part of
    /// another session.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn info(&self) -> Result<Option<SessionInfo>> {
        match SessionInfo::read(&self.id, &self.path, self.project.as_deref()) {
            Ok(info) => Ok(Some(info)),
            Err(Left::Damaged(crate::Problem::Unreadable(reason))) => {
                Err(Error::Io { path: self.path.clone(), source: std::io::Error::other(reason) })
            }
            Err(_) => Ok(None),
        }
    }

    /// The messages of the conversation, from the first to the last.
    ///
    /// Of several branches this is the one that was written last, as Claude Code resolves it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn messages(&self, options: &MessageOptions) -> Result<Messages> {
        Messages::of_session(&self.path, options)
    }

    /// All entries of the transcript as they are in the file, known or not.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn entries(&self) -> Result<Entries> {
        Entries::open(&self.path)
    }

    /// Reads the whole transcript: how many lines are not JSON, and where the first of them begins.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn damaged_lines(&self) -> Result<Option<(u64, u64)>> {
        Ok(Index::open(&self.path, Scope::Session)?.damaged)
    }

    /// The sub-agents of the session, in the order of their files.
    ///
    /// # Errors
    /// If their folder exists and cannot be read.
    pub fn subagents(&self) -> Result<Vec<Subagent>> {
        let mut found = Vec::new();
        collect_agents(&self.folder().join("subagents"), 0, &mut found)?;
        Ok(found)
    }

    /// The sub-agent with this id.
    ///
    /// # Errors
    /// [`Error::NoSuchAgent`] if there is none.
    pub fn subagent(&self, agent: &str) -> Result<Subagent> {
        let missing = || Error::NoSuchAgent { session: self.id.clone(), agent: agent.to_owned() };
        self.subagents()?.into_iter().find(|found| found.id == agent).ok_or_else(missing)
    }

    /// The sub-agent that this tool call started.
    ///
    /// # Errors
    /// If the folder of the sub-agents exists and cannot be read.
    pub fn subagent_of_call(&self, tool_use_id: &str) -> Result<Option<Subagent>> {
        let agents = self.subagents()?;
        Ok(agents.into_iter().find(|agent| agent.tool_use_id.as_deref() == Some(tool_use_id)))
    }

    /// Whether a running process uses the session. `live` of the crate's source says how this is found out.
    pub fn liveness(&self) -> Liveness {
        live::check(&self.config_dir, &self.id, &self.path)
    }

    /// Gives the session a title.
    ///
    /// # Errors
    /// [`Error::EmptyTitle`], [`Error::Live`] or [`Error::MaybeLive`], or if the file cannot be written.
    pub fn rename(&self, title: &str) -> Result<()> {
        let title = js::trim(title);
        if title.is_empty() {
            return Err(Error::EmptyTitle);
        }
        self.append(&format!(
            "{{\"type\":\"custom-title\",\"customTitle\":{},\"sessionId\":\"{}\"}}",
            json::quote(title),
            self.id
        ))
    }

    /// Gives the session a tag, or removes it. Characters that cannot be seen are removed from the tag.
    ///
    /// # Errors
    /// [`Error::EmptyTag`], [`Error::Live`] or [`Error::MaybeLive`], or if the file cannot be written.
    pub fn tag(&self, tag: Option<&str>) -> Result<()> {
        let tag = tag.map(text::tag);
        if tag.as_deref() == Some("") {
            return Err(Error::EmptyTag);
        }
        self.append(&format!(
            "{{\"type\":\"tag\",\"tag\":{},\"sessionId\":\"{}\"}}",
            json::quote(&tag.unwrap_or_default()),
            self.id
        ))
    }

    /// Archives the session: a mark in a file beside the transcript. A prompt that is written later takes it out again.
    ///
    /// The transcript is not touched, so this is possible while the session is in use.
    ///
    /// # Errors
    /// If the mark cannot be written.
    pub fn archive(&self) -> Result<()> {
        self.set_archived(true)
    }

    /// Takes the session out of the archive.
    ///
    /// # Errors
    /// If the mark cannot be written.
    pub fn unarchive(&self) -> Result<()> {
        self.set_archived(false)
    }

    fn set_archived(&self, archived: bool) -> Result<()> {
        let folder = self.folder();
        create_private_dir(&folder)?;
        let at = js::format_time(js::now());
        let mark = format!("{{\"archived\":{archived},\"at\":\"{at}\",\"by\":\"sdk\"}}");
        let path = folder.join(ARCHIVED);
        let draft = folder.join(format!("{ARCHIVED}.{}", uuid::Uuid::new_v4()));
        let mut file = create_private(&draft)?;
        file.write_all(mark.as_bytes()).map_err(Error::io(&draft))?;
        fs::rename(&draft, &path).map_err(Error::io(&path))
    }

    /// Deletes the session, its sub-agents and its side files. This cannot be undone.
    ///
    /// # Errors
    /// [`Error::Live`] or [`Error::MaybeLive`], or if a file cannot be removed.
    pub fn delete(&self) -> Result<()> {
        let _lock = self.lock()?;
        fs::remove_file(&self.path).map_err(Error::io(&self.path))?;
        let folder = self.folder();
        match fs::symlink_metadata(&folder) {
            // Only a real folder: a link could lead anywhere.
            Ok(found) if found.is_dir() => fs::remove_dir_all(&folder).map_err(Error::io(&folder)),
            Ok(_) => fs::remove_file(&folder).map_err(Error::io(&folder)),
            Err(_) => Ok(()),
        }
    }

    /// Checks that no process uses the session, and holds its lock.
    pub(crate) fn lock(&self) -> Result<File> {
        match self.liveness() {
            Liveness::Idle => {}
            Liveness::Live { process } => {
                return Err(Error::Live { session: self.id.clone(), process });
            }
            Liveness::Unknown { reason } => {
                return Err(Error::MaybeLive { session: self.id.clone(), reason });
            }
        }
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(&self.path)
            .map_err(Error::io(&self.path))?;
        match file.try_lock() {
            Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(file),
            Err(fs::TryLockError::WouldBlock) => {
                Err(Error::Live { session: self.id.clone(), process: 0 })
            }
        }
    }

    /// Appends one line. A line that was left torn is ended first, so that the new one stands by itself.
    fn append(&self, line: &str) -> Result<()> {
        let mut file = self.lock()?;
        let io = || Error::io(&self.path);
        let mut text = String::with_capacity(line.len() + 2);
        if file.seek(SeekFrom::End(0)).map_err(io())? > 0 {
            file.seek(SeekFrom::End(-1)).map_err(io())?;
            let mut last = [0];
            file.read_exact(&mut last).map_err(io())?;
            if last != *b"\n" {
                text.push('\n');
            }
        }
        text.push_str(line);
        text.push('\n');
        file.write_all(text.as_bytes()).map_err(io())
    }
}

/// A sub-agent of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subagent {
    /// Its id.
    pub id: String,
    /// Its transcript.
    pub path: PathBuf,
    /// The tool call that started it.
    pub tool_use_id: Option<String>,
    /// The sub-agent that started it, if it was not the main agent.
    pub parent_agent_id: Option<String>,
    /// What kind of agent it is.
    pub agent_type: Option<String>,
    /// What it was asked to do.
    pub description: Option<String>,
}

impl Subagent {
    /// Its messages, from the first to the last.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn messages(&self, options: &MessageOptions) -> Result<Messages> {
        let parents = Parents {
            tool_use_id: self.tool_use_id.clone(),
            agent_id: self.parent_agent_id.clone(),
        };
        Messages::of_agent(&self.path, parents, options)
    }

    /// All entries of its transcript.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn entries(&self) -> Result<Entries> {
        Entries::open(&self.path)
    }
}

/// How deep folders of sub-agents are searched. Claude Code nests them two deep.
const MAX_DEPTH: usize = 8;

fn collect_agents(folder: &Path, depth: usize, found: &mut Vec<Subagent>) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::Io { path: folder.to_path_buf(), source }),
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix("agent-")?.strip_suffix(".jsonl"));
        match id {
            Some(id) if kind.is_file() => found.push(read_agent(id, entry.path())),
            _ if kind.is_dir() && depth < MAX_DEPTH => {
                collect_agents(&entry.path(), depth + 1, found)?
            }
            _ => {}
        }
    }
    Ok(())
}

fn read_agent(id: &str, path: PathBuf) -> Subagent {
    let meta = fs::read(path.with_extension("meta.json")).ok();
    let meta: Value =
        meta.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let text = |name: &str| meta.get(name).and_then(Value::as_str).map(str::to_owned);
    let is_id = |id: &String, more: &[u8]| {
        (1..=128).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
    };
    Subagent {
        id: id.to_owned(),
        tool_use_id: text("toolUseId").filter(|id| is_id(id, b"_.:-")),
        parent_agent_id: text("parentAgentId").filter(|id| is_id(id, b"_-")),
        agent_type: text("agentType"),
        description: text("description"),
        path,
    }
}

/// Creates a file that only its owner can read.
pub(crate) fn create_private(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(Error::io(path))
}

/// Creates a folder that only its owner can enter.
pub(crate) fn create_private_dir(path: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(Error::io(path))
}
