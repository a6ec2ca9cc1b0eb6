//! What a device has in hand, and when it wants more.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Pages in hand at most, however many of them wait for their site's gap.
const PAGES_MAX: usize = 4_096;

/// Counts of pages. A page whose site is resting is in hand but not due: it keeps nobody busy.
#[derive(Default)]
pub(super) struct Hand {
    pages: AtomicUsize,
    due: AtomicUsize,
    /// More is wanted when fewer than this are due.
    enough: AtomicUsize,
    less: Notify,
}

/// A run's part in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Share {
    pub(super) pages: usize,
    pub(super) due: usize,
}

impl Hand {
    /// Waits until fewer than `enough` pages are due.
    pub(super) async fn fewer_than(&self, enough: usize) {
        self.enough.store(enough, Ordering::SeqCst);
        while !self.is_low() {
            self.less.notified().await;
        }
    }

    /// A run's share was `before` and is now `after`.
    pub(super) fn change(&self, before: Share, after: Share) {
        add(&self.pages, before.pages, after.pages);
        add(&self.due, before.due, after.due);
        if (after.pages < before.pages || after.due < before.due) && self.is_low() {
            self.less.notify_one();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pages.load(Ordering::SeqCst) == 0
    }

    fn is_low(&self) -> bool {
        let due = self.due.load(Ordering::SeqCst);
        due < self.enough.load(Ordering::SeqCst) && self.pages.load(Ordering::SeqCst) < PAGES_MAX
    }
}

fn add(count: &AtomicUsize, before: usize, after: usize) {
    // Wraps where it falls; the sum of all shares never does.
    count.fetch_add(after.wrapping_sub(before), Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn more_is_wanted_when_few_are_due() {
        let hand = Hand::default();
        let low = |enough| hand.fewer_than(enough).now_or_never().is_some();
        assert!(low(8));
        let (none, full) = (Share::default(), Share { pages: 16, due: 16 });
        hand.change(none, full);
        assert!(!low(8));
        let waiting = Share { pages: 16, due: 7 };
        hand.change(full, waiting);
        assert!(low(8));
        hand.change(none, Share { pages: PAGES_MAX - 16, due: 0 });
        assert!(!low(8), "there is a limit");
        hand.change(waiting, none);
        hand.change(Share { pages: PAGES_MAX - 16, due: 0 }, none);
        assert!(hand.is_empty() && low(1));
    }
}
