//! Large files: what is read and what is kept in memory.

use std::io::Write;

use duologue_sessions::{ListOptions, MessageOptions};

use super::{ID, Place, assistant, user};

/// A list reads both ends of a file. Holes in the middle would take minutes to read and gigabytes to keep.
#[cfg(unix)]
#[test]
fn a_list_does_not_read_the_middle() {
    let place = Place::new();
    let session = place.write(ID, &[user("a", None, "First")]);
    let mut file = std::fs::File::options().append(true).open(session.path()).unwrap();
    file.set_len(1 << 40).unwrap();
    let title = "\n{\"type\":\"custom-title\",\"customTitle\":\"At the end\"}\n";
    file.write_all(title.as_bytes()).unwrap();
    let list = place.sessions().list(&ListOptions::default()).unwrap();
    assert_eq!(list.sessions[0].summary, "At the end");
    assert_eq!(list.sessions[0].first_prompt.as_deref(), Some("First"));
}

#[test]
fn long_conversations_are_read_one_message_at_a_time() {
    let place = Place::new();
    let mut file = std::io::BufWriter::new(std::fs::File::create(place.path(ID)).unwrap());
    let text = "x".repeat(20_000);
    let mut parent: Option<String> = None;
    for number in 0..1_000 {
        let uuid = format!("n{number}");
        let entry = if number % 2 == 0 {
            user(&uuid, parent.as_deref(), &text)
        } else {
            assistant(&uuid, parent.as_deref(), &text)
        };
        writeln!(file, "{entry}").unwrap();
        parent = Some(uuid);
    }
    file.into_inner().unwrap();
    let session = place.sessions().get(ID).unwrap();
    let mut messages = session.messages(&MessageOptions::default()).unwrap();
    assert_eq!(messages.len(), 1_000);
    assert_eq!(messages.next().unwrap().unwrap().uuid, "n0");
    assert_eq!(messages.last().unwrap().unwrap().uuid, "n999");
}
