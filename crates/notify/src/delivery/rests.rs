//! Targets that fail and fail: they are asked less, which spares them and everybody else's deliveries.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use malla_queue::{Failure, Verdict};

/// Failures in a row after which a subscription rests after each failure. What waits keeps waiting in its lane, and the first
/// success ends it.
const PATIENCE: u32 = 100;
const REST: Duration = Duration::from_secs(1);
/// Failing subscriptions that are counted. Who comes on top is asked as usual.
const FAILING_MAX: usize = 10_000;

/// Failures in a row by subscription, as this process has seen them.
#[derive(Default)]
pub(super) struct Rests {
    failures: Mutex<HashMap<String, u32>>,
}

impl Rests {
    /// The verdict, with a rest for the lane if the subscription has failed too often.
    pub(super) fn after(&self, subscription: &str, verdict: Verdict) -> Verdict {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match verdict {
            Verdict::Done(_) => {
                failures.remove(subscription);
                verdict
            }
            Verdict::Failed(failure) => {
                if !failures.contains_key(subscription) && failures.len() < FAILING_MAX {
                    failures.insert(subscription.to_owned(), 0);
                }
                let often = failures.get_mut(subscription).is_some_and(|often| {
                    *often = often.saturating_add(1);
                    *often > PATIENCE
                });
                let lane_rest = if often { failure.lane_rest.max(Some(REST)) } else { failure.lane_rest };
                Verdict::Failed(Failure { lane_rest, ..failure })
            }
            Verdict::Released { .. } => verdict,
        }
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

    #[test]
    fn a_longer_wish_of_the_target_counts() {
        let rests = Rests::default();
        let wish = Some(Duration::from_secs(30));
        assert!((0..=PATIENCE).all(|_| rest(&rests, "shop", wish) == wish));
        assert_eq!(rest(&rests, "shop", Some(Duration::from_millis(10))), Some(REST));
    }
}
