//! [`Dispatcher`]: the one task of a run. It reads, decodes, routes and writes.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

use duologue_protocol::control::Success;
use duologue_protocol::host_link::{Answer, Failure, HostLink, LinkEvent};
use duologue_protocol::transcript::TurnState;
use duologue_protocol::{Direction, Frame, Line, LineDecoder, RequestId, ToHost};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::session::lock;
use crate::timeouts::{READER_CATCH_UP, STDIN_CLOSED_GRACE};

use super::link::{Ask, Asks, Close, Command, Link, Request};
use super::options::{Options, Tap};
use super::queue::Pressure;
use super::requests::OpenRequests;
use super::router::{DecodedLine, Router};
use super::status::{Status, WriteProgress};

/// How much is read at once: little while little comes, so that a thousand conversations fit into
/// memory, and more while much comes, since task switches cost as much as parsing.
const SMALL_CHUNK: usize = 8 * 1024;
/// More than a pipe holds would not be filled.
const LARGE_CHUNK: usize = 64 * 1024;

/// How many lines are worked on at once if they are there, and how many bytes.
///
/// All are decoded, then all are folded, then all are delivered, so that each step keeps the processor's
/// instruction cache to itself: it misses a quarter as often as if each line went through all steps.
const LINES_AT_ONCE: usize = 32;
const BYTES_AT_ONCE: usize = 64 * 1024;

/// How many commands may wait for the dispatcher. Senders wait beyond that.
const COMMANDS: usize = 64;

/// How many requests of the agent may wait in the channel to the handlers. More wait in the dispatcher.
const ASKS: usize = 64;

/// How many lines may wait for the writer beside those the machine holds.
const WRITES: usize = 16;

/// The answer if the [`Asks`] were dropped.
const NOT_SERVED: &str = "this host serves no requests";

/// Connects to an agent over these two halves, and routes its lines to the subscriptions of `router`.
///
/// Nothing happens until the [`Dispatcher`] runs.
pub(crate) fn connect<R, W>(
    reader: R,
    writer: W,
    router: Arc<Mutex<Router>>,
    drained: Arc<Notify>,
    options: Options,
) -> (Link, Asks, Dispatcher<R, W>)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (commands, from_handles) = mpsc::channel(COMMANDS);
    let (to_asks, asks) = mpsc::channel(ASKS);
    let writes = Arc::new(WriteProgress::default());
    let (status, status_changes) = watch::channel(Status::new(Arc::clone(&writes)));
    let mut machine = HostLink::new();
    if options.serial {
        machine = machine.serial();
    }
    if options.watch_tools {
        machine = machine.watch_tools();
    }
    if options.legacy {
        machine = machine.legacy();
    }
    let stop = Arc::new(Notify::new());
    let dispatcher = Dispatcher {
        reader,
        writer,
        state: State {
            machine,
            turns: TurnState::default(),
            decoder: LineDecoder::new().max_line(options.max_line),
            lines: Vec::new(),
            router,
            drained,
            requests: OpenRequests::new(options.open_requests),
            replies: HashMap::new(),
            status,
            started: Instant::now(),
            writes,
            counted: Vec::new(),
            closing: None,
            tap: options.tap,
            to_end: false,
        },
        commands: from_handles,
        to_asks,
        stop: Arc::clone(&stop),
    };
    (Link { commands, status: status_changes, stop }, Asks { asks }, dispatcher)
}

/// The work of a run. Spawn [`run`](Self::run).
#[derive(Debug)]
pub(crate) struct Dispatcher<R, W> {
    reader: R,
    writer: W,
    state: State,
    commands: mpsc::Receiver<Command>,
    to_asks: mpsc::Sender<Ask>,
    stop: Arc<Notify>,
}

#[derive(Debug)]
struct State {
    machine: HostLink,
    /// What is open, according to the transcript.
    turns: TurnState,
    decoder: LineDecoder,
    /// The lines at hand. Reused.
    lines: Vec<DecodedLine>,
    router: Arc<Mutex<Router>>,
    /// Notified when a subscriber has read, or a file was written.
    drained: Arc<Notify>,
    requests: OpenRequests,
    replies: HashMap<RequestId, oneshot::Sender<Result<Box<Success>, Failure>>>,
    status: watch::Sender<Status>,
    started: Instant,
    writes: Arc<WriteProgress>,
    /// Callers that wait until the status counts their prompt.
    counted: Vec<oneshot::Sender<()>>,
    /// The host wants stdin closed.
    closing: Option<Close>,
    tap: Option<Tap>,
    /// The agent is dead: the rest is read without pausing.
    to_end: bool,
}

impl<R, W> Dispatcher<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    /// Runs until the agent's stdout ends, or [`Link::stop`]. All open requests end then, too.
    pub(crate) async fn run(self) {
        let Self { mut reader, writer, mut state, mut commands, to_asks, stop } = self;
        let (writes, to_write) = mpsc::channel(WRITES);
        let mut writes = Some(writes);
        // The writer ends with this task, also if the agent does not read.
        let _writer = AbortOnDrop(
            tokio::spawn(write(writer, to_write, Arc::clone(&state.writes))).abort_handle(),
        );
        let mut chunk = vec![0; SMALL_CHUNK];
        let mut outgoing: Option<String> = None;
        let mut handles_live = true;
        let mut catch_up: Option<Instant> = None;
        let mut stdin_closed = false;
        let mut give_up: Option<Instant> = None;
        loop {
            outgoing = outgoing.or_else(|| state.machine.poll_transmit());
            let close = match state.closing {
                Some(Close::Now) => true,
                Some(Close::WhenIdle) => state.machine.may_close(state.turns),
                None => false,
            };
            if stdin_closed || (outgoing.is_none() && close) {
                // Dropping the sender lets the writer finish and close stdin.
                writes = None;
            }
            let deadline = state.machine.poll_timeout().map(|at| state.started + at);
            let due = state.requests.next_due();
            let pause = state.pause();
            let paused = pause != Pause::No;
            let ahead = pause == Pause::ReadAhead;
            catch_up = ahead.then(|| catch_up.unwrap_or_else(|| Instant::now() + READER_CATCH_UP));
            // Every branch is cancel safe.
            tokio::select! {
                read = reader.read(&mut chunk), if !paused => {
                    match read {
                        Ok(0) => break,
                        Ok(count) => {
                            give_up = give_up.map(|_| Instant::now() + STDIN_CLOSED_GRACE);
                            state.read(chunk.get(..count).unwrap_or_default());
                            let size = next_size(chunk.len(), count);
                            chunk.resize(size, 0);
                            chunk.shrink_to(size);
                        }
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => {
                            state.stopped(format!("its stdout could not be read: {error}"));
                            break;
                        }
                    }
                }
                command = commands.recv(), if handles_live && !state.machine.is_backed_up() => match command {
                    Some(command) => state.command(command),
                    // No handle is left: nothing will ever be sent again.
                    None => {
                        handles_live = false;
                        state.closing = Some(Close::Now);
                    }
                },
                permit = reserve(writes.as_ref()), if outgoing.is_some() => {
                    // If stdin is closed, the line cannot be sent.
                    if let (Some(permit), Some(line)) = (permit, outgoing.take()) {
                        state.sent(&line);
                        permit.send(line);
                    }
                }
                permit = to_asks.reserve(), if state.requests.has_queued() => match permit {
                    Ok(permit) => {
                        if let Some(ask) = state.requests.pop() {
                            permit.send(ask);
                        }
                    }
                    Err(_) => state.refuse_all(),
                },
                () = sleep_until(due), if due.is_some() => state.answer_overdue(),
                () = closed(writes.as_ref()), if !stdin_closed => {
                    give_up = Some(Instant::now() + STDIN_CLOSED_GRACE);
                    stdin_closed = true;
                }
                () = state.drained.notified(), if paused => {}
                () = sleep_until(give_up), if give_up.is_some() && !paused => {
                    state.stopped("it has closed its stdin".to_owned());
                    break;
                }
                () = sleep_until(catch_up), if ahead => lock(&state.router).stop_pausing(),
                () = sleep_until(deadline), if deadline.is_some() => {
                    state.machine.handle_timeout(state.started.elapsed());
                }
                () = stop.notified() => break,
            }
            state.serve(0);
            state.hand_out(&to_asks);
            state.publish(outgoing.is_some(), false);
        }
        state.end();
        state.hand_out(&to_asks);
    }
}

/// Whether the agent is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    No,
    /// Not for a moment, so that a subscriber that reads can catch up.
    ReadAhead,
    Yes,
}

/// How large the next chunk is, after `count` bytes were read into one of this size.
const fn next_size(size: usize, count: usize) -> usize {
    if count == size && size < LARGE_CHUNK {
        size * 2
    } else if count < size / 8 && size > SMALL_CHUNK {
        size / 2
    } else {
        size
    }
}

/// Aborts a task when it is dropped.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn reserve(writes: Option<&mpsc::Sender<String>>) -> Option<mpsc::Permit<'_, String>> {
    writes?.reserve().await.ok()
}

/// Waits until the agent has closed its stdin.
async fn closed(writes: Option<&mpsc::Sender<String>>) {
    match writes {
        Some(writes) => writes.closed().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Writes lines until there are no more, then closes the pipe.
async fn write<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut lines: mpsc::Receiver<String>,
    writes: Arc<WriteProgress>,
) {
    while let Some(line) = lines.recv().await {
        let _writing = writes.begin();
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match writer.write(rest).await {
                // The agent has closed its stdin. The dispatcher sees the receiver go.
                Ok(0) | Err(_) => return,
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            }
            writes.progress();
        }
        if writer.flush().await.is_err() {
            return;
        }
    }
    let _ = writer.shutdown().await;
}

impl State {
    /// Whether the agent should not be read now. While a reply of the agent is awaited, only what would
    /// exceed the second limits stops it.
    fn pause(&self) -> Pause {
        if self.to_end {
            return Pause::No;
        }
        let pressure = lock(&self.router).pressure();
        let may_pause = !self.machine.awaits_replies();
        let waits_for_us = may_pause && !self.machine.is_backed_up();
        let is_crowded = self.requests.is_overfull() || (waits_for_us && self.requests.is_full());
        match pressure {
            Pressure::Blocked => Pause::Yes,
            _ if is_crowded => Pause::Yes,
            Pressure::Full if may_pause => Pause::Yes,
            Pressure::ReadAhead if may_pause => Pause::ReadAhead,
            _ => Pause::No,
        }
    }

    /// Routes what was read.
    fn read(&mut self, mut bytes: &[u8]) {
        self.status.send_if_modified(|status| {
            status.heard = Instant::now();
            false
        });
        while self.read_some(&mut bytes) {}
        lock(&self.router).wake();
    }

    /// Decodes and routes some lines. False if there are no more.
    fn read_some(&mut self, bytes: &mut &[u8]) -> bool {
        let mut size = 0;
        let stopped_at = loop {
            if self.lines.len() == LINES_AT_ONCE || size >= BYTES_AT_ONCE {
                break None;
            }
            match self.decoder.next(bytes) {
                Some(Frame::Line(line)) => {
                    size += line.raw().len();
                    let decoded = line.to_host();
                    self.lines.push((line, decoded));
                }
                other => break Some(other),
            }
        };
        self.route(size);
        match stopped_at {
            None => true,
            Some(Some(frame)) => {
                self.route_frame(frame);
                true
            }
            Some(None) => false,
        }
    }

    /// Shows the lines at hand to the machine, and routes them.
    fn route(&mut self, size: usize) {
        if self.lines.is_empty() {
            return;
        }
        let mut lines = std::mem::take(&mut self.lines);
        for (line, decoded) in &lines {
            if let Some(tap) = &self.tap {
                tap.show(Direction::ToHost, line);
            }
            self.machine.handle_decoded(line, decoded);
            self.serve(line.raw().len());
        }
        lines.retain(|(_, decoded)| !matches!(decoded.message(), Some(ToHost::KeepAlive(_))));
        self.turns = lock(&self.router).lines_to_host(&mut lines, size);
        self.lines = lines;
    }

    fn route_frame(&mut self, frame: Frame) {
        match frame {
            Frame::Line(line) => {
                let size = line.raw().len();
                let decoded = line.to_host();
                self.lines.push((line, decoded));
                self.route(size);
            }
            Frame::TooLong(too_long) => {
                self.machine.handle_too_long(&too_long);
                self.serve(0);
                self.turns = lock(&self.router).too_long(&too_long);
            }
        }
    }

    fn command(&mut self, command: Command) {
        let now = self.started.elapsed();
        match command {
            Command::Prompt(prompt, counted) => {
                self.machine.prompt(&prompt);
                self.counted.push(counted);
            }
            Command::Request(request, timeout, reply) => {
                let id = match request {
                    Request::Typed(request) => self.machine.request(now, *request, timeout),
                    Request::Raw(request) => self.machine.request_raw(now, &request, timeout),
                };
                self.replies.insert(id, reply);
            }
            Command::Answer(id, received, answer) => {
                // The clock decides, not which task ran first.
                self.answer_overdue();
                let open = received.is_none_or(|received| self.requests.is_open(&id, received));
                // Withdrawn, answered or overdue meanwhile: nothing is sent.
                if open && self.machine.answer(&id, &answer).is_ok() {
                    self.requests.closed(&id);
                }
            }
            Command::AnswerBy(id, received, deadline, answer) => {
                self.requests.set_due(&id, received, deadline, answer);
                self.answer_overdue();
            }
            Command::LeaveUnanswered(id) => {
                self.machine.leave_unanswered(&id);
                self.requests.closed(&id);
            }
            Command::IsOpen(id, reply) => {
                let _ = reply.send(self.machine.open_asks().any(|open| *open == id));
            }
            Command::Abandoned => {
                let abandoned = |(id, reply): (&RequestId, &oneshot::Sender<_>)| {
                    reply.is_closed().then(|| id.clone())
                };
                let ids: Vec<RequestId> = self.replies.iter().filter_map(abandoned).collect();
                for id in ids {
                    self.replies.remove(&id);
                    self.machine.withdraw(&id);
                }
            }
            Command::ReadToEnd => self.to_end = true,
            // `Now` overrides `WhenIdle`.
            Command::Close(close) => {
                if self.closing != Some(Close::Now) {
                    self.closing = Some(close);
                }
            }
        }
    }

    /// Publishes the state of the run.
    fn publish(&mut self, outgoing: bool, ended: bool) {
        let (machine, turns) = (&self.machine, self.turns);
        self.status.send_if_modified(|status| status.update(machine, turns, outgoing, ended));
        for counted in self.counted.drain(..) {
            let _ = counted.send(());
        }
    }

    /// Notes why the run ends.
    fn stopped(&self, reason: String) {
        self.status.send_modify(|status| status.stopped = Some(reason));
    }

    /// A line goes to the agent: the router gets it in its place in the conversation.
    fn sent(&mut self, line: &str) {
        let line = Line::from(line.trim_end_matches('\n'));
        if let Some(tap) = &self.tap {
            tap.show(Direction::ToAgent, &line);
        }
        let mut router = lock(&self.router);
        self.turns = router.line_to_agent(&line);
        router.wake();
    }

    /// Serves the machine's events, which came from a line of this length.
    fn serve(&mut self, mut length: usize) {
        while let Some(event) = self.machine.poll_event() {
            match event {
                LinkEvent::Replied { id, outcome } => {
                    if let Some(reply) = self.replies.remove(&id) {
                        // The caller may have stopped waiting.
                        let _ = reply.send(outcome);
                    }
                }
                LinkEvent::Asked { id, request } => {
                    // The first request of a line pays for all of it.
                    self.requests.asked(id, request, std::mem::take(&mut length));
                }
                LinkEvent::Withdrawn { id } => self.requests.withdrawn(id),
                _ => {}
            }
        }
    }

    /// Gives the handlers as many requests as they have room for.
    fn hand_out(&mut self, to_asks: &mpsc::Sender<Ask>) {
        while let Some(ask) = self.requests.pop() {
            match to_asks.try_send(ask) {
                Ok(()) => {}
                Err(TrySendError::Full(ask)) => return self.requests.put_back(ask),
                Err(TrySendError::Closed(ask)) => {
                    self.requests.put_back(ask);
                    return self.refuse_all();
                }
            }
        }
    }

    /// The handlers are gone: no request is served any more.
    fn refuse_all(&mut self) {
        while let Some(ask) = self.requests.pop() {
            if let Ask::Asked { id, .. } = ask {
                let _ = self.machine.answer(&id, &Answer::Error(NOT_SERVED.into()));
                self.requests.closed(&id);
            }
        }
    }

    /// Answers the requests whose deadline has passed.
    fn answer_overdue(&mut self) {
        let now = Instant::now();
        while let Some((id, answer)) = self.requests.take_overdue(now) {
            if self.machine.answer(&id, &answer).is_ok() {
                self.requests.withdrawn(id);
            }
        }
    }

    fn end(&mut self) {
        if let Some(frame) = self.decoder.finish() {
            // The agent has ended inside a line: requests fail because it is gone, not because of that line.
            if matches!(&frame, Frame::Line(line) if line.to_host().malformed().is_some()) {
                self.machine.handle_end();
            }
            self.route_frame(frame);
        }
        lock(&self.router).wake();
        self.machine.handle_end();
        self.serve(0);
        self.publish(false, true);
    }
}
