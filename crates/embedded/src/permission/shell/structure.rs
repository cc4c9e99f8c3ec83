//! The structure around simple commands: groups, loops, functions, conditions.

use super::reader::{End, Reader};
use super::{Part, Word, is_name};

impl Reader {
    /// Handles a reserved word at the beginning of a command. False if it is not one.
    pub(super) fn reserved(&mut self, word: &str, part: &mut Part) -> bool {
        match word {
            "if" | "then" | "else" | "elif" | "fi" | "while" | "until" | "do" | "done" | "esac"
            | "{" | "}" | "!" => {}
            "time" => self.skip_options(),
            "for" | "select" => self.for_loop(part),
            "case" => self.case(),
            "function" => self.function(),
            "coproc" => self.coprocess(),
            "[[" => self.condition(part),
            _ => return false,
        }
        self.not_plain();
        true
    }

    /// Blanks, and line breaks if wanted.
    fn skip_blanks(&mut self, lines: bool) {
        while let Some(character) = self.peek() {
            match character {
                ' ' | '\t' => self.at += 1,
                '\\' if self.ahead(1) == Some('\n') => self.at += 2,
                '\n' if lines => self.at += 1,
                '#' if lines => self.comment(),
                _ => break,
            }
        }
    }

    /// Options of `time`.
    fn skip_options(&mut self) {
        loop {
            self.skip_blanks(false);
            let before = self.at;
            let word = self.word();
            if word.raw != "-p" && word.raw != "--" {
                self.at = before;
                return;
            }
        }
    }

    /// `for name in words`. What follows is read as any command.
    fn for_loop(&mut self, part: &mut Part) {
        self.skip_blanks(false);
        if self.starts_with("((") {
            self.at += 2;
            if !self.arithmetic() {
                self.opaque();
            }
            return;
        }
        let name = self.word();
        if !is_name(&name.raw) {
            self.opaque();
        }
        self.skip_blanks(true);
        let before = self.at;
        if self.word().raw != "in" {
            self.at = before;
            return;
        }
        loop {
            self.skip_blanks(false);
            let before = self.at;
            let word = self.word();
            if self.at == before {
                return;
            }
            part.assignments.push((name.raw.clone(), word));
        }
    }

    fn case(&mut self) {
        self.skip_blanks(true);
        let subject = self.word();
        self.skip_blanks(true);
        if subject.raw.is_empty() || self.word().raw != "in" {
            self.opaque();
            return;
        }
        loop {
            self.skip_blanks(true);
            if self.peek().is_none() {
                self.opaque();
                return;
            }
            let before = self.at;
            if self.word().raw == "esac" {
                return;
            }
            self.at = before;
            self.patterns();
            if self.list(End::Case) {
                return;
            }
        }
    }

    /// The patterns of one case, up to their parenthesis.
    fn patterns(&mut self) {
        if self.ahead(0) == Some('(') {
            self.at += 1;
        }
        while let Some(character) = self.peek() {
            match character {
                ')' => {
                    self.at += 1;
                    return;
                }
                ' ' | '\t' | '|' => self.at += 1,
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
    }

    fn function(&mut self) {
        self.skip_blanks(false);
        self.word();
        self.skip_blanks(false);
        self.empty_parens();
    }

    /// `()`, if it is next.
    fn empty_parens(&mut self) -> bool {
        let before = self.at;
        if self.ahead(0) == Some('(') {
            self.at += 1;
            self.skip_blanks(false);
            if self.ahead(0) == Some(')') {
                self.at += 1;
                return true;
            }
        }
        self.at = before;
        false
    }

    /// A coprocess may have a name if it is more than a simple command.
    fn coprocess(&mut self) {
        self.skip_blanks(false);
        let before = self.at;
        self.word();
        self.skip_blanks(false);
        let name = self.at;
        let group = self.ahead(0) == Some('(');
        let next = self.word().raw;
        let compound =
            ["{", "[[", "if", "while", "until", "for", "select", "case"].contains(&next.as_str());
        self.at = if group || compound { name } else { before };
    }

    /// `[[ … ]]`. Its words are kept as those of a command: some of them are evaluated.
    fn condition(&mut self, part: &mut Part) {
        part.words.push(Word { raw: "[[".into(), value: "[[".into(), ..Word::default() });
        while let Some(character) = self.peek() {
            match character {
                ' ' | '\t' | '\n' | '(' | ')' | '&' | '|' => self.at += 1,
                '<' | '>' if self.ahead(1) != Some('(') => self.at += 1,
                ';' => {
                    self.opaque();
                    return;
                }
                '#' => {
                    self.opaque();
                    self.at += 1;
                }
                _ => {
                    let word = self.word();
                    if word.raw == "]]" {
                        return;
                    }
                    part.words.push(word);
                }
            }
        }
        self.opaque();
    }

    /// A subshell, an arithmetic command or the parentheses of a function.
    pub(super) fn paren(&mut self, part: &mut Part) {
        self.not_plain();
        let defines = part.words.len() == 1
            && part.assignments.is_empty()
            && part.redirects.is_empty()
            && self.empty_parens();
        if defines {
            part.words.clear();
            return;
        }
        if !part.is_empty() {
            self.opaque();
        } else if self.starts_with("((") {
            let before = self.at;
            self.at += 2;
            if self.arithmetic() {
                return;
            }
            self.at = before;
        }
        self.at += 1;
        self.list(End::Paren);
    }

    /// Reads to the `))` that ends an expression. False if a single parenthesis ends it: then it
    /// was not arithmetic.
    pub(super) fn arithmetic(&mut self) -> bool {
        let mut open = 0_usize;
        let mut scratch = Word::default();
        while let Some(character) = self.peek() {
            match character {
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                ')' => {
                    let ends = self.ahead(1) == Some(')');
                    if ends {
                        self.at += 2;
                    }
                    return ends;
                }
                // Versions of bash differ in what these quote here.
                '\'' | '"' | '\\' => self.opaque(),
                _ if self.stretch(&mut scratch, false) => continue,
                _ => {}
            }
            self.at += 1;
        }
        self.opaque();
        true
    }
}
