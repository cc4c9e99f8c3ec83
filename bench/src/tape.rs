//! What recording costs, and how fast a tape is replayed. Linux only: it reads `/proc`.
//!
//! `tape DUOLOGUE [MB] [ROUNDS]`: the command under test, how much goes through, how often.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use duologue_bench::corpus;

/// How many lines go there and back to measure what one costs.
const ROUND_TRIPS: u32 = 20_000;

/// The kernel counts in hundredths of a second.
const TICKS: f64 = 100.0;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let duologue = args.next().context("usage: tape DUOLOGUE [MB] [ROUNDS]")?;
    let megabytes: usize = args.next().map_or(Ok(200), |number| number.parse())?;
    let rounds: usize = args.next().map_or(Ok(7), |number| number.parse())?;
    let folder = std::env::temp_dir().join(format!("duologue-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let corpus = folder.join("corpus.ndjson");
    fs::write(&corpus, corpus::mix(megabytes * 1_000_000).bytes)?;
    let tape = folder.join("t.tape");
    let (corpus, tape_name) = (text(&corpus)?, text(&tape)?);

    let plain = ["sh", "-c", "cat \"$0\" | cat", &corpus];
    let record = [&duologue, "record", "--force", "-o", &tape_name, "--", "cat", &corpus];
    let replay = [&duologue, "replay", &tape_name];
    let mut runs: [Vec<Run>; 3] = Default::default();
    for _ in 0..rounds {
        runs[0].push(drain(&plain)?);
        runs[1].push(drain(&record)?);
        runs[2].push(drain(&replay)?);
    }
    println!("{megabytes} MB of mix, medians of {rounds} rounds");
    let names = ["cat | cat", "duologue record -- cat", "duologue replay"];
    for (name, runs) in names.iter().zip(&mut runs) {
        let bytes = runs[0].bytes as f64;
        runs.sort_by_key(|run| run.took);
        let run = &runs[runs.len() / 2];
        let seconds = run.took.as_secs_f64();
        let (rate, cpu) = (bytes / 1e6 / seconds, run.cpu / (bytes / 1e9));
        println!("{name:<24} {rate:>6.0} MB/s   {cpu:>5.2} s of CPU per GB");
    }
    ensure!(fs::metadata(&tape)?.len() > megabytes as u64 * 1_000_000, "the tape is not whole");

    let mut trips = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        trips[0].push(round_trip(&["cat"])?);
        trips[1]
            .push(round_trip(&[&duologue, "record", "--force", "-o", &tape_name, "--", "cat"])?);
    }
    let [plain, recorded] = trips.map(|mut trips| {
        trips.sort();
        trips[trips.len() / 2]
    });
    let added = recorded.saturating_sub(plain) / 2;
    println!(
        "a line of 300 bytes there and back: {plain:?}; recorded {recorded:?}: {added:?} more each way"
    );
    fs::remove_dir_all(&folder)?;
    Ok(())
}

struct Run {
    bytes: usize,
    took: Duration,
    cpu: f64,
}

fn text(path: &Path) -> Result<String> {
    Ok(path.to_str().context("a path is not UTF-8")?.to_owned())
}

/// Runs a command, reads all it says, and tells what that took.
fn drain(command: &[&str]) -> Result<Run> {
    let before = children_cpu()?;
    let started = Instant::now();
    let mut child = Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdout = child.stdout.take().context("no stdout")?;
    let mut chunk = vec![0; 256 * 1024];
    let mut bytes = 0;
    loop {
        match stdout.read(&mut chunk)? {
            0 => break,
            count => bytes += count,
        }
    }
    // The conversation is over; what is left is the tape's.
    let took = started.elapsed();
    ensure!(child.wait()?.success(), "{command:?} failed");
    Ok(Run { bytes, took, cpu: children_cpu()? - before })
}

/// What one line takes to go there and back.
fn round_trip(command: &[&str]) -> Result<Duration> {
    let mut child = Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let mut stdout = child.stdout.take().context("no stdout")?;
    let mut line = vec![b'x'; 299];
    line.push(b'\n');
    let mut answer = vec![0; line.len()];
    // The first has to wait until everybody is there.
    stdin.write_all(&line)?;
    stdout.read_exact(&mut answer)?;
    let started = Instant::now();
    for _ in 0..ROUND_TRIPS {
        stdin.write_all(&line)?;
        stdout.read_exact(&mut answer)?;
    }
    let took = started.elapsed();
    drop(stdin);
    child.wait()?;
    Ok(took / ROUND_TRIPS)
}

/// The CPU that all children so far have used, in seconds.
fn children_cpu() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("no /proc here")?;
    let rest = stat.rsplit_once(')').context("no stat")?.1;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = fields[13].parse::<f64>()? + fields[14].parse::<f64>()?;
    Ok(ticks / TICKS)
}
