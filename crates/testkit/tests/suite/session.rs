//! Sessions with the scripted agent.

use duologue::protocol::launch::CliVersion;
use duologue::{Session, SessionBuilder};
use duologue_testkit::fake::{Script, Stage, Step};
use duologue_testkit::leak::assert_gone;

use super::host::stage;

fn builder(stage: &Stage) -> SessionBuilder {
    let (name, value) = stage.env();
    Session::builder()
        .program(env!("CARGO_BIN_EXE_fake-agent"))
        .cli_version(CliVersion::new(2, 1, 325))
        .env(name, value)
}

#[tokio::test]
async fn a_session_speaks_with_it() {
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
async fn wherever_it_dies_the_session_hears_of_it() {
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
async fn nothing_is_left_of_a_stubborn_agent() {
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
