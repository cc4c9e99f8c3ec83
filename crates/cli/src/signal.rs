//! Ending as another process did.

use rustix::process::{Signal, getpid, kill_process};

/// Dies by this signal. If that does not work, the code by which shells tell of it.
pub(crate) fn die_by(signal: i32) -> u8 {
    if signal == Signal::KILL.as_raw() {
        let _ = kill_process(getpid(), Signal::KILL);
    }
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
