//! The real Claude Code, in the versions that decide, from its registry into a cache.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use duologue::launch::CliVersion;

/// The versions that decide.
pub(crate) const VERSIONS: &[&str] = &["2.1.325", "2.1.197", "2.1.52", "2.0.77"];

const PACKAGE: &str = "@anthropic-ai/claude-code";

/// A Claude Code that is there.
#[derive(Clone, Debug)]
pub(crate) struct Cli {
    pub(crate) version: CliVersion,
    pub(crate) program: PathBuf,
}

/// Where what was installed is kept: outside the tree, so that the next run finds it.
pub(crate) fn cache() -> Result<PathBuf> {
    if let Some(cache) = std::env::var_os("DUOLOGUE_CONFORMANCE_CACHE") {
        return Ok(cache.into());
    }
    let base = match std::env::var_os("XDG_CACHE_HOME") {
        Some(base) => PathBuf::from(base),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache"),
    };
    Ok(base.join("duologue-conformance"))
}

/// Installs a version, unless it is there.
pub(crate) fn install(cache: &Path, version: &str) -> Result<Cli> {
    let parsed = CliVersion::parse(version).with_context(|| format!("{version} is no version"))?;
    let place = cache.join("claude-code").join(version);
    let program = place.join("node_modules/.bin/claude");
    // Written last: a place without it is half done.
    let done = place.join("installed");
    if !done.exists() {
        anstream::eprintln!("installing {PACKAGE} {version}");
        std::fs::create_dir_all(&place)?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"]);
        npm.arg(&place).arg(format!("{PACKAGE}@{version}"));
        run(npm.stdout(Stdio::null()))?;
        std::fs::write(&done, version)?;
    }
    if !program.exists() {
        bail!("{} is missing: remove its directory and try again", program.display());
    }
    Ok(Cli { version: parsed, program })
}

/// Runs a command to its end, and says what it was if it fails.
fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}
