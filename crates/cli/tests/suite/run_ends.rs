//! `duologue run`: how it ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use duologue_testkit::fake::{Script, Step};
use duologue_testkit::leak::assert_gone_blocking;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::command::{duologue, text as utf8};
use super::play::{Play, result, text};

fn denials() -> Value {
    let denial = |tool: &str| json!({ "tool_name": tool, "tool_use_id": "t", "tool_input": {} });
    json!([denial("Bash"), denial("Write"), denial("Bash")])
}

#[test]
fn a_turn_that_succeeds_without_a_tool_succeeds() {
    let fields = json!({ "permission_denials": denials() });
    let play = Play::turn([Step::Init, text("I may not."), result(fields)]);
    let output = play.run(&["Hi", "--quiet"]);
    assert_eq!(output.status.code(), Some(0));
    let stderr = utf8(&output.stderr);
    assert!(stderr.contains("denied: Bash (2 times), Write."), "{stderr}");
    assert!(stderr.contains("--allowed-tools"), "{stderr}");
}

#[test]
fn a_turn_that_fails_tells_why_by_its_code() {
    let failed = |subtype: &str, reason: &str| json!({ "subtype": subtype, "is_error": true, "terminal_reason": reason, "errors": ["so it is"] });
    let mut api = failed("success", "api_error");
    api["api_error_status"] = 400.into();
    let with_denials = |mut fields: Value| {
        fields["permission_denials"] = denials();
        fields
    };
    let cases = [
        (failed("error_during_execution", "completed"), 1),
        (failed("error_max_turns", "max_turns"), 1),
        (api.clone(), 1),
        (with_denials(api), 1),
        (with_denials(failed("error_max_turns", "max_turns")), 3),
        (with_denials(failed("error_during_execution", "aborted_tools")), 3),
        (failed("error_max_budget_usd", "budget_exhausted"), 4),
    ];
    for (fields, code) in cases {
        let play = Play::turn([Step::Init, result(fields.clone())]);
        let output = play.run(&["Hi"]);
        let stderr = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{fields}: {stderr}");
        assert!(stderr.contains("error: so it is"), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn permission_is_refused_unless_one_says_yes() {
    for (args, behavior) in [(&["Hi"][..], "deny"), (&["Hi", "--yes"][..], "allow")] {
        let play = Play::turn([
            Step::Init,
            Step::can_use_tool("ask-1", "Bash", json!({ "command": "ls" })),
            Step::Done("ok".to_owned()),
        ]);
        assert_eq!(play.run(args).status.code(), Some(0));
        let answer = play.stage.wait_for_blocking(|line| line["type"] == "control_response");
        assert_eq!(answer["response"]["response"]["behavior"], behavior, "{answer}");
    }
}

#[test]
fn an_agent_that_dies_is_an_error_with_its_last_words() {
    let steps = [Step::Init, text("I die"), Step::Stderr("out of luck".to_owned()), Step::Exit(7)];
    let output = Play::turn(steps).run(&["Hi"]);
    let stderr = utf8(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(utf8(&output.stdout), "I die\n");
    assert!(stderr.contains("exit code 7") && stderr.contains("out of luck"), "{stderr}");
}

#[test]
fn without_an_agent_one_reads_where_it_was_looked_for() {
    let empty = tempfile::tempdir().unwrap();
    // By name: one that is installed for everybody must not be found, let alone started.
    let mut by_name = duologue();
    let output =
        by_name.args(["run", "Hi", "--agent", "agent"]).env("PATH", empty.path()).output().unwrap();
    let stderr = utf8(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{stderr}");
    assert!(stderr.contains(empty.path().join("agent").to_str().unwrap()), "{stderr}");
    assert!(stderr.contains("Give the path of a program"), "{stderr}");
    let output = duologue().args(["run", "Hi", "--agent", "/no/such/agent"]).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(utf8(&output.stderr).contains("/no/such/agent"));
}

fn start(play: &Play, args: &[&str]) -> Child {
    let mut command: Command = play.command(&[&["run"], args].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupt(child: &Child) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
}

#[test]
fn an_interrupt_lets_the_turn_settle() {
    let steps = [Step::Init, text("So far"), Step::Mark("there".to_owned()), Step::Stall];
    let play = Play::turn(steps);
    let child = start(&play, &["Hi"]);
    play.stage.reached_blocking("there");
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let stderr = utf8(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert_eq!(utf8(&output.stdout), "So far\n");
    assert!(stderr.contains("interrupted"), "{stderr}");
    play.stage.wait_for_blocking(|line| line["request"]["subtype"] == "interrupt");
    assert_gone_blocking(&play.stage.pids());
}

#[test]
fn a_second_interrupt_ends_everything() {
    let script = Script::new().never_answers("interrupt").ignores_term().ignores_end().turn([
        Step::Init,
        Step::stubborn_grandchild(),
        Step::Mark("there".to_owned()),
        Step::Silent,
    ]);
    let play = Play::new(&script);
    let child = start(&play, &["Hi"]);
    play.stage.reached_blocking("there");
    interrupt(&child);
    play.stage.wait_for_blocking(|line| line["request"]["subtype"] == "interrupt");
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", utf8(&output.stderr));
    assert_gone_blocking(&play.stage.pids());
    assert_gone_blocking(&play.stage.grandchildren());
}

#[test]
fn an_interrupt_ends_a_start_that_takes_long() {
    let play = Play::new(&Script::new().never_answers("initialize"));
    let child = start(&play, &["Hi"]);
    play.stage.wait_for_blocking(|line| line["request"]["subtype"] == "initialize");
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", utf8(&output.stderr));
    assert_gone_blocking(&play.stage.pids());
}

#[test]
fn time_is_limited_if_one_says_so() {
    let play = Play::turn([Step::Init, Step::Stall]);
    let output = play.run(&["Hi", "--timeout", "50ms"]);
    let stderr = utf8(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("--timeout 50ms"), "{stderr}");
    assert_gone_blocking(&play.stage.pids());
}

/// A program in a folder of its own that does this, whatever its arguments are.
fn program(does: &str) -> (tempfile::TempDir, String) {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent");
    std::fs::write(&path, format!("#!/bin/sh\n{does}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (dir, path)
}

/// It writes nothing, and ignores TERM.
const MUTE: &str = "trap '' TERM\nwhile :; do sleep 1; done";

/// It answers the handshake and one prompt, and then stays.
const STAYS: &str = r#"trap '' TERM
case "$1" in -v) echo '2.1.0 (Claude Code)'; exit;; esac
read line
echo '{"type":"control_response","response":{"subtype":"success","request_id":"req_1","response":{}}}'
read line
echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
while :; do sleep 1; done"#;

/// The limit counts for the start, the turn and the end.
#[test]
fn the_limit_bounds_the_whole_command() {
    for (does, limit) in [
        (MUTE, "300ms"),
        (MUTE, "0.3"),
        ("exec <&-; trap '' TERM; while :; do sleep 1; done", "300ms"),
        ("exec >&-; trap '' TERM; while :; do sleep 1; done", "300ms"),
        ("trap '' TERM; while :; do echo '{\"type\":\"keep_alive\"}'; done", "300ms"),
        (STAYS, "4s"),
    ] {
        let (_dir, agent) = program(does);
        let args = ["run", "--agent", &agent, "Hi", "--timeout", limit];
        let output = duologue().args(args).output().unwrap();
        let stderr = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{does}: {stderr}");
        let named = limit.replace("0.3", "300ms");
        assert!(stderr.contains(&format!("--timeout {named}: ")), "{does}: {stderr}");
    }
}

/// A prompt that never ends counts, too.
#[test]
fn the_limit_bounds_the_reading_of_the_prompt() {
    let (_dir, agent) = program(MUTE);
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("duologue"))
        .args(["run", "-", "--agent", &agent, "--timeout", "200ms"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(1));
    let stderr = utf8(&output.stderr);
    assert!(stderr.contains("--timeout 200ms: the prompt"), "{stderr}");
}

#[test]
fn the_limit_bounds_all_that_doctor_does() {
    let (_dir, agent) = program(MUTE);
    let args = ["doctor", "--agent", &agent, "--timeout", "300ms"];
    let output = duologue().args(args).output().unwrap();
    let stdout = utf8(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    assert!(stdout.contains("--timeout 300ms: "), "{stdout}");
}

/// A result that is new or broken ends the turn and the command.
#[test]
fn a_result_that_cannot_be_read_ends_the_command() {
    for result in [
        r#"{"type":"result","subtype":"of_tomorrow","is_error":false,"result":"x"}"#,
        r#"{"type":"result","is_error":false,"result":"x"}"#,
        r#"{"type":"result","subtype":"success","api_error_status":"x"}"#,
        r#"{"type":"result","subtype":"success","result":"cut o"#,
    ] {
        let steps = [Step::Init, text("Hello"), Step::Line(result.to_owned())];
        let output = Play::turn(steps.clone()).run(&["Hi"]);
        let stderr = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{result}: {stderr}");
        assert!(utf8(&output.stdout).contains("Hello"), "{result}: {stderr}");

        let play = Play::turn(steps);
        let output = play.command(&["chat", "Hi"]).output().unwrap();
        let stderr = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{result}: {stderr}");
        assert!(utf8(&output.stdout).contains("Hello"), "{result}: {stderr}");
    }
}

#[test]
fn stdout_may_be_closed_early() {
    let play = Play::turn([
        Step::Init,
        Step::Text("first line".to_owned()),
        Step::Gate("gone".to_owned()),
        Step::Text("second line".to_owned()),
        Step::Stall,
    ]);
    let mut child = start(&play, &["Hi"]);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "first line\n");
    drop(stdout);
    play.stage.open("gone").unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert!(!stderr.contains("error"), "{stderr}");
    assert_gone_blocking(&play.stage.pids());
}
