//! `duologue diff`.

use duologue_agent::VERSION;

use super::command::{duologue, json, recording, text};

#[test]
fn equal_tapes_print_nothing() {
    let tape = recording("16c-two-parallel-subagents.tape");
    let output = duologue().arg("diff").args([&tape, &tape]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), "");
    let output = duologue().args(["diff", "--json"]).args([&tape, &tape]).output().unwrap();
    assert_eq!(json(&output), serde_json::json!({ "equal": true, "differences": [] }));
}

#[test]
fn differences_are_listed_by_turn() {
    let tapes = ["07-allow-updated-input.tape", "2.0.77/07-allow-updated-input.tape"];
    let output = duologue().arg("diff").args(tapes.map(recording)).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(
        said.contains(&format!("run_started: version: \"{VERSION}\" became \"2.0.77\"")),
        "{said}"
    );
    assert!(said.contains("turn 1: turn_finished: terminal_reason: \"completed\" became null"));
    let output = duologue().args(["diff", "--json"]).args(tapes.map(recording)).output().unwrap();
    let report = json(&output);
    assert_eq!(report["equal"], false);
    let first = &report["differences"][0];
    assert!(first["kind"].is_string() && first["event"].is_string(), "{first}");
}

#[test]
fn shapes_are_compared_alone() {
    let tapes = ["1.0.128/04-bash-allow.tape", "04-bash-allow.tape"].map(recording);
    let output = duologue().args(["diff", "--schema"]).args(&tapes).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(said.contains("+ type system/thinking_tokens (to host)"), "{said}");
    assert!(said.contains("+ field request.tool_use_id of control_request/can_use_tool (to host)"));
    let output = duologue().args(["diff", "--schema", "--json"]).args(&tapes).output().unwrap();
    assert!(json(&output)["added_types"].is_array());
}

#[test]
fn an_unreadable_tape_is_an_error() {
    let tape = recording("01-plain-text.tape");
    let output = duologue().arg("diff").arg(&tape).arg("no-such.tape").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// The exit code is right even if stdout is closed early.
#[test]
fn the_exit_code_does_not_depend_on_the_reader_of_stdout() {
    let [a, b] =
        [VERSION, "2.0.77"].map(|version| recording(&format!("{version}/04-bash-allow.tape")));
    for flags in [&[] as &[&str], &["--json"], &["--schema"], &["--schema", "--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("duologue"));
        let status = command.arg("diff").args(flags).args([&a, &b]).stdout(writer).status();
        assert_eq!(status.unwrap().code(), Some(1), "{flags:?}");
    }
}

#[test]
fn a_capture_is_compared_with_what_the_agent_said() {
    let tape = recording("04-bash-allow.tape");
    let entries = std::fs::read_to_string(&tape).unwrap();
    let entries =
        entries.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let said = entries.filter(|entry| entry["dir"] == "out");
    let capture: String =
        said.map(|entry| format!("{}\n", entry["line"].as_str().unwrap())).collect();
    for flags in [&[] as &[&str], &["--schema"]] {
        let mut diff = duologue();
        diff.arg("diff").args(flags).arg(&tape).arg("-");
        let output = diff.write_stdin(capture.as_bytes()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
        assert!(text(&output.stderr).contains("only the lines of the agent"));
        // A missing event is found too.
        let mut diff = duologue();
        diff.arg("diff").args(flags).arg(&tape).arg("-");
        let some = capture.lines().next().unwrap();
        assert_eq!(diff.write_stdin(some).output().unwrap().status.code(), Some(1));
    }
    let output = duologue().args(["diff", "-", "-"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn differences_in_long_texts_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let said = |name: &str, word: &str| {
        let text = format!("{}{word}{}", "same ".repeat(100), " also".repeat(100));
        let line = serde_json::json!({ "type": "assistant", "message": { "id": "m", "content": [
            { "type": "text", "text": text } ] } });
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{line}\n")).unwrap();
        path
    };
    let output = duologue().arg("diff").arg(said("a", "first")).arg(said("b", "second")).output();
    let message = text(&output.unwrap().stdout);
    assert!(message.contains("same first") && message.contains("same second"), "{message}");
    assert!(message.lines().all(|line| line.chars().count() < 300), "{message}");
}

#[test]
fn two_files_without_lines_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    std::fs::write(&a, "").unwrap();
    std::fs::write(&b, "{\"tape\":1}\n").unwrap();
    let output = duologue().arg("diff").args([&a, &b]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("nothing to compare"), "{}", text(&output.stderr));
}
