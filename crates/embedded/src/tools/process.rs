//! Commands: a process group that never outlives its call, and what it writes.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::context::private_file;

/// How long a group may take to end after it was asked to.
const GRACE: Duration = Duration::from_millis(500);

/// How long to wait for more output of a process that has ended: something that left the group may
/// hold the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What is kept in memory of an output.
const HEAD: usize = 128 * 1024;

/// What is kept in a file of an output. The rest is counted.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// A process and all that it starts in its group. The group is killed when its leader has ended, and
/// when this is dropped.
#[derive(Debug)]
pub(crate) struct Group {
    child: Child,
    /// Gone once the leader is reaped: its number may then be another's.
    leader: Option<Pid>,
    /// Waits for the leader without reaping it, so that its group can still be killed by its number.
    watcher: JoinHandle<()>,
}

impl Group {
    /// Starts a command in a group of its own.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let watcher = tokio::task::spawn_blocking(move || {
            let Some(leader) = leader else { return };
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(leader), options) {}
        });
        Ok(Self { child, leader, watcher })
    }

    pub(crate) fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    pub(crate) fn stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    pub(crate) fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Waits for the leader. What it leaves behind in its group is killed. May be dropped and called
    /// again.
    pub(crate) async fn exited(&mut self) -> io::Result<ExitStatus> {
        if !self.watcher.is_finished() {
            let _ = (&mut self.watcher).await;
        }
        self.signal(Signal::KILL);
        self.leader = None;
        self.child.wait().await
    }

    /// Asks the group to end, then makes it.
    pub(crate) async fn stop(&mut self) {
        self.signal(Signal::TERM);
        if timeout(GRACE, self.exited()).await.is_err() {
            self.signal(Signal::KILL);
            let _ = self.exited().await;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // The group is gone if this fails.
            let _ = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// What a command writes: its beginning in memory, all of it in a file if it is long.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    total: u64,
    path: Option<PathBuf>,
    file: Option<File>,
}

impl Capture {
    /// One that opens this file once the output is long; without it, the rest is lost.
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self { head: Vec::new(), total: 0, path, file: None }
    }

    /// One that has its file from the start.
    pub(crate) async fn in_file(path: PathBuf) -> io::Result<Self> {
        let file = File::from_std(private_file().open(&path)?);
        Ok(Self { file: Some(file), ..Self::new(Some(path)) })
    }

    /// Reads until the end. May be dropped and called again: nothing is lost.
    pub(crate) async fn pump(&mut self, pipe: &mut Option<impl AsyncRead + Unpin>) {
        while let Some(open) = pipe {
            let mut chunk = [0; 16 * 1024];
            match open.read(&mut chunk).await {
                Ok(0) | Err(_) => *pipe = None,
                Ok(length) => self.take(&chunk[..length]).await,
            }
        }
    }

    /// Reads until the group's leader has ended, and what it left in the pipe.
    pub(crate) async fn until_exit(
        &mut self,
        group: &mut Group,
        pipe: &mut Option<impl AsyncRead + Unpin>,
    ) -> io::Result<ExitStatus> {
        let status = tokio::select! {
            status = group.exited() => status,
            never = async {
                self.pump(pipe).await;
                std::future::pending().await
            } => never,
        };
        self.drain(pipe).await;
        status
    }

    /// Reads what is left after the process has ended.
    pub(crate) async fn drain(&mut self, pipe: &mut Option<impl AsyncRead + Unpin>) {
        let _ = timeout(LAST_WORDS, self.pump(pipe)).await;
        if let Some(file) = &mut self.file {
            let _ = file.flush().await;
        }
    }

    async fn take(&mut self, chunk: &[u8]) {
        let room = HEAD.saturating_sub(self.head.len());
        if self.file.is_none()
            && chunk.len() > room
            && let Some(path) = self.path.clone()
        {
            self.open(path).await;
        }
        self.head.extend_from_slice(&chunk[..room.min(chunk.len())]);
        let written = self.total;
        self.total += chunk.len() as u64;
        if let Some(file) = &mut self.file
            && written < MAX_FILE
        {
            let _ = file.write_all(chunk).await;
        }
    }

    /// Begins the file with what is in memory.
    async fn open(&mut self, path: PathBuf) {
        self.file = private_file().open(&path).ok().map(File::from_std);
        match &mut self.file {
            Some(file) => drop(file.write_all(&self.head).await),
            None => self.path = None,
        }
    }

    /// The beginning of the output.
    pub(crate) fn head(&self) -> String {
        String::from_utf8_lossy(&self.head).into_owned()
    }

    /// How many bytes there were.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// The file with all of it, written now if it does not exist.
    pub(crate) async fn keep(&mut self) -> Option<PathBuf> {
        if self.file.is_none() {
            let path = self.path.clone()?;
            self.open(path).await;
        }
        self.file.as_mut()?.flush().await.ok()?;
        self.path.clone()
    }
}

/// A shell that will run this script: one pipe for stdout and stderr, so that their order is kept,
/// and no stdin.
pub(crate) fn shell(script: &str) -> Command {
    let mut command = Command::new("bash");
    command.arg("-c").arg(script);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// A text as one word of a script.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
