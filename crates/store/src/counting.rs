//! From counters to the numbers people see. The counters know open tasks; leases say which of these run, paused
//! lanes say which of them are held.

use std::collections::BTreeMap;

use malla_queue::{GroupId, Kind, KindCounts, Scope, StateCounts};

use crate::codes::{CODES, Code};

/// A row of counters, by [`Code`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counter(pub(crate) [i64; CODES]);

pub(crate) struct Running {
    pub(crate) kind: String,
    pub(crate) group: i64,
    pub(crate) in_paused_lane: bool,
    pub(crate) count: i64,
}

/// Open tasks in paused lanes.
pub(crate) struct HeldByLane {
    pub(crate) kind: String,
    pub(crate) group: i64,
    pub(crate) open: i64,
}

impl Counter {
    fn of(&self, code: Code) -> i64 {
        self.0[code as usize]
    }

    /// `held` of the open tasks wait in a paused lane, `running` have a lease.
    fn counts(&self, running: i64, held: i64) -> StateCounts {
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        StateCounts {
            queued: count(self.of(Code::Open) - running - held),
            running: count(running),
            paused: count(self.of(Code::Paused) + held),
            notified: count(self.of(Code::Notified)),
            succeeded: count(self.of(Code::Succeeded)),
            failed: count(self.of(Code::Failed)),
            discarded: count(self.of(Code::Discarded)),
        }
    }

    pub(crate) fn in_lane(&self, paused: bool, running: u64) -> StateCounts {
        let running = i64::try_from(running).unwrap_or(0);
        let held = if paused { self.of(Code::Open) - running } else { 0 };
        self.counts(running, held)
    }
}

pub(crate) fn counts(
    scope: &Scope,
    tallies: Vec<(String, i64, Counter)>,
    running: &[Running],
    held: &[HeldByLane],
) -> Vec<KindCounts> {
    let mut kinds: BTreeMap<String, StateCounts> = BTreeMap::new();
    for (kind, group, counter) in tallies {
        if !scope.sees(Some(GroupId(group)).filter(|group| group.0 != 0)) {
            continue;
        }
        let mine = |row: &&Running| row.kind == kind && row.group == group;
        let run: i64 = running.iter().filter(mine).map(|row| row.count).sum();
        let run_in_paused: i64 =
            running.iter().filter(mine).filter(|row| row.in_paused_lane).map(|row| row.count).sum();
        let open: i64 = held.iter().filter(|row| row.kind == kind && row.group == group).map(|row| row.open).sum();
        kinds.entry(kind).or_default().add(&counter.counts(run, (open - run_in_paused).max(0)));
    }
    kinds.into_iter().map(|(kind, counts)| KindCounts { kind: Kind::new(kind), counts }).collect()
}
