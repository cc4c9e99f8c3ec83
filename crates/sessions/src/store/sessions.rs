//! [`StoreSessions`]: the sessions of one project in a store.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::{SessionKey, SessionStore, summary};
use crate::error::{Error, Result, valid_id};
use crate::fork::ForkOptions;
use crate::info::SessionInfo;
use crate::messages::{MessageOptions, Messages};
use crate::project::project_key_of_directory;
use crate::session::StoredSession;
use crate::sessions::Sessions;
use crate::transcript::Entry;
use crate::{js, json, text};

/// How long a store may take to load something, as in the official SDKs.
const LOAD_TIMEOUT: Duration = Duration::from_secs(60);

/// The sessions of one project in a store: what [`Sessions`] offers for those on disk.
///
/// ```
/// use std::sync::Arc;
/// use duologue_sessions::{Entry, ForkOptions};
/// use duologue_sessions::store::{MemoryStore, SessionKey, SessionStore, StoreSessions};
///
/// let store = Arc::new(MemoryStore::new());
/// let id = "11111111-2222-4333-8444-555555555555";
/// let text = r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"Hello?"}}"#;
/// store.append(&SessionKey::new("-my", id), &[Entry::new(text.into())])?;
///
/// let sessions = StoreSessions::new(store, "-my");
/// sessions.rename(id, "A greeting")?;
/// let fork = sessions.fork(id, &ForkOptions::default())?;
/// assert_eq!(sessions.list()?.len(), 2);
/// assert_eq!(sessions.info(&fork)?.map(|info| info.summary).as_deref(), Some("A greeting (fork)"));
/// # Ok::<(), duologue_sessions::Error>(())
/// ```
#[derive(Clone)]
pub struct StoreSessions {
    store: Arc<dyn SessionStore>,
    project_key: String,
    load_timeout: Duration,
}

impl std::fmt::Debug for StoreSessions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = formatter.debug_struct("StoreSessions");
        debug.field("project_key", &self.project_key).finish_non_exhaustive()
    }
}

impl StoreSessions {
    /// The sessions with this project key.
    pub fn new(store: Arc<dyn SessionStore>, project_key: impl Into<String>) -> Self {
        Self { store, project_key: project_key.into(), load_timeout: LOAD_TIMEOUT }
    }

    /// The sessions of this directory.
    pub fn in_project(store: Arc<dyn SessionStore>, directory: &Path) -> Self {
        Self::new(store, project_key_of_directory(directory))
    }

    /// How long each read of the store may take: 60 seconds unless set.
    #[must_use]
    pub fn load_timeout(mut self, timeout: Duration) -> Self {
        self.load_timeout = timeout;
        self
    }

    /// The key of a session.
    ///
    /// # Errors
    /// [`Error::InvalidId`] if the id is not a UUID.
    pub fn key(&self, id: &str) -> Result<SessionKey> {
        Ok(SessionKey::new(self.project_key.clone(), valid_id(id)?))
    }

    /// Reads the store on a thread of its own, so that a store that hangs does not hang its caller.
    fn read<T: Send + 'static>(
        &self,
        what: &'static str,
        read: impl FnOnce(&dyn SessionStore) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, done) = mpsc::sync_channel(1);
        let store = Arc::clone(&self.store);
        let thread = std::thread::Builder::new().name("session-store".to_owned());
        thread.spawn(move || sender.send(read(&*store))).map_err(Error::store)?;
        match done.recv_timeout(self.load_timeout) {
            Ok(result) => result,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                Err(Error::StoreTimeout { operation: what, timeout: self.load_timeout })
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(Error::store("the store panicked")),
        }
    }

    /// Lists the sessions, newest first.
    ///
    /// # Errors
    /// If the store can list neither sessions nor summaries, cannot be read, or takes too long.
    pub fn list(&self) -> Result<Vec<SessionInfo>> {
        let project = self.project_key.clone();
        self.read("list_sessions", move |store| summary::list(store, &project))
    }

    /// The newest session that is not a part of another: what `--continue` resumes.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn newest(&self) -> Result<Option<String>> {
        let is_session = |info: &SessionInfo| valid_id(&info.id).is_ok();
        Ok(self.list()?.into_iter().find(is_session).map(|info| info.id))
    }

    /// Writes a session to disk, with its sub-agents, so that it can be read and resumed there.
    ///
    /// # Errors
    /// As [`Sessions::restore`], and [`Error::StoreTimeout`].
    pub fn restore(&self, id: &str, to: &Sessions) -> Result<StoredSession> {
        let (key, to) = (self.key(id)?, to.clone());
        self.read("load", move |store| to.restore(store, &key))
    }

    /// Writes a session to a temporary folder.
    fn unpack(&self, id: &str) -> Result<(tempfile::TempDir, StoredSession)> {
        let folder = tempfile::tempdir().map_err(Error::store)?;
        let session = self.restore(id, &Sessions::in_config_dir(folder.path()))?;
        Ok((folder, session))
    }

    /// What a list shows of a session. `None` if there is nothing to show.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the store does not have it, or if the store fails or takes too long.
    pub fn info(&self, id: &str) -> Result<Option<SessionInfo>> {
        let (_folder, session) = self.unpack(id)?;
        let info = session.info()?;
        Ok(info.map(|info| SessionInfo { path: std::path::PathBuf::new(), size: None, ..info }))
    }

    /// The messages of a session, from the first to the last.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the store does not have it, or if the store fails or takes too long.
    pub fn messages(&self, id: &str, options: &MessageOptions) -> Result<Messages> {
        // The messages keep the file open: it may be removed.
        let (_folder, session) = self.unpack(id)?;
        session.messages(options)
    }

    /// The ids of the sub-agents of a session.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the store cannot list subpaths, or if it fails or takes too long.
    pub fn subagents(&self, id: &str) -> Result<Vec<String>> {
        let key = self.key(id)?;
        let subpaths = self.read("list_subkeys", move |store| {
            store.list_subkeys(&key.project_key, &key.session_id)
        })?;
        let mut found: Vec<String> = Vec::new();
        for subpath in subpaths.iter().filter(|subpath| subpath.starts_with("subagents/")) {
            let name = subpath.rsplit('/').next().and_then(|name| name.strip_prefix("agent-"));
            if let Some(agent) = name.filter(|agent| !found.iter().any(|it| it == agent)) {
                found.push(agent.to_owned());
            }
        }
        found.sort();
        Ok(found)
    }

    /// The messages of a sub-agent.
    ///
    /// # Errors
    /// [`Error::NotFound`] or [`Error::NoSuchAgent`] if the store does not have it, or if the store fails or takes too long.
    pub fn subagent_messages(
        &self,
        id: &str,
        agent: &str,
        options: &MessageOptions,
    ) -> Result<Messages> {
        let (_folder, session) = self.unpack(id)?;
        session.subagent(agent)?.messages(options)
    }

    /// Gives a session a title.
    ///
    /// # Errors
    /// [`Error::EmptyTitle`], [`Error::NotFound`], or if the store fails.
    pub fn rename(&self, id: &str, title: &str) -> Result<()> {
        let title = js::trim(title);
        if title.is_empty() {
            return Err(Error::EmptyTitle);
        }
        self.append(
            id,
            &format!("\"type\":\"custom-title\",\"customTitle\":{}", json::quote(title)),
        )
    }

    /// Gives a session a tag, or removes it.
    ///
    /// # Errors
    /// [`Error::EmptyTag`], [`Error::NotFound`], or if the store fails.
    pub fn tag(&self, id: &str, tag: Option<&str>) -> Result<()> {
        let tag = tag.map(text::tag);
        if tag.as_deref() == Some("") {
            return Err(Error::EmptyTag);
        }
        let tag = json::quote(&tag.unwrap_or_default());
        self.append(id, &format!("\"type\":\"tag\",\"tag\":{tag}"))
    }

    fn append(&self, id: &str, fields: &str) -> Result<()> {
        let key = self.key(id)?;
        let wanted = key.clone();
        let found = self.read("load", move |store| store.load(&wanted))?;
        if found.is_none_or(|entries| entries.is_empty()) {
            return Err(Error::NotFound(id.to_owned()));
        }
        let (uuid, now) = (uuid::Uuid::new_v4(), js::format_time(js::now()));
        let line = format!(
            "{{{fields},\"sessionId\":\"{id}\",\"uuid\":\"{uuid}\",\"timestamp\":\"{now}\"}}"
        );
        self.store.append(&key, &[Entry::new(line.into_bytes())])
    }

    /// Copies a session under a new id, and returns the id.
    ///
    /// # Errors
    /// As [`StoredSession::fork`], [`Error::NotFound`], or if the store fails or takes too long.
    pub fn fork(&self, id: &str, options: &ForkOptions) -> Result<String> {
        let (_folder, session) = self.unpack(id)?;
        let fork = session.fork(options)?;
        fork.copy_to(&*self.store)?;
        Ok(fork.id().to_owned())
    }

    /// Deletes a session and its sub-agents. Nothing happens if the store does not have it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the store cannot delete, or if it fails.
    pub fn delete(&self, id: &str) -> Result<()> {
        self.store.delete(&self.key(id)?)
    }
}
