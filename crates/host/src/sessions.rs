//! Stored sessions (feature `sessions`): find, read and change the conversations that Claude Code keeps, and keep sessions in a
//! store while they run.
//!
//! These are the functions of the crate `duologue-sessions`, which is [`blocking`] here, for async programs: each call runs on a
//! thread for blocking work.
//!
//! ```no_run
//! use duologue::sessions::{ListOptions, MessageOptions, Sessions};
//!
//! # async fn example() -> Result<(), duologue::sessions::Error> {
//! let sessions = Sessions::from_env()?;
//! for info in sessions.list(ListOptions::default().limit(10)).await?.sessions {
//!     println!("{}  {}", info.id, info.summary);
//!     let mut messages = sessions.get(&info.id).await?.messages(MessageOptions::default()).await?;
//!     while let Some(message) = messages.next().await {
//!         println!("  {}", message?.kind.as_str());
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`SessionBuilder::start_in_store`](crate::SessionBuilder::start_in_store) keeps a session in a [store](blocking::store) while it
//! runs, and resumes it from there.

mod in_store;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

pub use duologue_sessions as blocking;
pub use duologue_sessions::{
    Error, ForkOptions, ListOptions, Liveness, MessageOptions, Result, SessionInfo, SessionList,
    SessionMessage, SessionUsage, StoredEvent, Subagent, Usage, UsageOptions, WireLine, store,
};
pub use in_store::{InStore, SessionInStore, StartError};

/// How many messages are read ahead.
const READ_AHEAD: usize = 16;

/// Runs blocking work on a thread for it.
async fn run<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(Error::store(error)),
        },
    }
}

/// The sessions below one config directory. See [`blocking::Sessions`].
#[derive(Clone, Debug)]
pub struct Sessions(blocking::Sessions);

impl Sessions {
    /// The sessions below this config directory: what `CLAUDE_CONFIG_DIR` would name.
    pub fn in_config_dir(config_dir: impl Into<PathBuf>) -> Self {
        Self(blocking::Sessions::in_config_dir(config_dir))
    }

    /// The sessions of the current user: below `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    ///
    /// # Errors
    /// [`Error::NoConfigDir`] if neither `CLAUDE_CONFIG_DIR` nor `HOME` is set.
    pub fn from_env() -> Result<Self> {
        blocking::Sessions::from_env().map(Self)
    }

    /// Only the sessions of this project and of the other worktrees of its repository.
    #[must_use]
    pub fn in_project(self, directory: impl Into<PathBuf>) -> Self {
        Self(self.0.in_project(directory))
    }

    /// The same, for programs without async.
    pub fn blocking(&self) -> &blocking::Sessions {
        &self.0
    }

    /// Lists sessions, newest first. See [`blocking::Sessions::list`].
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// If the projects folder exists and cannot be read.
    pub async fn list(&self, options: ListOptions) -> Result<SessionList> {
        let sessions = self.0.clone();
        run(move || sessions.list(&options)).await
    }

    /// The session with this id, or the only one whose id begins like this.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// See [`blocking::Sessions::find`].
    pub async fn get(&self, id: &str) -> Result<StoredSession> {
        let (sessions, id) = (self.0.clone(), id.to_owned());
        run(move || sessions.find(&id)).await.map(StoredSession)
    }

    /// What sessions used, by day, model and project. See [`blocking::Sessions::usage`].
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// If the projects folder exists and cannot be read.
    pub async fn usage(&self, options: UsageOptions) -> Result<Usage> {
        let sessions = self.0.clone();
        run(move || sessions.usage(&options)).await
    }

    /// Reads a session that [`StoredSession::export`] has written to this file.
    ///
    /// Not cancel safe: a change that was begun may still be made.
    ///
    /// # Errors
    /// See [`blocking::Sessions::import`].
    pub async fn import(&self, file: impl AsRef<Path>) -> Result<StoredSession> {
        let (sessions, path) = (self.0.clone(), file.as_ref().to_owned());
        run(move || {
            let mut file = open(&path)?;
            sessions.import(&mut file)
        })
        .await
        .map(StoredSession)
    }
}

fn open(path: &Path) -> Result<std::fs::File> {
    std::fs::File::open(path).map_err(|source| Error::Io { path: path.to_owned(), source })
}

/// A session on disk. See [`blocking::StoredSession`].
#[derive(Clone, Debug)]
pub struct StoredSession(blocking::StoredSession);

impl StoredSession {
    /// The id.
    pub fn id(&self) -> &str {
        self.0.id()
    }

    /// The transcript.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The same, for programs without async.
    pub fn blocking(&self) -> &blocking::StoredSession {
        &self.0
    }

    /// What a list shows of the session. `None` if it has nothing to show.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub async fn info(&self) -> Result<Option<SessionInfo>> {
        let session = self.0.clone();
        run(move || session.info()).await
    }

    /// The messages of the conversation, from the first to the last.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub async fn messages(&self, options: MessageOptions) -> Result<Items<SessionMessage>> {
        let session = self.0.clone();
        Items::start(move || session.messages(&options)).await
    }

    /// The conversation as events, the same that a live session gives.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub async fn events(&self) -> Result<Items<StoredEvent>> {
        let session = self.0.clone();
        Items::start(move || session.events()).await
    }

    /// The conversation as lines of the wire.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub async fn wire_lines(&self) -> Result<Items<WireLine>> {
        let session = self.0.clone();
        Items::start(move || session.wire_lines()).await
    }

    /// The sub-agents of the session.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// If their folder exists and cannot be read.
    pub async fn subagents(&self) -> Result<Vec<Subagent>> {
        let session = self.0.clone();
        run(move || session.subagents()).await
    }

    /// The messages of a sub-agent.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// [`Error::NoSuchAgent`] if there is no such sub-agent, or if its file cannot be read.
    pub async fn subagent_messages(
        &self,
        agent: &str,
        options: MessageOptions,
    ) -> Result<Items<SessionMessage>> {
        let (session, agent) = (self.0.clone(), agent.to_owned());
        Items::start(move || session.subagent(&agent)?.messages(&options)).await
    }

    /// What the session and its sub-agents used.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub async fn usage(&self, options: UsageOptions) -> Result<SessionUsage> {
        let session = self.0.clone();
        run(move || session.usage(&options)).await
    }

    /// Whether a running process uses the session.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// If the runtime shuts down.
    pub async fn liveness(&self) -> Result<Liveness> {
        let session = self.0.clone();
        run(move || Ok(session.liveness())).await
    }

    /// Gives the session a title.
    ///
    /// Not cancel safe: a change that was begun may still be made.
    ///
    /// # Errors
    /// See [`blocking::StoredSession::rename`].
    pub async fn rename(&self, title: &str) -> Result<()> {
        let (session, title) = (self.0.clone(), title.to_owned());
        run(move || session.rename(&title)).await
    }

    /// Gives the session a tag, or removes it.
    ///
    /// Not cancel safe: a change that was begun may still be made.
    ///
    /// # Errors
    /// See [`blocking::StoredSession::tag`].
    pub async fn tag(&self, tag: Option<&str>) -> Result<()> {
        let (session, tag) = (self.0.clone(), tag.map(str::to_owned));
        run(move || session.tag(tag.as_deref())).await
    }

    /// Archives the session, or takes it out of the archive.
    ///
    /// Not cancel safe: a change that was begun may still be made.
    ///
    /// # Errors
    /// If the mark cannot be written.
    pub async fn set_archived(&self, archived: bool) -> Result<()> {
        let session = self.0.clone();
        run(move || if archived { session.archive() } else { session.unarchive() }).await
    }

    /// Copies the session under a new id.
    ///
    /// Not cancel safe: a change that was begun may still be made.
    ///
    /// # Errors
    /// See [`blocking::StoredSession::fork`].
    pub async fn fork(&self, options: ForkOptions) -> Result<Self> {
        let session = self.0.clone();
        run(move || session.fork(&options)).await.map(Self)
    }

    /// Deletes the session, its sub-agents and its side files. This cannot be undone.
    ///
    /// Not cancel safe: a change that was begun may still be made.
    ///
    /// # Errors
    /// See [`blocking::StoredSession::delete`].
    pub async fn delete(self) -> Result<()> {
        run(move || self.0.delete()).await
    }

    /// Writes the whole session to a new file. [`Sessions::import`] reads it.
    ///
    /// Not cancel safe: a change that was begun may still be made.
    ///
    /// # Errors
    /// If the file exists or cannot be written, or the session cannot be read.
    pub async fn export(&self, file: impl AsRef<Path>) -> Result<()> {
        let (session, path) = (self.0.clone(), file.as_ref().to_owned());
        run(move || {
            let failed = |source| Error::Io { path: path.clone(), source };
            let mut file = std::fs::File::create_new(&path).map_err(failed)?;
            session.export(&mut file)
        })
        .await
    }
}

/// Messages, events or lines of a stored session, read on another thread. It is a [`Stream`].
#[derive(Debug)]
pub struct Items<T> {
    receiver: mpsc::Receiver<Result<T>>,
}

impl<T: Send + 'static> Items<T> {
    async fn start<I: Iterator<Item = Result<T>> + 'static>(
        open: impl FnOnce() -> Result<I> + Send + 'static,
    ) -> Result<Self> {
        let (sender, receiver) = mpsc::channel(READ_AHEAD);
        let (opened, is_open) = tokio::sync::oneshot::channel();
        tokio::task::spawn_blocking(move || {
            let items = match open() {
                Ok(items) => items,
                Err(error) => return drop(opened.send(Err(error))),
            };
            let _ = opened.send(Ok(()));
            for item in items {
                // The reader is gone if this fails.
                if sender.blocking_send(item).is_err() {
                    return;
                }
            }
        });
        is_open.await.map_err(|_| Error::store("the runtime shuts down"))??;
        Ok(Self { receiver })
    }

    /// The next one; `None` at the end. Cancel safe.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Result<T>> {
        self.receiver.recv().await
    }
}

impl<T> Stream for Items<T> {
    type Item = Result<T>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().receiver.poll_recv(context)
    }
}
