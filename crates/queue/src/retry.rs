//! How long to wait before the next attempt.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Error, Limits};

/// One entry per further attempt: the wait before it, in milliseconds. An empty list means a single attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RetryDelays(Vec<u64>);

impl RetryDelays {
    pub fn none() -> Self {
        Self::default()
    }

    pub fn seconds(delays: impl IntoIterator<Item = u64>) -> Self {
        Self(delays.into_iter().map(|s| s.saturating_mul(1_000)).collect())
    }

    pub fn millis(delays: impl IntoIterator<Item = u64>) -> Self {
        Self(delays.into_iter().collect())
    }

    pub fn as_millis(&self) -> &[u64] {
        &self.0
    }

    /// The wait after failure number `failures` (from 1); `None` when it was the last one allowed.
    pub fn after(&self, failures: u32) -> Option<Duration> {
        let index = usize::try_from(failures).ok()?.checked_sub(1)?;
        self.0.get(index).copied().map(Duration::from_millis)
    }

    pub fn check(&self) -> Result<(), Error> {
        if self.0.len() > Limits::RETRIES_MAX {
            let max = Limits::RETRIES_MAX;
            return Err(Error::Invalid(format!("{} retry delays are too many: at most {max}", self.0.len())));
        }
        if self.0.iter().any(|ms| Duration::from_millis(*ms) > Limits::RETRY_DELAY_MAX) {
            return Err(Error::Invalid("a retry delay is at most 30 days".into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_delays_decide_the_next_attempt() {
        let delays = RetryDelays::seconds([5, 60, 600]);
        check(&delays, 1, Some(5));
        check(&delays, 3, Some(600));
        check(&delays, 4, None); // the last one failed: a person decides
        check(&delays, 0, None);
        check(&RetryDelays::none(), 1, None);
    }

    fn check(delays: &RetryDelays, failures: u32, expected_s: Option<u64>) {
        assert_eq!(delays.after(failures), expected_s.map(Duration::from_secs));
    }

    #[test]
    fn endless_lists_and_delays_are_refused() {
        assert!(RetryDelays::seconds(vec![1; 64]).check().is_ok());
        assert!(RetryDelays::seconds(vec![1; 65]).check().is_err());
        assert!(RetryDelays::seconds([30 * 24 * 3600]).check().is_ok());
        assert!(RetryDelays::seconds([u64::MAX]).check().is_err());
    }
}
