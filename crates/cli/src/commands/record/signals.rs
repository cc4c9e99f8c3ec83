//! Signals that are meant for the agent.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use duologue_tape::Tap;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Signals that would end us, and are the agent's instead.
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
        SignalsInfo::new(FORWARDED).map(Self)
    }

    /// Passes them on, each once: the agent is in our process group, so that a terminal's Ctrl-C
    /// reaches it without us.
    pub(super) fn forward_to(mut self, target: Target, tap: Tap) -> io::Result<()> {
        let forward = move || {
            for origin in self.0.forever() {
                let name = signal_hook::low_level::signal_name(origin.signal);
                tap.note(format!("signal {}", name.unwrap_or("unknown")));
                let Some(signal) = Signal::from_named_raw(origin.signal) else { continue };
                if origin.cause != Cause::Kernel {
                    target.send(signal);
                }
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(forward).map(drop)
    }
}
