//! How many requests are under way at once on this device. The number changes while it works.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// For so long a slot may be used for one page after the other.
const NEW_FOR: Duration = Duration::from_millis(100);

pub(super) struct Slots {
    free: Semaphore,
    /// Slots to be taken away as they are given back.
    owed: AtomicUsize,
    limit: AtomicUsize,
    /// Somebody had to wait for a slot.
    waited: AtomicBool,
}

pub(super) struct Slot<'s> {
    slots: &'s Slots,
    permit: Option<SemaphorePermit<'s>>,
    since: Instant,
}

impl Slots {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            free: Semaphore::new(limit),
            owed: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit),
            waited: AtomicBool::new(false),
        }
    }

    pub(super) async fn take(&self) -> Slot<'_> {
        let permit = match self.free.try_acquire() {
            Ok(permit) => permit,
            Err(_) => {
                self.waited.store(true, Ordering::Relaxed);
                self.free.acquire().await.expect("it is never closed")
            }
        };
        Slot { slots: self, permit: Some(permit), since: Instant::now() }
    }

    /// Whether somebody had to wait since this was asked last.
    pub(super) fn were_short(&self) -> bool {
        self.waited.swap(false, Ordering::Relaxed)
    }

    /// Only one may call this at a time.
    pub(super) fn set_limit(&self, limit: usize) {
        let before = self.limit.swap(limit, Ordering::Relaxed);
        for _ in before..limit {
            if !self.pay_one() {
                self.free.add_permits(1);
            }
        }
        for _ in limit..before {
            match self.free.try_acquire() {
                Ok(permit) => permit.forget(),
                Err(_) => _ = self.owed.fetch_add(1, Ordering::AcqRel),
            }
        }
    }

    /// One less is owed; false if none was.
    fn pay_one(&self) -> bool {
        self.owed.fetch_update(Ordering::AcqRel, Ordering::Acquire, |owed| owed.checked_sub(1)).is_ok()
    }
}

impl Slot<'_> {
    /// It was taken a moment ago, and nobody wants it back.
    pub(super) fn is_new(&self) -> bool {
        self.since.elapsed() < NEW_FOR && self.slots.owed.load(Ordering::Relaxed) == 0
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        if self.slots.pay_one()
            && let Some(permit) = self.permit.take()
        {
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slot_is_kept_for_a_moment_unless_it_is_wanted_back() {
        let slots = Slots::new(2);
        let (first, second) = (slots.take().await, slots.take().await);
        assert!(first.is_new() && second.is_new());
        slots.set_limit(1);
        assert!(!first.is_new(), "one of them is owed");
        drop(first);
        assert!(second.is_new());
        tokio::time::advance(NEW_FOR).await;
        assert!(!second.is_new());
    }

    #[test]
    fn slots_come_and_go() {
        let slots = Slots::new(2);
        let take = || slots.take().now_or_never();
        let (first, second) = (take().expect("free"), take().expect("free"));
        assert!(!slots.were_short());
        assert!(take().is_none());
        assert!(slots.were_short() && !slots.were_short());
        slots.set_limit(1);
        drop(first);
        assert!(take().is_none(), "the limit is one, and one is taken");
        slots.set_limit(3);
        let (third, fourth) = (take().expect("free"), take().expect("free"));
        assert!(take().is_none());
        slots.set_limit(1);
        slots.set_limit(2);
        drop((second, third));
        let fifth = take().expect("free");
        assert!(take().is_none());
        drop((fourth, fifth));
        assert_eq!(slots.free.available_permits(), 2);
    }
}
