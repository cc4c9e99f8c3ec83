//! An agent with one fault. It records its actions and the lines that it received in a directory, so that `hazards` can
//! judge the host.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use duologue_bench::hazard::{
    ASKED, DELTA, DELTAS, FLOOD_LINES, FLOODED, FLOODING, FOLDER, FOREVER, HAZARD, HUGE, Hazard,
    PIECES, UNREAD_ASKS,
};
use duologue_bench::wire::{self, SESSION, usage};
use rustix::process::{Pid, getpgid};
use serde_json::{Value, json};

/// Whether stdin is no longer read.
static STOPPED_READING: AtomicBool = AtomicBool::new(false);

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if wire::print_version() {
        return Ok(());
    }
    let folder = PathBuf::from(std::env::var_os(FOLDER).context("no folder")?);
    let hazard = std::env::var(HAZARD)?.parse()?;
    let (sender, lines) = sync_channel(1024);
    std::thread::spawn(move || {
        for line in BufReader::new(std::io::stdin()).lines().map_while(Result::ok) {
            while STOPPED_READING.load(Ordering::SeqCst) {
                std::thread::park();
            }
            let Ok(line) = serde_json::from_str(&line) else { continue };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut agent = Agent { folder, hazard, lines, texts: 0, hook: None };
    agent.note("pids", &std::process::id().to_string())?;
    agent.note("args", &args.join(" "))?;
    while let Ok(line) = agent.lines.recv() {
        if agent.receive(&line)? {
            agent.turn()?;
        }
    }
    while agent.hazard.is_stuck() {
        std::thread::park();
    }
    Ok(())
}

struct Agent {
    folder: PathBuf,
    hazard: Hazard,
    lines: Receiver<Value>,
    texts: u32,
    /// The callback that the host has registered, if any.
    hook: Option<String>,
}

impl Agent {
    /// Handles a line. True for a prompt. Requests are answered.
    fn receive(&mut self, line: &Value) -> Result<bool> {
        if line["type"] == "control_request" {
            let hooks = line["request"]["hooks"].as_object();
            let callback =
                hooks.and_then(|hooks| hooks.values().next()?.get(0)?["hookCallbackIds"].get(0));
            if let Some(callback) = callback.and_then(Value::as_str) {
                self.hook = Some(callback.to_owned());
            }
            self.say(&wire::control_response(line))?;
        }
        Ok(line["type"] == "user")
    }

    fn turn(&mut self) -> Result<()> {
        self.say(&wire::init())?;
        self.text("before")?;
        self.misbehave()?;
        self.text("after")?;
        let subtype = match self.hazard {
            Hazard::ResultSubtype => "finished_early",
            _ => "success",
        };
        self.say(&wire::result(subtype, "after"))
    }

    fn misbehave(&mut self) -> Result<()> {
        match self.hazard {
            // The fault is in the result.
            Hazard::Calm | Hazard::ResultSubtype => {}
            Hazard::Unread => self.stop_reading()?,
            Hazard::Stderr => {
                let line = format!("{}\n", "x".repeat(99));
                std::io::stderr().write_all(line.repeat(3_000).as_bytes())?;
            }
            Hazard::Stray => write("npm warn deprecated: this line is not JSON\n")?,
            Hazard::Huge => self.text(&"x".repeat(HUGE))?,
            Hazard::UnknownType => self.say(&json!({
                "type": "brand_new", "answer": 42, "session_id": SESSION,
                "uuid": "5f0c7d6e-0000-4000-8000-000000000004",
            }))?,
            Hazard::UnknownBlock => {
                let line = self.assistant(&json!({ "type": "hologram", "answer": 42 }));
                self.say(&line)?;
            }
            Hazard::Slow => {
                let text = "y".repeat(1_500);
                for number in 0..FLOOD_LINES {
                    self.text(&text)?;
                    if number % 200 == 0 {
                        self.note(FLOODING, "")?;
                    }
                }
                self.note(FLOODED, "all is written")?;
            }
            Hazard::Cancelled => {
                for number in 0..PIECES {
                    let line = self.assistant(&json!({ "type": "text", "text": format!("{number} {}", "z".repeat(2_000)) }));
                    let line = format!("{line}\n");
                    for piece in [&line[..200], &line[200..1_000], &line[1_000..]] {
                        write(piece)?;
                        std::thread::sleep(Duration::from_millis(3));
                    }
                }
            }
            Hazard::Asks => self.ask(&[
                "can_use_tool",
                "hook_callback",
                "mcp_message",
                "elicitation",
                "brand_new",
            ])?,
            Hazard::NoCallback => self.ask(&["can_use_tool"])?,
            Hazard::Blocks => self.ask_and_time()?,
            Hazard::Deltas => self.stream()?,
            _ => {
                // One in the agent's group, like a background command, and one that leaves it.
                for leaves in [false, true] {
                    let mut child = Command::new(if leaves { "setsid" } else { "sleep" });
                    if leaves {
                        child.arg("sleep");
                    }
                    child.arg(FOREVER).stdin(Stdio::null()).stdout(Stdio::null());
                    let child = child.stderr(Stdio::null()).spawn()?;
                    let pid = Pid::from_child(&child);
                    while leaves && getpgid(Some(pid))? != pid {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    self.note("pids", &child.id().to_string())?;
                }
            }
        }
        Ok(())
    }

    /// Asks for permission, and records the duration of the answer.
    fn ask_and_time(&mut self) -> Result<()> {
        let begin = Instant::now();
        self.ask(&["can_use_tool"])?;
        self.note("answers", &json!({ "after": begin.elapsed().as_secs_f64() }).to_string())
    }

    /// Streams a message that never finishes.
    fn stream(&mut self) -> Result<()> {
        let text = "x".repeat(DELTA);
        let event = |number: u64, event: Value| {
            json!({
                "type": "stream_event", "event": event, "parent_tool_use_id": null,
                "session_id": SESSION, "uuid": format!("5f0c7d6e-0000-4000-a000-{number:012}"),
            })
        };
        self.say(&event(0, json!({ "type": "message_start", "message": {
            "id": "msg_streamed", "type": "message", "role": "assistant", "content": [],
            "model": "claude-opus-5-5", "stop_reason": null, "stop_sequence": null, "usage": usage(),
        }})))?;
        let block = json!({ "type": "text", "text": "" });
        self.say(&event(
            1,
            json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        ))?;
        let delta = json!({ "type": "text_delta", "text": text });
        for number in 0..DELTAS {
            let piece = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
            self.say(&event(2 + number, piece))?;
        }
        Ok(())
    }

    /// Stops reading, and sends so many requests that the answers do not fit into the pipe.
    fn stop_reading(&mut self) -> Result<()> {
        STOPPED_READING.store(true, Ordering::SeqCst);
        let input = json!({ "command": "ls", "description": "x".repeat(500) });
        for number in 0..UNREAD_ASKS {
            let request = json!({
                "subtype": "can_use_tool", "tool_name": "Bash", "input": input,
                "tool_use_id": format!("toolu_{number}"), "permission_suggestions": [],
            });
            self.say(&json!({
                "type": "control_request", "request_id": format!("ask_{number}"),
                "request": request,
            }))?;
        }
        Ok(())
    }

    /// Sends all requests at once, and records the answers that arrive in time.
    fn ask(&mut self, subtypes: &[&str]) -> Result<()> {
        let hook = self.hook.clone().unwrap_or_else(|| "hook_0".to_owned());
        let input = json!({ "command": "ls", "description": "Looks around" });
        for subtype in subtypes {
            let request = match *subtype {
                "can_use_tool" => json!({
                    "subtype": subtype, "tool_name": "Bash", "input": input, "tool_use_id": "toolu_1",
                    "permission_suggestions": [],
                }),
                "hook_callback" => json!({
                    "subtype": subtype, "callback_id": hook, "tool_use_id": "toolu_1", "input": {
                        "session_id": SESSION, "transcript_path": "/t", "cwd": "/workspace",
                        "permission_mode": "default", "hook_event_name": "PreToolUse",
                        "tool_name": "Bash", "tool_input": input, "tool_use_id": "toolu_1",
                    },
                }),
                "mcp_message" => json!({
                    "subtype": subtype, "server_name": "missing",
                    "message": { "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} },
                }),
                "elicitation" => json!({
                    "subtype": subtype, "mcp_server_name": "db", "message": "which?", "mode": "form",
                    "requested_schema": { "type": "object", "properties": {} },
                }),
                _ => json!({ "subtype": subtype, "answer": 42 }),
            };
            self.say(
                &json!({ "type": "control_request", "request_id": subtype, "request": request }),
            )?;
        }
        let end = Instant::now() + ASKED;
        let mut open = subtypes.len();
        while open > 0 {
            let line = match self.lines.recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            self.receive(&line)?;
            if line["type"] == "control_response" {
                open -= 1;
                self.note("answers", &line["response"].to_string())?;
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<()> {
        let line = self.assistant(&json!({ "type": "text", "text": text }));
        self.say(&line)
    }

    fn assistant(&mut self, block: &Value) -> Value {
        self.texts += 1;
        json!({
            "type": "assistant", "message": {
                "id": format!("msg_{}", self.texts), "type": "message", "role": "assistant",
                "model": "claude-opus-5-5", "content": [block], "stop_reason": null,
                "stop_sequence": null, "usage": usage(),
            },
            "parent_tool_use_id": null, "session_id": SESSION,
            "uuid": format!("5f0c7d6e-0000-4000-9000-{:012}", self.texts),
        })
    }

    fn say(&self, line: &Value) -> Result<()> {
        write(&format!("{line}\n"))
    }

    /// Appends a line to a file of the directory.
    fn note(&self, file: &str, line: &str) -> Result<()> {
        let file = OpenOptions::new().create(true).append(true).open(self.folder.join(file));
        Ok(writeln!(file?, "{line}")?)
    }
}

fn write(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}
