//! Each line becomes known, unknown or malformed.

use duologue_wire::content::ContentBlock;
use duologue_wire::control::AgentRequest;
use duologue_wire::lines::ResultSubtype;
use duologue_wire::{Decoded, FaultKind, Field, Line, ToAgent, ToHost, Wire};

fn to_host(json: &str) -> Decoded<ToHost> {
    Line::from(json).to_host()
}

fn reason(json: &str) -> String {
    to_host(json).malformed().unwrap_or_else(|| panic!("not malformed: {json}")).to_string()
}

#[test]
fn the_type_may_stand_anywhere() {
    let json = r#"{"is_error":false,"usage":{"type":"x"},"subtype":"success","type":"result"}"#;
    let Decoded::Known(ToHost::Result(result)) = to_host(json) else { panic!() };
    assert!(result.is_success());
    assert_eq!(Line::from(json).head().unwrap().kind, "result");
}

#[test]
fn unknown_types_subtypes_and_blocks_are_kept_whole() {
    let json = r#"{"type":"hologram","uuid":"u","x":[1,2]}"#;
    let Decoded::Unknown(message) = to_host(json) else { panic!() };
    assert_eq!(message.tag(), "hologram");
    assert_eq!(message.to_json(), json);

    let json = r#"{"type":"system","subtype":"levitating","height":3}"#;
    let Decoded::Unknown(message) = to_host(json) else { panic!() };
    assert_eq!(message.subtype(), Some("levitating"));
    assert_eq!(message.to_json(), json);

    let json = r#"{"type":"assistant","message":{"content":[{"type":"smell","of":"rain"}]}}"#;
    let Decoded::Known(ToHost::Assistant(assistant)) = to_host(json) else { panic!() };
    let ContentBlock::Unknown(block) = &assistant.message.value().unwrap().content.items()[0]
    else {
        panic!()
    };
    assert_eq!(block.tag, "smell");
    assert_eq!(assistant.to_json(), json);
}

#[test]
fn an_unknown_control_request_still_has_its_id() {
    let json = r#"{"type":"control_request","request_id":"r9","request":{"subtype":"juggle"}}"#;
    let Decoded::Unknown(ToHost::ControlRequest(request)) = to_host(json) else { panic!() };
    assert_eq!(request.request_id.as_str(), Some("r9"));
    assert_eq!(request.request.value().unwrap().tag(), "juggle");
}

#[test]
fn a_known_tag_with_a_wrong_field_is_malformed_and_names_it() {
    let cases = [
        (
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":7}]}}"#,
            "field `message.content[0].text`: expected a string, found a number (at byte 64)",
        ),
        (
            r#"{"type":"result","subtype":"success","is_error":"no"}"#,
            "field `is_error`: expected true or false, found a string (at byte 48)",
        ),
        (
            r#"{"type":"system","subtype":"init","tools":"Bash"}"#,
            "field `tools`: expected an array, found a string (at byte 42)",
        ),
        (
            r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":[]}}"#,
            "field `event.delta`: expected an object, found an array (at byte 69)",
        ),
        (
            r#"{"type":"result","subtype":"success","modelUsage":{"m":{"costUSD":"0"}}}"#,
            "field `modelUsage.m.costUSD`: expected a number, found a string (at byte 66)",
        ),
        (r#"{"type":7}"#, "field `type`: expected a string, found a number (at byte 8)"),
        (r#"{"type":"system"}"#, "`subtype` is missing (at byte 0)"),
        (r#"{"type":"result"}"#, "`subtype` is missing (at byte 17)"),
        (
            r#"{"type":"control_request","request_id":"r","request":{}}"#,
            "field `request`: `subtype` is missing (at byte 53)",
        ),
        (r#"{"type":"control_response"}"#, "`response` is missing (at byte 27)"),
        (r#"{"session_id":"s"}"#, "`type` is missing (at byte 0)"),
        ("[]", "expected an object, found an array (at byte 0)"),
        ("42", "expected an object, found a number (at byte 0)"),
        ("", "the JSON ends too early (at byte 0)"),
        ("[ede] noise", "not JSON: expected a value (at byte 1)"),
        (r#"{"type":"keep_alive"} x"#, "something follows the JSON object (at byte 22)"),
        (r#"{"type":"keep_alive""#, "the JSON ends too early (at byte 20)"),
        (
            r#"{"type":"keep_alive","type":"user"}"#,
            "`type` stands twice with different values (at byte 28)",
        ),
        (
            "{\"type\":\"keep_alive\",\"x\":\"a\u{1}\"}",
            "not JSON: expected no control character (at byte 27)",
        ),
    ];
    for (json, expected) in cases {
        assert_eq!(reason(json), expected, "{json}");
    }
}

#[test]
fn a_malformed_line_keeps_its_bytes() {
    let line = Line::from(b"{\"type\":\"user\",\xff}".to_vec());
    assert_eq!(line.to_host().malformed().unwrap().kind(), &FaultKind::NotUtf8);
    assert_eq!(line.raw(), b"{\"type\":\"user\",\xff}");
    assert_eq!(line.as_str(), None);
}

#[test]
fn ids_may_be_numbers_or_absent() {
    let json = r#"{"type":"control_response","response":{"subtype":"success","request_id":12345678901234567890123}}"#;
    let Decoded::Known(ToHost::ControlResponse(response)) = to_host(json) else { panic!() };
    assert_eq!(response.request_id().unwrap().as_str(), "12345678901234567890123");
    assert_eq!(response.to_json(), json);
    assert_eq!(Line::from(json).head().unwrap().request_id.unwrap(), "12345678901234567890123");

    let json = r#"{"type":"control_request","request":{"subtype":"mcp_status"}}"#;
    let Decoded::Known(ToAgent::ControlRequest(request)) = Line::from(json).to_agent() else {
        panic!()
    };
    assert!(request.request_id.is_absent());
}

#[test]
fn absent_and_null_differ() {
    let json = r#"{"type":"assistant","parent_tool_use_id":null}"#;
    let Decoded::Known(ToHost::Assistant(assistant)) = to_host(json) else { panic!() };
    assert_eq!(assistant.parent_tool_use_id, Field::Null);
    assert_eq!(assistant.session_id, Field::Absent);
    assert_eq!(assistant.to_json(), json);
}

#[test]
fn lone_surrogates_are_survived_and_written_again() {
    let json = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"a\ud83d b\u00e9 \ud83d\ude00"}]}}"#;
    let Decoded::Known(ToHost::Assistant(assistant)) = to_host(json) else { panic!() };
    assert_eq!(assistant.message.value().unwrap().text(), "a\u{fffd} bé 😀");
    assert_eq!(assistant.to_json(), json);

    // A prompt with one is known too, and unknown keys with one are kept.
    let json = r#"{"type":"user","message":{"role":"user","content":"\udc00"},"\ud800":1}"#;
    let Decoded::Known(prompt) = Line::from(json).to_agent() else { panic!() };
    assert!(prompt.to_json().contains("\\udc00"));
}

#[test]
fn open_enums_keep_their_words() {
    let json = r#"{"type":"result","subtype":"error_bored","is_error":true}"#;
    let Decoded::Unknown(ToHost::Result(result)) = to_host(json) else { panic!() };
    assert_eq!(result.subtype.value(), Some(&ResultSubtype::Other("error_bored".into())));
    assert_eq!(result.to_json(), json);
}

#[test]
fn success_needs_both_the_subtype_and_the_flag() {
    let result = |json: &str| match to_host(json) {
        Decoded::Known(ToHost::Result(result)) => result,
        other => panic!("{other:?}"),
    };
    let json = r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: 400"}"#;
    assert!(!result(json).is_success());
    assert_eq!(result(json).error_message().unwrap(), "API Error: 400");
    let json =
        r#"{"type":"result","subtype":"error_max_turns","is_error":false,"errors":["a","b"]}"#;
    assert!(!result(json).is_success());
    assert_eq!(result(json).error_message().unwrap(), "a; b");
    let json = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"errors":[]}"#;
    assert_eq!(result(json).error_message().unwrap(), "error_max_turns");
    assert!(result(r#"{"type":"result","subtype":"success"}"#).is_success());
}

#[test]
fn content_is_a_string_blocks_or_null() {
    for (json, text) in [
        (r#"{"type":"user","message":{"role":"user","content":"Hi"}}"#, Some("Hi")),
        (
            r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Hi"}]}}"#,
            Some("Hi"),
        ),
        (r#"{"type":"user","message":{"role":"user","content":null}}"#, None),
    ] {
        let Decoded::Known(ToAgent::Prompt(prompt)) = Line::from(json).to_agent() else { panic!() };
        let message = prompt.message.value().unwrap();
        assert_eq!(message.content.value().map(|content| content.text()).as_deref(), text);
        assert_eq!(prompt.to_json(), json);
    }
}

#[test]
fn the_head_is_enough_to_route() {
    let json = concat!(
        r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0},"#,
        r#""session_id":"s","parent_tool_use_id":"toolu_1","uuid":"u"}"#,
    );
    let line = Line::from(json);
    let head = line.head().unwrap();
    assert_eq!(head.kind, "stream_event");
    assert_eq!(head.subtype.unwrap(), "content_block_delta");
    assert_eq!(head.parent_tool_use_id.unwrap(), "toolu_1");
    assert_eq!((head.session_id.unwrap(), head.uuid.unwrap()), ("s".into(), "u".into()));
    // It looks only as far as it must: a wrong field in the body is none of its business.
    assert_eq!(Line::from(r#"{"type":"assistant","message":7}"#).head().unwrap().kind, "assistant");
}

#[test]
fn tool_inputs_are_typed_on_demand() {
    let json = concat!(
        r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","#,
        r#""tool_name":"AskUserQuestion","input":{"questions":[{"question":"Q?","options":[{"label":"A"}]}],"#,
        r#""answers":{"Q?":["A","B"]}}}}"#,
    );
    let Decoded::Known(ToHost::ControlRequest(request)) = to_host(json) else { panic!() };
    let Some(AgentRequest::CanUseTool(ask)) = request.request.value() else { panic!() };
    let duologue_wire::tool::ToolInput::AskUserQuestion(input) = ask.typed_input().unwrap() else {
        panic!()
    };
    assert_eq!(input.answers.value().unwrap().get("Q?").unwrap().text(), "A, B");
}

#[test]
fn deep_nesting_is_refused_not_crashed_on() {
    let deep = |depth: usize| {
        format!(r#"{{"type":"keep_alive","x":{}{}}}"#, "[".repeat(depth), "]".repeat(depth))
    };
    assert!(to_host(&deep(500)).known().is_some());
    assert_eq!(to_host(&deep(1_000_000)).malformed().unwrap().kind(), &FaultKind::TooDeep);
}

#[test]
fn messages_cross_threads_without_copying_their_text() {
    let line = Line::from(r#"{"type":"streamlined_text","text":"hello"}"#);
    let Decoded::Known(ToHost::StreamlinedText(message)) = line.to_host() else { panic!() };
    let text = message.text.into_value().unwrap();
    let inside = line.raw().as_ptr_range();
    let moved = std::thread::spawn(move || text).join().unwrap();
    assert!(inside.contains(&moved.as_ptr()), "the text was copied");
    assert_eq!(moved, "hello");
}

#[test]
fn keys_may_be_spaced_escaped_repeated_or_in_any_order() {
    let plain = r#"{"type":"stream_event","event":{"type":"ping"},"session_id":"s","uuid":"u"}"#;
    let plain = Line::from(plain).to_host().into_message().unwrap();
    for other in [
        r#"{"uuid":"u","session_id":"s","event":{"type":"ping"},"type":"stream_event"}"#,
        r#" { "type" : "stream_event" , "event" : { "type" : "ping" } , "session_id" : "s" , "uuid" : "u" } "#,
        r#"{"t\u0079pe":"stream_event","\u0065vent":{"type":"pin\u0067"},"session_id":"s","uuid":"u"}"#,
        r#"{"type":"stream_event","type":"stream_event","event":{"type":"ping"},"uuid":"v","session_id":"s","uuid":"u"}"#,
    ] {
        let other = Line::from(other).to_host();
        assert_eq!(other.known(), Some(&plain), "{other:?}");
    }
    let twice = Line::from(r#"{"type":"keep_alive","type":"result"}"#).to_host();
    assert!(twice.malformed().is_some(), "{twice:?}");
}
