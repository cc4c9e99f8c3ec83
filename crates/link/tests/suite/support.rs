//! A far end that does what a test says.

use duologue_link::{Asks, Inbox, Link, Options, connect};
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

/// The agent's end of the pipe.
pub(crate) struct Agent {
    pub(crate) lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(crate) writer: WriteHalf<DuplexStream>,
}

impl Agent {
    pub(crate) async fn read(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    pub(crate) async fn write(&mut self, line: &Value) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
}

/// The host's end of the pipe.
pub(crate) struct Host {
    pub(crate) link: Link,
    pub(crate) asks: Asks,
    pub(crate) inbox: Inbox,
    pub(crate) driver: JoinHandle<()>,
}

pub(crate) fn pair(options: Options) -> (Host, Agent) {
    let (near, far) = tokio::io::duplex(16 * 1024);
    let (reader, writer) = tokio::io::split(near);
    let (link, asks, inbox, driver) = connect(reader, writer, options);
    let driver = tokio::spawn(driver.run());
    let (reader, writer) = tokio::io::split(far);
    let agent = Agent { lines: BufReader::new(reader).lines(), writer };
    (Host { link, asks, inbox, driver }, agent)
}
