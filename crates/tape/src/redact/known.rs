//! [`Known`]: values that are replaced everywhere, plain or encoded.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The most values that are replaced everywhere. Further ones are replaced only where their form or name shows them.
const MOST: usize = 2048;

/// Longer values are recognised by their beginning.
const LONGEST: usize = 512;

/// The encodings of shorter values could be anything.
const SHORTEST_ENCODED: usize = 6;

/// Shorter values are replaced only where they are separate words.
const SHORTEST_ANYWHERE: usize = 12;

/// How many values the smallest level holds, and how many times as many the next one.
const LEVEL: usize = 32;
const FACTOR: usize = 8;

/// Values that are replaced everywhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    all: HashSet<Vec<u8>>,
    /// The smallest first. A new value goes into that; a full level moves into the next. So each value is built into few
    /// searchers.
    levels: Vec<Level>,
}

#[derive(Clone, Debug, Default)]
struct Level {
    values: Vec<Value>,
    /// Built when it is used.
    searcher: Option<Searcher>,
}

#[derive(Clone, Debug)]
struct Value {
    bytes: Vec<u8>,
    encoded: bool,
}

#[derive(Clone, Debug)]
struct Searcher {
    any: AhoCorasick,
    /// For each needle: the values that are written like this, and how.
    needles: Vec<Vec<(usize, Writing)>>,
}

#[derive(Clone, Copy, Debug)]
enum Writing {
    Plain,
    Hex,
    /// How many bytes before the value are encoded with it, modulo 3. The digits at its ends hold a part of the value, too.
    Base64(usize),
}

/// A known value in a text.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) span: Range<usize>,
    pub(super) value: &'a [u8],
}

impl Known {
    pub(super) fn has(&self, value: &[u8]) -> bool {
        self.all.contains(head(value))
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Adds a value; with `encoded`, also in Base64 and hex.
    pub(super) fn add(&mut self, value: &[u8], encoded: bool) {
        let bytes = head(value).to_vec();
        if self.all.len() >= MOST || !self.all.insert(bytes.clone()) {
            return;
        }
        let mut more = vec![Value { bytes, encoded }];
        let mut room = LEVEL;
        for level in &mut self.levels {
            level.searcher = None;
            level.values.append(&mut more);
            if level.values.len() < room {
                return;
            }
            std::mem::swap(&mut more, &mut level.values);
            room = room.saturating_mul(FACTOR);
        }
        self.levels.push(Level { values: more, searcher: None });
    }

    /// Finds known values in a text. Of those that begin at the same position, the longest.
    pub(super) fn find<'a>(&'a mut self, text: &[u8], mut found: impl FnMut(Found<'a>)) {
        for level in &mut self.levels {
            if level.searcher.is_none() {
                level.searcher = Searcher::new(&level.values);
            }
            let Some(searcher) = &level.searcher else { continue };
            for hit in searcher.any.find_iter(text) {
                let Some(needles) = searcher.needles.get(hit.pattern().as_usize()) else {
                    continue;
                };
                let values = needles.iter().filter_map(|(value, writing)| {
                    Some((&level.values.get(*value)?.bytes, *writing))
                });
                // The digits around the hit distinguish values that differ only in their last bits.
                let is_it = |(value, writing): &(&'a Vec<u8>, Writing)| {
                    writing.has_ends(text, hit.range(), value)
                };
                let exact = values.clone().find(is_it);
                let Some((value, writing)) = exact.or_else(|| values.clone().next()) else {
                    continue;
                };
                if let Some(span) = writing.span(text, hit.range(), value.len()) {
                    found(Found { span, value });
                }
            }
        }
    }
}

fn head(value: &[u8]) -> &[u8] {
    value.get(..LONGEST).unwrap_or(value)
}

impl Searcher {
    fn new(values: &[Value]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let mut texts: Vec<Vec<u8>> = Vec::new();
        let mut numbers: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut needles: Vec<Vec<(usize, Writing)>> = Vec::new();
        for (number, value) in values.iter().enumerate() {
            let mut all = vec![(value.bytes.clone(), Writing::Plain)];
            if value.encoded && value.bytes.len() >= SHORTEST_ENCODED {
                all.extend(encodings(&value.bytes));
            }
            for (text, writing) in all {
                let needle = *numbers.entry(text.clone()).or_insert_with(|| {
                    texts.push(text);
                    needles.push(Vec::new());
                    needles.len() - 1
                });
                if let Some(needle) = needles.get_mut(needle) {
                    needle.push((number, writing));
                }
            }
        }
        let any = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&texts)
            .ok()?;
        Some(Self { any, needles })
    }
}

/// A value in hex and in Base64, in the three ways in which it may lie in what is encoded.
fn encodings(value: &[u8]) -> Vec<(Vec<u8>, Writing)> {
    let hex = |upper: bool| -> Vec<u8> {
        let digits = value.iter().map(|byte| match upper {
            true => format!("{byte:02X}"),
            false => format!("{byte:02x}"),
        });
        digits.collect::<String>().into_bytes()
    };
    let mut all = vec![(hex(false), Writing::Hex), (hex(true), Writing::Hex)];
    for before in 0..3 {
        let shifted = [vec![0; before], value.to_vec()].concat();
        let bits = shifted.len() * 8;
        // Only digits that hold nothing but the value are sure.
        let sure = (before * 8).div_ceil(6)..bits / 6;
        let writing = Writing::Base64(before);
        for text in [STANDARD_NO_PAD.encode(&shifted), URL_SAFE_NO_PAD.encode(&shifted)] {
            let text = text.get(sure.clone()).unwrap_or_default().as_bytes().to_vec();
            if !text.is_empty() && all.iter().all(|(other, _)| *other != text) {
                all.push((text, writing));
            }
        }
    }
    all
}

impl Writing {
    /// Whether the digits before and after a hit hold the first and last bits of the value.
    fn has_ends(self, text: &[u8], hit: Range<usize>, value: &[u8]) -> bool {
        let Self::Base64(shift) = self else { return true };
        let shifted = [vec![0; shift], value.to_vec()].concat();
        let bit = |number: usize| {
            shifted.get(number / 8).is_some_and(|byte| byte >> (7 - number % 8) & 1 == 1)
        };
        let (first, last) = (shift * 8, shifted.len() * 8);
        // The digit at this place of the text must agree with those of its bits that are the value's.
        let agrees = |place: Option<usize>, number: usize| {
            let digit = place.and_then(|place| text.get(place)).and_then(|digit| digit_of(*digit));
            digit.is_none_or(|digit| {
                (0..6).all(|at| {
                    let number = number * 6 + at;
                    let is_set = digit >> (5 - at) & 1 == 1;
                    !(first..last).contains(&number) || is_set == bit(number)
                })
            })
        };
        let sure = first.div_ceil(6)..last / 6;
        let before = first % 6 == 0 || agrees(hit.start.checked_sub(1), sure.start - 1);
        let after = last % 6 == 0 || agrees(Some(hit.end), sure.end);
        before && after
    }

    /// The part of the text that is replaced, or `None` if this is a part of something else.
    fn span(self, text: &[u8], hit: Range<usize>, length: usize) -> Option<Range<usize>> {
        match self {
            Self::Plain if hit.len() >= SHORTEST_ANYWHERE => Some(hit),
            Self::Plain => {
                let before = text.get(..hit.start)?;
                let continues = text.get(hit.end).is_some_and(u8::is_ascii_alphanumeric);
                (starts_word(before) && !continues).then_some(hit)
            }
            Self::Hex => Some(hit),
            Self::Base64(shift) => {
                let (before, after) = (
                    usize::from(shift > 0),
                    usize::from(!((shift + length) * 8).is_multiple_of(6)),
                );
                let is_digit = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
                let count = |bytes: &mut dyn Iterator<Item = &u8>, most: usize| {
                    bytes.take(most).take_while(is_digit).count()
                };
                let start = hit.start - count(&mut text.get(..hit.start)?.iter().rev(), before);
                let mut end = hit.end + count(&mut text.get(hit.end..)?.iter(), after);
                while end < hit.end + after + 2 && text.get(end) == Some(&b'=') {
                    end += 1;
                }
                Some(start..end)
            }
        }
    }
}

/// The six bits of a Base64 digit, of either alphabet.
fn digit_of(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Whether a word can begin after this: the `n` of an escaped line end, the `m` of a colour and the `A` of
/// `%0A` do not belong to it.
pub(super) fn starts_word(before: &[u8]) -> bool {
    let Some(last) = before.last().filter(|last| last.is_ascii_alphanumeric()) else { return true };
    let rest = before.get(..before.len() - 1).unwrap_or_default();
    if b"nrtbf".contains(last) && rest.ends_with(b"\\") {
        return true;
    }
    let tail = rest.get(rest.len().saturating_sub(16)..).unwrap_or_default();
    if let [.., b'%', digit] = tail
        && digit.is_ascii_hexdigit()
        && last.is_ascii_hexdigit()
    {
        return true;
    }
    let digits = tail.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';');
    let count = digits.count();
    last.is_ascii_alphabetic() && tail.iter().rev().nth(count) == Some(&b'[')
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    fn found(known: &mut Known, text: &str) -> Vec<String> {
        let mut all = Vec::new();
        known.find(text.as_bytes(), |found| {
            all.push(text[found.span.clone()].to_owned());
        });
        all
    }

    #[test]
    fn an_encoded_value_is_found_at_any_offset() {
        let mut known = Known::default();
        known.add(b"hunter2?~!", true);
        for before in ["", "a", "ab", "abc", "ann:"] {
            for after in ["", "x", "xy", "xyz"] {
                let text = format!("{before}hunter2?~!{after}");
                for code in
                    [STANDARD.encode(&text), URL_SAFE.encode(&text), STANDARD_NO_PAD.encode(&text)]
                {
                    let found = found(&mut known, &code);
                    assert_eq!(found.len(), 1, "{code}");
                    // The rest encodes at most the text around the value.
                    assert!(found[0].len() * 6 >= "hunter2?~!".len() * 8, "{found:?} of {code}");
                }
            }
        }
        assert_eq!(found(&mut known, "68756e746572323f7e21").len(), 1);
    }

    #[test]
    fn encoded_values_that_differ_only_in_their_last_bits_are_distinguished() {
        let values = ["hunter2?~0", "hunter2?~1", "hunter2?~2", "hunter2?~3"];
        let mut known = Known::default();
        values.iter().for_each(|value| known.add(value.as_bytes(), true));
        for value in values {
            for before in ["", "a", "ab"] {
                let code = STANDARD.encode(format!("{before}{value}x"));
                let mut named = Vec::new();
                known.find(code.as_bytes(), |found| named.push(found.value.to_vec()));
                assert_eq!(named, [value.as_bytes()], "{code}");
            }
        }
    }

    #[test]
    fn a_short_value_must_be_a_separate_word() {
        let mut known = Known::default();
        known.add(b"hunter2", false);
        for text in
            ["hunter2", "_hunter2_", "\\nhunter2", "\u{1b}[31mhunter2", "%0Ahunter2", "a=hunter2&"]
        {
            assert_eq!(found(&mut known, text), ["hunter2"], "{text}");
        }
        assert!(found(&mut known, "bounty-xhunter2 hunter25").is_empty());
    }

    #[test]
    fn a_value_is_built_into_few_searchers() {
        let mut known = Known::default();
        for number in 0..MOST + 10 {
            known.add(format!("value-{number}-of-many").as_bytes(), true);
        }
        assert_eq!(known.len(), MOST);
        assert!(known.levels.len() <= 4, "{}", known.levels.len());
        assert_eq!(found(&mut known, "value-7-of-many value-1999-of-many").len(), 2);
    }
}
