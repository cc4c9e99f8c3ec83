//! Progress on stderr: one line for each thing that the agent does.

use duologue::Event;
use duologue_protocol::Text;
use duologue_protocol::message::ApiErrorKind;
use duologue_terminal::checklist::Checklist;
use duologue_terminal::print::{self, Spinner};
use duologue_terminal::{Foreign, Shown, block, line, ours, shown, summary};

/// The width of lines if stderr is not a terminal.
const WIDTH_OF_A_PIPE: usize = 120;

/// Stderr: a line for each tool call, and a spinner on a terminal.
pub(super) struct Progress {
    quiet: bool,
    width: usize,
    spinner: Option<Spinner>,
    is_stopping: bool,
    checklist: Checklist,
    /// An error of the API. If the turn fails with it, it is printed only once.
    held: Option<String>,
}

impl Progress {
    pub(super) fn new(quiet: bool) -> Self {
        let width = print::err_columns().map_or(WIDTH_OF_A_PIPE, |columns| columns.max(40));
        Self {
            quiet,
            width,
            spinner: None,
            is_stopping: false,
            checklist: Checklist::default(),
            held: None,
        }
    }

    /// Shows a spinner with this text, on a terminal.
    pub(super) fn busy(&mut self, with: &Shown) {
        if self.quiet || self.is_stopping {
            return;
        }
        let with = with.cut(self.width.saturating_sub(4));
        match &self.spinner {
            Some(spinner) => spinner.set(&with),
            None => self.spinner = Some(Spinner::start(&with)),
        }
    }

    /// Hides the spinner.
    pub(super) fn hide(&mut self) {
        self.spinner = None;
    }

    /// Shows that the turn was interrupted and has not ended yet.
    pub(super) fn stopping(&mut self) {
        self.is_stopping = true;
        self.hide();
        let what = ours("interrupting; press Ctrl-C again to kill the agent");
        self.spinner = Some(Spinner::start(&what));
    }

    pub(super) const fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Prints a note.
    pub(super) fn note<'t>(&mut self, text: impl Into<Foreign<'t>>) {
        if !self.quiet {
            self.print(&shown!("{} {}", ours("note:").cyan().bold(), block(text)));
        }
    }

    /// Prints a warning.
    pub(super) fn warn<'t>(&mut self, text: impl Into<Foreign<'t>>) {
        self.print(&shown!("{} {}", ours("warning:").yellow().bold(), block(text)));
    }

    /// Prints an error.
    pub(super) fn error<'t>(&mut self, text: impl Into<Foreign<'t>>) {
        let text = text.into();
        if self.held.as_deref().is_some_and(|held| text.raw().contains(held)) {
            self.held = None;
        }
        self.rest();
        self.hide();
        print::titled("error:", text);
    }

    /// Prints the error that was held back.
    pub(super) fn rest(&mut self) {
        if let Some(held) = self.held.take()
            && !self.quiet
        {
            self.print(&shown!("{} {}", ours("✗").red(), line(held)).cut(self.width));
        }
    }

    /// Prints a line, unless --quiet is given.
    pub(super) fn aside(&mut self, text: &Shown) {
        if !self.quiet {
            self.print(&text.dimmed());
        }
    }

    fn print(&mut self, line: &Shown) {
        self.hide();
        print::err(line);
    }

    /// One line: a mark, a name, and the beginning of a text from outside.
    fn row<'n, 't>(
        &mut self,
        event: &Event,
        mark: &Shown,
        name: impl Into<Foreign<'n>>,
        text: impl Into<Foreign<'t>>,
    ) {
        let indent = if event.agent().is_some() { "  " } else { "" };
        let (name, first) = (line(name).bold(), text.into().first_line());
        let row = shown!("{}{} {} {}", indent, mark, name, first);
        self.print(&row.trim_end().cut(self.width));
    }

    /// Prints a line about an event, if it is worth one. `below`: the last line of stdout is unfinished.
    pub(super) fn event(&mut self, event: &Event, below: bool) {
        if self.quiet {
            return;
        }
        let has_line = matches!(
            event,
            Event::ToolCall(_)
                | Event::ToolResult(_)
                | Event::PermissionDenied(_)
                | Event::AgentFinished(_)
                | Event::ApiRetry(_)
                | Event::ModelFallback(_)
                | Event::Compacted(_)
                | Event::Error(_)
                | Event::MalformedLine(_)
        );
        if has_line && below {
            self.print(&Shown::default());
        }
        match event {
            Event::ToolCall(call) => {
                let name = call.name.as_str();
                let list = self.checklist.call(call);
                let what =
                    if list.is_some() { Foreign::default() } else { summary::tool_call(call) };
                self.row(event, &ours("·").blue(), name, &what);
                let indent = if event.agent().is_some() { "    " } else { "  " };
                for item in list.unwrap_or_default() {
                    self.print(&shown!("{}{}", indent, item).cut(self.width));
                }
                self.busy(&line(name));
            }
            Event::ToolResult(result) => {
                self.checklist.result(result);
                if result.is_error {
                    let mark = shown!("  {}", ours("✗").red());
                    self.row(event, &mark, "", summary::tool_result(result.content.as_ref()));
                }
                self.busy(&ours("waiting for the model"));
            }
            // An error of the API usually ends the turn: print it only once.
            Event::Text(text) if text.error.is_some() && event.agent().is_none() => {
                self.rest();
                self.held = Some(text.text.trim().to_owned());
            }
            Event::Text(text) if text.error.is_some() => {
                self.row(event, &ours("✗").red(), "", &text.text);
            }
            Event::Text(_) => self.busy(&ours("waiting for the model")),
            Event::Thinking(_) | Event::ThinkingDelta(_) => self.busy(&ours("thinking")),
            Event::ToolCallStarted(call) => self.busy(&line(&call.name)),
            Event::AgentFinished(end) => {
                self.row(
                    event,
                    &ours("■").cyan(),
                    said(end.status.as_ref()),
                    said(end.summary.as_ref()),
                );
            }
            Event::ApiRetry(retry) => {
                let what = format!(
                    "{} of {}: {} {}",
                    retry.attempt.unwrap_or_default(),
                    retry.max_retries.unwrap_or_default(),
                    retry.error.as_ref().map_or("", ApiErrorKind::as_str),
                    retry.status.map(|status| status.to_string()).unwrap_or_default(),
                );
                self.row(event, &ours("↻").yellow(), "retry", &what);
                self.busy(&ours("waiting for the API"));
            }
            Event::ModelFallback(change) => {
                let what = format!("{} → {}", &change.from, said(change.to.as_ref()));
                self.row(event, &ours("↻").yellow(), "model", &what);
            }
            Event::Compacted(_) => {
                self.row(event, &ours("·").blue(), "compacted", "");
            }
            Event::Error(error) => {
                self.row(event, &ours("✗").red(), said(error.kind.as_ref()), &error.message);
            }
            Event::MalformedLine(line) => {
                self.row(event, &ours("✗").red(), "malformed line", &line.reason);
            }
            _ => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.hide();
    }
}

fn said(text: Option<&Text>) -> &str {
    text.map(Text::as_str).unwrap_or_default()
}
