//! [`Writer`]: the thread that writes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use rusqlite::{Connection, OptionalExtension as _, params};

use super::super::entry::now;
use super::super::wake::Heads;
use super::super::{AppendError, Batch, Body, Head, Receipt, SessionId};
use super::SqliteOptions;
use super::database::{self, SessionRow};
use super::queue::{Job, Queue, Work};

/// After how many bytes the write-ahead log is copied into the database.
const CHECKPOINT: usize = 4 << 20;

pub(super) struct Writer {
    path: PathBuf,
    options: SqliteOptions,
    /// `None` after a failure: it is opened again for the next transaction.
    connection: Option<Connection>,
    heads: Arc<Heads>,
    /// Bytes since the last checkpoint.
    written: usize,
    #[cfg(test)]
    fault: tests::Fault,
}

/// What is in a transaction.
struct Transaction<'c> {
    db: &'c Connection,
    /// Sessions that were changed or read.
    sessions: HashMap<SessionId, SessionRow>,
    /// Sessions with new entries.
    moved: Vec<(SessionId, u64)>,
}

/// Why a write of a transaction has no receipt.
enum Failure {
    /// Only this one is refused.
    Refused(AppendError),
    /// The transaction cannot be continued.
    Broken(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<AppendError> for Failure {
    fn from(error: AppendError) -> Self {
        Self::Refused(error)
    }
}

type Outcomes = Vec<Result<Receipt, AppendError>>;

impl Writer {
    pub(super) fn new(
        path: PathBuf,
        options: SqliteOptions,
        connection: Connection,
        heads: Arc<Heads>,
    ) -> Self {
        Self {
            path,
            options,
            connection: Some(connection),
            heads,
            written: 0,
            #[cfg(test)]
            fault: tests::Fault::default(),
        }
    }

    /// Writes until the queue is closed.
    pub(super) fn run(mut self, queue: &Queue) {
        let (checkpoint, checkpoints) = sync_channel(1);
        let path = self.path.clone();
        let checkpointer = std::thread::Builder::new().name("hub-checkpoint".into());
        let checkpointer = checkpointer.spawn(move || {
            while checkpoints.recv().is_ok() {
                // If it fails, the next one copies more.
                if let Ok(db) = database::open_to_write(&path, &SqliteOptions::default()) {
                    drop(db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
                }
            }
        });
        while let Some(jobs) = queue.take() {
            self.handle(jobs, &checkpoint);
        }
        drop(checkpoint);
        if let Ok(checkpointer) = checkpointer {
            drop(checkpointer.join());
        }
    }

    fn handle(&mut self, jobs: Vec<Job>, checkpoint: &SyncSender<()>) {
        let (mut works, mut waiting) = (Vec::new(), Vec::new());
        for Job { work, reply, permit } in jobs {
            works.push(work);
            waiting.push((reply, permit));
        }
        let outcomes = self.commit(&works);
        for ((reply, permit), outcome) in waiting.into_iter().zip(outcomes) {
            // The caller may have gone.
            drop(reply.send(outcome));
            drop(permit);
        }
        if self.written > CHECKPOINT {
            self.written = 0;
            // If one is under way, that is enough.
            let _ = checkpoint.try_send(());
        }
    }

    /// Commits what can be committed, in one transaction.
    fn commit(&mut self, works: &[Work]) -> Outcomes {
        let all = |error: &AppendError| works.iter().map(|_| Err(error.clone())).collect();
        let db = match self.connection.take() {
            Some(db) => db,
            None => match database::open_to_write(&self.path, &self.options) {
                Ok(db) => db,
                Err(error) => return all(&database::not_appended(&error)),
            },
        };
        let Written { outcomes, moved, commits } = match write(&db, works) {
            Ok(written) => written,
            Err(error) => {
                let refused = all(&database::not_appended(&error));
                if db.is_autocommit() || db.execute_batch("ROLLBACK").is_ok() {
                    self.connection = Some(db);
                }
                return refused;
            }
        };
        let committed = match self.end(&db) {
            Ok(()) => Ok(Some(db)),
            // The commit may have happened: only the file can say.
            Err(error) => {
                drop(db);
                self.find_out(commits, &error)
            }
        };
        match committed {
            Ok(db) => {
                self.connection = db;
                self.written += works.iter().map(Work::cost).sum::<usize>();
                for (session, head) in moved {
                    self.heads.moved(session, head);
                }
                outcomes
            }
            // What was refused stays refused.
            Err(error) => outcomes.into_iter().map(|one| one.and(Err(error.clone()))).collect(),
        }
    }

    fn end(&mut self, db: &Connection) -> rusqlite::Result<()> {
        #[cfg(test)]
        self.fault.before_commit()?;
        db.execute_batch("COMMIT")?;
        #[cfg(test)]
        self.fault.after_commit()?;
        Ok(())
    }

    /// Opens the database again and reads whether a transaction is there.
    fn find_out(
        &mut self,
        expected: i64,
        error: &rusqlite::Error,
    ) -> Result<Option<Connection>, AppendError> {
        let opened = self.open_again().and_then(|db| Ok((database::commits(&db)?, db)));
        match opened {
            Ok((commits, db)) if commits == expected => Ok(Some(db)),
            Ok((_, db)) => {
                self.connection = Some(db);
                Err(database::not_appended(error))
            }
            Err(second) => Err(AppendError::Unknown(format!("{error}; then: {second}"))),
        }
    }

    fn open_again(&mut self) -> rusqlite::Result<Connection> {
        #[cfg(test)]
        self.fault.open_again()?;
        database::open_to_write(&self.path, &self.options)
    }
}

/// A transaction before its commit.
struct Written {
    outcomes: Outcomes,
    /// The heads that moved.
    moved: Vec<(SessionId, u64)>,
    /// The number of commits after this one.
    commits: i64,
}

/// Writes everything, without the commit.
fn write(db: &Connection, works: &[Work]) -> rusqlite::Result<Written> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    let commits = database::commits(db)? + 1;
    let mut transaction = Transaction { db, sessions: HashMap::new(), moved: Vec::new() };
    let mut outcomes = Vec::with_capacity(works.len());
    for work in works {
        let outcome = match work {
            Work::Append(batch) => transaction.append(batch),
            Work::Retain { session, from, snapshot } => {
                transaction.retain(*session, *from, snapshot)
            }
        };
        outcomes.push(match outcome {
            Ok(receipt) => Ok(receipt),
            Err(Failure::Refused(error)) => Err(error),
            Err(Failure::Broken(error)) => return Err(error),
        });
    }
    db.execute("UPDATE log SET commits = ?1", [commits])?;
    Ok(Written { outcomes, moved: transaction.moved, commits })
}

impl Transaction<'_> {
    fn find(&mut self, id: SessionId) -> rusqlite::Result<Option<SessionRow>> {
        if let Some(row) = self.sessions.get(&id) {
            return Ok(Some(*row));
        }
        let row = database::find(self.db, id)?;
        self.sessions.extend(row.map(|row| (id, row)));
        Ok(row)
    }

    fn append(&mut self, batch: &Batch) -> Result<Receipt, Failure> {
        let row = self.find(batch.session)?;
        if let (Some(key), Some(row)) = (&batch.key, row) {
            let select =
                "SELECT digest, first, last FROM receipts WHERE session = ?1 AND name = ?2";
            let mut statement = self.db.prepare(select)?;
            let kept = statement.query_row(params![row.number, key.name], |kept| {
                Ok((kept.get::<_, [u8; 32]>(0)?, kept.get(1)?, kept.get(2)?))
            });
            if let Some((digest, first, last)) = kept.optional()? {
                if digest != key.digest {
                    let name = key.name.clone();
                    return Err(AppendError::KeyReused { name, seq: first }.into());
                }
                return Ok(Receipt { first, last, repeated: true });
            }
        }
        let before = row.map(|row| row.head).unwrap_or_default();
        let head = before.admit(batch)?;
        let number = match row {
            Some(row) => row.number,
            None => {
                let insert =
                    "INSERT INTO sessions (id, first, last, generation) VALUES (?1, 1, 0, 0)";
                self.db.execute(insert, [batch.session.to_string()])?;
                self.db.last_insert_rowid()
            }
        };
        let receipt = Receipt::new(before.last + 1, head.last);
        self.insert(number, receipt.first, batch)?;
        self.db.execute(
            "UPDATE sessions SET last = ?2, generation = ?3 WHERE number = ?1",
            params![number, head.last, head.generation],
        )?;
        if let Some(key) = &batch.key {
            self.db.execute(
                "INSERT INTO receipts VALUES (?1, ?2, ?3, ?4, ?5)",
                params![number, key.name, key.digest, receipt.first, receipt.last],
            )?;
        }
        self.sessions.insert(batch.session, SessionRow { number, head });
        self.moved.push((batch.session, head.last));
        Ok(receipt)
    }

    fn insert(&self, number: i64, first: u64, batch: &Batch) -> Result<(), Failure> {
        let mut statement =
            self.db.prepare("INSERT INTO entries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
        let time = now();
        for (seq, entry) in (first..).zip(&batch.entries) {
            let too_many = || database::inconsistent("there are too many entries or sessions");
            let key = database::key(number, seq).ok_or_else(too_many)?;
            statement.execute(params![
                key,
                time,
                batch.generation,
                entry.origin.as_str(),
                entry.by.as_deref(),
                entry.kind.as_str(),
                entry.body.as_str(),
            ])?;
        }
        Ok(())
    }

    fn retain(&mut self, id: SessionId, from: u64, snapshot: &Body) -> Result<Receipt, Failure> {
        let row = self.find(id)?.ok_or(AppendError::NoSession(id))?;
        let head: Head = row.head.retain(from)?;
        if head != row.head {
            let (from, to) = (database::key(row.number, 0), database::key(row.number, head.first));
            self.db.execute("DELETE FROM entries WHERE key > ?1 AND key < ?2", [from, to])?;
            self.db.execute(
                "UPDATE sessions SET first = ?2, snapshot = ?3 WHERE number = ?1",
                params![row.number, head.first, snapshot.as_str()],
            )?;
            self.sessions.insert(id, SessionRow { head, ..row });
        }
        Ok(Receipt::new(head.first, head.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{NewEntry, Origin, sqlite::lock};

    /// What fails, once each.
    #[derive(Default)]
    pub(super) struct Fault {
        before: bool,
        after: bool,
        again: bool,
    }

    fn failure(fails: &mut bool) -> rusqlite::Result<()> {
        let code = rusqlite::ffi::SQLITE_IOERR;
        if std::mem::take(fails) {
            return Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None));
        }
        Ok(())
    }

    impl Fault {
        pub(super) fn before_commit(&mut self) -> rusqlite::Result<()> {
            failure(&mut self.before)
        }

        pub(super) fn after_commit(&mut self) -> rusqlite::Result<()> {
            failure(&mut self.after)
        }

        pub(super) fn open_again(&mut self) -> rusqlite::Result<()> {
            failure(&mut self.again)
        }
    }

    struct Fixture {
        writer: Writer,
        session: SessionId,
        _folder: tempfile::TempDir,
    }

    /// A writer of a log with one session that has one entry.
    fn fixture() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        drop(lock(folder.path()).unwrap());
        super::super::create(folder.path()).unwrap();
        let path = folder.path().join(super::super::DATABASE);
        let options = SqliteOptions::default();
        let (db, _) = database::open_checked(&path, &options).unwrap();
        let mut writer = Writer::new(path, options, db, Arc::default());
        let session = SessionId::random();
        let owner = NewEntry::owner(Body::parse("{}").unwrap());
        let outcomes = writer.commit(&[Work::Append(Batch::new(session, 1, [owner]))]);
        assert_eq!(outcomes, [Ok(Receipt::new(1, 1))]);
        Fixture { writer, session, _folder: folder }
    }

    fn append(session: SessionId, generation: u64) -> Work {
        let entry = NewEntry::new("x.test", Origin::External, Body::parse("1").unwrap()).unwrap();
        Work::Append(Batch::new(session, generation, [entry]))
    }

    #[test]
    fn a_commit_that_failed_and_happened_is_acknowledged() {
        let Fixture { mut writer, session, _folder } = fixture();
        let mut watch = writer.heads.subscribe(session);
        writer.fault.after = true;
        assert_eq!(writer.commit(&[append(session, 1)]), [Ok(Receipt::new(2, 2))]);
        assert_eq!(*watch.borrow_and_update(), 2);
        assert_eq!(writer.commit(&[append(session, 1)]), [Ok(Receipt::new(3, 3))]);
    }

    #[test]
    fn a_commit_that_failed_and_did_not_happen_is_refused_and_its_numbers_are_free() {
        let Fixture { mut writer, session, _folder } = fixture();
        let watch = writer.heads.subscribe(session);
        writer.fault.before = true;
        let outcomes = writer.commit(&[append(session, 1), append(session, 0)]);
        assert!(matches!(outcomes[0], Err(AppendError::Storage(_))), "{outcomes:?}");
        // This one was refused for its own reason.
        assert_eq!(outcomes[1], Err(AppendError::Fenced { generation: 0, current: 1 }));
        assert_eq!(*watch.borrow(), 0);
        assert_eq!(writer.commit(&[append(session, 1)]), [Ok(Receipt::new(2, 2))]);
    }

    #[test]
    fn a_commit_that_cannot_be_looked_up_is_unknown_and_the_next_one_is_not() {
        let Fixture { mut writer, session, _folder } = fixture();
        (writer.fault.after, writer.fault.again) = (true, true);
        let outcomes = writer.commit(&[append(session, 1)]);
        assert!(matches!(outcomes[0], Err(AppendError::Unknown(_))), "{outcomes:?}");
        // It had happened.
        assert_eq!(writer.commit(&[append(session, 1)]), [Ok(Receipt::new(3, 3))]);
    }

    #[test]
    fn a_refused_batch_does_not_harm_the_others_of_its_transaction() {
        let Fixture { mut writer, session, _folder } = fixture();
        let outcomes = writer.commit(&[append(session, 1), append(session, 7), append(session, 1)]);
        assert_eq!(outcomes[0], Ok(Receipt::new(2, 2)));
        assert!(matches!(outcomes[1], Err(AppendError::Invalid(_))), "{outcomes:?}");
        assert_eq!(outcomes[2], Ok(Receipt::new(3, 3)));
    }
}
