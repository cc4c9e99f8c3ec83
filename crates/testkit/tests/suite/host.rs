//! A host for tests of the fake agent: it reads and writes single lines.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use duologue_testkit::fake::{Script, Stage};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A host and its agent. Dropping it kills the agent.
pub(super) struct Host {
    pub(super) child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

/// A stage in its own temporary directory.
pub(super) fn stage(scripts: &[Script]) -> (TempDir, Stage) {
    let dir = tempfile::tempdir().unwrap();
    let stage = Stage::lives(dir.path(), scripts).unwrap();
    (dir, stage)
}

impl Host {
    pub(super) fn start(stage: &Stage, args: &[&str]) -> Self {
        let (name, value) = stage.env();
        let mut child = Command::new(env!("CARGO_BIN_EXE_fake-agent"))
            .args(args)
            .env(name, value)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    pub(super) fn send(&mut self, line: &Value) {
        self.try_send(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(super) fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stdin.as_mut().unwrap().write_all(bytes)
    }

    pub(super) fn prompt(&mut self, text: &str, uuid: &str) {
        let message = json!({ "role": "user", "content": text });
        self.send(&json!({ "type": "user", "message": message, "uuid": uuid }));
    }

    pub(super) fn request(&mut self, id: &str, request: &Value) {
        self.send(&json!({ "type": "control_request", "request_id": id, "request": request }));
    }

    pub(super) fn answer(&mut self, id: &str, payload: &Value) {
        let response = json!({ "subtype": "success", "request_id": id, "response": payload });
        self.send(&json!({ "type": "control_response", "response": response }));
    }

    /// The next line as it is; `None` at the end.
    pub(super) fn raw(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        let count = self.stdout.read_until(b'\n', &mut line).unwrap();
        (count > 0).then_some(line)
    }

    pub(super) fn read(&mut self) -> Value {
        serde_json::from_slice(&self.raw().unwrap()).unwrap()
    }

    /// The lines up to one of this type.
    pub(super) fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut lines = Vec::new();
        loop {
            lines.push(self.read());
            if lines.last().unwrap()["type"] == kind {
                return lines;
            }
        }
    }

    /// Closes stdin, and waits for the end.
    pub(super) fn finish(&mut self) -> ExitStatus {
        self.stdin = None;
        self.child.wait().unwrap()
    }

    pub(super) fn close(&mut self) {
        self.stdin = None;
    }

    pub(super) fn stderr(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The types of lines: `system/init`, `result`.
pub(super) fn kinds(lines: &[Value]) -> Vec<String> {
    let kind = |line: &Value| {
        let detail = match line["type"].as_str().unwrap() {
            "system" => &line["subtype"],
            "command_lifecycle" => &line["state"],
            "control_request" => &line["request"]["subtype"],
            _ => &Value::Null,
        };
        let name = line["type"].as_str().unwrap();
        detail.as_str().map_or_else(|| name.to_owned(), |detail| format!("{name}/{detail}"))
    };
    lines.iter().map(kind).collect()
}
