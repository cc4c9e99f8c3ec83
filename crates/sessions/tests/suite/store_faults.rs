//! All stores pass the suite, also while writes fail, and keep what was stored when a writer is killed.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use duologue_sessions::store::{
    FlushMode, FolderStore, MemoryStore, Mirror, MirrorOptions, MirrorProblem, ObjectSessionStore,
    SessionKey, SessionStore, SessionSummary, SqliteStore, conformance, list,
};
use duologue_sessions::{Entry, Error, Result};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;

use super::{ID, user};

const PATIENCE: Duration = Duration::from_secs(60);

/// Makes each kind of store, empty. A folder lives as long as its store.
type Make = fn(&Path) -> Result<Arc<dyn SessionStore>>;

const STORES: [(&str, Make); 5] = [
    ("memory", |_| Ok(Arc::new(MemoryStore::new()))),
    ("folder", |folder| Ok(Arc::new(FolderStore::new(folder)))),
    ("sqlite", |folder| Ok(Arc::new(SqliteStore::open(folder.join("sessions.db"))?))),
    ("objects in memory", |_| {
        Ok(Arc::new(ObjectSessionStore::new(Arc::new(InMemory::new()), "a/b")?))
    }),
    ("objects in a folder", |folder| {
        let objects = LocalFileSystem::new_with_prefix(folder).map_err(Error::store)?;
        Ok(Arc::new(ObjectSessionStore::new(Arc::new(objects), "")?))
    }),
];

/// A store in which every write fails once, after a part of it was written. The caller repeats it, as a mirror does.
struct FailsOnce {
    store: Arc<dyn SessionStore>,
    _folder: tempfile::TempDir,
}

impl SessionStore for FailsOnce {
    fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<()> {
        // An entry without a UUID would be added twice, as the contract allows.
        let part = entries.iter().take(entries.len().div_ceil(2));
        let part: Vec<Entry> = part.take_while(|entry| entry.uuid().is_some()).cloned().collect();
        self.store.append(key, &part)?;
        self.store.append(key, entries)
    }

    fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>> {
        self.store.load(key)
    }

    fn list_sessions(&self, project: &str) -> Result<Vec<duologue_sessions::store::ListedSession>> {
        self.store.list_sessions(project)
    }

    fn list_summaries(&self, project: &str) -> Result<Vec<SessionSummary>> {
        self.store.list_summaries(project)
    }

    fn delete(&self, key: &SessionKey) -> Result<()> {
        self.store.delete(key)
    }

    fn list_subkeys(&self, project: &str, session: &str) -> Result<Vec<String>> {
        self.store.list_subkeys(project, session)
    }
}

#[test]
fn all_stores_pass_the_suite_while_writes_fail() {
    for (name, make) in STORES {
        let report = conformance::run(|| {
            let folder = tempfile::tempdir().unwrap();
            Ok(Box::new(FailsOnce { store: make(folder.path())?, _folder: folder }))
        });
        let failed: Vec<_> =
            report.iter().filter(|case| case.verdict != conformance::Verdict::Passed).collect();
        assert!(failed.is_empty(), "{name}: {failed:#?}");
    }
}

fn entry(uuid: &str) -> Entry {
    Entry::new(user(uuid, None, uuid).to_string().into_bytes())
}

fn uuids(store: &dyn SessionStore, key: &SessionKey) -> Vec<String> {
    let entries = store.load(key).unwrap().unwrap_or_default();
    entries.iter().filter_map(Entry::uuid).collect()
}

/// A store that is slow: each write waits for the gate. The first write fails after that.
struct Slow {
    inner: Arc<dyn SessionStore>,
    gate: Mutex<mpsc::Receiver<()>>,
    failures: AtomicUsize,
}

impl SessionStore for Slow {
    fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<()> {
        // The sender is dropped when the test has seen enough.
        let _ = self.gate.lock().unwrap().recv();
        if self.failures.fetch_add(1, Ordering::SeqCst) == 0 {
            return Err(Error::store("not now"));
        }
        self.inner.append(key, entries)
    }

    fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>> {
        self.inner.load(key)
    }
}

#[test]
fn a_mirror_into_any_slow_store_reports_it_and_completes() {
    for (name, make) in STORES {
        let folder = tempfile::tempdir().unwrap();
        let (open, gate) = mpsc::channel();
        let inner = make(folder.path()).unwrap();
        let slow = Slow { inner: Arc::clone(&inner), gate: Mutex::new(gate), failures: 0.into() };
        let (sender, problems) = mpsc::channel();
        let sender = Mutex::new(sender);
        let mut options = MirrorOptions::default();
        options.flush_mode = FlushMode::Eager;
        options.slow_after = Duration::ZERO;
        options.pauses = vec![Duration::ZERO];
        let mirror = Mirror::start(Arc::new(slow), options, move |problem| {
            let _ = sender.lock().unwrap().send(problem);
        });
        let key = SessionKey::new("-my", ID);
        for uuid in ["a", "b", "c"] {
            mirror.push(&key, vec![entry(uuid)]);
        }
        assert!(!mirror.flush(Duration::from_millis(1)), "{name}");
        let problem = loop {
            match problems.try_recv() {
                Ok(problem) => break problem,
                Err(_) => drop(mirror.flush(Duration::from_millis(1))),
            }
        };
        assert!(matches!(problem, MirrorProblem::Slow { .. }), "{name}: {problem}");
        drop(open);
        assert!(mirror.close(PATIENCE), "{name}");
        assert_eq!(uuids(&*inner, &key), ["a", "b", "c"], "{name}");
    }
}

#[test]
fn a_database_whose_writer_was_killed_has_whole_batches() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let key = SessionKey::new("-my", ID);
    let store = SqliteStore::open(&path).unwrap();
    for batch in [["a", "b"], ["c", "d"], ["e", "f"]] {
        store.append(&key, &batch.map(entry)).unwrap();
    }
    // The log is what a killed writer leaves: cut anywhere, it holds a number of whole batches.
    let (database, log) =
        (fs::read(&path).unwrap(), fs::read(folder.path().join("sessions.db-wal")).unwrap());
    drop(store);
    let all = ["a", "b", "c", "d", "e", "f"];
    let mut seen = std::collections::BTreeSet::new();
    for length in (0..=log.len()).rev().step_by(997) {
        let killed = tempfile::tempdir().unwrap();
        let path = killed.path().join("sessions.db");
        fs::write(&path, &database).unwrap();
        fs::write(killed.path().join("sessions.db-wal"), &log[..length]).unwrap();
        let store = SqliteStore::open(&path).unwrap();
        let found = uuids(&store, &key);
        assert!(
            found.len().is_multiple_of(2) && all.starts_with(&strs(&found)),
            "{length}: {found:?}"
        );
        seen.insert(found.len());
        // What was lost can be stored again.
        store.append(&key, &all.map(entry)).unwrap();
        assert_eq!(uuids(&store, &key), all);
        assert_eq!(list(&store, "-my").unwrap().len(), 1);
    }
    assert!(seen.contains(&6) && seen.len() > 2, "{seen:?}");
}

fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

#[test]
fn a_database_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    drop(SqliteStore::open(&path).unwrap());
    drop(SqliteStore::open(&path).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    // `user_version` is at byte 60 of the file.
    assert_eq!(bytes[60..64], [0, 0, 0, 1]);
    bytes[63] = 2;
    fs::write(&path, bytes).unwrap();
    let error = SqliteStore::open(&path).unwrap_err().to_string();
    assert!(error.contains("newer version"), "{error}");
    fs::write(&path, "this is not a database, whatever its name is".repeat(100)).unwrap();
    assert!(SqliteStore::open(&path).is_err());
}

#[test]
fn two_connections_write_to_one_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let key = SessionKey::new("-my", ID);
    SqliteStore::open(&path).unwrap();
    std::thread::scope(|scope| {
        for writer in ["a", "b"] {
            let (path, key) = (&path, &key);
            scope.spawn(move || {
                let store = SqliteStore::open(path).unwrap();
                for number in 0..20 {
                    store
                        .append(key, &[entry(&format!("{writer}{number}")), entry("both")])
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(uuids(&SqliteStore::open(&path).unwrap(), &key).len(), 41);
}

#[test]
fn a_batch_of_objects_that_was_cut_off_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let objects = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
        ObjectSessionStore::new(Arc::new(objects), "").unwrap()
    };
    let key = SessionKey::new("-my", ID);
    let store = open();
    store.append(&key, &[entry("a")]).unwrap();
    let batches = folder.path().join(format!("projects/-my/{ID}/main"));
    let batch = fs::read_dir(&batches).unwrap().next().unwrap().unwrap().path();
    // A file that is being written has another name until it is complete.
    let mut part = batch.into_os_string();
    part.push("#1");
    fs::write(part, &entry("b").bytes()[..20]).unwrap();
    let store = open();
    assert_eq!(uuids(&store, &key), ["a"]);
    store.append(&key, &[entry("a"), entry("b")]).unwrap();
    assert_eq!(uuids(&store, &key), ["a", "b"]);
}
