//! [`Streamed`]: texts that came in pieces, one delta at a time, looked at as a whole.

use std::collections::HashMap;

use serde_json::Value;

use super::counts::Counts;

/// What the pieces are called in a line.
const NAMES: &[&str] = &["text", "partial_json", "thinking"];

/// More of a text than this is not looked at together, if it can be parted between two words.
const LONG: usize = 1024 * 1024;

/// More than this is not looked at together.
const LONGEST: usize = 16 * LONG;

/// So much must read as before to tell that a text goes on as before, and so far it is looked for.
const ANCHOR: usize = 16;
const AHEAD: usize = 512;

/// Texts that came in pieces, and what stands in those pieces instead.
///
/// Gone through twice: first the texts are put together, then their pieces are asked for in the same order.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    /// How many pieces there were, this time.
    seen: u64,
    open: HashMap<Key, Text>,
    /// By the number of the piece.
    changed: HashMap<u64, (String, Counts)>,
    /// What stands instead of the piece of the line that is being redacted.
    now: Option<String>,
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

/// What became of a line.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) a_piece: bool,
    pub(super) whole: Option<Text>,
}

/// What a line says of a text.
enum Step {
    /// It goes on.
    Piece(Key, String),
    /// It begins or ends.
    Edge(Key),
}

impl Step {
    fn of(line: &str) -> Option<Self> {
        // Most lines say nothing of the kind.
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
    /// Takes what this line adds to a text, if it does. Gives back a text that is whole.
    pub(super) fn take(&mut self, line: &str) -> Taken {
        let (key, piece) = match Step::of(line) {
            Some(Step::Piece(key, piece)) => (key, piece),
            Some(Step::Edge(key)) => {
                return Taken { a_piece: false, whole: self.open.remove(&key) };
            }
            None => return Taken::default(),
        };
        self.seen += 1;
        let text = self.open.entry(key).or_default();
        let length = text.whole.len();
        let is_over = length > LONGEST || (length > LONG && piece.starts_with(char::is_whitespace));
        let whole = is_over.then(|| std::mem::take(text));
        text.pieces.push((self.seen, text.whole.len()));
        text.whole.push_str(&piece);
        Taken { a_piece: true, whole }
    }

    /// All texts that have not ended.
    pub(super) fn rest(&mut self) -> Vec<Text> {
        self.open.drain().map(|(_, text)| text).collect()
    }

    /// From here on the pieces come once more.
    pub(super) fn again(&mut self) {
        self.seen = 0;
    }

    /// This text reads otherwise.
    pub(super) fn change(&mut self, text: &Text, new: &str, mut counts: Counts) {
        for (number, piece) in text.cut(new) {
            self.changed.insert(number, (piece, std::mem::take(&mut counts)));
        }
    }

    /// A line comes once more. Tells what was replaced with its piece.
    pub(super) fn line(&mut self, line: &str) -> Option<Counts> {
        self.now = None;
        if self.changed.is_empty() {
            return None;
        }
        let Step::Piece(..) = Step::of(line)? else { return None };
        self.seen += 1;
        let (piece, counts) = self.changed.remove(&self.seen)?;
        self.now = Some(piece);
        Some(counts)
    }

    /// What stands instead of the piece at this place of the line.
    pub(super) fn piece(&mut self, path: &str) -> Option<String> {
        let name = path.strip_prefix("event.delta.")?;
        if NAMES.contains(&name) { self.now.take() } else { None }
    }
}

impl Text {
    pub(super) fn as_str(&self) -> &str {
        &self.whole
    }

    /// Cuts the new text into as many pieces. Tells those that are others than before: all that was replaced is
    /// in the piece in which its first word begins.
    fn cut(&self, new: &str) -> Vec<(u64, String)> {
        // By the number that a piece has in this text.
        let mut changed: Vec<(usize, &str)> = Vec::new();
        // Where the pieces begin that are cut.
        let (mut cuts, mut at) = (Vec::new(), 0);
        while cuts.len() < self.pieces.len() {
            let piece = self.piece(cuts.len());
            let rest = new.get(at..).unwrap_or_default();
            cuts.push(at);
            if rest.starts_with(piece) && (cuts.len() < self.pieces.len() || rest == piece) {
                at += piece.len();
                continue;
            }
            let (next, until) = self.goes_on(cuts.len(), new, at);
            // The word that differs may have begun in a piece before.
            let both = piece.chars().zip(rest.chars()).take_while(|(old, new)| old == new);
            let same: usize = both.map(|(letter, _)| letter.len_utf8()).sum();
            let word = word_start(new, at + same);
            let first = cuts.iter().rposition(|cut| *cut <= word).unwrap_or_default();
            let start = cuts.get(first).copied().unwrap_or_default();
            cuts.truncate(first + 1);
            while changed.last().is_some_and(|(piece, _)| *piece >= first) {
                changed.pop();
            }
            changed.push((first, new.get(start..until).unwrap_or_default()));
            changed.extend((first + 1..next).map(|piece| (piece, "")));
            cuts.resize(next, until);
            at = until;
        }
        let numbered = |(piece, new): (usize, &str)| {
            self.pieces.get(piece).map(|(number, _)| (*number, new.to_owned()))
        };
        changed.into_iter().filter_map(numbered).collect()
    }

    /// The next piece with which the new text goes on as before, and where.
    fn goes_on(&self, from: usize, new: &str, at: usize) -> (usize, usize) {
        let rest = new.get(at..).unwrap_or_default();
        let passed = self.pieces.get(from - 1).map_or(0, |(_, start)| *start);
        for next in from..self.pieces.len() {
            let start = self.pieces.get(next).map_or(0, |(_, start)| *start);
            if start - passed > AHEAD {
                break;
            }
            let later = self.whole.get(start..).unwrap_or_default();
            let anchor = head(later, ANCHOR);
            let found = match later.len() <= ANCHOR {
                true => rest.ends_with(later).then(|| rest.len() - later.len()),
                false => head(rest, start - passed + AHEAD).find(anchor),
            };
            // Not within a word that was replaced.
            let is_between = |at: usize| {
                anchor.starts_with(is_delimiter) || word(new, at) == word(&self.whole, start)
            };
            if let Some(found) = found.filter(|found| is_between(at + found)) {
                return (next, at + found);
            }
        }
        (self.pieces.len(), new.len())
    }

    fn piece(&self, piece: usize) -> &str {
        let start = self.pieces.get(piece).map_or(0, |(_, start)| *start);
        let end = self.pieces.get(piece + 1).map_or(self.whole.len(), |(_, start)| *start);
        self.whole.get(start..end).unwrap_or_default()
    }
}

/// Where the word begins that goes on at this place.
fn word_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.trim_end_matches(|letter| !is_delimiter(letter)).len()
}

/// What there is of it so far.
fn word(text: &str, at: usize) -> &str {
    text.get(word_start(text, at)..at).unwrap_or_default()
}

fn is_delimiter(letter: char) -> bool {
    letter.is_whitespace() || "\"'`()[]{}<>,;=".contains(letter)
}

/// The beginning of a text, of about this length.
fn head(text: &str, length: usize) -> &str {
    let end = (0..=length.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}
