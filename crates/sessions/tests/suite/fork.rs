//! Forks.

use std::collections::HashSet;
use std::fs;

use duologue_sessions::{Error, ForkOptions, MessageOptions, StoredSession};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ID, Place, assistant, texts, user};

fn entries(session: &StoredSession) -> Vec<Value> {
    let lines = session.entries().unwrap();
    lines.map(|entry| serde_json::from_slice(entry.unwrap().bytes()).unwrap()).collect()
}

fn branched(place: &Place) -> StoredSession {
    place.write(
        ID,
        &[
            user("a", None, "One"),
            assistant("b", Some("a"), "Two"),
            user("c", Some("b"), "Old"),
            assistant("d", Some("c"), "Old answer"),
            user("e", Some("b"), "New"),
            assistant("f", Some("e"), "New answer"),
        ],
    )
}

#[test]
fn a_fork_says_the_same_with_new_ids() {
    let place = Place::new();
    let session = branched(&place);
    let before = fs::read(session.path()).unwrap();
    let fork = session.fork(&ForkOptions::default()).unwrap();
    assert_eq!(texts(&fork), texts(&session));
    assert_eq!(fs::read(session.path()).unwrap(), before);
    let old: HashSet<Value> =
        entries(&session).into_iter().map(|entry| entry["uuid"].clone()).collect();
    for entry in entries(&fork) {
        assert_eq!(entry["sessionId"], fork.id());
        assert!(!old.contains(&entry["uuid"]));
    }
    assert_eq!(fork.info().unwrap().unwrap().summary, "One (fork)");
    let again = fork.fork(&ForkOptions::default().title(" Mine ")).unwrap();
    assert_eq!(texts(&again), texts(&session));
    assert_eq!(again.info().unwrap().unwrap().summary, "Mine");
    assert_eq!(entries(&again)[0]["forkedFrom"]["sessionId"], fork.id());
}

#[test]
fn a_fork_ends_where_it_was_asked_to() {
    let place = Place::new();
    let session = branched(&place);
    let up_to = |message: &str| session.fork(&ForkOptions::default().up_to(message));
    assert_eq!(texts(&up_to("b").unwrap()), ["One", "Two"]);
    assert_eq!(texts(&up_to("d").unwrap()), ["One", "Two", "Old", "Old answer"]);
    assert_eq!(texts(&up_to("e").unwrap()), ["One", "Two", "New"]);
    assert!(matches!(up_to("nowhere"), Err(Error::NoSuchMessage { .. })));
}

#[test]
fn fields_that_are_not_known_survive_a_fork() {
    let place = Place::new();
    let mut entry = user("a", None, "Odd");
    entry["zebra"] = json!({ "a": [1.50, "\u{e9}"], "z": 1 });
    entry["teamName"] = json!(null);
    let progress = json!({ "type": "progress", "uuid": "p", "parentUuid": "a" });
    let session = place.write(ID, &[entry, progress, assistant("b", Some("p"), "Yes")]);
    let text = fs::read_to_string(session.path()).unwrap().replace("1.5,", "1.50,");
    fs::write(session.path(), text).unwrap();
    let fork = session.fork(&ForkOptions::default()).unwrap();
    let written = fs::read_to_string(fork.path()).unwrap();
    assert!(written.contains("\"zebra\":{\"a\":[1.50,\"é\"],\"z\":1}"), "{written}");
    assert!(!written.contains("teamName") && !written.contains("progress"));
    let found = entries(&fork);
    assert_eq!(found[1]["parentUuid"], found[0]["uuid"]);
}

#[test]
fn there_is_nothing_to_fork_in_an_empty_session() {
    let place = Place::new();
    let session = place.write(ID, &[json!({ "type": "tag", "tag": "x" })]);
    assert!(matches!(session.fork(&ForkOptions::default()), Err(Error::NoMessages(_))));
    assert_eq!(fs::read_dir(session.path().parent().unwrap()).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A fork of any tree resolves to the same conversation, and so does a fork of the fork.
    #[test]
    fn forks_keep_the_conversation(parents in proptest::collection::vec(0_usize..12, 1..12)) {
        let place = Place::new();
        let names: Vec<String> = (0..parents.len()).map(|at| format!("n{at}")).collect();
        let entries: Vec<Value> = parents.iter().enumerate().map(|(at, parent)| {
            let parent = names[..at].get(*parent).map(String::as_str);
            let name = &names[at];
            if at % 2 == 0 { user(name, parent, name) } else { assistant(name, parent, name) }
        }).collect();
        let session = place.write(ID, &entries);
        let fork = session.fork(&ForkOptions::default()).unwrap();
        prop_assert_eq!(texts(&fork), texts(&session));
        prop_assert_eq!(texts(&fork.fork(&ForkOptions::default()).unwrap()), texts(&session));
        for name in &names {
            let cut = session.fork(&ForkOptions::default().up_to(name)).unwrap();
            let last = texts(&cut).pop();
            prop_assert_eq!(last.as_deref(), Some(name.as_str()));
        }
        prop_assert_eq!(fork.messages(&MessageOptions::default()).unwrap().len(), texts(&fork).len());
    }
}
