//! [`Ladder`]: the steps of ending a process, and [`ExitReport`]: how it ended.

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

use crate::timeouts::{KILL_WAIT, STDIN_GRACE, TERM_GRACE};

/// How long each step of ending an agent may take.
///
/// First its stdin is closed. After a grace period the group gets TERM, and after another one KILL. If
/// `term_grace` is zero, TERM is skipped. Where `/proc` exists, descendants that have left the group are killed
/// too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ladder {
    /// How long to wait after stdin is closed.
    pub stdin_grace: Duration,
    /// How long to wait after TERM.
    pub term_grace: Duration,
    /// How long to wait after KILL.
    pub kill_wait: Duration,
}

impl Ladder {
    /// Creates a ladder with these grace periods.
    pub const fn new(stdin_grace: Duration, term_grace: Duration, kill_wait: Duration) -> Self {
        Self { stdin_grace, term_grace, kill_wait }
    }

    /// KILL at once.
    pub const fn at_once() -> Self {
        Self::new(Duration::ZERO, Duration::ZERO, KILL_WAIT)
    }
}

/// The grace periods of the official TypeScript SDK: two seconds, TERM, five seconds, KILL, two seconds.
impl Default for Ladder {
    fn default() -> Self {
        Self::new(STDIN_GRACE, TERM_GRACE, KILL_WAIT)
    }
}

/// The step that ended an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rung {
    /// It exited on its own.
    #[default]
    Unasked,
    /// Its stdin was closed.
    Stdin,
    /// TERM was sent.
    Term,
    /// KILL was sent.
    Kill,
}

/// How an agent ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExitReport {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The step that ended it.
    pub rung: Rung,
    /// Whether its process group is empty. `false` if a process survives KILL, for example while it waits for a
    /// broken disk, or if the runtime ended before this was known.
    pub gone: bool,
}

impl ExitReport {
    pub(super) fn new(status: Option<ExitStatus>, rung: Rung, gone: bool) -> Self {
        let signal =
            status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status));
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
            (None, None) if self.gone => f.write_str("ended in an unknown way")?,
            (None, None) => f.write_str("has not ended")?,
        }
        match self.rung {
            Rung::Unasked | Rung::Stdin => Ok(()),
            Rung::Term => f.write_str(", after TERM"),
            Rung::Kill => f.write_str(", after KILL"),
        }
    }
}
