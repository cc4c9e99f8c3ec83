//! The output of the agent.

use std::fs::File;

use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use rustix::stdio::{dup2_stdout, stdout};

use super::input::rest;

/// How many bytes are written at once.
const CHUNK: usize = 256 * 1024;

/// The agent's stdout.
pub(super) struct Output {
    written: u64,
    dies_after: Option<u64>,
    dies_inside: Option<u64>,
    /// The host has closed the pipe. Like the CLI, the agent ignores that.
    gone: bool,
    /// The chunk of the last flood.
    chunk: Vec<u8>,
}

impl Output {
    pub(super) fn new(dies_after: Option<u64>, dies_inside: Option<u64>) -> Self {
        let output = Self { written: 0, dies_after, dies_inside, gone: false, chunk: Vec::new() };
        output.perhaps_die();
        output
    }

    fn perhaps_die(&self) {
        if self.dies_after == Some(self.written) {
            die(Signal::KILL.as_raw());
        }
    }

    /// Writes a line and its newline at once.
    pub(super) fn line(&mut self, line: impl Into<String>) {
        let mut line = line.into();
        if self.dies_inside == Some(self.written) {
            self.raw(line.as_bytes().split_at(line.len() / 2).0);
            die(Signal::KILL.as_raw());
        }
        line.push('\n');
        self.raw(line.as_bytes());
        self.written += 1;
        self.perhaps_die();
    }

    /// Writes the same line up to `count` times. Returns how often.
    pub(super) fn flood(&mut self, line: &str, most: usize) -> usize {
        // The place where it dies does not depend on the chunks.
        if self.dies_after.is_some() || self.dies_inside.is_some() {
            self.line(line);
            return 1;
        }
        let one = line.len() + 1;
        let wanted = (CHUNK / one).clamp(1, most);
        if self.chunk.len() != wanted * one || !self.chunk.starts_with(line.as_bytes()) {
            self.chunk = format!("{line}\n").repeat(wanted).into_bytes();
        }
        let chunk = std::mem::take(&mut self.chunk);
        self.raw(&chunk);
        self.chunk = chunk;
        self.written += wanted as u64;
        wanted
    }

    /// Writes these bytes.
    pub(super) fn raw(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.gone {
            match rustix::io::write(stdout(), bytes) {
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(_) => self.gone = true,
            }
        }
    }

    /// Closes stdout.
    pub(super) fn close(&mut self) {
        self.gone = true;
        if let Ok(nothing) = File::options().write(true).open("/dev/null") {
            let _ = dup2_stdout(&nothing);
        }
    }
}

/// Sends a signal to this process, and waits forever if that does not end it.
pub(super) fn die(signal: i32) -> ! {
    if let Some(signal) = Signal::from_named_raw(signal) {
        let _ = kill_process(getpid(), signal);
    }
    rest()
}
