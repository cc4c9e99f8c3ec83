//! Being the host on a tape.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use duologue_protocol::{Frame, Line, LineDecoder};
use duologue_tape::diff::{Comparison, Side};
use duologue_tape::replay::{HostPlayer, HostStep};
use duologue_tape::{Event, Exit, ReadError, Reader};
use duologue_terminal::{block, print};
use rustix::process::{Pid, Signal, kill_process};

use crate::args::Replay;
use crate::exit;
use crate::is_read;

/// How many of the agent's lines may wait. It waits beyond that.
const LINES: usize = 1024;

/// How long the agent may keep us waiting, unless told.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often is looked whether the agent has ended.
const POLL: Duration = Duration::from_millis(10);

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
            .spawn(move || std::io::copy(&mut stderr, &mut print::foreign_stderr()))?;
    }
    let mut talk = Talk::new(child, player, expected)?;
    let complaint =
        talk.hold(args.patience.map_or(PATIENCE, Duration::from_secs)).with_context(context)?;
    talk.compare_rest().with_context(context)?;

    // The exit code does not depend on whether the report is read to its end.
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

/// Something that happens while the agent is talked to.
enum Happens {
    /// It has written a line.
    Line(Line),
    /// What was said to it is written; `false` if it does not read any more.
    Written(bool),
    /// It writes no more.
    End,
}

/// A conversation with an agent that is there.
struct Talk {
    child: Child,
    /// What is written to it. Writing has a thread of its own: an agent that does not read must not keep us from
    /// reading what it says.
    stdin: Option<SyncSender<Line>>,
    happens: Receiver<Happens>,
    /// It writes no more.
    ended: bool,
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
        let stdin = child.stdin.take().context("the agent has no stdin")?;
        let stdout = child.stdout.take().context("the agent has no stdout")?;
        let (sender, happens) = mpsc::sync_channel(LINES);
        let (lines, to_write) = mpsc::sync_channel(1);
        let written = sender.clone();
        thread::Builder::new().spawn(move || write(stdin, &to_write, &written))?;
        thread::Builder::new().spawn(move || read(stdout, &sender))?;
        let (stdin, ended, comparison) = (Some(lines), false, Comparison::new());
        Ok(Self { child, stdin, happens, ended, player, expected, comparison })
    }

    /// Says all that the host said then. What it had to give up on, if anything.
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
                    None => complaint = Some(format!("the agent keeps us waiting for {what}")),
                },
                _ => break,
            }
        }
        // A tape that was cut off does not tell when the host closed the agent's stdin: now at the latest.
        self.stdin = None;
        while complaint.is_none() && !self.ended && self.next(patience)?.is_some() {}
        let status = match complaint {
            Some(_) => None,
            None => self.wait(patience)?,
        };
        let status = match status {
            Some(status) => status,
            None => {
                complaint.get_or_insert_with(|| "the agent does not end".to_owned());
                // It is gone, or does not do what it should.
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

    /// The next thing that happens; `None` if nothing does for so long.
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
            Happens::Line(line) => self.hear(line)?,
            Happens::End => self.ended = true,
            // What it says tells the rest.
            Happens::Written(false) => self.stdin = None,
            Happens::Written(true) => {}
        }
        Ok(Some(happens))
    }

    /// Waits for the agent's end. `None` if it takes too long.
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

    /// Says a line, and listens meanwhile. A complaint if the agent does not read it.
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
                None => return Ok(Some("the agent does not read what it is told".to_owned())),
            }
        }
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

/// Writes one line after the other.
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

fn read(mut stdout: impl Read, sender: &SyncSender<Happens>) {
    let mut decoder = LineDecoder::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let count = match stdout.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let mut rest = chunk.get(..count).unwrap_or_default();
        while let Some(frame) = decoder.next(&mut rest) {
            if let Frame::Line(line) = frame
                && sender.send(Happens::Line(line)).is_err()
            {
                return;
            }
        }
    }
    if let Some(Frame::Line(line)) = decoder.finish() {
        let _ = sender.send(Happens::Line(line));
    }
    let _ = sender.send(Happens::End);
}
