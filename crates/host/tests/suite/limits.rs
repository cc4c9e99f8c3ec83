//! Limits: nothing is lost, and nothing is answered wrongly.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use duologue::handlers::{Decision, PermissionRequest};
use duologue::{Error, Event, Overflow, Session};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

use super::agent::{Agent, pair};

const NOWHERE: &str = "/missing directory";

fn permission(number: usize) -> Value {
    json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": { "command": number.to_string() } })
}

/// Reads so many answers: each allows another request.
async fn read_allowed(agent: &mut Agent, count: usize) {
    let mut answered = BTreeSet::new();
    for _ in 0..count {
        let line = agent.read().await;
        assert_eq!(line["response"]["response"]["behavior"], "allow", "{line}");
        answered.insert(line["response"]["request_id"].to_string());
    }
    assert_eq!(answered.len(), count);
}

const MANY: usize = 3_000;

#[tokio::test]
async fn thousands_of_open_requests_are_all_served() {
    let open = Arc::new(AtomicUsize::new(0));
    let (all, proceed) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let (count, reached, wait) = (Arc::clone(&open), Arc::clone(&all), Arc::clone(&proceed));
    let builder = Session::builder().on_permission(move |_: PermissionRequest| {
        let (count, reached, wait) = (Arc::clone(&count), Arc::clone(&reached), Arc::clone(&wait));
        async move {
            if count.fetch_add(1, Ordering::SeqCst) + 1 == MANY {
                reached.notify_one();
            }
            let _ = wait.acquire().await;
            Decision::allow()
        }
    });
    let (_session, mut agent) = pair(builder).await;
    for number in 0..MANY {
        agent.ask(&format!("r{number}"), permission(number)).await;
    }
    all.notified().await;
    proceed.add_permits(MANY);
    read_allowed(&mut agent, MANY).await;
}

#[tokio::test]
async fn thousands_of_requests_stay_open_for_the_program() {
    let (session, mut agent) = pair(Session::builder().answer_by_hand()).await;
    let mut events = session.events();
    for number in 0..MANY {
        agent.ask(&format!("r{number}"), permission(number)).await;
    }
    // A program knows a request from its event. Before that, the host may not have read it.
    let mut asked = 0;
    while asked < MANY {
        let event = events.next().await.unwrap().unwrap();
        asked += usize::from(matches!(event, Event::PermissionAsked(_)));
    }
    let answers = async {
        for number in (0..MANY).rev() {
            session.respond(format!("r{number}"), Decision::allow()).await.unwrap();
        }
    };
    tokio::join!(answers, read_allowed(&mut agent, MANY));
}

#[tokio::test]
async fn an_id_that_is_used_again_is_answered_again() {
    let builder = Session::builder().on_permission(|ask: PermissionRequest| async move {
        match ask.input().get("command").and_then(|command| command.as_str()).as_deref() {
            Some("1") => Decision::allow(),
            _ => Decision::deny("no"),
        }
    });
    let (_session, mut agent) = pair(builder).await;
    for (number, behavior) in [(1, "allow"), (2, "deny"), (1, "allow")] {
        agent.ask("same", permission(number)).await;
        assert_eq!(agent.read().await["response"]["response"]["behavior"], behavior);
    }
    // Also after it was withdrawn.
    agent.send(json!({ "type": "control_cancel_request", "request_id": "same" })).await;
    agent.ask("same", permission(1)).await;
    assert_eq!(agent.read().await["response"]["response"]["behavior"], "allow");
}

#[tokio::test]
async fn an_id_that_is_used_again_is_reported_again_to_a_program_that_answers_by_hand() {
    let (session, mut agent) = pair(Session::builder().answer_by_hand()).await;
    let mut events = session.events();
    for number in 1..=3 {
        agent.ask("same", permission(number)).await;
        // While it is open, the same request may be delivered again: it is reported and answered once.
        agent.ask("same", permission(number)).await;
        let asked = loop {
            if let Event::PermissionAsked(asked) = events.next().await.unwrap().unwrap() {
                break asked;
            }
        };
        let command = asked.input.get("command").and_then(|command| command.as_str());
        assert_eq!(command.as_deref(), Some(number.to_string().as_str()));
        session.respond("same", Decision::allow()).await.unwrap();
        let answer = agent.read().await;
        let input = &answer["response"]["response"]["updatedInput"];
        assert_eq!(input["command"], number.to_string());
    }
}

/// A turn whose prompt only the result names.
async fn anonymous_turn(agent: &mut Agent, uuid: &str, results: usize) {
    agent
        .send(json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": "queued" }))
        .await;
    agent.init().await;
    for number in 0..results {
        let id = format!("toolu_{number}");
        let call = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": {} });
        let message = json!({ "id": format!("m{number}"), "content": [call] });
        agent.send(json!({ "type": "assistant", "message": message })).await;
        let text = "x".repeat(100);
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
        agent.send(json!({ "type": "user", "message": { "content": [result] } })).await;
    }
    agent.result(&[uuid], "done").await;
}

#[tokio::test]
async fn a_turn_that_is_attributed_at_its_end_has_all_its_events() {
    for budget in [64 * 1024 * 1024, 10_000] {
        let (session, mut agent) = pair(Session::builder().memory_budget(budget)).await;
        let mut turn = session.prompt("go").await.unwrap();
        let (_, uuid) = agent.prompt().await;
        let playing = tokio::spawn(async move {
            anonymous_turn(&mut agent, &uuid, 600).await;
            agent
        });
        let mut results = Vec::new();
        while let Some(event) = turn.next().await.unwrap() {
            if let Event::ToolResult(result) = event {
                results.push(result.tool_use_id.to_string());
            }
        }
        let expected: Vec<String> = (0..600).map(|number| format!("toolu_{number}")).collect();
        assert_eq!(results, expected);
        playing.await.unwrap();
    }
}

#[tokio::test]
async fn events_that_cannot_be_kept_for_a_turn_are_an_error_and_the_session_continues() {
    let builder = Session::builder().memory_budget(10_000).spill_dir(NOWHERE);
    let (session, mut agent) = pair(builder).await;
    let mut turn = session.prompt("go").await.unwrap();
    let (_, uuid) = agent.prompt().await;
    let (told, mut agent) = tokio::join!(
        async {
            loop {
                match turn.next().await {
                    Ok(Some(_)) => {}
                    other => break other,
                }
            }
        },
        async {
            anonymous_turn(&mut agent, &uuid, 20_000).await;
            agent
        }
    );
    let error = told.unwrap_err();
    assert!(matches!(error, Error::Spill(_)), "{error}");
    assert!(!error.is_fatal());
    let mut turn = session.prompt("and now?").await.unwrap();
    agent.turn("still here").await;
    assert_eq!(turn.outcome().await.unwrap().text(), "still here");
}

/// So many bytes that nobody reads.
async fn flood(agent: &mut Agent, bytes: usize) {
    let text = "x".repeat(10_000);
    for _ in 0..bytes / text.len() {
        agent.send(json!({ "type": "streamlined_text", "text": text })).await;
    }
}

#[tokio::test]
async fn a_full_disk_pauses_the_agent_and_loses_nothing() {
    let builder = Session::builder().memory_budget(10_000).spill_dir(NOWHERE);
    let (session, mut agent) = pair(builder).await;
    let mut messages = session.messages();
    let mut turn = session.prompt("go").await.unwrap();
    let flooding = tokio::spawn(async move {
        flood(&mut agent, 10_000_000).await;
        agent.turn("after the flood").await;
        agent
    });
    let mut lines = 0;
    while let Some(message) = messages.next().await.unwrap() {
        match message.line.kind().unwrap().as_ref() {
            "streamlined_text" => lines += 1,
            "result" => break,
            _ => {}
        }
    }
    assert_eq!(lines, 1_000);
    assert_eq!(turn.outcome().await.unwrap().text(), "after the flood");
    flooding.await.unwrap();
    assert!(!Path::new(NOWHERE).exists());
}

#[tokio::test]
async fn a_subscriber_whose_lines_cannot_be_kept_gets_an_error_and_others_continue() {
    for dir in [Some(NOWHERE), None] {
        let mut builder = Session::builder().memory_budget(10_000);
        builder = match dir {
            Some(dir) => builder.spill_dir(dir),
            None => builder.overflow(Overflow::Fail),
        };
        let (session, mut agent) = pair(builder).await;
        let mut unread = session.messages();
        let mut turn = session.prompt("go").await.unwrap();
        let (_, uuid) = agent.prompt().await;
        // While a reply is awaited the agent is read, whatever subscribers do.
        let control = session.control();
        let status = async { control.mcp_status().await.map(drop) };
        let asked = async {
            let request = agent.read().await;
            flood(&mut agent, 5_000_000).await;
            agent.reply(&request, json!({ "mcpServers": [] })).await;
        };
        tokio::join!(status, asked).0.unwrap();
        // What was kept comes first; then the error.
        let mut lines = 0;
        let error = loop {
            match unread.next().await {
                Ok(Some(_)) => lines += 1,
                Ok(None) => panic!("no error after {lines} lines"),
                Err(error) => break error,
            }
        };
        let expected = match dir {
            Some(_) => matches!(error, Error::Spill(_)),
            None => matches!(error, Error::TooSlow { budget: 10_000, .. }),
        };
        assert!(expected && !error.is_fatal(), "{error}");
        assert!(lines > 0);
        // The turn has events of its own, few enough to keep; the next prompt works, too.
        agent.result(&[&uuid], "the first").await;
        assert_eq!(turn.outcome().await.unwrap().text(), "the first");
        let mut turn = session.prompt("more").await.unwrap();
        agent.turn("the second").await;
        assert_eq!(turn.outcome().await.unwrap().text(), "the second");
        assert!(!Path::new(NOWHERE).exists());
    }
}
