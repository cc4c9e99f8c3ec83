//! An HTTP/1.1 client that returns the raw answer of a server: one request, one connection.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A safety net: no test waits for it to pass.
const LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether the body came to its proper end.
    pub(crate) is_whole: bool,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The events of a stream: names and data. Each names itself twice, and both must agree.
    pub(crate) fn events(&self) -> Vec<Value> {
        let events = self.body.split_terminator("\n\n");
        events
            .map(|event| {
                let (name, data) = event.split_once('\n').unwrap();
                let data: Value =
                    serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
                assert_eq!(data["type"], name.strip_prefix("event: ").unwrap());
                data
            })
            .collect()
    }
}

/// A request body with this text of the user.
pub(crate) fn asks(prompt: &str) -> Value {
    json!({
        "model": "claude-test",
        "max_tokens": 1000,
        "messages": [{ "role": "user", "content": prompt }],
    })
}

pub(crate) fn streamed(mut body: Value) -> Value {
    body["stream"] = true.into();
    body
}

pub(crate) async fn post(address: SocketAddr, path: &str, body: &Value) -> Answer {
    let mut stream = open(address, "POST", path, &body.to_string()).await;
    finish(&mut stream).await
}

pub(crate) async fn message(address: SocketAddr, body: &Value) -> Answer {
    post(address, "/v1/messages?beta=true", body).await
}

pub(crate) async fn send(address: SocketAddr, method: &str, path: &str) -> Answer {
    let mut stream = open(address, method, path, "").await;
    finish(&mut stream).await
}

/// Sends a request, and leaves its answer to be read.
pub(crate) async fn open(address: SocketAddr, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nx-api-key: made-up\r\nx-app: test\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads until the answer contains this.
pub(crate) async fn read_until(stream: &mut TcpStream, part: &str) {
    let mut read = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&read).contains(part) {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            assert_ne!(count, 0, "ended before {part:?}");
            read.extend_from_slice(&buffer[..count]);
        }
    };
    tokio::time::timeout(LIMIT, reading).await.unwrap();
}

/// Reads to the end of the connection, however it ends.
pub(crate) async fn finish(stream: &mut TcpStream) -> Answer {
    let mut read = Vec::new();
    let reading = async {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            read.extend_from_slice(&buffer[..count]);
        }
    };
    tokio::time::timeout(LIMIT, reading).await.unwrap();
    parse(&String::from_utf8(read).unwrap())
}

fn parse(text: &str) -> Answer {
    let (head, rest) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let head = head.to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let is_chunked = head.contains("transfer-encoding: chunked");
    let (body, is_whole) = if is_chunked { unchunk(rest) } else { (rest.to_owned(), true) };
    Answer { status, head, body, is_whole }
}

fn unchunk(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    (body, false)
}
