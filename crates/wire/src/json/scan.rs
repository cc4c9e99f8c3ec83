//! Finding the end of things, quickly.

use super::block::Block;

/// How far [`short_run`] looks at most: a uuid has 36 bytes.
pub(crate) const SHORT: usize = 40;

/// How many of the first [`SHORT`] bytes need no care inside a JSON string: no quote, no backslash, no
/// control character.
#[inline]
pub(crate) fn short_run(bytes: &[u8]) -> usize {
    // Eight bytes at a time in one register. Most strings are short, so that wider blocks would
    // cost more to set up and to search than they save.
    let (words, rest) = bytes.get(..SHORT).unwrap_or(bytes).as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let special = specials(u64::from_le_bytes(*word));
        if special != 0 {
            return index * 8 + (special.trailing_zeros() / 8) as usize;
        }
    }
    words.len() * 8 + rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len())
}

/// How many bytes of a long JSON string need no care, and whether there are escapes among them. They
/// may be the most usual ones. It looks at whole blocks only.
///
/// A run of plain text is short where lines end in `\n`: a branch for each would be guessed wrong.
pub(crate) fn long_run(bytes: &[u8]) -> (usize, bool) {
    let mut at = 0;
    let mut escapes = false;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<64>) {
        let block = Block::new(block);
        let (quotes, backslashes) = (block.equal(b'"'), block.equal(b'\\'));
        let mut care = block.controls();
        let mut length = 64;
        if backslashes == 0 {
            care |= quotes;
        } else {
            let escaped = Block::escaped(backslashes);
            let usual = quotes | backslashes | block.equal(b'n') | block.equal(b't');
            care |= (quotes & !escaped) | (escaped & !usual);
            // What the last byte escapes is in the next block, which starts with that byte then.
            length -= ((backslashes & !escaped) >> 63) as usize;
            // Care begins with the backslash.
            care |= (care & escaped) >> 1;
        }
        if care != 0 {
            let before = (1 << care.trailing_zeros()) - 1;
            escapes |= backslashes & before != 0;
            return (at + care.trailing_zeros() as usize, escapes);
        }
        escapes |= backslashes << (64 - length) != 0;
        at += length;
    }
    (at, escapes)
}

/// Marks special bytes by their top bits. The lowest mark is right; above it there may be false
/// ones, as a subtraction borrows from the next byte.
#[inline]
const fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let marks = (quote.wrapping_sub(ONES) & !quote)
        | (backslash.wrapping_sub(ONES) & !backslash)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    marks & (ONES * 0x80)
}

#[inline]
const fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// The text of a JSON string, given the characters between its quotes, and whether it has a lone
/// surrogate (which reads as U+FFFD). `None` if an escape is not valid.
pub(crate) fn unescape(escaped: &str) -> Option<(String, bool)> {
    let mut text = String::with_capacity(escaped.len());
    let mut lone = false;
    let mut rest = escaped;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(rest.get(..at)?);
        rest = rest.get(at + 1..)?;
        let escape = *rest.as_bytes().first()?;
        rest = rest.get(1..)?;
        match escape {
            b'"' => text.push('"'),
            b'\\' => text.push('\\'),
            b'/' => text.push('/'),
            b'b' => text.push('\u{8}'),
            b'f' => text.push('\u{c}'),
            b'n' => text.push('\n'),
            b'r' => text.push('\r'),
            b't' => text.push('\t'),
            b'u' => {
                let unit = hex4(rest)?;
                rest = rest.get(4..)?;
                let low = low_surrogate(rest);
                match (unit, low) {
                    (0xD800..=0xDBFF, Some(low)) => {
                        let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                        text.push(char::from_u32(code)?);
                        rest = rest.get(6..)?;
                    }
                    _ => match char::from_u32(unit) {
                        Some(character) => text.push(character),
                        None => {
                            lone = true;
                            text.push(char::REPLACEMENT_CHARACTER);
                        }
                    },
                }
            }
            _ => return None,
        }
    }
    text.push_str(rest);
    Some((text, lone))
}

/// JSON text with U+FFFD in place of every lone surrogate; `None` if there is none.
pub(crate) fn without_lone_surrogates(json: &str) -> Option<String> {
    let mut mended = String::new();
    // Up to here it is copied.
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', json.as_bytes().get(at..)?) {
        let escape = at + found;
        let unit = json.get(escape + 1..).and_then(|rest| rest.strip_prefix('u')).and_then(hex4);
        let after = json.get(escape + 6..).unwrap_or_default();
        at = match unit {
            Some(0xD800..=0xDBFF) if low_surrogate(after).is_some() => escape + 12,
            Some(0xD800..=0xDFFF) => {
                mended.push_str(json.get(copied..escape)?);
                mended.push_str("\\ufffd");
                copied = escape + 6;
                copied
            }
            Some(_) => escape + 6,
            None => escape + 2,
        };
    }
    (copied > 0).then(|| mended + json.get(copied..).unwrap_or_default())
}

fn low_surrogate(rest: &str) -> Option<u32> {
    let unit = hex4(rest.strip_prefix("\\u")?)?;
    (0xDC00..=0xDFFF).contains(&unit).then_some(unit)
}

fn hex4(text: &str) -> Option<u32> {
    let mut value = 0;
    for &byte in text.as_bytes().get(..4)? {
        value = value << 4 | char::from(byte).to_digit(16)?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::{SHORT, is_special, long_run, short_run, without_lone_surrogates};

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for (json, mended) in [
            (r#""\ud83e""#, Some(r#""\ufffd""#)),
            (r#""a\udd80\ud83e\udd80\uD83Eb""#, Some(r#""a\ufffd\ud83e\udd80\ufffdb""#)),
            (r#""\ud83e\ud83e\udd80""#, Some(r#""\ufffd\ud83e\udd80""#)),
            // A backslash that is escaped itself begins nothing.
            (r#""\\ud83e \u0041 \" ü""#, None),
            (r#""\\\ud83e""#, Some(r#""\\\ufffd""#)),
            ("[]", None),
        ] {
            assert_eq!(without_lone_surrogates(json).as_deref(), mended, "{json}");
        }
    }

    #[test]
    fn a_short_run_ends_at_the_first_special_byte_wherever_it_stands() {
        for filler in [b'a', 0x7f, 0x80, 0xa2, 0xdc, 0xff, b'!', b'#', b'[', b']', b' '] {
            for at in 0..SHORT {
                for byte in 0..=u8::MAX {
                    let mut bytes = [filler; SHORT];
                    bytes[at] = byte;
                    let end = if is_special(byte) { at } else { bytes.len() };
                    assert_eq!(short_run(&bytes), end, "{byte} at {at} among {filler}");
                }
            }
        }
    }

    #[test]
    fn a_long_run_is_what_one_byte_after_the_other_says() {
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize
        };
        for round in 0..200_000 {
            // Backslashes from rare to everywhere, the end from near to far.
            let plain = 1 << (round % 8);
            let bytes: Vec<u8> = (0..next() % 300)
                .map(|_| match next() % (plain + 12) {
                    0..4 => b'\\',
                    at @ 4..12 => [b'n', b't', b'"', b'u', b'\\', b'n', 0x1f, b'n'][at - 4],
                    at => [b'a', b' ', 0x20, 0x7f, 0x80, 0xff][at % 6],
                })
                .collect();
            let (mut end, mut starts) = (0, vec![0]);
            while let Some(byte) = bytes.get(end) {
                end += match (byte, bytes.get(end + 1)) {
                    (b'\\', Some(b'n' | b't' | b'"' | b'\\')) => 2,
                    (b'"' | b'\\' | 0..0x20, _) => break,
                    _ => 1,
                };
                starts.push(end);
            }
            let (run, escapes) = long_run(&bytes);
            let text = bytes.escape_ascii();
            assert!(run == end || (run < end && bytes.len() - run < 64), "{run} of {end}: {text}");
            assert!(starts.contains(&run), "{run} is inside of an escape: {text}");
            assert_eq!(escapes, bytes[..run].contains(&b'\\'), "{text}");
        }
    }
}
