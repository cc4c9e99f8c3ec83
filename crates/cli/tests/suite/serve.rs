//! `duologue serve`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use duologue_testkit::fake::{self, Kind, Script, Stage, Step};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::command::text;

fn duologue() -> Command {
    Command::new(assert_cmd::cargo::cargo_bin!("duologue"))
}

/// A hub that runs.
struct Running {
    child: Child,
    address: String,
    code: String,
    token: Option<String>,
}

/// The command, with its state in a folder and the agent of a stage.
fn serve(folder: &Path, stage: Option<&Stage>) -> Command {
    let mut command = duologue();
    command.args(["serve", "--listen", "127.0.0.1:0", "--state"]).arg(folder.join("state"));
    command.arg("--dir").arg(folder).env("HOME", folder).env_remove("CLAUDE_CONFIG_DIR");
    match stage {
        Some(stage) => {
            let (name, value) = stage.env();
            command.arg("--agent").arg(fake::program()).env(name, value);
        }
        None => {
            command.arg("--embedded");
        }
    }
    command
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let Ok(ready) = serde_json::from_str::<Value>(&line) else {
            let output = child.wait_with_output().unwrap();
            panic!("{line:?} {}", text(&output.stderr));
        };
        let address = ready["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        let code = ready["pairing_code"].as_str().unwrap().to_owned();
        Self { child, address, code, token: None }
    }

    /// Starts a hub and pairs with it.
    fn paired(command: Command) -> Self {
        let mut hub = Self::start(command);
        let (status, paired) = hub.send("POST", "/v1/pair", Some(json!({ "code": hub.code })));
        assert_eq!(status, 201, "{paired}");
        hub.token = Some(paired["token"].as_str().unwrap().to_owned());
        hub
    }

    fn request(&self, method: &str, path: &str, body: Option<Value>) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{}Content-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            token.unwrap_or_default(),
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut reply = String::new();
        self.request(method, path, body).read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap())
    }

    /// Follows a session from its beginning until an entry fits. Returns all entries up to it.
    fn follow(&self, session: &str, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let stream = self.request("GET", &format!("/v1/sessions/{session}/stream"), None);
        let mut entries = Vec::new();
        for line in BufReader::new(stream).lines() {
            let line = line.unwrap();
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let entry: Value = serde_json::from_str(data).unwrap();
            if entry.get("kind").is_none() {
                continue;
            }
            entries.push(entry);
            if fits(&entries[entries.len() - 1]) {
                return entries;
            }
        }
        panic!("the stream ended: {entries:#?}");
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Ends it in order.
    fn end(mut self) {
        self.signal(Signal::TERM);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

const SESSION: &str = "11111111-1111-4111-8111-111111111111";
const PROMPT: &str = "22222222-2222-4222-8222-222222222222";

fn path(rest: &str) -> String {
    format!("/v1/sessions/{SESSION}{rest}")
}

#[test]
fn a_hub_works_with_the_embedded_agent_and_without_configuration() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("note.txt"), "The answer is 42.").unwrap();
    let hub = Running::paired(serve(folder.path(), None));
    assert_eq!(hub.send("PUT", &path(""), Some(json!({}))).0, 201);
    let prompt = json!({ "content": "read note.txt" });
    assert_eq!(hub.send("PUT", &path(&format!("/prompts/{PROMPT}")), Some(prompt)).0, 202);
    let entries = hub.follow(SESSION, |entry| entry["kind"] == "turns.completed");
    let has_answer = entries.iter().any(|entry| {
        entry["kind"] == "lines.agent" && entry["body"].to_string().contains("The answer is 42.")
    });
    assert!(has_answer, "{entries:#?}");
    // The next turn of the same conversation, after a restart: the agent resumes it.
    let token = hub.token.clone();
    hub.end();
    let mut hub = Running::start(serve(folder.path(), None));
    hub.token = token;
    let second = "33333333-3333-4333-8333-333333333333";
    let prompt = json!({ "content": "read note.txt" });
    assert_eq!(hub.send("PUT", &path(&format!("/prompts/{second}")), Some(prompt)).0, 202);
    let entries = hub
        .follow(SESSION, |entry| entry["kind"] == "turns.completed" && entry["body"]["turn"] == 2);
    let failed = entries.iter().find(|entry| entry["kind"] == "prompts.failed");
    assert!(failed.is_none(), "{failed:?}");
    hub.end();
}

fn asking() -> Script {
    let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "toolu_1",
                          "input": { "command": "ls" } });
    Script::new().turn([
        Step::Init,
        Step::ask_and_go_on("r1", request),
        Step::WaitFor(Kind::Answer("r1".to_owned())),
        Step::Stall,
    ])
}

#[test]
fn after_kill_9_everything_is_there_and_nothing_runs_twice() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::lives(folder.path(), &[asking(), Script::new()]).unwrap();
    let mut hub = Running::paired(serve(folder.path(), Some(&stage)));
    hub.send("PUT", &path(""), Some(json!({})));
    let prompt = json!({ "content": "one" });
    let (_, first) = hub.send("PUT", &path(&format!("/prompts/{PROMPT}")), Some(prompt.clone()));
    let entries = hub.follow(SESSION, |entry| entry["kind"] == "asks.opened");
    let ask = entries[entries.len() - 1]["body"]["ask"].as_str().unwrap().to_owned();
    hub.signal(Signal::KILL);
    hub.child.wait().unwrap();
    // The agent dies with its hub.
    duologue_testkit::leak::assert_gone_blocking(&stage.pids());
    let mut again = Running::start(serve(folder.path(), Some(&stage)));
    again.token = hub.token.clone();
    let before: Vec<&Value> = entries.iter().collect();
    let after = again.follow(SESSION, |entry| entry["kind"] == "prompts.interrupted");
    assert!(after.len() > before.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(*before, after);
    }
    // The same request gets the same receipt; the ask has an outcome.
    let (status, repeated) = again.send("PUT", &path(&format!("/prompts/{PROMPT}")), Some(prompt));
    assert_eq!((status, &repeated["seq"]), (202, &first["seq"]));
    let answer = json!({ "behavior": "allow" });
    let (status, outcome) = again.send("POST", &format!("/v1/asks/{ask}/answer"), Some(answer));
    assert_eq!((status, &outcome["state"]), (409, &json!("lost")), "{outcome}");
    // The session continues.
    let next = "33333333-3333-4333-8333-333333333333";
    let prompt = json!({ "content": "two" });
    assert_eq!(again.send("PUT", &path(&format!("/prompts/{next}")), Some(prompt)).0, 202);
    again.follow(SESSION, |entry| entry["kind"] == "turns.completed");
    let sent = stage.host_values();
    assert_eq!(sent.iter().filter(|line| line["uuid"] == PROMPT).count(), 1);
    again.end();
    duologue_testkit::leak::assert_gone_blocking(&stage.pids());
}

#[test]
fn a_second_hub_on_the_same_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let hub = Running::start(serve(folder.path(), None));
    let second = serve(folder.path(), None).output().unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(text(&second.stderr).contains("another hub uses"), "{}", text(&second.stderr));
    hub.end();
}

#[test]
fn what_cannot_be_served_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], expected: &str| {
        let output = serve(folder.path(), None).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = text(&output.stderr);
        assert!(error.contains(expected), "{args:?}: {error}");
    };
    refused(&["--dir", "missing"], "cannot be used multiple times");
    let mut open = duologue();
    let open = open.args(["serve", "--embedded", "--listen", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(open.status.code(), Some(2));
    assert!(text(&open.stderr).contains("--insecure"), "{}", text(&open.stderr));
    let state = folder.path().join("state");
    std::fs::create_dir(&state).unwrap();
    std::fs::write(state.join("hub.db"), "not a database, but long enough to be read as one")
        .unwrap();
    refused(&[], "is damaged");
    assert!(std::fs::read_to_string(state.join("hub.db")).unwrap().starts_with("not a database"));
}
