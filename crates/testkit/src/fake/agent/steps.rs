//! The steps.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::input::Patience;
use super::lines::mark;
use super::output::die;
use super::{Agent, Stop, append, complain};
use crate::fake::files;
use crate::fake::step::{Kind, Step};

/// The script of a grandchild. It creates a file once it ignores TERM.
const STUBBORN: &str = r#"trap "" TERM; : >"$1"; exec sleep 600"#;
const MEEK: &str = r#": >"$1"; exec sleep 600"#;

impl Agent {
    pub(super) fn perform(&mut self, steps: &[Step]) -> Result<(), Stop> {
        for step in steps {
            // Requests are answered in order, and an agent that has stopped reading stays so.
            if self.current.is_empty() && !ends_listening(step) {
                self.drain()?;
            }
            self.step(step)?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Stop> {
        match step {
            Step::Usual => {
                let text = self.turn.as_ref().map(|turn| turn.prompt()).unwrap_or_default();
                let done = Step::Done(text.clone());
                self.perform(&[Step::Init, Step::Text(text), done])?;
            }
            Step::Init => {
                let line = self.lines.init();
                self.say(&line);
                self.replay_turn();
            }
            Step::Text(text) => self.say_text(text),
            Step::ToolUse { id, name, input } => {
                if let Some(turn) = &mut self.turn {
                    turn.open_tools.push(id.clone());
                }
                self.say_block(
                    &json!({ "type": "tool_use", "id": id, "name": name, "input": input }),
                );
            }
            Step::ToolResult { id, content, is_error } => {
                if let Some(turn) = &mut self.turn {
                    turn.open_tools.retain(|open| open != id);
                    turn.steps += 1;
                }
                let line = self.lines.tool_result(id, content, *is_error);
                self.say(&line);
                self.fold();
            }
            Step::Done(text) => {
                if let Some(turn) = &mut self.turn {
                    turn.over = true;
                    self.failed = false;
                    let line = self.lines.success(turn, text);
                    self.say(&line);
                }
            }
            Step::Failed(subtype) => self.print_failure(subtype, "api_error"),
            Step::Emit(line) => self.say(line),
            Step::Line(line) => self.output.line(line),
            Step::Raw(bytes) => self.output.raw(bytes),
            Step::Huge(bytes) => self.say_text(&"x".repeat(*bytes)),
            Step::Flood { count, line } => self.flood(line, *count)?,
            Step::Stderr(line) => complain(line),
            Step::StderrBytes(bytes) => noise(*bytes),
            Step::Ask { id, request, wait } => {
                let subtype = request["subtype"].as_str().unwrap_or_default().to_owned();
                self.asks.push((id.clone(), subtype));
                self.say(&json!({
                    "type": "control_request", "request_id": id, "request": request,
                }));
                if *wait {
                    self.wait_for(&Kind::Answer(id.clone()))?;
                }
            }
            Step::Withdraw(id) => {
                self.asks.retain(|(open, _)| open != id);
                self.withdraw(id);
            }
            Step::Reply(answer) => self.answer(answer)?,
            Step::WaitFor(kind) => self.wait_for(kind)?,
            Step::Mark(name) => {
                if let Some(stage) = &self.stage {
                    let _ = File::create(files::mark(stage, name));
                }
            }
            Step::Gate(name) => {
                let gate = self.stage.as_deref().map(|stage| files::gate(stage, name));
                while gate.as_ref().is_some_and(|gate| !gate.exists()) {
                    self.listen(Patience::Short)?;
                }
            }
            Step::Stall => loop {
                self.listen(Patience::Endless)?;
            },
            Step::Silent => loop {
                self.input.next(Patience::Endless);
            },
            Step::StopReading => self.input.stop(),
            Step::CloseStdin => self.input.close(),
            Step::CloseStdout => self.output.close(),
            Step::Exit(code) => return Err(Stop::Exit(*code)),
            Step::Die(signal) => die(*signal),
            Step::Grandchild { ignores_term, own_group, holds_pipes } => {
                self.grandchild(*ignores_term, *own_group, *holds_pipes)?;
            }
        }
        Ok(())
    }

    fn say(&mut self, line: &Value) {
        self.output.line(line.to_string());
    }

    fn say_text(&mut self, text: &str) {
        self.say_block(&json!({ "type": "text", "text": text }));
    }

    fn say_block(&mut self, block: &Value) {
        let mut line = self.lines.assistant(block);
        if let (Some(turn), Some(line)) = (&mut self.turn, line.as_object_mut())
            && !std::mem::replace(&mut turn.answered, true)
        {
            mark(line, turn);
        }
        self.say(&line);
    }

    fn flood(&mut self, line: &str, count: usize) -> Result<(), Stop> {
        // Lines of the host are handled between two chunks, as without a script.
        let mut left = count;
        while left > 0 {
            left -= self.output.flood(line, left);
            self.drain()?;
        }
        Ok(())
    }

    /// Waits for a line that no step has consumed.
    fn wait_for(&mut self, kind: &Kind) -> Result<(), Stop> {
        loop {
            if let Some(at) = self.seen.iter().position(|seen| kind.fits(&seen.line)) {
                self.seen.remove(at);
                return Ok(());
            }
            if self.ended {
                return Ok(());
            }
            self.listen(Patience::Endless)?;
        }
    }

    fn grandchild(
        &mut self,
        ignores_term: bool,
        own_group: bool,
        holds_pipes: bool,
    ) -> Result<(), Stop> {
        let Some(stage) = self.stage.clone() else { return Ok(()) };
        let pipe = || if holds_pipes { Stdio::inherit() } else { Stdio::null() };
        let serial = self.lines.serial();
        let ready: PathBuf = stage.join(format!("ready-{}-{serial}", std::process::id()));
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", if ignores_term { STUBBORN } else { MEEK }, "grandchild"])
            .arg(&ready)
            .stdin(Stdio::null())
            .stdout(pipe())
            .stderr(pipe());
        if own_group {
            command.process_group(0);
        }
        let started = command.spawn().and_then(|child| {
            let record = format!("{}\n", child.id());
            append(&stage.join(files::GRANDCHILDREN))?.write_all(record.as_bytes())
        });
        if let Err(error) = started {
            complain(&format!("fake-agent: no grandchild: {error}"));
            return Err(Stop::Exit(70));
        }
        while !ready.exists() {
            self.listen(Patience::Short)?;
        }
        Ok(())
    }
}

const fn ends_listening(step: &Step) -> bool {
    use Step::{CloseStdin, Die, Exit, Silent, StopReading};
    matches!(step, CloseStdin | Die(_) | Exit(_) | Silent | StopReading)
}

/// Writes this many bytes to stderr.
fn noise(bytes: usize) {
    const LINE: usize = 100;
    let mut line = vec![b'e'; LINE - 1];
    line.push(b'\n');
    let mut stderr = std::io::stderr().lock();
    let chunk = line.repeat(655);
    let mut left = bytes;
    while left > 0 {
        let now = chunk.get(..left).unwrap_or(&chunk);
        if stderr.write_all(now).is_err() {
            return;
        }
        left -= now.len();
    }
}
