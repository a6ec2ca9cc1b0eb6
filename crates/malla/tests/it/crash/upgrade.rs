//! Two versions at once: a node of the next version migrates the store under one that is at work, both go on side by side
//! under load, and nobody of the version before can start any more.

use std::time::{Duration, Instant};

use crate::receiver::Receiver;
use crate::server::{DEADLINE, poll_until};

use super::caller::Servers;
use super::dice::Dice;
use super::load::{Load, Options};
use super::publishers::{Fate, Publishers, events_at_rest};
use super::world::{Store, World};
use super::{audit, require_crash_points};

/// What a version may do to the tables of the one before: it only adds.
const NEXT: (&str, &str) = (
    "MALLA_CRASH_NEXT_VERSION",
    "ALTER TABLE task ADD COLUMN extra TEXT; ALTER TABLE lane ADD COLUMN extra TEXT; \
     ALTER TABLE event ADD COLUMN extra BIGINT NOT NULL DEFAULT 7; CREATE INDEX task_extra ON lane (extra); \
     CREATE TABLE novelty (id BIGINT PRIMARY KEY); SELECT malla_fence_tables();",
);
const NEAR: (&str, &str) = ("MALLA_ALLOW_PRIVATE", "true");
/// How long one try of a request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Nobody notices a migration that only adds.
const ANSWER_MAX: Duration = Duration::from_secs(8);

#[test]
fn two_versions_work_side_by_side_and_an_old_one_cannot_start_again() {
    require_crash_points();
    let mut dice = Dice::of_chance("upgrade");
    let here = World::new(Store::Postgres);
    let there = here.neighbour();
    let old = here.start_with(&[NEAR]);
    let way = here.way_to(&old);
    let receiver = Receiver::start();
    let publishers = Publishers::start(way.clone(), &receiver, Fate::Live, TIMEOUT, dice.split());
    let load = Load::start(dice.split(), Options { timeout: TIMEOUT, ..Options::default() });
    load.go_to(way.clone());
    some_more(&publishers, 50);

    // It migrates under the other one, and both work.
    let new = there.start_with(&[NEAR, NEXT]);
    let both = Servers { urls: vec![old.url.clone(), new.url.clone()], ..way };
    publishers.go_to(both.clone());
    load.go_to(both.clone());
    some_more(&publishers, 200);
    publishers.watch();
    let answers = || publishers.recovered();
    poll_until(Instant::now() + DEADLINE, answers).expect("both take events");

    // The old one goes, and its like cannot come back.
    let new_alone = Servers { urls: vec![new.url.clone()], ..both };
    publishers.go_to(new_alone.clone());
    load.go_to(new_alone);
    let ended = old.terminate();
    assert!(ended.status.success(), "{}", ended.said.join("\n"));
    let refused = here.spawn(None, &[]).wait();
    let said = refused.said.join("\n");
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("belongs to a newer version of Malla (schema 900") && said.contains("use that version"),
        "{said}"
    );
    some_more(&publishers, 50);

    let told = publishers.stop();
    let (runtime, mut record, caller) = load.stop();
    let found = runtime.block_on(audit::full(caller.clone(), &mut record, false));
    let arrived = || Some(()).filter(|()| told.all_arrived(&receiver.got()));
    poll_until(Instant::now() + DEADLINE, arrived).expect("every acknowledged event arrives");
    told.audit(&runtime.block_on(events_at_rest(caller)), &receiver.got());
    assert_eq!(found.broken, 0, "somebody was left without an answer");
    let longest = told.longest.max(Duration::from_millis(found.longest_ms));
    assert!(longest < ANSWER_MAX, "somebody waited {longest:?} for an answer");
    eprintln!(
        "upgrade: {} events and {} tasks while the schema changed; {} answers of 503; the longest wait for an answer was \
         {longest:.1?}",
        told.taken.len(),
        found.tasks,
        told.refused + found.away
    );
}

/// Until so many more events are acknowledged.
fn some_more(publishers: &Publishers, count: usize) {
    let before = publishers.so_far().taken.len();
    let more = || Some(()).filter(|()| publishers.so_far().taken.len() >= before + count);
    poll_until(Instant::now() + DEADLINE, more).expect("events are taken");
}
