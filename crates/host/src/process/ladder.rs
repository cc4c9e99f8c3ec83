//! [`Ladder`]: how a process is ended, and [`ExitReport`]: how it did end.

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

/// How long each step of ending an agent may take.
///
/// Its stdin is closed first. Then comes a grace, TERM to the group, another grace, and KILL to the
/// group. Without a grace for it, TERM is left out. One that has to be signalled takes along its
/// descendants that have left the group, where `/proc` tells who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ladder {
    /// How long it may take to go by itself, once its stdin is closed.
    pub stdin_grace: Duration,
    /// How long it may take after TERM.
    pub term_grace: Duration,
    /// How long to wait for the system after KILL.
    pub kill_wait: Duration,
}

impl Ladder {
    /// These three.
    pub const fn new(stdin_grace: Duration, term_grace: Duration, kill_wait: Duration) -> Self {
        Self { stdin_grace, term_grace, kill_wait }
    }

    /// No grace: KILL, and two seconds for the system.
    pub const fn at_once() -> Self {
        Self::new(Duration::ZERO, Duration::ZERO, Duration::from_secs(2))
    }
}

/// As the official TypeScript SDK does it: two seconds, TERM, five seconds, KILL, two seconds.
impl Default for Ladder {
    fn default() -> Self {
        Self::new(Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(2))
    }
}

/// What it took to end an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rung {
    /// Nothing: it went before anybody asked.
    #[default]
    Unasked,
    /// The end of its stdin.
    Stdin,
    /// TERM.
    Term,
    /// KILL.
    Kill,
}

/// How an agent ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExitReport {
    /// The code it exited with; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it took.
    pub rung: Rung,
    /// Whether nothing of its process group is left. `false` if something outlives even KILL, as
    /// what waits for a dead disk does, or if the runtime ended first and nobody could look.
    pub gone: bool,
}

impl ExitReport {
    pub(super) fn new(status: Option<ExitStatus>, rung: Rung, gone: bool) -> Self {
        #[cfg(unix)]
        let signal =
            status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status));
        #[cfg(not(unix))]
        let signal = None;
        Self { code: status.and_then(|status| status.code()), signal, rung, gone }
    }

    /// Whether it exited with code 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

/// A clause for error messages: `exited with code 1`.
impl fmt::Display for ExitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exited with code {code}")?,
            (None, Some(signal)) => {
                write!(f, "was ended by signal {signal}")?;
                let name = match signal {
                    1 => "HUP",
                    2 => "INT",
                    4 => "ILL",
                    6 => "ABRT",
                    8 => "FPE",
                    9 => "KILL",
                    11 => "SEGV",
                    13 => "PIPE",
                    15 => "TERM",
                    _ => "",
                };
                if !name.is_empty() {
                    write!(f, " ({name})")?;
                }
            }
            (None, None) if self.gone => f.write_str("ended, nobody knows how")?,
            (None, None) => f.write_str("has not ended")?,
        }
        match self.rung {
            Rung::Unasked | Rung::Stdin => Ok(()),
            Rung::Term => f.write_str(", after TERM"),
            Rung::Kill => f.write_str(", after KILL"),
        }
    }
}
