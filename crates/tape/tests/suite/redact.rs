//! Redacted tapes: what is replaced and what stays.

use std::fs::File;

use duologue_protocol::Line;
use duologue_tape::redact::Redactor;
use duologue_tape::replay::{Match, Player};
use duologue_tape::{Event, Header, Reader, Writer};
use duologue_testkit::recordings;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::replay::play;

/// This line, redacted.
fn redacted(redactor: &mut Redactor, line: &str) -> String {
    let Event::ToHost(line) = redactor.event(Event::ToHost(Line::from(line))) else {
        panic!("no line of the agent")
    };
    line.as_str().unwrap().to_owned()
}

/// Redacts a value and asserts that none of the words is left in it.
fn loses(value: &Value, words: &[&str]) -> Value {
    let line = redacted(&mut Redactor::new(), &value.to_string());
    let new: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    for word in words {
        assert!(value.to_string().contains(word), "{word} is not in {value}");
        assert!(!line.contains(word), "{word} is left in {line}");
    }
    assert_eq!(redacted(&mut Redactor::new(), &line), line, "a second time changes something");
    new
}

#[test]
fn keys_and_tokens_are_replaced_after_any_start_of_a_line() {
    let keys = [
        "sk-ant-api03-AbCdEfGhIjKlMnOpQr_-1",
        "sk-proj-AbCdEfGhIjKlMnOp1234",
        "ghp_AbCdEfGhIjKlMnOpQrStUvWx1234",
        "github_pat_AbCdEfGhIjKlMnOpQrStUvWx",
        "AKIAABCDEFGHIJKLMNOP",
        "ASIAABCDEFGHIJKLMNOP",
        "AIzaSyAbCdEfGhIjKlMnOpQrStUvWxYz0123456",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.AbCdEfGh",
        "xoxb-1234567890-abcdefgh",
    ];
    for key in keys {
        loses(&json!({ "text": key }), &[key]);
        loses(&json!({ "text": format!("it says\n{key}\nand\t{key}.") }), &[key]);
        loses(&json!({ "text": format!("    1\t{{\"a\":\"x\\n{key}\"}} and more") }), &[key]);
        loses(&json!({ "text": json!({ "deep": format!("\n{key}") }).to_string() }), &[key]);
        loses(&json!({ "text": json!([json!({ "a": key }).to_string()]).to_string() }), &[key]);
    }
    // The name of a task is not a key, though it contains the prefix of one.
    let task = json!({ "text": "task-abcdefghijklmnopqrstuvwx" });
    assert_eq!(loses(&task, &[]), task);
}

#[test]
fn values_with_a_secret_name_are_replaced() {
    loses(&json!({ "text": "PATH=/bin\nMY_TOKEN=abcd1234efgh\n" }), &["abcd1234efgh"]);
    loses(&json!({ "text": "aws_secret_access_key = abcd/1234+efgh" }), &["1234"]);
    loses(&json!({ "text": "Authorization: Bearer abcd1234efgh" }), &["abcd1234efgh"]);
    loses(&json!({ "text": "authorization: Basic YW5uOnBhc3M=" }), &["YW5uOnBhc3M="]);
    loses(&json!({ "text": "git clone https://ann:hunter2@host/x" }), &["hunter2"]);
    loses(&json!({ "command": "tool --auth-token abcd1234efgh" }), &["abcd1234efgh"]);
    for name in ["apiKey", "api_key", "accessToken", "refresh_token", "client-secret", "password"] {
        loses(&json!({ name: "hunter2" }), &["hunter2"]);
        loses(&json!({ "text": json!({ name: "hunter2" }).to_string() }), &["hunter2"]);
    }
    let counted = json!({ "usage": { "input_tokens": 5 }, "progressToken": "abcd1234efgh" });
    assert_eq!(loses(&counted, &[]), counted);
    // A known value is replaced everywhere.
    let twice = json!({ "env": { "API_KEY": "abcd1234efgh" }, "text": "it was abcd1234efgh" });
    loses(&twice, &["abcd1234efgh"]);
}

#[test]
fn user_names_are_replaced_in_every_form_of_a_home_folder() {
    for (text, words) in [
        ("/home/ann/x and ann\nann\n", &["ann"] as &[&str]),
        ("in /home/ann. So ann said", &["ann"]),
        ("/home/mary-jane/x -home-mary-jane-x", &["mary", "jane"]),
        ("/home/ann.lee/x -home-ann-lee-x", &["ann", "lee"]),
        ("/home/jürgen/x", &["rgen"]),
        ("/home/jo/x", &["jo"]),
        ("/Users/ann/x -Users-ann-x", &["ann"]),
        (r"C:\Users\ann\x", &["ann"]),
        (r"C:\Users\Ann Smith\x", &["Ann", "Smith"]),
        ("C:/Users/ann/x", &["ann"]),
        ("file:///home/ann/x /home%2Fann %2Fhome%2Fann%2Fx", &["2Fhome%2Fann"]),
    ] {
        loses(&json!({ "text": text }), words);
        loses(&json!({ "text": json!({ "a": text }).to_string() }), words);
        loses(&json!({ text: 1 }), words);
    }
    let escaped = r#"{"a":"\u003cann@corp.com\u003e \u002fhome\u002fann"}"#;
    let line = redacted(&mut Redactor::new(), escaped);
    let value: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value, json!({ "a": "<user1@example.com> /home/user2" }));
    loses(&json!({ "text": "From:\nann@corp.com" }), &["ann", "corp"]);
    loses(&json!({ "text": "lee@anthropic.com" }), &["lee"]);
    let known = json!({ "text": "/home/node/x <noreply@anthropic.com>" });
    assert_eq!(loses(&known, &[]), known);
}

#[test]
fn an_address_has_one_replacement_before_and_after_its_name_is_known() {
    let mut redactor = Redactor::new();
    let line = r#"{"text":"ann@corp.com"}"#;
    let before = redacted(&mut redactor, line);
    redacted(&mut redactor, r#"{"cwd":"/home/ann"}"#);
    assert_eq!(redacted(&mut redactor, line), before);
}

#[test]
fn account_fields_are_replaced_and_models_stay() {
    let line = json!({
        "account": { "email": "ann@corp.com", "organization": "Corp", "displayName": "Ann" },
        "models": [{ "value": "opus", "displayName": "Opus" }],
    });
    let new = loses(&line, &["ann", "Corp", "Ann"]);
    assert_eq!(new["models"], line["models"]);
}

#[test]
fn words_of_the_wire_stay_even_if_a_user_has_that_name() {
    let mut redactor = Redactor::new().environment([("USER", "assistant"), ("LOGNAME", "text")]);
    let line = r#"{"type":"assistant","text":"the assistant"}"#;
    assert_eq!(redacted(&mut redactor, line), r#"{"type":"assistant","text":"the user1"}"#);
}

#[test]
fn the_header_is_redacted_like_a_line() {
    let argv = ["claude", "--token", "abcd1234efgh", "--settings", r#"{"a":"x\nann@corp.com"}"#];
    let header = Redactor::new().header(&Header::new("claude", argv));
    let expected =
        ["claude", "--token", "secret-1", "--settings", r#"{"a":"x\nuser2@example.com"}"#];
    assert_eq!(header.argv, expected);
}

#[test]
fn in_the_second_pass_every_value_is_known() {
    let mut redactor = Redactor::new();
    assert_eq!(redacted(&mut redactor, r#"{"text":"ann asks"}"#), r#"{"text":"ann asks"}"#);
    redacted(&mut redactor, r#"{"cwd":"/home/ann"}"#);
    let mut redactor = redactor.again();
    assert_eq!(redactor.counts().total(), 0);
    assert_eq!(redacted(&mut redactor, r#"{"text":"ann asks"}"#), r#"{"text":"user1 asks"}"#);
}

/// Redacts a tape in two passes and returns its lines.
fn redacted_twice(tape: &[Value]) -> (Vec<Value>, Redactor) {
    let events = || tape.iter().map(|line| Event::ToHost(Line::from(line.to_string())));
    let mut redactor = Redactor::new();
    events().for_each(|event| redactor.look_ahead(event));
    let mut redactor = redactor.again();
    let lines = events().map(|event| {
        let Event::ToHost(line) = redactor.event(event) else { panic!("no line of the agent") };
        serde_json::from_str(line.as_str().unwrap()).unwrap()
    });
    (lines.collect(), redactor)
}

/// The streamed texts, by index.
fn streamed(tape: &[Value]) -> [String; 2] {
    [0, 1].map(|index| {
        let of_index = tape.iter().filter(|line| line["event"]["index"] == index);
        of_index.filter_map(|line| line["event"]["delta"]["text"].as_str()).collect()
    })
}

proptest! {
    #[test]
    fn a_streamed_secret_is_replaced_like_a_whole_one(
        words in prop::collection::vec(prop_oneof![
            Just("ghp_AbCdEfGhIjKlMnOpQrStUvWx1234"),
            Just("sk-ant-api03-AbCdEfGhIjKlMnOpQr_-1"),
            Just("/home/ann.lee/x"),
            Just("ann.lee@corp.com"),
            Just("MY_TOKEN=abcd1234efgh"),
            Just("ann.lee"),
            Just("\n"),
            Just("wörter — und \"mehr\""),
            Just("a"),
        ], 1..20),
        lengths in prop::collection::vec(1..12_usize, 1..40),
    ) {
        let whole = words.join(" ");
        let mut letters = whole.chars();
        let mut pieces: Vec<String> = Vec::new();
        for length in lengths.iter().cycle() {
            let piece: String = letters.by_ref().take(*length).collect();
            if piece.is_empty() {
                break;
            }
            pieces.push(piece);
        }
        // Two texts at once, as sub-agents do; the second never ends.
        let event = |event: Value| json!({ "type": "stream_event", "event": event, "session_id": "s" });
        let mut tape = vec![event(json!({ "type": "content_block_start", "index": 0 }))];
        for piece in &pieces {
            for index in [0, 1] {
                let delta = json!({ "type": "text_delta", "text": piece });
                tape.push(event(json!({ "type": "content_block_delta", "index": index, "delta": delta })));
            }
        }
        tape.push(event(json!({ "type": "content_block_stop", "index": 0 })));
        let (expected, _) = redacted_twice(&[json!({ "type": "assistant", "text": whole })]);
        let (new, redactor) = redacted_twice(&tape);
        let expected = expected[0]["text"].as_str().unwrap();
        prop_assert_eq!(streamed(&new), [expected, expected]);
        prop_assert_eq!(redactor.counts().total() == 0, expected == whole);
        let (again, redactor) = redacted_twice(&new);
        prop_assert_eq!(again, new);
        prop_assert_eq!(redactor.counts().total(), 0);
    }
}

#[test]
fn only_the_pieces_with_a_secret_change() {
    let pieces =
        ["My token", " is gh", "p_AbCdEfGhIjKlMn", "OpQrStUvWx1234", ", and", " that was", " all."];
    let tape = pieces.map(|text| {
        let delta = json!({ "type": "text_delta", "text": text });
        json!({ "type": "stream_event", "event": { "type": "content_block_delta", "index": 0, "delta": delta } })
    });
    let (new, redactor) = redacted_twice(&tape);
    let new = new.iter().map(|line| line["event"]["delta"]["text"].as_str().unwrap());
    let expected = ["My token", " is secret-1", "", "", ", and", " that was", " all."];
    assert_eq!(new.collect::<Vec<_>>(), expected);
    assert_eq!(redactor.counts().to_string(), "1 keys and tokens");
}

#[test]
fn a_long_text_is_split_between_two_words() {
    let key = ["ghp_AbCdEfGhIj", "KlMnOpQrStUvWx1234"];
    let words = " and so on".repeat(40_000);
    let mut tape = Vec::new();
    for _ in 0..8 {
        for text in [words.as_str(), " ", key[0], key[1]] {
            let delta = json!({ "type": "text_delta", "text": text });
            tape.push(json!({ "type": "stream_event", "event": { "type": "content_block_delta", "index": 0, "delta": delta } }));
        }
    }
    let (new, redactor) = redacted_twice(&tape);
    assert_eq!(streamed(&new)[0], format!("{words} secret-1").repeat(8));
    assert_eq!(redactor.counts().to_string(), "8 keys and tokens");
}

#[test]
fn a_redacted_recording_replays_to_the_host_that_was_recorded() {
    // A chosen field that is not UTF-8 is replaced, and the line becomes readable.
    for recording in recordings().into_iter().filter(|tape| tape.name != "24z-invalid-utf8") {
        let open = || Reader::new(File::open(&recording.path).unwrap());
        let mut reader = open();
        // These paths are in every prompt and in many answers.
        let mut redactor =
            Redactor::new().path("message.content").path("response.response.message");
        let header = redactor.header(reader.header().unwrap().unwrap());
        let mut writer = Writer::new(Vec::new(), &header).unwrap();
        while let Some(entry) = reader.next_entry().unwrap() {
            writer.event(entry.millis, &redactor.event(entry.event)).unwrap();
        }
        let tape = writer.finish().unwrap();
        let mut player = Player::new(|| Ok(tape.as_slice()), Match::Exact).unwrap();
        let mut reader = open();
        play(&mut player, &mut reader, &recording.name);
    }
}

#[test]
fn values_that_were_not_replaced_must_still_match() {
    let tape = concat!(
        r#"{"tape":1,"program":"claude","redacted":true}"#,
        "\n",
        r#"{"dir":"in","line":"{\"type\":\"user\",\"message\":{\"content\":\"read /home/user1/x\"}}"}"#,
        "\n",
    );
    for (prompt, is_same) in [("read /home/ann/x", true), ("read /home/ann/y", false)] {
        let mut player = Player::new(|| Ok(tape.as_bytes()), Match::Exact).unwrap();
        let line = json!({ "type": "user", "message": { "content": prompt } });
        assert_eq!(player.handle_line(&Line::from(line.to_string())).is_ok(), is_same, "{prompt}");
    }
}

#[test]
fn a_working_directory_is_not_a_password() {
    let folder = std::env::temp_dir();
    let folder = folder.to_str().unwrap();
    let variables = [("PWD", "/srv/of/mine"), ("OLDPWD", "/srv/before"), ("SSH_KEY", folder)];
    let mut redactor = Redactor::new().environment(variables);
    let text =
        format!(r#"{{"type":"x","pwd":"/srv/of/mine","old":"/srv/before","key":"{folder}"}}"#);
    let Event::ToHost(line) = redactor.event(Event::ToHost(Line::from(text.as_str()))) else {
        panic!("a line stays a line")
    };
    assert_eq!(line.as_str(), Some(text.as_str()));
    let secret = r#"{"type":"x","pwd":"Tr0ub4dor&3"}"#;
    let Event::ToHost(line) = redactor.event(Event::ToHost(Line::from(secret))) else {
        panic!("a line stays a line")
    };
    assert!(!line.as_str().unwrap().contains("Tr0ub4dor"), "{line:?}");
}
