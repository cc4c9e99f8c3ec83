//! Lines that a fuzzer found, or might have.

use duologue_protocol::{FaultKind, Line, RawJson, Survey, ToHost, Wire};

/// An assistant line with so many blocks inside each other.
fn nested(open: &str, close: &str, times: usize) -> String {
    let (open, close) = (open.repeat(times), close.repeat(times));
    format!(r#"{{"type":"assistant","message":{{"content":[{open}{close}]}}}}"#)
}

/// Blocks that hold blocks: how they open and close, and how many brackets that takes.
const NESTING: &[(&str, &str, usize)] = &[
    (r#"{"type":"search_result","content":["#, "]}", 2),
    (r#"{"type":"document","source":{"type":"content","content":["#, "]}}", 3),
    (r#"{"type":"tool_result","content":["#, "]}", 2),
    (r#"{"type":"new","content":["#, "]}", 2),
];

#[test]
fn depth_is_refused_before_the_stack_is_used_up() {
    for (open, close, brackets) in NESTING {
        for times in [512 / brackets + 1, 10_000] {
            let line = Line::from(nested(open, close, times));
            let fault = line.to_host().malformed().cloned().unwrap();
            assert_eq!(fault.kind(), &FaultKind::TooDeep, "{open}");
            assert_eq!(line.head().unwrap_err().kind(), &FaultKind::TooDeep, "{open}");
        }
    }
}

#[test]
fn depth_that_is_allowed_fits_a_thread() {
    for (open, close, brackets) in NESTING {
        let text = nested(open, close, (512 - 3) / brackets);
        let decoded = Line::from(text.as_str()).to_host();
        let message = decoded.known().unwrap();
        Survey::of(message, |_, _| ());
        assert_eq!(message.to_json(), text);
        assert_eq!(message.clone(), *message);
        assert!(format!("{message:?}").len() > text.len());
    }
}

#[test]
fn all_readers_agree_on_the_deepest_value() {
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
