//! Requests of the agent, handlers, and pipes that fill up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use duologue::handlers::{
    Decision, ElicitationAnswer, Hook, HookCall, HookEvent, PermissionRequest,
};
use duologue::protocol::hook::HookOutput;
use duologue::{Error, Handshake, Session, SessionBuilder, mcp};
use duologue_testkit::fake::{Answer, Script, Step};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::play::{Play, events, gone, pieces, texts};

fn may_i(id: &str) -> Step {
    Step::can_use_tool(id, "Bash", json!({ "command": "ls" }))
}

fn call_tool(id: &str) -> Step {
    let params = json!({ "name": "ping", "arguments": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    Step::mcp_message(id, "tools", call)
}

fn call_hook(id: &str) -> Step {
    let input = json!({ "hook_event_name": "Stop", "stop_hook_active": false });
    Step::hook_callback(id, "hook_0", input)
}

fn elicit(id: &str) -> Step {
    let request = json!({
        "subtype": "elicitation", "mcp_server_name": "db", "message": "which?", "mode": "form",
    });
    Step::ask(id, request)
}

fn ping() -> mcp::Tool {
    mcp::tool("ping", "Answers", async |(): ()| "pong")
}

fn background(on: bool) -> Step {
    let mut line = json!({ "type": "system", "task_id": "t1", "session_id": "s" });
    if on {
        line["subtype"] = "task_started".into();
        line["is_backgrounded"] = true.into();
        line["task_type"] = "local_agent".into();
    } else {
        line["subtype"] = "task_notification".into();
        line["status"] = "completed".into();
    }
    Step::Emit(line)
}

#[tokio::test]
async fn stdin_stays_open_until_nothing_is_pending() {
    let play = Play::turn([
        Step::Init,
        background(true),
        Step::Done("the first result".into()),
        Step::Gate("later".into()),
        may_i("late-permission"),
        call_hook("late-hook"),
        call_tool("late-tool"),
        background(false),
    ]);
    let session = play
        .builder()
        .on_permission(|_| async { Decision::allow() })
        .hook(Hook::new(HookEvent::Stop, |_| async { HookOutput::new() }))
        .tool(ping())
        .start()
        .await
        .unwrap();
    let mut turn = session.prompt("go on").await.unwrap();
    assert!(turn.outcome().await.unwrap().is_success());
    // The session is being closed; what goes on in the background still has questions.
    let (report, ()) = tokio::join!(session.close(), async {
        play.stage.open("later").unwrap();
    });
    assert!(report.unwrap().success());
    for id in ["late-permission", "late-hook", "late-tool"] {
        assert_eq!(play.answer(id).await["subtype"], "success", "{id}");
    }
    play.over().await;
}

#[tokio::test]
async fn each_callback_works_alone_and_after_a_result() {
    type Setup = fn(SessionBuilder) -> SessionBuilder;
    type Ask = fn(&str) -> Step;
    let callbacks: [(&str, Setup, Ask); 4] = [
        ("permission", |builder| builder.on_permission(|_| async { Decision::allow() }), may_i),
        (
            "hook",
            |builder| builder.hook(Hook::new(HookEvent::Stop, |_| async { HookOutput::new() })),
            call_hook,
        ),
        ("tool", |builder| builder.tool(ping()), call_tool),
        (
            "elicitation",
            |builder| builder.on_elicitation(|_| async { ElicitationAnswer::decline() }),
            elicit,
        ),
    ];
    for (name, setup, ask) in callbacks {
        let sub_agent = [Step::Init, background(true), ask("first"), Step::Done("x".into())];
        let after = [background(false), ask("second"), Step::Mark("asked".into())];
        let play = Play::turn(sub_agent.into_iter().chain(after));
        let session = setup(play.builder()).start().await.unwrap();
        // Nobody reads anything.
        let _turn = session.prompt("go on").await.unwrap();
        play.stage.reached("asked").await;
        for id in ["first", "second"] {
            let answer = play.answer(id).await;
            assert_eq!(answer["subtype"], "success", "{name}: {answer}");
            if name == "permission" {
                assert_eq!(answer["response"]["behavior"], "allow");
            }
        }
        drop((_turn, session));
        play.over().await;
    }
}

#[tokio::test]
async fn requests_are_served_while_no_reader_consumes_events() {
    const CALLS: usize = 200;
    let mut steps = vec![Step::Init];
    for call in 0..CALLS {
        steps.extend([Step::flood(20, 1_000), may_i(&format!("ask-{call}"))]);
    }
    steps.extend([Step::Done("done".into()), Step::Mark("done".into())]);
    let play = Play::turn(steps);
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let session = play
        .builder()
        .memory_budget(100_000)
        .on_permission(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            async { Decision::allow() }
        })
        .start()
        .await
        .unwrap();
    let mut messages = session.messages();
    let mut turn = session.prompt("go on").await.unwrap();
    play.stage.reached("done").await;
    assert_eq!(calls.load(Ordering::SeqCst), CALLS);
    // And then all of it is there, in the file that only we can read.
    assert!(turn.outcome().await.unwrap().is_success());
    assert_eq!(pieces(&mut messages).await, CALLS * 20);
    drop(messages);
    play.close(session).await;
}

#[tokio::test]
async fn bursts_on_all_three_pipes_do_not_deadlock() {
    let script = Script::new()
        .start([Step::StderrBytes(300_000), Step::flood(1_000, 1_000)])
        .turn([Step::StderrBytes(300_000), Step::flood(1_000, 1_000), Step::Usual]);
    let play = Play::of(script);
    let session = play.start().await;
    let long = "x".repeat(1_000_000);
    let mut turn = session.prompt(long.as_str()).await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text().len(), long.len());
    assert!(session.stderr().len() > 10_000);
    play.close(session).await;
}

#[tokio::test]
async fn an_agent_that_writes_before_it_reads_does_not_deadlock() {
    // The pipe holds a kilobyte, both ways: whoever waits for the other is stuck.
    let (host, agent) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(host);
    let builder = Session::builder().handshake(Handshake::Skip);
    let session = builder.connect(reader, writer).await.unwrap();
    let long = "x".repeat(1_000_000);
    let agent = tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(agent);
        let block = json!({ "type": "text", "text": "y".repeat(1_000_000) });
        let message = json!({ "id": "m1", "content": [block] });
        let init = json!({ "type": "system", "subtype": "init", "session_id": "s" });
        for line in [init, json!({ "type": "assistant", "message": message })] {
            writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        let mut lines = BufReader::new(reader).lines();
        let prompt: Value =
            serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        let said = prompt["message"]["content"].as_str().unwrap().len().to_string();
        let result = super::play::result(json!({ "result": said }));
        writer.write_all(format!("{result}\n").as_bytes()).await.unwrap();
        assert!(lines.next_line().await.unwrap().is_none());
    });
    let mut turn = session.prompt(long.as_str()).await.unwrap();
    let events = events(&mut turn).await;
    assert_eq!(texts(&events)[0].len(), 1_000_000);
    let finished = turn.outcome().await.unwrap();
    assert_eq!(finished.finished().result.as_deref(), Some("1000000"));
    session.close().await.unwrap();
    agent.await.unwrap();
}

#[tokio::test]
async fn control_requests_have_their_own_timeout_and_need_no_reader() {
    let play = Play::of(
        Script::new()
            .never_answers("mcp_status")
            .on("get_context_usage", [Step::Reply(Answer::Usual)])
            .turn([Step::Init, Step::flood(500, 1_000), Step::Stall]),
    );
    let session = play.start().await;
    // In the middle of a turn that nobody reads.
    let _turn = session.prompt("go on").await.unwrap();
    let control = session.control();
    let limit = Duration::from_millis(50);
    let error = control.within(limit).mcp_status().await.unwrap_err();
    assert!(matches!(&error, Error::TimedOut { after, .. } if *after == limit), "{error}");
    assert_eq!(control.get_context_usage().await.unwrap().total_tokens.as_u64(), Some(12));
    drop((_turn, control, session));
    play.over().await;
}

#[tokio::test]
async fn pending_requests_fail_when_the_agent_exits() {
    let play =
        Play::of(Script::new().never_answers("mcp_status").never_answers("get_usage").turn([
            Step::Init,
            Step::Gate("go".into()),
            Step::Stderr("the disk is full".into()),
            Step::Exit(3),
        ]));
    let session = play.start().await;
    let mut turn = session.prompt("go on").await.unwrap();
    let control = session.control().without_limit();
    let (first, second, outcome, ()) =
        tokio::join!(control.mcp_status(), control.get_usage(), turn.outcome(), async {
            play.stage.wait_for(|line| line["request"]["subtype"] == "get_usage").await;
            play.stage.open("go").unwrap();
        });
    for error in [first.unwrap_err(), second.unwrap_err(), outcome.unwrap_err()] {
        let gone = gone(error);
        assert_eq!(gone.code, Some(3));
        assert!(gone.stderr.contains("the disk is full"), "{gone}");
    }
    // And so does all that comes later.
    assert_eq!(gone(session.prompt("hello?").await.unwrap_err()).code, Some(3));
    drop((turn, control, session));
    play.over().await;
}

#[tokio::test]
async fn a_handshake_timeout_is_reported_and_leaves_no_process() {
    let script = Script::new().start([Step::Stderr("starting 40 servers".into())]);
    let play = Play::of(script.never_answers("initialize"));
    let said = Arc::new(AtomicUsize::new(0));
    let heard = Arc::clone(&said);
    let builder = play
        .builder()
        .handshake(Handshake::Require)
        .handshake_within(Duration::from_millis(200))
        .on_stderr(move |line| {
            assert_eq!(line, "starting 40 servers");
            heard.fetch_add(1, Ordering::SeqCst);
        });
    let error = builder.start().await.unwrap_err();
    assert!(
        matches!(&error, Error::TimedOut { subtype, .. } if subtype == "initialize"),
        "{error}"
    );
    assert_eq!(said.load(Ordering::SeqCst), 1);
    play.over().await;
}

#[tokio::test]
async fn an_agent_without_handshake_can_be_used() {
    let play = Play::of(Script::new().never_answers("initialize"));
    let builder = play.builder().handshake_within(Duration::from_millis(100));
    let session = builder.start().await.unwrap();
    assert!(session.notices().iter().any(|notice| notice.contains("without a handshake")));
    let mut turn = session.prompt("hello").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "hello");
    play.close(session).await;
    // A hook needs it: without, it would never be called.
    let play = Play::of(Script::new().never_answers("initialize"));
    let hook = Hook::new(HookEvent::Stop, |_: HookCall| async { HookOutput::new() });
    let builder = play.builder().handshake_within(Duration::from_millis(100)).hook(hook);
    assert!(builder.start().await.is_err());
    play.over().await;
}

#[tokio::test]
async fn permission_requests_reach_the_host_without_a_dummy_hook() {
    let play = Play::of(Script::new());
    let builder = play.builder().on_permission(|_: PermissionRequest| async { Decision::allow() });
    let session = builder.start().await.unwrap();
    let argv = play.stage.starts()[0].argv.join(" ");
    assert!(argv.contains("--permission-prompt-tool"), "{argv}");
    play.close(session).await;
}

/// Two threads serve all agents of a program without async: handlers that block must not take them.
#[test]
fn a_blocking_handler_that_is_too_slow_denies_on_time() {
    let ids = ["a1", "a2", "a3", "a4"];
    let ask = |id: &str| match may_i(id) {
        Step::Ask { id, request, .. } => Step::Ask { id, request, wait: false },
        other => other,
    };
    let steps = [Step::Init].into_iter().chain(ids.map(ask)).chain([Step::Stall]);
    let (_dir, stage) = super::play::stage(&[Script::new().turn(steps)]);
    let (name, value) = stage.env();
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let wait = Arc::new(std::sync::Mutex::new(wait));
    let builder = Session::builder()
        .program(duologue_testkit::fake::program())
        .cli_version(duologue::protocol::launch::CliVersion::new(2, 1, 325))
        .env(name, value)
        .on_permission(move |_| {
            let wait = Arc::clone(&wait);
            async move {
                let _ = wait.lock().unwrap().recv();
                Decision::allow()
            }
        })
        .answer_within(Duration::from_millis(50));
    let session = duologue::blocking::start(builder).unwrap();
    let turn = session.prompt("hello").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for id in ids {
        let answer = stage.wait_for(|line| line["response"]["request_id"] == id);
        let answer = runtime.block_on(answer);
        assert_eq!(answer["response"]["response"]["behavior"], "deny", "{answer}");
    }
    // Only now do the handlers return.
    drop(go_on);
    drop((turn, session));
}
