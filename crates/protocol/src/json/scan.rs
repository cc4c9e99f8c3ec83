//! Finding the end of things, quickly.

/// How many bytes are looked at together: wide enough for the compiler to use vector registers.
const BLOCK: usize = 32;

/// The length of the run at the start of `bytes` that needs no care inside a JSON string: no quote,
/// no backslash, no control character.
#[inline]
pub(crate) fn plain_run(bytes: &[u8]) -> usize {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for (index, block) in blocks.iter().enumerate() {
        let special = block.iter().fold(false, |found, &byte| found | is_special(byte));
        if special {
            let start = index * BLOCK;
            return start + block.iter().position(|&byte| is_special(byte)).unwrap_or(BLOCK);
        }
    }
    let start = bytes.len() - rest.len();
    start + rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len())
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
