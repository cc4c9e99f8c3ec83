//! An agent that speaks as fast as a pipe takes it. For each prompt it says prebuilt lines, then asks
//! for permission a number of times, each time waiting for the answer, then ends the turn.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd as _;
use std::time::Instant;

use anyhow::{Context, Result};
use duologue_bench::meter::{ASKS, LINES, TIMES};
use serde_json::{Value, json};

/// As much as a pipe can be made to hold: fewer calls than lines.
const PIECE: usize = 1024 * 1024;

fn main() -> Result<()> {
    if std::env::args().any(|arg| arg == "-v" || arg == "--version") {
        println!("2.1.325 (Claude Code)");
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
    // Not `Stdout`, which would look for newlines.
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
        let answer = match request["request"]["subtype"].as_str() {
            Some("initialize") => json!({
                "commands": [], "agents": [], "output_style": "default",
                "available_output_styles": ["default"], "models": [], "account": {},
                "pid": std::process::id(),
            }),
            _ => json!({}),
        };
        self.say(&json!({ "type": "control_response", "response": {
            "subtype": "success", "request_id": request["request_id"], "response": answer,
        }}))
    }

    fn turn(&mut self, prompt: &Value, lines: &[u8], asks: u32) -> Result<()> {
        let session = "5f0c7d6e-0000-4000-8000-000000000001";
        self.say(&json!({
            "type": "system", "subtype": "init", "cwd": "/workspace", "session_id": session,
            "tools": ["Bash", "Read"], "mcp_servers": [], "model": "claude-opus-5-5",
            "permissionMode": "default", "slash_commands": [], "apiKeySource": "none",
            "claude_code_version": "2.1.325", "output_style": "default", "agents": [],
            "skills": [], "plugins": [], "uuid": "5f0c7d6e-0000-4000-8000-000000000002",
        }))?;
        for piece in lines.chunks(PIECE) {
            self.stdout.write_all(piece)?;
        }
        let uuids: Vec<&str> = prompt["uuid"].as_str().into_iter().collect();
        let mut times = String::new();
        for number in 0..asks {
            let start = Instant::now();
            self.ask(number)?;
            times.push_str(&format!("{}\n", start.elapsed().as_nanos()));
        }
        if let Some(path) = std::env::var_os(TIMES) {
            std::fs::write(path, times)?;
        }
        self.say(&json!({
            "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1,
            "duration_api_ms": 1, "num_turns": 1, "result": "Done.", "stop_reason": "end_turn",
            "session_id": session, "total_cost_usd": 0.01, "usage": {
                "input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
            },
            "modelUsage": {}, "permission_denials": [], "user_message_uuids": uuids,
            "uuid": "5f0c7d6e-0000-4000-8000-000000000003",
        }))
    }

    fn ask(&mut self, number: u32) -> Result<()> {
        let id = format!("ask-{number}");
        self.say(&json!({ "type": "control_request", "request_id": id, "request": {
            "subtype": "can_use_tool", "tool_name": "Bash",
            "input": { "command": "cargo test", "description": "Runs the tests" },
            "tool_use_id": format!("toolu_{number}"),
        }}))?;
        loop {
            let line = self.read()?.context("the host has gone before it answered")?;
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
