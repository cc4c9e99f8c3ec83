//! Runs this project's host with the real Claude Code, in several versions, and with the embedded agent, with a scripted
//! model on loopback and without a network. It compares the events of the embedded agent with those of Claude Code. The
//! official SDKs drive both. The results are tables.
//!
//! It first installs and builds what it needs, which needs a network. Then it starts itself again without one, in a
//! scrubbed environment.

mod case;
mod differences;
mod document;
mod drift;
mod host;
mod matrix;
mod offline;
mod peers;
mod play;
mod sdk;
mod stage;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use duologue_testkit::peers::{imitated_version, peer};
use tokio::sync::Semaphore;

use case::Case;
use drift::Drift;
use matrix::Matrix;
use peers::Peer;
use play::{compare, play};

/// Tests this project against the real Claude Code and the official SDKs.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Args {
    #[command(subcommand)]
    command: Option<Job>,
    /// Only these: `agent` is the embedded agent, all others are published versions of Claude Code. With `agent` and the version that it imitates, both are compared.
    #[arg(long = "peer", value_name = "PEER")]
    peers: Vec<String>,
    /// Only cases whose name contains this; `sdk/` are those of the SDKs, `sdk/THING` is one of them.
    #[arg(value_name = "CASE")]
    only: Option<String>,
    /// How many cases run at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Write the tables to this file.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Fail if this file is out of date.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "peers"])]
    check: Option<PathBuf>,
    /// Also run the newest published version. It does not affect the result.
    #[arg(long)]
    newest: bool,
    /// Keep the tapes, in DIR/CASE/PEER.
    #[arg(long, value_name = "DIR")]
    tapes: Option<PathBuf>,
    /// List the cases.
    #[arg(long)]
    list: bool,
}

/// Other jobs.
#[derive(Debug, clap::Subcommand)]
enum Job {
    Drift(Drift),
    /// Install peers at their pinned versions and print their directories, one on each line.
    Install {
        /// Names from `peers.toml`: `claude-code`, `python-sdk`, `typescript-sdk`.
        #[arg(required = true)]
        peers: Vec<String>,
    },
    /// Run a program without a network, in the environment that the peers get.
    Offline {
        /// The program and its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.command {
        Some(Job::Drift(drift)) => drift::run(drift),
        Some(Job::Install { peers }) => install(peers),
        Some(Job::Offline { command }) => run_offline(command),
        None => run(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            anstream::eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn install(names: &[String]) -> Result<bool> {
    for name in names {
        let peer = peer(name);
        anstream::println!("{}", peer.install(peer.version())?.display());
    }
    Ok(true)
}

fn run_offline(command: &[OsString]) -> Result<bool> {
    let (program, args) = command.split_first().context("no program is named")?;
    offline::run(program, args).map(|()| false)
}

fn run(args: &Args) -> Result<bool> {
    let wanted = |case: &&Case| args.only.as_ref().is_none_or(|only| case.name.contains(only));
    let cases: Vec<Case> = host::CASES.iter().filter(wanted).copied().collect();
    let things = args.only.as_deref().map(|only| only.strip_prefix(sdk::ROOM));
    ensure!(
        !cases.is_empty() || things.flatten().is_some(),
        "no such case; --list prints all cases"
    );
    if args.list {
        for case in cases {
            anstream::println!("{}", case.name);
        }
        return Ok(true);
    }
    let mut names: Vec<&str> = match args.peers.as_slice() {
        [] => peers::names(),
        some => some.iter().map(String::as_str).collect(),
    };
    let newest = if args.newest { Some(peers::newest()?) } else { None };
    let beside = newest.as_deref().filter(|newest| !names.contains(newest));
    names.extend(beside);
    let peers: Vec<Peer> = names.iter().map(|name| peers::find(name)).collect::<Result<_>>()?;
    let find = |name: &str| peers.iter().find(|peer| peer.name == name);
    let (real, ours) = (find(imitated_version()), find(peers::AGENT));
    // If cases are selected, those of the SDKs must be selected too.
    let driven: Vec<&Peer> = match things {
        Some(None) => Vec::new(),
        // The command of our agent serves the model for both.
        _ => ours.iter().flat_map(|ours| std::iter::once(*ours).chain(real)).collect(),
    };
    if offline::inside().is_none() && !driven.is_empty() {
        sdk::Sdk::ALL.iter().try_for_each(|sdk| sdk.install().map(drop))?;
    }
    offline::isolate(&peers, newest.as_deref())?;
    let temporary = tempfile::tempdir()?;
    let tapes = args.tapes.as_deref().unwrap_or(temporary.path());
    let runtime = tokio::runtime::Runtime::new().context("no runtime")?;
    let started = Instant::now();
    let places = Arc::new(Semaphore::new(args.jobs.max(1)));
    let drivers = sdk::Run {
        duologue: ours.and_then(Peer::duologue).unwrap_or_default(),
        things: things
            .flatten()
            .filter(|thing| !thing.is_empty())
            .map(str::to_owned)
            .into_iter()
            .collect(),
        places: Arc::clone(&places),
    };
    let (sdks, (mut matrix, heard)) = runtime.block_on(async {
        tokio::join!(sdk::drive_all(drivers, &driven), play(&cases, &peers, &places, tapes))
    });
    let mut rows: Vec<&str> = cases.iter().map(|case| case.name).collect();
    let mut columns = names.clone();
    if let (Some(real), Some(ours)) = (real, ours) {
        let pair = [real, ours];
        runtime.block_on(compare(&cases, pair, heard, tapes, &mut matrix))?;
        columns.push(differences::COLUMN);
        rows.push(differences::LIST);
    }
    if let Some(beside) = beside {
        matrix.beside(beside, document::BESIDE);
        columns.retain(|column| column != &beside);
    }
    matrix.arrange(&rows, &columns);
    matrix.show();
    sdks.show();
    for (name, matrix) in [("our host", &matrix), ("the SDKs", &sdks)] {
        let (holds, all) = matrix.count();
        let again = matrix.second_attempts();
        anstream::eprintln!(
            "{name}: {holds} of {all} cells pass; {} needed a second attempt",
            again.len()
        );
        for (row, column, why) in again {
            anstream::eprintln!("  {row} with {column}, after: {why}");
        }
    }
    anstream::eprintln!("in {} s", started.elapsed().as_secs());
    let document = document::write(&matrix, &sdks, newest.as_deref());
    if let Some(file) = &args.write {
        std::fs::write(file, &document).with_context(|| file.display().to_string())?;
    }
    if let Some(file) = &args.check {
        let old = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let stale = document::stale(&old, &document);
        ensure!(
            stale.is_empty(),
            "{} is out of date; --write updates it\n  {}",
            file.display(),
            stale.join("\n  ")
        );
    }
    Ok(all_is_well(&matrix, &sdks))
}

/// Whether no cell fails: then the exit code is 0, otherwise 1.
fn all_is_well(host: &Matrix, sdks: &Matrix) -> bool {
    host.failures().is_empty() && sdks.failures().is_empty()
}
