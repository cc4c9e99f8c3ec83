//! Closing: what is waited for, and for how long.

use std::time::Duration;

use duologue::handlers::Decision;
use duologue::{Event, Session};
use serde_json::json;

use super::agent::{Agent, assert_no_task_left, ends, pair, tasks};

async fn background(agent: &mut Agent, tasks: &[&str]) {
    let tasks: Vec<_> =
        tasks.iter().map(|id| json!({ "task_id": id, "task_type": "local_agent" })).collect();
    let line = json!({
        "type": "system", "subtype": "background_tasks_changed", "tasks": tasks, "session_id": "s1",
    });
    agent.send(line).await;
}

#[tokio::test(start_paused = true)]
async fn a_running_turn_is_waited_for_up_to_linger() {
    let before = tasks();
    let (session, mut agent) =
        pair(Session::builder().linger(Duration::from_secs(48 * 3600))).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    let (report, outcome, ()) = tokio::join!(session.close(), turn.outcome(), async {
        let (_, uuid) = agent.prompt().await;
        agent.init().await;
        tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
        agent.result(&[&uuid], "at last").await;
        assert!(agent.at_end().await);
        agent.close_stdout().await;
    });
    report.unwrap();
    assert_eq!(outcome.unwrap().text(), "at last");
    drop((turn, agent));
    assert_no_task_left(before).await;
}

#[tokio::test(start_paused = true)]
async fn an_open_request_is_waited_for() {
    let before = tasks();
    let builder = Session::builder().linger(Duration::MAX).on_permission(|_| async {
        tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
        Decision::allow()
    });
    let (session, mut agent) = pair(builder).await;
    let ask = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": {} });
    agent.ask("r1", ask).await;
    let mut events = session.events();
    loop {
        if let Event::PermissionAsked(_) = events.next().await.unwrap().unwrap() {
            break;
        }
    }
    drop(events);
    let (report, ()) = tokio::join!(session.close(), async {
        assert_eq!(agent.read().await["response"]["request_id"], "r1");
        assert!(agent.at_end().await);
        agent.close_stdout().await;
    });
    report.unwrap();
    drop(agent);
    assert_no_task_left(before).await;
}

#[tokio::test(start_paused = true)]
async fn work_in_the_background_is_waited_for() {
    let (session, mut agent) = pair(Session::builder()).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    let (_, uuid) = agent.prompt().await;
    agent.init().await;
    background(&mut agent, &["t1", "t2"]).await;
    agent.result(&[&uuid], "they work").await;
    assert!(turn.outcome().await.unwrap().is_success());
    let (report, ()) = tokio::join!(session.close(), async {
        tokio::time::sleep(Duration::from_secs(300)).await;
        background(&mut agent, &["t2"]).await;
        // Not yet.
        let end = tokio::time::timeout(Duration::from_secs(200), agent.at_end());
        assert!(end.await.is_err());
        background(&mut agent, &[]).await;
        assert!(agent.at_end().await);
        agent.close_stdout().await;
    });
    report.unwrap();
}

#[tokio::test(start_paused = true)]
async fn work_in_the_background_is_waited_for_up_to_linger() {
    let before = tasks();
    let (session, mut agent) = pair(Session::builder().linger(Duration::from_secs(60))).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    let (_, uuid) = agent.prompt().await;
    agent.init().await;
    background(&mut agent, &["t1"]).await;
    agent.result(&[&uuid], "it works").await;
    assert!(turn.outcome().await.unwrap().is_success());
    let start = tokio::time::Instant::now();
    let (report, ()) = tokio::join!(session.close(), async {
        assert!(agent.at_end().await);
        assert!(start.elapsed() >= Duration::from_secs(60));
        agent.close_stdout().await;
    });
    report.unwrap();
    drop((turn, agent));
    assert_no_task_left(before).await;
}

/// What `Session::close` states, for an agent that is no process: linger, the grace of the ladder, and a
/// second.
const DEADLINE: Duration = Duration::from_secs(600 + 2 + 1);

/// Whatever seems to be open, `close` has a deadline. The clock of these tests passes by itself.
#[tokio::test(start_paused = true)]
async fn close_has_a_deadline() {
    let cases: [(&str, &[&str]); 5] = [
        ("a turn runs", &[r#"{"type":"system","subtype":"init","session_id":"s1"}"#]),
        ("a prompt waits", &[]),
        (
            "a question is open",
            &[
                r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}"#,
            ],
        ),
        (
            "tasks and turns come and go",
            &[
                r#"{"type":"system","subtype":"task_started","task_id":"t","is_backgrounded":true}"#,
                r#"{"type":"result","subtype":"success"}"#,
                r#"{"type":"system","subtype":"init","session_id":"s1"}"#,
            ],
        ),
        ("a line cannot be read", &["{\"type\":"]),
    ];
    for (what, lines) in cases {
        let before = tasks();
        let builder = Session::builder().on_permission(|_| std::future::pending());
        let (session, mut agent) = pair(builder).await;
        let turn = session.prompt("Hi").await.unwrap();
        agent.prompt().await;
        for line in lines {
            agent.raw(format!("{line}\n").as_bytes()).await;
        }
        let closed = tokio::time::timeout(DEADLINE, session.close()).await;
        assert!(closed.is_ok(), "{what}");
        drop((turn, agent));
        assert_no_task_left(before).await;
    }
}

/// An agent that writes without end keeps nothing open by that.
#[tokio::test(start_paused = true)]
async fn an_agent_that_writes_without_end_does_not_delay_a_close() {
    let (session, mut agent) = pair(Session::builder().linger(Duration::from_secs(60))).await;
    let turn = session.prompt("Hi").await.unwrap();
    let (_, uuid) = agent.prompt().await;
    agent.init().await;
    let flood = tokio::spawn(async move {
        let line = json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": "started" });
        while agent.try_send(&line).await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let closed = tokio::time::timeout(DEADLINE, session.close()).await;
    assert!(closed.is_ok());
    drop(turn);
    flood.await.unwrap();
}

/// Results that are new, broken or too long: the turn ends, and nothing is waited for.
#[tokio::test(start_paused = true)]
async fn a_result_that_cannot_be_decoded_delays_nothing() {
    let long =
        format!(r#"{{"type":"result","subtype":"success","result":"{}"}}"#, "x".repeat(9000));
    let deep = format!(
        r#"{{"type":"result","subtype":"success","structured_output":{}{}}}"#,
        "[".repeat(2000),
        "]".repeat(2000)
    );
    let results: [&[u8]; 7] = [
        br#"{"type":"result","subtype":"of_tomorrow","is_error":false}"#,
        br#"{"type":"result","is_error":false}"#,
        br#"{"type":"result","subtype":"success","api_error_status":"x"}"#,
        b"{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"\xff\"}",
        br#"{"type":"result","subtype":"success","result":"cut o"#,
        long.as_bytes(),
        deep.as_bytes(),
    ];
    for result in results {
        let (session, mut agent) = pair(Session::builder().max_line(8000)).await;
        let mut turn = session.prompt("Hi").await.unwrap();
        agent.prompt().await;
        agent.init().await;
        agent.text("m1", "Hello").await;
        agent.raw(result).await;
        agent.raw(b"\n").await;
        let what = String::from_utf8_lossy(result.get(..60).unwrap_or(result)).into_owned();
        let outcome = turn.outcome().await.unwrap();
        assert!(!outcome.is_success(), "{what}");
        assert_eq!(outcome.text(), "Hello", "{what}");
        let (report, at_end) = tokio::join!(session.close(), async {
            // At once: stdin is closed before anything could have been waited for.
            let end = tokio::time::timeout(Duration::from_millis(10), agent.at_end()).await;
            agent.close_stdout().await;
            end.is_ok()
        });
        report.unwrap();
        assert!(at_end, "{what}");
    }
}

/// Which task has ended cannot be read. It is not waited for as long as one that surely runs.
#[tokio::test(start_paused = true)]
async fn work_whose_end_could_not_be_decoded_is_not_waited_for() {
    for garbled in [
        &br#"{"type":"system","subtype":"task_notification","status":"completed"}"#[..],
        br#"{"type":"system","subtype":"background_tasks_changed","tasks":"none"}"#,
        br#"{"type":"system","subty"#,
    ] {
        let (session, mut agent) = pair(Session::builder()).await;
        let mut turn = session.prompt("Hi").await.unwrap();
        let (_, uuid) = agent.prompt().await;
        agent.init().await;
        background(&mut agent, &["t1"]).await;
        agent.result(&[&uuid], "it works").await;
        assert!(turn.outcome().await.unwrap().is_success());
        agent.raw(garbled).await;
        agent.raw(b"\n").await;
        let (report, at_end) = tokio::join!(session.close(), async {
            let end = tokio::time::timeout(Duration::from_secs(7), agent.at_end()).await;
            agent.close_stdout().await;
            end.is_ok()
        });
        report.unwrap();
        assert!(at_end, "{}", String::from_utf8_lossy(garbled));
    }
}

/// Answers wait, and the agent reads no more: nothing that is still to be said can arrive.
#[tokio::test(start_paused = true)]
async fn an_agent_that_stops_reading_is_not_waited_for() {
    for asks in [3, 2000] {
        let before = tasks();
        let (mut agent, host) = ends(1024);
        let (reader, writer) = tokio::io::split(host);
        let builder = Session::builder().on_permission(|_| async { Decision::allow() });
        let session = tokio::join!(builder.connect(reader, writer), agent.handshake()).0.unwrap();
        let mut turn = session.prompt("Hi").await.unwrap();
        let (_, uuid) = agent.prompt().await;
        agent.init().await;
        let input = json!({ "command": "x".repeat(600) });
        for number in 0..asks {
            let ask = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": input });
            agent.ask(&format!("r{number}"), ask).await;
        }
        agent.result(&[&uuid], "done").await;
        assert!(turn.outcome().await.unwrap().is_success());
        let closed = tokio::time::timeout(Duration::from_secs(10), session.close()).await;
        assert!(closed.is_ok(), "{asks} questions");
        drop((turn, agent));
        assert_no_task_left(before).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_close_its_pipe_is_left() {
    let before = tasks();
    let (session, mut agent) = pair(Session::builder()).await;
    let (report, ()) = tokio::join!(session.close(), async {
        assert!(agent.at_end().await);
    });
    report.unwrap();
    assert_no_task_left(before).await;
    drop(agent);
}

#[tokio::test]
async fn a_cancelled_close_ends_everything() {
    let before = tasks();
    let (session, mut agent) = pair(Session::builder()).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    agent.prompt().await;
    agent.init().await;
    agent.text("m1", "Hello").await;
    assert!(turn.accepted().await.unwrap());
    let mut closing = Box::pin(session.close());
    tokio::select! {
        biased;
        report = &mut closing => panic!("{report:?}"),
        () = tokio::task::yield_now() => {}
    }
    drop(closing);
    assert!(turn.outcome().await.is_err());
    assert!(agent.at_end().await);
    drop(turn);
    assert_no_task_left(before).await;
}

#[tokio::test]
async fn a_killed_session_ends_at_once() {
    let before = tasks();
    let (session, mut agent) = pair(Session::builder()).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    let mut events = session.events();
    agent.prompt().await;
    agent.init().await;
    session.kill().await;
    assert!(turn.outcome().await.is_err());
    while let Ok(Some(_)) = events.next().await {}
    assert!(agent.at_end().await);
    drop((turn, events));
    assert_no_task_left(before).await;
}
