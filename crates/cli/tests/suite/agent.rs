//! `duologue agent` and `duologue model`, as processes.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};

use assert_cmd::Command;
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
fn it_tells_the_version_that_hosts_look_for() {
    let output = duologue().args(["agent", "-v"]).output().unwrap();
    assert_eq!(text(&output.stdout), "2.1.325 (Claude Code)\n");
}

#[test]
fn a_flag_that_is_unknown_is_refused() {
    let output = duologue().args(["agent", "--frobnicate"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "error: unknown option '--frobnicate'\n");
}

#[test]
fn text_is_printed_and_who_answers_is_told() {
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

    let knows = json!([{ "say": "I know.", "when": { "history": "Noted." } }]);
    let (resumed, _) = ask(at, knows.clone(), &["--resume", id]);
    assert_eq!((&resumed["session_id"], &resumed["result"]), (&json!(id), &json!("I know.")));
    let (forked, _) = ask(at, knows.clone(), &[&format!("--resume={id}"), "--fork-session"]);
    assert_eq!(forked["result"], "I know.");
    assert_ne!(forked["session_id"], id);
    let (newest, _) = ask(at, knows.clone(), &["--continue"]);
    assert_eq!(
        (&newest["session_id"], &newest["result"]),
        (&forked["session_id"], &json!("I know."))
    );

    let nobody = "99999999-2222-4333-8444-555555555555";
    let (result, output) = ask(at, knows, &["--resume", nobody]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(result["subtype"], "error_during_execution");
}

#[test]
fn what_a_conversation_cost_is_known_when_it_goes_on() {
    let place = place();
    let at = place.path();
    let id = "11111111-2222-4333-8444-555555555555";
    let cost = |result: &Value| result["total_cost_usd"].as_f64().unwrap();
    let says = json!([{ "say": "Noted.", "times": "always" }]);
    let (first, _) = ask(at, says.clone(), &["--session-id", id]);
    assert!(cost(&first) > 0.0, "{first}");
    // What was spent before counts in the total, but not in the budget of this run.
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

#[test]
fn flags_that_cannot_be_meant_are_refused_as_the_cli_refuses_them() {
    let place = place();
    for (flag, value, told) in [
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
        assert!(text(&output.stderr).contains(told), "{}", text(&output.stderr));
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
fn a_scenario_brings_its_fault_and_a_flag_counts_more() {
    let place = place();
    let path = place.path().join("faulty.toml");
    std::fs::write(&path, "fault = \"garbage@1\"\n[[replies]]\nsay = \"Hello.\"\n").unwrap();
    let told = |args: &[&str]| {
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
    assert!(told(&[]).contains("this is {no message"));
    let split = told(&["--fault", "split"]);
    assert!(split.contains("Hello.") && !split.contains("no message"), "{split}");
    std::fs::write(&path, "fault = \"burn\"\n[[replies]]\nsay = \"Hello.\"\n").unwrap();
    assert_eq!(told(&[]), "");
}

#[test]
fn it_is_installed_as_claude() {
    let place = place();
    let output = agent(place.path()).args(["agent", "--install", "bin"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let claude = place.path().join("bin/claude");
    let output = std::process::Command::new(&claude).arg("--version").output().unwrap();
    assert_eq!(text(&output.stdout), "2.1.325 (Claude Code)\n");
}

#[test]
fn run_uses_it_where_claude_is_not_installed_and_says_so() {
    let place = place();
    std::fs::write(place.path().join("a.txt"), "alpha").unwrap();
    let output = agent(place.path())
        .env("PATH", "/usr/bin:/bin")
        .args(["run", "read a.txt"])
        .output()
        .unwrap();
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && said.contains("alpha"), "{said}{told}");
    assert!(told.contains("the embedded agent answers"), "{told}");
}

#[test]
fn a_scenario_is_served_and_asked() {
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
