//! What recording costs, and how fast a tape is replayed. Linux only: it reads `/proc`.
//!
//! `tape [DUOLOGUE] [MB] [ROUNDS]`: the command under test, the amount of data, the number of rounds.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use duologue_bench::meter::{AGENT, LINES};
use duologue_bench::{corpus, turn};
use serde_json::Value;

/// The number of lines for a round trip.
const ROUND_TRIPS: u32 = 20_000;

/// The kernel counts in hundredths of a second.
const TICKS: f64 = 100.0;

/// The variable with the tape, for installed programs.
const TAPE: &str = "DUOLOGUE_TAPE";

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let duologue = args.next().unwrap_or_else(|| "target/release/duologue".to_owned());
    let megabytes: usize = args.next().map_or(Ok(200), |number| number.parse())?;
    let rounds: usize = args.next().map_or(Ok(7), |number| number.parse())?;
    ensure!(Path::new(&duologue).exists(), "{duologue} is missing: see bench/README.md");
    let folder = std::env::temp_dir().join(format!("duologue-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let bench = Bench { duologue, megabytes, rounds, folder };
    let done = bench.pumps().and_then(|()| bench.lines()).and_then(|()| bench.replays());
    let done = done.and_then(|()| bench.memory());
    fs::remove_dir_all(&bench.folder)?;
    done
}

struct Bench {
    duologue: String,
    megabytes: usize,
    rounds: usize,
    folder: PathBuf,
}

/// The costs of a run.
#[derive(Clone, Copy)]
struct Run {
    bytes: usize,
    /// Until the last byte arrived.
    wall: f64,
    /// Until all processes had ended.
    all: f64,
    cpu: f64,
}

impl Bench {
    /// Throughput of a pump.
    fn pumps(&self) -> Result<()> {
        let corpus = self.path("corpus.ndjson")?;
        fs::write(&corpus, corpus::mix(self.megabytes * 1_000_000).bytes)?;
        let tape = self.path("pump.tape")?;
        let plain = ["sh", "-c", "cat \"$0\" | cat", &corpus];
        let record = self.record(&tape, &["cat", &corpus]);
        let record: Vec<&str> = record.iter().map(String::as_str).collect();
        let mut runs = [Vec::new(), Vec::new()];
        for _ in 0..self.rounds {
            runs[0].push(drain(&plain)?);
            runs[1].push(drain(&record)?);
            // Remove it here, so that this does not slow down the next run.
            let whole = fs::metadata(&tape)?.len() > corpus_len(&corpus)?;
            fs::remove_file(&tape)?;
            ensure!(whole, "the tape is not whole");
        }
        println!("{} MB of `mix` through a pump, {} rounds:\n", self.megabytes, self.rounds);
        println!("| | MB/s | CPU s/GB | until the tape is complete |\n|---|--:|--:|--:|");
        for (name, runs) in ["`cat \\| cat`", "`duologue record -- cat`"].iter().zip(&runs) {
            let gigabytes = runs[0].bytes as f64 / 1e9;
            let rate = gigabytes * 1e3 / median(runs.iter().map(|run| run.wall));
            let cpu = median(runs.iter().map(|run| run.cpu)) / gigabytes;
            let all = median(runs.iter().map(|run| run.all));
            println!("| {name} | {rate:.0} | {cpu:.2} | {all:.2} s |");
        }
        let ratios = runs[0].iter().zip(&runs[1]).map(|(plain, ours)| plain.wall / ours.wall);
        let ratio = median(ratios);
        let verdict = if ratio >= 0.9 { "reached" } else { "**missed**" };
        println!("\nThroughput of recording, `cat` = 1: {ratio:.2}; goal: 0.9, {verdict}.");
        Ok(())
    }

    /// The round trip of a line.
    fn lines(&self) -> Result<()> {
        let tape = self.path("lines.tape")?;
        let record = self.record(&tape, &["cat"]);
        let record: Vec<&str> = record.iter().map(String::as_str).collect();
        let mut trips = [Vec::new(), Vec::new()];
        for _ in 0..self.rounds {
            trips[0].push(round_trip(&["cat"])?);
            trips[1].push(round_trip(&record)?);
        }
        let [plain, recorded] =
            trips.map(|trips| median(trips.iter().map(Duration::as_secs_f64)) * 1e6);
        let added = (recorded - plain) / 2.0;
        println!(
            "\nThe round trip of a line of 300 bytes takes {plain:.1} µs, recorded {recorded:.1} µs: {added:.1} µs more in each direction."
        );
        Ok(())
    }

    /// A recorded conversation, replayed to its host: as fast as an agent that only writes?
    fn replays(&self) -> Result<()> {
        let lines = self.path("turn.ndjson")?;
        fs::write(&lines, turn::turn(self.megabytes * 1_000_000).bytes)?;
        let flood = sibling("flood")?;
        let recorded = self.installed("record", &["--", &flood])?;
        let replayed = self.installed("replay", &[])?;
        println!(
            "\n| one turn of {} MB | from `flood`, MB/s | from replay, MB/s | ratio | reader's CPU / wall with replay |",
            self.megabytes
        );
        println!("|---|--:|--:|--:|--:|");
        let readers = [
            ("newlines counted", sibling("plain")?, "newlines"),
            ("serde_json::Value", sibling("plain")?, "value"),
            ("Duologue, events", sibling("host")?, "events-1"),
        ];
        for (name, program, how) in readers {
            let tape = self.path("talk.tape")?;
            let talk = |agent: &str| -> Result<[f64; 2]> {
                let output = Command::new(&program)
                    .arg(how)
                    .envs([(AGENT, agent), (LINES, lines.as_str()), (TAPE, tape.as_str())])
                    .stderr(Stdio::inherit())
                    .output()?;
                ensure!(output.status.success(), "{program} {how} with {agent} failed");
                let cost: Value = serde_json::from_slice(&output.stdout)?;
                let number = |name: &str| cost[name].as_f64().context("no such figure");
                Ok([number("wall_s")?, number("cpu_s")?])
            };
            talk(&recorded)?;
            let (mut flood_walls, mut walls, mut ratios, mut busy) = Default::default();
            for _ in 0..self.rounds {
                let [plain, _] = talk(&flood)?;
                let [wall, cpu] = talk(&replayed)?;
                let lists: [&mut Vec<f64>; 4] =
                    [&mut flood_walls, &mut walls, &mut ratios, &mut busy];
                for (list, value) in lists.into_iter().zip([plain, wall, plain / wall, cpu / wall])
                {
                    list.push(value);
                }
            }
            let rate = |walls: Vec<f64>| self.megabytes as f64 / median(walls);
            let (ratio, busy) = (median(ratios), median(busy));
            let (plain, ours) = (rate(flood_walls), rate(walls));
            println!("| {name} | {plain:.0} | {ours:.0} | {ratio:.2} | {busy:.2} |");
        }
        Ok(())
    }

    /// The peak memory of the commands that read.
    fn memory(&self) -> Result<()> {
        let tapes = [self.megabytes / 10, self.megabytes].map(|megabytes| -> Result<String> {
            let corpus = self.path("corpus.ndjson")?;
            fs::write(&corpus, corpus::mix(megabytes * 1_000_000).bytes)?;
            let tape = self.path(&format!("{megabytes}.tape"))?;
            let record = self.record(&tape, &["cat", &corpus]);
            let status = Command::new(&record[0])
                .args(&record[1..])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .status()?;
            ensure!(status.success(), "{tape} could not be recorded");
            Ok(tape)
        });
        let [small, large] = tapes;
        let (small, large) = (small?, large?);
        println!("\nPeak memory of commands that read a tape:\n");
        println!("| | {} MB | {} MB |\n|---|--:|--:|", self.megabytes / 10, self.megabytes);
        for command in ["inspect", "check", "redact", "diff"] {
            let peak = |tape: &str| {
                let twice: &[&str] = if command == "diff" { &[tape, tape] } else { &[tape] };
                peak(Command::new(&self.duologue).arg(command).args(twice))
            };
            let (small, large) = (peak(&small)?, peak(&large)?);
            println!("| `{command}` | {small:.1} MB | {large:.1} MB |");
        }
        Ok(())
    }

    /// `duologue record` before this command.
    fn record(&self, tape: &str, command: &[&str]) -> Vec<String> {
        let ours = [self.duologue.as_str(), "record", "--force", "-o", tape, "--"];
        ours.iter().chain(command).map(|word| (*word).to_owned()).collect()
    }

    /// A `claude` that records or replays.
    fn installed(&self, what: &str, rest: &[&str]) -> Result<String> {
        let folder = self.path(what)?;
        let mut command = Command::new(&self.duologue);
        command.args([what, "--install", &folder]).args(rest).stderr(Stdio::null());
        ensure!(command.status()?.success(), "{what} could not be installed");
        Ok(format!("{folder}/claude"))
    }

    fn path(&self, name: &str) -> Result<String> {
        Ok(self.folder.join(name).to_str().context("a path is not UTF-8")?.to_owned())
    }
}

/// The peak resident memory in MB. It is polled until the command ends, so the last moment is missed.
fn peak(command: &mut Command) -> Result<f64> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0.0_f64;
    while child.try_wait()?.is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes =
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        peak = peak.max(kilobytes.unwrap_or_default() / 1024.0);
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(peak)
}

fn corpus_len(path: &str) -> Result<u64> {
    Ok(fs::metadata(path)?.len())
}

/// Another program in this directory.
fn sibling(name: &str) -> Result<String> {
    let path = std::env::current_exe()?.with_file_name(name);
    ensure!(path.exists(), "{name} is not built: see bench/README.md");
    Ok(path.to_str().context("a path is not UTF-8")?.to_owned())
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs a command, reads its output, and returns the costs.
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
    // The conversation is over; the rest is writing the tape.
    let wall = started.elapsed().as_secs_f64();
    ensure!(child.wait()?.success(), "{command:?} failed");
    let all = started.elapsed().as_secs_f64();
    Ok(Run { bytes, wall, all, cpu: children_cpu()? - before })
}

/// The duration of the round trip of a line.
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
    // The first waits for the start of all processes.
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
