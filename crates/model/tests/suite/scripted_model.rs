//! A scenario as a model in this process.

use std::sync::Arc;
use std::time::Duration;

use duologue_model::{
    Block, Chunk, Model, ModelError, Purpose, RenderedMessage, Reply, Retrying, Scenario, Script,
    ScriptedModel, Who,
};
use proptest::prelude::*;
use serde_json::json;
use tokio::time::Instant;

use super::asking::{receive, request, says};

fn model(scenario: Scenario) -> ScriptedModel {
    ScriptedModel::new(scenario).unwrap()
}

#[tokio::test]
async fn replies_come_in_order_and_are_counted() {
    let model = model(Scenario::new().reply(Reply::text("One.")).reply(Reply::text("Two.")));
    assert_eq!(says(&model, "a").await, "One.");
    assert!(model.finished().is_err());
    assert_eq!(says(&model, "b").await, "Two.");
    model.finished().unwrap();
    assert_eq!(model.turns(), 2);
    let none = receive(&model, request("c")).await.error.unwrap();
    assert!(matches!(none, ModelError::Script(_)), "{none}");
    assert_eq!(
        (none.status(), none.word(), none.is_transient()),
        (Some(400), "invalid_request", false)
    );
}

#[tokio::test]
async fn lines_come_before_the_text() {
    let scenario = Scenario::new()
        .reply(Reply::new().line("{\"type\":\"auth_status\"}"))
        .reply(Reply::text("Hello.").line("{}").line("[]"));
    let model = model(scenario);
    let only = receive(&model, request("a")).await;
    assert_eq!((only.lines.len(), only.events.len(), only.error), (1, 0, None));
    let both = receive(&model, request("b")).await;
    assert_eq!(both.lines, ["{}", "[]"]);
    assert_eq!(both.folded.text(), "Hello.");
}

#[tokio::test]
async fn an_agent_is_recognised_by_its_name() {
    let scenario = Scenario::new()
        .agent("reader", Who::system("never said"))
        .reply(Reply::text("main"))
        .reply(Reply::text("reader").agent("reader"))
        .reply(Reply::text("sub").agent("sub"))
        .reply(Reply::text("summary").agent("summary"));
    let model = model(scenario);
    let sub = || request("x").with_purpose(Purpose::Sub);
    assert_eq!(receive(&model, sub().with_agent("reader")).await.folded.text(), "reader");
    assert_eq!(receive(&model, sub().with_agent("other")).await.folded.text(), "sub");
    let summary = request("x").with_purpose(Purpose::Summary);
    assert_eq!(receive(&model, summary).await.folded.text(), "summary");
    assert_eq!(says(&model, "x").await, "main");
}

#[tokio::test(start_paused = true)]
async fn delays_and_pauses_are_kept() {
    let reply = Reply::text("abc").chunk(Chunk::Chars(1)).delay_ms(5_000).pause_ms(1_000);
    let start = Instant::now();
    let received = receive(&model(Scenario::new().reply(reply)), request("x")).await;
    assert_eq!(received.events.len(), 8);
    assert_eq!(start.elapsed(), Duration::from_secs(13));
}

#[tokio::test]
async fn an_answer_is_cut_after_the_scripted_event() {
    for (after, given) in [(0, 0), (3, 3), (100, 6)] {
        let model = model(Scenario::new().reply(Reply::text("Hello.").cut_after(after)));
        let received = receive(&model, request("x")).await;
        assert_eq!(received.events.len(), given);
        assert!(matches!(received.error, Some(ModelError::Cut(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_stalls_until_it_is_dropped() {
    let model = model(Scenario::new().reply(Reply::text("Hello.").stall_after(3)));
    let mut answer = model.ask(request("x"));
    for _ in 0..3 {
        answer.next().await.unwrap().unwrap();
    }
    let hour = Duration::from_secs(3600);
    assert!(tokio::time::timeout(hour, answer.next()).await.is_err());
}

#[tokio::test]
async fn errors_come_at_once_or_in_the_stream() {
    let model =
        model(Scenario::new().reply(Reply::error(401)).reply(Reply::text("Well").then_error(529)));
    let error = receive(&model, request("x")).await.error.unwrap();
    assert_eq!((error.status(), error.word()), (Some(401), "authentication_failed"));
    assert_eq!(error.to_string(), "401 invalid x-api-key");
    let midst = receive(&model, request("x")).await;
    assert_eq!(midst.folded.text(), "Well");
    let error = midst.error.unwrap();
    assert_eq!((error.status(), error.word()), (None, "unknown"));
    assert_eq!(error.api().unwrap().kind, "overloaded_error");
}

async fn delays(scenario: Scenario, most: u32) -> (Vec<u64>, Option<ModelError>, String) {
    let model = Retrying::new(model(scenario)).without_jitter().max_retries(most);
    let start = Instant::now();
    let received = receive(&model, request("x")).await;
    let delays: Vec<u64> =
        received.retries.iter().map(|retry| retry.delay.as_millis() as u64).collect();
    assert_eq!(start.elapsed().as_millis() as u64, delays.iter().sum::<u64>());
    let attempts: Vec<u32> = received.retries.iter().map(|retry| retry.attempt).collect();
    assert_eq!(attempts, (1..=delays.len() as u32).collect::<Vec<_>>());
    (delays, received.error, received.folded.text())
}

#[tokio::test(start_paused = true)]
async fn transient_errors_are_retried() {
    let fails = |error: u16, times| {
        Scenario::new().reply(Reply::error(error).times(times)).reply(Reply::text("Hello."))
    };
    let (waited, error, text) = delays(fails(500, 8), 10).await;
    assert_eq!(waited, [500, 1000, 2000, 4000, 8000, 16000, 32000, 32000]);
    assert_eq!((error, text.as_str()), (None, "Hello."));

    let (waited, error, _) = delays(fails(401, 8), 2).await;
    assert_eq!((waited.len(), error.unwrap().status()), (2, Some(401)));

    for status in [400, 403, 404, 413] {
        let (waited, error, _) = delays(fails(status, 1), 10).await;
        assert_eq!((waited.len(), error.unwrap().status()), (0, Some(status)));
    }
    let (waited, error, _) = delays(fails(529, 8), 10).await;
    let error = error.unwrap();
    assert_eq!((waited.len(), error.status()), (2, Some(529)));
    assert_eq!(
        (error.to_string().as_str(), error.word()),
        ("Repeated 529 Overloaded errors", "overloaded")
    );

    let (waited, error, _) = delays(fails(500, 1), 0).await;
    assert_eq!((waited.len(), error.unwrap().status()), (0, Some(500)));
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_respected() {
    let busy = duologue_model::ApiError::new(429).retry_after(7);
    let scenario = Scenario::new().reply(Reply::error(busy)).reply(Reply::text("Hello."));
    assert_eq!(delays(scenario, 10).await.0, [7000]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_is_retried_if_nothing_was_sent() {
    let cut = |after| {
        Scenario::new().reply(Reply::text("Hel").cut_after(after)).reply(Reply::text("Hello."))
    };
    let (waited, error, text) = delays(cut(1), 10).await;
    assert_eq!((waited.len(), error, text.as_str()), (1, None, "Hello."));
    let (waited, error, text) = delays(cut(3), 10).await;
    assert_eq!((waited.len(), text.as_str()), (0, "Hel"));
    assert!(matches!(error, Some(ModelError::Cut(_))));
}

#[test]
fn a_variable_sets_the_number_of_retries() {
    let most = |value: &str| {
        let script = model(Scenario::new());
        let model = Retrying::new(script).from_vars(|name| {
            assert_eq!(name, "CLAUDE_CODE_MAX_RETRIES");
            Some(value.to_owned())
        });
        format!("{model:?}")
    };
    assert!(most("3").contains("max_retries: 3"));
    assert!(most("many").contains("max_retries: 10"));
}

#[tokio::test(start_paused = true)]
async fn the_random_delay_is_at_most_a_quarter() {
    let scenario = Scenario::new().reply(Reply::error(500).times(10)).reply(Reply::text("Hello."));
    let received = receive(&Retrying::new(model(scenario)), request("x")).await;
    assert_eq!(received.retries.len(), 10);
    for (retry, least) in received.retries.iter().zip([500, 1000, 2000, 4000, 8000, 16000, 32000]) {
        let delay = retry.delay.as_millis() as u64;
        assert!((least..=least + least / 4).contains(&delay), "{delay}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_answer_ends_the_delay() {
    let script = Arc::new(model(Scenario::new().reply(Reply::error(500).times(5))));
    let model: Arc<dyn Model> = Arc::new(Retrying::new(script.clone()));
    let mut answer = model.ask(request("x"));
    answer.next().await.unwrap().unwrap();
    drop(answer);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(script.turns(), 1);
}

#[tokio::test]
async fn ids_are_unique() {
    let reply = Reply::new().say(Block::tool("Bash", json!({})));
    let model = model(Scenario::new().reply(reply)).ids("later");
    let received = receive(&model, request("x")).await;
    assert_eq!(received.folded.id(), Some("msg_later_0001"));
    assert_eq!(received.folded.content()[0]["id"], "toolu_later_0001_0");
}

pub(super) fn blocks() -> impl Strategy<Value = Block> {
    let text = "\\PC{0,40}";
    prop_oneof![
        (text, 0..4_usize).prop_map(|(text, repeat)| Block::repeated(text, repeat)),
        text.prop_map(Block::thinking),
        (text, text)
            .prop_map(|(key, value)| Block::tool("Bash", json!({ key: [value, null, 1.5] }))),
        Just(Block::tool("Bash", json!({}))),
        text.prop_map(|data| {
            let raw = json!({ "type": "redacted_thinking", "data": data });
            Block::Raw(raw.as_object().unwrap().clone())
        }),
    ]
}

pub(super) fn chunks() -> impl Strategy<Value = Chunk> {
    prop_oneof![
        Just(Chunk::Auto),
        (1..5_usize).prop_map(Chunk::Chars),
        Just(Chunk::Words),
        Just(Chunk::Lines),
        Just(Chunk::Whole)
    ]
}

proptest! {
    #[test]
    fn the_folded_events_are_the_message(
        say in proptest::collection::vec(blocks(), 1..5),
        chunk in chunks(),
    ) {
        let reply = say.into_iter().fold(Reply::new().chunk(chunk), Reply::say);
        let scenario = Scenario::new().reply(reply);
        let mut script = Script::new(scenario.clone()).unwrap();
        let answer = script.answer(&request("x")).unwrap();
        let whole = RenderedMessage::new(&answer, 1).to_json();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let received = runtime.block_on(receive(&model(scenario), request("x")));
        prop_assert!(received.folded.is_whole());
        prop_assert_eq!(received.folded.message(), whole);
    }
}
