//! What a program costs, printed by the program itself: its own CPU time (user and system, without children), the wall
//! time since its prompt, and its peak resident memory. Linux only.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cpu_time::ProcessTime;
use serde_json::{Value, json};

/// The variable with the path of the agent.
pub const AGENT: &str = "FLOOD_AGENT";
/// The variable with the file whose lines the agent writes in a turn.
pub const LINES: &str = "FLOOD_LINES";
/// The variable with the number of permission requests in a turn.
pub const ASKS: &str = "FLOOD_ASKS";
/// The variable with the file for the duration of each answer, in nanoseconds.
pub const TIMES: &str = "FLOOD_TIMES";

/// The path of the agent.
pub fn agent() -> Result<String> {
    std::env::var(AGENT).with_context(|| format!("{AGENT} is not set: `endtoend` starts this"))
}

/// Measures from the prompt.
#[derive(Debug)]
pub struct Meter {
    start: Instant,
}

impl Meter {
    /// The prompt is about to be sent.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// The last message arrived. Prints the costs.
    pub fn report(&self, messages: u64) -> Result<()> {
        let wall = self.start.elapsed();
        // All of it: the start of a program is part of its cost.
        let cpu = ProcessTime::try_now()?.as_duration();
        let peak_kb = status("VmHWM")?;
        println!("{}", cost(messages, wall, cpu, peak_kb));
        Ok(())
    }
}

fn cost(messages: u64, wall: Duration, cpu: Duration, peak_kb: u64) -> Value {
    json!({
        "messages": messages,
        "wall_s": wall.as_secs_f64(),
        "cpu_s": cpu.as_secs_f64(),
        "peak_kb": peak_kb,
    })
}

/// A field of `/proc/self/status` in kB. (`getrusage` includes the memory of the parent before `exec`.)
pub fn status(field: &str) -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("no /proc here")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let line = line.with_context(|| format!("no {field}"))?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
