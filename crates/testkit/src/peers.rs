//! The peers of this project: which programs it is tested against, in which versions, and how they are installed and
//! run. `peers.toml` is the list.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

/// Overrides the directory that peers are installed into.
pub const CACHE: &str = "DUOLOGUE_CONFORMANCE_CACHE";

/// The file that marks a complete installation: it is written last.
const INSTALLED: &str = "installed";

static PEERS: LazyLock<Peers> = LazyLock::new(read);

/// What `peers.toml` lists.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peers {
    peer: Vec<Peer>,
    environment: BTreeMap<String, String>,
}

/// A program that this project is tested against: a package of a registry, in pinned versions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Peer {
    /// What this project calls it: `claude-code`, `python-sdk` or `typescript-sdk`.
    pub name: String,
    /// What installs it.
    pub installer: Installer,
    /// Its name in the registry.
    pub package: String,
    /// The pinned versions, newest first.
    pub versions: Vec<String>,
    /// Flags for the installer.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Packages to install with it.
    #[serde(default)]
    pub with: Vec<String>,
}

/// What installs a package.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Installer {
    /// npm, into `node_modules`.
    Npm,
    /// pip, into a virtual environment.
    Pip,
}

#[expect(clippy::panic, reason = "tests without their list of peers must fail")]
fn read() -> Peers {
    let list = include_str!("../../../peers.toml");
    let peers: Peers = toml::from_str(list).unwrap_or_else(|error| panic!("peers.toml: {error}"));
    for peer in &peers.peer {
        assert!(!peer.versions.is_empty(), "peers.toml: {} has no version", peer.name);
    }
    peers
}

/// The peer with this name.
///
/// # Panics
/// If `peers.toml` has no such peer.
#[expect(clippy::panic, reason = "tests without their list of peers must fail")]
pub fn peer(name: &str) -> &'static Peer {
    let found = PEERS.peer.iter().find(|peer| peer.name == name);
    found.unwrap_or_else(|| panic!("peers.toml has no peer called {name:?}"))
}

/// The variables with which a peer sends no telemetry, does not update itself and has no real key.
pub fn environment() -> impl Iterator<Item = (&'static str, &'static str)> {
    PEERS.environment.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

/// The version of Claude Code that the embedded agent imitates and that the types of this project cover completely.
pub fn imitated_version() -> &'static str {
    peer("claude-code").version()
}

impl Peer {
    /// The newest pinned version.
    pub fn version(&self) -> &str {
        self.versions.first().map_or("", String::as_str)
    }

    /// The directory of a version, or `None` if it is not installed.
    ///
    /// # Errors
    /// If there is no cache directory.
    pub fn installed(&self, version: &str) -> Result<Option<PathBuf>> {
        let folder = cache()?.join(&self.name).join(version);
        Ok(folder.join(INSTALLED).exists().then_some(folder))
    }

    /// Installs a version into the cache unless it is installed. Returns its directory.
    ///
    /// # Errors
    /// If the installer cannot be run or fails.
    pub fn install(&self, version: &str) -> Result<PathBuf> {
        if let Some(folder) = self.installed(version)? {
            return Ok(folder);
        }
        let folder = cache()?.join(&self.name).join(version);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let mut command = match self.installer {
            Installer::Npm => {
                let mut npm = Command::new("npm");
                npm.args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"]);
                npm.arg(&folder).arg(format!("{}@{version}", self.package));
                npm
            }
            Installer::Pip => {
                run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
                let mut pip = Command::new(folder.join("bin/pip"));
                pip.args(["install", "--quiet"]).arg(format!("{}=={version}", self.package));
                pip
            }
        };
        #[expect(clippy::print_stderr, reason = "an installation takes a while")]
        {
            eprintln!("installing {} {version}", self.package);
        }
        run(command.args(&self.with).args(&self.flags))?;
        std::fs::write(folder.join(INSTALLED), version)?;
        Ok(folder)
    }

    /// The newest published version, as the registry says. For npm only.
    ///
    /// # Errors
    /// If npm cannot be run or fails.
    pub fn newest(&self) -> Result<String> {
        let mut npm = Command::new("npm");
        npm.args(["view", "--silent", &self.package, "version"]);
        let output = npm.output().with_context(|| format!("cannot run {npm:?}"))?;
        ensure!(output.status.success(), "{npm:?} failed: {}", output.status);
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

/// The directory that peers are installed into: outside the tree, so that the next run finds them.
///
/// # Errors
/// If `HOME` is not set.
pub fn cache() -> Result<PathBuf> {
    if let Some(cache) = std::env::var_os(CACHE) {
        return Ok(cache.into());
    }
    let base = match std::env::var_os("XDG_CACHE_HOME") {
        Some(base) => PathBuf::from(base),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache"),
    };
    Ok(base.join("duologue-conformance"))
}

/// The program in the directory of an installed Claude Code.
pub fn claude(folder: &Path) -> PathBuf {
    folder.join("node_modules/.bin/claude")
}

/// Runs a command to its end. Its output goes to stderr.
///
/// # Errors
/// If it cannot be started or fails; the error names the command.
pub fn run(command: &mut Command) -> Result<()> {
    let started = command.stdin(Stdio::null()).stdout(std::io::stderr()).status();
    let status = started.with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

/// A command that runs a program with loopback as its only network. `None` if the kernel allows no network namespace.
pub fn without_network(program: impl AsRef<OsStr>) -> Option<Command> {
    const WAYS: [&[&str]; 2] = [&[], &["--map-root-user"]];
    let works = |flags: &&&[&str]| {
        let mut probe = Command::new("unshare");
        probe.args(**flags).args(["--net", "ip", "link", "set", "lo", "up"]);
        probe.output().is_ok_and(|output| output.status.success())
    };
    let flags = WAYS.iter().find(works)?;
    let mut command = Command::new("unshare");
    command.args(*flags).args(["--net", "sh", "-c", r#"ip link set lo up && exec "$0" "$@""#]);
    command.arg(program);
    Some(command)
}
