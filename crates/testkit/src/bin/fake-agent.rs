//! An agent that follows a script. See `duologue_testkit::fake`.

use std::process::ExitCode;

fn main() -> ExitCode {
    duologue_testkit::fake::play()
}
