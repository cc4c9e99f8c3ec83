//! `duologue replay`.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::command::{duologue, recording, text};

/// The lines of the host on a recording.
fn host_lines(name: &str) -> Vec<String> {
    let tape = std::fs::read_to_string(recording(name)).unwrap();
    let entries = tape.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let of_host = entries.filter(|entry| entry["dir"] == "in");
    of_host.map(|entry| entry["line"].as_str().unwrap().to_owned()).collect()
}

fn replay(args: &[&str]) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin("duologue"))
        .arg("replay")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn the_same_host_gets_the_same_lines() {
    let name = "04-bash-allow.tape";
    let tape = recording(name);
    let tape = tape.to_str().unwrap();
    // Other flags and request ids of the host are accepted.
    let mut child = replay(&[tape, "--", "--input-format", "stream-json", "--match", "nonsense"]);
    let mut stdin = child.stdin.take().unwrap();
    for line in host_lines(name) {
        writeln!(stdin, "{}", line.replace("req_1", "mine")).unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("\"request_id\":\"mine\"") && !said.contains("req_1"));
    assert!(said.contains("Created made.txt."));
}

#[test]
fn another_prompt_is_a_mismatch() {
    let name = "04-bash-allow.tape";
    let tape = recording(name);
    let tape = tape.to_str().unwrap();
    let lines = host_lines(name).join("\n").replace("Create made.txt", "create  MADE.txt");
    for (flags, code) in
        [(&[][..], 3), (&["--match", "loose"], 0), (&["--on-mismatch", "continue"], 0)]
    {
        let mut child = replay(&[flags, &[tape]].concat());
        // It may be gone before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{flags:?} {}", text(&output.stderr));
        let reported =
            text(&output.stderr).contains("- \"Create made.txt\"\n    + \"create  MADE.txt\"");
        assert_eq!(reported, flags != ["--match", "loose"], "{}", text(&output.stderr));
    }
    // A host that leaves too soon.
    let output = replay(&[tape]).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("a request, initialize"), "{}", text(&output.stderr));
}

#[test]
fn a_recorded_signal_is_awaited_and_others_kill() {
    let name = "14-sigint-mid-turn.tape";
    let tape = recording(name);
    for (signal, code) in [("INT", Some(0)), ("TERM", None)] {
        let mut child = replay(&[tape.to_str().unwrap()]);
        let mut stdin = child.stdin.take().unwrap();
        for line in host_lines(name) {
            writeln!(stdin, "{line}").unwrap();
        }
        stdin.flush().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("\"assistant\"") && !line.contains("\"stream_event\"") {
            line.clear();
            stdout.read_line(&mut line).unwrap();
        }
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        drop(stdin);
        let mut rest = Vec::new();
        stdout.read_to_end(&mut rest).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), code, "{signal}");
        assert_eq!(status.signal().is_none(), code.is_some());
    }
}

#[test]
fn an_installed_claude_replays_and_has_its_version() {
    let folder = TempDir::new().unwrap();
    let install = duologue().args(["replay", "--install"]).arg(folder.path()).output().unwrap();
    assert!(install.status.success());
    let claude = folder.path().join("claude");
    let name = "2.0.77/01-plain-text.tape";
    let version = Command::new(&claude).arg("-v").env("DUOLOGUE_TAPE", recording(name)).output();
    assert_eq!(text(&version.unwrap().stdout), "2.0.77 (Claude Code)\n");
    let mut child = Command::new(&claude)
        .args(["--verbose", "-p"])
        .env("DUOLOGUE_TAPE", recording(name))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(host_lines(name).join("\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("\"result\""));
}

#[test]
fn as_a_host_it_compares_the_lines_of_the_agent() {
    let us = assert_cmd::cargo::cargo_bin("duologue");
    for name in ["12-sdk-mcp", "11-hooks-allow-and-context", "04-bash-allow", "02-multi-turn"] {
        let tape = recording(&format!("{name}.tape"));
        let run = |agent_tape: &std::path::Path| {
            duologue()
                .args(["replay", "--as-host"])
                .arg(&tape)
                .arg("--")
                .arg(&us)
                .args(["replay", "--match", "any"])
                .arg(agent_tape)
                .output()
                .unwrap()
        };
        let output = run(&tape);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stdout));
        assert_eq!(text(&output.stdout), "");
    }
    // Another agent says something else.
    let output = duologue()
        .args(["replay", "--as-host"])
        .arg(recording("04-bash-allow.tape"))
        .arg("--")
        .arg(&us)
        .arg("replay")
        .arg(recording("2.0.77/04-bash-allow.tape"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).contains("run_started: version"), "{}", text(&output.stdout));
}

#[test]
fn without_a_tape_there_is_nothing_to_replay() {
    let output = duologue().arg("replay").env_remove("DUOLOGUE_TAPE").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("DUOLOGUE_TAPE"));
    let folder = TempDir::new().unwrap();
    let installed = duologue().args(["replay", "--install"]).arg(folder.path()).output();
    assert!(installed.unwrap().status.success());
    let mut installed = Command::new(folder.path().join("claude"));
    let output = installed.arg("-p").env_remove("DUOLOGUE_TAPE").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("DUOLOGUE_TAPE"), "{}", text(&output.stderr));
}

#[test]
fn a_file_that_is_not_a_tape_is_refused() {
    let folder = tempfile::TempDir::new().unwrap();
    for (name, bytes) in [("empty", &b""[..]), ("garbage", b"\x00\xff\n{]\n")] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        for args in [&["replay"] as &[&str], &["replay", "--as-host"]] {
            let output = duologue().args(args).arg(&path).args(["--", "cat"]).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{args:?} {name}");
            assert!(output.stdout.is_empty());
            assert!(text(&output.stderr).contains("is not a tape"), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn a_signal_that_cannot_be_handled_is_reported() {
    let tape =
        "{\"tape\":1}\n{\"note\":\"signal SIGKILL\"}\n{\"exit\":{\"code\":null,\"signal\":9}}\n";
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    std::fs::write(&path, tape).unwrap();
    let output = duologue().arg("replay").arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("the signal SIGKILL"), "{}", text(&output.stderr));
}

#[test]
fn a_very_long_pause_is_kept() {
    let tape = "{\"tape\":1}\n{\"t\":0,\"dir\":\"out\",\"line\":\"a\"}\n{\"t\":9,\"dir\":\"out\",\"line\":\"b\"}\n";
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    std::fs::write(&path, tape).unwrap();
    let mut child = replay(&["--speed", "1e-300", path.to_str().unwrap()]);
    let mut said = [0; 2];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(&said, b"a\n");
    assert_eq!(child.try_wait().unwrap(), None);
    child.kill().unwrap();
    let said = child.wait_with_output().unwrap();
    assert!(!text(&said.stderr).contains("panicked"), "{}", text(&said.stderr));
}

#[test]
fn a_torn_tape_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let tape = folder.path().join("cut.tape");
    let whole = std::fs::read(recording("04-bash-allow.tape")).unwrap();
    let third = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0;
    std::fs::write(&tape, &whole[..third + 100]).unwrap();
    let output = duologue().arg("replay").arg(&tape).output().unwrap();
    let message = text(&output.stderr);
    assert!(message.contains("line 3 of the tape was cut off"), "{message}");
}

/// Writes a tape of these entries.
fn tape_of(folder: &TempDir, entries: &str) -> String {
    let path = folder.path().join("t.tape");
    std::fs::write(&path, format!("{{\"tape\":1}}\n{entries}")).unwrap();
    path.to_str().unwrap().to_owned()
}

const SIGNALLED: &str = "{\"t\":0,\"dir\":\"out\",\"line\":\"ready\"}\n\
    {\"t\":1,\"note\":\"signal SIGINT\"}\n{\"t\":2,\"dir\":\"out\",\"line\":\"bye\"}\n\
    {\"t\":3,\"exit\":{\"code\":7}}\n";

#[test]
fn a_signal_is_not_awaited_after_the_host_is_gone() {
    let folder = TempDir::new().unwrap();
    let tape = tape_of(&folder, SIGNALLED);
    let run = |flags: &[&str]| {
        let replay = duologue().arg("replay").args(flags).arg(&tape).write_stdin("").output();
        replay.unwrap()
    };
    let output = run(&["--patience", "0"]);
    assert_eq!(output.status.code(), Some(3));
    let message = text(&output.stderr);
    assert!(
        message.contains("expected: the signal SIGINT") && message.contains("line 3"),
        "{message}"
    );
    // With `--on-mismatch continue` it continues.
    let output = run(&["--patience", "0", "--on-mismatch", "continue"]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "ready\nbye\n");
}

#[test]
fn a_signal_may_come_after_the_end_of_input() {
    let folder = TempDir::new().unwrap();
    let tape = tape_of(&folder, SIGNALLED);
    let mut child = replay(&["--patience", "600", &tape]);
    drop(child.stdin.take());
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

/// Signals are on the tape, and more lines than are looked at ahead: the end of input must not be lost.
#[test]
fn an_early_end_of_the_host_is_a_mismatch() {
    let folder = TempDir::new().unwrap();
    let mut entries = String::from("{\"note\":\"signal SIGUSR1\"}\n");
    for number in 0..1500 {
        let line = serde_json::json!({ "type": "user", "message": { "role": "user", "content": format!("{number}") } });
        let entry = serde_json::json!({ "t": number, "dir": "in", "line": line.to_string() });
        entries.push_str(&format!("{entry}\n{{\"t\":{number},\"dir\":\"out\",\"line\":\"x\"}}\n"));
    }
    let tape = tape_of(&folder, &entries);
    for flags in [&["--patience", "0"] as &[&str], &["--patience", "0", "--match", "any"]] {
        let output = duologue().arg("replay").args(flags).arg(&tape).write_stdin("").output();
        assert_eq!(output.unwrap().status.code(), Some(3));
    }
}

fn as_host(tape: &str, script: &str, patience: &str) -> (Option<i32>, String) {
    let output = duologue()
        .args(["replay", "--as-host", "--patience", patience, tape, "--", "sh", "-c", script])
        .output()
        .unwrap();
    (output.status.code(), text(&output.stdout))
}

const RESULT: &str = "{\"type\":\"result\",\"subtype\":\"success\"}";

/// A tape on which the host says `prompts`, and the agent then ends its turn.
fn asked(prompts: usize, end: &str) -> String {
    let mut entries = String::new();
    for number in 0..prompts {
        let line = serde_json::json!({ "type": "user", "message": { "role": "user", "content": "x".repeat(1000) } });
        let entry = serde_json::json!({ "t": number, "dir": "in", "line": line.to_string() });
        entries.push_str(&format!("{entry}\n"));
    }
    let result = serde_json::json!({ "t": prompts, "dir": "out", "line": RESULT });
    format!("{entries}{result}\n{end}")
}

#[test]
fn an_agent_that_does_not_exit_is_killed() {
    let folder = TempDir::new().unwrap();
    let end = "{\"note\":\"stdin_close\"}\n{\"exit\":{\"code\":0}}\n";
    let tape = tape_of(&folder, &asked(1, end));
    let (code, message) =
        as_host(&tape, &format!("echo '{RESULT}'; exec >&-; exec sleep 1000"), "1");
    assert_eq!(code, Some(3));
    assert!(message.contains("the agent does not exit"), "{message}");
}

#[test]
fn an_agent_may_write_before_it_reads() {
    let folder = TempDir::new().unwrap();
    // Both pipes are full before it reads its first line.
    let tape = tape_of(&folder, &asked(300, "{\"note\":\"stdin_close\"}\n"));
    let flood = "i=0; while [ $i -lt 3000 ]; do echo '{\"type\":\"keep_alive\",\"x\":\"0123456789012345678901234567890123456789\"}'; i=$((i+1)); done";
    let (code, message) =
        as_host(&tape, &format!("{flood}; cat >/dev/null & echo '{RESULT}'; wait"), "60");
    assert!(!message.contains("timeout") && !message.contains("does not"), "{code:?} {message}");
}

#[test]
fn an_agent_that_never_reads_is_killed() {
    let folder = TempDir::new().unwrap();
    let tape = tape_of(&folder, &asked(300, "{\"note\":\"stdin_close\"}\n"));
    let (code, message) = as_host(&tape, "exec sleep 1000", "1");
    assert_eq!(code, Some(3));
    assert!(message.contains("does not read its stdin"), "{message}");
}

/// A torn tape does not have the time at which the host closed the agent's stdin.
#[test]
fn at_the_end_of_a_torn_tape_the_stdin_of_the_agent_is_closed() {
    let folder = TempDir::new().unwrap();
    let tape = tape_of(&folder, &asked(1, ""));
    let (_, message) = as_host(&tape, &format!("echo '{RESULT}'; cat >/dev/null"), "600");
    assert!(!message.contains("does not exit"), "{message}");
}

#[test]
fn a_host_that_stops_reading_is_reported() {
    let folder = TempDir::new().unwrap();
    let tape = tape_of(
        &folder,
        "{\"t\":0,\"dir\":\"out\",\"line\":\"x\"}\n{\"t\":1,\"exit\":{\"code\":0}}\n",
    );
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("duologue"));
    let output = command.args(["replay", &tape]).stdin(Stdio::null()).stdout(writer).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("stopped reading"), "{}", text(&output.stderr));
}
