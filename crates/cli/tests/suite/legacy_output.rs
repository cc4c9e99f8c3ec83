//! Legacy description 001, "Claude CLI Stream-JSON Protocol Format": the lines of the agent, errors, the example flow
//! and the notes.

use duologue::handlers::{Decision, PermissionRequest};
use duologue::{Event, Handshake, Session};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::legacy::{
    LENIENT, OLD, Place, Tape, bash, events, examples, question, short,
    the_host_understands_every_example,
};

const STDIO: &[&str] = &["--lenient", "--permission-prompt-tool=stdio"];

/// Asserts that our line has every field of the example, with the same type, except those in `left_out`.
fn has_the_fields(ours: &Value, example: &Value, left_out: &[&str]) {
    for (name, value) in example.as_object().unwrap() {
        if left_out.contains(&name.as_str()) {
            continue;
        }
        let found = ours.get(name).unwrap_or_else(|| panic!("{name} is missing in {ours}"));
        let same = std::mem::discriminant(found) == std::mem::discriminant(value);
        assert!(same || value.is_null(), "{name} is {found}");
    }
}

/// The example to the host for which this holds.
fn example(is: impl Fn(&Value) -> bool) -> Value {
    examples("001").into_iter().find(|e| e.to_host && is(&e.line)).unwrap().line
}

#[test]
fn initialize_response() {
    let place = Place::new(json!([{ "say": "Hello." }]));
    let mut agent = place.streaming(STDIO);
    let hello = json!({ "type": "control_request", "request_id": "unique-request-id",
        "request": { "subtype": "initialize" } });
    agent.say(&hello);
    let reply = agent.next("control_response")["response"].clone();
    assert_eq!(
        (&reply["subtype"], &reply["request_id"]),
        (&json!("success"), &hello["request_id"])
    );
    let reply = &reply["response"];
    let wanted = example(|line| line["response"]["response"]["commands"].is_array());
    let wanted = &wanted["response"]["response"];
    has_the_fields(reply, wanted, &[]);
    has_the_fields(&reply["commands"][0], &wanted["commands"][0], &[]);
    has_the_fields(&reply["models"][0], &wanted["models"][0], &[]);
    assert!(reply["commands"].as_array().unwrap().iter().any(|one| one["name"] == "compact"));
}

#[test]
fn assistant_tool_result_init_and_result() {
    let place = Place::new(json!([{ "say": ["I look.", bash("echo hi")] }, { "say": "Done." }]));
    let mut agent = place.streaming(&["--lenient", "--allowedTools=Bash"]);
    agent.prompt("Go");
    let lines = agent.until(|line| line["type"] == "result");
    let one = |kind: &str| lines.iter().find(|line| short(line).starts_with(kind)).unwrap();
    let is = |kind: &'static str| move |line: &Value| short(line).starts_with(kind);
    let message = example(is("assistant text"));
    has_the_fields(one("assistant text"), &message, &[]);
    // Each block is a line of its own, as it is with today's CLI: why the message stops is not known yet.
    has_the_fields(&one("assistant text")["message"], &message["message"], &["stop_reason"]);
    has_the_fields(one("user tool_result"), &example(is("user tool_result")), &[]);
    let block = &one("user tool_result")["message"]["content"][0];
    assert_eq!((&block["content"], &block["is_error"]), (&json!("hi"), &json!(false)));
    has_the_fields(one("system/init"), &example(is("system/init")), &[]);
    let result = example(is("result"));
    has_the_fields(one("result"), &result, &[]);
    let used =
        |line: &Value| line["modelUsage"].as_object().unwrap().values().next().cloned().unwrap();
    has_the_fields(&used(one("result")), &used(&result), &[]);
}

/// Besides `success` there is `error`.
#[tokio::test]
async fn result_with_the_subtype_error() {
    let (ours, mut theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(ours);
    let builder = Session::builder().handshake(Handshake::Skip);
    let session = builder.connect(reader, writer).await.unwrap();
    let mut turn = session.prompt("Go").await.unwrap();
    let result =
        json!({ "type": "result", "subtype": "error", "is_error": true, "result": "It broke." });
    theirs.write_all(format!("{result}\n").as_bytes()).await.unwrap();
    let outcome = turn.outcome().await.unwrap();
    assert_eq!((outcome.is_success(), outcome.error()), (false, Some("It broke.")));
    session.kill().await;
}

/// All six kinds of stream events, and both kinds of delta.
#[tokio::test]
async fn streaming_events() {
    let place = Place::new(json!([
        { "say": ["partial text", bash("touch seen")], "chunk": 4 },
        { "say": "Done." },
    ]));
    let tape = Tape::default();
    let builder = place.host(LENIENT).serial().partial_messages(true).allowed_tools(["Bash"]);
    let session = tape.of(builder).start().await.unwrap();
    let mut turn = session.prompt("Go").await.unwrap();
    let (mut text, mut input) = (String::new(), String::new());
    for event in events(&mut turn).await {
        match event {
            Event::TextDelta(delta) => text.push_str(delta.text.as_str()),
            Event::ToolInputDelta(delta) => input.push_str(delta.partial_json.as_str()),
            _ => {}
        }
    }
    assert_eq!(text, "partial textDone.");
    let input: Value = serde_json::from_str(&input).unwrap();
    assert_eq!(input["command"], "touch seen");
    let lines = tape.to_host();
    for kind in [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ] {
        let line = lines.iter().find(|line| line["event"]["type"] == kind).unwrap();
        has_the_fields(line, &example(|line| line["type"] == "stream_event"), &[]);
    }
    session.close().await.unwrap();
}

#[test]
fn permission_request_and_question() {
    let place = Place::new(json!([
        { "say": [bash("touch seen")] },
        { "say": [question(false)] },
        { "say": "Done." },
    ]));
    let mut agent = place.streaming(STDIO);
    agent.prompt("Go");
    for tool in ["Bash", "AskUserQuestion"] {
        let ask = agent.asks("can_use_tool");
        let wanted = example(|line| line["request"]["tool_name"] == tool);
        has_the_fields(&ask, &wanted, &[]);
        has_the_fields(&ask["request"], &wanted["request"], &[]);
        assert_eq!(ask["request"]["tool_name"], tool);
        let suggestion = &ask["request"]["permission_suggestions"][0];
        if tool == "Bash" {
            has_the_fields(suggestion, &wanted["request"]["permission_suggestions"][0], &[]);
        }
        let no = json!({ "behavior": "deny", "message": "no" });
        let body = json!({ "subtype": "success", "request_id": ask["request_id"], "response": no });
        agent.say(&json!({ "type": "control_response", "response": body }));
    }
    assert_eq!(agent.next("result")["result"], "Done.");
}

/// A message is said again as it came: by itself in the old dialect, and where the host wants it today.
#[test]
fn user_message_echo() {
    for flags in [OLD, &["--replay-user-messages"]] {
        let place = Place::new(json!([{ "say": "Hello." }]));
        let mut agent = place.streaming(flags);
        let content = json!([{ "type": "text", "text": "User's message" }]);
        let message = json!({ "role": "user", "content": content });
        agent.say(&json!({ "type": "user", "session_id": "", "message": message, "parent_tool_use_id": null }));
        assert_eq!(agent.next("user")["message"], message);
        agent.next("result");
    }
}

#[test]
fn auth_status() {
    let place = Place::new(json!([{ "say": "Hello." }]));
    let mut agent = place.streaming(&["--lenient", "--enable-auth-status"]);
    let hello = json!({ "subtype": "initialize" });
    agent.say(&json!({ "type": "control_request", "request_id": "r", "request": hello }));
    let line = agent.next("auth_status");
    has_the_fields(&line, &example(|line| line["type"] == "auth_status"), &[]);
    assert_eq!(line["isAuthenticating"], false);
    agent.next("control_response");
}

/// A wrong line is reported, and the conversation continues.
#[test]
fn error_handling() {
    let place = Place::new(json!([{ "say": "Hello." }]));
    let mut agent = place.streaming(LENIENT);
    for bad in [
        "{no json",
        "[1, 2",
        r#"{"type":"no such type"}"#,
        r#"{"type":"user"}"#,
        r#"{"type":"user","message":{"role":"assistant","content":"x"}}"#,
        r#"{"type":"control_request","request_id":"r"}"#,
    ] {
        agent.say_raw(bad);
        let error = agent.line().unwrap();
        assert_eq!(
            (&error["type"], &error["error"]["type"]),
            (&json!("error"), &json!("invalid_request"))
        );
        assert!(error["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{bad}");
    }
    agent.prompt("Hi");
    assert_eq!(agent.next("result")["result"], "Hello.");
    let (_, stderr, code) = agent.end();
    assert_eq!(code, Some(0), "{stderr}");
}

/// The four steps at the end, with the lines of the description.
#[test]
fn example_flow() {
    let call = json!({ "tool": "Bash", "id": "toolu_1", "input": { "command": "touch date" } });
    let place = Place::new(json!([
        { "say": "2 + 2 = 4" },
        { "say": [call] },
        { "say": "It is today." },
    ]));
    let mut agent = place.streaming(STDIO);
    agent.say_raw(r#"{"type":"user","session_id":"","message":{"role":"user","content":[{"type":"text","text":"What is 2+2?"}]},"parent_tool_use_id":null}"#);
    let assistant = agent.next("assistant");
    assert_eq!(assistant["message"]["content"][0], json!({ "type": "text", "text": "2 + 2 = 4" }));
    agent.next("result");
    agent.prompt("And the date?");
    let ask = agent.asks("can_use_tool");
    assert_eq!(ask["request"]["input"], json!({ "command": "touch date" }));
    assert_eq!(ask["request"]["tool_use_id"], "toolu_1");
    let line = r#"{"type":"control_response","response":{"subtype":"success","request_id":"req123","response":{"behavior":"allow","updatedInput":{"command":"touch date"},"toolUseID":"toolu_1"}}}"#;
    agent.say_raw(&line.replace("req123", ask["request_id"].as_str().unwrap()));
    assert_eq!(agent.next("result")["result"], "It is today.");
    assert!(place.has("date"));
}

/// The same flow, our host against the agent.
#[tokio::test]
async fn example_flow_by_our_host() {
    let place = Place::new(json!([
        { "say": ["Let me look.", bash("touch date")] },
        { "say": "It is today." },
    ]));
    let tape = Tape::default();
    let builder = place.host(LENIENT).serial().replay_user_messages(false);
    let builder = builder.on_permission(|_: PermissionRequest| async { Decision::allow() });
    let session = tape.of(builder).start().await.unwrap();
    let outcome = session.prompt("The date?").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "It is today.");
    let flow: Vec<String> =
        tape.outline().into_iter().filter(|line| !line.contains("command_lifecycle")).collect();
    assert_eq!(
        flow,
        [
            "> user text",
            "< system/init",
            "< assistant text",
            "< assistant tool_use",
            "< asks can_use_tool",
            "> answers",
            "< user tool_result",
            "< assistant text",
            "< result",
        ]
    );
    session.close().await.unwrap();
}

/// "Use `--verbose`": without it, `stream-json` is refused on stderr; with it, `json` prints every line of the
/// conversation and not only the result.
#[test]
fn verbose() {
    let place = Place::new(json!([{ "say": "Hello.", "times": "always" }]));
    let (lines, stderr, code) = place.agent(&["-p", "Hi", "--output-format=stream-json"]).end();
    assert_eq!((lines.len(), code), (0, Some(1)));
    assert!(stderr.contains("requires --verbose"), "{stderr}");
    let (lines, stderr, code) =
        place.agent(&["-p", "Hi", "--output-format=stream-json", "--verbose"]).end();
    assert_eq!(short(lines.first().unwrap()), "system/init");
    assert_eq!(short(lines.last().unwrap()), "result");
    assert_eq!((stderr.as_str(), code), ("", Some(0)));
    let (all, _, code) = place.agent(&["-p", "Hi", "--output-format=json", "--verbose"]).end();
    let all = all[0].as_array().unwrap();
    assert_eq!(short(all.first().unwrap()), "system/init");
    assert_eq!((short(all.last().unwrap()), code), ("result".to_owned(), Some(0)));
    let (result, _, code) = place.agent(&["-p", "Hi", "--output-format=json"]).end();
    assert_eq!((short(&result[0]), code), ("result".to_owned(), Some(0)));
}

/// The agent's stderr does not disturb the conversation.
#[tokio::test]
async fn output_on_stderr() {
    let place = Place::new(json!([{ "say": "Hello." }]));
    let session = place.host(&["--lenient", "--fault=stderr=1000"]).start().await.unwrap();
    let outcome = session.prompt("Hi").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "Hello.");
    assert!(!session.stderr().is_empty());
    session.close().await.unwrap();
}

#[tokio::test]
async fn the_host_reads_every_example() {
    the_host_understands_every_example("001").await;
}
