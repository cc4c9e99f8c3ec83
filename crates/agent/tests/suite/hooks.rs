//! Hooks that fail, are slow, or want the turn to stop.

use duologue_agent::{Options, ToolResult};
use serde_json::{Value, json};

use super::acts::acts;
use super::driving::{Host, drive};

async fn with_hooks(hooks: Value) -> Host {
    let agent = acts(|turn| {
        Box::pin(async move {
            let done = turn.use_tool("Bash", json!({ "command": "ls" })).await?;
            if done.is_allowed() {
                turn.tool_result(&done.call, ToolResult::new("a.txt")).await?;
            }
            let said = done.denial().unwrap_or("ran").to_owned();
            turn.say(said).await
        })
    });
    let mut host = drive(agent, Options::new());
    host.request("r1", json!({ "subtype": "initialize", "hooks": hooks })).await;
    host.until_kind("control_response").await;
    host.prompt("go").await;
    host
}

async fn asked(host: &mut Host, subtype: &str) -> Value {
    let ask = host.until_kind("control_request").await.pop().unwrap();
    assert_eq!(ask["request"]["subtype"], subtype);
    ask
}

#[tokio::test]
async fn a_hook_is_told_what_it_needs_to_know() {
    let mut host = with_hooks(json!({ "PreToolUse": [{ "hookCallbackIds": ["a", "b"] }] })).await;
    let one = asked(&mut host, "hook_callback").await;
    let two = asked(&mut host, "hook_callback").await;
    assert_eq!(
        (&one["request"]["callback_id"], &two["request"]["callback_id"]),
        (&json!("a"), &json!("b"))
    );
    let input = &one["request"]["input"];
    assert_eq!(input["tool_input"]["command"], "ls");
    assert_eq!(input["permission_mode"], "default");
    assert!(input["session_id"].is_string() && input["cwd"].is_string());
    // Yes and ask: then the host is asked, with the reason.
    let decision = |word: &str| {
        json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": "hm",
        }})
    };
    host.answer(&two, decision("ask")).await;
    host.answer(&one, decision("allow")).await;
    let ask = asked(&mut host, "can_use_tool").await;
    assert_eq!(ask["request"]["decision_reason"], "hm");
    assert_eq!(ask["request"]["decision_reason_type"], "hook");
}

#[tokio::test(start_paused = true)]
async fn a_slow_hook_stops_the_tool_and_is_withdrawn() {
    let mut host =
        with_hooks(json!({ "PreToolUse": [{ "hookCallbackIds": ["a"], "timeout": 5 }] })).await;
    let ask = asked(&mut host, "hook_callback").await;
    let cancel = host.until_kind("control_cancel_request").await.pop().unwrap();
    assert_eq!(cancel["request_id"], ask["request_id"]);
    let result = host.until_kind("result").await.pop().unwrap();
    assert!(result["result"].as_str().unwrap().starts_with("PreToolUse hook did not respond"));
}

#[tokio::test]
async fn a_failed_hook_has_no_opinion_unless_it_must_block() {
    for (policy, told) in
        [("continue", "ran"), ("block", "PreToolUse:Bash hook error: the hook failed")]
    {
        let hooks = json!({ "PreToolUse": [{ "hookCallbackIds": ["a"], "onFailure": policy }] });
        let mut host = with_hooks(hooks).await;
        let ask = asked(&mut host, "hook_callback").await;
        let error = json!({ "subtype": "error", "request_id": ask["request_id"], "error": "oh" });
        host.say(&json!({ "type": "control_response", "response": error })).await;
        let notice = host.until(|line| line["subtype"] == "informational").await.pop().unwrap();
        assert_eq!(notice["tag"], "hook_callback_failed");
        if policy == "continue" {
            let ask = asked(&mut host, "can_use_tool").await;
            host.answer(&ask, json!({ "behavior": "allow" })).await;
        }
        assert_eq!(host.until_kind("result").await.pop().unwrap()["result"], told);
    }
}

#[tokio::test]
async fn a_hook_stops_the_turn_after_the_tool() {
    let mut host = with_hooks(json!({ "PreToolUse": [{ "hookCallbackIds": ["a"] }] })).await;
    let ask = asked(&mut host, "hook_callback").await;
    host.answer(&ask, json!({ "continue": false, "stopReason": "enough" })).await;
    let ask = asked(&mut host, "can_use_tool").await;
    host.answer(&ask, json!({ "behavior": "allow" })).await;
    let result = host.until_kind("result").await.pop().unwrap();
    assert_eq!((&result["subtype"], &result["result"]), (&json!("success"), &json!("")));
    assert_eq!(result["terminal_reason"], "hook_stopped");
}

#[tokio::test]
async fn bad_answers_about_a_tool_are_refusals() {
    let table = [
        (json!({ "behavior": "perhaps" }), "The canUseTool callback returned an invalid"),
        (json!({ "behavior": "deny" }), "The canUseTool callback returned an invalid"),
        (json!("yes"), "The canUseTool callback returned an invalid"),
    ];
    for (answer, told) in table {
        let mut host = with_hooks(Value::Null).await;
        let ask = asked(&mut host, "can_use_tool").await;
        host.answer(&ask, answer).await;
        let result = host.until_kind("result").await.pop().unwrap();
        assert!(result["result"].as_str().unwrap().starts_with(told), "{result}");
        assert_eq!(result["permission_denials"][0]["tool_name"], "Bash");
    }
}

#[tokio::test]
async fn a_hook_puts_a_call_off() {
    let mut host = with_hooks(json!({ "PreToolUse": [{ "hookCallbackIds": ["a"] }] })).await;
    let ask = asked(&mut host, "hook_callback").await;
    let defer = json!({ "hookEventName": "PreToolUse", "permissionDecision": "defer" });
    host.answer(&ask, json!({ "hookSpecificOutput": defer })).await;
    let lines = host.until_kind("result").await;
    let result = lines.last().unwrap();
    assert_eq!(result["deferred_tool_use"]["name"], "Bash");
    assert_eq!(result["terminal_reason"], "tool_deferred");
    assert_eq!(result["stop_reason"], "tool_deferred");
    assert!(lines.iter().all(|line| line["type"] != "user"), "it has no result");
}
