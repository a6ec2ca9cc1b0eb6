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
/// A look that failed is taken again after this.
const AGAIN: Duration = Duration::from_secs(2);
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
        let now = look_at(counts);
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

    /// The last hour of a room, as far as this scope sees it. The last minute is the one that runs: what these counters,
    /// the scope's as they are now, have more than they had at the last look.
    pub(crate) fn hour(&self, scope: &Scope, room: &str, counts: &[KindCounts]) -> Hour {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let whose: Vec<Option<GroupId>> = match scope {
            Scope::All => vec![None],
            Scope::Groups(groups) => groups.iter().copied().map(Some).collect(),
        };
        let known: Vec<&Known> = whose.iter().filter_map(|whose| known.get(whose)).collect();
        let mut hour = [Beat::default(); MINUTES];
        let [minutes @ .., running] = &mut hour;
        let mut before = Beat::default();
        for known in &known {
            for (place, minute) in minutes.iter_mut().rev().zip(known.minutes.iter().rev()) {
                place.add(minute.get(room).copied().unwrap_or_default());
            }
            before.add(known.last.as_ref().and_then(|last| last.get(room)).copied().unwrap_or_default());
        }
        // Of a group that was never looked at, nobody knows what is new.
        if known.len() == whose.len() {
            *running = look_at(counts).get(room).copied().unwrap_or_default().since(before);
        }
        hour
    }
}

/// The counters by room.
fn look_at(counts: &[KindCounts]) -> Look {
    let mut look = Look::new();
    for row in counts {
        let of = |state| row.counts.of(state);
        let done = of(State::Succeeded) + of(State::Notified);
        let beat = Beat { came: row.counts.total(), done, failed: of(State::Failed) };
        look.entry(room_of(row.kind.as_str()).to_owned()).or_default().add(beat);
    }
    look
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
            minute.reset_after(AGAIN);
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
        let (first, then) =
            ([counts("fetch.page", 5, 1_000, 0)], [counts("fetch.page", 3, 1_004, 1), counts("fetch.robots", 0, 1, 0)]);
        assert_eq!(pulse.hour(&Scope::All, "fetch", &first), [Beat::default(); MINUTES], "nobody has looked yet");
        pulse.take(None, &first);
        assert_eq!(
            pulse.hour(&Scope::All, "fetch", &first),
            [Beat::default(); MINUTES],
            "what was before is not known"
        );
        // The minute that runs shows at once.
        let beat = Beat { came: 4, done: 5, failed: 1 };
        assert_eq!(pulse.hour(&Scope::All, "fetch", &then)[MINUTES - 1], beat);
        pulse.take(None, &then);
        let hour = pulse.hour(&Scope::All, "fetch", &then);
        assert_eq!((hour[MINUTES - 2], hour[MINUTES - 1]), (beat, Beat::default()), "it counts once");
        assert_eq!(pulse.hour(&Scope::All, "wiki", &then), [Beat::default(); MINUTES]);
        // The oldest are forgotten: there are fewer than before.
        let fewer = [counts("fetch.page", 3, 100, 1), counts("fetch.robots", 0, 1, 0)];
        assert_eq!(pulse.hour(&Scope::All, "fetch", &fewer)[MINUTES - 1], Beat::default());
        pulse.take(None, &fewer);
        let hour = pulse.hour(&Scope::All, "fetch", &fewer);
        assert_eq!((hour[MINUTES - 3], hour[MINUTES - 2]), (beat, Beat::default()));
    }

    #[test]
    fn people_see_the_minutes_of_their_groups() {
        let (pulse, one, two) = (Pulse::default(), GroupId(1), GroupId(2));
        for n in [0, 2] {
            pulse.take(Some(one), &[counts("drill", n, 0, 0)]);
            pulse.take(Some(two), &[counts("drill", 3 * n, 0, 0)]);
        }
        let came = |groups: Vec<GroupId>, now: u64| {
            let hour = pulse.hour(&Scope::Groups(groups), "drill", &[counts("drill", now, 0, 0)]);
            (hour[MINUTES - 2].came, hour[MINUTES - 1].came)
        };
        assert_eq!((came(vec![one], 3), came(vec![one, two], 9)), ((2, 1), (8, 1)));
        assert_eq!(came(vec![one, GroupId(3)], 100), (2, 0), "one was never looked at");
        assert_eq!(pulse.hour(&Scope::Groups(vec![]), "drill", &[]), [Beat::default(); MINUTES]);
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let pulse = Pulse::default();
        for n in 0..200 {
            pulse.take(None, &[counts("drill", n, 0, 0)]);
        }
        let hour = pulse.hour(&Scope::All, "drill", &[counts("drill", 200, 0, 0)]);
        assert_eq!(hour, [Beat { came: 1, done: 0, failed: 0 }; MINUTES]);
        let known = pulse.known.lock().unwrap();
        assert_eq!(known[&None].minutes.len(), MINUTES);
    }
}
