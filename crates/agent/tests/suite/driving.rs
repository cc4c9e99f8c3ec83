//! A host that sends and receives line by line. The tests of `duologue-embedded` use it, too.

use duologue_agent::protocol::{Direction, Line};
use duologue_agent::{Agent, Exit, Options, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use tokio::io::{ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

/// A host that speaks line by line.
pub(crate) struct Host {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: Option<WriteHalf<DuplexStream>>,
    agent: JoinHandle<Exit>,
    /// Everything that was said, in the order in which this host said or heard it.
    pub(crate) tape: Vec<(Direction, Line)>,
}

pub(crate) fn drive(agent: impl Agent + 'static, options: Options) -> Host {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let agent = tokio::spawn(serve(agent, reader, writer, options));
    let (reader, writer) = tokio::io::split(ours);
    Host { lines: BufReader::new(reader).lines(), writer: Some(writer), agent, tape: Vec::new() }
}

impl Host {
    pub(crate) async fn say(&mut self, line: &Value) {
        self.say_raw(&line.to_string()).await;
    }

    pub(crate) async fn say_raw(&mut self, line: &str) {
        self.tape.push((Direction::ToAgent, Line::from(line)));
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn prompt(&mut self, text: &str) {
        let message = json!({ "role": "user", "content": text });
        self.say(&json!({ "type": "user", "message": message })).await;
    }

    pub(crate) async fn request(&mut self, id: &str, request: Value) {
        self.say(&json!({ "type": "control_request", "request_id": id, "request": request })).await;
    }

    pub(crate) async fn answer(&mut self, ask: &Value, payload: Value) {
        let response =
            json!({ "subtype": "success", "request_id": ask["request_id"], "response": payload });
        self.say(&json!({ "type": "control_response", "response": response })).await;
    }

    /// The next line; `None` at the end.
    pub(crate) async fn line(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        self.tape.push((Direction::ToHost, Line::from(line.as_str())));
        Some(serde_json::from_str(&line).unwrap_or(Value::String(line)))
    }

    /// All lines up to and with the first that is wanted.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut lines = Vec::new();
        loop {
            let Some(line) = self.line().await else { panic!("the end came first: {lines:#?}") };
            lines.push(line);
            if wanted(lines.last().unwrap()) {
                return lines;
            }
        }
    }

    pub(crate) async fn until_kind(&mut self, kind: &str) -> Vec<Value> {
        self.until(|line| line["type"] == kind).await
    }

    /// The host goes.
    pub(crate) async fn close(&mut self) {
        self.writer.take().unwrap().shutdown().await.unwrap();
    }

    /// What is left to hear, and how the agent ends.
    pub(crate) async fn end(mut self) -> (Vec<Value>, Exit) {
        if self.writer.is_some() {
            self.close().await;
        }
        let mut rest = Vec::new();
        while let Some(line) = self.line().await {
            rest.push(line);
        }
        (rest, self.agent.await.unwrap())
    }
}

/// Lines in short.
pub(crate) fn outline(lines: &[Value]) -> Vec<String> {
    lines.iter().map(short).collect()
}

fn short(line: &Value) -> String {
    let kind = line["type"].as_str().unwrap_or("?");
    let block = &line["message"]["content"][0];
    match kind {
        "system" => format!("system {}", line["subtype"].as_str().unwrap_or("?")),
        "stream_event" => format!("stream {}", line["event"]["type"].as_str().unwrap_or("?")),
        "control_request" => format!("asks {}", line["request"]["subtype"].as_str().unwrap_or("?")),
        "control_response" => "answer".to_owned(),
        "assistant" | "user" => match block["type"].as_str() {
            Some("text") => format!("{kind} {}", block["text"].as_str().unwrap_or("?")),
            Some(other) => format!("{kind} {other}"),
            None => format!("{kind} {}", line["message"]["content"].as_str().unwrap_or("?")),
        },
        "command_lifecycle" => format!("prompt {}", line["state"].as_str().unwrap_or("?")),
        other => other.to_owned(),
    }
}
