//! Ends this process by a signal.

use rustix::process::{Signal, getpid, kill_process};

/// Dies by this signal. If that does not work, returns the exit code that shells use for it.
pub(crate) fn die_by(signal: i32) -> u8 {
    if signal == Signal::KILL.as_raw() {
        let _ = kill_process(getpid(), Signal::KILL);
    }
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
