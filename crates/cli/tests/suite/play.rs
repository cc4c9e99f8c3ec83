//! The command with an agent that follows a script.

use std::process::{Command, Output};

use duologue_testkit::fake::{self, Script, Stage, Step};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The command, and an agent for it.
pub(crate) struct Play {
    pub(crate) home: TempDir,
    _dir: TempDir,
    pub(crate) stage: Stage,
}

impl Play {
    pub(crate) fn new(script: &Script) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let stage = Stage::new(dir.path(), script).unwrap();
        Self { home: tempfile::tempdir().unwrap(), _dir: dir, stage }
    }

    /// One turn.
    pub(crate) fn turn(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::new(&Script::new().turn(steps))
    }

    /// A command that uses the agent, in a home of its own.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let (name, value) = self.stage.env();
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("duologue"));
        command
            .arg(args[0])
            .arg("--agent")
            .arg(fake::program())
            .args(&args[1..])
            .env(name, value)
            .env("HOME", self.home.path())
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("CLICOLOR_FORCE")
            .stdin(std::process::Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(&[&["run"], args].concat()).output().unwrap()
    }

    /// The prompts that were sent.
    pub(crate) fn prompts(&self) -> Vec<Value> {
        let lines = self.stage.host_values().into_iter();
        let prompts = lines.filter(|line| line["type"] == "user");
        prompts.map(|line| line["message"]["content"].clone()).collect()
    }
}

pub(crate) fn text(text: &str) -> Step {
    Step::Text(text.to_owned())
}

/// A `result` line with these fields besides.
pub(crate) fn result(fields: Value) -> Step {
    let mut line = json!({
        "type": "result",
        "subtype": "success",
        "is_error": false,
        "num_turns": 1,
        "result": "",
        "session_id": "s",
        "total_cost_usd": 0.5,
        "permission_denials": [],
        "uuid": "r-1",
    });
    for (name, value) in fields.as_object().unwrap() {
        line[name] = value.clone();
    }
    Step::Emit(line)
}
