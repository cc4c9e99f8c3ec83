//! [`Streamed`]: joins texts that were streamed in deltas, so that they can be searched as a whole.

use std::collections::HashMap;

use serde_json::Value;

use super::claims::Edit;
use super::counts::Counts;

/// The fields of a line that hold a piece.
const NAMES: &[&str] = &["text", "partial_json", "thinking"];

/// A longer text is searched in parts, if it can be split between two words.
const LONG: usize = 1024 * 1024;

/// A longer text is always split.
const LONGEST: usize = 16 * LONG;

/// Texts that were streamed in pieces, and the replacements of those pieces.
///
/// It takes two passes: the first joins the texts, the second asks for the pieces in the same order.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    /// The number of pieces in this pass.
    seen: u64,
    open: HashMap<Key, Text>,
    /// The number of pieces in the last pass that joined texts.
    looked_at: u64,
    /// By the number of the piece.
    changed: HashMap<u64, (String, Counts)>,
    /// The piece in the current line, if its text was searched as a whole.
    now: Option<Piece>,
    /// This pass replaces pieces; it joins none.
    is_again: bool,
}

/// Whose text it is, and which.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key(String, String, u64);

#[derive(Debug, Default)]
pub(super) struct Text {
    whole: String,
    /// The number of each piece, and where it begins.
    pieces: Vec<(u64, usize)>,
}

/// A piece whose text was searched as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Same,
    Other(String),
}

/// The result for a line.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) a_piece: bool,
    /// It is the first piece of another search pass.
    pub(super) begins_again: bool,
    pub(super) whole: Option<Text>,
}

/// What a line does to a text.
enum Step {
    /// It continues the text.
    Piece(Key, String),
    /// It begins or ends the text.
    Edge(Key),
}

impl Step {
    fn of(line: &str) -> Option<Self> {
        // Most lines have no piece.
        if !line.contains("content_block_") {
            return None;
        }
        let line: Value = serde_json::from_str(line).ok()?;
        let name = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let event = &line["event"];
        let key = Key(name("session_id"), name("parent_tool_use_id"), event["index"].as_u64()?);
        if event["type"] != "content_block_delta" {
            return Some(Self::Edge(key));
        }
        let piece = NAMES.iter().find_map(|name| event["delta"][*name].as_str())?;
        (!piece.is_empty()).then(|| Self::Piece(key, piece.to_owned()))
    }
}

impl Streamed {
    /// Adds the piece of this line, if it has one. Returns a text that is complete.
    pub(super) fn take(&mut self, line: &str) -> Taken {
        let (key, piece) = match Step::of(line) {
            Some(Step::Piece(key, piece)) => (key, piece),
            Some(Step::Edge(key)) => {
                return Taken { whole: self.open.remove(&key), ..Taken::default() };
            }
            None => return Taken::default(),
        };
        let begins_again = std::mem::take(&mut self.is_again);
        if begins_again {
            // It is searched again when more is known.
            self.changed.clear();
        }
        self.seen += 1;
        let text = self.open.entry(key).or_default();
        let length = text.whole.len();
        let is_over = length > LONGEST || (length > LONG && piece.starts_with(char::is_whitespace));
        let whole = is_over.then(|| std::mem::take(text));
        text.pieces.push((self.seen, text.whole.len()));
        text.whole.push_str(&piece);
        Taken { a_piece: true, begins_again, whole }
    }

    /// All texts that have not ended.
    pub(super) fn rest(&mut self) -> Vec<Text> {
        self.open.drain().map(|(_, text)| text).collect()
    }

    /// Starts the pass that replaces pieces.
    pub(super) fn again(&mut self) {
        self.looked_at = std::mem::take(&mut self.seen).max(self.looked_at);
        self.is_again = true;
    }

    /// These parts of the text are replaced.
    pub(super) fn change(&mut self, text: &Text, edits: &[Edit], mut counts: Counts) {
        for (number, piece) in text.cut(edits) {
            self.changed.insert(number, (piece, std::mem::take(&mut counts)));
        }
    }

    /// Takes a line of the second pass. Returns the replacement of its piece.
    pub(super) fn line(&mut self, line: &str) -> Option<Counts> {
        self.now = None;
        if self.looked_at == 0 {
            return None;
        }
        let Step::Piece(..) = Step::of(line)? else { return None };
        self.seen += 1;
        if self.seen > self.looked_at {
            return None;
        }
        let changed = self.changed.remove(&self.seen);
        let (piece, counts) = changed
            .map_or((Piece::Same, None), |(piece, counts)| (Piece::Other(piece), Some(counts)));
        self.now = Some(piece);
        counts
    }

    /// The piece at this position of the line, if its text was searched as a whole.
    pub(super) fn piece(&mut self, path: &str) -> Option<Piece> {
        let name = path.strip_prefix("event.delta.")?;
        if NAMES.contains(&name) { self.now.take() } else { None }
    }
}

impl Text {
    pub(super) fn as_str(&self) -> &str {
        &self.whole
    }

    /// The pieces that change, by number. A replacement belongs to the piece in which its original begins.
    fn cut(&self, edits: &[Edit]) -> Vec<(u64, String)> {
        let mut changed = Vec::new();
        let mut edits = edits.iter().peekable();
        let ends = self.pieces.iter().skip(1).map(|(_, start)| *start).chain([self.whole.len()]);
        for ((number, start), end) in self.pieces.iter().zip(ends) {
            let (mut new, mut copied) = (String::new(), *start);
            let mut is_changed = false;
            while let Some(edit) = edits.peek().filter(|edit| edit.span.start < end) {
                is_changed = true;
                new.push_str(self.whole.get(copied..edit.span.start).unwrap_or_default());
                if edit.span.start >= *start {
                    new.push_str(&edit.new);
                }
                copied = edit.span.end.min(end);
                if edit.span.end > end {
                    break;
                }
                edits.next();
            }
            new.push_str(self.whole.get(copied..end).unwrap_or_default());
            if is_changed {
                changed.push((*number, new));
            }
        }
        changed
    }
}
