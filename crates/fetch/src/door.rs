//! What a client may ask for: its quotas and its credit, for jobs from wherever they come.

use std::sync::Arc;

use malla_queue::{Clock, Error, GroupId};

use crate::ledger::{Account, Ledger, Prices};
use crate::quota::{Minutes, Quota, Quotas, TooMuch, Used};

/// One for all who take jobs in within a process.
pub struct Door {
    quota: Quota,
    prices: Prices,
    /// Whether a client without credit is turned away.
    enforce: bool,
    quotas: Arc<dyn Quotas>,
    ledger: Arc<dyn Ledger>,
    minutes: Minutes,
    clock: Arc<dyn Clock>,
}

/// Why a client is turned away.
#[derive(Debug)]
pub enum Turned {
    TooMuch(TooMuch),
    NoCredit(String),
    Failed(Error),
}

impl From<Error> for Turned {
    fn from(error: Error) -> Self {
        Turned::Failed(error)
    }
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("quota", &self.quota).field("prices", &self.prices).finish_non_exhaustive()
    }
}

impl Door {
    pub fn new(
        (quota, prices, enforce): (Quota, Prices, bool),
        quotas: Arc<dyn Quotas>,
        ledger: Arc<dyn Ledger>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        Arc::new(Self { quota, prices, enforce, quotas, ledger, minutes: Minutes::default(), clock })
    }

    /// Turns a client away that asks for more than it may. What is taken in then is to be [`Door::took_in`].
    pub async fn admit(&self, group: Option<GroupId>, pages: u64) -> Result<(), Turned> {
        let (now, account) = (self.clock.now(), Account::Client(group));
        let client = account.to_string();
        if self.quota.counts_days() {
            let used = self.quotas.used(&client, now).await?;
            if let Some(over) = self.quota.refuse_day(used, pages, now) {
                return Err(Turned::TooMuch(over));
            }
        }
        if self.enforce && self.prices.is_on() {
            let cost = self.prices.page.saturating_mul(i64::try_from(pages).unwrap_or(i64::MAX));
            let has = self.ledger.balance(&account).await?;
            if has < cost {
                return Err(Turned::NoCredit(format!(
                    "this costs up to {cost} micro-credits and the account {client} has {has}: ask an admin for a top-up"
                )));
            }
        }
        self.minutes.take(&client, pages, &self.quota, now).map_err(Turned::TooMuch)
    }

    /// Counts what was asked for.
    pub async fn took_in(&self, group: Option<GroupId>, pages: u64) {
        if self.quota.counts_days() {
            self.count(group, Used { pages, bytes: 0 }).await;
        }
    }

    /// Counts what a client is given.
    pub async fn gave(&self, group: Option<GroupId>, bytes: u64) {
        if bytes > 0 && self.quota.bytes_per_day > 0 {
            self.count(group, Used { pages: 0, bytes }).await;
        }
    }

    async fn count(&self, group: Option<GroupId>, more: Used) {
        let client = Account::Client(group).to_string();
        if let Err(error) = self.quotas.use_up(&client, more, self.clock.now()).await {
            tracing::warn!(%error, client, "what a client has used could not be counted");
        }
    }
}
