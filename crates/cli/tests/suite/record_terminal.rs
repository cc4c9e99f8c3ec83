//! `duologue record` in a terminal: one that this test holds the other end of.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command};

use duologue_tape::{Event, Exit};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

use super::record::{events, exit};

fn terminal() -> (File, OwnedFd) {
    let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&outside).unwrap();
    unlockpt(&outside).unwrap();
    let name = ptsname(&outside, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let inside = open(name, flags, Mode::empty()).unwrap();
    (File::from(outside), inside)
}

/// Records a shell script in this terminal. It has a session of its own, so that keys become signals.
fn record(tape: &Path, script: &str, inside: &OwnedFd) -> Child {
    let stdio = || inside.try_clone().unwrap();
    Command::new("setsid")
        .args(["--ctty", "--wait"])
        .arg(assert_cmd::cargo::cargo_bin("duologue"))
        .args(["record", "-o"])
        .arg(tape)
        .args(["--", "sh", "-c", script])
        .stdin(stdio())
        .stdout(stdio())
        .stderr(stdio())
        .spawn()
        .unwrap()
}

/// Reads until this is shown.
fn shows(terminal: &mut File, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        let mut bytes = [0; 1024];
        let count = terminal.read(&mut bytes).unwrap();
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    seen
}

#[test]
fn ctrl_c_in_a_terminal_reaches_the_agent_once() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    let (mut keys, inside) = terminal();
    // With two signals it would count two.
    let script = "n=0; trap 'n=$((n+1)); echo caught $n' INT; echo ready
        until [ \"$line\" = end ]; do read -r line; done; echo $n signals; exit 4";
    let mut child = record(&tape, script, &inside);
    shows(&mut keys, "ready");
    keys.write_all(b"\x03").unwrap();
    shows(&mut keys, "caught 1");
    keys.write_all(b"end\n").unwrap();
    let seen = shows(&mut keys, " signals");
    assert!(seen.contains("1 signals"), "{seen}");
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let events = events(&tape);
    assert_eq!(exit(&events), Exit::with_code(4));
    let noted = |event: &&Event| matches!(event, Event::Note(note) if note == "signal SIGINT");
    assert_eq!(events.iter().filter(noted).count(), 1);
}

#[test]
fn an_agent_that_ctrl_c_ends_ends_us_the_same_way() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    let (mut keys, inside) = terminal();
    let mut child = record(&tape, "echo ready; exec cat", &inside);
    shows(&mut keys, "ready");
    keys.write_all(b"\x03").unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    assert_eq!(exit(&events(&tape)), Exit::by_signal(2));
}
