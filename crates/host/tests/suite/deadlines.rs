//! A late answer is not sent: the request is denied.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use duologue::handlers::{
    Decision, DialogAnswer, ElicitationAnswer, Hook, HookCall, HookEvent, PermissionRequest,
    PlanDecision, QuestionAnswer,
};
use duologue::protocol::hook::HookOutput;
use duologue::tool::Answers;
use duologue::{Error, Session, SessionBuilder};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::agent::pair;

fn may_i(tool: &str) -> Value {
    json!({ "subtype": "can_use_tool", "tool_name": tool, "tool_use_id": "toolu_1", "input": {} })
}

fn pre_tool_use() -> Value {
    json!({ "subtype": "hook_callback", "callback_id": "hook_0", "input": {
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {},
    }})
}

fn behavior(line: &Value) -> &str {
    line["response"]["response"]["behavior"].as_str().unwrap_or_else(|| panic!("{line}"))
}

const DEADLINE: Duration = Duration::from_millis(20);

/// Blocks the thread until the deadline of what is asked now has passed.
fn block_past_the_deadline() {
    let until = Instant::now() + 2 * DEADLINE;
    while Instant::now() < until {
        std::thread::yield_now();
    }
}

/// Handlers that say yes, too late.
fn late_handlers() -> SessionBuilder {
    let hook = Hook::new(HookEvent::PreToolUse, |_: HookCall| async {
        block_past_the_deadline();
        HookOutput::allow_tool()
    });
    Session::builder()
        .on_permission(|_| async {
            block_past_the_deadline();
            Decision::allow()
        })
        .on_question(|_| async {
            block_past_the_deadline();
            QuestionAnswer::answers(Answers::new().choose("q", "yes"))
        })
        .on_plan(|_| async {
            block_past_the_deadline();
            PlanDecision::approve()
        })
        .on_elicitation(|_| async {
            block_past_the_deadline();
            ElicitationAnswer::accept(json!({}))
        })
        .on_dialog(["known"], |_| async {
            block_past_the_deadline();
            DialogAnswer::completed(json!({}))
        })
        .hook(hook.timeout(DEADLINE))
        .answer_within(DEADLINE)
}

/// There is one thread, which the handler blocks: nothing else can run until it returns.
#[tokio::test]
async fn a_handler_that_blocks_the_only_thread_past_its_deadline_allows_nothing() {
    let (_session, mut agent) = pair(late_handlers()).await;
    for tool in ["Bash", "AskUserQuestion", "ExitPlanMode"] {
        agent.ask(tool, may_i(tool)).await;
        let line = agent.read().await;
        assert_eq!(line["response"]["request_id"], tool);
        assert_eq!(behavior(&line), "deny", "{tool}");
    }
    agent.ask("hook", pre_tool_use()).await;
    let line = agent.read().await;
    let decision = &line["response"]["response"]["hookSpecificOutput"]["permissionDecision"];
    assert_eq!(decision, "deny", "{line}");
    for request in [
        json!({ "subtype": "elicitation", "mcp_server_name": "s", "message": "m" }),
        json!({ "subtype": "request_user_dialog", "dialog_kind": "known" }),
    ] {
        agent.ask("form", request).await;
        let line = agent.read().await;
        assert_eq!(line["response"]["subtype"], "error", "{line}");
    }
}

fn call_tool() -> Value {
    json!({ "subtype": "mcp_message", "server_name": "tools", "message": {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "wait" },
    }})
}

#[tokio::test(start_paused = true)]
async fn late_tools_and_custom_handlers_get_an_error_and_are_dropped() {
    /// Reports that its handler was dropped.
    struct Dropped(tokio::sync::mpsc::UnboundedSender<&'static str>, &'static str);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send(self.1);
        }
    }
    let (dropped, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let (by_tool, by_request) = (dropped.clone(), dropped);
    let tool = duologue::mcp::tool("wait", "Never returns", move |_: ()| {
        let dropped = Dropped(by_tool.clone(), "tool");
        async move {
            let _dropped = dropped;
            std::future::pending::<()>().await;
        }
    });
    let builder = Session::builder().tool(tool).on_request("custom", move |_| {
        let dropped = Dropped(by_request.clone(), "custom");
        async move {
            let _dropped = dropped;
            std::future::pending().await
        }
    });
    let builder = builder.answer_within(Duration::from_secs(30));
    let (_session, mut agent) = pair(builder).await;
    for (request, handler) in [(call_tool(), "tool"), (json!({ "subtype": "custom" }), "custom")] {
        agent.ask(handler, request).await;
        let line = agent.read().await;
        assert_eq!(line["response"]["request_id"], handler);
        assert_eq!(line["response"]["subtype"], "error", "{line}");
        assert_eq!(line["response"]["error"], "denied: this host did not answer in time");
        assert_eq!(reports.recv().await, Some(handler));
    }
}

#[tokio::test(start_paused = true)]
async fn mcp_messages_may_have_a_limit_of_their_own() {
    let tool = duologue::mcp::tool("wait", "Takes a minute", async |_: ()| {
        tokio::time::sleep(Duration::from_secs(60)).await;
        "done"
    });
    let builder = Session::builder().tool(tool).answer_within(Duration::from_secs(1));
    let (_session, mut agent) = pair(builder.mcp_within(Duration::from_secs(120))).await;
    agent.ask("call", call_tool()).await;
    let line = agent.read().await;
    let result = &line["response"]["response"]["mcp_response"]["result"];
    assert_eq!(result["content"][0]["text"], "done", "{line}");
}

/// Allows what is asked as `free`; blocks its thread about anything else until the test goes on.
fn blocking_handler() -> (SessionBuilder, std::sync::mpsc::Sender<()>) {
    let (go_on, wait) = channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let builder = Session::builder().on_permission(move |ask: PermissionRequest| {
        let wait = Arc::clone(&wait);
        async move {
            if ask.id().as_str() != "free" {
                let _ = wait.lock().unwrap().recv();
            }
            Decision::allow()
        }
    });
    (builder.answer_within(DEADLINE), go_on)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_is_sent_while_the_handler_still_blocks_its_thread() {
    let (builder, go_on) = blocking_handler();
    let (_session, mut agent) = pair(builder).await;
    agent.ask("r1", may_i("Bash")).await;
    // The handler goes on only after this was read.
    let line = agent.read().await;
    assert_eq!((&line["response"]["request_id"], behavior(&line)), (&json!("r1"), "deny"));
    go_on.send(()).unwrap();
    // It is not answered a second time.
    agent.ask("free", may_i("Bash")).await;
    assert_eq!(agent.read().await["response"]["request_id"], "free");
}

#[tokio::test(start_paused = true)]
async fn an_open_request_is_denied_at_its_deadline() {
    let later = Session::builder().on_permission(|_| async { Decision::later() });
    for builder in [Session::builder().answer_by_hand(), later] {
        let (session, mut agent) = pair(builder.answer_within(Duration::from_secs(30))).await;
        agent.ask("r1", may_i("Bash")).await;
        assert_eq!(behavior(&agent.read().await), "deny");
        let late = session.respond("r1", Decision::allow()).await;
        assert!(matches!(late, Err(Error::NotOpen { .. })), "{late:?}");
        let late = session.respond_with("r1", json!({ "behavior": "allow" }).into()).await;
        assert!(matches!(late, Err(Error::NotOpen { .. })), "{late:?}");
    }
}

/// The runtime is blocked while the deadline passes: the answer by hand is the first thing that it gets to.
#[tokio::test]
async fn a_late_answer_by_hand_is_not_sent() {
    let (session, mut agent) =
        pair(Session::builder().answer_by_hand().answer_within(DEADLINE)).await;
    let mut events = session.events();
    agent.ask("r1", may_i("Bash")).await;
    loop {
        if let duologue::Event::PermissionAsked(_) = events.next().await.unwrap().unwrap() {
            break;
        }
    }
    block_past_the_deadline();
    let _ = session.respond("r1", Decision::allow()).await;
    assert_eq!(behavior(&agent.read().await), "deny");
}

#[tokio::test]
async fn an_answer_after_the_withdrawal_is_not_sent() {
    let (started, runs) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let told = Arc::clone(&started);
    let (go_on, wait) = channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let done = Arc::clone(&runs);
    let builder = Session::builder().on_permission(move |ask: PermissionRequest| {
        let (told, wait, done) = (Arc::clone(&told), Arc::clone(&wait), Arc::clone(&done));
        async move {
            if ask.id().as_str() == "r1" {
                let work = tokio::task::spawn_blocking(move || {
                    let _ = wait.lock().unwrap().recv();
                    done.notify_one();
                });
                told.notify_one();
                let _ = work.await;
            }
            Decision::allow()
        }
    });
    let (_session, mut agent) = pair(builder).await;
    agent.ask("r1", may_i("Bash")).await;
    started.notified().await;
    agent.send(json!({ "type": "control_cancel_request", "request_id": "r1" })).await;
    go_on.send(()).unwrap();
    runs.notified().await;
    agent.ask("r2", may_i("Bash")).await;
    assert_eq!(agent.read().await["response"]["request_id"], "r2");
}
