//! Legacy description 003, the client API: the lines of the agent, the typical flow, and the wire.

use duologue::handlers::{Decision, PermissionRequest};
use duologue::launch::Conversation;
use duologue::{Error, Event};
use serde_json::{Value, json};

use super::legacy::{
    LENIENT, OLD, Place, Tape, bash, events, examples, short, the_agent_takes_every_example,
    the_host_understands_every_example,
};

async fn yes(_: PermissionRequest) -> Decision {
    Decision::allow()
}

/// Every field of the example is there.
fn has_the_fields(ours: &Value, is: impl Fn(&Value) -> bool) {
    let example = examples("003").into_iter().find(|e| e.to_host && is(&e.line)).unwrap().line;
    for name in example.as_object().unwrap().keys() {
        assert!(ours.get(name).is_some(), "{name} is missing in {ours}");
    }
}

/// The lines of a conversation of one prompt.
async fn said(place: &Place, flags: &[&str], prompts: &[&str]) -> Vec<Value> {
    let tape = Tape::default();
    let session = tape.of(place.host(flags).on_permission(yes)).start().await.unwrap();
    for prompt in prompts {
        session.prompt(*prompt).await.unwrap().outcome().await.unwrap();
    }
    session.close().await.unwrap();
    tape.to_host()
}

fn find<'a>(lines: &'a [Value], kind: &str) -> &'a Value {
    let found = lines.iter().find(|line| short(line) == kind);
    found.unwrap_or_else(|| panic!("no {kind} among {:?}", super::legacy::shorts(lines)))
}

#[tokio::test]
async fn system_init_assistant_and_success() {
    let place = Place::new(
        json!([{ "say": [{ "thinking": "Let me analyze this..." }, "Here's my response..."] }]),
    );
    let lines = said(&place, OLD, &["Hi"]).await;
    has_the_fields(find(&lines, "system/init"), |line| short(line) == "system/init");
    let assistant = find(&lines, "assistant thinking+text");
    has_the_fields(assistant, |line| line["type"] == "assistant");
    let message = &assistant["message"];
    assert!(message["usage"]["input_tokens"].is_number() && message["role"] == "assistant");
    has_the_fields(find(&lines, "result"), |line| line["subtype"] == "success");
}

/// The echo of the user message.
#[tokio::test]
async fn user_echo() {
    let place = Place::new(json!([{ "say": "Hello." }]));
    let lines = said(&place, OLD, &["Hi there"]).await;
    assert_eq!(find(&lines, "user text")["message"]["content"], "Hi there");
}

#[tokio::test]
async fn system_status_and_compact_boundary() {
    let place = Place::new(json!([
        { "say": "Hello." },
        { "agent": "summary", "say": "<summary>They greeted.</summary>" },
        { "when": { "history": "They greeted." }, "say": "I remember." },
    ]));
    let lines = said(&place, OLD, &["Hi", "/compact", "And now?"]).await;
    let status = lines.iter().find(|line| line["status"] == "compacting").unwrap();
    has_the_fields(status, |line| line["status"] == "compacting");
    let boundary = find(&lines, "system/compact_boundary");
    has_the_fields(boundary, |line| short(line) == "system/compact_boundary");
    assert!(boundary["compact_metadata"]["pre_tokens"].is_number());
    assert_eq!(lines.last().unwrap()["result"], "\"I remember.\"");
}

#[tokio::test]
async fn system_task_started_progress_and_notification() {
    let delegate = json!({ "tool": "Agent", "input": {
        "description": "Task description", "prompt": "look", "subagent_type": "general-purpose",
        "run_in_background": false } });
    let place = Place::new(json!([
        { "say": [delegate] },
        { "agent": "sub", "say": [bash("touch found")] },
        { "agent": "sub", "say": "Task completed successfully" },
        { "say": "Done." },
    ]));
    let lines = said(&place, OLD, &["Delegate"]).await;
    for kind in ["system/task_started", "system/task_progress", "system/task_notification"] {
        has_the_fields(find(&lines, kind), |line| short(line) == kind);
    }
    let started = find(&lines, "system/task_started");
    assert_eq!(
        (&started["task_type"], &started["description"]),
        (&json!("local_agent"), &json!("Task description"))
    );
    assert_eq!(find(&lines, "system/task_notification")["status"], "completed");
}

#[tokio::test]
async fn result_error_max_turns() {
    let place = Place::new(json!([{ "say": [bash("ls")], "times": "always" }]));
    let tape = Tape::default();
    let builder = place.host(OLD).max_turns(2).allowed_tools(["Bash"]);
    let session = tape.of(builder).start().await.unwrap();
    let outcome = session.prompt("Go").await.unwrap().outcome().await.unwrap();
    assert!(!outcome.is_success() && outcome.error().is_some());
    let result = tape.to_host().pop().unwrap();
    assert_eq!(
        (&result["subtype"], &result["is_error"]),
        (&json!("error_max_turns"), &json!(true))
    );
    has_the_fields(&result, |line| line["subtype"] == "error_max_turns");
    session.close().await.unwrap();
}

/// `No conversation found with session ID: ...`
#[tokio::test]
async fn result_error_during_execution() {
    let place = Place::new(json!([{ "say": "Hello." }]));
    let id = "550e8400-e29b-41d4-a716-446655440000";
    let mut agent = place.streaming(&["--lenient", "--resume", id]);
    let result = agent.line().unwrap();
    assert_eq!(result["subtype"], "error_during_execution");
    has_the_fields(&result, |line| line["subtype"] == "error_during_execution");
    let said = format!("No conversation found with session ID: {id}");
    assert_eq!(result["errors"], json!([said]));
    let builder = place.host(LENIENT).conversation(Conversation::resume(id));
    let Err(Error::Gone(gone)) = builder.start().await else { panic!("it must not start") };
    assert!(gone.to_string().contains(&said), "{gone}");
}

#[tokio::test]
async fn resume_continue_and_fork() {
    let place = Place::new(json!([
        { "when": { "history": "remember blue" }, "say": "Blue.", "times": "always" },
    ]));
    let one = async |conversation: Conversation| {
        let builder = place.host(OLD).conversation(conversation);
        let session = builder.start().await.unwrap();
        let outcome = session.prompt("Which colour?").await.unwrap().outcome().await.unwrap();
        let id = outcome.session_id().unwrap().clone();
        assert_eq!(outcome.text(), "Blue.");
        session.close().await.unwrap();
        id
    };
    let session = place.host(OLD).start().await.unwrap();
    let mut turn = session.prompt("remember blue").await.unwrap();
    let first = turn.outcome().await.unwrap().session_id().unwrap().clone();
    session.close().await.unwrap();
    assert_eq!(one(Conversation::resume(first.clone())).await, first);
    assert_eq!(one(Conversation::Continue).await, first);
    let fork = Conversation::Fork { of: first.clone(), cut: None, id: None };
    assert_ne!(one(fork).await, first);
}

/// An error of the API is a line of its own; the turn ends all the same.
#[tokio::test]
async fn error() {
    let error = json!({ "status": 400, "message": "The API does not like that" });
    let place = Place::new(json!([{ "error": error }, { "say": "Better." }]));
    let tape = Tape::default();
    let session = tape.of(place.host(OLD)).start().await.unwrap();
    let mut turn = session.prompt("Go").await.unwrap();
    let events = events(&mut turn).await;
    assert!(!turn.outcome().await.unwrap().is_success());
    let lines = tape.to_host();
    let line = find(&lines, "error");
    assert!(line["error"]["type"].is_string());
    assert!(line["error"]["message"].as_str().unwrap().contains("The API does not like that"));
    assert!(events.iter().any(|event| format!("{event:?}").contains("does not like that")));
    let outcome = session.prompt("Again").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "Better.");
    session.close().await.unwrap();
}

/// The rate limits that the agent reports.
#[tokio::test]
async fn rate_limit_event() {
    let line = examples("003").into_iter().find(|e| e.line["type"] == "rate_limit_event").unwrap();
    let place = Place::new(json!([{ "lines": [line.line.to_string()], "say": "Hello." }]));
    let session = place.host(LENIENT).start().await.unwrap();
    let mut turn = session.prompt("Go").await.unwrap();
    let events = events(&mut turn).await;
    assert!(events.iter().any(|event| matches!(event, Event::RateLimitChanged(_))), "{events:?}");
    session.close().await.unwrap();
}

#[tokio::test]
async fn typical_flow() {
    let place = Place::new(json!([{ "say": ["I look.", bash("touch seen")] }, { "say": "Done." }]));
    let tape = Tape::default();
    let session = tape.of(place.host(OLD).on_permission(yes)).start().await.unwrap();
    session.prompt("Go").await.unwrap().outcome().await.unwrap();
    assert_eq!(
        tape.flow(),
        [
            "< system/init",
            "> user text",
            "< user text",
            "< assistant text",
            "< assistant text+tool_use",
            "< asks can_use_tool",
            "> answers",
            "< user tool_result",
            "< assistant text",
            "< result",
        ]
    );
    assert!(place.has("seen"));
    session.close().await.unwrap();
}

/// UTF-8, and more than the recommended 10 MB in a line.
#[tokio::test]
async fn wire_carries_ten_megabytes_of_utf8() {
    let place = Place::new(json!([{ "say": { "text": "größe ✓ 🦀\u{2028}", "repeat": 600_000 } }]));
    let session = place.host(OLD).start().await.unwrap();
    let outcome = session.prompt("Write a lot").await.unwrap().outcome().await.unwrap();
    assert!(outcome.text().len() > 10 * 1024 * 1024);
    assert_eq!(outcome.text(), "größe ✓ 🦀\u{2028}".repeat(600_000));
    session.close().await.unwrap();
}

#[test]
fn the_agent_accepts_every_example() {
    the_agent_takes_every_example("003", &[OLD, &["--permission-prompt-tool=stdio"]].concat());
}

#[tokio::test]
async fn the_host_reads_every_example() {
    the_host_understands_every_example("003").await;
}
