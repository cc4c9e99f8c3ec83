//! The embedded agent and what stands around it: MCP servers, commands, modes, the disk, old and hostile hosts.

use duologue_agent::embedded::Setup;
use duologue_agent::protocol::permission::PermissionMode;
use duologue_model::{Block, Reply, Scenario, When};
use serde_json::{Value, json};

use super::driving::outline;
use super::embedded::{allow, bash, plays, rest, turn};

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
