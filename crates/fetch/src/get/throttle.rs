//! How many bytes a second all downloads may take together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What may come at once after a silence, in time.
const BURST: Duration = Duration::from_millis(100);
/// The most and the least that one read takes when there is a limit: small enough for many to share it.
const STEP_BYTES: (u64, u64) = (1_024, 16_384);

/// Counts what comes, and if there is a limit, says when more may come.
#[derive(Debug)]
pub(crate) struct Throttle {
    limit: Option<Limit>,
    taken: AtomicU64,
}

#[derive(Debug)]
struct Limit {
    bytes_per_s: u64,
    /// Until when what has come already uses up the rate.
    spent_until: Mutex<Instant>,
}

impl Throttle {
    pub(crate) fn new(bytes_per_s: Option<u64>) -> Self {
        let limit =
            |bytes_per_s: u64| Limit { bytes_per_s: bytes_per_s.max(1), spent_until: Mutex::new(Instant::now()) };
        Self { limit: bytes_per_s.map(limit), taken: AtomicU64::new(0) }
    }

    /// All that has ever come.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// The most that may be read in one step, if there is a limit.
    pub(super) fn step(&self) -> Option<usize> {
        let step = |limit: &Limit| (limit.bytes_per_s / 16).clamp(STEP_BYTES.0, STEP_BYTES.1);
        self.limit.as_ref().map(|limit| usize::try_from(step(limit)).expect("a few thousand"))
    }

    /// When the next read may be made, if not now.
    pub(super) fn not_before(&self, now: Instant) -> Option<Instant> {
        let limit = self.limit.as_ref()?;
        let spent_until = *limit.spent_until.lock().unwrap_or_else(PoisonError::into_inner);
        (spent_until > now).then_some(spent_until)
    }

    pub(super) fn take(&self, bytes: usize, now: Instant) {
        self.taken.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Some(limit) = &self.limit {
            let costs = Duration::from_secs_f64(bytes as f64 / limit.bytes_per_s as f64);
            let mut spent_until = limit.spent_until.lock().unwrap_or_else(PoisonError::into_inner);
            let from = now.checked_sub(BURST).map_or(*spent_until, |least| least.max(*spent_until));
            *spent_until = from + costs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_paid_for_in_time() {
        let throttle = Throttle::new(Some(10_000));
        let now = Instant::now() + Duration::from_secs(60);
        let waits = |now: Instant| throttle.not_before(now).map(|at| at - now);
        assert_eq!(waits(now), None);
        throttle.take(20_000, now);
        assert_eq!(waits(now), Some(Duration::from_secs(2) - BURST));
        // A long silence is not saved up.
        let now = now + Duration::from_secs(60);
        assert_eq!(waits(now), None);
        throttle.take(10_000, now);
        assert_eq!(waits(now), Some(Duration::from_secs(1) - BURST));
        assert_eq!(throttle.taken(), 30_000);
    }

    #[test]
    fn without_a_limit_it_only_counts() {
        let throttle = Throttle::new(None);
        throttle.take(usize::MAX / 2, Instant::now());
        assert_eq!((throttle.not_before(Instant::now()), throttle.step()), (None, None));
    }
}
