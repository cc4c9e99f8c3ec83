//! The only module that prints. Lints forbid the macros and handles everywhere else (`clippy.toml`).
//!
//! People read a [`Shown`], on stderr or stdout. Programs read [`Data`] from stdout, byte for byte. If stdout is a
//! terminal, the control characters in it are escaped.
#![expect(clippy::disallowed_methods, reason = "the one place where text reaches a terminal")]

use std::error::Error;
use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use duologue_protocol::visible;
use rustix::termios::tcgetwinsize;

use crate::shown;
use crate::text::{Foreign, Shown, block, line, ours};

/// The frames of a spinner.
pub const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Prints a line on stderr. A write error is ignored: there is no other place to report it.
pub fn err(text: &Shown) {
    let _ = anstream::stderr().lock().write_all(format!("{}\n", text.as_str()).as_bytes());
}

/// Stdout, for people.
#[derive(Debug)]
pub struct Out(anstream::AutoStream<io::Stdout>);

/// Stdout, for people.
pub fn out() -> Out {
    Out(anstream::stdout())
}

impl Out {
    /// Prints a line.
    ///
    /// # Errors
    /// If stdout cannot be written.
    pub fn line(&mut self, text: &Shown) -> io::Result<()> {
        self.0.write_all(format!("{}\n", text.as_str()).as_bytes())
    }

    /// Prints a piece of a line, and flushes it.
    ///
    /// # Errors
    /// If stdout cannot be written.
    pub fn text(&mut self, text: &Shown) -> io::Result<()> {
        self.0.write_all(text.as_str().as_bytes())?;
        self.0.flush()
    }
}

/// Stdout, for programs. See [`Escaping`] for what a terminal gets.
pub type Data = Escaping<io::Stdout>;

/// Stdout, for programs.
pub fn data() -> Data {
    Escaping { to: io::stdout(), escapes: out_is_terminal(), rest: Vec::new() }
}

/// Stderr, for the output of another program.
pub fn foreign_stderr() -> Escaping<io::Stderr> {
    Escaping { to: io::stderr(), escapes: err_is_terminal(), rest: Vec::new() }
}

/// A stream that writes bytes as they are or, if it is a terminal, control characters as the `\u` escapes of JSON.
#[derive(Debug)]
pub struct Escaping<W: Write> {
    to: W,
    escapes: bool,
    /// The first bytes of a character that is not complete yet.
    rest: Vec<u8>,
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.escapes {
            return self.to.write(bytes);
        }
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let rest = self.rest.split_off(whole);
        let text = String::from_utf8_lossy(&self.rest);
        self.to.write_all(visible::json(&text).as_bytes())?;
        self.rest = rest;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Stdout for async code: a slow reader does not block other tasks.
pub fn async_stdout() -> tokio::io::Stdout {
    tokio::io::stdout()
}

/// Whether stdout is a terminal.
pub fn out_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether stderr is a terminal.
pub fn err_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether stdin, stdout or stderr is a terminal.
pub fn has_terminal() -> bool {
    io::stdin().is_terminal() || out_is_terminal() || err_is_terminal()
}

/// The rows and columns of the terminal at stdout.
pub fn out_size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

/// The columns of the terminal at stderr.
pub fn err_columns() -> Option<usize> {
    let size = tcgetwinsize(io::stderr()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Whether stdout shows colours.
pub fn out_has_colours() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// The terminal that a chat draws on. Draw only [`Shown`] text on it.
pub fn screen() -> io::Stdout {
    io::stdout()
}

/// Switches bracketed paste: the terminal then marks pasted text.
///
/// # Errors
/// If stdout cannot be written.
pub fn bracketed_paste(on: bool) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(if on { b"\x1b[?2004h" } else { b"\x1b[?2004l" })?;
    out.flush()
}

/// A line on stderr that is redrawn until it is dropped. Draws nothing unless stderr is a terminal.
#[derive(Debug)]
struct Animation(Option<(mpsc::Sender<()>, JoinHandle<()>)>);

impl Animation {
    fn start(every: Duration, mut frame: impl FnMut(usize) -> Shown + Send + 'static) -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if !err_is_terminal() || is_dumb {
            return Self(None);
        }
        let (stop, stopped) = mpsc::channel();
        let draw = move || {
            for number in 0.. {
                let columns = err_columns().unwrap_or(80).saturating_sub(1);
                let text = frame(number).cut(columns);
                let _ = write!(anstream::stderr().lock(), "\r{}\x1b[K", text.as_str());
                if stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        };
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(draw);
        Self(thread.ok().map(|thread| (stop, thread)))
    }
}

impl Drop for Animation {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

/// A spinner on stderr until it is dropped. Draws nothing unless stderr is a terminal.
#[derive(Debug)]
pub struct Spinner {
    text: Arc<Mutex<Shown>>,
    _animation: Animation,
}

impl Spinner {
    /// Starts a spinner with this text.
    pub fn start(text: &Shown) -> Self {
        let text = Arc::new(Mutex::new(text.clone()));
        let shown = Arc::clone(&text);
        let animation = Animation::start(Duration::from_millis(120), move |number| {
            let frame = ours(FRAMES.get(number % FRAMES.len()).copied().unwrap_or_default());
            let text = shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown!("{} {}", frame, &*text)
        });
        Self { text, _animation: animation }
    }

    /// Changes the text.
    pub fn set(&self, text: &Shown) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text.clone();
    }
}

/// How much of a file has been read, on stderr until it is dropped. Draws nothing unless stderr is a terminal.
#[derive(Debug)]
pub struct ReadingBar {
    done: Arc<AtomicU64>,
    _animation: Animation,
}

impl ReadingBar {
    /// Starts a bar for a file of this length and name.
    pub fn start(length: u64, name: Shown) -> Self {
        const MIB: f64 = 1024.0 * 1024.0;
        let done = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&done);
        let animation = Animation::start(Duration::from_millis(200), move |_| {
            let done = count.load(Ordering::Relaxed).min(length);
            let percent = done.saturating_mul(100) / length.max(1);
            let [done, length] = [done, length].map(|bytes| bytes as f64 / MIB);
            shown!("{} {:>3}% {:.1}/{:.1} MiB", name, percent, done, length)
        });
        Self { done, _animation: animation }
    }

    /// Adds bytes that were read.
    pub fn add(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Prints an error and its causes on stderr.
pub fn error(error: &(dyn Error + 'static)) {
    let mut printed = error.to_string();
    titled("error:", printed.trim().into());
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        // Many errors already contain their cause.
        if !printed.contains(text.trim()) {
            titled("  because:", text.trim().into());
            printed.push_str(&text);
        }
        source = cause.source();
    }
}

/// Prints a text after a title in red. Further lines are indented, so that none looks like a new message.
pub fn titled(title: &'static str, text: Foreign<'_>) {
    let text = text.raw();
    let text = untitled(text);
    for (at, part) in text.lines().enumerate() {
        if at == 0 {
            err(&shown!("{} {}", ours(title).red().bold(), line(part)));
        } else {
            err(&shown!("  {}", line(part)));
        }
    }
}

/// The text without titles of its own: `Error: error: x` becomes `x`.
pub fn untitled(text: &str) -> &str {
    let mut text = text.trim();
    while let Some((title, rest)) = text.split_once(':')
        && title.eq_ignore_ascii_case("error")
        && !rest.trim().is_empty()
    {
        text = rest.trim_start();
    }
    text
}

/// Escapes the messages of panics: they may quote text from outside.
pub fn escape_panics() {
    std::panic::set_hook(Box::new(|panic| {
        err(&shown!("{} {}", ours("duologue panicked:").red().bold(), block(Foreign::of(panic))));
    }));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::*;

    fn written(escapes: bool, pieces: &[&[u8]]) -> Vec<u8> {
        let mut stream = Escaping { to: Vec::new(), escapes, rest: Vec::new() };
        pieces.iter().for_each(|piece| stream.write_all(piece).unwrap());
        stream.to
    }

    #[test]
    fn an_error_title_is_printed_once() {
        assert_eq!(untitled("Error: error: no such file: x"), "no such file: x");
        assert_eq!(untitled("error:"), "error:");
        assert_eq!(untitled("errors: 3"), "errors: 3");
    }

    #[test]
    fn a_terminal_gets_escapes_and_a_pipe_gets_bytes() {
        let pieces: [&[u8]; 3] = [b"{\"\xc2", b"\x9b\x1b]\"}\xff", b"\n"];
        assert_eq!(written(false, &pieces), pieces.concat());
        assert_eq!(written(true, &pieces), "{\"\\u009b\\u001b]\"}\u{fffd}\n".as_bytes());
    }
}
