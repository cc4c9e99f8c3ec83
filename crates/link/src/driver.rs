//! [`Driver`]: the one loop that reads, routes and writes.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use duologue_protocol::control::Success;
use duologue_protocol::host_link::{Answer, Failure, HostLink, LinkEvent};
use duologue_protocol::{Direction, Frame, Line, RequestId};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::inbox::{Deliver, Inbox, InboxError, inbox};
use crate::link::{Ask, Asks, Close, Command, Link, Request};
use crate::options::{Options, Tap};
use crate::requests::OpenRequests;
use crate::sieve::Sieve;
use crate::standing::{Standing, Writes};

/// How much is read at once: little while little comes, so that a thousand conversations fit into
/// memory, and more while much comes, since task switches cost as much as parsing.
const SMALL_CHUNK: usize = 8 * 1024;
/// More than a pipe holds would not be filled.
const LARGE_CHUNK: usize = 64 * 1024;

/// How many commands may wait for the driver. Senders wait beyond that.
const COMMANDS: usize = 64;

/// How many requests of the agent may wait in the channel to the server. More wait in the driver.
const ASKS: usize = 64;

/// The answer if the [`Asks`] were dropped.
const NOT_SERVED: &str = "nobody serves requests here";

/// How many lines may wait for the writer beside those the machine holds.
const WRITES: usize = 16;

/// How long an agent that has closed its stdin may be silent. It will not hear what was to be said to
/// it; but it may say the rest of what it has to say.
const DEAF: Duration = Duration::from_secs(2);

/// How long the agent is not read for the sake of a consumer that reads, but not so fast. It keeps
/// what a flood needs small. A consumer that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_millis(100);

/// The host's end of a conversation over these two ends of a pipe.
///
/// Nothing happens until the [`Driver`] runs.
pub fn connect<R, W>(reader: R, writer: W, options: Options) -> (Link, Asks, Inbox, Driver<R, W>)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (commands, from_handles) = mpsc::channel(COMMANDS);
    let (to_asks, asks) = mpsc::channel(ASKS);
    let (deliver, inbox) = inbox(&options);
    let writes = Arc::new(Writes::new());
    let (standing, stands) = watch::channel(Standing::new(Arc::clone(&writes)));
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
    let driver = Driver {
        reader,
        writer,
        state: State {
            machine,
            sieve: Sieve::new(options.max_line),
            deliver,
            requests: OpenRequests::new(options.open_requests),
            replies: HashMap::new(),
            standing,
            started: Instant::now(),
            writes,
            counted: Vec::new(),
            closing: None,
            tap: options.tap,
            read_on: false,
        },
        commands: from_handles,
        to_asks,
    };
    (Link { commands, standing: stands }, Asks { asks }, inbox, driver)
}

/// Does the work of a conversation. Spawn [`run`](Self::run).
#[derive(Debug)]
pub struct Driver<R, W> {
    reader: R,
    writer: W,
    state: State,
    commands: mpsc::Receiver<Command>,
    to_asks: mpsc::Sender<Ask>,
}

#[derive(Debug)]
struct State {
    machine: HostLink,
    sieve: Sieve,
    deliver: Deliver,
    requests: OpenRequests,
    replies: HashMap<RequestId, oneshot::Sender<Result<Box<Success>, Failure>>>,
    standing: watch::Sender<Standing>,
    started: Instant,
    /// How writing gets on.
    writes: Arc<Writes>,
    /// Who waits until the standing counts a prompt.
    counted: Vec<oneshot::Sender<()>>,
    /// The host wants stdin closed.
    closing: Option<Close>,
    tap: Option<Tap>,
    /// The agent is dead: nobody needs to be held up.
    read_on: bool,
}

impl<R, W> Driver<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    /// Runs until the agent's stdout ends. Everything that was asked ends then, too.
    pub async fn run(self) {
        let Self { mut reader, writer, mut state, mut commands, to_asks } = self;
        let (writes, to_write) = mpsc::channel(WRITES);
        let mut writes = Some(writes);
        // The writer ends with this, also if it is stuck: an agent need not read.
        let _writer = Aborted(
            tokio::spawn(write(writer, to_write, Arc::clone(&state.writes))).abort_handle(),
        );
        let mut chunk = vec![0; SMALL_CHUNK];
        let mut outgoing: Option<String> = None;
        let mut handles_live = true;
        let mut patience = None;
        let mut stdin_gone = false;
        let mut deaf: Option<Instant> = None;
        loop {
            outgoing = outgoing.or_else(|| state.machine.poll_transmit());
            let close = match state.closing {
                Some(Close::Now) => true,
                Some(Close::WhenIdle) => state.machine.may_close(),
                None => false,
            };
            if stdin_gone || (outgoing.is_none() && close) {
                // Dropping the sender lets the writer finish and close stdin.
                writes = None;
            }
            let deadline = state.machine.poll_timeout().map(|at| state.started + at);
            let due = state.requests.next_due();
            let may_pause = !state.machine.awaits_replies() && !state.read_on;
            let full = may_pause && state.deliver.is_full();
            let crowded = state.is_crowded(may_pause);
            let ahead = may_pause && !full && state.deliver.is_ahead();
            let paused = full || crowded || ahead;
            patience = if ahead { patience.or(Some(Instant::now() + PATIENCE)) } else { None };
            // Every branch may be dropped while it waits: `read`, `reserve`, `recv`, `closed`, `notified` and
            // `sleep_until` keep nothing of their own.
            tokio::select! {
                read = reader.read(&mut chunk), if !paused => {
                    match read {
                        Ok(0) => break,
                        Ok(count) => {
                            deaf = deaf.map(|_| Instant::now() + DEAF);
                            state.take(chunk.get(..count).unwrap_or_default());
                            chunk = state.hand_over(chunk, count);
                        }
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => {
                            state.deliver.push_error(InboxError::Read(Arc::new(error)));
                            break;
                        }
                    }
                }
                command = commands.recv(), if handles_live && !state.machine.is_backed_up() => match command {
                    Some(command) => state.command(command),
                    // Nobody will ever say anything again.
                    None => {
                        handles_live = false;
                        state.closing = Some(Close::Now);
                    }
                },
                permit = reserve(writes.as_ref()), if outgoing.is_some() => {
                    // If it is closed, what is left cannot be said.
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
                () = closed(writes.as_ref()), if !stdin_gone => {
                    deaf = Some(Instant::now() + DEAF);
                    stdin_gone = true;
                }
                () = state.deliver.drained(), if paused => {}
                () = sleep_until(deaf), if deaf.is_some() && !paused => {
                    state.standing.send_modify(|standing| standing.deaf = true);
                    break;
                }
                () = sleep_until(patience), if ahead => state.deliver.wait_no_more(),
                () = sleep_until(deadline), if deadline.is_some() => {
                    state.machine.handle_timeout(state.started.elapsed());
                }
            }
            state.serve(0);
            state.hand_out(&to_asks);
            state.stand(outgoing.is_some(), false);
        }
        state.end();
        state.hand_out(&to_asks);
    }
}

/// A task that ends with this.
struct Aborted(AbortHandle);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn reserve(writes: Option<&mpsc::Sender<String>>) -> Option<mpsc::Permit<'_, String>> {
    writes?.reserve().await.ok()
}

/// Waits until the agent reads no more.
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

/// Writes lines until there are none, then closes the pipe.
async fn write<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut lines: mpsc::Receiver<String>,
    writes: Arc<Writes>,
) {
    while let Some(line) = lines.recv().await {
        let _writing = writes.begin();
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match writer.write(rest).await {
                // The agent reads no more. That its stdout ends, too, tells the rest.
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
    /// Shows the machine what it must see of what was read.
    fn take(&mut self, mut bytes: &[u8]) {
        self.standing.send_if_modified(|standing| {
            standing.heard = Instant::now();
            false
        });
        loop {
            let (machine, tap) = (&self.machine, &self.tap);
            let minds = |start: &[u8]| tap.is_some() || machine.minds(start);
            let Some(frame) = self.sieve.next(&mut bytes, minds) else { break };
            self.show(&frame);
        }
    }

    /// Shows the machine, and the tap, what the agent said, and serves what comes of it.
    fn show(&mut self, frame: &Frame) {
        match frame {
            Frame::Line(line) => {
                if let Some(tap) = &self.tap {
                    tap.show(Direction::ToHost, line);
                }
                self.machine.handle_line(line);
                self.serve(line.raw().len());
            }
            Frame::TooLong(too_long) => {
                self.machine.handle_too_long(too_long);
                self.serve(0);
            }
        }
    }

    /// Hands what was read to the consumer; gives a buffer for what is read next.
    fn hand_over(&self, mut chunk: Vec<u8>, count: usize) -> Vec<u8> {
        let size = chunk.len();
        // What is kept must not be larger than what it holds.
        if count < size / 2 {
            self.deliver.heard(chunk.get(..count).unwrap_or_default().to_vec());
            if count < size / 8 && size > SMALL_CHUNK {
                self.deliver.forget_spare();
                return vec![0; size / 2];
            }
            return chunk;
        }
        chunk.truncate(count);
        self.deliver.heard(chunk);
        let size = if count == size && size < LARGE_CHUNK { size * 2 } else { size };
        let mut next = self.deliver.spare().unwrap_or_default();
        next.resize(size, 0);
        next
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
                // The clock decides, not who is heard first.
                self.answer_overdue();
                let open = received.is_none_or(|received| self.requests.is_open(&id, received));
                // Withdrawn, answered or overdue meanwhile: then nothing is sent.
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
            Command::IsOpen(id, tell) => {
                let _ = tell.send(self.machine.open_asks().any(|open| *open == id));
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
            Command::ReadOn => self.read_on = true,
            // To wait is never sooner than not to wait.
            Command::Close(close) => {
                if self.closing != Some(Close::Now) {
                    self.closing = Some(close);
                }
            }
        }
    }

    /// Tells how the conversation stands.
    fn stand(&mut self, outgoing: bool, ended: bool) {
        let lost = self.deliver.lost();
        self.standing.send_if_modified(|standing| {
            let newly_lost = lost.is_some() && standing.lost.is_none();
            if newly_lost {
                standing.lost = lost;
            }
            standing.follow(&self.machine, outgoing, ended) || newly_lost
        });
        for counted in self.counted.drain(..) {
            let _ = counted.send(());
        }
    }

    /// A line goes out: the transcript sees it where it stands in the conversation.
    fn sent(&self, line: &str) {
        let line = Line::from(line.trim_end_matches('\n'));
        if let Some(tap) = &self.tap {
            tap.show(Direction::ToAgent, &line);
        }
        self.deliver.said(line);
    }

    /// Whether so many requests of the agent are open that it should not be read. It is read all the
    /// same while it must say or hear something before it can go on, but not without limit.
    fn is_crowded(&self, may_pause: bool) -> bool {
        let waits_for_us = may_pause && !self.machine.is_backed_up();
        !self.read_on && (self.requests.is_overfull() || (waits_for_us && self.requests.is_full()))
    }

    /// Serves the machine's events, which came of a line of this length.
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

    /// Gives the server what it has room for; the rest waits.
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

    /// The server is gone: nothing that is asked will be served.
    fn refuse_all(&mut self) {
        while let Some(ask) = self.requests.pop() {
            if let Ask::Asked { id, .. } = ask {
                let _ = self.machine.answer(&id, &Answer::Error(NOT_SERVED.into()));
                self.requests.closed(&id);
            }
        }
    }

    /// Answers the requests whose time is up.
    fn answer_overdue(&mut self) {
        let now = Instant::now();
        while let Some((id, answer)) = self.requests.take_overdue(now) {
            if self.machine.answer(&id, &answer).is_ok() {
                self.requests.withdrawn(id);
            }
        }
    }

    fn end(&mut self) {
        if let Some(frame) = self.sieve.finish() {
            self.show(&frame);
        }
        self.machine.handle_end();
        self.serve(0);
        self.deliver.end();
        self.stand(false, true);
    }
}
