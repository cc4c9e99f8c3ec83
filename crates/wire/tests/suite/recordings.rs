//! Nothing is dropped: every recorded line has the same value when it is written again.

use std::collections::{BTreeMap, HashMap};

use duologue_testkit::{Entry, Recording, recordings};
use duologue_wire::control::{AgentRequestReply, HostRequestReply, Response};
use duologue_wire::{Decoded, Finding, Line, Survey, ToAgent, ToHost, Wire};

use serde_json::Value;

use duologue_testkit::json::value;

fn rewritten<M: Wire>(decoded: &Decoded<M>, line: &str) -> String {
    match decoded {
        Decoded::Known(message) | Decoded::Unknown(message) => message.to_json(),
        Decoded::Malformed(_) => line.to_owned(),
    }
}

/// The answer inside a control response, typed by the request it answers and written again.
struct Replies {
    subtypes: HashMap<(bool, String), String>,
}

impl Replies {
    fn note(&mut self, to_host: bool, line: &Line) {
        let Ok(head) = line.head() else { return };
        if head.kind == "control_request"
            && let (Some(id), Some(subtype)) = (head.request_id, head.subtype)
        {
            self.subtypes.insert((to_host, id.into_owned()), subtype.into_owned());
        }
    }

    fn check(&self, to_host: bool, response: &Response, mut report: impl FnMut(&str, Finding<'_>)) {
        let Response::Success(success) = response else { return };
        let Some(id) = success.request_id.as_str() else { return };
        let Some(subtype) = self.subtypes.get(&(!to_host, id.to_owned())) else { return };
        let payload = success.response.value();
        let written = if to_host {
            let Some(reply) = HostRequestReply::read(subtype, payload) else { return };
            // A payload that its type refuses is the peer's fault, and the CLI reports it in the tape.
            let Ok(reply) = reply else { return };
            reply.survey(&mut report);
            reply.to_json()
        } else {
            let Some(reply) = AgentRequestReply::read(subtype, payload) else { return };
            let Ok(reply) = reply else { return };
            reply.survey(&mut report);
            reply.to_json()
        };
        let original = payload.map_or("{}", |payload| payload.as_json());
        assert_eq!(value(&written), value(original), "answer to {subtype}");
    }
}

fn each_line(mut visit: impl FnMut(&Recording, &Entry, &mut Replies)) {
    for recording in recordings() {
        let mut replies = Replies { subtypes: HashMap::new() };
        for entry in &recording.entries {
            replies.note(entry.to_host, &Line::from(entry.line.as_str()));
            visit(&recording, entry, &mut replies);
        }
    }
}

/// Fields that the recording host made up to see what the CLI does with them: it ignored the first
/// two and refused the others.
const MADE_UP: &[&str] = &["foo", "message.zzz", "request.cwd", "request.directory"];

#[test]
fn every_line_is_equal_when_written_again() {
    let mut lines = 0;
    let mut unknown = BTreeMap::<String, usize>::new();
    each_line(|recording, entry, replies| {
        lines += 1;
        let at = format!("{}/{}: {:.300}", recording.version, recording.name, entry.line);
        let line = Line::from(entry.line.as_str());
        assert_eq!(line.raw(), entry.line.as_bytes());
        let mut report = |path: &str, finding: Finding<'_>| {
            let made_up = !entry.to_host && MADE_UP.contains(&path);
            if recording.is_newest() && finding == Finding::UnknownField && !made_up {
                let kind = line.head().map(|head| format!("{} {:?}", head.kind, head.subtype));
                *unknown.entry(format!("{kind:?} {path} in {}", recording.name)).or_default() += 1;
            }
        };
        let written = if entry.to_host {
            let decoded = line.to_host();
            if let Decoded::Malformed(fault) = &decoded {
                let json = serde_json::from_str::<Value>(&entry.line);
                assert!(!json.is_ok_and(|json| json.is_object()), "{fault}\n{at}");
            }
            if let Some(message) = decoded.message() {
                Survey::of(message, &mut report);
                if let ToHost::ControlResponse(response) = message
                    && let Some(response) = response.response.value()
                {
                    replies.check(true, response, &mut report);
                }
            }
            rewritten(&decoded, &entry.line)
        } else {
            let decoded = line.to_agent();
            if let Some(message) = decoded.message() {
                Survey::of(message, &mut report);
                if let ToAgent::ControlResponse(response) = message
                    && let Some(response) = response.response.value()
                {
                    replies.check(false, response, &mut report);
                }
            }
            rewritten(&decoded, &entry.line)
        };
        assert!(!written.contains('\n'), "{at}");
        if written != entry.line {
            assert_eq!(value(&written), value(&entry.line), "{at}");
        }
    });
    assert!(lines > 5_000, "only {lines} lines");
    assert!(unknown.is_empty(), "unknown fields: {unknown:#?}");
}
