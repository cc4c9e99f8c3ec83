//! `duologue record` when the host, the agent or the recorder is killed.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command};

use duologue_tape::{Exit, Reader};
use tempfile::TempDir;

use super::record::{await_end, bytes, events, exit, fifo, record};

#[test]
fn after_any_kill_no_process_stays_and_the_tape_is_readable() {
    let script = r#"exec 9>"$0"; trap '' TERM HUP INT; i=0
        while :; do echo "line $i"; i=$((i+1)); done"#;
    for (lines, packed) in [(0, false), (1, false), (50, true), (5000, false), (5000, true)] {
        let folder = TempDir::new().unwrap();
        let alive = fifo(folder.path());
        let tape = folder.path().join(if packed { "t.tape.zst" } else { "t.tape" });
        let mut child = record(&tape, &["sh", "-c", script, alive.to_str().unwrap()]);
        let holds = File::open(&alive).unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut some = vec![0; lines * 7];
        stdout.read_exact(&mut some).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        // The agent holds the other end, and ignores signals and closed pipes.
        await_end(holds);
        let mut reader = Reader::new(File::open(&tape).unwrap());
        while reader.next_entry().unwrap().is_some() {}
    }
}

#[test]
fn when_the_host_dies_the_agent_is_signalled_and_the_tape_is_complete() {
    for lines in [0, 1, 100, 3000] {
        let folder = TempDir::new().unwrap();
        let alive = fifo(folder.path());
        let tape = folder.path().join("t.tape");
        // It ends when its stdin does, as agents do.
        let script =
            r#"exec 9>"$0"; trap '' PIPE; while read -r line; do echo "$line"; done; exit 0"#;
        let mut child = record(&tape, &["sh", "-c", script, alive.to_str().unwrap()]);
        let holds = File::open(&alive).unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            for _ in 0..lines {
                stdin.write_all(b"hello\n").unwrap();
            }
        });
        let mut stdout = child.stdout.take().unwrap();
        let mut some = vec![0; lines * 6 / 2];
        stdout.read_exact(&mut some).unwrap();
        drop((stdout, child.stderr.take()));
        // The write may fail or not.
        let _ = writer.join();
        await_end(holds);
        child.wait().unwrap();
        let events = events(&tape);
        assert_eq!(exit(&events), Exit::with_code(0));
    }
}

#[test]
fn an_agent_that_is_killed_ends_the_tape() {
    for lines in [0, 1, 500] {
        let folder = TempDir::new().unwrap();
        let tape = folder.path().join("t.tape.zst");
        let script =
            format!("i=0; while [ $i -lt {lines} ]; do echo line; i=$((i+1)); done; kill -9 $$");
        let output = record(&tape, &["sh", "-c", &script]).wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(9));
        assert_eq!(output.stdout, b"line\n".repeat(lines));
        let events = events(&tape);
        assert_eq!(exit(&events), Exit::by_signal(9));
        assert_eq!(bytes(&events)[1], output.stdout);
    }
}

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Recorder,
    Host,
    Agent,
}

/// An agent that prints its pid, and answers each line in two pieces. It ends with its stdin, after
/// a last line, and ignores closed pipes.
const AGENT: &str = r#"exec 9>"$0"; trap '' PIPE; echo $$
    while read -r line; do printf 'answer '; printf '%s\n' "$line"; done
    echo bye; exit 0"#;

/// A conversation that can be stopped at any point.
struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    /// The agent holds the other end.
    alive: File,
    heard: Vec<u8>,
}

impl Talk {
    fn start(folder: &TempDir, tape: &std::path::Path) -> Self {
        let alive = fifo(folder.path());
        let mut child = record(tape, &["sh", "-c", AGENT, alive.to_str().unwrap()]);
        let alive = File::open(&alive).unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, stdin, stdout, alive, heard: Vec::new() }
    }

    /// Reads this many bytes more.
    fn read(&mut self, count: usize) {
        let mut some = vec![0; count];
        self.stdout.read_exact(&mut some).unwrap();
        self.heard.extend(some);
    }

    fn pid(&mut self) -> String {
        while self.heard.last() != Some(&b'\n') {
            self.read(1);
        }
        String::from_utf8(self.heard.clone()).unwrap().trim().to_owned()
    }

    fn say(&mut self, text: &str) {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }
}

/// The steps of the conversation before the kill.
fn steps() -> Vec<fn(&mut Talk)> {
    let mut steps: Vec<fn(&mut Talk)> = Vec::new();
    for _ in 0..3 {
        steps.push(|talk| talk.say("hel"));
        steps.push(|talk| talk.say("lo\n"));
        steps.push(|talk| talk.read(3));
        steps.push(|talk| talk.read("wer hello\n".len()));
    }
    steps.push(|talk| talk.stdin = None);
    steps.push(|talk| talk.read("bye\n".len()));
    steps
}

#[test]
fn killed_at_every_point_no_process_stays_and_the_tape_is_readable() {
    let steps = steps();
    let closing = steps.len() - 2;
    for victim in [Victim::Recorder, Victim::Host, Victim::Agent] {
        for point in 0..=steps.len() {
            let folder = TempDir::new().unwrap();
            let tape = folder.path().join("t.tape");
            let mut talk = Talk::start(&folder, &tape);
            let agent = talk.pid();
            steps[..point].iter().for_each(|step| step(&mut talk));
            match victim {
                Victim::Recorder => talk.child.kill().unwrap(),
                // It may have ended by itself by then.
                Victim::Agent => {
                    Command::new("sh").args(["-c", "kill -9 $0 2>&-", &agent]).status().unwrap();
                }
                // A host that is killed closes all of its pipes, here below.
                Victim::Host => {}
            }
            let Talk { mut child, stdin, stdout, alive, heard } = talk;
            drop(stdin);
            if victim == Victim::Host {
                drop((stdout, child.stderr.take()));
            } else {
                await_end(stdout);
            }
            await_end(alive);
            let status = child.wait().unwrap();
            let events = events(&tape);
            if victim == Victim::Recorder {
                assert!(status.signal() == Some(9) || status.success(), "{point} {status}");
                continue;
            }
            let [_, to_host, _] = bytes(&events);
            assert!(to_host.starts_with(&heard), "{victim:?} {point}");
            let was_killed = exit(&events) == Exit::by_signal(9);
            assert!(was_killed || exit(&events) == Exit::with_code(0), "{victim:?} {point}");
            // Only when its stdin has ended does it end by itself.
            assert!(was_killed || victim == Victim::Host || point > closing, "{point}");
            assert_eq!(status.signal().is_some(), was_killed, "{victim:?} {point}");
        }
    }
}

#[test]
fn killed_before_the_first_line_no_process_stays() {
    for _ in 0..10 {
        let folder = TempDir::new().unwrap();
        let tape = folder.path().join("t.tape");
        // Its agent may be there already, or not yet.
        let mut child = record(&tape, &["cat"]);
        child.kill().unwrap();
        child.wait().unwrap();
        await_end(child.stdout.take().unwrap());
        await_end(child.stderr.take().unwrap());
        if tape.exists() {
            let mut reader = Reader::new(File::open(&tape).unwrap());
            while reader.next_entry().unwrap().is_some() {}
        }
    }
}
