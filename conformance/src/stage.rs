//! [`Stage`]: a peer with its own directory and a scripted model.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use duologue::protocol::SessionId;
use duologue::{Session, SessionBuilder};
use duologue_model::{Scenario, Server};
use duologue_tape::{Header, Recorder};
use tempfile::TempDir;

use crate::case::Trouble;
use crate::peers::Peer;

/// The directory and the peer of a case.
pub(crate) struct Stage {
    pub(crate) peer: Peer,
    dir: TempDir,
    /// The directory of the tapes.
    tapes: PathBuf,
    recorders: Mutex<Vec<Recorder>>,
}

/// Timeout for writing the rest of a tape.
const WRITTEN: Duration = Duration::from_secs(10);

impl Stage {
    pub(crate) fn new(peer: Peer, tapes: PathBuf) -> std::io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("duologue-stage-").tempdir()?;
        for name in ["home", "config", "work"] {
            std::fs::create_dir(dir.path().join(name))?;
        }
        // The tapes of an earlier attempt.
        let _ = std::fs::remove_dir_all(&tapes);
        std::fs::create_dir_all(&tapes)?;
        Ok(Self { peer, dir, tapes, recorders: Mutex::default() })
    }

    /// The directory, which differs in each run.
    pub(crate) fn place(&self) -> &Path {
        self.dir.path()
    }

    /// Waits until all tapes are complete.
    pub(crate) fn written(&self) -> Result<(), Trouble> {
        let mut recorders = self.recorders.lock().unwrap_or_else(PoisonError::into_inner);
        recorders.drain(..).try_for_each(|recorder| recorder.finish(WRITTEN).map(drop))?;
        Ok(())
    }

    /// The directory the agent works in.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Starts the model, and returns a builder for a session with it.
    pub(crate) async fn play(
        &self,
        scenario: Scenario,
    ) -> Result<(Server, SessionBuilder), Trouble> {
        let server = Server::start(scenario).await?;
        let builder = self.builder(&server.base_url())?;
        Ok((server, builder))
    }

    /// A builder for a session with the model at this address. The session is recorded.
    pub(crate) fn builder(&self, base_url: &str) -> Result<SessionBuilder, Trouble> {
        let tap = {
            let mut recorders = self.recorders.lock().unwrap_or_else(PoisonError::into_inner);
            let path = self.tapes.join(format!("{:02}.tape", recorders.len() + 1));
            let header = Header::new(self.peer.name.as_str(), Vec::<String>::new());
            let recorder = Recorder::create(&path, &header)?;
            let tap = recorder.tap();
            recorders.push(recorder);
            tap
        };
        // The variables that keep a peer quiet are inherited: see `offline`.
        let builder = Session::builder()
            .tap(move |direction, line| tap.line(direction, line))
            .program(&self.peer.program)
            .cwd(self.work())
            .config_dir(self.dir.path().join("config"))
            .setting_sources(Vec::<duologue::launch::SettingSource>::new())
            .settle_within(Duration::from_secs(20))
            .env("HOME", self.dir.path().join("home"))
            .env("ANTHROPIC_BASE_URL", base_url);
        Ok(builder)
    }

    /// Whether the peer is at least this new.
    pub(crate) fn since(&self, version: &str) -> bool {
        duologue::launch::CliVersion::parse(version).is_some_and(|least| self.peer.version >= least)
    }

    /// Ends the case unless the peer is at least this new.
    pub(crate) fn needs(&self, version: &str, what: &str) -> Result<(), Trouble> {
        if self.since(version) { Ok(()) } else { Err(Trouble::Lacks(what.to_owned())) }
    }

    /// Whether the case has left a file of this name.
    pub(crate) fn wrote(&self, name: &str) -> bool {
        self.work().join(name).exists()
    }

    /// Whether the stored conversation contains this text.
    pub(crate) fn keeps(&self, id: &SessionId, said: &str) -> bool {
        let Ok(projects) = std::fs::read_dir(self.dir.path().join("config/projects")) else {
            return false;
        };
        projects.flatten().any(|project| {
            let kept = project.path().join(format!("{}.jsonl", id.as_str()));
            std::fs::read_to_string(kept).is_ok_and(|kept| kept.contains(said))
        })
    }

    /// The processes of this stage that still run.
    pub(crate) fn left_running(&self) -> Vec<u32> {
        let mark = self.dir.path();
        let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| belongs(*pid, mark)).collect()
    }
}

/// Whether a process belongs to a stage, by its environment.
fn belongs(pid: u32, stage: &Path) -> bool {
    let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
    let mark = stage.as_os_str().as_encoded_bytes();
    environment.windows(mark.len()).any(|part| part == mark)
}
