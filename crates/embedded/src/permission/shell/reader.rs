//! [`Reader`]: lists of commands, redirections and here-documents.

use super::{Joint, Part, Redirect, Script, UNKNOWN, Word, assigned, is_name};

/// How deep commands may be nested in commands.
const MAX_DEPTH: usize = 40;

/// How many characters are looked at, those that are read twice included.
const FUEL: usize = 1_000_000;

/// Reads a text as bash does. It never fails: what it cannot follow makes the script opaque.
pub(super) struct Reader {
    pub(super) characters: Vec<char>,
    pub(super) at: usize,
    pub(super) depth: usize,
    fuel: usize,
    pub(super) commands: Vec<Part>,
    plain: bool,
    opaque: bool,
    /// Whether the last operator still needs a command.
    unfinished: bool,
    documents: Vec<Document>,
    bodies: Vec<String>,
}

/// A here-document that begins after the next line break.
struct Document {
    end: String,
    quoted: bool,
    tabs: bool,
    body: usize,
}

/// Where a list of commands ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    Text,
    Paren,
    Case,
}

impl Reader {
    pub(super) fn new(text: &str) -> Self {
        Self {
            characters: text.chars().collect(),
            at: 0,
            depth: 0,
            fuel: FUEL,
            commands: Vec::new(),
            plain: !text.contains(UNKNOWN),
            opaque: false,
            unfinished: false,
            documents: Vec::new(),
            bodies: Vec::new(),
        }
    }

    pub(super) fn script(mut self) -> Script {
        self.list(End::Text);
        self.settle();
        Script {
            plain: self.plain && !self.unfinished,
            opaque: self.opaque,
            commands: self.commands,
        }
    }

    /// Reads a text within this text, such as the one between backticks.
    pub(super) fn nested(&mut self, text: &str, read: impl FnOnce(&mut Self)) {
        let mut inner = Self::new(text);
        inner.depth = self.depth + 1;
        inner.fuel = self.fuel;
        read(&mut inner);
        inner.settle();
        self.fuel = inner.fuel;
        self.opaque |= inner.opaque;
        self.plain = false;
        self.commands.append(&mut inner.commands);
    }

    /// Gives each here-document to its command.
    fn settle(&mut self) {
        // A here-document without a line to begin on.
        self.opaque |= !self.documents.is_empty();
        for part in &mut self.commands {
            let bodies = std::mem::take(&mut part.bodies);
            part.inputs.extend(bodies.iter().filter_map(|body| self.bodies.get(*body).cloned()));
        }
    }

    /// The next character; none at the end, or if the text is too much work.
    pub(super) fn peek(&mut self) -> Option<char> {
        match self.fuel.checked_sub(1) {
            Some(fuel) => self.fuel = fuel,
            None => self.opaque = true,
        }
        if self.fuel == 0 {
            return None;
        }
        self.characters.get(self.at).copied()
    }

    pub(super) fn ahead(&self, by: usize) -> Option<char> {
        self.characters.get(self.at + by).copied()
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(by, character)| self.ahead(by) == Some(character))
    }

    /// More than plain commands with plain words.
    pub(super) fn not_plain(&mut self) {
        self.plain = false;
    }

    /// Bash may see something else.
    pub(super) fn opaque(&mut self) {
        self.plain = false;
        self.opaque = true;
    }

    /// Reads commands up to an end. Returns whether `esac` was that end.
    pub(super) fn list(&mut self, end: End) -> bool {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.opaque();
            self.at = self.characters.len();
        }
        let by_esac = self.commands_until(end);
        self.depth -= 1;
        by_esac
    }

    fn commands_until(&mut self, end: End) -> bool {
        let mut part = Part::default();
        loop {
            let Some(character) = self.peek() else {
                self.finish(&mut part, None);
                if end != End::Text {
                    self.opaque();
                }
                return false;
            };
            match character {
                ' ' | '\t' => self.at += 1,
                '\\' if self.ahead(1) == Some('\n') => {
                    self.at += 2;
                    self.not_plain();
                }
                '\n' => {
                    self.at += 1;
                    self.finish(&mut part, Some(Joint::Other));
                    self.documents();
                }
                '#' => self.comment(),
                ';' if self.starts_with(";;") || self.starts_with(";&") => {
                    self.at += if self.starts_with(";;&") { 3 } else { 2 };
                    self.finish(&mut part, Some(Joint::Other));
                    if end == End::Case {
                        return false;
                    }
                    self.opaque();
                }
                ';' => {
                    self.at += 1;
                    if !self.finish(&mut part, Some(Joint::Other)) {
                        self.not_plain();
                    }
                }
                '&' if self.starts_with("&>") => self.redirect(&mut part),
                '&' | '|' => self.operator(&mut part),
                '(' => self.paren(&mut part),
                ')' => {
                    self.at += 1;
                    self.finish(&mut part, Some(Joint::Other));
                    if end == End::Paren {
                        return false;
                    }
                    self.opaque();
                }
                '<' | '>' if self.ahead(1) != Some('(') => self.redirect(&mut part),
                _ => {
                    if self.word_of(&mut part) {
                        self.finish(&mut part, Some(Joint::Other));
                        if end == End::Case {
                            return true;
                        }
                        self.opaque();
                    }
                }
            }
        }
    }

    pub(super) fn comment(&mut self) {
        self.not_plain();
        while self.peek().is_some_and(|character| character != '\n') {
            self.at += 1;
        }
    }

    fn operator(&mut self, part: &mut Part) {
        let (length, then) = if self.starts_with("&&") {
            (2, Joint::And)
        } else if self.starts_with("||") {
            (2, Joint::Other)
        } else if self.starts_with("|") {
            (if self.starts_with("|&") { 2 } else { 1 }, Joint::Pipe)
        } else {
            // In the background.
            self.not_plain();
            (1, Joint::Other)
        };
        self.at += length;
        if !self.finish(part, Some(then)) {
            self.not_plain();
        }
        self.unfinished = true;
    }

    /// Ends a command. False if there is none.
    fn finish(&mut self, part: &mut Part, then: Option<Joint>) -> bool {
        if part.is_empty() {
            return false;
        }
        let mut part = std::mem::take(part);
        if part.words.is_empty() && part.assignments.is_empty() {
            self.not_plain();
        }
        part.then = then;
        self.unfinished = false;
        self.commands.push(part);
        true
    }

    /// Reads a word of a command. True if it is `esac`.
    fn word_of(&mut self, part: &mut Part) -> bool {
        let begins = part.is_empty();
        let word = self.word();
        let before_redirect =
            matches!(self.ahead(0), Some('<' | '>')) && self.ahead(1) != Some('(');
        if before_redirect && is_descriptor(&word.raw) {
            if word.raw.starts_with('{') {
                self.not_plain();
            }
            return false;
        }
        if begins && self.reserved(&word.raw, part) {
            return word.raw == "esac";
        }
        match assigned(&word.raw).filter(|_| part.words.is_empty()) {
            Some(name) => part.assignments.push((name.to_owned(), word)),
            None => part.words.push(word),
        }
        false
    }

    pub(super) fn redirect(&mut self, part: &mut Part) {
        if self.starts_with("<<<") {
            self.at += 3;
            self.not_plain();
            let word = self.target();
            part.inputs.push(word.value);
            return;
        }
        if self.starts_with("<<") {
            self.document(part);
            return;
        }
        let (length, writes, plain) = if self.starts_with("&>>") {
            (3, true, true)
        } else if ["&>", ">>", ">|", ">&"].iter().any(|operator| self.starts_with(operator)) {
            (2, true, true)
        } else if self.starts_with("<>") {
            (2, true, false)
        } else if self.starts_with("<&") {
            (2, false, false)
        } else {
            (1, self.starts_with(">"), true)
        };
        let duplicates = self.starts_with(">&") || self.starts_with("<&");
        self.at += length;
        if !plain {
            self.not_plain();
        }
        let target = self.target();
        if target.raw.is_empty() {
            self.opaque();
            return;
        }
        let digits = target.raw.trim_end_matches('-');
        if duplicates && digits.chars().all(|c| c.is_ascii_digit()) {
            if digits.len() != target.raw.len() {
                self.not_plain();
            }
            return;
        }
        part.redirects.push(Redirect { writes, target });
    }

    /// The word after a redirection.
    fn target(&mut self) -> Word {
        while let Some(character) = self.peek() {
            if character == '\\' && self.ahead(1) == Some('\n') {
                self.at += 2;
                self.not_plain();
            } else if character == ' ' || character == '\t' {
                self.at += 1;
            } else {
                break;
            }
        }
        self.word()
    }

    fn document(&mut self, part: &mut Part) {
        self.not_plain();
        self.at += 2;
        let tabs = self.ahead(0) == Some('-');
        if tabs {
            self.at += 1;
        }
        let word = self.target();
        if word.raw.is_empty() || word.raw.contains(['$', '`', '\n', '<', '>']) {
            self.opaque();
            return;
        }
        let quoted = word.raw.contains(['\'', '"', '\\']);
        let body = self.bodies.len();
        self.bodies.push(String::new());
        part.bodies.push(body);
        self.documents.push(Document { end: word.value, quoted, tabs, body });
    }

    /// The here-documents that begin here.
    fn documents(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            loop {
                if self.peek().is_none() {
                    self.opaque();
                    break;
                }
                let line = self.body_line(!document.quoted);
                let line =
                    if document.tabs { line.trim_start_matches('\t') } else { line.as_str() };
                if line == document.end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if !document.quoted {
                self.nested(&body, Self::expansions);
            }
            if let Some(place) = self.bodies.get_mut(document.body) {
                *place = body;
            }
        }
    }

    /// A line of a here-document. Without quotes, a backslash joins it to the next.
    fn body_line(&mut self, joins: bool) -> String {
        let mut line = String::new();
        while let Some(character) = self.peek() {
            self.at += 1;
            match character {
                '\n' => break,
                '\\' if joins && self.ahead(0) == Some('\n') => self.at += 1,
                '\\' if joins => {
                    line.push('\\');
                    line.extend(self.ahead(0));
                    self.at += 1;
                }
                other => line.push(other),
            }
        }
        line
    }
}

/// `2` in `2>` and `{name}` in `{name}>` are descriptors, not words.
fn is_descriptor(raw: &str) -> bool {
    let named = raw.strip_prefix('{').and_then(|raw| raw.strip_suffix('}'));
    named.map_or_else(|| raw.chars().all(|c| c.is_ascii_digit()), is_name)
}
