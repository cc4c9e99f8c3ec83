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

/// How long the streams may be silent after the end of the agent, while its child processes hold them open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

/// The exit codes of shells: the program cannot be run, or does not exist.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// A running agent, in our process group. It is killed when this process dies.
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

    /// Where its signals go.
    pub(super) fn target(&self) -> Target {
        self.target.clone()
    }

    /// Passes everything through until the agent has ended.
    pub(super) fn run(mut self, streams: Streams, tap: &Tap) -> anyhow::Result<End> {
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
            // If the agent has closed its stderr, so do we. If it has ended, we may still have to print there.
            match has_exited.recv_timeout(DRAIN_TIMEOUT) {
                Err(RecvTimeoutError::Timeout) => drop(stderr),
                Ok(()) | Err(RecvTimeoutError::Disconnected) => std::mem::forget(stderr),
            }
        })?;

        // Wait without reaping it: until then its pid is not reused.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(error) = waitid(WaitId::Pid(self.pid), look) {
            if error != rustix::io::Errno::INTR {
                break;
            }
        }
        self.target.mark_gone();
        let status = self.child.wait().context("could not wait for the agent")?;
        drop(exited);
        drain(&ends, [&to_host, &to_stderr]);
        Ok(End(status))
    }
}

/// Waits until all output of the agent has been passed on. Processes that it leaves running may hold its streams open;
/// they are not waited for.
fn drain(ends: &mpsc::Receiver<()>, pumps: [&Progress; 2]) {
    let mut open = pumps.len();
    let mut before = [None; 2];
    while open > 0 {
        match ends.recv_timeout(DRAIN_TIMEOUT) {
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
    // A larger pipe means fewer context switches. The system may refuse.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&stream, 256 * 1024);
    File::from(stream)
}

impl End {
    /// The exit, for the tape.
    pub(super) fn exit(&self) -> Exit {
        match (self.0.code(), self.0.signal()) {
            (Some(code), _) => Exit::with_code(code.into()),
            (None, signal) => Exit::by_signal(signal.unwrap_or_default().into()),
        }
    }

    /// Ends as the agent did: dies by the same signal, or returns its exit code.
    pub(super) fn follow(&self) -> u8 {
        match self.0.signal() {
            Some(signal) => signal::die_by(signal),
            None => u8::try_from(self.0.code().unwrap_or_default()).unwrap_or(u8::MAX),
        }
    }
}

/// Prints an error and returns the exit code if the program does not exist.
pub(super) fn refuse_missing(command: &[OsString]) -> Option<u8> {
    let program = Path::new(command.first()?);
    // The same search as when it is started.
    let is_missing = match program.components().count() > 1 || program.is_absolute() {
        true => !program.exists(),
        false => std::env::var_os("PATH").is_some_and(|path| {
            !std::env::split_paths(&path).any(|folder| folder.join(program).exists())
        }),
    };
    is_missing.then(|| {
        crate::report(&anyhow::anyhow!(
            "could not start {}: no such program; nothing was recorded",
            program.display()
        ));
        NOT_FOUND
    })
}

/// Replaces this process with the agent, which the kernel kills when its parent dies: however `record` ends, its agent
/// ends too.
///
/// Asking the kernel for that between fork and exec would need `unsafe`. So this program is started once more, asks for
/// it, and then executes the agent.
pub(crate) fn start(args: &Start) -> anyhow::Result<u8> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getppid, set_parent_process_death_signal};
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before.
        let parent = getppid().map_or(0, |parent| parent.as_raw_nonzero().get());
        if u32::try_from(parent).ok() != Some(args.parent) {
            return Ok(NOT_FOUND);
        }
    }
    let Some((program, rest)) = args.command.split_first() else { return Ok(NOT_FOUND) };
    let error = Command::new(program).args(rest).exec();
    let code = match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => CANNOT_RUN,
    };
    let program = program.to_string_lossy().into_owned();
    crate::report(&anyhow::Error::new(error).context(format!("could not start {program}")));
    Ok(code)
}
