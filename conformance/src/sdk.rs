//! The official SDKs, unmodified: each drives the embedded agent and the real Claude Code, with the drivers in `sdk/`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use duologue_testkit::peers;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::Semaphore;

use crate::matrix::{Cell, Matrix};
use crate::peers::{AGENT, Peer};
use crate::play::panic_message;

/// The prefix of the rows of the SDKs.
pub(crate) const ROOM: &str = "sdk/";

/// Timeout for one driver.
const DRIVER_TIMEOUT: Duration = Duration::from_secs(900);

/// An official SDK.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sdk {
    Python,
    TypeScript,
}

impl Sdk {
    pub(crate) const ALL: [Self; 2] = [Self::Python, Self::TypeScript];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::TypeScript => "TypeScript",
        }
    }

    fn peer(self) -> &'static peers::Peer {
        peers::peer(match self {
            Self::Python => "python-sdk",
            Self::TypeScript => "typescript-sdk",
        })
    }

    pub(crate) fn version(self) -> &'static str {
        self.peer().version()
    }

    /// The column of this SDK with a peer.
    pub(crate) fn column(self, peer: &Peer) -> String {
        format!("{}, {}", self.name(), peer.name)
    }

    /// Installs it unless it is installed. Returns its directory.
    pub(crate) fn install(self) -> Result<PathBuf> {
        self.peer().install(self.version())
    }

    /// The driver, as a command that works in `folder`.
    fn driver(self, folder: &Path) -> Result<tokio::process::Command> {
        let drivers = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk");
        let place = self.install()?;
        Ok(match self {
            Self::Python => {
                let mut command = tokio::process::Command::new(place.join("bin/python"));
                command.arg(drivers.join("python/drive.py"));
                command
            }
            Self::TypeScript => {
                // Node searches for packages from the directory of the program.
                let program = folder.join("drive.mjs");
                std::fs::copy(drivers.join("typescript/drive.mjs"), &program)?;
                std::os::unix::fs::symlink(
                    place.join("node_modules"),
                    folder.join("node_modules"),
                )?;
                let mut command = tokio::process::Command::new("node");
                command.arg(program);
                command
            }
        })
    }

    /// Drives a peer. Returns the result of each case, in the order of the driver.
    async fn drive(self, run: &Run, peer: &Peer, things: &[String]) -> Result<Vec<(String, Cell)>> {
        let folder = tempfile::Builder::new().prefix("duologue-sdk-").tempdir()?;
        let mut command = self.driver(folder.path())?;
        if peer.name != AGENT {
            command.arg("--claude").arg(&peer.program);
        }
        command.arg("--json").arg(&run.duologue).args(things);
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        // With a key, the embedded agent would ask an API where no scenario is given.
        command.env_remove("ANTHROPIC_API_KEY");
        command.env("HOME", folder.path()).env("TMPDIR", folder.path()).env("DUOLOGUE_DOCS", docs);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        let stdout = child.stdout.take().context("the driver has no stdout")?;
        let mut lines = BufReader::new(stdout).lines();
        let mut cells: Vec<(String, Cell)> = Vec::new();
        while let Some(line) = lines.next_line().await? {
            let report: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
            let text = |field: &str| report[field].as_str().unwrap_or_default().to_owned();
            let cell = match text("verdict").as_str() {
                "pass" => Cell::Pass,
                "differs" => Cell::Differs(vec![text("reason")]),
                "cannot" => Cell::Lacks(text("reason")),
                _ => Cell::Fail(format!("{}: {}", text("way"), text("reason"))),
            };
            let thing = text("thing");
            anstream::eprintln!(
                "{:7} {ROOM}{thing} {} {}",
                cell.word(),
                self.column(peer),
                text("way")
            );
            match cells.iter_mut().find(|(known, _)| *known == thing) {
                // A case that runs in two ways passes if both do.
                Some((_, known)) if !matches!(known, Cell::Fail(_)) => *known = cell,
                Some(_) => {}
                None => cells.push((thing, cell)),
            }
        }
        let status = child.wait().await?;
        let failed = cells.iter().any(|(_, cell)| matches!(cell, Cell::Fail(_)));
        if status.code() != Some(i32::from(failed)) {
            bail!("the driver ended with {status}");
        }
        let silent = things.iter().find(|thing| !cells.iter().any(|(known, _)| known == *thing));
        if cells.is_empty() || silent.is_some() {
            bail!(
                "the driver reported nothing about {}",
                silent.map_or("anything", String::as_str)
            );
        }
        Ok(cells)
    }

    /// Drives a peer. A failed case gets a second attempt, which is printed and counted.
    async fn judge(self, run: &Run, peer: &Peer) -> Judged {
        let _place = run.places.acquire().await;
        let tried = tokio::time::timeout(DRIVER_TIMEOUT, self.drive(run, peer, &run.things)).await;
        let mut cells = match tried {
            Ok(Ok(cells)) => cells,
            Ok(Err(error)) => return Judged::failed(format!("{error:#}")),
            Err(_) => {
                return Judged::failed(format!("it took more than {} s", DRIVER_TIMEOUT.as_secs()));
            }
        };
        let failures = cells.iter().filter_map(|(thing, cell)| match cell {
            Cell::Fail(why) => Some((thing.clone(), why.clone())),
            _ => None,
        });
        let first_failures: Vec<(String, String)> = failures.collect();
        if first_failures.is_empty() {
            return Judged { cells, first_failures };
        }
        for (thing, why) in &first_failures {
            anstream::eprintln!("second attempt: {ROOM}{thing} {}: {why}", self.column(peer));
        }
        let failed: Vec<String> = first_failures.iter().map(|(thing, _)| thing.clone()).collect();
        let again = tokio::time::timeout(DRIVER_TIMEOUT, self.drive(run, peer, &failed)).await;
        if let Ok(Ok(again)) = again {
            for (thing, cell) in again {
                cells
                    .iter_mut()
                    .filter(|(known, _)| *known == thing)
                    .for_each(|known| known.1 = cell.clone());
            }
        }
        Judged { cells, first_failures }
    }
}

/// The results of a driver.
#[derive(Debug)]
struct Judged {
    cells: Vec<(String, Cell)>,
    /// The cases that needed a second attempt, and why the first failed.
    first_failures: Vec<(String, String)>,
}

impl Judged {
    /// The driver as a whole failed.
    fn failed(why: String) -> Self {
        Self { cells: vec![("all".to_owned(), Cell::Fail(why))], first_failures: Vec::new() }
    }
}

/// What all drivers need.
#[derive(Debug)]
pub(crate) struct Run {
    /// The command that plays the model.
    pub(crate) duologue: PathBuf,
    /// Only these cases; all if there are none.
    pub(crate) things: Vec<String>,
    pub(crate) places: Arc<Semaphore>,
}

/// Lets each SDK drive each peer.
pub(crate) async fn drive_all(run: Run, peers: &[&Peer]) -> Matrix {
    let run = Arc::new(run);
    let mut running = Vec::new();
    for sdk in Sdk::ALL {
        for peer in peers {
            let (run, peer) = (Arc::clone(&run), (*peer).clone());
            let column = sdk.column(&peer);
            running.push((column, tokio::spawn(async move { sdk.judge(&run, &peer).await })));
        }
    }
    let mut matrix = Matrix::default();
    for (column, judged) in running {
        let judged = judged.await.unwrap_or_else(|error| Judged::failed(panic_message(error)));
        for (thing, cell) in judged.cells {
            matrix.set(&format!("{ROOM}{thing}"), &column, cell);
        }
        for (thing, why) in judged.first_failures {
            matrix.needed_second_attempt(&format!("{ROOM}{thing}"), &column, why);
        }
    }
    matrix
}
