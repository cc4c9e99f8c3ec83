//! An agent that does what its script says. See `duologue_testkit::fake`.

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    duologue_testkit::fake::play()
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
