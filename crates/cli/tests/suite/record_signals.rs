//! `duologue record` and signals that are not part of the conversation.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use duologue_tape::Event;
use duologue_testkit::leak::wait_until;
use tempfile::TempDir;

use super::record::{await_end, events, recorder};

fn send(signal: &str, pid: &str) {
    assert!(Command::new("kill").args(["-s", signal, pid]).status().unwrap().success());
}

/// The state of a process: `T` if it is stopped.
#[cfg(target_os = "linux")]
fn state(pid: &str) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name before it may hold anything.
    stat.rsplit_once(") ").unwrap().1.to_owned()
}

#[cfg(target_os = "linux")]
fn await_state(pid: &str, wanted: char) {
    let reached = wait_until(|| state(pid).starts_with(wanted));
    assert!(reached, "{pid} is {}, not {wanted}", state(pid));
}

#[cfg(target_os = "linux")]
#[test]
fn signals_of_a_terminal_are_passed_on_and_not_recorded() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    let script =
        "trap 'echo WINCH' WINCH; echo $$; until [ \"$line\" = end ]; do read -r line; done";
    // Like a job of a shell: a process is stopped only if its group has a parent outside of it.
    let mut child = recorder(&tape, &["sh", "-c", script]).process_group(0).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut line = || {
        let mut line = Vec::new();
        let mut byte = [0];
        while byte != *b"\n" {
            stdout.read_exact(&mut byte).unwrap();
            line.push(byte[0]);
        }
        String::from_utf8(line).unwrap().trim().to_owned()
    };
    let agent = line();
    let recorder = child.id().to_string();
    send("WINCH", &recorder);
    assert_eq!(line(), "WINCH");
    send("TSTP", &recorder);
    await_state(&agent, 'T');
    await_state(&recorder, 'T');
    send("CONT", &recorder);
    std::io::Write::write_all(&mut stdin, b"end\n").unwrap();
    assert_eq!(await_end(stdout), b"");
    assert!(child.wait().unwrap().success());
    // A replay has no window.
    assert!(
        !events(&tape)
            .iter()
            .any(|event| matches!(event, Event::Note(note) if note.starts_with("signal")))
    );
}

#[cfg(target_os = "linux")]
#[test]
fn ignored_signals_stay_ignored_in_the_agent() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    let output = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$0\" record -o \"$1\" -- sh -c 'kill -s HUP $PPID; kill -s HUP $$; echo alive'"])
        .arg(assert_cmd::cargo::cargo_bin("duologue"))
        .arg(&tape)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "alive\n");
    assert!(output.status.success());
}
