//! Signals that are meant for the agent.

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

/// What a terminal does to its programs. It is passed on, but is no part of the conversation.
const OF_TERMINALS: [i32; 3] = [SIGWINCH, SIGTSTP, SIGCONT];

/// Signals that are the agent's, not ours.
pub(super) struct Signals(SignalsInfo<WithOrigin>);

/// The agent's process, until it is gone: its number may be another's then.
#[derive(Clone)]
pub(super) struct Target(Arc<Mutex<Option<Pid>>>);

impl Target {
    pub(super) fn new(pid: Pid) -> Self {
        Self(Arc::new(Mutex::new(Some(pid))))
    }

    pub(super) fn is_gone(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn send(&self, signal: Signal) {
        if let Some(pid) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // It may be gone already: then there is nobody to tell.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Signals {
    /// From here on they wait for [`forward_to`](Self::forward_to).
    pub(super) fn register() -> io::Result<Self> {
        // A tape that grows beyond the limit of a file is a full disk, and not our end. A handler is not
        // inherited by the agent; to ignore it would be.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        // What we were told to ignore, the agent is told, too: nohup does that. With a handler of ours
        // it would not inherit it.
        let ignored = ignored();
        let heard =
            |signal: &i32| ignored.checked_shr((signal - 1).cast_unsigned()).unwrap_or(0) & 1 == 0;
        SignalsInfo::new(FORWARDED.into_iter().chain(OF_TERMINALS).filter(heard)).map(Self)
    }

    /// Passes them on, each once: the agent is in our process group, so that a terminal's Ctrl-C
    /// reaches it without us.
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
                    // Whoever stops the agent waits until we have stopped. If we cannot, we go on.
                    let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
                }
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(forward).map(drop)
    }
}

/// The signals that are ignored from the start, one bit each. Only Linux tells.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
