//! The audit itself, tried: a record that says something else than the store does not pass.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use malla_protocol::SubmittedTask;

use crate::server::{DEADLINE, poll_until};

use super::audit;
use super::dice::Dice;
use super::load::{Load, Options};
use super::record::{Known, Lane, Record, Verb};
use super::world::{Store, World};

/// An untruth about the store, and the words by which the audit tells that it is one.
type Lie = (&'static str, fn(&mut Record));

const NOBODY: &str = "0000000000000";
const LIES: &[Lie] = &[
    ("acknowledged and gone", |record| record.answered.extend([NOBODY.into()])),
    ("nobody was told of", |record| {
        let id = record.tasks.iter().find(|(_, known)| is_plain(known)).map(|(id, _)| id.clone());
        record.tasks.remove(&id.expect("a plain task"));
    }),
    ("follow-ups of", |record| plain(record).told.follow_ups += 1),
    ("retry was acknowledged 1 times and happened 0 times", |record| plain(record).acts.push(Verb::Retry)),
    ("should be [Discarded]", |record| plain(record).acts.push(Verb::Discard)),
    ("should be [Succeeded]", |record| {
        let known = shelved(record);
        known.acts.clear();
        known.told.shelved = false;
    }),
    ("should be [Failed]", |record| plain(record).told.fail = 9),
    ("and its pause", |record| changed_lane(record).paused = true),
    ("ceiling: Some(9999)", |record| changed_lane(record).ceiling = Some(9_999)),
    ("answer to load-", |record| {
        let answer = &mut record.submissions.first_mut().expect("a submission").answer;
        answer.push(SubmittedTask { id: NOBODY.into(), new: true });
    }),
];

fn is_plain(known: &Known) -> bool {
    let told = &known.told;
    known.acts.is_empty() && !told.shelved && told.confirm_ms.is_none() && told.fail == 0 && told.dedup.is_none()
}

fn is_discarded(known: &Known) -> bool {
    known.told.shelved && known.acts.last() == Some(&Verb::Discard)
}

fn plain(record: &mut Record) -> &mut Known {
    record.tasks.values_mut().find(|known| is_plain(known)).expect("a plain task")
}

fn shelved(record: &mut Record) -> &mut Known {
    record.tasks.values_mut().find(|known| is_discarded(known)).expect("a task that was shelved and discarded")
}

fn changed_lane(record: &mut Record) -> &mut Lane {
    record.lanes.values_mut().find(|lane| lane.ceiling.is_some()).expect("a changed lane")
}

#[test]
fn the_audit_finds_what_is_wrong() {
    let world = World::new(Store::Sqlite);
    let server = world.start();
    let load = Load::start(Dice::of_chance("audited"), Options::default());
    load.go_to(world.way_to(&server));
    let enough = || {
        let (record, _) = load.so_far();
        let tasks = || record.tasks.values();
        let lanes = record.lanes.values().any(|lane| lane.ceiling.is_some());
        Some(()).filter(|()| lanes && tasks().any(is_plain) && tasks().any(is_discarded))
    };
    poll_until(Instant::now() + DEADLINE, enough).expect("the load does a bit of everything");
    let (runtime, mut record, caller) = load.stop();
    runtime.block_on(audit::full(caller.clone(), &mut record, false));
    for (words, lie) in LIES {
        let mut record = record.clone();
        lie(&mut record);
        let audited = AssertUnwindSafe(|| runtime.block_on(audit::full(caller.clone(), &mut record, false)));
        let found = catch_unwind(audited).expect_err(words);
        let found = found.downcast_ref::<String>().expect("a panic with words");
        assert!(found.contains(words), "{found:?} lacks {words:?}");
    }
}
