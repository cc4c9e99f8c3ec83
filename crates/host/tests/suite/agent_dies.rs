//! The agent dies at every possible point: every waiting caller gets an error with the end of stderr.

use std::sync::Arc;

use duologue::handlers::{Decision, Hook, HookEvent};
use duologue::protocol::hook::HookOutput;
use duologue::{Error, Session, SessionBuilder, mcp};
use duologue_testkit::fake::{Answer, Script, Step};
use serde_json::json;
use tokio::sync::Notify;

use super::play::{Doomed, Fate, Play, gone};

/// A handler that has begun and never ends.
async fn hang<T>(started: Arc<Notify>, guard: Doomed) -> T {
    started.notify_one();
    std::future::pending::<()>().await;
    drop(guard);
    std::future::pending().await
}

fn ask(kind: &str) -> Step {
    match kind {
        "permission" => Step::can_use_tool(kind, "Bash", json!({ "command": "ls" })),
        "hook" => Step::hook_callback(kind, "hook_0", json!({ "hook_event_name": "Stop" })),
        _ => {
            let params = json!({ "name": "ping", "arguments": {} });
            Step::mcp_message(
                kind,
                "tools",
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }),
            )
        }
    }
}

const ASKS: [&str; 3] = ["permission", "hook", "mcp"];

fn with_handlers(builder: SessionBuilder) -> SessionBuilder {
    builder
        .on_permission(|_| async { Decision::allow() })
        .hook(Hook::new(HookEvent::Stop, |_| async { HookOutput::new() }))
        .tool(mcp::tool("ping", "Answers", async |(): ()| "pong"))
}

/// A turn with something of everything.
fn full() -> Script {
    let call = Step::ToolUse { id: "toolu_1".into(), name: "Bash".into(), input: json!({}) };
    let done = Step::ToolResult { id: "toolu_1".into(), content: "ok".into(), is_error: false };
    let mut steps = vec![Step::Init, Step::Text("I will".into()), call];
    steps.extend(ASKS.map(ask));
    steps.extend([done, Step::Text("done".into()), Step::Done("done".into())]);
    let hello = [Step::Stderr("last words".into()), Step::Reply(Answer::Usual)];
    Script::new().on("initialize", hello).turn(steps)
}

/// One conversation with an agent that dies. Gives the error that told so, if one did.
async fn converse(play: &Play) -> Result<(), Error> {
    let session = with_handlers(play.builder()).start().await?;
    let mut turn = session.prompt("go on").await?;
    turn.outcome().await?;
    // It may have died after its result, which is no concern of the turn.
    session.close().await.map(drop)
}

/// Kills the agent at each point of a script, until it has lived through its turn three times: later it need not die.
async fn killed_at_every_point(
    script: impl Fn(u64) -> Script,
    stderr: impl Fn(u64) -> &'static str,
) {
    let mut whole = 0;
    for point in 0.. {
        let play = Play::of(script(point));
        match converse(&play).await {
            Err(error) => {
                let gone = gone(error);
                assert_eq!(gone.signal, Some(9), "at {point}: {gone}");
                assert_eq!(gone.stderr.trim_end(), stderr(point));
            }
            Ok(()) => whole += 1,
        }
        play.over().await;
        if whole == 3 {
            assert!(point > 10);
            break;
        }
    }
}

#[tokio::test]
async fn killed_after_every_line() {
    let stderr = |lines| if lines == 0 { "" } else { "last words" };
    killed_at_every_point(|lines| full().dies_after(lines), stderr).await;
}

#[tokio::test]
async fn killed_inside_of_every_line() {
    killed_at_every_point(|lines| full().dies_inside(lines), |_| "last words").await;
}

#[tokio::test]
async fn killed_while_a_handler_runs() {
    for kind in ASKS {
        let steps = [Step::Init, ask(kind), Step::Done("never".into())].map(|step| match step {
            Step::Ask { id, request, .. } => Step::ask_and_go_on(id, request),
            Step::Done(_) => Step::Gate("die".into()),
            step => step,
        });
        let steps = steps.into_iter().chain([Step::Stderr("last words".into()), Step::Die(9)]);
        let play = Play::turn(steps);
        let (fate, started) = (Fate::default(), Arc::new(Notify::new()));
        let args = || {
            let (fate, started) = (fate.clone(), Arc::clone(&started));
            move || (Arc::clone(&started), fate.guard())
        };
        let (permission, hook, tool) = (args(), args(), args());
        let session = play
            .builder()
            .on_permission(move |_| {
                let (started, guard) = permission();
                hang::<Decision>(started, guard)
            })
            .hook(Hook::new(HookEvent::Stop, move |_| {
                let (started, guard) = hook();
                hang::<HookOutput>(started, guard)
            }))
            .tool(mcp::tool("ping", "Answers", move |(): ()| {
                let (started, guard) = tool();
                hang::<String>(started, guard)
            }))
            .start()
            .await
            .unwrap();
        let mut turn = session.prompt("go on").await.unwrap();
        started.notified().await;
        play.stage.open("die").unwrap();
        let gone = gone(turn.outcome().await.unwrap_err());
        assert_eq!((gone.signal, gone.stderr.trim_end()), (Some(9), "last words"), "{kind}");
        // The handler is dropped where it waits: nobody wants its answer.
        fate.sealed().await;
        drop((turn, session));
        play.over().await;
    }
}

#[tokio::test]
async fn killed_during_the_handshake() {
    let dies = [Step::Stderr("last words".into()), Step::Die(9)];
    let play = Play::of(Script::new().on("initialize", dies));
    let gone = gone(play.builder().start().await.unwrap_err());
    assert_eq!((gone.signal, gone.stderr.trim_end()), (Some(9), "last words"));
    play.over().await;
}

#[tokio::test]
async fn killed_while_it_is_interrupted() {
    let dies = [Step::Stderr("last words".into()), Step::Die(9)];
    let play = Play::of(Script::new().on("interrupt", dies).turn([Step::Init, Step::Stall]));
    let session = play.start().await;
    let mut turn = session.prompt("go on").await.unwrap();
    let errors = [session.interrupt().await.unwrap_err(), turn.outcome().await.unwrap_err()];
    for error in errors {
        let gone = gone(error);
        assert_eq!((gone.signal, gone.stderr.trim_end()), (Some(9), "last words"));
    }
    drop((turn, session));
    play.over().await;
}

#[tokio::test]
async fn killed_while_it_is_closed() {
    let play = Play::of(Script::new().turn([Step::Init, Step::Gate("die".into()), Step::Die(9)]));
    let session = play.start().await;
    let mut turn = session.prompt("go on").await.unwrap();
    let (report, outcome, ()) =
        tokio::join!(session.close(), turn.outcome(), async { play.stage.open("die").unwrap() });
    assert_eq!(report.unwrap().signal, Some(9));
    assert!(outcome.is_err());
    drop(turn);
    play.over().await;
}

#[tokio::test]
async fn a_respawned_agent_may_die_again() {
    // In its turn, before it says a word, in its handshake; then it lives.
    let lives = [
        Script::new().turn([Step::Init, Step::Die(9)]),
        Script::new().dies_after(0),
        Script::new().on("initialize", [Step::Die(9)]),
        Script::new(),
    ];
    let play = Play::lives(&lives);
    let builder = play.builder().respawn(duologue::Respawn::up_to(3));
    let session: Session = builder.start().await.unwrap();
    let mut turn = session.prompt("one").await.unwrap();
    assert_eq!(gone(turn.outcome().await.unwrap_err()).signal, Some(9));
    let mut turn = session.prompt("two").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "two");
    assert_eq!(play.prompts(0), ["one"]);
    assert_eq!(play.prompts(3), ["two"]);
    play.close(session).await;
    // But not for ever.
    let play = Play::lives(&lives[..3]);
    let builder = play.builder().respawn(duologue::Respawn::up_to(3));
    let session = builder.start().await.unwrap();
    let mut turn = session.prompt("one").await.unwrap();
    assert_eq!(gone(turn.outcome().await.unwrap_err()).signal, Some(9));
    assert_eq!(gone(session.prompt("two").await.unwrap_err()).signal, Some(9));
    assert_eq!(play.stage.starts().len(), 4);
    drop((turn, session));
    play.over().await;
}
