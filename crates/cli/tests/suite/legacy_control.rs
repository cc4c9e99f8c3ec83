//! Legacy description 001, "Claude CLI Stream-JSON Protocol Format": its command line and the lines of the host.

use duologue::handlers::{
    Decision, Hook, HookCall, HookEvent, PermissionRequest, QuestionAnswer, QuestionRequest,
};
use duologue::protocol::hook::HookOutput;
use duologue::protocol::tool::Answers;
use duologue::protocol::{RawJson, RawObject};
use duologue::{Event, mcp};
use serde_json::{Value, json};

use super::legacy::{
    Agent, LENIENT, Place, Tape, answers, bash, examples, question, the_agent_takes_every_example,
};

/// The flags of the description, with a model.
const FLAGS: &[&str] = &[
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--permission-prompt-tool",
    "stdio",
    "--model",
    "claude-opus-4-5-20251101",
    "--lenient",
];

/// An example to the agent whose request, or type, is this.
fn example(subtype: &str) -> Value {
    let is = |line: &Value| line["request"]["subtype"] == subtype || line["type"] == subtype;
    examples("001").into_iter().find(|e| !e.to_host && is(&e.line)).unwrap().line
}

#[test]
fn command_line_and_user_message() {
    let place = Place::new(json!([
        { "when": { "prompt": "Hello, Claude!", "model": "claude-opus-4-5" }, "say": "Hello!" },
    ]));
    let mut agent = place.agent(FLAGS);
    agent.say(&example("user"));
    let init = agent.line().unwrap();
    assert_eq!(
        (&init["subtype"], &init["model"]),
        (&json!("init"), &json!("claude-opus-4-5-20251101"))
    );
    assert_eq!(agent.next("result")["result"], "Hello!");
    assert_eq!(agent.end().2, Some(0));
}

/// The request of the description: hooks, a server of the host and more system prompt have an effect.
#[test]
fn initialize_request() {
    let place = Place::new(json!([
        {
            "when": { "system": "Additional system prompt text..." },
            "say": [{ "tool": "Write", "input": { "file_path": "note.txt", "content": "Hi" } }],
        },
        { "say": "Written." },
    ]));
    let mut agent = place.agent(FLAGS);
    let initialize = example("initialize");
    agent.say(&initialize);
    agent.prompt("Write a note");
    let (mut called, mut servers, mut is_answered) = (Vec::new(), Vec::new(), false);
    let result = loop {
        let line = agent.line().unwrap();
        let (request, id) = (&line["request"], &line["request_id"]);
        match request["subtype"].as_str() {
            Some("mcp_message") => {
                servers.push(request["server_name"].clone());
                // Requests of the server get its example answer, with the id that was asked.
                let mut answer = answers("001", "mcp_message", id).remove(0);
                answer["response"]["response"]["mcp_response"]["id"] =
                    request["message"]["id"].clone();
                agent.say(&answer);
            }
            Some("hook_callback") => {
                called.push(request["callback_id"].as_str().unwrap().to_owned());
                let body = json!({ "subtype": "success", "request_id": id, "response": {} });
                agent.say(&json!({ "type": "control_response", "response": body }));
            }
            Some("can_use_tool") => {
                let yes = json!({ "behavior": "allow", "updatedInput": request["input"] });
                let body = json!({ "subtype": "success", "request_id": id, "response": yes });
                agent.say(&json!({ "type": "control_response", "response": body }));
            }
            _ if line["type"] == "result" => break line,
            _ => is_answered |= line["response"]["request_id"] == initialize["request_id"],
        }
    };
    assert!(is_answered);
    assert_eq!(result["result"], "Written.", "the system prompt was extended");
    assert_eq!(called, ["hook_0", "hook_1"], "before and after");
    assert!(!servers.is_empty() && servers.iter().all(|name| name == "claude-vscode"));
    assert_eq!(std::fs::read_to_string(place.path().join("note.txt")).unwrap(), "Hi");
}

/// The same from our host: its handlers are called.
#[tokio::test]
async fn hooks_of_the_host() {
    let write = json!({ "tool": "Write", "input": { "file_path": "note.txt", "content": "Hi" } });
    let place = Place::new(json!([{ "say": [write] }, { "say": "A pity." }]));
    let hook = Hook::new(HookEvent::PreToolUse, |call: HookCall| async move {
        assert_eq!(call.tool_name(), Some("Write"));
        HookOutput::deny_tool("no notes")
    });
    let builder = place.host(LENIENT).serial().hook(hook.matcher("Edit|Write|MultiEdit"));
    let session = builder.start().await.unwrap();
    let outcome = session.prompt("Write").await.unwrap().outcome().await.unwrap();
    assert_eq!((outcome.text(), outcome.denials()), ("A pity.", 1));
    assert!(!place.has("note.txt"));
    session.close().await.unwrap();
}

#[tokio::test]
async fn interrupt() {
    let place = Place::new(json!([
        { "say": [bash("touch begun; sleep 600")] },
        { "say": "Still here." },
    ]));
    let session = place.host(LENIENT).serial().allowed_tools(["Bash"]).start().await.unwrap();
    let mut turn = session.prompt("Sleep").await.unwrap();
    while !place.has("begun") {
        tokio::task::yield_now().await;
    }
    session.interrupt().await.unwrap();
    assert!(turn.outcome().await.unwrap().is_interrupted());
    let outcome = session.prompt("Again").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "Still here.");
    session.close().await.unwrap();
}

/// Messages of an MCP server, from the agent to the host and back, and the other way round.
#[tokio::test]
async fn mcp_messages() {
    let place = Place::new(json!([
        { "say": [{ "tool": "mcp__claude-vscode__open", "input": { "file": "a.txt" } }] },
        { "when": { "tool_result": "opened a.txt" }, "say": "It is open." },
    ]));
    let server = mcp::raw("claude-vscode", |message: RawObject| async move {
        let message = message.to_value().ok()?;
        let result = match message["method"].as_str()? {
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"], "capabilities": { "tools": {} },
                "serverInfo": { "name": "claude-vscode", "version": "2.0.75" },
            }),
            "tools/list" => {
                json!({ "tools": [{ "name": "open", "inputSchema": { "type": "object" } }] })
            }
            "tools/call" => {
                let file = &message["params"]["arguments"]["file"];
                let text = format!("opened {}", file.as_str()?);
                json!({ "content": [{ "type": "text", "text": text }] })
            }
            _ => return None,
        };
        RawObject::of(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })).ok()
    });
    let tape = Tape::default();
    let builder = place.host(LENIENT).serial().mcp(server);
    let builder = builder.allowed_tools(["mcp__claude-vscode__open"]);
    let session = tape.of(builder).start().await.unwrap();
    let outcome = session.prompt("Open it").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "It is open.");
    let hello = tape.to_host().into_iter().find(|line| line["request"]["subtype"] == "mcp_message");
    let message = &hello.unwrap()["request"]["message"];
    assert_eq!((&message["method"], &message["jsonrpc"]), (&json!("initialize"), &json!("2.0")));
    assert!(message["params"]["clientInfo"]["name"].is_string());
    // The host forwards one, too.
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    let fields = json!({ "server_name": "claude-vscode", "message": changed });
    session.control_request("mcp_message", &fields).await.unwrap();
    session.close().await.unwrap();
}

/// An agent that wants to run a command, and its question.
fn asked(place: &Place) -> (Agent, Value) {
    let mut agent = place.agent(FLAGS);
    agent.prompt("Go");
    let ask = agent.asks("can_use_tool");
    (agent, ask)
}

/// An example answer, to this question.
fn answer(ask: &Value, wanted: impl Fn(&Value) -> bool) -> Value {
    let all = answers("001", "can_use_tool", &ask["request_id"]);
    let mut found = all.into_iter().find(|line| wanted(&line["response"]["response"])).unwrap();
    found["response"]["response"]["toolUseID"] = ask["request"]["tool_use_id"].clone();
    found
}

#[test]
fn allow_a_tool_with_its_input_changed() {
    let write = json!({ "tool": "Write", "input": { "file_path": "a.txt", "content": "a" } });
    let place = Place::new(json!([{ "say": [write] }, { "say": "Done." }]));
    let (mut agent, ask) = asked(&place);
    let mut allow = answer(&ask, |body| body["updatedInput"]["content"] == "file contents");
    // The path of the example is none of ours.
    allow["response"]["response"]["updatedInput"]["file_path"] = json!("b.txt");
    agent.say(&allow);
    assert_eq!(agent.next("result")["result"], "Done.");
    assert_eq!(std::fs::read_to_string(place.path().join("b.txt")).unwrap(), "file contents");
    assert!(!place.has("a.txt"));
}

/// "Always allow": the suggestion comes back whole, is kept in the local settings, and is not asked again.
#[test]
fn allow_with_a_permission_suggestion() {
    let place = Place::new(json!([
        { "say": [bash("touch one; git show --stat abc123")] },
        { "say": [bash("git show --stat def456")] },
        { "say": "Done." },
    ]));
    let (mut agent, ask) = asked(&place);
    assert!(ask["request"]["permission_suggestions"][0]["rules"][0]["toolName"].is_string());
    agent.say(&answer(&ask, |body| body["applyPermissionSuggestion"].is_object()));
    let lines = agent.until(|line| line["type"] == "result");
    assert!(lines.iter().all(|line| line["type"] != "control_request"), "once is enough");
    let kept = std::fs::read_to_string(place.path().join(".claude/settings.local.json")).unwrap();
    assert!(kept.contains("Bash(git show:*)"), "{kept}");
}

#[test]
fn deny_a_tool() {
    let place = Place::new(json!([
        { "say": [bash("touch seen")] },
        { "when": { "tool_result": "User declined this operation" }, "say": "I do not." },
    ]));
    let (mut agent, ask) = asked(&place);
    agent.say(&answer(&ask, |body| body["behavior"] == "deny"));
    let result = agent.next("result");
    assert_eq!(result["result"], "I do not.");
    assert_eq!(result["permission_denials"][0]["tool_use_id"], ask["request"]["tool_use_id"]);
    assert!(!place.has("seen"));
}

/// The same three by our host: by handler, by hand, and with a whole line.
#[tokio::test]
async fn our_host_allows_suggests_and_denies() {
    let place = Place::new(json!([
        { "say": [bash("touch one")] },
        { "say": [bash("touch two")] },
        { "say": [bash("touch two")] },
        { "say": [bash("touch three")] },
        { "say": "Done." },
    ]));
    let session = place.host(LENIENT).serial().answer_by_hand().start().await.unwrap();
    let mut turn = session.prompt("Go").await.unwrap();
    let mut asked = 0;
    while let Some(event) = turn.next().await.unwrap() {
        let Event::PermissionAsked(ask) = event else { continue };
        let id = ask.request_id.clone();
        asked += 1;
        match asked {
            1 => session.respond(id, Decision::allow()).await.unwrap(),
            2 => {
                let suggestion = RawJson::from_wire(&ask.suggestions[0]);
                let suggestion = suggestion.to_value().unwrap();
                let input = ask.input.to_value().unwrap();
                let yes = json!({ "behavior": "allow", "updatedInput": input,
                    "toolUseID": ask.tool_use_id.as_ref().map(|id| id.as_str()), "applyPermissionSuggestion": suggestion });
                session.respond_with(id, RawJson::from(&yes)).await.unwrap();
            }
            _ => session.respond(id, Decision::deny("no more")).await.unwrap(),
        }
    }
    assert_eq!(asked, 3, "the third call was allowed for good");
    let outcome = turn.outcome().await.unwrap();
    assert_eq!((outcome.text(), outcome.denials()), ("Done.", 1));
    assert!(place.has("one") && place.has("two") && !place.has("three"));
    session.close().await.unwrap();
}

/// The answers are in the input, by the text of their question: a string, or several in an array.
#[test]
fn answer_to_ask_user_question() {
    for (several, chosen, message) in [
        (false, json!("Yes"), "\"Yes or no?\"=\"Yes\""),
        (true, json!(["Yes", "No"]), "\"Yes or no?\"=\"Yes,No\""),
    ] {
        let place = Place::new(json!([
            { "say": [question(several)] },
            { "when": { "tool_result": message }, "say": "Understood." },
        ]));
        let (mut agent, ask) = asked(&place);
        assert_eq!(ask["request"]["tool_name"], "AskUserQuestion");
        let mut line = answer(&ask, |body| body["updatedInput"]["answers"].is_object());
        let input = &mut line["response"]["response"]["updatedInput"];
        input["questions"] = ask["request"]["input"]["questions"].clone();
        input["answers"]["Yes or no?"] = chosen.clone();
        agent.say(&line);
        let lines = agent.until(|line| line["type"] == "result");
        assert_eq!(lines.last().unwrap()["result"], "Understood.");
        let user = lines.iter().find(|line| line["type"] == "user").unwrap();
        assert!(user["tool_use_result"]["questions"].is_array());
        assert_eq!(user["tool_use_result"]["answers"]["Yes or no?"], chosen);
    }
}

#[tokio::test]
async fn our_host_answers_a_question() {
    for several in [false, true] {
        let place = Place::new(json!([{ "say": [question(several)] }, { "say": "Understood." }]));
        let tape = Tape::default();
        let builder =
            place.host(LENIENT).serial().on_question(move |ask: QuestionRequest| async move {
                assert_eq!(ask.questions()[0].question.as_str(), Some("Yes or no?"));
                let answers = Answers::new();
                QuestionAnswer::answers(match several {
                    true => answers.choose_list("Yes or no?", ["Yes", "No"]),
                    false => answers.choose("Yes or no?", "Yes"),
                })
            });
        let session = tape.of(builder).start().await.unwrap();
        session.prompt("Ask me").await.unwrap().outcome().await.unwrap();
        let sent = tape.to_agent().pop().unwrap();
        let input = &sent["response"]["response"]["updatedInput"];
        let expected = if several { json!(["Yes", "No"]) } else { json!("Yes") };
        assert_eq!(input["answers"]["Yes or no?"], expected);
        assert_eq!(input["questions"][0]["header"], "Choice");
        session.close().await.unwrap();
    }
}

/// The protocol is synchronous for control requests: one at a time, each after the answer to the last.
#[tokio::test]
async fn control_requests_wait_for_each_other() {
    let place = Place::new(json!([{ "say": "Hello." }]));
    let tape = Tape::default();
    let session = tape.of(place.host(LENIENT).serial()).start().await.unwrap();
    let control = session.control();
    let (model, mode, usage) = tokio::join!(
        control.set_model("sonnet"),
        control.set_permission_mode("acceptEdits".into()),
        control.get_context_usage(),
    );
    assert!(model.is_ok() && mode.is_ok() && usage.is_ok());
    let turns: Vec<String> = tape
        .outline_of_control()
        .into_iter()
        .skip_while(|line| line != "> asks set_model")
        .collect();
    assert_eq!(
        turns,
        [
            "> asks set_model",
            "< answers",
            "> asks set_permission_mode",
            "< answers",
            "> asks get_context_usage",
            "< answers",
        ]
    );
    session.close().await.unwrap();
}

#[tokio::test]
async fn permission_by_handler_with_its_fields() {
    let place = Place::new(json!([{ "say": [bash("touch seen")] }, { "say": "Done." }]));
    let builder = place.host(LENIENT).serial().on_permission(|ask: PermissionRequest| async move {
        let raw = ask.raw();
        assert_eq!((ask.tool_name(), ask.suggestions().is_empty()), ("Bash", false));
        assert!(raw.tool_use_id.as_str().is_some_and(|id| id.starts_with("toolu_")));
        Decision::allow()
    });
    let session = builder.start().await.unwrap();
    let outcome = session.prompt("Go").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "Done.");
    assert!(place.has("seen"));
    session.close().await.unwrap();
}

#[test]
fn the_agent_accepts_every_example() {
    the_agent_takes_every_example("001", &[LENIENT, &["--permission-prompt-tool=stdio"]].concat());
}
