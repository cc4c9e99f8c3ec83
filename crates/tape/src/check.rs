//! Checks whether every line of a tape is understood.
//!
//! [`check`] reads a tape or a plain capture and returns a [`Report`]: how many messages of each kind there are, what is
//! unknown or malformed, which rules of the conversation were broken, and which legacy forms were used.
//!
//! ```
//! use duologue_tape::{Reader, check::check};
//!
//! let capture = concat!(r#"{"type":"keep_alive"}"#, "\n", r#"{"type":"hologram"}"#, "\n");
//! let report = check(&mut Reader::new(capture.as_bytes()))?;
//! assert!(!report.is_understood(false));
//! let (unknown, count) = report.unknown_tags.iter().next().unwrap();
//! assert_eq!((unknown.tag.as_str(), count), ("hologram", 1));
//! # Ok::<(), duologue_tape::ReadError>(())
//! ```

mod report;

use std::collections::HashMap;
use std::io::Read;

use duologue_protocol::control::{
    AgentRequestReply, ControlResponse, HostRequestReply, Response, Success,
};
use duologue_protocol::rules::Checker;
use duologue_protocol::{Decoded, Direction, Fault, Finding, Line, Survey, ToAgent, ToHost, Wire};

use crate::entry::{Entry, Event, Header};
use crate::error::{ReadError, Torn};
use crate::reader::Reader;

pub use report::{
    AtPath, Counted, Kind, Listed, MAX_LISTED, Malformed, Report, UnknownTag, UnknownWord,
};

/// The path of the payload in an answer.
const PAYLOAD: &str = "response.response";

/// The most open requests that are kept. Answers to requests beyond that are not checked.
const MAX_REQUESTS: usize = 100_000;

/// Checks every line of a tape or capture.
///
/// # Errors
/// If the input cannot be read.
pub fn check<R: Read>(reader: &mut Reader<R>) -> Result<Report, ReadError> {
    let mut builder = ReportBuilder::new(reader.header()?);
    while let Some(entry) = reader.next_entry()? {
        builder.entry(&entry);
    }
    Ok(builder.finish(reader.torn().cloned()))
}

struct ReportBuilder {
    report: Report,
    rules: Checker,
    /// The subtype of each open request, by sender and id. It decides how the answer is read.
    requests: HashMap<(Direction, String), String>,
}

impl ReportBuilder {
    fn new(header: Option<&Header>) -> Self {
        let report = Report { header: header.cloned(), ..Report::default() };
        Self { report, rules: Checker::new(), requests: HashMap::new() }
    }

    fn entry(&mut self, entry: &Entry) {
        match &entry.event {
            Event::ToHost(line) | Event::ToAgent(line) if line.is_blank() => {}
            Event::ToHost(line) => self.line_to_host(line, entry),
            Event::ToAgent(line) => self.line_to_agent(line, entry),
            Event::Stderr(_) => self.report.lines_of_stderr += 1,
            Event::TooLong(too_long) => {
                let reason = format!("{} bytes, longer than the limit for a line", too_long.length);
                self.malformed(Direction::ToHost, entry, reason);
            }
            _ => {}
        }
    }

    fn finish(mut self, torn: Option<Torn>) -> Report {
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

    /// Counts a line and the unknown parts of it. Returns its message unless it is malformed.
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
            // The subtype of a result is read as a word, but it is a subtype like any other.
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
        if let (Some(id), Some(subtype)) = (id, subtype)
            && self.requests.len() < MAX_REQUESTS
        {
            self.requests.insert((by, id.to_owned()), subtype.to_owned());
        }
    }

    /// Reads the payload of an answer as the type that belongs to its request.
    fn answer(&mut self, response: &ControlResponse, way: Direction, entry: &Entry) {
        let Some(id) = response.request_id() else { return };
        let asked_by = way.reversed();
        // Some CLI versions answer twice. The second answer is not checked.
        let Some(subtype) = self.requests.remove(&(asked_by, id.as_str().to_owned())) else {
            return;
        };
        let Some(Response::Success(success)) = response.response.value() else { return };
        let kind = Kind::new(way, "control_response".to_owned(), Some(subtype.clone()));
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

/// Reports the findings in the payload of an answer. `None` if its type is not known.
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

/// The messages of both directions.
trait Message: Wire {
    fn kind(&self, direction: Direction) -> Kind;
}

macro_rules! message {
    ($name:ident) => {
        impl Message for $name {
            fn kind(&self, direction: Direction) -> Kind {
                let subtype = self.subtype().map(str::to_owned);
                Kind::new(direction, self.tag().to_owned(), subtype)
            }
        }
    };
}

message!(ToHost);
message!(ToAgent);
