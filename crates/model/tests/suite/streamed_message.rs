//! Events that no good API sends.

use duologue_model::{
    Block, Event, Prices, Reply, Scenario, ScriptedModel, StreamedMessage, Tokens,
};
use serde_json::{Value, json};

use super::asking::{EVENTS, receive, request};

fn fold(events: &[Value]) -> StreamedMessage {
    let mut folded = StreamedMessage::new();
    for event in events {
        let name = event["type"].as_str().unwrap_or("odd").to_owned();
        folded.add(&Event::new(name, event.to_string()));
    }
    folded
}

#[tokio::test]
async fn input_that_is_not_json_is_kept() {
    let reply = Reply::new().say(Block::tool_with_text("Bash", "{\"command\": \"ls"));
    let model = ScriptedModel::new(Scenario::new().reply(reply)).unwrap();
    let received = receive(&model, request("x")).await;
    let kept = json!({ "__unparsedToolInput": { "raw": "{\"command\": \"ls", "len": 15 } });
    assert_eq!(received.folded.content()[0]["input"], kept);
}

#[test]
fn any_events_are_accepted() {
    let odd = [json!(null), json!([1]), json!("x"), json!({}), json!({ "index": "x" }), json!(7)];
    let names = [&EVENTS[..], &["ping", "new_thing"]].concat();
    let mut folded = StreamedMessage::new();
    for inner in &odd {
        for &name in &names {
            let keys = ["message", "content_block", "delta", "usage"];
            let mut event = json!({ "type": name });
            for key in keys {
                event[key] = inner.clone();
            }
            folded.add(&Event::new(name, event.to_string()));
            folded.add(&Event::new(name, inner.to_string()));
            folded.add(&Event::new(name, "no JSON"));
        }
    }
    assert!(folded.is_whole());
}

#[test]
fn usage_is_the_latest_of_each() {
    let folded = fold(&[
        json!({ "type": "message_start", "message": { "model": "m", "usage": { "input_tokens": 5, "output_tokens": 1 } } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 9, "input_tokens": null } }),
        json!({ "type": "message_stop" }),
    ]);
    assert_eq!((folded.tokens().input, folded.tokens().output), (5, 9));
    assert_eq!((folded.model(), folded.stop_reason()), (Some("m"), Some("end_turn")));
}

#[test]
fn a_new_start_is_a_new_message() {
    let block = |text: &str| json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": text } });
    let stop = json!({ "type": "content_block_stop", "index": 0 });
    let start = json!({ "type": "message_start", "message": { "id": "m" } });
    let folded = fold(&[start.clone(), block("a"), stop.clone(), start, block("b"), stop]);
    assert_eq!(folded.content(), [json!({ "type": "text", "text": "b" })]);
    assert!(!folded.is_whole());
}

#[test]
fn citations_and_unknown_deltas_are_accepted() {
    let delta = |delta: Value| json!({ "type": "content_block_delta", "index": 0, "delta": delta });
    let folded = fold(&[
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "", "citations": null } }),
        delta(json!({ "type": "citations_delta", "citation": { "n": 1 } })),
        delta(json!({ "type": "citations_delta", "citation": { "n": 2 } })),
        delta(json!({ "type": "odd_delta", "odd": "a" })),
        delta(json!({ "type": "odd_delta", "odd": "b" })),
        json!({ "type": "content_block_stop", "index": 0 }),
    ]);
    let block = &folded.content()[0];
    assert_eq!(block["citations"], json!([{ "n": 1 }, { "n": 2 }]));
    assert_eq!(block["odd"], "ab");
}

#[test]
fn the_longest_prefix_decides_the_price() {
    let mut prices = Prices::known();
    let tokens = Tokens::from_usage(&json!({
        "input_tokens": 1_000_000, "output_tokens": 1_000_000, "cache_read_input_tokens": 1_000_000,
        "cache_creation_input_tokens": 2_000_000, "cache_creation": { "ephemeral_1h_input_tokens": 1_000_000 },
    }));
    // 3 + 15 + 0.3 + 3.75 + 6
    let cost = prices.cost("claude-sonnet-4-5", &tokens).unwrap();
    assert!((cost - 28.05).abs() < 1e-9, "{cost}");
    assert_eq!(prices.price("claude-opus-4-20250514").unwrap().input, 15.0);
    assert_eq!(prices.price("claude-opus-4-5-20251101").unwrap().input, 5.0);
    assert_eq!(prices.price("eu.anthropic.claude-haiku-4-5-v1:0").unwrap().input, 1.0);
    // As the CLI counts them.
    let mut all = Tokens::from_usage(&json!({
        "input_tokens": 1000, "output_tokens": 1000, "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 1000,
    }));
    for (model, cost) in [
        ("claude-opus-5-5", 0.0292),
        ("claude-sonnet-5-5", 0.0146),
        ("claude-sonnet-5", 0.0147),
        ("claude-haiku-5-5", 0.000_735),
        ("claude-fable-5-2", 0.0582),
    ] {
        let counted = prices.cost(model, &all).unwrap();
        assert!((counted - cost).abs() < 1e-9, "{model}: {counted}");
    }
    all = Tokens::from_usage(&json!({ "input_tokens": 150_000, "output_tokens": 1000 }));
    assert!((prices.cost("claude-haiku-5-5", &all).unwrap() - 0.0775).abs() < 1e-9);
    assert_eq!(prices.price("gpt"), None);
    prices.add_toml("[\"claude-opus-4-5\"]\ninput = 1\noutput = 2\ncache_read = 3").unwrap();
    assert_eq!(prices.price("claude-opus-4-5").unwrap().cache_read, Some(3.0));
    for wrong in
        ["[a]\ninput = 1", "[a]\ninput = 1\noutput = -1", "[a]\ninput=1\noutput=1\nodd=1", "x"]
    {
        assert!(prices.add_toml(wrong).is_err(), "{wrong}");
    }
    let missing = prices.add_file(std::path::Path::new("no/such/file")).unwrap_err();
    assert!(missing.to_string().starts_with("no/such/file: "), "{missing}");
}
