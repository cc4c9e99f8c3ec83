//! Requests that the CLI makes on its own.

use duologue_model::{Purpose, Reply, Request, Scenario, Script};
use serde_json::{Value, json};

use super::client::asks;

fn with_system(system: &str, prompt: &str) -> Value {
    let mut body = asks(prompt);
    body["system"] = json!([
        { "type": "text", "text": "You are Claude Code, Anthropic's official CLI for Claude." },
        { "type": "text", "text": system },
    ]);
    body
}

/// Requests in the words of the CLI, of all versions since 2.0.77.
fn known() -> Vec<(Purpose, Value)> {
    let mut quota = asks("quota");
    quota["max_tokens"] = 1.into();
    let mut title = with_system("Name it.", "hello");
    title["output_config"]["format"] = json!({ "type": "json_schema", "schema": { "properties": { "title": { "type": "string" } } } });
    let sub = "x-anthropic-billing-header: cc_version=2.1.200.0ad; cc_entrypoint=sdk-cli; cc_is_subagent=true;";
    let old_sub = "Notes:\n- Agent threads always have their cwd reset between bash calls";
    let summary = "CRITICAL: Respond with TEXT ONLY.\n\nYour task is to create a detailed summary of the conversation";
    vec![
        (Purpose::Main, asks("hello")),
        (Purpose::Main, with_system("You are an interactive agent.", "hello")),
        (Purpose::Sub, with_system(sub, "Look around")),
        (Purpose::Sub, with_system(old_sub, "Look around")),
        (Purpose::Quota, quota),
        (Purpose::Warmup, with_system("You are a file search specialist.", "Warmup")),
        (Purpose::Title, title),
        (Purpose::Title, with_system("Generate a concise, sentence-case title (3-7 words)", "hi")),
        (
            Purpose::Topic,
            with_system("Analyze if this message indicates a new conversation topic.", "hi"),
        ),
        (Purpose::Summary, with_system("You are an interactive agent.", summary)),
        (Purpose::Summary, with_system("You are tasked with summarizing conversations.", "Go.")),
        (Purpose::Helper, with_system("Your task is to process Bash commands that", "Command: ls")),
        (
            Purpose::Helper,
            asks("Tools completed:\n\nProvide a brief summary of what was accomplished:"),
        ),
        (Purpose::Helper, with_system("Extract any file paths that this command reads", "ls")),
    ]
}

#[test]
fn purposes_are_distinguished() {
    for (purpose, body) in known() {
        assert_eq!(Request::new(body.clone()).unwrap().purpose(), purpose, "{body}");
    }
    let header = [("X-Claude-Code-Agent-Id", "a1")];
    let request = Request::new(asks("go")).unwrap().with_headers(header);
    assert_eq!(request.purpose(), Purpose::Sub);
}

#[test]
fn only_a_conversation_takes_replies() {
    let mut script = Script::new(
        Scenario::new()
            .reply(Reply::text("main").times(2))
            .reply(Reply::text("sub").agent("sub").times(2)),
    )
    .unwrap();
    for (purpose, body) in known() {
        let answer = script.answer(&Request::new(body).unwrap()).unwrap();
        assert_eq!(answer.index.is_some(), purpose.is_conversation(), "{purpose}");
        assert_eq!(answer.agent, purpose.as_str());
    }
    script.finished().unwrap();
}

#[test]
fn a_scenario_may_reply_to_them() {
    let mut script =
        Script::new(Scenario::new().reply(Reply::text("All was well.").agent("summary"))).unwrap();
    let body = with_system("You are tasked with summarizing conversations.", "Go.");
    let request = Request::new(body).unwrap();
    let indexes = [(); 2].map(|()| script.answer(&request).unwrap().index);
    assert_eq!(indexes, [Some(0), None]);
}
