//! [`Ids`]: maps the ids on the tape to those of this host.

use std::collections::{HashMap, VecDeque};

use duologue_protocol::Line;
use memchr::memmem::Finder;
use regex::Regex;
use serde_json::Value;

use crate::redact::scan::{Kind, walk};

/// How many of the latest ids are searched anywhere. A line names a prompt soon, or not at all.
const ANYWHERE: usize = 1024;

/// How many of the latest requests are kept. Each is answered long before so many others are made.
const REQUESTS: usize = 16 * 1024;

/// Ids made up by hosts: from those on the tape to those of this host.
#[derive(Debug)]
pub(super) struct Ids {
    requests: HashMap<String, String>,
    /// The same, the oldest first.
    requests_in_order: VecDeque<String>,
    callbacks: HashMap<String, String>,
    /// Ids that are unmistakable anywhere: uuids.
    anywhere: HashMap<String, String>,
    /// The same, the oldest first.
    order: VecDeque<String>,
    /// Any of them.
    any: Option<Regex>,
    /// A word in every control line, and in few others.
    control: Finder<'static>,
}

impl Default for Ids {
    fn default() -> Self {
        Self {
            requests: HashMap::new(),
            requests_in_order: VecDeque::new(),
            callbacks: HashMap::new(),
            anywhere: HashMap::new(),
            order: VecDeque::new(),
            any: None,
            control: Finder::new("\"control_"),
        }
    }
}

impl Ids {
    pub(super) fn request(&mut self, tape: &str, live: &str) {
        if self.requests.insert(tape.to_owned(), live.to_owned()).is_none() {
            self.requests_in_order.push_back(tape.to_owned());
        }
        if self.requests_in_order.len() > REQUESTS
            && let Some(oldest) = self.requests_in_order.pop_front()
        {
            self.requests.remove(&oldest);
        }
    }

    /// Whether this id of the host corresponds to that id on the tape. The agent's own requests keep their ids.
    pub(super) fn same_request(&self, tape: &str, live: &str) -> bool {
        self.requests.get(tape).map_or(tape == live, |known| known == live)
    }

    pub(super) fn uuid(&mut self, tape: &str, live: &str) {
        if tape != live && !tape.is_empty() && !live.is_empty() {
            if self.anywhere.insert(tape.to_owned(), live.to_owned()).is_none() {
                self.order.push_back(tape.to_owned());
            }
            if self.order.len() > ANYWHERE
                && let Some(oldest) = self.order.pop_front()
            {
                self.anywhere.remove(&oldest);
            }
            let words: Vec<String> = self.order.iter().map(|name| regex::escape(name)).collect();
            self.any = Regex::new(&words.join("|")).ok();
        }
    }

    /// The callbacks of two handshakes, paired by event and position.
    pub(super) fn callbacks(&mut self, tape: &Value, live: &Value) {
        let Some(events) = tape.get("hooks").and_then(Value::as_object) else { return };
        for (event, matchers) in events {
            let Some(others) = live.get("hooks").and_then(|hooks| hooks.get(event)) else {
                continue;
            };
            for (old, new) in ids_of(matchers).into_iter().zip(ids_of(others)) {
                self.callbacks.insert(old, new);
            }
        }
    }

    /// The agent's line with the ids of this host.
    pub(super) fn renamed(&self, line: Line) -> Line {
        let Some(text) = line.as_str() else { return line };
        let mut renamed = None;
        // A search for the word is faster than one for the type, which may be at the end.
        if self.control.find(text.as_bytes()).is_some()
            && line.kind().is_ok_and(|kind| kind.starts_with("control_"))
        {
            renamed = self.control(text);
        }
        if let Some(any) = &self.any {
            let text = renamed.as_deref().unwrap_or(text);
            if any.is_match(text) {
                let name = |found: &regex::Captures<'_>| {
                    let old = found.get(0).map_or("", |found| found.as_str());
                    self.anywhere.get(old).map_or_else(|| old.to_owned(), Clone::clone)
                };
                renamed = Some(any.replace_all(text, name).into_owned());
            }
        }
        match renamed {
            Some(text) if line.has_newline() => Line::from(text),
            Some(text) => Line::from(text).without_newline(),
            None => line,
        }
    }

    /// Replaces the ids in a control line.
    fn control(&self, text: &str) -> Option<String> {
        let mut renamed = String::new();
        let mut copied = 0;
        let mut names = Vec::new();
        walk(text.as_bytes(), |path, kind, span| {
            let table = match path {
                // An echo of the host's own answer has the id of a request of the agent.
                "response.request_id" | "request_id" => &self.requests,
                "request.callback_id" => &self.callbacks,
                _ => return,
            };
            if kind == Kind::Text {
                names.push((table, span));
            }
        })?;
        for (table, span) in names {
            let old = text.get(span.start + 1..span.end - 1)?;
            let Some(new) = table.get(old) else { continue };
            renamed.push_str(text.get(copied..span.start)?);
            renamed.push_str(&Value::from(new.as_str()).to_string());
            copied = span.end;
        }
        if copied == 0 {
            return None;
        }
        renamed.push_str(text.get(copied..)?);
        Some(renamed)
    }
}

fn ids_of(matchers: &Value) -> Vec<String> {
    let matchers = matchers.as_array().into_iter().flatten();
    let ids = matchers.filter_map(|matcher| matcher.get("hookCallbackIds")?.as_array());
    ids.flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}
