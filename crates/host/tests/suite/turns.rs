//! Turns: watchdogs, interrupts, and which result belongs to which prompt.

use std::time::Duration;

use duologue::handlers::Decision;
use duologue::{Event, Respawn, TurnStatus, Watchdog};
use duologue_testkit::fake::{Answer, Kind, Script, Step};
use duologue_testkit::leak::is_alive;
use serde_json::json;

use super::play::{Fate, Play, events, gone, result, texts};

const MOMENT: Duration = Duration::from_millis(150);

#[tokio::test]
async fn a_silent_turn_is_interrupted() {
    let play = Play::of(Script::new().turn([Step::Init, Step::Stall]));
    let builder = play.builder().watchdog(Watchdog::new().silence(MOMENT));
    let session = builder.start().await.unwrap();
    let mut turn = session.prompt("go on").await.unwrap();
    assert!(turn.outcome().await.unwrap().is_interrupted());
    assert!(session.notices().iter().any(|notice| notice.contains("stuck")));
    let mut turn = session.prompt("and now?").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "and now?");
    assert_eq!(play.stage.starts().len(), 1);
    play.close(session).await;
}

#[tokio::test]
async fn a_turn_that_exceeds_its_time_limit_is_interrupted() {
    // It speaks all the time: it is not silent.
    let play = Play::of(Script::new().turn([Step::Init, Step::flood(100_000_000, 1_000)]));
    let builder = play.builder().watchdog(Watchdog::new().turn(MOMENT));
    let session = builder.start().await.unwrap();
    let mut turn = session.prompt("go on").await.unwrap();
    assert!(turn.outcome().await.unwrap().is_interrupted());
    play.close(session).await;
}

#[tokio::test]
async fn a_turn_that_waits_for_a_tool_or_a_person_is_not_interrupted() {
    let tool = Step::ToolUse { id: "toolu_1".into(), name: "Bash".into(), input: json!({}) };
    let done = Step::ToolResult { id: "toolu_1".into(), content: "ok".into(), is_error: false };
    let play = Play::turn([
        Step::Init,
        Step::can_use_tool("ask", "Bash", json!({})),
        tool,
        Step::Mark("tool".into()),
        Step::Gate("tool".into()),
        done,
        Step::Done("done".into()),
    ]);
    let limits = Watchdog::new().silence(MOMENT).turn(MOMENT);
    let builder = play.builder().watchdog(limits).on_permission(|_| async {
        // A person thinks for longer than an agent may be silent.
        tokio::time::sleep(MOMENT * 2).await;
        Decision::allow()
    });
    let session = builder.start().await.unwrap();
    let mut turn = session.prompt("go on").await.unwrap();
    play.stage.reached("tool").await;
    tokio::time::sleep(MOMENT * 2).await;
    play.stage.open("tool").unwrap();
    assert!(turn.outcome().await.unwrap().is_success());
    assert!(session.notices().is_empty(), "{:?}", session.notices());
    play.close(session).await;
}

/// An agent that hears nothing: the interrupt is in vain, and it is killed.
fn deaf() -> [Script; 2] {
    [Script::new().turn([Step::Usual]).turn([Step::Init, Step::Silent]), Script::new()]
}

#[tokio::test]
async fn an_agent_that_stays_silent_is_killed_and_resumed() {
    let play = Play::lives(&deaf());
    let builder = play.builder().watchdog(Watchdog::new().silence(MOMENT)).settle_within(MOMENT);
    let session = builder.respawn(Respawn::up_to(1)).start().await.unwrap();
    let mut turn = session.prompt("one").await.unwrap();
    assert!(turn.outcome().await.unwrap().is_success());
    let id = session.session_id().unwrap();
    let mut turn = session.prompt("two").await.unwrap();
    let gone = gone(turn.outcome().await.unwrap_err());
    assert!(gone.reason.as_ref().unwrap().contains("silent"), "{gone}");
    // The session goes on, in the same conversation, with the same bill.
    let mut turn = session.prompt("three").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "three");
    assert_eq!(session.session_id().unwrap(), id);
    assert_eq!(session.spent_usd(), 0.5);
    let resumed = &play.stage.starts()[1].argv;
    assert!(resumed.contains(&format!("--resume={id}")), "{resumed:?}");
    assert_eq!(play.prompts(0), ["one", "two"]);
    assert_eq!(play.prompts(1), ["three"]);
    play.close(session).await;
}

#[tokio::test]
async fn a_prompt_is_sent_again_if_requested() {
    let play = Play::lives(&deaf());
    let builder = play.builder().watchdog(Watchdog::new().silence(MOMENT)).settle_within(MOMENT);
    let respawn = Respawn::up_to(1).resend_prompts();
    let session = builder.respawn(respawn).start().await.unwrap();
    for prompt in ["one", "two", "three"] {
        let mut turn = session.prompt(prompt).await.unwrap();
        assert_eq!(turn.outcome().await.unwrap().text(), prompt);
    }
    assert_eq!(session.spent_usd(), 0.75);
    assert_eq!(play.prompts(0), ["one", "two"]);
    assert_eq!(play.prompts(1), ["two", "three"]);
    play.close(session).await;
}

#[tokio::test]
async fn an_interrupt_that_does_not_settle_ends_the_agent() {
    let acknowledges = [Step::Reply(Answer::Success(json!({ "still_queued": [] })))];
    let script = Script::new().on("interrupt", acknowledges).turn([Step::Init, Step::Silent]);
    let play = Play::of(script.turn([Step::Usual]));
    let session = play.builder().settle_within(MOMENT).start().await.unwrap();
    let mut turn = session.prompt("go on").await.unwrap();
    assert!(turn.accepted().await.unwrap());
    // Whether the receipt comes depends on who is faster; that the turn ends does not.
    let (_receipt, outcome) = tokio::join!(session.interrupt(), turn.outcome());
    let gone = gone(outcome.unwrap_err());
    assert!(gone.reason.as_ref().unwrap().contains("interrupted"), "{gone}");
    drop((turn, session));
    play.over().await;
}

#[tokio::test]
async fn a_receipt_states_whether_a_turn_was_interrupted() {
    let play = Play::of(Script::new().turn([Step::Init, Step::Stall]));
    let session = play.start().await;
    assert!(!session.interrupt().await.unwrap().effective);
    let mut turn = session.prompt("go on").await.unwrap();
    // Before its first line, perhaps; but never without effect.
    assert!(session.interrupt().await.unwrap().effective);
    assert!(turn.outcome().await.unwrap().is_interrupted());
    assert!(!session.interrupt().await.unwrap().effective);
    let mut turn = session.prompt("and now?").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "and now?");
    play.close(session).await;
}

#[tokio::test]
async fn an_interrupted_turn_is_not_an_error() {
    let steps = [Step::Init, Step::Text("I will".into()), Step::Mark("on".into()), Step::Stall];
    let play = Play::turn(steps);
    let session = play.start().await;
    let mut turn = session.prompt("go on").await.unwrap();
    play.stage.reached("on").await;
    turn.interrupt().await.unwrap();
    let outcome = turn.outcome().await.unwrap();
    assert_eq!(outcome.status(), TurnStatus::Interrupted);
    assert_eq!(outcome.error(), Some("the turn was interrupted"));
    // What the result says stays there for whoever wants it.
    assert_eq!(outcome.finished().subtype.as_deref(), Some("error_during_execution"));
    // An error that nobody asked for stays one.
    drop((turn, session));
    play.over().await;
    let play = Play::turn([Step::Init, Step::Failed("error_during_execution".into())]);
    let session = play.start().await;
    let mut turn = session.prompt("go on").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().status(), TurnStatus::Error);
    play.close(session).await;
}

#[tokio::test]
async fn an_interrupt_is_a_line_and_not_a_signal() {
    let play = Play::turn([Step::Init, Step::Stall]);
    let session = play.start().await;
    let pid = session.pid().unwrap();
    let mut turn = session.prompt("go on").await.unwrap();
    session.interrupt().await.unwrap();
    assert!(turn.outcome().await.unwrap().is_interrupted());
    // The scripted agent dies of SIGINT, as the CLI does.
    assert!(is_alive(pid));
    let mut turn = session.prompt("and now?").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "and now?");
    assert_eq!(session.pid(), Some(pid));
    play.close(session).await;
}

#[tokio::test]
async fn an_interrupt_by_signal_is_available() {
    let play = Play::lives(&[Script::new().turn([Step::Init, Step::Stall]), Script::new()]);
    let session = play.start().await;
    let mut turn = session.prompt("go on").await.unwrap();
    assert!(turn.accepted().await.unwrap());
    session.abort_by_signal().await.unwrap();
    assert!(turn.outcome().await.unwrap().is_interrupted());
    let mut turn = session.prompt("and now?").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "and now?");
    assert_eq!(play.stage.starts().len(), 2);
    play.close(session).await;
}

#[tokio::test]
async fn a_result_belongs_to_its_prompt() {
    let notice = |text: &str| {
        let block = json!({ "type": "text", "text": text });
        let said = json!({ "type": "assistant", "message": { "id": text, "content": [block] } });
        let origin = json!({ "kind": "task-notification" });
        [Step::Emit(said), Step::Emit(result(json!({ "result": text, "origin": origin })))]
    };
    // Work in the background ends while the next prompt waits, and once more after it.
    let init = || Step::Emit(json!({ "type": "system", "subtype": "init", "session_id": "s" }));
    let mut first = vec![Step::Init, Step::Text("mine".into()), Step::Done("mine".into())];
    first.extend([Step::WaitFor(Kind::Prompt), init()]);
    first.extend(notice("the build is done"));
    let mut second = vec![Step::Usual, Step::WaitFor(Kind::Prompt), init()];
    second.extend(notice("the tests are done"));
    let play = Play::of(Script::new().turn(first).turn(second));
    let session = play.start().await;
    let mut all = session.events();
    let mut turn = session.prompt("go on").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "mine");
    for prompt in ["one", "and now?"] {
        let mut turn = session.prompt(prompt).await.unwrap();
        assert_eq!(texts(&events(&mut turn).await), [prompt]);
        assert_eq!(turn.outcome().await.unwrap().text(), prompt);
    }
    let mut unasked = Vec::new();
    loop {
        if let Event::TurnFinished(finished) = all.next().await.unwrap().unwrap() {
            match finished.text.as_str() {
                "and now?" => break,
                "mine" | "one" => {}
                _ => unasked.push(finished.prompts.len()),
            }
        }
    }
    assert_eq!(unasked, [0, 0]);
    play.close(session).await;
}

#[tokio::test]
async fn the_fate_of_a_queued_prompt_is_reported() {
    let play = Play::turn([
        Step::Init,
        Step::WaitFor(Kind::Prompt),
        Step::Gate("go".into()),
        Step::Done("one".into()),
    ]);
    let session = play.start().await;
    let mut first = session.prompt("one").await.unwrap();
    assert!(first.accepted().await.unwrap());
    let mut second = session.prompt("two").await.unwrap();
    let mut third = session.prompt("three").await.unwrap();
    // It waits: it can be taken back, once.
    assert!(second.cancel().await.unwrap());
    assert!(!second.cancel().await.unwrap());
    assert!(!second.accepted().await.unwrap());
    assert!(second.outcome().await.unwrap().is_cancelled());
    // An interrupt tells who still waits.
    let receipt = session.interrupt().await.unwrap();
    assert_eq!(receipt.still_queued, [third.uuid().clone()]);
    assert!(first.outcome().await.unwrap().is_interrupted());
    assert!(!first.cancel().await.unwrap());
    assert!(third.accepted().await.unwrap());
    assert_eq!(third.outcome().await.unwrap().text(), "three");
    play.close(session).await;
}

#[tokio::test]
async fn an_interrupt_drops_the_handlers_of_cancelled_requests() {
    let ask = Step::can_use_tool("ask", "Bash", json!({}));
    let play = Play::turn([Step::Init, ask, Step::Done("never".into())]);
    let (fate, started) = (Fate::default(), std::sync::Arc::new(tokio::sync::Notify::new()));
    let (handler, runs) = (fate.clone(), std::sync::Arc::clone(&started));
    let builder = play.builder().on_permission(move |_| {
        let guard = handler.guard();
        runs.notify_one();
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Decision::allow()
        }
    });
    let session = builder.start().await.unwrap();
    let mut turn = session.prompt("go on").await.unwrap();
    started.notified().await;
    assert!(session.interrupt().await.unwrap().effective);
    assert!(turn.outcome().await.unwrap().is_interrupted());
    fate.sealed().await;
    let mut turn = session.prompt("and now?").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "and now?");
    let answered = play.stage.host_values();
    assert!(!answered.iter().any(|line| line["response"]["request_id"] == "ask"));
    play.close(session).await;
}
