//! Forwards signals to the agent.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use duologue_tape::Tap;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::signal::{
    SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH, SIGXFSZ,
};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Signals of a terminal. They are forwarded, but not recorded.
const OF_TERMINALS: [i32; 3] = [SIGWINCH, SIGTSTP, SIGCONT];

/// The signals to forward.
pub(super) struct Signals(SignalsInfo<WithOrigin>);

/// The agent's process, until it has ended: then its pid may be reused.
#[derive(Clone)]
pub(super) struct Target(Arc<Mutex<Option<Pid>>>);

impl Target {
    pub(super) fn new(pid: Pid) -> Self {
        Self(Arc::new(Mutex::new(Some(pid))))
    }

    pub(super) fn mark_gone(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn send(&self, signal: Signal) {
        if let Some(pid) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // It may have ended already.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Signals {
    /// Registers the handlers. Signals are queued until [`forward_to`](Self::forward_to).
    pub(super) fn register() -> io::Result<Self> {
        // A tape beyond the file size limit is like a full disk, and must not kill us. The agent does not inherit a
        // handler; it would inherit an ignored signal.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        // Signals that are ignored from the start (by nohup) stay ignored: the agent inherits that.
        let ignored = ignored();
        let is_handled =
            |signal: &i32| ignored.checked_shr((signal - 1).cast_unsigned()).unwrap_or(0) & 1 == 0;
        SignalsInfo::new(FORWARDED.into_iter().chain(OF_TERMINALS).filter(is_handled)).map(Self)
    }

    /// Forwards each signal once: the agent is in our process group, so that Ctrl-C of a terminal reaches it directly.
    pub(super) fn forward_to(mut self, target: Target, tap: Tap) -> io::Result<()> {
        let forward = move || {
            for origin in self.0.forever() {
                if !OF_TERMINALS.contains(&origin.signal) {
                    let name = signal_hook::low_level::signal_name(origin.signal);
                    tap.note(format!("signal {}", name.unwrap_or("unknown")));
                }
                let Some(signal) = Signal::from_named_raw(origin.signal) else { continue };
                if origin.cause != Cause::Kernel {
                    target.send(signal);
                }
                if origin.signal == SIGTSTP {
                    // Our parent waits until we have stopped. If we cannot, we continue.
                    let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
                }
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(forward).map(drop)
    }
}

/// The signals that are ignored from the start, one bit each. Only on Linux.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
