//! The forms of the oldest descriptions, in and out.

use duologue_agent::{Dialect, Options, ToolResult};
use serde_json::json;

use super::acts::acts;
use super::driving::{Host, drive, outline};

fn tool_user(options: Options) -> Host {
    let agent = acts(|turn| {
        Box::pin(async move {
            turn.say("I will do it.").await?;
            let done = turn.use_tool("Bash", json!({ "command": "ls" })).await?;
            if done.is_allowed() {
                turn.tool_result(&done.call, ToolResult::new("a.txt")).await?;
            }
            turn.say(if done.is_error() { "You declined." } else { "Done." }).await
        })
    });
    drive(agent, options)
}

#[tokio::test]
async fn a_call_is_approved_or_denied_by_its_id() {
    for (kind, told) in [("approve", "Done."), ("deny", "You declined.")] {
        // Without anybody to ask, the call itself is the question.
        let mut host = tool_user(Options::new().lenient(true).prompts(false));
        host.prompt("go").await;
        let call = host.until(|line| line["message"]["content"][0]["type"] == "tool_use").await;
        let id = &call.last().unwrap()["message"]["content"][0]["id"];
        host.say(&json!({ "type": kind, "tool_use_id": id })).await;
        let lines = host.until_kind("result").await;
        assert_eq!(lines.last().unwrap()["result"], told);
        assert!(outline(&lines).contains(&"user tool_result".to_owned()));
    }
}

#[tokio::test]
async fn the_result_of_a_tool_is_supplied_by_the_host() {
    let mut host = tool_user(Options::new().lenient(true));
    host.prompt("go").await;
    let ask = host.until_kind("control_request").await.pop().unwrap();
    let id = &ask["request"]["tool_use_id"];
    host.say(&json!({ "type": "tool_result", "tool_use_id": id, "content": "from the host" }))
        .await;
    let lines = host.until_kind("result").await;
    assert_eq!(lines[0]["message"]["content"][0]["content"], "from the host");
    assert_eq!(lines.iter().filter(|line| line["type"] == "user").count(), 1);
}

#[tokio::test]
async fn abort_ends_the_turn_and_a_bad_line_is_complained_about() {
    let mut host = tool_user(Options::new().lenient(true));
    host.prompt("go").await;
    host.until_kind("control_request").await;
    host.say(&json!({ "type": "abort" })).await;
    let result = host.until_kind("result").await.pop().unwrap();
    assert_eq!(result["terminal_reason"], "aborted_tools");
    host.say_raw("{no json").await;
    let error = host.until_kind("error").await.pop().unwrap();
    assert_eq!(error["error"]["type"], "invalid_request");
    host.prompt("go").await;
    host.until_kind("control_request").await;
}

#[tokio::test]
async fn the_old_dialect_is_spoken() {
    let mut host = tool_user(Options::new().lenient(true).dialect(Dialect::Legacy));
    assert_eq!(host.line().await.unwrap()["subtype"], "init", "at the start of the process");
    host.prompt("go").await;
    assert_eq!(host.line().await.unwrap()["message"]["content"], "go", "an echo");
    let lines = host.until_kind("control_request").await;
    assert_eq!(lines[1]["message"]["content"].as_array().unwrap().len(), 2, "a snapshot");
    host.answer(lines.last().unwrap(), json!({ "behavior": "allow" })).await;
    let result = host.until_kind("result").await.pop().unwrap();
    assert_eq!(result["result"], "\"Done.\"");
    host.prompt("go").await;
    let lines = host.until_kind("control_request").await;
    assert!(!outline(&lines).contains(&"system init".to_owned()), "once");
}
