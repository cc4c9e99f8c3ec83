//! `duologue doctor`.

use std::process::Output;

use duologue_agent::VERSION;
use duologue_testkit::fake::{Answer, Script, Step};
use duologue_testkit::leak::assert_gone_blocking;
use serde_json::{Value, json};

use super::command::{duologue, json, text};
use super::play::Play;

fn doctor(play: &Play, args: &[&str]) -> Output {
    play.command(&[&["doctor"], args].concat()).output().unwrap()
}

fn finding<'r>(report: &'r Value, name: &str) -> &'r Value {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["name"] == name).unwrap()
}

#[test]
fn a_working_agent_passes_without_a_prompt() {
    let play = Play::new(&Script::new());
    let output = doctor(&play, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let report = text(&output.stdout);
    for word in [
        &*format!("{VERSION}, tested"),
        "handshake",
        "round trip",
        "ANTHROPIC_API_KEY",
        "No problems found",
    ] {
        assert!(report.contains(word), "{word}: {report}");
    }
    assert!(play.prompts().is_empty());
    assert_gone_blocking(&play.stage.pids());
    // Nothing is left behind in the home folder.
    assert_eq!(std::fs::read_dir(play.home.path()).unwrap().count(), 0);
}

#[test]
fn programs_can_read_the_report() {
    let play = Play::new(&Script::new());
    let report = json(&doctor(&play, &["--json"]));
    assert_eq!(report["well"], true);
    assert_eq!(report["version"], VERSION);
    assert_eq!(report["tested"], true);
    assert!(report["handshake_ms"].is_f64() && report["round_trip_ms"].is_f64(), "{report}");
    assert_eq!(finding(&report, "account")["state"], "well");
}

#[test]
fn a_refused_handshake_is_broken() {
    let play = Play::new(&Script::new().refuses("initialize", "not today"));
    let output = doctor(&play, &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    let finding = finding(&report, "handshake");
    assert_eq!(finding["state"], "broken");
    assert!(finding["what"].as_str().unwrap().contains("not today"), "{report}");
    assert!(finding["mend"].is_string());
}

#[test]
fn an_agent_that_dies_is_broken() {
    let steps = [Step::Stderr("a library is missing".to_owned()), Step::Exit(3)];
    let play = Play::new(&Script::new().on("initialize", steps));
    let output = doctor(&play, &[]);
    assert_eq!(output.status.code(), Some(1));
    let report = text(&output.stdout);
    assert!(report.contains("a library is missing") && report.contains("problem"), "{report}");
}

#[test]
fn without_a_login_the_report_says_how_to_log_in() {
    let reply = json!({
        "account": { "tokenSource": "none", "apiProvider": "firstParty" },
        "claude_code_version": "9.9.9",
    });
    let play = Play::new(&Script::new().on("initialize", [Step::Reply(Answer::Success(reply))]));
    let output = doctor(&play, &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    assert!(finding(&report, "account")["mend"].as_str().unwrap().contains("/login"), "{report}");
    assert_eq!(report["version"], "9.9.9");
    assert_eq!(finding(&report, "version")["state"], "warning");
}

#[test]
fn an_agent_that_reports_no_token_is_not_an_error() {
    let reply = json!({ "account": { "apiKeySource": "none" } });
    let play = Play::new(&Script::new().on("initialize", [Step::Reply(Answer::Success(reply))]));
    let output = doctor(&play, &["--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(finding(&json(&output), "account")["state"], "warning");
}

#[test]
fn a_damaged_configuration_is_broken() {
    let play = Play::new(&Script::new());
    let folder = play.home.path().join(".claude");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("settings.json"), "{\"model\":").unwrap();
    let output = doctor(&play, &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    assert!(
        finding(&report, "config")["what"].as_str().unwrap().contains("settings.json"),
        "{report}"
    );
    // A file in place of a folder.
    let file = folder.join("settings.json");
    let mut command = play.command(&["doctor", "--json"]);
    let output = command.env("CLAUDE_CONFIG_DIR", file.join("config")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(finding(&json(&output), "config")["state"], "broken");
}

#[test]
fn without_an_agent_the_exit_code_is_5() {
    let output = duologue().args(["doctor", "--agent", "/no/such/agent"]).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    let report = text(&output.stdout);
    assert!(
        report.contains("/no/such/agent") && report.contains("Give the path of a program"),
        "{report}"
    );
}

#[test]
fn without_claude_the_report_names_the_embedded_agent() {
    let home = tempfile::tempdir().unwrap();
    let output = super::command::duologue()
        .arg("doctor")
        .env("PATH", home.path())
        .env("HOME", home.path())
        .current_dir(home.path())
        .output()
        .unwrap();
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(5), "{report}");
    assert!(report.contains("`run` and `chat` use the embedded agent"), "{report}");
}
