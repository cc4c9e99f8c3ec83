//! Words: quotes, escapes and expansions.

use super::reader::{End, Reader};
use super::{UNKNOWN, Word, assigned, is_name};

/// How deep expansions may be nested in expansions.
const MAX_DEPTH: usize = 80;

impl Reader {
    /// Reads one word. It is empty if none begins here.
    pub(super) fn word(&mut self) -> Word {
        let start = self.at;
        let mut word = Word::default();
        while let Some(character) = self.peek() {
            match character {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' => break,
                '<' | '>' if self.ahead(1) != Some('(') => break,
                '(' => {
                    let raw: String = self.since(start);
                    let sets = raw.ends_with('=') && assigned(&raw).is_some();
                    if !sets {
                        break;
                    }
                    self.array(&mut word);
                }
                '$' | '<' | '>' | '`' => {
                    let quotes = character == '$' && matches!(self.ahead(1), Some('\'' | '"'));
                    self.stretch(&mut word, false);
                    // Outside of quotes, its text may be no word at all, or several.
                    word.splits |= !quotes;
                }
                '\'' | '"' | '\\' => {
                    self.stretch(&mut word, false);
                }
                _ => self.character(&mut word, start, character),
            }
        }
        word.raw = self.since(start);
        if word.braces && !(word.raw.contains(',') || word.raw.contains("..")) {
            word.braces = false;
        }
        word.splits |= word.braces;
        word
    }

    /// What was read since this place.
    fn since(&self, start: usize) -> String {
        let end = self.at.min(self.characters.len());
        self.characters.get(start..end).unwrap_or_default().iter().collect()
    }

    fn character(&mut self, word: &mut Word, start: usize, character: char) {
        let first = self.at == start;
        match character {
            '{' | '}' => {
                word.braces = true;
                self.not_plain();
            }
            '*' | '?' => word.globs = true,
            '[' => {
                word.globs = true;
                let name: String = self.since(start);
                if is_name(&name) {
                    self.subscript();
                }
            }
            '#' if first => self.not_plain(),
            '~' if first => {
                let next = self.ahead(1);
                if !next.is_none_or(|next| "/ \t\n;|".contains(next)) {
                    self.not_plain();
                }
            }
            UNKNOWN => {
                word.variables.push(String::new());
                word.splits = true;
                self.not_plain();
            }
            control if control.is_control() => self.not_plain(),
            _ => {}
        }
        word.value.push(character);
        self.at += 1;
    }

    /// Where `name[` sets a variable, bash reads on to the `]`. Elsewhere it does not, and both ways
    /// may end at different places.
    fn subscript(&mut self) {
        let rest = self.characters.iter().skip(self.at + 1);
        let inside = rest.take_while(|character| !matches!(character, ']' | '\n'));
        let odd =
            |character: &char| character.is_whitespace() || "#;&|<>()'\"\\`".contains(*character);
        if inside.clone().any(odd) {
            self.opaque();
        }
    }

    /// `name=(…)`.
    fn array(&mut self, word: &mut Word) {
        self.not_plain();
        word.value.push(UNKNOWN);
        word.variables.push(String::new());
        word.splits = true;
        self.at += 1;
        while let Some(character) = self.peek() {
            match character {
                ')' => {
                    self.at += 1;
                    return;
                }
                ' ' | '\t' | '\n' => self.at += 1,
                '#' => self.comment(),
                _ => {
                    let before = self.at;
                    self.word();
                    if self.at == before {
                        self.opaque();
                        self.at += 1;
                    }
                }
            }
        }
        self.opaque();
    }

    /// A quoted stretch, an escaped character or an expansion, if one begins here.
    pub(super) fn stretch(&mut self, word: &mut Word, quoted: bool) -> bool {
        match self.ahead(0) {
            Some('\\') if !quoted => match self.ahead(1) {
                Some('\n') => {
                    self.not_plain();
                    self.at += 2;
                }
                Some(next) => {
                    if next.is_control() {
                        self.not_plain();
                    }
                    word.value.push(next);
                    self.at += 2;
                }
                None => {
                    self.opaque();
                    self.at += 1;
                }
            },
            Some('\'') if !quoted => {
                self.at += 1;
                loop {
                    match self.peek() {
                        Some('\'') => break,
                        Some(character) => word.value.push(character),
                        None => return self.open_quote(),
                    }
                    self.at += 1;
                }
                self.at += 1;
            }
            Some('"') if !quoted => self.double(word),
            Some('`') => self.backticks(word, quoted),
            Some('$') => self.dollar(word, quoted),
            Some('<' | '>') if !quoted && self.ahead(1) == Some('(') => {
                self.at += 2;
                self.unknown(word, "");
                self.list(End::Paren);
            }
            _ => return false,
        }
        true
    }

    fn open_quote(&mut self) -> bool {
        self.opaque();
        true
    }

    /// An expansion: its text is known when the command runs.
    fn unknown(&mut self, word: &mut Word, variable: &str) {
        self.not_plain();
        word.value.push(UNKNOWN);
        word.variables.push(variable.to_owned());
    }

    fn double(&mut self, word: &mut Word) {
        self.at += 1;
        while let Some(character) = self.peek() {
            match character {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' => {
                    match self.ahead(1) {
                        Some('\n') => self.not_plain(),
                        Some(escaped @ ('$' | '`' | '"' | '\\')) => word.value.push(escaped),
                        Some(other) => word.value.extend(['\\', other]),
                        None => {}
                    }
                    self.at += 2;
                }
                '$' | '`' => {
                    self.stretch(word, true);
                }
                other => {
                    word.value.push(other);
                    self.at += 1;
                }
            }
        }
        self.opaque();
    }

    /// The expansions of a here-document.
    pub(super) fn expansions(&mut self) {
        let mut scratch = Word::default();
        while let Some(character) = self.peek() {
            match character {
                '\\' => self.at += 2,
                '$' | '`' => {
                    self.stretch(&mut scratch, true);
                }
                _ => self.at += 1,
            }
        }
    }

    fn backticks(&mut self, word: &mut Word, quoted: bool) {
        self.unknown(word, "");
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                Some('`') => break,
                Some('\\') => {
                    self.at += 1;
                    match self.ahead(0) {
                        Some(escaped @ ('`' | '\\' | '$')) => text.push(escaped),
                        Some('"') if quoted => text.push('"'),
                        Some(other) => text.extend(['\\', other]),
                        None => {}
                    }
                }
                Some(character) => text.push(character),
                None => {
                    self.opaque();
                    break;
                }
            }
            self.at += 1;
        }
        self.at += 1;
        self.nested(&text, |inner| {
            inner.list(End::Text);
        });
    }

    fn dollar(&mut self, word: &mut Word, quoted: bool) {
        self.not_plain();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.opaque();
            self.at = self.characters.len();
        }
        match self.ahead(1) {
            Some('(') => {
                self.unknown(word, "");
                let before = self.at;
                self.at += 3;
                if self.characters.get(before + 2) != Some(&'(') || !self.arithmetic() {
                    self.at = before + 2;
                    self.list(End::Paren);
                }
            }
            Some('{') => self.braced(word, quoted),
            Some('[') => {
                self.unknown(word, "");
                self.at += 2;
                self.until(']', quoted);
            }
            Some('\'') if !quoted => self.ansi(word),
            Some('"') if !quoted => {
                self.at += 1;
                self.double(word);
            }
            Some(first) if first.is_ascii_alphabetic() || first == '_' => {
                self.at += 1;
                let mut name = String::new();
                while let Some(next) =
                    self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '_')
                {
                    name.push(next);
                    self.at += 1;
                }
                self.unknown(word, &name);
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!' | '0'..='9') => {
                self.unknown(word, "");
                self.at += 2;
            }
            _ => {
                word.value.push('$');
                self.at += 1;
            }
        }
        self.depth -= 1;
    }

    /// `${…}`.
    fn braced(&mut self, word: &mut Word, quoted: bool) {
        self.at += 2;
        let rest = self.characters.iter().skip(self.at);
        let name: String = rest.take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
        let end = self.at + name.len();
        if is_name(&name) && self.characters.get(end) == Some(&'}') {
            self.at = end + 1;
            self.unknown(word, &name);
            return;
        }
        self.unknown(word, "");
        match self.ahead(0) {
            // Newer versions of bash run what is in `${ …; }` and `${| …; }`.
            Some(' ' | '\t' | '\n' | '|') => {
                self.opaque();
                let before = self.at;
                self.at += 1;
                self.list(End::Paren);
                self.at = before;
            }
            // Prompts and indirect names are expanded again.
            Some('!') => self.opaque(),
            _ => {}
        }
        self.until('}', quoted);
    }

    /// Reads to the end of an expansion, and the expansions in it.
    fn until(&mut self, end: char, quoted: bool) {
        let mut scratch = Word::default();
        while let Some(character) = self.peek() {
            if character == end {
                self.at += 1;
                return;
            }
            match character {
                // Whether this quotes depends on the operator.
                '\'' if quoted || end == ']' => {
                    self.opaque();
                    self.at += 1;
                }
                '"' if quoted => self.double(&mut scratch),
                '\\' => self.at += 2,
                _ if self.stretch(&mut scratch, quoted) => {}
                _ => self.at += 1,
            }
        }
        self.opaque();
    }

    /// `$'…'`.
    fn ansi(&mut self, word: &mut Word) {
        self.at += 2;
        // Nothing follows a zero byte.
        let mut ended = false;
        while let Some(character) = self.peek() {
            self.at += 1;
            let decoded = match character {
                '\'' => return,
                '\\' => self.escape(),
                other => Some(other),
            };
            match decoded {
                Some('\0') | None => ended = true,
                Some(decoded) if !ended => word.value.push(decoded),
                Some(_) => {}
            }
        }
        self.opaque();
    }

    /// What follows a backslash in `$'…'`; none for a zero byte or what is not a character.
    fn escape(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += 1;
        Some(match character {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'x' if self.ahead(0) == Some('{') => {
                self.opaque();
                return None;
            }
            'x' => return self.number(16, 2, None),
            'u' => return self.number(16, 4, None),
            'U' => return self.number(16, 8, None),
            'c' => {
                let control = self.peek()?;
                self.at += 1;
                char::from_u32(control as u32 & 0x1f)?
            }
            digit @ '0'..='7' => return self.number(8, 2, digit.to_digit(8)),
            other @ ('\\' | '\'' | '"' | '?') => other,
            other => {
                self.opaque();
                other
            }
        })
    }

    fn number(&mut self, base: u32, most: usize, first: Option<u32>) -> Option<char> {
        let mut value = first.unwrap_or(0);
        for _ in 0..most {
            let Some(digit) = self.ahead(0).and_then(|next| next.to_digit(base)) else { break };
            value = value.checked_mul(base)?.checked_add(digit)?;
            self.at += 1;
        }
        // A byte that is not ASCII may be a part of a character.
        if value > 0x7f && most < 4 {
            self.opaque();
        }
        char::from_u32(value)
    }
}
