//! Options of the host that only the real CLI can prove: a spare process, recycling, and rules after a restart.
//!
//! These tests run if the newest pinned version is installed (`cargo run -p duologue-conformance` installs it). CI sets
//! `DUOLOGUE_REAL_CLI` after it has installed the CLI; then a missing one is a failure. The tests run without a
//! network, in a scrubbed environment, with a scripted model on loopback and a made-up key.

#![allow(clippy::print_stderr, reason = "a test that does not run reports why")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use duologue::handlers::Decision;
use duologue::launch::SettingSource;
use duologue::permission::{PermissionMode, PermissionUpdate};
use duologue::protocol::RawJson;
use duologue::protocol::control::ListPermissionRules;
use duologue::{Claim, Event, Events, Session, SessionBuilder};
use duologue_model::{Reply, Scenario, Server, When};
use duologue_testkit::peers::{CACHE, cache, claude, environment, peer, without_network};
use serde_json::json;

/// Makes a missing CLI a failure.
const REQUIRED: &str = "DUOLOGUE_REAL_CLI";

/// Set in the process that runs a test.
const INSIDE: &str = "DUOLOGUE_REAL_CLI_INSIDE";

/// Runs this test again without a network, or in this process if it is the inner one.
fn isolated(name: &str, test: impl AsyncFnOnce(Stage)) {
    let Ok(Some(folder)) = peer("claude-code").installed(peer("claude-code").version()) else {
        assert!(std::env::var_os(REQUIRED).is_none(), "Claude Code is not installed");
        eprintln!("{name}: not run, Claude Code is not installed");
        return;
    };
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        return runtime.block_on(test(Stage::new(claude(&folder))));
    }
    let this = std::env::current_exe().unwrap();
    let mut command = without_network(&this).unwrap_or_else(|| Command::new(&this));
    command.args(["--exact", &format!("suite::real_cli::{name}"), "--nocapture"]).env_clear();
    for name in ["PATH", "TMPDIR"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.envs(environment()).env(CACHE, cache().unwrap()).env(INSIDE, "1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Directories for one CLI.
struct Stage {
    program: PathBuf,
    dir: tempfile::TempDir,
}

impl Stage {
    fn new(program: PathBuf) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "config", "work"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { program, dir }
    }

    fn work(&self) -> PathBuf {
        std::fs::canonicalize(self.dir.path().join("work")).unwrap()
    }

    fn builder(&self, server: &Server) -> SessionBuilder {
        Session::builder()
            .program(&self.program)
            .config_dir(self.dir.path().join("config"))
            .setting_sources(Vec::<SettingSource>::new())
            .handshake_within(Duration::from_secs(60))
            .env("HOME", self.dir.path().join("home"))
            .env("ANTHROPIC_BASE_URL", server.base_url())
    }
}

async fn model(replies: impl IntoIterator<Item = Reply>) -> Server {
    let scenario = replies.into_iter().fold(Scenario::new(), Scenario::reply);
    Server::start(scenario).await.unwrap()
}

/// The folder that a session reports with its first turn.
async fn folder(session: &Session, prompt: &str) -> (PathBuf, String) {
    let mut events = session.events();
    let outcome = session.prompt(prompt).await.unwrap().outcome().await.unwrap();
    while let Some(event) = events.next().await.unwrap() {
        if let Event::RunStarted(started) = event {
            let folder = started.cwd.as_deref().unwrap_or_default().to_owned();
            return (PathBuf::from(folder), outcome.text().to_owned());
        }
    }
    panic!("no run has started");
}

/// Waits until the process is being replaced.
async fn run_ended(events: &mut Events) {
    while !matches!(events.next().await.unwrap().unwrap(), Event::RunEnded(_)) {}
}

#[test]
fn a_spare_process_is_claimed() {
    isolated("a_spare_process_is_claimed", async |stage| {
        let server = model([Reply::text("Claimed.").always()]).await;
        let spare = stage.builder(&server).prewarm().await.unwrap();
        let pid = spare.pid();
        assert!(pid.is_some());
        assert_eq!(server.turns(), 0, "a spare process asks the model nothing");
        let claim = Claim::new(stage.work()).permission_mode(PermissionMode::AcceptEdits);
        let session = spare.claim(claim).await.unwrap();
        assert_eq!(session.pid(), pid);
        let (cwd, text) = folder(&session, "Where are you?").await;
        assert_eq!((cwd.as_path(), text.as_str()), (stage.work().as_path(), "Claimed."));
        session.close().await.unwrap();
    });
}

#[test]
fn a_claim_of_a_missing_folder_is_refused() {
    isolated("a_claim_of_a_missing_folder_is_refused", async |stage| {
        let server = model([Reply::text("Never.").always()]).await;
        let spare = stage.builder(&server).prewarm().await.unwrap();
        let missing = Path::new("/no/such/folder");
        let error = spare.claim(Claim::new(missing)).await.unwrap_err();
        assert!(error.to_string().contains("claim_session"), "{error}");
    });
}

#[test]
fn a_recycled_process_continues_the_conversation() {
    isolated("a_recycled_process_continues_the_conversation", async |stage| {
        let mut with_history = When::prompt("Which word");
        with_history.history = Some("The word is heron".to_owned());
        let replies = [
            Reply::text("Noted.").when(When::prompt("The word is heron")),
            Reply::text("I remember.").when(with_history),
        ];
        let server = model(replies).await;
        let session =
            stage.builder(&server).cwd(stage.work()).recycle_above(1).start().await.unwrap();
        let first = session.pid();
        let mut events = session.events();
        let outcome = session.prompt("The word is heron.").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.text(), "Noted.");
        let id = session.session_id();
        run_ended(&mut events).await;
        let outcome = session.prompt("Which word?").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.text(), "I remember.");
        assert_ne!(session.pid(), first, "another process");
        assert_eq!(session.session_id(), id, "the same conversation");
        session.close().await.unwrap();
    });
}

#[test]
fn rules_that_ask_survive_a_restart() {
    isolated("rules_that_ask_survive_a_restart", async |stage| {
        let touch = duologue_model::Block::tool("Bash", json!({ "command": "touch seen" }));
        let server = model([
            Reply::new().say(touch).when(When::prompt("Touch it")),
            Reply::text("Done.").always(),
        ])
        .await;
        let session = stage
            .builder(&server)
            .cwd(stage.work())
            .recycle_above(1)
            .on_permission(|_| async {
                let rule = json!([{ "type": "addRules", "behavior": "ask", "destination": "session",
                    "rules": [{ "toolName": "WebFetch" }] }]);
                Decision::allow_and_update(
                    RawJson::from(rule).read::<Vec<PermissionUpdate>>().unwrap(),
                )
            })
            .start()
            .await
            .unwrap();
        let first = session.pid();
        let mut events = session.events();
        session.prompt("Touch it").await.unwrap().outcome().await.unwrap();
        run_ended(&mut events).await;
        session.prompt("Again").await.unwrap().outcome().await.unwrap();
        assert_ne!(session.pid(), first, "another process");
        let reply = session.control().ask(ListPermissionRules::new()).await.unwrap();
        let text = serde_json::to_string(&reply).unwrap();
        assert!(text.contains("WebFetch"), "{text}");
        session.close().await.unwrap();
    });
}
