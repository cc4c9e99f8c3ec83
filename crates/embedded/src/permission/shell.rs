//! What a command line does, as bash reads it.
//!
//! [`read`] finds every simple command of a text: in lists, loops, functions, substitutions and
//! here-documents. It also reports how far the result can be trusted:
//!
//! - [`Script::parse`] succeeds only for plain commands with plain words, joined by `;`, `&&`,
//!   `||` and `|`. Allow rules and the list of harmless commands look at nothing else.
//! - [`Script::is_opaque`] is true where bash may see other commands than this reader did. Deny
//!   rules then have to assume the worst.

mod reader;
mod structure;
mod words;

/// Stands for text that is known only when the command runs. No argument can contain it.
pub(super) const UNKNOWN: char = '\0';

/// Stands for what a pattern such as `*` matches.
pub(super) const GLOB: char = '\u{1}';

/// Whether a character stands for any text.
pub(super) const fn is_wild(character: char) -> bool {
    matches!(character, UNKNOWN | GLOB)
}

/// The commands of a text.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// All simple commands, the nested ones included.
    pub(super) commands: Vec<Part>,
    plain: bool,
    opaque: bool,
}

/// One simple command of a command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// Variables that are set, with or without a command.
    pub(super) assignments: Vec<(String, Word)>,
    /// The command and its arguments.
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    /// Here-documents and here-strings.
    pub(super) inputs: Vec<String>,
    /// What joins it to the next.
    pub(super) then: Option<Joint>,
    /// Here-documents whose text is still to come.
    bodies: Vec<usize>,
}

/// A word: as it was written, and its value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Word {
    pub(super) raw: String,
    /// The text after quotes are removed. [`UNKNOWN`] stands for each expansion.
    pub(super) value: String,
    /// Whether the shell would expand it to names of files.
    pub(super) globs: bool,
    /// Whether it has braces that the shell may expand.
    pub(super) braces: bool,
    /// Whether it may become no word at all, or several.
    pub(super) splits: bool,
    /// The names of the variables in it, one for each [`UNKNOWN`]; empty for other expansions.
    pub(super) variables: Vec<String>,
}

/// Where input comes from, or output goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Redirect {
    pub(super) writes: bool,
    pub(super) target: Word,
}

/// What joins two commands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Joint {
    And,
    Pipe,
    Other,
}

/// Why it is not certain what a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unclear {
    /// It runs commands to find out what to run.
    Substitution,
    /// It has variables.
    Variable,
    /// Loops, groups, background jobs, here-documents, comments…
    Structure,
}

/// Words that are not commands of their own.
const RESERVED: [&str; 24] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "function", "select", "time", "coproc", "in", "[[", "]]", "!", "{", "}", ".", "source",
];

impl Part {
    /// The command without its redirections, one space between words.
    pub(super) fn text(&self) -> String {
        let assigned = self.assignments.iter().map(|(_, word)| word.raw.as_str());
        let words = self.words.iter().map(|word| word.raw.as_str());
        assigned.chain(words).collect::<Vec<_>>().join(" ")
    }

    /// The command itself.
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", |word| &word.value)
    }

    /// Whether variables are set for it.
    pub(super) const fn assigns(&self) -> bool {
        !self.assignments.is_empty()
    }

    const fn is_empty(&self) -> bool {
        self.assignments.is_empty()
            && self.words.is_empty()
            && self.redirects.is_empty()
            && self.inputs.is_empty()
            && self.bodies.is_empty()
    }
}

impl Script {
    /// Whether bash may see other commands than are listed here.
    pub(super) const fn is_opaque(&self) -> bool {
        self.opaque
    }

    /// The commands, if it is certain what they are.
    pub(super) fn parse(&self, command: &str) -> Result<&[Part], Unclear> {
        let simple = |part: &Part| {
            part.words.first().map_or(part.assigns(), |first| {
                !first.globs && (part.assigns() || !RESERVED.contains(&first.value.as_str()))
            })
        };
        let clear = self.plain && !self.opaque && !self.commands.is_empty();
        if clear && self.commands.iter().all(simple) {
            Ok(&self.commands)
        } else {
            Err(why(command))
        }
    }
}

/// Reads a command line.
pub(super) fn read(command: &str) -> Script {
    reader::Reader::new(command).script()
}

fn why(command: &str) -> Unclear {
    if command.contains("$(") || command.contains('`') {
        Unclear::Substitution
    } else if command.contains('$') {
        Unclear::Variable
    } else {
        Unclear::Structure
    }
}

/// Whether a word sets a variable. Its name, if so.
pub(super) fn assigned(word: &str) -> Option<&str> {
    let name = word.split(['=', '+', '[']).next().unwrap_or_default();
    let rest = &word[name.len()..];
    let sets = rest.starts_with('=') || rest.starts_with("+=") || rest.starts_with('[');
    (is_name(name) && sets).then_some(name)
}

/// Whether this can be the name of a variable.
fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
