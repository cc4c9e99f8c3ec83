//! [`Stage`]: the directory with the script of an agent and the lines that it received.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::script::Script;
use super::{SCRIPT_VAR, files};
use crate::leak::{eventually, wait_until};

/// The directory with the script of an agent and the lines that it received. One stage is for one session.
///
/// ```
/// use duologue_testkit::fake::{Script, Stage};
/// # fn example(dir: &std::path::Path) -> std::io::Result<()> {
/// // The first agent dies in its first turn, the next one does not.
/// let stage = Stage::lives(dir, &[Script::new().dies_after(2), Script::new()])?;
/// assert!(stage.starts().is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stage {
    dir: PathBuf,
    script: PathBuf,
}

/// One start of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Start {
    /// The number of the run, from 0.
    pub life: usize,
    /// The process.
    pub pid: u32,
    /// Its arguments, the program first.
    pub argv: Vec<String>,
    /// Its working directory.
    pub cwd: PathBuf,
}

impl Stage {
    /// Creates a stage in this directory, which exists and is empty. Each start of the agent follows the script.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn new(dir: impl Into<PathBuf>, script: &Script) -> io::Result<Self> {
        Self::lives(dir, std::slice::from_ref(script))
    }

    /// Creates a stage where each start of the agent follows the next script. Later starts follow the last one.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn lives(dir: impl Into<PathBuf>, scripts: &[Script]) -> io::Result<Self> {
        // The agent may have another working directory.
        let dir = std::path::absolute(dir.into())?;
        let script = dir.join(files::SCRIPTS);
        fs::write(&script, serde_json::to_vec(scripts)?)?;
        Ok(Self { dir, script })
    }

    /// The variable that the agent needs: name and value.
    pub fn env(&self) -> (&'static str, &Path) {
        (SCRIPT_VAR, &self.script)
    }

    /// The starts, in order.
    pub fn starts(&self) -> Vec<Start> {
        whole_lines(&self.dir.join(files::STARTS))
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// The processes that were started, in order.
    pub fn pids(&self) -> Vec<u32> {
        self.starts().iter().map(|start| start.pid).collect()
    }

    /// The processes that agents have started, in order.
    pub fn grandchildren(&self) -> Vec<u32> {
        let lines = whole_lines(&self.dir.join(files::GRANDCHILDREN));
        lines.iter().filter_map(|line| line.parse().ok()).collect()
    }

    /// The lines that this run received.
    pub fn host_lines_of(&self, life: usize) -> Vec<String> {
        whole_lines(&files::host(&self.dir, life))
    }

    /// The lines that all runs received.
    pub fn host_lines(&self) -> Vec<String> {
        let begun = (0..).take_while(|life| files::life(&self.dir, *life).exists());
        begun.flat_map(|life| self.host_lines_of(life)).collect()
    }

    /// [`host_lines`](Self::host_lines) that are JSON.
    pub fn host_values(&self) -> Vec<Value> {
        self.host_lines().iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits until an agent has received such a line. Returns the first.
    ///
    /// # Panics
    /// If none comes.
    pub async fn wait_for(&self, mut fits: impl FnMut(&Value) -> bool) -> Value {
        let mut found = None;
        eventually(|| {
            found = self.host_values().into_iter().find(|line| fits(line));
            found.is_some()
        })
        .await;
        self.found(found)
    }

    /// Like [`wait_for`](Self::wait_for), but blocks the thread.
    ///
    /// # Panics
    /// If none comes.
    pub fn wait_for_blocking(&self, mut fits: impl FnMut(&Value) -> bool) -> Value {
        let mut found = None;
        wait_until(|| {
            found = self.host_values().into_iter().find(|line| fits(line));
            found.is_some()
        });
        self.found(found)
    }

    #[expect(clippy::panic, reason = "a test whose condition never holds has failed")]
    fn found(&self, line: Option<Value>) -> Value {
        line.unwrap_or_else(|| panic!("no such line among {:#?}", self.host_lines()))
    }

    /// Waits for this many starts.
    ///
    /// # Panics
    /// If they do not come.
    pub async fn started(&self, times: usize) {
        let came = eventually(|| self.starts().len() >= times).await;
        assert!(came, "{} starts instead of {times}", self.starts().len());
    }

    /// Like [`started`](Self::started), but blocks the thread.
    ///
    /// # Panics
    /// If they do not come.
    pub fn started_blocking(&self, times: usize) {
        let came = wait_until(|| self.starts().len() >= times);
        assert!(came, "{} starts instead of {times}", self.starts().len());
    }

    /// Waits until an agent is at this [`Step::Mark`](super::Step::Mark).
    ///
    /// # Panics
    /// If none gets there.
    pub async fn reached(&self, mark: &str) {
        let mark = files::mark(&self.dir, mark);
        assert!(eventually(|| mark.exists()).await, "{} was not reached", mark.display());
    }

    /// Like [`reached`](Self::reached), but blocks the thread.
    ///
    /// # Panics
    /// If none gets there.
    pub fn reached_blocking(&self, mark: &str) {
        let mark = files::mark(&self.dir, mark);
        assert!(wait_until(|| mark.exists()), "{} was not reached", mark.display());
    }

    /// Opens this [`Step::Gate`](super::Step::Gate) for all agents.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn open(&self, gate: &str) -> io::Result<()> {
        File::create(files::gate(&self.dir, gate)).map(drop)
    }
}

/// The complete lines; the last one may still be written.
fn whole_lines(path: &Path) -> Vec<String> {
    let bytes = fs::read(path).unwrap_or_default();
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let text = String::from_utf8_lossy(bytes.get(..whole).unwrap_or_default()).into_owned();
    text.split_terminator('\n').map(str::to_owned).collect()
}
