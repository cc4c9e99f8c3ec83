//! A consumer that does not read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use duologue_link::{InboxError, Options, Overflow, Taken};
use duologue_protocol::control::Interrupt;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use super::support::{Agent, pair};

async fn flood(agent: &mut Agent, count: usize) {
    for number in 0..count {
        let text = format!("{number} {}", "x".repeat(number % 500));
        agent.write(&json!({ "type": "streamlined_text", "text": text })).await;
    }
}

fn number(line: &duologue_protocol::Line) -> usize {
    let value: serde_json::Value = serde_json::from_slice(line.raw()).unwrap();
    value["text"].as_str().unwrap().split(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn what_is_not_read_spills_and_comes_back_in_order() {
    let (mut host, mut agent) = pair(Options::default().budget(10_000));
    let sent = 20_000;
    // Nobody reads the inbox, and the agent is never held up.
    flood(&mut agent, sent).await;
    let answered = tokio::spawn({
        let link = host.link.clone();
        async move { link.request(Interrupt::new(), None).await }
    });
    let request = agent.read().await.unwrap();
    let response = json!({ "subtype": "success", "request_id": request["request_id"] });
    agent.write(&json!({ "type": "control_response", "response": response })).await;
    answered.await.unwrap().unwrap();
    drop(agent);
    let mut next = 0;
    while let Some(item) = host.inbox.next().await.unwrap() {
        if item.line.kind().unwrap() == "streamlined_text" {
            assert_eq!(number(&item.line), next);
            next += 1;
        }
    }
    assert_eq!(next, sent);
}

#[tokio::test]
async fn reading_pauses_until_the_consumer_has_caught_up() {
    let options = Options::default().budget(10_000).overflow(Overflow::Pause);
    let (mut host, mut agent) = pair(options);
    let sent = 5_000;
    let flooding = tokio::spawn(async move {
        flood(&mut agent, sent).await;
        agent
    });
    let mut next = 0;
    while next < sent {
        let item = host.inbox.next().await.unwrap().unwrap();
        assert_eq!(number(&item.line), next);
        next += 1;
    }
    drop(flooding.await.unwrap());
    assert!(host.inbox.next().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn the_agent_is_not_read_far_ahead_of_a_consumer_that_reads() {
    let (mut host, mut agent) = pair(Options::default());
    let written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&written);
    let sent = 20_000;
    let flooding = tokio::spawn(async move {
        for number in 0..sent {
            let text = format!("{number} {}", "x".repeat(number % 1_000));
            let line = json!({ "type": "streamlined_text", "text": text });
            agent.write(&line).await;
            counted.fetch_add(line.to_string().len(), Ordering::Relaxed);
        }
    });
    let (mut read, mut most) = (0, 0);
    while let Some(item) = host.inbox.next().await.unwrap() {
        // What is written and not read. Time stands still while there is anything to do.
        most = most.max(written.load(Ordering::Relaxed) - read);
        read += item.line.raw().len();
    }
    flooding.await.unwrap();
    assert!(read > 10_000_000, "{read}");
    assert!(most < 1_000_000, "{most} bytes were ahead of the consumer");
}

#[tokio::test]
async fn a_consumer_that_stops_reading_does_not_hold_the_agent_up() {
    let (mut host, mut agent) = pair(Options::default());
    flood(&mut agent, 1).await;
    assert_eq!(number(&host.inbox.next().await.unwrap().unwrap().line), 0);
    assert!(matches!(host.inbox.try_next(), Ok(Taken::Nothing)));
    flood(&mut agent, 20_000).await;
    drop(agent);
    let mut next = 0;
    while let Some(item) = host.inbox.next().await.unwrap() {
        assert_eq!(number(&item.line), next);
        next += 1;
    }
    assert_eq!(next, 20_000);
}

#[tokio::test]
async fn failing_is_an_error_and_control_goes_on() {
    let options = Options::default().budget(1_000).overflow(Overflow::Fail);
    let (mut host, mut agent) = pair(options);
    flood(&mut agent, 1_000).await;
    let asking = tokio::spawn({
        let link = host.link.clone();
        async move { link.request(Interrupt::new(), None).await }
    });
    let request = agent.read().await.unwrap();
    let response = json!({ "subtype": "success", "request_id": request["request_id"] });
    agent.write(&json!({ "type": "control_response", "response": response })).await;
    asking.await.unwrap().unwrap();
    let error = loop {
        match host.inbox.next().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ended without a word"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, InboxError::TooSlow { budget: 1_000 }));
}

#[tokio::test]
async fn waiting_for_a_line_can_be_dropped_at_any_time() {
    let (mut host, mut agent) = pair(Options::default());
    let sent = 500;
    let writing = tokio::spawn(async move {
        flood(&mut agent, sent).await;
        drop(agent);
    });
    let mut next = 0;
    loop {
        tokio::select! {
            biased;
            // Wins as often as the line is not there yet.
            () = tokio::task::yield_now() => {}
            item = host.inbox.next() => match item.unwrap() {
                Some(item) => {
                    assert_eq!(number(&item.line), next);
                    next += 1;
                }
                None => break,
            },
        }
        if let Ok(item) = tokio::time::timeout(std::time::Duration::ZERO, host.inbox.next()).await {
            match item.unwrap() {
                Some(item) => {
                    assert_eq!(number(&item.line), next);
                    next += 1;
                }
                None => break,
            }
        }
    }
    writing.await.unwrap();
    assert_eq!(next, sent);
}

#[tokio::test]
async fn stray_and_long_lines_do_not_end_it() {
    let (mut host, mut agent) = pair(Options::default().max_line(100));
    agent.writer.write_all(b"debug: not json\n\xff\xfe\n").await.unwrap();
    agent.writer.write_all(&[b'x'; 500]).await.unwrap();
    agent.writer.write_all(b"\n").await.unwrap();
    agent.write(&json!({ "type": "streamlined_text", "text": "0 " })).await;
    drop(agent);
    assert_eq!(host.inbox.next().await.unwrap().unwrap().line.raw(), b"debug: not json");
    assert_eq!(host.inbox.next().await.unwrap().unwrap().line.raw(), b"\xff\xfe");
    let too_long = host.inbox.next().await.unwrap_err();
    assert!(matches!(too_long, InboxError::TooLong(long) if long.length == 500));
    assert_eq!(number(&host.inbox.next().await.unwrap().unwrap().line), 0);
    assert!(host.inbox.next().await.unwrap().is_none());
}
