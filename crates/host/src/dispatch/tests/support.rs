//! A session without its handles: a dispatcher, a router, and a test that plays the agent.

use std::sync::{Arc, Mutex};

use duologue_protocol::Line;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

use crate::dispatch::{
    Asks, Delivery, End, Filter, Link, Options, QueueOptions, Reader, Router, connect,
};
use crate::session::lock;

/// The agent's end of the pipe.
pub(super) struct Agent {
    pub(super) lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(super) writer: WriteHalf<DuplexStream>,
}

impl Agent {
    pub(super) async fn read(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    pub(super) async fn write(&mut self, line: &Value) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
}

/// The host's end of the pipe.
pub(super) struct Host {
    pub(super) link: Link,
    pub(super) asks: Asks,
    pub(super) router: Arc<Mutex<Router>>,
    /// Subscribed to all lines.
    pub(super) reader: Reader,
    pub(super) dispatcher: JoinHandle<()>,
}

impl Host {
    /// The next line; `None` when the dispatcher and the subscription have ended.
    pub(super) async fn line(&mut self) -> Result<Option<Line>, End> {
        next_line(&mut self.reader).await
    }

    pub(super) fn subscribe(&self, filter: Filter) -> Reader {
        lock(&self.router).subscribe(filter, 1).1
    }

    /// Ends the session as a closed one.
    pub(super) fn end(&self) {
        let end = crate::dispatch::RunEnd {
            error: crate::Error::Closed,
            interrupted: false,
            resend: false,
            last: Some(Ok(())),
        };
        lock(&self.router).end_run(1, end);
    }
}

pub(super) async fn next_line(reader: &mut Reader) -> Result<Option<Line>, End> {
    match reader.next().await {
        Ok(Delivery::Line(line, _)) => Ok(Some(line)),
        Ok(Delivery::Event(event)) => panic!("{event:?}"),
        Err(Ok(None)) => Ok(None),
        Err(end) => Err(end),
    }
}

pub(super) fn pair(queues: QueueOptions, options: Options) -> (Host, Agent) {
    let (near, far) = tokio::io::duplex(16 * 1024);
    let (reader, writer) = tokio::io::split(near);
    let drained = Arc::clone(&queues.drained);
    let router = Arc::new(Mutex::new(Router::new(queues)));
    let (link, asks, dispatcher) = connect(reader, writer, Arc::clone(&router), drained, options);
    let dispatcher = tokio::spawn(dispatcher.run());
    let (_, lines) = lock(&router).subscribe(Filter::Lines, 0);
    let (reader, writer) = tokio::io::split(far);
    let agent = Agent { lines: BufReader::new(reader).lines(), writer };
    (Host { link, asks, router, reader: lines, dispatcher }, agent)
}
