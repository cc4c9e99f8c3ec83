//! Sessions that are in use are not written.

use std::fs;
use std::process::{Command, Stdio};

use duologue_sessions::{Error, Liveness};
use serde_json::json;

use super::{ID, Place, user};

#[test]
fn a_locked_session_is_not_written() {
    let place = Place::new();
    let session = place.write(ID, &[user("a", None, "Hello")]);
    let before = fs::read(session.path()).unwrap();
    let file = fs::File::open(session.path()).unwrap();
    file.lock().unwrap();
    assert!(matches!(session.liveness(), Liveness::Live { .. }));
    assert!(matches!(session.rename("No"), Err(Error::Live { .. })));
    assert!(matches!(session.delete(), Err(Error::Live { .. })));
    assert_eq!(fs::read(session.path()).unwrap(), before);
    drop(file);
    session.rename("Yes").unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_that_a_process_has_open_is_not_written() {
    let place = Place::new();
    let session = place.write(ID, &[user("a", None, "Hello")]);
    let mut child = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(fs::File::options().append(true).open(session.path()).unwrap())
        .spawn()
        .unwrap();
    let found = session.liveness();
    let renamed = session.rename("No");
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(found, Liveness::Live { process: child.id() });
    assert!(matches!(renamed, Err(Error::Live { process, .. }) if process == child.id()));
    assert_eq!(session.liveness(), Liveness::Idle);
    session.rename("Yes").unwrap();
}

/// What Claude Code 2.1 writes while it runs.
#[cfg(target_os = "linux")]
#[test]
fn a_registered_session_is_not_written() {
    let place = Place::new();
    let session = place.write(ID, &[user("a", None, "Hello")]);
    let registry = place.dir.path().join("sessions");
    fs::create_dir(&registry).unwrap();
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let start = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    let path = registry.join(format!("{}.json", child.id()));
    let register = |id: &str, start: &str| {
        let entry = json!({ "pid": child.id(), "sessionId": id, "procStart": start });
        fs::write(&path, entry.to_string()).unwrap();
        session.liveness()
    };
    let live = register(ID, &start);
    // Another process with the same number, another session.
    let (reused, other) =
        (register(ID, "1"), register("22222222-2222-4333-8444-555555555555", &start));
    // In another container the number means another process.
    let key = registry.join(format!("{}.x.key", child.id()));
    fs::write(&key, json!({ "pidDomain": "linux:x:pid:[1]" }).to_string()).unwrap();
    let elsewhere = register(ID, &start);
    fs::remove_file(&key).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(live, Liveness::Live { process: child.id() });
    assert_eq!(reused, Liveness::Idle);
    assert_eq!(other, Liveness::Idle);
    assert!(matches!(elsewhere, Liveness::Unknown { .. }));
    // The file is left when a process is killed.
    fs::write(&path, json!({ "pid": child.id(), "sessionId": ID, "procStart": start }).to_string())
        .unwrap();
    assert_eq!(session.liveness(), Liveness::Idle);
    session.rename("Yes").unwrap();
}
