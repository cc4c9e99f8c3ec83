//! [`SqliteStore`]: sessions in an SQLite database.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use serde_json::{Map, Value};

use super::{ListedSession, SessionKey, SessionStore, SessionSummary};
use crate::error::{Error, Result};
use crate::js;
use crate::transcript::Entry;

/// The version of the tables, in `user_version`.
const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS transcripts (
        id INTEGER PRIMARY KEY,
        project TEXT NOT NULL,
        session TEXT NOT NULL,
        -- Empty for the session itself.
        subpath TEXT NOT NULL,
        modified INTEGER NOT NULL,
        UNIQUE (project, session, subpath)
    ) STRICT;
    CREATE TABLE IF NOT EXISTS entries (
        id INTEGER PRIMARY KEY,
        transcript INTEGER NOT NULL REFERENCES transcripts (id) ON DELETE CASCADE,
        uuid TEXT,
        body BLOB NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS entries_of_transcript ON entries (transcript);
    CREATE UNIQUE INDEX IF NOT EXISTS entries_by_uuid ON entries (transcript, uuid) WHERE uuid IS NOT NULL;
    CREATE TABLE IF NOT EXISTS summaries (
        project TEXT NOT NULL,
        session TEXT NOT NULL,
        modified INTEGER NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (project, session)
    ) STRICT, WITHOUT ROWID;
";

/// Keeps sessions in an SQLite database: one file, and several processes may use it at once.
///
/// A batch is one transaction: it is stored whole or not at all, also if the process is killed.
///
/// ```
/// use duologue_sessions::Entry;
/// use duologue_sessions::store::{SessionKey, SessionStore, SqliteStore};
///
/// # let folder = tempfile::tempdir()?;
/// let store = SqliteStore::open(folder.path().join("sessions.db"))?;
/// let key = SessionKey::new("-my-project", "11111111-2222-4333-8444-555555555555");
/// store.append(&key, &[Entry::new(br#"{"type":"user","uuid":"a"}"#.to_vec())])?;
/// assert_eq!(store.load(&key)?.map(|entries| entries.len()), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqliteStore(Mutex<Connection>);

impl SqliteStore {
    /// Opens a database. It is created if it does not exist.
    ///
    /// # Errors
    /// If the database cannot be opened, or a newer version of this crate wrote it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let connection = Connection::open(path).map_err(Error::store)?;
        // Readers and a writer do not wait for each other.
        connection.pragma_update(None, "journal_mode", "wal").map_err(Error::store)?;
        Self::prepare(connection)
    }

    /// Opens a database in memory, for tests.
    ///
    /// # Errors
    /// If SQLite cannot create it.
    pub fn in_memory() -> Result<Self> {
        Self::prepare(Connection::open_in_memory().map_err(Error::store)?)
    }

    fn prepare(connection: Connection) -> Result<Self> {
        let prepare = || -> rusqlite::Result<i64> {
            connection.busy_timeout(Duration::from_secs(30))?;
            connection.pragma_update(None, "foreign_keys", true)?;
            let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
            if version == 0 {
                connection.execute_batch(TABLES)?;
                connection.pragma_update(None, "user_version", VERSION)?;
            }
            Ok(version)
        };
        let version = prepare().map_err(Error::store)?;
        if version > VERSION {
            let reason = format!("a newer version wrote the database: {version}, not {VERSION}");
            return Err(Error::store(reason));
        }
        Ok(Self(Mutex::new(connection)))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn subpath(key: &SessionKey) -> &str {
    key.subpath.as_deref().unwrap_or_default()
}

/// Adds the entries that are new.
fn add(transaction: &Transaction<'_>, key: &SessionKey, entries: &[Entry]) -> rusqlite::Result<()> {
    let now = js::now();
    let transcript: i64 = transaction
        .prepare_cached(
            "INSERT INTO transcripts (project, session, subpath, modified) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET modified = max(modified + 1, excluded.modified) RETURNING id",
        )?
        .query_row(params![key.project_key, key.session_id, subpath(key), now], |row| row.get(0))?;
    let mut insert = transaction.prepare_cached(
        "INSERT INTO entries (transcript, uuid, body) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
    )?;
    let mut new = Vec::new();
    for entry in entries {
        if insert.execute(params![transcript, entry.uuid(), entry.bytes()])? > 0 {
            new.push(entry.clone());
        }
    }
    if key.subpath.is_some() {
        return Ok(());
    }
    let previous = transaction
        .prepare_cached("SELECT data FROM summaries WHERE project = ?1 AND session = ?2")?
        .query_row(params![key.project_key, key.session_id], |row| row.get::<_, String>(0))
        .optional()?;
    let previous = previous.and_then(|data| summary(&key.session_id, 0, &data));
    let summary = SessionSummary::fold(previous, key, &new);
    transaction
        .prepare_cached(
            "INSERT INTO summaries (project, session, modified, data)
             SELECT project, session, modified, ?2 FROM transcripts WHERE id = ?1
             ON CONFLICT DO UPDATE SET modified = excluded.modified, data = excluded.data",
        )?
        .execute(params![transcript, Value::Object(summary.data).to_string()])?;
    Ok(())
}

fn summary(session: &str, modified: i64, data: &str) -> Option<SessionSummary> {
    let data: Map<String, Value> = serde_json::from_str(data).ok()?;
    Some(SessionSummary::new(session, modified, data))
}

impl SessionStore for SqliteStore {
    fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<()> {
        key.validate()?;
        if entries.is_empty() {
            return Ok(());
        }
        let mut connection = self.lock();
        let mut write = || {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            add(&transaction, key, entries)?;
            transaction.commit()
        };
        write().map_err(Error::store)
    }

    fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>> {
        key.validate()?;
        let connection = self.lock();
        let read = || -> rusqlite::Result<Option<Vec<Entry>>> {
            let transcript: Option<i64> = connection
                .prepare_cached(
                    "SELECT id FROM transcripts WHERE project = ?1 AND session = ?2 AND subpath = ?3",
                )?
                .query_row(params![key.project_key, key.session_id, subpath(key)], |row| row.get(0))
                .optional()?;
            let Some(transcript) = transcript else { return Ok(None) };
            let mut query = connection
                .prepare_cached("SELECT body FROM entries WHERE transcript = ?1 ORDER BY id")?;
            let entries = query.query_map([transcript], |row| row.get(0).map(Entry::new))?;
            entries.collect::<rusqlite::Result<_>>().map(Some)
        };
        read().map_err(Error::store)
    }

    fn list_sessions(&self, project_key: &str) -> Result<Vec<ListedSession>> {
        let connection = self.lock();
        let read = || -> rusqlite::Result<Vec<ListedSession>> {
            let mut query = connection.prepare_cached(
                "SELECT session, modified FROM transcripts WHERE project = ?1 AND subpath = ''",
            )?;
            let found = query.query_map([project_key], |row| {
                Ok(ListedSession::new(row.get::<_, String>(0)?, row.get(1)?))
            })?;
            found.collect()
        };
        read().map_err(Error::store)
    }

    fn list_summaries(&self, project_key: &str) -> Result<Vec<SessionSummary>> {
        let connection = self.lock();
        let read = || -> rusqlite::Result<Vec<SessionSummary>> {
            let mut query = connection.prepare_cached(
                "SELECT session, modified, data FROM summaries WHERE project = ?1",
            )?;
            let found = query.query_map([project_key], |row| {
                let (session, data): (String, String) = (row.get(0)?, row.get(2)?);
                Ok(summary(&session, row.get(1)?, &data))
            })?;
            Ok(found.collect::<rusqlite::Result<Vec<_>>>()?.into_iter().flatten().collect())
        };
        read().map_err(Error::store)
    }

    fn delete(&self, key: &SessionKey) -> Result<()> {
        key.validate()?;
        let mut connection = self.lock();
        let mut remove = || -> rusqlite::Result<()> {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let (project, session) = (&key.project_key, &key.session_id);
            if let Some(subpath) = &key.subpath {
                transaction.execute(
                    "DELETE FROM transcripts WHERE project = ?1 AND session = ?2 AND subpath = ?3",
                    params![project, session, subpath],
                )?;
            } else {
                for table in ["transcripts", "summaries"] {
                    let sql = format!("DELETE FROM {table} WHERE project = ?1 AND session = ?2");
                    transaction.execute(&sql, params![project, session])?;
                }
            }
            transaction.commit()
        };
        remove().map_err(Error::store)
    }

    fn list_subkeys(&self, project_key: &str, session_id: &str) -> Result<Vec<String>> {
        let connection = self.lock();
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut query = connection.prepare_cached(
                "SELECT subpath FROM transcripts WHERE project = ?1 AND session = ?2 AND subpath <> ''",
            )?;
            query.query_map([project_key, session_id], |row| row.get(0))?.collect()
        };
        read().map_err(Error::store)
    }
}
