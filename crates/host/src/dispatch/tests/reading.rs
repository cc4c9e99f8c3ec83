//! Subscribers that read at different speeds, or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use duologue_protocol::Line;
use duologue_protocol::control::Interrupt;
use duologue_protocol::transcript::Event;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::Error;
use crate::dispatch::options::DEFAULT_BUDGET;
use crate::dispatch::{Delivery, Filter, Options, Overflow, QueueOptions};

use super::support::{Agent, Host, next_line, pair};

fn default_pair() -> (Host, Agent) {
    pair(QueueOptions::new(DEFAULT_BUDGET), Options::default())
}

async fn flood(agent: &mut Agent, count: usize) {
    for number in 0..count {
        let text = format!("{number} {}", "x".repeat(number % 500));
        agent.write(&json!({ "type": "streamlined_text", "text": text })).await;
    }
}

fn number(line: &Line) -> usize {
    let value: serde_json::Value = serde_json::from_slice(line.raw()).unwrap();
    value["text"].as_str().unwrap().split(' ').next().unwrap().parse().unwrap()
}

/// Sends a request and answers it: everything before it was read.
async fn exchange(host: &Host, agent: &mut Agent) {
    let link = host.link.clone();
    let asking = tokio::spawn(async move { link.request(Interrupt::new(), None).await });
    let request = agent.read().await.unwrap();
    let response = json!({ "subtype": "success", "request_id": request["request_id"] });
    agent.write(&json!({ "type": "control_response", "response": response })).await;
    asking.await.unwrap().unwrap();
}

#[tokio::test]
async fn unread_lines_spill_and_come_back_in_order() {
    let (mut host, mut agent) = pair(QueueOptions::new(10_000), Options::default());
    let mut unread = host.subscribe(Filter::Events);
    let sent = 20_000;
    // Nothing is read, and the agent is never paused.
    flood(&mut agent, sent).await;
    exchange(&host, &mut agent).await;
    drop(agent);
    (&mut host.dispatcher).await.unwrap();
    host.end();
    let mut next = 0;
    while let Some(line) = host.line().await.unwrap() {
        if line.kind().unwrap() == "streamlined_text" {
            assert_eq!(number(&line), next);
            next += 1;
        }
    }
    assert_eq!(next, sent);
    // Another subscriber that has not read either has lost nothing.
    let mut events = 0;
    while let Ok(Delivery::Event(event)) = unread.next().await {
        events += usize::from(!matches!(event, Event::RunEnded(_)));
    }
    assert!(events >= sent, "{events}");
}

#[tokio::test]
async fn a_subscriber_that_never_reads_does_not_stop_another() {
    let (mut host, mut agent) = pair(QueueOptions::new(10_000), Options::default());
    let unread = host.subscribe(Filter::Lines);
    let sent = 5_000;
    let flooding = tokio::spawn(async move {
        flood(&mut agent, sent).await;
        agent
    });
    for next in 0..sent {
        assert_eq!(number(&host.line().await.unwrap().unwrap()), next);
    }
    flooding.await.unwrap();
    drop(unread);
}

#[tokio::test]
async fn a_subscription_begins_with_its_call() {
    let (mut host, mut agent) = default_pair();
    flood(&mut agent, 3).await;
    exchange(&host, &mut agent).await;
    // All that came before was routed, although nothing was read.
    let mut late = host.subscribe(Filter::Lines);
    agent.write(&json!({ "type": "streamlined_text", "text": "7 " })).await;
    assert_eq!(number(&next_line(&mut late).await.unwrap().unwrap()), 7);
    assert_eq!(number(&host.line().await.unwrap().unwrap()), 0);
}

#[tokio::test]
async fn reading_pauses_until_the_subscriber_has_caught_up() {
    let queues = QueueOptions::new(10_000).overflow(Overflow::Pause);
    let (mut host, mut agent) = pair(queues, Options::default());
    let sent = 5_000;
    let written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&written);
    let flooding = tokio::spawn(async move {
        for number in 0..sent {
            let text = format!("{number} {}", "x".repeat(500));
            agent.write(&json!({ "type": "streamlined_text", "text": text })).await;
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    // The pipe and the budget are full: nothing moves until something is read.
    while written.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
    assert!(written.load(Ordering::Relaxed) < sent / 10);
    for next in 0..sent {
        assert_eq!(number(&host.line().await.unwrap().unwrap()), next);
    }
    flooding.await.unwrap();
    host.dispatcher.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_agent_is_not_read_far_ahead_of_a_subscriber_that_reads() {
    let (mut host, mut agent) = default_pair();
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
    for _ in 0..sent {
        let line = host.line().await.unwrap().unwrap();
        // What is written and not read. The clock is paused while there is anything to do.
        most = most.max(written.load(Ordering::Relaxed) - read);
        read += line.raw().len();
    }
    flooding.await.unwrap();
    assert!(read > 10_000_000, "{read}");
    // The queue and the batch of the reader each hold at most READ_AHEAD (256 KiB) and one chunk (64 KiB), the pipe holds
    // 16 KiB, and one line is being written. With a paused clock and one thread, it is always 229,535 bytes.
    let bound = 2 * (256 + 64) * 1024 + 16 * 1024 + 1_100;
    assert!(most < bound, "{most} bytes were ahead of the subscriber");
}

#[tokio::test]
async fn a_subscriber_that_stops_reading_does_not_delay_the_agent() {
    let (mut host, mut agent) = default_pair();
    flood(&mut agent, 1).await;
    assert_eq!(number(&host.line().await.unwrap().unwrap()), 0);
    flood(&mut agent, 20_000).await;
    drop(agent);
    for next in 0..20_000 {
        assert_eq!(number(&host.line().await.unwrap().unwrap()), next);
    }
}

#[tokio::test]
async fn failing_ends_one_subscription_and_control_continues() {
    let queues = QueueOptions::new(1_000).overflow(Overflow::Fail);
    let (mut host, mut agent) = pair(queues, Options::default());
    flood(&mut agent, 1_000).await;
    exchange(&host, &mut agent).await;
    let error = loop {
        match host.line().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ended without an error"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Err(Error::TooSlow { budget: 1_000 })));
    // Others go on.
    let mut other = host.subscribe(Filter::Lines);
    flood(&mut agent, 1).await;
    assert_eq!(number(&next_line(&mut other).await.unwrap().unwrap()), 0);
}

#[tokio::test]
async fn waiting_for_a_line_is_cancel_safe() {
    let (mut host, mut agent) = pair(QueueOptions::new(5_000), Options::default());
    let sent = 500;
    let writing = tokio::spawn(async move {
        flood(&mut agent, sent).await;
        agent
    });
    let mut next = 0;
    while next < sent {
        tokio::select! {
            biased;
            // Wins as often as the line is not there yet.
            () = tokio::task::yield_now() => {}
            line = host.line() => {
                assert_eq!(number(&line.unwrap().unwrap()), next);
                next += 1;
            }
        }
        if next < sent
            && let Ok(line) = tokio::time::timeout(Duration::ZERO, host.line()).await
        {
            assert_eq!(number(&line.unwrap().unwrap()), next);
            next += 1;
        }
    }
    writing.await.unwrap();
}

#[tokio::test]
async fn malformed_and_long_lines_do_not_end_it() {
    let options = Options { max_line: 100, ..Options::default() };
    let (mut host, mut agent) = pair(QueueOptions::new(DEFAULT_BUDGET), options);
    let mut events = host.subscribe(Filter::Events);
    agent.writer.write_all(b"debug: not json\n\xff\xfe\n").await.unwrap();
    agent.writer.write_all(&[b'x'; 500]).await.unwrap();
    agent.writer.write_all(b"\n").await.unwrap();
    agent.write(&json!({ "type": "streamlined_text", "text": "0 " })).await;
    drop(agent);
    assert_eq!(host.line().await.unwrap().unwrap().raw(), b"debug: not json");
    assert_eq!(host.line().await.unwrap().unwrap().raw(), b"\xff\xfe");
    assert_eq!(number(&host.line().await.unwrap().unwrap()), 0);
    let mut malformed = 0;
    while malformed < 3 {
        let Ok(Delivery::Event(event)) = events.next().await else { panic!() };
        malformed += usize::from(matches!(event, Event::MalformedLine(_)));
    }
    host.dispatcher.await.unwrap();
}
