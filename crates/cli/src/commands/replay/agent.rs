//! Replays the agent of a tape.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use duologue_protocol::Line;
use duologue_tape::replay::{Match, Mismatch, Player, Step, Wait};
use duologue_tape::{Exit, Stream};
use duologue_terminal::{Foreign, block, line, ours, print, shown};
use signal_hook::iterator::Signals;

use super::read_lines;
use crate::args::{Alike, OnMismatch, Replay, Speed};
use crate::exit;
use crate::is_broken_pipe;
use crate::signal;

/// The most lines of the host in the queue. Beyond that, the host waits.
const LINES: usize = 1024;

/// How much is written at once while there is nothing to wait for.
const BUFFER: usize = 256 * 1024;

/// How much longer than on the tape to wait for a signal after the end of the host's input. Either may arrive first.
const SIGNAL_GRACE: Duration = Duration::from_secs(5);

/// An action of the host.
enum Input {
    Line(Line),
    End,
    Signal(&'static str),
}

pub(super) fn run(tape: &Path, arguments: &[String], args: &Replay) -> anyhow::Result<u8> {
    match play(tape, arguments, args) {
        // A host that stops reading while the agent writes differs from the tape.
        Err(error) if is_broken_pipe(&error) && args.on_mismatch == OnMismatch::Fail => {
            print::err(&ours("duologue: the host stopped reading before the end of the tape"));
            Ok(exit::MISMATCH)
        }
        played => played,
    }
}

fn play(tape: &Path, arguments: &[String], args: &Replay) -> anyhow::Result<u8> {
    let context = || format!("could not read {}", tape.display());
    let how = match args.alike {
        Alike::Exact => Match::Exact,
        Alike::Loose => Match::Loose,
        Alike::Any => Match::Any,
    };
    let mut player = Player::new(|| File::open(tape), how).with_context(context)?;
    let header = player.header().with_context(context)?;
    anyhow::ensure!(
        header.is_some(),
        "{} is not a tape; `duologue record` creates one",
        tape.display()
    );
    if let Some(code) = tell_version(header, arguments)? {
        return Ok(code);
    }
    player.handle_arguments(arguments).with_context(context)?;
    if args.on_mismatch == OnMismatch::Continue {
        player = player.lenient();
    }
    let host = listen(&player)?;
    // A larger pipe holds a whole write, so that the two sides do not wait for each other in turns.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(rustix::stdio::stdout(), BUFFER);
    let mut stdout = BufWriter::with_capacity(BUFFER, print::data());
    let mut ended = false;
    loop {
        match player.next_step().with_context(context)? {
            Step::Say(pause, stream, line) => {
                if let Speed::Times(factor) = args.speed
                    && !pause.is_zero()
                {
                    stdout.flush()?;
                    let pause = Duration::try_from_secs_f64(pause.as_secs_f64() / factor);
                    thread::sleep(pause.unwrap_or(Duration::MAX));
                }
                say(&mut stdout, stream, &line)?;
            }
            Step::Wait(wait) => {
                stdout.flush()?;
                let patience = args.patience.map(Duration::from_secs);
                let patience =
                    patience.unwrap_or_else(|| player.signal_delay().saturating_add(SIGNAL_GRACE));
                let result = match next(&host, &wait, ended.then_some(patience)) {
                    Some(Input::Line(line)) => player.handle_line(&line),
                    Some(Input::Signal(name)) => {
                        player.handle_signal(name);
                        Ok(())
                    }
                    Some(Input::End) => {
                        ended = true;
                        player.handle_end()
                    }
                    None => player.handle_gone(),
                };
                if let Err(mismatch) = result {
                    report(&mismatch);
                    if args.on_mismatch == OnMismatch::Fail {
                        return Ok(exit::MISMATCH);
                    }
                }
            }
            Step::End(end) => {
                stdout.flush()?;
                if let Some(torn) = player.torn() {
                    print::err(&shown!(
                        "duologue: line {} of the tape was cut off, and is omitted",
                        torn.line
                    ));
                }
                return Ok(follow(end));
            }
            _ => {}
        }
    }
}

/// The next action of the host. After the end of its lines, only a signal can come, until this timeout. `None` if nothing
/// comes.
fn next(host: &Receiver<Input>, wait: &Wait, ended: Option<Duration>) -> Option<Input> {
    let Some(patience) = ended else { return host.recv().ok() };
    match wait {
        Wait::Signal(name) if can_receive(name) => host.recv_timeout(patience).ok(),
        _ => None,
    }
}

fn report(mismatch: &Mismatch) {
    print::err(&shown!("duologue: {}", block(Foreign::of(mismatch))));
}

/// Answers `--version`: hosts ask for it before they start the agent.
fn tell_version(
    header: Option<&duologue_tape::Header>,
    arguments: &[String],
) -> anyhow::Result<Option<u8>> {
    if !matches!(arguments, [only] if only == "-v" || only == "--version") {
        return Ok(None);
    }
    let version =
        header.and_then(|header| header.version.as_deref()).unwrap_or(duologue_agent::VERSION);
    print::out().line(&shown!("{} (Claude Code)", line(version)))?;
    Ok(Some(exit::OK))
}

fn say(stdout: &mut impl io::Write, stream: Stream, line: &Line) -> io::Result<()> {
    let end: &[u8] = if line.has_newline() { b"\n" } else { b"" };
    match stream {
        Stream::Stderr => {
            let mut stderr = print::foreign_stderr();
            stderr.write_all(line.raw())?;
            stderr.write_all(end)
        }
        Stream::ToHost | Stream::ToAgent => {
            stdout.write_all(line.raw())?;
            stdout.write_all(end)
        }
    }
}

/// Ends as the recorded agent ended.
fn follow(exit: Exit) -> u8 {
    match (exit.code, exit.signal) {
        (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
        (None, Some(signal)) => signal::die_by(i32::try_from(signal).unwrap_or_default()),
        (None, None) => exit::OK,
    }
}

/// Receives the lines of the host and the signals that are on the tape. Other signals have their default effect.
fn listen(player: &Player<File>) -> anyhow::Result<Receiver<Input>> {
    let (sender, receiver) = mpsc::sync_channel(LINES);
    let wanted: Vec<i32> = (1..32)
        .filter(|signal| {
            let name = signal_hook::low_level::signal_name(*signal);
            name.is_some_and(|name| {
                can_receive(name) && player.signals().any(|other| other == name)
            })
        })
        .collect();
    if !wanted.is_empty() {
        let mut signals = Signals::new(wanted)?;
        let sender = sender.clone();
        thread::Builder::new().spawn(move || {
            for signal in signals.forever() {
                let name = signal_hook::low_level::signal_name(signal).unwrap_or("unknown");
                if sender.send(Input::Signal(name)).is_err() {
                    return;
                }
            }
        })?;
    }
    thread::Builder::new().spawn(move || {
        read_lines(io::stdin(), &sender, Input::Line);
        let _ = sender.send(Input::End);
    })?;
    Ok(receiver)
}

/// Whether a process can wait for this signal.
fn can_receive(name: &str) -> bool {
    let is_known = (1..32).any(|signal| signal_hook::low_level::signal_name(signal) == Some(name));
    is_known && !["SIGKILL", "SIGSTOP"].contains(&name)
}
