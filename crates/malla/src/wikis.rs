//! The room `wiki` put together: who takes extractions in, who walks histories, and who plans visits.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use malla_queue::worker::Work;
use malla_queue::{Queue, SystemClock};
use malla_reach::Guard;
use malla_store::Opened;
use malla_wiki::revisit::{Planner, PlannerOptions};
use malla_wiki::stream::{Listener, ListenerOptions};
use malla_wiki::{Asking, Walker, WalkerOptions, Wikis};

use crate::config::{Config, WikiSettings};

const DAY: Duration = Duration::from_secs(24 * 3_600);
const MB: usize = 1_000_000;
/// Requests in hand at once, each to another wiki.
pub(crate) const IN_HAND: usize = 64;

pub(crate) struct WikiRoom {
    pub(crate) wikis: Arc<dyn Wikis>,
    pub(crate) asking: Arc<Asking>,
    settings: WikiSettings,
    guard: Guard,
}

impl WikiRoom {
    pub(crate) fn new(config: &Config, store: &Opened) -> Result<Self> {
        let settings = config.wiki.clone();
        let wikis = store.wikis.clone();
        let asking = Asking {
            wikis: wikis.clone(),
            contact: settings.contact.clone(),
            template: settings.api.clone(),
            gap_ms: settings.gap_ms,
            extractions_max: settings.extractions_max,
        };
        Ok(Self { wikis, asking: Arc::new(asking), settings, guard: config.guard()? })
    }

    pub(crate) fn walker(&self, clock: &Arc<SystemClock>) -> Result<Arc<dyn Work>> {
        let options = WalkerOptions {
            contact: self.settings.contact.clone(),
            gap_ms: self.settings.gap_ms,
            template: self.settings.api.clone(),
            timeout: Duration::from_secs(self.settings.timeout_s),
            answer_bytes_max: self.settings.answer_mb_max * MB,
            maxlag: self.settings.maxlag,
            guard: self.guard.clone(),
        };
        Ok(Arc::new(Walker::new(self.wikis.clone(), clock.clone(), options)?))
    }

    /// Who plans visits; `None` if pages are visited only when somebody asks, or nobody may be asked.
    pub(crate) fn planner(&self, queue: &Arc<dyn Queue>, clock: &Arc<SystemClock>) -> Option<Planner> {
        if self.settings.contact.trim().is_empty() {
            return None;
        }
        // The one name that is no rule is `off`: others were refused with the settings.
        let rule = self.settings.revisit.parse().ok()?;
        let options = PlannerOptions {
            rule: Some(rule),
            visits_per_day: self.settings.visits_per_day,
            gap_ms: self.settings.gap_ms,
            reconcile_after: DAY * u32::try_from(self.settings.reconcile_days).unwrap_or(u32::MAX),
        };
        Some(Planner::new(self.wikis.clone(), queue.clone(), clock.clone(), options))
    }

    /// Who hears of changes from a stream of events; `None` if nobody shall.
    pub(crate) fn listener(&self, queue: &Arc<dyn Queue>) -> Result<Option<Listener>> {
        if !self.settings.stream {
            return Ok(None);
        }
        let options = ListenerOptions {
            url: self.settings.stream_url.parse().context("wiki.stream_url is not a URL")?,
            contact: self.settings.contact.clone(),
            gap_ms: self.settings.gap_ms,
        };
        Ok(Some(Listener::new(self.wikis.clone(), queue.clone(), options)?))
    }

    /// Pages of a wiki that may be asked about on a day without anybody wanting it.
    pub(crate) fn visits_per_day(&self) -> u64 {
        self.settings.visits_per_day
    }
}
