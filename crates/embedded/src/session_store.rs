//! Conversations on disk: `<config>/projects/<project>/<session>.jsonl`, one entry a line.
//!
//! Both official SDKs list and read them.
//!
//! ```
//! use duologue_embedded::session_store::Sessions;
//! use serde_json::json;
//!
//! let config = tempfile::tempdir()?;
//! let sessions = Sessions::new(config.path(), "/my/project");
//! let id = "11111111-2222-4333-8444-555555555555";
//! let mut session = sessions.create(id)?;
//! session.user(&json!("Hello?"), None)?;
//! session.assistant(&json!({ "id": "m1", "role": "assistant", "content": [{ "type": "text", "text": "Hi!" }] }))?;
//! drop(session);
//!
//! assert_eq!(sessions.newest().as_deref(), Some(id));
//! let resumed = sessions.resume(id)?;
//! assert_eq!(resumed.messages()[1]["content"][0]["text"], "Hi!");
//! # Ok::<(), std::io::Error>(())
//! ```

mod history;
mod writer;

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use crate::path;
use history::History;

pub use history::Resumed;
pub use writer::SessionWriter;

/// The longest name of a project that is used whole.
const MAX_KEY: usize = 200;

/// The conversations of one project.
#[derive(Clone, Debug)]
pub struct Sessions {
    folder: PathBuf,
    cwd: PathBuf,
}

/// A conversation on disk.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Its id.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// When it was last written to.
    pub modified: SystemTime,
}

impl Sessions {
    /// The conversations in this directory, kept under this config folder.
    pub fn new(config: impl AsRef<Path>, cwd: impl AsRef<Path>) -> Self {
        let cwd = path::real(cwd.as_ref()).unwrap_or_else(|| cwd.as_ref().to_path_buf());
        Self { folder: config.as_ref().join("projects").join(project_key(&cwd)), cwd }
    }

    /// The folder of the project.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of a conversation. `None` if the id is not a UUID: it becomes the name of a file.
    pub fn path(&self, id: &str) -> Option<PathBuf> {
        let id = uuid::Uuid::parse_str(id).ok().filter(|parsed| parsed.to_string() == id)?;
        Some(self.folder.join(format!("{id}.jsonl")))
    }

    /// Whether there is such a conversation.
    pub fn exists(&self, id: &str) -> bool {
        self.path(id).is_some_and(|path| path.is_file())
    }

    /// All conversations, the newest first.
    pub fn list(&self) -> Vec<SessionInfo> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Some(id) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            let Ok(metadata) = entry.metadata() else { continue };
            if self.path(id).as_deref() == Some(&path) && metadata.len() > 0 {
                let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                found.push(SessionInfo { id: id.to_owned(), path, modified });
            }
        }
        found.sort_by(|a, b| (b.modified, &b.id).cmp(&(a.modified, &a.id)));
        found
    }

    /// The newest conversation: what `--continue` resumes.
    pub fn newest(&self) -> Option<String> {
        self.list().into_iter().next().map(|info| info.id)
    }

    /// Begins a conversation.
    ///
    /// # Errors
    /// If the id is taken or not a UUID, or if the file cannot be made.
    pub fn create(&self, id: &str) -> io::Result<SessionWriter> {
        let path = self.valid_path(id)?;
        let mut folders = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(folders.recursive(true), 0o700);
        folders.create(&self.folder)?;
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        private(&mut options);
        Ok(SessionWriter::new(options.open(path)?, id, &self.cwd, None))
    }

    /// The file of a sub-agent of a conversation.
    pub fn agent_path(&self, id: &str, agent: &str) -> Option<PathBuf> {
        let is_plain = agent.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let folder = self.path(id)?.with_extension("").join("subagents");
        is_plain.then(|| folder.join(format!("agent-{agent}.jsonl")))
    }

    /// Begins the conversation of a sub-agent. What it is goes to a file beside it.
    ///
    /// # Errors
    /// If an id is not valid, or a file cannot be written.
    pub fn create_agent(&self, id: &str, agent: &str, about: &Value) -> io::Result<SessionWriter> {
        let not_valid = || io::Error::new(io::ErrorKind::InvalidInput, "the id is not valid");
        let path = self.agent_path(id, agent).ok_or_else(not_valid)?;
        let mut folders = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(folders.recursive(true), 0o700);
        folders.create(path.parent().unwrap_or(&self.folder))?;
        self.describe_agent(id, agent, about)?;
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        private(&mut options);
        Ok(SessionWriter::new(options.open(path)?, id, &self.cwd, None).of_agent(agent))
    }

    /// Writes down what a sub-agent is.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn describe_agent(&self, id: &str, agent: &str, about: &Value) -> io::Result<()> {
        let not_valid = || io::Error::new(io::ErrorKind::InvalidInput, "the id is not valid");
        let path = self.agent_path(id, agent).ok_or_else(not_valid)?.with_extension("meta.json");
        fs::write(path, about.to_string())
    }

    /// Reads a conversation, to resume it.
    ///
    /// # Errors
    /// If it does not exist or cannot be read.
    pub fn resume(&self, id: &str) -> io::Result<Resumed> {
        History::read(&self.valid_path(id)?).map(Resumed::new)
    }

    /// Continues a conversation: new entries follow those that were read.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn append_to(&self, id: &str, resumed: &Resumed) -> io::Result<SessionWriter> {
        let path = self.valid_path(id)?;
        let mut file = OpenOptions::new().append(true).read(true).open(&path)?;
        writer::end_torn_line(&mut file)?;
        Ok(SessionWriter::new(file, id, &self.cwd, resumed.leaf().map(str::to_owned)))
    }

    /// Begins a conversation with a copy of another.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn fork(&self, resumed: &Resumed, new_id: &str) -> io::Result<SessionWriter> {
        let mut writer = self.create(new_id)?;
        resumed.copy_to(&mut writer)?;
        Ok(writer)
    }

    fn valid_path(&self, id: &str) -> io::Result<PathBuf> {
        let no_uuid = || io::Error::new(io::ErrorKind::InvalidInput, "a session id is a UUID");
        self.path(id).ok_or_else(no_uuid)
    }
}

/// Only the owner may read conversations.
fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

/// The name of a project: its path, with `-` for all but letters and digits.
pub fn project_key(cwd: &Path) -> String {
    let text = cwd.to_string_lossy();
    // One `-` for each unit of UTF-16, as the CLI does it.
    let units = text.encode_utf16();
    let plain = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    };
    let key: String = units.clone().map(plain).collect();
    if key.len() <= MAX_KEY {
        return key;
    }
    let hash = units.fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    format!("{}-{}", &key[..MAX_KEY], base36(hash.unsigned_abs()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}
