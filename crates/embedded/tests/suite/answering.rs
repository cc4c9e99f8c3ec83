//! The embedded agent and the model behind it: which one answers, what it is told, and what the host hears of it.

use duologue_embedded::{Embedded, Setup, Thinking};
use duologue_model::{Block, Chunk, MessagesModel, Reply, Scenario, Server};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::driving::{Host, drive, outline};
use super::embedded::{allow, bash, plays, turn};

/// An agent that asks a server which plays this scenario.
async fn asks(scenario: Scenario, change: impl FnOnce(&mut Setup)) -> (TempDir, Server, Host) {
    let server = Server::start(scenario).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(folder.path());
    setup.model = Some("claude-opus-5-5".to_owned());
    change(&mut setup);
    let model = MessagesModel::builder().base_url(server.base_url()).api_key("made-up").build();
    let agent = Embedded::new(setup, model.unwrap()).unwrap();
    let options = agent.options();
    (folder, server, drive(agent, options))
}

fn lines_of<'a>(lines: &'a [Value], subtype: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["subtype"] == subtype).collect()
}

#[tokio::test(start_paused = true)]
async fn another_model_answers_for_the_rest_of_the_turn_when_one_is_overloaded() {
    let scenario = Scenario::new()
        .reply(Reply::error(529).times(6))
        .reply(Reply::new().say(bash("true")))
        .reply(Reply::text("At last."))
        .reply(Reply::text("Again."));
    let (_folder, mut host) = plays(scenario, |setup| {
        setup.fallback_models = vec!["claude-sonnet-4-5".to_owned(), "claude-haiku-4-5".to_owned()];
    });
    let lines = turn(&mut host, "go", allow).await;
    let fell = lines_of(&lines, "model_fallback");
    assert_eq!(fell.len(), 2, "{:?}", outline(&lines));
    assert_eq!(
        (&fell[0]["trigger"], &fell[0]["original_model"], &fell[0]["fallback_model"]),
        (&json!("overloaded"), &json!("claude-opus-5-5"), &json!("claude-sonnet-4-5"))
    );
    assert_eq!(
        fell[0]["content"],
        "Switched to Sonnet 4.5 due to high demand for Opus 5.5 · context window 1M → 200K tokens"
    );
    assert_eq!(fell[1]["content"], "Switched to Haiku 4.5 due to high demand for Sonnet 4.5");
    // Each model is tried as often as the first.
    assert_eq!(lines_of(&lines, "api_retry").len(), 4);
    let said: Vec<&Value> = lines.iter().filter(|line| line["type"] == "assistant").collect();
    assert!(said.iter().all(|line| line["message"]["model"] == "claude-haiku-4-5"), "{said:?}");
    assert_eq!(lines.last().unwrap()["result"], "At last.");
    let lines = turn(&mut host, "go", allow).await;
    assert_eq!(lines[1]["message"]["model"], "claude-opus-5-5");
}

#[tokio::test(start_paused = true)]
async fn it_fails_when_no_other_model_is_left() {
    let scenario = Scenario::new().reply(Reply::error(529).always());
    let (_folder, mut host) = plays(scenario, |setup| {
        setup.fallback_models = vec!["claude-opus-5-5".to_owned(), "claude-haiku-4-5".to_owned()];
    });
    let lines = turn(&mut host, "go", allow).await;
    assert_eq!(lines_of(&lines, "model_fallback").len(), 1);
    let result = lines.last().unwrap();
    assert_eq!((&result["is_error"], &result["api_error_status"]), (&json!(true), &json!(529)));
}

#[tokio::test]
async fn the_api_is_told_how_hard_to_think_and_the_host_what_it_is_called() {
    let scenario = Scenario::new().reply(Reply::text("Hello.").always());
    let (_folder, server, mut host) = asks(scenario, |setup| {
        setup.reasoning.effort = Some("low".to_owned());
        setup.reasoning.thinking = Some(Thinking::Adaptive);
    })
    .await;
    let lines = turn(&mut host, "go", allow).await;
    assert_eq!(lines[1]["request_id"], "req_script_0001");
    host.request("t", json!({ "subtype": "set_max_thinking_tokens", "max_thinking_tokens": 0 }))
        .await;
    host.request(
        "e",
        json!({ "subtype": "apply_flag_settings", "settings": { "effortLevel": "max" } }),
    )
    .await;
    turn(&mut host, "go", allow).await;
    let asked = server.requests();
    let body = |at: usize| asked[at].request.body().clone();
    assert_eq!(body(0)["output_config"], json!({ "effort": "low" }));
    assert_eq!(body(0)["thinking"], json!({ "type": "adaptive" }));
    assert_eq!(body(1)["output_config"], json!({ "effort": "max" }));
    assert_eq!(body(1)["thinking"], Value::Null);
}

#[tokio::test]
async fn what_is_streamed_is_what_the_model_streams() {
    let reply = Reply::new()
        .say(Block::thinking("Hm."))
        .say(bash("touch a-file-with-a-long-name"))
        .chunk(Chunk::Chars(8));
    let scenario = Scenario::new().reply(reply).reply(Reply::text("Done."));
    let (_folder, mut host) =
        plays(scenario, |setup| setup.options = setup.options.clone().partial(true));
    let prompt = "11111111-1111-4111-8111-111111111111";
    let message = json!({ "role": "user", "content": "go" });
    host.say(&json!({ "type": "user", "uuid": prompt, "message": message })).await;
    let lines = super::embedded::rest(&mut host, allow).await;
    let events: Vec<&Value> = lines.iter().filter(|line| line["type"] == "stream_event").collect();
    let start = events[0];
    assert_eq!(start["event"]["type"], "message_start");
    assert_eq!(start["user_message_uuid"], prompt);
    assert_eq!(start["user_message_uuids"], json!([prompt]));
    assert!(start["ttft_ms"].is_u64(), "{start}");
    let reasoning = lines_of(&lines, "thinking_tokens");
    assert_eq!(reasoning[0]["user_message_uuid"], prompt);
    let deltas: Vec<&Value> = events.iter().map(|line| &line["event"]["delta"]).collect();
    let signature = deltas.iter().find(|delta| delta["type"] == "signature_delta").unwrap();
    assert!(!signature["signature"].as_str().unwrap().is_empty());
    let pieces: Vec<&str> =
        deltas.iter().filter_map(|delta| delta["partial_json"].as_str()).collect();
    assert!(pieces.len() > 1, "{pieces:?}");
    let input: Value = serde_json::from_str(&pieces.concat()).unwrap();
    assert_eq!(input["command"], "touch a-file-with-a-long-name");
    // Each block that began has ended, the finished one before its end.
    let count = |kind: &str| events.iter().filter(|line| line["event"]["type"] == kind).count();
    assert_eq!(count("content_block_start"), count("content_block_stop"));
    assert_eq!(count("message_start"), count("message_stop"));
}

#[tokio::test]
async fn a_call_that_is_interrupted_leaves_a_balanced_stream() {
    let reply = Reply::new().say(bash("touch a-file-with-a-long-name")).chunk(Chunk::Chars(8));
    let mut reply = reply;
    // The start of the message and of the block, and two pieces.
    reply.stall_after = Some(4);
    let (_folder, mut host) = plays(Scenario::new().reply(reply), |setup| {
        setup.options = setup.options.clone().partial(true);
    });
    host.prompt("go").await;
    let mut lines = host.until(|line| line["event"]["delta"]["type"] == "input_json_delta").await;
    host.request("i", json!({ "subtype": "interrupt" })).await;
    lines.extend(host.until_kind("result").await);
    let count = |kind: &str| lines.iter().filter(|line| line["event"]["type"] == kind).count();
    assert_eq!((count("content_block_start"), count("content_block_stop")), (1, 1));
    assert_eq!((count("message_start"), count("message_stop")), (1, 1));
    assert!(!lines.iter().any(|line| line["type"] == "assistant"), "{:?}", outline(&lines));
}

#[tokio::test]
async fn a_session_is_not_idle_while_a_sub_agent_works_for_it() {
    let task = json!({ "description": "Look", "prompt": "look around", "run_in_background": true });
    let scenario = Scenario::new()
        .reply(Reply::new().say(Block::tool("Agent", task)))
        .reply(Reply::text("It looks."))
        .reply(Reply::text("It has looked."))
        .reply(Reply::new().say(bash("echo hi")).agent("sub").delay_ms(300))
        .reply(Reply::text("All is well.").agent("sub"));
    let (_folder, mut host) =
        plays(scenario, |setup| setup.options = setup.options.clone().state_events(true));
    let prompt = "11111111-1111-4111-8111-111111111111";
    let message = json!({ "role": "user", "content": "go" });
    host.say(&json!({ "type": "user", "uuid": prompt, "message": message })).await;
    let lines = host.until(|line| line["state"] == "idle").await;
    let told: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["state"].as_str().or_else(|| line["result"].as_str()))
        .collect();
    assert_eq!(
        told,
        ["running", "queued", "started", "It looks.", "completed", "It has looked.", "idle"]
    );
    let usage = |subtype: &str| lines_of(&lines, subtype)[0]["usage"].clone();
    for subtype in ["task_progress", "task_notification"] {
        assert_eq!(usage(subtype)["tool_uses"], 1, "{subtype}");
        assert!(usage(subtype)["total_tokens"].as_u64().unwrap() > 0, "{subtype}");
    }
}

#[tokio::test]
async fn what_a_session_does_may_be_for_the_library_alone() {
    let (_folder, mut host) = plays(Scenario::new().reply(Reply::text("Hello.")), |setup| {
        setup.options = setup.options.clone().hidden_state_events(true);
    });
    host.prompt("go").await;
    let lines = host.until(|line| line["state"] == "idle").await;
    let states = lines_of(&lines, "session_state_changed");
    assert_eq!(states.len(), 2);
    assert!(states.iter().all(|line| line["sdk_host_only"] == true), "{states:?}");
}

#[tokio::test]
async fn a_prompt_that_nobody_could_answer_counts_as_cancelled() {
    let prompt = |uuid: &str| json!({ "type": "user", "uuid": uuid, "message": { "role": "user", "content": "go" } });
    let scenario = Scenario::new()
        .reply(Reply::text("Dear.").always().when(duologue_model::When::prompt("go")));
    let (_folder, mut host) = plays(scenario, |setup| setup.max_budget_usd = Some(0.000_001));
    for uuid in ["11111111-1111-4111-8111-111111111111", "21111111-1111-4111-8111-111111111111"] {
        host.say(&prompt(uuid)).await;
        let lines = host.until(|line| line["state"] == "cancelled").await;
        let result = lines.iter().find(|line| line["type"] == "result").unwrap();
        assert_eq!(result["terminal_reason"], "budget_exhausted");
    }
    let (_folder, mut host) = plays(Scenario::new().reply(Reply::error(400)), |_| {});
    host.say(&prompt("31111111-1111-4111-8111-111111111111")).await;
    let lines = host.until(|line| line["state"] == "cancelled").await;
    let result = lines.iter().find(|line| line["type"] == "result").unwrap();
    assert_eq!(result["terminal_reason"], "api_error");
}

#[tokio::test]
async fn a_result_has_every_count_that_hosts_read() {
    let (_folder, mut host) = plays(Scenario::new().reply(Reply::text("Hello.")), |_| {});
    let lines = turn(&mut host, "go", allow).await;
    let usage = &lines.last().unwrap()["usage"];
    assert_eq!(usage["cache_creation"]["ephemeral_1h_input_tokens"], 0);
    assert_eq!(usage["server_tool_use"]["web_search_requests"], 0);
    assert_eq!(usage["output_tokens_details"]["thinking_tokens"], 0);
    assert_eq!(usage["service_tier"], "standard");
}
