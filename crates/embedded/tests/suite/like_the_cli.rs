//! What the comparison with the real CLI taught: the same things at the same places.

use duologue_model::{Block, Reply, Scenario, When};
use serde_json::{Value, json};

use super::driving::{Host, outline};
use super::embedded::{allow, bash, plays, turn};

fn nobody(_: &Value) -> Value {
    panic!("nobody is asked")
}

/// The answer to a request, and what was said before it.
async fn asked(host: &mut Host, request: Value) -> (Value, Vec<Value>) {
    host.request("r", request).await;
    let mut before = Vec::new();
    loop {
        let line = host.line().await.unwrap();
        if line["type"] == "control_response" && line["response"]["request_id"] == "r" {
            return (line["response"].clone(), before);
        }
        before.push(line);
    }
}

#[tokio::test]
async fn a_tool_that_is_looked_for_is_found() {
    let search = |query: &str| Block::tool("ToolSearch", json!({ "query": query }));
    let scenario = Scenario::new()
        .reply(Reply::new().say(search("select:Grep, Unheard,Read")))
        .reply(Reply::new().say(search("no such words")).when(When::tool_result("Grep, Read")))
        .reply(Reply::text("Found."));
    let (_folder, mut host) = plays(scenario, |_| {});
    let lines = turn(&mut host, "go", nobody).await;
    let results: Vec<&Value> =
        lines.iter().filter(|line| line["tool_use_result"].is_object()).collect();
    assert_eq!(results[0]["tool_use_result"]["matches"], json!(["Grep", "Read"]));
    let content = &results[0]["message"]["content"][0]["content"];
    assert_eq!(content[1], json!({ "type": "tool_reference", "tool_name": "Read" }));
    assert_eq!(results[1]["tool_use_result"]["matches"], json!([]));
    assert_eq!(lines.last().unwrap()["result"], "Found.");
}

#[tokio::test]
async fn what_changes_the_conversation_comes_before_init() {
    let scenario = Scenario::new()
        .reply(Reply::text("One."))
        .reply(Reply::text("<summary>All was said.</summary>").agent("summary"));
    let (_folder, mut host) = plays(scenario, |_| {});
    turn(&mut host, "go", nobody).await;
    let lines = turn(&mut host, "/compact", nobody).await;
    assert_eq!(
        outline(&lines)[..4],
        ["system status", "system status", "system init", "system compact_boundary"]
    );
    let lines = turn(&mut host, "/clear", nobody).await;
    assert_eq!(outline(&lines), ["conversation_reset", "system init", "result"]);
    assert_eq!(lines[0]["trigger"], "clear");
    let result = &lines[2];
    // What was usage belongs to the old conversation.
    assert_eq!(
        (&result["total_cost_usd"], &result["local_command"]),
        (&json!(0.0), &json!("clear"))
    );
    assert_ne!(lines[0]["session_id"], lines[1]["session_id"]);
}

#[tokio::test]
async fn an_answer_that_costs_too_much_is_no_success() {
    let scenario = Scenario::new().reply(Reply::text("Costly."));
    let (_folder, mut host) = plays(scenario, |setup| setup.max_budget_usd = Some(0.000_001));
    let lines = turn(&mut host, "go", nobody).await;
    assert_eq!(outline(&lines), ["system init", "assistant Costly.", "result"]);
    assert_eq!(lines[2]["subtype"], "error_max_budget_usd");
    assert_eq!(lines[2]["errors"][0], "Reached maximum budget ($0.000001)");
}

#[tokio::test]
async fn what_is_as_it_was_is_no_news() {
    let (_folder, mut host) = plays(Scenario::new().reply(Reply::text("One.")), |_| {});
    turn(&mut host, "go", nobody).await;
    let mode = |mode: &str| json!({ "subtype": "set_permission_mode", "mode": mode });
    let model = |model: &str| json!({ "subtype": "set_model", "model": model });
    assert_eq!(asked(&mut host, mode("default")).await.1, [] as [Value; 0]);
    assert_eq!(asked(&mut host, mode("plan")).await.1, [] as [Value; 0]);
    let (_, told) = asked(&mut host, model("default")).await;
    assert_eq!(outline(&told), ["system status"], "the mode, after its answer");
    let (_, told) = asked(&mut host, model("some-model")).await;
    let text = &told[0]["message"]["content"];
    assert_eq!(text, "<local-command-stdout>Set model to `some-model`</local-command-stdout>");
    let rewind = json!({ "subtype": "rewind_files", "user_message_id": "x", "dry_run": true });
    assert_eq!(asked(&mut host, rewind).await.0["response"]["canRewind"], false);
}

/// Answers a server's share of what the agent asks, until something else comes.
async fn serve_tools(host: &mut Host, tool: &str) -> Value {
    loop {
        let line = host.line().await.unwrap();
        if line["request"]["subtype"] != "mcp_message" {
            return line;
        }
        let message = &line["request"]["message"];
        let result = match message["method"].as_str().unwrap() {
            "tools/list" => json!({ "tools": [{ "name": tool, "inputSchema": {} }] }),
            _ => json!({}),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        host.answer(&line, json!({ "mcp_response": answer })).await;
    }
}

#[tokio::test]
async fn tools_of_the_host_that_change_are_listed_again_at_once() {
    let say = Reply::new().say(Block::tool("mcp__kitchen__new_knife", json!({})));
    let (_folder, mut host) = plays(Scenario::new().reply(say), |_| {});
    host.request("1", json!({ "subtype": "initialize", "sdkMcpServers": ["kitchen"] })).await;
    assert_eq!(serve_tools(&mut host, "old").await["type"], "control_response");
    host.request("2", json!({ "subtype": "mcp_status" })).await;
    // Whether it is connected by now is luck; that it is known in the end is not.
    serve_tools(&mut host, "old").await;
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    let changed = json!({ "subtype": "mcp_message", "server_name": "kitchen", "message": changed });
    host.request("3", changed).await;
    host.prompt("go").await;
    let init = loop {
        let line = serve_tools(&mut host, "new_knife").await;
        if line["subtype"] == "init" {
            break line;
        }
    };
    assert!(
        init["tools"].as_array().unwrap().contains(&json!("mcp__kitchen__new_knife")),
        "{init}"
    );
    assert_eq!(init["mcp_servers"][0]["source"], "sdk");
    let ask = loop {
        let line = serve_tools(&mut host, "new_knife").await;
        if line["type"] == "control_request" {
            break line["request"].clone();
        }
    };
    assert_eq!(ask["display_name"], "New knife");
    assert_eq!(ask["mcp_server"], json!({ "name": "kitchen", "source": "sdk" }));
}

#[tokio::test]
async fn a_command_that_takes_long_is_a_task() {
    let scenario = Scenario::new()
        .reply(Reply::new().say(bash("until [ -e go ]; do sleep 0.05; done")))
        .reply(Reply::text("Done."));
    let (folder, mut host) = plays(scenario, |_| {});
    host.prompt("go").await;
    let started = loop {
        let line = host.line().await.unwrap();
        if line["type"] == "control_request" {
            host.answer(&line, allow(&line)).await;
        }
        if line["subtype"] == "task_started" {
            break line;
        }
    };
    assert_eq!(
        (&started["is_backgrounded"], &started["description"]),
        (&json!(false), &json!("Do it"))
    );
    std::fs::write(folder.path().join("go"), "").unwrap();
    let ended = host.line().await.unwrap();
    assert_eq!(
        (&ended["subtype"], &ended["status"]),
        (&json!("task_notification"), &json!("completed"))
    );
    assert_eq!(ended["task_id"], started["task_id"]);
    assert_eq!(host.line().await.unwrap()["message"]["content"][0]["type"], "tool_result");
}

#[tokio::test]
async fn the_end_of_a_streamed_message_tells_what_it_used() {
    let scenario =
        Scenario::new().reply(Reply::text("Ten tokens, or about that many, are in this."));
    let (_folder, mut host) =
        plays(scenario, |setup| setup.options = setup.options.clone().partial(true));
    let lines = turn(&mut host, "go", nobody).await;
    let delta = lines.iter().find(|line| line["event"]["type"] == "message_delta").unwrap();
    let result = lines.last().unwrap();
    for field in ["input_tokens", "output_tokens"] {
        assert_eq!(delta["event"]["usage"][field], result["usage"][field], "{field}");
    }
    assert!(result["usage"]["output_tokens"].as_u64().unwrap() > 1, "{result}");
}

#[tokio::test]
async fn the_report_of_a_sub_agent_says_what_it_did() {
    let task =
        json!({ "description": "Look", "prompt": "you are the aide", "run_in_background": false });
    let scenario = Scenario::new()
        .agent("aide", duologue_model::Who::prompt("you are the aide"))
        .reply(Reply::new().say(Block::tool("Agent", task)))
        .reply(Reply::new().say(bash("touch a")).agent("aide"))
        .reply(Reply::text("Looked.").agent("aide"))
        .reply(Reply::text("Fine."));
    let (_folder, mut host) = plays(scenario, |_| {});
    let deny = |_: &Value| json!({ "behavior": "deny", "message": "not here" });
    let lines = turn(&mut host, "go", deny).await;
    let refused = lines.iter().find(|line| line["tool_use_result"] == "Error: not here").unwrap();
    assert!(refused["parent_tool_use_id"].is_string());
    let report =
        lines.iter().find(|line| line["tool_use_result"]["status"] == "completed").unwrap();
    let told = &report["tool_use_result"];
    assert_eq!(told["toolsUsed"], json!(["Bash"]));
    assert_eq!(
        (&told["toolStats"]["bashCount"], &told["totalToolUseCount"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(told["resolvedModel"], "claude-opus-5-5");
    assert_eq!(told["content"][1]["text"], "Looked.");
    let text = report["message"]["content"][0]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("The report follows:\n  Looked.\nagentId: "), "{text}");
}

#[tokio::test]
async fn a_hook_may_answer_before_the_host_does() {
    let scenario =
        || Scenario::new().reply(Reply::new().say(bash("touch seen"))).reply(Reply::text("Done."));
    let hooks = json!({ "PermissionRequest": [{ "matcher": "Bash", "hookCallbackIds": ["h"] }] });
    let decide = |decision: Value| json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } });
    for (decision, is_done) in
        [(json!({ "behavior": "allow" }), true), (json!({ "behavior": "deny" }), false)]
    {
        let (folder, mut host) = plays(scenario(), |_| {});
        asked(&mut host, json!({ "subtype": "initialize", "hooks": hooks })).await;
        host.prompt("go").await;
        let mut open = Vec::new();
        let lines = loop {
            let line = host.line().await.unwrap();
            match line["request"]["subtype"].as_str() {
                Some("hook_callback") => host.answer(&line, decide(decision.clone())).await,
                Some("can_use_tool") => open.push(line["request_id"].clone()),
                _ => {}
            }
            if line["type"] == "control_cancel_request" {
                open.retain(|id| *id != line["request_id"]);
                break host.until_kind("result").await;
            }
        };
        assert_eq!(open, [] as [Value; 0], "the question was withdrawn");
        assert_eq!(folder.path().join("seen").exists(), is_done);
        assert_eq!(lines.last().unwrap()["result"], "Done.");
    }
}

#[tokio::test]
async fn an_answer_that_was_stopped_goes_on() {
    for (reason, told, most) in
        [("max_tokens", "Output token limit hit", 3), ("refusal", "safety classifier", 1)]
    {
        let scenario = Scenario::new()
            .reply(Reply::text("Half a").stop(reason))
            .reply(Reply::text("sentence.").when(When::history(told)))
            .reply(Reply::text("Again.").stop(reason).always());
        let (_folder, mut host) = plays(scenario, |_| {});
        let lines = turn(&mut host, "go", nobody).await;
        assert_eq!(lines.last().unwrap()["result"], "sentence.");
        assert_eq!(lines.iter().filter(|line| line["isSynthetic"] == true).count(), 1);
        // Not for ever.
        let lines = turn(&mut host, "go", nobody).await;
        assert_eq!(lines.iter().filter(|line| line["isSynthetic"] == true).count(), most);
        assert_eq!(lines.last().unwrap()["stop_reason"], reason);
    }
}
