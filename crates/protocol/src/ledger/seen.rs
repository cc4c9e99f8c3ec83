//! [`Seen`]: which uuids have been seen lately.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasherDefault, Hash as _, Hasher};

/// How many uuids are remembered at least; at most twice as many. Repeated lines come soon after the first.
const REMEMBERED: usize = 4096;

type Set = HashSet<u128, BuildHasherDefault<Folded>>;

/// A set of the latest uuids, of bounded size.
///
/// When the latest set is full, it becomes the earlier one, which is dropped as a whole: every line of a conversation is
/// noted here, and removing one uuid for each would double the cost.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    latest: Set,
    earlier: Set,
}

impl Seen {
    /// Notes a uuid. True if it was new.
    pub(crate) fn note(&mut self, uuid: &str) -> bool {
        let key = key(uuid);
        if self.earlier.contains(&key) || !self.latest.insert(key) {
            return false;
        }
        if self.latest.len() == REMEMBERED {
            std::mem::swap(&mut self.latest, &mut self.earlier);
            self.latest.clear();
        }
        true
    }

    /// Forgets a uuid.
    pub(crate) fn forget(&mut self, uuid: &str) {
        let key = key(uuid);
        self.latest.remove(&key);
        self.earlier.remove(&key);
    }

    pub(crate) fn contains(&self, uuid: &str) -> bool {
        let key = key(uuid);
        self.latest.contains(&key) || self.earlier.contains(&key)
    }
}

/// A uuid is a number of 128 bits; any other text is hashed into one.
fn key(text: &str) -> u128 {
    parse(text).unwrap_or_else(|| {
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            (seed, text).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        half(0) << 64 | half(1)
    })
}

/// Parses a lower case UUID, eight digits at a time. Not with a crate for UUIDs: those accept upper case and forms without
/// dashes, which are other texts, so the result would have to be compared again; and this runs for every line.
fn parse(text: &str) -> Option<u128> {
    let bytes: &[u8; 36] = text.as_bytes().try_into().ok()?;
    let [a, b, c, d, e, f, g, h, dash1, i, j, k, l, dash2, m, n, o, p, dash3, rest @ ..] = *bytes;
    let [q, r, s, t, dash4, u, v, w, x, last @ ..] = rest;
    if [dash1, dash2, dash3, dash4] != [b'-'; 4] {
        return None;
    }
    let parts = [
        eight_digits([a, b, c, d, e, f, g, h])?,
        eight_digits([i, j, k, l, m, n, o, p])?,
        eight_digits([q, r, s, t, u, v, w, x])?,
        eight_digits(last)?,
    ];
    Some(parts.into_iter().fold(0, |value, part| value << 32 | u128::from(part)))
}

/// The number of eight lower case hexadecimal digits.
fn eight_digits(digits: [u8; 8]) -> Option<u32> {
    const ONES: u64 = u64::MAX / 255;
    let text = u64::from_be_bytes(digits);
    // In a letter, bit 6 is set, and the lower four bits count from 1.
    let letters = text >> 6 & ONES;
    let values = (text & (ONES * 0x0f)) + letters * 9;
    // Written as digits again it must be the same text, and no value may be too large for a digit.
    let above_nine = (values & (ONES * 0x0f)) + ONES * 6;
    let digits_again = values + ONES * u64::from(b'0') + (above_nine >> 4 & ONES) * 39;
    if digits_again != text || values & (ONES * 0xf0) != 0 {
        return None;
    }
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    let quads = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    u32::try_from((quads | quads >> 16) & 0xffff_ffff).ok()
}

/// A fast hash for keys that are mostly random.
#[derive(Debug, Default)]
pub(crate) struct Folded(u64);

impl Hasher for Folded {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u128(&mut self, value: u128) {
        #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
        let halves = ((value >> 64) as u64, value as u64);
        // UUIDs that count up must not collide: every bit affects the result.
        let mixed = (halves.0 ^ halves.1.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uuid(number: usize) -> String {
        format!("{number:08x}-0000-4000-8000-{number:012x}")
    }

    #[test]
    fn the_latest_are_remembered_and_memory_is_bounded() {
        let mut seen = Seen::default();
        for number in 0..10 * REMEMBERED {
            assert!(seen.note(&uuid(number)));
            assert!(!seen.note(&uuid(number.saturating_sub(REMEMBERED - 1))));
            assert!(seen.latest.len() + seen.earlier.len() <= 2 * REMEMBERED);
        }
        assert!(!seen.contains(&uuid(0)));
        seen.forget(&uuid(10 * REMEMBERED - 1));
        assert!(seen.note(&uuid(10 * REMEMBERED - 1)));
    }

    #[test]
    fn only_a_uuid_is_read_as_a_number() {
        let good = "0123abcd-ef01-4234-8567-89abcdef0123";
        assert_eq!(parse(good), Some(0x0123_abcd_ef01_4234_8567_89ab_cdef_0123));
        for at in 0..good.len() {
            for wrong in ["g", "A", "/", ":"] {
                let mut text = good.to_owned();
                text.replace_range(at..=at, wrong);
                assert_eq!(parse(&text), None, "{text}");
            }
        }
        assert_eq!(parse(&good[1..]), None);
    }
}
