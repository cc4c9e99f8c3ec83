//! Escapes and unescapes JSON strings, many bytes at a time. Lines are full of quotes, so this is most of
//! the cost of recording and replaying.

use duologue_protocol::Block;

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGH: u64 = u64::from_le_bytes([0x80; 8]);

/// The size of a block, which stays in the first-level cache.
pub(crate) const PIECE: usize = 2 * 1024;

/// The space for an escaped block, and for bytes that are temporarily written beyond its end.
pub(crate) const ROOM: usize = PIECE * LONGEST + OUT;

/// The longest escape: `\u001f`.
const LONGEST: usize = 6;

/// How many bytes are copied at once, though fewer may be wanted.
const COPIED: usize = 32;

/// What is read at once: a block, and the bytes that a copy may take beyond it.
const IN: usize = Block::LENGTH + COPIED;

/// The output of a block: every byte may be escaped.
const OUT: usize = 2 * Block::LENGTH + COPIED;

/// The byte after the backslash for each byte of a JSON string; 0 for bytes that need no escape.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = b'u';
        byte += 1;
    }
    table[0x08] = b'b';
    table[0x09] = b't';
    table[0x0a] = b'n';
    table[0x0c] = b'f';
    table[0x0d] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

/// The meaning of the byte after a backslash; 0 if it is not a simple escape.
const UNESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    table[b'b' as usize] = 0x08;
    table[b't' as usize] = 0x09;
    table[b'n' as usize] = 0x0a;
    table[b'f' as usize] = 0x0c;
    table[b'r' as usize] = 0x0d;
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table
};

/// The number of leading bytes that need no escape: all up to a quote, a backslash or a
/// control character.
fn plain(word: u64) -> usize {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    // The usual trick: a byte borrows from its high bit if it is zero, or below 0x20. A borrow may
    // spoil the bytes after it, but never those before.
    let found = (quote.wrapping_sub(ONES) & !quote)
        | (backslash.wrapping_sub(ONES) & !backslash)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    (found & HIGH).trailing_zeros() as usize / 8
}

/// One of these bytes. Loading it from memory would wait for the store.
fn byte(word: u64, at: usize) -> u8 {
    word.checked_shr(8 * at as u32).unwrap_or_default().to_le_bytes()[0]
}

/// Writes a block as the inside of a JSON string to the start of `out`, which has [`ROOM`]. Returns
/// the number of bytes written.
pub(crate) fn escape(piece: &[u8], out: &mut [u8]) -> usize {
    let (mut at, mut end) = (0, 0);
    while let Some(rest) = piece.get(at..).filter(|rest| !rest.is_empty()) {
        let length = rest.len().min(Block::LENGTH);
        let written = out.get_mut(end..).and_then(|out| match rest.first_chunk::<IN>() {
            Some(ahead) => escape_block(ahead, length, out),
            None => escape_block(&padded(rest.get(..length)?), length, out),
        });
        end += written.unwrap_or_else(|| {
            rest.iter()
                .take(length)
                .fold(0, |written, byte| written + escape_byte(*byte, &mut out[end + written..]))
        });
        at += length;
    }
    end
}

/// The last bytes of a text, padded with bytes that need no escape.
#[inline]
fn padded(rest: &[u8]) -> [u8; IN] {
    let mut padded = [b' '; IN];
    for (padded, byte) in padded.iter_mut().zip(rest) {
        *padded = *byte;
    }
    padded
}

/// Copies these bytes of a block, and perhaps some after them. Returns their end.
#[inline]
fn copy(block: &[u8; IN], from: usize, to: usize, out: &mut [u8; OUT], end: usize) -> usize {
    let (mut at, mut into) = (from, end);
    loop {
        // These assertions remove bounds checks.
        let (start, into_start) = (at % Block::LENGTH, into % (2 * Block::LENGTH));
        out[into_start..into_start + COPIED].copy_from_slice(&block[start..start + COPIED]);
        (at, into) = (at + COPIED, into + COPIED);
        if at >= to {
            return end + (to - from);
        }
    }
}

/// Writes the first `length` bytes of a block in which only quotes and backslashes must be escaped: a
/// backslash before each. Returns the number of bytes written; `None` if other bytes must be escaped too.
#[inline]
fn escape_block(bytes: &[u8; IN], length: usize, out: &mut [u8]) -> Option<usize> {
    let block = Block::new(bytes.first_chunk()?);
    if block.has_controls() {
        return None;
    }
    let out = out.first_chunk_mut::<OUT>()?;
    let mut marked = block.either(b'"', b'\\');
    let (mut from, mut end) = (0, 0);
    while marked != 0 {
        let mark = marked.trailing_zeros() as usize;
        end = copy(bytes, from, mark, out, end);
        out[end % (2 * Block::LENGTH)] = b'\\';
        end += 1;
        from = mark;
        marked &= marked - 1;
    }
    Some(copy(bytes, from, length, out, end))
}

/// Writes one byte. Returns the number of bytes written.
fn escape_byte(byte: u8, out: &mut [u8]) -> usize {
    match ESCAPES[usize::from(byte)] {
        0 => {
            out[0] = byte;
            1
        }
        b'u' => {
            let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
            let escaped = [b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)];
            out[..LONGEST].copy_from_slice(&escaped);
            LONGEST
        }
        escape => {
            out[..2].copy_from_slice(&[b'\\', escape]);
            2
        }
    }
}

/// Unescapes the inside of a JSON string. `None` if it is invalid, or has an escape that is not
/// simple: the caller uses a complete parser then.
pub(crate) fn unescape<'o>(text: &[u8], out: &'o mut Vec<u8>) -> Option<&'o [u8]> {
    // The result is never longer than the input.
    if out.len() < text.len() + OUT {
        out.resize(text.len() + OUT, 0);
    }
    let (mut at, mut end) = (0, 0);
    // Up to here, word by word.
    let mut careful = 0;
    loop {
        if at >= careful
            && let Some(ahead) = text.get(at..)?.first_chunk::<IN>()
        {
            if let Some((read, written)) = unescape_block(ahead, out.get_mut(end..)?) {
                at += read;
                end += written;
                continue;
            }
            careful = at + Block::LENGTH;
        }
        let (word, within) = match text.get(at..)?.first_chunk::<8>() {
            Some(word) => (*word, 8),
            None => {
                let rest = text.get(at..)?;
                if rest.is_empty() {
                    return out.get(..end);
                }
                let mut word = [b' '; 8];
                word.get_mut(..rest.len())?.copy_from_slice(rest);
                (word, rest.len())
            }
        };
        out.get_mut(end..end + 8)?.copy_from_slice(&word);
        let word = u64::from_le_bytes(word);
        let plain = plain(word).min(within);
        at += plain;
        end += plain;
        if plain < within {
            // A quote or a control character is invalid here.
            if byte(word, plain) != b'\\' {
                return None;
            }
            let byte = UNESCAPES[usize::from(*text.get(at + 1)?)];
            if byte == 0 {
                return None;
            }
            *out.get_mut(end)? = byte;
            end += 1;
            at += 2;
        }
    }
}

/// Unescapes a block in which only quotes and backslashes are escaped. Returns
/// how much it read and wrote; `None` if there is any other escape.
#[inline]
fn unescape_block(bytes: &[u8; IN], out: &mut [u8]) -> Option<(usize, usize)> {
    let block = Block::new(bytes.first_chunk()?);
    let (quotes, backslashes) = (block.equal(b'"'), block.equal(b'\\'));
    let escaped = Block::escaped(backslashes);
    let others = (quotes & !escaped) | (escaped & !(quotes | backslashes));
    if others != 0 || block.has_controls() {
        return None;
    }
    let out = out.first_chunk_mut::<OUT>()?;
    let mut marks = backslashes & !escaped;
    // If the last byte is a backslash, the next block starts with it.
    let length = Block::LENGTH - (marks >> 63) as usize;
    marks &= u64::MAX >> 1;
    let (mut from, mut end) = (0, 0);
    while marks != 0 {
        let mark = marks.trailing_zeros() as usize;
        end = copy(bytes, from, mark, out, end);
        from = mark + 1;
        marks &= marks - 1;
    }
    Some((length, copy(bytes, from, length, out, end)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

    use proptest::prelude::*;

    use super::{PIECE, ROOM, escape, unescape};

    fn escaped(text: &str) -> Vec<u8> {
        let mut room = vec![b'x'; ROOM];
        let mut all = Vec::new();
        for piece in text.as_bytes().chunks(PIECE) {
            let length = escape(piece, &mut room);
            all.extend_from_slice(&room[..length]);
        }
        all
    }

    /// Texts with many escapes, some longer than a block.
    fn texts() -> impl Strategy<Value = String> {
        let characters = prop_oneof![
            Just('"'),
            Just('\\'),
            Just('/'),
            (0..0x20_u8).prop_map(char::from),
            any::<char>(),
            proptest::char::range(' ', '~'),
        ];
        // Like lines of the wire: most blocks need no escape.
        let usual = prop_oneof![
            8 => proptest::char::range(' ', '~'),
            2 => Just('"'),
            1 => Just('\\'),
            1 => Just('é'),
        ];
        prop_oneof![
            prop::collection::vec(characters.clone(), 0..40),
            prop::collection::vec(characters.clone(), 2000..2200),
            prop::collection::vec(usual.clone(), 0..400),
            prop::collection::vec(prop_oneof![300 => usual, 1 => characters], 0..4000),
        ]
        .prop_map(|characters| characters.into_iter().collect())
    }

    proptest! {
        #[test]
        fn it_escapes_like_serde_json(text in texts()) {
            let quoted = [b"\"", escaped(&text).as_slice(), b"\""].concat();
            prop_assert_eq!(quoted, serde_json::to_vec(&text).unwrap());
        }

        #[test]
        fn it_unescapes_like_serde_json(text in texts(), raw in any::<bool>()) {
            let inside = if raw { text.clone().into_bytes() } else { escaped(&text) };
            let quoted = [b"\"", inside.as_slice(), b"\""].concat();
            let expected = serde_json::from_slice::<String>(&quoted).ok();
            let mut room = vec![b'x'; 3];
            let got = unescape(&inside, &mut room).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            // It may return `None`, but never another text, nor accept an invalid one.
            let has_rare = inside.windows(2).any(|pair| pair == b"\\u");
            prop_assert!(got == expected || (got.is_none() && has_rare), "{got:?} {expected:?}");
        }
    }
}
