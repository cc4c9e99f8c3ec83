//! Every `tool_use_result` of the recordings reads as the output of its tool.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use duologue_testkit::json::value;
use duologue_testkit::recordings;
use duologue_wire::content::ContentBlock;
use duologue_wire::lines::User;
use duologue_wire::tool::ToolOutput;
use duologue_wire::{Finding, Line, RawJson, ToHost};

/// The call that the line answers.
fn call_of(line: &User) -> Option<String> {
    let content = line.message.value()?.content.value()?;
    content.blocks().iter().find_map(|block| match block {
        ContentBlock::ToolResult(result) => result.tool_use_id.as_str().map(str::to_owned),
        _ => None,
    })
}

/// Calls `visit` with the version of the CLI, the name of the tool, and its output.
fn each_output(mut visit: impl FnMut(&str, &str, &RawJson)) {
    for recording in recordings() {
        let mut names = HashMap::new();
        for entry in recording.entries.iter().filter(|entry| entry.to_host) {
            match Line::from(entry.line.as_str()).to_host().into_message() {
                Some(ToHost::Assistant(line)) => {
                    let message = line.message.into_value().unwrap_or_default();
                    for block in message.content.items() {
                        if let ContentBlock::ToolUse(call) = block {
                            names.insert(call.id.to_string(), call.name.to_string());
                        }
                    }
                }
                Some(ToHost::User(line)) => {
                    if let Some(output) = line.tool_use_result.value()
                        && let Some(name) = call_of(&line).and_then(|id| names.get(&id).cloned())
                    {
                        visit(&recording.version, &name, output);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Tools that are not built in, or whose output is not typed.
const RAW: &[&str] = &["NoSuchTool", "StructuredOutput"];

#[test]
fn every_recorded_output_is_read_and_written_again() {
    let newest = recordings().pop().unwrap().version;
    let mut typed = BTreeMap::<String, usize>::new();
    let mut errors = 0;
    let mut unknown = BTreeSet::new();
    each_output(|version, name, raw| {
        let output = ToolOutput::read(name, raw);
        assert_eq!(value(&output.to_json()), value(raw.as_json()), "{name}");
        match output {
            ToolOutput::Other { .. } => {
                assert!(name.starts_with("mcp__") || RAW.contains(&name), "{name}: {raw:?}");
            }
            ToolOutput::Error(_) => errors += 1,
            output => {
                *typed.entry(name.to_owned()).or_default() += 1;
                output.survey(|path, finding| {
                    if version == newest && finding == Finding::UnknownField {
                        unknown.insert(format!("{name}: {path}"));
                    }
                    assert!(!matches!(finding, Finding::UnknownTag { .. }), "{name}: {path}");
                });
            }
        }
    });
    assert_eq!(unknown, BTreeSet::new());
    let tools: Vec<&str> = typed.keys().map(String::as_str).collect();
    assert_eq!(
        tools,
        [
            "Agent",
            "AskUserQuestion",
            "Bash",
            "Edit",
            "EnterPlanMode",
            "ExitPlanMode",
            "Glob",
            "Grep",
            "Read",
            "Task",
            "TodoWrite",
            "ToolSearch",
            "Write",
        ]
    );
    assert!(typed.values().sum::<usize>() > 120 && errors > 60, "{typed:?} {errors}");
}

#[test]
fn an_output_of_another_form_stays_raw() {
    for (name, json) in [
        ("Bash", r#"{"stdout":7}"#),
        ("Bash", "[1,2]"),
        ("Read", r#"{"file":{}}"#),
        ("Glob", r#"{"filenames":"a.txt"}"#),
        ("mcp__server__tool", r#""text""#),
        ("NewTool", "{}"),
    ] {
        let raw = RawJson::parse(json).unwrap();
        let output = ToolOutput::read(name, &raw);
        assert_eq!(output, ToolOutput::Other { name: name.into(), output: raw }, "{name} {json}");
    }
    let raw = RawJson::parse(r#"{"type":"hologram","file":{}}"#).unwrap();
    let ToolOutput::Read(output) = ToolOutput::read("Read", &raw) else { panic!("{raw:?}") };
    assert!(!output.is_known());
}
