//! What a command line does, as far as that can be told for certain.
//!
//! [`parse`] knows simple commands with plain words, joined by `;`, `&&`, `||` and `|`. Whatever
//! else a shell can do makes a command unclear, and what is unclear is asked. It errs to that side.

/// One simple command of a command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// The command and its arguments.
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    /// Whether variables are set for it.
    pub(super) assigns: bool,
    /// What joins it to the next.
    pub(super) then: Option<Joint>,
}

/// A word: as it was written, and what it says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Word {
    pub(super) raw: String,
    pub(super) value: String,
    /// Whether the shell would expand it to names of files.
    pub(super) globs: bool,
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
    Other,
}

/// Why it cannot be told what a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unclear {
    /// It runs commands to find out what to run.
    Substitution,
    /// It has variables.
    Variable,
    /// Loops, groups, background jobs, here-documents, comments…
    Structure,
}

/// Words that are no commands.
const RESERVED: [&str; 24] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "function", "select", "time", "coproc", "in", "[[", "]]", "!", "{", "}", ".", "source",
];

impl Part {
    /// The command without its redirections, one space between words.
    pub(super) fn text(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|word| word.raw.as_str()).collect();
        words.join(" ")
    }

    /// The command itself.
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", |word| &word.value)
    }
}

/// The simple commands of a command line.
pub(super) fn parse(command: &str) -> Result<Vec<Part>, Unclear> {
    let lexer = Lexer {
        rest: command,
        word: None,
        part: Part::default(),
        parts: Vec::new(),
        unfinished: false,
    };
    lexer.run().ok_or_else(|| why(command))
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

struct Lexer<'a> {
    rest: &'a str,
    word: Option<Word>,
    part: Part,
    parts: Vec<Part>,
    /// Whether the last operator still wants a command.
    unfinished: bool,
}

impl Lexer<'_> {
    /// `None` as soon as anything is unclear.
    fn run(mut self) -> Option<Vec<Part>> {
        while let Some(character) = self.rest.chars().next() {
            match character {
                ' ' | '\t' => {
                    self.skip(1);
                    self.end_word()?;
                }
                '\n' | ';' => {
                    self.skip(1);
                    if self.rest.starts_with(';') {
                        return None;
                    }
                    self.end_part(Joint::Other)?;
                }
                '&' if self.rest.starts_with("&&") => {
                    self.skip(2);
                    self.end_part_with_operator(Joint::And)?;
                }
                '&' if self.rest.starts_with("&>") => {
                    self.end_word()?;
                    self.skip(if self.rest.starts_with("&>>") { 3 } else { 2 });
                    self.redirect(true)?;
                }
                '|' => {
                    let long = self.rest.starts_with("||") || self.rest.starts_with("|&");
                    self.skip(if long { 2 } else { 1 });
                    self.end_part_with_operator(Joint::Other)?;
                }
                '<' => {
                    self.end_descriptor()?;
                    self.skip(1);
                    if self.rest.starts_with(['<', '>', '&', '(']) {
                        return None;
                    }
                    self.redirect(false)?;
                }
                '>' => {
                    self.end_descriptor()?;
                    self.skip(1);
                    self.output()?;
                }
                _ => self.character()?,
            }
        }
        self.end_word()?;
        if self.part != Part::default() {
            self.finish_part(None)?;
        }
        (!self.parts.is_empty() && !self.unfinished).then_some(self.parts)
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// One character of a word, or one quoted stretch.
    fn character(&mut self) -> Option<()> {
        let character = self.rest.chars().next()?;
        let starts = self.word.is_none();
        match character {
            '\'' => {
                let end = self.rest.get(1..)?.find('\'')? + 1;
                let (raw, value) = (&self.rest[..=end], &self.rest[1..end]);
                let word = self.word.get_or_insert_default();
                word.raw.push_str(raw);
                word.value.push_str(value);
                self.rest = &self.rest[end + 1..];
                return Some(());
            }
            '"' => return self.double_quoted(),
            '\\' => {
                let next = self.rest.chars().nth(1).filter(|next| !next.is_control())?;
                let word = self.word.get_or_insert_default();
                word.raw.extend(['\\', next]);
                word.value.push(next);
                self.skip(1 + next.len_utf8());
                return Some(());
            }
            '$' | '`' | '(' | ')' | '{' | '}' => return None,
            '&' => return None,
            '#' | '~' if starts && !self.plain_home(character) => return None,
            control if control.is_control() => return None,
            _ => {}
        }
        let word = self.word.get_or_insert_default();
        word.globs |= matches!(character, '*' | '?' | '[');
        word.raw.push(character);
        word.value.push(character);
        self.skip(character.len_utf8());
        Some(())
    }

    /// Whether a word begins with `~` alone or `~/`: not with somebody else's home, and not with a
    /// comment.
    fn plain_home(&self, character: char) -> bool {
        let next = self.rest.chars().nth(1);
        character == '~' && next.is_none_or(|next| "/ \t\n;|".contains(next))
    }

    fn double_quoted(&mut self) -> Option<()> {
        let mut characters = self.rest.char_indices().skip(1);
        let mut value = String::new();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    let word = self.word.get_or_insert_default();
                    word.raw.push_str(&self.rest[..=at]);
                    word.value.push_str(&value);
                    self.rest = &self.rest[at + 1..];
                    return Some(());
                }
                '$' | '`' => return None,
                '\\' => match characters.next()?.1 {
                    '\n' => return None,
                    escaped @ ('$' | '`' | '"' | '\\') => value.push(escaped),
                    other => value.extend(['\\', other]),
                },
                other => value.push(other),
            }
        }
        None
    }

    /// What follows `>`.
    fn output(&mut self) -> Option<()> {
        if self.rest.starts_with('(') {
            return None;
        }
        if let Some(rest) = self.rest.strip_prefix('&') {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let end = &rest[digits..];
            if digits > 0 && (end.is_empty() || end.starts_with([' ', '\t', '\n', ';', '|', '&'])) {
                self.rest = end;
                return Some(());
            }
            self.rest = rest;
        } else if self.rest.starts_with(['>', '|']) {
            self.skip(1);
        }
        self.redirect(true)
    }

    /// The word after a redirection.
    fn redirect(&mut self, writes: bool) -> Option<()> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        while self.rest.chars().next().is_some_and(|next| !" \t\n;|<>&".contains(next)) {
            self.character()?;
        }
        let target = self.word.take().filter(|word| !word.value.is_empty())?;
        self.part.redirects.push(Redirect { writes, target });
        Some(())
    }

    /// `2` in `2>` is no word but a descriptor.
    fn end_descriptor(&mut self) -> Option<()> {
        let digits = |word: &Word| word.raw.chars().all(|c| c.is_ascii_digit());
        if self.word.as_ref().is_some_and(digits) {
            self.word = None;
            return Some(());
        }
        self.end_word()
    }

    fn end_word(&mut self) -> Option<()> {
        let Some(word) = self.word.take() else { return Some(()) };
        if self.part.words.is_empty() {
            if is_assignment(&word.raw) {
                self.part.assigns = true;
            } else if RESERVED.contains(&word.value.as_str()) || word.globs {
                return None;
            }
        }
        self.part.words.push(word);
        Some(())
    }

    fn end_part(&mut self, then: Joint) -> Option<()> {
        self.end_word()?;
        // An empty line.
        if self.part == Part::default() {
            return Some(());
        }
        self.finish_part(Some(then))
    }

    fn end_part_with_operator(&mut self, then: Joint) -> Option<()> {
        self.end_word()?;
        self.finish_part(Some(then))?;
        self.unfinished = true;
        Some(())
    }

    fn finish_part(&mut self, then: Option<Joint>) -> Option<()> {
        let mut part = std::mem::take(&mut self.part);
        if part.words.is_empty() {
            return None;
        }
        part.then = then;
        self.unfinished = false;
        self.parts.push(part);
        Some(())
    }
}

/// Whether a word sets a variable.
pub(super) fn is_assignment(word: &str) -> bool {
    let name = word.split(['=', '+', '[']).next().unwrap_or_default();
    let rest = &word[name.len()..];
    let mut characters = name.chars();
    let named = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    named && (rest.starts_with('=') || rest.starts_with("+=") || rest.starts_with('['))
}
