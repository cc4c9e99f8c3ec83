//! Moves bytes from one stream to another, and records them.

mod splice;

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use duologue_tape::{Stream, Tap};
use rustix::event::{PollFd, PollFlags, poll};

use splice::{Copied, Splice};

/// The most bytes moved at once: the capacity of a pipe, and no more than the recorder returns for reuse.
const CHUNK: usize = 64 * 1024;

/// Smaller chunks are copied for the tape: to keep their buffers would cost more.
const MIN_SHARED: usize = CHUNK / 2;

/// The progress of a pump, to decide whether to wait for it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    moved: AtomicU64,
    writing: AtomicBool,
}

impl Progress {
    /// How many chunks were moved; `None` while one is being written.
    pub(super) fn idle_since(&self) -> Option<u64> {
        let writing = self.writing.load(Ordering::Acquire);
        (!writing).then(|| self.moved.load(Ordering::Acquire))
    }
}

/// Moves everything until one side ends. Dropping both closes them.
pub(super) fn pump(from: &File, to: &File, stream: Stream, tap: &Tap, progress: &Progress) {
    let mut room = Arc::default();
    let mut source = Splice::between(from, to);
    loop {
        let Some(buffer) = Arc::get_mut(&mut room) else {
            room = tap.spare().unwrap_or_default();
            continue;
        };
        buffer.clear();
        buffer.reserve_exact(CHUNK);
        let copied = match source.read(from, buffer) {
            Ok(_) if buffer.is_empty() => break,
            Ok(copied) => copied,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait(from, PollFlags::IN);
                continue;
            }
            Err(_) => break,
        };
        progress.writing.store(true, Ordering::Release);
        let (chunk, count) = (room.as_slice(), room.len());
        // Recorded before it is passed on, or an answer could be on the tape before its question. Recording never
        // waits.
        if count < MIN_SHARED {
            tap.bytes(stream, chunk);
        } else {
            tap.shared(stream, Arc::clone(&room));
        }
        let passed = match copied {
            Copied::Taken => pass_on(chunk, to),
            Copied::Left => Splice::move_on(from, to, count),
        };
        if passed.is_err() {
            // The reader is gone. Ending here closes the other side, so that the writer notices.
            break;
        }
        progress.moved.fetch_add(1, Ordering::Release);
        progress.writing.store(false, Ordering::Release);
    }
    tap.end(stream);
}

fn pass_on(mut chunk: &[u8], mut to: &File) -> io::Result<()> {
    while !chunk.is_empty() {
        match to.write(chunk) {
            Ok(count) => chunk = chunk.get(count..).unwrap_or_default(),
            Err(error) => try_again(error, to)?,
        }
    }
    Ok(())
}

/// Waits until the write can be attempted again; returns the error if it cannot.
fn try_again(error: io::Error, to: &File) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Interrupted => {}
        io::ErrorKind::WouldBlock => wait(to, PollFlags::OUT),
        _ => return Err(error),
    }
    Ok(())
}

/// Waits for a stream that another process has made non-blocking.
fn wait(stream: &File, flags: PollFlags) {
    // If it fails, so does the next read or write.
    let _ = poll(&mut [PollFd::new(stream, flags)], None);
}
