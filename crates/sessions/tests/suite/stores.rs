//! Stores: the suite, faults, the mirror, and the way there and back.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duologue_sessions::store::{
    FlushMode, FolderStore, MemoryStore, Mirror, MirrorOptions, MirrorProblem, SessionKey,
    SessionStore, conformance, list,
};
use duologue_sessions::{Entry, Error, MessageOptions, Result, Sessions};
use serde_json::json;

use super::{ID, Place, assistant, texts, user};

const PATIENCE: Duration = Duration::from_secs(60);

fn entry(uuid: &str) -> Entry {
    Entry::new(user(uuid, None, uuid).to_string().into_bytes())
}

fn uuids(store: &dyn SessionStore, key: &SessionKey) -> Vec<String> {
    let entries = store.load(key).unwrap().unwrap_or_default();
    entries.iter().filter_map(Entry::uuid).collect()
}

fn passes(make: impl FnMut() -> Result<Box<dyn SessionStore>>) {
    let report = conformance::run(make);
    assert!(report.iter().all(|case| case.verdict == conformance::Verdict::Passed), "{report:#?}");
}

#[test]
fn the_memory_store_passes_the_suite() {
    passes(|| Ok(Box::new(MemoryStore::new())));
}

#[test]
fn the_folder_store_passes_the_suite() {
    let folders: Mutex<Vec<tempfile::TempDir>> = Mutex::default();
    passes(|| {
        let folder = tempfile::tempdir().unwrap();
        let store = FolderStore::new(folder.path());
        folders.lock().unwrap().push(folder);
        Ok(Box::new(store))
    });
}

/// A store that forgets an entry of each batch, to see that the suite notices.
struct Forgetful(MemoryStore);

impl SessionStore for Forgetful {
    fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<()> {
        self.0.append(key, entries.split_last().map_or(&[], |(_, rest)| rest))
    }

    fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>> {
        self.0.load(key)
    }
}

#[test]
fn the_suite_fails_for_a_store_that_forgets() {
    let report = conformance::run(|| Ok(Box::new(Forgetful(MemoryStore::new()))));
    let failed = report.iter().filter(|case| !case.passed()).count();
    let skipped = report
        .iter()
        .filter(|case| matches!(case.verdict, conformance::Verdict::Skipped(_)))
        .count();
    assert!(failed >= 6, "{report:#?}");
    assert!(skipped >= 4, "{report:#?}");
}

#[test]
fn a_batch_that_was_torn_is_repaired_by_repeating_it() {
    let folder = tempfile::tempdir().unwrap();
    let key = SessionKey::new("-my", ID);
    FolderStore::new(folder.path()).append(&key, &[entry("a")]).unwrap();
    let path = folder.path().join(format!("projects/-my/{ID}.jsonl"));
    // The process was killed within the second entry.
    let mut text = fs::read(&path).unwrap();
    text.extend_from_slice(&entry("b").bytes()[..20]);
    fs::write(&path, text).unwrap();
    let store = FolderStore::new(folder.path());
    assert_eq!(uuids(&store, &key), ["a"]);
    store.append(&key, &[entry("a"), entry("b"), entry("c")]).unwrap();
    assert_eq!(uuids(&store, &key), ["a", "b", "c"]);
    // It is a config directory too.
    let session = Sessions::in_config_dir(folder.path()).get(ID).unwrap();
    assert_eq!(texts(&session), ["c"]);
    assert_eq!(list(&store, "-my").unwrap()[0].summary, "a");
}

#[test]
fn a_session_comes_back_from_a_store() {
    let place = Place::new();
    let odd = json!({ "type": "made-up", "z": 1, "a": [1, null] });
    let session =
        place.write(ID, &[user("a", None, "Hello"), odd, assistant("b", Some("a"), "Hi")]);
    let agents = session.folder().join("subagents/workflows/run");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("agent-1.jsonl"), format!("{}\n", user("k", None, "Task"))).unwrap();
    fs::write(agents.join("agent-1.meta.json"), "{\"toolUseId\": \"toolu_1\"}").unwrap();
    let store = MemoryStore::new();
    let key = session.copy_to(&store).unwrap();
    assert_eq!(session.copy_to(&store).unwrap(), key);

    let other = tempfile::tempdir().unwrap();
    let sessions = Sessions::in_config_dir(other.path());
    let copy = sessions.restore(&store, &key).unwrap();
    let written = fs::read_to_string(copy.path()).unwrap();
    // The entry without a UUID was copied twice, since nothing tells it from another.
    assert!(written.starts_with(&fs::read_to_string(session.path()).unwrap()));
    let agent = copy.subagent_of_call("toolu_1").unwrap().unwrap();
    assert_eq!(agent.messages(&MessageOptions::default()).unwrap().len(), 1);
    assert!(matches!(sessions.restore(&store, &key), Err(Error::Exists(_))));
    let unknown = SessionKey::new("-my", "22222222-2222-4333-8444-555555555555");
    assert!(matches!(sessions.restore(&store, &unknown), Err(Error::NotFound(_))));
}

/// A store whose names lead elsewhere.
struct Hostile;

impl SessionStore for Hostile {
    fn append(&self, _: &SessionKey, _: &[Entry]) -> Result<()> {
        Ok(())
    }

    fn load(&self, _: &SessionKey) -> Result<Option<Vec<Entry>>> {
        Ok(Some(vec![entry("a")]))
    }

    fn list_subkeys(&self, _: &str, _: &str) -> Result<Vec<String>> {
        Ok(vec!["../../../escaped".to_owned()])
    }
}

#[test]
fn names_of_a_store_stay_inside() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = Sessions::in_config_dir(dir.path().join("config"));
    let restored = sessions.restore(&Hostile, &SessionKey::new("-my", ID));
    assert!(matches!(restored, Err(Error::InvalidName(_))), "{restored:?}");
    assert!(sessions.restore(&Hostile, &SessionKey::new("../x", ID)).is_err());
    assert_eq!(fs::read_dir(dir.path().join("config/projects/-my")).unwrap().count(), 0);
}

/// A store that fails so many times, and waits at a gate.
struct Faulty {
    inner: MemoryStore,
    failures: AtomicUsize,
    gate: Mutex<Option<mpsc::Receiver<()>>>,
}

impl Faulty {
    fn new(failures: usize, gate: Option<mpsc::Receiver<()>>) -> Arc<Self> {
        Arc::new(Self {
            inner: MemoryStore::new(),
            failures: failures.into(),
            gate: Mutex::new(gate),
        })
    }
}

impl SessionStore for Faulty {
    fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<()> {
        if let Some(gate) = &*self.gate.lock().unwrap() {
            // The sender is dropped when the test has seen enough.
            let _ = gate.recv();
        }
        let fails = self
            .failures
            .try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if fails.is_ok() {
            // Some of it was written before it failed.
            self.inner.append(key, &entries[..entries.len() / 2])?;
            return Err(Error::store("out of order"));
        }
        self.inner.append(key, entries)
    }

    fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>> {
        self.inner.load(key)
    }
}

fn mirror(store: &Arc<Faulty>, options: MirrorOptions) -> (Mirror, mpsc::Receiver<MirrorProblem>) {
    let (sender, problems) = mpsc::channel();
    let sender = Mutex::new(sender);
    let store: Arc<dyn SessionStore> = Arc::clone(store) as _;
    let mirror = Mirror::start(store, options, move |problem| {
        let _ = sender.lock().unwrap().send(problem);
    });
    (mirror, problems)
}

fn quick() -> MirrorOptions {
    let mut options = MirrorOptions::default();
    options.pauses = vec![Duration::ZERO, Duration::ZERO];
    options
}

#[test]
fn a_mirror_repeats_what_failed() {
    let store = Faulty::new(2, None);
    let (mirror, problems) = mirror(&store, quick());
    let key = SessionKey::new("-my", ID);
    mirror.push(&key, vec![entry("a"), entry("b")]);
    mirror.push(&key, vec![entry("c")]);
    assert!(mirror.flush(PATIENCE));
    assert_eq!(uuids(&*store, &key), ["a", "b", "c"]);
    assert!(problems.try_recv().is_err());
    assert!(mirror.close(PATIENCE));
}

#[test]
fn a_mirror_reports_what_it_gives_up() {
    let store = Faulty::new(3, None);
    let (mirror, problems) = mirror(&store, quick());
    let key = SessionKey::new("-my", ID);
    mirror.push(&key, vec![entry("a"), entry("b")]);
    assert!(mirror.flush(PATIENCE));
    let problem = problems.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(problem, MirrorProblem::Failed { entries: 2, .. }), "{problem}");
    // It goes on with what comes next.
    mirror.push(&key, vec![entry("c")]);
    assert!(mirror.close(PATIENCE));
    assert_eq!(uuids(&*store, &key), ["a", "c"]);
}

#[test]
fn a_slow_store_does_not_hold_the_conversation_up() {
    let (gate, wait) = mpsc::channel::<()>();
    let store = Faulty::new(0, Some(wait));
    let mut options = quick();
    options.flush_mode = FlushMode::Eager;
    options.max_entries = 3;
    options.slow_after = Duration::ZERO;
    let (mirror, problems) = mirror(&store, options);
    let key = SessionKey::new("-my", ID);
    for uuid in ["a", "b", "c", "d"] {
        mirror.push(&key, vec![entry(uuid)]);
    }
    assert!(!mirror.flush(Duration::from_millis(1)));
    let mut found = Vec::new();
    while found.len() < 2 {
        found.push(problems.recv_timeout(PATIENCE).unwrap());
        mirror.flush(Duration::from_millis(1));
    }
    assert!(
        found.iter().any(|it| matches!(it, MirrorProblem::Overflow { entries: 1, .. })),
        "{found:?}"
    );
    assert!(found.iter().any(|it| matches!(it, MirrorProblem::Slow { .. })), "{found:?}");
    drop(gate);
    assert!(mirror.close(PATIENCE));
    assert_eq!(uuids(&*store, &key), ["a", "b", "c"]);
}
