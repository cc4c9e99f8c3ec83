//! What the recordings of the real CLI come to.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use duologue_protocol::transcript::{Event, Transcript};
use duologue_protocol::{Direction, Line, Wire};
use duologue_testkit::{Recording, recordings};
use serde_json::Value;

use duologue_testkit::json::value;

fn events(recording: &Recording, both: bool) -> Vec<Event> {
    let mut transcript = Transcript::new();
    let mut events = Vec::new();
    for entry in &recording.entries {
        let direction = if entry.to_host { Direction::ToHost } else { Direction::ToAgent };
        if entry.to_host || both {
            transcript.handle_line(direction, &Line::from(entry.line.as_str()));
            events.extend(std::iter::from_fn(|| transcript.poll_event()));
        }
    }
    transcript.handle_end();
    events.extend(std::iter::from_fn(|| transcript.poll_event()));
    events
}

/// Counts by message, kind and content, straight from the lines.
fn blocks_on_the_wire(recording: &Recording) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let mut seen = HashSet::new();
    for entry in recording.entries.iter().filter(|entry| entry.to_host) {
        let Ok(line) = serde_json::from_str::<Value>(&entry.line) else { continue };
        if line["type"] != "assistant" || !seen.insert(line["uuid"].to_string()) {
            continue;
        }
        for block in line["message"]["content"].as_array().unwrap() {
            let what = match block["type"].as_str().unwrap() {
                "text" => format!("text {}", block["text"]),
                "thinking" => format!("thinking {}", block["thinking"]),
                "tool_use" => format!("tool_call {} {}", block["id"], block["name"]),
                other => format!("block {other}"),
            };
            let parent = &line["parent_tool_use_id"];
            *counts.entry(format!("{} {parent} {what}", line["message"]["id"])).or_default() += 1;
        }
    }
    counts
}

#[test]
fn every_block_appears_exactly_once() {
    let mut blocks = 0;
    for recording in recordings() {
        for both in [false, true] {
            let mut counts = BTreeMap::<String, usize>::new();
            for event in events(&recording, both) {
                let json: Value = match serde_json::from_str(&event.to_json()) {
                    Ok(json) => json,
                    // Lone surrogates: 28b is checked by eye, below and in its snapshot.
                    Err(_) => continue,
                };
                let what = match event.tag() {
                    "text" => format!("text {}", json["text"]),
                    "thinking" => format!("thinking {}", json["text"]),
                    "tool_call" => format!("tool_call {} {}", json["id"], json["name"]),
                    "block" => format!("block {}", json["kind"].as_str().unwrap()),
                    _ => continue,
                };
                let key = format!("{} {} {what}", json["message_id"], json["agent"]);
                *counts.entry(key).or_default() += 1;
            }
            let expected = blocks_on_the_wire(&recording);
            blocks += expected.len();
            assert_eq!(counts, expected, "{} {}", recording.version, recording.name);
        }
    }
    assert!(blocks > 1_000, "{blocks}");
}

#[test]
fn every_result_ends_one_turn() {
    for recording in recordings() {
        let results = recording
            .entries
            .iter()
            .filter(|entry| entry.to_host)
            .filter(|entry| Line::from(entry.line.as_str()).to_host().known().is_some())
            .filter(|entry| value(&entry.line)["type"] == "result")
            .count();
        for both in [false, true] {
            let events = events(&recording, both);
            let finished: Vec<u64> = events
                .iter()
                .filter(|event| matches!(event, Event::TurnFinished(_)))
                .filter_map(Event::turn)
                .collect();
            assert_eq!(finished.len(), results, "{} {}", recording.version, recording.name);
            let distinct: HashSet<&u64> = finished.iter().collect();
            assert_eq!(distinct.len(), results, "{} {}", recording.version, recording.name);
        }
    }
}

#[test]
fn events_can_be_read_again() {
    for recording in recordings() {
        for event in events(&recording, true) {
            assert_eq!(Event::from_json(&event.to_json()).unwrap(), event);
        }
    }
}

/// One line per event, short enough to be read.
fn told(event: &Event) -> Option<String> {
    let Ok(mut value) = serde_json::from_str::<Value>(&event.to_json()) else {
        return Some(format!("{} with a lone surrogate", event.tag()));
    };
    value.sort_all_objects();
    let Value::Object(mut fields) = value else { return None };
    let event = fields.remove("event")?;
    let turn = fields.remove("turn").map_or(String::new(), |turn| turn.to_string());
    let agent = fields.remove("agent").and_then(|agent| agent.as_str().map(str::to_owned));
    let mut line = format!("{turn:>2} {}", event.as_str()?);
    if let Some(agent) = agent {
        let _ = write!(line, " in {agent}");
    }
    // What differs from run to run, or says nothing new.
    for name in ["session_id", "structured", "suggestions", "usage", "models", "agents", "version"]
    {
        fields.remove(name);
    }
    for (name, value) in fields.into_iter().collect::<BTreeMap<_, _>>() {
        let mut text = match value {
            Value::String(text) => format!("{text:?}"),
            other => other.to_string(),
        };
        if text.chars().count() > 100 {
            text = text.chars().take(100).chain("…".chars()).collect();
        }
        let _ = write!(line, " {name}={text}");
    }
    Some(line)
}

/// The events of every recording, as they were read and found right. After a change that is meant,
/// run with `UPDATE_EVENTS=1` and read the difference.
#[test]
fn the_events_of_every_recording() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/events");
    let update = std::env::var_os("UPDATE_EVENTS").is_some();
    let mut wrong = Vec::new();
    for recording in recordings() {
        let path = root.join(&recording.version).join(format!("{}.txt", recording.name));
        let found: String = events(&recording, true)
            .iter()
            .filter(|event| !event.is_delta())
            .filter_map(told)
            .map(|line| line + "\n")
            .collect();
        if update {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &found).unwrap();
        } else if fs::read_to_string(&path).ok().as_deref() != Some(found.as_str()) {
            wrong.push(path);
        }
    }
    assert!(wrong.is_empty(), "other events than before, see the test's comment: {wrong:#?}");
}
