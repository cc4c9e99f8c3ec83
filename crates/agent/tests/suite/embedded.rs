//! The embedded agent, driven line by line and by our own host.

use duologue_agent::embedded::{Embedded, Setup};
use duologue_model::{Block, OfflineModel, Reply, Retrying, Scenario, ScriptedModel};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::driving::{Host, drive, outline};

/// A folder, and an agent in it that plays this scenario.
fn plays(scenario: Scenario, change: impl FnOnce(&mut Setup)) -> (TempDir, Host) {
    let folder = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(folder.path());
    setup.model = Some("claude-opus-5-5".to_owned());
    change(&mut setup);
    let model = Retrying::new(ScriptedModel::new(scenario).unwrap());
    let agent = Embedded::new(setup, model).unwrap();
    let options = agent.options();
    (folder, drive(agent, options))
}

fn bash(command: &str) -> Block {
    Block::tool("Bash", json!({ "command": command, "description": "Do it" }))
}

/// Lines up to the result, answering each question of the host's with this.
async fn turn(host: &mut Host, prompt: &str, answer: impl Fn(&Value) -> Value) -> Vec<Value> {
    host.prompt(prompt).await;
    rest(host, answer).await
}

async fn rest(host: &mut Host, answer: impl Fn(&Value) -> Value) -> Vec<Value> {
    let mut lines = Vec::new();
    loop {
        let line = host.line().await.unwrap();
        if line["type"] == "control_request" {
            host.answer(&line, answer(&line["request"])).await;
        }
        let is_end = line["type"] == "result";
        lines.push(line);
        if is_end {
            return lines;
        }
    }
}

fn allow(_: &Value) -> Value {
    json!({ "behavior": "allow" })
}

#[tokio::test]
async fn a_command_is_asked_run_and_told() {
    let scenario = Scenario::new()
        .reply(Reply::text("I make a file.").say(bash("touch seen.txt")))
        .reply(Reply::text("Done."));
    let (folder, mut host) = plays(scenario, |_| {});
    let lines = turn(&mut host, "go", allow).await;
    assert_eq!(
        outline(&lines),
        [
            "system init",
            "assistant I make a file.",
            "assistant tool_use",
            "asks can_use_tool",
            "user tool_result",
            "assistant Done.",
            "result",
        ]
    );
    assert!(folder.path().join("seen.txt").exists());
    let asked = &lines[3]["request"];
    assert_eq!(asked["permission_suggestions"][0]["type"], "addRules");
    assert_eq!(asked["description"], "Do it");
    assert_eq!(lines[4]["tool_use_result"]["stdout"], "");
    let result = &lines[6];
    assert_eq!((&result["result"], &result["num_turns"]), (&json!("Done."), &json!(2)));
}

#[tokio::test]
async fn what_is_denied_does_not_happen_and_the_model_hears_why() {
    let scenario = Scenario::new()
        .reply(Reply::new().say(bash("touch seen.txt")))
        .reply(Reply::text("A pity.").when(duologue_model::When::tool_result("not here")));
    let (folder, mut host) = plays(scenario, |_| {});
    let deny = |_: &Value| json!({ "behavior": "deny", "message": "not here" });
    let lines = turn(&mut host, "go", deny).await;
    assert!(!folder.path().join("seen.txt").exists());
    let result = lines.last().unwrap();
    assert_eq!(result["result"], "A pity.");
    assert_eq!(result["permission_denials"][0]["tool_name"], "Bash");
}

#[tokio::test]
async fn reading_is_not_asked_and_offline_requests_are_carried_out() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "hello").unwrap();
    let model = OfflineModel::new().folder(folder.path().to_string_lossy());
    let agent = Embedded::new(Setup::new(folder.path()), model).unwrap();
    let options = agent.options();
    let mut host = drive(agent, options);
    let lines = turn(&mut host, "read a.txt", |_| panic!("nobody is asked")).await;
    assert!(lines.last().unwrap()["result"].as_str().unwrap().contains("hello"));
}
