//! [`Stage`]: a peer, a place of its own, and a scripted model behind it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use duologue::{Session, SessionBuilder};
use duologue_model::{Scenario, Server};
use tempfile::TempDir;

use crate::case::Trouble;
use crate::peers::Cli;

/// What keeps a Claude Code quiet and at home.
const QUIET: &[(&str, &str)] = &[
    ("ANTHROPIC_API_KEY", "made-up-key-for-tests"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    // Some modes are refused to root outside a sandbox.
    ("IS_SANDBOX", "1"),
];

/// Where a case plays.
pub(crate) struct Stage {
    pub(crate) cli: Cli,
    dir: TempDir,
}

impl Stage {
    pub(crate) fn new(cli: Cli) -> std::io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("duologue-stage-").tempdir()?;
        for name in ["home", "config", "work"] {
            std::fs::create_dir(dir.path().join(name))?;
        }
        Ok(Self { cli, dir })
    }

    /// The directory the agent works in.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Starts the model, and says how an agent in front of it is started.
    pub(crate) async fn play(
        &self,
        scenario: Scenario,
    ) -> Result<(Server, SessionBuilder), Trouble> {
        let server = Server::start(scenario).await?;
        let builder = self.builder(&server.base_url());
        Ok((server, builder))
    }

    /// How an agent is started that asks the model at this address.
    pub(crate) fn builder(&self, base_url: &str) -> SessionBuilder {
        let mut builder = Session::builder()
            .program(&self.cli.program)
            .cwd(self.work())
            .config_dir(self.dir.path().join("config"))
            .setting_sources(Vec::<duologue::launch::SettingSource>::new())
            .settle_within(Duration::from_secs(20))
            .env("HOME", self.dir.path().join("home"))
            .env("ANTHROPIC_BASE_URL", base_url);
        for (name, value) in QUIET {
            builder = builder.env(*name, *value);
        }
        builder
    }

    /// Whether the peer is at least this new.
    pub(crate) fn since(&self, version: &str) -> bool {
        duologue::launch::CliVersion::parse(version).is_some_and(|least| self.cli.version >= least)
    }

    /// Ends the case unless the peer is at least this new.
    pub(crate) fn needs(&self, version: &str, what: &str) -> Result<(), Trouble> {
        if self.since(version) { Ok(()) } else { Err(Trouble::Lacks(what.to_owned())) }
    }

    /// Whether the case has left a file of this name.
    pub(crate) fn wrote(&self, name: &str) -> bool {
        self.work().join(name).exists()
    }

    /// The processes that still run here.
    pub(crate) fn left_running(&self) -> Vec<u32> {
        let mark = self.dir.path();
        let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| belongs(*pid, mark)).collect()
    }
}

/// Whether a process was started for a stage: its environment tells.
fn belongs(pid: u32, stage: &Path) -> bool {
    let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
    let mark = stage.as_os_str().as_encoded_bytes();
    environment.windows(mark.len()).any(|part| part == mark)
}
