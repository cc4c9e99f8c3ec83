//! Damaged files: never a panic, never silence, never a change.

use std::fs;

use duologue_sessions::{ForkOptions, ListOptions, MessageOptions, Problem};
use proptest::prelude::*;
use serde_json::json;

use super::{ID, Place, assistant, texts, user};

#[test]
fn damaged_files_are_listed_with_what_is_wrong() {
    let place = Place::new();
    let id = |number: u32| format!("{number:08x}-2222-4333-8444-555555555555");
    fs::write(place.path(&id(1)), "").unwrap();
    fs::write(place.path(&id(2)), "this is\nnot a transcript\n").unwrap();
    fs::write(place.path(&id(3)), "\0\0\0\0").unwrap();
    fs::create_dir(place.path(&id(4))).unwrap();
    fs::write(place.path(&id(5)), format!("{}\n{{\"type\":\"us", user("a", None, "Torn"))).unwrap();
    fs::write(place.path(&id(6)), format!("broken\n{}\n", user("a", None, "Bad line"))).unwrap();
    let list = place.sessions().list(&ListOptions::default()).unwrap();
    let mut damaged: Vec<(String, Problem)> =
        list.damaged.into_iter().map(|it| (it.id, it.problem)).collect();
    damaged.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(damaged.len(), 4);
    assert_eq!(damaged[0], (id(1), Problem::Empty));
    assert_eq!(damaged[1], (id(2), Problem::NotATranscript));
    assert_eq!(damaged[2], (id(3), Problem::NotATranscript));
    assert!(matches!(damaged[3], (_, Problem::Unreadable(_))));
    let mut shown: Vec<(String, Option<Problem>)> =
        list.sessions.into_iter().map(|it| (it.summary, it.problem)).collect();
    shown.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(shown[0], ("Bad line".to_owned(), Some(Problem::BadLine)));
    assert_eq!(shown[1], ("Torn".to_owned(), Some(Problem::TornLastLine)));
}

#[test]
fn a_torn_line_costs_only_itself() {
    let place = Place::new();
    let session = place.write(ID, &[user("a", None, "One"), assistant("b", Some("a"), "Two")]);
    let mut text = fs::read(session.path()).unwrap();
    let offset = text.len() as u64;
    text.extend(b"{\"type\":\"user\",\"uuid\":\"c\",\"parentUu");
    fs::write(session.path(), &text).unwrap();
    assert_eq!(texts(&session), ["One", "Two"]);
    let found = session.damaged_lines().unwrap().unwrap();
    assert_eq!(found, (1, offset));
}

#[test]
fn circles_end() {
    let place = Place::new();
    let circle = [user("a", Some("b"), "One"), assistant("b", Some("a"), "Two")];
    // A circle has no last message, as in the SDKs.
    assert!(texts(&place.write(ID, &circle)).is_empty());
    let [one, two] = circle;
    let session = place.write(ID, &[one, two, user("c", Some("b"), "Out")]);
    assert_eq!(texts(&session), ["One", "Two", "Out"]);
    session.fork(&ForkOptions::default()).unwrap();
}

fn transcript() -> Vec<u8> {
    let entries = [
        json!({ "type": "summary", "summary": "x" }),
        user("a", None, "One"),
        json!({ "type": "assistant", "uuid": "b", "parentUuid": "a", "message": { "id": "m", "content": [{ "type": "tool_use", "id": "t1" }] } }),
        json!({ "type": "assistant", "uuid": "c", "parentUuid": "b", "message": { "id": "m", "content": [{ "type": "tool_use", "id": "t2" }] } }),
        json!({ "type": "user", "uuid": "d", "parentUuid": "b", "message": { "content": [{ "type": "tool_result", "tool_use_id": "t1" }] } }),
        json!({ "type": "user", "uuid": "e", "parentUuid": "c", "message": { "content": [{ "type": "tool_result", "tool_use_id": "t2" }] } }),
        json!({ "type": "system", "subtype": "compact_boundary", "uuid": "s", "parentUuid": null, "compactMetadata": { "preservedMessages": { "anchorUuid": "t", "uuids": ["d", "e"] } } }),
        json!({ "type": "user", "uuid": "t", "parentUuid": "s", "isCompactSummary": true, "message": { "content": "sum" } }),
        json!({ "type": "attachment", "uuid": "q", "parentUuid": "t", "attachment": { "type": "queued_command", "prompt": "later", "source_uuid": "z" } }),
        assistant("f", Some("q"), "End"),
        json!({ "type": "custom-title", "customTitle": "T", "sessionId": ID }),
    ];
    entries.iter().map(|entry| format!("{entry}\n")).collect::<String>().into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Whatever happens to the bytes of a transcript, nothing panics, and reading changes nothing.
    #[test]
    fn no_mutation_panics(changes in proptest::collection::vec((any::<u16>(), any::<u8>(), 0_u8..4), 1..12)) {
        let mut bytes = transcript();
        for (at, byte, how) in changes {
            let at = usize::from(at) % bytes.len().max(1);
            match how {
                0 => bytes[at] = byte,
                1 => { bytes.remove(at); }
                2 => bytes.insert(at, byte),
                _ => {
                    let piece: Vec<u8> = bytes[at..(at + 40).min(bytes.len())].to_vec();
                    let to = usize::from(byte) * bytes.len() / 256;
                    bytes.splice(to..to, piece);
                }
            }
            if bytes.is_empty() {
                bytes.push(b'{');
            }
        }
        let place = Place::new();
        fs::write(place.path(ID), &bytes).unwrap();
        let list = place.sessions().list(&ListOptions::default()).unwrap();
        prop_assert!(list.sessions.len() + list.damaged.len() <= 1);
        let session = place.sessions().get(ID).unwrap();
        for message in session.messages(&MessageOptions::default().system_messages(true)).unwrap() {
            let _ = message.unwrap().to_wire();
        }
        // Every line survives an export, known or not.
        let mut export = Vec::new();
        session.export(&mut export).unwrap();
        let found = export.windows(bytes.len()).any(|part| part == bytes);
        prop_assert!(found);
        let _ = session.fork(&ForkOptions::default());
        let _ = session.fork(&ForkOptions::default().up_to("d"));
        prop_assert_eq!(fs::read(session.path()).unwrap(), bytes);
    }
}
