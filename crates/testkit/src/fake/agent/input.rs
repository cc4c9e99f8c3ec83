//! The lines of the host. A thread reads them, so that the host is never blocked by our output.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::{dup2_stdin, stdin};

/// How many lines are queued before the host has to wait.
const MOST_LINES: usize = 4096;

const STOP: u8 = b's';
const CLOSE: u8 = b'c';

/// The lines of the host.
pub(super) struct Input {
    lines: Receiver<Vec<u8>>,
    stash: VecDeque<Vec<u8>>,
    orders: PipeWriter,
    obeyed: Receiver<()>,
    ended: bool,
}

/// How long to wait for a line.
#[derive(Clone, Copy)]
pub(super) enum Patience {
    None,
    Short,
    Endless,
}

/// What was received.
pub(super) enum Heard {
    Line(Vec<u8>),
    Nothing,
    End,
}

impl Input {
    /// Starts to read stdin, and appends every line to this file.
    pub(super) fn new(log: Option<File>) -> io::Result<Self> {
        let (sender, lines) = sync_channel(MOST_LINES);
        let (done, obeyed) = sync_channel(1);
        let (reader, orders) = io::pipe()?;
        thread::spawn(move || {
            if read(&sender, log, &reader, &done).is_ok() {
                // After `StopReading`, the end is not reported.
                drop(sender);
            }
            obey_rest(reader, &done);
        });
        Ok(Self { lines, stash: VecDeque::new(), orders, obeyed, ended: false })
    }

    /// The next line. After the end, it waits for the whole timeout.
    pub(super) fn next(&mut self, patience: Patience) -> Heard {
        const SHORT: Duration = Duration::from_millis(2);
        if let Some(line) = self.stash.pop_front() {
            return Heard::Line(line);
        }
        if self.ended {
            match patience {
                Patience::None => {}
                Patience::Short => thread::sleep(SHORT),
                Patience::Endless => rest(),
            }
            return Heard::Nothing;
        }
        let line = match patience {
            Patience::None => self.lines.try_recv(),
            Patience::Short => self.lines.recv_timeout(SHORT).map_err(|error| match error {
                RecvTimeoutError::Timeout => TryRecvError::Empty,
                RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
            }),
            Patience::Endless => self.lines.recv().map_err(|_| TryRecvError::Disconnected),
        };
        match line {
            Ok(line) => Heard::Line(line),
            Err(TryRecvError::Empty) => Heard::Nothing,
            Err(TryRecvError::Disconnected) => {
                self.ended = true;
                Heard::End
            }
        }
    }

    /// Stops reading.
    pub(super) fn stop(&mut self) {
        self.order(STOP);
    }

    /// Closes stdin.
    pub(super) fn close(&mut self) {
        self.order(CLOSE);
    }

    fn order(&mut self, order: u8) {
        if self.orders.write_all(&[order]).is_err() {
            return;
        }
        // The reader may be blocked on a full queue.
        while let Err(TryRecvError::Empty) = self.obeyed.try_recv() {
            if let Ok(line) = self.lines.recv_timeout(Duration::from_millis(1)) {
                self.stash.push_back(line);
            }
        }
    }
}

/// Waits forever.
pub(super) fn rest() -> ! {
    loop {
        thread::park();
    }
}

/// Reads until the end (`Ok`), or until it is stopped.
fn read(
    lines: &SyncSender<Vec<u8>>,
    mut log: Option<File>,
    mut orders: &PipeReader,
    done: &SyncSender<()>,
) -> Result<(), ()> {
    let mut buffer = vec![0; 64 * 1024];
    let mut line = Vec::new();
    loop {
        // A blocked read would keep the pipe open after we have closed it.
        let mut both =
            [PollFd::from_borrowed_fd(stdin(), PollFlags::IN), PollFd::new(&orders, PollFlags::IN)];
        let polled = poll(&mut both, None);
        if polled == Err(Errno::INTR) {
            continue;
        }
        let [_, order] = &both;
        if !order.revents().is_empty() {
            let mut byte = [0];
            if orders.read_exact(&mut byte).is_ok() {
                obey(byte, done);
            }
            return Err(());
        }
        let count = match rustix::io::read(stdin(), &mut buffer[..]) {
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(_) => 0,
        };
        let mut rest = buffer.get(..count).unwrap_or_default();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = rest.split_at(end + 1);
            rest = tail;
            line.extend_from_slice(head);
            pass(&mut log, lines, &mut line);
        }
        line.extend_from_slice(rest);
        if count == 0 {
            if !line.is_empty() {
                line.push(b'\n');
                pass(&mut log, lines, &mut line);
            }
            return Ok(());
        }
    }
}

fn pass(log: &mut Option<File>, lines: &SyncSender<Vec<u8>>, line: &mut Vec<u8>) {
    if let Some(log) = log {
        let _ = log.write_all(line);
    }
    line.pop();
    let _ = lines.send(std::mem::take(line));
}

fn obey(order: [u8; 1], done: &SyncSender<()>) {
    if order == [CLOSE]
        && let Ok(nothing) = File::open("/dev/null")
    {
        let _ = dup2_stdin(&nothing);
    }
    let _ = done.send(());
}

fn obey_rest(mut orders: PipeReader, done: &SyncSender<()>) {
    let mut byte = [0];
    while orders.read_exact(&mut byte).is_ok() {
        obey(byte, done);
    }
}
