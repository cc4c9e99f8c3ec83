//! What the agent asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use duologue::handlers::{Decision, Hook, HookCall, HookEvent, PermissionRequest};
use duologue::protocol::hook::HookOutput;
use duologue::{Event, Session};
use serde_json::{Value, json};

use super::agent::pair;

fn may_i(command: &str) -> Value {
    json!({
        "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "toolu_1",
        "input": { "command": command },
    })
}

fn answer(line: &Value) -> &Value {
    assert_eq!(line["type"], "control_response", "{line}");
    &line["response"]["response"]
}

#[tokio::test]
async fn a_handler_decides() {
    let builder = Session::builder().on_permission(|ask: PermissionRequest| async move {
        match ask.input().get("command").and_then(|command| command.as_str()) {
            Some(command) if command.as_str() == "ls" => Decision::allow(),
            _ => Decision::deny("no"),
        }
    });
    let (_session, mut agent) = pair(builder).await;
    agent.ask("r1", may_i("ls")).await;
    let line = agent.read().await;
    assert_eq!(answer(&line)["behavior"], "allow");
    assert_eq!(answer(&line)["updatedInput"], json!({ "command": "ls" }));
    agent.ask("r2", may_i("rm")).await;
    let line = agent.read().await;
    assert_eq!(line["response"]["request_id"], "r2");
    assert_eq!(answer(&line)["behavior"], "deny");
}

#[tokio::test]
async fn without_a_handler_a_request_is_denied() {
    let (_session, mut agent) = pair(Session::builder()).await;
    agent.ask("r1", may_i("ls")).await;
    assert_eq!(answer(&agent.read().await)["behavior"], "deny");
}

#[tokio::test]
async fn a_handler_that_panics_denies_and_the_next_is_served() {
    let builder = Session::builder().on_permission(|ask: PermissionRequest| {
        // Before it waits, and after.
        assert_ne!(ask.id().as_str(), "r1");
        async move {
            assert_ne!(ask.id().as_str(), "r2");
            Decision::allow()
        }
    });
    let (_session, mut agent) = pair(builder).await;
    for (id, behavior) in [("r1", "deny"), ("r2", "deny"), ("r3", "allow")] {
        agent.ask(id, may_i("ls")).await;
        assert_eq!(answer(&agent.read().await)["behavior"], behavior);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_past_its_deadline_denies() {
    let builder = Session::builder()
        .on_permission(|_| std::future::pending::<Decision>())
        .answer_within(Duration::from_secs(30));
    let (_session, mut agent) = pair(builder).await;
    agent.ask("r1", may_i("ls")).await;
    assert_eq!(answer(&agent.read().await)["behavior"], "deny");
}

/// Tells when it is dropped.
struct Dropped(Arc<AtomicBool>, Arc<tokio::sync::Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        self.1.notify_one();
    }
}

#[tokio::test]
async fn a_withdrawn_request_is_dropped_and_not_answered() {
    let dropped = Arc::new(AtomicBool::new(false));
    let notify = Arc::new(tokio::sync::Notify::new());
    let started = Arc::new(tokio::sync::Notify::new());
    let (flag, told, runs) = (Arc::clone(&dropped), Arc::clone(&notify), Arc::clone(&started));
    let builder = Session::builder().on_permission(move |ask: PermissionRequest| {
        let guard = Dropped(Arc::clone(&flag), Arc::clone(&told));
        let runs = Arc::clone(&runs);
        async move {
            if ask.id().as_str() == "r1" {
                runs.notify_one();
                std::future::pending::<()>().await;
            }
            std::mem::forget(guard);
            Decision::allow()
        }
    });
    let (_session, mut agent) = pair(builder).await;
    agent.ask("r1", may_i("ls")).await;
    started.notified().await;
    agent.send(json!({ "type": "control_cancel_request", "request_id": "r1" })).await;
    notify.notified().await;
    assert!(dropped.load(Ordering::SeqCst));
    agent.ask("r2", may_i("ls")).await;
    // The first line that comes is the answer to the second request.
    assert_eq!(agent.read().await["response"]["request_id"], "r2");
}

#[tokio::test]
async fn requests_can_be_answered_by_hand() {
    let (session, mut agent) = pair(Session::builder().answer_by_hand()).await;
    let mut events = session.events();
    agent.ask("r1", may_i("ls")).await;
    let id = loop {
        if let Event::PermissionAsked(asked) = events.next().await.unwrap().unwrap() {
            break asked.request_id.clone();
        }
    };
    session.respond(id.clone(), Decision::allow()).await.unwrap();
    let line = agent.read().await;
    assert_eq!(answer(&line)["updatedInput"], json!({ "command": "ls" }));
    assert!(session.respond(id, Decision::allow()).await.is_err());
}

#[tokio::test]
async fn a_hook_answers_and_a_broken_one_denies() {
    let hook = Hook::new(HookEvent::PreToolUse, |call: HookCall| async move {
        assert_ne!(call.tool_name(), Some("Write"), "the test wants this panic");
        HookOutput::allow_tool()
    });
    let stop = Hook::new(HookEvent::Stop, |_| async { panic!("the test wants this panic") });
    let (_session, mut agent) = pair(Session::builder().hook(hook).hook(stop)).await;
    let call = |callback: &str, event: &str, tool: &str| {
        json!({ "subtype": "hook_callback", "callback_id": callback, "input": {
            "hook_event_name": event, "tool_name": tool, "tool_input": {},
        }})
    };
    agent.ask("r1", call("hook_0", "PreToolUse", "Bash")).await;
    let line = agent.read().await;
    assert_eq!(answer(&line)["hookSpecificOutput"]["permissionDecision"], "allow");
    agent.ask("r2", call("hook_0", "PreToolUse", "Write")).await;
    let line = agent.read().await;
    assert_eq!(answer(&line)["hookSpecificOutput"]["permissionDecision"], "deny");
    agent.ask("r3", call("hook_1", "Stop", "")).await;
    assert_eq!(agent.read().await["response"]["subtype"], "error");
}

#[tokio::test]
async fn an_unknown_request_gets_an_error_and_a_foreign_dialog_no_answer() {
    let (_session, mut agent) = pair(Session::builder()).await;
    agent.ask("r1", json!({ "subtype": "remote_tool_call" })).await;
    agent.ask("r2", json!({ "subtype": "request_user_dialog", "dialog_kind": "new" })).await;
    agent.ask("r3", json!({ "subtype": "sdk_control_interrupt" })).await;
    agent.ask("r4", json!({ "subtype": "hook_callback", "hook_name": "pre-commit" })).await;
    agent.ask("r5", json!({ "subtype": "brand_new" })).await;
    for (id, subtype) in [("r3", "success"), ("r4", "success"), ("r5", "error")] {
        let line = agent.read().await;
        assert_eq!(line["response"]["request_id"], id);
        assert_eq!(line["response"]["subtype"], subtype);
    }
}
