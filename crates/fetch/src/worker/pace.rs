//! What a device has seen of its own speed, and how much it therefore does at once.

use std::time::Duration;

use crate::{Measures, Site};

/// Fewer requests at once than this are not worth a device.
const PARALLEL_MIN: usize = 4;
const GROWTH: usize = 8;
/// More throughput by this factor is a rise.
const RISE: f64 = 1.02;
/// A block shall keep the device busy for about this long.
const BLOCK_TIME: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(5));
/// Fewer answers than this say nothing about the network.
const SAMPLE_MIN: u32 = 16;
/// If so many sites at once are silent, it is the network's fault rather than theirs.
const SITES_MIN: usize = 5;
/// The weight of the newest measure.
const NEWEST: f64 = 0.2;

/// How many requests go out at once: a few more every period for as long as that helps, half as many when this machine
/// or its network cannot keep up.
#[derive(Debug)]
pub(super) struct Pace {
    parallel: usize,
    parallel_max: usize,
    page_ms: f64,
    bytes_per_s: f64,
    pages_per_s: f64,
    period: Period,
}

/// What was seen since the last look.
#[derive(Debug, Default)]
struct Period {
    pages: u32,
    timed_out: u32,
    /// Some of those that timed out.
    silent: Vec<Site>,
    unable: bool,
}

impl Pace {
    pub(super) fn new(parallel: usize, parallel_max: usize) -> Self {
        let parallel_max = parallel_max.max(1);
        Self {
            parallel: parallel.clamp(1, parallel_max),
            parallel_max,
            page_ms: 0.0,
            bytes_per_s: 0.0,
            pages_per_s: 0.0,
            period: Period::default(),
        }
    }

    pub(super) fn parallel(&self) -> usize {
        self.parallel
    }

    pub(super) fn measures(&self) -> Measures {
        Measures {
            parallel: u32::try_from(self.parallel).unwrap_or(u32::MAX),
            page_ms: self.page_ms.round() as u64,
            bytes_per_s: self.bytes_per_s as u64,
        }
    }

    /// A page is done.
    pub(super) fn page(&mut self, site: &Site, took: Duration, timed_out: bool) {
        let took_ms = took.as_secs_f64() * 1_000.0;
        self.page_ms = if self.page_ms == 0.0 { took_ms } else { mean(self.page_ms, took_ms) };
        self.period.pages += 1;
        if timed_out {
            self.period.timed_out += 1;
            if self.period.silent.len() < SITES_MIN && !self.period.silent.contains(site) {
                self.period.silent.push(site.clone());
            }
        }
    }

    /// This machine had no file, port or memory for a request.
    pub(super) fn unable(&mut self) {
        self.period.unable = true;
    }

    /// Looks back on the last period. `short` says that more requests wanted to be under way than could.
    pub(super) fn look(&mut self, length: Duration, bytes: u64, short: bool) {
        let period = std::mem::take(&mut self.period);
        let seconds = length.as_secs_f64().max(0.001);
        let pages_per_s = f64::from(period.pages) / seconds;
        let rises = pages_per_s > self.pages_per_s * RISE;
        // Pages so slow that not every slot has done one: they wait, they do not work.
        let waits = (period.pages as usize) < self.parallel;
        if period.is_trouble() {
            let least = PARALLEL_MIN.min(self.parallel_max);
            self.parallel = (self.parallel / 2).max(least);
            let at_once = self.parallel;
            tracing::warn!("this machine or its network does not keep up: only {at_once} requests at once from now on");
        } else if short && (rises || waits) {
            self.parallel = (self.parallel + GROWTH).min(self.parallel_max);
        }
        self.pages_per_s = pages_per_s;
        self.bytes_per_s = mean(self.bytes_per_s, bytes as f64 / seconds);
    }
}

impl Period {
    fn is_trouble(&self) -> bool {
        let silence = self.pages >= SAMPLE_MIN && self.timed_out * 2 >= self.pages && self.silent.len() >= SITES_MIN;
        self.unable || silence
    }
}

fn mean(before: f64, newest: f64) -> f64 {
    before + (newest - before) * NEWEST
}

/// How many pages to ask for.
#[derive(Debug)]
pub(super) struct BlockSize {
    pages: usize,
    range: (usize, usize),
}

impl BlockSize {
    pub(super) fn new(least: usize, most: usize) -> Self {
        let least = least.max(1);
        Self { pages: least, range: (least, most.max(least)) }
    }

    pub(super) fn pages(&self) -> usize {
        self.pages
    }

    /// The last block was all but used up after this long.
    pub(super) fn lasted(&mut self, time: Duration) {
        let pages = match time {
            short if short < BLOCK_TIME.0 => self.pages * 2,
            long if long > BLOCK_TIME.1 => self.pages / 2,
            _ => self.pages,
        };
        self.pages = pages.clamp(self.range.0, self.range.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageUrl;

    const SECOND: Duration = Duration::from_secs(1);

    fn site(n: u32) -> Site {
        PageUrl::parse(&format!("http://site{n}.example/")).expect("a URL").site()
    }

    /// A period with so many pages; parallelism after it.
    fn period(pace: &mut Pace, pages: u32, timed_out: u32, sites: u32, short: bool) -> usize {
        for n in 0..pages {
            pace.page(&site(n % sites), Duration::from_millis(20), n < timed_out);
        }
        pace.look(SECOND, u64::from(pages) * 1_000, short);
        pace.parallel()
    }

    #[test]
    fn parallelism_grows_while_it_helps() {
        let mut pace = Pace::new(16, 40);
        assert_eq!(period(&mut pace, 100, 0, 50, true), 24);
        assert_eq!(period(&mut pace, 150, 0, 50, true), 32);
        assert_eq!(period(&mut pace, 150, 0, 50, true), 32, "no gain");
        assert_eq!(period(&mut pace, 300, 0, 50, false), 32, "there are slots enough");
        assert_eq!(period(&mut pace, 400, 0, 50, true), 40);
        assert_eq!(period(&mut pace, 500, 0, 50, true), 40, "not above the maximum");
    }

    #[test]
    fn slow_sites_do_not_starve_the_others() {
        let mut pace = Pace::new(16, 256);
        assert_eq!(period(&mut pace, 0, 0, 1, true), 24);
        assert_eq!(period(&mut pace, 3, 0, 3, true), 32);
    }

    #[test]
    fn trouble_of_our_own_halves_it() {
        let mut pace = Pace::new(16, 256);
        assert_eq!(period(&mut pace, 100, 60, 50, true), 8);
        assert_eq!(period(&mut pace, 100, 60, 2, false), 8, "two sites are silent, not the network");
        pace.unable();
        assert_eq!(period(&mut pace, 100, 0, 50, true), 4);
        pace.unable();
        assert_eq!(period(&mut pace, 100, 0, 50, true), 4);
    }

    #[test]
    fn measures_follow_what_is_seen() {
        let mut pace = Pace::new(16, 16);
        for _ in 0..50 {
            period(&mut pace, 10, 0, 1, false);
        }
        let Measures { parallel, page_ms, bytes_per_s } = pace.measures();
        assert_eq!((parallel, page_ms), (16, 20));
        assert!((9_900..=10_000).contains(&bytes_per_s), "{bytes_per_s}");
    }

    #[test]
    fn a_block_lasts_a_few_seconds() {
        let mut size = BlockSize::new(16, 512);
        let after = |size: &mut BlockSize, seconds| {
            size.lasted(seconds * SECOND);
            size.pages()
        };
        assert_eq!(after(&mut size, 6), 16);
        assert_eq!(after(&mut size, 1), 32);
        assert_eq!(after(&mut size, 3), 32);
        for _ in 0..6 {
            size.lasted(SECOND);
        }
        assert_eq!(size.pages(), 512);
        assert_eq!(after(&mut size, 6), 256);
    }
}
