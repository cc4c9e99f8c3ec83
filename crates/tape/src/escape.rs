//! JSON strings, written and read many bytes at a time: lines are full of quotes, and this is most of
//! what recording and replaying cost.

use duologue_protocol::Block;

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGH: u64 = u64::from_le_bytes([0x80; 8]);

/// How much is escaped at once: what stays in the nearest cache.
const PIECE: usize = 2 * 1024;

/// The longest escape: `\u001f`.
const LONGEST: usize = 6;

/// How many bytes are copied at once, though fewer may be wanted.
const COPIED: usize = 16;

/// What follows the backslash for each byte of a JSON string; 0 for those that stand for themselves.
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

/// What the byte after a backslash stands for; 0 if that takes more than a look.
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

/// How many of these bytes stand for themselves, from the first on: all up to a quote, a backslash or a
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

/// One of these bytes. To take it out of memory would mean to wait until it has got there.
fn byte(word: u64, at: usize) -> u8 {
    word.checked_shr(8 * at as u32).unwrap_or_default().to_le_bytes()[0]
}

/// Room for what is being escaped.
pub(crate) struct Escaper(Box<[u8]>);

impl Escaper {
    pub(crate) fn new() -> Self {
        Self(vec![0; PIECE * LONGEST + COPIED].into())
    }

    /// Writes a text as the inside of a JSON string, without its quotes, in pieces.
    pub(crate) fn escape<E>(
        &mut self,
        text: &str,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for piece in text.as_bytes().chunks(PIECE) {
            let length = self.piece(piece);
            write(self.0.get(..length).unwrap_or_default())?;
        }
        Ok(())
    }

    fn piece(&mut self, piece: &[u8]) -> usize {
        let out = &mut *self.0;
        let (mut at, mut end) = (0, 0);
        // Up to here it goes word by word.
        let mut careful = 0;
        while let Some(word) = piece.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            if at >= careful
                && let Some(block) = block(piece, at)
            {
                if let Some(length) = escape_block(piece, at, &block, &mut out[end..]) {
                    at += Block::LENGTH;
                    end += length;
                    continue;
                }
                careful = at + Block::LENGTH;
            }
            out[end..end + 8].copy_from_slice(word);
            let word = u64::from_le_bytes(*word);
            let plain = plain(word);
            at += plain;
            end += plain;
            if plain < 8 {
                end += escape(byte(word, plain), &mut out[end..]);
                at += 1;
            }
        }
        for byte in piece.get(at..).unwrap_or_default() {
            end += escape(*byte, &mut out[end..]);
        }
        end
    }
}

/// The block that starts here, if there is still some room behind it.
#[inline]
fn block(bytes: &[u8], at: usize) -> Option<Block> {
    let ahead = bytes.get(at..)?.first_chunk::<{ Block::LENGTH + COPIED }>()?;
    ahead.first_chunk().map(Block::new)
}

/// Copies these bytes to the start of `out`, and perhaps some more. Tells how many were wanted.
#[inline]
fn copy(bytes: &[u8], from: usize, to: usize, out: &mut [u8]) -> Option<usize> {
    let length = to - from;
    if length <= COPIED {
        out.get_mut(..COPIED)?.copy_from_slice(bytes.get(from..from + COPIED)?);
    } else {
        out.get_mut(..length)?.copy_from_slice(bytes.get(from..to)?);
    }
    Some(length)
}

/// Writes a block in which only quotes and backslashes must be escaped: a backslash before each. Tells how
/// many bytes it took; `None` if others must be, too.
#[inline]
fn escape_block(bytes: &[u8], at: usize, block: &Block, out: &mut [u8]) -> Option<usize> {
    if block.controls() != 0 {
        return None;
    }
    let mut marked = block.equal(b'"') | block.equal(b'\\');
    let (mut from, mut end) = (at, 0);
    while marked != 0 {
        let mark = at + marked.trailing_zeros() as usize;
        end += copy(bytes, from, mark, out.get_mut(end..)?)?;
        *out.get_mut(end)? = b'\\';
        end += 1;
        from = mark;
        marked &= marked - 1;
    }
    end += copy(bytes, from, at + Block::LENGTH, out.get_mut(end..)?)?;
    Some(end)
}

impl std::fmt::Debug for Escaper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Escaper").finish_non_exhaustive()
    }
}

/// Writes one byte. Tells how many it took.
fn escape(byte: u8, out: &mut [u8]) -> usize {
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

/// Reads the inside of a JSON string. `None` if it is none, or has an escape that takes more than a
/// look: then somebody more patient must read it.
pub(crate) fn unescape<'o>(text: &[u8], out: &'o mut Vec<u8>) -> Option<&'o [u8]> {
    // It never grows. What was there is written over.
    if out.len() < text.len() + COPIED {
        out.resize(text.len() + COPIED, 0);
    }
    let (mut at, mut end) = (0, 0);
    // Up to here it goes word by word.
    let mut careful = 0;
    loop {
        if at >= careful
            && let Some(block) = block(text, at)
        {
            if let Some((read, written)) = unescape_block(text, at, &block, out.get_mut(end..)?) {
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
            // A quote or a control character has no place here.
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

/// Reads a block in which only quotes and backslashes are escaped: without the backslash before each. Tells
/// how much it read and wrote; `None` if there is anything else to be careful about.
#[inline]
fn unescape_block(text: &[u8], at: usize, block: &Block, out: &mut [u8]) -> Option<(usize, usize)> {
    let (quotes, backslashes) = (block.equal(b'"'), block.equal(b'\\'));
    let escaped = Block::escaped(backslashes);
    if block.controls() | (quotes & !escaped) | (escaped & !(quotes | backslashes)) != 0 {
        return None;
    }
    let mut marks = backslashes & !escaped;
    // What the last byte escapes is in the next block, which starts with that byte then.
    let length = Block::LENGTH - (marks >> 63) as usize;
    marks &= u64::MAX >> 1;
    let (mut from, mut end) = (at, 0);
    while marks != 0 {
        let mark = at + marks.trailing_zeros() as usize;
        end += copy(text, from, mark, out.get_mut(end..)?)?;
        from = mark + 1;
        marks &= marks - 1;
    }
    end += copy(text, from, at + length, out.get_mut(end..)?)?;
    Some((length, end))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

    use proptest::prelude::*;

    use super::{Escaper, unescape};

    fn escaped(text: &str) -> Vec<u8> {
        let mut all = Vec::new();
        let write = |piece: &[u8]| {
            all.extend_from_slice(piece);
            Ok::<_, ()>(())
        };
        Escaper::new().escape(text, write).unwrap();
        all
    }

    /// Texts full of what must be escaped, longer than a piece now and then.
    fn texts() -> impl Strategy<Value = String> {
        let characters = prop_oneof![
            Just('"'),
            Just('\\'),
            Just('/'),
            (0..0x20_u8).prop_map(char::from),
            any::<char>(),
            proptest::char::range(' ', '~'),
        ];
        // As lines of the wire are: blocks of them need no care.
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
        fn it_is_escaped_as_others_do(text in texts()) {
            let quoted = [b"\"", escaped(&text).as_slice(), b"\""].concat();
            prop_assert_eq!(quoted, serde_json::to_vec(&text).unwrap());
        }

        #[test]
        fn what_is_read_is_what_others_read(text in texts(), raw in any::<bool>()) {
            let inside = if raw { text.clone().into_bytes() } else { escaped(&text) };
            let quoted = [b"\"", inside.as_slice(), b"\""].concat();
            let expected = serde_json::from_slice::<String>(&quoted).ok();
            let mut room = vec![b'x'; 3];
            let got = unescape(&inside, &mut room).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            // It may pass a text on to others, but never read another one, or one that is none.
            let has_rare = inside.windows(2).any(|pair| pair == b"\\u");
            prop_assert!(got == expected || (got.is_none() && has_rare), "{got:?} {expected:?}");
        }
    }
}
