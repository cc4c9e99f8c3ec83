//! Moves bytes from one stream to another, and tells the tape.

mod lane;

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use duologue_tape::{Stream, Tap};
use rustix::event::{PollFd, PollFlags, poll};

use lane::{Copied, Lane};

/// How much is moved at once: what a pipe holds, and no more than what the recorder gives back.
const CHUNK: usize = 64 * 1024;

/// Chunks with less than this in them are copied for the tape: to keep all of their room would cost more.
const WORTH_SHARING: usize = CHUNK / 2;

/// How a pump is getting on, for whoever must decide whether to wait for it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    moved: AtomicU64,
    writing: AtomicBool,
}

impl Progress {
    /// How many times something was moved; `None` while somebody must take what we have.
    pub(super) fn idle_since(&self) -> Option<u64> {
        let writing = self.writing.load(Ordering::Acquire);
        (!writing).then(|| self.moved.load(Ordering::Acquire))
    }
}

/// Moves everything until one side ends. Dropping both closes them.
pub(super) fn pump(from: &File, to: &File, stream: Stream, tap: &Tap, progress: &Progress) {
    let mut room = Arc::default();
    let mut lane = Lane::between(from, to);
    loop {
        let Some(buffer) = Arc::get_mut(&mut room) else {
            room = tap.spare().unwrap_or_default();
            continue;
        };
        buffer.clear();
        buffer.reserve_exact(CHUNK);
        let copied = match lane.read(from, buffer) {
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
        // Told before it is passed on, or the answer could stand on the tape before the question.
        // Nothing waits for that.
        if count < WORTH_SHARING {
            tap.bytes(stream, chunk);
        } else {
            tap.shared(stream, Arc::clone(&room));
        }
        let passed = match copied {
            Copied::Taken => pass_on(chunk, to),
            Copied::Left => Lane::hand_over(from, to, count),
        };
        if passed.is_err() {
            // Nobody reads any more: whoever writes must notice, too.
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

/// Waits until it makes sense to try again, if it does.
fn try_again(error: io::Error, to: &File) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Interrupted => {}
        io::ErrorKind::WouldBlock => wait(to, PollFlags::OUT),
        _ => return Err(error),
    }
    Ok(())
}

/// Somebody else has made this stream non-blocking.
fn wait(stream: &File, flags: PollFlags) {
    // If it fails, the next read or write tells why.
    let _ = poll(&mut [PollFd::new(stream, flags)], None);
}
