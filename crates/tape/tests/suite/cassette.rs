//! Tests that record once and replay ever after.

use duologue::Session;
use duologue_tape::{Cassette, CassetteError};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

/// An agent that says every prompt again.
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
    let cassette = || Cassette::new(&path);
    assert_eq!(converse(cassette(), "hello").await.unwrap(), (true, "hello".to_owned()));
    assert_eq!(converse(cassette(), "hello").await.unwrap(), (false, "hello".to_owned()));
    // Something else is no longer the conversation on the tape.
    let error = converse(cassette(), "good bye").await.unwrap_err();
    assert!(matches!(error, CassetteError::Mismatch(_)), "{error}");
    assert!(error.to_string().contains("DUOLOGUE_RECORD=1"));
    let anew = converse(cassette().record_anew(), "good bye").await.unwrap();
    assert_eq!(anew, (true, "good bye".to_owned()));
    assert_eq!(converse(cassette(), "good bye").await.unwrap(), (false, "good bye".to_owned()));
}

#[tokio::test]
async fn a_test_that_fails_keeps_no_tape() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    let (ours, its) = tokio::io::duplex(64 * 1024);
    let _parrot = tokio::spawn(parrot(its));
    let session = Cassette::new(&path).connect(Session::builder(), ours).await.unwrap();
    drop(session);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_turn_that_is_not_on_the_tape_says_so_itself() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    converse(Cassette::new(&path), "hello").await.unwrap();
    let session = Cassette::new(&path).start(Session::builder()).await.unwrap();
    // Most tests end here, and never come to `close`.
    let error = session.prompt("good bye").await.unwrap().outcome().await.unwrap_err();
    let told = format!("{error}");
    assert!(told.contains("hello") && told.contains("DUOLOGUE_RECORD=1"), "{told}");
}

#[tokio::test]
async fn what_is_no_tape_is_not_played() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    std::fs::write(&path, "").unwrap();
    let error = Cassette::new(&path).start(Session::builder()).await.unwrap_err();
    assert!(matches!(error, CassetteError::NoTape(_)), "{error}");
}

#[tokio::test]
async fn a_signal_on_the_tape_is_not_waited_for() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    converse(Cassette::new(&path), "hello").await.unwrap();
    let tape = std::fs::read_to_string(&path).unwrap();
    let (start, exit) = tape.trim_end().rsplit_once('\n').unwrap();
    std::fs::write(&path, format!("{start}\n{{\"note\":\"signal SIGINT\"}}\n{exit}\n")).unwrap();
    let patience = std::time::Duration::from_secs(30);
    let replayed = tokio::time::timeout(patience, converse(Cassette::new(&path), "hello"));
    assert_eq!(replayed.await.unwrap().unwrap(), (false, "hello".to_owned()));
}

#[tokio::test]
async fn a_tape_that_another_test_has_written_meanwhile_stays() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.tape");
    let (ours, its) = tokio::io::duplex(64 * 1024);
    let _parrot = tokio::spawn(parrot(its));
    let session = Cassette::new(&path).connect(Session::builder(), ours).await.unwrap();
    session.prompt("hello").await.unwrap().outcome().await.unwrap();
    std::fs::write(&path, "theirs").unwrap();
    assert!(matches!(session.close().await, Err(CassetteError::Write(_))));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
