//! Sessions that are kept in a store while they run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use duologue_protocol::ToHost;
use duologue_protocol::launch::Conversation;
use duologue_protocol::lines::TranscriptMirror;
use duologue_sessions::store::{
    Mirror, MirrorOptions, MirrorProblem, SessionKey, SessionStore, StoreSessions,
};
use duologue_sessions::{Entry, Error, Sessions, StoredSession};
use tokio::task::JoinHandle;

use crate::{Session, SessionBuilder};

type Report = dyn Fn(MirrorProblem) + Send + Sync;

/// Where and how a session is kept in a store. [`SessionBuilder::start_in_store`] uses it.
pub struct InStore {
    store: Arc<dyn SessionStore>,
    cwd: PathBuf,
    config_dir: Option<PathBuf>,
    resume: Resume,
    options: MirrorOptions,
    load_timeout: Option<Duration>,
    report: Arc<Report>,
}

enum Resume {
    New,
    Id(String),
    Newest,
}

impl std::fmt::Debug for InStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("InStore").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

impl InStore {
    /// Keeps a new session of this working directory in this store.
    pub fn new(store: Arc<dyn SessionStore>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            store,
            cwd: cwd.into(),
            config_dir: None,
            resume: Resume::New,
            options: MirrorOptions::default(),
            load_timeout: None,
            report: Arc::new(|_| {}),
        }
    }

    /// Resumes this session of the store. If its transcript is not on this machine, it is written first.
    #[must_use]
    pub fn resume(mut self, id: impl Into<String>) -> Self {
        self.resume = Resume::Id(id.into());
        self
    }

    /// Resumes the newest session of this directory in the store, if there is one.
    #[must_use]
    pub fn resume_newest(mut self) -> Self {
        self.resume = Resume::Newest;
        self
    }

    /// The config directory of the agent. Without this it is that of the current user.
    #[must_use]
    pub fn config_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.config_dir = Some(folder.into());
        self
    }

    /// When entries are written to the store, and how often that is tried.
    #[must_use]
    pub fn mirror(mut self, options: MirrorOptions) -> Self {
        self.options = options;
        self
    }

    /// How long each read of the store may take: 60 seconds unless set.
    #[must_use]
    pub fn load_timeout(mut self, timeout: Duration) -> Self {
        self.load_timeout = Some(timeout);
        self
    }

    /// Is called if the store fails or is too slow. The conversation continues.
    #[must_use]
    pub fn on_problem(mut self, report: impl Fn(MirrorProblem) + Send + Sync + 'static) -> Self {
        self.report = Arc::new(report);
        self
    }

    fn in_store(&self) -> StoreSessions {
        let sessions = StoreSessions::in_project(Arc::clone(&self.store), &self.cwd);
        match self.load_timeout {
            Some(timeout) => sessions.load_timeout(timeout),
            None => sessions,
        }
    }

    fn on_disk(&self) -> Result<Sessions, Error> {
        let sessions = match &self.config_dir {
            Some(folder) => Sessions::in_config_dir(folder),
            None => Sessions::from_env()?,
        };
        Ok(sessions.in_project(&self.cwd))
    }

    /// Writes the session that is to be resumed to disk, unless it is there.
    fn restore(&self) -> Result<Option<Restored>, Error> {
        let (in_store, on_disk) = (self.in_store(), self.on_disk()?);
        let id = match &self.resume {
            Resume::New => return Ok(None),
            Resume::Id(id) => id.clone(),
            Resume::Newest => match in_store.newest()? {
                Some(id) => id,
                None => return Ok(None),
            },
        };
        match in_store.restore(&id, &on_disk) {
            Ok(session) => Ok(Some(Restored { id, written: Some(session) })),
            Err(Error::Exists(_)) if has_all(&in_store, &self.store, &on_disk.get(&id)?)? => {
                Ok(Some(Restored { id, written: None }))
            }
            Err(error) => Err(error),
        }
    }
}

/// A session to resume.
struct Restored {
    id: String,
    /// The session, if it was written to disk for this.
    written: Option<StoredSession>,
}

/// Whether a session on disk has all entries that the store has.
fn has_all(
    sessions: &StoreSessions,
    store: &Arc<dyn SessionStore>,
    session: &StoredSession,
) -> Result<bool, Error> {
    let stored = store.load(&sessions.key(session.id())?)?.unwrap_or_default();
    let here: std::collections::HashSet<String> =
        session.entries()?.flatten().filter_map(|entry| entry.uuid()).collect();
    Ok(stored.iter().filter_map(Entry::uuid).all(|uuid| here.contains(&uuid)))
}

/// Why a session could not be started in a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The store or the transcript failed.
    #[error(transparent)]
    Store(#[from] Error),
    /// The agent could not be started.
    #[error(transparent)]
    Session(#[from] crate::Error),
}

/// A session that is kept in a store while it runs.
#[derive(Debug)]
pub struct SessionInStore {
    session: Session,
    task: JoinHandle<Mirror>,
    written: Option<StoredSession>,
}

impl SessionInStore {
    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Closes the session, and waits at most this long until the store has all of it. False if it does not: what is missing
    /// was reported, or is on disk only.
    ///
    /// A transcript that was written to disk to resume the session is removed, unless the store lacks something.
    ///
    /// Not cancel safe: the store may lack the end of the session.
    ///
    /// # Errors
    /// If the agent fails while it is closed, or the transcript cannot be removed.
    pub async fn close(self, timeout: Duration) -> Result<bool, StartError> {
        let closed = self.session.close().await;
        let Ok(mirror) = self.task.await else { return Ok(false) };
        let written = self.written;
        let done = super::run(move || {
            let done = mirror.close(timeout);
            if let Some(session) = written.filter(|_| done) {
                session.delete()?;
            }
            Ok(done)
        })
        .await?;
        closed?;
        Ok(done)
    }
}

impl SessionBuilder {
    /// Starts a session that is kept in a store while it runs: what the agent adds to its transcript is added to the store. A
    /// store that fails or is slow never delays the conversation; [`InStore::on_problem`] reports it.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use duologue::Session;
    /// use duologue::sessions::InStore;
    /// use duologue::sessions::store::{FolderStore, SessionStore};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let store: Arc<dyn SessionStore> = Arc::new(FolderStore::new("/mnt/sessions"));
    /// let options = InStore::new(store, "/my/project")
    ///     .resume_newest()
    ///     .on_problem(|problem| eprintln!("{problem}"));
    /// let kept = Session::builder().start_in_store(options).await?;
    /// println!("{}", kept.session().prompt("And now?").await?.outcome().await?.text());
    /// kept.close(Duration::from_secs(30)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Not cancel safe: an agent that was started is killed.
    ///
    /// # Errors
    /// If the session to resume is not in the store, is on disk with other entries, or if the agent cannot be started.
    pub async fn start_in_store(self, options: InStore) -> Result<SessionInStore, StartError> {
        let mut builder = self.session_mirror(true).cwd(options.cwd.as_path());
        if let Some(folder) = &options.config_dir {
            builder = builder.env("CLAUDE_CONFIG_DIR", folder);
        }
        let projects = options.on_disk()?.projects_dir();
        let (options, restored) = super::run(move || {
            let restored = options.restore()?;
            Ok((options, restored))
        })
        .await?;
        let mut written = None;
        if let Some(restored) = restored {
            builder = builder.conversation(Conversation::resume(restored.id.as_str()));
            written = restored.written;
        }
        let session = match builder.start().await {
            Ok(session) => session,
            Err(error) => {
                if let Some(session) = written {
                    // The error of the agent matters more than that of the file.
                    let _ = super::run(move || session.delete()).await;
                }
                return Err(error.into());
            }
        };
        let mut messages = session.messages();
        let report = Arc::clone(&options.report);
        let mirror = Mirror::start(Arc::clone(&options.store), options.options, move |problem| {
            report(problem);
        });
        let report = options.report;
        let task = tokio::spawn(async move {
            while let Ok(Some(message)) = messages.next().await {
                match message.known() {
                    Some(ToHost::TranscriptMirror(line)) => add(&mirror, line, &projects, &*report),
                    // The end of a turn. This does not wait.
                    Some(ToHost::Result(_)) => drop(mirror.flush(Duration::ZERO)),
                    _ => {}
                }
            }
            mirror
        });
        Ok(SessionInStore { session, task, written })
    }
}

fn add(mirror: &Mirror, line: &TranscriptMirror, projects: &Path, report: &Report) {
    let path = Path::new(line.file_path.as_str().unwrap_or_default());
    let entries: Vec<Entry> =
        line.entries.items().iter().map(|entry| Entry::new(entry.as_json().into())).collect();
    // The agent may see its config directory under another name.
    let elsewhere =
        || path.ancestors().find(|folder| folder.file_name() == Some(OsStr::new("projects")));
    let key =
        SessionKey::of_file(path, projects).or_else(|| SessionKey::of_file(path, elsewhere()?));
    match key {
        Some(key) => mirror.push(&key, entries),
        None => {
            let key = SessionKey::new("", path.to_string_lossy());
            let reason = "its file is not below the projects folder".to_owned();
            report(MirrorProblem::failed(key, entries.len(), reason));
        }
    }
}
