//! Runs this project's host against the real Claude Code, in several versions, with a scripted model on
//! loopback and no network.
//!
//! Installing comes first and needs the network. Then the program starts itself again where there is
//! none, with an environment that holds nothing of the outer one.

mod case;
mod host;
mod matrix;
mod offline;
mod peers;
mod stage;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use case::{Case, Trouble, Verdict};
use matrix::{Cell, Matrix};
use peers::Cli;
use stage::Stage;

/// How long one case may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long processes may take to be gone after a case.
const GONE: Duration = Duration::from_secs(5);

/// Tests this project against the real Claude Code.
#[derive(Debug, Parser)]
struct Args {
    /// Only these versions of Claude Code. Any published one will do.
    #[arg(long = "cli", value_name = "VERSION")]
    versions: Vec<String>,
    /// Only cases whose name contains this.
    #[arg(value_name = "CASE")]
    only: Option<String>,
    /// How many cases run at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Write the table to this file.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// List the cases.
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            anstream::eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool> {
    let wanted = |case: &&Case| args.only.as_ref().is_none_or(|only| case.name.contains(only));
    let cases: Vec<Case> = host::CASES.iter().filter(wanted).copied().collect();
    ensure!(!cases.is_empty(), "there is no such case: --list tells which there are");
    if args.list {
        for case in cases {
            anstream::println!("{}", case.name);
        }
        return Ok(true);
    }
    let cache = peers::cache()?;
    let versions: Vec<&str> = match args.versions.as_slice() {
        [] => peers::VERSIONS.to_vec(),
        some => some.iter().map(String::as_str).collect(),
    };
    let clis: Vec<Cli> =
        versions.iter().map(|version| peers::install(&cache, version)).collect::<Result<_>>()?;
    match offline::inside() {
        None => return offline::enter(&cache).map(|()| false),
        Some(true) => {}
        Some(false) => anstream::eprintln!("the kernel allows no network of our own: going on"),
    }
    let runtime = tokio::runtime::Runtime::new().context("no runtime")?;
    let started = Instant::now();
    let mut matrix = runtime.block_on(play(&cases, &clis, args.jobs.max(1)));
    let rows: Vec<&str> = cases.iter().map(|case| case.name).collect();
    matrix.arrange(&rows, &versions);
    matrix.show();
    let (passed, all) = matrix.count();
    let seconds = started.elapsed().as_secs();
    anstream::eprintln!("\n{passed} of {all} cells pass, in {seconds} s");
    if let Some(file) = &args.write {
        std::fs::write(file, matrix.markdown()).with_context(|| file.display().to_string())?;
    }
    Ok(matrix.failures().is_empty())
}

/// Runs all cases with all peers.
async fn play(cases: &[Case], clis: &[Cli], jobs: usize) -> Matrix {
    let places = Arc::new(Semaphore::new(jobs));
    let mut running = JoinSet::new();
    for cli in clis {
        for case in cases {
            let (case, cli, places) = (*case, cli.clone(), Arc::clone(&places));
            running.spawn(async move {
                let _place = places.acquire_owned().await;
                let column = cli.version.to_string();
                let mut cell = Cell::from(perform(case, cli.clone()).await);
                if let Cell::Fail(why) = &cell {
                    // Real peers have their own clocks, and machines their bad moments. It is said.
                    anstream::eprintln!("again {} {column}: {why}", case.name);
                    cell = Cell::from(perform(case, cli).await);
                }
                (case.name, column, cell)
            });
        }
    }
    let mut matrix = Matrix::default();
    while let Some(done) = running.join_next().await {
        // A case does not panic: what it needs is checked.
        let Ok((row, column, cell)) = done else { continue };
        let word = match &cell {
            Cell::Pass => "pass",
            Cell::Lacks(_) => "lacks",
            Cell::Fail(_) => "FAIL",
        };
        anstream::eprintln!("{word:5} {row} {column}");
        matrix.set(row, &column, cell);
    }
    matrix
}

/// One case with one peer. Nothing may be left running afterwards.
async fn perform(case: Case, cli: Cli) -> Verdict {
    let stage = Stage::new(cli)?;
    let verdict = match tokio::time::timeout(PATIENCE, (case.run)(&stage)).await {
        Ok(verdict) => verdict,
        Err(_) => Err(Trouble::fails(format!("took more than {} s", PATIENCE.as_secs()))),
    };
    let until = Instant::now() + GONE;
    while !stage.left_running().is_empty() {
        if Instant::now() > until {
            let left = stage.left_running();
            return verdict.and(Err(Trouble::fails(format!("processes left running: {left:?}"))));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    verdict
}
