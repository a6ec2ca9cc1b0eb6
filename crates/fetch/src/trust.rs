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
pub mod world;

pub use case::{Check, CheckId, CheckKind, CheckState, CheckTask, Claim, Consequence, Finding, Party, Settling, Watch};
pub use free::{FreeChecks, Glance};
pub use likeness::{Likeness, likeness};
pub use verbs::{CaseFile, DeviceRepute, Trust};
pub(crate) use verdict::holds;
pub use verdict::{Agreement, Statement, Verdict, agreement, of_control, of_etag, of_three};

use serde::{Deserialize, Serialize};

/// What the operator decides about checks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrustRules {
    pub enabled: bool,
    /// The share of results that is checked however good a device is.
    pub floor: f64,
    /// Strikes after which a device is convicted, on more than one site; on one site alone it takes twice as many.
    pub strikes: u32,
    /// Strikes are forgiven after this many valid checked results in a row.
    pub recover: u64,
    /// A check that found nobody to do it ends after this.
    pub patience_ms: i64,
}

impl Default for TrustRules {
    fn default() -> Self {
        Self { enabled: true, floor: 0.02, strikes: 3, recover: 10, patience_ms: 3_600_000 }
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
}

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
    pub strikes: u32,
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
    pub fn valid(&mut self, rules: &TrustRules) {
        self.cv += 1;
        self.checked += 1;
        if self.cv >= rules.recover {
            self.strikes = 0;
            self.sites.clear();
        }
    }

    /// A checked result was a lie. Returns whether that convicts.
    pub fn lied(&mut self, rules: &TrustRules, site: &str, hard: bool) -> bool {
        self.cv = 0;
        self.checked += 1;
        self.strikes += 1;
        if !self.sites.iter().any(|known| known == site) && self.sites.len() < SITES_MAX {
            self.sites.push(site.to_owned());
        }
        let enough = if self.sites.len() > 1 { rules.strikes } else { rules.strikes.saturating_mul(2) };
        hard || self.strikes >= enough
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

    #[test]
    fn strikes_on_several_sites_convict_and_good_work_makes_up_for_them() {
        let rules = TrustRules::default();
        let mut repute = Repute { cv: 60, ..Repute::default() };
        assert!(!repute.lied(&rules, "a", false));
        assert_eq!(repute.cv, 0);
        assert!(!repute.lied(&rules, "b", false));
        assert!(repute.lied(&rules, "a", false));
        let mut odd = Repute::default();
        assert_eq!((0..6).map(|_| odd.lied(&rules, "a", false)).filter(|convicted| *convicted).count(), 1);
        let mut honest = Repute::default();
        honest.lied(&rules, "a", false);
        (0..10).for_each(|_| honest.valid(&rules));
        assert_eq!((honest.strikes, honest.cv), (0, 10));
        assert!(Repute::default().lied(&rules, "a", true), "hard evidence is enough");
    }
}
