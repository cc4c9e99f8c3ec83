//! The tables, and everything that reads them.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, Row, params};

use super::super::{
    AppendError, Body, Entry, Head, Incarnation, Kind, Limits, Origin, Page, ReadError, SessionId,
};
use super::{OpenError, SqliteOptions};

/// Marks our databases: "duoh".
const APPLICATION: i32 = 0x6475_6f68;
/// The version of the tables.
const VERSION: i32 = 1;

/// `number` and `seq` of an entry are one key: entries of a session are neighbours.
const SEQ_BITS: u32 = 40;

const TABLES: &str = "
CREATE TABLE log (incarnation INTEGER NOT NULL, commits INTEGER NOT NULL) STRICT;
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    snapshot TEXT
) STRICT;
CREATE TABLE entries (
    key INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    origin TEXT NOT NULL,
    by TEXT,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE receipts (
    session INTEGER NOT NULL,
    name TEXT NOT NULL,
    digest BLOB NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;
";

/// A session, as its row has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionRow {
    pub(super) number: i64,
    pub(super) head: Head,
}

/// The key of an entry; `None` if there are too many entries or sessions.
pub(super) fn key(number: i64, seq: u64) -> Option<i64> {
    let seq = i64::try_from(seq).ok().filter(|seq| *seq < 1 << SEQ_BITS)?;
    (number < 1 << (62 - SEQ_BITS)).then_some((number << SEQ_BITS) | seq)
}

/// Creates the tables in an empty file.
pub(super) fn initialize(path: &Path) -> Result<(), OpenError> {
    let create = || {
        let db = Connection::open_with_flags(path, flags())?;
        pragmas(&db)?;
        db.execute_batch("BEGIN IMMEDIATE")?;
        db.execute_batch(TABLES)?;
        db.pragma_update(None, "application_id", APPLICATION)?;
        db.pragma_update(None, "user_version", VERSION)?;
        let incarnation = Incarnation::new().as_u64().cast_signed();
        db.execute("INSERT INTO log VALUES (?1, 0)", [incarnation])?;
        db.execute_batch("COMMIT")?;
        // Closing the only connection moves everything into the file and removes the others.
        db.close().map_err(|(_, error)| error)
    };
    create().map_err(|error| cannot_open(path, &error))
}

/// Opens the database to write, and checks all of it.
pub(super) fn open_checked(
    path: &Path,
    options: &SqliteOptions,
) -> Result<(Connection, Incarnation), OpenError> {
    let failed = |error: rusqlite::Error| cannot_open(path, &error);
    let damaged = |reason: String| OpenError::Damaged { path: path.to_owned(), reason };
    let foreign = |reason: String| OpenError::Foreign { path: path.to_owned(), reason };
    let length = std::fs::metadata(path).map_err(|source| {
        let path = path.to_owned();
        OpenError::Io { path, source }
    })?;
    if length.len() == 0 {
        // SQLite would take an empty file for a new database.
        return Err(damaged("the file is empty".to_owned()));
    }
    let db = open_to_write(path, options).map_err(failed)?;
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    if number("application_id").map_err(failed)? != APPLICATION {
        return Err(foreign("it is not a log of a hub".to_owned()));
    }
    let version = number("user_version").map_err(failed)?;
    if version != VERSION {
        return Err(foreign(format!(
            "its format is {version}, this program reads {VERSION}: use the version that wrote it"
        )));
    }
    let check = "PRAGMA quick_check(1)";
    let verdict: String = db.query_row(check, [], |row| row.get(0)).map_err(failed)?;
    if verdict != "ok" {
        return Err(damaged(verdict));
    }
    let incarnation: i64 =
        db.query_row("SELECT incarnation FROM log", [], |row| row.get(0)).map_err(failed)?;
    Ok((db, Incarnation::from_u64(incarnation.cast_unsigned())))
}

fn cannot_open(path: &Path, error: &rusqlite::Error) -> OpenError {
    let (path, reason) = (path.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            OpenError::Damaged { path, reason }
        }
        _ => OpenError::Storage { path, reason },
    }
}

fn flags() -> OpenFlags {
    // Never SQLITE_OPEN_CREATE: a database that disappears is an error, not a new one.
    OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

fn pragmas(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(Duration::from_secs(10))?;
    // On macOS, only these flush the disk's own cache.
    db.execute_batch("PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1;")?;
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    db.pragma_update(None, "synchronous", "FULL")
}

pub(super) fn open_to_write(path: &Path, options: &SqliteOptions) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, flags())?;
    pragmas(&db)?;
    // The other thread does that.
    db.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    if let Some(bytes) = options.max_bytes {
        let page: u64 = db.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = bytes / page.max(1);
        db.pragma_update_and_check(None, "max_page_count", pages.max(1), |_| Ok(()))?;
    }
    Ok(db)
}

pub(super) fn open_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, flags())?;
    pragmas(&db)?;
    db.pragma_update(None, "query_only", true)?;
    Ok(db)
}

pub(super) fn unreadable(error: rusqlite::Error) -> ReadError {
    ReadError::Storage(error.to_string())
}

/// What a failure before the commit means: nothing was appended.
pub(super) fn not_appended(error: &rusqlite::Error) -> AppendError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => AppendError::Full,
        _ => AppendError::Storage(error.to_string()),
    }
}

pub(super) fn commits(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row("SELECT commits FROM log", [], |row| row.get(0))
}

pub(super) fn find(db: &Connection, id: SessionId) -> rusqlite::Result<Option<SessionRow>> {
    let mut statement =
        db.prepare("SELECT number, first, last, generation FROM sessions WHERE id = ?1")?;
    statement
        .query_row([id.to_string()], |row| {
            Ok(SessionRow { number: row.get(0)?, head: head(row, 1)? })
        })
        .optional()
}

fn head(row: &Row<'_>, at: usize) -> rusqlite::Result<Head> {
    Ok(Head { first: row.get(at)?, last: row.get(at + 1)?, generation: row.get(at + 2)? })
}

pub(super) fn snapshot(db: &Connection, id: SessionId) -> Result<Option<Body>, ReadError> {
    let select = "SELECT snapshot FROM sessions WHERE id = ?1";
    let found = db
        .query_row(select, [id.to_string()], |row| row.get::<_, Option<String>>(0))
        .optional()
        .map_err(unreadable)?;
    let snapshot = found.ok_or(ReadError::NoSession(id))?;
    Ok(snapshot.as_deref().map(Body::trusted))
}

pub(super) fn sessions(
    db: &Connection,
    after: Option<SessionId>,
    limit: usize,
) -> Result<Vec<(SessionId, Head)>, ReadError> {
    let list = || {
        let mut statement = db.prepare(
            "SELECT id, first, last, generation FROM sessions WHERE id > ?1 ORDER BY id LIMIT ?2",
        )?;
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        let rows = statement.query_map(params![after, limit], |row| {
            Ok((row.get::<_, String>(0)?, head(row, 1)?))
        })?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    let listed = list().map_err(unreadable)?;
    let parse = |(id, head): (String, Head)| {
        let id = id.parse().map_err(|_| ReadError::Storage(format!("{id} is not an id")))?;
        Ok((id, head))
    };
    listed.into_iter().map(parse).collect()
}

pub(super) fn read(
    db: &Connection,
    id: SessionId,
    after: u64,
    limits: Limits,
) -> Result<Page, ReadError> {
    // One transaction: the head and the entries are of the same moment.
    let transaction = db.unchecked_transaction().map_err(unreadable)?;
    let row = find(&transaction, id).map_err(unreadable)?.ok_or(ReadError::NoSession(id))?;
    row.head.readable(after)?;
    let number = row.number;
    let too_many = || ReadError::Storage("the session has too many entries".to_owned());
    let from = key(row.number, after).ok_or_else(too_many)?;
    let to = key(row.number, row.head.last).ok_or_else(too_many)?;
    let select = || {
        let mut statement = transaction.prepare(
            "SELECT time, generation, origin, by, kind, body, key FROM entries
             WHERE key > ?1 AND key <= ?2 ORDER BY key",
        )?;
        let mut rows = statement.query([from, to])?;
        let (mut entries, mut bytes, mut seq) = (Vec::new(), 0, after);
        while entries.len() < limits.entries.max(1)
            && let Some(row) = rows.next()?
        {
            seq += 1;
            if key(number, seq) != Some(row.get(6)?) {
                let missing = format!("entry {seq} is missing");
                return Err(inconsistent(missing));
            }
            let body = row.get_ref(5)?.as_str()?;
            bytes += body.len();
            if bytes > limits.bytes && !entries.is_empty() {
                break;
            }
            entries.push(Entry {
                seq,
                time: row.get(0)?,
                session: id,
                generation: row.get(1)?,
                origin: origin(row.get_ref(2)?.as_str()?)?,
                by: row.get_ref(3)?.as_str_or_null()?.map(Into::into),
                kind: Kind::try_from(row.get_ref(4)?.as_str()?).map_err(inconsistent)?,
                body: Body::trusted(body),
            });
        }
        Ok(entries)
    };
    let entries = select().map_err(unreadable)?;
    Ok(Page { entries, head: row.head })
}

fn origin(text: &str) -> rusqlite::Result<Origin> {
    let known = Origin::ALL.into_iter().find(|origin| origin.as_str() == text);
    known.ok_or_else(|| inconsistent(format!("an entry has the unknown origin {text}")))
}

/// The tables contain what no log has written.
pub(super) fn inconsistent(
    reason: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Null, reason.into())
}
