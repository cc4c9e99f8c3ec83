//! Closing: what is waited for, and for how long.

use std::time::Duration;

use duologue::ask::Decision;
use duologue::{Event, Session};
use serde_json::json;

use super::agent::{Agent, assert_no_task_left, pair, tasks};

async fn background(agent: &mut Agent, tasks: &[&str]) {
    let tasks: Vec<_> =
        tasks.iter().map(|id| json!({ "task_id": id, "task_type": "local_agent" })).collect();
    let line = json!({
        "type": "system", "subtype": "background_tasks_changed", "tasks": tasks, "session_id": "s1",
    });
    agent.say(line).await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_runs_is_waited_for_as_long_as_it_takes() {
    let before = tasks();
    let (session, mut agent) = pair(Session::builder()).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    let (report, outcome, ()) = tokio::join!(session.close(), turn.outcome(), async {
        let (_, uuid) = agent.prompt().await;
        agent.init().await;
        tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
        agent.result(&[&uuid], "at last").await;
        assert!(agent.at_end().await);
        agent.hang_up().await;
    });
    report.unwrap();
    assert_eq!(outcome.unwrap().text(), "at last");
    drop((turn, agent));
    assert_no_task_left(before).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_open_is_waited_for() {
    let before = tasks();
    let builder = Session::builder().on_permission(|_| async {
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
        agent.hang_up().await;
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
        agent.hang_up().await;
    });
    report.unwrap();
}

#[tokio::test(start_paused = true)]
async fn work_in_the_background_is_not_waited_for_for_ever() {
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
        agent.hang_up().await;
    });
    report.unwrap();
    drop((turn, agent));
    assert_no_task_left(before).await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_hang_up_is_left() {
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
async fn a_close_that_is_given_up_ends_everything() {
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
async fn a_session_that_is_killed_is_over_at_once() {
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
