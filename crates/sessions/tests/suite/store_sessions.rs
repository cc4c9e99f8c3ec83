//! What can be done with sessions in a store.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use duologue_sessions::store::{MemoryStore, SessionKey, SessionStore, StoreSessions};
use duologue_sessions::{Entry, Error, ForkOptions, MessageOptions, Result, Sessions};
use serde_json::json;

use super::{ID, Place, assistant, texts, user};

const UNKNOWN: &str = "22222222-2222-4333-8444-555555555555";

fn filled() -> (Arc<MemoryStore>, StoreSessions) {
    let place = Place::new();
    let session = place.write(
        ID,
        &[user("a", None, "Hello"), assistant("b", Some("a"), "Hi"), user("c", Some("b"), "More")],
    );
    let agents = session.folder().join("subagents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join("agent-1.jsonl"), format!("{}\n", user("k", None, "Task"))).unwrap();
    std::fs::write(agents.join("agent-1.meta.json"), json!({ "toolUseId": "t" }).to_string())
        .unwrap();
    let store = Arc::new(MemoryStore::new());
    session.copy_to(&*store).unwrap();
    (Arc::clone(&store), StoreSessions::new(store, "-my"))
}

#[test]
fn a_store_has_what_the_disk_has() {
    let (_, sessions) = filled();
    assert_eq!(sessions.list().unwrap()[0].summary, "Hello");
    assert_eq!(sessions.info(ID).unwrap().unwrap().first_prompt.as_deref(), Some("Hello"));
    assert_eq!(sessions.newest().unwrap().as_deref(), Some(ID));
    assert_eq!(sessions.messages(ID, &MessageOptions::default()).unwrap().count(), 3);
    assert_eq!(sessions.subagents(ID).unwrap(), ["1"]);
    let mut agent = sessions.subagent_messages(ID, "1", &MessageOptions::default()).unwrap();
    assert_eq!(agent.next().unwrap().unwrap().parent_tool_use_id.as_deref(), Some("t"));
    for result in [sessions.info(UNKNOWN).map(drop), sessions.rename(UNKNOWN, "x")] {
        assert!(matches!(result, Err(Error::NotFound(_))), "{result:?}");
    }
    for id in ["../x", "", "11111111"] {
        assert!(matches!(sessions.info(id), Err(Error::InvalidId(_))));
        assert!(matches!(sessions.delete(id), Err(Error::InvalidId(_))));
    }
}

#[test]
fn sessions_in_a_store_are_changed() {
    let (_, sessions) = filled();
    sessions.rename(ID, "  Greetings ").unwrap();
    sessions.tag(ID, Some("one")).unwrap();
    let info = sessions.info(ID).unwrap().unwrap();
    assert_eq!((info.summary.as_str(), info.tag.as_deref()), ("Greetings", Some("one")));
    sessions.tag(ID, None).unwrap();
    assert_eq!(sessions.info(ID).unwrap().unwrap().tag, None);
    assert!(matches!(sessions.rename(ID, " "), Err(Error::EmptyTitle)));
    assert!(matches!(sessions.tag(ID, Some(" ")), Err(Error::EmptyTag)));

    let fork = sessions.fork(ID, &ForkOptions::default().up_to("b")).unwrap();
    assert_eq!(sessions.messages(&fork, &MessageOptions::default()).unwrap().count(), 2);
    assert_eq!(sessions.list().unwrap().len(), 2);

    sessions.delete(ID).unwrap();
    assert!(sessions.subagents(ID).unwrap().is_empty());
    assert_eq!(sessions.list().unwrap().len(), 1);
}

#[test]
fn a_session_is_resumed_on_a_machine_that_never_had_it() {
    let (_, sessions) = filled();
    let machine = tempfile::tempdir().unwrap();
    let session = sessions.restore(ID, &Sessions::in_config_dir(machine.path())).unwrap();
    assert_eq!(texts(&session), ["Hello", "Hi", "More"]);
    assert!(session.subagent_of_call("t").unwrap().is_some());
}

/// A store that answers only when the gate is opened.
struct Hangs(Mutex<mpsc::Receiver<()>>);

impl SessionStore for Hangs {
    fn append(&self, _: &SessionKey, _: &[Entry]) -> Result<()> {
        Ok(())
    }

    fn load(&self, _: &SessionKey) -> Result<Option<Vec<Entry>>> {
        let _ = self.0.lock().unwrap().recv();
        Ok(None)
    }
}

#[test]
fn a_store_that_hangs_does_not_hang_its_caller() {
    let (gate, wait) = mpsc::channel();
    let store = Arc::new(Hangs(Mutex::new(wait)));
    let sessions = StoreSessions::new(store, "-my").load_timeout(Duration::from_millis(1));
    let error = sessions.info(ID).unwrap_err();
    assert!(matches!(error, Error::StoreTimeout { operation: "load", .. }), "{error}");
    drop(gate);
}
