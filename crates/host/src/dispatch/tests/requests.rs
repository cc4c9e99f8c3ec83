//! Requests both ways, and how they end.

use std::time::Duration;

use duologue_protocol::control::{Interrupt, SetModel};
use duologue_protocol::host_link::{Answer, Failure};
use duologue_protocol::lines::Prompt;
use duologue_protocol::{Direction, RawObject};
use serde_json::json;

use std::sync::{Arc, Mutex};

use crate::dispatch::options::DEFAULT_BUDGET;
use crate::dispatch::{Ask, Options, QueueOptions, RequestError, Tap};

use super::support::{Agent, Host, pair};

fn default_pair() -> (Host, Agent) {
    pair(QueueOptions::new(DEFAULT_BUDGET), Options::default())
}

#[tokio::test]
async fn a_request_and_its_answer() {
    let (host, mut agent) = default_pair();
    let far = tokio::spawn(async move {
        let request = agent.read().await.unwrap();
        assert_eq!(request["request"], json!({ "subtype": "set_model", "model": "m" }));
        let response = json!({ "subtype": "success", "request_id": request["request_id"],
            "response": { "model": "m" } });
        agent.write(&json!({ "type": "control_response", "response": response })).await;
        agent
    });
    let reply = host.link.request(SetModel::new().model("m"), None).await.unwrap();
    assert_eq!(reply.model.as_str(), Some("m"));
    drop(far.await.unwrap());
    host.dispatcher.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_request_times_out() {
    let (host, _agent) = default_pair();
    let error =
        host.link.request(Interrupt::new(), Some(Duration::from_secs(60))).await.unwrap_err();
    assert!(matches!(error, RequestError::Failed(Failure::TimedOut)));
}

#[tokio::test]
async fn all_requests_fail_when_the_agent_goes() {
    let (host, mut agent) = default_pair();
    let first = host.link.request(Interrupt::new(), None);
    let raw = RawObject::of(&json!({ "subtype": "juggle" })).unwrap();
    let second = host.link.request_raw(raw, None);
    let gone = async {
        agent.read().await.unwrap();
        agent.read().await.unwrap();
        drop(agent);
    };
    let (first, second, ()) = tokio::join!(first, second, gone);
    assert!(matches!(first.unwrap_err(), RequestError::Failed(Failure::Ended)));
    assert!(matches!(second.unwrap_err(), RequestError::Failed(Failure::Ended)));
    host.dispatcher.await.unwrap();
    assert!(host.link.prompt(Prompt::text("late")).await.is_err());
}

#[tokio::test]
async fn requests_are_served_although_nothing_is_read() {
    let (mut host, mut agent) = pair(QueueOptions::new(0), Options::default());
    let ask = json!({ "type": "control_request", "request_id": "a",
        "request": { "subtype": "can_use_tool", "tool_name": "Bash", "input": {} } });
    agent.write(&ask).await;
    let Some(Ask::Asked { id, .. }) = host.asks.next().await else { panic!() };
    host.link.answer(id, Answer::Ack).await.unwrap();
    let answer = agent.read().await.unwrap();
    assert_eq!(answer["response"]["request_id"], "a");

    agent.write(&json!({ "type": "control_cancel_request", "request_id": "never asked" })).await;
    let mut ask = ask;
    ask["request_id"] = json!("b");
    agent.write(&ask).await;
    agent.write(&json!({ "type": "control_cancel_request", "request_id": "b" })).await;
    assert!(matches!(host.asks.next().await, Some(Ask::Asked { .. })));
    assert!(matches!(host.asks.next().await, Some(Ask::Withdrawn { .. })));
}

#[tokio::test]
async fn a_request_without_handlers_is_refused() {
    let (host, mut agent) = default_pair();
    drop(host.asks);
    let ask = json!({ "type": "control_request", "request_id": "a",
        "request": { "subtype": "hook_callback", "callback_id": "h" } });
    agent.write(&ask).await;
    let answer = agent.read().await.unwrap();
    assert_eq!(answer["response"]["subtype"], "error");
}

#[tokio::test]
async fn closing_sends_everything_first() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&seen);
    let tap = Tap::new(move |direction, _| lines.lock().unwrap().push(direction));
    let options = Options { tap: Some(tap), ..Options::default() };
    let (mut host, mut agent) = pair(QueueOptions::new(DEFAULT_BUDGET), options);
    for number in 0..200 {
        host.link.prompt(Prompt::text(format!("{number} {}", "x".repeat(1000)))).await.unwrap();
    }
    while !host.link.close_now() {
        tokio::task::yield_now().await;
    }
    let mut count = 0;
    while let Some(prompt) = agent.read().await {
        assert!(prompt["message"]["content"].as_str().unwrap().starts_with(&format!("{count} ")));
        count += 1;
        if count == 200 {
            break;
        }
    }
    // Its stdin has ended; it may still write.
    agent.write(&json!({ "type": "keep_alive" })).await;
    agent.write(&json!({ "type": "result", "subtype": "success" })).await;
    drop(agent);
    (&mut host.dispatcher).await.unwrap();
    host.end();
    let sent = seen.lock().unwrap().iter().filter(|way| **way == Direction::ToAgent).count();
    assert_eq!(sent, 200);
    let mut lines = 0;
    while host.line().await.unwrap().is_some() {
        lines += 1;
    }
    assert_eq!(lines, 1, "keep_alive is not delivered");
}

#[tokio::test]
async fn dropping_all_handles_closes_stdin() {
    let (host, mut agent) = default_pair();
    drop(host.link);
    assert!(agent.read().await.is_none());
}
