//! [`SqliteLog`]: the log in one SQLite file.
//!
//! One thread writes. While it commits a transaction, further batches queue up; the next transaction takes them all, up to
//! 4 MiB, one session after the other. So one flush of the disk serves many sessions, and no timer is needed. Another thread copies
//! the write-ahead log into the database. Reads use connections of their own and see only what is committed.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::{Semaphore, oneshot, watch};

use super::wake::Heads;
use super::{
    AppendError, Batch, Body, Head, Incarnation, Limits, Log, Page, Pending, ReadError, Receipt,
    SessionId,
};
use queue::{Job, Queue, Work};
use readers::Readers;
use writer::Writer;

mod database;
mod queue;
mod readers;
mod writer;

/// The name of the database within its folder.
const DATABASE: &str = "hub.db";
/// The name of a database that is being created.
const UNFINISHED: &str = "hub.db.new";
/// The name of the file that is locked while a hub uses the folder.
const LOCK: &str = "hub.lock";

/// How many bytes of batches may wait for the writer. Appends beyond that wait for room.
const MOST_QUEUED: usize = 64 << 20;

/// A log in one SQLite file.
///
/// ```
/// use duologue_hub::log::{Log, SqliteLog, SqliteOptions};
///
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().join("state");
/// let log = SqliteLog::open(&folder, SqliteOptions::default())?;
/// println!("incarnation {}", log.incarnation());
/// # Ok(())
/// # }
/// # run().unwrap();
/// ```
#[derive(Debug)]
pub struct SqliteLog {
    queue: Arc<Queue>,
    readers: Readers,
    heads: Arc<Heads>,
    incarnation: Incarnation,
    room: Arc<Semaphore>,
    writer: Option<JoinHandle<()>>,
    /// Held until the log is dropped. The last field: everything else is closed before.
    _lock: FolderLock,
}

/// Options of a [`SqliteLog`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// The largest size of the database in bytes. Beyond it, appends fail as if the disk was full.
    pub max_bytes: Option<u64>,
}

impl SqliteOptions {
    /// Limits the size of the database.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }
}

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another hub uses the folder.
    #[error("another hub uses {}: stop it first, or choose another folder", folder.display())]
    #[non_exhaustive]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The database is damaged. It is left as it is.
    #[error(
        "{} is damaged ({reason}). It is left as it is: restore a backup, or move the file away to begin with an empty log",
        path.display()
    )]
    #[non_exhaustive]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The database was written by a newer version, or by another program.
    #[error("{} cannot be used: {reason}", path.display())]
    #[non_exhaustive]
    Foreign {
        /// The database.
        path: PathBuf,
        /// What it is.
        reason: String,
    },
    /// A file cannot be used.
    #[error("{}: {source}", path.display())]
    #[non_exhaustive]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database cannot be opened.
    #[error("{}: {reason}", path.display())]
    #[non_exhaustive]
    Storage {
        /// The database.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl SqliteLog {
    /// Opens the log in a folder. Creates both if they are missing, for their owner only.
    ///
    /// It reads the whole database to check it. It blocks the thread.
    ///
    /// # Errors
    ///
    /// If another process uses the folder, or the database is damaged or of another kind. It is never replaced.
    pub fn open(folder: &Path, options: SqliteOptions) -> Result<Self, OpenError> {
        let lock = lock(folder)?;
        let path = folder.join(DATABASE);
        if !path.try_exists().map_err(|source| OpenError::Io { path: path.clone(), source })? {
            create(folder)?;
        }
        let (connection, incarnation) = database::open_checked(&path, &options)?;
        let queue = Arc::new(Queue::default());
        let heads = Arc::new(Heads::default());
        let writer = Writer::new(path.clone(), options, connection, Arc::clone(&heads));
        let spawned = {
            let queue = Arc::clone(&queue);
            std::thread::Builder::new().name("hub-log".into()).spawn(move || writer.run(&queue))
        };
        let thread = spawned.map_err(|source| OpenError::Io { path: path.clone(), source })?;
        Ok(Self {
            queue,
            readers: Readers::new(path),
            heads,
            incarnation,
            room: Arc::new(Semaphore::new(MOST_QUEUED)),
            writer: Some(thread),
            _lock: lock,
        })
    }

    async fn write(&self, work: Work, cost: usize) -> Result<Receipt, AppendError> {
        // A batch that is larger than the room waits until it has all of it.
        let cost = u32::try_from(cost.min(MOST_QUEUED)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.room).acquire_many_owned(cost).await;
        let permit = permit.map_err(|_| AppendError::Closed)?;
        let (reply, replied) = oneshot::channel();
        self.queue.push(Job { work, reply, permit })?;
        replied.await.unwrap_or(Err(AppendError::Closed))
    }
}

impl Drop for SqliteLog {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            // It ends after the batches that are queued. If it panicked, they were refused.
            drop(writer.join());
        }
    }
}

/// Keeps other hubs out of a folder.
#[derive(Debug)]
struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that is being started at this moment has a copy of it.
        let _ = self.0.unlock();
    }
}

fn lock(folder: &Path) -> Result<FolderLock, OpenError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| OpenError::Io { path, source }
    };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io(folder))?;
    let path = folder.join(LOCK);
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = file.map_err(io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(FolderLock(file)),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { folder: folder.to_owned() }),
        Err(TryLockError::Error(source)) => Err(io(&path)(source)),
    }
}

/// Creates an empty database under another name and renames it, so that a database is complete or not there.
fn create(folder: &Path) -> Result<(), OpenError> {
    let path = folder.join(DATABASE);
    let journal = folder.join(format!("{DATABASE}-wal"));
    let io = |source| OpenError::Io { path: path.clone(), source };
    if journal.try_exists().map_err(io)? {
        let reason = format!("it is missing, but {} is there", journal.display());
        return Err(OpenError::Damaged { path, reason });
    }
    let unfinished = folder.join(UNFINISHED);
    for ending in ["", "-wal", "-shm", "-journal"] {
        let leftover = folder.join(format!("{UNFINISHED}{ending}"));
        match std::fs::remove_file(&leftover) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
    }
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(&unfinished).map_err(io)?;
    database::initialize(&unfinished)?;
    std::fs::rename(&unfinished, &path).map_err(io)?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)
}

impl Log for SqliteLog {
    fn append(&self, batch: Batch) -> Pending<'_, Result<Receipt, AppendError>> {
        let cost = batch.cost();
        Box::pin(self.write(Work::Append(batch), cost))
    }

    fn read(
        &self,
        session: SessionId,
        after: u64,
        limits: Limits,
    ) -> Pending<'_, Result<Page, ReadError>> {
        Box::pin(self.readers.run(move |db| database::read(db, session, after, limits)))
    }

    fn head(&self, session: SessionId) -> Pending<'_, Result<Option<Head>, ReadError>> {
        Box::pin(self.readers.run(move |db| {
            Ok(database::find(db, session).map_err(database::unreadable)?.map(|row| row.head))
        }))
    }

    fn sessions(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Pending<'_, Result<Vec<(SessionId, Head)>, ReadError>> {
        Box::pin(self.readers.run(move |db| database::sessions(db, after, limit)))
    }

    fn retain(
        &self,
        session: SessionId,
        from: u64,
        snapshot: Body,
    ) -> Pending<'_, Result<u64, AppendError>> {
        Box::pin(async move {
            let cost = snapshot.as_str().len();
            let receipt = self.write(Work::Retain { session, from, snapshot }, cost).await?;
            Ok(receipt.first)
        })
    }

    fn snapshot(&self, session: SessionId) -> Pending<'_, Result<Option<Body>, ReadError>> {
        Box::pin(self.readers.run(move |db| database::snapshot(db, session)))
    }

    fn watch(&self, session: SessionId) -> watch::Receiver<u64> {
        self.heads.subscribe(session)
    }

    fn incarnation(&self) -> Incarnation {
        self.incarnation
    }
}
