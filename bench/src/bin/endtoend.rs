//! Measures whole programs with an agent that writes as fast as the pipe accepts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use duologue_bench::meter::{AGENT, ASKS, LINES, TIMES};
use duologue_bench::{peers, turn};
use serde_json::Value;

const USAGE: &str = "endtoend [options]
  --size MB     how much the agent writes (200; growth uses a tenth and a hundredth)
  --reps N      how often to measure each (5)
  --asks N      the number of permission requests (2000)
  --many N      conversations at once (1000)
  --quick       2 MB, 1 repetition, few requests and conversations, as a test
  --only WORD   only those whose name contains WORD, and the reference
  --part NAME   only flood, growth, asks or many
  --rust-only   without the official SDKs; nothing is installed";

/// The reference: its ratio is 1.
const YARDSTICK: &str = "read loop, serde_json::Value";

struct Options {
    size: usize,
    reps: usize,
    asks: u32,
    many: u32,
    only: Option<String>,
    part: Option<String>,
    rust_only: bool,
}

impl Options {
    fn from_args() -> Result<Self> {
        let mut options = Self {
            size: 200,
            reps: 5,
            asks: 2_000,
            many: 1_000,
            only: None,
            part: None,
            rust_only: false,
        };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--size" => options.size = value()?.parse()?,
                "--reps" => options.reps = value()?.parse()?,
                "--asks" => options.asks = value()?.parse()?,
                "--many" => options.many = value()?.parse()?,
                "--quick" => {
                    (options.size, options.reps) = (2, 1);
                    (options.asks, options.many) = (100, 20);
                }
                "--only" => options.only = Some(value()?),
                "--part" => options.part = Some(value()?),
                "--rust-only" => options.rust_only = true,
                _ => bail!("{USAGE}"),
            }
        }
        if options.reps == 0 || options.size == 0 {
            bail!("{USAGE}");
        }
        Ok(options)
    }

    fn wants(&self, part: &str) -> bool {
        self.part.as_deref().is_none_or(|only| only == part)
    }
}

/// A program that talks to the agent.
struct Consumer {
    name: String,
    command: Vec<String>,
    /// Whether it can answer during a turn.
    answers: bool,
}

/// The costs of a run.
#[derive(Clone, Copy, Debug)]
struct Cost {
    messages: u64,
    cpu: f64,
    wall: f64,
    peak_kb: f64,
}

struct Bench {
    options: Options,
    programs: PathBuf,
    cache: PathBuf,
    consumers: Vec<Consumer>,
}

fn main() -> Result<()> {
    let options = Options::from_args()?;
    let programs = std::env::current_exe()?.parent().context("no directory")?.to_owned();
    build(&programs)?;
    let cache = peers::cache()?;
    let consumers = consumers(&options, &programs)?;
    let bench = Bench { options, programs, cache, consumers };
    if bench.options.wants("flood") {
        bench.flood()?;
    }
    if bench.options.wants("growth") {
        bench.growth()?;
    }
    if bench.options.wants("asks") {
        bench.asks()?;
    }
    if bench.options.wants("many") {
        bench.many()?;
    }
    Ok(())
}

/// `cargo run` builds only the program it runs.
fn build(programs: &Path) -> Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--bins", "--manifest-path"]);
    cargo.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    if programs.ends_with("release") {
        cargo.arg("--release");
    }
    anyhow::ensure!(cargo.status()?.success(), "the programs could not be built");
    Ok(())
}

fn consumers(options: &Options, programs: &Path) -> Result<Vec<Consumer>> {
    let program = |name: &str| programs.join(name).display().to_string();
    let ours = |name: &str, kind: &str| Consumer {
        name: format!("Duologue, {name}"),
        command: vec![program("host"), kind.to_owned()],
        answers: true,
    };
    let other = |name: &str, answers, command: &[&str]| Consumer {
        name: name.to_owned(),
        command: command.iter().map(|&word| word.to_owned()).collect(),
        answers,
    };
    let codes = peers::crate_title("claude-codes")?;
    let mut all = vec![
        other("read loop, newlines counted", false, &[&program("plain"), "newlines"]),
        other(YARDSTICK, false, &[&program("plain"), "value"]),
        ours("messages", "messages"),
        ours("messages, one thread", "messages-1"),
        ours("events", "events"),
        ours("events, one thread", "events-1"),
        ours("blocking", "blocking"),
        other(&format!("{codes}, sync"), false, &[&program("codes"), "sync"]),
        other(&format!("{codes}, async"), true, &[&program("codes"), "async"]),
    ];
    if !options.rust_only {
        let typescript = include_str!("../../peers/consume.mjs");
        all.push(Consumer {
            name: peers::typescript_title(),
            command: peers::typescript("consume.mjs", typescript)?,
            answers: true,
        });
        let python = include_str!("../../peers/consume.py");
        all.push(Consumer {
            name: peers::python_title(),
            command: peers::python("consume.py", python)?,
            answers: true,
        });
    }
    all.retain(|consumer| {
        let named = options.only.as_ref().is_none_or(|only| consumer.name.contains(only.as_str()));
        named || consumer.name == YARDSTICK
    });
    Ok(all)
}

impl Bench {
    /// Runs all in turns, so that a slow minute of the machine affects all.
    fn rounds(
        &self,
        consumers: &[&Consumer],
        reps: usize,
        mut run: impl FnMut(&Consumer) -> Result<Cost>,
    ) -> Result<Vec<Vec<Cost>>> {
        let mut costs = vec![Vec::new(); consumers.len()];
        for rep in 0..reps {
            for (costs, consumer) in costs.iter_mut().zip(consumers) {
                eprintln!("{} of {reps}: {}", rep + 1, consumer.name);
                let cost = run(consumer).with_context(|| consumer.name.clone())?;
                costs.push(cost);
            }
        }
        Ok(costs)
    }

    fn run(&self, consumer: &Consumer, agent: &[(&str, &str)]) -> Result<Cost> {
        let [program, args @ ..] = &consumer.command[..] else { bail!("no program") };
        let mut command = Command::new(program);
        command.args(args).env(AGENT, self.programs.join("flood")).envs(agent.iter().copied());
        // The first start of an interpreter writes caches: do not measure it.
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        let line = String::from_utf8(output.stdout)?;
        anyhow::ensure!(output.status.success(), "{}: {line}", output.status);
        let cost: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
        let number = |field: &str| cost[field].as_f64().with_context(|| line.clone());
        Ok(Cost {
            messages: number("messages")? as u64,
            cpu: number("cpu_s")?,
            wall: number("wall_s")?,
            peak_kb: number("peak_kb")?,
        })
    }

    /// The file that the agent writes, and its number of lines.
    fn lines(&self, bytes: usize) -> Result<(String, usize)> {
        let corpus = turn::turn(bytes);
        let path = self.cache.join(format!("turn-{bytes}.ndjson"));
        std::fs::write(&path, &corpus.bytes)?;
        Ok((path.display().to_string(), corpus.lines))
    }

    fn everybody(&self) -> Vec<&Consumer> {
        self.consumers.iter().collect()
    }

    fn flood(&self) -> Result<()> {
        let Options { size, reps, .. } = self.options;
        let (path, lines) = self.lines(size * 1_000_000)?;
        let consumers = self.everybody();
        let costs = self.rounds(&consumers, reps, |who| self.run(who, &[(LINES, &path)]))?;
        let yardstick = consumers.iter().position(|who| who.name == YARDSTICK);
        let yardstick = &costs[yardstick.context("no yardstick")?];
        println!("\nOne turn of {lines} lines, {size} MB; {reps} repetitions:\n");
        println!("| | messages | CPU s | CPU x Value | CPU µs/line | wall s | peak MB |");
        println!("|---|--:|--:|--:|--:|--:|--:|");
        for (who, costs) in consumers.iter().zip(&costs) {
            let cpu = median(costs.iter().map(|cost| cost.cpu));
            let ratio = median(costs.iter().zip(yardstick).map(|(cost, one)| cost.cpu / one.cpu));
            println!(
                "| {} | {} | {cpu:.2} | {ratio:.2} | {:.2} | {:.2} | {:.1} |",
                who.name,
                costs[0].messages,
                cpu * 1e6 / lines as f64,
                median(costs.iter().map(|cost| cost.wall)),
                median(costs.iter().map(|cost| cost.peak_kb)) / 1024.0,
            );
        }
        goals(&consumers, &costs);
        Ok(())
    }

    fn growth(&self) -> Result<()> {
        let Options { size, reps, .. } = self.options;
        let consumers = self.everybody();
        let mut table = vec![Vec::new(); consumers.len()];
        let mut sizes = Vec::new();
        for part in [100, 10, 1] {
            let bytes = size * 1_000_000 / part;
            let (path, lines) = self.lines(bytes)?;
            sizes.push(format!("{:.1} MB", bytes as f64 / 1e6));
            let costs =
                self.rounds(&consumers, reps.min(3), |who| self.run(who, &[(LINES, &path)]))?;
            for (row, costs) in table.iter_mut().zip(costs) {
                let cpu = median(costs.iter().map(|cost| cost.cpu)) * 1e6 / lines as f64;
                let peak = median(costs.iter().map(|cost| cost.peak_kb)) / 1024.0;
                row.push(format!("{cpu:.2} µs, {peak:.1} MB"));
            }
        }
        println!("\nCPU per line, including the start of the program, and peak memory:\n");
        println!("| | {} |", sizes.join(" | "));
        println!("|---|{}", "--:|".repeat(sizes.len()));
        for (who, row) in consumers.iter().zip(table) {
            println!("| {} | {} |", who.name, row.join(" | "));
        }
        Ok(())
    }

    fn asks(&self) -> Result<()> {
        let Options { asks, reps, .. } = self.options;
        let consumers: Vec<&Consumer> =
            self.consumers.iter().filter(|consumer| consumer.answers).collect();
        let file = self.cache.join("times").display().to_string();
        let count = asks.to_string();
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); consumers.len()];
        let mut turn = 0;
        self.rounds(&consumers, reps, |who| {
            let cost = self.run(who, &[(ASKS, &count), (TIMES, &file)])?;
            let text = std::fs::read_to_string(&file)?;
            let answers = text.lines().map(|nanos| Ok(nanos.parse::<f64>()? / 1e3));
            times[turn % consumers.len()].extend(answers.collect::<Result<Vec<_>>>()?);
            turn += 1;
            Ok(cost)
        })?;
        println!("\nPermission round trip, {asks} in a row, {reps} repetitions:\n");
        println!("| | p50 µs | p99 µs |");
        println!("|---|--:|--:|");
        for (who, times) in consumers.iter().zip(&mut times) {
            times.sort_by(f64::total_cmp);
            println!("| {} | {:.0} | {:.0} |", who.name, at(times, 0.5), at(times, 0.99));
        }
        Ok(())
    }

    fn many(&self) -> Result<()> {
        println!(
            "\n| conversations | finished | kB each, live | kB each, after a turn | peak MB | start s | turns s | close s |"
        );
        println!("|---|--:|--:|--:|--:|--:|--:|--:|");
        for kind in ["processes", "pipes"] {
            let mut command = Command::new(self.programs.join("many"));
            command.arg(kind).arg(self.options.many.to_string());
            let output = command.env(AGENT, self.programs.join("flood")).stderr(Stdio::inherit());
            let output = output.output()?;
            anyhow::ensure!(output.status.success(), "{kind}: {}", output.status);
            let found: Value = serde_json::from_slice(&output.stdout)?;
            let number = |field: &str| found[field].as_f64().unwrap_or(f64::NAN);
            println!(
                "| {} {kind} | {} | {:.1} | {:.1} | {:.1} | {:.2} | {:.2} | {:.2} |",
                found["conversations"],
                found["finished"],
                number("kb_each_live"),
                number("kb_each_after_a_turn"),
                number("peak_kb") / 1024.0,
                number("start_s"),
                number("turns_s"),
                number("close_s"),
            );
        }
        Ok(())
    }
}

/// The goals of our rows, and the best and the worst of them.
fn goals(consumers: &[&Consumer], costs: &[Vec<Cost>]) {
    let rows = || consumers.iter().zip(costs);
    let ours = || rows().filter(|(who, _)| who.name.starts_with("Duologue"));
    let verdict = |worst: f64, goal: f64| if worst <= goal { "reached" } else { "**missed**" };
    println!("\nGoals, and the best and the worst row of Duologue:\n");
    println!("| | goal | best | worst | |");
    println!("|---|--:|--:|--:|---|");
    let peers = [
        ("claude-codes", "sync", 0.5),
        ("TypeScript SDK", "", 0.25),
        ("Python SDK", "", 0.125),
        (YARDSTICK, "", 1.0),
    ];
    for (peer, kind, goal) in peers {
        let peer = rows().find(|(who, _)| who.name.starts_with(peer) && who.name.ends_with(kind));
        let Some((peer, theirs)) = peer else { continue };
        let ratios = ours().map(|(_, own)| {
            median(own.iter().zip(theirs).map(|(own, theirs)| own.cpu / theirs.cpu))
        });
        let ratios = sorted(ratios);
        let (best, worst) = (at(&ratios, 0.0), at(&ratios, 1.0));
        let verdict = verdict(worst, goal);
        println!("| CPU, {} = 1 | {goal} | {best:.2} | {worst:.2} | {verdict} |", peer.name);
    }
    let peaks = sorted(ours().map(|(_, own)| median(own.iter().map(|cost| cost.peak_kb))));
    for goal in [16.0, 10.0] {
        let (best, worst) = (at(&peaks, 0.0) / 1024.0, at(&peaks, 1.0) / 1024.0);
        let verdict = verdict(worst, goal);
        println!("| peak MB | {goal} | {best:.1} | {worst:.1} | {verdict} |");
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    at(&sorted(values), 0.5)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The value at this quantile of sorted values.
fn at(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
}
