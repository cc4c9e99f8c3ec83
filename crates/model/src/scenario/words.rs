//! Settings that are a number or a word.

use schemars::JsonSchema;
use serde::Deserialize;

/// How often a reply is given: a number, or `"always"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "TimesForm")]
#[schemars(with = "TimesForm")]
#[non_exhaustive]
pub enum Times {
    /// This many times.
    Only(u32),
    /// Any number of times.
    Always,
}

impl Default for Times {
    fn default() -> Self {
        Self::Only(1)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`times` is a number, or \"always\"")]
enum TimesForm {
    Only(#[schemars(range(min = 1))] u32),
    Word(TimesWord),
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TimesWord {
    Always,
}

impl From<TimesForm> for Times {
    fn from(form: TimesForm) -> Self {
        match form {
            TimesForm::Only(count) => Self::Only(count),
            TimesForm::Word(TimesWord::Always) => Self::Always,
        }
    }
}

/// How texts are cut into deltas: a number of characters, `"words"`, `"lines"` or `"whole"`.
///
/// Default: pieces of 24 characters, or longer ones so that there are at most 200.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "ChunkForm")]
#[schemars(with = "ChunkForm")]
#[non_exhaustive]
pub enum Chunk {
    /// Pieces of 24 characters, or longer ones so that there are at most 200.
    #[default]
    Auto,
    /// Pieces of this many characters.
    Chars(usize),
    /// Words, each with the space after it.
    Words,
    /// Lines.
    Lines,
    /// One piece.
    Whole,
}

#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "`chunk` is a number of characters, or \"words\", \"lines\" or \"whole\""
)]
enum ChunkForm {
    Chars(#[schemars(range(min = 1))] usize),
    Word(ChunkWord),
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ChunkWord {
    Words,
    Lines,
    Whole,
}

impl From<ChunkForm> for Chunk {
    fn from(form: ChunkForm) -> Self {
        match form {
            ChunkForm::Chars(count) => Self::Chars(count),
            ChunkForm::Word(ChunkWord::Words) => Self::Words,
            ChunkForm::Word(ChunkWord::Lines) => Self::Lines,
            ChunkForm::Word(ChunkWord::Whole) => Self::Whole,
        }
    }
}

/// The default number of characters of a piece.
const SHORTEST: usize = 24;
/// The most pieces of a text by default: a huge text is a few large deltas, not a million small ones.
const MOST: usize = 200;

impl Chunk {
    /// The pieces of a text; an empty text has none.
    pub(crate) fn cut(self, text: &str) -> Vec<&str> {
        match self {
            Self::Auto => by_chars(text, SHORTEST.max(text.chars().count().div_ceil(MOST))),
            Self::Chars(count) => by_chars(text, count.max(1)),
            Self::Words => text.split_inclusive(' ').collect(),
            Self::Lines => text.split_inclusive('\n').collect(),
            Self::Whole if text.is_empty() => Vec::new(),
            Self::Whole => vec![text],
        }
    }
}

fn by_chars(text: &str, count: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(count).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}
