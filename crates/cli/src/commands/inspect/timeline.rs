//! The timeline, as text.

use std::collections::HashMap;
use std::path::Path;

use duologue_protocol::message::ApiErrorKind;
use duologue_protocol::transcript::*;
use duologue_protocol::{Text, ToolUseId, Wire as _};
use duologue_tape::Header;
use duologue_terminal::checklist::Checklist;
use duologue_terminal::print::{self, Out};
use duologue_terminal::{Foreign, Shown, block, line, ours, shown, summary};

use super::summary::{Summary, coloured};
use super::{Moment, Printer};

/// The width of lines if stdout is not a terminal.
const WIDTH_OF_A_PIPE: usize = 120;
/// The most lines of a long text.
const FEW_LINES: usize = 6;
/// The width of the name of an event.
const NAME: usize = 10;

/// The most agents and open requests that are remembered.
const MOST_FOLLOWED: usize = 10_000;
/// The most bytes of bars before a row, one for each level of agents.
const MOST_BARS: usize = 400;

pub(super) struct Timeline {
    out: Out,
    width: usize,
    deltas: bool,
    full: bool,
    /// The sub-agents, by the call that started them.
    agents: HashMap<String, Agent>,
    /// The tool of each open request.
    asked: HashMap<String, String>,
    summary: Summary,
    checklist: Checklist,
    /// A text is being streamed, and its line is open.
    streaming: bool,
}

/// A sub-agent.
struct Agent {
    /// Its number, in order of start.
    number: usize,
    name: String,
    /// The prefix of its rows: a bar for each agent above it, and its number.
    bars: Shown,
}

impl Timeline {
    pub(super) fn new(deltas: bool, full: bool) -> Self {
        let columns = print::out_size().map(|(_, columns)| usize::from(columns).max(40));
        let width = columns.unwrap_or(WIDTH_OF_A_PIPE);
        Self {
            out: print::out(),
            width,
            deltas,
            full,
            agents: HashMap::new(),
            asked: HashMap::new(),
            summary: Summary::default(),
            checklist: Checklist::default(),
            streaming: false,
        }
    }

    /// Prints an entry: a time, a name, a text from outside with one or more lines.
    fn row<'t>(
        &mut self,
        at: &At,
        name: &Shown,
        text: impl Into<Foreign<'t>>,
    ) -> anyhow::Result<()> {
        self.print(at, name, &block(text))
    }

    /// Prints an entry with a text that is escaped already.
    fn print(&mut self, at: &At, name: &Shown, text: &Shown) -> anyhow::Result<()> {
        self.end_stream()?;
        let time = at.millis.map(summary::duration).unwrap_or_default();
        let gap = Shown::repeat(" ", NAME.saturating_sub(name.width()).max(1));
        let head = shown!("{:>8}  {}{}{}", time, at.bars.dimmed(), name, gap);
        let indent = shown!("{:8}  {}{:10}", "", at.bars.dimmed(), "");
        let room = self.width.saturating_sub(indent.width()).max(20);
        let mut lines = text.lines().map(|line| line.trim_end()).filter(|line| !line.is_empty());
        let few = if self.full { usize::MAX } else { FEW_LINES };
        let mut prefix = head;
        let mut count = 0;
        for line in lines.by_ref().take(few) {
            let line = if self.full { line } else { line.cut(room) };
            self.out.line(&shown!("{}{}", prefix, line))?;
            prefix.clone_from(&indent);
            count += 1;
        }
        if count == 0 {
            self.out.line(&prefix.trim_end())?;
        }
        let rest = lines.count();
        if rest > 0 {
            let more = shown!("… {} more {}", rest, if rest == 1 { "line" } else { "lines" });
            self.out.line(&shown!("{}{}", indent, more.dimmed()))?;
        }
        Ok(())
    }

    fn end_stream(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.streaming) {
            self.out.line(&Shown::default())?;
        }
        Ok(())
    }

    fn rule(&mut self, title: &Shown) -> anyhow::Result<()> {
        self.end_stream()?;
        let line = Shown::repeat("─", self.width.saturating_sub(title.width() + 4).min(60));
        let dashes = ours("──").dimmed();
        self.out.line(&shown!("\n{} {} {}", dashes, title.bold(), line.dimmed()))?;
        Ok(())
    }

    fn agent_name(&self, id: &ToolUseId) -> String {
        match self.agents.get(id.as_str()) {
            Some(agent) => format!("{} ({})", agent.name, agent.number),
            None => id.to_string(),
        }
    }

    fn started(&mut self, at: &At, event: &AgentStartedEvent) -> anyhow::Result<()> {
        let name = event.name.as_deref().unwrap_or("agent").to_owned();
        let number = self.agents.len() + 1;
        // Further agents are shown without bars.
        if self.agents.len() < MOST_FOLLOWED && at.bars.as_str().len() < MOST_BARS {
            let above = at.bars.as_str().chars();
            let above = above.map(|c| ours(if c == '│' { "│" } else { " " }));
            let bars = shown!("{}{}│ ", Shown::join(above, ""), number);
            self.agents
                .insert(event.tool_use_id.to_string(), Agent { number, name: name.clone(), bars });
        }
        let behind = if event.background { " in the background" } else { "" };
        let text = format!("{name} ({number}){behind}: {}", text(event.description.as_ref()));
        self.row(at, &ours("agent ▶").cyan(), &text)
    }

    fn finished(&mut self, at: &At, event: &TurnFinishedEvent) -> anyhow::Result<()> {
        self.summary.finished(event);
        let mut text = shown!("{} {}", coloured(&event.outcome, 0), summary::cost(event).dimmed());
        if let Some(millis) = event.duration_ms {
            text.push(&shown!(" · {}", summary::duration(millis)).dimmed());
        }
        if event.outcome == TurnStatus::Error
            && let Some(error) = event.error.as_deref()
        {
            text.push(&shown!("\n{}", block(error)).red());
        }
        if event.text_differs {
            text.push(&ours("\nthe result differs from the answer").yellow());
        }
        self.print(at, &ours("turn end"), &text)
    }

    fn show(&mut self, at: &At, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::TextDelta(event) => self.delta(at, "text", &event.text),
            Event::ThinkingDelta(event) => self.delta(at, "thinking", &event.text),
            Event::Text(event) => {
                let name = if event.aborted { "text ✗" } else { "text" };
                self.row(at, &ours(name).green(), &event.text)
            }
            Event::Thinking(event) => self.row(at, &ours("thinking").dimmed(), &event.text),
            Event::ToolCall(call) => {
                self.summary.called();
                let name = line(&call.name).blue().bold();
                match self.checklist.call(call) {
                    Some(items) => self.print(at, &name, &Shown::join(items, "\n")),
                    None => self.row(at, &name, summary::tool_call(call)),
                }
            }
            Event::ToolResult(result) => {
                self.checklist.result(result);
                let name = if result.is_error {
                    ours("└ error").red()
                } else {
                    ours("└ result").dimmed()
                };
                self.row(at, &name, summary::tool_result(result.content.as_ref()))
            }
            Event::Block(block) => self.row(at, &ours("block"), &block.kind),
            Event::BlockAbandoned(block) => {
                let what = format!("{} abandoned: {}", &block.kind, &block.text);
                self.row(at, &ours("✗").yellow(), &what)
            }
            Event::RunStarted(run) => {
                let what = format!(
                    "{} in {}, mode {}, session {}",
                    text(run.model.as_ref()),
                    text(run.cwd.as_ref()),
                    run.permission_mode.as_ref().map_or("unknown", |mode| mode.as_str()),
                    run.session_id.as_ref().map_or("unknown", |id| id.as_str()),
                );
                self.row(at, &ours("run"), &what)
            }
            Event::RunEnded(end) => match end.unfinished_turns.as_slice() {
                [] => Ok(()),
                turns => {
                    let turns: Vec<String> = turns.iter().map(ToString::to_string).collect();
                    let what = format!("turn {} never got a result", turns.join(", "));
                    self.row(at, &ours("end").red(), &what)
                }
            },
            Event::TurnStarted(turn) => {
                self.rule(&shown!("turn {}", turn.turn.unwrap_or_default()))
            }
            Event::TurnFinished(turn) => self.finished(at, turn),
            Event::PromptQueued(prompt) => {
                self.row(at, &ours("prompt").magenta().bold(), text(prompt.text.as_ref()))
            }
            Event::PromptAccepted(prompt) => match prompt.text.as_deref() {
                Some(text) => self.row(at, &ours("prompt").magenta().bold(), text),
                None => Ok(()),
            },
            Event::PromptMerged(_) => self.row(at, &ours("prompt"), "taken into this turn"),
            Event::PromptCancelled(prompt) => {
                self.row(at, &ours("prompt"), format!("{} {}", prompt.state, prompt.uuid))
            }
            other => self.show_rest(at, other),
        }
    }

    fn delta(&mut self, at: &At, name: &'static str, text: &str) -> anyhow::Result<()> {
        if !self.streaming {
            let time = at.millis.map(summary::duration).unwrap_or_default();
            let (bars, name) = (at.bars.dimmed(), shown!("{:<10}", name).dimmed());
            self.out.text(&shown!("{:>8}  {}{}", time, bars, name))?;
            self.streaming = true;
        }
        self.out.text(&block(text).dimmed())?;
        Ok(())
    }

    fn show_rest(&mut self, at: &At, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::PermissionAsked(ask) => {
                let tool = ask.tool_name.to_string();
                let id = ask.request_id.as_str();
                if self.asked.len() < MOST_FOLLOWED {
                    self.asked.insert(id.to_owned(), tool.clone());
                }
                let mut what = tool;
                if let Some(reason) = ask.reason.as_deref() {
                    what = format!("{what}: {reason}");
                }
                self.row(at, &ours("may I?").yellow(), &what)
            }
            Event::PermissionResolved(answer) => {
                let tool = self.asked.remove(answer.request_id.as_str());
                let mut what = format!("{} {}", answer.behavior, tool.unwrap_or_default());
                if let Some(message) = answer.message.as_deref() {
                    what = format!("{}: {message}", what.trim_end());
                }
                for update in &answer.updates {
                    what = format!("{what}\nand from now on {}", update.to_json());
                }
                if let Some(input) = &answer.changed_input {
                    what = format!("{what}\nwith {}", input.as_json());
                }
                self.row(at, &ours("└ host").yellow(), &what)
            }
            Event::PermissionWithdrawn(_) => {
                self.row(at, &ours("└ agent").yellow(), "no longer asks")
            }
            Event::PermissionDenied(denied) => {
                let what = format!("{}: {}", &denied.tool_name, text(denied.message.as_ref()));
                self.row(at, &ours("denied").red(), &what)
            }
            Event::QuestionAnswered(answer) => {
                let lines: Vec<String> = answer
                    .answers
                    .iter()
                    .map(|(question, answer)| format!("{question} → {}", answer.text()))
                    .collect();
                self.row(at, &ours("answer"), lines.join("\n"))
            }
            Event::QuestionSkipped(skip) => {
                self.row(at, &ours("skipped"), text(skip.message.as_ref()))
            }
            Event::PlanProposed(plan) => self.row(at, &ours("plan"), text(plan.plan.as_ref())),
            Event::PlanApproved(_) => self.row(at, &ours("plan"), "approved"),
            Event::PlanSentBack(plan) => {
                self.row(at, &ours("plan"), format!("sent back: {}", text(plan.message.as_ref())))
            }
            Event::PlanRejected(_) => self.row(at, &ours("plan"), "rejected"),
            Event::HookCalled(hook) => {
                let callback = hook.callback_id.as_str();
                let event = hook.hook_event.as_ref().map_or("", |event| event.as_str());
                self.row(at, &ours("hook"), format!("{event} → {callback}"))
            }
            Event::HookAnswered(hook) => match (hook.error.as_deref(), hook.output.as_ref()) {
                (Some(error), _) => self.row(at, &ours("└ error").red(), error),
                (None, Some(output)) if output.as_json() != "{}" => {
                    self.row(at, &ours("└ says"), output.as_json())
                }
                _ => Ok(()),
            },
            Event::HookRan(hook) => {
                let what = format!("{} {}", &hook.hook_name, text(hook.outcome.as_ref()));
                self.row(at, &ours("hook"), &what)
            }
            Event::McpCall(call) => {
                let what = format!(
                    "{} {} {}",
                    &call.server,
                    text(call.method.as_ref()),
                    text(call.tool.as_ref())
                );
                self.row(at, &ours("mcp"), what.trim_end())
            }
            Event::McpAnswered(answer) => match answer.error.as_deref() {
                Some(error) => self.row(at, &ours("└ error").red(), error),
                None => Ok(()),
            },
            Event::AgentStarted(started) => self.started(at, started),
            Event::AgentProgress(progress) => {
                self.row(at, &ours("agent").cyan(), text(progress.description.as_ref()))
            }
            Event::AgentFinished(end) => {
                let name = self.agent_name(&end.tool_use_id);
                let what =
                    format!("{name} {}: {}", text(end.status.as_ref()), text(end.summary.as_ref()));
                self.row(at, &ours("agent ■").cyan(), &what)
            }
            other => self.show_state(at, other),
        }
    }

    fn show_state(&mut self, at: &At, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::TaskStarted(task) => {
                self.row(at, &ours("task ▶"), text(task.description.as_ref()))
            }
            Event::TaskFinished(task) => self.row(at, &ours("task ■"), text(task.summary.as_ref())),
            Event::ControlRequested(request) => self.row(at, &ours("host asks"), &request.subtype),
            Event::ControlAnswered(answer) => match answer.error.as_deref() {
                Some(error) => self.row(at, &ours("└ error").red(), error),
                None => Ok(()),
            },
            Event::ModeChanged(change) => self.row(at, &ours("mode"), change.mode.as_str()),
            Event::Compacted(compaction) => {
                let number = |n: Option<u64>| n.map_or_else(|| ours("?"), summary::count);
                let what = match compaction.error.as_deref() {
                    Some(error) => format!("failed: {error}"),
                    None => format!(
                        "{} tokens → {}",
                        number(compaction.pre_tokens),
                        number(compaction.post_tokens)
                    ),
                };
                self.row(at, &ours("compacted"), &what)
            }
            Event::ApiRetry(retry) => {
                let what = format!(
                    "{} of {}, after {} ms: {} {}",
                    retry.attempt.unwrap_or_default(),
                    retry.max_retries.unwrap_or_default(),
                    retry.delay_ms.unwrap_or_default().round(),
                    retry.error.as_ref().map(ApiErrorKind::as_str).unwrap_or_default(),
                    retry.status.map(|status| status.to_string()).unwrap_or_default(),
                );
                self.row(at, &ours("retry").yellow(), what.trim_end())
            }
            Event::ModelFallback(change) => {
                let what = format!("{} → {}", &change.from, text(change.to.as_ref()));
                self.row(at, &ours("model").yellow(), &what)
            }
            Event::RateLimitChanged(limit) => {
                let used = limit.utilization.unwrap_or_default() * 100.0;
                let what = format!(
                    "{} {}: {used:.0} % used",
                    text(limit.kind.as_ref()),
                    text(limit.status.as_ref())
                );
                self.row(at, &ours("limit"), &what)
            }
            Event::AuthStatus(auth) => self.row(at, &ours("login"), text(auth.error.as_ref())),
            Event::Error(error) => {
                let what = format!("{}: {}", text(error.kind.as_ref()), &error.message);
                self.row(at, &ours("error").red(), &what)
            }
            Event::Notice(notice) => {
                let what = format!("{} {}", &notice.kind, text(notice.text.as_ref()));
                self.row(at, &ours("notice"), what.trim_end())
            }
            Event::Context(context) => self.row(at, &ours("context"), &context.text),
            Event::Interrupted(_) => self.row(at, &ours("✗").yellow(), "interrupted"),
            Event::ConversationReset(_) => self.rule(&ours("the conversation starts over")),
            Event::SessionChanged(change) => self.row(at, &ours("session"), change.to.as_str()),
            Event::UnknownLine(line) => {
                let what = format!("{} {}", &line.kind, text(line.subtype.as_ref()));
                self.row(at, &ours("unknown").yellow(), what.trim_end())
            }
            Event::MalformedLine(line) => self.row(at, &ours("malformed").red(), &line.reason),
            Event::LimitReached(limit) => {
                let bytes = limit.limit_bytes;
                let what = format!("more than {bytes} bytes are open: some of it is omitted");
                self.row(at, &ours("limit").yellow(), &what)
            }
            Event::Process(note) => self.row(at, &ours("process").dimmed(), &note.text),
            Event::Stderr(line) => self.row(at, &ours("stderr").dimmed(), &line.text),
            // Shown with the request, the prompt or the finished block.
            _ => Ok(()),
        }
    }
}

/// The time and the agent of an event.
struct At {
    millis: Option<u64>,
    /// The prefix of the rows of its agent.
    bars: Shown,
}

fn text(text: Option<&Text>) -> &str {
    text.map(Text::as_str).unwrap_or_default()
}

impl Printer for Timeline {
    fn begin(
        &mut self,
        path: &Path,
        header: Option<&Header>,
        prompt: Option<&str>,
    ) -> anyhow::Result<()> {
        let kind = match header {
            Some(header) => shown!(
                "a tape of {} {}",
                line(header.program.as_deref().unwrap_or("an agent")),
                line(header.version.as_deref().unwrap_or_default())
            ),
            None => ours("plain lines"),
        };
        let name = if path == Path::new("-") { ours("stdin") } else { line(path) };
        self.out.line(&shown!("{}: {}\n", name.bold(), kind.trim_end()))?;
        match prompt {
            Some(prompt) => {
                let at = At { millis: None, bars: Shown::default() };
                self.row(&at, &ours("prompt").magenta().bold(), prompt)
            }
            None => Ok(()),
        }
    }

    fn event(&mut self, at: &Moment, event: Event) -> anyhow::Result<()> {
        if event.is_delta() && !self.deltas {
            return Ok(());
        }
        let agent = event.agent().and_then(|agent| self.agents.get(agent.as_str()));
        let bars = agent.map_or_else(Shown::default, |agent| agent.bars.clone());
        self.show(&At { millis: at.millis, bars }, &event)
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        self.end_stream()?;
        self.summary.print(&mut self.out)
    }
}
