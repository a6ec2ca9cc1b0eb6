//! The fence: a leader that was deposed changes nothing any more, in any room.

use std::time::Duration;

use malla_cluster::{Assignment, MemberId, Term};
use malla_fetch::ledger::Account;
use malla_queue::{Clock as _, Error, Retention, Scope, State};

use crate::harness::{House, LEASE, act, done, on_both_stores, task};

on_both_stores!(
    the_leader_does_all_its_duties,
    a_deposed_leader_changes_nothing,
    a_leader_that_was_deposed_may_look,
    one_that_resigned_is_deposed_by_the_next_term,
    others_are_not_behind_the_fence,
);

const DAY: Duration = Duration::from_secs(24 * 3_600);

fn retention() -> Retention {
    Retention { tasks: DAY, events: DAY, audit: DAY, step: 100 }
}

/// Two members, the first of which leads; what it sees of the store, and the other.
async fn led(house: &House) -> (House, MemberId) {
    let (a, b) = (house.new_member("a").await, house.new_member("b").await);
    let term = house.stand(a).await.unwrap();
    ((house.under)(term), b)
}

/// What a leader does, each with its name.
async fn duties(leader: &House) -> Vec<(&'static str, Result<(), Error>)> {
    let keep =
        malla_fetch::Keep { cache_entries_max: 9, cache_bytes_max: 1 << 20, jobs_for: DAY, devices_for: DAY, step: 9 };
    let studies = malla_analyze::Keep { idle_for: DAY, studies_for: DAY, step: 9 };
    let shall = [Assignment { medic: MemberId(1), role: "api".into(), count: 1 }];
    vec![
        ("submit", leader.queue.submit(vec![task("planned")], None).await.map(drop)),
        ("submit as an act", leader.queue.submit(vec![task("planned")], Some(act("task.submit"))).await.map(drop)),
        ("reap", leader.queue.reap(100).await.map(drop)),
        ("prune", leader.queue.prune(retention()).await.map(drop)),
        ("forget figures", leader.statistics.forget_figures(100).await.map(drop)),
        ("trim", leader.fetch.trim(keep).await.map(drop)),
        ("sweep studies", leader.analyze.sweep(studies).await.map(drop)),
        ("sweep extractions", leader.wikis.sweep(DAY, 9).await.map(drop)),
        ("release pledges", leader.ledger.release(leader.clock.now()).await.map(drop)),
        ("carry the books forward", leader.ledger.carry_forward(leader.clock.now(), 9).await.map(drop)),
        ("note a refetch", leader.trust.refetched(1).await),
        ("note", leader.access.note(act("something")).await),
        ("give up", leader.cluster.give_up(DAY, DAY).await.map(drop)),
        ("assign", leader.cluster.assign(&shall).await),
        ("end rolling", leader.cluster.end_rolling(1, None).await),
    ]
}

/// A task that is finished and old, one whose lease ran out, and a pledge of a device that rests.
async fn something_to_do(house: &House) -> malla_queue::TaskId {
    house.ledger.top_up(Account::Escrow(7), 5, String::new(), act("ledger.topup")).await.unwrap();
    house.submit(task("old")).await;
    let leased = house.lease_one().await;
    house.finish(&leased, done()).await.unwrap();
    house.wait(DAY * 2);
    let lapsed = house.submit(task("lapsed")).await;
    house.lease_one().await;
    house.wait(LEASE * 2);
    lapsed
}

async fn the_leader_does_all_its_duties(house: House) {
    let lapsed = something_to_do(&house).await;
    let (leader, _) = led(&house).await;
    for (duty, outcome) in duties(&leader).await {
        assert_eq!(outcome, Ok(()), "{duty}");
    }
    assert_eq!(house.state(lapsed).await, State::Queued);
    house.verify().await;
}

async fn a_deposed_leader_changes_nothing(house: House) {
    let lapsed = something_to_do(&house).await;
    let (leader, other) = led(&house).await;
    house.wait(Duration::from_secs(60));
    house.stand(other).await.expect("the first one was silent");
    let before = house.ids(&malla_queue::TaskFilter::all(Scope::All)).await;
    for (duty, outcome) in duties(&leader).await {
        assert_eq!(outcome, Err(Error::Deposed), "{duty}");
    }
    assert_eq!(house.ids(&malla_queue::TaskFilter::all(Scope::All)).await, before);
    assert_eq!(house.state(lapsed).await, State::Running);
    assert!(house.cluster.assignments().await.unwrap().is_empty());
    house.verify().await;
}

async fn a_leader_that_was_deposed_may_look(house: House) {
    let id = house.submit(task("a")).await;
    let (leader, other) = led(&house).await;
    house.wait(Duration::from_secs(60));
    house.stand(other).await.unwrap();
    assert_eq!(leader.state(id).await, State::Queued);
    assert_eq!(leader.cluster.members().await.unwrap().len(), 2);
    leader.verify().await;
}

async fn one_that_resigned_is_deposed_by_the_next_term(house: House) {
    let (leader, other) = led(&house).await;
    house.cluster.resign(Term(1)).await.unwrap();
    // Nobody leads, so nobody is disturbed.
    leader.submit(task("a")).await;
    house.stand(other).await.unwrap();
    assert_eq!(leader.queue.submit(vec![task("a")], None).await, Err(Error::Deposed));
}

async fn others_are_not_behind_the_fence(house: House) {
    let (leader, other) = led(&house).await;
    house.submit(task("a")).await;
    house.wait(Duration::from_secs(60));
    house.stand(other).await.unwrap();
    assert_eq!(leader.queue.submit(vec![task("a")], None).await, Err(Error::Deposed));
    house.submit(task("a")).await;
    let next = (house.under)(Term(2));
    next.submit(task("a")).await;
    assert_eq!(house.ids(&malla_queue::TaskFilter::all(Scope::All)).await.len(), 3);
    house.verify().await;
}
