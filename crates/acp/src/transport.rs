//! Lines of the client, as frames of the protocol crate, with bounds.
//!
//! The queues of the protocol crate have no limit, so the limits are here. The client is not read while too many
//! of its requests have no answer on the wire, and a session does not send its next update while too many updates wait
//! for the client to read them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use agent_client_protocol::{Channel, RawJsonRpcMessage, TransportFrame};
use duologue_protocol::{Found, Frame, LineDecoder};
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Semaphore;

use crate::options::{LineDirection, OnLine};

/// How many requests of the client may be without an answer.
const MAX_REQUESTS: usize = 1024;
/// How many updates may wait until the client reads them.
const MAX_UPDATES: usize = 64;
/// How much of a line that cannot be parsed is returned in the error.
const EXCERPT: usize = 200;
const CHUNK: usize = 64 * 1024;

/// The limits of one connection.
#[derive(Debug)]
pub(crate) struct Gate {
    /// One permit for each request that may be read.
    requests: Semaphore,
    /// One permit for each update that may be sent.
    updates: Semaphore,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { requests: Semaphore::new(MAX_REQUESTS), updates: Semaphore::new(MAX_UPDATES) }
    }

    /// Waits until an update may be sent. False if the connection has ended.
    pub(crate) async fn update(&self) -> bool {
        match self.updates.acquire().await {
            Ok(permit) => {
                permit.forget();
                true
            }
            Err(_) => false,
        }
    }

    /// Ends all waits.
    pub(crate) fn close(&self) {
        self.requests.close();
        self.updates.close();
    }
}

/// Reads the client until its end, and passes frames on. False from `pass` ends it.
pub(crate) async fn read(
    mut reader: impl AsyncRead + Unpin,
    pass: impl Fn(TransportFrame) -> bool,
    gate: &Gate,
    max_line: usize,
    on_line: Option<&OnLine>,
) -> io::Result<()> {
    let mut decoder = LineDecoder::new().max_line(max_line);
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = reader.read(&mut buffer).await?;
        let Some(mut chunk) = buffer.get(..count).filter(|_| count > 0) else { break };
        while let Some(found) = decoder.next_in(&mut chunk) {
            let frame = match &found {
                Found::Within(line, _) => frame_of(line, on_line),
                Found::Frame(Frame::Line(line)) => frame_of(line.raw(), on_line),
                Found::Frame(Frame::TooLong(long)) => Some(too_long(long.length, max_line)),
            };
            if !pass_on(frame, &pass, gate).await {
                return Ok(());
            }
        }
    }
    if let Some(Frame::Line(line)) = decoder.finish() {
        pass_on(frame_of(line.raw(), on_line), &pass, gate).await;
    }
    Ok(())
}

async fn pass_on(
    frame: Option<TransportFrame>,
    pass: &impl Fn(TransportFrame) -> bool,
    gate: &Gate,
) -> bool {
    let Some(frame) = frame else { return true };
    let is_request = matches!(
        frame,
        TransportFrame::Single(RawJsonRpcMessage::Request(_)) | TransportFrame::Malformed { .. }
    );
    if is_request {
        let Ok(permit) = gate.requests.acquire().await else { return false };
        permit.forget();
    }
    let passed = pass(frame);
    // The protocol crate handles this message before the next one is read.
    tokio::task::yield_now().await;
    passed
}

/// The frame of a line. `None` if nothing can be answered: a response that is malformed.
fn frame_of(line: &[u8], on_line: Option<&OnLine>) -> Option<TransportFrame> {
    let malformed = |text: &str, error: agent_client_protocol::Error| {
        let excerpt: String = text.chars().take(EXCERPT).collect();
        TransportFrame::Malformed {
            raw: excerpt.clone(),
            error: error.data(json!({ "line": excerpt })),
        }
    };
    let Ok(text) = std::str::from_utf8(line) else {
        let text = String::from_utf8_lossy(line.get(..EXCERPT).unwrap_or(line));
        return Some(malformed(&text, agent_client_protocol::Error::parse_error()));
    };
    if let Some(on_line) = on_line {
        on_line(LineDirection::FromClient, text);
    }
    match TransportFrame::parse_json(text) {
        TransportFrame::Malformed { error, .. } => {
            let value: Option<Value> = serde_json::from_str(text).ok();
            let is_response = value.is_some_and(|value| {
                value.get("method").is_none()
                    && (value.get("result").is_some() || value.get("error").is_some())
            });
            (!is_response).then(|| malformed(text, error))
        }
        frame => Some(frame),
    }
}

fn too_long(length: u64, max_line: usize) -> TransportFrame {
    let message = format!("the line has {length} bytes; at most {max_line} are read");
    TransportFrame::Malformed {
        raw: String::new(),
        error: agent_client_protocol::Error::invalid_request().data(Value::from(message)),
    }
}

/// Writes frames to the client until there are no more.
pub(crate) async fn write(
    writer: impl AsyncWrite + Unpin,
    mut frames: impl Stream<Item = TransportFrame> + Unpin,
    gate: &Gate,
    on_line: Option<&OnLine>,
) -> io::Result<()> {
    let mut writer = tokio::io::BufWriter::with_capacity(CHUNK, writer);
    loop {
        // What is ready is written in one piece.
        let ready = std::future::poll_fn(|context| {
            Poll::Ready(match Pin::new(&mut frames).poll_next(context) {
                Poll::Ready(frame) => Some(frame),
                Poll::Pending => None,
            })
        });
        let frame = match ready.await {
            Some(frame) => frame,
            None => {
                writer.flush().await?;
                std::future::poll_fn(|context| Pin::new(&mut frames).poll_next(context)).await
            }
        };
        let Some(frame) = frame else { break };
        let line = frame.to_json().map_err(io::Error::other)?;
        if let Some(on_line) = on_line {
            on_line(LineDirection::ToClient, &line);
        }
        writer.write_all(line.as_bytes()).await?;
        writer.write_all(b"\n").await?;
        match frame {
            TransportFrame::Single(RawJsonRpcMessage::Response(_)) => gate.requests.add_permits(1),
            TransportFrame::Single(RawJsonRpcMessage::Notification(notification))
                if &*notification.method == "session/update" =>
            {
                gate.updates.add_permits(1);
            }
            _ => {}
        }
    }
    writer.flush().await
}

/// Connects a reader and a writer with a channel of the protocol crate, until the client closes its end or the channel
/// ends.
pub(crate) async fn drive(
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    channel: Channel,
    gate: Arc<Gate>,
    max_line: usize,
    on_line: Option<OnLine>,
) -> io::Result<()> {
    let (frames, sender) = channel.into_parts();
    let reading = async {
        // Moved here, so that the protocol crate is informed of the end by the drop.
        let sender = sender;
        read(
            reader,
            |frame| sender.unbounded_send(frame).is_ok(),
            &gate,
            max_line,
            on_line.as_ref(),
        )
        .await
    };
    let writing = write(writer, frames, &gate, on_line.as_ref());
    let (mut reading, mut writing) = (std::pin::pin!(reading), std::pin::pin!(writing));
    let mut is_read = false;
    loop {
        tokio::select! {
            read = &mut reading, if !is_read => {
                // A client that cannot be read is gone. What is written may still arrive.
                is_read = true;
                if read.is_err() {
                    gate.close();
                }
            }
            written = &mut writing => return written,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::*;

    fn error_of(line: &[u8]) -> i32 {
        match frame_of(line, None) {
            Some(TransportFrame::Malformed { error, .. }) => error.code.into(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn bad_lines_get_the_error_of_the_specification() {
        assert_eq!(error_of(b"{"), -32700);
        assert_eq!(error_of(b"\xff\xfe"), -32700);
        assert_eq!(error_of(b"[]"), -32600);
        assert_eq!(error_of(b"{\"jsonrpc\":\"2.0\"}"), -32600);
        assert!(frame_of(b"{\"result\":1}", None).is_none());
    }

    #[test]
    fn an_error_quotes_only_the_beginning_of_a_line() {
        let line = vec![b'x'; 1 << 20];
        let Some(TransportFrame::Malformed { raw, error }) = frame_of(&line, None) else {
            panic!()
        };
        assert_eq!(raw.len(), EXCERPT);
        assert!(error.data.unwrap().to_string().len() < 2 * EXCERPT);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_one_error_and_the_next_line_is_read() {
        let lines =
            format!("{}\n{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}}\n", "y".repeat(300));
        let frames = std::sync::Mutex::new(Vec::new());
        let pass = |frame| {
            frames.lock().unwrap().push(frame);
            true
        };
        read(lines.as_bytes(), pass, &Gate::new(), 100, None).await.unwrap();
        let frames = frames.into_inner().unwrap();
        assert!(matches!(frames[0], TransportFrame::Malformed { .. }));
        assert!(matches!(&frames[1], TransportFrame::Single(RawJsonRpcMessage::Request(_))));
    }

    #[tokio::test]
    async fn a_client_whose_requests_have_no_answer_is_not_read_further() {
        let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n";
        let lines = line.repeat(MAX_REQUESTS + 10);
        let (count, gate) = (std::sync::atomic::AtomicUsize::new(0), Gate::new());
        let pass = |_| {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            true
        };
        {
            let mut reading = std::pin::pin!(read(lines.as_bytes(), pass, &gate, 1000, None));
            // Each poll passes one frame on.
            for _ in 0..2 * lines.len() / line.len() {
                let polled =
                    std::future::poll_fn(|context| Poll::Ready(reading.as_mut().poll(context)));
                assert!(polled.await.is_pending());
                // The runtime limits how much a task does at once.
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(count.into_inner(), MAX_REQUESTS);
    }
}
