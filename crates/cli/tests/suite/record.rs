//! `duologue record`.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use duologue_tape::{Event, Exit, Reader};
use proptest::prelude::*;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};
use tempfile::TempDir;

/// `duologue record -o TAPE -- ARGV`, with pipes.
pub(crate) fn record(tape: &Path, argv: &[&str]) -> Child {
    recorder(tape, argv).spawn().unwrap()
}

/// Where a script has started us in the background we ignore these signals, and so would all that we start: but for what
/// is heard.
fn hear_signals() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        for signal in [SIGHUP, SIGINT, SIGQUIT] {
            let ends = Arc::new(AtomicBool::new(true));
            signal_hook::flag::register_conditional_shutdown(signal, 130, ends).unwrap();
        }
    });
}

pub(crate) fn recorder(tape: &Path, argv: &[&str]) -> Command {
    hear_signals();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("duologue"));
    command
        .args(["record", "--force", "-o"])
        .arg(tape)
        .arg("--")
        .args(argv)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) fn events(tape: &Path) -> Vec<Event> {
    let mut reader = Reader::new(File::open(tape).unwrap());
    let mut events = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        events.push(entry.event);
    }
    events
}

/// The bytes that went to the agent, to the host, and to stderr, put together again.
pub(crate) fn bytes(events: &[Event]) -> [Vec<u8>; 3] {
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for event in events {
        let (stream, line) = match event {
            Event::ToAgent(line) => (0, line),
            Event::ToHost(line) => (1, line),
            Event::Stderr(line) => (2, line),
            _ => continue,
        };
        all[stream].extend_from_slice(line.raw());
        if line.has_newline() {
            all[stream].push(b'\n');
        }
    }
    all
}

pub(crate) fn exit(events: &[Event]) -> Exit {
    match events.last() {
        Some(Event::Exit(exit)) => *exit,
        other => panic!("{other:?}"),
    }
}

/// Waits until the other end of this pipe is closed.
pub(crate) fn await_end(mut pipe: impl Read) -> Vec<u8> {
    let mut rest = Vec::new();
    pipe.read_to_end(&mut rest).unwrap();
    rest
}

pub(crate) fn fifo(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("alive");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_bytes_in_any_pieces_pass_unchanged(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 0..12),
        packed in any::<bool>(),
    ) {
        let folder = TempDir::new().unwrap();
        let tape = folder.path().join(if packed { "t.tape.zst" } else { "t.tape" });
        let mut child = record(&tape, &["tee", "/dev/stderr"]);
        let mut stdin = child.stdin.take().unwrap();
        let sent: Vec<u8> = pieces.concat();
        let writer = std::thread::spawn(move || {
            for piece in pieces {
                stdin.write_all(&piece).unwrap();
            }
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        prop_assert!(output.status.success());
        prop_assert_eq!(&output.stdout, &sent);
        prop_assert_eq!(&output.stderr, &sent);
        let events = events(&tape);
        let [to_agent, to_host, stderr] = bytes(&events);
        prop_assert_eq!(&to_agent, &sent);
        prop_assert_eq!(&to_host, &sent);
        prop_assert_eq!(&stderr, &sent);
        prop_assert_eq!(exit(&events), Exit::with_code(0));
    }
}

#[test]
fn a_line_of_50_mb_passes() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    let mut child = record(&tape, &["cat"]);
    let mut stdin = child.stdin.take().unwrap();
    let line: Vec<u8> = (0..50_000_000_u32).map(|number| b'a' + (number % 23) as u8).collect();
    let sent = line.clone();
    let writer = std::thread::spawn(move || {
        stdin.write_all(&line).unwrap();
        stdin.write_all(b"\nlast\n").unwrap();
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.stdout.strip_suffix(b"\nlast\n") == Some(sent.as_slice()));
    let [to_agent, to_host, _] = bytes(&events(&tape));
    assert!(to_agent == output.stdout && to_host == output.stdout);
}

#[test]
fn a_request_is_on_the_tape_before_its_answer() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    let mut child = record(&tape, &["cat"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    for number in 0..200 {
        writeln!(stdin, "{number:03}").unwrap();
        let mut answer = [0; 4];
        stdout.read_exact(&mut answer).unwrap();
    }
    drop(stdin);
    child.wait().unwrap();
    let ways: Vec<bool> = events(&tape)
        .iter()
        .filter_map(|event| match event {
            Event::ToAgent(_) => Some(true),
            Event::ToHost(_) => Some(false),
            _ => None,
        })
        .collect();
    assert_eq!(ways, [true, false].repeat(200));
}

#[test]
fn only_the_owner_can_read_a_tape() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    fs::write(&tape, "old").unwrap();
    fs::set_permissions(&tape, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(record(&tape, &["true"]).wait().unwrap().success());
    assert_eq!(fs::metadata(&tape).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn exit_codes_and_signals_of_the_agent_are_passed_on() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    for code in [0, 1, 3, 130, 255] {
        let status = record(&tape, &["sh", "-c", &format!("exit {code}")]).wait().unwrap();
        assert_eq!(status.code(), Some(code));
        assert_eq!(exit(&events(&tape)), Exit::with_code(code.into()));
    }
    for signal in [1, 2, 9, 10, 15] {
        let status = record(&tape, &["sh", "-c", &format!("kill -{signal} $$")]).wait().unwrap();
        assert_eq!(status.signal(), Some(signal));
        assert_eq!(exit(&events(&tape)), Exit::by_signal(signal.into()));
    }
    let output = record(&tape, &["/no/such/agent"]).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/no/such/agent"));
    // No tape is left, so the next attempt works.
    let none = folder.path().join("none.tape");
    for missing in ["/no/such/agent", "./no-such-agent", "no-such-agent"] {
        let output = record(&none, &[missing]).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(127));
        assert!(!none.exists());
    }
}

#[test]
fn signals_reach_the_agent_once() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    for signal in ["HUP", "INT", "QUIT", "TERM", "USR1", "USR2"] {
        let script = format!(
            "trap 'echo {signal}' {signal}; echo ready; until [ \"$line\" = end ]; do read -r line; done; exit 4"
        );
        let mut child = record(&tape, &["sh", "-c", &script]);
        let mut stdout = child.stdout.take().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut ready = [0; 6];
        stdout.read_exact(&mut ready).unwrap();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        let mut said = vec![0; signal.len() + 1];
        stdout.read_exact(&mut said).unwrap();
        assert_eq!(String::from_utf8(said).unwrap(), format!("{signal}\n"));
        stdin.write_all(b"end\n").unwrap();
        assert_eq!(await_end(stdout), b"");
        assert_eq!(child.wait().unwrap().code(), Some(4), "{signal}");
        let noted = Event::Note(format!("signal SIG{signal}"));
        assert!(events(&tape).iter().any(|event| format!("{event:?}") == format!("{noted:?}")));
    }
}

#[test]
fn each_stream_closes_by_itself() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    // Its stdout and stderr end while it runs, and then so do ours.
    let mut child = record(&tape, &["sh", "-c", "exec >&- 2>&-; read -r line; exit 3"]);
    assert_eq!(await_end(child.stdout.take().unwrap()), b"");
    assert_eq!(await_end(child.stderr.take().unwrap()), b"");
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    // Its stdin ends, and it answers all the same.
    let mut child = record(&tape, &["sh", "-c", "cat; echo done"]);
    drop(child.stdin.take());
    assert_eq!(child.wait_with_output().unwrap().stdout, b"done\n");
    assert!(
        events(&tape)
            .iter()
            .any(|event| matches!(event, Event::Note(note) if note == "stdin_close"))
    );
    // It closes its stdin, and the writer notices.
    let mut child =
        record(&tape, &["sh", "-c", "exec <&-; echo closed; read -r line <&1; sleep 60"]);
    let mut closed = [0; 7];
    child.stdout.as_mut().unwrap().read_exact(&mut closed).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    while stdin.write_all(b"x\n").is_ok() {}
    child.kill().unwrap();
    child.wait().unwrap();
    // We stop reading, and it notices.
    let mut child =
        record(&tape, &["sh", "-c", "trap '' PIPE; while echo line; do :; done; exit 9"]);
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn a_tape_is_not_replaced_unasked() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    fs::write(&tape, "precious").unwrap();
    let status = Command::new(assert_cmd::cargo::cargo_bin("duologue"))
        .args(["record", "-o"])
        .arg(&tape)
        .args(["--", "true"])
        .stderr(Stdio::null())
        .status();
    assert_eq!(status.unwrap().code(), Some(125));
    assert_eq!(fs::read_to_string(&tape).unwrap(), "precious");
}

#[test]
fn failures_of_record_have_their_own_exit_codes() {
    let record = |args: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("duologue"));
        let output = command.arg("record").args(args).stdin(Stdio::null()).output().unwrap();
        assert!(!output.stderr.is_empty());
        output.status.code()
    };
    assert_eq!(record(&["-o", "/no/such/folder/t.tape", "--", "true"]), Some(125));
    assert_eq!(record(&["--no-such-flag"]), Some(125));
    assert_eq!(record(&["-o", "/dev/null", "--", "/dev/null"]), Some(126));
    assert_eq!(record(&["-o", "/dev/null", "--", "/no/such/agent"]), Some(127));
}

#[test]
fn an_installed_claude_records() {
    let folder = TempDir::new().unwrap();
    let bin = folder.path().join("my bin");
    let install = Command::new(assert_cmd::cargo::cargo_bin("duologue"))
        .args(["record", "--redact", "--install"])
        .arg(&bin)
        .args(["--", "sh", "-c", "cat; exit 6", "it's"])
        .stderr(Stdio::null())
        .status();
    assert!(install.unwrap().success());
    let mut child = Command::new(bin.join("claude"))
        .args(["--flag", "a b"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"ann@corp.com\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    assert_eq!(output.stdout, b"ann@corp.com\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("replaced 2 e-mail addresses"));
    let tapes: Vec<_> = fs::read_dir(bin.join("tapes")).unwrap().collect();
    assert_eq!(tapes.len(), 1);
    let tape = tapes[0].as_ref().unwrap().path();
    let [to_agent, ..] = bytes(&events(&tape));
    assert_eq!(to_agent, b"user1@example.com\n");
}
