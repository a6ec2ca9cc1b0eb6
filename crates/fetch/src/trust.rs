//! Why a client may believe a stranger's device: how often its results are checked, what a check compares, and when a
//! device is convicted. Plain functions over plain data: the product and `malla bench trust` use the same.
//!
//! After BOINC: CV is the number of consecutive valid checked results. A result is checked with the probability
//! max(1/CV, floor), so a newcomer is always checked and nobody ever never. Only checked results raise CV; a lie resets it.

mod case;
pub(crate) mod free;
mod likeness;
mod verbs;
mod verdict;
mod watching;
pub mod world;

pub use case::{Check, CheckId, CheckKind, CheckState, CheckTask, Claim, Consequence, Finding, Party, Settling};
pub use free::{FreeChecks, Glance};
pub use likeness::{Likeness, likeness};
pub use verbs::{CaseFile, DeviceRepute, Refetch, Trust};
pub use verdict::{Agreement, Statement, Verdict, agreement, find};
pub use watching::{Moved, Watch};

use serde::{Deserialize, Serialize};

/// What the operator decides about checks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrustRules {
    pub enabled: bool,
    /// The share of results that is checked however good a device is.
    pub floor: f64,
    /// Strikes that convict a device, on more than one site; on one site alone it takes twice as many.
    pub strikes: u32,
    /// Valid checked results that make up for one strike: honest devices are contradicted now and then too, since pages
    /// change between two fetches.
    pub recover: u32,
    /// A device with fewer consecutive valid checked results is on probation: what is checked of it is told after that.
    pub probation: u64,
    /// A check that found nobody to do it ends after this.
    pub patience_ms: i64,
}

impl Default for TrustRules {
    fn default() -> Self {
        Self { enabled: true, floor: 0.02, strikes: 6, recover: 20, probation: 10, patience_ms: 3_600_000 }
    }
}

impl TrustRules {
    /// How likely a result is to be checked.
    pub fn chance(&self, cv: u64) -> f64 {
        #[allow(clippy::cast_precision_loss)] // a rough probability will do
        let by_standing = 1.0 / cv.max(1) as f64;
        by_standing.max(self.floor)
    }

    /// Whether a result is checked; `draw` is from 0 to 1.
    pub fn is_checked(&self, cv: u64, draw: f64) -> bool {
        draw < self.chance(cv)
    }

    /// Whether a page is asked for with a validator that no page has.
    pub fn is_trapped(&self, cv: u64, draw: f64) -> bool {
        draw < self.chance(cv) * TRAP_SHARE
    }

    /// Whether, besides a check, somebody is sent for a page that we know, of ours or of others.
    pub fn sends_to_control(&self, draw: f64) -> bool {
        draw < CONTROL_SHARE
    }

    /// Whether clients wait for the check of a result.
    pub fn holds(&self, cv: u64) -> bool {
        cv < self.probation
    }
}

/// For each page that is checked, pages that get a validator that no page has.
const TRAP_SHARE: f64 = 0.25;
/// For each page that is checked, devices that are sent for a page that we know.
const CONTROL_SHARE: f64 = 0.125;
/// Sites of strikes that are remembered.
const SITES_MAX: usize = 8;

/// How a device, or a user over all devices, stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Repute {
    /// Consecutive valid checked results.
    pub cv: u64,
    /// Checked in all.
    pub checked: u64,
    /// Lies it was found out in.
    pub strikes: u32,
    /// What weighs against it: each strike adds [`TrustRules::recover`], each valid result takes one off.
    pub score: u32,
    /// Where the strikes were, each site once.
    pub sites: Vec<String>,
    /// Checks that told nothing for or against it.
    pub doubts: u64,
    pub convicted: bool,
    /// Why, for people.
    pub reason: Option<String>,
}

impl Repute {
    /// A checked result was as it should be.
    pub fn valid(&mut self) {
        self.cv += 1;
        self.checked += 1;
        self.score = self.score.saturating_sub(1);
        if self.score == 0 {
            self.strikes = 0;
            self.sites.clear();
        }
    }

    /// A checked result was a lie. Returns whether that convicts. A hard proof weighs half of a conviction, wherever it was:
    /// a broken site or network can look like a liar once.
    pub fn lied(&mut self, rules: &TrustRules, site: &str, hard: bool) -> bool {
        self.strikes += 1;
        let strikes = if hard { rules.strikes.div_ceil(2).max(1) } else { 1 };
        self.weighs(rules, site, rules.recover.max(1).saturating_mul(strikes), hard)
    }

    /// It stood alone, but in another country than both others, as it says: a site may look different there, and not many do.
    /// Returns whether that convicts.
    pub fn stood_apart(&mut self, rules: &TrustRules, site: &str) -> bool {
        self.doubts += 1;
        // One site that differs by place weighs once.
        let known = self.sites.iter().any(|known| known == site);
        self.weighs(rules, site, if known { 0 } else { rules.recover.max(1).div_ceil(2) }, false)
    }

    fn weighs(&mut self, rules: &TrustRules, site: &str, weight: u32, hard: bool) -> bool {
        self.cv = 0;
        self.checked += 1;
        self.score = self.score.saturating_add(weight);
        if !self.sites.iter().any(|known| known == site) && self.sites.len() < SITES_MAX {
            self.sites.push(site.to_owned());
        }
        let one_site = self.sites.len() < 2 && !hard;
        let enough = if one_site { rules.strikes.saturating_mul(2) } else { rules.strikes };
        // A few valid results in between do not save it.
        weight > 0 && self.score > enough.saturating_sub(1).saturating_mul(rules.recover.max(1))
    }

    /// A trusted device saw something else, which may have its reasons: it is looked at more often.
    pub fn contradicted(&mut self) {
        self.doubts += 1;
        self.cv /= 2;
    }

    pub fn doubted(&mut self) {
        self.doubts += 1;
    }

    /// Acquitted: it begins anew.
    pub fn acquit(&mut self) {
        *self = Self { checked: self.checked, doubts: self.doubts, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newcomers_are_always_checked_and_nobody_never() {
        let rules = TrustRules::default();
        for (cv, chance) in [(0, 1.0), (1, 1.0), (4, 0.25), (50, 0.02), (1_000_000, 0.02)] {
            assert!((rules.chance(cv) - chance).abs() < 1e-9, "{cv}");
        }
        assert!(rules.is_checked(0, 0.999) && rules.is_checked(1_000, 0.019) && !rules.is_checked(1_000, 0.021));
    }

    /// How many lies it takes, told about these sites in turn.
    fn lies_until_convicted(sites: &[&str], hard: bool) -> usize {
        let (rules, mut repute) = (TrustRules::default(), Repute { cv: 60, ..Repute::default() });
        let told = sites.iter().cycle().take(100).take_while(|site| !repute.lied(&rules, site, hard)).count();
        told + 1
    }

    #[test]
    fn strikes_on_several_sites_convict() {
        assert_eq!(lies_until_convicted(&["a", "b"], false), 6);
        assert_eq!(lies_until_convicted(&["a"], false), 12, "one odd site weighs less");
        assert_eq!(lies_until_convicted(&["a"], true), 2, "never one alone, even if it is a proof");
    }

    #[test]
    fn good_work_makes_up_for_strikes() {
        let rules = TrustRules::default();
        let mut honest = Repute::default();
        for site in 0..1_000 {
            assert!(!honest.lied(&rules, &format!("site-{site}"), false), "strike {site}");
            assert_eq!(honest.cv, 0);
            (0..20).for_each(|_| honest.valid());
        }
        assert_eq!((honest.strikes, honest.score, honest.cv), (0, 0, 20));
        let mut abroad = Repute::default();
        assert!((0..1_000).all(|_| !abroad.stood_apart(&rules, "a")), "one site that looks different there");
        let apart = (0..1_000).position(|site| abroad.stood_apart(&rules, &format!("site-{site}")));
        assert!(apart.is_some_and(|sites| sites > 6), "but not all of them: {apart:?}");
        let mut sparing = Repute::default();
        let convicted = (0..1_000).position(|site| {
            (0..9).for_each(|_| sparing.valid());
            sparing.lied(&rules, &format!("site-{site}"), false)
        });
        assert!(convicted.is_some_and(|lies| lies < 15), "one lie in ten is too many: {convicted:?}");
    }
}
