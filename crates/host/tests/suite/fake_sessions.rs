//! Sessions with the fake agent as a process.

use duologue::protocol::launch::CliVersion;
use duologue::{Session, SessionBuilder};
use duologue_testkit::fake::{Script, Stage, Step};
use duologue_testkit::leak::assert_gone;

use super::play::stage;

fn builder(stage: &Stage) -> SessionBuilder {
    let (name, value) = stage.env();
    Session::builder()
        .program(duologue_testkit::fake::program())
        .cli_version(CliVersion::new(2, 1, 325))
        .env(name, value)
}

#[tokio::test]
async fn a_session_holds_two_turns() {
    let (_dir, stage) = stage(&[Script::new()]);
    let session = builder(&stage).start().await.unwrap();
    for prompt in ["one", "two"] {
        let mut turn = session.prompt(prompt).await.unwrap();
        assert_eq!(turn.outcome().await.unwrap().text(), prompt);
    }
    stage.wait_for(|line| line["message"]["content"] == "two").await;
    session.close().await.unwrap();
    assert_gone(&stage.pids()).await;
}

#[tokio::test]
async fn the_session_reports_the_end_of_the_agent_after_every_line() {
    // The handshake, two of the prompt's life, init, assistant.
    for lines in 0..=5 {
        let (_dir, stage) = stage(&[Script::new().dies_after(lines)]);
        let Ok(session) = builder(&stage).start().await else {
            assert!(lines < 2);
            continue;
        };
        if let Ok(mut turn) = session.prompt("hello").await {
            assert!(turn.outcome().await.is_err(), "after {lines} lines");
        }
        drop(session);
        assert_gone(&stage.pids()).await;
    }
}

#[tokio::test]
async fn an_agent_that_ignores_signals_is_killed() {
    let script = Script::new().ignores_term().ignores_end().turn([
        Step::grandchild(),
        Step::stubborn_grandchild(),
        Step::Usual,
    ]);
    let (_dir, stage) = stage(&[script]);
    let session = builder(&stage).start().await.unwrap();
    let mut turn = session.prompt("hello").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "hello");
    drop((turn, session));
    assert_eq!(stage.grandchildren().len(), 2);
    assert_gone(&stage.grandchildren()).await;
    assert_gone(&stage.pids()).await;
}
