//! What sessions used, and their conversations as events.

use std::fs;
use std::path::Path;

use duologue_protocol::transcript::Event;
use duologue_sessions::{ForkOptions, Sessions, UsageOptions};
use serde_json::{Value, json};

use super::{ID, Place, assistant, user};

const OTHER: &str = "22222222-2222-4333-8444-555555555555";

fn answer(uuid: &str, parent: &str, id: &str, output: u64) -> Value {
    let mut answer = assistant(uuid, Some(parent), "Yes.");
    answer["requestId"] = json!(format!("req_{id}"));
    answer["message"]["id"] = json!(id);
    answer["message"]["model"] = json!("some-model");
    answer["message"]["usage"] = json!({ "input_tokens": 10, "output_tokens": output,
        "cache_read_input_tokens": 5, "cache_creation_input_tokens": 7,
        "cache_creation": { "ephemeral_1h_input_tokens": 3 } });
    answer
}

fn conversation() -> Vec<Value> {
    vec![
        user("a", None, "Really?"),
        // Two blocks of one response: the last has all of its tokens.
        answer("b", "a", "msg_1", 1),
        answer("c", "b", "msg_1", 20),
        user("d", Some("c"), "Sure?"),
        answer("e", "d", "msg_2", 30),
    ]
}

#[test]
fn a_response_of_several_entries_counts_once() {
    let place = Place::new();
    let session = place.write(ID, &conversation());
    let usage = session.usage(&UsageOptions::default()).unwrap();
    assert_eq!((usage.turns, usage.spent.responses, usage.spent.unpriced), (2, 2, 2));
    let tokens = usage.spent.tokens;
    assert_eq!((tokens.input, tokens.output, tokens.cache_read), (20, 50, 10));
    assert_eq!((tokens.cache_write, tokens.cache_write_1h), (14, 6));
}

#[test]
fn forks_copies_and_sub_agents_count_once() {
    let place = Place::new();
    let session = place.write(ID, &conversation());
    let options = || UsageOptions::default().price(|_, tokens| Some(tokens.output as f64));
    let alone = place.sessions().usage(&options()).unwrap();
    session.fork(&ForkOptions::default()).unwrap();
    place.write(OTHER, &conversation());
    assert_eq!(place.sessions().usage(&options()).unwrap(), alone);
    assert_eq!(alone.rows.len(), 1);
    assert_eq!(alone.rows[0].day, "2026-01-02");
    assert_eq!(alone.rows[0].project, "-my");
    assert_eq!(alone.rows[0].spent.cost_usd, 50.0);

    let agents = session.folder().join("subagents");
    fs::create_dir_all(&agents).unwrap();
    let mut said = answer("x", "y", "msg_3", 4);
    said["isSidechain"] = json!(true);
    fs::write(agents.join("agent-1.jsonl"), format!("{said}\n")).unwrap();
    assert_eq!(session.usage(&options()).unwrap().spent.cost_usd, 54.0);
    assert_eq!(session.usage(&options()).unwrap().turns, 2);
    assert_eq!(place.sessions().usage(&options()).unwrap().rows[0].spent.cost_usd, 54.0);
}

#[test]
fn usage_has_a_beginning_and_an_end() {
    let place = Place::new();
    place.write(ID, &conversation());
    let time = 1_767_323_045_000;
    for (options, rows) in [
        (UsageOptions::default().since(time), 1),
        (UsageOptions::default().since(time + 1), 0),
        (UsageOptions::default().until(time), 0),
        (UsageOptions::default().until(time + 1), 1),
    ] {
        assert_eq!(place.sessions().usage(&options).unwrap().rows.len(), rows, "{options:?}");
    }
}

#[test]
fn tokens_are_those_that_claude_code_counted() {
    // The newest version counts them in its transcripts.
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut folders = std::fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path());
    let session = folders.find_map(|folder| {
        Sessions::in_config_dir(folder).get("00021325-0000-4000-8000-000000000001").ok()
    });
    let session = session.unwrap();
    let state = session.entries().unwrap().map(Result::unwrap);
    let state = state.filter(|entry| entry.kind().as_deref() == Some("cost-state")).last();
    let state = state.unwrap().json().unwrap().to_value().unwrap();
    let counted = &state["modelUsage"]["claude-opus-5-5"];
    let tokens = session.usage(&UsageOptions::default()).unwrap().spent.tokens;
    assert_eq!(counted["inputTokens"], tokens.input);
    assert_eq!(counted["outputTokens"], tokens.output);
}

/// The names of the events, those of synthesised lines with a star.
fn names(place: &Place) -> Vec<String> {
    let events = place.sessions().get(ID).unwrap().events().unwrap();
    events
        .map(|event| {
            let event = event.unwrap();
            let name = serde_json::to_value(&event.event).unwrap()["event"].clone();
            format!("{}{}", name.as_str().unwrap(), if event.synthesised { "*" } else { "" })
        })
        .collect()
}

#[test]
fn a_session_gives_the_events_of_a_live_one() {
    let place = Place::new();
    place.write(ID, &conversation());
    let turn = |first: &[&str]| -> Vec<String> {
        let rest = ["turn_started*", "prompt_accepted", "text", "turn_finished*"];
        first.iter().chain(&rest).map(|name| (*name).to_owned()).collect()
    };
    let names = names(&place);
    let mut expected = vec!["control_request*".to_owned(), "control_response*".to_owned()];
    expected.extend(turn(&["prompt_queued", "run_started*"]));
    // The second entry of the first response.
    expected.insert(expected.len() - 1, "text".to_owned());
    expected.extend(turn(&["prompt_queued"]));
    expected.push("run_ended*".to_owned());
    assert_eq!(names, expected);
}

#[test]
fn a_turn_without_an_end_stays_open_and_an_interrupted_one_is_marked() {
    let place = Place::new();
    let open = [user("a", None, "Really?")];
    place.write(ID, &open);
    assert!(!names(&place).iter().any(|name| name.starts_with("turn_finished")));
    let mut interrupted = conversation();
    interrupted.push(user("f", Some("e"), "[Request interrupted by user]"));
    let session = place.write(ID, &interrupted);
    let last =
        session.events().unwrap().map(Result::unwrap).filter_map(|event| match event.event {
            Event::TurnFinished(turn) => Some(turn),
            _ => None,
        });
    let last = last.last().unwrap();
    assert!(last.is_error);
    assert_eq!(last.subtype.unwrap(), "error_during_execution");
}

#[test]
fn the_beginning_of_an_id_finds_a_session() {
    let place = Place::new();
    place.write(ID, &conversation());
    place.write(OTHER, &conversation());
    assert_eq!(place.sessions().find("1111").unwrap().id(), ID);
    assert_eq!(place.sessions().find(OTHER).unwrap().id(), OTHER);
    for wrong in ["111", "", "../1", "3333", "1111-", "xyzw"] {
        assert!(place.sessions().find(wrong).is_err(), "{wrong}");
    }
    place.write("11119999-2222-4333-8444-555555555555", &conversation());
    let error = place.sessions().find("1111").unwrap_err();
    assert!(matches!(error, duologue_sessions::Error::Ambiguous { ids, .. } if ids.len() == 2));
}
