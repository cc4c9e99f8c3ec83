//! The peers: the real Claude Code, in the versions that decide, from its registry into a cache; and the embedded
//! agent, built from this tree.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use duologue::launch::CliVersion;
use serde_json::Value;

/// All peers: the versions that decide, newest first, and the embedded agent.
pub(crate) const NAMES: &[&str] = &[LIKE, "2.1.197", "2.1.52", "2.0.77", "1.0.128", AGENT];

/// The version that the embedded agent is to be like.
pub(crate) const LIKE: &str = "2.1.325";

/// The embedded agent.
pub(crate) const AGENT: &str = "agent";

/// Where the embedded agent is; it is built if this is not set.
pub(crate) const AGENT_PROGRAM: &str = "DUOLOGUE_CONFORMANCE_AGENT";

/// Which version is the newest published one; the registry is asked if this is not set.
pub(crate) const NEWEST: &str = "DUOLOGUE_CONFORMANCE_NEWEST";

const PACKAGE: &str = "@anthropic-ai/claude-code";

/// An agent that is there.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) name: String,
    /// The version that it is, or that it is like.
    pub(crate) version: CliVersion,
    pub(crate) program: PathBuf,
}

impl Peer {
    /// The command that the embedded agent belongs to.
    pub(crate) fn duologue(&self) -> Option<PathBuf> {
        Some(self.program.parent()?.with_file_name("duologue"))
    }
}

/// Finds a peer by its name, and sees that it is there.
pub(crate) fn find(cache: &Path, name: &str) -> Result<Peer> {
    if name == AGENT { embedded() } else { install(cache, name) }
}

/// The embedded agent, as a program that is called like the real one.
fn embedded() -> Result<Peer> {
    let program = match std::env::var_os(AGENT_PROGRAM) {
        Some(program) => PathBuf::from(program),
        None => build()?,
    };
    Ok(Peer { name: AGENT.to_owned(), version: parse(LIKE)?, program })
}

/// The newest published version.
pub(crate) fn newest() -> Result<String> {
    if let Ok(known) = std::env::var(NEWEST) {
        return Ok(known);
    }
    let mut npm = Command::new("npm");
    npm.args(["view", "--silent", PACKAGE, "version"]);
    let output = npm.output().with_context(|| format!("cannot run {npm:?}"))?;
    ensure!(output.status.success(), "{npm:?} failed: {}", output.status);
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    parse(&version)?;
    Ok(version)
}

/// Builds `duologue`, and lets it write a `claude` that is its agent.
fn build() -> Result<PathBuf> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", "duologue-cli", "--bin", "duologue"]);
    cargo.args(["--message-format", "json-render-diagnostics"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let output = cargo.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot run {cargo:?}"))?;
    ensure!(output.status.success(), "{cargo:?} failed: {}", output.status);
    let messages = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let built =
        messages.flatten().find_map(|message| message["executable"].as_str().map(PathBuf::from));
    let duologue = built.context("cargo did not say what it built")?;
    let folder = duologue.with_file_name("conformance-agent");
    run(Command::new(&duologue).args(["agent", "--install"]).arg(&folder).stdout(Stdio::null()))?;
    Ok(folder.join("claude"))
}

fn parse(version: &str) -> Result<CliVersion> {
    CliVersion::parse(version)
        .with_context(|| format!("{version} is no version, and not {AGENT:?}"))
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
fn install(cache: &Path, version: &str) -> Result<Peer> {
    let parsed = parse(version)?;
    let place = cache.join("claude-code").join(version);
    let program = place.join("node_modules/.bin/claude");
    // Written last: a place without it is half done.
    let done = place.join("installed");
    if !done.exists() {
        npm_install(&place, &[&format!("{PACKAGE}@{version}")], &[])?;
        std::fs::write(&done, version)?;
    }
    if !program.exists() {
        bail!("{} is missing: remove its directory and try again", program.display());
    }
    Ok(Peer { name: version.to_owned(), version: parsed, program })
}

/// Installs packages of npm.
pub(crate) fn npm_install(place: &Path, packages: &[&str], options: &[&str]) -> Result<()> {
    anstream::eprintln!("installing {}", packages.join(" "));
    std::fs::create_dir_all(place)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"]);
    run(npm.arg(place).args(packages).args(options).stdout(Stdio::null()))
}

/// Runs a command to its end, and says what it was if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}
