//! Prompts, turns and outcomes.

use duologue::protocol::content::ContentBlock;
use duologue::protocol::lines::Prompt;
use duologue::{Error, Event, PromptError, Session};
use serde_json::json;

use super::agent::pair;

#[tokio::test]
async fn a_prompt_gets_its_events_and_its_outcome() {
    let (session, mut agent) = pair(Session::builder()).await;
    let agent = tokio::spawn(async move {
        agent.turn("Hello!").await;
        assert!(agent.at_end().await);
    });
    let mut turn = session.prompt("Hi").await.unwrap();
    let mut texts = Vec::new();
    while let Some(event) = turn.next().await.unwrap() {
        if let Event::Text(text) = event {
            texts.push(text.text.to_string());
        }
    }
    assert_eq!(texts, ["Hello!"]);
    let outcome = turn.outcome().await.unwrap();
    assert!(outcome.is_success());
    assert_eq!(outcome.text(), "Hello!");
    assert_eq!(session.spent_usd(), 0.25);
    assert_eq!(session.session_id().unwrap().as_str(), "s1");
    session.close().await.unwrap();
    agent.await.unwrap();
}

#[tokio::test]
async fn two_prompts_in_flight_have_turns_of_their_own() {
    let (session, mut agent) = pair(Session::builder()).await;
    let mut first = session.prompt("one").await.unwrap();
    let mut second = session.prompt("two").await.unwrap();
    let agent = tokio::spawn(async move {
        let (one, first) = agent.prompt().await;
        let (two, second) = agent.prompt().await;
        for (text, uuid) in [(one, first), (two, second)] {
            agent.init().await;
            agent.text(&format!("msg_{text}"), &format!("answer to {text}")).await;
            agent.result(&[&uuid], "").await;
        }
        agent
    });
    // The later one is read first.
    assert_eq!(second.outcome().await.unwrap().text(), "answer to two");
    let mut texts = 0;
    while let Some(event) = first.next().await.unwrap() {
        texts += usize::from(matches!(event, Event::Text(_)));
    }
    assert_eq!(texts, 1);
    assert_eq!(first.outcome().await.unwrap().text(), "answer to one");
    drop(agent.await.unwrap());
}

#[tokio::test]
async fn prompts_that_are_merged_share_their_turn() {
    let (session, mut agent) = pair(Session::builder()).await;
    let mut first = session.prompt("one").await.unwrap();
    let mut second = session.prompt("two").await.unwrap();
    let (_, one) = agent.prompt().await;
    let (_, two) = agent.prompt().await;
    agent.init().await;
    agent.text("msg_1", "both").await;
    agent.result(&[&one, &two], "both").await;
    assert_eq!(first.outcome().await.unwrap().text(), "both");
    assert_eq!(second.outcome().await.unwrap().text(), "both");
}

#[tokio::test]
async fn a_turn_without_a_prompt_reaches_events() {
    let (session, mut agent) = pair(Session::builder()).await;
    let mut events = session.events();
    agent.init().await;
    agent.text("msg_1", "the background work is done").await;
    agent
        .send(json!({
            "type": "result", "subtype": "success", "is_error": false, "session_id": "s1",
            "origin": { "kind": "task-notification" },
        }))
        .await;
    loop {
        if let Event::TurnFinished(finished) = events.next().await.unwrap().unwrap() {
            assert!(finished.prompts.is_empty());
            break;
        }
    }
    let mut turn = session.prompt("and now?").await.unwrap();
    agent.turn("now this").await;
    assert_eq!(turn.outcome().await.unwrap().text(), "now this");
}

#[tokio::test]
async fn a_prompt_can_be_taken_back() {
    let (session, mut agent) = pair(Session::builder()).await;
    let mut turn = session.prompt("never mind").await.unwrap();
    let (_, uuid) = agent.prompt().await;
    let agent = tokio::spawn(async move {
        let request = agent.read().await;
        assert_eq!(request["request"]["message_uuid"], uuid.as_str());
        agent.reply(&request, json!({ "cancelled": true })).await;
        agent
    });
    assert!(turn.cancel().await.unwrap());
    assert!(!turn.accepted().await.unwrap());
    assert!(turn.outcome().await.unwrap().is_cancelled());
    drop(agent.await.unwrap());
}

#[tokio::test]
async fn it_is_known_when_a_prompt_was_taken() {
    let (session, mut agent) = pair(Session::builder()).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    let (_, uuid) = agent.prompt().await;
    let taken = json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": "started" });
    agent.send(taken).await;
    assert!(turn.accepted().await.unwrap());
    agent.init().await;
    agent.result(&[&uuid], "done").await;
    assert!(turn.outcome().await.unwrap().is_success());
}

#[tokio::test]
async fn an_invalid_prompt_is_not_sent() {
    let (session, _agent) = pair(Session::builder()).await;
    let refused = |error: Error| match error {
        Error::Prompt(error) => error,
        other => panic!("{other}"),
    };
    let empty = session.prompt("").await.unwrap_err();
    assert_eq!(refused(empty), PromptError::Empty);
    let bmp = ContentBlock::image("image/bmp", "Qk0=");
    let error = refused(session.prompt([bmp]).await.unwrap_err());
    assert!(matches!(error, PromptError::Format { .. }), "{error}");
    let png = include_bytes!("../pixel.png");
    let duologue::protocol::content::ContentBlock::Image(mut image) = duologue::image(png).unwrap()
    else {
        panic!()
    };
    if let Some(duologue::protocol::content::Source::Base64(source)) = image.source.value() {
        let data = source.data.as_str().unwrap().to_owned();
        let lie = ContentBlock::image("image/jpeg", data);
        let error = refused(session.prompt([lie]).await.unwrap_err());
        assert!(matches!(error, PromptError::OtherFormat { .. }), "{error}");
    }
    image.source = duologue::protocol::Field::Absent;
    let broken = ContentBlock::image("image/png", "not base64!");
    let error = refused(session.prompt([broken]).await.unwrap_err());
    assert!(matches!(error, PromptError::NotBase64(_)), "{error}");
}

#[tokio::test]
async fn a_prompt_is_never_sent_twice_under_one_name() {
    let (session, mut agent) = pair(Session::builder()).await;
    let _turn = session.prompt(Prompt::text("Hi").uuid("u1")).await.unwrap();
    let error = session.prompt(Prompt::text("Hi").uuid("u1")).await.unwrap_err();
    assert!(matches!(error, Error::Prompt(PromptError::SentBefore(_))), "{error}");
    assert_eq!(agent.prompt().await.1, "u1");
}

#[tokio::test]
async fn a_budget_that_is_used_up_ends_the_prompts() {
    let (session, mut agent) = pair(Session::builder().max_budget_usd(0.2)).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    agent.turn("expensive").await;
    assert!(turn.outcome().await.unwrap().is_success());
    let error = session.prompt("more").await.unwrap_err();
    assert!(matches!(error, Error::OverBudget { .. }), "{error}");
}
