//! [`Seen`]: which uuids have been seen lately.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hash as _, Hasher};

/// How many uuids are remembered. A line that is repeated is repeated soon, if at all.
const REMEMBERED: usize = 4096;

/// A set of the latest uuids, of bounded size.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    set: HashSet<u128, BuildHasherDefault<Folded>>,
    order: VecDeque<u128>,
}

impl Seen {
    /// Notes a uuid; tells whether it was new.
    pub(crate) fn note(&mut self, uuid: &str) -> bool {
        let key = key(uuid);
        if !self.set.insert(key) {
            return false;
        }
        self.order.push_back(key);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.set.remove(&oldest);
        }
        true
    }

    /// The same uuid would be new again.
    pub(super) fn forget(&mut self, uuid: &str) {
        self.set.remove(&key(uuid));
    }

    pub(super) fn contains(&self, uuid: &str) -> bool {
        self.set.contains(&key(uuid))
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

fn parse(text: &str) -> Option<u128> {
    if text.len() != 36 {
        return None;
    }
    let mut value = 0;
    for (at, byte) in text.bytes().enumerate() {
        if matches!(at, 8 | 13 | 18 | 23) {
            if byte != b'-' {
                return None;
            }
            continue;
        }
        // Upper case would be another spelling of the same number, but another text.
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        value = value << 4 | u128::from(digit);
    }
    Some(value)
}

/// A quick hash for keys that are nearly random already.
#[derive(Debug, Default)]
pub(super) struct Folded(u64);

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
        // Uuids that only count up must not fall into one place: every bit reaches every other.
        let mixed = (halves.0 ^ halves.1.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
