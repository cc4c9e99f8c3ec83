//! Runs the command and checks its output.

use std::path::PathBuf;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

pub(crate) fn duologue() -> Command {
    let mut command = Command::cargo_bin("duologue").unwrap();
    command.env_remove("CLICOLOR_FORCE");
    command
}

pub(crate) fn recording(name: &str) -> PathBuf {
    duologue_testkit::recording_path(name)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn help_describes_the_commands() {
    let output = duologue().arg("--help").output().unwrap();
    assert!(output.status.success());
    let help = text(&output.stdout);
    assert!(
        help.contains("check") && help.contains("Check that every line is understood"),
        "{help}"
    );
    assert!(output.stderr.is_empty());
}

#[test]
fn a_wrong_command_line_is_reported_on_stderr() {
    let output = duologue().args(["check", "--no-such-flag"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(text(&output.stderr).contains("--no-such-flag"));
}

#[test]
fn completions_have_the_commands_and_their_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let output = duologue().args(["completions", shell]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty());
        let script = text(&output.stdout);
        for word in ["duologue", "replay", "on-mismatch"] {
            assert!(script.contains(word), "{word} is missing for {shell}");
        }
    }
}

#[test]
fn the_flags_of_the_agent_are_completed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = duologue().args(["completions", shell]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let script = text(&output.stdout);
        for flag in ["scenario", "lenient", "install", "permission-mode", "allowedTools"] {
            assert!(script.contains(flag), "--{flag} is missing for {shell}");
        }
    }
    // As bash does it: `duologue agent --per<Tab>`.
    let complete = r#"
        eval "$(cat)"
        COMP_WORDS=(duologue agent --permission-) COMP_CWORD=2
        _duologue duologue --permission- agent
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let script = duologue().args(["completions", "bash"]).output().unwrap().stdout;
    let bash = assert_cmd::Command::new("bash").args(["-c", complete]).write_stdin(script).output();
    let offered = text(&bash.unwrap().stdout);
    assert!(offered.lines().any(|flag| flag == "--permission-mode"), "{offered}");
}

#[test]
fn a_port_in_use_is_an_error_with_advice() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("s.toml");
    std::fs::write(&scenario, "[[replies]]\nsay = \"Hello.\"\n").unwrap();
    let args = ["model", "serve", "--port", &port, "--scenario", scenario.to_str().unwrap()];
    let output = duologue().args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains(&port) && message.contains("--port 0"), "{message}");
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let man = folder.path().join("man");
    let output = duologue().arg("man").arg(&man).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = |name: &str| std::fs::read_to_string(man.join(name)).unwrap();
    assert!(page("duologue.1").contains("stream"));
    assert!(page("duologue-run.1").contains("Exit codes"));
    assert!(page("duologue-model-serve.1").contains("scenario"));
}

#[test]
fn an_error_names_each_cause_once() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("bad.toml");
    std::fs::write(&scenario, "[[replies]]\nsayy = \"x\"\n").unwrap();
    let output = duologue().args(["model", "serve", "--scenario"]).arg(&scenario).output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(message.matches("unknown field `sayy`").count(), 1, "{message}");

    let output = duologue().args(["replay", "no-such.tape"]).output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(message.matches("could not read").count(), 1, "{message}");
    assert!(message.contains("because: No such file"), "{message}");
}

#[test]
fn install_without_a_folder_prints_its_usage() {
    for wrong in [&["agent", "--install"][..], &["agent", "--install", "--lenient"]] {
        let output = duologue().args(wrong).output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("duologue agent --install DIR"), "{message}");
    }
}

#[test]
fn a_silent_exit_of_the_agent_is_an_error_with_advice() {
    let output = duologue().args(["run", "--agent", "sh -c true", "hi"]).output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("the agent is gone (exit code 0)"), "{message}");
    assert!(message.contains("Run `duologue doctor --agent 'sh -c true'`"), "{message}");
}
