//! Finding the end of things, quickly.

/// The length of the run at the start of `bytes` that needs no care inside a JSON string: no quote,
/// no backslash, no control character.
#[inline]
pub(crate) fn plain_run(bytes: &[u8]) -> usize {
    // Eight bytes at a time in one register. Most strings are short, so that wider blocks would
    // cost more to set up and to search than they save.
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let special = specials(u64::from_le_bytes(*word));
        if special != 0 {
            return index * 8 + (special.trailing_zeros() / 8) as usize;
        }
    }
    let start = bytes.len() - rest.len();
    start + rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len())
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

/// The text of a JSON string from what stands between its quotes, and whether it held a lone
/// surrogate (which reads as U+FFFD). `None` if an escape is not one.
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
    use super::{is_special, plain_run, without_lone_surrogates};

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
    fn a_run_ends_at_the_first_special_byte_wherever_it_stands() {
        for filler in [b'a', 0x7f, 0x80, 0xa2, 0xdc, 0xff, b'!', b'#', b'[', b']', b' '] {
            for at in 0..40 {
                for byte in 0..=u8::MAX {
                    let mut bytes = [filler; 40];
                    bytes[at] = byte;
                    let end = if is_special(byte) { at } else { bytes.len() };
                    assert_eq!(plain_run(&bytes), end, "{byte} at {at} among {filler}");
                }
            }
        }
    }
}
