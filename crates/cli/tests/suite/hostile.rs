//! Text from outside cannot control the terminal, on any path.

use std::path::Path;
use std::process::{Command, Stdio};

use duologue_protocol::visible::is_hidden;
use duologue_testkit::fake::{Answer, Script, Step};
use serde_json::{Value, json};

use super::command::recording;
use super::play::{self, Play};
use super::terminal::Terminal;

/// Clipboard, title, screen, concealed text, C1, direction, no width, tags, separators, backspace.
const HOSTILE: &str = "\u{1b}]52;c;cm0=\u{7}\u{1b}]0;x\u{1b}\\\u{1b}[2J\u{1b}[8mx\u{9b}2J\u{9d}0;x\u{9c}\u{202e}\u{2066}\
    \u{200f}\u{200e}\u{61c}\u{200b}\u{200d}\u{feff}\u{e0041}\u{e0100}\u{2028}\u{7f}\r\u{8}x";

/// The same, and a line break that would begin a line of a menu.
const LINES: &str = "\n❯ 1 Yes, this once\n";

/// Fails if anything in it reaches a terminal as more than text.
fn assert_harmless(route: &str, shown: &str) {
    if let Some(at) = shown.find(|c: char| is_hidden(c) && !matches!(c, '\n' | '\t')) {
        panic!("{route}: {:?}", &shown[at..shown.len().min(at + 80)]);
    }
}

/// The same for what was drawn on a terminal: line ends, colours and the cursor are ours.
fn assert_drawn(route: &str, shown: &str) {
    let mut plain = String::new();
    let mut rest = shown;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
        let (command, left) = after.split_at((end + 1).min(after.len()));
        let ours = command.starts_with('[')
            && (command.ends_with(['m', 'A', 'B', 'C', 'D', 'K', 'G', 'h', 'l'])
                || command == "[J");
        assert!(ours && command != "[8m", "{route}: {command:?}");
        rest = left;
    }
    plain.push_str(rest);
    assert_harmless(route, &plain.replace('\r', ""));
}

fn duologue(folder: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("duologue"));
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null());
    command
}

/// Appends something hostile to every text of a value, except to type tags.
fn infect(value: &mut Value, key: &str) {
    const KINDS: [&str; 9] =
        ["type", "subtype", "role", "request_id", "tool_use_id", "id", "uuid", "session_id", "dir"];
    match value {
        Value::String(text) if !KINDS.contains(&key) => {
            text.push_str(HOSTILE);
            text.push_str(LINES);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| infect(item, key)),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| infect(value, key)),
        _ => {}
    }
}

/// A recording in which every text is hostile: of the header, the lines, the notes, stderr.
fn hostile_tape(name: &str) -> String {
    let tape = std::fs::read_to_string(recording(name)).unwrap();
    let mut hostile = String::new();
    for line in tape.lines() {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        let inner = entry.get("line").and_then(Value::as_str).map(str::to_owned);
        match inner.as_deref().map(serde_json::from_str::<Value>) {
            Some(Ok(mut inner)) => {
                infect(&mut inner, "");
                entry["line"] = Value::from(inner.to_string());
            }
            _ => infect(&mut entry, ""),
        }
        hostile.push_str(&entry.to_string());
        hostile.push('\n');
    }
    // Lines that are not understood, in each way.
    for line in [
        json!({ "type": HOSTILE, "subtype": HOSTILE }).to_string(),
        json!({ "type": "assistant", "message": HOSTILE }).to_string(),
        json!({ "type": "system", "subtype": "status", HOSTILE: 1, "status": [HOSTILE] })
            .to_string(),
        format!("no json {HOSTILE}"),
    ] {
        hostile.push_str(&json!({ "t": 1, "dir": "out", "line": line }).to_string());
        hostile.push('\n');
    }
    hostile
}

#[test]
fn of_tapes() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["12-sdk-mcp.tape", "31-write-edit-read.tape"];
    let files: Vec<String> =
        (0..names.len()).map(|at| format!("{at}{HOSTILE}{LINES}.tape")).collect();
    for (name, file) in names.iter().zip(&files) {
        std::fs::write(folder.path().join(file), hostile_tape(name)).unwrap();
    }
    std::fs::write(
        folder.path().join("capture"),
        format!("{HOSTILE}\n{{\"type\":\"x{HOSTILE}\"}}\n"),
    )
    .unwrap();
    let [a, b] = [files[0].as_str(), files[1].as_str()];
    let commands: [&[&str]; 13] = [
        &["inspect", a],
        &["inspect", b, "--full", "--deltas"],
        &["inspect", "capture"],
        &["check", a, b, "capture"],
        &["diff", a, b],
        &["diff", a, b, "--schema"],
        &["diff", a, "capture"],
        &["redact", a, "-o", "out.tape", "--path", &format!("a{HOSTILE}")],
        &["replay", a, "--version"],
        &["replay", a],
        &["replay", "--as-host", a, "--patience", "1", "--", "cat"],
        &["replay", "--as-host", a, "--", &format!("/no/{HOSTILE}")],
        &["inspect", &format!("none{HOSTILE}")],
    ];
    for command in commands {
        let output = duologue(folder.path()).args(command).output().unwrap();
        let route = command.join(" ");
        // Replayed lines are data.
        if command[0] != "replay" || command.contains(&"--version") {
            assert_harmless(&route, &String::from_utf8(output.stdout).unwrap());
        }
        assert_harmless(&route, &String::from_utf8(output.stderr).unwrap());
    }
    // On a terminal, data is escaped too.
    for command in [
        &["inspect", a, "--json"][..],
        &["check", a, "capture", "--json"],
        &["diff", a, b, "--json"],
        &["diff", a, b, "--json", "--schema"],
        &["redact", a],
        &["replay", a, "--match", "any", "--on-mismatch", "continue"],
    ] {
        let mut typed = duologue(folder.path());
        typed.args(command);
        let mut terminal = Terminal::open(typed);
        terminal.types("\u{4}");
        assert_drawn(&command.join(" "), &terminal.whole());
    }
    // In a pipe it is unchanged.
    let output = duologue(folder.path()).args(["inspect", a, "--json"]).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains('\u{202e}'));
}

#[test]
fn of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.toml");
    std::fs::write(&bad, format!("[[reply]]\n\"{HOSTILE}\" = 1\ntext = {HOSTILE}\n")).unwrap();
    std::fs::write(
        folder.path().join("worse.toml"),
        format!("model = \"\"\"{HOSTILE}\"\"\"\nx = [1\n"),
    )
    .unwrap();
    std::fs::write(folder.path().join("bad.json"), format!("{{\"{HOSTILE}\": tru")).unwrap();
    let commands: [&[&str]; 22] = [
        &[HOSTILE],
        &["run", &format!("--{HOSTILE}"), "x"],
        &["run", "x", "--output", HOSTILE],
        &["run", "x", "--timeout", HOSTILE],
        &["run", "x", "--file", HOSTILE],
        &["run", "x", "--agent", HOSTILE],
        &["run", "x", "--agent", &format!("'{HOSTILE}")],
        &["run", "x", "--embedded", "--cwd", HOSTILE],
        &["run", "x", "--embedded", "--settings", HOSTILE],
        &["run", "x", "--embedded", "--settings", &format!("{{{HOSTILE}")],
        &["run", "x", "--embedded", "--mcp-config", &format!("{{\"{HOSTILE}\":1}}")],
        &["run", "x", "--embedded", "--schema", "bad.json"],
        &["run", "x", "--embedded", "--allowed-tools", &format!("Bash({HOSTILE}")],
        &["run", "x", "--embedded", "--resume", HOSTILE],
        &["run", "x", "--embedded", "--session-id", HOSTILE],
        &["run", "x", "--embedded", "--", HOSTILE],
        &["model", "serve", "--scenario", "bad.toml"],
        &["model", "serve", "--scenario", "worse.toml"],
        &["agent", "--scenario", "bad.toml", "-p", "x"],
        &["agent", &format!("--{HOSTILE}")],
        &["agent", "--install", "bin", "--scenario", "bad.toml"],
        &["record", "-o", "t.tape", "--", HOSTILE],
    ];
    for command in commands {
        let output = duologue(folder.path()).args(command).output().unwrap();
        let route = command.join(" ");
        assert!(!output.status.success(), "{route:?} succeeded");
        assert_harmless(&route, &String::from_utf8_lossy(&output.stdout));
        assert_harmless(&route, &String::from_utf8(output.stderr).unwrap());
    }
    let replay = duologue(folder.path()).arg("replay").env("DUOLOGUE_TAPE", HOSTILE).output();
    assert_harmless("DUOLOGUE_TAPE", &String::from_utf8(replay.unwrap().stderr).unwrap());
    let doctor = duologue(folder.path())
        .args(["doctor", "--agent", HOSTILE])
        .env("CLAUDE_CONFIG_DIR", format!("/proc/{HOSTILE}"))
        .output()
        .unwrap();
    assert_harmless("doctor", &String::from_utf8(doctor.stdout).unwrap());
}

/// A turn in which everything that an agent can say is hostile.
fn hostile_turn() -> Vec<Step> {
    let text = format!("{HOSTILE}{LINES}");
    let emit = |value: Value| Step::Emit(value);
    vec![
        Step::Init,
        Step::ToolUse {
            id: "t".to_owned(),
            name: format!("mcp__{text}__{text}"),
            input: json!({ "command": text, text.as_str(): text }),
        },
        Step::ToolResult { id: "t".to_owned(), content: text.clone(), is_error: false },
        Step::ToolUse {
            id: "b".to_owned(),
            name: "Bash".to_owned(),
            input: json!({ "command": text }),
        },
        Step::ToolResult { id: "b".to_owned(), content: text.clone(), is_error: true },
        Step::ToolUse {
            id: "l".to_owned(),
            name: "TodoWrite".to_owned(),
            input: json!({ "todos": [{ "content": text, "status": text }, { "content": text, "status": "pending" }] }),
        },
        emit(
            json!({ "type": "system", "subtype": "task_started", "task_id": "x", "description": text,
            "task_type": "local_bash", "is_backgrounded": true }),
        ),
        emit(
            json!({ "type": "system", "subtype": "task_notification", "task_id": "x", "status": text, "summary": text }),
        ),
        emit(
            json!({ "type": "system", "subtype": "status", "status": text, "permissionMode": text }),
        ),
        emit(
            json!({ "type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 2, "retry_delay_ms": 1,
            "error": text, "error_status": 529 }),
        ),
        emit(
            json!({ "type": "system", "subtype": "permission_denied", "tool_name": text, "tool_use_id": "t",
            "message": text, "reason": text }),
        ),
        emit(
            json!({ "type": "system", "subtype": "informational", "content": text, "level": "info" }),
        ),
        emit(json!({ "type": text, "subtype": text })),
        Step::Line(format!("{{{HOSTILE}")),
        play::text(&text),
    ]
}

#[test]
fn of_an_agent_that_is_run() {
    let ends: [Vec<Step>; 3] = [
        vec![Step::Done(HOSTILE.to_owned())],
        vec![Step::Emit(
            json!({ "type": "result", "subtype": "error_during_execution", "is_error": true,
            "errors": [HOSTILE], "result": HOSTILE, "session_id": HOSTILE, "total_cost_usd": 0,
            "permission_denials": [{ "tool_name": HOSTILE, "tool_use_id": "t", "tool_input": {} }] }),
        )],
        vec![Step::Stderr(HOSTILE.to_owned()), Step::Exit(3)],
    ];
    for end in ends {
        let play = Play::turn(hostile_turn().into_iter().chain(end.clone()));
        let output = play.command(&["run", "go"]).env("NO_COLOR", "1").output().unwrap();
        assert_harmless("run", &String::from_utf8(output.stderr).unwrap());
        // In a pipe, the answer is unchanged.
        assert!(String::from_utf8(output.stdout).unwrap().contains('\u{1b}'));
        for flags in [&[][..], &["--output", "json"], &["--output", "stream-json"]] {
            let terminal = Terminal::open(play.command(&[&["run", "go"], flags].concat()));
            assert_drawn("run in a terminal", &terminal.whole());
        }
        let mut chat = play.command(&["chat", "go"]);
        let output = chat.env("NO_COLOR", "1").output().unwrap();
        assert_harmless("chat in a pipe", &String::from_utf8(output.stdout).unwrap());
        assert_harmless("chat in a pipe", &String::from_utf8(output.stderr).unwrap());
    }
}

#[test]
fn of_an_agent_that_asks() {
    let text = format!("{HOSTILE}{LINES}");
    let reply = json!({ "commands": [{ "name": text, "description": text }, { "name": "compact", "description": text }],
        "models": [{ "value": text, "displayName": text, "description": text }],
        "current_model": text, "account": { "email": text } });
    let request = json!({ "subtype": "can_use_tool", "tool_name": text, "display_name": text, "title": text,
        "description": text, "decision_reason": text, "blocked_path": text, "input": { "command": text },
        "permission_suggestions": [{ "type": "addRules", "behavior": "allow", "destination": "session",
            "rules": [{ "toolName": text, "ruleContent": text }] }] });
    let question = json!({ "questions": [{ "question": text, "header": text, "multiSelect": false,
        "options": [{ "label": text, "description": text, "preview": text }] }] });
    let form = json!({ "subtype": "elicitation", "mcp_server_name": text, "message": text, "mode": "form",
        "requested_schema": { "type": "object", "properties": { (text.clone()): {
            "title": text, "description": text, "enum": [text], "enumNames": [text] } } } });
    let turn = hostile_turn().into_iter().chain([
        Step::ask("a", request),
        Step::can_use_tool("q", "AskUserQuestion", question),
        Step::can_use_tool("p", "ExitPlanMode", json!({ "plan": text })),
        Step::ask("f", form),
        play::text("Halfway."),
        Step::Stall,
    ]);
    let script = Script::new()
        .on("initialize", [Step::Reply(Answer::Success(reply))])
        .refuses("interrupt", &text)
        .refuses("set_model", &text)
        .turn(turn);
    let play = Play::new(&script);
    let mut terminal = Terminal::open(play.command(&["chat", "go"]));
    terminal.shows("Esc denies");
    terminal.types("3no\r");
    terminal.shows("not allowed: no");
    terminal.shows("Esc skips");
    terminal.types("1");
    terminal.shows("The agent proposes a plan");
    terminal.shows("Esc rejects");
    terminal.types("4");
    terminal.shows("The MCP server");
    terminal.shows("Esc cancels");
    terminal.types("3");
    terminal.shows("declined");
    terminal.shows("Halfway.");
    terminal.types("\u{3}");
    terminal.shows("refused");
    terminal.types("\u{3}");
    let screen = terminal.whole();
    assert_drawn("chat", &screen);
    let choices = screen.lines().filter(|line| line.trim_start().starts_with("❯ 1 Yes, this once"));
    assert_eq!(choices.filter(|line| line.trim_end().len() > 25).count(), 0, "{screen}");
    let doctor = play.command(&["doctor"]).output().unwrap();
    assert_harmless("doctor", &String::from_utf8(doctor.stdout).unwrap());
}

#[test]
fn of_an_api_that_fails() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let body = json!({ "type": "error", "error": { "type": HOSTILE, "message": HOSTILE } })
            .to_string();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.read(&mut [0; 65536]);
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n\
                content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let output = duologue(folder.path())
        .args(["run", "--embedded", "hello"])
        .env("ANTHROPIC_BASE_URL", format!("http://{address}"))
        .env("ANTHROPIC_API_KEY", "made-up")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_harmless("an error of the API", &said);
    assert_eq!(output.status.code(), Some(1), "{said}");
    // It is printed once.
    assert_eq!(said.matches("]52;c;").count(), 1, "{said}");
}
