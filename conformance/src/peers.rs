//! The agents that the cases run with: Claude Code in its pinned versions, and the embedded agent, built from this tree.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use duologue::launch::CliVersion;
use duologue_testkit::peers::{claude, imitated_version, peer, run};
use serde_json::Value;

/// The embedded agent.
pub(crate) const AGENT: &str = "agent";

/// The path of the embedded agent; it is built if this is not set.
pub(crate) const AGENT_PROGRAM: &str = "DUOLOGUE_CONFORMANCE_AGENT";

/// The newest published version; the registry is asked if this is not set.
pub(crate) const NEWEST: &str = "DUOLOGUE_CONFORMANCE_NEWEST";

/// All agents: the pinned versions, newest first, and the embedded agent.
pub(crate) fn names() -> Vec<&'static str> {
    let versions = peer("claude-code").versions.iter().map(String::as_str);
    versions.chain([AGENT]).collect()
}

/// An agent that can be started.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) name: String,
    /// Its version, or the version that it imitates.
    pub(crate) version: CliVersion,
    pub(crate) program: PathBuf,
}

impl Peer {
    /// The command that the embedded agent belongs to.
    pub(crate) fn duologue(&self) -> Option<PathBuf> {
        Some(self.program.parent()?.with_file_name("duologue"))
    }
}

/// Finds a peer by its name; installs or builds it if necessary.
pub(crate) fn find(name: &str) -> Result<Peer> {
    if name == AGENT { embedded() } else { install(name) }
}

/// The embedded agent, as a program called `claude`.
fn embedded() -> Result<Peer> {
    let program = match std::env::var_os(AGENT_PROGRAM) {
        Some(program) => PathBuf::from(program),
        None => build()?,
    };
    Ok(Peer { name: AGENT.to_owned(), version: parse(imitated_version())?, program })
}

/// The newest published version.
pub(crate) fn newest() -> Result<String> {
    if let Ok(known) = std::env::var(NEWEST) {
        return Ok(known);
    }
    let version = peer("claude-code").newest()?;
    parse(&version)?;
    Ok(version)
}

/// Builds `duologue` and installs its agent as `claude`.
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
    let duologue = built.context("cargo named no executable")?;
    let folder = duologue.with_file_name("conformance-agent");
    run(Command::new(&duologue).args(["agent", "--install"]).arg(&folder).stdout(Stdio::null()))?;
    Ok(folder.join("claude"))
}

fn parse(version: &str) -> Result<CliVersion> {
    CliVersion::parse(version)
        .with_context(|| format!("{version} is neither a version nor {AGENT:?}"))
}

/// Installs a version of Claude Code unless it is installed.
fn install(version: &str) -> Result<Peer> {
    let parsed = parse(version)?;
    let folder = peer("claude-code").install(version)?;
    let program = claude(&folder);
    ensure!(program.exists(), "{} is missing: remove {}", program.display(), folder.display());
    Ok(Peer { name: version.to_owned(), version: parsed, program })
}
