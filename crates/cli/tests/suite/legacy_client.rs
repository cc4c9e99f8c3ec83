//! Legacy description 003, the client API: `query`, `control_request`, `control_response` and `receive`.

use duologue::handlers::{
    Hook, HookCall, HookEvent, PlanDecision, PlanRequest, QuestionAnswer, QuestionRequest,
};
use duologue::protocol::control::ControlResponse;
use duologue::protocol::hook::HookOutput;
use duologue::protocol::permission::PermissionMode;
use duologue::protocol::{RawJson, RawObject, ToHost};
use duologue::{Handshake, Session, image, mcp};
use serde_json::{Value, json};

use super::legacy::{LENIENT, OLD, Place, Tape, answers, bash, examples, question, short};

/// Receives lines up to the first that is wanted.
async fn receive_until(session: &Session, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut lines = Vec::new();
    loop {
        let message = session.receive().await.unwrap().unwrap();
        assert!(message.known().is_some(), "{:?}", message.line);
        let line: Value = serde_json::from_slice(message.line.raw()).unwrap();
        let found = wanted(&line);
        lines.push(line);
        if found {
            return lines;
        }
    }
}

async fn receive(session: &Session) -> Vec<Value> {
    receive_until(session, |line| line["type"] == "result").await
}

#[tokio::test]
async fn query_receives_until_the_result() {
    let place = Place::new(json!([{ "when": { "prompt": "What is 2 + 2?" }, "say": "4" }]));
    let session = place.host(LENIENT).start().await.unwrap();
    session.query("What is 2 + 2?").await.unwrap();
    let lines = receive(&session).await;
    let shorts: Vec<String> = lines.iter().map(short).collect();
    assert!(shorts.contains(&"system/init".to_owned()));
    assert!(shorts.contains(&"assistant text".to_owned()));
    assert_eq!(lines.last().unwrap()["result"], "4");
    session.close().await.unwrap();
}

/// Text and a picture, as content blocks.
#[tokio::test]
async fn query_with_text_and_image() {
    let place = Place::new(json!([{ "when": { "prompt": "What is this?" }, "say": "A pixel." }]));
    let pixel = include_bytes!("../../../host/tests/pixel.png");
    let tape = Tape::default();
    let session = tape.of(place.host(OLD)).start().await.unwrap();
    let text = duologue::protocol::content::ContentBlock::text("What is this?");
    session.query([text, image(pixel).unwrap()]).await.unwrap();
    assert_eq!(receive(&session).await.last().unwrap()["result"], "\"A pixel.\"");
    let sent = tape.to_agent().pop().unwrap();
    let source = &sent["message"]["content"][1]["source"];
    assert_eq!((&source["type"], &source["media_type"]), (&json!("base64"), &json!("image/png")));
    session.close().await.unwrap();
}

/// The session id of a message is taken and changes nothing.
#[test]
fn user_message_with_a_session_id() {
    let place = Place::new(json!([{ "say": "4" }]));
    let mut agent = place.streaming(LENIENT);
    let user = examples("003").into_iter().find(|e| !e.to_host).unwrap().line;
    assert_eq!(user["session_id"], "550e8400-e29b-41d4-a716-446655440000");
    agent.say(&user);
    assert_eq!(agent.next("result")["result"], "4");
}

/// `initialize` with `protocolVersion` and `features`, by name; the answer is bare.
#[tokio::test]
async fn initialize_is_acknowledged() {
    let place = Place::new(json!([{ "say": "Hello." }]));
    let tape = Tape::default();
    let builder = place.host(OLD).handshake(Handshake::Skip);
    let session = tape.of(builder).start().await.unwrap();
    let fields = json!({ "protocolVersion": "1.0", "features": [] });
    assert!(session.control_request("initialize", &fields).await.unwrap().is_none());
    let sent = tape.to_agent().pop().unwrap();
    let id = &sent["request_id"];
    assert_eq!(sent["request"]["protocolVersion"], "1.0");
    let reply = tape.to_host().pop().unwrap();
    let bare = json!({ "subtype": "success", "request_id": id });
    assert_eq!(reply, json!({ "type": "control_response", "response": bare }));
    session.close().await.unwrap();
}

/// `interrupt` by name; the agent acknowledges with a request of its own, and is answered.
#[tokio::test]
async fn interrupt_is_acknowledged_by_sdk_control_interrupt() {
    let place = Place::new(json!([
        { "say": [bash("touch begun; sleep 600")] },
        { "say": "Still here." },
    ]));
    let tape = Tape::default();
    let session = tape.of(place.host(OLD).allowed_tools(["Bash"])).start().await.unwrap();
    session.query("Sleep").await.unwrap();
    while !place.has("begun") {
        tokio::task::yield_now().await;
    }
    session.control_request("interrupt", &json!({})).await.unwrap();
    let lines = receive(&session).await;
    assert_eq!(lines.last().unwrap()["subtype"], "error_during_execution");
    let ack = lines.iter().find(|line| line["request"]["subtype"] == "sdk_control_interrupt");
    let id = ack.unwrap()["request_id"].clone();
    session.query("Again").await.unwrap();
    assert_eq!(receive(&session).await.last().unwrap()["result"], "\"Still here.\"");
    let answered = |line: &Value| line["response"]["request_id"] == id;
    assert!(tape.to_agent().iter().any(answered), "it is not left waiting");
    session.close().await.unwrap();
}

/// Requests permission for a command once, answers with this example, and returns the lines that follow.
async fn answered(replies: Value, number: usize) -> (Place, Session, Vec<Value>) {
    let place = Place::new(replies);
    let session = place.host(LENIENT).answer_by_hand().start().await.unwrap();
    session.query("Go").await.unwrap();
    let lines = receive_until(&session, |line| line["request"]["subtype"] == "can_use_tool").await;
    let ask = lines.last().unwrap();
    let line = answers("003", "can_use_tool", &ask["request_id"]).remove(number);
    let response: ControlResponse = RawJson::from(&line).read().unwrap();
    session.control_response(&response).await.unwrap();
    let lines = receive(&session).await;
    (place, session, lines)
}

#[tokio::test]
async fn control_response_allow() {
    let replies = json!([
        { "say": [bash("touch seen")] },
        { "when": { "tool_result": "scenario.json" }, "say": "Listed." },
    ]);
    let (place, session, lines) = answered(replies, 0).await;
    assert_eq!(lines.last().unwrap()["result"], "Listed.", "`ls -la` ran in its place");
    assert!(!place.has("seen"));
    session.close().await.unwrap();
}

#[tokio::test]
async fn control_response_allow_with_permissions() {
    let replies = json!([
        { "say": [bash("touch seen")] },
        { "say": [bash("touch again")] },
        { "say": "Done." },
    ]);
    let (place, session, lines) = answered(replies, 1).await;
    assert_eq!(lines.last().unwrap()["result"], "Done.");
    assert!(lines.iter().all(|line| line["request"]["subtype"] != "can_use_tool"));
    assert!(place.has("again"), "all of Bash is allowed for this session");
    assert!(!place.has(".claude/settings.local.json"), "and for no other");
    session.close().await.unwrap();
}

#[tokio::test]
async fn control_response_deny() {
    let replies = json!([
        { "say": [bash("touch seen")] },
        { "when": { "tool_result": "Reason for denial" }, "say": "I do not." },
    ]);
    let (place, session, lines) = answered(replies, 2).await;
    assert_eq!(lines.last().unwrap()["result"], "I do not.");
    assert_eq!(lines.last().unwrap()["permission_denials"].as_array().unwrap().len(), 1);
    assert!(!place.has("seen"));
    session.close().await.unwrap();
}

#[tokio::test]
async fn control_response_deny_with_interrupt() {
    let replies = json!([{ "say": [bash("touch seen")] }, { "say": "Still here." }]);
    let (place, session, lines) = answered(replies, 3).await;
    assert_eq!(lines.last().unwrap()["subtype"], "error_during_execution");
    assert!(!place.has("seen"));
    session.query("Again").await.unwrap();
    assert_eq!(receive(&session).await.last().unwrap()["result"], "Still here.");
    session.close().await.unwrap();
}

/// A plan is executed, revised or rejected.
#[tokio::test]
async fn exit_plan_mode() {
    let plan = "## Plan\n\n1. First step\n2. Second step\n...";
    for (decision, message) in [
        (PlanDecision::approve(), "approved your plan"),
        (
            PlanDecision::revise("Please revise the plan to include error handling"),
            "error handling",
        ),
        (PlanDecision::reject(), "User rejected the plan"),
    ] {
        let place = Place::new(json!([
            { "say": [{ "tool": "ExitPlanMode", "input": { "plan": plan } }] },
            { "when": { "tool_result": message }, "say": "Understood." },
        ]));
        let builder = place.host(LENIENT).permission_mode(PermissionMode::Plan);
        let builder = builder.on_plan(move |ask: PlanRequest| {
            let decision = decision.clone();
            async move {
                assert_eq!(ask.plan(), plan);
                decision
            }
        });
        let session = builder.start().await.unwrap();
        let outcome = session.prompt("Plan").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.text(), "Understood.", "{message}");
        session.close().await.unwrap();
    }
}

/// A question is answered or skipped.
#[tokio::test]
async fn ask_user_question() {
    use duologue::protocol::tool::Answers;
    let yes = Answers::new().choose("Yes or no?", "Yes");
    for (answer, message) in [
        (QuestionAnswer::answers(yes), "\"Yes or no?\"=\"Yes\""),
        (QuestionAnswer::skip(), "User skipped the question"),
    ] {
        let place = Place::new(json!([
            { "say": [question(false)] },
            { "when": { "tool_result": message }, "say": "Understood." },
        ]));
        let builder = place.host(LENIENT).on_question(move |_: QuestionRequest| {
            let answer = answer.clone();
            async move { answer }
        });
        let session = builder.start().await.unwrap();
        let outcome = session.prompt("Ask").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.text(), "Understood.", "{message}");
        session.close().await.unwrap();
    }
}

type Wanted<'a> = &'a dyn Fn(&Value) -> bool;

/// The example answers to plans and questions, sent unchanged.
#[test]
fn plan_and_question_answers_as_they_stand() {
    let plan = json!({ "tool": "ExitPlanMode", "input": { "plan": "1. First step" } });
    let allow =
        |line: &Value, key: &str| line["response"]["response"]["updatedInput"].get(key).is_some();
    let deny = |line: &Value, text: &str| {
        let message = line["response"]["response"]["message"].as_str();
        message.is_some_and(|message| message.contains(text))
    };
    let cases: [(&Value, Wanted<'_>, &str); 5] = [
        (&plan, &|line| allow(line, "plan"), "approved your plan"),
        (&plan, &|line| deny(line, "revise"), "include error handling"),
        (&plan, &|line| deny(line, "rejected"), "User rejected the plan"),
        (
            &question(false),
            &|line| allow(line, "answers"),
            "\"What do you mean by 'the box'?\"=\"A Docker container\"",
        ),
        (&question(false), &|line| deny(line, "skipped"), "User skipped the question"),
    ];
    for (call, wanted, message) in cases {
        let place = Place::new(json!([
            { "say": [call] },
            { "when": { "tool_result": message }, "say": "Understood." },
        ]));
        let flags = ["--lenient", "--permission-prompt-tool=stdio", "--permission-mode=plan"];
        let mut agent = place.streaming(&flags);
        agent.prompt("Go");
        let ask = agent.asks("can_use_tool");
        let all = answers("003", "can_use_tool", &ask["request_id"]);
        agent.say(&all.into_iter().find(|line| wanted(line)).unwrap());
        assert_eq!(agent.next("result")["result"], "Understood.", "{message}");
    }
}

/// A hook is called by name: the hook of our host with this name answers.
#[tokio::test]
async fn hook_callback_by_name() {
    let place = Place::new(json!([{ "say": [bash("touch seen")] }, { "say": "A pity." }]));
    let tape = Tape::default();
    let other = Hook::new(HookEvent::PreToolUse, |_: HookCall| async { HookOutput::allow_tool() });
    let hook = Hook::new(HookEvent::PreToolUse, |call: HookCall| async move {
        assert_eq!((call.event(), call.tool_name()), (HookEvent::PreToolUse, Some("Bash")));
        HookOutput::deny_tool("not in this house")
    });
    let builder = place.host(OLD).hook(other.matcher("Write")).hook(hook.matcher("Bash"));
    let session = tape.of(builder).start().await.unwrap();
    let outcome = session.prompt("Go").await.unwrap().outcome().await.unwrap();
    assert_eq!((outcome.text(), outcome.denials()), ("A pity.", 1));
    let call = tape.to_host().into_iter().find(|line| short(line) == "asks hook_callback").unwrap();
    assert_eq!(call["request"]["hook_name"], "PreToolUse");
    assert_eq!(call["request"]["hook_data"]["tool_input"]["command"], "touch seen");
    assert!(!place.has("seen"));
    session.close().await.unwrap();
}

/// A hook that was not registered is answered too.
#[tokio::test]
async fn hook_callback_is_a_notification() {
    let line = examples("003").into_iter().find(|e| e.line["request"]["hook_name"].is_string());
    let line = line.unwrap().line;
    let place = Place::new(json!([{ "lines": [line.to_string()], "say": "Done." }]));
    let tape = Tape::default();
    let session = tape.of(place.host(OLD)).start().await.unwrap();
    session.prompt("Go").await.unwrap().outcome().await.unwrap();
    session.close().await.unwrap();
    let answer = tape
        .to_agent()
        .into_iter()
        .find(|sent| sent["response"]["request_id"] == line["request_id"]);
    assert_eq!(answer.unwrap()["response"]["subtype"], "success");
}

#[tokio::test]
async fn mcp_message() {
    let place = Place::new(json!([
        { "say": [{ "tool": "mcp__server-name__shout", "input": { "input": "hey" } }] },
        { "when": { "tool_result": "HEY" }, "say": "Heard." },
    ]));
    let shout = mcp::tool("shout", "Shouts", |text: String| async move { text.to_uppercase() });
    let builder = place.host(OLD).mcp(mcp::server("server-name").tool(shout));
    let session = builder.allowed_tools(["mcp__server-name__shout"]).start().await.unwrap();
    let outcome = session.prompt("Shout").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "Heard.");
    session.close().await.unwrap();
}

/// The agent's line by line end: requests of both sides may be answered with a whole line.
#[tokio::test]
async fn control_response_of_what_is_not_open() {
    let place = Place::new(json!([{ "say": "Hello." }]));
    let session = place.host(LENIENT).answer_by_hand().start().await.unwrap();
    let stale = ControlResponse::success("unknown request", &RawObject::default());
    assert!(
        session.control_response(&stale).await.is_err(),
        "a request is answered once, and an unknown one never"
    );
    session.query("Hi").await.unwrap();
    let lines = receive(&session).await;
    assert!(matches!(
        duologue::protocol::Line::from(lines.last().unwrap().to_string()).to_host().known(),
        Some(ToHost::Result(_))
    ));
    session.close().await.unwrap();
}

/// `--legacy` of `run` and `chat`: a tool call is approved or denied by a legacy line.
#[test]
fn run_and_chat_answer_with_legacy_lines() {
    let duologue = assert_cmd::cargo::cargo_bin("duologue");
    let duologue = shell_words::quote(duologue.to_str().unwrap()).into_owned();
    let agent =
        format!("{duologue} record --force -o talk.tape -- {duologue} agent {}", OLD.join(" "));
    for (arguments, answer, runs) in [
        (&["run", "--legacy", "--yes", "Go"][..], "approve", true),
        (&["run", "--legacy", "Go"], "deny", false),
        (&["chat", "--legacy", "Go"], "deny", false),
    ] {
        let place = Place::new(json!([{ "say": [bash("touch seen")] }, { "say": "Done." }]));
        let mut command = place.command(arguments);
        let output = command.args(["--agent", &agent]).stdin(std::process::Stdio::null());
        let output = output.output().unwrap();
        let tape = std::fs::read_to_string(place.path().join("talk.tape")).unwrap();
        let line = format!(r#""line":"{{\"type\":\"{answer}\""#);
        assert!(tape.contains(&line), "{arguments:?}: {output:?}\n{tape}");
        assert_eq!(place.has("seen"), runs, "{arguments:?}: {output:?}");
    }
}
