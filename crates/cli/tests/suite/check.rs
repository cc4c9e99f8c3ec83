//! `duologue check`.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use duologue_agent::VERSION;
use serde_json::{Value, json};

use super::command::{duologue, json, recording, text};

/// The report on the one file that was checked.
fn report(args: &[&str], stdin: &str) -> (Option<i32>, Value) {
    let mut command = duologue();
    command.args(["check", "--json"]).args(args).write_stdin(stdin);
    let output = command.output().unwrap();
    (output.status.code(), json(&output)["files"][0].clone())
}

#[test]
fn a_tape_that_is_understood() {
    let tape = recording("04-bash-allow.tape");
    let output = duologue().arg("check").arg(&tape).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let report = text(&output.stdout);
    assert!(report.contains("Everything is understood."), "{report}");
    assert!(report.contains(&format!("a tape of claude {VERSION}")), "{report}");
    assert!(report.contains("1  control_request/can_use_tool"), "{report}");
    assert!(!report.contains('\u{1b}'), "colours in a pipe: {report}");
    assert!(output.stderr.is_empty());
}

#[test]
fn unknown_types_and_subtypes_make_it_fail() {
    let lines = concat!(
        "{\"type\":\"hologram\"}\n",
        "{\"type\":\"system\",\"subtype\":\"levitating\"}\n",
        "{\"type\":\"result\",\"subtype\":\"error_bored\"}\n",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"smell\"}]}}\n",
    );
    let (code, report) = report(&["-"], lines);
    assert_eq!(code, Some(1));
    let tags: Vec<&str> = report["unknown"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| tag["tag"].as_str().unwrap())
        .collect();
    assert_eq!(tags, ["smell", "hologram", "error_bored", "levitating"]);
    assert_eq!(report["unknown"][0]["path"], "message.content[]");
}

#[test]
fn malformed_lines_are_reported_with_line_byte_and_reason() {
    let lines = "{\"type\":\"keep_alive\"}\n\nnot json\n{\"type\":\"result\",\"subtype\":\"success\",\"num_turns\":\"1\"}\n";
    let (code, report) = report(&[], lines);
    assert_eq!(code, Some(1));
    assert_eq!(
        report["malformed"],
        json!([
            {
                "direction": "to_host",
                "line": 3,
                "offset": 23,
                "reason": "not JSON: expected a value (at byte 0)",
            },
            {
                "direction": "to_host",
                "line": 4,
                "offset": 32,
                "reason": "field `num_turns`: expected a number, found a string (at byte 49)",
            },
        ])
    );
}

#[test]
fn unknown_fields_are_warnings_unless_strict() {
    let lines = "{\"type\":\"keep_alive\",\"mood\":1}\n{\"type\":\"keep_alive\",\"mood\":2}\n";
    let (code, found) = report(&[], lines);
    assert_eq!(code, Some(0));
    assert_eq!(
        found["unknown_fields"],
        json!([{ "direction": "to_host", "type": "keep_alive", "subtype": null, "path": "mood", "count": 2 }])
    );
    let (code, _) = report(&["--strict"], lines);
    assert_eq!(code, Some(1));
}

#[test]
fn broken_rules_and_bad_host_lines_are_warnings_unless_strict() {
    let tape = recording("33-cancel-can_use_tool-by-interrupt.tape");
    let tape = tape.to_str().unwrap();
    let (code, found) = report(&[tape], "");
    assert_eq!(code, Some(0));
    assert_eq!(found["violations"][0]["rule"], "answer_after_cancellation");
    assert_eq!(report(&["--strict", tape], "").0, Some(1));

    let bad_host = recording("24a-invalid-json.tape");
    let bad_host = bad_host.to_str().unwrap();
    assert_eq!(report(&[bad_host], "").0, Some(0));
    assert_eq!(report(&["--strict", bad_host], "").0, Some(1));
}

#[test]
fn the_other_direction_of_a_plain_capture() {
    let line = "{\"type\":\"approve\",\"tool_use_id\":\"t\"}\n";
    let (code, report) = report(&["--direction", "to-agent"], line);
    assert_eq!(code, Some(0));
    assert_eq!(report["messages"][0]["type"], "approve");
    assert_eq!(report["legacy"][0]["type"], "approve");
}

#[test]
fn an_unreadable_file_is_an_error_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let newer = folder.path().join("newer.tape");
    fs::write(&newer, "{\"tape\":99}\n").unwrap();
    let broken = folder.path().join("broken.tape");
    fs::write(&broken, "{\"tape\":1}\nnot an entry\n{\"t\":1,\"note\":\"x\"}\n").unwrap();
    for (path, words) in [
        (newer, "format version 99"),
        (broken, "line 2 of the tape is not an entry"),
        (folder.path().join("absent"), "could not open"),
        (folder.path().to_owned(), "is a directory"),
    ] {
        let output = duologue().arg("check").arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{path:?}");
        let said = text(&output.stderr);
        assert!(said.starts_with("error: ") && said.contains(words), "{said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_torn_tape_is_read_up_to_its_last_line() {
    let whole = fs::read_to_string(recording("04-bash-allow.tape")).unwrap();
    let torn = &whole[..whole.len() - 10];
    let (code, report) = report(&[], torn);
    assert_eq!(code, Some(0));
    assert!(report["torn"]["bytes"].as_u64().unwrap() > 0);
    assert_eq!(report["lines"]["to_host"], 11);
}

#[test]
fn several_files_are_one_object() {
    let first = recording("01-plain-text.tape");
    let second = recording("24c-unknown-type.tape");
    let output = duologue().args(["check", "--json"]).args([first, second]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let all = json(&output);
    assert_eq!(all["understood"], false);
    assert_eq!(all["files"][0]["understood"], true);
    assert_eq!(all["files"][1]["understood"], false);
}

#[test]
fn one_file_that_cannot_be_read_does_not_hide_the_others() {
    let good = recording("01-plain-text.tape");
    let args = [good.to_str().unwrap(), "no/such/file", good.to_str().unwrap()];
    let output = duologue().args(["check", "--json"]).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let files = json(&output)["files"].clone();
    assert_eq!(files.as_array().unwrap().len(), 3);
    assert!(files[2]["error"].as_str().unwrap().contains("could not open"));
    assert!(text(&output.stderr).contains("no/such/file"));
}

#[test]
fn one_direction_alone_breaks_no_rule() {
    let answer = "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"r\"}}\n";
    assert_eq!(report(&["--strict", "--direction", "to-agent"], answer).0, Some(0));
}

#[test]
fn a_byte_order_mark_is_ignored() {
    let tape = fs::read_to_string(recording("01-plain-text.tape")).unwrap();
    let (code, report) = report(&[], &format!("\u{feff}{tape}"));
    assert_eq!((code, report["format"].as_str()), (Some(0), Some("tape")));
}

#[test]
fn a_file_without_lines_fails() {
    for empty in [
        "",
        "\n\n",
        "{\"tape\":1,\"program\":\"claude\"}\n",
        "{\"tape\":1}\n{\"exit\":{\"code\":0}}\n",
    ] {
        let (code, report) = report(&[], empty);
        assert_eq!(code, Some(1), "{empty:?}");
        assert_eq!(report["understood"], false);
        assert_eq!(report["empty"], true);
        let output = duologue().arg("check").write_stdin(empty).output().unwrap();
        assert!(
            text(&output.stdout).contains("There are no lines to check"),
            "{}",
            text(&output.stdout)
        );
    }
}

#[test]
fn a_line_over_the_cap_is_reported_and_the_rest_is_read() {
    let lines = format!(
        "{{\"type\":\"keep_alive\",\"x\":\"{}\"}}\n{{\"type\":\"keep_alive\"}}\n",
        "a".repeat(500)
    );
    let (code, report) = report(&["--max-line", "100"], &lines);
    assert_eq!(code, Some(1));
    assert_eq!(report["malformed"][0]["line"], 1);
    assert_eq!(report["messages"][0]["count"], 1);
}

#[test]
fn a_closed_stdout_is_not_an_error() {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("duologue"))
        .arg("schema")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stderr), "");
}
