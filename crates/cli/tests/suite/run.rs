//! `duologue run`: input and output.

use std::io::Write as _;
use std::process::Stdio;

use duologue_testkit::fake::{Script, Step};
use serde_json::json;

use super::command::{json, text as utf8};
use super::play::{Play, result, text};

#[test]
fn the_answer_goes_to_stdout_and_the_cost_to_stderr() {
    let play = Play::new(&Script::new());
    let output = play.run(&["Hello there"]);
    assert_eq!(output.status.code(), Some(0), "{}", utf8(&output.stderr));
    assert_eq!(utf8(&output.stdout), "Hello there\n");
    let stderr = utf8(&output.stderr);
    assert!(stderr.contains("$0.25") && stderr.contains("session"), "{stderr}");
    assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
    let quiet = play.run(&["Hello there", "--quiet"]);
    assert_eq!(utf8(&quiet.stderr), "");
}

#[test]
fn the_prompt_comes_from_arguments_files_or_stdin() {
    let play = Play::new(&Script::new());
    let file = play.home.path().join("question.txt");
    std::fs::write(&file, "from a file").unwrap();
    let file = file.to_str().unwrap();
    let with_stdin = |args: &[&str]| {
        let mut command = play.command(&[&["run"], args].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"from stdin").unwrap();
        assert!(child.wait().unwrap().success());
    };
    with_stdin(&[]);
    with_stdin(&["-"]);
    with_stdin(&["Explain", "--file", "-"]);
    assert!(play.run(&["--file", file]).status.success());
    assert!(play.run(&["Explain", "--file", file]).status.success());
    let mut prompts = play.prompts();
    prompts.sort_by_key(ToString::to_string);
    let expected = [
        "Explain\n\nfrom a file",
        "Explain\n\nfrom stdin",
        "from a file",
        "from stdin",
        "from stdin",
    ];
    assert_eq!(prompts, expected.map(serde_json::Value::from));
}

#[test]
fn a_wrong_command_line_starts_nothing() {
    let play = Play::new(&Script::new());
    let missing = ["x", "--file", "/no/such/file"];
    let wrong: [&[&str]; 9] = [
        &[],
        &["  "],
        &missing,
        &["x", "--schema", "{not json"],
        &["x", "--cwd", "/no/such/folder"],
        &["x", "--fork"],
        &["x", "--resume", "a", "--session-id", "b"],
        &["x", "--timeout", "soon"],
        &["x", "--", "positional"],
    ];
    for args in wrong {
        let output = play.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", utf8(&output.stderr));
        assert!(output.stdout.is_empty());
        assert!(utf8(&output.stderr).starts_with("error:"), "{}", utf8(&output.stderr));
    }
    assert!(play.prompts().is_empty());
}

#[test]
fn streamed_texts_are_printed_once() {
    let piece = |text: &str| {
        Step::Emit(json!({
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "index": 0,
                "delta": { "type": "text_delta", "text": text },
            },
            "session_id": "s",
            "parent_tool_use_id": null,
            "uuid": format!("piece {text}"),
        }))
    };
    let event = |event: serde_json::Value| {
        let uuid = event["type"].clone();
        Step::Emit(json!({
            "type": "stream_event",
            "event": event,
            "session_id": "s",
            "parent_tool_use_id": null,
            "uuid": uuid,
        }))
    };
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let mut whole = message.clone();
    whole["content"] = json!([{ "type": "text", "text": "Hello, world" }]);
    let block = json!({ "type": "text", "text": "" });
    let play = Play::turn([
        Step::Init,
        event(json!({ "type": "message_start", "message": message })),
        event(json!({ "type": "content_block_start", "index": 0, "content_block": block })),
        piece("Hello, "),
        piece("world"),
        Step::Emit(json!({
            "type": "assistant", "message": whole, "parent_tool_use_id": null, "session_id": "s",
            "uuid": "a-1",
        })),
        event(json!({ "type": "content_block_stop", "index": 0 })),
        event(json!({ "type": "message_stop" })),
        text("Again."),
        Step::Done("Again.".to_owned()),
    ]);
    let output = play.run(&["Hi"]);
    assert_eq!(utf8(&output.stdout), "Hello, world\nAgain.\n");
    let argv = play.stage.starts()[0].argv.clone();
    assert!(argv.iter().any(|arg| arg == "--include-partial-messages"), "{argv:?}");
}

#[test]
fn the_result_is_printed_byte_for_byte() {
    let line = r#"{ "is_error":false,"new":  [1, 2.50],"result":"caf\u00e9","subtype":"success","type":"result","session_id":"s","uuid":"r"}"#;
    let play = Play::turn([Step::Init, text("café"), Step::Line(line.to_owned())]);
    let output = play.run(&["Hi", "--output", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", utf8(&output.stderr));
    assert_eq!(utf8(&output.stdout), format!("{line}\n"));
}

#[test]
fn all_lines_are_printed_as_they_are() {
    let odd = r#"{"b":1,   "type":"something_new"}"#;
    let play = Play::turn([
        Step::Init,
        Step::Line(odd.to_owned()),
        Step::Line("no JSON at all".to_owned()),
        Step::Done("ok".to_owned()),
    ]);
    let output = play.run(&["Hi", "--output", "stream-json"]);
    assert_eq!(output.status.code(), Some(0), "{}", utf8(&output.stderr));
    let lines = utf8(&output.stdout);
    assert!(lines.lines().any(|line| line == odd), "{lines}");
    assert!(lines.lines().any(|line| line == "no JSON at all"), "{lines}");
    assert!(lines.lines().any(|line| line.contains(r#""type":"result""#)), "{lines}");
    // What comes after the result is there, too.
    assert!(lines.lines().last().unwrap().contains("completed"), "{lines}");
}

#[test]
fn each_tool_call_is_one_line_on_stderr() {
    let input = json!({ "command": "echo \u{1b}[2J\nls", "description": "x" });
    let (id, name) = ("toolu_1".to_owned(), "Bash".to_owned());
    let play = Play::turn([
        Step::Init,
        Step::ToolUse { id: id.clone(), name, input },
        Step::ToolResult { id, content: "no such file".to_owned(), is_error: true },
        text("It failed."),
        Step::Done("It failed.".to_owned()),
    ]);
    let output = play.run(&["Hi"]);
    let stderr = utf8(&output.stderr);
    assert_eq!(utf8(&output.stdout), "It failed.\n");
    assert!(stderr.contains("· Bash echo ␛[2J …\n"), "{stderr}");
    assert!(stderr.contains("✗  no such file\n"), "{stderr}");
}

#[test]
fn with_a_schema_stdout_is_the_value_alone() {
    let schema = r#"{"type":"object","properties":{"b":{},"a":{}}}"#;
    let value = json!({ "structured_output": { "n": 1 }, "result": "{\"n\":1}" });
    let play = Play::turn([Step::Init, text("Here it is."), result(value)]);
    let output = play.run(&["Hi", "--schema", schema]);
    assert_eq!(output.status.code(), Some(0), "{}", utf8(&output.stderr));
    assert_eq!(json(&output), json!({ "n": 1 }));
    let argv = play.stage.starts()[0].argv.join(" ");
    let sent = play.stage.host_lines().join("\n");
    assert!(argv.contains(schema) || sent.contains(schema), "{argv} {sent}");

    let play = Play::turn([Step::Init, text("I will not."), result(json!({}))]);
    let output = play.run(&["Hi", "--schema", schema]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(utf8(&output.stderr).contains("schema"), "{}", utf8(&output.stderr));
}

#[test]
fn options_reach_the_agent() {
    let play = Play::new(&Script::new());
    let id = "2b1f9c1e-0000-4000-8000-000000000000";
    let output = play.run(&[
        "Hi",
        "--model=sonnet",
        "--fallback-model=haiku",
        "--permission-mode=acceptEdits",
        "--allowed-tools=Read,Bash(git log *)",
        "--max-turns=3",
        "--max-budget-usd=1.5",
        "--append-system-prompt=Be brief",
        "--session-id",
        id,
        "--",
        "--workload=nightly",
        "--flag",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", utf8(&output.stderr));
    let start = &play.stage.starts()[0];
    let argv = &start.argv;
    for flag in [
        "--model=sonnet",
        "--fallback-model=haiku",
        "--permission-mode=acceptEdits",
        "--max-turns=3",
        "--max-budget-usd=1.5",
        "--workload=nightly",
        "--flag",
    ] {
        assert!(argv.iter().any(|arg| arg == flag), "{flag}: {argv:?}");
    }
    let all = argv.join("\n");
    assert!(all.contains("Bash(git log *)") && all.contains(id), "{all}");
    assert!(utf8(&output.stderr).contains(id));
}
