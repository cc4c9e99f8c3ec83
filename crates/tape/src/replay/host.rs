//! [`HostPlayer`]: the host on a tape.

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
    /// It waits for the agent, for example for this.
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

/// How many early actions of the agent are kept.
const EARLY: usize = 16 * 1024;

/// The host on a tape, for any agent. A machine without I/O, like [`Player`](super::Player).
///
/// It writes a recorded line of the host when the agent has reached the same point: as many turns
/// ended, the same requests made and answered. It holds one line of the tape at a time.
#[derive(Debug)]
pub struct HostPlayer<R: Read> {
    reader: Reader<R>,
    /// The next entry of the tape.
    next: Option<Step>,
    /// Requests of the host on the tape that are not answered yet.
    asked: HashSet<String>,
    /// What the agent did earlier than on the tape.
    early: VecDeque<Mark>,
    /// The agent's request ids, by their ids on the tape.
    asks: HashMap<String, String>,
}

impl<R: Read> HostPlayer<R> {
    /// Creates a player of this tape.
    pub fn new(input: R) -> Self {
        Self {
            reader: Reader::new(input),
            next: None,
            asked: HashSet::new(),
            early: VecDeque::new(),
            asks: HashMap::new(),
        }
    }

    /// The agent has written a line.
    pub fn handle_line(&mut self, line: &Line) {
        self.early.extend(Mark::of(line));
        if self.early.len() > EARLY {
            self.early.pop_front();
        }
    }

    /// What the host does next.
    ///
    /// # Errors
    /// If the tape cannot be read.
    pub fn next_step(&mut self) -> Result<HostStep, ReadError> {
        loop {
            let next = match self.next.take() {
                Some(next) => next,
                None => match self.read()? {
                    Some(next) => next,
                    None => return Ok(HostStep::Done),
                },
            };
            let mark = match next {
                Step::Say(line) => return Ok(HostStep::Say(self.renamed(line))),
                Step::Signal(name) => return Ok(HostStep::Signal(name)),
                Step::Close => return Ok(HostStep::Close),
                Step::Mark(mark) => mark,
            };
            let met = self.early.iter().position(|early| match (early, &mark) {
                (Mark::Ask(_, about), Mark::Ask(_, wanted)) => about == wanted,
                _ => *early == mark,
            });
            let Some(met) = met.and_then(|met| self.early.remove(met)) else {
                let wait = HostStep::Wait(mark.name());
                self.next = Some(Step::Mark(mark));
                return Ok(wait);
            };
            if let (Mark::Ask(live, _), Mark::Ask(tape, _)) = (met, mark) {
                self.asks.insert(tape, live);
            }
        }
    }

    /// The next relevant entry of the tape.
    fn read(&mut self) -> Result<Option<Step>, ReadError> {
        while let Some(entry) = self.reader.next_entry()? {
            match entry.event {
                Event::ToAgent(line) => {
                    self.asked.extend(request_id(&line));
                    return Ok(Some(Step::Say(line)));
                }
                Event::ToHost(line) => match Mark::of(&line) {
                    // An echo of the host's answer is not awaited.
                    Some(Mark::Reply(id)) if !self.asked.remove(&id) => {}
                    Some(mark) => return Ok(Some(Step::Mark(mark))),
                    None => {}
                },
                Event::Note(note) if note == "stdin_close" => return Ok(Some(Step::Close)),
                Event::Note(note) => {
                    if let Some(signal) = note.strip_prefix("signal ") {
                        return Ok(Some(Step::Signal(signal.to_owned())));
                    }
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The host's line with the ids of this agent.
    fn renamed(&mut self, line: Line) -> Line {
        let Some(text) = line.as_str() else { return line };
        let of_answer = line.head().ok().filter(|head| head.kind == "control_response");
        let Some(old) = of_answer.and_then(|head| head.request_id) else { return line };
        // A request is answered once.
        match self.asks.remove(&*old) {
            Some(new) => Line::from(text.replace(&*old, &new)),
            None => line,
        }
    }
}
