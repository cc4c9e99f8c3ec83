//! What people suffer from: processes that stay, and those that they leave behind.

use std::time::Duration;

use duologue::{Respawn, Rung};
use duologue_testkit::fake::{Script, Step};
use duologue_testkit::leak::{assert_gone_blocking, group, is_alive};

use super::play::Play;

#[tokio::test]
async fn p12_a_turn_does_not_wait_for_the_exit_and_the_exit_is_ours() {
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
async fn p12_the_ladder_goes_no_further_than_it_must() {
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
async fn p20_nothing_is_left_of_a_session_that_is_dropped() {
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
async fn p20_a_start_that_is_given_up_leaves_no_process() {
    let play = Play::of(Script::new().never_answers("initialize"));
    tokio::select! {
        session = play.builder().start() => panic!("{session:?}"),
        _ = play.stage.wait_for(|line| line["request"]["subtype"] == "initialize") => {}
    }
    play.over().await;
}

#[tokio::test]
async fn p20_a_session_dropped_while_its_agent_comes_back_leaves_no_process() {
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
async fn p20_every_agent_of_many_is_reaped() {
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
async fn p21_grandchildren_go_with_the_agent() {
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
async fn p21_servers_of_an_agent_that_dies_by_itself_die_too() {
    let steps = [Step::grandchild(), Step::stubborn_grandchild(), Step::Init, Step::Die(9)];
    let play = Play::turn(steps);
    let session = play.start().await;
    let mut turn = session.prompt("hello").await.unwrap();
    assert_eq!(super::play::gone(turn.outcome().await.unwrap_err()).signal, Some(9));
    assert_eq!(play.stage.grandchildren().len(), 2);
    drop((turn, session));
    play.over().await;
}
