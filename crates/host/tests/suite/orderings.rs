//! Who says what before whom: every order is defined.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use duologue::handlers::{Decision, Hook, HookEvent, PermissionRequest};
use duologue::protocol::hook::HookOutput;
use duologue::{Error, Event, Session, mcp};
use serde_json::{Value, json};

use super::agent::{assert_no_task_left, ends, pair, tasks};

fn may_i() -> Value {
    json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": { "command": "ls" } })
}

fn withdraw(id: &str) -> Value {
    json!({ "type": "control_cancel_request", "request_id": id })
}

#[tokio::test]
async fn an_answer_after_a_cancel_is_not_sent() {
    let (session, mut agent) = pair(Session::builder().answer_by_hand()).await;
    let mut events = session.events();
    agent.ask("r1", may_i()).await;
    agent.send(withdraw("r1")).await;
    loop {
        if let Event::PermissionWithdrawn(_) = events.next().await.unwrap().unwrap() {
            break;
        }
    }
    let late = session.respond("r1", Decision::allow()).await;
    assert!(matches!(late, Err(Error::NotOpen { .. })), "{late:?}");
    agent.ask("r2", may_i()).await;
    loop {
        if let Event::PermissionAsked(_) = events.next().await.unwrap().unwrap() {
            break;
        }
    }
    session.respond("r2", Decision::allow()).await.unwrap();
    assert_eq!(agent.read().await["response"]["request_id"], "r2");
}

#[tokio::test]
async fn a_cancel_after_the_answer_changes_nothing() {
    let (session, mut agent) =
        pair(Session::builder().on_permission(|_| async { Decision::allow() })).await;
    agent.ask("r1", may_i()).await;
    assert_eq!(agent.read().await["response"]["request_id"], "r1");
    agent.send(withdraw("r1")).await;
    agent.send(withdraw("never asked")).await;
    // The name is free again.
    agent.ask("r1", may_i()).await;
    assert_eq!(agent.read().await["response"]["request_id"], "r1");
    let mut turn = session.prompt("Hi").await.unwrap();
    agent.turn("Hello").await;
    assert_eq!(turn.outcome().await.unwrap().text(), "Hello");
}

#[tokio::test]
async fn a_request_that_comes_twice_is_answered_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let wait = Arc::clone(&gate);
    let builder = Session::builder().on_permission(move |_: PermissionRequest| {
        counter.fetch_add(1, Ordering::SeqCst);
        let wait = Arc::clone(&wait);
        async move {
            wait.acquire().await.unwrap().forget();
            Decision::allow()
        }
    });
    let (_session, mut agent) = pair(builder).await;
    agent.ask("r1", may_i()).await;
    agent.ask("r1", may_i()).await;
    agent.ask("r2", may_i()).await;
    gate.add_permits(10);
    let mut answered = Vec::new();
    for _ in 0..2 {
        answered.push(agent.read().await["response"]["request_id"].as_str().unwrap().to_owned());
    }
    answered.sort();
    assert_eq!(answered, ["r1", "r2"]);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn requests_are_served_before_the_handshake_is_answered() {
    let (mut agent, host) = ends(64 * 1024);
    let (reader, writer) = tokio::io::split(host);
    let builder = Session::builder()
        .on_permission(|_| async { Decision::allow() })
        .hook(Hook::new(HookEvent::Stop, |_| async { HookOutput::new() }))
        .tool(mcp::tool("ping", "Answers", async |(): ()| "pong"));
    let talk = async {
        // Even before the host has said a word.
        agent.ask("early", may_i()).await;
        let mut requests = vec![agent.read().await, agent.read().await];
        requests.sort_by_key(|line| line["type"] == "control_request");
        assert_eq!(requests[0]["response"]["request_id"], "early");
        let handshake = requests.pop().unwrap();
        assert_eq!(handshake["request"]["subtype"], "initialize");
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let message = json!({ "subtype": "mcp_message", "server_name": "tools", "message": list });
        agent.ask("mcp", message).await;
        let answer = agent.read().await;
        assert_eq!(answer["response"]["request_id"], "mcp");
        assert!(answer.to_string().contains("ping"), "{answer}");
        let stop = json!({ "hook_event_name": "Stop" });
        let hook = json!({ "subtype": "hook_callback", "callback_id": "hook_0", "input": stop });
        agent.ask("hook", hook).await;
        assert_eq!(agent.read().await["response"]["request_id"], "hook");
        agent.reply(&handshake, json!({ "claude_code_version": "2.1.0" })).await;
    };
    let (session, ()) = tokio::join!(builder.connect(reader, writer), talk);
    assert!(session.unwrap().handshake().is_some());
}

#[tokio::test(start_paused = true)]
async fn answers_that_come_twice_or_late_or_unasked_change_nothing() {
    let (session, mut agent) = pair(Session::builder()).await;
    let control = session.control();
    let (usage, request) = tokio::join!(control.get_context_usage(), async {
        let request = agent.read().await;
        for tokens in [1, 2] {
            agent.reply(&request, json!({ "totalTokens": tokens })).await;
        }
        request
    });
    assert_eq!(usage.unwrap().total_tokens.as_u64(), Some(1));
    // Once more, when another waits.
    let (usage, ()) = tokio::join!(control.get_context_usage(), async {
        let second = agent.read().await;
        agent.reply(&request, json!({ "totalTokens": 3 })).await;
        agent.reply(&json!({ "request_id": "unheard of" }), json!({})).await;
        agent.reply(&second, json!({ "totalTokens": 4 })).await;
    });
    assert_eq!(usage.unwrap().total_tokens.as_u64(), Some(4));
    // Too late.
    let limited = control.within(Duration::from_secs(5));
    let error = limited.get_context_usage().await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    let late = agent.read().await;
    agent.reply(&late, json!({ "totalTokens": 5 })).await;
    let (usage, _) = tokio::join!(
        control.get_context_usage(),
        agent.serve("get_context_usage", json!({ "totalTokens": 6 }))
    );
    assert_eq!(usage.unwrap().total_tokens.as_u64(), Some(6));
}

#[tokio::test]
async fn a_request_whose_caller_stopped_waiting_is_withdrawn() {
    let (session, mut agent) = pair(Session::builder()).await;
    let control = session.control();
    let request = tokio::select! {
        reply = control.get_context_usage() => panic!("{reply:?}"),
        request = agent.read() => request,
    };
    let cancel = agent.read().await;
    assert_eq!(cancel, withdraw(request["request_id"].as_str().unwrap()));
}

#[tokio::test]
async fn results_may_come_in_another_order_than_prompts() {
    let (session, mut agent) = pair(Session::builder()).await;
    let mut turns = Vec::new();
    let mut uuids = Vec::new();
    for text in ["one", "two", "three"] {
        turns.push(session.prompt(text).await.unwrap());
        uuids.push(agent.prompt().await.1);
    }
    for at in [2, 0, 1] {
        let taken = json!({
            "type": "command_lifecycle", "command_uuid": uuids[at], "state": "started",
        });
        agent.send(taken).await;
        agent.init().await;
        let said = format!("answer {at}");
        agent.text(&format!("m{at}"), &said).await;
        agent.result(&[&uuids[at]], &said).await;
    }
    for (at, turn) in turns.iter_mut().enumerate() {
        assert_eq!(turn.outcome().await.unwrap().text(), format!("answer {at}"));
    }
}

#[tokio::test]
async fn a_turn_has_all_its_events_although_its_prompt_is_named_last() {
    const COUNT: usize = 2_000;
    let (session, mut agent) = pair(Session::builder()).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    let (_, uuid) = agent.prompt().await;
    let agent = tokio::spawn(async move {
        agent.init().await;
        for number in 0..COUNT {
            agent.text(&format!("m{number}"), &number.to_string()).await;
        }
        agent.result(&[&uuid], "done").await;
        agent
    });
    let mut texts = Vec::new();
    while let Some(event) = turn.next().await.unwrap() {
        if let Event::Text(text) = event {
            texts.push(text.text.parse::<usize>().unwrap());
        }
    }
    assert_eq!(texts, (0..COUNT).collect::<Vec<_>>());
    drop(agent.await.unwrap());
}

fn receipt() -> Value {
    json!({ "still_queued": [] })
}

async fn aborted(agent: &mut super::agent::Agent, uuid: &str) {
    agent
        .send(json!({
            "type": "result", "subtype": "error_during_execution", "is_error": true,
            "terminal_reason": "aborted_streaming", "session_id": "s1",
            "user_message_uuids": [uuid],
        }))
        .await;
}

#[tokio::test]
async fn an_interrupt_while_idle_has_no_effect() {
    let (session, mut agent) = pair(Session::builder()).await;
    let (done, _) = tokio::join!(session.interrupt(), agent.serve("interrupt", receipt()));
    assert!(!done.unwrap().effective);
    let mut turn = session.prompt("Hi").await.unwrap();
    agent.turn("Hello").await;
    assert!(turn.outcome().await.unwrap().is_success());
}

#[tokio::test]
async fn an_interrupt_right_after_a_prompt_comes_after_it() {
    let (session, mut agent) = pair(Session::builder()).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    let (done, ()) = tokio::join!(session.interrupt(), async {
        let (_, uuid) = agent.prompt().await;
        agent.serve("interrupt", receipt()).await;
        aborted(&mut agent, &uuid).await;
    });
    assert!(done.unwrap().effective);
    assert!(turn.outcome().await.unwrap().is_interrupted());
}

#[tokio::test]
async fn two_interrupts_at_once_end_one_turn() {
    let before = tasks();
    let (session, mut agent) = pair(Session::builder()).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    let (_, uuid) = agent.prompt().await;
    agent.init().await;
    let (first, second, ()) = tokio::join!(session.interrupt(), session.interrupt(), async {
        agent.serve("interrupt", receipt()).await;
        aborted(&mut agent, &uuid).await;
        agent.serve("interrupt", receipt()).await;
    });
    assert!(first.unwrap().effective);
    second.unwrap();
    assert!(turn.outcome().await.unwrap().is_interrupted());
    let mut turn = session.prompt("again").await.unwrap();
    agent.turn("Hello").await;
    assert!(turn.outcome().await.unwrap().is_success());
    drop((turn, session, agent));
    assert_no_task_left(before).await;
}

#[tokio::test]
async fn an_interrupt_closes_the_question_that_is_open() {
    let (session, mut agent) = pair(Session::builder().answer_by_hand()).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    let (_, uuid) = agent.prompt().await;
    agent.init().await;
    agent.text("m1", "May I?").await;
    agent.ask("r1", may_i()).await;
    loop {
        if let Event::PermissionAsked(_) = turn.next().await.unwrap().unwrap() {
            break;
        }
    }
    let (done, ()) = tokio::join!(session.interrupt(), async {
        agent.send(withdraw("r1")).await;
        agent.serve("interrupt", receipt()).await;
        aborted(&mut agent, &uuid).await;
    });
    assert!(done.unwrap().effective);
    assert!(turn.outcome().await.unwrap().is_interrupted());
    let late = session.respond("r1", Decision::allow()).await;
    assert!(matches!(late, Err(Error::NotOpen { .. })), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_without_an_answer_ends_the_conversation() {
    let before = tasks();
    let (session, mut agent) = pair(Session::builder()).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    agent.prompt().await;
    agent.init().await;
    let (receipt, outcome) = tokio::join!(session.interrupt(), turn.outcome());
    assert!(receipt.is_err());
    let Err(Error::Gone(gone)) = outcome else { panic!("{outcome:?}") };
    assert!(gone.reason.as_ref().unwrap().contains("did not stop"), "{gone}");
    drop((turn, session, agent));
    assert_no_task_left(before).await;
}

#[tokio::test]
async fn a_budget_is_for_all_turns_and_lets_those_in_flight_end() {
    let (session, mut agent) = pair(Session::builder().max_budget_usd(0.3)).await;
    let mut first = session.prompt("one").await.unwrap();
    let mut second = session.prompt("two").await.unwrap();
    let (_, one) = agent.prompt().await;
    let (_, two) = agent.prompt().await;
    for (uuid, total) in [(one, 0.25), (two, 0.5)] {
        agent.init().await;
        agent
            .send(json!({
                "type": "result", "subtype": "success", "is_error": false, "result": "x",
                "total_cost_usd": total, "session_id": "s1", "user_message_uuids": [uuid],
            }))
            .await;
    }
    assert!(first.outcome().await.unwrap().is_success());
    assert!(second.outcome().await.unwrap().is_success());
    assert_eq!(session.spent_usd(), 0.5);
    let error = session.prompt("three").await.unwrap_err();
    assert!(matches!(error, Error::OverBudget { .. }), "{error}");
}
