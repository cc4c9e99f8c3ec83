//! Holds one conversation with an agent that misbehaves, with one library, and prints a report. `hazards` starts this.

mod agent_sdk;
mod cc;
mod cli_sdk;
mod codes;
mod ours;
mod tally;
mod wrapper;

use std::time::Duration;

use anyhow::{Result, bail};
use duologue_bench::hazard::{BLOCKED, Ending, Hazard};

use tally::Tally;

/// The task of a host, besides reading the turn.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    hazard: Hazard,
}

/// The result of a read.
#[derive(Clone, Copy, Debug)]
pub enum Seen {
    /// An assistant's text of this many bytes.
    Text(usize),
    /// Something else.
    Other,
    /// The turn's result.
    Result,
}

impl Job {
    /// Whether permissions and hooks have handlers.
    pub fn has_handlers(self) -> bool {
        self.hazard != Hazard::NoCallback
    }

    /// Called by a permission handler before it allows: it may block its thread.
    pub fn block(self) {
        if self.hazard == Hazard::Blocks {
            std::thread::sleep(BLOCKED);
        }
    }

    /// Reads until the result or the end. An error is recorded, and reading continues.
    pub async fn read(self, tally: &Tally, mut next: impl AsyncFnMut() -> Option<Result<Seen>>) {
        let mut is_first = true;
        loop {
            let seen = if self.hazard == Hazard::Cancelled {
                match tokio::time::timeout(Duration::from_millis(1), next()).await {
                    Ok(seen) => seen,
                    Err(_) => continue,
                }
            } else {
                next().await
            };
            let Some(seen) = seen else { return };
            tally.see(&seen);
            match seen {
                Ok(Seen::Result) => return,
                Ok(Seen::Text(_)) if std::mem::take(&mut is_first) => self.sleep(tally).await,
                Err(_) if tally.errors() >= 1_000 => return,
                _ => {}
            }
        }
    }

    /// A slow consumer sleeps until everything is written, or for a limited time.
    pub async fn sleep(self, tally: &Tally) {
        if self.hazard == Hazard::Slow {
            tally.sleep(async |moment| tokio::time::sleep(moment).await).await;
        }
    }

    /// The turn is over. True if the conversation is to be closed. A host that will be killed waits here.
    pub async fn closes(self, tally: &'static Tally) -> bool {
        tally.report("done");
        if self.hazard.ending() == Ending::Kill {
            tally.rest();
            std::future::pending::<()>().await;
        }
        self.hazard.ending() == Ending::Close
    }
}

/// The hosts, in the order of the table.
const HOSTS: &[&str] = &[
    "duologue",
    "claude-codes",
    "claude-wrapper",
    "claude-agent-sdk-rs",
    "cc-sdk",
    "claude-cli-sdk",
];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args == ["--list"] {
        HOSTS.iter().for_each(|host| println!("{host}"));
        return Ok(());
    }
    let [peer, hazard] = &args[..] else { bail!("hazard-host HOST HAZARD, or hazard-host --list") };
    let job = Job { hazard: hazard.parse()? };
    let tally = Tally::start();
    // The same number on every machine.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?;
    runtime.block_on(async {
        let run = match peer.as_str() {
            "duologue" => ours::run(job, tally).await,
            "claude-codes" => codes::run(job, tally).await,
            "claude-wrapper" => wrapper::run(job, tally).await,
            "claude-agent-sdk-rs" => agent_sdk::run(job, tally).await,
            "cc-sdk" => cc::run(job, tally).await,
            "claude-cli-sdk" => cli_sdk::run(job, tally).await,
            _ => bail!("there is no host {peer}"),
        };
        if let Err(error) = run {
            tally.see(&Err(error));
            tally.report("failed");
        }
        if job.hazard.ending() == Ending::Drop {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    })?;
    // Do not wait for threads of a library.
    std::process::exit(0);
}
