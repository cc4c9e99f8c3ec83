//! Hosts that do what they should not.

use duologue_agent::{Options, serve};
use duologue_testkit::recordings;
use serde_json::json;

use super::acts::acts;
use super::driving::drive;

#[tokio::test]
async fn a_line_that_is_no_json_is_the_end() {
    let mut host = drive(acts(|_| Box::pin(std::future::pending())), Options::new());
    host.prompt("Hi").await;
    host.until(|line| line["subtype"] == "init").await;
    host.say_raw("this is not json").await;
    let (_, exit) = host.end().await;
    assert_eq!(exit.code, 1);
    let message = "Error parsing streaming input line (type=unknown, 16 chars): SyntaxError";
    assert_eq!(exit.message.as_deref(), Some(message));
}

#[tokio::test]
async fn answers_to_nothing_and_floods_are_survived() {
    let mut host = drive(acts(|turn| Box::pin(turn.say("still here"))), Options::new());
    for number in 0..200 {
        host.say(&json!({ "type": "control_response", "response": {
            "subtype": "success", "request_id": number, "response": {},
        }}))
        .await;
        host.say_raw("{\"type\":\"frobnicate\"}").await;
        host.say_raw("").await;
    }
    host.prompt("Hi").await;
    let result = host.until_kind("result").await.pop().unwrap();
    assert_eq!(result["result"], "still here");
}

/// A host that goes at any moment leaves no agent behind.
#[tokio::test]
async fn the_end_may_come_anywhere() {
    for after in 0..8 {
        let agent = acts(|turn| {
            Box::pin(async move {
                turn.say("one").await?;
                turn.use_tool("Bash", json!({ "command": "x" })).await?;
                turn.say("two").await
            })
        });
        let mut host = drive(agent, Options::new());
        host.request("r1", json!({ "subtype": "initialize" })).await;
        host.prompt("go").await;
        for _ in 0..after {
            let Some(line) = host.line().await else { break };
            if line["type"] == "control_request" {
                break;
            }
        }
        let (rest, exit) = host.end().await;
        assert_eq!(exit.code, 0);
        assert_eq!(rest.last().unwrap()["type"], "result", "{after}");
    }
}

#[tokio::test]
async fn nothing_said_is_nothing_done() {
    let host = drive(acts(|turn| Box::pin(turn.say("?"))), Options::new());
    let (rest, exit) = host.end().await;
    assert_eq!((rest.len(), exit.code), (0, 0));
}

/// What every recorded host said, to an agent that is not the one it spoke to: answers to nothing,
/// interrupts out of place, broken lines, and the end in the middle. It dies of what is fatal only.
#[tokio::test]
async fn recorded_hosts_are_survived() {
    let fatal = ["24a", "24b", "24e", "24f", "24g", "24m", "24zb", "15c1", "15c7"];
    for recording in recordings().into_iter().filter(|tape| tape.is_newest()) {
        let said: Vec<&str> = recording
            .entries
            .iter()
            .filter(|entry| !entry.to_host)
            .map(|entry| entry.line.as_str())
            .collect();
        for is_lenient in [false, true] {
            let agent = acts(|turn| {
                Box::pin(async move {
                    turn.use_tool("Bash", json!({ "command": "ls" })).await?;
                    turn.say("done").await
                })
            });
            let stdin = std::io::Cursor::new(said.join("\n").into_bytes());
            let options = Options::new().partial(true).replay(true).lenient(is_lenient);
            let exit = serve(agent, stdin, tokio::io::sink(), options).await;
            let number = recording.name.split('-').next().unwrap();
            let dies = fatal.contains(&number) && !is_lenient;
            assert_eq!(exit.message.is_some(), dies, "{}: {exit:?}", recording.name);
        }
    }
}
