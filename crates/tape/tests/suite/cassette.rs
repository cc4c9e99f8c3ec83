//! `Cassette`: tests that record once and replay afterwards.

use duologue::Session;
use duologue_tape::{Cassette, CassetteError, Record};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

/// An agent that repeats every prompt.
async fn parrot(pipe: DuplexStream) {
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut lines = BufReader::new(reader).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let line: Value = serde_json::from_str(&line).unwrap();
        let mut answers = Vec::new();
        if line["type"] == "control_request" {
            answers.push(json!({ "type": "control_response", "response": {
                "subtype": "success", "request_id": line["request_id"], "response": {},
            }}));
        } else {
            let text = &line["message"]["content"];
            answers.push(json!({ "type": "system", "subtype": "init", "session_id": "s" }));
            answers.push(json!({ "type": "result", "subtype": "success", "is_error": false,
                "result": text, "session_id": "s", "user_message_uuids": [line["uuid"]] }));
        }
        for answer in answers {
            writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
    }
}

/// A tape that is recorded if it is missing, also where `CI` is set.
fn taped(path: impl Into<std::path::PathBuf>) -> Cassette {
    Cassette::new(path).record(Record::Missing)
}

async fn converse(cassette: Cassette, prompt: &str) -> Result<(bool, String), CassetteError> {
    let (ours, its) = tokio::io::duplex(64 * 1024);
    let _parrot = tokio::spawn(parrot(its));
    let session = cassette.connect(Session::builder(), ours).await?;
    let recorded = session.is_recorded();
    let text = match session.prompt(prompt).await?.outcome().await {
        Ok(outcome) => outcome.text().to_owned(),
        Err(_) => String::new(),
    };
    session.close().await?;
    Ok((recorded, text))
}

#[tokio::test]
async fn a_conversation_is_recorded_once() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("tapes/hello.tape.zst");
    let cassette = || taped(&path);
    assert_eq!(converse(cassette(), "hello").await.unwrap(), (true, "hello".to_owned()));
    assert_eq!(converse(cassette(), "hello").await.unwrap(), (false, "hello".to_owned()));
    // Another prompt is not on the tape.
    let error = converse(cassette(), "good bye").await.unwrap_err();
    assert!(matches!(error, CassetteError::Mismatch { .. }), "{error}");
    let message = error.to_string();
    assert!(
        message.contains("DUOLOGUE_RECORD=always") && message.contains("hello.tape.zst"),
        "{message}"
    );
    let anew = converse(cassette().record(Record::Always), "good bye").await.unwrap();
    assert_eq!(anew, (true, "good bye".to_owned()));
    assert_eq!(converse(cassette(), "good bye").await.unwrap(), (false, "good bye".to_owned()));
}

#[tokio::test]
async fn a_failed_test_leaves_no_tape() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    let (ours, its) = tokio::io::duplex(64 * 1024);
    let _parrot = tokio::spawn(parrot(its));
    let session = taped(&path).connect(Session::builder(), ours).await.unwrap();
    drop(session);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_turn_that_is_not_on_the_tape_fails_with_the_difference() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    converse(taped(&path), "hello").await.unwrap();
    let session = taped(&path).start(Session::builder()).await.unwrap();
    // Most tests end here, without `close`.
    let error = session.prompt("good bye").await.unwrap().outcome().await.unwrap_err();
    let message = format!("{error}");
    assert!(message.contains("hello") && message.contains("DUOLOGUE_RECORD=always"), "{message}");
}

#[tokio::test]
async fn a_file_that_is_not_a_tape_is_not_played() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    std::fs::write(&path, "").unwrap();
    let error = taped(&path).start(Session::builder()).await.unwrap_err();
    assert!(matches!(error, CassetteError::NoTape(_)), "{error}");
}

#[tokio::test]
async fn a_signal_on_the_tape_is_not_waited_for() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    converse(taped(&path), "hello").await.unwrap();
    let tape = std::fs::read_to_string(&path).unwrap();
    let (start, exit) = tape.trim_end().rsplit_once('\n').unwrap();
    std::fs::write(&path, format!("{start}\n{{\"note\":\"signal SIGINT\"}}\n{exit}\n")).unwrap();
    let patience = std::time::Duration::from_secs(30);
    let replayed = tokio::time::timeout(patience, converse(taped(&path), "hello"));
    assert_eq!(replayed.await.unwrap().unwrap(), (false, "hello".to_owned()));
}

#[tokio::test]
async fn a_tape_that_another_test_has_written_meanwhile_is_kept() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    let (ours, its) = tokio::io::duplex(64 * 1024);
    let _parrot = tokio::spawn(parrot(its));
    let session = taped(&path).connect(Session::builder(), ours).await.unwrap();
    session.prompt("hello").await.unwrap().outcome().await.unwrap();
    std::fs::write(&path, "theirs").unwrap();
    assert!(matches!(session.close().await, Err(CassetteError::Write { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn where_recording_is_off_a_missing_tape_is_an_error() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("tapes/t.tape");
    let never = || Cassette::new(&path).record(Record::Never);
    // Starting the real agent would fail with another error.
    let builder = Session::builder().program("/no/such/program");
    let error = never().start(builder).await.unwrap_err();
    assert!(matches!(error, CassetteError::Missing { .. }), "{error}");
    let message = error.to_string();
    for words in ["tapes/t.tape", "the test says so", "DUOLOGUE_RECORD=missing"] {
        assert!(message.contains(words), "{message}");
    }
    let error = converse(never(), "hello").await.unwrap_err();
    assert!(matches!(error, CassetteError::Missing { .. }), "{error}");
    assert!(!folder.path().join("tapes").exists());
    converse(taped(&path), "hello").await.unwrap();
    assert_eq!(converse(never(), "hello").await.unwrap(), (false, "hello".to_owned()));
}

#[tokio::test]
async fn errors_name_the_path_and_the_reason() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    // A tape that cannot be accessed is not missing: nothing is started.
    let below = file.join("t.tape");
    let builder = || Session::builder().program("/no/such/program");
    let error = taped(&below).start(builder()).await.unwrap_err().to_string();
    assert!(error.contains("file/t.tape"), "{error}");
    let error = taped(folder.path()).start(builder()).await.unwrap_err().to_string();
    assert!(error.contains(&folder.path().display().to_string()), "{error}");
    let bad = folder.path().join("bad.tape");
    std::fs::write(&bad, "{\"duologue\": 99999}\n").unwrap();
    let error = taped(&bad).start(builder()).await.unwrap_err().to_string();
    assert!(error.contains("bad.tape"), "{error}");
}
