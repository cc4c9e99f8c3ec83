//! [`Log`]: where everything is written down before anyone is informed of it.
//!
//! Each session has its own log. Its entries are numbered 1, 2, 3, … without gaps. An append is a [`Batch`] for one session: all of
//! it is committed, or nothing.
//!
//! ```
//! use duologue_hub::log::{Batch, Body, Limits, Log, MemoryLog, NewEntry, Origin, SessionId};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let log = MemoryLog::new();
//! let session = SessionId::random();
//! // A generation begins with the entry of its owner.
//! let owner = NewEntry::owner(Body::encode(&serde_json::json!({"node": "here"}))?);
//! log.append(Batch::new(session, 1, [owner])).await?;
//! let note = NewEntry::new("x.note", Origin::External, Body::encode(&"Hello.")?)?;
//! let receipt = log.append(Batch::new(session, 1, [note])).await?;
//! assert_eq!(receipt.first, 2);
//! let page = log.read(session, 1, Limits::default()).await?;
//! assert_eq!(page.entries[0].body.as_str(), "\"Hello.\"");
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
//! ```

use std::pin::Pin;

use tokio::sync::watch;

pub use crate::id::SessionId;

mod admission;
pub mod contract;
mod cursor;
mod entry;
mod memory;
mod sqlite;
mod wake;

pub use admission::Head;
pub use cursor::{Cursor, CursorError, Incarnation};
pub(crate) use entry::now;
pub use entry::{Body, Entry, Kind, KindError, NewEntry, OWNER, Origin};
pub use memory::MemoryLog;
pub use sqlite::{OpenError, SqliteLog, SqliteOptions};

/// The largest entry, in bytes of its body.
pub const MAX_BODY: usize = 64 << 20;

/// What a method of [`Log`] returns.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A log of many sessions. [`contract`] tests an implementation.
///
/// What a method returns is committed: it is there after a crash, at the same numbers.
pub trait Log: Send + Sync + 'static {
    /// Appends a batch to the log of its session, or repeats the receipt of a batch with the same key.
    ///
    /// Not cancel safe: if the future is dropped, the batch may or may not be appended.
    fn append(&self, batch: Batch) -> Pending<'_, Result<Receipt, AppendError>>;

    /// Reads entries after `after`, oldest first: at least one if there are any, at most as many as the limits allow. Cancel safe.
    fn read(
        &self,
        session: SessionId,
        after: u64,
        limits: Limits,
    ) -> Pending<'_, Result<Page, ReadError>>;

    /// Where the log of a session begins and ends; `None` if there is no such session. Cancel safe.
    fn head(&self, session: SessionId) -> Pending<'_, Result<Option<Head>, ReadError>>;

    /// The sessions after `after`, in the order of their ids, at most `limit`. Cancel safe.
    fn sessions(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Pending<'_, Result<Vec<(SessionId, Head)>, ReadError>>;

    /// Removes the entries before `from` and keeps `snapshot` in their place. Returns the first entry that is left.
    /// The last entry of a session cannot be removed. If nothing is to be removed, the snapshot is not kept.
    ///
    /// Not cancel safe, as [`append`](Self::append).
    fn retain(
        &self,
        session: SessionId,
        from: u64,
        snapshot: Body,
    ) -> Pending<'_, Result<u64, AppendError>>;

    /// What [`retain`](Self::retain) kept in place of the entries that it removed. Cancel safe.
    fn snapshot(&self, session: SessionId) -> Pending<'_, Result<Option<Body>, ReadError>>;

    /// Subscribes to the head of a session. A change is only a hint to read: it can be late, never early.
    fn watch(&self, session: SessionId) -> watch::Receiver<u64>;

    /// The incarnation of this log. Another one has other entries at the same numbers.
    fn incarnation(&self) -> Incarnation;
}

/// Entries for one session, appended together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Batch {
    /// The session. The first batch creates it.
    pub session: SessionId,
    /// The generation of the owner that appends. A new one begins with an [`OWNER`] entry.
    pub generation: u64,
    /// The entries.
    pub entries: Vec<NewEntry>,
    /// Makes the batch idempotent.
    pub key: Option<Key>,
}

impl Batch {
    /// A batch without a key.
    pub fn new(
        session: SessionId,
        generation: u64,
        entries: impl IntoIterator<Item = NewEntry>,
    ) -> Self {
        Self { session, generation, entries: entries.into_iter().collect(), key: None }
    }

    /// Gives it a key: a batch with the same key is appended once in the life of the session.
    #[must_use]
    pub fn key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// How much memory it takes, about.
    pub(crate) fn cost(&self) -> usize {
        self.entries.iter().map(|entry| entry.body.as_str().len() + 128).sum()
    }
}

/// What makes a batch idempotent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// The name, unique within the session.
    pub name: String,
    /// The SHA-256 of what the caller asked for. The same name with another digest is a conflict.
    pub digest: [u8; 32],
}

impl Key {
    /// The key of a request.
    pub fn new(name: impl Into<String>, request: &[u8]) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, request);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Self { name: name.into(), digest: bytes }
    }
}

/// Where a batch is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The number of its first entry.
    pub first: u64,
    /// The number of its last entry.
    pub last: u64,
    /// An earlier batch had the same key. Nothing was appended now.
    pub repeated: bool,
}

impl Receipt {
    pub(crate) const fn new(first: u64, last: u64) -> Self {
        Self { first, last, repeated: false }
    }
}

/// How much [`Log::read`] returns at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Entries.
    pub entries: usize,
    /// Bytes of bodies. The first entry is returned even if it is larger.
    pub bytes: usize,
}

impl Limits {
    /// These limits.
    pub const fn new(entries: usize, bytes: usize) -> Self {
        Self { entries, bytes }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new(256, 1 << 20)
    }
}

/// A page of the log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page {
    /// The entries, oldest first.
    pub entries: Vec<Entry>,
    /// Where the log began and ended when the page was read.
    pub head: Head,
}

/// Why a batch was not appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// There is no such session, and the batch does not begin with the entry of an owner.
    #[error("there is no session {0}")]
    NoSession(SessionId),
    /// The session has another owner.
    #[error(
        "the session is at generation {current}: a batch of generation {generation} is refused"
    )]
    #[non_exhaustive]
    Fenced {
        /// The generation of the batch.
        generation: u64,
        /// The generation of the session.
        current: u64,
    },
    /// The batch is against the rules of the log.
    #[error("the batch is invalid: {0}")]
    Invalid(&'static str),
    /// A body is too large.
    #[error("an entry of {bytes} bytes is larger than the limit of {MAX_BODY}")]
    #[non_exhaustive]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The key was used for another request.
    #[error("the key {name} was used for another request, at entry {seq}")]
    #[non_exhaustive]
    KeyReused {
        /// The key.
        name: String,
        /// The entry of the other request.
        seq: u64,
    },
    /// The disk, or what the log may use of it, is full. Nothing was appended.
    #[error("the disk is full: nothing was appended")]
    Full,
    /// The storage failed. Nothing was appended.
    #[error("nothing was appended: {0}")]
    Storage(String),
    /// The storage failed during the commit and cannot be read now. The batch may or may not be there.
    #[error("the batch may or may not be appended: {0}")]
    Unknown(String),
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
}

/// Why the log cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no such session.
    #[error("there is no session {0}")]
    NoSession(SessionId),
    /// The entries that follow were removed.
    #[error("the log begins at entry {first}")]
    #[non_exhaustive]
    Gone {
        /// The first entry that is left.
        first: u64,
    },
    /// The log has no such entry yet: it was restored from a backup, or the number is made up.
    #[error("the log ends at entry {head}")]
    #[non_exhaustive]
    Ahead {
        /// The last entry.
        head: u64,
    },
    /// The storage failed.
    #[error("the log cannot be read: {0}")]
    Storage(String),
}
