//! How an agent is started and resumed, and what it inherits.

use duologue::launch::Conversation;
use duologue::protocol::content::ContentBlock;
use duologue::{Error, Event, PromptError, Session};
use duologue_testkit::fake::{Script, Step};
use duologue_testkit::recordings;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::play::{Play, gone, is_inside, telling_its_env, variable};

#[tokio::test]
async fn variables_of_an_outer_agent_are_not_inherited() {
    let marks = [
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "cli"),
        ("CLAUDE_CODE_SESSION_ID", "outer"),
        ("CLAUDE_CODE_CHILD_SESSION", "1"),
        ("CLAUDE_CODE_SESSION_ACCESS_TOKEN", "secret"),
        ("NODE_OPTIONS", "--inspect"),
    ];
    let name = "suite::starting::variables_of_an_outer_agent_are_not_inherited";
    if !is_inside(name, &marks) {
        return;
    }
    let out = tempfile::NamedTempFile::new().unwrap();
    let play = Play::of(Script::new());
    let session = telling_its_env(&play, out.path()).start().await.unwrap();
    for (mark, value) in marks {
        let found = variable(out.path(), mark);
        assert_ne!(found.as_deref(), Some(value), "{mark}");
    }
    play.close(session).await;
    // Whoever wants them keeps them.
    let play = Play::of(Script::new());
    let builder = telling_its_env(&play, out.path()).keep_outer_marks(true);
    let session = builder.start().await.unwrap();
    assert_eq!(variable(out.path(), "CLAUDECODE").as_deref(), Some("1"));
    play.close(session).await;
}

#[tokio::test]
async fn options_too_long_for_arguments_go_into_files_or_the_handshake() {
    const LONG: usize = 300_000;
    let play = Play::of(Script::new());
    let settings = json!({ "env": { "LONG": "s".repeat(LONG) } });
    let session = play
        .builder()
        .system_prompt("p".repeat(LONG).as_str())
        .settings(duologue::protocol::RawObject::of(&settings).unwrap())
        .allowed_tools((0..2_000).map(|number| format!("Bash(git log --grep={number})")))
        .start()
        .await
        .unwrap();
    let prompt = "q".repeat(LONG);
    let mut turn = session.prompt(prompt.as_str()).await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), prompt);
    let argv = &play.stage.starts()[0].argv;
    let (longest, all) = (argv.iter().map(String::len).max(), argv.iter().map(String::len).sum());
    assert!(longest < Some(128 * 1024), "{longest:?}");
    let all: usize = all;
    assert!(all < 1024 * 1024, "{all}");
    play.close(session).await;
}

#[tokio::test]
async fn an_option_that_fits_nowhere_is_an_error() {
    let play = Play::of(Script::new());
    let builder = play.builder().extra_arg("brand-new", "x".repeat(5_000_000));
    let error = builder.start().await.unwrap_err();
    assert!(error.to_string().contains("brand-new"), "{error}");
    assert!(play.stage.starts().is_empty());
    play.over().await;
}

const ID: &str = "6f2b1c1e-93a5-4c0e-8a51-1d5d0a7f3c11";

#[tokio::test]
async fn only_one_way_to_choose_a_conversation_is_accepted() {
    let cases = [
        (Conversation::NewWithId(ID.into()), vec![format!("--session-id={ID}")]),
        (Conversation::resume(ID), vec![format!("--resume={ID}")]),
        (Conversation::Continue, vec!["--continue".to_owned()]),
        (Conversation::fork(ID), vec![format!("--resume={ID}"), "--fork-session".to_owned()]),
    ];
    for (choice, flags) in cases {
        let play = Play::of(Script::new());
        let session = play.builder().conversation(choice).start().await.unwrap();
        let argv = &play.stage.starts()[0].argv;
        let known = ["--session-id", "--resume", "--continue", "--fork-session"];
        let about = |arg: &&String| known.iter().any(|flag| arg.starts_with(flag));
        let mut said: Vec<String> = argv.iter().filter(about).cloned().collect();
        said.sort();
        let mut flags = flags;
        flags.sort();
        assert_eq!(said, flags);
        play.close(session).await;
    }
}

fn unknown() -> Script {
    let says = format!("No conversation found with session ID: {ID}");
    Script::new().on("initialize", [Step::Stderr(says), Step::Exit(1)])
}

#[tokio::test]
async fn an_unknown_conversation_is_an_error_or_a_new_one() {
    let play = Play::of(unknown());
    let error = play.builder().conversation(Conversation::resume(ID)).start().await.unwrap_err();
    let gone = gone(error);
    assert!(gone.is_unknown_conversation());
    assert!(gone.to_string().contains(ID), "{gone}");
    play.over().await;

    let play = Play::lives(&[unknown(), Script::new()]);
    let choice = Conversation::ResumeOrNew(ID.into());
    let session = play.builder().conversation(choice).start().await.unwrap();
    let starts = play.stage.starts();
    assert!(starts[0].argv.contains(&format!("--resume={ID}")));
    assert!(starts[1].argv.contains(&format!("--session-id={ID}")));
    let mut turn = session.prompt("hello").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().session_id().unwrap().as_str(), ID);
    play.close(session).await;
}

#[tokio::test]
async fn a_conversation_that_changes_its_id_is_followed() {
    let other = json!({ "type": "system", "subtype": "init", "session_id": "another" });
    let lives =
        [Script::new().turn([Step::Usual]).turn([Step::Emit(other), Step::Die(9)]), Script::new()];
    let play = Play::lives(&lives);
    let dir = tempfile::tempdir().unwrap();
    let builder = play.builder().cwd(dir.path()).respawn(duologue::Respawn::up_to(1));
    let session = builder.start().await.unwrap();
    let mut turn = session.prompt("one").await.unwrap();
    turn.outcome().await.unwrap();
    let mut turn = session.prompt("/clear").await.unwrap();
    assert!(turn.outcome().await.is_err());
    let mut turn = session.prompt("three").await.unwrap();
    assert!(turn.outcome().await.unwrap().is_success());
    // It comes back where it was, and in the conversation that it said last.
    let [first, second] = &play.stage.starts()[..] else { panic!() };
    assert!(second.argv.contains(&"--resume=another".to_owned()), "{:?}", second.argv);
    assert_eq!(first.cwd, second.cwd);
    assert_eq!(first.cwd, dir.path().canonicalize().unwrap());
    play.close(session).await;
}

#[tokio::test]
async fn transcript_entries_reach_the_host() {
    let entry = json!({ "type": "user", "uuid": "u-1", "message": { "content": "hello" } });
    let mirror = json!({
        "type": "transcript_mirror", "filePath": "/home/me/.claude/projects/p/s.jsonl",
        "entries": [entry],
    });
    let play = Play::turn([Step::Init, Step::Emit(mirror.clone()), Step::Done("x".into())]);
    let session = play.builder().session_mirror(true).start().await.unwrap();
    assert!(play.stage.starts()[0].argv.iter().any(|arg| arg.starts_with("--session-mirror")));
    let mut messages = session.messages();
    let _turn = session.prompt("go on").await.unwrap();
    // Line by line as it is, for a journal of one's own.
    loop {
        let message = messages.next().await.unwrap().unwrap();
        if message.line.kind().unwrap() == "transcript_mirror" {
            assert_eq!(serde_json::from_slice::<Value>(message.line.raw()).unwrap(), mirror);
            break;
        }
    }
    drop((_turn, messages));
    play.close(session).await;
}

#[tokio::test]
async fn each_session_may_have_its_own_configuration() {
    let mut seen = Vec::new();
    for _ in 0..2 {
        let play = Play::of(Script::new());
        let out = tempfile::NamedTempFile::new().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let builder = telling_its_env(&play, out.path()).config_dir(dir.path());
        let session = builder.start().await.unwrap();
        let found = variable(out.path(), "CLAUDE_CONFIG_DIR").unwrap();
        assert_eq!(found, dir.path().to_str().unwrap());
        seen.push(found);
        play.close(session).await;
    }
    assert_ne!(seen[0], seen[1]);
}

/// An image of this size, as far as its header goes.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 6, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

#[tokio::test]
async fn an_invalid_image_is_refused_before_it_is_sent() {
    let play = Play::of(Script::new());
    let session = play.start().await;
    let large = duologue::image(&png(2_001, 10)).unwrap();
    let bad = [
        large.clone(),
        ContentBlock::image("image/png", "bm90IGEgcGljdHVyZQ=="),
        ContentBlock::image("image/png", "A".repeat(6 * 1024 * 1024)),
    ];
    for block in bad {
        let error = session.prompt([block]).await.unwrap_err();
        assert!(matches!(error, Error::Prompt(_)), "{error}");
    }
    assert!(matches!(duologue::image(b"BM not taken"), Err(PromptError::Format { .. })));
    // One that is small enough is sent, and nothing else was.
    let small = duologue::image(&png(2_000, 2_000)).unwrap();
    let mut turn = session.prompt([small, ContentBlock::text("what is it?")]).await.unwrap();
    assert!(turn.outcome().await.unwrap().is_success());
    let prompts = play.stage.host_values();
    assert_eq!(prompts.iter().filter(|line| line["type"] == "user").count(), 1);
    play.close(session).await;
    let play = Play::of(Script::new());
    let session = play.builder().max_image_pixels(8_000).start().await.unwrap();
    let mut turn = session.prompt([large]).await.unwrap();
    assert!(turn.outcome().await.is_ok());
    play.close(session).await;
}

#[tokio::test]
async fn a_recording_can_be_replayed_to_a_session() {
    let all = recordings();
    let recording = all.iter().find(|one| one.is_newest()).unwrap();
    let lines: Vec<&str> =
        recording.entries.iter().filter(|e| e.to_host).map(|e| &*e.line).collect();
    let (host, agent) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(host);
    let builder = Session::builder().handshake(duologue::Handshake::Skip);
    let session = builder.connect(reader, writer).await.unwrap();
    let (mut messages, mut events) = (session.messages(), session.events());
    let (_reader, mut writer) = tokio::io::split(agent);
    for line in &lines {
        writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    for line in lines.iter().filter(|line| !line.contains("keep_alive")) {
        let message = messages.next().await.unwrap().unwrap();
        assert_eq!(message.line.raw(), line.as_bytes());
    }
    loop {
        if let Event::TurnFinished(_) = events.next().await.unwrap().unwrap() {
            break;
        }
    }
}
