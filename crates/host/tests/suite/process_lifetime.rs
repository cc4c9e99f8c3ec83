//! The process of the agent: its end, its children, its replacement.

use std::time::Duration;

use duologue::permission::PermissionMode;
use duologue::protocol::{Map, RawObject};
use duologue::{Respawn, Rung};
use duologue_testkit::fake::{Answer, Script, Step};
use duologue_testkit::leak::{assert_gone_blocking, group, is_alive};

use serde_json::json;

use super::play::Play;

#[tokio::test]
async fn a_turn_does_not_wait_for_the_exit_of_the_agent() {
    let play = Play::of(Script::new().ignores_end().ignores_term());
    let session = play.start().await;
    let mut turn = session.prompt("hello").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "hello");
    drop(turn);
    let report = session.close().await.unwrap();
    assert_eq!(report.rung, Rung::Kill);
    assert!(report.gone);
    play.over().await;
}

#[tokio::test]
async fn the_ladder_stops_at_the_first_rung_that_works() {
    for (script, rung) in [(Script::new(), Rung::Stdin), (Script::new().ignores_end(), Rung::Term)]
    {
        let play = Play::of(script);
        let mut ladder = super::play::SHORT;
        if rung == Rung::Stdin {
            ladder.stdin_grace = Duration::from_secs(20);
        }
        ladder.term_grace = Duration::from_secs(20);
        let session = play.builder().ladder(ladder).start().await.unwrap();
        assert_eq!(session.close().await.unwrap().rung, rung);
        play.over().await;
    }
}

#[tokio::test]
async fn a_dropped_session_leaves_no_process_and_no_task() {
    for in_a_turn in [false, true] {
        let play = Play::turn([Step::Init, Step::Stall]);
        let session = play.start().await;
        let pid = session.pid().unwrap();
        assert!(is_alive(pid));
        let turn = match in_a_turn {
            true => Some(session.prompt("go on").await.unwrap()),
            false => None,
        };
        drop(session);
        // No task had a chance to run: this blocks the thread.
        assert_gone_blocking(&[pid]);
        if let Some(mut turn) = turn {
            assert!(turn.outcome().await.is_err());
        }
        play.over().await;
    }
}

#[tokio::test]
async fn a_cancelled_start_leaves_no_process() {
    let play = Play::of(Script::new().never_answers("initialize"));
    tokio::select! {
        session = play.builder().start() => panic!("{session:?}"),
        _ = play.stage.wait_for(|line| line["request"]["subtype"] == "initialize") => {}
    }
    play.over().await;
}

#[tokio::test]
async fn a_session_dropped_during_a_respawn_leaves_no_process() {
    let dies = Script::new().turn([Step::Init, Step::Die(9)]);
    let play = Play::lives(&[dies, Script::new().never_answers("initialize")]);
    let session = play.builder().respawn(Respawn::up_to(3)).start().await.unwrap();
    let mut turn = session.prompt("go on").await.unwrap();
    assert!(turn.outcome().await.is_err());
    play.stage.started(2).await;
    let hello = |line: &serde_json::Value| line["request"]["subtype"] == "initialize";
    let shook = || play.stage.host_values().iter().filter(|line| hello(line)).count() == 2;
    assert!(duologue_testkit::leak::eventually(shook).await);
    drop((turn, session));
    play.over().await;
}

#[tokio::test]
async fn every_agent_of_many_is_reaped() {
    let plays: Vec<Play> = (0..10).map(|_| Play::of(Script::new())).collect();
    let mut sessions = Vec::new();
    for play in &plays {
        sessions.push(play.start().await);
    }
    let pids: Vec<u32> = sessions.iter().map(|session| session.pid().unwrap()).collect();
    drop(sessions);
    duologue_testkit::leak::assert_gone(&pids).await;
    for pid in pids {
        // No zombie either: somebody has asked how it ended.
        let path = format!("/proc/{pid}");
        let reaped = || !std::path::Path::new(&path).exists();
        assert!(duologue_testkit::leak::eventually(reaped).await, "{pid} is a zombie");
    }
}

#[tokio::test]
async fn grandchildren_end_with_the_agent() {
    let stray = Step::Grandchild { ignores_term: true, own_group: true, holds_pipes: true };
    for close in [false, true] {
        let steps = [Step::grandchild(), Step::stubborn_grandchild(), stray.clone(), Step::Usual];
        // One that has left the group is only found while its parent lives: KILL comes then.
        let play = Play::of(Script::new().ignores_end().ignores_term().turn(steps));
        let session = play.start().await;
        let pid = session.pid().unwrap();
        let mut turn = session.prompt("hello").await.unwrap();
        assert_eq!(turn.outcome().await.unwrap().text(), "hello");
        assert_eq!(play.stage.grandchildren().len(), 3);
        assert_eq!(group(pid).len(), 3);
        drop(turn);
        match close {
            true => assert!(session.close().await.unwrap().gone),
            false => drop(session),
        }
        play.over().await;
        assert!(group(pid).is_empty());
    }
}

#[tokio::test]
async fn mcp_servers_of_an_agent_that_exits_are_ended_too() {
    let steps = [Step::grandchild(), Step::stubborn_grandchild(), Step::Init, Step::Die(9)];
    let play = Play::turn(steps);
    let session = play.start().await;
    let mut turn = session.prompt("hello").await.unwrap();
    assert_eq!(super::play::gone(turn.outcome().await.unwrap_err()).signal, Some(9));
    assert_eq!(play.stage.grandchildren().len(), 2);
    drop((turn, session));
    play.over().await;
}

/// What the host asked of this life of the agent, in order.
fn asked(play: &Play, life: usize) -> Vec<serde_json::Value> {
    let lines = play.stage.host_lines_of(life);
    let lines = lines.iter().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines
        .filter(|line| line["type"] == "control_request")
        .map(|line| line["request"].clone())
        .collect()
}

#[tokio::test]
async fn changed_settings_are_applied_again_after_a_respawn() {
    let done = || [Step::Reply(Answer::Success(json!({})))];
    let able = |script: Script| {
        let script = script.on("mcp_set_servers", done()).on("register_repo_root", done());
        script.refuses("set_color", "no colours")
    };
    let dies = Script::new().turn([Step::Init, Step::Die(9)]);
    let play = Play::lives(&[able(dies), able(Script::new())]);
    let session = play.builder().respawn(Respawn::up_to(3)).model("first").start().await.unwrap();
    let control = session.control();
    control.set_model("second").await.unwrap();
    control.set_permission_mode(PermissionMode::Plan).await.unwrap();
    control.set_max_thinking_tokens(Some(1000)).await.unwrap();
    control.get_context_usage().await.unwrap();
    assert!(control.set_color("red").await.is_err());
    let settings = |value: serde_json::Value| RawObject::of(&value).unwrap();
    control.apply_flag_settings(settings(json!({ "a": 1 }))).await.unwrap();
    control.mcp_set_servers(Map::new()).await.unwrap();
    control.apply_flag_settings(settings(json!({ "b": 1 }))).await.unwrap();
    control.register_repo_root("/elsewhere").await.unwrap();
    control.set_model("third").await.unwrap();
    let mut turn = session.prompt("die").await.unwrap();
    assert!(turn.outcome().await.is_err());
    let mut turn = session.prompt("hello").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "hello");
    let asked = asked(&play, 1);
    let subtypes: Vec<&str> =
        asked.iter().map(|request| request["subtype"].as_str().unwrap()).collect();
    assert_eq!(
        subtypes,
        [
            "initialize",
            "set_permission_mode",
            "set_max_thinking_tokens",
            "apply_flag_settings",
            "mcp_set_servers",
            "apply_flag_settings",
            "register_repo_root",
            "set_model",
        ]
    );
    assert_eq!(asked[1]["mode"], "plan");
    assert_eq!(asked[2]["max_thinking_tokens"], 1000);
    assert_eq!(
        (&asked[3]["settings"], &asked[5]["settings"]),
        (&json!({ "a": 1 }), &json!({ "b": 1 }))
    );
    assert_eq!(asked[7]["model"], "third");
    // Before any prompt.
    let lines = play.stage.host_lines_of(1);
    assert!(lines.last().unwrap().contains("hello"));
    drop(turn);
    session.close().await.unwrap();
    play.over().await;
}

#[tokio::test]
async fn a_respawned_agent_that_refuses_its_permission_mode_is_not_used() {
    let dies = Script::new().turn([Step::Init, Step::Die(9)]);
    let play = Play::lives(&[dies, Script::new().refuses("set_permission_mode", "not here")]);
    let session = play.builder().respawn(Respawn::up_to(3)).start().await.unwrap();
    session.control().set_permission_mode(PermissionMode::Plan).await.unwrap();
    let mut turn = session.prompt("die").await.unwrap();
    assert!(turn.outcome().await.is_err());
    let error = session.prompt("hello").await.unwrap_err();
    assert!(error.to_string().contains("not here"), "{error}");
    drop((turn, session));
    play.over().await;
}
