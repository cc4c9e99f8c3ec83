//! Completion of commands with Tab, and lines that continue after a backslash.

use std::borrow::Cow;

use duologue_protocol::control::InitializeReply;
use duologue_terminal::line;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use crate::commands::{COMMANDS, MODES};

/// The most columns of a command's description.
const ABOUT: usize = 60;

pub(super) struct LineHelper {
    /// Commands with their slash, and their descriptions.
    commands: Vec<(String, String)>,
    models: Vec<String>,
    pub(super) colours: bool,
}

impl LineHelper {
    pub(super) fn new(handshake: Option<&InitializeReply>, colours: bool) -> Self {
        let mut commands: Vec<(String, String)> = COMMANDS
            .iter()
            .map(|(name, about)| ((*name).to_owned(), (*about).to_owned()))
            .collect();
        let theirs = handshake.map_or(&[][..], |reply| reply.commands.items());
        for command in theirs {
            let about = command.description.as_str().unwrap_or_default();
            let names = command.aliases.items().iter().map(|alias| alias.as_str());
            for name in command.name.as_str().into_iter().chain(names) {
                let name = format!("/{name}");
                // Our commands have priority.
                if line(&name).as_str() == name && !commands.iter().any(|(known, _)| *known == name)
                {
                    commands.push((name, about.to_owned()));
                }
            }
        }
        commands.sort();
        let models = handshake.map_or(&[][..], |reply| reply.models.items());
        let models = models.iter().filter_map(|model| model.value.as_str().map(str::to_owned));
        let models = models.filter(|name| line(name).as_str() == name);
        Self { commands, models: models.collect(), colours }
    }

    /// The start of the word to complete, and its completions.
    fn candidates(&self, line: &str) -> (usize, Vec<Pair>) {
        let plain = |words: Vec<&str>| -> Vec<Pair> {
            words
                .into_iter()
                .map(|word| Pair { display: word.to_owned(), replacement: word.to_owned() })
                .collect()
        };
        if let Some(rest) = line.strip_prefix("/model ") {
            let fits = self.models.iter().map(String::as_str).filter(|name| name.starts_with(rest));
            return (line.len() - rest.len(), plain(fits.collect()));
        }
        if let Some(rest) = line.strip_prefix("/mode ") {
            let fits = MODES.into_iter().filter(|name| name.starts_with(rest));
            return (line.len() - rest.len(), plain(fits.collect()));
        }
        if !line.starts_with('/') || line.contains(char::is_whitespace) {
            return (line.len(), Vec::new());
        }
        let fits = self.commands.iter().filter(|(name, _)| name.starts_with(line));
        let pairs =
            fits.map(|(name, _)| Pair { display: name.clone(), replacement: format!("{name} ") });
        (0, pairs.collect())
    }

    fn about(&self, typed: &str) -> Option<String> {
        let (_, about) = self.commands.iter().find(|(name, _)| name == typed.trim_end())?;
        Some(format!("  {}", line(about.lines().next()?).cut(ABOUT)))
    }
}

impl Helper for LineHelper {}

impl Completer for LineHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        Ok(self.candidates(line.get(..pos).unwrap_or(line)))
    }
}

impl Hinter for LineHelper {
    type Hint = About;

    fn hint(&self, line: &str, pos: usize, _: &Context<'_>) -> Option<About> {
        (pos == line.len()).then(|| self.about(line)).flatten().map(About)
    }
}

/// The description of a command, shown after it. It is not a completion.
#[derive(Debug)]
pub(super) struct About(String);

impl rustyline::hint::Hint for About {
    fn display(&self) -> &str {
        &self.0
    }

    fn completion(&self) -> Option<&str> {
        None
    }
}

impl Highlighter for LineHelper {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        if self.colours {
            Cow::Owned(line(prompt).cyan().bold().to_string())
        } else {
            Cow::Borrowed(prompt)
        }
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        if self.colours { Cow::Owned(line(hint).dimmed().to_string()) } else { Cow::Borrowed(hint) }
    }
}

impl Validator for LineHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if continues(context.input()) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

/// Whether the text continues on the next line. Two backslashes are an escaped backslash.
fn continues(text: &str) -> bool {
    let slashes = text.chars().rev().take_while(|character| *character == '\\').count();
    slashes % 2 == 1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue_protocol::Wire as _;

    use super::*;

    fn typing() -> LineHelper {
        let json = r#"{"commands":[{"name":"compact","description":"Make it short","aliases":["comp"]},
            {"name":"model","description":"theirs"}],
            "models":[{"value":"opus"},{"value":"sonnet"}]}"#;
        LineHelper::new(Some(&InitializeReply::from_json(json).unwrap()), false)
    }

    fn completed(line: &str) -> (usize, Vec<String>) {
        let (at, pairs) = typing().candidates(line);
        (at, pairs.into_iter().map(|pair| pair.replacement).collect())
    }

    #[test]
    fn tab_completes() {
        assert_eq!(completed("/comp"), (0, vec!["/comp ".to_owned(), "/compact ".to_owned()]));
        assert_eq!(completed("/mod").1, ["/mode ", "/model "]);
        assert_eq!(completed("/model o"), (7, vec!["opus".to_owned()]));
        assert_eq!(completed("/mode p"), (6, vec!["plan".to_owned()]));
        assert!(completed("hello /c").1.is_empty());
        assert!(completed("/compact ").1.is_empty());
        assert_eq!(typing().about("/compact").unwrap(), "  Make it short");
    }

    #[test]
    fn a_backslash_continues_the_line() {
        assert!(continues("one\\"));
        assert!(!continues("one\\\\") && !continues("one") && !continues(""));
    }
}
