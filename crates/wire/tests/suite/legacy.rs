//! Legacy: every example of the oldest descriptions of the protocol is known, without unknown fields.

use std::fs;
use std::path::Path;

use duologue_testkit::json::value;
use duologue_wire::control::{AgentRequestReply, HostRequestReply, Response};
use duologue_wire::legacy::decode_result;
use duologue_wire::{Decoded, Line, RawJson, ToAgent, ToHost, Wire};
use serde_json::Value;

use super::support::{legacy_paths, unknowns};

struct Example {
    to_host: bool,
    /// The subtype of the request that this line answers.
    answers: Option<String>,
    line: Line,
}

fn examples(document: &str) -> Vec<Example> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/legacy/{document}.ndjson"));
    let read = |line: &str| {
        let example: Value = serde_json::from_str(line).unwrap();
        Example {
            to_host: example["dir"] == "out",
            answers: example["answers"].as_str().map(str::to_owned),
            line: Line::from(example["line"].to_string()),
        }
    };
    fs::read_to_string(path).unwrap().lines().map(read).collect()
}

fn known<M: Wire + Clone>(decoded: &Decoded<M>, line: &Line) -> M {
    let message = decoded
        .known()
        .unwrap_or_else(|| panic!("{line:?}: {decoded:?}", decoded = decoded.malformed()));
    assert_eq!(unknowns(message), [] as [&str; 0], "{line:?}");
    assert_eq!(value(&message.to_json()), value(line.as_str().unwrap()));
    message.clone()
}

fn check(document: &str, at_least: usize) {
    let examples = examples(document);
    assert!(examples.len() >= at_least);
    for example in &examples {
        let line = &example.line;
        let response = if example.to_host {
            match known(&line.to_host(), line) {
                ToHost::ControlResponse(response) => Some(response),
                _ => None,
            }
        } else {
            match known(&line.to_agent(), line) {
                ToAgent::ControlResponse(response) => Some(response),
                _ => None,
            }
        };
        if let Some(response) = response {
            let Some(Response::Success(success)) = response.response.value() else {
                panic!("{line:?}")
            };
            let subtype = example.answers.as_deref().unwrap();
            known_answer(example.to_host, subtype, success.response.value());
        }
    }
}

fn known_answer(to_host: bool, subtype: &str, payload: Option<&RawJson>) {
    let mut unknown = Vec::new();
    let mut report = |path: &str, finding: duologue_wire::Finding<'_>| {
        if finding != duologue_wire::Finding::Legacy {
            unknown.push(path.to_owned());
        }
    };
    let json = if to_host {
        let reply = HostRequestReply::read(subtype, payload).unwrap().unwrap();
        reply.survey(&mut report);
        reply.to_json()
    } else {
        let reply = AgentRequestReply::read(subtype, payload).unwrap().unwrap();
        reply.survey(&mut report);
        reply.to_json()
    };
    assert_eq!(unknown, [] as [&str; 0]);
    assert_eq!(value(&json), value(payload.map_or("{}", RawJson::as_json)));
}

#[test]
fn document_000_input_messages() {
    check("000", 5);
}

#[test]
fn document_001_stream_json_format() {
    check("001", 30);
}

#[test]
fn document_002_overview_with_cumulative_snapshots() {
    check("002", 5);
}

#[test]
fn document_003_client_api() {
    check("003", 35);
}

#[test]
fn document_004_unofficial_overview() {
    check("004", 4);
}

#[test]
fn legacy_forms_are_marked() {
    let legacy_lines: Vec<String> = examples("000")
        .iter()
        .filter(|example| !example.to_host)
        .filter_map(|example| {
            let message = example.line.to_agent().into_message().unwrap();
            message.is_legacy().then(|| message.tag().to_owned())
        })
        .collect();
    assert_eq!(legacy_lines, ["approve", "deny", "tool_result", "abort"]);

    let mut paths = Vec::new();
    for example in examples("003") {
        if example.to_host {
            paths.extend(legacy_paths(example.line.to_host().message().unwrap()));
        } else {
            paths.extend(legacy_paths(example.line.to_agent().message().unwrap()));
        }
    }
    assert_eq!(
        paths,
        [
            "request.protocolVersion",
            "request.features",
            "request.hook_name",
            "request.hook_data",
            "request",
            "",
            "rate_limit_info.rateLimitType",
        ]
    );

    let system_result = Line::from(r#"{"type":"system","subtype":"result","result":"\"x\""}"#);
    assert!(system_result.to_host().known().unwrap().is_legacy());
    let error = Line::from(r#"{"type":"error","error":{"type":"invalid_request","message":"m"}}"#);
    assert!(error.to_host().known().unwrap().is_legacy());
    let result = Line::from(r#"{"type":"result","subtype":"error"}"#);
    assert_eq!(legacy_paths(result.to_host().message().unwrap()), ["subtype"]);
    let allow =
        r#"{"behavior":"allow","applyPermissionSuggestion":{"type":"setMode","mode":"plan"}}"#;
    let allow = RawJson::parse(allow).unwrap();
    let mut legacy = Vec::new();
    let reply = AgentRequestReply::read("can_use_tool", Some(&allow)).unwrap().unwrap();
    reply.survey(|path, finding| {
        if finding == duologue_wire::Finding::Legacy {
            legacy.push(path.to_owned());
        }
    });
    assert_eq!(legacy, ["applyPermissionSuggestion"]);
}

#[test]
fn a_doubly_encoded_result_is_decoded_only_on_request() {
    for example in examples("004") {
        if let Some(ToHost::Result(result)) = example.line.to_host().message() {
            let text = result.result.as_str().unwrap();
            assert_eq!(text, "\"The actual text is inside escaped quotes\"");
            let inner = decode_result(text).unwrap();
            assert_eq!(inner, "The actual text is inside escaped quotes");
            return;
        }
    }
    panic!("no result in document 004");
}
