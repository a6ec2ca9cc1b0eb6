//! Trust, credit, quotas and the block-list as this installation is configured, and the duties that belong to them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use malla_fetch::blocklist::{Blocked, Blocking, Blocklist};
use malla_fetch::ledger::{Audit, HOUSE, Ledger, Prices};
use malla_fetch::quota::Quota;
use malla_fetch::trust::{Trust, TrustRules};
use malla_fetch::{Care, Fetch, NewJob, Terms, Wanted};
use malla_queue::{Act, Clock as _, Error, LaneSettings, Once, SystemClock, UnixMs};
use malla_store::Opened;
use metrics::{describe_gauge, gauge};

use crate::config::{Config, CreditSettings};
use crate::duties::{self, Stop};

/// How often a process looks whether the block-list has changed.
const LOOK_EVERY: Duration = Duration::from_secs(2);
const REFETCH_KNOWN_FOR: Duration = Duration::from_secs(86_400);
const BOOKS_EVERY: Duration = Duration::from_secs(60);
const AUDIT_EVERY: Duration = Duration::from_secs(3_600);
/// The first one of a new leader: whoever repairs the books wants to know.
const AUDIT_FIRST: Duration = Duration::from_secs(5);
/// Transfers that are carried forward in one step.
const CARRY_STEP: usize = 200;

#[derive(Clone)]
pub(crate) struct Caring {
    pub(crate) rules: TrustRules,
    pub(crate) prices: Prices,
    pub(crate) enforce: bool,
    pub(crate) quota: Quota,
    pub(crate) blocked: Blocklist,
    /// Where our own control site is, and its key.
    pub(crate) control: Option<(String, [u8; 32])>,
}

impl Caring {
    pub(crate) async fn new(config: &Config, store: &Opened) -> Result<Self> {
        let (trust, credit, quota) = (&config.trust, &config.credit, &config.quota);
        let fixed = config.fetch.blocked.iter().filter(|text| !text.is_empty()).map(|text| {
            let (why, by) = (String::new(), "configuration".to_owned());
            Ok::<_, malla_queue::Error>(Blocked { pattern: text.parse()?, why, contact: None, by, at: UnixMs(0) })
        });
        let blocked = Blocklist::new(fixed.collect::<malla_queue::Result<_>>()?);
        let control = match trust.control_url.as_str() {
            "" => None,
            url => {
                let mut new = [0; 32];
                getrandom::fill(&mut new)?;
                Some((url.to_owned(), store.trust.control_key(new).await?))
            }
        };
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let prices = match credit.enabled {
            true => Prices {
                page: whole(credit.page_micro),
                cached: whole(credit.cached_micro),
                share: whole(credit.share_percent),
                escrow_pages: whole(credit.escrow_pages),
            },
            false => Prices::default(),
        };
        Ok(Self {
            rules: TrustRules {
                enabled: trust.enabled,
                floor: f64::from(trust.floor_percent) / 100.0,
                strikes: trust.strikes,
                recover: trust.recover,
                probation: trust.probation,
                patience_ms: whole(trust.patience_s * 1_000),
            },
            prices,
            enforce: credit.enabled && credit.enforce,
            quota: Quota {
                pages_per_minute: quota.pages_per_minute,
                pages_per_day: quota.pages_per_day,
                bytes_per_day: quota.bytes_per_day,
            },
            blocked,
            control,
        })
    }

    pub(crate) fn care(&self, store: &Opened) -> Care {
        Care {
            trust: Some(store.trust.clone()),
            rules: self.rules,
            prices: self.prices,
            blocked: self.blocked.clone(),
            control: self.control.clone(),
        }
    }
}

/// Keeps this process' copy of the block-list fresh.
pub(crate) async fn watch_blocklist(blocking: Arc<dyn Blocking>, blocked: Blocklist, stop: Stop) {
    let duty = || async {
        blocked.set(blocking.blocked_sites().await?);
        Ok(())
    };
    duties::repeat("read the block-list", Duration::ZERO, LOOK_EVERY, stop, duty).await;
}

/// Asks anew for what convicted devices had brought.
pub(crate) struct Refetching {
    trust: Arc<dyn Trust>,
    fetch: Arc<dyn Fetch>,
    pending_max: u64,
    lanes: LaneSettings,
}

impl Refetching {
    pub(crate) fn new(config: &Config, store: &Opened) -> Self {
        let settings = &config.fetch;
        let lanes = LaneSettings { ceiling: 1, gap_ms: settings.gap_ms };
        Self { trust: store.trust.clone(), fetch: store.fetch.clone(), pending_max: settings.pending_max, lanes }
    }

    pub(crate) async fn run(self, stop: Stop) {
        let duty = || async {
            while let Some(next) = self.trust.refetch_next().await? {
                let wanted = next.urls.iter().map(|url| Wanted::read(url, false)).collect();
                let (pending_max, lanes) = (self.pending_max, self.lanes);
                let job = NewJob { group: None, wanted, pending_max, lanes, terms: Terms::default() };
                // Asked for once, also if this process ends before it has noted that.
                let once = Once {
                    scope: HOUSE.into(),
                    key: format!("refetch {}", next.id),
                    fingerprint: Vec::new(),
                    keep_for: REFETCH_KNOWN_FOR,
                };
                let object = format!("what device {} had brought", next.device.0);
                let act = Act { once: Some(once), ..Act::new(HOUSE, "fetch.ask", object) };
                match self.fetch.ask(job, act).await {
                    // Later: there is no hurry.
                    Err(Error::Full { .. }) => return Ok(()),
                    asked => asked?,
                };
                self.trust.refetched(next.id).await?;
            }
            Ok(())
        };
        duties::repeat("fetch again what convicted devices had brought", LOOK_EVERY, LOOK_EVERY, stop, duty).await;
    }
}

/// The ledger as its leader keeps it.
pub(crate) struct Books {
    ledger: Arc<dyn Ledger>,
    clock: Arc<SystemClock>,
    settings: CreditSettings,
}

impl Books {
    pub(crate) fn new(settings: &CreditSettings, store: &Opened, clock: &Arc<SystemClock>) -> Self {
        Self { ledger: store.ledger.clone(), clock: clock.clone(), settings: *settings }
    }

    /// Gives pledges back that are old, carries old entries forward, and looks whether everything sums up.
    pub(crate) async fn keep(self, stop: Stop) {
        let days = |days: u64| Duration::from_secs(days * 86_400);
        let duty = || async {
            let now = self.clock.now();
            while self.ledger.release(now.minus(days(self.settings.escrow_days))).await? > 0 {}
            let before = now.minus(days(self.settings.keep_days));
            while self.ledger.carry_forward(before, CARRY_STEP).await? > 0 {}
            Ok(())
        };
        let audit = || async {
            let audit = self.ledger.audit().await?;
            gauge!("malla_ledger_good").set(f64::from(u8::from(audit.is_good())));
            if !audit.is_good() {
                let Audit { sum, wrong_accounts, wrong_transfers, .. } = audit;
                tracing::error!(sum, ?wrong_accounts, ?wrong_transfers, "the books are not in order");
            }
            Ok(())
        };
        describe_gauge!("malla_ledger_good", "1 if the last audit found the books in order.");
        tokio::join!(
            duties::repeat("keep the books", BOOKS_EVERY, BOOKS_EVERY, stop.clone(), duty),
            duties::repeat("audit the books", AUDIT_FIRST, AUDIT_EVERY, stop, audit),
        );
    }
}
