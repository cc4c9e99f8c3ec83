//! Shared helpers of the `legacy_*` tests. Five early descriptions of the wire differ from what Claude Code does today.
//! These tests run every conversation in them between our host and `duologue agent`.
//!
//! Their examples, line by line, are in `crates/wire/tests/legacy`, one file per description (`000` to `004`).

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use duologue::launch::CliVersion;
use duologue::protocol::{Direction, Line};
use duologue::{Event, Session, SessionBuilder, Turn};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Legacy input and output forms.
pub(crate) const OLD: &[&str] = &["--lenient", "--dialect=legacy"];
/// Legacy input forms only.
pub(crate) const LENIENT: &[&str] = &["--lenient"];

/// A folder with a scenario for the model.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new(replies: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scenario = json!({ "replies": replies }).to_string();
        std::fs::write(folder.path().join("scenario.json"), scenario).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether a file is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.path().join(name).exists()
    }

    fn env(&self) -> Vec<(&'static str, String)> {
        let at = |name: &str| self.path().join(name).to_str().unwrap().to_owned();
        vec![
            ("CLAUDE_CONFIG_DIR", at("config")),
            ("DUOLOGUE_SCENARIO", at("scenario.json")),
            ("HOME", at("")),
            ("IS_SANDBOX", "1".to_owned()),
        ]
    }

    /// Our host, for an agent with these flags.
    pub(crate) fn host(&self, flags: &[&str]) -> SessionBuilder {
        let builder = Session::builder()
            .program(assert_cmd::cargo::cargo_bin("duologue"))
            .program_args(["agent"].iter().chain(flags).copied())
            .cli_version(CliVersion::new(2, 1, 325))
            .cwd(self.path());
        self.env().into_iter().fold(builder, |builder, (name, value)| builder.env(name, value))
    }

    /// `duologue` with a subcommand, in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("duologue"));
        command.args(arguments).envs(self.env()).current_dir(self.path());
        command
    }

    /// The agent, driven line by line.
    pub(crate) fn agent(&self, flags: &[&str]) -> Agent {
        let mut child = self
            .command(&["agent"])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Agent { child, stdin, stdout }
    }

    /// The same, with the flags of stream-json.
    pub(crate) fn streaming(&self, flags: &[&str]) -> Agent {
        let streams = ["--input-format=stream-json", "--output-format=stream-json", "--verbose"];
        self.agent(&[&streams, flags].concat())
    }
}

/// An agent that a test talks to line by line. Dropped, it is killed.
pub(crate) struct Agent {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Agent {
    pub(crate) fn say(&mut self, line: &Value) {
        self.say_raw(&line.to_string());
    }

    pub(crate) fn say_raw(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        self.say(&json!({ "type": "user", "message": { "role": "user", "content": text } }));
    }

    /// The next line; `None` at the end.
    pub(crate) fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        let count = self.stdout.read_line(&mut line).unwrap();
        (count > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// The lines up to and with the first that is wanted.
    pub(crate) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut lines = Vec::new();
        loop {
            let line = self.line().unwrap_or_else(|| panic!("the end came first: {lines:#?}"));
            let found = wanted(&line);
            lines.push(line);
            if found {
                return lines;
            }
        }
    }

    /// The next line of this type.
    pub(crate) fn next(&mut self, kind: &str) -> Value {
        self.until(|line| line["type"] == kind).pop().unwrap()
    }

    /// The next request of this subtype.
    pub(crate) fn asks(&mut self, subtype: &str) -> Value {
        self.until(|line| line["request"]["subtype"] == subtype).pop().unwrap()
    }

    /// Closes its stdin. Returns the remaining lines, its stderr and its exit code.
    pub(crate) fn end(mut self) -> (Vec<Value>, String, Option<i32>) {
        self.stdin = None;
        let mut rest = Vec::new();
        while let Some(line) = self.line() {
            rest.push(line);
        }
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (rest, stderr, self.child.wait().unwrap().code())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of a conversation, both ways, in their order.
#[derive(Clone, Default)]
pub(crate) struct Tape(Arc<Mutex<Vec<(Direction, Value)>>>);

impl Tape {
    pub(crate) fn of(&self, builder: SessionBuilder) -> SessionBuilder {
        let lines = Arc::clone(&self.0);
        builder.tap(move |direction, line: &Line| {
            let value = serde_json::from_slice(line.raw()).unwrap();
            lines.lock().unwrap().push((direction, value));
        })
    }

    pub(crate) fn to_agent(&self) -> Vec<Value> {
        self.lines(Direction::ToAgent)
    }

    pub(crate) fn to_host(&self) -> Vec<Value> {
        self.lines(Direction::ToHost)
    }

    fn lines(&self, wanted: Direction) -> Vec<Value> {
        let lines = self.0.lock().unwrap();
        lines.iter().filter(|(way, _)| *way == wanted).map(|(_, line)| line.clone()).collect()
    }

    /// Both directions in short, without requests of the host: `> approve`, `< assistant thinking+text`.
    pub(crate) fn outline(&self) -> Vec<String> {
        let is_control = |line: &str| line.starts_with("> asks ") || line == "< answers";
        self.all().into_iter().filter(|line| !is_control(line)).collect()
    }

    /// The outline. Its first two lines may cross, so they are sorted.
    pub(crate) fn flow(&self) -> Vec<String> {
        let mut flow = self.outline();
        flow[..2].sort();
        flow
    }

    /// The requests of the host and their answers.
    pub(crate) fn outline_of_control(&self) -> Vec<String> {
        let is_control = |line: &str| line.starts_with("> asks ") || line == "< answers";
        self.all().into_iter().filter(|line| is_control(line)).collect()
    }

    fn all(&self) -> Vec<String> {
        let arrow = |way: &Direction| if *way == Direction::ToAgent { '>' } else { '<' };
        let lines = self.0.lock().unwrap();
        lines.iter().map(|(way, line)| format!("{} {}", arrow(way), short(line))).collect()
    }
}

/// A line in short.
pub(crate) fn short(line: &Value) -> String {
    let kind = line["type"].as_str().unwrap_or("?");
    match kind {
        "system" => format!("system/{}", line["subtype"].as_str().unwrap_or("?")),
        "control_request" => format!("asks {}", line["request"]["subtype"].as_str().unwrap_or("?")),
        "control_response" => "answers".to_owned(),
        "assistant" | "user" => {
            let content = &line["message"]["content"];
            let blocks = content.as_array().into_iter().flatten();
            let kinds: Vec<&str> = blocks.filter_map(|block| block["type"].as_str()).collect();
            let kinds = if content.is_string() { "text".to_owned() } else { kinds.join("+") };
            format!("{kind} {kinds}")
        }
        other => other.to_owned(),
    }
}

pub(crate) fn shorts(lines: &[Value]) -> Vec<String> {
    lines.iter().map(short).collect()
}

/// The events of a turn.
pub(crate) async fn events(turn: &mut Turn) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await.unwrap() {
        events.push(event);
    }
    events
}

/// A command that the model wants to run.
pub(crate) fn bash(command: &str) -> Value {
    json!({ "tool": "Bash", "input": { "command": command, "description": "Do it" } })
}

/// A question of the model.
pub(crate) fn question(several: bool) -> Value {
    json!({ "tool": "AskUserQuestion", "input": { "questions": [{
        "question": "Yes or no?", "header": "Choice", "multiSelect": several,
        "options": [{ "label": "Yes", "description": "y" }, { "label": "No", "description": "n" }],
    }] } })
}

/// A line of a description.
#[derive(Clone)]
pub(crate) struct Example {
    pub(crate) to_host: bool,
    /// The subtype of the request that it answers.
    pub(crate) answers: Option<String>,
    pub(crate) line: Value,
}

/// All example lines of a description.
pub(crate) fn examples(description: &str) -> Vec<Example> {
    let folder = duologue_testkit::root().join("crates/wire/tests/legacy");
    let text = std::fs::read_to_string(folder.join(format!("{description}.ndjson"))).unwrap();
    let read = |line: &str| {
        let example: Value = serde_json::from_str(line).unwrap();
        Example {
            to_host: example["dir"] == "out",
            answers: example["answers"].as_str().map(str::to_owned),
            line: example["line"].clone(),
        }
    };
    text.lines().map(read).collect()
}

/// The example answers of a host to this request, each with the id of a request.
pub(crate) fn answers(description: &str, subtype: &str, id: &Value) -> Vec<Value> {
    let ours = |example: &Example| !example.to_host && example.answers.as_deref() == Some(subtype);
    let with_id = |mut example: Example| {
        example.line["response"]["request_id"] = id.clone();
        example.line
    };
    examples(description).into_iter().filter(ours).map(with_id).collect()
}

/// Sends every example of a host to the agent, which must accept it and keep running.
pub(crate) fn the_agent_takes_every_example(description: &str, flags: &[&str]) {
    let place = Place::new(json!([{ "say": "Understood.", "times": "always" }]));
    let mut agent = place.streaming(flags);
    let mut taken = 0;
    for example in examples(description).into_iter().filter(|example| !example.to_host) {
        agent.say(&example.line);
        let end = match example.line["type"].as_str().unwrap() {
            "user" => "result",
            "control_request" => "control_response",
            // It answers no open request, so it is ignored, and the next prompt is answered.
            _ => {
                agent.prompt("Still there?");
                "result"
            }
        };
        loop {
            let line = agent.line().unwrap();
            assert_ne!(line["type"], "error", "{}", example.line);
            assert_ne!(line["response"]["subtype"], "error", "{}: {line}", example.line);
            if line["request"]["subtype"] == "mcp_message" {
                // An example has declared a server.
                let mut hello = answers("001", "mcp_message", &line["request_id"]).remove(0);
                let id = &line["request"]["message"]["id"];
                hello["response"]["response"]["mcp_response"]["id"] = id.clone();
                agent.say(&hello);
            }
            if line["type"] == end {
                break;
            }
        }
        taken += 1;
    }
    assert!(taken > 0);
    let (_, stderr, code) = agent.end();
    assert_eq!(code, Some(0), "{stderr}");
}

/// Lets an agent write every example of an agent: our host and `check` must understand it.
pub(crate) async fn the_host_understands_every_example(description: &str) {
    let lines: Vec<Value> =
        examples(description).into_iter().filter(|e| e.to_host).map(|e| e.line).collect();
    let said: Vec<String> = lines.iter().map(Value::to_string).collect();
    let place = Place::new(json!([{ "lines": said, "say": "That is all." }]));
    let session = place.host(&[]).start().await.unwrap();
    session.query("Say everything.").await.unwrap();
    let mut understood = 0;
    while understood < lines.len() {
        let message = session.receive().await.unwrap().unwrap();
        let raw: Value = serde_json::from_slice(message.line.raw()).unwrap();
        if lines.contains(&raw) {
            assert!(message.known().is_some(), "{raw}");
            understood += 1;
        }
    }
    session.kill().await;
    let file = place.path().join("stdout.ndjson");
    std::fs::write(&file, said.join("\n")).unwrap();
    let checked = super::command::duologue().arg("check").arg(&file).output().unwrap();
    assert!(checked.status.success(), "{}", super::command::text(&checked.stdout));
}
