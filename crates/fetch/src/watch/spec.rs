//! What somebody wants of a watch, and what it has seen.

use std::time::Duration;

use malla_pulse::{Pulse, Seen, interval_h, rate, weight};
use malla_queue::{Error, Result, UnixMs};
use serde::{Deserialize, Serialize};

use crate::PageUrl;
use crate::text::{Ignore, check_selector};

const INTERVAL_MIN_S: u64 = 1;
const INTERVAL_MAX_S: u64 = 366 * 24 * 3_600;
const VERSIONS_MAX: u64 = 10_000;
const BYTES_MAX: u64 = 1_000_000_000;
/// Changes that tell how often there is one.
const PULSE: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchSpec {
    pub url: String,
    /// Only the parts of the page that this picks.
    pub selector: Option<String>,
    /// What makes no difference, as regular expressions.
    pub ignore: Vec<String>,
    pub interval_min_s: u64,
    pub interval_max_s: u64,
    /// Versions that are kept, and the bytes of their texts.
    pub versions: u64,
    pub bytes: u64,
}

impl Default for WatchSpec {
    fn default() -> Self {
        Self {
            url: String::new(),
            selector: None,
            ignore: Vec::new(),
            interval_min_s: 300,
            interval_max_s: 7 * 24 * 3_600,
            versions: 50,
            bytes: 10_000_000,
        }
    }
}

impl WatchSpec {
    pub fn check(&self) -> Result<()> {
        let wrong = |why: String| Err(Error::Invalid(why));
        self.page()?;
        if let Some(selector) = &self.selector {
            check_selector(selector)?;
        }
        Ignore::read(&self.ignore)?;
        let (min, max) = (self.interval_min_s, self.interval_max_s);
        if min < INTERVAL_MIN_S || max > INTERVAL_MAX_S || min > max {
            return wrong(format!(
                "the shortest interval is at least {INTERVAL_MIN_S} s, the longest at most {INTERVAL_MAX_S} s and not shorter"
            ));
        }
        if !(1..=VERSIONS_MAX).contains(&self.versions) || !(1..=BYTES_MAX).contains(&self.bytes) {
            return wrong(format!("1 to {VERSIONS_MAX} versions are kept, and 1 to {BYTES_MAX} bytes of them"));
        }
        Ok(())
    }

    pub fn page(&self) -> Result<PageUrl> {
        let url = PageUrl::parse(&self.url)
            .map_err(|why| Error::Invalid(format!("\"{}\" cannot be watched: {why}", self.url)))?;
        match crate::suspicious(&url) {
            Some(what) => Err(Error::Invalid(format!("\"{}\" looks like an attack ({what})", self.url))),
            None => Ok(url),
        }
    }
}

/// What a watch has seen.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    pub visits: u64,
    pub changes: u64,
    /// When the page was found changed, the newest last.
    pub changed_at: Vec<i64>,
    pub first_at: Option<UnixMs>,
    pub visited_at: Option<UnixMs>,
    /// When it is fetched again.
    pub next_at: Option<UnixMs>,
    pub status: u16,
    /// What went wrong the last time.
    pub trouble: Option<String>,
    /// Times in a row that it did.
    pub failures: u32,
    /// Names the text of the newest version, without what is ignored.
    pub seen: Option<String>,
}

impl Progress {
    /// Notes a change that a visit found.
    pub fn changed(&mut self, at: UnixMs) {
        self.changes += 1;
        self.changed_at.push(at.0);
        let over = self.changed_at.len().saturating_sub(PULSE);
        self.changed_at.drain(..over);
    }

    fn seen(&self, now: UnixMs) -> Seen {
        let (first, last) = (self.changed_at.first(), self.changed_at.last());
        // Between two changes lies one interval: the first only says when the clock started.
        let started = self.first_at.map_or(now.0, |at| at.0);
        let pulse = first.zip(last).map(|(first, last)| Pulse {
            edits: self.changed_at.len() as u64,
            first: UnixMs(if self.changed_at.len() < PULSE { started } else { *first }),
            last: UnixMs(*last),
        });
        Seen { pulse, visited_at: self.visited_at.unwrap_or(now).0 }
    }

    /// What it takes of the budget, and how many changes an hour are expected.
    pub fn weight(&self, now: UnixMs) -> (f64, f64) {
        let rate = rate(now.0, self.seen(now));
        (weight(rate), rate)
    }

    /// When to look again: as the budget of all watches allows, within the watch's own bounds. What fails is tried less and
    /// less.
    pub fn next(&self, spec: &WatchSpec, weights: f64, visits_per_day: u64, now: UnixMs) -> UnixMs {
        let (own, _) = self.weight(now);
        let hours = interval_h(own, weights, visits_per_day as f64 / 24.0);
        let seconds = (hours * 3_600.0).clamp(0.0, INTERVAL_MAX_S as f64) as u64;
        let seconds = seconds.clamp(spec.interval_min_s, spec.interval_max_s);
        let seconds = seconds.saturating_mul(1 << self.failures.min(6)).min(spec.interval_max_s);
        now.plus(Duration::from_secs(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn watch(changes_h: &[i64], now_h: i64) -> (Progress, UnixMs) {
        let mut progress =
            Progress { first_at: Some(UnixMs(0)), visited_at: Some(UnixMs(now_h * HOUR)), ..Progress::default() };
        changes_h.iter().for_each(|at| progress.changed(UnixMs(at * HOUR)));
        (progress, UnixMs(now_h * HOUR))
    }

    #[test]
    fn what_changes_more_is_visited_more() {
        let spec = WatchSpec::default();
        let (busy, now) = watch(&(0..20).map(|n| 80 + n).collect::<Vec<_>>(), 100);
        let (quiet, _) = watch(&[3], 100);
        let weights = busy.weight(now).0 + quiet.weight(now).0;
        let wait = |watch: &Progress| (watch.next(&spec, weights, 48, now).0 - now.0) / 1_000;
        assert!(wait(&busy) < wait(&quiet), "{} {}", wait(&busy), wait(&quiet));
        let a_day = 86_400.0 / wait(&busy) as f64 + 86_400.0 / wait(&quiet) as f64;
        assert!((a_day - 48.0).abs() < 1.0, "the budget is kept: {a_day}");
    }

    #[test]
    fn intervals_keep_within_bounds_and_failures_make_them_longer() {
        let spec = WatchSpec { interval_min_s: 60, interval_max_s: 3_600, ..WatchSpec::default() };
        let (watch, now) = watch(&[1, 2, 3], 4);
        let wait = |watch: &Progress, budget: u64| (watch.next(&spec, 1_000.0, budget, now).0 - now.0) / 1_000;
        assert_eq!(wait(&watch, 100_000_000), 60);
        assert_eq!(wait(&watch, 1), 3_600);
        let failing = Progress { failures: 2, ..watch };
        assert_eq!(wait(&failing, 100_000_000), 240);
    }

    #[test]
    fn a_wrong_watch_is_refused_with_the_reason() {
        let spec = |change: fn(&mut WatchSpec)| {
            let mut spec = WatchSpec { url: "https://example.org/".into(), ..WatchSpec::default() };
            change(&mut spec);
            spec.check().map_err(|error| error.to_string())
        };
        assert_eq!(spec(|_| {}), Ok(()));
        for (wrong, words) in [
            (spec(|spec| spec.url = "ftp://a".into()), "only http and https"),
            (spec(|spec| spec.selector = Some("a[".into())), "not a selector"),
            (spec(|spec| spec.ignore = vec!["(".into()]), "not a rule"),
            (spec(|spec| spec.interval_min_s = 0), "shortest interval"),
            (spec(|spec| spec.versions = 0), "versions are kept"),
        ] {
            assert!(wrong.as_ref().is_err_and(|why| why.contains(words)), "{wrong:?} lacks {words}");
        }
    }
}
