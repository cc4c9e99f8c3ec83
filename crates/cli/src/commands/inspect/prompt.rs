//! [`TextPrompt`]: the prompt of `claude -p`, which is not a line of the wire.

use std::path::Path;

use duologue_agent::command_line::text_prompt;
use duologue_protocol::transcript::PromptQueuedEvent;
use duologue_protocol::{Line, Text};
use duologue_tape::Header;

/// The most bytes of a prompt on stdin that are kept.
const MOST: usize = 1024 * 1024;

/// A prompt on the command line, on stdin, or on both.
#[derive(Debug, Default)]
pub(super) struct TextPrompt {
    argument: Option<String>,
    stdin: Option<String>,
}

impl TextPrompt {
    /// Reads the command line of a tape. Without one, all prompts are lines of the wire.
    pub(super) fn of(header: Option<&Header>) -> Self {
        let Some(header) = header else { return Self::default() };
        let mut words = header.argv.iter().skip(1).peekable();
        // An agent may be started by another program: `node cli.js -p`, `duologue agent -p`.
        while words.next_if(|word| is_program(word)).is_some() {}
        match text_prompt(words.cloned()) {
            Some(prompt) => {
                let argument = Some(prompt).filter(|prompt| !prompt.is_empty());
                Self { argument, stdin: Some(String::new()) }
            }
            None => Self::default(),
        }
    }

    pub(super) fn on_command_line(&self) -> Option<&str> {
        self.argument.as_deref()
    }

    /// Whether stdin is text.
    pub(super) const fn is_on_stdin(&self) -> bool {
        self.stdin.is_some()
    }

    /// Adds a line of stdin.
    pub(super) fn add(&mut self, line: &Line) {
        let Some(text) = &mut self.stdin else { return };
        if text.len() < MOST {
            text.push_str(&String::from_utf8_lossy(line.raw()));
            text.push('\n');
        }
    }

    /// The text of stdin so far.
    pub(super) fn take(&mut self) -> Option<PromptQueuedEvent> {
        let text = self.stdin.as_mut().map(std::mem::take).unwrap_or_default();
        (!text.trim().is_empty()).then(|| PromptQueuedEvent::new().text(Text::from(text)))
    }
}

/// Whether this word of a command line names a program, not a prompt.
fn is_program(word: &str) -> bool {
    let path = Path::new(word);
    let is_script = path
        .extension()
        .is_some_and(|end| ["js", "mjs", "cjs", "ts"].iter().any(|name| end == *name));
    is_script || path.file_name().is_some_and(|name| name == "claude" || name == "agent")
}
