//! [`Renderer`]: turns events into text. Pure: events in, pieces out.

use std::collections::HashMap;

use duologue_protocol::Text;
use duologue_protocol::message::{ApiErrorKind, Usage};
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::transcript::*;
use duologue_terminal::checklist::Checklist;
use duologue_terminal::{Foreign, Shown, block, line, ours, print, shown, summary};

use crate::describe::tool_name;

/// Something to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A part of an answer. It may end inside a line.
    Text(Shown),
    /// A separate line.
    Line(Shown),
}

/// The kind of the last output, for the blank lines between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    Text,
    Thinking,
    Work,
}

/// A tool call without a result yet.
struct Call {
    name: Shown,
    what: Shown,
    /// It is shown as a menu.
    hidden: bool,
}

pub(super) struct Renderer {
    /// Whether to show reasoning.
    pub(super) thinking: bool,
    /// Whether to show texts while they are written, or only when they are complete.
    pub(super) streaming: bool,
    pub(super) columns: usize,
    /// The cost of all turns.
    pub(super) spent: f64,
    pub(super) model: Option<String>,
    pub(super) mode: Option<PermissionMode>,
    /// What the agent is doing, in a word or two.
    pub(super) doing: Shown,
    /// The plan of the last tool call with one.
    pub(super) plan: Foreign<'static>,
    /// How many characters were streamed in this turn.
    streamed: usize,
    cwd: String,
    last: Last,
    /// The part of the streamed block that was shown.
    in_block: bool,
    last_text: String,
    calls: HashMap<String, Call>,
    last_call: Option<String>,
    /// How deep the sub-agents are, by the call that started them.
    agents: HashMap<String, usize>,
    /// Long-running calls that the agent waits for, by task.
    waited_for: HashMap<String, String>,
    checklist: Checklist,
}

impl Renderer {
    pub(super) fn new(thinking: bool, columns: usize) -> Self {
        Self {
            thinking,
            streaming: true,
            columns,
            spent: 0.0,
            model: None,
            mode: None,
            doing: Shown::default(),
            plan: Foreign::default(),
            streamed: 0,
            cwd: String::new(),
            last: Last::Nothing,
            in_block: false,
            last_text: String::new(),
            calls: HashMap::new(),
            last_call: None,
            agents: HashMap::new(),
            waited_for: HashMap::new(),
            checklist: Checklist::default(),
        }
    }

    /// A prompt was sent.
    pub(super) fn prompted(&mut self) {
        (self.last, self.in_block, self.streamed) = (Last::Nothing, false, 0);
        self.doing = Shown::default();
    }

    /// An estimate of the tokens that were written in this turn.
    pub(super) fn tokens(&self) -> u64 {
        (self.streamed / 4) as u64
    }

    /// Renders an event.
    pub(super) fn event(&mut self, event: &Event) -> Vec<Piece> {
        let mut out = Vec::new();
        let depth =
            event.agent().map_or(0, |agent| self.agents.get(agent.as_str()).copied().unwrap_or(1));
        match event {
            Event::TextDelta(delta) => self.delta(&delta.text, depth, false, &mut out),
            Event::ThinkingDelta(delta) => self.delta(&delta.text, depth, true, &mut out),
            Event::ToolInputDelta(delta) => self.streamed += &delta.partial_json.len(),
            Event::ToolCallStarted(call) if depth == 0 => {
                self.doing = tool_name(&call.name);
            }
            Event::Text(said) => self.text(said, depth, &mut out),
            Event::Thinking(thought) => self.thought(&thought.text, depth, &mut out),
            Event::BlockAbandoned(_) => self.end_block(&mut out),
            Event::ToolCall(call) => self.call(call, depth, &mut out),
            Event::ToolResult(result) => self.result(result, depth, &mut out),
            Event::TurnFinished(turn) => self.finished(turn, &mut out),
            Event::RunStarted(run) => {
                self.cwd = text(run.cwd.as_ref()).to_owned();
                self.model = run.model.as_deref().map(str::to_owned).or(self.model.take());
                self.mode = run.permission_mode.clone().or(self.mode.take());
            }
            other => self.rest(other, depth, &mut out),
        }
        out
    }

    fn delta(&mut self, text: &str, depth: usize, thinking: bool, out: &mut Vec<Piece>) {
        self.streamed += text.chars().count();
        if depth > 0 {
            return;
        }
        self.doing = if thinking { ours("thinking") } else { Shown::default() };
        if !self.streaming || text.is_empty() || (thinking && !self.thinking) {
            return;
        }
        let kind = if thinking { Last::Thinking } else { Last::Text };
        if !self.in_block || self.last != kind {
            self.begin(kind, out);
            self.in_block = true;
        }
        let text = block(text);
        out.push(Piece::Text(if thinking { text.dimmed() } else { text }));
    }

    fn text(&mut self, said: &TextEvent, depth: usize, out: &mut Vec<Piece>) {
        let said_text = said.text.as_str();
        if depth > 0 {
            for line in Foreign::from(said_text).lines() {
                self.work(depth, &line, out);
            }
            return;
        }
        self.doing = Shown::default();
        said_text.clone_into(&mut self.last_text);
        if self.in_block && self.last == Last::Text {
            return self.end_block(out);
        }
        if said_text.trim().is_empty() {
            return;
        }
        self.begin(Last::Text, out);
        let text = block(said_text);
        let text = if said.error.is_some() { text.red() } else { text };
        out.push(Piece::Text(shown!("{}\n", text)));
    }

    fn thought(&mut self, thought: &str, depth: usize, out: &mut Vec<Piece>) {
        if depth > 0 || !self.thinking {
            return;
        }
        if self.in_block && self.last == Last::Thinking {
            return self.end_block(out);
        }
        if !thought.trim().is_empty() {
            self.begin(Last::Thinking, out);
            out.push(Piece::Text(shown!("{}\n", block(thought).dimmed())));
        }
    }

    /// Adds a blank line before another kind of output.
    fn begin(&mut self, kind: Last, out: &mut Vec<Piece>) {
        self.end_block(out);
        if self.last != Last::Nothing && (self.last != kind || kind == Last::Text) {
            out.push(Piece::Line(Shown::default()));
        }
        self.last = kind;
        self.last_call = None;
    }

    fn end_block(&mut self, out: &mut Vec<Piece>) {
        if std::mem::take(&mut self.in_block) {
            out.push(Piece::Text(ours("\n")));
        }
    }

    /// Adds a line about the agent's work, cut to the width of the terminal.
    fn work(&mut self, depth: usize, line: &Shown, out: &mut Vec<Piece>) {
        if self.last != Last::Work {
            self.begin(Last::Work, out);
        }
        let bars = Shown::repeat("│ ", depth);
        let room = self.columns.saturating_sub(2 * depth + 1).max(16);
        out.push(Piece::Line(shown!("{}{}", bars.dimmed(), line.cut(room))));
    }

    /// Adds a dimmed remark.
    fn remark<'t>(&mut self, depth: usize, text: impl Into<Foreign<'t>>, out: &mut Vec<Piece>) {
        self.work(depth, &shown!("· {}", line(text)).dimmed(), out);
    }

    fn call(&mut self, call: &ToolCallEvent, depth: usize, out: &mut Vec<Piece>) {
        let name = call.name.as_str();
        if name == "ExitPlanMode" {
            self.plan = summary::tool_call(call);
        }
        if name == "AskUserQuestion" || name == "ExitPlanMode" {
            let hidden = Call { name: line(name), what: Shown::default(), hidden: true };
            self.calls.insert(call.id.to_string(), hidden);
            return;
        }
        let what = summary::tool_call(call);
        let what = match what.raw().strip_prefix(&self.cwd) {
            Some(path) if !self.cwd.is_empty() => path.trim_start_matches('/').to_owned().into(),
            _ => what,
        };
        let list = self.checklist.call(call);
        let first = if list.is_some() { Shown::default() } else { what.first_line() };
        let name = tool_name(name);
        self.doing = shown!("{} {}", name, first);
        self.last_call = None;
        self.work(depth, &shown!("{} {} {}", ours("●").cyan(), name.bold(), first), out);
        for item in list.unwrap_or_default() {
            self.work(depth, &shown!("  {}", item), out);
        }
        self.last_call = Some(call.id.to_string());
        self.calls.insert(call.id.to_string(), Call { name, what: first, hidden: false });
    }

    fn result(&mut self, result: &ToolResultEvent, depth: usize, out: &mut Vec<Piece>) {
        let id = result.tool_use_id.as_str();
        self.checklist.result(result);
        let Some(call) = self.calls.remove(id) else { return };
        if call.hidden && !result.is_error {
            return;
        }
        self.doing = Shown::default();
        let content = summary::tool_result(result.content.as_ref());
        let content = content.raw().trim();
        let first = content.lines().next().unwrap_or_default();
        let came = if result.is_error {
            let first = first.replace("<tool_use_error>", "").replace("</tool_use_error>", "");
            let first = print::untitled(&first);
            let between = if first.is_empty() { "" } else { ": " };
            shown!("error{}{}", between, line(first)).red()
        } else {
            match content.lines().count() {
                0 => ours("ok").dimmed(),
                1 => shown!("ok: {}", line(first)).dimmed(),
                lines => shown!("ok, {} lines: {}", lines, line(first)).dimmed(),
            }
        };
        let whose = if self.last_call.as_deref() == Some(id) {
            Shown::default()
        } else {
            shown!("{} {} ", call.name, call.what.cut(24)).dimmed()
        };
        self.work(depth, &shown!("  {} {}{}", ours("└").dimmed(), whose, came), out);
    }

    fn finished(&mut self, turn: &TurnFinishedEvent, out: &mut Vec<Piece>) {
        self.end_block(out);
        self.calls.clear();
        self.doing = Shown::default();
        let cost = turn.cost_usd.unwrap_or_default();
        self.spent += cost;
        match turn.outcome {
            TurnStatus::Success => {}
            TurnStatus::Interrupted => out.push(Piece::Line(ours("✗ interrupted").yellow())),
            _ => {
                let error = turn.error.as_deref().unwrap_or("the turn failed");
                let (error, said) = (error.trim(), self.last_text.trim());
                if said.is_empty() || !error.contains(said) {
                    out.push(Piece::Line(shown!("✗ {}", block(error)).red()));
                }
            }
        }
        let mut bill = Vec::new();
        let used = |usage: &Usage| {
            summary::input_tokens(usage) + usage.output_tokens.as_u64().unwrap_or(0)
        };
        // The cost of an interrupted turn is reported as zero.
        if cost > 0.0 || turn.usage.as_ref().is_some_and(|usage| used(usage) > 0) {
            bill.push(summary::cost(turn));
        }
        if self.spent > cost {
            bill.push(shown!("total {}", summary::dollars(self.spent)));
        }
        bill.extend(turn.duration_ms.map(summary::duration));
        out.push(Piece::Line(Shown::join(bill, " · ").dimmed()));
        out.push(Piece::Line(Shown::default()));
        self.last = Last::Nothing;
        self.last_text.clear();
    }

    /// A menu was shown.
    pub(super) fn interjected(&mut self) {
        (self.last, self.in_block) = (Last::Work, false);
    }

    fn rest(&mut self, event: &Event, depth: usize, out: &mut Vec<Piece>) {
        match event {
            // The answer was shown when it was given.
            Event::QuestionAsked(ask) => {
                self.calls.remove(ask.tool_use_id.as_ref().map_or("", |id| id.as_str()));
            }
            Event::PlanProposed(ask) => {
                self.calls.remove(ask.tool_use_id.as_ref().map_or("", |id| id.as_str()));
            }
            Event::AgentStarted(agent) => {
                self.agents.insert(agent.tool_use_id.to_string(), depth + 1);
                if agent.background {
                    self.remark(depth + 1, "works in the background", out);
                }
            }
            Event::AgentProgress(agent) => self.doing = line(text(agent.description.as_ref())),
            Event::AgentFinished(agent) => {
                let status = text(agent.status.as_ref());
                if status != "completed" {
                    self.remark(depth + 1, format!("sub-agent {status}"), out);
                }
            }
            Event::TaskStarted(task) => {
                let id = task.task_id.as_str();
                // The call is on the screen already.
                if task.background == Some(false) {
                    self.waited_for
                        .insert(id.to_owned(), text(task.description.as_ref()).to_owned());
                } else {
                    let what = format!("in the background: {}", text(task.description.as_ref()));
                    self.remark(depth, what, out);
                }
            }
            Event::TaskUpdated(task) if task.background == Some(true) => {
                let id = task.task_id.as_str();
                if let Some(what) = self.waited_for.remove(id) {
                    self.remark(depth, format!("now in the background: {what}"), out);
                }
            }
            Event::TaskFinished(task) => {
                let id = task.task_id.as_str();
                if self.waited_for.remove(id).is_none() {
                    let what = format!(
                        "background {}: {}",
                        text(task.status.as_ref()),
                        text(task.summary.as_ref())
                    );
                    self.remark(depth, what.trim_end_matches([':', ' ']), out);
                }
            }
            Event::PermissionDenied(denied) => {
                let why = text(denied.reason.as_ref().or(denied.message.as_ref()));
                let what = shown!("✗ {} was not allowed: {}", line(&denied.tool_name), line(why));
                self.work(depth, &what.yellow(), out);
            }
            Event::Status(status) => self.doing = line(text(status.status.as_ref())),
            Event::ModeChanged(change) if self.mode.as_ref() != Some(&change.mode) => {
                self.mode = Some(change.mode.clone());
                let mode = change.mode.as_str();
                self.remark(depth, format!("mode {mode}"), out);
            }
            Event::Compacted(compacted) => {
                let what = match (compacted.error.as_deref(), compacted.pre_tokens) {
                    (Some(error), _) => format!("the context could not be compacted: {error}"),
                    (None, Some(before)) => {
                        format!("the context was compacted from {} tokens", summary::count(before))
                    }
                    (None, None) => "the context was compacted".to_owned(),
                };
                self.remark(depth, &what, out);
            }
            Event::ApiRetry(retry) => {
                let what = format!(
                    "API error ({}): attempt {} of {} in {}",
                    retry.error.as_ref().map(ApiErrorKind::as_str).unwrap_or("no reason given"),
                    retry.attempt.unwrap_or_default(),
                    retry.max_retries.unwrap_or_default(),
                    summary::duration(retry.delay_ms.unwrap_or_default() as u64),
                );
                self.remark(depth, &what, out);
            }
            Event::ModelFallback(change) => {
                self.model = change.to.as_deref().map(str::to_owned).or(self.model.take());
                self.remark(depth, format!("{} answers instead", text(change.to.as_ref())), out);
            }
            Event::RateLimitChanged(limit) if text(limit.status.as_ref()) != "allowed" => {
                let used = limit.utilization.unwrap_or_default() * 100.0;
                let what = format!(
                    "limit {} {}: {used:.0} % used",
                    text(limit.kind.as_ref()),
                    text(limit.status.as_ref())
                );
                self.remark(depth, &what, out);
            }
            Event::Error(error) => {
                self.work(depth, &shown!("✗ {}", line(&error.message)).red(), out);
            }
            Event::Notice(notice) if !text(notice.text.as_ref()).is_empty() => {
                self.remark(depth, untagged(text(notice.text.as_ref())), out);
            }
            Event::AuthStatus(auth) if auth.error.is_some() => {
                self.remark(depth, text(auth.error.as_ref()), out);
            }
            Event::ConversationReset(_) => self.remark(depth, "the conversation starts over", out),
            Event::MalformedLine(malformed) => {
                self.remark(
                    depth,
                    format!("a line of the agent is malformed: {}", &malformed.reason),
                    out,
                );
            }
            // Shown elsewhere, or not useful here.
            _ => {}
        }
    }
}

/// The output of a command of the agent, without its tag.
fn untagged(text: &str) -> &str {
    ["local-command-stdout", "local-command-stderr"]
        .into_iter()
        .find_map(|tag| {
            let inner = text.strip_prefix('<')?.strip_prefix(tag)?.strip_prefix('>')?;
            inner.strip_suffix('>')?.strip_suffix(tag)?.strip_suffix("</")
        })
        .unwrap_or(text)
}

fn text(text: Option<&Text>) -> &str {
    text.map(Text::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
