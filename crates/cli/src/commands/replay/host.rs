//! Being the host on a tape.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use duologue_protocol::{Frame, Line, LineDecoder};
use duologue_tape::diff::{Comparison, Side};
use duologue_tape::replay::{HostPlayer, HostStep};
use duologue_tape::{Event, Exit, ReadError, Reader};
use rustix::process::{Pid, Signal, kill_process};

use crate::args::Replay;
use crate::exit;
use crate::print;
use crate::visible::{Foreign, block, line};

/// How many of the agent's lines may wait. It waits beyond that.
const LINES: usize = 1024;

pub(super) fn run(tape: &Path, command: &[OsString], args: &Replay) -> anyhow::Result<u8> {
    let context = || format!("could not read {}", tape.display());
    let open = || File::open(tape).with_context(context);
    let (player, mut expected) = (HostPlayer::new(open()?), Reader::new(open()?));
    // What is no tape, or too new, is found out before anything is started.
    let header = expected.header().with_context(context)?;
    anyhow::ensure!(header.is_some(), "{} is no tape: `duologue record` makes one", tape.display());

    let (program, rest) = command.split_first().context("name the agent after --")?;
    // On a terminal, what the agent writes to stderr is shown, not obeyed.
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
            .spawn(move || std::io::copy(&mut stderr, &mut print::their_stderr()))?;
    }
    let mut talk = Talk::new(child, player, expected)?;
    let complaint = talk.hold(Duration::from_secs(args.patience)).with_context(context)?;
    talk.compare_rest().with_context(context)?;

    let mut out = print::out();
    if let Some(complaint) = &complaint {
        out.line(&line(complaint))?;
    }
    let mut same = complaint.is_none();
    while let Some(difference) = talk.comparison.next_difference() {
        out.line(&block(Foreign::of(&difference)))?;
        same = false;
    }
    Ok(if same { exit::OK } else { exit::MISMATCH })
}

/// A conversation with an agent that is there.
struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Line>,
    player: HostPlayer<File>,
    /// What was said then, read in step with what is said now.
    expected: Reader<File>,
    comparison: Comparison,
}

impl Talk {
    fn new(
        mut child: Child,
        player: HostPlayer<File>,
        expected: Reader<File>,
    ) -> anyhow::Result<Self> {
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("the agent has no stdout")?;
        let (sender, lines) = mpsc::sync_channel(LINES);
        thread::Builder::new().spawn(move || read(stdout, &sender))?;
        Ok(Self { child, stdin, lines, player, expected, comparison: Comparison::new() })
    }

    /// Says all that the host said then. What it had to give up on, if anything.
    fn hold(&mut self, patience: Duration) -> anyhow::Result<Option<String>> {
        let mut complaint = None;
        loop {
            match self.player.next_step()? {
                HostStep::Say(line) => self.say(&line)?,
                HostStep::Close => self.stdin = None,
                HostStep::Signal(name) => self.signal(&name),
                HostStep::Wait(what) => match self.lines.recv_timeout(patience) {
                    Ok(line) => self.hear(&line)?,
                    Err(RecvTimeoutError::Disconnected) => {
                        complaint = Some(format!("the agent ended; expected {what}"));
                        break;
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        complaint = Some(format!("the agent keeps us waiting for {what}"));
                        break;
                    }
                },
                _ => break,
            }
        }
        if complaint.is_none() {
            while let Ok(line) = self.lines.recv_timeout(patience) {
                self.hear(&line)?;
            }
        }
        self.stdin = None;
        if complaint.is_some() {
            // It is gone, or does not do what it should.
            let _ = self.child.kill();
        }
        let status = self.child.wait()?;
        let code = status.code().map(i64::from);
        let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(i64::from);
        let exit = match (code, signal) {
            (Some(code), _) => Exit::with_code(code),
            (None, signal) => Exit::by_signal(signal.unwrap_or_default()),
        };
        self.compare(&Event::Exit(exit))?;
        Ok(complaint)
    }

    /// Something happens now, and something happened then.
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

    fn hear(&mut self, line: &Line) -> Result<(), ReadError> {
        self.player.handle_line(line);
        self.compare(&Event::ToHost(line.clone()))
    }

    fn say(&mut self, line: &Line) -> Result<(), ReadError> {
        self.compare(&Event::ToAgent(line.clone()))?;
        let Some(stdin) = &mut self.stdin else { return Ok(()) };
        let end: &[u8] = if line.has_newline() { b"\n" } else { b"" };
        let written = stdin.write_all(line.raw()).and_then(|()| stdin.write_all(end));
        if written.and_then(|()| stdin.flush()).is_err() {
            // It reads no more. What it says tells the rest.
            self.stdin = None;
        }
        Ok(())
    }

    fn signal(&self, name: &str) {
        let number =
            (1..32).find(|number| signal_hook::low_level::signal_name(*number) == Some(name));
        if let Some(signal) = number.and_then(Signal::from_named_raw) {
            // It may be gone already.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }
}

fn read(mut stdout: impl Read, sender: &SyncSender<Line>) {
    let mut decoder = LineDecoder::new();
    let mut chunk = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = stdout.read(&mut chunk) {
        let mut rest = chunk.get(..count).unwrap_or_default();
        while let Some(frame) = decoder.next(&mut rest) {
            if let Frame::Line(line) = frame
                && sender.send(line).is_err()
            {
                return;
            }
        }
    }
    if let Some(Frame::Line(line)) = decoder.finish() {
        let _ = sender.send(line);
    }
}
