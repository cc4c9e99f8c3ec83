//! Legacy description 000, "Input Messages (stdin)": the lines of the host, and the message flow.

use duologue::Event;
use duologue::handlers::{Decision, PermissionRequest, QuestionAnswer, QuestionRequest};
use duologue::protocol::tool::Answers;
use serde_json::{Value, json};

use super::legacy::{
    OLD, Place, Tape, bash, events, question, the_agent_takes_every_example,
    the_host_understands_every_example,
};

#[tokio::test]
async fn user_message() {
    let place = Place::new(json!([
        { "when": { "prompt": "What does this project do?" }, "say": "It talks." }
    ]));
    let tape = Tape::default();
    let session = tape.of(place.host(OLD).legacy()).start().await.unwrap();
    let mut turn = session.prompt("What does this project do?").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "It talks.");
    let sent = tape.to_agent().pop().unwrap();
    assert_eq!((&sent["type"], &sent["message"]["role"]), (&json!("user"), &json!("user")));
    assert_eq!(sent["message"]["content"], "What does this project do?");
    session.close().await.unwrap();
}

/// One call, and what the host sends about it.
async fn decided(decision: Decision) -> (Place, Value, Tape) {
    let place = Place::new(json!([
        { "say": [bash("touch seen")] },
        { "say": "I heard you." },
    ]));
    let tape = Tape::default();
    let builder = place.host(OLD).legacy().on_permission(move |ask: PermissionRequest| {
        let decision = decision.clone();
        async move {
            assert_eq!(ask.tool_name(), "Bash");
            decision
        }
    });
    let session = tape.of(builder).start().await.unwrap();
    let mut turn = session.prompt("Go").await.unwrap();
    let mut call = Value::Null;
    for event in events(&mut turn).await {
        if let Event::ToolCall(made) = event {
            call = json!(made.id.as_str());
        }
    }
    assert_eq!(turn.outcome().await.unwrap().text(), "I heard you.");
    session.close().await.unwrap();
    (place, call, tape)
}

#[tokio::test]
async fn tool_approval() {
    let (place, call, tape) = decided(Decision::allow()).await;
    assert!(place.has("seen"));
    assert_eq!(tape.to_agent().pop(), Some(json!({ "type": "approve", "tool_use_id": call })));
}

#[tokio::test]
async fn tool_denial() {
    let (place, call, tape) = decided(Decision::deny("no")).await;
    assert!(!place.has("seen"));
    assert_eq!(tape.to_agent().pop(), Some(json!({ "type": "deny", "tool_use_id": call })));
    let result = tape.to_host().pop().unwrap();
    assert_eq!(result["permission_denials"][0]["tool_use_id"], call);
}

#[tokio::test]
async fn tool_result_answers_a_question() {
    let place = Place::new(json!([
        { "say": [question(false)] },
        { "when": { "tool_result": "\"Yes or no?\"=\"Yes\"" }, "say": "Yes it is." },
    ]));
    let tape = Tape::default();
    let builder = place.host(OLD).legacy().on_question(|_: QuestionRequest| async {
        QuestionAnswer::answers(Answers::new().choose("Yes or no?", "Yes"))
    });
    let session = tape.of(builder).start().await.unwrap();
    let outcome = session.prompt("Ask me").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "Yes it is.");
    let sent = tape.to_agent().pop().unwrap();
    assert_eq!((&sent["type"], &sent["content"]), (&json!("tool_result"), &json!("Yes")));
    session.close().await.unwrap();
}

/// A result of the host replaces the tool, any tool.
#[test]
fn tool_result_with_content() {
    let place = Place::new(json!([
        { "say": [bash("touch seen")] },
        { "when": { "tool_result": "The user selected option B" }, "say": "B it is." },
    ]));
    let mut agent = place.streaming(OLD);
    agent.prompt("Go");
    let call = agent.until(|line| line["message"]["content"][0]["type"] == "tool_use").pop();
    let id = &call.unwrap()["message"]["content"][0]["id"];
    let content = "The user selected option B";
    agent.say(&json!({ "type": "tool_result", "tool_use_id": id, "content": content }));
    let result = agent.next("result");
    assert_eq!(result["result"], "\"B it is.\"");
    assert!(!place.has("seen"));
}

#[tokio::test]
async fn abort_by_sigint_keeps_the_process() {
    let place = Place::new(json!([
        { "say": [bash("touch begun; sleep 600")] },
        { "say": "Still here." },
    ]));
    let builder =
        place.host(OLD).legacy().on_permission(|_: PermissionRequest| async { Decision::allow() });
    let session = builder.start().await.unwrap();
    let pid = session.pid();
    let mut turn = session.prompt("Sleep").await.unwrap();
    while !place.has("begun") {
        tokio::task::yield_now().await;
    }
    session.abort_by_signal().await.unwrap();
    assert!(turn.outcome().await.unwrap().is_interrupted());
    let outcome = session.prompt("Again").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "Still here.");
    assert_eq!(session.pid(), pid, "it waited for the next message");
    assert!(pid.is_some());
    session.close().await.unwrap();
}

/// The signal comes while a tool waits for its approval, which is never given.
#[tokio::test]
async fn abort_by_sigint_while_a_tool_is_pending() {
    let place = Place::new(json!([
        { "say": [bash("touch seen")] },
        { "say": "Still here." },
    ]));
    let session = place.host(OLD).legacy().answer_by_hand().start().await.unwrap();
    let mut turn = session.prompt("Go").await.unwrap();
    while let Some(event) = turn.next().await.unwrap() {
        if matches!(event, Event::ToolCall(_)) {
            session.abort_by_signal().await.unwrap();
        }
    }
    assert!(turn.outcome().await.unwrap().is_interrupted());
    let outcome = session.prompt("Again").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "Still here.");
    assert!(!place.has("seen"));
    // The question went with its turn: nothing holds the end up.
    session.close().await.unwrap();
}

#[tokio::test]
async fn message_flow() {
    let place = Place::new(json!([
        { "say": [{ "thinking": "A file." }, "I make a file.", bash("touch seen")] },
        { "say": "It is there." },
    ]));
    let tape = Tape::default();
    let builder =
        place.host(OLD).legacy().on_permission(|_: PermissionRequest| async { Decision::allow() });
    let session = tape.of(builder).start().await.unwrap();
    session.prompt("Make a file").await.unwrap().outcome().await.unwrap();
    // The first two may cross. The echo is in descriptions 001 and 003.
    assert_eq!(
        tape.flow(),
        [
            "< system/init",
            "> user text",
            "< user text",
            "< assistant thinking",
            "< assistant thinking+text",
            "< assistant thinking+text+tool_use",
            "> approve",
            "< user tool_result",
            "< assistant text",
            "< result",
        ]
    );
    session.close().await.unwrap();
}

#[test]
fn the_agent_accepts_every_example() {
    the_agent_takes_every_example("000", OLD);
}

#[tokio::test]
async fn the_host_reads_every_example() {
    the_host_understands_every_example("000").await;
}
