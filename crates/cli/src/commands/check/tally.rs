//! Counting: entries in, a report out.

use std::collections::HashMap;
use std::path::Path;

use duologue_protocol::control::{
    AgentRequestReply, ControlResponse, HostRequestReply, Response, Success,
};
use duologue_protocol::rules::Checker;
use duologue_protocol::{Decoded, Direction, Fault, Finding, Line, Survey, ToAgent, ToHost, Wire};
use duologue_tape::{Entry, Event, Header, Torn};

use super::report::{AtPath, Kind, Malformed, Report, UnknownTag, UnknownWord};

/// Where an answer keeps its payload.
const PAYLOAD: &str = "response.response";

/// How many open requests are remembered.
const MOST_REQUESTS: usize = 100_000;

pub(crate) struct Tally {
    report: Report,
    rules: Checker,
    /// The subtype of each open request, by who made it and its id: it tells what its answer holds.
    requests: HashMap<(Direction, String), String>,
}

impl Tally {
    pub(crate) fn new(path: &Path, header: Option<&Header>) -> Self {
        let path = path.to_owned();
        let report = Report { path, header: header.cloned(), ..Report::default() };
        Self { report, rules: Checker::new(), requests: HashMap::new() }
    }

    pub(crate) fn take(&mut self, entry: &Entry) {
        match &entry.event {
            Event::ToHost(line) | Event::ToAgent(line) if line.is_blank() => {}
            Event::ToHost(line) => self.line_to_host(line, entry),
            Event::ToAgent(line) => self.line_to_agent(line, entry),
            Event::Stderr(_) => self.report.lines_of_stderr += 1,
            Event::TooLong(too_long) => {
                let reason =
                    format!("{} bytes, more than the cap; see --max-line", too_long.length);
                self.malformed(Direction::ToHost, entry, reason);
            }
            _ => {}
        }
    }

    pub(crate) fn finish(mut self, torn: Option<Torn>) -> Report {
        self.report.violations = self.rules.finish();
        self.report.torn = torn;
        self.report
    }

    fn line_to_host(&mut self, line: &Line, entry: &Entry) {
        self.report.lines_to_host += 1;
        let decoded = line.to_host();
        let Some(message) = self.count(&decoded, Direction::ToHost, entry) else {
            return self.rules.malformed(Direction::ToHost, line, entry.file_line);
        };
        self.rules.to_host(message, entry.file_line);
        match message {
            ToHost::ControlRequest(request) => {
                let subtype = request.request.value().map(|request| request.tag());
                self.remember(Direction::ToHost, request.request_id.as_str(), subtype);
            }
            ToHost::ControlResponse(response) => self.answer(response, Direction::ToHost, entry),
            _ => {}
        }
    }

    fn line_to_agent(&mut self, line: &Line, entry: &Entry) {
        self.report.lines_to_agent += 1;
        let decoded = line.to_agent();
        let Some(message) = self.count(&decoded, Direction::ToAgent, entry) else {
            return self.rules.malformed(Direction::ToAgent, line, entry.file_line);
        };
        self.rules.to_agent(message, entry.file_line);
        match message {
            ToAgent::ControlRequest(request) => {
                let subtype = request.request.value().map(|request| request.tag());
                self.remember(Direction::ToAgent, request.request_id.as_str(), subtype);
            }
            ToAgent::ControlResponse(response) => self.answer(response, Direction::ToAgent, entry),
            _ => {}
        }
    }

    /// Counts a line and what is not known in it; gives its message unless it is malformed.
    fn count<'m, M: Message>(
        &mut self,
        decoded: &'m Decoded<M>,
        direction: Direction,
        entry: &Entry,
    ) -> Option<&'m M> {
        let message = match decoded {
            Decoded::Known(message) | Decoded::Unknown(message) => message,
            Decoded::Malformed(fault) => {
                self.malformed(direction, entry, fault.to_string());
                return None;
            }
        };
        let kind = message.kind(direction);
        self.report.kinds.add(kind.clone());
        let is_line = matches!(decoded, Decoded::Unknown(_));
        if message.is_legacy() {
            self.report.legacy.add(AtPath { message: kind.clone(), path: String::new() });
        }
        let mut outermost = is_line;
        Survey::of(message, |path, finding| {
            self.found(&kind, path.to_owned(), &finding, outermost);
            if matches!(finding, Finding::UnknownTag { .. } | Finding::UnknownWord(_)) {
                outermost = false;
            }
        });
        Some(message)
    }

    fn found(&mut self, message: &Kind, path: String, finding: &Finding<'_>, is_line: bool) {
        let message = message.clone();
        match finding {
            Finding::UnknownField => self.report.unknown_fields.add(AtPath { message, path }),
            Finding::Legacy => self.report.legacy.add(AtPath { message, path }),
            Finding::UnknownTag { name, tag } => {
                let (name, tag) = ((*name).to_owned(), tag.as_str().to_owned());
                self.unknown_tag(UnknownTag { message, path, name, tag, is_line });
            }
            // The subtype of a result is a word, and as much a subtype as any other.
            Finding::UnknownWord(word) if is_line && path == "subtype" => {
                let (name, tag) = (path, word.as_str().to_owned());
                let path = String::new();
                self.unknown_tag(UnknownTag { message, path, name, tag, is_line });
            }
            Finding::UnknownWord(word) => {
                let at = AtPath { message, path };
                self.report.unknown_words.add(UnknownWord { at, word: word.as_str().to_owned() });
            }
            _ => {}
        }
    }

    fn unknown_tag(&mut self, tag: UnknownTag) {
        self.report.serious_tags += u64::from(tag.is_serious());
        self.report.unknown_tags.add(tag);
    }

    fn remember(&mut self, by: Direction, id: Option<&str>, subtype: Option<&str>) {
        // Answers to requests beyond that are not looked into.
        if let (Some(id), Some(subtype)) = (id, subtype)
            && self.requests.len() < MOST_REQUESTS
        {
            self.requests.insert((by, id.to_owned()), subtype.to_owned());
        }
    }

    /// Reads the payload of an answer as what its request is answered with.
    fn answer(&mut self, response: &ControlResponse, way: Direction, entry: &Entry) {
        let Some(id) = response.request_id() else { return };
        let asked_by = way.reversed();
        // A second answer, which some CLIs give, is not looked into.
        let Some(subtype) = self.requests.remove(&(asked_by, id.as_str().to_owned())) else {
            return;
        };
        let Some(Response::Success(success)) = response.response.value() else { return };
        let kind = Kind {
            direction: way,
            kind: "control_response".to_owned(),
            subtype: Some(subtype.clone()),
        };
        let mut note = |path: &str, finding: Finding<'_>| {
            let path = if path.is_empty() { PAYLOAD.into() } else { format!("{PAYLOAD}.{path}") };
            self.found(&kind, path, &finding, false);
        };
        if let Some(Err(fault)) = survey_payload(way, &subtype, success, &mut note) {
            let reason = format!("answer to {subtype}, in `{PAYLOAD}`: {fault}");
            self.malformed(way, entry, reason);
        }
    }

    fn malformed(&mut self, direction: Direction, entry: &Entry, reason: String) {
        if direction == Direction::ToHost {
            self.report.malformed_to_host += 1;
        }
        let (line, offset) = (entry.file_line, entry.file_offset);
        self.report.malformed.add(Malformed { direction, line, offset, reason });
    }
}

/// Walks the payload of an answer; `None` if nobody knows what it should hold.
fn survey_payload(
    way: Direction,
    subtype: &str,
    success: &Success,
    note: &mut dyn FnMut(&str, Finding<'_>),
) -> Option<Result<(), Fault>> {
    let payload = success.response.value();
    match way {
        Direction::ToHost => {
            let reply = HostRequestReply::read(subtype, payload)?;
            Some(reply.map(|reply| reply.survey(note)))
        }
        Direction::ToAgent => {
            let reply = AgentRequestReply::read(subtype, payload)?;
            Some(reply.map(|reply| reply.survey(note)))
        }
    }
}

/// What both directions have in common.
trait Message: Wire {
    fn kind(&self, direction: Direction) -> Kind;
    fn is_legacy(&self) -> bool;
}

macro_rules! message {
    ($name:ident) => {
        impl Message for $name {
            fn kind(&self, direction: Direction) -> Kind {
                Kind {
                    direction,
                    kind: self.tag().to_owned(),
                    subtype: self.subtype().map(str::to_owned),
                }
            }

            fn is_legacy(&self) -> bool {
                Self::is_legacy(self)
            }
        }
    };
}

message!(ToHost);
message!(ToAgent);
