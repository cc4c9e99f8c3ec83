//! One host with one hazard, in its own directory and process group.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use duologue_bench::hazard::{Ending, FOLDER, FOREVER, HAZARD, Hazard};
use duologue_bench::meter::AGENT;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

/// Timeout for a host. Hosts exit by themselves before that.
const LIMIT: Duration = Duration::from_secs(120);
/// How long processes may take to end.
const GRACE: Duration = Duration::from_secs(5);
const MOMENT: Duration = Duration::from_millis(20);

/// The observations of a run.
#[derive(Debug)]
pub struct Run {
    /// The last report of the host, if any.
    pub report: Option<Value>,
    /// Its exit status, or `None` if it had to be killed.
    pub status: Option<ExitStatus>,
    /// The peak resident memory.
    pub peak_kb: u64,
    /// The answers that the agent received.
    pub answers: Vec<Value>,
    /// The agent's arguments.
    pub args: String,
    /// The processes that still run: the agent, its child, the detached process.
    pub left: Vec<usize>,
    /// The end of the host's stderr.
    pub stderr: String,
    /// How long the host ran after the turn.
    pub closing: Duration,
    /// The number of texts on the tape, and whether it is complete.
    pub tape: Option<(u64, bool)>,
}

/// The directory of the runs. It is removed on drop.
#[derive(Debug)]
pub struct Stage {
    folder: PathBuf,
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Stage {
    pub fn new() -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("hazards-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// An agent that is the recorder around this agent. Its tape is in the directory of the run. For a full disk, files are
    /// limited to a few lines.
    pub fn recorded(&self, duologue: &Path, agent: &Path, disk_is_full: bool) -> Result<PathBuf> {
        let script =
            self.folder.join(if disk_is_full { "recorded-to-a-full-disk" } else { "recorded" });
        let limit = if disk_is_full { "trap '' XFSZ; ulimit -f 16" } else { ":" };
        let text = format!(
            "#!/bin/sh\n{limit}\nexec '{}' record --force -o \"${FOLDER}/tape\" -- '{}' \"$@\"\n",
            duologue.display(),
            agent.display(),
        );
        fs::write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        Ok(script)
    }

    pub fn run(&self, command: &[String], agent: &Path, hazard: Hazard) -> Result<Run> {
        let folder = self.folder.join("run");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join("home"))?;
        let [program, args @ ..] = command else { anyhow::bail!("no program") };
        let mut driver = Command::new(program);
        let word =
            |arg: &String| if arg == HAZARD { hazard.word().to_owned() } else { arg.clone() };
        driver.args(args.iter().map(word));
        if !args.iter().any(|arg| arg == HAZARD) {
            driver.arg(hazard.word());
        }
        driver
            .env(AGENT, agent)
            .env(HAZARD, hazard.word())
            .env(FOLDER, &folder)
            .env("HOME", folder.join("home"))
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(File::create(folder.join("stdout"))?)
            .stderr(File::create(folder.join("stderr"))?)
            .process_group(0);
        let mut driver = driver.spawn().with_context(|| program.clone())?;
        let (status, peak_kb, closing) = watch(&mut driver, &folder, hazard)?;
        let pids: Vec<u32> =
            lines(&folder, "pids").iter().filter_map(|pid| pid.parse().ok()).collect();
        let begin = Instant::now();
        while begin.elapsed() < GRACE && pids.iter().any(|pid| is_ours(*pid)) {
            std::thread::sleep(MOMENT);
        }
        let left = (0..pids.len()).filter(|at| is_ours(pids[*at])).collect();
        for pid in pids.iter().filter(|pid| is_ours(**pid)) {
            signal(*pid, kill_process);
        }
        signal(driver.id(), kill_process_group);
        let stderr = fs::read(folder.join("stderr"))?;
        let stderr =
            String::from_utf8_lossy(&stderr[stderr.len().saturating_sub(400)..]).into_owned();
        Ok(Run {
            report: lines(&folder, "stdout")
                .iter()
                .rev()
                .find_map(|line| serde_json::from_str(line).ok()),
            status,
            peak_kb,
            answers: lines(&folder, "answers")
                .iter()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect(),
            args: lines(&folder, "args").join("\n"),
            left,
            stderr,
            closing,
            tape: tape(&folder),
        })
    }
}

/// Waits for its end, or kills it. Returns its peak memory, and how long it ran after the turn.
fn watch(
    driver: &mut Child,
    folder: &Path,
    hazard: Hazard,
) -> Result<(Option<ExitStatus>, u64, Duration)> {
    let begin = Instant::now();
    let mut peak = 0;
    let mut over: Option<Instant> = None;
    loop {
        peak = peak.max(peak_kb(driver.id()));
        if over.is_none() && fs::metadata(folder.join("stdout"))?.len() > 0 {
            over = Some(Instant::now());
        }
        let closing = || over.map_or(Duration::ZERO, |over| over.elapsed());
        if let Some(status) = driver.try_wait()? {
            return Ok((Some(status), peak, closing()));
        }
        let is_killed = hazard.ending() == Ending::Kill && over.is_some();
        if is_killed || begin.elapsed() > LIMIT {
            driver.kill()?;
            let status = driver.wait()?;
            return Ok((is_killed.then_some(status), peak, closing()));
        }
        std::thread::sleep(MOMENT);
    }
}

/// Reads the tape line by line, because it may be large.
fn tape(folder: &Path) -> Option<(u64, bool)> {
    let (mut texts, mut readable) = (0, true);
    for line in BufReader::new(File::open(folder.join("tape")).ok()?).lines() {
        let line: Option<Value> = line.ok().and_then(|line| serde_json::from_str(&line).ok());
        let output = line.as_ref().filter(|line| line["dir"] == "out").map(|line| &line["line"]);
        texts += u64::from(output.and_then(Value::as_str).is_some_and(is_text));
        readable &= line.is_some();
    }
    Some((texts, readable))
}

/// Whether a line is a text of the agent. The start of a streamed block has the type `text`, too, but it is not one.
fn is_text(line: &str) -> bool {
    line.contains(r#""type":"assistant""#) && line.contains(r#""type":"text""#)
}

fn lines(folder: &Path, file: &str) -> Vec<String> {
    let text = fs::read(folder.join(file)).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

fn peak_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Whether this process is the agent or its child. Process ids are reused.
fn is_ours(pid: u32) -> bool {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command);
    // A zombie has no command line.
    command.contains("misbehave") || command.contains(FOREVER)
}

fn signal(pid: u32, send: impl Fn(Pid, Signal) -> rustix::io::Result<()>) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = send(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_of_the_agent_count() {
        let text = r#"{"message":{"content":[{"text":"a","type":"text"}],"role":"assistant"},"type":"assistant"}"#;
        let start = r#"{"event":{"content_block":{"text":"","type":"text"},"type":"content_block_start"},"type":"stream_event"}"#;
        assert!(is_text(text));
        assert!(!is_text(start));
    }
}
