//! The end of the pipe, at every point.

use std::sync::Arc;
use std::time::Duration;

use duologue::handlers::Decision;
use duologue::{Error, Handshake, Session};
use serde_json::json;
use tokio::sync::Notify;

use super::agent::{Agent, assert_no_task_left, ends, pair, tasks};

/// What an agent says in a turn, piece by piece.
async fn send_piece(agent: &mut Agent, piece: usize, uuid: &str) -> bool {
    let delta = |event: serde_json::Value| json!({ "type": "stream_event", "event": event });
    match piece {
        0 => {
            let line =
                json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": "started" });
            agent.send(line).await;
        }
        1 => agent.init().await,
        2 => {
            let message = json!({ "id": "m1", "role": "assistant", "content": [] });
            agent.send(delta(json!({ "type": "message_start", "message": message }))).await;
        }
        3 => {
            let block = json!({ "type": "text", "text": "" });
            let start =
                json!({ "type": "content_block_start", "index": 0, "content_block": block });
            agent.send(delta(start)).await;
        }
        4 => {
            let text = json!({ "type": "text_delta", "text": "Hel" });
            agent
                .send(delta(json!({ "type": "content_block_delta", "index": 0, "delta": text })))
                .await;
        }
        5 => agent.text("m1", "Hello").await,
        6 => {
            let ask = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": {} });
            agent.ask("r1", ask).await;
        }
        7 => agent.send(json!({ "type": "control_cancel_request", "request_id": "r1" })).await,
        8 => agent.raw(b"{\"type\":\"assistant\",\"mess").await,
        9 => agent.raw(b"age\":{\"id\":\"m2\",\"content\":[]}}\n").await,
        10 => agent.result(&[uuid], "Hello").await,
        _ => return false,
    }
    true
}

#[tokio::test]
async fn the_end_may_come_after_every_piece_of_a_turn() {
    let before = tasks();
    for pieces in 0..=11 {
        let hangs = |_| std::future::pending::<Decision>();
        let (session, mut agent) = pair(Session::builder().on_permission(hangs)).await;
        let mut turn = session.prompt("Hi").await.unwrap();
        let (_, uuid) = agent.prompt().await;
        for piece in 0..pieces {
            assert!(send_piece(&mut agent, piece, &uuid).await);
        }
        agent.close_stdout().await;
        match turn.outcome().await {
            Ok(outcome) => {
                assert_eq!(pieces, 11);
                assert_eq!(outcome.text(), "Hello");
            }
            Err(error) => {
                assert!(pieces < 11);
                assert!(matches!(error, Error::Gone(_)), "{error}");
            }
        }
        let error = session.prompt("still there?").await.err();
        assert!(error.is_none_or(|error| matches!(error, Error::Gone(_))));
        assert!(session.control().without_limit().get_usage().await.is_err());
        let mut events = session.events();
        while events.next().await.is_ok_and(|event| event.is_some()) {}
        assert!(events.next().await.is_err());
        drop(events);
        drop((turn, session, agent));
        assert_no_task_left(before).await;
    }
}

#[tokio::test]
async fn the_end_may_come_in_the_handshake() {
    let before = tasks();
    for speaks in [false, true] {
        let (mut agent, host) = ends(1024);
        let (reader, writer) = tokio::io::split(host);
        let connects = Session::builder().connect(reader, writer);
        let (session, ()) = tokio::join!(connects, async {
            agent.read().await;
            if speaks {
                agent.raw(b"{\"type\":\"control_resp").await;
            }
            agent.close_stdout().await;
        });
        assert!(matches!(session, Err(Error::Gone(_))), "{session:?}");
        drop(agent);
        assert_no_task_left(before).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_fails_leaves_no_task() {
    let before = tasks();
    let (mut agent, host) = ends(1024);
    let (reader, writer) = tokio::io::split(host);
    let builder = Session::builder().handshake(Handshake::Require);
    let (session, _) = tokio::join!(builder.connect(reader, writer), agent.read());
    assert!(matches!(session, Err(Error::TimedOut { .. })), "{session:?}");
    // The agent's end is still there.
    assert_no_task_left(before).await;
    drop(agent);
}

#[tokio::test]
async fn a_cancelled_connection_leaves_no_task() {
    let before = tasks();
    let (mut agent, host) = ends(1024);
    let (reader, writer) = tokio::io::split(host);
    tokio::select! {
        session = Session::builder().connect(reader, writer) => panic!("{session:?}"),
        _ = agent.read() => {}
    }
    assert_no_task_left(before).await;
    drop(agent);
}

#[tokio::test]
async fn a_dropped_session_leaves_no_task_although_its_output_is_not_read() {
    let before = tasks();
    let (mut agent, host) = ends(1024);
    let (reader, writer) = tokio::io::split(host);
    let (session, ()) = tokio::join!(Session::builder().connect(reader, writer), agent.handshake());
    let session = session.unwrap();
    // It does not fit into the pipe, and is never read.
    let turn = session.prompt("x".repeat(100_000)).await.unwrap();
    drop((turn, session));
    assert_no_task_left(before).await;
    drop(agent);
}

#[tokio::test(start_paused = true)]
async fn a_request_has_its_limit_though_nothing_is_read() {
    let (mut agent, host) = ends(1024);
    let (reader, writer) = tokio::io::split(host);
    let (session, ()) = tokio::join!(Session::builder().connect(reader, writer), agent.handshake());
    let session = session.unwrap();
    let mut turns = Vec::new();
    let limit = Duration::from_secs(5);
    while let Ok(turn) = tokio::time::timeout(limit, session.prompt("x".repeat(2_000))).await {
        turns.push(turn.unwrap());
    }
    let control = session.control().within(limit);
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let control = control.clone();
        requests.spawn(async move { control.get_usage().await });
    }
    let all = tokio::time::timeout(limit * 3, requests.join_all()).await.unwrap();
    for reply in all {
        assert!(matches!(reply, Err(Error::TimedOut { .. })), "{reply:?}");
    }
    drop(agent);
}

#[tokio::test]
async fn a_session_can_be_dropped_at_every_point() {
    let before = tasks();
    for pieces in 0..=11 {
        let asked = Arc::new(Notify::new());
        let told = Arc::clone(&asked);
        let builder = Session::builder().on_permission(move |_| {
            told.notify_one();
            std::future::pending::<Decision>()
        });
        let (session, mut agent) = pair(builder).await;
        let mut turn = session.prompt("Hi").await.unwrap();
        let (_, uuid) = agent.prompt().await;
        for piece in 0..pieces {
            send_piece(&mut agent, piece, &uuid).await;
        }
        if pieces == 7 {
            asked.notified().await;
        }
        drop(session);
        let outcome = turn.outcome().await;
        assert!(outcome.is_ok() || pieces <= 11, "{outcome:?}");
        // The agent's end is still there: nobody waits for it.
        assert!(agent.at_end().await);
        drop(turn);
        assert_no_task_left(before).await;
    }
}
