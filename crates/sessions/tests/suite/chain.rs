//! The conversation in a tree of entries.

use std::collections::HashMap;
use std::fs;

use duologue_sessions::MessageOptions;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ID, Place, assistant, texts, user};

#[test]
fn sub_agents_are_found_by_their_call() {
    let place = Place::new();
    let session = place.write(ID, &[user("a", None, "Hello")]);
    let agents = session.folder().join("subagents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("agent-x1.jsonl"), format!("{}\n", user("k", None, "Task"))).unwrap();
    let meta = json!({ "toolUseId": "toolu_1", "agentType": "helper", "description": "Count" });
    fs::write(agents.join("agent-x1.meta.json"), meta.to_string()).unwrap();
    let agent = session.subagent_of_call("toolu_1").unwrap().unwrap();
    assert_eq!((agent.id.as_str(), agent.agent_type.as_deref()), ("x1", Some("helper")));
    let message = agent.messages(&MessageOptions::default()).unwrap().next().unwrap().unwrap();
    assert_eq!(message.parent_tool_use_id.as_deref(), Some("toolu_1"));
    assert_eq!(session.subagent_of_call("toolu_2").unwrap(), None);
    assert!(session.subagent("../x1").is_err());
}

/// A second implementation that is as simple as possible: the newest end of the tree, and everything above it.
fn naive(entries: &[Value]) -> Vec<String> {
    let by_uuid: HashMap<&str, &Value> =
        entries.iter().map(|entry| (entry["uuid"].as_str().unwrap(), entry)).collect();
    let belongs = |entry: &&Value| entry["isSidechain"] != true && entry["type"] != "progress";
    let is_end = |entry: &&Value| {
        !entries.iter().filter(belongs).any(|other| other["parentUuid"] == entry["uuid"])
    };
    let said = |entry: &Value| entry["type"] == "user" || entry["type"] == "assistant";
    let above =
        |entry: &Value| entry["parentUuid"].as_str().and_then(|uuid| by_uuid.get(uuid).copied());
    for end in entries.iter().rev().filter(belongs).filter(is_end) {
        let mut leaf = Some(end);
        while let Some(entry) = leaf.filter(|entry| !said(entry)) {
            leaf = above(entry);
        }
        let Some(leaf) = leaf else { continue };
        let mut chain = Vec::new();
        let mut at = Some(leaf);
        while let Some(entry) = at {
            if said(entry) && entry["isSidechain"] != true {
                chain.push(entry["uuid"].as_str().unwrap().to_owned());
            }
            at = above(entry);
        }
        chain.reverse();
        return chain;
    }
    Vec::new()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_conversation_is_that_of_a_naive_model(
        nodes in proptest::collection::vec((0_usize..20, 0_u8..8, any::<bool>()), 1..20)
    ) {
        let names: Vec<String> = (0..nodes.len()).map(|at| format!("n{at}")).collect();
        let entries: Vec<Value> = nodes.iter().enumerate().map(|(at, (parent, kind, side))| {
            let (name, parent) = (&names[at], names[..at].get(*parent).map(String::as_str));
            let mut entry = match kind {
                0..=2 => user(name, parent, name),
                3..=5 => assistant(name, parent, name),
                6 => json!({ "type": "progress", "uuid": name, "parentUuid": parent }),
                _ => json!({ "type": "system", "uuid": name, "parentUuid": parent }),
            };
            if *side && kind % 3 == 0 {
                entry["isSidechain"] = json!(true);
            }
            entry
        }).collect();
        let place = Place::new();
        let session = place.write(ID, &entries);
        let all_aside = entries.iter().all(|entry| entry["isSidechain"] == true || entry["message"].is_null());
        prop_assume!(!all_aside);
        prop_assert_eq!(texts(&session), naive(&entries));
    }
}

/// The entries with the parents that they have after all compactions, or none if they form a circle. Each compaction looks at
/// all entries.
fn relinked(entries: &[Value]) -> Option<Vec<Value>> {
    let mut entries = entries.to_vec();
    let is_there = |entries: &[Value], uuid: &Value| entries.iter().any(|it| it["uuid"] == *uuid);
    for at in 0..entries.len() {
        let segment = entries[at]["compactMetadata"]["preservedSegment"].clone();
        let Some(segment) = segment.as_object() else { continue };
        let [anchor, head, tail] = ["anchorUuid", "headUuid", "tailUuid"].map(|it| &segment[it]);
        let has_anchor = is_there(&entries, anchor);
        if let Some(head) = entries.iter_mut().find(|it| it["uuid"] == *head) {
            head["parentUuid"] = if has_anchor { anchor.clone() } else { json!("lost") };
        }
        let tail = if is_there(&entries, tail) { tail.clone() } else { json!("lost") };
        for entry in &mut entries {
            if entry["parentUuid"] == *anchor && entry["uuid"] != *head {
                entry["parentUuid"] = tail.clone();
            }
        }
    }
    let parents: HashMap<String, Value> = entries
        .iter()
        .map(|it| (it["uuid"].as_str().unwrap().to_owned(), it["parentUuid"].clone()))
        .collect();
    let is_finite = |entry: &Value| {
        let mut above = entry["parentUuid"].as_str();
        for _ in 0..=parents.len() {
            let Some(uuid) = above else { return true };
            above = parents.get(uuid).and_then(Value::as_str);
        }
        false
    };
    entries.iter().all(is_finite).then_some(entries)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn many_compactions_give_what_one_at_a_time_gives(
        nodes in proptest::collection::vec((0_usize..16, 0_u8..6, [0_usize..18, 0..18, 0..18]), 1..16)
    ) {
        let name = |at: usize| format!("n{at}");
        let entries: Vec<Value> = nodes.iter().enumerate().map(|(at, (parent, kind, kept))| {
            let parent = (*parent < at).then(|| name(*parent));
            match kind {
                0 | 1 => user(&name(at), parent.as_deref(), &name(at)),
                2 | 3 => assistant(&name(at), parent.as_deref(), &name(at)),
                _ => {
                    // Some of these names belong to no entry.
                    let [anchor, head, tail] = kept.map(name);
                    let segment = json!({ "anchorUuid": anchor, "headUuid": head, "tailUuid": tail });
                    json!({ "type": "system", "subtype": "compact_boundary", "uuid": name(at),
                        "parentUuid": parent, "compactMetadata": { "preservedSegment": segment } })
                }
            }
        }).collect();
        let place = Place::new();
        if let Some(relinked) = relinked(&entries) {
            let session = place.write(ID, &entries);
            prop_assert_eq!(texts(&session), naive(&relinked));
        }
    }
}
