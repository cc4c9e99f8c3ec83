//! [`Host`]: the two machines of a host, for tests.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use duologue_protocol::control::HostRequest;
use duologue_protocol::host_link::{HostLink, LinkEvent};
use duologue_protocol::lines::Prompt;
use duologue_protocol::transcript::{Event, Transcript, TurnState};
use duologue_protocol::{Direction, Frame, Line, LineDecoder, RequestId, ToAgent, Uuid};
use duologue_testkit::mutate::LONG;
use serde_json::Value;

/// A link and a transcript that get the same lines, as in a live host.
pub(crate) struct Host {
    pub(crate) link: HostLink,
    pub(crate) transcript: Transcript,
    decoder: LineDecoder,
    /// What the events have reported as open.
    pub(crate) reported: Reported,
    /// The ids of recorded requests, and the ids of the same requests here.
    ids: HashMap<String, RequestId>,
}

/// What a subscriber that reads all events knows to be open.
#[derive(Debug, Default)]
pub(crate) struct Reported {
    /// The uuids of prompts that wait; empty for those without one.
    waiting: Vec<String>,
    /// Prompts were accepted before their turn began.
    accepted: HashSet<String>,
    turns: HashSet<u64>,
    /// Turns that began before the first prompt. They are not waited for until they take one.
    early: HashSet<u64>,
    prompts: u64,
    pub(crate) finished: u64,
}

impl Reported {
    fn follow(&mut self, event: &Event) {
        let turn = event.turn();
        match event {
            Event::PromptQueued(prompt) => {
                self.prompts += 1;
                self.waiting.push(name(prompt.uuid.as_ref()));
            }
            Event::PromptAccepted(prompt) => {
                let uuid = name(prompt.uuid.as_ref());
                self.settle(&uuid);
                match turn {
                    None => drop(self.accepted.insert(uuid)),
                    Some(turn) => drop(self.early.remove(&turn)),
                }
            }
            Event::PromptCancelled(prompt) => {
                self.settle(prompt.uuid.as_str());
                self.accepted.remove(prompt.uuid.as_str());
            }
            Event::TurnStarted(started) => {
                self.accepted.clear();
                self.turns.extend(turn);
                if self.prompts == 0 && self.finished == 0 && started.prompts.is_empty() {
                    self.early.extend(turn);
                }
            }
            Event::TurnFinished(finished) => {
                self.finished += 1;
                for uuid in &finished.prompts {
                    self.accepted.remove(uuid.as_str());
                }
                self.turns.retain(|open| Some(*open) != turn);
            }
            _ => {}
        }
    }

    fn settle(&mut self, uuid: &str) {
        if let Some(at) = self.waiting.iter().position(|waiting| waiting == uuid) {
            self.waiting.remove(at);
        }
    }

    pub(crate) fn is_anything_open(&self) -> bool {
        !self.waiting.is_empty()
            || !self.accepted.is_empty()
            || self.turns.difference(&self.early).next().is_some()
    }
}

fn name(uuid: Option<&Uuid>) -> String {
    uuid.map(ToString::to_string).unwrap_or_default()
}

impl Host {
    pub(crate) fn new() -> Self {
        Self::with(HostLink::new())
    }

    pub(crate) fn with(link: HostLink) -> Self {
        Self {
            link,
            transcript: Transcript::new(),
            decoder: LineDecoder::new().max_line(LONG / 2),
            reported: Reported::default(),
            ids: HashMap::new(),
        }
    }

    pub(crate) fn prompted(uuid: &str) -> Self {
        let mut host = Self::new();
        host.prompt("hi", uuid);
        host
    }

    pub(crate) fn prompt(&mut self, text: &str, uuid: &str) {
        self.link.prompt(&Prompt::text(text).uuid(uuid));
        self.write();
    }

    /// Writes what the link wants to write. The transcript gets it, too.
    pub(crate) fn write(&mut self) {
        while let Some(line) = self.link.poll_transmit() {
            self.transcript.handle_line(Direction::ToAgent, &Line::from(line.trim_end()));
        }
        self.report();
    }

    /// Sends what a recorded host has sent, if it concerns turns.
    pub(crate) fn send_recorded(&mut self, line: &str) {
        let line = Line::from(line.trim_end());
        match line.to_agent().into_message() {
            Some(ToAgent::Prompt(prompt)) => self.link.prompt(&prompt),
            Some(ToAgent::ControlRequest(control)) => {
                if let (Some(id), Some(request)) =
                    (control.request_id.as_str(), control.request.value())
                    && matches!(
                        request,
                        HostRequest::Interrupt(_) | HostRequest::CancelAsyncMessage(_)
                    )
                {
                    let new = self.link.request(Duration::ZERO, request.clone(), None);
                    self.ids.insert(id.to_owned(), new);
                }
            }
            Some(ToAgent::ControlResponse(response)) => {
                if let Some(id) = response.request_id() {
                    self.link.leave_unanswered(id);
                }
                self.transcript.handle_line(Direction::ToAgent, &line);
            }
            _ => {}
        }
        self.write();
    }

    /// Receives a line of the agent.
    pub(crate) fn receive(&mut self, line: impl AsRef<[u8]>) {
        let bytes = [line.as_ref(), b"\n"].concat();
        let mut chunk = &bytes[..];
        while let Some(frame) = self.decoder.next(&mut chunk) {
            match frame {
                Frame::Line(line) => {
                    let line = self.with_new_ids(line);
                    self.link.handle_line(&line);
                    self.transcript.handle_line(Direction::ToHost, &line);
                }
                Frame::TooLong(too_long) => {
                    self.link.handle_too_long(&too_long);
                    self.transcript.handle_too_long(&too_long);
                }
            }
        }
        self.report();
    }

    pub(crate) fn receive_json(&mut self, line: &Value) {
        self.receive(line.to_string());
    }

    fn with_new_ids(&self, line: Line) -> Line {
        match line.as_str() {
            Some(text) if text.starts_with(r#"{"type":"control_response""#) => {
                let replace = |text: String, (old, new): (&String, &RequestId)| {
                    text.replace(&format!("\"{old}\""), &format!("\"{new}\""))
                };
                Line::from(self.ids.iter().fold(text.to_owned(), replace))
            }
            _ => line,
        }
    }

    fn report(&mut self) {
        while let Some(event) = self.transcript.poll_event() {
            self.reported.follow(&event);
        }
    }

    pub(crate) fn events(&mut self) -> Vec<LinkEvent> {
        std::iter::from_fn(|| self.link.poll_event()).collect()
    }

    pub(crate) fn turns(&self) -> TurnState {
        self.transcript.turn_state()
    }

    pub(crate) fn may_close(&self) -> bool {
        self.link.may_close(self.turns())
    }

    pub(crate) fn is_between_turns(&self) -> bool {
        self.link.is_between_turns(self.turns())
    }

    pub(crate) fn is_unclear(&self) -> bool {
        self.turns().is_unclear()
    }
}
