//! What is known of a site and survives a restart: how fast it may be asked, and whether it rests.

use std::time::Duration;

use malla_queue::UnixMs;
use serde::{Deserialize, Serialize};

/// The pause between two pages of a site that does not ask for another.
pub const GAP_MS: u64 = 1_000;
/// A site that pushes back is slowed down by no more than this.
const SLOWED_MS_MAX: u64 = 60_000;
/// So many good answers in a row, and it is slowed down by half as much.
const GOOD_TO_RECOVER: u32 = 10;
/// A site that does not answer rests no longer than this before it is tried again.
const FAILURE_REST_MS_MAX: u64 = 600_000;
/// A page that takes this much more or less than the mean, or a quarter of it, is an ordinary one.
const PAGE_MS_NEAR: u64 = 20;
/// No site sends us away for longer.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// How a site stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteState {
    /// What the site (or else the operator) asks for between two pages.
    pub gap_ms: u64,
    /// What comes on top because the site pushed back.
    pub slowed_ms: u64,
    /// Good answers in a row, while it is slowed down.
    pub good: u32,
    /// Times in a row that it gave no answer.
    pub failures: u32,
    /// Nothing is asked of it before this.
    pub rest_until: Option<UnixMs>,
    /// About how long a page takes: a moving mean, left alone by what lies near it.
    pub page_ms: Option<u64>,
}

/// What a site did when it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It answered, be it with an error of the page.
    Good { took_ms: u64 },
    /// It wants to be asked less (429, 503), perhaps not before a while.
    PushedBack { retry_after: Option<Duration> },
    /// It did not answer.
    Failed,
}

/// What an answer changes for the site's lane; `None` where it stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    pub gap_ms: Option<u64>,
    pub rest_until: Option<UnixMs>,
}

impl SiteState {
    pub fn new(gap_ms: u64) -> Self {
        Self { gap_ms, slowed_ms: 0, good: 0, failures: 0, rest_until: None, page_ms: None }
    }

    /// The pause that is kept between two pages.
    pub fn effective_gap_ms(&self) -> u64 {
        self.gap_ms.saturating_add(self.slowed_ms)
    }

    pub fn rests(&self, now: UnixMs) -> bool {
        self.rest_until.is_some_and(|until| now < until)
    }

    /// Takes over what the site now asks for.
    pub fn set_gap(&mut self, gap_ms: u64) -> Change {
        self.changed(|site| site.gap_ms = gap_ms)
    }

    /// Learns from what the site did.
    pub fn after(&mut self, seen: Seen, now: UnixMs) -> Change {
        if !self.rests(now) {
            self.rest_until = None;
        }
        self.changed(|site| match seen {
            Seen::Good { took_ms } => site.answered(took_ms),
            Seen::PushedBack { retry_after } => site.pushed_back(retry_after, now),
            Seen::Failed => site.failed(now),
        })
    }

    fn answered(&mut self, took_ms: u64) {
        self.failures = 0;
        self.page_ms = Some(self.page_ms.map_or(took_ms, |mean| page_ms(mean, took_ms)));
        if self.slowed_ms == 0 {
            return;
        }
        self.good = self.good.saturating_add(1);
        if self.good.is_multiple_of(GOOD_TO_RECOVER) {
            let half = self.slowed_ms / 2;
            self.slowed_ms = if half < self.first_step_ms() { 0 } else { half };
        }
    }

    fn pushed_back(&mut self, retry_after: Option<Duration>, now: UnixMs) {
        self.failures = 0;
        self.good = 0;
        self.slowed_ms = (self.slowed_ms * 2).clamp(self.first_step_ms(), SLOWED_MS_MAX);
        if let Some(wait) = retry_after {
            self.rest(now.plus(wait.min(RETRY_AFTER_MAX)));
        }
    }

    /// The first failure may be an accident; after that it rests 2 s, 4 s and so on.
    fn failed(&mut self, now: UnixMs) {
        self.good = 0;
        self.failures = self.failures.saturating_add(1);
        if self.failures > 1 {
            let rest_ms = 1_000_u64.saturating_mul(1 << (self.failures - 1).min(32)).min(FAILURE_REST_MS_MAX);
            self.rest(now.plus(Duration::from_millis(rest_ms)));
        }
    }

    fn first_step_ms(&self) -> u64 {
        self.gap_ms.clamp(1_000, SLOWED_MS_MAX)
    }

    fn rest(&mut self, until: UnixMs) {
        self.rest_until = self.rest_until.max(Some(until));
    }

    fn changed(&mut self, change: impl FnOnce(&mut Self)) -> Change {
        let before = *self;
        change(self);
        let gap_ms = self.effective_gap_ms();
        Change {
            gap_ms: (gap_ms != before.effective_gap_ms()).then_some(gap_ms),
            rest_until: self.rest_until.filter(|_| self.rest_until != before.rest_until),
        }
    }
}

/// Most answers of a healthy site shall change nothing about it, so that nothing needs to be written.
fn page_ms(mean: u64, took_ms: u64) -> u64 {
    let near = PAGE_MS_NEAR.max(mean / 4);
    if mean.abs_diff(took_ms) <= near { mean } else { mean.saturating_mul(7).saturating_add(took_ms) / 8 }
}

impl Default for SiteState {
    fn default() -> Self {
        Self::new(GAP_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(784_111_777_000); // Sun, 06 Nov 1994 08:49:37 GMT
    const GOOD: Seen = Seen::Good { took_ms: 100 };
    const PUSHED_BACK: Seen = Seen::PushedBack { retry_after: None };

    fn after(gap_ms: u64, seen: &[(usize, Seen)]) -> SiteState {
        let mut site = SiteState::new(gap_ms);
        for (times, seen) in seen {
            (0..*times).for_each(|_| {
                site.after(*seen, NOW);
            });
        }
        site
    }

    #[test]
    fn a_site_that_pushes_back_is_slowed_down_and_recovers() {
        for (gap_ms, seen, slowed_ms) in [
            (1_000, vec![(5, GOOD)], 0),
            (1_000, vec![(1, PUSHED_BACK)], 1_000),
            (1_000, vec![(2, PUSHED_BACK)], 2_000),
            (1_000, vec![(7, PUSHED_BACK)], 60_000),
            (1_000, vec![(99, PUSHED_BACK)], 60_000),
            (100, vec![(1, PUSHED_BACK)], 1_000),
            (5_000, vec![(1, PUSHED_BACK)], 5_000),
            (30_000, vec![(2, PUSHED_BACK)], 60_000),
            (90_000, vec![(3, PUSHED_BACK)], 60_000),
            (1_000, vec![(3, PUSHED_BACK), (9, GOOD)], 4_000),
            (1_000, vec![(3, PUSHED_BACK), (10, GOOD)], 2_000),
            (1_000, vec![(3, PUSHED_BACK), (9, GOOD), (1, Seen::Failed), (9, GOOD)], 4_000),
            (1_000, vec![(3, PUSHED_BACK), (20, GOOD)], 1_000),
            (1_000, vec![(3, PUSHED_BACK), (30, GOOD)], 0),
            (1_000, vec![(3, PUSHED_BACK), (10, GOOD), (1, PUSHED_BACK)], 4_000),
        ] {
            let site = after(gap_ms, &seen);
            assert_eq!(site.slowed_ms, slowed_ms, "{gap_ms} {seen:?}");
            assert_eq!(site.effective_gap_ms(), gap_ms + slowed_ms);
        }
    }

    #[test]
    fn a_site_that_does_not_answer_rests_longer_and_longer() {
        for (failures, rest_s) in
            [(1, None), (2, Some(2)), (3, Some(4)), (4, Some(8)), (10, Some(512)), (11, Some(600)), (99, Some(600))]
        {
            let site = after(1_000, &[(failures, Seen::Failed)]);
            assert_eq!(site.rest_until, rest_s.map(|s| NOW.plus(Duration::from_secs(s))), "{failures}");
            assert_eq!(site.rests(NOW), rest_s.is_some());
        }
        assert_eq!(after(1_000, &[(9, Seen::Failed), (1, GOOD), (1, Seen::Failed)]).failures, 1);
        assert_eq!(after(1_000, &[(9, Seen::Failed), (1, PUSHED_BACK)]).failures, 0);
    }

    #[test]
    fn a_site_that_names_a_time_is_left_alone_until_then() {
        for (asked_s, rest_s) in [(30, 30), (3_600, 3_600), (999_999, 3_600)] {
            let mut site = SiteState::default();
            let wait = Seen::PushedBack { retry_after: Some(Duration::from_secs(asked_s)) };
            let until = NOW.plus(Duration::from_secs(rest_s));
            let change = site.after(wait, NOW);
            assert_eq!(change, Change { gap_ms: Some(2_000), rest_until: Some(until) }, "{asked_s}");
            // What was under way does not end the rest.
            assert_eq!(site.after(GOOD, NOW), Change::default());
            assert_eq!(site.after(PUSHED_BACK, NOW), Change { gap_ms: Some(3_000), rest_until: None });
            assert!(site.rests(NOW) && !site.rests(until));
            site.after(GOOD, until);
            assert_eq!(site.rest_until, None);
        }
    }

    #[test]
    fn a_change_says_only_what_is_new() {
        let mut site = SiteState::default();
        assert_eq!(site.after(GOOD, NOW), Change::default());
        assert_eq!(site.after(Seen::Failed, NOW), Change::default());
        let rest_until = Some(NOW.plus(Duration::from_secs(2)));
        assert_eq!(site.after(Seen::Failed, NOW), Change { gap_ms: None, rest_until });
        assert_eq!(site.set_gap(5_000), Change { gap_ms: Some(5_000), rest_until: None });
        assert_eq!(site.set_gap(5_000), Change::default());
    }

    #[test]
    fn the_time_of_a_page_is_a_moving_mean() {
        let mut site = SiteState::default();
        for (took_ms, mean_ms) in [(800, 800), (0, 700), (700, 700), (1_500, 800)] {
            site.after(Seen::Good { took_ms }, NOW);
            assert_eq!(site.page_ms, Some(mean_ms), "{took_ms}");
        }
    }

    #[test]
    fn a_state_survives_being_written_down() {
        let site = after(2_000, &[(3, PUSHED_BACK), (1, GOOD), (2, Seen::Failed)]);
        let text = serde_json::to_string(&site).expect("it is written");
        assert_eq!(serde_json::from_str::<SiteState>(&text).expect("it is read"), site);
        assert_eq!(serde_json::from_str::<SiteState>("{}").expect("it is read"), SiteState::default());
    }
}
