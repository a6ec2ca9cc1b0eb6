//! What the rooms did in the last hour, minute by minute: taken from the counters of tasks, kept in memory.
//!
//! A look a minute at counters costs the same with a million tasks. What was before this process began is not known.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use malla_queue::{GroupId, KindCounts, Scope, State};

use crate::House;

/// Minutes that are kept.
pub(crate) const MINUTES: usize = 60;
const MINUTE: Duration = Duration::from_secs(60);
/// Groups that are looked at, one by one.
const GROUPS_MAX: usize = 200;

/// What a room did in a minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Beat {
    pub(crate) came: u64,
    pub(crate) done: u64,
    pub(crate) failed: u64,
}

impl Beat {
    fn add(&mut self, other: Beat) {
        self.came += other.came;
        self.done += other.done;
        self.failed += other.failed;
    }

    /// What was forgotten meanwhile makes counters smaller: then nothing is known of that minute.
    fn since(self, before: Beat) -> Beat {
        Beat {
            came: self.came.saturating_sub(before.came),
            done: self.done.saturating_sub(before.done),
            failed: self.failed.saturating_sub(before.failed),
        }
    }
}

/// The last hour of a room, the oldest minute first.
pub(crate) type Hour = [Beat; MINUTES];

/// Counters by room, as they were at a look.
type Look = BTreeMap<String, Beat>;

/// The minutes that are known, by group; all together under `None`.
#[derive(Default)]
pub(crate) struct Pulse {
    known: Mutex<HashMap<Option<GroupId>, Known>>,
}

#[derive(Default)]
struct Known {
    last: Option<Look>,
    minutes: VecDeque<Look>,
}

impl Pulse {
    /// What was done since the last look counts for this minute.
    pub(crate) fn take(&self, whose: Option<GroupId>, counts: &[KindCounts]) {
        let mut now = Look::new();
        for row in counts {
            let of = |state| row.counts.of(state);
            let done = of(State::Succeeded) + of(State::Notified);
            let beat = Beat { came: row.counts.total(), done, failed: of(State::Failed) };
            now.entry(room_of(row.kind.as_str()).to_owned()).or_default().add(beat);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(whose).or_default();
        if let Some(before) = &known.last {
            let since = |(room, beat): (&String, &Beat)| {
                (room.clone(), beat.since(before.get(room).copied().unwrap_or_default()))
            };
            known.minutes.push_back(now.iter().map(since).collect());
            let old = known.minutes.len().saturating_sub(MINUTES);
            known.minutes.drain(..old);
        }
        known.last = Some(now);
    }

    /// The last hour of a room, as far as this scope sees it.
    pub(crate) fn hour(&self, scope: &Scope, room: &str) -> Hour {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let whose: Vec<Option<GroupId>> = match scope {
            Scope::All => vec![None],
            Scope::Groups(groups) => groups.iter().copied().map(Some).collect(),
        };
        let mut hour = [Beat::default(); MINUTES];
        for known in whose.iter().filter_map(|whose| known.get(whose)) {
            for (place, minute) in hour.iter_mut().rev().zip(known.minutes.iter().rev()) {
                place.add(minute.get(room).copied().unwrap_or_default());
            }
        }
        hour
    }
}

/// `notify` of `notify.deliver`
pub(crate) fn room_of(kind: &str) -> &str {
    kind.split('.').next().unwrap_or(kind)
}

/// Looks once a minute for as long as there is a console.
pub(crate) async fn beat(house: Weak<House>) {
    let mut minute = tokio::time::interval(MINUTE);
    minute.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        minute.tick().await;
        let Some(house) = house.upgrade() else { return };
        if let Err(error) = look(&house).await {
            tracing::debug!(%error, "the counters cannot be read now");
        }
    }
}

pub(crate) async fn look(house: &House) -> malla_queue::Result<()> {
    house.pulse.take(None, &house.queue.counts(&Scope::All).await?);
    for group in house.access.groups(&Scope::All, None, GROUPS_MAX).await? {
        let counts = house.queue.counts(&Scope::Groups(vec![group.id])).await?;
        house.pulse.take(Some(group.id), &counts);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use malla_queue::{Kind, StateCounts};

    use super::*;

    fn counts(kind: &str, queued: u64, succeeded: u64, failed: u64) -> KindCounts {
        KindCounts {
            kind: Kind::new(kind),
            counts: StateCounts { queued, succeeded, failed, ..StateCounts::default() },
        }
    }

    #[test]
    fn a_minute_is_what_changed_since_the_last_look() {
        let pulse = Pulse::default();
        pulse.take(None, &[counts("fetch.page", 5, 1_000, 0)]);
        assert_eq!(pulse.hour(&Scope::All, "fetch"), [Beat::default(); MINUTES], "what was before is not known");
        pulse.take(None, &[counts("fetch.page", 3, 1_004, 1), counts("fetch.robots", 0, 1, 0)]);
        assert_eq!(pulse.hour(&Scope::All, "fetch")[MINUTES - 1], Beat { came: 4, done: 5, failed: 1 });
        assert_eq!(pulse.hour(&Scope::All, "wiki"), [Beat::default(); MINUTES]);
        // The oldest are forgotten: there are fewer than before.
        pulse.take(None, &[counts("fetch.page", 3, 100, 1), counts("fetch.robots", 0, 1, 0)]);
        assert_eq!(pulse.hour(&Scope::All, "fetch")[MINUTES - 1], Beat::default());
        assert_eq!(pulse.hour(&Scope::All, "fetch")[MINUTES - 2], Beat { came: 4, done: 5, failed: 1 });
    }

    #[test]
    fn people_see_the_minutes_of_their_groups() {
        let (pulse, one, two) = (Pulse::default(), GroupId(1), GroupId(2));
        for n in [0, 2] {
            pulse.take(Some(one), &[counts("drill", n, 0, 0)]);
            pulse.take(Some(two), &[counts("drill", 3 * n, 0, 0)]);
        }
        let came = |groups: Vec<GroupId>| pulse.hour(&Scope::Groups(groups), "drill")[MINUTES - 1].came;
        assert_eq!((came(vec![one]), came(vec![one, two]), came(vec![])), (2, 8, 0));
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let pulse = Pulse::default();
        for n in 0..200 {
            pulse.take(None, &[counts("drill", n, 0, 0)]);
        }
        assert_eq!(pulse.hour(&Scope::All, "drill"), [Beat { came: 1, done: 0, failed: 0 }; MINUTES]);
        let known = pulse.known.lock().unwrap();
        assert_eq!(known[&None].minutes.len(), MINUTES);
    }
}
