//! The fixture of tests with the fake agent: a script, a session, and a check that no process and no task is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use duologue::protocol::launch::CliVersion;
use duologue::{Error, Event, Gone, Ladder, Messages, Session, SessionBuilder, Turn};
use duologue_testkit::fake::{self, Script, Stage, Step};
use duologue_testkit::leak::{assert_gone, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Handle;

/// Graces that are long enough for an agent that goes, and short for one that does not.
pub(super) const SHORT: Ladder =
    Ladder::new(Duration::from_millis(100), Duration::from_millis(100), Duration::from_secs(5));

/// A stage in its own temporary directory.
pub(super) fn stage(scripts: &[Script]) -> (TempDir, Stage) {
    let dir = tempfile::tempdir().unwrap();
    let stage = Stage::lives(dir.path(), scripts).unwrap();
    (dir, stage)
}

/// A script on its stage.
pub(super) struct Play {
    _dir: TempDir,
    pub(super) stage: Stage,
    tasks: usize,
}

impl Play {
    /// Each start of the agent follows the next script.
    pub(super) fn lives(scripts: &[Script]) -> Self {
        let (dir, stage) = stage(scripts);
        Self { _dir: dir, stage, tasks: Handle::current().metrics().num_alive_tasks() }
    }

    pub(super) fn of(script: Script) -> Self {
        Self::lives(&[script])
    }

    /// One turn of these steps.
    pub(super) fn turn(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::of(Script::new().turn(steps))
    }

    pub(super) fn builder(&self) -> SessionBuilder {
        let (name, value) = self.stage.env();
        Session::builder()
            .program(fake::program())
            .cli_version(CliVersion::new(2, 1, 325))
            .ladder(SHORT)
            .env(name, value)
    }

    pub(super) async fn start(&self) -> Session {
        self.builder().start().await.unwrap()
    }

    /// The answer of the host to this request.
    pub(super) async fn answer(&self, id: &str) -> Value {
        let line = self.stage.wait_for(|line| line["response"]["request_id"] == id).await;
        line["response"].clone()
    }

    /// The prompts that an agent was sent, by their texts.
    pub(super) fn prompts(&self, life: usize) -> Vec<String> {
        let lines = self.stage.host_lines_of(life);
        let lines = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let prompts = lines.filter(|line| line["type"] == "user");
        prompts.map(|line| line["message"]["content"].as_str().unwrap().to_owned()).collect()
    }

    /// Nothing is left: no process and no task.
    pub(super) async fn over(self) {
        assert_gone(&self.stage.pids()).await;
        assert_gone(&self.stage.grandchildren()).await;
        let metrics = Handle::current().metrics();
        let done = eventually(|| metrics.num_alive_tasks() <= self.tasks).await;
        assert!(done, "{} tasks are left of {}", metrics.num_alive_tasks(), self.tasks);
    }

    /// Closes the session: nothing is left then.
    pub(super) async fn close(self, session: Session) {
        session.close().await.unwrap();
        self.over().await;
    }
}

/// All events of a turn.
pub(super) async fn events(turn: &mut Turn) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await.unwrap() {
        events.push(event);
    }
    events
}

/// How many pieces of a flood come before the turn's result.
pub(super) async fn pieces(messages: &mut Messages) -> usize {
    let mut pieces = 0;
    loop {
        let message = messages.next().await.unwrap().unwrap();
        match message.line.kind().unwrap().as_ref() {
            "stream_event" => pieces += 1,
            "result" => return pieces,
            _ => {}
        }
    }
}

/// The finished texts among these.
pub(super) fn texts(events: &[Event]) -> Vec<String> {
    let text = |event: &Event| match event {
        Event::Text(text) => Some(text.text.to_string()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

/// An agent that is gone, or the test has failed.
pub(super) fn gone(error: Error) -> Arc<Gone> {
    match error {
        Error::Gone(gone) => gone,
        other => panic!("{other}"),
    }
}

/// A turn's result, with these fields of its own.
pub(super) fn result(own: Value) -> Value {
    let mut line = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "",
        "total_cost_usd": 0.25, "session_id": "s",
    });
    for (name, value) in own.as_object().unwrap() {
        line[name] = value.clone();
    }
    line
}

/// Tells when it is dropped.
#[derive(Clone, Default)]
pub(super) struct Fate(Arc<AtomicBool>);

pub(super) struct Doomed(Fate);

impl Fate {
    pub(super) fn guard(&self) -> Doomed {
        Doomed(self.clone())
    }

    pub(super) async fn sealed(&self) {
        assert!(eventually(|| self.0.load(Ordering::SeqCst)).await, "it was not dropped");
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::SeqCst);
    }
}

/// Runs a test once more, in a process whose environment has these. True in there.
pub(super) fn is_inside(test: &str, env: &[(&str, &str)]) -> bool {
    const INSIDE: &str = "PLAY_INSIDE";
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(INSIDE, "1")
        .envs(env.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&status.stdout);
    assert!(status.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// A builder whose agent leaves its environment in this file.
pub(super) fn telling_its_env(play: &Play, out: &std::path::Path) -> SessionBuilder {
    let script = format!("env >'{}'; exec '{}' \"$@\"", out.display(), fake::program().display());
    play.builder().program("/bin/sh").program_args(["-c", script.as_str(), "agent"])
}

/// The value of a variable in what `env` printed.
pub(super) fn variable(env: &std::path::Path, name: &str) -> Option<String> {
    let env = std::fs::read_to_string(env).unwrap();
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
    env.lines().find_map(value)
}
