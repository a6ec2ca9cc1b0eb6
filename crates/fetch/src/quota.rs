//! How much a client may ask for: pages a minute in this process, pages and bytes a day over all nodes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use malla_queue::{Result, UnixMs};

const MINUTE_MS: i64 = 60_000;
pub const DAY_MS: i64 = 86_400_000;
/// Clients that are remembered; beyond it all begin anew.
const CLIENTS_MAX: usize = 100_000;

/// What the operator allows each client; 0: as much as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    pub pages_per_minute: u64,
    pub pages_per_day: u64,
    pub bytes_per_day: u64,
}

impl Quota {
    /// Whether days are counted at all.
    pub fn counts_days(&self) -> bool {
        self.pages_per_day > 0 || self.bytes_per_day > 0
    }

    /// Why a client that has used so much today may not ask for so many pages, and when it may, in milliseconds.
    pub fn refuse_day(&self, used: Used, pages: u64, now: UnixMs) -> Option<TooMuch> {
        let after_ms = u64::try_from(DAY_MS - now.0.rem_euclid(DAY_MS)).unwrap_or(0);
        let over = |limit: u64, used: u64, more: u64| limit > 0 && used.saturating_add(more) > limit;
        if over(self.pages_per_day, used.pages, pages) {
            let (limit, used) = (self.pages_per_day, used.pages);
            let why = format!("this client may have {limit} pages a day and had {used}: ask for fewer, or tomorrow");
            return Some(TooMuch { why, after_ms });
        }
        if over(self.bytes_per_day, used.bytes, 1) {
            let (limit, used) = (self.bytes_per_day, used.bytes);
            let why = format!("this client may have {limit} bytes a day and had {used}: ask again tomorrow");
            return Some(TooMuch { why, after_ms });
        }
        None
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooMuch {
    pub why: String,
    pub after_ms: u64,
}

/// What a client had today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    pub pages: u64,
    pub bytes: u64,
}

/// Buckets that fill again within a minute, one a client. A memory of this process.
#[derive(Debug, Default)]
pub struct Minutes(Mutex<HashMap<String, (i64, u64)>>);

impl Minutes {
    /// Takes so many pages from the client's bucket, or says when there will be enough. What is asked for at once may be
    /// more than the bucket holds, if it is full: it is empty for longer then.
    pub fn take(&self, client: &str, pages: u64, quota: &Quota, now: UnixMs) -> std::result::Result<(), TooMuch> {
        let limit = quota.pages_per_minute;
        if limit == 0 {
            return Ok(());
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= CLIENTS_MAX {
            all.clear();
        }
        let (since, owed) = all.entry(client.to_owned()).or_insert((now.0, 0));
        let refilled = u64::try_from((now.0 - *since).max(0)).unwrap_or(0).saturating_mul(limit) / MINUTE_MS as u64;
        if refilled > 0 {
            *owed = owed.saturating_sub(refilled);
            *since = now.0;
        }
        if *owed > 0 && owed.saturating_add(pages) > limit {
            let missing = owed.saturating_add(pages).min(owed.saturating_add(limit)) - limit;
            let after_ms = (missing.saturating_mul(MINUTE_MS as u64) / limit).max(1_000);
            let seconds = after_ms.div_ceil(1_000);
            let why = format!("this client may ask for {limit} pages a minute: ask again in {seconds} s");
            return Err(TooMuch { why, after_ms });
        }
        *owed = owed.saturating_add(pages);
        Ok(())
    }
}

/// The verbs of quotas.
#[async_trait]
pub trait Quotas: Send + Sync + 'static {
    /// What this client had on the day of `now`.
    async fn used(&self, client: &str, now: UnixMs) -> Result<Used>;
    /// Adds to it, and forgets days that are over.
    async fn use_up(&self, client: &str, more: Used, now: UnixMs) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_holds_what_it_may_and_fills_again() {
        let (minutes, quota) = (Minutes::default(), Quota { pages_per_minute: 60, ..Quota::default() });
        let at = |s: i64| UnixMs(s * 1_000);
        assert_eq!(minutes.take("a", 50, &quota, at(0)), Ok(()));
        let refused = minutes.take("a", 20, &quota, at(0)).expect_err("too much");
        assert_eq!(refused.after_ms, 10_000);
        assert_eq!(minutes.take("b", 20, &quota, at(0)), Ok(()), "each client has its own");
        assert_eq!(minutes.take("a", 20, &quota, at(10)), Ok(()));
        assert!(minutes.take("a", 1, &quota, at(10)).is_err());
        let whole = Minutes::default();
        assert_eq!(whole.take("a", 600, &quota, at(0)), Ok(()), "a large job is taken when nothing is owed");
        assert!(whole.take("a", 1, &quota, at(60)).is_err(), "and paid for with time");
        assert_eq!(whole.take("a", 1, &quota, at(600)), Ok(()));
        assert_eq!(minutes.take("a", 10_000, &Quota::default(), at(10)), Ok(()), "0 is no limit");
    }

    #[test]
    fn a_day_is_over_at_midnight() {
        let quota = Quota { pages_per_day: 100, bytes_per_day: 1_000, ..Quota::default() };
        let used = |pages, bytes| Used { pages, bytes };
        let noon = UnixMs(DAY_MS / 2);
        assert_eq!(quota.refuse_day(used(90, 0), 10, noon), None);
        let refused = quota.refuse_day(used(90, 0), 11, noon).expect("too much");
        assert_eq!(refused.after_ms, 43_200_000);
        assert!(quota.refuse_day(used(0, 1_000), 1, noon).is_some());
        assert_eq!(Quota::default().refuse_day(used(1 << 40, 1 << 50), 1, noon), None);
    }
}
