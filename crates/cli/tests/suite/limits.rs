//! Small files that unpack to a lot, and an agent that is started again.

use std::path::Path;
use std::process::{Command, Output};

use duologue::protocol::Line;
use duologue::protocol::permission::PermissionMode;
use duologue::{Event, Respawn};
use duologue_tape::{Event as OnTape, Header, TapeFile, Writer};
use serde_json::json;

use super::command::text;
use super::legacy::Place;

#[tokio::test]
async fn the_embedded_agent_comes_back_with_what_was_changed() {
    let place = Place::new(json!([{ "say": "One." }, { "say": "Two." }]));
    let session = place.host(&[]).respawn(Respawn::up_to(3)).start().await.unwrap();
    let mut events = session.events();
    session.control().set_permission_mode(PermissionMode::AcceptEdits).await.unwrap();
    session.control().set_model("another-model").await.unwrap();
    session.prompt("Go").await.unwrap().outcome().await.unwrap();
    let before = session.pid().unwrap();
    assert!(Command::new("kill").args(["-9", &before.to_string()]).status().unwrap().success());
    while !matches!(events.next().await.unwrap(), Some(Event::RunEnded(_))) {}
    session.prompt("Again").await.unwrap().outcome().await.unwrap();
    assert_ne!(session.pid(), Some(before));
    let run = loop {
        if let Some(Event::RunStarted(run)) = events.next().await.unwrap() {
            break run;
        }
    };
    assert_eq!(run.model.as_deref(), Some("another-model"));
    assert_eq!(run.permission_mode, Some(PermissionMode::AcceptEdits));
    session.close().await.unwrap();
}

/// The most memory of a command, in KiB of address space. Without limits, these commands take one to two and a half GB.
const MEMORY: &str = "655360";

/// One message of this many deltas of 100 KB, which is never finished: a few KB, compressed.
fn bomb(path: &Path, deltas: usize) {
    let header = Header::new("claude", ["--verbose"]);
    let mut tape = Writer::new(TapeFile::create(path).unwrap(), &header).unwrap();
    let delta = json!({ "type": "text_delta", "text": "x".repeat(100_000) });
    let event = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
    let line = Line::from(json!({ "type": "stream_event", "event": event }).to_string());
    for _ in 0..deltas {
        tape.event(Some(1), &OnTape::ToHost(line.clone())).unwrap();
    }
    tape.finish().unwrap().finish().unwrap();
    assert!(path.metadata().unwrap().len() < 1_000_000);
}

/// Runs a command with that limit.
fn within_memory(args: &[&str]) -> Output {
    let script = format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"");
    let program = assert_cmd::cargo::cargo_bin("duologue");
    Command::new("sh").args(["-c", &script]).arg(program).args(args).output().unwrap()
}

#[test]
fn a_small_file_that_unpacks_to_a_lot_takes_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (tape, page, clean) = (path("bomb.tape.zst"), path("page.html"), path("clean.tape.zst"));
    // More than any budget, the largest of which is 64 MiB.
    bomb(Path::new(&tape), 800);
    for args in [
        &["inspect", &tape][..],
        &["inspect", &tape, "--html", &page],
        &["check", &tape],
        &["diff", &tape, &tape],
        &["redact", &tape, "-o", &clean],
    ] {
        let output = within_memory(args);
        // `check` may find that the turn has no end.
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{args:?}: {code:?} {}", text(&output.stderr));
    }
    let json = within_memory(&["inspect", "--json", &tape]);
    let json = text(&json.stdout);
    assert!(json.lines().any(|line| line.contains("\"limit_reached\"")));
    assert!(json.lines().any(|line| line.contains("\"omitted_bytes\":")));
}
