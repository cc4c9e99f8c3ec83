//! Turns: the order of lines, and how each kind of turn ends.

use std::sync::Arc;

use duologue_agent::protocol::agent_link::Reply;
use duologue_agent::protocol::message::{ApiErrorKind, Usage};
use duologue_agent::{
    Agent, Answer, ApiFailure, Options, RequestHandler, Turn, TurnError, TurnResult,
};
use serde_json::json;
use tokio::sync::Notify;

use super::acts::acts;
use super::driving::{drive, outline};

#[tokio::test]
async fn a_turn_begins_with_init_and_ends_with_a_result() {
    let agent = acts(|turn| {
        Box::pin(async move {
            turn.think("hm").await?;
            turn.say("Hello!").await?;
            let usage = Usage::new().input_tokens(12_u64).output_tokens(34_u64);
            turn.used(&turn.session().model(), &usage, 0.25, 7);
            Ok(())
        })
    });
    let mut host = drive(agent, Options::new());
    host.prompt("Hi").await;
    let lines = host.until_kind("result").await;
    let expected = [
        "system init",
        "system thinking_tokens",
        "assistant thinking",
        "assistant Hello!",
        "result",
    ];
    assert_eq!(outline(&lines), expected);
    let result = lines.last().unwrap();
    assert_eq!(result["result"], "Hello!");
    assert_eq!(result["num_turns"], 1);
    assert_eq!(result["total_cost_usd"], 0.25);
    assert_eq!(result["usage"]["output_tokens"], 34);
    assert_eq!(result["modelUsage"]["duologue"]["inputTokens"], 12);
    assert_eq!(result["terminal_reason"], "completed");
    assert_eq!(result["stop_reason"], "end_turn");
    assert_eq!(lines[2]["message"]["id"], lines[3]["message"]["id"], "one message");
    assert_eq!(lines[0]["session_id"], result["session_id"]);
    let (rest, exit) = host.end().await;
    assert_eq!((rest.len(), exit.code), (0, 0));
}

#[tokio::test]
async fn partial_messages_are_streamed_around_the_lines() {
    let agent = acts(|turn| {
        Box::pin(async move {
            turn.delta("Hel").await?;
            turn.delta("lo!").await?;
            let done = turn.use_tool("Bash", json!({ "command": "ls" })).await?;
            assert!(done.is_allowed());
            turn.say("done").await
        })
    });
    let mut host = drive(agent, Options::new().partial(true));
    host.prompt("Hi").await;
    let lines = host.until_kind("control_request").await;
    let expected = [
        "system init",
        "system status",
        "stream message_start",
        "stream content_block_start",
        "stream content_block_delta",
        "stream content_block_delta",
        "assistant Hello!",
        "stream content_block_stop",
        "stream content_block_start",
        "stream content_block_delta",
        "assistant tool_use",
        "stream content_block_stop",
        "stream message_delta",
        "stream message_stop",
        "asks can_use_tool",
    ];
    assert_eq!(outline(&lines), expected);
    host.answer(lines.last().unwrap(), json!({ "behavior": "allow" })).await;
    let lines = host.until_kind("result").await;
    let expected = [
        "user tool_result",
        "system status",
        "stream message_start",
        "stream content_block_start",
        "stream content_block_delta",
        "assistant done",
        "stream content_block_stop",
        "stream message_delta",
        "stream message_stop",
        "result",
    ];
    assert_eq!(outline(&lines), expected);
    assert_eq!(lines.last().unwrap()["num_turns"], 2);
}

#[tokio::test]
async fn an_interrupt_keeps_what_was_written() {
    let agent = acts(|turn| {
        Box::pin(async move {
            turn.delta("This is a lo").await?;
            turn.interrupted().await;
            turn.say("never said").await
        })
    });
    let mut host = drive(agent, Options::new().partial(true));
    host.prompt("Hi").await;
    host.until(|line| line["event"]["type"] == "content_block_delta").await;
    host.request("r1", json!({ "subtype": "interrupt" })).await;
    let lines = host.until_kind("result").await;
    let expected = [
        "answer",
        "assistant This is a lo",
        "user [Request interrupted by user]",
        "stream content_block_stop",
        "stream message_delta",
        "stream message_stop",
        "result",
    ];
    assert_eq!(outline(&lines), expected);
    assert_eq!(lines[1]["aborted"], true);
    assert_eq!(lines[5]["abandoned_blocks"]["from_block_index"], 1);
    let result = lines.last().unwrap();
    assert_eq!(result["subtype"], "error_during_execution");
    assert_eq!(result["terminal_reason"], "aborted_streaming");
    assert_eq!(host.end().await.1.code, 1, "the last turn failed");
}

#[tokio::test]
async fn an_interrupt_withdraws_the_question_and_rejects_the_call() {
    let agent = acts(|turn| {
        Box::pin(async move {
            turn.use_tool("Bash", json!({ "command": "touch q" })).await?;
            Ok(())
        })
    });
    let mut host = drive(agent, Options::new());
    host.prompt("go").await;
    let ask = host.until_kind("control_request").await.pop().unwrap();
    host.request("r1", json!({ "subtype": "interrupt" })).await;
    let lines = host.until_kind("result").await;
    let expected = [
        "control_cancel_request",
        "answer",
        "user tool_result",
        "user [Request interrupted by user for tool use]",
        "result",
    ];
    assert_eq!(outline(&lines), expected);
    let result = lines.last().unwrap();
    assert_eq!(result["terminal_reason"], "aborted_tools");
    assert_eq!(result["num_turns"], 3);
    assert_eq!(result["permission_denials"].as_array().unwrap().len(), 1);
    // A late answer is ignored, and the next turn works.
    host.answer(&ask, json!({ "behavior": "deny", "message": "late" })).await;
    host.prompt("again").await;
    host.until_kind("control_request").await;
}

#[tokio::test]
async fn an_agent_that_does_not_notice_is_left_behind() {
    let agent = acts(|_| Box::pin(std::future::pending()));
    let mut host = drive(agent, Options::new());
    host.prompt("Hi").await;
    host.request("r1", json!({ "subtype": "interrupt" })).await;
    host.until_kind("result").await;
    host.prompt("Hi").await;
    host.until(|line| line["subtype"] == "init").await;
}

#[tokio::test]
async fn prompts_wait_join_and_are_folded() {
    let go = Arc::new(Notify::new());
    let gate = Arc::clone(&go);
    let agent = acts(move |turn| {
        let gate = Arc::clone(&gate);
        Box::pin(async move {
            let text = turn.text();
            if text == "tool" {
                let done = turn.use_tool("Bash", json!({ "command": "x" })).await?;
                turn.tool_result(&done.call, duologue_agent::ToolResult::new("x")).await?;
                let folded = turn.take_folded().len();
                return turn.say(format!("folded {folded}")).await;
            }
            gate.notified().await;
            turn.say(format!("answer to {text}")).await
        })
    });
    let mut host = drive(agent, Options::new());
    for text in ["one", "two", "three"] {
        host.prompt(text).await;
    }
    host.request("r1", json!({ "subtype": "mcp_status" })).await;
    host.until_kind("control_response").await;
    go.notify_one();
    assert_eq!(host.until_kind("result").await.last().unwrap()["result"], "answer to one");
    go.notify_one();
    assert_eq!(host.until_kind("result").await.last().unwrap()["result"], "answer to two\nthree");
    host.prompt("tool").await;
    let ask = host.until_kind("control_request").await.pop().unwrap();
    host.prompt("while you wait").await;
    host.answer(&ask, json!({ "behavior": "allow" })).await;
    assert_eq!(host.until_kind("result").await.last().unwrap()["result"], "folded 1");
    let (rest, _) = host.end().await;
    assert_eq!(rest.len(), 0, "one result in all: {rest:?}");
}

#[tokio::test]
async fn each_failure_has_its_result() {
    let agent = acts(|turn| {
        let text = turn.text();
        Box::pin(async move {
            Err(match text.as_str() {
                "turns" => TurnError::MaxTurns(1),
                "budget" => TurnError::MaxBudget(0.5),
                "api" => TurnError::Api(Box::new(ApiFailure::new(
                    "API Error: 529 Overloaded",
                    ApiErrorKind::Overloaded,
                    Some(529),
                ))),
                _ => TurnError::failed("the model is out"),
            })
        })
    });
    let mut host = drive(agent, Options::new());
    let table = [
        ("turns", "error_max_turns", json!(["Reached maximum number of turns (1)"])),
        ("budget", "error_max_budget_usd", json!(["Reached maximum budget ($0.5)"])),
        ("else", "error_during_execution", json!(["the model is out"])),
    ];
    for (prompt, subtype, errors) in table {
        host.prompt(prompt).await;
        let result = host.until_kind("result").await.pop().unwrap();
        assert_eq!((&result["subtype"], &result["errors"]), (&json!(subtype), &errors));
        assert_eq!(result["is_error"], true);
    }
    host.prompt("api").await;
    let lines = host.until_kind("result").await;
    assert_eq!(outline(&lines), ["system init", "assistant API Error: 529 Overloaded", "result"]);
    assert_eq!(lines[1]["message"]["model"], "<synthetic>");
    assert_eq!(lines[2]["subtype"], "success");
    assert_eq!(lines[2]["api_error_status"], 529);
    assert_eq!(host.end().await.1.code, 1);
}

#[tokio::test]
async fn the_end_of_the_host_lets_the_turn_finish() {
    let agent = acts(|turn| {
        Box::pin(async move {
            let done = turn.use_tool("Bash", json!({ "command": "x" })).await?;
            assert!(done.denial().unwrap().contains("stream closed before response received"));
            turn.say("went on").await
        })
    });
    let mut host = drive(agent, Options::new());
    host.prompt("go").await;
    host.until_kind("control_request").await;
    let (rest, exit) = host.end().await;
    assert_eq!(outline(&rest), ["user tool_result", "assistant went on", "result"]);
    assert_eq!(exit.code, 0);
}

#[tokio::test]
async fn without_somebody_to_ask_the_answer_is_no() {
    let agent = acts(|turn| {
        Box::pin(async move {
            let done = turn.use_tool("Bash", json!({ "command": "x" })).await?;
            turn.say(if done.is_error() { "blocked" } else { "ran" }).await
        })
    });
    let mut host = drive(agent, Options::new().prompts(false));
    host.prompt("go").await;
    let lines = host.until_kind("result").await;
    let expected = [
        "system init",
        "assistant tool_use",
        "system permission_denied",
        "user tool_result",
        "assistant blocked",
        "result",
    ];
    assert_eq!(outline(&lines), expected);
}

#[tokio::test]
async fn requests_have_the_answers_of_the_real_one() {
    let mut host = drive(acts(|turn| Box::pin(turn.say("hi"))), Options::new());
    let table = [
        (
            json!({ "subtype": "set_permission_mode", "mode": "acceptEdits" }),
            json!({ "mode": "acceptEdits" }),
        ),
        (json!({ "subtype": "set_model", "model": "sonnet" }), json!({ "model": "sonnet" })),
        (json!({ "subtype": "set_max_thinking_tokens", "max_thinking_tokens": 5 }), json!(null)),
        (json!({ "subtype": "get_plan" }), json!({ "exists": false })),
    ];
    for (request, reply) in table {
        host.request("r", request).await;
        let line = host.until_kind("control_response").await.pop().unwrap();
        assert_eq!(line["response"]["response"], reply, "{line}");
    }
    for (mode, code) in [("bypassPermissions", "bypass_not_launched"), ("nonsense", "invalid_mode")]
    {
        host.request("r", json!({ "subtype": "set_permission_mode", "mode": mode })).await;
        let line = host.until_kind("control_response").await.pop().unwrap();
        assert_eq!(line["response"]["error_code"], code);
    }
    host.prompt("Hi").await;
    let init = host.until(|line| line["subtype"] == "init").await.pop().unwrap();
    assert_eq!(
        (&init["model"], &init["permissionMode"]),
        (&json!("sonnet"), &json!("acceptEdits"))
    );
    host.request("r", json!({ "subtype": "end_session" })).await;
    let (rest, exit) = host.end().await;
    assert!(outline(&rest).contains(&"answer".to_owned()));
    assert_eq!(exit.code, 0);
}

#[tokio::test]
async fn a_prompt_that_cannot_wait_is_next() {
    let agent = acts(|turn| {
        Box::pin(async move {
            turn.say(turn.text()).await?;
            if turn.text() == "slow" {
                turn.interrupted().await;
            }
            Ok(())
        })
    });
    let mut host = drive(agent, Options::new());
    host.prompt("slow").await;
    host.until_kind("assistant").await;
    host.say(&json!({ "type": "user", "priority": "now",
        "message": { "role": "user", "content": "now" } }))
        .await;
    let result = host.until_kind("result").await.pop().unwrap();
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(false)));
    assert_eq!(result["terminal_reason"], "aborted_streaming");
    assert_eq!(host.until_kind("result").await.pop().unwrap()["result"], "now");
}

#[tokio::test]
async fn a_prompt_that_wants_no_answer_gets_none() {
    let agent = acts(|_| Box::pin(async { panic!("it must not be asked") }));
    let mut host = drive(agent, Options::new());
    host.say(&json!({ "type": "user", "shouldQuery": false,
        "message": { "role": "user", "content": "for the record" } }))
        .await;
    let result = host.until_kind("result").await.pop().unwrap();
    assert_eq!((&result["num_turns"], &result["result"]), (&json!(0), &json!("")));
}

/// An agent with answers of its own, one of which takes its time.
struct Answers(Arc<Notify>);

impl Agent for Answers {
    async fn turn(&mut self, turn: &mut Turn<'_>) -> TurnResult {
        turn.say("hi").await
    }

    fn requests(&self) -> Option<RequestHandler> {
        let gate = Arc::clone(&self.0);
        Some(Arc::new(move |session, request| match request.tag() {
            "get_plan" => Some(Answer::Now(Reply::error(format!("no plan in {}", session.cwd())))),
            "list_models" => {
                let gate = Arc::clone(&gate);
                Some(Answer::Later(Box::pin(async move {
                    gate.notified().await;
                    Reply::Ack
                })))
            }
            _ => None,
        }))
    }
}

#[tokio::test]
async fn an_agent_answers_before_the_default_does() {
    let gate = Arc::new(Notify::new());
    let mut host = drive(Answers(Arc::clone(&gate)), Options::new());
    host.request("slow", json!({ "subtype": "list_models" })).await;
    host.request("own", json!({ "subtype": "get_plan" })).await;
    host.request("default", json!({ "subtype": "mcp_status" })).await;
    host.request("unknown", json!({ "subtype": "frobnicate" })).await;
    for id in ["own", "default", "unknown"] {
        assert_eq!(host.line().await.unwrap()["response"]["request_id"], id);
    }
    // The host goes, but what it asked for is answered.
    host.close().await;
    gate.notify_one();
    assert_eq!(host.line().await.unwrap()["response"]["request_id"], "slow");
    assert_eq!(host.line().await, None);
}

#[tokio::test]
async fn whoever_asks_after_the_host_has_gone_is_told_so() {
    let agent = acts(|turn| {
        Box::pin(async move {
            let mut said = Vec::new();
            for _ in 0..2 {
                let done = turn.use_tool("Bash", json!({})).await?;
                said.push(done.denial().unwrap().to_owned());
            }
            turn.say(said.join("; ")).await
        })
    });
    let mut host = drive(agent, Options::new());
    host.prompt("go").await;
    host.until_kind("control_request").await;
    let (rest, _) = host.end().await;
    let said = rest.last().unwrap()["result"].as_str().unwrap();
    assert!(said.contains("AbortError") && said.ends_with("Error: Stream closed"), "{said}");
}
