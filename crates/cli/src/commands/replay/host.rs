//! Replays the host of a tape.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use duologue_protocol::Line;
use duologue_tape::diff::{Comparison, Side};
use duologue_tape::replay::{HostPlayer, HostStep};
use duologue_tape::{Event, Exit, ReadError, Reader};
use duologue_terminal::{block, print};
use rustix::process::{Pid, Signal, kill_process};

use super::read_lines;
use crate::args::Replay;
use crate::exit;
use crate::is_read;

/// The most lines of the agent in the queue. Beyond that, the agent waits.
const LINES: usize = 1024;

/// The default timeout for a line of the agent.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often to check whether the agent has ended.
const POLL: Duration = Duration::from_millis(10);

pub(super) fn run(tape: &Path, command: &[OsString], args: &Replay) -> anyhow::Result<u8> {
    let context = || format!("could not read {}", tape.display());
    let open = || File::open(tape).with_context(context);
    let (player, mut expected) = (HostPlayer::new(open()?), Reader::new(open()?));
    // Check the tape before the agent is started.
    let header = expected.header().with_context(context)?;
    anyhow::ensure!(
        header.is_some(),
        "{} is not a tape; `duologue record` creates one",
        tape.display()
    );

    let (program, rest) = command.split_first().context("name the agent after --")?;
    // On a terminal, the control characters of its stderr are escaped.
    let stderr = if print::err_is_terminal() { Stdio::piped() } else { Stdio::inherit() };
    let mut child = Command::new(program)
        .args(rest)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .with_context(|| format!("could not start {}", program.to_string_lossy()))?;
    if let Some(mut stderr) = child.stderr.take() {
        thread::Builder::new()
            .spawn(move || std::io::copy(&mut stderr, &mut print::foreign_stderr()))?;
    }
    let mut talk = Talk::new(child, player, expected)?;
    let complaint =
        talk.hold(args.patience.map_or(PATIENCE, Duration::from_secs)).with_context(context)?;
    talk.compare_rest().with_context(context)?;

    // The exit code does not depend on whether the report is read.
    let mut out = print::out();
    let mut same = true;
    let differences = std::iter::from_fn(|| talk.comparison.next_difference());
    for line in complaint.into_iter().chain(differences.map(|difference| difference.to_string())) {
        same = false;
        if !is_read(out.line(&block(&line)).map_err(Into::into))? {
            break;
        }
    }
    Ok(if same { exit::OK } else { exit::MISMATCH })
}

/// Something that the agent does.
enum Happens {
    /// It has written a line.
    Line(Line),
    /// The last line was written to it; `false` if it has closed its stdin.
    Written(bool),
    /// It has closed its stdout.
    End,
}

/// A conversation with a running agent.
struct Talk {
    child: Child,
    /// The lines to write. A thread writes them: an agent that does not read must not block reading.
    stdin: Option<SyncSender<Line>>,
    happens: Receiver<Happens>,
    /// It has closed its stdout.
    ended: bool,
    player: HostPlayer<File>,
    /// The recorded conversation, read in step with the current one.
    expected: Reader<File>,
    comparison: Comparison,
}

impl Talk {
    fn new(
        mut child: Child,
        player: HostPlayer<File>,
        expected: Reader<File>,
    ) -> anyhow::Result<Self> {
        let stdin = child.stdin.take().context("the agent has no stdin")?;
        let stdout = child.stdout.take().context("the agent has no stdout")?;
        let (sender, happens) = mpsc::sync_channel(LINES);
        let (lines, to_write) = mpsc::sync_channel(1);
        let written = sender.clone();
        thread::Builder::new().spawn(move || write(stdin, &to_write, &written))?;
        thread::Builder::new().spawn(move || {
            read_lines(stdout, &sender, Happens::Line);
            let _ = sender.send(Happens::End);
        })?;
        let (stdin, ended, comparison) = (Some(lines), false, Comparison::new());
        Ok(Self { child, stdin, happens, ended, player, expected, comparison })
    }

    /// Writes all lines of the recorded host. Returns what went wrong, if anything.
    fn hold(&mut self, patience: Duration) -> anyhow::Result<Option<String>> {
        let mut complaint = None;
        while complaint.is_none() {
            match self.player.next_step()? {
                HostStep::Say(line) => complaint = self.say(&line, patience)?,
                HostStep::Close => self.stdin = None,
                HostStep::Signal(name) => self.signal(&name),
                HostStep::Wait(what) => match self.next(patience)? {
                    Some(_) if self.ended => {
                        complaint = Some(format!("the agent ended; expected {what}"));
                    }
                    Some(_) => {}
                    None => complaint = Some(format!("timeout; expected {what}")),
                },
                _ => break,
            }
        }
        // If the tape was cut off, the host closes the agent's stdin now.
        self.stdin = None;
        while complaint.is_none() && !self.ended && self.next(patience)?.is_some() {}
        let status = match complaint {
            Some(_) => None,
            None => self.wait(patience)?,
        };
        let status = match status {
            Some(status) => status,
            None => {
                complaint.get_or_insert_with(|| "the agent does not exit".to_owned());
                // It may have ended already.
                let _ = self.child.kill();
                self.child.wait()?
            }
        };
        let code = status.code().map(i64::from);
        let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(i64::from);
        let exit = match (code, signal) {
            (Some(code), _) => Exit::with_code(code),
            (None, signal) => Exit::by_signal(signal.unwrap_or_default()),
        };
        self.compare(&Event::Exit(exit))?;
        Ok(complaint)
    }

    /// The next action of the agent; `None` after a timeout.
    fn next(&mut self, patience: Duration) -> anyhow::Result<Option<Happens>> {
        if self.ended {
            return Ok(Some(Happens::End));
        }
        let happens = match self.happens.recv_timeout(patience) {
            Ok(happens) => happens,
            Err(RecvTimeoutError::Disconnected) => Happens::End,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
        };
        match &happens {
            Happens::Line(line) => self.receive(line)?,
            Happens::End => self.ended = true,
            // Its output shows the rest.
            Happens::Written(false) => self.stdin = None,
            Happens::Written(true) => {}
        }
        Ok(Some(happens))
    }

    /// Waits for the agent to exit. `None` after a timeout.
    fn wait(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let until = Instant::now().checked_add(patience);
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(None);
            }
            thread::sleep(POLL);
        }
    }

    /// Takes an event of the current conversation, and one of the recorded one.
    fn compare(&mut self, event: &Event) -> Result<(), ReadError> {
        if let Some(entry) = self.expected.next_entry()? {
            self.comparison.take(Side::A, &entry.event);
        }
        self.comparison.take(Side::B, event);
        Ok(())
    }

    fn compare_rest(&mut self) -> Result<(), ReadError> {
        while let Some(entry) = self.expected.next_entry()? {
            self.comparison.take(Side::A, &entry.event);
        }
        self.comparison.finish();
        Ok(())
    }

    fn receive(&mut self, line: &Line) -> Result<(), ReadError> {
        self.player.handle_line(line);
        self.compare(&Event::ToHost(line.clone()))
    }

    /// Writes a line, and reads in the meantime. Returns an error message if the agent does not read it.
    fn say(&mut self, line: &Line, patience: Duration) -> anyhow::Result<Option<String>> {
        self.compare(&Event::ToAgent(line.clone()))?;
        let Some(stdin) = &self.stdin else { return Ok(None) };
        if stdin.send(line.clone()).is_err() {
            self.stdin = None;
            return Ok(None);
        }
        loop {
            match self.next(patience)? {
                Some(Happens::Written(_) | Happens::End) => return Ok(None),
                Some(Happens::Line(_)) => {}
                None => return Ok(Some("the agent does not read its stdin".to_owned())),
            }
        }
    }

    fn signal(&self, name: &str) {
        let number =
            (1..32).find(|number| signal_hook::low_level::signal_name(*number) == Some(name));
        if let Some(signal) = number.and_then(Signal::from_named_raw) {
            // It may have ended already.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }
}

/// Writes the lines.
fn write(mut stdin: ChildStdin, lines: &Receiver<Line>, written: &SyncSender<Happens>) {
    for line in lines {
        let end: &[u8] = if line.has_newline() { b"\n" } else { b"" };
        let result = stdin.write_all(line.raw()).and_then(|()| stdin.write_all(end));
        let is_read = result.and_then(|()| stdin.flush()).is_ok();
        if written.send(Happens::Written(is_read)).is_err() || !is_read {
            return;
        }
    }
}
