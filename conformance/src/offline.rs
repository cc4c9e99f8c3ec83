//! Runs the cases without a network, in an environment that holds nothing of the outer one.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context as _, Result};
use duologue_testkit::peers::{CACHE, cache, environment, without_network};

use crate::peers::{self, Peer};

/// Set in the process that runs the cases: `offline`, or `online` where the kernel allows no network namespace.
const INSIDE: &str = "DUOLOGUE_CONFORMANCE_INSIDE";

/// The variables that the inner process keeps.
const KEPT: &[&str] = &["PATH", "TERM", "LANG", "NO_COLOR", "TMPDIR"];

/// Whether this process is the one that runs the cases, and if so whether it has no network.
pub(crate) fn inside() -> Option<bool> {
    std::env::var(INSIDE).ok().map(|how| how == "offline")
}

/// Makes sure that the cases run without a network: in the outer process, it does not return unless it fails. Warns where the
/// kernel allows no network namespace.
pub(crate) fn isolate(peers: &[Peer], newest: Option<&str>) -> Result<()> {
    match inside() {
        None => enter(peers, newest),
        Some(true) => Ok(()),
        Some(false) => {
            anstream::eprintln!(
                "warning: the kernel allows no network namespace, so the network is not cut off"
            );
            Ok(())
        }
    }
}

/// Replaces this process by the same program without a network. Returns only if that fails.
fn enter(peers: &[Peer], newest: Option<&str>) -> Result<()> {
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut command = command(program.as_os_str(), &args)?;
    if let Some(agent) = peers.iter().find(|peer| peer.name == peers::AGENT) {
        command.env(peers::AGENT_PROGRAM, &agent.program);
    }
    if let Some(newest) = newest {
        command.env(peers::NEWEST, newest);
    }
    Err(command.exec()).context("the cases cannot be started")
}

/// Replaces this process by a program without a network, in the environment of the peers. Returns only if that fails.
pub(crate) fn run(program: &OsStr, args: &[OsString]) -> Result<()> {
    let mut command = command(program, args)?;
    Err(command.exec()).with_context(|| format!("{} cannot be started", program.display()))
}

/// A command with a scrubbed environment, and without a network where the kernel allows that.
fn command(program: &OsStr, args: &[OsString]) -> Result<Command> {
    let (mut command, inside) = match without_network(program) {
        Some(command) => (command, "offline"),
        None => (Command::new(program), "online"),
    };
    command.args(args).env_clear();
    for name in KEPT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs(environment()).env(CACHE, cache()?).env(INSIDE, inside);
    Ok(command)
}
