//! `duologue agent` and `duologue model`, as processes.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};

use assert_cmd::Command;
use duologue_agent::VERSION;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::command::{duologue, text};

/// A folder to work in, apart from everything else.
fn place() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn agent(place: &Path) -> Command {
    let mut command = duologue();
    for name in
        ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "DUOLOGUE_SCENARIO"]
    {
        command.env_remove(name);
    }
    command.current_dir(place).env("CLAUDE_CONFIG_DIR", place.join("config"));
    command.env("HOME", place);
    command
}

fn scenario(place: &Path, replies: Value) -> String {
    let path = place.join("scenario.json");
    std::fs::write(&path, json!({ "replies": replies }).to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// One prompt, answered with JSON.
fn ask(place: &Path, replies: Value, args: &[&str]) -> (Value, Output) {
    let path = scenario(place, replies);
    let output = agent(place)
        .args(["agent", "-p", "hello", "--output-format=json", "--scenario", &path])
        .args(args)
        .output()
        .unwrap();
    (serde_json::from_slice(&output.stdout).unwrap_or(Value::Null), output)
}

#[test]
fn the_version_is_the_one_that_hosts_expect_and_names_the_agent() {
    let output = duologue().args(["agent", "-v"]).output().unwrap();
    let message = text(&output.stdout);
    assert!(message.starts_with(&format!("{VERSION} (embedded agent of duologue ")), "{message}");
    assert!(!message.contains("Claude"), "{message}");
}

#[test]
fn an_unknown_flag_is_refused() {
    let output = duologue().args(["agent", "--frobnicate"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "error: unknown option '--frobnicate'\n");
}

#[test]
fn text_is_printed_and_a_note_names_the_agent() {
    let place = place();
    std::fs::write(place.path().join("a.txt"), "alpha").unwrap();
    let output = agent(place.path()).args(["agent", "-p", "read a.txt"]).output().unwrap();
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("alpha"));
    assert!(text(&output.stderr).contains("No model is connected"));
}

#[test]
fn conversations_are_resumed_forked_and_continued() {
    let place = place();
    let at = place.path();
    let id = "11111111-2222-4333-8444-555555555555";
    let (first, _) = ask(at, json!([{ "say": "Noted." }]), &["--session-id", id]);
    assert_eq!((&first["session_id"], &first["result"]), (&json!(id), &json!("Noted.")));

    let (_, output) = ask(at, json!([{ "say": "x" }]), &["--session-id", id]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), format!("Error: Session ID {id} is already in use.\n"));

    let remembers = json!([{ "say": "I know.", "when": { "history": "Noted." } }]);
    let (resumed, _) = ask(at, remembers.clone(), &["--resume", id]);
    assert_eq!((&resumed["session_id"], &resumed["result"]), (&json!(id), &json!("I know.")));
    let (forked, _) = ask(at, remembers.clone(), &[&format!("--resume={id}"), "--fork-session"]);
    assert_eq!(forked["result"], "I know.");
    assert_ne!(forked["session_id"], id);
    let (newest, _) = ask(at, remembers.clone(), &["--continue"]);
    assert_eq!(
        (&newest["session_id"], &newest["result"]),
        (&forked["session_id"], &json!("I know."))
    );

    let unknown = "99999999-2222-4333-8444-555555555555";
    let (result, output) = ask(at, remembers, &["--resume", unknown]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(result["subtype"], "error_during_execution");
}

#[test]
fn a_resumed_conversation_keeps_its_cost() {
    let place = place();
    let at = place.path();
    let id = "11111111-2222-4333-8444-555555555555";
    let cost = |result: &Value| result["total_cost_usd"].as_f64().unwrap();
    let says = json!([{ "say": "Noted.", "times": "always" }]);
    let (first, _) = ask(at, says.clone(), &["--session-id", id]);
    assert!(cost(&first) > 0.0, "{first}");
    // Earlier costs count in the total, but not in the budget of this run.
    let budget = (cost(&first) * 1.5).to_string();
    let (second, _) = ask(at, says.clone(), &["--resume", id, "--max-budget-usd", &budget]);
    assert_eq!(second["subtype"], "success", "{second}");
    assert!((cost(&second) - 2.0 * cost(&first)).abs() < 1e-9, "{second}");
    let models = |result: &Value| {
        result["modelUsage"].as_object().unwrap().values().next().unwrap()["inputTokens"].clone()
    };
    assert_eq!(models(&second).as_u64(), models(&first).as_u64().map(|tokens| 2 * tokens));
    let (fork, _) = ask(at, says, &["--resume", id, "--fork-session"]);
    assert!((cost(&fork) - 3.0 * cost(&first)).abs() < 1e-9, "{fork}");
}

/// The lines that an agent writes for this input.
fn lines(place: &Path, args: &[&str], stdin: &[Value]) -> (Vec<Value>, Output) {
    let stdin: String = stdin.iter().map(|line| format!("{line}\n")).collect();
    let output = agent(place)
        .args(["agent", "--input-format=stream-json", "--output-format=stream-json", "--verbose"])
        .args(args)
        .write_stdin(stdin)
        .output()
        .unwrap();
    let lines =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (lines, output)
}

fn prompt(text: &str, uuid: &str) -> Value {
    json!({ "type": "user", "uuid": uuid, "message": { "role": "user", "content": text } })
}

#[test]
fn a_conversation_can_be_resumed_at_any_message() {
    let place = place();
    let at = place.path();
    let id = "11111111-2222-4333-8444-555555555555";
    let second = "21111111-2222-4333-8444-555555555555";
    let path = scenario(
        at,
        json!([
            { "say": "Both.", "when": { "history": "Two." } },
            { "say": "One.", "when": { "prompt": "first" } },
            { "say": "Two.", "when": { "prompt": "second" } },
            { "say": "Only one.", "times": "always" },
        ]),
    );
    let scenario = ["--scenario", &path];
    let (said, _) = lines(
        at,
        &[&scenario[..], &["--session-id", id]].concat(),
        &[prompt("first", "31111111-2222-4333-8444-555555555555")],
    );
    let seen = said.iter().find(|line| line["type"] == "assistant").unwrap();
    let seen = seen["uuid"].as_str().unwrap().to_owned();
    let resume = ["--resume", id];
    lines(at, &[&scenario[..], &resume].concat(), &[prompt("second", second)]);

    let result = |args: &[&str]| {
        let all = [&scenario[..], &resume, args].concat();
        let next = prompt("next", "41111111-2222-4333-8444-555555555555");
        let (lines, output) = lines(at, &all, &[next]);
        let last = lines.iter().rfind(|line| line["type"] == "result");
        (last.cloned().unwrap_or_default(), output)
    };
    let (last, _) = result(&["--fork-session"]);
    assert_eq!(last["result"], "Both.");
    let here = format!("--resume-session-at={seen}");
    let (last, _) = result(&[&here, "--fork-session", &format!("--resume-drops-turn={second}")]);
    assert_eq!(last["result"], "Only one.");
    let (last, output) = result(&[&here, "--resume-drops-turn=another"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(last["errors"][0].as_str().unwrap().contains(second), "{last}");
    let (last, output) = result(&["--resume-session-at=nowhere"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(last["errors"][0], "No message found with message.uuid of: nowhere");
    let (last, _) = result(&[&here]);
    assert_eq!(last["result"], "Only one.");
    // Messages after the resumed one are gone.
    let (last, _) = result(&[]);
    assert_eq!(last["result"], "Only one.");
}

#[test]
fn with_await_initialize_the_handshake_must_come_first() {
    let place = place();
    let path = scenario(place.path(), json!([{ "say": "Hello." }]));
    let args = ["--scenario", &path, "--await-initialize"];
    let go = prompt("go", "31111111-2222-4333-8444-555555555555");
    let (said, output) = lines(place.path(), &args, std::slice::from_ref(&go));
    assert_eq!((said.len(), output.status.code()), (0, Some(1)));
    assert!(text(&output.stderr).contains("requires the initialize control request"));
    let hello = json!({ "type": "control_request", "request_id": "1", "request": { "subtype": "initialize" } });
    let (said, output) = lines(place.path(), &args, &[hello, go]);
    assert!(said.iter().any(|line| line["result"] == "Hello."));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn session_mirror_sends_what_is_stored() {
    let place = place();
    let path = scenario(place.path(), json!([{ "say": "One." }, { "say": "Two." }]));
    let uuid = "31111111-2222-4333-8444-555555555555";
    let (lines, _) = lines(
        place.path(),
        &["--scenario", &path, "--session-mirror"],
        &[prompt("first", uuid), prompt("second", "41111111-2222-4333-8444-555555555555")],
    );
    let mirrors: Vec<&Value> =
        lines.iter().filter(|line| line["type"] == "transcript_mirror").collect();
    let shown: Vec<Value> =
        mirrors.iter().flat_map(|line| line["entries"].as_array().unwrap().clone()).collect();
    let file = std::fs::read_to_string(mirrors[0]["filePath"].as_str().unwrap()).unwrap();
    let written: Vec<Value> =
        file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(shown, written);
    assert_eq!(written[0]["uuid"], uuid);
}

#[test]
fn the_main_agent_can_be_another_kind() {
    let place = place();
    let agents = json!({ "reviewer": {
        "description": "Reviews.", "prompt": "You are a reviewer.", "tools": ["Read", "Grep"],
        "model": "haiku",
    } });
    let path = place.path().join("parts.json");
    let parts = json!({
        "agents": { "reviewer": { "system": "You are a reviewer." } },
        "replies": [{ "agent": "reviewer", "say": "I review.", "times": "always" }],
    });
    std::fs::write(&path, parts.to_string()).unwrap();
    let path = path.to_str().unwrap();
    let flags = ["--scenario", path, "--agent", "reviewer"];
    let uuid = "31111111-2222-4333-8444-555555555555";
    let given = agents.to_string();
    let (message, _) =
        lines(place.path(), &[&flags[..], &["--agents", &given]].concat(), &[prompt("go", uuid)]);
    let init = message.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["tools"], json!(["Grep", "Read"]));
    assert_eq!(init["model"], "claude-haiku-5-5");
    let result = message.iter().find(|line| line["type"] == "result").unwrap();
    assert_eq!(result["result"], "I review.");
    // The host can define the agent in the handshake.
    let hello = json!({ "subtype": "initialize", "agents": agents, "systemPrompt": [""] });
    let hello = json!({ "type": "control_request", "request_id": "1", "request": hello });
    let (message, _) = lines(place.path(), &flags, &[hello, prompt("go", uuid)]);
    let result = message.iter().find(|line| line["type"] == "result").unwrap();
    assert_eq!(result["result"], "I review.");
    let init = message.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(
        (&init["tools"], &init["model"]),
        (&json!(["Grep", "Read"]), &json!("claude-haiku-5-5"))
    );
}

#[test]
fn contradictory_flags_are_refused_like_the_cli_does() {
    let place = place();
    for (flag, value, message) in [
        ("--max-budget-usd", "-1", "must be a positive number greater than 0"),
        ("--max-turns", "x", "must be a number"),
        ("--max-thinking-tokens", "x", "must be a number"),
        ("--task-budget", "0", "must be a positive integer"),
        ("--thinking", "nope", "Allowed choices are enabled, adaptive, disabled."),
        ("--settings", "nowhere.json", "Error: Settings file not found: "),
        ("--settings", "{bad", "Error: Invalid settings: "),
    ] {
        let (_, output) = ask(place.path(), json!([{ "say": "x" }]), &[flag, value]);
        assert_eq!(output.status.code(), Some(1), "{flag} {value}");
        assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
    }
    let (result, output) =
        ask(place.path(), json!([{ "say": "x" }]), &["--max-turns", "0", "--effort", "nope"]);
    assert_eq!(result["result"], "x");
    assert!(text(&output.stderr).contains("Warning: Unknown --effort value 'nope'"));
}

#[test]
fn stream_json_without_verbose_is_refused() {
    let output =
        duologue().args(["agent", "-p", "x", "--output-format", "stream-json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("requires --verbose"));
}

#[test]
fn faults_happen_on_purpose() {
    let place = place();
    let path = scenario(place.path(), json!([{ "say": "Hello." }]));
    let output = agent(place.path())
        .args(["agent", "--input-format=stream-json", "--output-format=stream-json", "--verbose"])
        .args(["--fault", "die@2", "--scenario", &path])
        .write_stdin("{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n")
        .output()
        .unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert!(!text(&output.stdout).contains("\"result\""));
}

#[test]
fn a_scenario_sets_a_fault_and_the_flag_overrides_it() {
    let place = place();
    let path = place.path().join("faulty.toml");
    std::fs::write(&path, "fault = \"garbage@1\"\n[[replies]]\nsay = \"Hello.\"\n").unwrap();
    let message = |args: &[&str]| {
        let output = agent(place.path())
            .args(["agent", "--input-format=stream-json", "--output-format=stream-json"])
            .args(["--verbose", "--scenario"])
            .arg(&path)
            .args(args)
            .write_stdin("{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n")
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(message(&[]).contains("this is {no message"));
    let split = message(&["--fault", "split"]);
    assert!(split.contains("Hello.") && !split.contains("no message"), "{split}");
    std::fs::write(&path, "fault = \"burn\"\n[[replies]]\nsay = \"Hello.\"\n").unwrap();
    assert_eq!(message(&[]), "");
    let output = agent(place.path())
        .args(["agent", "-p", "say hello"])
        .env("DUOLOGUE_FAULT", "burn")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no such fault: burn"));
}

#[test]
fn it_is_installed_as_claude() {
    let place = place();
    let output = agent(place.path()).args(["agent", "--install", "bin"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let claude = place.path().join("bin/claude");
    let output = std::process::Command::new(&claude).arg("--version").output().unwrap();
    assert!(text(&output.stdout).starts_with(&format!("{VERSION} (embedded agent")));
    let doctor = ["doctor", "--agent", claude.to_str().unwrap()];
    let output = agent(place.path()).args(doctor).output().unwrap();
    let report = text(&output.stdout);
    assert!(report.contains(&format!("embedded agent, behaves as {VERSION}")), "{report}");
}

#[test]
fn it_is_installed_with_flags() {
    let place = place();
    std::fs::write(place.path().join("it's.toml"), "[[replies]]\nsay = \"Hello.\"\n").unwrap();
    for scenario in [&["--scenario", "it's.toml"][..], &["--scenario=it's.toml"]] {
        let install = ["agent", "--install=bin", "--append-system-prompt", "a $b"];
        let output = agent(place.path()).args(install).args(scenario).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        // It finds its scenario from any working directory.
        let elsewhere = tempfile::tempdir().unwrap();
        let output = std::process::Command::new(place.path().join("bin/claude"))
            .args(["-p", "hi"])
            .current_dir(elsewhere.path())
            .env("CLAUDE_CONFIG_DIR", elsewhere.path())
            .output()
            .unwrap();
        assert_eq!(text(&output.stdout), "Hello.\n", "{}", text(&output.stderr));
    }
}

#[test]
fn an_invalid_installation_is_refused() {
    let place = place();
    for flags in [["--bogus", "x"], ["--scenario", "none.toml"], ["--max-turns", "many"]] {
        let command = [&["agent", "--install", "bin"], &flags[..]].concat();
        let output = agent(place.path()).args(command).output().unwrap();
        assert!(!output.status.success(), "{flags:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{flags:?}");
        assert!(!place.path().join("bin/claude").exists(), "{flags:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let place = place();
    let full = |args: &[&str]| {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("duologue"));
        let command = command.args(args).current_dir(place.path()).env_clear();
        command.env("CLAUDE_CONFIG_DIR", place.path()).stdout(full).output().unwrap()
    };
    for format in ["text", "json"] {
        let output = full(&["agent", "-p", "say hi", "--output-format", format]);
        assert_eq!(output.status.code(), Some(1), "{format}");
        assert!(text(&output.stderr).contains("stdout"), "{}", text(&output.stderr));
    }
    let output = full(&["schema"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("the output could not be written"));
}

#[test]
fn run_uses_it_without_claude_and_prints_a_note() {
    let place = place();
    std::fs::write(place.path().join("a.txt"), "alpha").unwrap();
    let output = agent(place.path())
        .env("PATH", "/usr/bin:/bin")
        .args(["run", "read a.txt"])
        .output()
        .unwrap();
    let (said, message) = (text(&output.stdout), text(&output.stderr));
    assert!(said.contains("alpha"), "{said}{message}");
    assert!(message.contains("using the embedded agent"), "{message}");
    // No terminal, no model and no --embedded: a script must not continue.
    assert_eq!(output.status.code(), Some(5), "{message}");
    assert!(message.contains("--embedded"), "{message}");
    for args in [&["run", "--embedded", "read a.txt"][..], &["chat", "--embedded", "read a.txt"]] {
        let output = agent(place.path()).args(args).output().unwrap();
        let (said, message) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success() && said.contains("alpha"), "{said}{message}");
        assert!(!message.contains("not installed"), "{message}");
    }
    let output = agent(place.path())
        .env("PATH", "/usr/bin:/bin")
        .args(["chat", "read a.txt"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
}

#[test]
fn a_scenario_is_served_over_http() {
    let place = place();
    let path = scenario(place.path(), json!([{ "say": "Hello from afar." }]));
    let mut server = std::process::Command::new(assert_cmd::cargo::cargo_bin("duologue"))
        .args(["model", "serve", "--log", "--scenario", &path])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let output = agent(place.path())
        .env("ANTHROPIC_BASE_URL", ready["base_url"].as_str().unwrap())
        .env("ANTHROPIC_API_KEY", "any")
        .args(["agent", "-p", "hello"])
        .output()
        .unwrap();
    let mut log = String::new();
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut log).unwrap();
    let log: Value = serde_json::from_str(&log).unwrap();
    assert_eq!(log["request"]["messages"][0]["content"][0]["text"], "hello");
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(text(&output.stdout), "Hello from afar.\n", "{}", text(&output.stderr));
}
