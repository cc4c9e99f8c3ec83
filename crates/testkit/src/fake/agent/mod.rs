//! The agent itself.

mod input;
mod lines;
mod output;
mod prompts;
mod requests;
mod steps;

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value;

use input::{Heard, Input, Patience};
use lines::Lines;
use output::Output;
use prompts::{Prompt, Turn};

use super::script::Script;
use super::stage::Start;
use super::{SCRIPT_VAR, files};
use crate::peers::imitated_version;

/// The number of the run, for a process that replaces this one.
const LIFE_VAR: &str = "FAKE_AGENT_LIFE";

/// How many lines of the host are kept for steps that wait for one.
const MOST_SEEN: usize = 4096;

/// Plays the agent that the environment describes. This is the `main` of `fake-agent`.
pub fn play() -> ExitCode {
    let args: Vec<String> =
        std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if args.iter().any(|arg| arg == "--version" || arg == "-v") {
        let mut output = Output::new(None, None);
        output.line(format!("{} (Claude Code)", imitated_version()));
        return ExitCode::SUCCESS;
    }
    match begin(args) {
        Ok(mut agent) => match agent.live() {
            Stop::Exit(code) => ExitCode::from(code),
            Stop::Aborted => ExitCode::FAILURE,
        },
        Err(error) => {
            complain(&format!("fake-agent: {error}"));
            ExitCode::from(70)
        }
    }
}

fn begin(args: Vec<String>) -> io::Result<Agent> {
    let (mut script, mut stage, mut log) = (Script::default(), None, None);
    if let Some(path) = std::env::var_os(SCRIPT_VAR) {
        let path = PathBuf::from(path);
        let dir = path.parent().unwrap_or_else(|| Path::new(".")).to_owned();
        let mut scripts: Vec<Script> = serde_json::from_slice(&fs::read(&path)?)?;
        let inherited = std::env::var(LIFE_VAR).ok().and_then(|life| life.parse().ok());
        let life = inherited.map_or_else(|| claim(&dir), Ok)?;
        if !scripts.is_empty() {
            script = scripts.swap_remove(life.min(scripts.len() - 1));
        }
        if script.ignores_term && inherited.is_none() {
            return Err(deaf(life));
        }
        log = Some(append(&files::host(&dir, life))?);
        let cwd = std::env::current_dir().unwrap_or_default();
        let start = Start { life, pid: std::process::id(), argv: args.clone(), cwd };
        let record = format!("{}\n", serde_json::to_string(&start)?);
        append(&dir.join(files::STARTS))?.write_all(record.as_bytes())?;
        stage = Some(dir);
    }
    Ok(Agent {
        output: Output::new(script.dies_after, script.dies_inside),
        input: Input::new(log)?,
        lines: Lines::new(&args),
        replays: args.iter().any(|arg| arg == "--replay-user-messages"),
        script,
        stage,
        queue: VecDeque::new(),
        known: HashSet::new(),
        turn: None,
        turns: 0,
        seen: VecDeque::new(),
        seen_ever: 0,
        asks: Vec::new(),
        current: Vec::new(),
        ended: false,
        failed: false,
    })
}

/// The first run that has not begun.
fn claim(dir: &Path) -> io::Result<usize> {
    let mut life = 0;
    loop {
        match File::create_new(files::life(dir, life)) {
            Ok(_) => return Ok(life),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => life += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Executes this program again through a shell that ignores TERM, because that is inherited.
fn deaf(life: usize) -> io::Error {
    let program = std::env::current_exe().map_or_else(|_| OsString::from("fake-agent"), Into::into);
    Command::new("/bin/sh")
        .args(["-c", r#"trap "" TERM; exec "$0" "$@""#])
        .arg(program)
        .args(std::env::args_os().skip(1))
        .env(LIFE_VAR, life.to_string())
        .exec()
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn complain(text: &str) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Why the agent stops its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The turn was interrupted.
    Aborted,
    /// The agent exits.
    Exit(u8),
}

/// A line of the host that no step has consumed.
struct Seen {
    number: u64,
    line: Value,
}

struct Agent {
    script: Script,
    stage: Option<PathBuf>,
    input: Input,
    output: Output,
    lines: Lines,
    replays: bool,
    queue: VecDeque<Prompt>,
    /// The uuids of all prompts.
    known: HashSet<String>,
    turn: Option<Turn>,
    /// How many turns have begun.
    turns: usize,
    seen: VecDeque<Seen>,
    seen_ever: u64,
    /// Unanswered requests to the host: id and subtype.
    asks: Vec<(String, String)>,
    /// The requests of the host whose steps are running.
    current: Vec<Value>,
    ended: bool,
    /// Whether the last result was an error.
    failed: bool,
}

impl Agent {
    fn live(&mut self) -> Stop {
        loop {
            match self.life() {
                // Nothing to abort between turns.
                Ok(()) | Err(Stop::Aborted) => {}
                Err(stop) => return stop,
            }
        }
    }

    fn life(&mut self) -> Result<(), Stop> {
        let start = std::mem::take(&mut self.script.start);
        self.perform(&start)?;
        loop {
            if !self.queue.is_empty() {
                self.one_turn()?;
            } else if self.ended && !self.script.ignores_end {
                let end = std::mem::take(&mut self.script.end);
                self.perform(&end)?;
                return Err(Stop::Exit(u8::from(self.failed)));
            } else {
                self.listen(Patience::Endless)?;
            }
        }
    }

    /// Handles one line of the host, if there is one.
    fn listen(&mut self, patience: Patience) -> Result<bool, Stop> {
        match self.input.next(patience) {
            Heard::Line(line) => self.receive(&line)?,
            Heard::Nothing => return Ok(false),
            Heard::End => {
                self.ended = true;
                return Ok(false);
            }
        }
        self.unless_aborted()?;
        Ok(true)
    }

    /// Handles all lines that the host has sent so far.
    fn drain(&mut self) -> Result<(), Stop> {
        while self.listen(Patience::None)? {}
        self.unless_aborted()
    }

    fn unless_aborted(&self) -> Result<(), Stop> {
        match &self.turn {
            // The steps of an interrupt are not interrupted.
            Some(turn) if turn.aborted && !turn.over && self.current.is_empty() => {
                Err(Stop::Aborted)
            }
            _ => Ok(()),
        }
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Ok(());
        }
        let Ok(line) = serde_json::from_str::<Value>(text) else {
            complain(&format!(
                "Error parsing streaming input line ({} chars): SyntaxError",
                text.len()
            ));
            return Err(Stop::Exit(1));
        };
        self.seen_ever += 1;
        let number = self.seen_ever;
        if self.seen.len() == MOST_SEEN {
            self.seen.pop_front();
        }
        self.seen.push_back(Seen { number, line: line.clone() });
        match line["type"].as_str() {
            Some("user") => self.take_prompt(number, line),
            Some("control_request") => self.take_request(line),
            Some("control_response") => {
                self.asks.retain(|(id, _)| line["response"]["request_id"] != id.as_str());
                if self.replays {
                    self.output.line(line.to_string());
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
