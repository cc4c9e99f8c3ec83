//! `duologue record` when the tape cannot be written.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use duologue_tape::{Event, Reader};
use tempfile::TempDir;

use super::record::{events, fifo, record};

/// Writes all of this and reads everything.
fn converse(mut child: Child, said: &[u8]) -> Output {
    let mut stdin = child.stdin.take().unwrap();
    let all = said.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&all).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// Records `cat` with a queue of 1 MiB.
fn record_with_small_queue(tape: &Path) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin("duologue"))
        .args(["record", "--queue", "1", "-o"])
        .arg(tape)
        .args(["--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn assert_stopped(output: &Output, said: &[u8], reason: &str) {
    assert!(output.status.success(), "{}", output.status);
    assert!(output.stdout == said);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(message.matches("recording stopped early").count(), 1, "{message}");
    assert!(message.contains(reason), "{message}");
}

#[test]
fn a_full_disk_stops_the_recording_and_not_the_conversation() {
    let mut child = record(Path::new("/dev/full"), &["cat"]);
    let mut stdin = child.stdin.take().unwrap();
    let sent = vec![b'x'; 1_000_000];
    let all = sent.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&all).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    assert!(output.stdout == sent);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("recording stopped early").count(), 1, "{said}");
}

#[test]
fn what_fits_on_a_full_disk_is_readable() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    let said = b"a line that is on the tape more than once\n".repeat(40_000);
    // No file may be larger than this many blocks of 512 bytes.
    let child = Command::new("sh")
        .args(["-c", "ulimit -f 700; exec \"$0\" record -o \"$1\" -- cat"])
        .arg(assert_cmd::cargo::cargo_bin("duologue"))
        .arg(&tape)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert_stopped(&converse(child, &said), &said, "could not be written");
    assert!(fs::metadata(&tape).unwrap().len() <= 700 * 1024);
    // It may end with a torn line, and has no `exit`.
    let mut reader = Reader::new(File::open(&tape).unwrap());
    let mut lines = 0;
    while let Some(entry) = reader.next_entry().unwrap() {
        assert!(matches!(entry.event, Event::ToAgent(_) | Event::ToHost(_)), "{entry:?}");
        lines += 1;
    }
    assert!(lines > 1000, "{lines}");
}

#[test]
fn a_disk_that_is_too_slow_stops_the_recording_and_not_the_conversation() {
    let folder = TempDir::new().unwrap();
    let pipe = fifo(folder.path());
    // A process holds the tape open and does not read it.
    let mut tape = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let said = b"more than the queue may hold, and than a pipe takes\n".repeat(100_000);
    let child = record_with_small_queue(&pipe);
    assert_stopped(&converse(child, &said), &said, "too slow");
    // The written part is the beginning of a tape.
    let mut some = vec![0; 4096];
    tape.read_exact(&mut some).unwrap();
    assert!(some.starts_with(b"{\"tape\":1,"));
}

#[test]
fn a_disk_that_was_too_slow_has_the_beginning_and_a_last_note() {
    let folder = TempDir::new().unwrap();
    let pipe = fifo(folder.path());
    let tape = folder.path().join("t.tape");
    let mut reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let said = b"more than the queue may hold, and than a pipe takes\n".repeat(100_000);
    let mut child = record_with_small_queue(&pipe);
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let all = said.clone();
    let writer = std::thread::spawn(move || {
        stdin.write_all(&all).unwrap();
        stdin
    });
    let mut received = vec![0; said.len()];
    stdout.read_exact(&mut received).unwrap();
    assert!(received == said);
    let stdin = writer.join().unwrap();
    // The recording has stopped by now. The disk works again, and the conversation continues.
    let mut written = Vec::new();
    let last = b"too slow for the conversation\"}\n";
    while !written.ends_with(last) {
        let mut chunk = vec![0; 65_536];
        let count = reader.read(&mut chunk).unwrap();
        written.extend_from_slice(&chunk[..count]);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    fs::write(&tape, &written).unwrap();
    let events = events(&tape);
    assert!(events.len() > 1000);
    let Some(Event::Note(note)) = events.last() else { panic!("{:?}", events.last()) };
    assert!(note.starts_with("recording stopped early: "), "{note}");
}
