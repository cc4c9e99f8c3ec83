//! `GET …/stream`: the log from a cursor, then live, as server-sent events.
//!
//! A viewer is a cursor: it reads the log page by page, as fast as its connection takes them. Nothing is queued for it. A page is read
//! completely before it is sent, so that a slow connection holds no transaction open.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::call::Call;
use super::problem::Problem;
use super::{connections, views};
use crate::hub::SessionHandle;
use crate::log::{Cursor, CursorError, Entry, Limits, Log, ReadError};

/// How many bytes of entries are read at once for a viewer, unless one is larger.
const PAGE: usize = 64 << 10;

/// The version of the stream, in `hello`.
const VERSION: u32 = 1;

/// Opens a stream.
pub(super) async fn open(call: Call) -> Result<Response, Problem> {
    let session = call.session()?;
    if call.query("view").is_some_and(|view| view != "entries") {
        return Err(Problem::invalid("the only view is entries"));
    }
    let app = &call.app;
    let Ok(permit) = std::sync::Arc::clone(&app.streams).try_acquire_owned() else {
        return Err(Problem::limit("streams", app.options.streams));
    };
    // A browser that reconnects sends where it was; the address still has where it began.
    let last = call.headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let after = last.filter(|id| !id.is_empty()).or_else(|| call.query("after")).map(str::to_owned);
    let (sender, receiver) = mpsc::channel(1);
    let viewer = Viewer {
        log: std::sync::Arc::clone(app.hub.log()),
        session,
        sender,
        beat: app.options.beat,
        ending: app.ending.clone(),
        _permit: permit,
    };
    tokio::spawn(viewer.run(after));
    Response::builder()
        .header(CONTENT_TYPE, "text/event-stream")
        .header("x-accel-buffering", "no")
        .body(Body::from_stream(Chunks(receiver)))
        .map_err(|error| Problem::new(500, "internal", error.to_string()))
}

/// What is being sent to a viewer: one chunk.
struct Chunks(mpsc::Receiver<Bytes>);

impl Stream for Chunks {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|chunk| chunk.map(Ok))
    }
}

struct Viewer {
    log: std::sync::Arc<dyn Log>,
    session: SessionHandle,
    sender: mpsc::Sender<Bytes>,
    beat: std::time::Duration,
    ending: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
}

/// The viewer has gone, or its stream has ended.
struct Over;

impl From<mpsc::error::SendError<Bytes>> for Over {
    fn from(_: mpsc::error::SendError<Bytes>) -> Self {
        Self
    }
}

fn event(name: &str, id: Option<Cursor>, data: &str, out: &mut String) {
    use std::fmt::Write as _;
    // Writing to a string does not fail. JSON has no line breaks outside of its strings unless it was written with them.
    if let Some(id) = id {
        let _ = writeln!(out, "id: {id}");
    }
    let _ = writeln!(out, "event: {name}");
    for line in data.split(['\n', '\r']) {
        let _ = writeln!(out, "data: {line}");
    }
    out.push('\n');
}

impl Viewer {
    async fn run(self, after: Option<String>) {
        let ending = self.ending.clone();
        tokio::select! {
            // The connection is closed when the sender is dropped.
            _ = self.follow(after) => {}
            () = connections::ended(ending) => {}
        }
    }

    fn cursor(&self, seq: u64) -> Cursor {
        Cursor::new(self.log.incarnation(), seq)
    }

    async fn send(&self, name: &str, data: &Value) -> Result<(), Over> {
        let mut text = String::new();
        event(name, None, &data.to_string(), &mut text);
        Ok(self.sender.send(text.into()).await?)
    }

    async fn follow(&self, after: Option<String>) -> Result<(), Over> {
        // Subscribed before the head is read: what comes after it is noticed.
        let mut watch = self.log.watch(self.session.id());
        let Ok(Some(head)) = self.log.head(self.session.id()).await else {
            return self.fail("the log cannot be read").await;
        };
        let asks = self.session.read(|state| views::open_asks(self.session.id(), state));
        let hello = json!({
            "version": VERSION,
            "session": self.session.id(),
            "head": self.cursor(head.last).to_string(),
            "asks": asks,
            "heartbeat": self.beat.as_secs_f64(),
        });
        self.send("hello", &hello).await?;
        let Some(mut seq) = self.place(after, head.first).await? else { return Ok(()) };
        let mut is_live = false;
        loop {
            // Marked before the read, so that what is appended meanwhile wakes this loop.
            watch.borrow_and_update();
            let moved = self.page(&mut seq).await?;
            if !is_live && seq >= head.last {
                is_live = true;
                self.send("live", &json!({ "cursor": self.cursor(seq).to_string() })).await?;
            }
            if moved {
                continue;
            }
            tokio::select! {
                changed = watch.changed() => if changed.is_err() {
                    return Ok(());
                },
                () = tokio::time::sleep(self.beat) => {
                    self.send("beat", &json!({ "cursor": self.cursor(seq).to_string() })).await?;
                }
                () = self.sender.closed() => return Ok(()),
            }
        }
    }

    /// Where the viewer begins; `None` if it cannot.
    async fn place(&self, after: Option<String>, first: u64) -> Result<Option<u64>, Over> {
        let oldest = self.cursor(first - 1).to_string();
        let Some(after) = after else { return Ok(Some(first - 1)) };
        let reason = match after.parse::<Cursor>().and_then(|at| at.seq_in(self.log.incarnation()))
        {
            Ok(seq) => return Ok(Some(seq)),
            Err(error @ CursorError::Malformed) => {
                self.fail(&error.to_string()).await?;
                return Ok(None);
            }
            Err(error) => error.to_string(),
        };
        self.send("gone", &json!({ "oldest": oldest, "reason": reason })).await?;
        Ok(None)
    }

    /// Sends the next page. False if there is none.
    async fn page(&self, seq: &mut u64) -> Result<bool, Over> {
        let page = match self.log.read(self.session.id(), *seq, Limits::new(256, PAGE)).await {
            Ok(page) => page,
            Err(ReadError::Gone { first }) => {
                let oldest = self.cursor(first - 1).to_string();
                let reason = "the entries were removed";
                self.send("gone", &json!({ "oldest": oldest, "reason": reason })).await?;
                return Err(Over);
            }
            Err(ReadError::Ahead { head }) => {
                let data = json!({ "head": self.cursor(head).to_string() });
                self.send("ahead", &data).await?;
                return Err(Over);
            }
            Err(error) => {
                self.fail(&error.to_string()).await?;
                return Err(Over);
            }
        };
        let Some(last) = page.entries.last() else { return Ok(false) };
        let last = last.seq;
        let mut text = String::new();
        for entry in &page.entries {
            self.write(entry, &mut text);
        }
        drop(page);
        self.sender.send(text.into()).await?;
        *seq = last;
        Ok(true)
    }

    fn write(&self, entry: &Entry, text: &mut String) {
        // An entry was JSON when it was appended.
        let json = serde_json::to_string(entry).unwrap_or_default();
        event("entry", Some(self.cursor(entry.seq)), &json, text);
    }

    async fn fail(&self, reason: &str) -> Result<(), Over> {
        self.send("failure", &json!({ "reason": reason })).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_in_json_do_not_end_an_event() {
        let mut text = String::new();
        event("entry", None, "{\r\n\"a\": 1}", &mut text);
        assert_eq!(text, "event: entry\ndata: {\ndata: \ndata: \"a\": 1}\n\n");
        let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let value: Value = serde_json::from_str(&data.join("\n")).unwrap();
        assert_eq!(value, json!({ "a": 1 }));
    }
}
