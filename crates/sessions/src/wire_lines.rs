//! A stored session as the lines and the events of a live one.
//!
//! A transcript holds prompts, answers, tool results and compactions. It does not hold the handshake, the `init` line at the
//! start of a turn, nor the `result` line at its end. These lines are synthesised from what the transcript does hold, and are
//! marked: see [`WireLine::synthesised`]. Permission requests and hooks leave no trace in a transcript, and are missing.

use std::collections::VecDeque;

use duologue_protocol::transcript::{Event, Transcript};
use duologue_wire::{Direction, Line, RawJson, ToHost};
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::messages::{MessageKind, MessageOptions, Messages, SessionMessage};
use crate::session::{StoredSession, Subagent};
use crate::usage::Tokens;
use crate::{js, json};

/// A line of a stored session, in the form in which a live session has it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WireLine {
    /// Which side wrote it.
    pub direction: Direction,
    /// The line.
    pub line: Line,
    /// When it was written, in milliseconds since 1970.
    pub time: Option<i64>,
    /// What was synthesised, if the transcript does not hold this line: `initialize`, `init` or `result`.
    pub synthesised: Option<&'static str>,
}

/// An event of a stored session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredEvent {
    /// What happened.
    pub event: Event,
    /// When, in milliseconds since 1970.
    pub time: Option<i64>,
    /// Whether a synthesised line caused it: see [`WireLine::synthesised`].
    pub synthesised: bool,
}

impl StoredSession {
    /// The conversation as lines of the wire: what a host would have sent and received.
    ///
    /// Lines of sub-agents come before the result of the call that started them. Only one message is in memory at a time.
    ///
    /// # Errors
    /// If the transcript cannot be read.
    pub fn wire_lines(&self) -> Result<WireLines> {
        let messages = self.messages(&MessageOptions::default().system_messages(true))?;
        let agents = self.subagents()?;
        Ok(WireLines {
            session: self.id().to_owned(),
            levels: vec![Level { messages, held: None }],
            agents: agents.into_iter().filter(|agent| agent.tool_use_id.is_some()).collect(),
            ready: VecDeque::new(),
            turn: None,
            begun: false,
            ended: false,
        })
    }

    /// The conversation as events, the same that a live session gives.
    ///
    /// ```
    /// use duologue_protocol::transcript::Event;
    /// use duologue_sessions::Sessions;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let id = "11111111-2222-4333-8444-555555555555";
    /// # std::fs::create_dir_all(folder.path().join("projects/-my"))?;
    /// # let text = concat!(r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"Hello?"}}"#, "\n",
    /// #   r#"{"type":"assistant","uuid":"b","parentUuid":"a","message":{"role":"assistant","content":[{"type":"text","text":"Hi!"}]}}"#);
    /// # std::fs::write(folder.path().join(format!("projects/-my/{id}.jsonl")), format!("{text}\n"))?;
    /// let session = Sessions::in_config_dir(folder.path()).get(id)?;
    /// for event in session.events()? {
    ///     if let Event::Text(text) = event?.event {
    ///         assert_eq!(text.text, "Hi!");
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the transcript cannot be read.
    pub fn events(&self) -> Result<StoredEvents> {
        let lines = self.wire_lines()?;
        Ok(StoredEvents {
            lines,
            transcript: Transcript::new(),
            time: None,
            synthesised: false,
            ended: false,
        })
    }
}

/// The events of a stored session, in order. [`StoredSession::events`] makes it.
#[derive(Debug)]
pub struct StoredEvents {
    lines: WireLines,
    transcript: Transcript,
    time: Option<i64>,
    synthesised: bool,
    ended: bool,
}

impl Iterator for StoredEvents {
    type Item = Result<StoredEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.transcript.poll_event() {
                let (time, synthesised) = (self.time, self.synthesised);
                return Some(Ok(StoredEvent { event, time, synthesised }));
            }
            match self.lines.next() {
                Some(Ok(line)) => {
                    self.time = line.time.or(self.time);
                    self.synthesised = line.synthesised.is_some();
                    self.transcript.handle_line(line.direction, &line.line);
                }
                Some(Err(error)) => return Some(Err(error)),
                None if self.ended => return None,
                None => {
                    self.ended = true;
                    self.transcript.handle_end();
                }
            }
        }
    }
}

/// The messages of one agent, and the message that follows them.
#[derive(Debug)]
struct Level {
    messages: Messages,
    /// The result of the call that started the agent.
    held: Option<SessionMessage>,
}

/// The lines of a stored session, in order. [`StoredSession::wire_lines`] makes it.
#[derive(Debug)]
pub struct WireLines {
    session: String,
    levels: Vec<Level>,
    /// Sub-agents that are still to come.
    agents: Vec<Subagent>,
    ready: VecDeque<WireLine>,
    turn: Option<OpenTurn>,
    begun: bool,
    ended: bool,
}

/// A turn that has begun and has no result yet.
#[derive(Debug, Default)]
struct OpenTurn {
    prompts: Vec<String>,
    started: Option<i64>,
    last: Option<i64>,
    /// What `init` says, until it is written.
    init: Option<Map<String, Value>>,
    /// The response that is being read, and its tokens.
    response: Option<(String, Tokens)>,
    responses: u64,
    tokens: Tokens,
    text: String,
    /// Whether the last message asks for no more tools.
    complete: bool,
    interrupted: bool,
    /// Whether Claude Code ran a command itself, without the model.
    is_local: bool,
    failed: bool,
    stop_reason: Option<String>,
}

/// What is in the content of a message.
#[derive(Debug, Default)]
struct Content {
    text: String,
    results: Vec<String>,
    calls: bool,
}

impl Content {
    fn of(message: Option<&RawJson>) -> Self {
        let content = message.and_then(|message| message.get("content"));
        let Some(content) = content else { return Self::default() };
        if let Some(text) = content.as_str() {
            return Self { text: text.as_str().to_owned(), ..Self::default() };
        }
        let mut found = Self::default();
        for block in json::elements(content.as_json()) {
            let [kind, text, id] =
                json::fields(block, &["type", "text", "tool_use_id"]).unwrap_or_default();
            match kind {
                Some("\"text\"") => {
                    found.text.push_str(&text.and_then(json::string).unwrap_or_default());
                }
                Some("\"tool_result\"") => {
                    found.results.extend(id.and_then(json::string).map(|id| id.into_owned()));
                }
                Some("\"tool_use\"") => found.calls = true,
                _ => {}
            }
        }
        found
    }
}

/// The beginning of the message that Claude Code writes when a turn is interrupted.
const INTERRUPTED: &str = "[Request interrupted by user";

/// The beginning of the output of a command that Claude Code ran itself.
const LOCAL_OUTPUT: &str = "<local-command-";

impl WireLines {
    /// The next message, with those of a sub-agent before the result of its call.
    fn message(&mut self) -> Result<Option<SessionMessage>> {
        loop {
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let message = match level.messages.next() {
                Some(message) => message?,
                None => match self.levels.pop().and_then(|level| level.held) {
                    Some(held) => held,
                    None => continue,
                },
            };
            let results = match message.kind {
                MessageKind::User => Content::of(message.message.as_ref()).results,
                _ => Vec::new(),
            };
            let started = self.agents.iter().position(|agent| {
                agent.tool_use_id.as_ref().is_some_and(|id| results.contains(id))
            });
            let Some(started) = started else { return Ok(Some(message)) };
            let agent = self.agents.swap_remove(started);
            let messages = agent.messages(&MessageOptions::default())?;
            self.levels.push(Level { messages, held: Some(message) });
        }
    }

    fn push(&mut self, direction: Direction, line: Value, time: Option<i64>) {
        let line = Line::from(line.to_string());
        self.ready.push_back(WireLine { direction, line, time, synthesised: None });
    }

    fn synthesise(
        &mut self,
        what: &'static str,
        direction: Direction,
        line: Value,
        time: Option<i64>,
    ) {
        let line = Line::from(line.to_string());
        self.ready.push_back(WireLine { direction, line, time, synthesised: Some(what) });
    }

    /// The handshake, before the first line.
    fn begin(&mut self, time: Option<i64>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let id = "stored-session";
        let request = json!({
            "type": "control_request",
            "request_id": id,
            "request": { "subtype": "initialize" },
        });
        let answer = json!({
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": id,
                "response": { "commands": [], "models": [], "account": {} },
            },
        });
        self.synthesise("initialize", Direction::ToAgent, request, time);
        self.synthesise("initialize", Direction::ToHost, answer, time);
    }

    fn add(&mut self, message: &SessionMessage) {
        let time = message.timestamp.as_deref().and_then(js::parse_time);
        self.begin(time);
        match message.kind {
            MessageKind::User => self.add_user(message, time),
            MessageKind::Assistant => self.add_assistant(message, time),
            MessageKind::System => self.add_system(message, time),
        }
        if let Some(turn) = &mut self.turn {
            turn.last = time.or(turn.last);
        }
    }

    fn add_user(&mut self, message: &SessionMessage, time: Option<i64>) {
        let content = Content::of(message.message.as_ref());
        let is_main = message.parent_tool_use_id.is_none();
        let interrupted = content.text.starts_with(INTERRUPTED);
        let is_output = content.text.starts_with(LOCAL_OUTPUT);
        let is_prompt = is_main
            && content.results.is_empty()
            && !interrupted
            && !is_output
            && !message.is_meta
            && !message.is_compact_summary
            && !message.is_local_command;
        let mut line = self.line("user", message);
        if is_prompt {
            if !message.is_queued || self.turn.is_none() {
                self.finish_turn(true);
                let turn = OpenTurn { started: time, last: time, ..OpenTurn::default() };
                self.turn = Some(OpenTurn { init: Some(self.init(message)), ..turn });
            }
            if let Some(turn) = &mut self.turn {
                turn.prompts.push(message.uuid.clone());
            }
            return self.push(Direction::ToAgent, line, time);
        }
        self.write_init(None, time);
        for name in ["toolUseResult", "mcpMeta"] {
            if let Some(value) = value_of(&message.entry, name) {
                let name = if name == "toolUseResult" { "tool_use_result" } else { "mcp_meta" };
                line[name] = value;
            }
        }
        if message.is_meta || message.is_compact_summary {
            line["isSynthetic"] = Value::Bool(true);
        }
        if let Some(turn) = self.turn.as_mut().filter(|_| is_main) {
            // A command that Claude Code ran itself ends with its output.
            turn.complete = is_output;
            turn.is_local |= is_output;
            turn.interrupted |= interrupted;
        }
        self.push(Direction::ToHost, line, time);
    }

    fn add_assistant(&mut self, message: &SessionMessage, time: Option<i64>) {
        let mut line = self.line("assistant", message);
        if let Some(error) = message.entry.get("error").and_then(|error| error.as_str()) {
            line["error"] = error.as_str().into();
        }
        let text = |name: &str| {
            let value = message.message.as_ref()?.get(name)?.as_str()?;
            Some(value.as_str().to_owned())
        };
        self.write_init(text("model").filter(|model| model != "<synthetic>"), time);
        if let Some(turn) = self.turn.as_mut().filter(|_| message.parent_tool_use_id.is_none()) {
            let content = Content::of(message.message.as_ref());
            let usage = message.message.as_ref().and_then(|message| message.get("usage"));
            let tokens = usage.and_then(|usage| Tokens::read(usage.as_json())).unwrap_or_default();
            let id = text("id").unwrap_or_else(|| message.uuid.clone());
            match &mut turn.response {
                Some((known, counted)) if *known == id => *counted = tokens,
                response => {
                    let before = response.replace((id, tokens));
                    turn.tokens += before.map(|(_, tokens)| tokens).unwrap_or_default();
                    turn.responses += 1;
                    turn.text.clear();
                }
            }
            turn.text.push_str(&content.text);
            turn.complete = !content.calls;
            turn.failed =
                message.entry.get("isApiErrorMessage").is_some_and(|it| it.as_json() == "true");
            turn.stop_reason = text("stop_reason").or(turn.stop_reason.take());
        }
        self.push(Direction::ToHost, line, time);
    }

    /// System entries that the wire has too. Others are notices of the terminal.
    fn add_system(&mut self, message: &SessionMessage, time: Option<i64>) {
        let subtype = message.entry.get("subtype").and_then(|subtype| subtype.as_str());
        if subtype.is_none_or(|subtype| subtype.as_str() != "compact_boundary") {
            return;
        }
        let (session, uuid) = (&self.session, &message.uuid);
        let mut line = json!({
            "type": "system",
            "subtype": "compact_boundary",
            "session_id": session,
            "uuid": uuid,
        });
        if let Some(Value::Object(metadata)) = value_of(&message.entry, "compactMetadata") {
            line["compact_metadata"] = compact_metadata(metadata);
        }
        if matches!(Line::from(line.to_string()).to_host().known(), Some(ToHost::System(_))) {
            self.write_init(None, time);
            self.push(Direction::ToHost, line, time);
        }
    }

    /// The fields that all lines have.
    fn line(&self, kind: &str, message: &SessionMessage) -> Value {
        let mut line = json!({ "type": kind });
        if let Some(message) = message.message.as_ref().and_then(|it| it.to_value_lossy().ok()) {
            line["message"] = message;
        }
        line["parent_tool_use_id"] = message.parent_tool_use_id.clone().into();
        line["session_id"] = self.session.as_str().into();
        line["uuid"] = message.uuid.as_str().into();
        if let Some(time) = &message.timestamp {
            line["timestamp"] = time.as_str().into();
        }
        line
    }

    /// What the entry of a prompt says about the session.
    fn init(&self, message: &SessionMessage) -> Map<String, Value> {
        let mut init = Map::new();
        init.insert("type".to_owned(), "system".into());
        init.insert("subtype".to_owned(), "init".into());
        init.insert("session_id".to_owned(), self.session.as_str().into());
        let fields = [
            ("cwd", "cwd"),
            ("version", "claude_code_version"),
            ("permissionMode", "permissionMode"),
        ];
        for (name, wire) in fields {
            if let Some(text) = message.entry.get(name).and_then(|text| text.as_str()) {
                init.insert(wire.to_owned(), text.as_str().into());
            }
        }
        init
    }

    /// Writes the `init` line of the turn, unless it was written.
    fn write_init(&mut self, model: Option<String>, time: Option<i64>) {
        let Some(mut init) = self.turn.as_mut().and_then(|turn| turn.init.take()) else { return };
        if let Some(model) = model {
            init.insert("model".to_owned(), model.into());
        }
        self.synthesise("init", Direction::ToHost, Value::Object(init), time);
    }

    /// Ends the turn that is open. A turn whose end is not in the transcript ends only if another begins.
    fn finish_turn(&mut self, another_begins: bool) {
        self.write_init(None, self.turn.as_ref().and_then(|turn| turn.last));
        let Some(mut turn) = self.turn.take() else { return };
        let complete = turn.complete && (turn.responses > 0 || turn.is_local);
        if !complete && !turn.interrupted && !another_begins {
            return;
        }
        turn.tokens += turn.response.take().map(|(_, tokens)| tokens).unwrap_or_default();
        let duration = turn.last.zip(turn.started).map(|(last, started)| (last - started).max(0));
        let succeeded = complete && !turn.interrupted;
        let mut result = json!({
            "type": "result",
            "subtype": if succeeded { "success" } else { "error_during_execution" },
            "is_error": !succeeded || turn.failed,
            "num_turns": turn.responses,
            "session_id": self.session,
            "usage": {
                "input_tokens": turn.tokens.input,
                "cache_creation_input_tokens": turn.tokens.cache_write,
                "cache_read_input_tokens": turn.tokens.cache_read,
                "output_tokens": turn.tokens.output,
            },
            "permission_denials": [],
            "user_message_uuids": turn.prompts,
        });
        if let Some(duration) = duration {
            result["duration_ms"] = duration.into();
        }
        if succeeded {
            result["result"] = turn.text.into();
        }
        if let Some(reason) = turn.stop_reason {
            result["stop_reason"] = reason.into();
        }
        self.synthesise("result", Direction::ToHost, result, turn.last);
    }
}

impl Iterator for WireLines {
    type Item = Result<WireLine>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(Ok(line));
            }
            if self.ended {
                return None;
            }
            match self.message() {
                Ok(Some(message)) => self.add(&message),
                Ok(None) => {
                    self.ended = true;
                    self.finish_turn(false);
                }
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

fn value_of(entry: &RawJson, name: &str) -> Option<Value> {
    entry.get(name)?.to_value_lossy().ok()
}

/// The metadata of a compaction with the names of the wire.
fn compact_metadata(metadata: Map<String, Value>) -> Value {
    const NAMES: [(&str, &str); 7] = [
        ("trigger", "trigger"),
        ("preTokens", "pre_tokens"),
        ("postTokens", "post_tokens"),
        ("cumulativeDroppedTokens", "cumulative_dropped_tokens"),
        ("durationMs", "duration_ms"),
        ("preservedSegment", "preserved_segment"),
        ("preservedMessages", "preserved_messages"),
    ];
    const KEPT: [(&str, &str); 5] = [
        ("headUuid", "head_uuid"),
        ("anchorUuid", "anchor_uuid"),
        ("tailUuid", "tail_uuid"),
        ("uuids", "uuids"),
        ("allUuids", "all_uuids"),
    ];
    let renamed = |fields: Map<String, Value>, names: &[(&str, &str)]| {
        let fields = fields.into_iter().filter_map(|(name, value)| {
            let (_, wire) = names.iter().find(|(known, _)| *known == name)?;
            Some(((*wire).to_owned(), value))
        });
        fields.collect::<Map<String, Value>>()
    };
    let fields = renamed(metadata, &NAMES).into_iter().map(|(name, value)| match value {
        Value::Object(fields) => (name, Value::Object(renamed(fields, &KEPT))),
        value => (name, value),
    });
    Value::Object(fields.collect())
}
