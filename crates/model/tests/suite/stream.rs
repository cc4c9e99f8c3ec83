//! The events of a streamed reply.

use duologue_model::{Block, Chunk, RenderedMessage, Reply, Request, Scenario, Script, Usage};
use serde_json::{Value, json};

use super::client::asks;

/// The events of a reply, and the whole message.
fn render(reply: Reply) -> (Vec<Value>, Value) {
    let mut script = Script::new(Scenario::new().reply(reply)).unwrap();
    let answer = script.answer(&Request::new(asks("x")).unwrap()).unwrap();
    let message = RenderedMessage::new(&answer, 1);
    let events =
        message.events().into_iter().map(|event| serde_json::from_str(&event.data).unwrap());
    (events.collect(), message.to_json())
}

fn deltas(events: &[Value], field: &str) -> Vec<String> {
    let found = events.iter().filter_map(|event| event["delta"][field].as_str());
    found.map(str::to_owned).collect()
}

#[test]
fn every_kind_of_block_has_a_start_deltas_and_a_stop() {
    let raw = json!({ "type": "redacted_thinking", "data": "abc" });
    let (events, whole) = render(
        Reply::new()
            .say(Block::thinking("Hm."))
            .say("Hello.")
            .say(Block::tool("Bash", json!({ "command": "ls" })))
            .say(Block::Raw(raw.as_object().unwrap().clone()))
            .usage(Usage::new(100, 20)),
    );
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let (start, delta, stop) = ("content_block_start", "content_block_delta", "content_block_stop");
    assert_eq!(
        types,
        [
            "message_start",
            start,
            delta,
            delta,
            stop,
            start,
            delta,
            stop,
            start,
            delta,
            stop,
            start,
            stop,
            "message_delta",
            "message_stop"
        ]
    );
    let message = &events[0]["message"];
    assert_eq!(message["model"], "claude-test");
    assert_eq!(message["content"], json!([]));
    assert_eq!(message["stop_reason"], Value::Null);
    assert_eq!(message["usage"]["input_tokens"], 100);
    assert_eq!(events[2]["delta"], json!({ "type": "thinking_delta", "thinking": "Hm." }));
    assert_eq!(events[3]["delta"]["type"], "signature_delta");
    assert_eq!(
        events[8]["content_block"],
        json!({ "type": "tool_use", "id": "toolu_script_0001_2", "name": "Bash", "input": {} })
    );
    assert_eq!(events[9]["delta"]["partial_json"], r#"{"command":"ls"}"#);
    assert_eq!(events[11]["content_block"], raw);
    assert_eq!(events[13]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[13]["usage"]["output_tokens"], 20);

    let types: Vec<&Value> =
        whole["content"].as_array().unwrap().iter().map(|b| &b["type"]).collect();
    assert_eq!(types, ["thinking", "text", "tool_use", "redacted_thinking"]);
    assert_eq!(whole["content"][2]["input"], json!({ "command": "ls" }));
    assert_eq!(whole["stop_reason"], "tool_use");
    assert_eq!(whole["id"], message["id"]);
}

#[test]
fn texts_are_cut_as_the_scenario_says() {
    let text = "Größe 😀 two\nthree four";
    let pieces = |chunk| deltas(&render(Reply::text(text).chunk(chunk)).0, "text");
    assert_eq!(pieces(Chunk::Whole), [text]);
    assert_eq!(pieces(Chunk::Auto), [text]);
    assert_eq!(pieces(Chunk::Words), ["Größe ", "😀 ", "two\nthree ", "four"]);
    assert_eq!(pieces(Chunk::Lines), ["Größe 😀 two\n", "three four"]);
    let single = pieces(Chunk::Chars(1));
    assert_eq!(single.len(), text.chars().count());
    assert_eq!(single.concat(), text);
}

#[test]
fn a_huge_text_is_few_deltas() {
    let (events, whole) = render(Reply::new().say(Block::repeated("0123456789", 100_000)));
    let pieces = deltas(&events, "text");
    assert_eq!(pieces.len(), 200);
    assert_eq!(pieces.concat().len(), 1_000_000);
    assert_eq!(whole["content"][0]["text"].as_str().unwrap(), pieces.concat());
}

#[test]
fn input_that_is_not_json_is_sent_unchanged() {
    let (events, whole) = render(Reply::new().say(Block::tool_with_text("Bash", "{\"comm")));
    assert_eq!(deltas(&events, "partial_json"), ["{\"comm"]);
    assert_eq!(whole["content"][0]["input"], json!({}));
}

#[test]
fn an_error_ends_the_stream() {
    let (events, _) = render(Reply::text("Well").then_error(529));
    let last = events.last().unwrap();
    assert_eq!(
        *last,
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } })
    );
    assert!(!events.iter().any(|event| event["type"] == "message_stop"));
}
