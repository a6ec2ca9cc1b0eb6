//! What the simulated fleet works on: chance, sites, pages that change, and the natures of devices.

/// What a device is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Nature {
    Honest,
    /// Says that nothing has changed whenever it was asked that, and makes up the rest.
    Lazy,
    /// Makes up every page.
    Forging,
    /// Makes up one page in ten.
    Sparing,
    /// Makes up pages as its accomplices do, so that they confirm each other.
    Colluding,
    /// Honest for a thousand results, then makes up every page.
    Sleeping,
}

impl Nature {
    pub const LIARS: [Nature; 5] =
        [Nature::Lazy, Nature::Forging, Nature::Sparing, Nature::Colluding, Nature::Sleeping];

    pub fn name(self) -> &'static str {
        match self {
            Nature::Honest => "honest",
            Nature::Lazy => "lazy",
            Nature::Forging => "forging",
            Nature::Sparing => "sparing",
            Nature::Colluding => "colluding",
            Nature::Sleeping => "sleeping",
        }
    }
}

/// SplitMix64.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// Whether something happens that does so many times in a thousand.
    pub(super) fn happens(&mut self, per_mille: u32) -> bool {
        self.below(1_000) < u64::from(per_mille)
    }

    #[allow(clippy::cast_precision_loss)] // 53 bits fit
    pub(super) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

pub(super) const COUNTRIES: [&str; 5] = ["AR", "DE", "ES", "KE", "JP"];

const WORDS: [&str; 32] = [
    "river", "stone", "winter", "garden", "letter", "market", "harbour", "silver", "morning", "bridge", "forest",
    "window", "copper", "island", "summer", "village", "the", "of", "and", "went", "saw", "under", "before", "again",
    "people", "water", "road", "evening", "council", "bread", "light", "story",
];

/// A page, and when it is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sight {
    pub(super) page: u64,
    pub(super) site: u64,
    /// The page has become another one since it was fetched first.
    pub(super) changed: bool,
}

/// What somebody brings of a page: its status, which text and when, and whether that is made up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Brought {
    pub(super) status: u16,
    pub(super) number: u64,
    pub(super) moment: u64,
    pub(super) forged: bool,
}

impl Brought {
    pub(super) fn failed() -> Self {
        Self { status: crate::NO_ANSWER, number: 0, moment: 0, forged: false }
    }

    /// A text of many words that is the same for the same number, with a date and an ad that are not.
    pub(super) fn body(&self) -> String {
        if self.status != 200 {
            return String::new();
        }
        let (mut dice, moment) = (Dice(self.number), self.moment);
        let word = |at: u64| WORDS[usize::try_from(at).unwrap_or(0)];
        let mut text = format!("<p>2026-11-17 {moment}</p><p>");
        for _ in 0..60 {
            text.push_str(word(dice.below(32)));
            text.push(' ');
        }
        let ad = word(Dice(moment).below(32));
        text.push_str(&format!("</p><div>buy {ad} now</div><input value=\"{moment:x}\">"));
        text
    }
}
