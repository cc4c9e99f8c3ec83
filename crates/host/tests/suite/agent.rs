//! The other end of the pipe: a test plays the agent line by line.

use duologue::{Session, SessionBuilder};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use tokio::io::{ReadHalf, WriteHalf};

/// An agent that a test controls.
pub(crate) struct Agent {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

/// A session and its agent, after the handshake.
pub(crate) async fn pair(builder: SessionBuilder) -> (Session, Agent) {
    let (mut agent, host) = ends(64 * 1024);
    let (reader, writer) = tokio::io::split(host);
    let session = tokio::join!(builder.connect(reader, writer), agent.handshake()).0.unwrap();
    (session, agent)
}

/// An agent, and the host's end of the pipe between them.
pub(crate) fn ends(pipe: usize) -> (Agent, DuplexStream) {
    let (host, agent) = tokio::io::duplex(pipe);
    let (reader, writer) = tokio::io::split(agent);
    (Agent { lines: BufReader::new(reader).lines(), writer }, host)
}

/// How many tasks there are.
pub(crate) fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// Waits until there are no more tasks than there were.
pub(crate) async fn assert_no_task_left(before: usize) {
    let few = async {
        while tasks() > before {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(std::time::Duration::from_secs(30), few).await;
    assert!(waited.is_ok(), "{} tasks instead of {before}", tasks());
}

impl Agent {
    pub(crate) async fn handshake(&mut self) {
        let request = self.read().await;
        assert_eq!(request["request"]["subtype"], "initialize");
        self.reply(&request, json!({ "claude_code_version": "2.1.0", "commands": [] })).await;
    }

    /// Writes any bytes.
    pub(crate) async fn raw(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.unwrap();
    }

    /// Closes stdout. Stdin stays open.
    pub(crate) async fn close_stdout(&mut self) {
        self.writer.shutdown().await.unwrap();
    }

    /// Answers a request that is expected next.
    pub(crate) async fn serve(&mut self, subtype: &str, payload: Value) -> Value {
        let request = self.read().await;
        assert_eq!(request["request"]["subtype"], subtype, "{request}");
        self.reply(&request, payload).await;
        request
    }

    /// The next line of the host.
    pub(crate) async fn read(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Whether the host has closed the pipe.
    pub(crate) async fn at_end(&mut self) -> bool {
        self.lines.next_line().await.unwrap().is_none()
    }

    /// The next prompt of the host: its text and its uuid.
    pub(crate) async fn prompt(&mut self) -> (String, String) {
        let line = self.read().await;
        assert_eq!(line["type"], "user", "{line}");
        let text = line["message"]["content"].as_str().unwrap().to_owned();
        (text, line["uuid"].as_str().unwrap().to_owned())
    }

    pub(crate) async fn send(&mut self, line: Value) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Writes a line. False if the host has closed the pipe.
    pub(crate) async fn try_send(&mut self, line: &Value) -> bool {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.is_ok()
    }

    pub(crate) async fn reply(&mut self, request: &Value, payload: Value) {
        let id = &request["request_id"];
        self.send(json!({ "type": "control_response", "response": {
            "subtype": "success", "request_id": id, "response": payload,
        }}))
        .await;
    }

    pub(crate) async fn ask(&mut self, id: &str, request: Value) {
        self.send(json!({ "type": "control_request", "request_id": id, "request": request })).await;
    }

    pub(crate) async fn init(&mut self) {
        self.send(json!({ "type": "system", "subtype": "init", "session_id": "s1", "model": "m" }))
            .await;
    }

    pub(crate) async fn text(&mut self, id: &str, text: &str) {
        let block = json!({ "type": "text", "text": text });
        self.send(json!({ "type": "assistant", "message": { "id": id, "content": [block] } }))
            .await;
    }

    pub(crate) async fn result(&mut self, uuids: &[&str], text: &str) {
        self.send(json!({
            "type": "result", "subtype": "success", "is_error": false, "result": text,
            "total_cost_usd": 0.25, "session_id": "s1", "user_message_uuids": uuids,
        }))
        .await;
    }

    /// A whole turn.
    pub(crate) async fn turn(&mut self, text: &str) {
        let (_, uuid) = self.prompt().await;
        self.init().await;
        self.text(&format!("msg_{uuid}"), text).await;
        self.result(&[&uuid], text).await;
    }
}
