//! How long a lease lasts, by a clock that goes on while the machine sleeps.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::task::AbortHandle;

/// No request is under way in the last tenth of a lease, or in its last two seconds if that is less.
const MARGIN_MAX: Duration = Duration::from_secs(2);
/// A timer stands still while the machine sleeps: this is how late it may notice that it has slept.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Since the machine was started, sleep included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Uptime(Duration);

impl Uptime {
    pub(super) fn now() -> Self {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        const CLOCK: ClockId = ClockId::Boottime;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        const CLOCK: ClockId = ClockId::Monotonic;
        let now = clock_gettime(CLOCK);
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        Self(Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or_default()))
    }
}

/// The time in which a block's requests may be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lease {
    /// No request after this.
    ends: Uptime,
    /// No result after this.
    gone: Uptime,
}

impl Lease {
    /// `asked` is the moment before the block was asked for: whatever the answer took is part of the lease.
    pub(super) fn new(asked: Uptime, lease_for: Duration) -> Self {
        let gone = asked.0.saturating_add(lease_for);
        let margin = MARGIN_MAX.min(lease_for / 10);
        Self { ends: Uptime(gone.saturating_sub(margin)), gone: Uptime(gone) }
    }

    /// Whether a request may be under way.
    pub(super) fn lasts(&self) -> bool {
        Uptime::now() < self.ends
    }

    /// Whether the dispatcher would not take results any more.
    pub(super) fn is_gone(&self) -> bool {
        Uptime::now() >= self.gone
    }

    /// Returns when no request may be under way any more.
    pub(super) async fn over(&self) {
        loop {
            let left = self.ends.0.saturating_sub(Uptime::now().0);
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LOOK_EVERY)).await;
        }
    }
}

/// A run's lease, and the way to stop the run if it is lost before its time.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) lease: Lease,
    lost: AtomicBool,
    run: OnceLock<AbortHandle>,
}

impl Ticket {
    pub(super) fn new(lease: Lease) -> Self {
        Self { lease, lost: AtomicBool::new(false), run: OnceLock::new() }
    }

    /// The task that works under it.
    pub(super) fn is_for(&self, run: AbortHandle) {
        self.run.set(run).expect("a run is started once");
        if self.lost.load(Ordering::Acquire) {
            self.lose();
        }
    }

    /// The dispatcher says that somebody else may have the site by now.
    pub(super) fn lose(&self) {
        self.lost.store(true, Ordering::Release);
        if let Some(run) = self.run.get() {
            run.abort();
        }
    }

    /// Whether a request may be under way.
    pub(super) fn lasts(&self) -> bool {
        !self.lost.load(Ordering::Acquire) && self.lease.lasts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lease_ends_before_its_time() {
        let (now, second) = (Uptime::now(), Duration::from_secs(1));
        for (lease_for, ends) in [(second, Duration::from_millis(900)), (60 * second, 58 * second)] {
            let lease = Lease::new(now, lease_for);
            assert_eq!(lease.ends, Uptime(now.0 + ends));
            assert_eq!(lease.gone, Uptime(now.0 + lease_for));
            assert!(lease.lasts() && !lease.is_gone());
        }
        let long_ago = Lease::new(Uptime(now.0.saturating_sub(10 * second)), 10 * second);
        assert!(!long_ago.lasts() && long_ago.is_gone());
        long_ago.over().await;
    }

    #[tokio::test]
    async fn a_lost_lease_stops_its_run() {
        for lose_first in [true, false] {
            let ticket = Ticket::new(Lease::new(Uptime::now(), Duration::from_secs(60)));
            assert!(ticket.lasts());
            let run = tokio::spawn(std::future::pending::<()>());
            if lose_first {
                ticket.lose();
            }
            ticket.is_for(run.abort_handle());
            ticket.lose();
            assert!(!ticket.lasts());
            assert!(run.await.expect_err("stopped").is_cancelled());
        }
    }
}
