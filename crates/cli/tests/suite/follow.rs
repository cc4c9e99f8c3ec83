//! `duologue inspect --follow`: a file that is truncated, replaced, or still to come.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A follower, which ends with its test.
struct Follower {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Follower {
    fn of(path: &Path) -> Self {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("duologue"))
            .args(["inspect", "--json", "--follow"])
            .arg(path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits for this error; what came before it.
    fn until(&mut self, message: &str) -> Vec<Value> {
        let mut before = Vec::new();
        for line in &mut self.lines {
            let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if event["message"] == message {
                return before;
            }
            before.push(event);
        }
        panic!("{message} never came, but {before:?}");
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn error(message: &str) -> String {
    format!("{{\"type\":\"error\",\"error\":{{\"type\":\"e\",\"message\":\"{message}\"}}}}\n")
}

fn place() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("talk.ndjson");
    (folder, path)
}

fn is_replaced(events: &[Value]) -> bool {
    events
        .iter()
        .any(|event| event["text"].as_str().is_some_and(|text| text.contains("was replaced")))
}

#[test]
fn a_truncated_file_loses_no_line() {
    let (_folder, path) = place();
    fs::write(&path, error("one") + &error("two")).unwrap();
    let mut follower = Follower::of(&path);
    follower.until("two");
    // Truncated to less, and grown beyond the old length, each in one step.
    fs::write(&path, error("three")).unwrap();
    assert!(is_replaced(&follower.until("three")));
    fs::write(&path, error("four") + &error("five") + &error("six")).unwrap();
    assert!(is_replaced(&follower.until("four")));
    assert!(follower.until("six").iter().all(|event| event["message"] == "five"));
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(error("seven").as_bytes()).unwrap();
    assert!(follower.until("seven").is_empty(), "nothing is printed twice");
}

#[test]
fn after_a_truncation_half_a_line_is_dropped_and_no_other() {
    let (_folder, path) = place();
    fs::write(&path, error("one") + "{\"type\":\"error\",\"err").unwrap();
    let mut follower = Follower::of(&path);
    follower.until("one");
    fs::write(&path, error("two")).unwrap();
    let before = follower.until("two");
    assert!(before.iter().any(|event| event["event"] == "malformed_line"), "{before:?}");
}

#[test]
fn another_file_of_that_name_is_read_from_its_start() {
    let (folder, path) = place();
    fs::write(&path, error("one")).unwrap();
    let mut follower = Follower::of(&path);
    follower.until("one");
    let mut old = OpenOptions::new().append(true).open(&path).unwrap();
    fs::rename(&path, folder.path().join("talk.1")).unwrap();
    // The writer has not noticed yet.
    old.write_all(error("two").as_bytes()).unwrap();
    let new = folder.path().join("new");
    fs::write(&new, error("three")).unwrap();
    fs::rename(&new, &path).unwrap();
    follower.until("two");
    assert!(is_replaced(&follower.until("three")));
    // Removed and created again.
    fs::remove_file(&path).unwrap();
    fs::write(&path, error("four")).unwrap();
    follower.until("four");
}

#[test]
fn a_file_that_does_not_exist_yet_is_awaited() {
    let (folder, path) = place();
    let mut follower = Follower::of(&path);
    let mut message = String::new();
    let mut stderr = BufReader::new(follower.child.stderr.take().unwrap());
    stderr.read_line(&mut message).unwrap();
    assert!(message.contains("waiting for it"), "{message}");
    let new = folder.path().join("new");
    fs::write(&new, error("one")).unwrap();
    fs::rename(&new, &path).unwrap();
    follower.until("one");
}

#[test]
fn a_tape_that_is_recorded_anew_is_read_as_one() {
    let (_folder, path) = place();
    let tape = |message: &str| {
        let line = serde_json::json!({ "t": 5, "dir": "out", "line": error(message).trim_end() });
        format!("{{\"tape\":1,\"program\":\"claude\"}}\n{line}\n")
    };
    fs::write(&path, tape("one")).unwrap();
    let mut follower = Follower::of(&path);
    follower.until("one");
    // It begins as the first did, and is longer.
    fs::write(&path, tape("other") + "{\"t\":9,\"note\":\"stdin_close\"}\n").unwrap();
    assert!(is_replaced(&follower.until("other")));
}
