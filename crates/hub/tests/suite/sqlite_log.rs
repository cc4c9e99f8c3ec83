//! The SQLite log: its files, and what it refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use duologue_hub::log::{
    AppendError, Batch, Body, Limits, Log, NewEntry, OpenError, Origin, Receipt, SessionId,
    SqliteLog, SqliteOptions,
};

fn open(folder: &Path) -> Result<SqliteLog, OpenError> {
    SqliteLog::open(folder, SqliteOptions::default())
}

fn owner() -> NewEntry {
    NewEntry::owner(Body::parse("{}").unwrap())
}

fn text(bytes: usize) -> NewEntry {
    let body = Body::encode(&"x".repeat(bytes)).unwrap();
    NewEntry::new("x.test", Origin::External, body).unwrap()
}

async fn append(
    log: &SqliteLog,
    session: SessionId,
    entry: NewEntry,
) -> Result<Receipt, AppendError> {
    log.append(Batch::new(session, 1, [entry])).await
}

#[test]
fn the_engine_is_new_enough() {
    // Before this version, a checkpoint beside a writer could lose a commit.
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}

#[test]
fn a_second_log_in_the_same_folder_is_refused_until_the_first_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path()).unwrap();
    let second = open(folder.path());
    assert!(matches!(second, Err(OpenError::InUse { .. })), "{second:?}");
    drop(first);
    drop(open(folder.path()).unwrap());
}

#[test]
fn everything_is_readable_by_its_owner_only() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("state");
    let log = open(&folder).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let mut names = Vec::new();
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    names.sort();
    assert_eq!(names, ["hub.db", "hub.db-shm", "hub.db-wal", "hub.lock"]);
    drop(log);
}

/// A log with an entry, closed, and the bytes of its database.
async fn closed(folder: &Path) -> (SessionId, Vec<u8>) {
    let log = open(folder).unwrap();
    let session = SessionId::random();
    append(&log, session, owner()).await.unwrap();
    for _ in 0..50 {
        append(&log, session, text(1_000)).await.unwrap();
    }
    drop(log);
    (session, fs::read(folder.join("hub.db")).unwrap())
}

#[tokio::test]
async fn a_damaged_database_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (_, good) = closed(folder.path()).await;
    let path = folder.path().join("hub.db");
    let mut holes = good.clone();
    for byte in &mut holes[4096..20_000] {
        *byte ^= 0x5a;
    }
    let truncated = good[..good.len() / 2].to_vec();
    let text = b"this is not a database, it is only a long enough text".repeat(100);
    for bad in [holes, truncated, text, Vec::new()] {
        fs::write(&path, &bad).unwrap();
        let error = open(folder.path()).unwrap_err();
        assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains("restore a backup"), "{error}");
        assert!(fs::read(&path).unwrap() == bad, "the file was changed");
    }
    fs::write(&path, good).unwrap();
    drop(open(folder.path()).unwrap());
}

#[tokio::test]
async fn a_database_of_another_program_or_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    closed(folder.path()).await;
    let path = folder.path().join("hub.db");
    for pragma in ["PRAGMA user_version = 2", "PRAGMA application_id = 7"] {
        rusqlite::Connection::open(&path).unwrap().execute_batch(pragma).unwrap();
        let error = open(folder.path()).unwrap_err();
        assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_missing_database_beside_its_journal_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    closed(folder.path()).await;
    fs::rename(folder.path().join("hub.db"), folder.path().join("hub.db-wal")).unwrap();
    let error = open(folder.path()).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
    assert!(!folder.path().join("hub.db").exists());
}

#[test]
fn a_database_that_was_never_finished_is_created_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hub.db.new"), "half").unwrap();
    drop(open(folder.path()).unwrap());
    assert!(!folder.path().join("hub.db.new").exists());
}

#[tokio::test]
async fn a_full_disk_refuses_and_keeps_what_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let small = SqliteOptions::default().max_bytes(256 << 10);
    let log = SqliteLog::open(folder.path(), small).unwrap();
    let session = SessionId::random();
    append(&log, session, owner()).await.unwrap();
    let mut acknowledged = 1;
    let error = loop {
        match append(&log, session, text(10_000)).await {
            Ok(receipt) => {
                acknowledged += 1;
                assert_eq!(receipt.last, acknowledged);
            }
            Err(error) => break error,
        }
    };
    assert_eq!(error, AppendError::Full);
    assert!(acknowledged > 5);
    // Reading works, and so does writing once there is room.
    let page = log.read(session, 0, Limits::new(1_000, 1 << 30)).await.unwrap();
    assert_eq!(page.entries.len() as u64, acknowledged);
    log.retain(session, acknowledged, Body::parse("{}").unwrap()).await.unwrap();
    let receipt = append(&log, session, text(10_000)).await.unwrap();
    assert_eq!(receipt.first, acknowledged + 1);
}

#[tokio::test]
async fn a_large_log_survives_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path()).unwrap();
    let session = SessionId::random();
    append(&log, session, owner()).await.unwrap();
    for _ in 0..12 {
        append(&log, session, text(1 << 20)).await.unwrap();
    }
    drop(log);
    let log = open(folder.path()).unwrap();
    assert_eq!(log.head(session).await.unwrap().unwrap().last, 13);
    let page = log.read(session, 12, Limits::default()).await.unwrap();
    assert_eq!(page.entries[0].body.as_str().len(), (1 << 20) + 2);
}
