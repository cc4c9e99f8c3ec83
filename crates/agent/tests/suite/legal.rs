//! What an agent says is understood, and breaks no rule.

use duologue_agent::protocol::lines::ResultSubtype;
use duologue_agent::protocol::rules::Checker;
use duologue_agent::protocol::system::TaskStatus;
use duologue_agent::protocol::{Decoded, Direction, Finding, Line, RawObject, Survey};
use duologue_agent::{Options, SubagentTask, ToolResult};
use serde_json::json;

use super::acts::acts;
use super::driving::{drive, outline};

fn judge(tape: &[(Direction, Line)]) {
    let mut checker = Checker::new();
    for (number, (direction, line)) in (1..).zip(tape) {
        match direction {
            Direction::ToAgent => match line.to_agent() {
                Decoded::Malformed(fault) => panic!("{fault}: {line:?}"),
                decoded => checker.to_agent(decoded.message().unwrap(), number),
            },
            Direction::ToHost => {
                let Decoded::Known(message) = line.to_host() else { panic!("{line:?}") };
                Survey::of(&message, |path, finding| {
                    assert_eq!(finding, Finding::Legacy, "{path} in {line:?}");
                });
                checker.to_host(&message, number);
            }
        }
    }
    assert_eq!(checker.finish(), []);
}

#[tokio::test]
async fn a_rich_conversation_is_legal() {
    let agent = acts(|turn| {
        Box::pin(async move {
            turn.think("so much to do").await?;
            turn.say("First a command.").await?;
            let done = turn.use_tool("Bash", json!({ "command": "ls" })).await?;
            if done.is_allowed() {
                turn.tool_result(&done.call, ToolResult::new("a.txt")).await?;
            }
            // Two sub-agents at the same time.
            let calls = [
                turn.call_tool("Agent", RawObject::default()).await?,
                turn.call_tool("Agent", RawObject::default()).await?,
            ];
            let work = async |call| {
                let worker = turn.subagent(call, SubagentTask::new("Look", "Look around")).await;
                worker.say("hidden").await?;
                let done = worker.use_tool("Bash", json!({ "command": "pwd" })).await?;
                if done.is_allowed() {
                    worker.tool_result(&done.call, ToolResult::new("here")).await?;
                }
                worker.progress("Running pwd", Some("Bash")).await;
                worker.finish(TaskStatus::Completed, "fine").await;
                turn.tool_result(call, ToolResult::new("fine")).await
            };
            let (one, two) = tokio::join!(work(&calls[0]), work(&calls[1]));
            one?;
            two?;
            turn.say("All done.").await
        })
    });
    let mut host = drive(agent, Options::new().partial(true).replay(true).state_events(true));
    let hooks = json!({ "PreToolUse": [{ "matcher": "Bash", "hookCallbackIds": ["hook_0"] }],
        "Stop": [{ "hookCallbackIds": ["hook_1"] }] });
    host.request("r1", json!({ "subtype": "initialize", "hooks": hooks })).await;
    host.say(
        &json!({ "type": "user", "uuid": "u1", "message": { "role": "user", "content": "go" } }),
    )
    .await;
    let mut asked = 0;
    loop {
        let line = host.line().await.unwrap();
        match line["type"].as_str().unwrap() {
            "control_request" => {
                asked += 1;
                let answer = match line["request"]["subtype"].as_str().unwrap() {
                    "can_use_tool" if asked % 2 == 0 => json!({ "behavior": "allow" }),
                    "can_use_tool" => json!({ "behavior": "deny", "message": "no" }),
                    _ => json!({}),
                };
                host.answer(&line, answer).await;
            }
            "result" => {
                assert_eq!(line["subtype"], ResultSubtype::Success.as_str());
                assert_eq!(line["subagent_stats"]["completed"], 2);
                break;
            }
            _ => {}
        }
    }
    assert_eq!(asked, 7, "three calls by hook and permission, and one stop");
    let rest = host.until(|line| line["state"] == "idle").await;
    assert_eq!(outline(&rest), ["prompt completed", "system session_state_changed"]);
    judge(&host.tape);
}

#[tokio::test]
async fn an_interrupted_conversation_is_legal() {
    let agent = acts(|turn| {
        Box::pin(async move {
            turn.delta("half a sen").await?;
            let one = turn.call_tool("Bash", RawObject::default()).await?;
            turn.call_tool("Read", RawObject::default()).await?;
            turn.permit(&one, Default::default()).await?;
            Ok(())
        })
    });
    let mut host = drive(agent, Options::new().partial(true));
    for round in 0..3 {
        host.prompt("go").await;
        host.until_kind("control_request").await;
        host.request(&format!("r{round}"), json!({ "subtype": "interrupt" })).await;
        let lines = host.until_kind("result").await;
        let results = lines.iter().filter(|line| line["tool_use_result"].is_string()).count();
        assert_eq!(results, 2, "every call has its result: {:?}", outline(&lines));
    }
    judge(&host.tape);
}

/// Once the host is gone, results wait for the work in the background.
#[tokio::test]
async fn the_background_outlives_the_host() {
    let (go, gate) = tokio::sync::watch::channel(false);
    let agent = acts(move |turn| {
        let mut gate = gate.clone();
        Box::pin(async move {
            let call = turn.call_tool("Agent", RawObject::default()).await?;
            let worker =
                turn.subagent(&call, SubagentTask::new("Look", "Look").in_background()).await;
            turn.tool_result(&call, ToolResult::new("launched")).await?;
            tokio::spawn(async move {
                gate.wait_for(|open| *open).await.unwrap();
                worker.say("found it").await.unwrap();
                worker.finish(TaskStatus::Completed, "found it").await;
            });
            Ok(())
        })
    });
    let mut host = drive(agent, Options::new());
    host.prompt("go").await;
    host.close().await;
    host.until(|line| line["message"]["content"][0]["type"] == "tool_result").await;
    go.send_replace(true);
    let tail = host.until_kind("result").await;
    let expected = [
        "assistant found it",
        "system task_updated",
        "system task_notification",
        "system background_tasks_changed",
        "result",
    ];
    assert_eq!(outline(&tail), expected);
    judge(&host.tape);
}
