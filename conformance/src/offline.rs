//! Runs the cases where no network is, with an environment that holds nothing of the outer one.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::peers::{self, Peer};

/// Set in the process that runs the cases.
const INSIDE: &str = "DUOLOGUE_CONFORMANCE_INSIDE";

/// What the inner process may know of the outer one.
const KEPT: &[&str] = &["PATH", "TERM", "LANG", "NO_COLOR", "DUOLOGUE_CONFORMANCE_CACHE", "TMPDIR"];

/// Whether this process is the one that runs the cases, and if so whether it has no network.
pub(crate) fn inside() -> Option<bool> {
    std::env::var(INSIDE).ok().map(|how| how == "offline")
}

/// Replaces this process by one with a scrubbed environment, in a network of its own where the kernel
/// allows that. Returns only if it fails.
pub(crate) fn enter(cache: &Path, peers: &[Peer], newest: Option<&str>) -> Result<()> {
    let program = std::env::current_exe().context("this program cannot be found")?;
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let unshare = network_namespace();
    let mut command = match unshare {
        Some(flags) => {
            let mut command = Command::new("unshare");
            command.args(flags).args(["--net", "sh", "-c"]);
            command.arg(r#"ip link set lo up && exec "$0" "$@""#).arg(&program);
            command
        }
        None => Command::new(&program),
    };
    command.args(args).env_clear();
    for name in KEPT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("DUOLOGUE_CONFORMANCE_CACHE", cache);
    if let Some(agent) = peers.iter().find(|peer| peer.name == peers::AGENT) {
        command.env(peers::AGENT_PROGRAM, &agent.program);
    }
    if let Some(newest) = newest {
        command.env(peers::NEWEST, newest);
    }
    command.env(INSIDE, if unshare.is_some() { "offline" } else { "online" });
    Err(command.exec()).context("the cases cannot be started")
}

/// How a network namespace can be made here, if it can.
fn network_namespace() -> Option<&'static [&'static str]> {
    const WAYS: &[&[&str]] = &[&[], &["--map-root-user"]];
    let works = |flags: &[&str]| {
        let mut try_it = Command::new("unshare");
        try_it.args(flags).args(["--net", "ip", "link", "set", "lo", "up"]);
        try_it.output().is_ok_and(|output| output.status.success())
    };
    WAYS.iter().copied().find(|flags| works(flags))
}
