//! More open requests than there may be, and a disk that is full.

use std::time::Duration;

use duologue_protocol::control::Interrupt;
use duologue_protocol::host_link::Answer;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::Error;
use crate::dispatch::options::DEFAULT_BUDGET;
use crate::dispatch::{Ask, Options, QueueOptions};

use super::support::{Agent, Host, pair};

fn with_open_requests(open_requests: usize) -> (Host, Agent) {
    let options = Options { open_requests, ..Options::default() };
    pair(QueueOptions::new(DEFAULT_BUDGET), options)
}

fn ask(number: usize) -> Value {
    json!({ "type": "control_request", "request_id": format!("r{number}"), "request": {
        "subtype": "can_use_tool", "tool_name": "Bash", "input": { "command": "x".repeat(2_000) },
    }})
}

/// The requests until nothing more comes. The clock is paused while anything else can happen.
async fn asked(host: &mut Host) -> Vec<Ask> {
    let mut asks = Vec::new();
    while let Ok(ask) = tokio::time::timeout(Duration::from_secs(1), host.asks.next()).await {
        asks.push(ask.unwrap());
    }
    asks
}

#[tokio::test(start_paused = true)]
async fn the_agent_is_not_read_while_too_many_requests_are_open_and_none_is_refused() {
    let (mut host, mut agent) = with_open_requests(100_000);
    let total = 500;
    let flooding = tokio::spawn(async move {
        for number in 0..total {
            agent.writer.write_all(format!("{}\n", ask(number)).as_bytes()).await.unwrap();
        }
        agent
    });
    let first = asked(&mut host).await;
    assert!(first.len() < 50, "{} were read", first.len());
    assert!(!flooding.is_finished());
    let mut answered = 0;
    let mut open = first;
    while !open.is_empty() {
        for ask in open {
            let Ask::Asked { id, received, .. } = ask else { panic!("{ask:?}") };
            assert_eq!(id.as_str(), format!("r{answered}"));
            host.link.answer_received(id, received, Answer::Ack).await.unwrap();
            answered += 1;
        }
        open = asked(&mut host).await;
    }
    assert_eq!(answered, total);
    let mut agent = flooding.await.unwrap();
    for _ in 0..total {
        assert_eq!(agent.read().await.unwrap()["response"]["subtype"], "success");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_agent_is_read_although_too_many_requests_are_open() {
    let (mut host, mut agent) = with_open_requests(100_000);
    let asking = tokio::spawn(async move {
        for number in 0..28 {
            agent.write(&ask(number)).await;
        }
        let request = agent.read().await.unwrap();
        let response = json!({ "subtype": "success", "request_id": request["request_id"] });
        agent.write(&json!({ "type": "control_response", "response": response })).await;
        agent
    });
    assert!(asked(&mut host).await.len() < 28);
    host.link.request(Interrupt::new(), None).await.unwrap();
    asking.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_deadline_answers_and_what_comes_later_is_not_sent() {
    let (mut host, mut agent) = pair(QueueOptions::new(DEFAULT_BUDGET), Options::default());
    agent.write(&ask(0)).await;
    let Some(Ask::Asked { id, received, .. }) = host.asks.next().await else { panic!() };
    let deadline = received.at() + Duration::from_secs(1);
    let late = Answer::Error("too late".into());
    host.link.answer_by(id.clone(), received, deadline, late).await.unwrap();
    assert_eq!(agent.read().await.unwrap()["response"]["error"], "too late");
    assert!(matches!(host.asks.next().await, Some(Ask::Withdrawn { .. })));
    // The same id again: the answer to the first is not taken for one to the second.
    agent.write(&ask(0)).await;
    let Some(Ask::Asked { received: again, .. }) = host.asks.next().await else { panic!() };
    host.link.answer_received(id.clone(), received, Answer::Ack).await.unwrap();
    host.link.answer_received(id, again, Answer::Error("the second".into())).await.unwrap();
    assert_eq!(agent.read().await.unwrap()["response"]["error"], "the second");
}

fn line(number: usize) -> Value {
    json!({ "type": "streamlined_text", "text": format!("{number} {}", "x".repeat(5_000)) })
}

#[tokio::test]
async fn a_full_disk_pauses_the_agent_until_there_is_room() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("not there yet");
    let queues = QueueOptions::new(10_000).spill_dir(Some(dir.clone()));
    let (mut host, mut agent) = pair(queues, Options::default());
    let total = 2_000;
    let flooding = tokio::spawn(async move {
        for number in 0..total {
            agent.write(&line(number)).await;
        }
        agent
    });
    for next in 0..total {
        let line = host.line().await.unwrap().unwrap();
        let value: Value = serde_json::from_slice(line.raw()).unwrap();
        assert!(value["text"].as_str().unwrap().starts_with(&format!("{next} ")));
        if next == total / 2 {
            std::fs::create_dir(&dir).unwrap();
        }
    }
    flooding.await.unwrap();
}

#[tokio::test]
async fn a_full_disk_is_an_error_after_everything_that_was_kept() {
    let queues = QueueOptions::new(10_000).spill_dir(Some("/there is no such directory".into()));
    let (mut host, mut agent) = pair(queues, Options::default());
    let link = host.link.clone();
    // The agent must be read: a reply is awaited.
    let asking = tokio::spawn(async move { link.request(Interrupt::new(), None).await });
    let request = agent.read().await.unwrap();
    let total = 2_000;
    for number in 0..total {
        agent.write(&line(number)).await;
    }
    let response = json!({ "subtype": "success", "request_id": request["request_id"] });
    agent.write(&json!({ "type": "control_response", "response": response })).await;
    asking.await.unwrap().unwrap();
    let mut lines = 0;
    let error = loop {
        match host.line().await {
            Ok(Some(_)) => lines += 1,
            Ok(None) => panic!("ended after {lines} lines"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Err(Error::Spill(_))), "{error:?}");
    // A budget, a megabyte, and what was on its way.
    assert!((200..total).contains(&lines), "{lines}");
}
