//! Running the command and looking at what it said.

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
    duologue_testkit::root().join("recordings").join(name)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn help_tells_what_the_commands_do() {
    let output = duologue().arg("--help").output().unwrap();
    assert!(output.status.success());
    let help = text(&output.stdout);
    assert!(help.contains("check") && help.contains("Is every line understood?"), "{help}");
    assert!(output.stderr.is_empty());
}

#[test]
fn a_wrong_command_line_is_told_on_stderr() {
    let output = duologue().args(["check", "--no-such-flag"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(text(&output.stderr).contains("--no-such-flag"));
}
