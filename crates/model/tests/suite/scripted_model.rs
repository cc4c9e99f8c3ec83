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

use super::asking::{hear, request, says};

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
    let none = hear(&model, request("c")).await.error.unwrap();
    assert!(matches!(none, ModelError::Script(_)), "{none}");
    assert_eq!(
        (none.status(), none.word(), none.is_transient()),
        (Some(400), "invalid_request", false)
    );
}

#[tokio::test]
async fn lines_come_before_what_is_said() {
    let scenario = Scenario::new()
        .reply(Reply::new().line("{\"type\":\"auth_status\"}"))
        .reply(Reply::text("Hello.").line("{}").line("[]"));
    let model = model(scenario);
    let only = hear(&model, request("a")).await;
    assert_eq!((only.lines.len(), only.events.len(), only.error), (1, 0, None));
    let both = hear(&model, request("b")).await;
    assert_eq!(both.lines, ["{}", "[]"]);
    assert_eq!(both.folded.text(), "Hello.");
}

#[tokio::test]
async fn an_agent_says_who_it_is() {
    let scenario = Scenario::new()
        .agent("reader", Who::system("never said"))
        .reply(Reply::text("main"))
        .reply(Reply::text("reader").agent("reader"))
        .reply(Reply::text("sub").agent("sub"))
        .reply(Reply::text("summary").agent("summary"));
    let model = model(scenario);
    let sub = || request("x").with_purpose(Purpose::Sub);
    assert_eq!(hear(&model, sub().with_agent("reader")).await.folded.text(), "reader");
    assert_eq!(hear(&model, sub().with_agent("somebody")).await.folded.text(), "sub");
    let summary = request("x").with_purpose(Purpose::Summary);
    assert_eq!(hear(&model, summary).await.folded.text(), "summary");
    assert_eq!(says(&model, "x").await, "main");
}

#[tokio::test(start_paused = true)]
async fn delays_and_pauses_are_kept() {
    let reply = Reply::text("abc").chunk(Chunk::Chars(1)).delay_ms(5_000).pause_ms(1_000);
    let start = Instant::now();
    let heard = hear(&model(Scenario::new().reply(reply)), request("x")).await;
    assert_eq!(heard.events.len(), 8);
    assert_eq!(start.elapsed(), Duration::from_secs(13));
}

#[tokio::test]
async fn an_answer_is_cut_where_the_script_says() {
    for (after, given) in [(0, 0), (3, 3), (100, 6)] {
        let model = model(Scenario::new().reply(Reply::text("Hello.").cut_after(after)));
        let heard = hear(&model, request("x")).await;
        assert_eq!(heard.events.len(), given);
        assert!(matches!(heard.error, Some(ModelError::Cut(_))));
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
async fn errors_come_at_once_or_in_the_midst() {
    let model =
        model(Scenario::new().reply(Reply::error(401)).reply(Reply::text("Well").then_error(529)));
    let error = hear(&model, request("x")).await.error.unwrap();
    assert_eq!((error.status(), error.word()), (Some(401), "authentication_failed"));
    assert_eq!(error.to_string(), "401 invalid x-api-key");
    let midst = hear(&model, request("x")).await;
    assert_eq!(midst.folded.text(), "Well");
    let error = midst.error.unwrap();
    assert_eq!((error.status(), error.word()), (None, "unknown"));
    assert_eq!(error.api().unwrap().kind, "overloaded_error");
}

async fn delays(scenario: Scenario, most: u32) -> (Vec<u64>, Option<ModelError>, String) {
    let model = Retrying::new(model(scenario)).without_jitter().max_retries(most);
    let start = Instant::now();
    let heard = hear(&model, request("x")).await;
    let delays: Vec<u64> =
        heard.retries.iter().map(|retry| retry.delay.as_millis() as u64).collect();
    assert_eq!(start.elapsed().as_millis() as u64, delays.iter().sum::<u64>());
    let attempts: Vec<u32> = heard.retries.iter().map(|retry| retry.attempt).collect();
    assert_eq!(attempts, (1..=delays.len() as u32).collect::<Vec<_>>());
    (delays, heard.error, heard.folded.text())
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again() {
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
async fn the_api_may_say_how_long_to_wait() {
    let busy = duologue_model::ApiError::new(429).retry_after(7);
    let scenario = Scenario::new().reply(Reply::error(busy)).reply(Reply::text("Hello."));
    assert_eq!(delays(scenario, 10).await.0, [7000]);
}

#[tokio::test(start_paused = true)]
async fn a_cut_is_tried_again_unless_something_was_said() {
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
fn a_variable_says_how_often() {
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
async fn chance_adds_up_to_a_quarter() {
    let scenario = Scenario::new().reply(Reply::error(500).times(10)).reply(Reply::text("Hello."));
    let heard = hear(&Retrying::new(model(scenario)), request("x")).await;
    assert_eq!(heard.retries.len(), 10);
    for (retry, least) in heard.retries.iter().zip([500, 1000, 2000, 4000, 8000, 16000, 32000]) {
        let delay = retry.delay.as_millis() as u64;
        assert!((least..=least + least / 4).contains(&delay), "{delay}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_who_leaves_while_it_waits_ends_it() {
    let script = Arc::new(model(Scenario::new().reply(Reply::error(500).times(5))));
    let model: Arc<dyn Model> = Arc::new(Retrying::new(script.clone()));
    let mut answer = model.ask(request("x"));
    answer.next().await.unwrap().unwrap();
    drop(answer);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(script.turns(), 1);
}

#[tokio::test]
async fn ids_can_be_told_apart() {
    let reply = Reply::new().say(Block::tool("Bash", json!({})));
    let model = model(Scenario::new().reply(reply)).ids("later");
    let heard = hear(&model, request("x")).await;
    assert_eq!(heard.folded.id(), Some("msg_later_0001"));
    assert_eq!(heard.folded.content()[0]["id"], "toolu_later_0001_0");
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
    fn what_is_folded_is_the_message(
        say in proptest::collection::vec(blocks(), 1..5),
        chunk in chunks(),
    ) {
        let reply = say.into_iter().fold(Reply::new().chunk(chunk), Reply::say);
        let scenario = Scenario::new().reply(reply);
        let mut script = Script::new(scenario.clone()).unwrap();
        let answer = script.answer(&request("x")).unwrap();
        let whole = RenderedMessage::new(&answer, 1).to_json();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let heard = runtime.block_on(hear(&model(scenario), request("x")));
        prop_assert!(heard.folded.is_whole());
        prop_assert_eq!(heard.folded.message(), whole);
    }
}
