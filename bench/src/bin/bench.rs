//! Measures how fast lines are read, by Duologue and by its peers: see README.md.

use std::collections::HashMap;
use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cpu_time::ThreadTime;
use duologue_bench::corpus::Corpus;
use duologue_bench::subjects::YARDSTICK;
use duologue_bench::{Options, Subject};

fn main() -> Result<()> {
    let options = Options::from_args()?;
    let subjects = options.subjects();
    let allocations = if options.time_only { Allocations::new() } else { allocations()? };
    for corpus in options.corpora()? {
        table(&corpus, &subjects, options.reps, &allocations)?;
    }
    println!();
    for subject in &subjects {
        println!("- {}: {}.", subject.title()?, subject.note);
    }
    Ok(())
}

fn table(
    corpus: &Corpus,
    subjects: &[&Subject],
    reps: usize,
    allocations: &Allocations,
) -> Result<()> {
    // Each once to warm up, and to find lines that it cannot read.
    let tallies: Vec<_> = subjects.iter().map(|subject| (subject.run)(&corpus.bytes)).collect();

    // In turns, so that a slow minute of the machine affects all.
    let mut times = vec![Vec::with_capacity(reps); subjects.len()];
    for _ in 0..reps {
        for (subject, times) in subjects.iter().zip(&mut times) {
            let start = ThreadTime::now();
            black_box((subject.run)(black_box(&corpus.bytes)));
            times.push(start.elapsed());
        }
    }

    let (lines, bytes) = (corpus.lines as f64, corpus.bytes.len() as f64);
    println!(
        "\n`{}`: {} lines, {:.1} MB, mean {:.0} bytes, {reps} repetitions\n",
        corpus.name,
        corpus.lines,
        bytes / 1e6,
        bytes / lines,
    );
    println!("| | CPU ns/line | MB/s | x Value | allocations/line | bytes allocated/line |");
    println!("|---|--:|--:|--:|--:|--:|");
    let yardstick = subjects.iter().position(|subject| subject.name == YARDSTICK).unwrap_or(0);
    for (subject, own) in subjects.iter().zip(&times) {
        let time = median(own.iter().map(Duration::as_secs_f64));
        let pairs = times[yardstick].iter().zip(own);
        let ratio = median(pairs.map(|(value, own)| value.as_secs_f64() / own.as_secs_f64()));
        let (count, size) = allocations
            .get(&(corpus.name.clone(), subject.name.to_owned()))
            .copied()
            .unwrap_or((f64::NAN, f64::NAN));
        println!(
            "| {} | {:.0} | {:.0} | {ratio:.2} | {:.2} | {:.0} |",
            subject.title()?,
            time * 1e9 / lines,
            bytes / time / 1e6,
            count / lines,
            size / lines,
        );
    }
    println!();
    for (subject, tally) in subjects.iter().zip(&tallies) {
        if let Some(error) = &tally.first_failure {
            println!(
                "{} could not read {} lines; the first: {error}\n",
                subject.title()?,
                tally.failures
            );
        }
    }
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// How many allocations and bytes, by corpus and name.
type Allocations = HashMap<(String, String), (f64, f64)>;

/// Lets `count` do the same work with the same arguments.
fn allocations() -> Result<Allocations> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let output = Command::new(cargo)
        .args(["run", "--release", "--quiet", "--manifest-path", manifest, "--bin", "count", "--"])
        .args(std::env::args_os().skip(1))
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    ensure!(output.status.success(), "the allocations could not be counted");
    let mut allocations = Allocations::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let mut columns = line.split('\t');
        let (Some(corpus), Some(name), Some(count), Some(bytes)) =
            (columns.next(), columns.next(), columns.next(), columns.next())
        else {
            continue;
        };
        allocations.insert((corpus.to_owned(), name.to_owned()), (count.parse()?, bytes.parse()?));
    }
    Ok(allocations)
}
