//! Targets that fail and fail: they are asked less, which spares them and everybody else's deliveries.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use malla_queue::{Failure, Verdict};
use tokio::time::{Instant, sleep_until};

/// Failures in a row after which a subscription rests after each failure. What waits keeps waiting in its lane, and the first
/// success ends it.
const PATIENCE: u32 = 100;
const REST: Duration = Duration::from_secs(1);
/// Failing subscriptions that are counted. Who comes on top is asked as usual.
const FAILING_MAX: usize = 10_000;

/// Failures in a row by subscription, as this process has seen them.
#[derive(Default)]
pub(super) struct Rests {
    failures: Mutex<HashMap<String, Failing>>,
}

struct Failing {
    often: u32,
    /// When it is asked next, if it has failed too often.
    next: Instant,
}

impl Rests {
    /// Returns when the subscription may be asked: at once, unless it has failed too often. What its lane gives out
    /// after a rest is spread over the time of another, for a burst of failures is felt by everybody.
    pub(super) async fn turn(&self, subscription: &str, parallel: u32) {
        let at = match self.lock().get_mut(subscription) {
            Some(failing) if failing.often > PATIENCE => {
                let at = failing.next.max(Instant::now());
                failing.next = at + REST / parallel.max(1);
                at
            }
            _ => return,
        };
        sleep_until(at).await;
    }

    /// The verdict, with a rest for the lane if the subscription has failed too often.
    pub(super) fn after(&self, subscription: &str, verdict: Verdict) -> Verdict {
        let mut failures = self.lock();
        match verdict {
            Verdict::Done(_) => {
                failures.remove(subscription);
                verdict
            }
            Verdict::Failed(failure) => {
                if !failures.contains_key(subscription) && failures.len() < FAILING_MAX {
                    failures.insert(subscription.to_owned(), Failing { often: 0, next: Instant::now() });
                }
                let often = failures.get_mut(subscription).is_some_and(|failing| {
                    failing.often = failing.often.saturating_add(1);
                    failing.often > PATIENCE
                });
                let lane_rest = if often { failure.lane_rest.max(Some(REST)) } else { failure.lane_rest };
                Verdict::Failed(Failure { lane_rest, ..failure })
            }
            Verdict::Released { .. } => verdict,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Failing>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use malla_queue::Outcome;

    use super::*;

    fn rest(rests: &Rests, subscription: &str, asked: Option<Duration>) -> Option<Duration> {
        let failure = Failure { lane_rest: asked, ..Failure::new("no") };
        match rests.after(subscription, Verdict::Failed(failure)) {
            Verdict::Failed(failure) => failure.lane_rest,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_fails_too_often_rests_until_the_first_success() {
        let rests = Rests::default();
        assert!((0..PATIENCE).all(|_| rest(&rests, "shop", None).is_none()));
        assert_eq!(rest(&rests, "shop", None), Some(REST));
        assert_eq!(rest(&rests, "other", None), None);
        rests.after("shop", Verdict::Done(Outcome::default()));
        assert_eq!(rest(&rests, "shop", None), None);
    }

    #[tokio::test(start_paused = true)]
    async fn who_fails_too_often_is_asked_one_by_one() {
        let (rests, began) = (Rests::default(), Instant::now());
        assert!((0..PATIENCE).all(|_| rest(&rests, "shop", None).is_none()));
        rests.turn("shop", 20).await;
        rests.turn("other", 20).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        rest(&rests, "shop", None);
        for _ in 0..20 {
            rests.turn("shop", 20).await;
        }
        assert_eq!(began.elapsed().as_millis(), 950, "the first at once, the last within the rest");
        rests.turn("other", 20).await;
        rests.after("shop", Verdict::Done(Outcome::default()));
        rests.turn("shop", 20).await;
        assert_eq!(began.elapsed().as_millis(), 950);
    }

    #[test]
    fn a_longer_wish_of_the_target_counts() {
        let rests = Rests::default();
        let wish = Some(Duration::from_secs(30));
        assert!((0..=PATIENCE).all(|_| rest(&rests, "shop", wish) == wish));
        assert_eq!(rest(&rests, "shop", Some(Duration::from_millis(10))), Some(REST));
    }
}
