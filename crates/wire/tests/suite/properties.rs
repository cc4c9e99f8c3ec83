//! What holds for any input.

use duologue_testkit::recordings;
use duologue_wire::{Decoded, Found, Frame, Line, LineDecoder, Survey, Wire};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

/// Bytes that are lines more often than chance would have it.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"{\"type\":\"keep_alive\"}".to_vec()),
        Just("\u{feff}\u{2028}\u{85}".as_bytes().to_vec()),
        vec(any::<u8>(), 0..40),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Number, offset and bytes of each line, or its length.
type Lines = Vec<(u64, u64, Result<Vec<u8>, u64>)>;

fn take(found: Found<'_>, lines: &mut Lines) {
    lines.push(match found {
        Found::Within(line, at) => (at.number, at.offset, Ok(line.to_vec())),
        Found::Frame(Frame::Line(line)) => {
            let at = line.position();
            (at.number, at.offset, Ok(line.raw().to_vec()))
        }
        Found::Frame(Frame::TooLong(long)) => {
            (long.position.number, long.position.offset, Err(long.length))
        }
    });
}

fn decode(bytes: &[u8], sizes: &[usize], max_line: usize, in_place: bool) -> Lines {
    let mut decoder = LineDecoder::new().max_line(max_line);
    let mut found = Vec::new();
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().map_or(rest.len(), |&size| size.clamp(1, rest.len()));
        let (mut chunk, after) = rest.split_at(size);
        loop {
            let next = if in_place {
                decoder.next_in(&mut chunk)
            } else {
                decoder.next(&mut chunk).map(Found::Frame)
            };
            let Some(next) = next else { break };
            take(next, &mut found);
        }
        assert!(decoder.held() <= max_line);
        rest = after;
    }
    if let Some(frame) = decoder.finish() {
        take(Found::Frame(frame), &mut found);
    }
    found
}

/// Any JSON, with the wire's own keys and tags more often than chance would have it.
fn json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        prop::sample::select(vec![
            "type",
            "subtype",
            "message",
            "content",
            "text",
            "assistant",
            "user",
            "system",
            "init",
            "result",
            "success",
            "event",
            "delta",
            "stream_event",
            "content_block_delta",
            "text_delta",
            "control_request",
            "control_response",
            "request",
            "response",
            "request_id",
            "can_use_tool",
            "hook_callback",
            "input",
            "hook_event_name",
            "PreToolUse",
            "usage",
            "input_tokens",
            "tool_use",
            "tool_result",
            "index",
            "is_error",
            "uuid",
            "session_id",
            "parent_tool_use_id",
            "initialize",
            "hooks",
            "keep_alive",
            "name",
            "id",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((word.clone(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn check_both_ways(line: &Line) {
    check(line, &line.to_host());
    check(line, &line.to_agent());
    let _ = line.head();
}

/// Written and read again, a message is the same, and says the same as the line.
fn check<M: Wire + PartialEq + std::fmt::Debug>(line: &Line, decoded: &Decoded<M>) {
    let Some(message) = decoded.message() else { return };
    Survey::of(message, |_, _| {});
    let written = message.to_json();
    assert_eq!(&M::from_json(&written).unwrap(), message);
    let text = line.as_str().unwrap();
    if let Ok(original) = serde_json::from_str::<Value>(text) {
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), original);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_gives_the_same_lines(
        bytes in stream(),
        sizes in vec(1_usize..50, 1..10),
        max_line in prop_oneof![Just(usize::MAX), 1_usize..100],
    ) {
        let whole = decode(&bytes, &[bytes.len().max(1)], max_line, false);
        prop_assert_eq!(&decode(&bytes, &[bytes.len().max(1)], max_line, true), &whole);
        for in_place in [false, true] {
            prop_assert_eq!(&decode(&bytes, &sizes, max_line, in_place), &whole);
            prop_assert_eq!(&decode(&bytes, &[1], max_line, in_place), &whole);
        }
        // The lines are what stands between the newlines.
        let expected: Vec<&[u8]> = bytes
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.iter().all(|byte| b" \t\r".contains(byte)) || line.len() > max_line)
            .collect();
        prop_assert_eq!(whole.len(), expected.len());
        for ((_, offset, found), expected) in whole.iter().zip(expected) {
            match found {
                Ok(line) => prop_assert_eq!(line.as_slice(), expected),
                Err(length) => prop_assert_eq!(*length, expected.len() as u64),
            }
            prop_assert!(bytes[usize::try_from(*offset).unwrap()..].starts_with(expected));
        }
    }

    #[test]
    fn arbitrary_json_never_panics_and_is_written_the_same(value in json()) {
        check_both_ways(&Line::from(value.to_string()));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        check_both_ways(&Line::from(bytes));
    }

    #[test]
    fn arbitrary_text_survives(text in any::<String>()) {
        let prompt = duologue_wire::lines::Prompt::text(text.clone());
        let line = prompt.to_line();
        prop_assert_eq!(line.matches('\n').count(), 1);
        let Decoded::Known(read) = Line::from(line.trim_end_matches('\n')).to_agent() else {
            panic!("{line}")
        };
        prop_assert_eq!(read.to_json(), prompt.to_json());
        let value: Value = serde_json::from_str(&line).unwrap();
        prop_assert_eq!(&value["message"]["content"], &Value::from(text));
    }

    #[test]
    fn a_broken_recording_never_panics(
        pick in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let lines = &*LINES;
        let mut bytes = lines[pick.index(lines.len())].clone();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        check_both_ways(&Line::from(bytes));
    }
}

static LINES: std::sync::LazyLock<Vec<Vec<u8>>> = std::sync::LazyLock::new(|| {
    recordings()
        .into_iter()
        .flat_map(|recording| recording.entries)
        .map(|entry| entry.line.into_bytes())
        .filter(|line| !line.is_empty() && line.len() < 5_000)
        .collect()
});
