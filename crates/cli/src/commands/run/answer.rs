//! The answer on stdout.

use duologue::{Event, Message, TurnOutcome};
use duologue_protocol::{Line, visible};
use duologue_terminal::{block, print};
use tokio::io::{AsyncWriteExt as _, Stdout};

use crate::args::{Output, Run};
use crate::runtime::Interrupts;

/// How many bytes are printed to a terminal between two checks for Ctrl-C.
const PIECE: usize = 4096;

/// Stdout in the chosen format.
pub(super) struct Answer {
    out: Stdout,
    kind: Kind,
    is_terminal: bool,
    /// The part of the streamed text that was printed.
    streamed: String,
    /// Whether the last line is unfinished.
    inside_a_line: bool,
    /// Counts Ctrl-C: after the first, no more text is printed.
    interrupts: Interrupts,
    wrote: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    /// The value of --schema.
    Value,
    Result,
    Lines,
}

impl Answer {
    pub(super) fn new(args: &Run, interrupts: Interrupts) -> Self {
        let kind = match args.output() {
            Output::Text if args.schema.is_some() => Kind::Value,
            Output::Text => Kind::Text,
            Output::Json => Kind::Result,
            Output::StreamJson => Kind::Lines,
        };
        Self {
            out: print::async_stdout(),
            kind,
            is_terminal: print::out_is_terminal(),
            streamed: String::new(),
            inside_a_line: false,
            interrupts,
            wrote: false,
        }
    }

    /// Whether a terminal shows an unfinished line.
    pub(super) const fn is_inside_a_line(&self) -> bool {
        self.inside_a_line && self.is_terminal
    }

    /// Whether it prints something for this event: texts of the main agent.
    pub(super) fn takes(&self, event: &Event) -> bool {
        let is_text = match event {
            Event::TextDelta(_) => true,
            // An error text of the CLI is not an answer.
            Event::Text(text) => text.error.is_none(),
            Event::BlockAbandoned(_) => self.inside_a_line,
            _ => false,
        };
        self.kind == Kind::Text && is_text && event.agent().is_none()
    }

    pub(super) async fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::TextDelta(delta) => {
                let text = delta.text.as_str();
                self.streamed.push_str(text);
                self.write(text).await
            }
            Event::Text(text) => {
                let text = text.text.as_str();
                let streamed = std::mem::take(&mut self.streamed);
                match text.strip_prefix(streamed.as_str()) {
                    Some(rest) => self.write(rest).await?,
                    None => {
                        self.end_line().await?;
                        self.write(text).await?;
                    }
                }
                self.end_line().await
            }
            _ => {
                self.streamed.clear();
                self.end_line().await
            }
        }
    }

    /// Prints a line of the agent unchanged.
    pub(super) async fn line(&mut self, line: &Line) -> anyhow::Result<()> {
        if self.kind == Kind::Lines {
            self.data(line.raw()).await?;
            self.out.flush().await?;
        }
        Ok(())
    }

    /// Prints the end of the answer.
    pub(super) async fn finish(
        &mut self,
        outcome: &TurnOutcome,
        result: Option<&Message>,
    ) -> anyhow::Result<()> {
        match self.kind {
            Kind::Text => {
                self.end_line().await?;
                // The output of a command or a hook is not in a message.
                if !self.wrote && outcome.is_success() && !outcome.text().is_empty() {
                    self.write(outcome.text()).await?;
                    self.end_line().await?;
                }
            }
            Kind::Value => {
                if let Some(value) = outcome.structured_output() {
                    self.data(value.as_json().as_bytes()).await?;
                }
            }
            Kind::Result => {
                if let Some(result) = result {
                    self.data(result.line.raw()).await?;
                }
            }
            Kind::Lines => {}
        }
        self.out.flush().await?;
        Ok(())
    }

    async fn write(&mut self, text: &str) -> anyhow::Result<()> {
        let Some(last) = text.chars().next_back() else { return Ok(()) };
        if !self.is_terminal {
            self.inside_a_line = last != '\n';
            self.bytes(text.as_bytes()).await?;
            self.out.flush().await?;
            return Ok(());
        }
        // A terminal may be slow, and Ctrl-C must stop the output soon.
        for piece in block(text).pieces(PIECE) {
            if self.interrupts.count() > 0 {
                break;
            }
            self.inside_a_line = !piece.as_str().ends_with('\n');
            self.bytes(piece.as_str().as_bytes()).await?;
            self.out.flush().await?;
        }
        Ok(())
    }

    async fn end_line(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.inside_a_line) {
            self.bytes(b"\n").await?;
            self.out.flush().await?;
        }
        Ok(())
    }

    /// Prints a line of JSON. On a terminal, its control characters are escaped.
    async fn data(&mut self, line: &[u8]) -> anyhow::Result<()> {
        if self.is_terminal {
            let text = String::from_utf8_lossy(line);
            self.bytes(visible::json(&text).as_bytes()).await?;
        } else {
            self.bytes(line).await?;
        }
        self.bytes(b"\n").await
    }

    async fn bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.wrote = true;
        self.out.write_all(bytes).await?;
        Ok(())
    }
}
