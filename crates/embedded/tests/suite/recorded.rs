//! What the CLI was recorded to do, done again.

use std::fs;
use std::path::Path;

use base64::Engine;
use duologue_agent::VERSION;
use duologue_embedded::permission::{Permissions, RuleSource, Verdict};
use duologue_embedded::tools::{StructuredOutputTool, Toolbox};
use duologue_protocol::permission::{PermissionBehavior, PermissionMode};
use duologue_protocol::{RawObject, Wire};
use duologue_testkit::{Recording, recordings};
use serde_json::{Map, Value, json};

use super::support::{judge, place};

const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A call of a tool, and what came of it.
struct Call {
    tool: String,
    input: Value,
    content: Value,
    is_error: Option<bool>,
    result: Value,
}

fn recording(version: &str, name: &str) -> Recording {
    let found = recordings().into_iter().find(|r| r.version == version && r.name == name);
    found.unwrap_or_else(|| panic!("no recording {version}/{name}"))
}

fn lines(recording: &Recording) -> impl Iterator<Item = Value> + '_ {
    let lines = recording.entries.iter().filter(|entry| entry.to_host);
    lines.filter_map(|entry| serde_json::from_str(&entry.line).ok())
}

fn calls(recording: &Recording) -> Vec<Call> {
    let mut begun = Map::new();
    let mut calls = Vec::new();
    for line in lines(recording) {
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_use" {
                begun.insert(block["id"].as_str().unwrap().to_owned(), block.clone());
            }
            if block["type"] == "tool_result" {
                let begun = &begun[block["tool_use_id"].as_str().unwrap()];
                calls.push(Call {
                    tool: begun["name"].as_str().unwrap().to_owned(),
                    input: begun["input"].clone(),
                    content: block["content"].clone(),
                    is_error: block["is_error"].as_bool(),
                    result: line["tool_use_result"].clone(),
                });
            }
        }
    }
    calls
}

/// The same value, with another folder in all texts.
fn moved(value: &Value, from: &str, to: &str) -> Value {
    serde_json::from_str(&value.to_string().replace(from, to)).unwrap()
}

/// Plays all calls of a recording in a folder and compares what comes of them.
async fn play(
    recording: &Recording,
    toolbox: &Toolbox,
    prepare: impl Fn(&Path),
    skip: &[&str],
) -> usize {
    let (folder, context) = place();
    let root = folder.path().canonicalize().unwrap().to_string_lossy().into_owned();
    prepare(folder.path());
    let mut played = 0;
    for call in calls(recording) {
        if skip.contains(&call.tool.as_str()) {
            continue;
        }
        let input = RawObject::of(&moved(&call.input, "/workspace", &root)).unwrap();
        let output = toolbox.run(&call.tool, input, &context).await;
        let block = output.to_block("id").to_value().unwrap();
        let mut result = moved(&output.tool_use_result.to_value().unwrap(), &root, "/workspace");
        if let Some(took) = result.get_mut("durationMs") {
            *took = call.result["durationMs"].clone();
        }
        let about = format!("{} {} {}", recording.name, call.tool, call.input);
        assert_eq!(moved(&block["content"], &root, "/workspace"), call.content, "{about}");
        assert_eq!(output.is_error, call.is_error, "{about}");
        assert_eq!(result, call.result, "{about}");
        played += 1;
    }
    played
}

fn with_files(folder: &Path) {
    fs::create_dir(folder.join("dir")).unwrap();
    fs::write(folder.join("dir/x.txt"), "needle\n").unwrap();
    let picture = base64::engine::general_purpose::STANDARD.decode(PICTURE).unwrap();
    fs::write(folder.join("img.png"), picture).unwrap();
    let notebook = json!({
        "cells": [{ "cell_type": "code", "id": "c1", "source": ["print(1)"], "outputs": [] }],
        "metadata": {},
    });
    fs::write(folder.join("nb.ipynb"), notebook.to_string()).unwrap();
}

#[tokio::test]
async fn files_are_read_written_and_edited() {
    let recording = recording(VERSION, "31-write-edit-read");
    let skip = ["Glob", "Grep", "TodoWrite"];
    assert_eq!(play(&recording, &Toolbox::standard(), with_files, &skip).await, 10);
}

#[tokio::test]
async fn files_are_found_and_things_to_do_noted() {
    // Newer versions do not offer these tools.
    let recording = recording("2.0.77", "31-write-edit-read");
    let skip = ["Bash", "Read", "Edit"];
    let prepare = |folder: &Path| {
        fs::create_dir(folder.join("dir")).unwrap();
        let file = fs::File::create(folder.join("dir/x.txt")).unwrap();
        fs::write(folder.join("dir/x.txt"), "needle\n").unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        fs::write(folder.join("new.txt"), "").unwrap();
    };
    let skip_writes = [&skip[..], &["Write"]].concat();
    assert_eq!(play(&recording, &Toolbox::standard(), prepare, &skip_writes).await, 3);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let recording = recording(VERSION, "20p-bad-tool-input");
    let (_folder, context) = place();
    let root = context.root().to_string_lossy().into_owned();
    for call in calls(&recording) {
        let output = match call.input["__unparsedToolInput"]["raw"].as_str() {
            Some(raw) => duologue_embedded::tools::ToolOutput::unparsable(&call.tool, raw),
            None => {
                let input = moved(&call.input, "/workspace", &root);
                let input = RawObject::of(&input).unwrap();
                Toolbox::standard().run(&call.tool, input, &context).await
            }
        };
        let content = Value::String(output.content.text());
        assert_eq!(moved(&content, &root, "/workspace"), call.content);
        // The order of keys in the list of issues is another.
        if call.tool != "Read" || call.input["nope"].is_null() {
            let result = output.tool_use_result.to_value().unwrap();
            assert_eq!(moved(&result, &root, "/workspace"), call.result);
        }
    }
}

#[tokio::test]
async fn plain_commands_give_what_they_gave() {
    let mut played = 0;
    let names = ["01f-prompt-arg-multi-block", "04e-permission-slow-answer", "17f-long-foreground"];
    let simple = ["touch f3", "touch slow.txt", "echo hi", "mkdir d1", "touch a.txt && sleep 1"];
    for recording in recordings().into_iter().filter(|r| r.is_newest()) {
        for call in calls(&recording) {
            let command = call.input["command"].as_str().unwrap_or_default();
            let ran = call.is_error == Some(false) && call.result.is_object();
            if !ran || !simple.contains(&command) || call.input["run_in_background"] == true {
                continue;
            }
            let (_folder, context) = place();
            let input = RawObject::of(&call.input).unwrap();
            let output = Toolbox::standard().run("Bash", input, &context).await;
            assert_eq!(output.content.to_json().to_value().unwrap(), call.content);
            assert_eq!(output.tool_use_result.to_value().unwrap(), call.result, "{command}");
            played += 1;
        }
    }
    assert!(played >= names.len(), "{played}");
}

#[tokio::test]
async fn structured_output_is_taken() {
    let schema = json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "n": { "type": "number" } },
        "required": ["name", "n"],
        "additionalProperties": false,
    });
    let toolbox = Toolbox::new().with(StructuredOutputTool::new(schema).unwrap());
    let recording = recording(VERSION, "21-json-schema");
    assert!(play(&recording, &toolbox, |_| {}, &[]).await > 0);
}

/// Every request for permission of the recordings, asked again.
#[test]
fn what_is_asked_is_asked_alike() {
    let mut asked = 0;
    for recording in recordings().into_iter().filter(|r| r.is_newest()) {
        let mut permissions = Permissions::new("/workspace");
        match recording.name.as_str() {
            name if name.starts_with("30-mode-acceptEdits") => {
                permissions.set_mode(PermissionMode::AcceptEdits).unwrap();
            }
            name if name.starts_with("30e-mode-plan") => {
                permissions.set_mode(PermissionMode::Plan).unwrap();
            }
            name if name.starts_with("30f") => {
                let rules = "Bash(python3:*),Write";
                permissions.add_rules(rules, PermissionBehavior::Allow, RuleSource::CliArg);
            }
            _ => {}
        }
        for line in lines(&recording) {
            let request = &line["request"];
            if request["subtype"] != "can_use_tool" || request["decision_reason_type"] == "hook" {
                continue;
            }
            let tool = request["tool_name"].as_str().unwrap();
            let verdict = judge(&permissions, Path::new("/workspace"), tool, &request["input"]);
            let about = format!("{} {request}", recording.name);
            let Verdict::Ask(ask) = verdict else { panic!("not asked: {about}") };
            let suggestions = ask.suggestions.as_ref().map(|suggestions| {
                let suggestions = suggestions.iter();
                suggestions.map(|s| serde_json::from_str(&s.to_json()).unwrap()).collect()
            });
            let told = json!({
                "permission_suggestions": suggestions.map(Value::Array),
                "blocked_path": ask.blocked_path,
                "decision_reason": ask.decision_reason,
                "decision_reason_type": ask.decision_reason_type.and_then(|reason| reason.as_str()),
                "description": ask.description,
                "requires_user_interaction": ask.requires_user_interaction.then_some(true),
                "server_policy_ask_only": ask.server_policy_ask_only.then_some(true),
            });
            for (field, value) in told.as_object().unwrap() {
                assert_eq!(*value, request[field], "{field} of {about}");
            }
            asked += 1;
        }
    }
    assert!(asked > 50, "{asked}");
}

/// What the CLI ran without asking.
#[test]
fn what_is_not_asked_is_not_asked() {
    let permissions = Permissions::new("/workspace");
    let mut allowed = 0;
    for recording in recordings().into_iter().filter(|r| r.is_newest()) {
        let mut inputs = Map::new();
        for line in lines(&recording) {
            for block in line["message"]["content"].as_array().into_iter().flatten() {
                if block["type"] == "tool_use" {
                    inputs.insert(block["id"].as_str().unwrap().to_owned(), block.clone());
                }
            }
            for meta in line["tool_result_meta"].as_array().into_iter().flatten() {
                let decision = &meta["permission_decision"];
                let by_itself = decision["decision"] == "accept" && decision["source"] == "config";
                let call = &inputs[meta["id"].as_str().unwrap()];
                let tool = call["name"].as_str().unwrap();
                let by_default = matches!(tool, "Bash" | "Read" | "Agent" | "EnterPlanMode")
                    && decision["reason_type"] != "rule";
                let in_mode = recording.name.starts_with("30") || recording.name.starts_with("08");
                if !by_itself || !by_default || in_mode {
                    continue;
                }
                let verdict = judge(&permissions, Path::new("/workspace"), tool, &call["input"]);
                let Verdict::Allow(reason) = verdict else { panic!("{}: {call}", recording.name) };
                assert_eq!(reason.as_str(), decision["reason_type"].as_str(), "{call}");
                allowed += 1;
            }
        }
    }
    assert!(allowed > 20, "{allowed}");
}
