//! How a run of the agent gets its two halves, and what happens when they end.
//!
//! A [`Transport`] opens one [`Connection`] for each run. Everything that differs between a process, a
//! pipe and, later, a socket that reconnects is in this file:
//!
//! - [`Transport::open`]: where the two halves come from;
//! - [`Transport::reopens`]: whether a run that has ended can be followed by another;
//! - [`Connection::ended`]: what the end of a half means, and how the agent went away;
//! - [`Remote`]: how the far end is ended from outside.

use std::sync::Mutex;

use duologue_protocol::launch::{EnvChange, LaunchPlan};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::dispatch::Link;
use crate::error::{Error, Gone};
use crate::find;
use crate::process::{Control as ProcessControl, ExitReport, Ladder, Process, Spawn, Started};
use crate::session::{Config, lock};
use crate::timeouts::STDOUT_DRAIN;

pub(crate) type ReadHalf = Box<dyn AsyncRead + Unpin + Send>;
pub(crate) type WriteHalf = Box<dyn AsyncWrite + Unpin + Send>;

/// Environment variables that would put text that is not JSON on stdout.
const QUIET: &[(&str, EnvChange)] = &[("ANTHROPIC_LOG", EnvChange::Remove)];

/// Opens connections to an agent.
pub(crate) enum Transport {
    /// Starts a process for each run.
    Process,
    /// Two halves that the program has opened. They serve one run.
    Pipe(Mutex<Option<(ReadHalf, WriteHalf)>>),
}

/// A connection to an agent, for one run.
pub(crate) struct Connection {
    process: Option<Process>,
}

impl Transport {
    /// A transport over these two halves.
    pub(crate) fn pipe(reader: ReadHalf, writer: WriteHalf) -> Self {
        Self::Pipe(Mutex::new(Some((reader, writer))))
    }

    /// Whether another connection can be opened after one has ended.
    pub(crate) const fn reopens(&self) -> bool {
        matches!(self, Self::Process)
    }

    /// Opens a connection for a run.
    ///
    /// # Errors
    /// If the agent is not found or cannot be started, or the pipe was used before.
    pub(crate) fn open(
        &self,
        config: &Config,
        plan: &LaunchPlan,
    ) -> Result<(ReadHalf, WriteHalf, Connection), Error> {
        match self {
            Self::Pipe(halves) => {
                let (reader, writer) = lock(halves).take().ok_or(Error::Closed)?;
                Ok((reader, writer, Connection { process: None }))
            }
            Self::Process => {
                let program = find::cli(config.program.as_deref())?;
                let leading = config.leading.iter().cloned();
                let mut spawn = Spawn::new(program).leading(leading).plan(plan.clone());
                spawn = spawn.user(config.os_user);
                for (name, change) in QUIET {
                    if !plan.env.iter().any(|(known, _)| known == name) {
                        spawn = spawn.env(*name, change.clone());
                    }
                }
                if let Some(on_stderr) = config.on_stderr.clone() {
                    spawn = spawn.on_stderr(move |line| lock(&on_stderr)(line));
                }
                let Started { process, stdin, stdout } = spawn.start()?;
                let connection = Connection { process: Some(process) };
                Ok((Box::new(stdout), Box::new(stdin), connection))
            }
        }
    }
}

impl Connection {
    /// The far end, for any task.
    pub(crate) fn remote(&self, link: &Link) -> Remote {
        match &self.process {
            Some(process) => Remote::Process(process.control()),
            None => Remote::Pipe(link.clone()),
        }
    }

    /// What the person should know about this connection, if anything.
    pub(crate) fn notice(&self) -> Option<&str> {
        self.process.as_ref()?.unguarded()
    }

    /// Waits until the connection has ended and nothing of the agent is left. Tells how it went away.
    pub(crate) async fn ended(
        self,
        link: &Link,
        mut dispatcher: JoinHandle<()>,
        ladder: Ladder,
    ) -> (Gone, ExitReport) {
        let mut gone = Gone::default();
        let Some(process) = &self.process else {
            let _ = dispatcher.await;
            gone.reason = link.status().borrow().stopped.clone();
            return (gone, ExitReport::default());
        };
        tokio::select! {
            // Its stdout has ended: the process must end, too.
            _ = &mut dispatcher => {
                process.end(ladder).await;
            }
            _ = process.exited() => {
                let drain = async {
                    let _ = link.read_to_end().await;
                    let _ = (&mut dispatcher).await;
                };
                if timeout(STDOUT_DRAIN, drain).await.is_err() {
                    // A process that has left the group holds the pipe.
                    link.stop();
                    let _ = dispatcher.await;
                }
            }
        }
        let report = process.exited().await;
        (gone.code, gone.signal) = (report.code, report.signal);
        gone.stderr = process.tail();
        gone.reason = link.status().borrow().stopped.clone();
        (gone, report)
    }
}

/// The far end of a connection, for any task. Clones share it, and keep nothing alive.
#[derive(Clone, Debug)]
pub(crate) enum Remote {
    Process(ProcessControl),
    /// What is behind a pipe cannot be ended; the connection can.
    Pipe(Link),
}

impl Remote {
    /// Ends it at once. Needs no runtime.
    pub(crate) fn kill(&self) {
        match self {
            Self::Process(process) => process.kill(),
            Self::Pipe(link) => link.stop(),
        }
    }

    /// Notes that the agent is asked to end before its stdin is closed.
    pub(crate) fn mark_asked_to_end(&self) {
        if let Self::Process(process) = self {
            process.asked_to_go();
        }
    }

    /// Ends it step by step, once its stdin is closed. `ended` is ready when the run has ended.
    pub(crate) async fn end(&self, ladder: Ladder, ended: impl Future<Output = ()>) -> ExitReport {
        match self {
            Self::Process(process) => process.end(ladder).await,
            Self::Pipe(link) => {
                if timeout(ladder.stdin_grace, ended).await.is_err() {
                    link.stop();
                }
                ExitReport::default()
            }
        }
    }

    /// The process, if there is one.
    pub(crate) const fn process(&self) -> Option<&ProcessControl> {
        match self {
            Self::Process(process) => Some(process),
            Self::Pipe(_) => None,
        }
    }
}
