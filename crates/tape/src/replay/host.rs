//! [`HostPlayer`]: the host that is on a tape.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Read;

use duologue_protocol::Line;
use serde_json::Value;

use crate::entry::Event;
use crate::error::ReadError;
use crate::reader::Reader;

/// What the host on the tape does next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HostStep {
    /// It writes a line.
    Say(Line),
    /// It waits for the agent; for this, for instance.
    Wait(String),
    /// It sends a signal: `SIGINT`.
    Signal(String),
    /// It closes the agent's stdin.
    Close,
    /// It has nothing more to do.
    Done,
}

/// The id of the request that this line makes.
fn request_id(line: &Line) -> Option<String> {
    let head = line.head().ok().filter(|head| head.kind == "control_request")?;
    head.request_id.map(|id| id.into_owned())
}

/// Something of the agent that a host waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mark {
    /// The end of a turn.
    Result,
    /// The answer to a request of the host.
    Reply(String),
    /// A request of the agent: its id, and what it is about.
    Ask(String, String),
}

impl Mark {
    fn of(line: &Line) -> Option<Self> {
        let kind = line.kind().ok()?;
        if !matches!(&*kind, "result" | "control_response" | "control_request") {
            return None;
        }
        let value: Value = serde_json::from_slice(line.raw()).ok()?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Some(match &*kind {
            "result" => Self::Result,
            "control_response" => Self::Reply(text(&value["response"]["request_id"])),
            _ => {
                let request = &value["request"];
                let about = [
                    &request["subtype"],
                    &request["tool_name"],
                    &request["input"]["hook_event_name"],
                    &request["server_name"],
                    &request["message"]["method"],
                ];
                let about: Vec<&str> = about.into_iter().filter_map(Value::as_str).collect();
                Self::Ask(text(&value["request_id"]), about.join(" "))
            }
        })
    }

    fn name(&self) -> String {
        match self {
            Self::Result => "the result of a turn".to_owned(),
            Self::Reply(id) => format!("the answer to request {id}"),
            Self::Ask(_, about) => format!("a request: {about}"),
        }
    }
}

#[derive(Debug)]
enum Step {
    Say(Line),
    Signal(String),
    Close,
    /// The agent does this.
    Mark(Mark),
}

/// The host that is on a tape, for any agent. A machine without I/O, like [`Player`](super::Player).
///
/// It says what the host said then, when the agent has come as far as it had then: as many turns
/// ended, the same requests answered and made.
#[derive(Debug)]
pub struct HostPlayer {
    steps: VecDeque<Step>,
    /// What the agent has done before its time.
    early: Vec<Mark>,
    /// What the agent calls its requests, by what they are called on the tape.
    asks: HashMap<String, String>,
}

impl HostPlayer {
    /// Reads the tape.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn new(input: impl Read) -> Result<Self, ReadError> {
        let mut steps = VecDeque::new();
        let mut asked = HashSet::new();
        let mut reader = Reader::new(input);
        while let Some(entry) = reader.next_entry()? {
            match entry.event {
                Event::ToAgent(line) => {
                    asked.extend(request_id(&line));
                    steps.push_back(Step::Say(line));
                }
                Event::ToHost(line) => match Mark::of(&line) {
                    // An echo of what the host answered: nobody waits for that.
                    Some(Mark::Reply(id)) if !asked.contains(&id) => {}
                    mark => steps.extend(mark.map(Step::Mark)),
                },
                Event::Note(note) if note == "stdin_close" => steps.push_back(Step::Close),
                Event::Note(note) => {
                    let signal = note.strip_prefix("signal ").map(str::to_owned);
                    steps.extend(signal.map(Step::Signal));
                }
                _ => {}
            }
        }
        Ok(Self { steps, early: Vec::new(), asks: HashMap::new() })
    }

    /// The agent has written a line.
    pub fn handle_line(&mut self, line: &Line) {
        self.early.extend(Mark::of(line));
    }

    /// What the host does next.
    pub fn next_step(&mut self) -> HostStep {
        loop {
            match self.steps.front() {
                None => return HostStep::Done,
                Some(Step::Mark(mark)) => {
                    let met = self.early.iter().position(|early| match (early, mark) {
                        (Mark::Ask(_, about), Mark::Ask(_, wanted)) => about == wanted,
                        _ => early == mark,
                    });
                    let Some(met) = met else { return HostStep::Wait(mark.name()) };
                    if let (Mark::Ask(live, _), Mark::Ask(tape, _)) = (self.early.remove(met), mark)
                    {
                        self.asks.insert(tape.clone(), live);
                    }
                    self.steps.pop_front();
                }
                Some(_) => break,
            }
        }
        match self.steps.pop_front() {
            Some(Step::Say(line)) => HostStep::Say(self.renamed(line)),
            Some(Step::Signal(name)) => HostStep::Signal(name),
            Some(Step::Close) => HostStep::Close,
            Some(Step::Mark(_)) | None => HostStep::Done,
        }
    }

    /// The host's line with the names of this agent.
    fn renamed(&self, line: Line) -> Line {
        let Some(text) = line.as_str() else { return line };
        let of_answer = line.head().ok().filter(|head| head.kind == "control_response");
        let Some(old) = of_answer.and_then(|head| head.request_id) else { return line };
        match self.asks.get(&*old) {
            Some(new) => Line::from(text.replace(&*old, new)),
            None => line,
        }
    }
}
