//! `duologue inspect`.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use duologue_agent::VERSION;
use duologue_testkit::recordings;
use serde_json::{Value, json};

use super::command::{duologue, recording, text};

/// The events of a recording.
fn events(name: &str, more: &[&str]) -> Vec<Value> {
    let output =
        duologue().args(["inspect", "--json"]).args(more).arg(recording(name)).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn named<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

/// Fields of an event, the others left out.
fn picked(event: &Value, names: &[&str]) -> Value {
    names.iter().map(|name| ((*name).to_owned(), event[*name].clone())).collect()
}

#[test]
fn the_fixed_names_and_fields() {
    let events = events("04-bash-allow.tape", &[]);
    let call = named(&events, "tool_call")[0];
    assert_eq!(
        picked(call, &["turn", "agent", "message_id", "id", "name"]),
        json!({ "turn": 1, "agent": null, "message_id": "msg_mock0001", "id": "toolu_04", "name": "Bash" })
    );
    assert_eq!(call["input"]["description"], "Create and list");
    let asked = named(&events, "permission_asked")[0];
    assert_eq!(asked["tool_use_id"], "toolu_04");
    assert_eq!(asked["tool_name"], "Bash");
    assert!(asked["input"]["command"].is_string());
    let resolved = named(&events, "permission_resolved")[0];
    assert_eq!(resolved["request_id"], asked["request_id"]);
    assert_eq!(resolved["behavior"], "allow");
    let result = named(&events, "tool_result")[0];
    assert_eq!(
        picked(result, &["tool_use_id", "is_error"]),
        json!({ "tool_use_id": "toolu_04", "is_error": false })
    );
    assert!(result["content"].is_string());
    assert_eq!(named(&events, "thinking")[0]["text"], "Need to create.");
    assert_eq!(named(&events, "text")[1]["text"], "Created made.txt.");
    let finished = named(&events, "turn_finished")[0];
    assert_eq!(
        picked(
            finished,
            &["outcome", "is_error", "subtype", "text", "cost_usd", "total_cost_usd", "num_turns"]
        ),
        json!({
            "outcome": "success", "is_error": false, "subtype": "success",
            "text": "Created made.txt.", "cost_usd": 0.001456, "total_cost_usd": 0.001456,
            "num_turns": 2,
        })
    );
    assert!(finished["usage"]["input_tokens"].is_u64() && finished["session_id"].is_string());
    assert!(events.iter().all(|event| event["t"].is_u64()), "a tape has times");
}

#[test]
fn deltas_only_on_request() {
    let name = "03-partial-messages.tape";
    assert!(named(&events(name, &[]), "text_delta").is_empty());
    let with = events(name, &["--deltas"]);
    let text: String =
        named(&with, "text_delta").iter().map(|delta| delta["text"].as_str().unwrap()).collect();
    let whole: String =
        named(&with, "text").iter().map(|text| text["text"].as_str().unwrap()).collect();
    assert_eq!(text, whole);
}

#[test]
fn outcomes_of_turns() {
    let outcomes = |name: &str| -> Vec<Value> {
        named(&events(name, &[]), "turn_finished")
            .iter()
            .map(|turn| turn["outcome"].clone())
            .collect()
    };
    assert_eq!(outcomes("13-interrupt-mid-stream.tape"), ["interrupted", "success"]);
    assert_eq!(outcomes("20b-api-400.tape")[0], "error");
    assert_eq!(outcomes("06-deny-interrupt.tape"), ["interrupted", "success"]);
    assert_eq!(outcomes("2.0.77/13-interrupt-mid-stream.tape")[0], "interrupted");
}

#[test]
fn every_recording_gives_a_timeline_without_escape_codes() {
    for recording in recordings() {
        let output = duologue().arg("inspect").arg(&recording.path).output().unwrap();
        // Two are of other output formats.
        let is_wire = !recording.name.starts_with("38-");
        let code = output.status.code();
        assert!(code == Some(0) || !is_wire, "{}: {}", recording.name, text(&output.stderr));
        assert!(!output.stdout.contains(&0x1b), "colours in a pipe: {}", recording.name);
    }
}

#[test]
fn a_timeline_shows_the_conversation() {
    let output =
        duologue().arg("inspect").arg(recording("16c-two-parallel-subagents.tape")).output();
    let story = text(&output.unwrap().stdout);
    for part in [
        &*format!("a tape of claude {VERSION}"),
        "prompt    Delegate twice",
        "── turn 1",
        "agent ▶   general-purpose (2): Second",
        "2│ Bash      touch b.txt",
        "2│ └ host    allow Bash",
        "general-purpose (1) completed: Sub A report: all fine.",
        "turn end  success $0.0044 · 24 in, 68 out",
        " turn  outcome          time  calls",
    ] {
        assert!(story.contains(part), "{part:?} is missing in\n{story}");
    }
}

#[test]
fn colours_only_on_request() {
    let tape = recording("01-plain-text.tape");
    let run = |name: &str, value: &str| {
        let output = duologue().env(name, value).arg("inspect").arg(&tape).output().unwrap();
        output.stdout.contains(&0x1b)
    };
    assert!(run("CLICOLOR_FORCE", "1"));
    assert!(!run("NO_COLOR", "1"));
}

#[test]
fn escape_sequences_on_a_tape_do_not_reach_the_terminal() {
    let evil = "\u{1b}[2J\u{1b}]52;c;aGk=\u{7}\r\u{8}";
    let lines = [
        json!({ "type": "assistant", "message": { "content": [
            { "type": "text", "text": evil },
            { "type": "tool_use", "id": "t", "name": evil, "input": { "command": evil } },
        ] } }),
        json!({ "type": evil }),
        json!({ "type": "result", "subtype": "success", "is_error": true, "result": evil }),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    for command in [&["inspect"][..], &["inspect", "--deltas", "--full"], &["check"]] {
        // With colours, so that nothing is stripped on its way out.
        let mut run = duologue();
        run.env("CLICOLOR_FORCE", "1").args(command).write_stdin(lines.as_str());
        let said = text(&run.output().unwrap().stdout);
        for part in ["\u{1b}[2J", "\u{1b}]52", "\u{7}", "\r", "\u{8}"] {
            assert!(!said.contains(part), "{command:?} let {part:?} through: {said:?}");
        }
        assert!(said.contains("␛[2J") || command == ["check"], "{said:?}");
    }
}

#[test]
fn long_and_torn_lines_are_events() {
    let lines = format!("{{\"type\":\"keep_alive\",\"x\":\"{}\"}}\n", "a".repeat(500));
    let mut command = duologue();
    let output = command.args(["inspect", "--json", "--max-line", "100"]).write_stdin(lines);
    let events = text(&output.output().unwrap().stdout);
    assert!(
        events.contains("\"event\":\"malformed_line\"") && events.contains("more than the cap"),
        "{events}"
    );

    let tape = "{\"tape\":1}\n{\"t\":1,\"dir\":\"err\",\"line\":\"oops\"}\n{\"t\":2,\"exit\":{\"code\":1}}\n{\"t\":3,\"no";
    let output = duologue().args(["inspect", "--json"]).write_stdin(tape).output().unwrap();
    let events = text(&output.stdout);
    for part in ["\"event\":\"stderr\"", "\"event\":\"process\"", "was cut off"] {
        assert!(events.contains(part), "{part}: {events}");
    }
}

#[test]
fn broken_files_are_reported_with_one_position_and_an_exit_code() {
    let broken = "{\"type\":\"keep_alive\"}\n\n{\"type\":\"assist\nplain text\n";
    let cases: [(&[u8], &[&str]); 2] = [
        (broken.as_bytes(), &["line 3, byte 15: field `type`", "line 4, byte 0: not JSON"]),
        (b"\x00\xff\xfe\n\x80", &["line 1, byte 1: not UTF-8", "line 2, byte 0: not UTF-8"]),
    ];
    for (bytes, parts) in cases {
        let output = duologue().arg("inspect").write_stdin(bytes).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let message = text(&output.stdout);
        for part in parts {
            assert!(message.contains(part), "{part:?} is missing in {message}");
        }
        assert!(!message.contains("(at byte"), "a second place: {message}");
        assert!(text(&output.stderr).contains("2 of"), "{}", text(&output.stderr));
    }
    // A tape that is broken in the middle.
    let tape =
        "{\"tape\":1}\n{\"t\":1,\"dir\":\"out\",\"line\":\"{}\"}\n{\"t\":2,\"dir\"\n{\"t\":3}\n";
    let output = duologue().arg("inspect").write_stdin(tape).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("line 3 of the tape") && !message.contains("line 1"), "{message}");
}

#[test]
fn a_file_without_lines_is_reported() {
    for empty in ["", "{\"tape\":1}\n"] {
        let output = duologue().arg("inspect").write_stdin(empty).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("there are no lines"), "{}", text(&output.stderr));
    }
}

/// The prompt of `claude -p` is in the arguments, not in a line.
#[test]
fn a_prompt_on_the_command_line_or_as_a_text_is_shown() {
    let header =
        |argv: &[&str]| json!({ "tape": 1, "program": "claude", "argv": argv }).to_string();
    let line = |dir: &str, line: &str| json!({ "t": 1, "dir": dir, "line": line }).to_string();
    let said = line("out", "{\"type\":\"keep_alive\"}");
    let tape =
        [header(&["node", "/x/cli.js", "-p", "--model", "opus", "fix <b>it</b>"]), said.clone()];
    let run = |tape: &[String], args: &[&str]| {
        let mut inspect = duologue();
        let output =
            inspect.arg("inspect").args(args).write_stdin(tape.join("\n") + "\n").output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(run(&tape, &[]).contains("prompt    fix <b>it</b>"));
    assert!(run(&tape, &["--html", "-"]).contains("fix \\u003cb\\u003eit"));
    // On stdin it is a text, not a malformed line.
    let close = json!({ "t": 2, "note": "stdin_close" }).to_string();
    let tape = [header(&["claude", "-p"]), line("in", "what is"), line("in", "this?"), close, said];
    let message = run(&tape, &["--full"]);
    assert!(message.contains("prompt    what is") && message.contains("this?"), "{message}");
    assert!(!message.contains("malformed"), "{message}");
}

#[test]
fn a_todo_list_is_a_checklist() {
    let todo = |content: &str, status: &str| json!({ "content": content, "status": status });
    let line = json!({ "type": "assistant", "message": { "id": "m", "content": [
        { "type": "tool_use", "id": "t", "name": "TodoWrite", "input": { "todos": [
            todo("read\n☒ lie", "completed"), todo("write", "in_progress"), todo("test", "pending"),
        ] } } ] } });
    let output = duologue().arg("inspect").write_stdin(format!("{line}\n")).output().unwrap();
    let message = text(&output.stdout);
    for part in ["TodoWrite ☒ read⏎☒ lie", "▸ write", "☐ test"] {
        assert!(message.contains(part), "{part} is missing in {message}");
    }
}

/// A user who forgets the file gets a hint.
#[test]
fn reading_from_a_terminal_prints_a_hint() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    for command in ["inspect", "check"] {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let theirs = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("duologue"))
            .arg(command)
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut message = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut message).unwrap();
        assert!(message.contains("Ctrl-D") && message.contains("name a file"), "{message}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn stdin_is_read_too() {
    let lines = "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]}}\n";
    let output = duologue().args(["inspect", "--json", "-"]).write_stdin(lines).output().unwrap();
    assert!(text(&output.stdout).contains("\"event\":\"text\""));
}

#[test]
fn a_growing_file_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.ndjson");
    fs::write(&path, "").unwrap();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("duologue"))
        .args(["inspect", "--json", "--follow"])
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    for number in 0..3 {
        // In two pieces: half a line must not be taken for one.
        write!(file, "{{\"type\":\"error\",\"error\":{{\"type\":\"e\",").unwrap();
        file.flush().unwrap();
        writeln!(file, "\"message\":\"{number}\"}}}}").unwrap();
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let event: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(event["message"], number.to_string());
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_page_needs_no_network_and_holds_what_happened() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let tape = recording("28-unicode.tape");
    let output = duologue().arg("inspect").arg(&tape).arg("--html").arg(&page).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty());
    let html = fs::read_to_string(&page).unwrap();
    for outside in ["src=", "href=", "@import", "url(", "fetch("] {
        assert!(!html.contains(outside), "{outside}");
    }
    // The events are embedded as JSON that no text can break out of.
    let data = html.split_once("id=\"events-data\">").unwrap().1.split_once("</script>").unwrap().0;
    let in_page: Vec<Value> = serde_json::from_str(data).unwrap();
    assert!(in_page.iter().any(|event| event["event"] == "turn_finished"));
    assert!(!data.contains('<'));

    let nowhere = folder.path().join("no/such/folder/page.html");
    let output = duologue().arg("inspect").arg(&tape).arg("--html").arg(&nowhere).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("could not write"));
}

#[test]
fn the_schema_of_events_holds() {
    let output = duologue().args(["schema", "--events"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for name in ["16c-two-parallel-subagents.tape", "09-ask-user-question-single.tape"] {
        for event in events(name, &["--deltas"]) {
            assert!(validator.is_valid(&event), "{event}");
        }
    }
    assert!(!validator.is_valid(&json!({ "event": "text", "text": 7 })));
}
