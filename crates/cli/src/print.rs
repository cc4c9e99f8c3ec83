//! The only module that prints. Lints forbid the macros and handles everywhere else (`clippy.toml`).
//!
//! People read a [`Shown`], on stderr or stdout. Programs read [`Data`] from stdout, byte for byte; if
//! stdout is a terminal, its hidden characters are escaped.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the one place where text reaches a terminal"
)]

use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use duologue_protocol::visible;
use indicatif::{ProgressBar, ProgressStyle};

use crate::visible::{Foreign, Shown, block, line, ours, shown};

/// Prints a line on stderr. A write error is ignored: there is no other place to report it.
pub(crate) fn err(text: &Shown) {
    let _ = anstream::stderr().lock().write_all(format!("{}\n", text.as_str()).as_bytes());
}

/// Stdout, for people.
pub(crate) struct Out(anstream::AutoStream<io::Stdout>);

pub(crate) fn out() -> Out {
    Out(anstream::stdout())
}

impl Out {
    pub(crate) fn line(&mut self, text: &Shown) -> io::Result<()> {
        self.0.write_all(format!("{}\n", text.as_str()).as_bytes())
    }

    /// Prints a piece of a line at once.
    pub(crate) fn text(&mut self, text: &Shown) -> io::Result<()> {
        self.0.write_all(text.as_str().as_bytes())?;
        self.0.flush()
    }
}

/// Stdout, for programs. See [`Escaping`] for what a terminal gets.
pub(crate) type Data = Escaping<io::Stdout>;

pub(crate) fn data() -> Data {
    Escaping { to: io::stdout(), escapes: out_is_terminal(), rest: Vec::new() }
}

/// Stderr, for what another program once wrote to it.
pub(crate) fn their_stderr() -> Escaping<io::Stderr> {
    Escaping { to: io::stderr(), escapes: err_is_terminal(), rest: Vec::new() }
}

/// A stream that gets bytes as they are or, if it is a terminal, with hidden characters as the `\u`
/// escapes of JSON.
pub(crate) struct Escaping<W: Write> {
    to: W,
    escapes: bool,
    /// The beginning of a character whose rest has not come yet.
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

/// Stdout without buffer or lock, for `run`: a reader that is slow must not block other tasks.
pub(crate) fn async_stdout() -> tokio::io::Stdout {
    tokio::io::stdout()
}

pub(crate) fn out_is_terminal() -> bool {
    io::stdout().is_terminal()
}

pub(crate) fn err_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether a person is likely to see this.
pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal() || out_is_terminal() || err_is_terminal()
}

/// How many rows and columns the terminal at stdout has.
pub(crate) fn out_size() -> Option<(u16, u16)> {
    console::Term::stdout().size_checked().filter(|_| out_is_terminal())
}

/// How many columns the terminal at stderr has.
pub(crate) fn err_columns() -> Option<usize> {
    let size = console::Term::stderr().size_checked().filter(|_| io::stderr().is_terminal());
    size.map(|(_, columns)| usize::from(columns))
}

/// Whether stdout shows colours.
pub(crate) fn out_has_colours() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// The terminal that a chat draws on. What is drawn is a [`Shown`].
pub(crate) fn screen() -> io::Stdout {
    io::stdout()
}

/// Whether a text that is pasted comes as one.
pub(crate) fn paste_as_one(on: bool) -> io::Result<()> {
    if on {
        crossterm::execute!(io::stdout(), EnableBracketedPaste)
    } else {
        crossterm::execute!(io::stdout(), DisableBracketedPaste)
    }
}

/// A spinner on stderr, which draws nothing unless that is a terminal.
pub(crate) struct Spinner(ProgressBar);

impl Spinner {
    pub(crate) fn start(text: &Shown) -> Self {
        let spinner = ProgressBar::new_spinner().with_message(text.as_str().to_owned());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            spinner.set_style(style);
        }
        spinner.enable_steady_tick(Duration::from_millis(120));
        Self(spinner)
    }

    pub(crate) fn set(&self, text: &Shown) {
        self.0.set_message(text.as_str().to_owned());
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A bar on stderr that shows how much of a file is read, unless that is no terminal.
pub(crate) fn reading_bar(length: u64, name: &Shown) -> anyhow::Result<ProgressBar> {
    let style =
        ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}")?;
    let bar = ProgressBar::new(length).with_style(style);
    bar.set_message(name.as_str().to_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    Ok(bar)
}

/// Help goes to stdout, complaints about the command line to stderr. They quote what was typed.
pub(crate) fn usage(error: &clap::Error) {
    let rendered = error.render();
    let plain = rendered.to_string();
    if !error.use_stderr() || block(&plain).as_str() == plain {
        // A closed stdout is not an error.
        let _ = error.print();
    } else {
        err(&block(plain.trim_end()));
    }
}

/// An error and its causes.
pub(crate) fn error(error: &anyhow::Error) {
    let mut told = error.to_string();
    titled("error:", told.trim().into());
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        // Many errors name their cause themselves: once is enough.
        if !told.contains(cause.trim()) {
            titled("  because:", cause.trim().into());
            told.push_str(&cause);
        }
    }
}

/// A text behind a title in red. Further lines are indented, so that none looks like a new message.
pub(crate) fn titled(title: &'static str, text: Foreign<'_>) {
    let text = text.raw();
    // Some errors bring the title along.
    let text = untitled(text);
    for (at, part) in text.lines().enumerate() {
        if at == 0 {
            err(&shown!("{} {}", ours(title).red().bold(), line(part)));
        } else {
            err(&shown!("  {}", line(part)));
        }
    }
}

/// The text without the titles that it brings along: `Error: error: x` is `x`.
pub(crate) fn untitled(text: &str) -> &str {
    let mut text = text.trim();
    while let Some((title, rest)) = text.split_once(':')
        && title.eq_ignore_ascii_case("error")
        && !rest.trim().is_empty()
    {
        text = rest.trim_start();
    }
    text
}

/// A panic may quote text from outside, too.
pub(crate) fn panics_escaped() {
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
    fn a_title_is_said_once() {
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
