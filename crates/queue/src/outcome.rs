//! How a lease ends: what the worker says ([`Verdict`]) and what it means for the task ([`Ending`]).
//!
//! The decision is taken here, by pure functions; a store only applies it.

use std::time::Duration;

use crate::{Entry, GroupId, Kind, LaneKey, Leased, NewTask, RetryDelays, State, TaskId, UnixMs, What};

/// A lease that runs out this often in a row takes its task along: it probably kills its workers.
pub const LAPSES_MAX: u32 = 10;

/// A lease that ran out this often in a row may have been lost with its neighbours: from then on its task waits before it is
/// tried again, each for another while, so that one that kills its workers is found alone.
const SUSPECT: u32 = 3;
/// The longest such wait is below twice this.
const APART_MAX: Duration = Duration::from_secs(64);

/// Something that happened, for whoever subscribes to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// `task.failed`, `wiki.revision`, …
    pub kind: String,
    pub group: Option<GroupId>,
    pub body: Vec<u8>,
}

/// Work done: everything here becomes visible together or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    pub result: Option<Vec<u8>>,
    pub answer: Option<serde_json::Value>,
    pub events: Vec<Event>,
    pub follow_ups: Vec<NewTask>,
    /// The far side still owes its word: the task is `notified` for this long, then tried again.
    pub confirm_within: Option<Duration>,
    /// The lane starts nothing for this long (a site asked for patience).
    pub lane_rest: Option<Duration>,
    /// Nobody was promised it: if a power cut takes it away, the work is done again.
    pub repeatable: bool,
}

/// Work not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One sentence for people.
    pub note: String,
    pub answer: Option<serde_json::Value>,
    pub next: NextTry,
    pub lane_rest: Option<Duration>,
}

impl Failure {
    pub fn new(note: impl Into<String>) -> Self {
        Self { note: note.into(), answer: None, next: NextTry::ByDelays, lane_rest: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextTry {
    /// The task's own delays decide.
    ByDelays,
    /// The far side said when (`Retry-After`). It uses up an attempt all the same.
    After(Duration),
    /// Trying again is senseless.
    Never,
}

/// What a worker says at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Done(Outcome),
    Failed(Failure),
    /// Given back undone; costs no attempt.
    Released {
        note: String,
    },
}

/// What becomes of the task: decided here, applied by a store, whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    pub at: UnixMs,
    /// `Queued`, `Notified`, `Succeeded` or `Failed`.
    pub state: State,
    /// When it runs next (`Queued`) or when its confirmation is due (`Notified`).
    pub run_at: Option<UnixMs>,
    pub failures: u32,
    /// Leases in a row that ran out.
    pub lapses: u32,
    pub entry: Entry,
    pub result: Option<Vec<u8>>,
    pub events: Vec<Event>,
    pub follow_ups: Vec<NewTask>,
    /// The lane starts nothing before.
    pub lane_rest_until: Option<UnixMs>,
    /// It must survive the process, but need not survive a power cut: the task is worked on again then.
    pub repeatable: bool,
}

impl Verdict {
    /// What this verdict on `leased` means.
    pub fn ending(self, leased: &Leased, now: UnixMs) -> Ending {
        let entry = |what, note, answer| Entry {
            what,
            at: now,
            started_at: Some(leased.started_at),
            by: Some(leased.holder.clone()),
            note,
            answer,
        };
        let facts = Facts { task: leased.token.task, lane: &leased.lane, kind: &leased.kind, group: leased.group };
        match self {
            Verdict::Done(outcome) => {
                let (state, what) = match outcome.confirm_within {
                    Some(_) => (State::Notified, What::Notified),
                    None => (State::Succeeded, What::Succeeded),
                };
                Ending {
                    at: now,
                    state,
                    run_at: outcome.confirm_within.map(|wait| now.plus(wait)),
                    failures: leased.failures,
                    lapses: 0,
                    entry: entry(what, None, outcome.answer),
                    result: outcome.result,
                    events: outcome.events,
                    follow_ups: outcome.follow_ups,
                    lane_rest_until: outcome.lane_rest.map(|rest| now.plus(rest)),
                    repeatable: outcome.repeatable,
                }
            }
            Verdict::Failed(failure) => {
                let failures = leased.failures.saturating_add(1);
                let run_at = next_try(&leased.retry, failures, failure.next, now);
                let what = if run_at.is_some() { What::Retried } else { What::Failed };
                Ending {
                    failures,
                    lane_rest_until: failure.lane_rest.map(|rest| now.plus(rest)),
                    ..undone(&facts, run_at, entry(what, Some(failure.note), failure.answer))
                }
            }
            Verdict::Released { note } => Ending {
                failures: leased.failures,
                ..undone(&facts, Some(now), entry(What::Released, Some(note), None))
            },
        }
    }
}

/// A task that a store found overdue.
#[derive(Debug, Clone)]
pub struct Overdue {
    pub task: TaskId,
    pub lane: LaneKey,
    pub kind: Kind,
    pub group: Option<GroupId>,
    pub retry: RetryDelays,
    pub failures: u32,
    pub lapses: u32,
    /// The lane's gap.
    pub gap: Duration,
    /// When the lost attempt began and who held it; `None` if it is a confirmation that is overdue.
    pub lease: Option<(UnixMs, String)>,
}

impl Overdue {
    /// What becomes of it: after a lost lease back to its lane at once, or after a while if that happens again and again,
    /// until it has happened too often; a missing confirmation is a failed attempt like any other. Its holder may have started something until the very
    /// end of the lease, so the lane keeps its gap from now on.
    pub fn ending(self, now: UnixMs) -> Ending {
        let facts = Facts { task: self.task, lane: &self.lane, kind: &self.kind, group: self.group };
        match self.lease {
            Some((started_at, holder)) => {
                let lapses = self.lapses.saturating_add(1);
                let spent = lapses >= LAPSES_MAX;
                let note = if spent {
                    format!("the lease ran out {lapses} times in a row: the task may be stopping its workers")
                } else {
                    "the lease ran out: its holder went silent".to_owned()
                };
                let entry = Entry {
                    what: if spent { What::Failed } else { What::Lapsed },
                    at: now,
                    started_at: Some(started_at),
                    by: Some(holder),
                    note: Some(note),
                    answer: None,
                };
                let lane_rest_until = (!self.gap.is_zero()).then(|| now.plus(self.gap));
                let undone = undone(&facts, (!spent).then(|| now.plus(apart(self.task, lapses))), entry);
                Ending { failures: self.failures, lapses, lane_rest_until, ..undone }
            }
            None => {
                let failures = self.failures.saturating_add(1);
                let run_at = next_try(&self.retry, failures, NextTry::ByDelays, now);
                let entry = Entry {
                    what: if run_at.is_some() { What::Unconfirmed } else { What::Failed },
                    at: now,
                    started_at: None,
                    by: None,
                    note: Some("the confirmation did not come in time".into()),
                    answer: None,
                };
                Ending { failures, ..undone(&facts, run_at, entry) }
            }
        }
    }
}

/// How long a task waits that lost its lease so often: twice as long each time, and another while for each task.
fn apart(task: TaskId, lapses: u32) -> Duration {
    if lapses < SUSPECT {
        return Duration::ZERO;
    }
    let longest = APART_MAX.min(Duration::from_secs(1 << (lapses - SUSPECT).min(16)));
    // The golden ratio spreads neighbouring numbers evenly.
    let share = task.0.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    longest + longest * u32::try_from(share).unwrap_or(0) / 1_024
}

fn next_try(retry: &RetryDelays, failures: u32, next: NextTry, now: UnixMs) -> Option<UnixMs> {
    let by_delays = retry.after(failures);
    match next {
        NextTry::ByDelays => by_delays.map(|wait| now.plus(wait)),
        NextTry::After(wait) => by_delays.map(|_| now.plus(wait.min(crate::Limits::RETRY_DELAY_MAX))),
        NextTry::Never => None,
    }
}

/// What an event says of its task.
struct Facts<'a> {
    task: TaskId,
    lane: &'a LaneKey,
    kind: &'a Kind,
    group: Option<GroupId>,
}

/// Back to the lane at `run_at`, or failed for good, which is an event.
fn undone(facts: &Facts<'_>, run_at: Option<UnixMs>, entry: Entry) -> Ending {
    let events = if run_at.is_some() { Vec::new() } else { vec![failed_event(facts, &entry)] };
    Ending {
        at: entry.at,
        state: if run_at.is_some() { State::Queued } else { State::Failed },
        run_at,
        failures: 0,
        lapses: 0,
        entry,
        result: None,
        events,
        follow_ups: Vec::new(),
        lane_rest_until: None,
        repeatable: true,
    }
}

fn failed_event(facts: &Facts<'_>, entry: &Entry) -> Event {
    let body = serde_json::json!({
        "task": facts.task, "lane": facts.lane, "kind": facts.kind, "note": entry.note,
    });
    Event { kind: "task.failed".into(), group: facts.group, body: body.to_string().into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LeaseToken, Priority};

    const NOW: UnixMs = UnixMs(1_000_000);

    fn leased(failures: u32) -> Leased {
        Leased {
            token: LeaseToken { task: TaskId(1), nonce: 1 },
            lane: LaneKey::trusted("drill/a".into()),
            kind: Kind::new("drill"),
            group: None,
            priority: Priority::Normal,
            payload: vec![],
            retry: RetryDelays::seconds([5, 60]),
            failures,
            started_at: UnixMs(999_000),
            expires_at: UnixMs(1_029_000),
            holder: "member:m".into(),
            awaited: true,
        }
    }

    fn fail(failures: u32, next: NextTry) -> Ending {
        Verdict::Failed(Failure { next, ..Failure::new("no") }).ending(&leased(failures), NOW)
    }

    #[test]
    fn a_failure_waits_for_its_delay_and_the_last_one_is_final() {
        check(&fail(0, NextTry::ByDelays), State::Queued, Some(5_000), What::Retried);
        check(&fail(1, NextTry::ByDelays), State::Queued, Some(60_000), What::Retried);
        check(&fail(2, NextTry::ByDelays), State::Failed, None, What::Failed);
    }

    #[test]
    fn the_far_side_may_name_the_wait_but_not_more_attempts() {
        check(&fail(0, NextTry::After(Duration::from_secs(7))), State::Queued, Some(7_000), What::Retried);
        check(&fail(2, NextTry::After(Duration::from_secs(7))), State::Failed, None, What::Failed);
        check(&fail(0, NextTry::Never), State::Failed, None, What::Failed);
    }

    #[test]
    fn a_release_costs_no_attempt() {
        let ending = Verdict::Released { note: "bye".into() }.ending(&leased(1), NOW);
        check(&ending, State::Queued, Some(0), What::Released);
        assert_eq!(ending.failures, 1);
    }

    fn overdue(failures: u32, lapses: u32, held: bool) -> Ending {
        let Leased { token, lane, kind, group, retry, .. } = leased(0);
        let lease = held.then(|| (NOW, "member:m".to_owned()));
        let gap = Duration::from_secs(3);
        Overdue { task: token.task, lane, kind, group, retry, failures, lapses, gap, lease }.ending(NOW)
    }

    #[test]
    fn a_task_that_keeps_losing_its_lease_fails_in_the_end() {
        check(&overdue(0, 0, true), State::Queued, Some(0), What::Lapsed);
        check(&overdue(0, LAPSES_MAX - 1, true), State::Failed, None, What::Failed);
    }

    #[test]
    fn suspects_are_tried_again_apart_from_each_other() {
        for (lapses, least_s) in [(1, 0), (2, 0), (3, 1), (4, 2), (6, 8), (9, 64), (60, 64)] {
            let waits: Vec<_> = (1..=100).map(|id| apart(TaskId(id << 20), lapses).as_millis()).collect();
            let (least, most) = (waits.iter().min().copied(), waits.iter().max().copied());
            assert!(least >= Some(least_s * 1_000) && most <= Some(2 * least_s * 1_000), "{lapses}: {waits:?}");
            let spread = waits.iter().collect::<std::collections::BTreeSet<_>>().len();
            assert!(least_s == 0 || spread > 50, "{lapses}: {waits:?}");
        }
    }

    #[test]
    fn a_lane_keeps_its_gap_from_the_end_of_a_lost_lease() {
        assert_eq!(overdue(0, 0, true).lane_rest_until, Some(UnixMs(NOW.0 + 3_000)));
        assert_eq!(overdue(0, 0, false).lane_rest_until, None);
    }

    #[test]
    fn a_missing_confirmation_is_a_failed_attempt() {
        check(&overdue(0, 0, false), State::Queued, Some(5_000), What::Unconfirmed);
        check(&overdue(2, 0, false), State::Failed, None, What::Failed);
    }

    #[test]
    fn only_the_last_failure_is_an_event() {
        assert!(fail(0, NextTry::ByDelays).events.is_empty());
        let events = fail(2, NextTry::ByDelays).events;
        assert_eq!(events.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(), ["task.failed"]);
    }

    fn check(ending: &Ending, state: State, wait_ms: Option<i64>, what: What) {
        assert_eq!(ending.state, state);
        assert_eq!(ending.run_at, wait_ms.map(|wait| UnixMs(NOW.0 + wait)));
        assert_eq!(ending.entry.what, what);
    }
}
