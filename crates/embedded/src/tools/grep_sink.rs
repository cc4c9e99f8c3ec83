//! What `Grep` does with what it finds.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

/// The longest line that is shown.
const MAX_COLUMNS: usize = 500;

/// Counts lines that match.
pub(super) struct Count {
    pub(super) lines: u64,
    first_only: bool,
}

impl Count {
    pub(super) const fn all() -> Self {
        Self { lines: 0, first_only: false }
    }

    pub(super) const fn first_only() -> Self {
        Self { lines: 0, first_only: true }
    }
}

impl Sink for Count {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> io::Result<bool> {
        self.lines += 1;
        Ok(!self.first_only)
    }
}

/// Writes lines as ripgrep does: `path:12:text`, `path-13-text` around them.
pub(super) struct Content<'a> {
    pub(super) matcher: &'a RegexMatcher,
    /// The file's name, if it is to be shown.
    pub(super) name: Option<String>,
    pub(super) numbers: bool,
    pub(super) only_matching: bool,
    pub(super) lines: &'a mut Vec<String>,
    /// How many lines there may be.
    pub(super) most: usize,
    /// Whether the next line is not the one after the last.
    pub(super) pending_break: bool,
    pub(super) wrote: bool,
}

impl Content<'_> {
    fn line(&mut self, separator: char, number: Option<u64>, text: &[u8]) -> bool {
        if self.pending_break && self.wrote {
            self.lines.push("--".to_owned());
        }
        self.pending_break = false;
        self.wrote = true;
        let mut line = String::new();
        if let Some(name) = &self.name {
            line.push_str(name);
            line.push(separator);
        }
        if let Some(number) = number.filter(|_| self.numbers) {
            line.push_str(&number.to_string());
            line.push(separator);
        }
        let text = String::from_utf8_lossy(text);
        let text = text.trim_end_matches(['\n', '\r']);
        match (text.len() > MAX_COLUMNS, separator) {
            (true, ':') => line.push_str("[Omitted long matching line]"),
            (true, _) => line.push_str("[Omitted long context line]"),
            (false, _) => line.push_str(text),
        }
        self.lines.push(line);
        self.lines.len() < self.most
    }
}

impl Sink for Content<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let mut go_on = true;
        for (index, text) in found.lines().enumerate() {
            let number = found.line_number().map(|number| number + index as u64);
            if !self.only_matching {
                go_on = self.line(':', number, text);
                continue;
            }
            let mut parts = Vec::new();
            let _ = self.matcher.find_iter(text, |part| {
                parts.push(part);
                true
            });
            for part in parts.into_iter().filter(|part| !part.is_empty()) {
                go_on = self.line(':', number, &text[part]);
            }
        }
        Ok(go_on)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.only_matching || self.line('-', around.line_number(), around.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.pending_break = true;
        Ok(true)
    }
}
