//! Keeping sessions elsewhere: a trait for stores, stores, and a test suite for stores of others.

pub mod conformance;
mod folder;
mod memory;
mod mirror;
#[cfg(feature = "object-store")]
mod object;
mod sessions;
#[cfg(feature = "sqlite")]
mod sqlite;
mod summary;
mod transfer;

use std::path::Path;

pub use folder::FolderStore;
pub use memory::MemoryStore;
pub use mirror::{FlushMode, Mirror, MirrorOptions, MirrorProblem};
#[cfg(feature = "object-store")]
pub use object::ObjectSessionStore;
pub use sessions::StoreSessions;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use summary::{SessionSummary, list};

use crate::error::{Error, Result, valid_name, valid_subpath};
use crate::transcript::Entry;

/// Names a transcript in a store.
///
/// ```
/// use duologue_sessions::store::SessionKey;
///
/// let session = SessionKey::new("-my-project", "11111111-2222-4333-8444-555555555555");
/// let agent = session.clone().with_subpath("subagents/agent-1");
/// assert_eq!(agent.subpath.as_deref(), Some("subagents/agent-1"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct SessionKey {
    /// What sessions are grouped by: usually the [project key](crate::project_key).
    pub project_key: String,
    /// The session.
    pub session_id: String,
    /// `None` for the transcript of the session, `subagents/agent-1` for that of a sub-agent.
    pub subpath: Option<String>,
}

impl SessionKey {
    /// The transcript of a session.
    pub fn new(project_key: impl Into<String>, session_id: impl Into<String>) -> Self {
        Self { project_key: project_key.into(), session_id: session_id.into(), subpath: None }
    }

    /// The transcript of a sub-agent of this session.
    #[must_use]
    pub fn with_subpath(mut self, subpath: impl Into<String>) -> Self {
        self.subpath = Some(subpath.into());
        self
    }

    /// The key of a transcript below a projects folder. `None` if the file is not below it, or is not a transcript.
    ///
    /// ```
    /// use duologue_sessions::store::SessionKey;
    ///
    /// let key = SessionKey::of_file("/c/projects/-my/1/subagents/agent-2.jsonl".as_ref(), "/c/projects".as_ref());
    /// assert_eq!(key, Some(SessionKey::new("-my", "1").with_subpath("subagents/agent-2")));
    /// assert_eq!(SessionKey::of_file("/etc/passwd".as_ref(), "/c/projects".as_ref()), None);
    /// ```
    pub fn of_file(file: &Path, projects_dir: &Path) -> Option<Self> {
        let below = file.strip_prefix(projects_dir).ok()?;
        let parts: Option<Vec<&str>> =
            below.components().map(|part| part.as_os_str().to_str()).collect();
        let parts = parts?;
        let (project, rest) = parts.split_first()?;
        match rest {
            [name] => Some(Self::new(*project, name.strip_suffix(".jsonl")?)),
            [session, above @ .., name] if !above.is_empty() => {
                let name = name.strip_suffix(".jsonl").unwrap_or(name);
                let subpath: Vec<&str> = above.iter().copied().chain([name]).collect();
                Some(Self::new(*project, *session).with_subpath(subpath.join("/")))
            }
            _ => None,
        }
        .filter(|key| key.validate().is_ok())
    }

    /// Checks that no part of the key can lead out of its place.
    ///
    /// # Errors
    /// [`Error::InvalidName`] if one can.
    pub fn validate(&self) -> Result<()> {
        valid_name(&self.project_key)?;
        valid_name(&self.session_id)?;
        self.subpath.as_deref().map_or(Ok(""), valid_subpath).map(drop)
    }
}

/// A session in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedSession {
    /// The session.
    pub session_id: String,
    /// When it was last written, in milliseconds since 1970.
    pub modified: i64,
}

impl ListedSession {
    /// A session that was last written at this time.
    pub fn new(session_id: impl Into<String>, modified: i64) -> Self {
        Self { session_id: session_id.into(), modified }
    }
}

/// A place for sessions. The contract is that of the official SDKs.
///
/// Only [`append`](Self::append) and [`load`](Self::load) are required. [`conformance`] tests any implementation.
///
/// ```
/// use duologue_sessions::Entry;
/// use duologue_sessions::store::{MemoryStore, SessionKey, SessionStore};
///
/// let store = MemoryStore::new();
/// let key = SessionKey::new("-my-project", "11111111-2222-4333-8444-555555555555");
/// store.append(&key, &[Entry::new(br#"{"type":"user","uuid":"a"}"#.to_vec())])?;
/// assert_eq!(store.load(&key)?.map(|entries| entries.len()), Some(1));
/// # Ok::<(), duologue_sessions::Error>(())
/// ```
pub trait SessionStore: Send + Sync {
    /// Adds entries to a transcript, in their order. An entry whose `uuid` is there already is not added again, so that a
    /// failed call can be repeated. No entries: nothing happens.
    ///
    /// # Errors
    /// If the entries could not be stored.
    fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<()>;

    /// All entries of a transcript, in the order in which they were added. `None` if there is no such transcript.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>>;

    /// All sessions of a project, in any order. Sub-agents are not listed.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless it is implemented, or if the store cannot be read.
    fn list_sessions(&self, project_key: &str) -> Result<Vec<ListedSession>> {
        let _ = project_key;
        Err(Error::Unsupported("list_sessions"))
    }

    /// The summaries of all sessions of a project. A store keeps them up to date with [`SessionSummary::fold`] when it
    /// appends; their times come from the same clock as those of [`list_sessions`](Self::list_sessions).
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless it is implemented, or if the store cannot be read.
    fn list_summaries(&self, project_key: &str) -> Result<Vec<SessionSummary>> {
        let _ = project_key;
        Err(Error::Unsupported("list_summaries"))
    }

    /// Deletes a transcript. Without a subpath, all of the session. Nothing happens if there is no such transcript.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless it is implemented, or if the store cannot be written.
    fn delete(&self, key: &SessionKey) -> Result<()> {
        let _ = key;
        Err(Error::Unsupported("delete"))
    }

    /// The subpaths of a session, in any order.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless it is implemented, or if the store cannot be read.
    fn list_subkeys(&self, project_key: &str, session_id: &str) -> Result<Vec<String>> {
        let _ = (project_key, session_id);
        Err(Error::Unsupported("list_subkeys"))
    }
}
