//! Lines that a fuzzer found, or might have.

use duologue_wire::content::TextBlock;
use duologue_wire::system::System;
use duologue_wire::{FaultKind, Line, RawJson, Survey, ToHost, Wire};

/// An assistant line with so many blocks inside each other.
fn nested(open: &str, close: &str, times: usize) -> String {
    let (open, close) = (open.repeat(times), close.repeat(times));
    format!(r#"{{"type":"assistant","message":{{"content":[{open}{close}]}}}}"#)
}

/// Blocks that hold blocks: how they open and close, how many brackets that takes, and how many
/// there may be. Blocks that are carried may nest deeper than those that are read into types.
const NESTING: &[(&str, &str, usize, usize)] = &[
    (r#"{"type":"search_result","content":["#, "]}", 2, 128),
    (r#"{"type":"document","source":{"type":"content","content":["#, "]}}", 3, 128),
    (r#"{"type":"tool_result","content":["#, "]}", 2, 512),
    (r#"{"type":"new","content":["#, "]}", 2, 512),
];

#[test]
fn depth_is_refused_before_the_stack_is_used_up() {
    for (open, close, brackets, most) in NESTING {
        for times in [most / brackets + 1, 10_000] {
            let line = Line::from(nested(open, close, times));
            let fault = line.to_host().malformed().cloned().unwrap();
            assert_eq!(fault.kind(), &FaultKind::TooDeep, "{open}");
        }
    }
}

#[test]
fn depth_that_is_allowed_fits_a_small_thread() {
    let check = || {
        for (open, close, brackets, most) in NESTING {
            let text = nested(open, close, (most - 3) / brackets);
            let decoded = Line::from(text.as_str()).to_host();
            let message = decoded.known().unwrap();
            Survey::of(message, |_, _| ());
            assert_eq!(message.to_json(), text);
            assert_eq!(message.clone(), *message);
            assert!(format!("{message:?}").len() > text.len());
        }
    };
    let thread = std::thread::Builder::new().stack_size(1024 * 1024).spawn(check);
    thread.unwrap().join().unwrap();
}

#[test]
fn the_head_and_the_message_agree_on_the_deepest_value() {
    for (depth, fits) in [(512, true), (513, false)] {
        let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(RawJson::parse(&value).is_ok(), fits);
        let inner = &value[1..value.len() - 1];
        let line = Line::from(format!(r#"{{"type":"keep_alive","a":{inner}}}"#));
        assert_eq!(line.head().is_ok(), fits);
        assert_eq!(matches!(line.to_host().known(), Some(ToHost::KeepAlive(_))), fits);
    }
}

#[test]
fn lone_surrogates_in_keys_are_written_again() {
    let lines = [
        r#"{"type":"keep_alive","\ud800":1,"\udfff \n":2}"#,
        r#"{"type":"update_environment_variables","variables":{"\ud800":"x","a\ude00":"y"}}"#,
    ];
    for text in lines {
        let message = Line::from(text).to_agent().into_message().unwrap();
        assert_eq!(message.to_json(), text);
    }
}

#[test]
fn a_tag_that_is_missing_is_not_made_up() {
    let line = Line::from(concat!(
        r#"{"type":"control_response","response":{"subtype":"success","#,
        r#""pending_permission_requests":[{"request":{"subtype":"can_use_tool"}}]}}"#,
    ));
    let fault = line.to_host().malformed().cloned().unwrap();
    assert_eq!(fault.kind(), &FaultKind::Missing("type"));
    assert_eq!(fault.path(), "response.pending_permission_requests[0]");
    assert!(TextBlock::from_json(r#"{"text":"hi"}"#).is_err());
    assert!(System::from_json(r#"{"subtype":"init","subtype":"init"}"#).is_err());
}

#[test]
fn a_line_with_two_types_is_malformed() {
    for types in [["keep_alive", "new"], ["new", "keep_alive"], ["new", "newer"]] {
        let line = Line::from(format!(r#"{{"type":"{}","type":"{}"}}"#, types[0], types[1]));
        let contradiction = FaultKind::Contradiction("type");
        assert_eq!(line.head().unwrap_err().kind(), &contradiction, "{line:?}");
        assert_eq!(line.to_host().malformed().unwrap().kind(), &contradiction, "{line:?}");
        assert_eq!(line.to_agent().malformed().unwrap().kind(), &contradiction, "{line:?}");
    }
    let system = Line::from(r#"{"type":"system","subtype":"new","type":"keep_alive"}"#);
    assert!(system.to_host().malformed().is_some());
    // The text after the second `type` looks like the value of the first.
    let quotes = Line::from(r#"{"type":"x\",\"y","type":"x","y":1}"#);
    let contradiction = FaultKind::Contradiction("type");
    assert_eq!(quotes.head().unwrap_err().kind(), &contradiction);
    assert_eq!(quotes.to_host().malformed().unwrap().kind(), &contradiction);
    let twice = Line::from(r#"{"type":"new","type":"new"}"#);
    assert_eq!(twice.head().unwrap().kind, "new");
    assert!(twice.to_host().message().is_some());
}
