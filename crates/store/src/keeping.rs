//! How long tasks and events are kept: as the house says, or as their endpoint says.

use std::time::Duration;

use malla_queue::{Retention, TaskId, UnixMs};

/// Rows that a step looks at for each that it may forget, where some must stay.
pub(crate) const LOOKED_AT: usize = 10;
/// How often a step looks further where it found only what must stay.
pub(crate) const ROUNDS_MAX: usize = 20;

/// One step of forgetting: what has a lower id is old.
pub(crate) struct Keeping {
    pub(crate) tasks: i64,
    pub(crate) events: i64,
    /// Rows of each sort at most.
    pub(crate) step: usize,
    now: UnixMs,
}

impl Keeping {
    pub(crate) fn new(retention: Retention, now: UnixMs) -> Self {
        let before = |age| TaskId::first_at(now.minus(age)).0;
        Self { tasks: before(retention.tasks), events: before(retention.events), step: retention.step, now }
    }

    pub(crate) fn after_days(&self, days: i64) -> i64 {
        let age = Duration::from_secs(u64::try_from(days).unwrap_or(0) * 24 * 3600);
        TaskId::first_at(self.now.minus(age)).0
    }

    /// For the events of an endpoint that may have a retention of its own.
    pub(crate) fn events_of(&self, days: Option<i64>) -> i64 {
        days.map_or(self.events, |days| self.after_days(days))
    }
}
