//! [`Block`]: 64 bytes of a JSON string, scanned together.

use wide::u8x16;

/// 64 bytes of a JSON string. An answer has a bit for each, the lowest for the first.
///
/// Not part of the API: tapes spell lines as strings, and are read and written by the same means.
#[derive(Debug)]
pub struct Block([u8x16; 4]);

impl Block {
    /// How many bytes it has.
    pub const LENGTH: usize = 64;

    /// These bytes.
    #[inline]
    pub fn new(bytes: &[u8; Self::LENGTH]) -> Self {
        let (quarters, _) = bytes.as_chunks::<16>();
        let mut block = [u8x16::default(); 4];
        for (quarter, bytes) in block.iter_mut().zip(quarters) {
            *quarter = u8x16::from(*bytes);
        }
        Self(block)
    }

    /// Which are this one.
    #[inline]
    pub fn equal(&self, byte: u8) -> u64 {
        self.bits(|part| part.simd_eq(u8x16::splat(byte)))
    }

    /// Which are one of these two.
    #[inline]
    pub fn either(&self, one: u8, other: u8) -> u64 {
        self.bits(|part| part.simd_eq(u8x16::splat(one)) | part.simd_eq(u8x16::splat(other)))
    }

    /// Which are control characters.
    #[inline]
    pub fn controls(&self) -> u64 {
        self.bits(|part| part.simd_lt(u8x16::splat(0x20)))
    }

    /// Whether any is a control character.
    #[inline]
    pub fn has_controls(&self) -> bool {
        let controls = self.0.map(|part| part.simd_lt(u8x16::splat(0x20)));
        controls.into_iter().fold(u8x16::default(), |any, part| any | part).to_bitmask() != 0
    }

    /// Which a backslash escapes, by the places of the backslashes. The first byte is not escaped.
    #[inline]
    pub const fn escaped(backslashes: u64) -> u64 {
        const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
        // In a row of backslashes every other one is escaped. A subtraction runs along the row: what
        // it leaves differs from the pattern of odd places in the escapes and in what ends the row.
        let after = backslashes << 1;
        ((after | ODD).wrapping_sub(backslashes) ^ ODD) ^ backslashes
    }

    #[inline]
    fn bits(&self, test: impl Fn(u8x16) -> u8x16) -> u64 {
        self.0.iter().rev().fold(0, |bits, part| bits << 16 | u64::from(test(*part).to_bitmask()))
    }
}
