//! The agent's process.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use duologue_tape::{Exit, Stream, Tap};
#[cfg(target_os = "linux")]
use rustix::process::Signal;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::args::Start;
use crate::signal;

use super::pump::{Progress, pump};
use super::signals::Target;
use super::streams::Streams;

/// How long the agent's streams may be silent after its end, while others hold them open.
const STRAGGLERS: Duration = Duration::from_millis(100);

/// As shells say it: the program cannot be run, or is not there.
const CANNOT_RUN: u8 = 126;
const NOT_THERE: u8 = 127;

/// An agent that runs, in our process group, and dies with us.
pub(super) struct Agent {
    child: Child,
    target: Target,
    pid: Pid,
}

/// How it ended.
pub(super) struct End(ExitStatus);

impl Agent {
    pub(super) fn start(command: &[OsString]) -> anyhow::Result<Self> {
        let us = std::env::current_exe().context("could not find this program")?;
        let child = Command::new(us)
            .arg("start")
            .arg(std::process::id().to_string())
            .arg("--")
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("could not start the agent")?;
        let pid = Pid::from_child(&child);
        Ok(Self { child, target: Target::new(pid), pid })
    }

    /// Where signals go that are meant for it.
    pub(super) fn target(&self) -> Target {
        self.target.clone()
    }

    /// Passes everything through until the agent has ended.
    pub(super) fn converse(mut self, streams: Streams, tap: &Tap) -> anyhow::Result<End> {
        let Streams { stdin, stdout, stderr } = streams;
        let missing = "a stream of the agent is missing";
        let its_stdin = file(self.child.stdin.take().context(missing)?.into());
        let its_stdout = file(self.child.stdout.take().context(missing)?.into());
        let its_stderr = file(self.child.stderr.take().context(missing)?.into());
        let (ended, ends) = mpsc::channel();
        let (exited, has_exited) = mpsc::channel::<()>();
        let [to_host, to_stderr] = [(), ()].map(|()| Arc::new(Progress::default()));

        let to_agent_tap = tap.clone();
        spawn("stdin", move || {
            pump(&stdin, &its_stdin, Stream::ToAgent, &to_agent_tap, &Progress::default());
        })?;
        let (progress, its_tap, done) = (Arc::clone(&to_host), tap.clone(), ended.clone());
        spawn("stdout", move || {
            pump(&its_stdout, &stdout, Stream::ToHost, &its_tap, &progress);
            drop((its_stdout, stdout));
            let _ = done.send(());
        })?;
        let (progress, its_tap) = (Arc::clone(&to_stderr), tap.clone());
        spawn("stderr", move || {
            pump(&its_stderr, &stderr, Stream::Stderr, &its_tap, &progress);
            drop(its_stderr);
            let _ = ended.send(());
            // If the agent has closed its stderr, so do we; if it has ended, we may have to speak.
            match has_exited.recv_timeout(STRAGGLERS) {
                Err(RecvTimeoutError::Timeout) => drop(stderr),
                Ok(()) | Err(RecvTimeoutError::Disconnected) => std::mem::forget(stderr),
            }
        })?;

        // Looked at before it is reaped: until then its number is its own.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(error) = waitid(WaitId::Pid(self.pid), look) {
            if error != rustix::io::Errno::INTR {
                break;
            }
        }
        self.target.is_gone();
        let status = self.child.wait().context("could not wait for the agent")?;
        drop(exited);
        drain(&ends, [&to_host, &to_stderr]);
        Ok(End(status))
    }
}

/// Waits until all that the agent wrote has been passed on. What it leaves running may hold its
/// streams open, but we cannot outlive it.
fn drain(ends: &mpsc::Receiver<()>, pumps: [&Progress; 2]) {
    let mut open = pumps.len();
    let mut before = [None; 2];
    while open > 0 {
        match ends.recv_timeout(STRAGGLERS) {
            Ok(()) => open -= 1,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let now = pumps.map(Progress::idle_since);
                if now == before && now.iter().all(Option::is_some) {
                    return;
                }
                before = now;
            }
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

fn file(stream: OwnedFd) -> File {
    // A larger pipe means fewer turns of everybody. The system may refuse; then it is as it was.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&stream, 256 * 1024);
    File::from(stream)
}

impl End {
    /// As it stands on the tape.
    pub(super) fn exit(&self) -> Exit {
        match (self.0.code(), self.0.signal()) {
            (Some(code), _) => Exit::with_code(code.into()),
            (None, signal) => Exit::by_signal(signal.unwrap_or_default().into()),
        }
    }

    /// Ends as the agent did: by the same signal, or with the code that is returned.
    pub(super) fn follow(&self) -> u8 {
        match self.0.signal() {
            Some(signal) => signal::die_by(signal),
            None => u8::try_from(self.0.code().unwrap_or_default()).unwrap_or(u8::MAX),
        }
    }
}

/// Says so, and with which code that ends, if there is no such program.
pub(super) fn is_missing(command: &[OsString]) -> Option<u8> {
    let program = Path::new(command.first()?);
    // As it is looked for when it is started.
    let is_missing = match program.components().count() > 1 || program.is_absolute() {
        true => !program.exists(),
        false => std::env::var_os("PATH").is_some_and(|path| {
            !std::env::split_paths(&path).any(|folder| folder.join(program).exists())
        }),
    };
    is_missing.then(|| {
        crate::report(&anyhow::anyhow!(
            "could not start {}: there is no such program, so nothing was recorded",
            program.display()
        ));
        NOT_THERE
    })
}

/// Becomes the agent, and dies with its parent: however `record` ends, its agent does not stay.
///
/// The parent's death cannot be waited for between fork and exec without `unsafe`. So this program is
/// started once more, asks for it, and then becomes the agent.
pub(crate) fn start(args: &Start) -> anyhow::Result<u8> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getppid, set_parent_process_death_signal};
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have died before that.
        let parent = getppid().map_or(0, |parent| parent.as_raw_nonzero().get());
        if u32::try_from(parent).ok() != Some(args.parent) {
            return Ok(NOT_THERE);
        }
    }
    let Some((program, rest)) = args.command.split_first() else { return Ok(NOT_THERE) };
    let error = Command::new(program).args(rest).exec();
    let code = match error.kind() {
        io::ErrorKind::NotFound => NOT_THERE,
        _ => CANNOT_RUN,
    };
    let program = program.to_string_lossy().into_owned();
    crate::report(&anyhow::Error::new(error).context(format!("could not start {program}")));
    Ok(code)
}
