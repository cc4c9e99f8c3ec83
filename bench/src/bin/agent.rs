//! How soon an agent answers the handshake, and how many deltas per second it passes on: the embedded agent, and the real
//! Claude Code if the conformance suite has installed it.
//!
//! `agent DUOLOGUE [--rounds N] [--deltas N]`: the command under test. The model is `duologue model serve` on this machine,
//! and the program restarts itself without a network where the kernel allows that.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use duologue_testkit::peers::{claude, environment, peer, without_network};
use serde_json::{Value, json};

const USAGE: &str = "agent DUOLOGUE [--rounds N] [--deltas N]";

/// Set in the process without a network.
const OFFLINE: &str = "DUOLOGUE_BENCH_OFFLINE";

/// Characters in a delta, about a token.
const DELTA: usize = 4;

/// The goal for the embedded agent.
const GOAL: Duration = Duration::from_millis(20);

struct Options {
    duologue: PathBuf,
    claude: Option<PathBuf>,
    rounds: usize,
    deltas: usize,
}

fn options() -> Result<Options> {
    let (mut duologue, mut rounds, mut deltas) = (None, 15, 20_000);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|arg| arg.parse().ok()).context(USAGE);
        match arg.as_str() {
            "--rounds" => rounds = number()?,
            "--deltas" => deltas = number()?,
            program if duologue.is_none() => duologue = Some(std::path::absolute(program)?),
            _ => bail!(USAGE),
        }
    }
    let duologue = duologue.context(USAGE)?;
    let claude_code = peer("claude-code");
    let claude = claude_code.installed(claude_code.version())?.map(|folder| claude(&folder));
    Ok(Options { duologue, claude, rounds, deltas })
}

fn main() -> Result<()> {
    let Options { duologue, claude, rounds, deltas } = options()?;
    if std::env::var_os(OFFLINE).is_none()
        && let Some(mut offline) = without_network(std::env::current_exe()?)
    {
        return Err(offline.args(std::env::args_os().skip(1)).env(OFFLINE, "1").exec().into());
    }
    let folder = std::env::temp_dir().join(format!("duologue-bench-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("home"))?;
    let scenario = folder.join("long.json");
    let said = "abc ".repeat(deltas * DELTA / 4);
    let reply = json!({ "say": said, "chunk": DELTA });
    std::fs::write(&scenario, json!({ "replies": vec![reply; 64] }).to_string())?;
    let stage = Stage { folder, scenario, duologue };

    let mut agents = vec![("duologue agent, scenario", Agent::Scripted)];
    agents.push(("duologue agent, over HTTP", Agent::Embedded));
    if let Some(claude) = claude {
        agents.push(("claude", Agent::Real(claude)));
    }
    let mut starts = vec![Vec::new(); agents.len()];
    let mut rates = vec![Vec::new(); agents.len()];
    for round in 0..rounds {
        for ((_, agent), (starts, rates)) in agents.iter().zip(starts.iter_mut().zip(&mut rates)) {
            starts.push(stage.start(agent)?);
            // Fewer are enough: each is long.
            if round % 5 == 0 {
                rates.push(stage.stream(agent, deltas)?);
            }
        }
    }
    println!("Medians of {rounds} starts, and of turns of {deltas} deltas:\n");
    println!("| | start to answered handshake, ms | deltas per second |\n|---|--:|--:|");
    for ((name, _), (starts, rates)) in agents.iter().zip(starts.iter_mut().zip(&mut rates)) {
        starts.sort();
        rates.sort_by(f64::total_cmp);
        let start = starts[starts.len() / 2].as_secs_f64() * 1e3;
        println!("| {name} | {start:.1} | {:.0} |", rates[rates.len() / 2]);
    }
    let own = starts[0][starts[0].len() / 2];
    let verdict = if own < GOAL { "reached" } else { "**missed**" };
    println!(
        "\nGoal from the start to the answered handshake: {} ms, {verdict}.",
        GOAL.as_millis()
    );
    std::fs::remove_dir_all(&stage.folder)?;
    Ok(())
}

enum Agent {
    /// The embedded agent, which reads the scenario itself.
    Scripted,
    /// The embedded agent, which asks the scripted Messages API.
    Embedded,
    /// Claude Code, which asks the scripted Messages API.
    Real(PathBuf),
}

struct Stage {
    folder: PathBuf,
    scenario: PathBuf,
    duologue: PathBuf,
}

impl Stage {
    fn start(&self, agent: &Agent) -> Result<Duration> {
        let started = Instant::now();
        let mut running = self.spawn(agent, "http://127.0.0.1:9")?;
        running.shake_hands()?;
        let took = started.elapsed();
        running.finish()?;
        Ok(took)
    }

    fn stream(&self, agent: &Agent, deltas: usize) -> Result<f64> {
        let mut server = Command::new(&self.duologue)
            .args(["model", "serve", "--scenario"])
            .arg(&self.scenario)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut ready = String::new();
        let stdout = server.stdout.take().context("no stdout")?;
        BufReader::new(stdout).read_line(&mut ready)?;
        let ready: Value = serde_json::from_str(&ready)?;
        let mut running = self.spawn(agent, ready["base_url"].as_str().context("no base_url")?)?;
        running.shake_hands()?;
        let prompt = json!({ "role": "user", "content": "Go" });
        running.say(&json!({ "type": "user", "message": prompt }))?;
        let (mut count, mut since) = (0, Instant::now());
        let took = loop {
            let line = running.receive()?;
            if line.contains("\"text_delta\"") {
                if count == 0 {
                    since = Instant::now();
                }
                count += 1;
            } else if line.contains("\"type\":\"result\"") {
                break since.elapsed();
            }
        };
        running.finish()?;
        server.kill()?;
        server.wait()?;
        // Claude Code may join some of them.
        ensure!(count > 0 && count <= deltas + 1, "{count} deltas instead of {deltas}");
        Ok(deltas as f64 / took.as_secs_f64())
    }

    fn spawn(&self, agent: &Agent, base_url: &str) -> Result<Running> {
        let program: &Path = match agent {
            Agent::Real(claude) => claude,
            Agent::Scripted | Agent::Embedded => &self.duologue,
        };
        let mut command = Command::new(program);
        match agent {
            Agent::Scripted => command.args(["agent", "--scenario"]).arg(&self.scenario),
            Agent::Embedded => command.arg("agent"),
            Agent::Real(_) => &mut command,
        };
        let stream = ["--output-format", "stream-json", "--input-format", "stream-json"];
        command
            .args(["--verbose", "--include-partial-messages"])
            .args(stream)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(environment())
            .env("HOME", self.folder.join("home"))
            .env("CLAUDE_CONFIG_DIR", self.folder.join("home/config"))
            .env("ANTHROPIC_BASE_URL", base_url)
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| program.display().to_string())?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = child.stdout.take().context("no stdout")?;
        Ok(Running { child, stdin, stdout: BufReader::with_capacity(256 * 1024, stdout) })
    }
}

struct Running {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    fn say(&mut self, line: &Value) -> Result<()> {
        Ok(writeln!(self.stdin, "{line}")?)
    }

    fn receive(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stdout.read_line(&mut line)? > 0, "the agent has gone");
        Ok(line)
    }

    fn shake_hands(&mut self) -> Result<()> {
        let request = json!({ "subtype": "initialize", "hooks": null });
        let line = json!({ "type": "control_request", "request_id": "1", "request": request });
        self.say(&line)?;
        while !self.receive()?.contains("\"control_response\"") {}
        Ok(())
    }

    /// Closes stdin, and waits for its end.
    fn finish(self) -> Result<()> {
        let Self { mut child, stdin, mut stdout } = self;
        drop(stdin);
        std::io::copy(&mut stdout, &mut std::io::sink())?;
        child.wait()?;
        Ok(())
    }
}
