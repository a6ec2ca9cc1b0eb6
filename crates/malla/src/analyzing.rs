//! The room `analyze` put together: what takes batches in and what maps them share the batches just taken.

use std::sync::Arc;
use std::time::Duration;

use malla_analyze::{Analyst, Analyze, Keep, OnArrival, Recent};
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
    /// None if batches are not mapped in this process.
    analyst: Option<Arc<Analyst>>,
    on_arrival: OnArrival,
}

impl Analyzing {
    pub(crate) fn new(config: &Config, store: &Opened, clock: &Arc<SystemClock>) -> Self {
        let settings = config.analyze.clone();
        let recent = Arc::new(Recent::new(settings.memory_mb * MB / RECENT));
        let analyst = config.roles.contains(&Role::Analyst).then(|| {
            Arc::new(Analyst::new(store.analyze.clone(), clock.clone(), recent.clone(), concurrency(&settings)))
        });
        // Nobody else has the embedded store.
        let on_arrival = if store.is_shared() { OnArrival::IfIdle } else { OnArrival::Always };
        Self { analyze: store.analyze.clone(), recent, analyst, on_arrival, settings }
    }

    pub(crate) fn analyst(&self) -> Option<Arc<dyn Work>> {
        self.analyst.clone().map(|analyst| analyst as Arc<dyn Work>)
    }

    pub(crate) fn for_api(&self) -> malla_api::AnalyzeOptions {
        let bytes = |mb: u64| mb.saturating_mul(MB as u64);
        malla_api::AnalyzeOptions {
            studies_max: self.settings.studies_max,
            batch_bytes_max: self.settings.batch_mb_max * MB,
            waiting_bytes_max: bytes(self.settings.waiting_mb_max),
            dimension_bytes_max: bytes(self.settings.tables_mb_max),
            in_hand_bytes_max: self.settings.memory_mb * MB,
            here: self.analyst.clone().map(|analyst| malla_api::AnalystHere {
                analyst,
                when: self.on_arrival,
                recent: self.recent.clone(),
            }),
        }
    }

    /// Batches in hand at once: beside those worked on, some are on their way from or to the store.
    pub(crate) fn in_hand(&self) -> usize {
        concurrency(&self.settings) * 4
    }
}

/// Batches worked on at once.
fn concurrency(settings: &AnalyzeSettings) -> usize {
    match settings.concurrency {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        some => some,
    }
}

pub(crate) fn keep(config: &Config) -> Keep {
    Keep {
        idle_for: Duration::from_secs(config.analyze.idle_h * 3_600),
        studies_for: config.kept_for(config.analyze.keep_days),
        step: SWEEP_STEP,
    }
}
