//! Conversations on disk.

use std::fs;
use std::io::Write;
use std::path::Path;

use duologue_embedded::session_store::{Sessions, project_key};
use serde_json::{Value, json};

const A: &str = "11111111-2222-4333-8444-555555555555";
const B: &str = "22222222-2222-4333-8444-555555555555";

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn said(id: &str, block: &Value) -> Value {
    json!({ "id": id, "type": "message", "role": "assistant", "content": [block] })
}

#[test]
fn a_conversation_goes_on() {
    let config = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(config.path(), "/my/project");
    let call = json!({ "type": "tool_use", "id": "t1", "name": "Read", "input": {} });
    let result = json!([{ "type": "tool_result", "tool_use_id": "t1", "content": "x" }]);

    let mut session = sessions.create(A).unwrap();
    session.user(&json!("Read it."), None).unwrap();
    session.assistant(&said("m1", &text("I will."))).unwrap();
    session.assistant(&said("m1", &call)).unwrap();
    session.user(&result, Some(&json!({ "type": "text" }))).unwrap();
    session.assistant(&said("m2", &text("Done."))).unwrap();
    session.last_prompt("Read it.").unwrap();
    drop(session);

    let expected = json!([
        { "role": "user", "content": [text("Read it.")] },
        { "role": "assistant", "content": [text("I will."), call] },
        { "role": "user", "content": result },
        { "role": "assistant", "content": [text("Done.")] },
    ]);
    let resumed = sessions.resume(A).unwrap();
    assert_eq!(json!(resumed.messages()), expected);

    let mut fork = sessions.fork(&resumed, B).unwrap();
    fork.user(&json!("And now?"), None).unwrap();
    drop(fork);
    assert_eq!(json!(sessions.resume(A).unwrap().messages()), expected);
    let forked = sessions.resume(B).unwrap();
    assert_eq!(forked.messages().len(), 5);
    assert_ne!(forked.leaf(), resumed.leaf());
    let path = sessions.path(B).unwrap();
    let lines = fs::read_to_string(path).unwrap();
    assert!(
        lines.lines().all(|line| line.contains(B) && serde_json::from_str::<Value>(line).is_ok())
    );

    let mut ids: Vec<String> = sessions.list().into_iter().map(|info| info.id).collect();
    ids.sort();
    assert_eq!(ids, [A, B]);
}

#[test]
fn a_torn_line_harms_nobody() {
    let config = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(config.path(), "/p");
    let mut session = sessions.create(A).unwrap();
    session.user(&json!("one"), None).unwrap();
    drop(session);
    let path = sessions.path(A).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(br#"{"type":"user","uuid":"x","mess"#).unwrap();

    let resumed = sessions.resume(A).unwrap();
    assert_eq!(resumed.messages().len(), 1);
    let mut session = sessions.append_to(A, &resumed).unwrap();
    session.assistant(&said("m", &text("two"))).unwrap();
    assert_eq!(sessions.resume(A).unwrap().messages().len(), 2);
}

#[test]
fn calls_without_results_get_one() {
    let config = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(config.path(), "/p");
    let mut session = sessions.create(A).unwrap();
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "Read", "input": {} });
    session.user(&json!("go"), None).unwrap();
    session.assistant(&said("m1", &call("t1"))).unwrap();
    session.user(&json!("never mind"), None).unwrap();
    session.assistant(&said("m2", &call("t2"))).unwrap();
    let messages = sessions.resume(A).unwrap().messages();
    assert_eq!(messages.len(), 5);
    assert_eq!(messages[2]["content"][0]["tool_use_id"], "t1");
    assert_eq!(messages[2]["content"][1], text("never mind"));
    assert_eq!(messages[4]["content"][0]["is_error"], true);
}

#[test]
fn after_a_summary_only_the_summary_counts() {
    let config = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(config.path(), "/p");
    let mut session = sessions.create(A).unwrap();
    session.user(&json!("long ago"), None).unwrap();
    session.compacted(&json!({ "trigger": "manual" }), &json!("The summary.")).unwrap();
    session.user(&json!("now"), None).unwrap();
    let expected = json!([{ "role": "user", "content": [text("The summary."), text("now")] }]);
    assert_eq!(json!(sessions.resume(A).unwrap().messages()), expected);
}

#[test]
fn ids_are_no_paths_and_not_used_twice() {
    let config = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(config.path(), "/p");
    for id in ["../x", "", "a/b", "11111111222243338444555555555555"] {
        assert!(sessions.create(id).is_err(), "{id}");
        assert!(sessions.resume(id).is_err(), "{id}");
    }
    drop(sessions.create(A).unwrap());
    assert!(sessions.exists(A));
    let error = sessions.create(A).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert!(!sessions.exists(B));
    assert_eq!(sessions.newest(), None, "an empty one is none");
}

#[test]
fn a_circle_ends() {
    let config = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(config.path(), "/p");
    drop(sessions.create(A).unwrap());
    let entry = |uuid: &str, parent: &str| {
        let message = json!({ "role": "user", "content": uuid });
        json!({ "type": "user", "uuid": uuid, "parentUuid": parent, "message": message })
            .to_string()
    };
    let lines = format!("{}\n{}\n", entry("a", "b"), entry("b", "a"));
    fs::write(sessions.path(A).unwrap(), lines).unwrap();
    assert_eq!(sessions.resume(A).unwrap().messages().len(), 1);
}

#[test]
fn projects_have_names() {
    assert_eq!(project_key(Path::new("/my/pro.ject_1")), "-my-pro-ject-1");
    assert_eq!(project_key(Path::new("/é😀")), "----");
    let long = project_key(Path::new(&format!("/{}", "a".repeat(300))));
    assert!(long.len() > 201 && long.starts_with("-aaa"), "{long}");
}
