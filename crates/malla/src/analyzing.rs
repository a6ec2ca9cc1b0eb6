//! The room `analyze` put together: what takes batches in and what maps them share the batches just taken.

use std::sync::Arc;
use std::time::Duration;

use malla_analyze::{Analyst, Analyze, Keep, Recent};
use malla_queue::SystemClock;
use malla_queue::worker::Work;
use malla_store::Opened;

use crate::config::{AnalyzeSettings, Config};
use crate::roles::Role;

/// Rows that one step of forgetting takes: some of them are whole batches.
const SWEEP_STEP: usize = 64;
const MB: usize = 1_000_000;
/// This part of the memory is for batches that were just taken in: enough for those who map them to go on.
const RECENT: usize = 8;

pub(crate) struct Analyzing {
    pub(crate) analyze: Arc<dyn Analyze>,
    settings: AnalyzeSettings,
    recent: Arc<Recent>,
    /// Whether batches are mapped in this process.
    maps: bool,
}

impl Analyzing {
    pub(crate) fn new(config: &Config, store: &Opened) -> Self {
        let settings = config.analyze.clone();
        Self {
            analyze: store.analyze.clone(),
            recent: Arc::new(Recent::new(settings.memory_mb * MB / RECENT)),
            maps: config.roles.contains(&Role::Analyst),
            settings,
        }
    }

    pub(crate) fn analyst(&self, clock: &Arc<SystemClock>) -> Arc<dyn Work> {
        Arc::new(Analyst::new(self.analyze.clone(), clock.clone(), self.recent.clone(), self.concurrency()))
    }

    pub(crate) fn for_api(&self) -> malla_api::AnalyzeOptions {
        let bytes = |mb: u64| mb.saturating_mul(MB as u64);
        malla_api::AnalyzeOptions {
            studies_max: self.settings.studies_max,
            batch_bytes_max: self.settings.batch_mb_max * MB,
            waiting_bytes_max: bytes(self.settings.waiting_mb_max),
            dimension_bytes_max: bytes(self.settings.tables_mb_max),
            in_hand_bytes_max: self.settings.memory_mb * MB,
            recent: self.maps.then(|| self.recent.clone()),
        }
    }

    /// Batches in hand at once: beside those worked on, some are on their way from or to the store.
    pub(crate) fn in_hand(&self) -> usize {
        self.concurrency() * 4
    }

    /// Batches worked on at once.
    fn concurrency(&self) -> usize {
        match self.settings.concurrency {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            some => some,
        }
    }

    pub(crate) fn keep(&self) -> Keep {
        Keep {
            idle_for: Duration::from_secs(self.settings.idle_h * 3_600),
            studies_for: Duration::from_secs(self.settings.keep_days * 24 * 3_600),
            step: SWEEP_STEP,
        }
    }
}
