//! [`Updates`]: what happens in a conversation, as updates for the client.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    CompactionStatus, CompactionUpdate, ContentBlock, ContentChunk, MessageId, Meta, Notice,
    NoticeSeverity, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use duologue::Event;
use serde_json::{Value, json};

use crate::client::Client;
use crate::plan::{Tasks, is_plan_tool};
use crate::tool_calls::{self, Output, describe, fenced, text_content};

/// A call that has not returned.
#[derive(Debug)]
struct Call {
    name: String,
    input: Value,
    parent: Option<String>,
    /// Whether it is shown as a tool call.
    shown: bool,
    /// Whether its input was shown.
    complete: bool,
}

/// How much of the open block of an agent was sent.
#[derive(Clone, Copy, Debug, Default)]
struct Streamed {
    text: usize,
    thinking: usize,
}

/// Makes updates of events. The same events give the same updates, live and from a stored transcript.
#[derive(Debug)]
pub(crate) struct Updates {
    client: Client,
    cwd: PathBuf,
    streamed: HashMap<Option<String>, Streamed>,
    calls: HashMap<String, Call>,
    /// Calls that continue in the background after they returned.
    background: HashSet<String>,
    tasks: Tasks,
    compactions: u64,
}

fn chunk(text: impl Into<String>, message: Option<&str>) -> ContentChunk {
    ContentChunk::new(text_content(text)).message_id(message.map(MessageId::new))
}

/// The metadata of a tool call: its name, and the call of the sub-agent that made it.
fn call_meta(name: &str, parent: Option<&str>) -> Meta {
    let mut claude = Meta::new();
    if !name.is_empty() {
        claude.insert("toolName".to_owned(), name.into());
    }
    if let Some(parent) = parent {
        claude.insert("parentToolUseId".to_owned(), parent.into());
    }
    let mut meta = Meta::new();
    meta.insert("claudeCode".to_owned(), Value::Object(claude));
    meta
}

impl Updates {
    pub(crate) fn new(client: Client, cwd: PathBuf) -> Self {
        Self {
            client,
            cwd,
            streamed: HashMap::new(),
            calls: HashMap::new(),
            background: HashSet::new(),
            tasks: Tasks::default(),
            compactions: 0,
        }
    }

    /// The updates of a live event.
    pub(crate) fn event(&mut self, event: &Event) -> Vec<SessionUpdate> {
        let agent = event.agent().map(|id| id.as_str().to_owned());
        let message = event.message_id().map(|id| id.as_str().to_owned());
        let message = message.as_deref();
        match event {
            Event::TextDelta(delta) => {
                self.streamed.entry(agent.clone()).or_default().text += delta.text.len();
                main(agent.as_ref(), || {
                    SessionUpdate::AgentMessageChunk(chunk(delta.text.as_str(), message))
                })
            }
            Event::ThinkingDelta(delta) => {
                self.streamed.entry(agent.clone()).or_default().thinking += delta.text.len();
                main(agent.as_ref(), || {
                    SessionUpdate::AgentThoughtChunk(chunk(delta.text.as_str(), message))
                })
            }
            Event::Text(text) => {
                let sent =
                    std::mem::take(&mut self.streamed.entry(agent.clone()).or_default().text);
                self.text(agent.as_deref(), message, rest(&text.text, sent))
            }
            Event::Thinking(thinking) => {
                let sent =
                    std::mem::take(&mut self.streamed.entry(agent.clone()).or_default().thinking);
                Self::thinking(agent.as_deref(), message, rest(&thinking.text, sent))
            }
            Event::ToolCallStarted(call) => {
                self.call_started(agent.as_deref(), call.id.as_str(), &call.name)
            }
            Event::ToolCall(call) => {
                let input = call.input.to_value_lossy().unwrap_or_default();
                self.call(agent.as_deref(), call.id.as_str(), &call.name, input)
            }
            Event::ToolResult(result) => {
                let content = result.content.as_ref().and_then(|it| it.raw().to_value_lossy().ok());
                let structured = result.structured.as_ref().and_then(|it| it.to_value_lossy().ok());
                self.result(
                    result.tool_use_id.as_str(),
                    result.is_error,
                    content.as_ref(),
                    structured.as_ref(),
                )
            }
            Event::BlockAbandoned(block) => {
                self.streamed.remove(&agent);
                block.id.as_ref().map(|id| self.failed(id.as_str())).unwrap_or_default()
            }
            Event::AgentStarted(started) if started.background => {
                self.background.insert(started.tool_use_id.as_str().to_owned());
                Vec::new()
            }
            Event::AgentProgress(progress) => match &progress.description {
                Some(description) => self.progress(progress.tool_use_id.as_str(), description),
                None => Vec::new(),
            },
            Event::AgentFinished(finished) => {
                let status = finished.status.as_deref();
                self.finished(finished.tool_use_id.as_str(), status, finished.summary.as_deref())
            }
            Event::TaskStarted(started) => {
                if started.background != Some(false)
                    && let Some(id) = &started.tool_use_id
                {
                    self.background.insert(id.as_str().to_owned());
                }
                Vec::new()
            }
            Event::TaskFinished(finished) => match &finished.tool_use_id {
                Some(id) => self.finished(
                    id.as_str(),
                    finished.status.as_deref(),
                    finished.summary.as_deref(),
                ),
                None => Vec::new(),
            },
            Event::TurnFinished(_) => {
                self.streamed.clear();
                let open = self.calls.keys().filter(|id| !self.is_in_background(id));
                let open: Vec<String> = open.cloned().collect();
                open.iter().flat_map(|id| self.failed(id)).collect()
            }
            Event::RunEnded(_) => {
                self.streamed.clear();
                self.background.clear();
                let open: Vec<String> = self.calls.keys().cloned().collect();
                open.iter().flat_map(|id| self.failed(id)).collect()
            }
            Event::Compacted(compacted) => self.compacted(compacted.error.as_deref()),
            Event::ApiRetry(retry) => {
                let attempt = retry.attempt.unwrap_or_default();
                let reason = retry.error.as_ref().map(|error| error.as_str().to_owned());
                self.notice(
                    NoticeSeverity::Warning,
                    format!("The request to the model is repeated (attempt {attempt})"),
                    reason,
                )
            }
            Event::ModelFallback(fallback) => {
                let to = fallback.to.as_deref().unwrap_or("no model");
                let title = format!("{to} answers instead of {}", fallback.from);
                self.notice(
                    NoticeSeverity::Warning,
                    title,
                    fallback.reason.as_deref().map(str::to_owned),
                )
            }
            Event::RateLimitChanged(limit)
                if limit.status.as_deref().is_some_and(|it| it != "allowed") =>
            {
                let kind = limit.kind.as_deref().unwrap_or("usage").replace('_', " ");
                let status = limit.status.as_deref().unwrap_or_default().replace('_', " ");
                self.notice(NoticeSeverity::Warning, format!("Limit: {kind}"), Some(status))
            }
            Event::Error(error) => {
                self.notice(NoticeSeverity::Error, error.message.as_str().to_owned(), None)
            }
            Event::Notice(notice) => match &notice.text {
                Some(text) => self.notice(NoticeSeverity::Info, text.as_str().to_owned(), None),
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// Whether a call runs in the background, itself or because its sub-agent does.
    fn is_in_background(&self, id: &str) -> bool {
        let mut at = Some(id);
        // A chain of sub-agents is short; a cycle must not hang.
        for _ in 0..16 {
            let Some(id) = at else { return false };
            if self.background.contains(id) {
                return true;
            }
            at = self.calls.get(id).and_then(|call| call.parent.as_deref());
        }
        false
    }

    fn notice(
        &self,
        severity: NoticeSeverity,
        title: String,
        description: Option<String>,
    ) -> Vec<SessionUpdate> {
        if !self.client.notices {
            return Vec::new();
        }
        vec![SessionUpdate::Notice(Notice::new(severity, title).description(description))]
    }

    fn compacted(&mut self, error: Option<&str>) -> Vec<SessionUpdate> {
        self.compactions += 1;
        if !self.client.compaction {
            return Vec::new();
        }
        let status =
            if error.is_some() { CompactionStatus::Failed } else { CompactionStatus::Completed };
        let id = format!("compaction-{}", self.compactions);
        let mut update = CompactionUpdate::new(id, status);
        if let Some(error) = error {
            update = update.error(error.to_owned());
        }
        vec![SessionUpdate::CompactionUpdate(update)]
    }

    /// A text of the model. A text of a sub-agent is shown in its call.
    pub(crate) fn text(
        &mut self,
        agent: Option<&str>,
        message: Option<&str>,
        text: &str,
    ) -> Vec<SessionUpdate> {
        if text.is_empty() {
            return Vec::new();
        }
        match agent {
            None => vec![SessionUpdate::AgentMessageChunk(chunk(text, message))],
            Some(call) => self.progress(call, text),
        }
    }

    pub(crate) fn thinking(
        agent: Option<&str>,
        message: Option<&str>,
        text: &str,
    ) -> Vec<SessionUpdate> {
        match agent {
            None if !text.is_empty() => {
                vec![SessionUpdate::AgentThoughtChunk(chunk(text, message))]
            }
            _ => Vec::new(),
        }
    }

    /// Shows a text as the latest progress of a call.
    fn progress(&self, id: &str, text: &str) -> Vec<SessionUpdate> {
        let is_open = self.calls.contains_key(id) || self.background.contains(id);
        if !is_open {
            return Vec::new();
        }
        let fields = ToolCallUpdateFields::new()
            .status(ToolCallStatus::InProgress)
            .content(vec![ToolCallContent::from(text)]);
        vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields))]
    }

    /// The model has begun to write a call.
    fn call_started(&mut self, agent: Option<&str>, id: &str, name: &str) -> Vec<SessionUpdate> {
        if self.calls.contains_key(id) {
            return Vec::new();
        }
        let shown = !is_plan_tool(name);
        self.remember(agent, id, name, Value::Null, shown, false);
        if !shown {
            return Vec::new();
        }
        let described = describe(name, &Value::Null, &self.cwd);
        let call = ToolCall::new(id.to_owned(), described.title)
            .kind(described.kind)
            .status(ToolCallStatus::Pending)
            .meta(call_meta(name, agent));
        vec![SessionUpdate::ToolCall(call)]
    }

    fn remember(
        &mut self,
        agent: Option<&str>,
        id: &str,
        name: &str,
        input: Value,
        shown: bool,
        complete: bool,
    ) {
        let parent = agent.map(str::to_owned);
        self.calls
            .insert(id.to_owned(), Call { name: name.to_owned(), input, parent, shown, complete });
    }

    /// A call is complete and about to run. A second time, it has no effect.
    pub(crate) fn call(
        &mut self,
        agent: Option<&str>,
        id: &str,
        name: &str,
        input: Value,
    ) -> Vec<SessionUpdate> {
        let before = self.calls.get(id).map(|call| (call.complete, call.parent.clone()));
        let (is_new, parent) = match before {
            Some((true, _)) => return Vec::new(),
            Some((false, parent)) => (false, parent),
            None => (true, agent.map(str::to_owned)),
        };
        if is_plan_tool(name) {
            let plan = self.tasks.called(name, &input);
            self.remember(parent.as_deref(), id, name, input, false, true);
            // The list of a sub-agent is not the plan of the session.
            return plan.filter(|_| agent.is_none()).map(SessionUpdate::Plan).into_iter().collect();
        }
        let described = describe(name, &input, &self.cwd);
        let mut meta = call_meta(name, parent.as_deref());
        let mut content = described.content;
        if described.kind == ToolKind::Execute && self.client.terminal_output {
            content = vec![ToolCallContent::Terminal(
                agent_client_protocol::v1::schema::Terminal::new(id.to_owned()),
            )];
            meta.insert("terminal_info".to_owned(), json!({ "terminal_id": id, "cwd": self.cwd }));
        }
        let raw = tool_calls::raw(&input);
        self.remember(parent.as_deref(), id, name, input, true, true);
        if is_new {
            let call = ToolCall::new(id.to_owned(), described.title)
                .kind(described.kind)
                .status(ToolCallStatus::InProgress)
                .content(content)
                .locations(described.locations)
                .raw_input(raw)
                .meta(meta);
            return vec![SessionUpdate::ToolCall(call)];
        }
        let fields = ToolCallUpdateFields::new()
            .title(described.title)
            .kind(described.kind)
            .status(ToolCallStatus::InProgress)
            .content(content)
            .locations(described.locations)
            .raw_input(raw);
        vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields).meta(meta))]
    }

    /// A call has returned.
    pub(crate) fn result(
        &mut self,
        id: &str,
        is_error: bool,
        content: Option<&Value>,
        structured: Option<&Value>,
    ) -> Vec<SessionUpdate> {
        let Some(call) = self.calls.remove(id) else { return Vec::new() };
        if !call.shown {
            if is_error || call.parent.is_some() {
                return Vec::new();
            }
            let text = content.map(tool_calls::text_of_content).unwrap_or_default();
            let plan = self.tasks.returned(&call.name, &call.input, &text, structured);
            return plan.map(SessionUpdate::Plan).into_iter().collect();
        }
        let is_in_background = !is_error && self.background.contains(id);
        if !is_in_background {
            self.background.remove(id);
        }
        let status = match (is_error, is_in_background) {
            (true, _) => ToolCallStatus::Failed,
            (false, true) => ToolCallStatus::InProgress,
            (false, false) => ToolCallStatus::Completed,
        };
        let Output { content, locations, terminal, exit_code } =
            tool_calls::output(&call.name, is_error, content, structured);
        let mut fields = ToolCallUpdateFields::new().status(status);
        let mut meta = call_meta(&call.name, call.parent.as_deref());
        let has_terminal = self.client.terminal_output
            && describe(&call.name, &call.input, &self.cwd).kind == ToolKind::Execute;
        match terminal.filter(|_| has_terminal) {
            Some(output) => {
                if !output.is_empty() {
                    meta.insert(
                        "terminal_output".to_owned(),
                        json!({ "terminal_id": id, "data": output }),
                    );
                }
                if status != ToolCallStatus::InProgress {
                    let exit = json!({ "terminal_id": id, "exit_code": exit_code, "signal": null });
                    meta.insert("terminal_exit".to_owned(), exit);
                }
            }
            None => fields = fields.content(content),
        }
        if !locations.is_empty() {
            fields = fields.locations(locations);
        }
        if let Some(structured) = structured.and_then(tool_calls::raw) {
            fields = fields.raw_output(structured);
        }
        vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields).meta(meta))]
    }

    /// A call will not return.
    fn failed(&mut self, id: &str) -> Vec<SessionUpdate> {
        self.background.remove(id);
        let Some(call) = self.calls.remove(id) else { return Vec::new() };
        if !call.shown {
            return Vec::new();
        }
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
        let update = ToolCallUpdate::new(id.to_owned(), fields);
        vec![SessionUpdate::ToolCallUpdate(
            update.meta(call_meta(&call.name, call.parent.as_deref())),
        )]
    }

    /// Work in the background has ended.
    fn finished(
        &mut self,
        id: &str,
        status: Option<&str>,
        summary: Option<&str>,
    ) -> Vec<SessionUpdate> {
        // A call that has not returned yet is reported by its result.
        if !self.background.remove(id) || self.calls.contains_key(id) {
            return Vec::new();
        }
        let status = match status {
            Some("failed" | "stopped" | "killed") => ToolCallStatus::Failed,
            _ => ToolCallStatus::Completed,
        };
        let mut fields = ToolCallUpdateFields::new().status(status);
        if let Some(summary) = summary {
            fields = fields.content(vec![ToolCallContent::from(fenced(summary, ""))]);
        }
        vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields))]
    }

    /// Whether a call is known.
    pub(crate) fn has_call(&self, id: &str) -> bool {
        self.calls.get(id).is_some_and(|call| call.complete)
    }
}

/// A prompt of the user, from a stored transcript.
pub(crate) fn user(content: ContentBlock, message: &str) -> SessionUpdate {
    SessionUpdate::UserMessageChunk(
        ContentChunk::new(content).message_id(Some(MessageId::new(message))),
    )
}

fn main(agent: Option<&String>, update: impl FnOnce() -> SessionUpdate) -> Vec<SessionUpdate> {
    if agent.is_some() { Vec::new() } else { vec![update()] }
}

/// What of a finished text was not streamed.
fn rest(text: &str, sent: usize) -> &str {
    text.get(sent..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue::event::{
        TaskFinishedEvent, TaskStartedEvent, TextDeltaEvent, TextEvent, ToolCallEvent,
        ToolCallStartedEvent, ToolResultEvent, TurnFinishedEvent,
    };
    use duologue_protocol::RawObject;

    use super::*;

    fn updates() -> Updates {
        Updates::new(Client::default(), PathBuf::from("/project"))
    }

    fn text_of(updates: &[SessionUpdate]) -> String {
        let mut all = String::new();
        for update in updates {
            if let SessionUpdate::AgentMessageChunk(chunk) = update
                && let ContentBlock::Text(text) = &chunk.content
            {
                all.push_str(&text.text);
            }
        }
        all
    }

    #[test]
    fn a_streamed_text_is_sent_once() {
        let mut updates = updates();
        let mut sent = updates.event(&TextDeltaEvent::new().text("Hel").into());
        sent.extend(updates.event(&TextDeltaEvent::new().text("lo").into()));
        sent.extend(updates.event(&TextEvent::new().text("Hello").into()));
        sent.extend(updates.event(&TextEvent::new().text(", you").into()));
        assert_eq!(text_of(&sent), "Hello, you");
    }

    #[test]
    fn a_call_is_announced_updated_and_finished_with_one_id() {
        let mut updates = updates();
        let started = updates.event(&ToolCallStartedEvent::new().id("t1").name("Bash").into());
        assert!(
            matches!(&started[..], [SessionUpdate::ToolCall(call)] if call.status == ToolCallStatus::Pending)
        );
        let input = RawObject::of(&json!({ "command": "ls" })).unwrap();
        let call = || ToolCallEvent::new().id("t1").name("Bash").input(input.clone()).into();
        let called = updates.event(&call());
        assert!(
            matches!(&called[..], [SessionUpdate::ToolCallUpdate(call)] if call.fields.title.as_deref() == Some("ls"))
        );
        assert!(updates.event(&call()).is_empty());
        let done = updates.event(&ToolResultEvent::new().tool_use_id("t1").into());
        assert!(
            matches!(&done[..], [SessionUpdate::ToolCallUpdate(call)] if call.fields.status == Some(ToolCallStatus::Completed))
        );
        assert!(updates.event(&TurnFinishedEvent::new().into()).is_empty());
    }

    #[test]
    fn a_call_without_a_result_has_failed_when_its_turn_ends() {
        let mut updates = updates();
        updates.call(None, "t1", "Bash", json!({}));
        let ended = updates.event(&TurnFinishedEvent::new().into());
        assert!(
            matches!(&ended[..], [SessionUpdate::ToolCallUpdate(call)] if call.fields.status == Some(ToolCallStatus::Failed))
        );
    }

    #[test]
    fn a_call_in_the_background_ends_with_its_task() {
        let mut updates = updates();
        updates.call(None, "t1", "Bash", json!({ "command": "sleep 9" }));
        updates.event(
            &TaskStartedEvent::new().tool_use_id(Some("t1".into())).background(Some(true)).into(),
        );
        let returned = updates.result("t1", false, Some(&json!("running")), None);
        assert!(
            matches!(&returned[..], [SessionUpdate::ToolCallUpdate(call)] if call.fields.status == Some(ToolCallStatus::InProgress))
        );
        assert!(updates.event(&TurnFinishedEvent::new().into()).is_empty());
        let ended = updates.event(
            &TaskFinishedEvent::new()
                .tool_use_id(Some("t1".into()))
                .status(Some("completed".into()))
                .into(),
        );
        assert!(
            matches!(&ended[..], [SessionUpdate::ToolCallUpdate(call)] if call.fields.status == Some(ToolCallStatus::Completed))
        );
    }

    #[test]
    fn what_a_sub_agent_does_is_nested_under_its_call() {
        let mut updates = updates();
        updates.call(None, "t1", "Agent", json!({ "description": "Look" }));
        let inner = updates.call(Some("t1"), "t2", "Read", json!({ "file_path": "/project/a" }));
        let [SessionUpdate::ToolCall(call)] = &inner[..] else { panic!() };
        assert_eq!(call.meta.as_ref().unwrap()["claudeCode"]["parentToolUseId"], "t1");
        let text = updates.text(Some("t1"), None, "found it");
        assert!(
            matches!(&text[..], [SessionUpdate::ToolCallUpdate(call)] if &*call.tool_call_id.0 == "t1")
        );
    }
}
