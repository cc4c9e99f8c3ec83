//! Legacy description 004, "Protocol Overview" (unofficial): the command line of the agent, nine steps of a turn, and
//! three peculiarities.

use duologue::Event;
use duologue::handlers::{Decision, PermissionRequest};
use duologue::launch::Conversation;
use duologue::protocol::legacy::decode_result;
use duologue::protocol::permission::PermissionMode;
use serde_json::{Value, json};

use super::legacy::{
    OLD, Place, Tape, bash, events, question, the_agent_takes_every_example,
    the_host_understands_every_example,
};

const ID: &str = "550e8400-e29b-41d4-a716-446655440000";

async fn yes(_: PermissionRequest) -> Decision {
    Decision::allow()
}

/// The command line of the description; the process starts with `system/init`.
#[test]
fn invocation() {
    for mode in ["default", "plan", "acceptEdits", "bypassPermissions", "dontAsk"] {
        let place = Place::new(json!([{ "say": "Hello." }]));
        let flags = [
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--permission-mode",
            mode,
            "--session-id",
            ID,
        ];
        let mut agent = place.agent(&[&flags, OLD].concat());
        let init = agent.line().unwrap();
        assert_eq!((&init["type"], &init["subtype"]), (&json!("system"), &json!("init")));
        assert_eq!((&init["session_id"], &init["permissionMode"]), (&json!(ID), &json!(mode)));
        assert!(init["model"].is_string());
        agent.prompt("Hi");
        assert_eq!(agent.next("result")["session_id"], ID);
        assert_eq!(agent.end().2, Some(0));
    }
}

/// Each mode, with a command that changes something: whether the agent waits for an answer, and whether the command runs.
///
/// A legacy host is asked about every call. A mode that decides by itself does not wait for the answer.
#[tokio::test]
async fn permission_modes() {
    for (mode, waits, runs) in [
        (PermissionMode::Default, true, true),
        (PermissionMode::AcceptEdits, false, true),
        (PermissionMode::BypassPermissions, false, true),
        (PermissionMode::DontAsk, false, false),
        (PermissionMode::Plan, true, true),
    ] {
        let place = Place::new(json!([{ "say": [bash("touch seen")] }, { "say": "So be it." }]));
        let tape = Tape::default();
        let builder = place.host(OLD).legacy().permission_mode(mode.clone());
        let bypasses = mode == PermissionMode::BypassPermissions;
        let builder = builder.allow_dangerously_skip_permissions(bypasses).on_permission(
            move |_: PermissionRequest| async move {
                if waits { Decision::allow() } else { std::future::pending().await }
            },
        );
        let session = tape.of(builder).start().await.unwrap();
        session.prompt("Go").await.unwrap().outcome().await.unwrap();
        assert_eq!(place.has("seen"), runs, "{mode}");
        let approved = tape.outline().contains(&"> approve".to_owned());
        assert_eq!(approved, waits, "{mode}: {:?}", tape.outline());
        session.close().await.unwrap();
    }
}

/// `--session-id`: resume or tag a session.
#[tokio::test]
async fn session_id_tags_and_resumes() {
    let place = Place::new(json!([
        { "when": { "history": "remember blue" }, "say": "Noted.", "times": "always" },
    ]));
    let start = || place.host(OLD).legacy().conversation(Conversation::NewWithId(ID.into()));
    let session = start().start().await.unwrap();
    let mut turn = session.prompt("remember blue").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().session_id().unwrap().as_str(), ID);
    session.close().await.unwrap();
    let session = start().start().await.unwrap();
    let outcome = session.prompt("Which colour?").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "Noted.", "what was said before is known");
    assert_eq!(outcome.session_id().unwrap().as_str(), ID);
    session.close().await.unwrap();
}

/// A session that is never used: its `init` starts no turn.
#[tokio::test]
async fn init_at_the_start_opens_no_turn() {
    let place = Place::new(json!([{ "say": "Never asked." }]));
    let session = place.host(OLD).legacy().start().await.unwrap();
    let report = session.close().await.unwrap();
    assert_eq!(report.code, Some(0));
}

/// All that stdin and stdout carry: four messages, four events.
#[test]
fn protocol_architecture() {
    let place = Place::new(json!([
        { "say": [bash("touch approved")] },
        { "say": [bash("touch denied")] },
        { "say": [question(false)] },
        { "say": "Done." },
    ]));
    let mut agent = place.streaming(OLD);
    agent.prompt("Go");
    let mut kinds = Vec::new();
    for answer in ["approve", "deny", "tool_result"] {
        let is_call = |line: &Value| {
            let blocks = line["message"]["content"].as_array();
            blocks.into_iter().flatten().any(|block| block["type"] == "tool_use")
        };
        let lines = agent.until(is_call);
        let call = lines.last().unwrap()["message"]["content"][0]["id"].clone();
        kinds.extend(lines);
        let mut line = json!({ "type": answer, "tool_use_id": call });
        if answer == "tool_result" {
            line["content"] = json!("Yes");
        }
        agent.say(&line);
    }
    kinds.extend(agent.until(|line| line["type"] == "result"));
    assert!(place.has("approved") && !place.has("denied"));
    let mut kinds: Vec<&str> = kinds.iter().map(|line| line["type"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["assistant", "result", "system", "user"]);
}

#[tokio::test]
async fn event_lifecycle_in_nine_steps() {
    let place = Place::new(json!([
        { "say": [{ "thinking": "A file." }, "I make one.", bash("touch one")] },
        { "say": ["And another.", bash("touch two")] },
        { "say": "Both are there." },
    ]));
    let tape = Tape::default();
    let session = tape.of(place.host(OLD).legacy().on_permission(yes)).start().await.unwrap();
    let outcome = session.prompt("Two files").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "Both are there.");
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
            "< assistant text+tool_use",
            "> approve",
            "< user tool_result",
            "< assistant text",
            "< result",
        ]
    );
    session.close().await.unwrap();
}

/// The text of a result is JSON inside JSON, in `result` and in `system/result`.
#[tokio::test]
async fn double_encoded_results() {
    let said = "The \"actual\" text,\nin two lines";
    for (dialect, kind) in [("legacy", "result"), ("legacy-system-result", "system/result")] {
        let place = Place::new(json!([
            { "say": said },
            { "say": [bash("touch seen")] },
            { "say": "Done." },
        ]));
        let tape = Tape::default();
        let flags = ["--lenient", "--dialect", dialect];
        let builder = place.host(&flags).legacy().on_permission(yes);
        let session = tape.of(builder).start().await.unwrap();
        let outcome = session.prompt("Hi").await.unwrap().outcome().await.unwrap();
        let last = tape.to_host().pop().unwrap();
        assert_eq!(super::legacy::short(&last), kind);
        let inner: String = serde_json::from_str(last["result"].as_str().unwrap()).unwrap();
        assert_eq!(inner, said);
        // Our host reports the plain text for both.
        assert_eq!(outcome.text(), said);
        assert!(outcome.is_success() && !outcome.finished().text_differs);
        let result = outcome.finished().result.as_deref().unwrap();
        assert_eq!(decode_result(result).as_deref(), Some(said));
        // The next turn, and the end, work as well.
        let outcome = session.prompt("Go").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.text(), "Done.");
        assert!(place.has("seen"));
        session.close().await.unwrap();
    }
}

/// An interrupt settles also where the end of a turn is a system line.
#[tokio::test]
async fn system_result_ends_an_interrupted_turn() {
    let place = Place::new(json!([
        { "say": [bash("touch begun; sleep 600")] },
        { "say": "Still here." },
    ]));
    let flags = ["--lenient", "--dialect=legacy-system-result"];
    let session = place.host(&flags).legacy().on_permission(yes).start().await.unwrap();
    let pid = session.pid();
    let mut turn = session.prompt("Sleep").await.unwrap();
    while !place.has("begun") {
        tokio::task::yield_now().await;
    }
    session.interrupt().await.unwrap();
    assert!(!turn.outcome().await.unwrap().is_success());
    let outcome = session.prompt("Again").await.unwrap().outcome().await.unwrap();
    assert_eq!((outcome.text(), session.pid()), ("Still here.", pid));
    session.close().await.unwrap();
}

/// The content of a tool's result is a string, an array of text blocks, or null.
#[tokio::test]
async fn polymorphic_content() {
    let line = |id: &str, content: Value| {
        let call = json!({ "type": "tool_use", "id": id, "name": "Grep", "input": {} });
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
        let call =
            json!({ "type": "assistant", "message": { "role": "assistant", "content": [call] } });
        let result = json!({ "type": "user", "message": { "role": "user", "content": [result] } });
        [call.to_string(), result.to_string()]
    };
    let blocks = json!([{ "type": "text", "text": "two" }, { "type": "text", "text": "blocks" }]);
    let lines =
        [line("t1", json!("a string")), line("t2", blocks), line("t3", Value::Null)].concat();
    let place = Place::new(json!([{ "lines": lines, "say": "Done." }]));
    let session = place.host(OLD).start().await.unwrap();
    let mut turn = session.prompt("Go").await.unwrap();
    let mut found = Vec::new();
    for event in events(&mut turn).await {
        if let Event::ToolResult(result) = event {
            let content = result.content.as_ref().map(|content| content.read().unwrap().text());
            found.push(content.unwrap_or_else(|| "nothing".to_owned()));
        }
    }
    assert_eq!(found, ["a string", "twoblocks", "nothing"]);
    session.close().await.unwrap();
}

#[test]
fn the_agent_accepts_every_example() {
    the_agent_takes_every_example("004", OLD);
}

#[tokio::test]
async fn the_host_reads_every_example() {
    the_host_understands_every_example("004").await;
}
