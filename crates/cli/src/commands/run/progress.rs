//! What goes to stderr: what the agent does, one line each.

use std::time::Duration;

use console::{Term, truncate_str};
use duologue::Event;
use duologue_protocol::{Field, Text};
use indicatif::{ProgressBar, ProgressStyle};
use owo_colors::OwoColorize as _;

use crate::visible::visible;
use crate::words;

/// How wide lines are where nobody looks.
const WIDTH_OF_A_PIPE: usize = 120;

/// Stderr: a line for each tool call, and a spinner on a terminal.
pub(super) struct Progress {
    quiet: bool,
    width: usize,
    spinner: Option<ProgressBar>,
    is_stopping: bool,
}

impl Progress {
    pub(super) fn new(quiet: bool) -> Self {
        let term = Term::stderr();
        let width = match term.size_checked() {
            Some((_, columns)) if term.is_term() => usize::from(columns).max(40),
            _ => WIDTH_OF_A_PIPE,
        };
        Self { quiet, width, spinner: None, is_stopping: false }
    }

    /// The agent is at it. Only a terminal shows that.
    pub(super) fn busy(&mut self, with: &str) {
        if self.quiet || self.is_stopping {
            return;
        }
        let with = truncate_str(with, self.width.saturating_sub(4), "…").into_owned();
        match &self.spinner {
            Some(spinner) => spinner.set_message(with),
            None => self.spin(with),
        }
    }

    fn spin(&mut self, with: String) {
        let spinner = ProgressBar::new_spinner().with_message(with);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            spinner.set_style(style);
        }
        spinner.enable_steady_tick(Duration::from_millis(120));
        self.spinner = Some(spinner);
    }

    /// Makes room for something else.
    pub(super) fn hide(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }

    /// The turn was interrupted and has not ended yet.
    pub(super) fn stopping(&mut self) {
        self.is_stopping = true;
        self.hide();
        self.spin("interrupting; Ctrl-C once more ends everything at once".to_owned());
    }

    pub(super) const fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Something that is good to know.
    pub(super) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.print(&format!("{} {}", "note:".cyan().bold(), visible(text)));
        }
    }

    /// Something that the person should see to.
    pub(super) fn warn(&mut self, text: &str) {
        self.print(&format!("{} {}", "warning:".yellow().bold(), visible(text)));
    }

    /// What went wrong.
    pub(super) fn error(&mut self, text: &str) {
        self.print(&format!("{} {}", "error:".red().bold(), visible(text)));
    }

    /// A line that is not worth a word in a quiet run.
    pub(super) fn aside(&mut self, text: &str) {
        if !self.quiet {
            self.print(&visible(text).dimmed().to_string());
        }
    }

    fn print(&mut self, line: &str) {
        self.hide();
        anstream::eprintln!("{line}");
    }

    /// One line: a mark, a name, and the beginning of a text from outside.
    fn row(&mut self, event: &Event, mark: &str, name: &str, text: &str) {
        let indent = if event.agent().is_some() { "  " } else { "" };
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = visible(lines.next().unwrap_or_default()).into_owned();
        let more = if lines.next().is_some() { " …" } else { "" };
        let name = visible(name);
        let row = format!("{indent}{mark} {} {first}{more}", name.bold());
        let row = truncate_str(row.trim_end(), self.width, "…").into_owned();
        self.print(&row);
    }

    /// Tells an event, if it is worth a line. `below`: stdout shows an unfinished line.
    pub(super) fn event(&mut self, event: &Event, below: bool) {
        if self.quiet {
            return;
        }
        let tells = matches!(
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
        if tells && below {
            self.print("");
        }
        match event {
            Event::ToolCall(call) => {
                let name = call.name.as_str().unwrap_or("tool").to_owned();
                self.row(event, &"·".blue().to_string(), &name, &words::call(call));
                self.busy(&visible(&name));
            }
            Event::ToolResult(result) => {
                if result.is_error.is_true() {
                    let mark = format!("  {}", "✗".red());
                    self.row(event, &mark, "", &words::content(&result.content));
                }
                self.busy("waiting for the model");
            }
            Event::Text(text) if text.error.value().is_some() => {
                self.row(event, &"✗".red().to_string(), "", said(&text.text));
            }
            Event::Text(_) => self.busy("waiting for the model"),
            Event::Thinking(_) | Event::ThinkingDelta(_) => self.busy("thinking"),
            Event::ToolCallStarted(call) => self.busy(&visible(said(&call.name))),
            Event::AgentFinished(end) => {
                self.row(event, &"■".cyan().to_string(), said(&end.status), said(&end.summary));
            }
            Event::ApiRetry(retry) => {
                let what = format!(
                    "{} of {}: {} {}",
                    retry.attempt.as_u64().unwrap_or_default(),
                    retry.max_retries.as_u64().unwrap_or_default(),
                    retry.error.as_str().unwrap_or_default(),
                    retry.status.value().map(ToString::to_string).unwrap_or_default(),
                );
                self.row(event, &"↻".yellow().to_string(), "retry", &what);
                self.busy("waiting for the API");
            }
            Event::ModelFallback(change) => {
                let what = format!("{} → {}", said(&change.from), said(&change.to));
                self.row(event, &"↻".yellow().to_string(), "model", &what);
            }
            Event::Compacted(_) => {
                self.row(event, &"·".blue().to_string(), "compacted", "");
            }
            Event::Error(error) => {
                self.row(event, &"✗".red().to_string(), said(&error.kind), said(&error.message));
            }
            Event::MalformedLine(line) => {
                self.row(event, &"✗".red().to_string(), "malformed line", said(&line.reason));
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

fn said(field: &Field<Text>) -> &str {
    field.as_str().unwrap_or_default()
}
