//! What subscribers are promised, whoever reads first.

use std::pin::Pin;

use duologue::{Error, Event, Session};
use futures_core::Stream;
use serde_json::json;

use super::agent::{Agent, pair};

/// Waits until the host has read everything that the agent has written so far.
async fn host_has_read(session: &Session, agent: &mut Agent) {
    let control = session.control();
    let (reply, _) = tokio::join!(
        control.get_context_usage(),
        agent.serve("get_context_usage", json!({ "totalTokens": 1 }))
    );
    reply.unwrap();
}

async fn text_of(events: &mut duologue::Events) -> String {
    loop {
        if let Event::Text(text) = events.next().await.unwrap().unwrap() {
            return text.text.as_str().to_owned();
        }
    }
}

#[tokio::test]
async fn streams_begin_with_their_call() {
    let (session, mut agent) = pair(Session::builder()).await;
    let mut early = session.events();
    agent.text("m1", "before").await;
    host_has_read(&session, &mut agent).await;
    let (mut late, mut lines) = (session.events(), session.messages());
    agent.text("m2", "after").await;
    agent.text("m3", "the end").await;
    host_has_read(&session, &mut agent).await;
    // Whoever reads first, the others get the same.
    assert_eq!(text_of(&mut late).await, "after");
    assert_eq!(text_of(&mut early).await, "before");
    assert_eq!(text_of(&mut early).await, "after");
    let mut assistants = Vec::new();
    while assistants.len() < 2 {
        let message = lines.next().await.unwrap().unwrap();
        if message.line.kind().unwrap() == "assistant" {
            assistants.push(message.line.as_str().unwrap().to_owned());
        }
    }
    assert!(assistants[0].contains("after") && assistants[1].contains("the end"));
}

#[tokio::test]
async fn the_cost_and_the_conversation_are_current_although_nothing_is_read() {
    let (session, mut agent) = pair(Session::builder().max_budget_usd(0.2)).await;
    assert_eq!((session.spent_usd(), session.session_id()), (0.0, None));
    let unread = session.prompt("Hi").await.unwrap();
    agent.turn("Hello").await;
    host_has_read(&session, &mut agent).await;
    assert_eq!(session.spent_usd(), 0.25);
    assert_eq!(session.session_id().unwrap().as_str(), "s1");
    let error = session.prompt("more").await.unwrap_err();
    assert!(matches!(error, Error::OverBudget { .. }), "{error}");
    // The refusal has not taken anything from the turn that nobody has read.
    let mut unread = unread;
    assert_eq!(unread.outcome().await.unwrap().text(), "Hello");
}

#[tokio::test]
async fn a_subscriber_that_never_reads_does_not_stop_others_and_loses_nothing() {
    const COUNT: usize = 3_000;
    let (session, mut agent) = pair(Session::builder().memory_budget(20_000)).await;
    let mut unread = session.events();
    let mut turn = session.prompt("Hi").await.unwrap();
    let (_, uuid) = agent.prompt().await;
    let playing = tokio::spawn(async move {
        agent.init().await;
        for number in 0..COUNT {
            agent.text(&format!("m{number}"), &number.to_string()).await;
        }
        agent.result(&[&uuid], "done").await;
        agent
    });
    let mut texts = 0;
    while let Some(event) = turn.next().await.unwrap() {
        texts += usize::from(matches!(event, Event::Text(_)));
    }
    assert_eq!(texts, COUNT);
    for number in 0..COUNT {
        assert_eq!(text_of(&mut unread).await, number.to_string());
    }
    playing.await.unwrap();
}

#[tokio::test]
async fn clones_share_one_conversation_and_any_of_them_closes_it() {
    let (session, mut agent) = pair(Session::builder()).await;
    let (prompting, closing) = (session.clone(), session.clone());
    let turn = tokio::spawn(async move { prompting.prompt("Hi").await.unwrap().outcome().await });
    agent.turn("Hello").await;
    assert_eq!(turn.await.unwrap().unwrap().text(), "Hello");
    // A clone was dropped: the others go on.
    assert_eq!(session.spent_usd(), 0.25);
    let mut events = session.events();
    let (report, ended) = tokio::join!(closing.close(), async {
        assert!(agent.at_end().await);
        agent.close_stdout().await;
        while let Some(_event) = events.next().await.unwrap() {}
    });
    let () = ended;
    assert_eq!(report.unwrap(), session.close().await.unwrap());
    assert!(matches!(session.prompt("late").await, Err(Error::Closed)));
}

#[tokio::test]
async fn dropping_the_last_clone_ends_the_conversation() {
    let (session, mut agent) = pair(Session::builder()).await;
    let last = session.clone();
    drop(session);
    let mut turn = last.prompt("Hi").await.unwrap();
    agent.prompt().await;
    drop(last);
    assert!(turn.outcome().await.is_err());
    assert!(agent.at_end().await);
}

async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    std::future::poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
}

#[tokio::test]
async fn turns_events_and_messages_are_streams_that_end_once() {
    let (session, mut agent) = pair(Session::builder()).await;
    let (mut events, mut messages) = (session.events(), session.messages());
    let mut turn = session.prompt("Hi").await.unwrap();
    agent.turn("Hello").await;
    let mut texts = 0;
    while let Some(event) = next(&mut turn).await {
        texts += usize::from(matches!(event.unwrap(), Event::Text(_)));
    }
    assert_eq!(texts, 1);
    assert!(next(&mut turn).await.is_none());
    assert_eq!(turn.outcome().await.unwrap().text(), "Hello");
    // An agent that goes away is one error, and then the end.
    agent.close_stdout().await;
    let mut last = None;
    while let Some(event) = next(&mut events).await {
        last = Some(event);
    }
    assert!(matches!(last, Some(Err(Error::Gone(_)))), "{last:?}");
    assert!(next(&mut events).await.is_none());
    while next(&mut messages).await.is_some() {}
}
