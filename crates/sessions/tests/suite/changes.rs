//! Renaming, tagging, archiving, deleting, exporting.

use std::fs;

use duologue_sessions::{Error, Sessions};
use serde_json::json;

use super::{ID, Place, assistant, user};

#[test]
fn titles_and_tags_are_appended() {
    let place = Place::new();
    let session =
        place.write(ID, &[user("a", None, "Hello"), json!({ "type": "made-up", "x": [1, 2] })]);
    let before = fs::read(session.path()).unwrap();
    session.rename("  One  ").unwrap();
    session.rename("Two \"quoted\"").unwrap();
    session.tag(Some("re\u{200b}lease")).unwrap();
    let info = session.info().unwrap().unwrap();
    assert_eq!(info.title.as_deref(), Some("Two \"quoted\""));
    assert_eq!(info.tag.as_deref(), Some("release"));
    session.tag(None).unwrap();
    assert_eq!(session.info().unwrap().unwrap().tag, None);
    assert!(fs::read(session.path()).unwrap().starts_with(&before));
    assert!(matches!(session.rename(" \n"), Err(Error::EmptyTitle)));
    assert!(matches!(session.tag(Some("\u{200b}")), Err(Error::EmptyTag)));
}

#[test]
fn an_entry_after_a_torn_line_stands_by_itself() {
    let place = Place::new();
    let session = place.write(ID, &[user("a", None, "Hello")]);
    let mut text = fs::read_to_string(session.path()).unwrap();
    text.push_str("{\"type\":\"user\",\"mess");
    fs::write(session.path(), &text).unwrap();
    session.rename("After").unwrap();
    let written = fs::read_to_string(session.path()).unwrap();
    assert!(written.starts_with(&format!("{text}\n{{\"type\":\"custom-title\"")));
    assert_eq!(session.info().unwrap().unwrap().summary, "After");
}

#[test]
fn a_prompt_takes_a_session_out_of_the_archive() {
    let place = Place::new();
    let session = place.write(ID, &[user("a", None, "Hello")]);
    assert_eq!(session.info().unwrap().unwrap().archived, None);
    session.archive().unwrap();
    assert_eq!(session.info().unwrap().unwrap().archived, Some(true));
    session.unarchive().unwrap();
    assert_eq!(session.info().unwrap().unwrap().archived, Some(false));
    session.archive().unwrap();
    let mut later = user("b", Some("a"), "Again");
    later["timestamp"] = json!("2999-01-01T00:00:00.000Z");
    place.write(ID, &[user("a", None, "Hello"), later]);
    assert_eq!(session.info().unwrap().unwrap().archived, Some(false));
}

#[test]
fn deleting_removes_everything_of_the_session() {
    let place = Place::new();
    let session = place.write(ID, &[user("a", None, "Hello")]);
    let agents = session.folder().join("subagents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("agent-1.jsonl"), format!("{}\n", user("x", None, "Task"))).unwrap();
    session.delete().unwrap();
    assert!(!session.path().exists() && !session.folder().exists());
    assert!(matches!(place.sessions().get(ID), Err(Error::NotFound(_))));
}

#[cfg(unix)]
#[test]
fn deleting_does_not_follow_links() {
    let place = Place::new();
    let session = place.write(ID, &[user("a", None, "Hello")]);
    let precious = place.dir.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "keep me").unwrap();
    std::os::unix::fs::symlink(&precious, session.folder()).unwrap();
    session.delete().unwrap();
    assert!(precious.join("file").exists());
}

#[test]
fn ids_from_outside_stay_inside() {
    let place = Place::new();
    for id in ["../../../etc/passwd", "", "x", "11111111-2222-4333-8444-55555555555/", "."] {
        assert!(matches!(place.sessions().get(id), Err(Error::InvalidId(_))), "{id}");
    }
}

#[test]
fn an_export_is_the_same_session_elsewhere() {
    let place = Place::new();
    let odd = json!({ "type": "made-up", "nested": { "b": 1, "a": [null] } });
    let session =
        place.write(ID, &[user("a", None, "Hello"), assistant("b", Some("a"), "Hi"), odd]);
    let agents = session.folder().join("subagents/workflows/run");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("agent-1.jsonl"), "not even json\n").unwrap();
    session.archive().unwrap();
    let mut export = Vec::new();
    session.export(&mut export).unwrap();

    let other = tempfile::tempdir().unwrap();
    let sessions = Sessions::in_config_dir(other.path());
    let copy = sessions.import(&mut export.as_slice()).unwrap();
    assert_eq!(fs::read(copy.path()).unwrap(), fs::read(session.path()).unwrap());
    assert_eq!(
        copy.subagent("1").unwrap().path.strip_prefix(copy.folder()).unwrap(),
        "subagents/workflows/run/agent-1.jsonl".as_ref() as &std::path::Path
    );
    assert_eq!(copy.info().unwrap().unwrap().archived, Some(true));
    assert!(matches!(sessions.import(&mut export.as_slice()), Err(Error::Exists(_))));
    // A part of it is refused, and leaves nothing behind.
    let empty = tempfile::tempdir().unwrap();
    for length in [0, 1, 50, export.len() / 2, export.len() - 1] {
        let sessions = Sessions::in_config_dir(empty.path());
        assert!(sessions.import(&mut &export[..length]).is_err(), "{length}");
        let left = fs::read_dir(empty.path().join("projects/-my")).into_iter().flatten().count();
        assert_eq!(left, 0, "{length}");
    }
}

#[test]
fn an_import_cannot_leave_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let import = |key: &str, path: &str| {
        let head =
            json!({ "type": "duologue-session", "version": 1, "sessionId": ID, "projectKey": key });
        let file = json!({ "path": path, "size": 1 });
        let text = format!("{head}\n{}\nx\n{file}\nx\n", json!({ "path": null, "size": 1 }));
        Sessions::in_config_dir(dir.path().join("config")).import(&mut text.as_bytes())
    };
    for (key, path) in [
        ("..", "a"),
        ("a/b", "a"),
        ("", "a"),
        ("-my", "../x"),
        ("-my", "/etc/x"),
        ("-my", "a/../../x"),
    ] {
        assert!(matches!(import(key, path), Err(Error::InvalidName(_))), "{key} {path}");
    }
    assert!(import("-my", "a/b").is_ok());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}
