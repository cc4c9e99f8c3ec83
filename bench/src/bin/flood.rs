//! An agent that writes as fast as the pipe accepts. For each prompt it writes prebuilt lines, asks for permission a
//! number of times, each time waiting for the answer, and ends the turn.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd as _;
use std::time::Instant;

use anyhow::{Context, Result};
use duologue_bench::meter::{ASKS, LINES, TIMES};
use duologue_bench::wire;
use serde_json::{Value, json};

/// As much as a pipe can be made to hold: fewer calls than lines.
const PIECE: usize = 1024 * 1024;

fn main() -> Result<()> {
    if wire::print_version() {
        return Ok(());
    }
    let lines = match std::env::var_os(LINES) {
        Some(path) => std::fs::read(&path).with_context(|| path.display().to_string())?,
        None => Vec::new(),
    };
    let asks = match std::env::var(ASKS) {
        Ok(asks) => asks.parse()?,
        Err(_) => 0,
    };
    // Not `Stdout`, which searches for newlines.
    let stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    Agent { stdin: BufReader::with_capacity(4096, stdin), stdout }.run(&lines, asks)
}

struct Agent {
    stdin: BufReader<File>,
    stdout: File,
}

impl Agent {
    fn run(&mut self, lines: &[u8], asks: u32) -> Result<()> {
        while let Some(line) = self.read()? {
            match line["type"].as_str() {
                Some("control_request") => self.reply(&line)?,
                Some("user") => self.turn(&line, lines, asks)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Value>> {
        let mut line = String::new();
        if self.stdin.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&line)?))
    }

    fn say(&mut self, line: &Value) -> Result<()> {
        Ok(self.stdout.write_all(format!("{line}\n").as_bytes())?)
    }

    fn reply(&mut self, request: &Value) -> Result<()> {
        self.say(&wire::control_response(request))
    }

    fn turn(&mut self, prompt: &Value, lines: &[u8], asks: u32) -> Result<()> {
        self.say(&wire::init())?;
        for piece in lines.chunks(PIECE) {
            self.stdout.write_all(piece)?;
        }
        let mut times = String::new();
        for number in 0..asks {
            let start = Instant::now();
            self.ask(number)?;
            times.push_str(&format!("{}\n", start.elapsed().as_nanos()));
        }
        if let Some(path) = std::env::var_os(TIMES) {
            std::fs::write(path, times)?;
        }
        let mut result = wire::result("success", "Done.");
        result["user_message_uuids"] = prompt["uuid"].as_str().into_iter().collect();
        self.say(&result)
    }

    fn ask(&mut self, number: u32) -> Result<()> {
        let id = format!("ask-{number}");
        self.say(&json!({ "type": "control_request", "request_id": id, "request": {
            "subtype": "can_use_tool", "tool_name": "Bash",
            "input": { "command": "cargo test", "description": "Runs the tests" },
            "tool_use_id": format!("toolu_{number}"),
        }}))?;
        loop {
            let line = self.read()?.context("the host exited before it answered")?;
            match line["type"].as_str() {
                Some("control_response") if line["response"]["request_id"] == id.as_str() => {
                    let behavior = &line["response"]["response"]["behavior"];
                    anyhow::ensure!(behavior == "allow", "answered {line}");
                    return Ok(());
                }
                Some("control_request") => self.reply(&line)?,
                _ => {}
            }
        }
    }
}
