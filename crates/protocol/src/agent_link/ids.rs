//! [`Ids`]: names that look like those of the real CLI, without asking the machine for chance.

/// A source of ids in the form of version 4 UUIDs. The same seed gives the same ids, so that a
/// conversation can be repeated to the letter.
#[derive(Debug, Default)]
pub(super) struct Ids(u64);

impl Ids {
    pub(super) const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn uuid(&mut self) -> String {
        let (high, low) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xFFFF,
            high & 0xFFF,
            low >> 48 & 0x3FFF | 0x8000,
            low & 0xFFFF_FFFF_FFFF,
        )
    }

    /// SplitMix64: every state gives another number.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}
