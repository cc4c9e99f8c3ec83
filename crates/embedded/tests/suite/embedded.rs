//! The embedded agent, driven line by line and by our own host.

use duologue::handlers::{Decision, PermissionRequest};
use duologue_agent::protocol::permission::PermissionMode;
use duologue_embedded::{Embedded, Setup};
use duologue_model::{Block, OfflineModel, Reply, Retrying, Scenario, ScriptedModel, When};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::driving::{Host, drive, outline};

/// A folder, and an agent in it that plays this scenario.
pub(crate) fn plays(scenario: Scenario, change: impl FnOnce(&mut Setup)) -> (TempDir, Host) {
    let folder = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(folder.path());
    setup.model = Some("claude-opus-5-5".to_owned());
    change(&mut setup);
    let model = Retrying::new(ScriptedModel::new(scenario).unwrap());
    let agent = Embedded::new(setup, model).unwrap();
    let options = agent.options();
    (folder, drive(agent, options))
}

pub(crate) fn bash(command: &str) -> Block {
    Block::tool("Bash", json!({ "command": command, "description": "Do it" }))
}

/// Lines up to the result, answering each question of the host's with this.
pub(crate) async fn turn(
    host: &mut Host,
    prompt: &str,
    answer: impl Fn(&Value) -> Value,
) -> Vec<Value> {
    host.prompt(prompt).await;
    rest(host, answer).await
}

pub(crate) async fn rest(host: &mut Host, answer: impl Fn(&Value) -> Value) -> Vec<Value> {
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

pub(crate) fn allow(_: &Value) -> Value {
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
async fn what_a_host_would_say_at_the_command_line_counts_in_its_process_too() {
    let scenario = || {
        let bash = Reply::new().say(bash("touch seen.txt"));
        Scenario::new().reply(bash).reply(Reply::text("So be it."))
    };
    let allow = |_: PermissionRequest| async { Decision::allow() };
    let asked = || duologue::Session::builder().on_permission(allow);
    let cases = [
        (asked(), true),
        (asked().disallowed_tools(["Bash"]), false),
        (duologue::Session::builder(), false),
        (duologue::Session::builder().allowed_tools(["Bash"]), true),
    ];
    for (builder, made) in cases {
        let folder = tempfile::tempdir().unwrap();
        let setup = Setup::with_args(folder.path(), builder.arguments().unwrap()).unwrap();
        let model = duologue_model::ScriptedModel::new(scenario()).unwrap();
        let agent = Embedded::new(setup, model).unwrap();
        let options = agent.options();
        let (reader, writer) = duologue_agent::in_process(agent, options);
        let session = builder.connect(reader, writer).await.unwrap();
        let outcome = session.prompt("go").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.text(), "So be it.");
        assert_eq!(folder.path().join("seen.txt").exists(), made);
        session.close().await.unwrap();
    }
}

#[test]
fn resuming_a_conversation_in_process_is_an_error() {
    let setup = Setup::with_args("/tmp", ["--continue"]).unwrap();
    let refused = Embedded::new(setup, OfflineModel::new()).unwrap_err();
    assert!(refused.contains("only a separate process can resume"), "{refused}");
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
    // Whoever answers is named, whatever was asked for.
    assert_eq!(lines[1]["message"]["model"], OfflineModel::NAME);
}

#[tokio::test]
async fn calls_that_are_safe_run_together_and_others_one_by_one() {
    let outside = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        std::fs::write(outside.path().join(name), name).unwrap();
    }
    let read = |name: &str| Block::tool("Read", json!({ "file_path": outside.path().join(name) }));
    let scenario = Scenario::new()
        .reply(Reply::new().say(read("a")).say(read("b")))
        .reply(Reply::new().say(bash("touch one")).say(bash("touch two")))
        .reply(Reply::text("Done."));
    let (folder, mut host) = plays(scenario, |_| {});
    host.prompt("go").await;
    // Both reads are asked for before either is answered.
    let mut asked = Vec::new();
    while asked.len() < 2 {
        let line = host.line().await.unwrap();
        if line["type"] == "control_request" {
            asked.push(line);
        }
    }
    for ask in asked.iter().rev() {
        host.answer(ask, json!({ "behavior": "allow" })).await;
    }
    let lines = rest(&mut host, allow).await;
    let outline = outline(&lines);
    let first = outline.iter().position(|line| line == "asks can_use_tool").unwrap();
    assert_eq!(
        outline[first..first + 4],
        ["asks can_use_tool", "user tool_result", "asks can_use_tool", "user tool_result"]
    );
    assert!(folder.path().join("two").exists());
}

#[tokio::test]
async fn an_interrupt_stops_a_command_and_the_conversation_goes_on() {
    let scenario = Scenario::new()
        .reply(Reply::new().say(bash("touch begun; sleep 600")))
        .reply(Reply::text("Still here.").when(duologue_model::When::history("interrupted")));
    let (folder, mut host) = plays(scenario, |setup| setup.allowed = vec!["Bash".to_owned()]);
    host.prompt("go").await;
    while !folder.path().join("begun").exists() {
        tokio::task::yield_now().await;
    }
    host.request("stop", json!({ "subtype": "interrupt" })).await;
    let lines = rest(&mut host, allow).await;
    let result = lines.last().unwrap();
    assert_eq!(result["subtype"], "error_during_execution");
    assert_eq!(result["terminal_reason"], "aborted_tools");
    let lines = turn(&mut host, "again", allow).await;
    assert_eq!(lines.last().unwrap()["result"], "Still here.");
}

#[tokio::test]
async fn failures_are_told_as_the_cli_tells_them() {
    let scenario = Scenario::new()
        .reply(Reply::error(500).times(1))
        .reply(Reply::text("Recovered."))
        .reply(Reply::error(duologue_model::ApiError::new(400).message("bad thing")));
    let (_folder, mut host) = plays(scenario, |_| {});
    let lines = turn(&mut host, "one", allow).await;
    assert!(outline(&lines).contains(&"system api_retry".to_owned()));
    assert_eq!(lines.last().unwrap()["result"], "Recovered.");
    let lines = turn(&mut host, "two", allow).await;
    let result = lines.last().unwrap();
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)));
    assert_eq!(result["result"], "API Error: 400 bad thing");
    assert_eq!(result["api_error_status"], 400);
}

#[tokio::test]
async fn limits_end_a_turn() {
    let scenario = Scenario::new().reply(Reply::new().say(bash("ls")).always());
    let (_folder, mut host) = plays(scenario, |setup| setup.max_turns = Some(2));
    let lines = turn(&mut host, "go", allow).await;
    let result = lines.last().unwrap();
    assert_eq!(result["subtype"], "error_max_turns");
    assert_eq!(result["errors"], json!(["Reached maximum number of turns (2)"]));

    let scenario = Scenario::new().reply(Reply::new().say(bash("ls")).always());
    let (_folder, mut host) = plays(scenario, |setup| setup.max_budget_usd = Some(0.000_001));
    for _ in 0..2 {
        let lines = turn(&mut host, "go", allow).await;
        assert_eq!(lines.last().unwrap()["subtype"], "error_max_budget_usd");
    }
}

#[tokio::test]
async fn an_answer_has_the_shape_that_was_asked_for() {
    let schema = json!({ "type": "object", "required": ["n"] });
    let give = |input: Value| Reply::new().say(Block::tool("StructuredOutput", input));
    let scenario = Scenario::new().reply(give(json!({ "m": 1 }))).reply(give(json!({ "n": 3 })));
    let (_folder, mut host) = plays(scenario, |setup| setup.json_schema = Some(schema.clone()));
    let lines = turn(&mut host, "go", allow).await;
    let result = lines.last().unwrap();
    assert_eq!(result["structured_output"], json!({ "n": 3 }));
    assert_eq!(result["stop_reason"], "tool_use");

    let scenario = Scenario::new().reply(Reply::text("No.").times(2));
    let (_folder, mut host) = plays(scenario, |setup| setup.json_schema = Some(schema));
    let lines = turn(&mut host, "go", allow).await;
    assert!(outline(&lines)[2].starts_with("user [structured-output-enforce]"));
    assert!(lines.last().unwrap()["structured_output"].is_null());
}

#[tokio::test]
async fn a_sub_agent_works_and_reports() {
    let delegate =
        json!({ "description": "Look", "prompt": "look around", "run_in_background": false });
    let scenario = Scenario::new()
        .reply(Reply::new().say(Block::tool("Agent", delegate)))
        .reply(Reply::text("Looking.").say(bash("touch found")).agent("sub"))
        .reply(Reply::text("All fine.").agent("sub"))
        .reply(Reply::text("Done.").when(duologue_model::When::tool_result("All fine.")));
    let (folder, mut host) = plays(scenario, |_| {});
    let lines = turn(&mut host, "go", allow).await;
    assert_eq!(
        outline(&lines),
        [
            "system init",
            "assistant tool_use",
            "system task_started",
            "user look around",
            "assistant tool_use",
            "asks can_use_tool",
            "system task_progress",
            "user tool_result",
            "system task_updated",
            "system task_notification",
            "user tool_result",
            "assistant Done.",
            "result",
        ]
    );
    assert!(folder.path().join("found").exists());
    assert_eq!(lines[4]["parent_tool_use_id"], lines[1]["message"]["content"][0]["id"]);
    assert_eq!(lines[5]["request"]["agent_id"], lines[4]["agent_id"]);
}

#[tokio::test]
async fn work_in_the_background_is_told_in_a_turn_of_its_own() {
    // An agent goes there unless the call says otherwise.
    let delegate = json!({ "description": "Look", "prompt": "look around" });
    let command =
        json!({ "command": "echo hi", "description": "Greet", "run_in_background": true });
    let scenario = Scenario::new()
        .reply(Reply::new().say(Block::tool("Agent", delegate)))
        .reply(Reply::text("All fine.").agent("sub"))
        .reply(Reply::text("It is fine.").when(duologue_model::When::prompt("All fine.")))
        .reply(Reply::text("Sent off.").when(duologue_model::When::tool_result("launched")))
        .reply(Reply::new().say(Block::tool("Bash", command)))
        .reply(Reply::text("Greeted.").when(duologue_model::When::prompt("exit code 0")))
        .reply(
            Reply::text("Started.")
                .when(duologue_model::When::tool_result("running in background")),
        );
    let (_folder, mut host) = plays(scenario, |_| {});
    for (prompt, first, second) in
        [("one", "Sent off.", "It is fine."), ("two", "Started.", "Greeted.")]
    {
        let lines = turn(&mut host, prompt, allow).await;
        assert_eq!(lines.last().unwrap()["result"], first);
        let lines = rest(&mut host, allow).await;
        let result = lines.last().unwrap();
        assert_eq!(result["result"], second);
        assert_eq!(result["origin"]["kind"], "task-notification");
    }
}

#[tokio::test]
async fn commands_of_settings_are_hooks() {
    let hook = |command: &str| json!([{ "hooks": [{ "type": "command", "command": command }] }]);
    let settings = json!({ "hooks": {
        "PreToolUse": hook("echo no touching >&2; exit 2"),
        "UserPromptSubmit": hook("echo it is Sunday"),
    }});
    let scenario = Scenario::new()
        .reply(Reply::new().say(bash("touch seen")).when(duologue_model::When::history("Sunday")))
        .reply(Reply::text("A pity.").when(duologue_model::When::tool_result("no touching")));
    let (folder, mut host) = plays(scenario, |setup| {
        setup.settings = Some(settings.to_string());
        setup.hook_events = true;
    });
    let lines = turn(&mut host, "go", allow).await;
    assert_eq!(lines.last().unwrap()["result"], "A pity.");
    assert!(!folder.path().join("seen").exists());
    let started = lines.iter().filter(|line| line["subtype"] == "hook_started").count();
    let ended = lines.iter().filter(|line| line["subtype"] == "hook_response").count();
    assert_eq!((started, ended), (2, 2));
}

#[tokio::test]
async fn prompts_that_come_during_a_tool_are_said_with_its_result() {
    let scenario = Scenario::new()
        .reply(Reply::new().say(bash("touch seen")))
        .reply(Reply::text("Both.").when(duologue_model::When::prompt("and this")));
    let (_folder, mut host) = plays(scenario, |_| {});
    host.prompt("go").await;
    let ask = loop {
        let line = host.line().await.unwrap();
        if line["type"] == "control_request" {
            break line;
        }
    };
    host.prompt("and this").await;
    host.answer(&ask, json!({ "behavior": "allow" })).await;
    let lines = rest(&mut host, allow).await;
    assert_eq!(lines.last().unwrap()["result"], "Both.");
}

/// An MCP server in a few lines of shell.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"now","description":"The time","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"noon"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[tokio::test]
async fn tools_of_a_program_are_called() {
    let scenario = Scenario::new()
        .reply(Reply::new().say(Block::tool("mcp__clock__now", json!({}))))
        .reply(Reply::text("Noon.").when(When::tool_result("noon")));
    let (_folder, mut host) = plays(scenario, |setup| {
        let clock = json!({ "command": "sh", "args": ["-c", SERVER] });
        setup.servers.insert("clock".to_owned(), clock);
        let broken = json!({ "command": "no-such-program-anywhere" });
        setup.servers.insert("broken".to_owned(), broken);
    });
    let lines = turn(&mut host, "go", allow).await;
    let init = &lines[0];
    assert!(init["tools"].as_array().unwrap().contains(&json!("mcp__clock__now")), "{init}");
    let status = |name: &str| {
        let servers = init["mcp_servers"].as_array().unwrap().iter();
        servers.clone().find(|server| server["name"] == name).unwrap()["status"].clone()
    };
    assert_eq!((status("clock"), status("broken")), (json!("connected"), json!("failed")));
    assert_eq!(lines.last().unwrap()["result"], "Noon.");
}

/// One whose only tool says yes to what has "yes" in it.
const GUARD: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"ask","description":"May it?","inputSchema":{"type":"object"}}]}' ;;
    *'touch yes'*) result='{"content":[{"type":"text","text":"{\"behavior\":\"allow\"}"}]}' ;;
    *'touch odd'*) result='{"content":[{"type":"text","text":"well"}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"{\"behavior\":\"deny\",\"message\":\"guarded\"}"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[tokio::test]
async fn a_tool_of_a_server_gives_permission_in_the_hosts_place() {
    let scenario = || {
        Scenario::new()
            .reply(Reply::new().say(bash("touch yes")))
            .reply(Reply::new().say(bash("touch no")))
            .reply(Reply::new().say(bash("touch odd")))
            .reply(Reply::text("Done."))
    };
    let nobody = |_: &Value| -> Value { panic!("nobody else is asked") };
    let (folder, mut host) = plays(scenario(), |setup| {
        let guard = json!({ "command": "sh", "args": ["-c", GUARD] });
        setup.servers.insert("guard".to_owned(), guard);
        setup.options = setup.options.clone().prompts(false);
        setup.permission_tool = Some("mcp__guard__ask".to_owned());
    });
    let lines = turn(&mut host, "go", nobody).await;
    let tools = lines[0]["tools"].as_array().unwrap();
    assert!(!tools.contains(&json!("mcp__guard__ask")), "the model must not ask it: {tools:?}");
    assert!(tools.contains(&json!("AskUserQuestion")));
    let exists = |name: &str| folder.path().join(name).exists();
    assert_eq!((exists("yes"), exists("no"), exists("odd")), (true, false, false));
    let told = |line: &Value| line["message"]["content"][0]["content"].as_str().map(str::to_owned);
    let results: Vec<String> =
        lines.iter().filter(|line| line["type"] == "user").filter_map(told).collect();
    assert_eq!(results[1], "guarded");
    assert!(results[2].contains("invalid permission result"), "{results:?}");
    assert_eq!(lines.last().unwrap()["permission_denials"].as_array().unwrap().len(), 2);

    let (folder, mut host) = plays(scenario(), |setup| {
        setup.options = setup.options.clone().prompts(false);
        setup.permission_tool = Some("mcp__nobody__ask".to_owned());
    });
    let lines = turn(&mut host, "go", nobody).await;
    assert!(!folder.path().join("yes").exists());
    assert_eq!(lines.last().unwrap()["permission_denials"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn commands_are_not_for_the_model() {
    let scenario = Scenario::new()
        .reply(Reply::text("One."))
        .reply(Reply::text("<summary>All was said.</summary>").agent("summary"))
        .reply(Reply::text("Two.").when(When::history("All was said.")))
        .reply(Reply::text("Three."));
    let (_folder, mut host) = plays(scenario, |_| {});
    let first = turn(&mut host, "go", allow).await;
    for (command, told) in
        [("/cost", "Total cost"), ("/context", "Context Usage"), ("/model haiku", "Set model")]
    {
        let lines = turn(&mut host, command, allow).await;
        let result = lines.last().unwrap();
        assert!(result["result"].as_str().unwrap().contains(told), "{result}");
        assert_eq!(result["num_turns"], 0);
    }
    let lines = turn(&mut host, "/compact", allow).await;
    let compacted = outline(&lines);
    assert!(compacted.contains(&"system compact_boundary".to_owned()), "{compacted:?}");
    let lines = turn(&mut host, "go", allow).await;
    assert_eq!(lines.last().unwrap()["result"], "Two.");
    assert_eq!(lines[0]["model"], "claude-haiku-5-5");
    let lines = turn(&mut host, "/clear", allow).await;
    assert_eq!(outline(&lines)[0], "conversation_reset");
    let lines = turn(&mut host, "go", allow).await;
    let result = lines.last().unwrap();
    assert_eq!(result["result"], "Three.");
    assert_ne!(result["session_id"], first.last().unwrap()["session_id"]);
}

#[tokio::test]
async fn modes_decide_and_change() {
    let write = |name: &str| Block::tool("Write", json!({ "file_path": name, "content": "x" }));
    let scenario = |folder: &std::path::Path| {
        Scenario::new()
            .reply(Reply::new().say(write(folder.join("a").to_str().unwrap())))
            .reply(Reply::text("Done."))
    };
    for (mode, is_written) in
        [(PermissionMode::AcceptEdits, true), (PermissionMode::DontAsk, false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let nobody = |_: &Value| -> Value { panic!("nobody is asked") };
        let (_other, mut host) = plays(scenario(folder.path()), |setup| {
            *setup = Setup::new(folder.path());
            setup.mode = Some(mode.clone());
        });
        turn(&mut host, "go", nobody).await;
        assert_eq!(folder.path().join("a").exists(), is_written, "{mode:?}");
    }

    let scenario = Scenario::new()
        .reply(Reply::new().say(Block::tool("EnterPlanMode", json!({}))))
        .reply(Reply::new().say(Block::tool("ExitPlanMode", json!({ "plan": "1. Rest" }))))
        .reply(Reply::text("Resting."));
    let (_folder, mut host) = plays(scenario, |_| {});
    let lines = turn(&mut host, "plan", allow).await;
    let modes: Vec<&Value> = lines
        .iter()
        .filter(|line| line["subtype"] == "status")
        .map(|line| &line["permissionMode"])
        .collect();
    assert_eq!(modes, ["plan", "default"]);
}

#[tokio::test]
async fn an_update_is_in_force_at_once() {
    let scenario = Scenario::new()
        .reply(Reply::new().say(bash("touch a")))
        .reply(Reply::new().say(bash("touch a")))
        .reply(Reply::text("Done."));
    let (_folder, mut host) = plays(scenario, |_| {});
    let always = |_: &Value| {
        let rule = json!({ "toolName": "Bash", "ruleContent": "touch a" });
        let update = json!({ "type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session" });
        json!({ "behavior": "allow", "updatedPermissions": [update] })
    };
    let lines = turn(&mut host, "go", always).await;
    let asked = lines.iter().filter(|line| line["type"] == "control_request").count();
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn a_file_outside_is_not_read_without_being_asked_whatever_its_path_looks_like() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "hidden").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&secret, folder.path().join("link")).unwrap();
    let around = format!(
        "{}/../{}/secret",
        folder.path().display(),
        outside.path().file_name().unwrap().to_str().unwrap()
    );
    for path in [secret.to_str().unwrap(), "link", around.as_str()] {
        let scenario = Scenario::new()
            .reply(Reply::new().say(Block::tool("Read", json!({ "file_path": path }))))
            .reply(Reply::text("Done."));
        let (_other, mut host) = plays(scenario, |setup| *setup = Setup::new(folder.path()));
        let lines = turn(&mut host, "go", |_| json!({ "behavior": "deny", "message": "no" })).await;
        assert!(lines.iter().any(|line| line["type"] == "control_request"), "{path}");
        assert!(!lines.iter().any(|line| line.to_string().contains("hidden")), "{path}");
    }
}

#[tokio::test]
async fn a_lenient_agent_takes_old_answers() {
    let scenario = Scenario::new()
        .reply(Reply::new().say(bash("touch seen").id("toolu_1")))
        .reply(Reply::text("Done."));
    let (folder, mut host) = plays(scenario, |setup| {
        setup.options = setup.options.clone().lenient(true).prompts(false);
    });
    host.prompt("go").await;
    loop {
        let line = host.line().await.unwrap();
        if line["message"]["content"][0]["type"] == "tool_use" {
            break;
        }
    }
    host.say(&json!({ "type": "approve", "tool_use_id": "toolu_1" })).await;
    let lines = rest(&mut host, allow).await;
    assert_eq!(lines.last().unwrap()["result"], "Done.");
    assert!(folder.path().join("seen").exists());
}

/// A turn in which a file is read: what the model was told of it.
async fn told_of_a_read(
    change: impl FnOnce(&mut Setup),
    greets: bool,
    answer: Option<Value>,
) -> String {
    let read = Block::tool("Read", json!({ "file_path": "a.txt" })).id("toolu_1");
    let scenario = Scenario::new().reply(Reply::new().say(read)).reply(Reply::text("Done."));
    let (folder, mut host) = plays(scenario, |setup| {
        setup.options = setup.options.clone().lenient(true).prompts(false);
        change(setup);
    });
    std::fs::write(folder.path().join("a.txt"), "alpha").unwrap();
    if greets {
        host.request("r", json!({ "subtype": "initialize" })).await;
    }
    host.prompt("go").await;
    if let Some(answer) = answer {
        host.until(|line| line["message"]["content"][0]["type"] == "tool_use").await;
        host.say(&answer).await;
    }
    let lines = rest(&mut host, allow).await;
    assert_eq!(lines.last().unwrap()["result"], "Done.");
    let told = lines.iter().find(|line| line["message"]["content"][0]["type"] == "tool_result");
    told.unwrap()["message"]["content"][0]["content"].to_string()
}

#[tokio::test]
async fn an_old_host_decides_about_every_call() {
    let answer = |kind: &str| json!({ "type": kind, "tool_use_id": "toolu_1", "content": "beta" });
    let answered = async |kind: &str| told_of_a_read(|_| {}, false, Some(answer(kind))).await;
    // Nobody would be asked about a file of the working directory; the oldest descriptions know no such calls.
    assert!(answered("approve").await.contains("alpha"));
    let denied = answered("deny").await;
    assert!(denied.contains("doesn't want to proceed"), "{denied}");
    assert_eq!(answered("tool_result").await, "\"beta\"");
    // What was allowed beforehand does not wait, and neither does a host that has introduced itself.
    let allowed = told_of_a_read(|setup| setup.allowed = vec!["Read".to_owned()], false, None);
    assert!(allowed.await.contains("alpha"));
    let eager = |setup: &mut Setup| setup.mode = Some(PermissionMode::AcceptEdits);
    assert!(told_of_a_read(eager, false, None).await.contains("alpha"));
    assert!(told_of_a_read(|_| {}, true, None).await.contains("alpha"));
}

#[tokio::test]
async fn the_host_asks_beside_the_conversation() {
    let (folder, mut host) = plays(Scenario::new().reply(Reply::text("One.")), |_| {});
    std::fs::write(folder.path().join("a.txt"), "alpha").unwrap();
    let asks = [
        (json!({ "subtype": "initialize" }), "commands"),
        (json!({ "subtype": "mcp_status" }), "mcpServers"),
        (json!({ "subtype": "get_context_usage" }), "totalTokens"),
        (json!({ "subtype": "set_model", "model": "haiku" }), "model"),
        (json!({ "subtype": "list_permission_rules" }), "state"),
        (json!({ "subtype": "read_file", "path": "a.txt" }), "contents"),
        (json!({ "subtype": "get_status" }), "sections"),
        (json!({ "subtype": "export_conversation" }), "text"),
    ];
    for (request, field) in asks {
        host.request("r", request.clone()).await;
        let answer = loop {
            let line = host.line().await.unwrap();
            if line["type"] == "control_response" {
                break line;
            }
        };
        assert!(!answer["response"]["response"][field].is_null(), "{request}: {answer}");
    }
    host.request("x", json!({ "subtype": "frobnicate" })).await;
    let answer = host.line().await.unwrap();
    assert_eq!(answer["response"]["error"], "Unsupported control request subtype: frobnicate");
}
