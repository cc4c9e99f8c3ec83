//! A small HTTP client, so that the tests decide about every byte.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let prefix = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&prefix))
    }
}

/// A client with a token, or without.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: std::net::SocketAddr,
    pub(crate) token: Option<String>,
}

impl Client {
    fn head(&self, method: &str, path: &str, extra: &str) -> String {
        let host = if extra.contains("Host:") {
            String::new()
        } else {
            format!("Host: {}\r\n", self.address)
        };
        let token = self.token.as_ref();
        let token =
            token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        format!("{method} {path} HTTP/1.1\r\n{host}{token}{extra}")
    }

    /// Sends a request with these headers and this body.
    pub(crate) async fn send(&self, method: &str, path: &str, extra: &str, body: &str) -> Response {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("Content-Length: {}\r\n", body.len())
        };
        let head = self.head(method, path, extra);
        let request = format!("{head}{length}Connection: close\r\n\r\n{body}");
        // The server may refuse before it has read all.
        drop(stream.write_all(request.as_bytes()).await);
        let mut bytes = Vec::new();
        drop(stream.read_to_end(&mut bytes).await);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Response { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.send("GET", path, "", "").await
    }

    pub(crate) async fn json(&self, method: &str, path: &str, body: &Value) -> Response {
        let body = body.to_string();
        self.send(method, path, "Content-Type: application/json\r\n", &body).await
    }

    /// Opens a stream of events.
    pub(crate) async fn stream(&self, path: &str, extra: &str) -> Events {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("{}\r\n", self.head("GET", path, extra));
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).await.unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).await.unwrap();
        }
        Events { status, reader, text: Vec::new() }
    }
}

/// One event of a stream.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

impl Event {
    pub(crate) fn seq(&self) -> u64 {
        self.data["seq"].as_u64().unwrap_or_else(|| panic!("{self:?}"))
    }
}

/// A stream of events.
pub(crate) struct Events {
    pub(crate) status: u16,
    reader: BufReader<TcpStream>,
    text: Vec<u8>,
}

impl Events {
    /// The next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.text.drain(..end + 2).collect();
                return Some(parse(&String::from_utf8(event).unwrap()));
            }
            self.chunk().await?;
        }
    }

    async fn chunk(&mut self) -> Option<()> {
        let read = async {
            let mut size = String::new();
            self.reader.read_line(&mut size).await.ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
            let mut chunk = vec![0; size + 2];
            self.reader.read_exact(&mut chunk).await.ok()?;
            chunk.truncate(size);
            self.text.extend(chunk);
            Some(())
        };
        let waited = tokio::time::timeout(std::time::Duration::from_secs(60), read).await;
        waited.expect("no event for a minute")
    }

    /// The next event of this name.
    pub(crate) async fn until(&mut self, name: &str) -> Event {
        loop {
            let event =
                self.next().await.unwrap_or_else(|| panic!("the stream ended before {name}"));
            if event.name == name {
                return event;
            }
        }
    }

    /// The next entry of this kind.
    pub(crate) async fn until_kind(&mut self, kind: &str) -> Event {
        loop {
            let event = self.until("entry").await;
            if event.data["kind"] == kind {
                return event;
            }
        }
    }
}

fn parse(text: &str) -> Event {
    let field = |name: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        lines.collect::<Vec<_>>()
    };
    let data = field("data").join("\n");
    Event {
        name: field("event")[0].to_owned(),
        id: field("id").first().map(|id| (*id).to_owned()),
        data: serde_json::from_str(&data).unwrap(),
    }
}
