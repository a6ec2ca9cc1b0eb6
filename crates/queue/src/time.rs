//! Time as the queue sees it. Nothing in Malla reads the wall clock except through [`Clock`].

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A moment: milliseconds since 1970 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMs(pub i64);

impl UnixMs {
    pub fn plus(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)))
    }

    pub fn minus(self, wait: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long from `self` until `later`; zero if that has passed.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }
}

/// Where "now" comes from.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> UnixMs;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> UnixMs {
        (**self).now()
    }
}

/// The machine's clock, shifted by what the shared store says is the difference to its own
/// (so that all nodes of a cluster agree on when a lease ends).
#[derive(Debug, Default)]
pub struct SystemClock {
    offset_ms: AtomicI64,
}

impl SystemClock {
    /// Makes this clock agree with one that reads something from `earliest` to `latest` now. It moves no further than it
    /// must: a slow answer does not bring a clock out of step that was in step.
    pub fn agree_with(&self, earliest: UnixMs, latest: UnixMs) {
        let now = machine_now();
        let offset = self.offset_ms.load(Ordering::Relaxed).min(latest.0 - now).max(earliest.0 - now);
        self.offset_ms.store(offset, Ordering::Relaxed);
    }
}

impl Clock for SystemClock {
    fn now(&self) -> UnixMs {
        UnixMs(machine_now() + self.offset_ms.load(Ordering::Relaxed))
    }
}

#[allow(clippy::disallowed_methods)] // the one place that reads the wall clock
fn machine_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A clock that moves only when told to: for tests and simulations.
#[derive(Debug)]
pub struct ManualClock {
    now_ms: AtomicI64,
}

impl ManualClock {
    pub fn at(start: UnixMs) -> Self {
        Self { now_ms: AtomicI64::new(start.0) }
    }

    pub fn advance(&self, by: Duration) {
        self.now_ms.fetch_add(i64::try_from(by.as_millis()).unwrap_or(0), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixMs {
        UnixMs(self.now_ms.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_moves_no_further_than_it_must() {
        let clock = SystemClock::default();
        let off_by = |clock: &SystemClock| clock.offset_ms.load(Ordering::Relaxed);
        let now = machine_now();
        clock.agree_with(UnixMs(now - 100), UnixMs(now + 10_000));
        assert_eq!(off_by(&clock), 0, "it was in step as far as anyone can tell");
        let now = machine_now();
        clock.agree_with(UnixMs(now + 60_000), UnixMs(now + 60_200));
        let ahead = off_by(&clock);
        assert!((55_000..=60_000).contains(&ahead), "{ahead} ms");
        let now = machine_now();
        clock.agree_with(UnixMs(now + 40_000), UnixMs(now + 90_000));
        assert_eq!(off_by(&clock), ahead, "nothing new is known");
        let now = machine_now();
        clock.agree_with(UnixMs(now - 5_200), UnixMs(now - 5_000));
        assert!((-10_000..=-5_000).contains(&off_by(&clock)));
    }
}
