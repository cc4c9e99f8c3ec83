//! A session that is kept in a store while it runs, and is resumed from it on another machine.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duologue::protocol::launch::CliVersion;
use duologue::sessions::store::{
    FlushMode, MemoryStore, MirrorOptions, MirrorProblem, SessionKey, SessionStore, StoreSessions,
};
use duologue::sessions::{self, InStore, MessageOptions, Sessions};
use duologue::{Session, SessionBuilder};

const PATIENCE: Duration = Duration::from_secs(60);

/// A machine: a working directory that all have, and a config directory of its own.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn builder(&self, answer: &str) -> SessionBuilder {
        let scenario = self.0.path().join("scenario.toml");
        fs::write(&scenario, format!("[[replies]]\nsay = [{answer:?}]\n")).unwrap();
        Session::builder()
            .program(assert_cmd::cargo::cargo_bin("duologue"))
            .program_args(["agent"])
            .cli_version(CliVersion::new(2, 1, 325))
            .env("DUOLOGUE_SCENARIO", scenario)
            .env("HOME", self.0.path())
    }

    fn options(&self, store: &Arc<dyn SessionStore>, work: &Path) -> InStore {
        InStore::new(Arc::clone(store), work).config_dir(self.0.path())
    }

    async fn ask(&self, options: InStore, answer: &str, prompt: &str) -> (String, bool) {
        let kept = self.builder(answer).start_in_store(options).await.unwrap();
        let outcome = kept.session().prompt(prompt).await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.text(), answer);
        let id = kept.session().session_id().unwrap().as_str().to_owned();
        (id, kept.close(PATIENCE).await.unwrap())
    }
}

fn texts(sessions: &StoreSessions, id: &str) -> Vec<String> {
    let messages = sessions.messages(id, &MessageOptions::default()).unwrap();
    messages
        .map(|message| {
            let content = message.unwrap().message.unwrap().to_value().unwrap()["content"].clone();
            content.as_str().or(content[0]["text"].as_str()).unwrap().to_owned()
        })
        .collect()
}

#[tokio::test]
async fn a_session_moves_from_one_machine_to_another_through_a_store() {
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let work = tempfile::tempdir().unwrap();
    let (one, other) = (Machine::new(), Machine::new());
    let (id, done) = one.ask(one.options(&store, work.path()), "Hello.", "Hi").await;
    assert!(done);
    let in_store = StoreSessions::in_project(Arc::clone(&store), work.path());
    assert_eq!(texts(&in_store, &id), ["Hi", "Hello."]);

    // The other machine never had the file.
    let options = other.options(&store, work.path()).resume(id.as_str());
    let (same, done) = other.ask(options, "Still here.", "And now?").await;
    assert!(done);
    assert_eq!(same, id);
    assert_eq!(texts(&in_store, &id), ["Hi", "Hello.", "And now?", "Still here."]);
    // What was written to resume it is gone again.
    let there = Sessions::in_config_dir(other.0.path()).get(&id).await;
    assert!(matches!(there, Err(sessions::Error::NotFound(_))), "{there:?}");

    // The first machine has the file, but not all of it.
    let old =
        one.builder("x").start_in_store(one.options(&store, work.path()).resume_newest()).await;
    let error = old.unwrap_err().to_string();
    assert!(error.contains("exists already"), "{error}");
    let here = Sessions::in_config_dir(one.0.path()).get(&id).await.unwrap();
    let mut messages = here.messages(MessageOptions::default()).await.unwrap();
    let mut count = 0;
    while let Some(message) = messages.next().await {
        message.unwrap();
        count += 1;
    }
    assert_eq!(count, 2);
}

/// A store that refuses everything until it is allowed.
struct Refuses(MemoryStore, AtomicBool);

impl SessionStore for Refuses {
    fn append(
        &self,
        key: &SessionKey,
        entries: &[sessions::blocking::Entry],
    ) -> sessions::Result<()> {
        match self.1.load(Ordering::SeqCst) {
            true => self.0.append(key, entries),
            false => Err(sessions::Error::store("the disk is full")),
        }
    }

    fn load(&self, key: &SessionKey) -> sessions::Result<Option<Vec<sessions::blocking::Entry>>> {
        self.0.load(key)
    }
}

#[tokio::test]
async fn a_store_that_fails_is_reported_and_the_conversation_continues() {
    let refuses = Arc::new(Refuses(MemoryStore::new(), AtomicBool::new(false)));
    let store: Arc<dyn SessionStore> = Arc::clone(&refuses) as _;
    let work = tempfile::tempdir().unwrap();
    let machine = Machine::new();
    let problems: Arc<Mutex<Vec<MirrorProblem>>> = Arc::default();
    let found = Arc::clone(&problems);
    let mut mirror = MirrorOptions::default();
    mirror.flush_mode = FlushMode::Eager;
    mirror.pauses = Vec::new();
    let options = machine
        .options(&store, work.path())
        .mirror(mirror)
        .on_problem(move |problem| found.lock().unwrap().push(problem));
    let (id, _) = machine.ask(options, "Hello.", "Hi").await;
    let problems = problems.lock().unwrap();
    assert!(!problems.is_empty());
    for problem in problems.iter() {
        let said = problem.to_string();
        assert!(said.contains(&id) && said.contains("the disk is full"), "{said}");
    }
}
