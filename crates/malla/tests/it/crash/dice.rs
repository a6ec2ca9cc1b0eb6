//! Chance that can be played again: the same seed gives the same rolls.

use super::setting;

#[derive(Debug, Clone, Default)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice for one campaign; a failure prints the seed.
    pub(crate) fn of_chance(campaign: &str) -> Self {
        let seed = match setting("MALLA_CRASH_SEED") {
            Some(text) => text.parse().expect("MALLA_CRASH_SEED is a number"),
            None => {
                let mut bytes = [0u8; 4];
                getrandom::fill(&mut bytes).expect("randomness");
                u64::from(u32::from_le_bytes(bytes))
            }
        };
        eprintln!("{campaign}: MALLA_CRASH_SEED={seed}");
        Self(seed)
    }

    /// Others, that roll on their own.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }

    // SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.next() % sides.max(1)
    }

    pub(crate) fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.roll(from.len() as u64)).unwrap_or(0);
        from.get(index)
    }
}
