//! A person's verbs.

use std::time::Duration;

use malla_queue::{
    Act, Bulk, Error, GroupId, LaneChange, Move, NewTask, Once, Retention, Scope, State, TaskFilter, TaskId, What,
};

use crate::harness::{House, act, done, failed, lane, on_both_stores, task};

on_both_stores!(
    a_paused_task_is_held_and_resumed_in_its_old_place,
    a_discarded_task_never_runs,
    discarding_a_running_task_takes_its_lease,
    a_failed_task_is_resent_with_all_its_attempts,
    a_wrong_verb_says_what_is_wrong,
    a_resent_task_takes_its_dedup_key_again,
    another_groups_task_does_not_exist,
    all_that_match_are_changed_in_steps,
    a_bulk_resend_sends_each_once,
    a_bulk_verb_on_states_it_cannot_take_does_nothing,
    a_repeated_verb_with_a_key_gets_the_first_answer,
    a_repeated_verb_gets_its_answer_even_if_its_task_is_forgotten,
);

async fn verb(house: &House, id: TaskId, verb: Move) -> Result<State, Error> {
    house.queue.act_on(&Scope::All, id, verb, act("task.verb")).await.map(|summary| summary.state)
}

async fn a_paused_task_is_held_and_resumed_in_its_old_place(house: House) {
    let first = house.submit(task("a")).await;
    house.wait(Duration::from_secs(1));
    house.submit(task("a")).await;
    assert_eq!(verb(&house, first, Move::Pause).await, Ok(State::Paused));
    house.verify().await;
    let second = house.lease_one().await;
    assert_ne!(second.token.task, first);
    house.finish(&second, back()).await.unwrap();
    assert_eq!(verb(&house, first, Move::Resume).await, Ok(State::Queued));
    assert_eq!(house.lease_one().await.token.task, first);
    let what: Vec<_> = house.queue.task(&Scope::All, first).await.unwrap().history.iter().map(|e| e.what).collect();
    assert_eq!(what, [What::Paused, What::Resumed]);
    house.verify().await;
}

fn back() -> malla_queue::Verdict {
    malla_queue::Verdict::Released { note: "back".into() }
}

async fn a_discarded_task_never_runs(house: House) {
    let id = house.submit(task("a")).await;
    assert_eq!(verb(&house, id, Move::Discard).await, Ok(State::Discarded));
    assert!(house.lease(1).await.is_empty());
    house.verify().await;
}

async fn discarding_a_running_task_takes_its_lease(house: House) {
    house.queue.submit(vec![task("a"); 3], None).await.unwrap();
    let running = house.lease(2).await;
    let id = running[0].token.task;
    assert_eq!(verb(&house, id, Move::Discard).await, Ok(State::Discarded));
    assert_eq!(house.finish(&running[0], done()).await, Err(Error::LeaseLost(id)));
    assert_eq!(house.state(id).await, State::Discarded);
    assert_eq!(house.lease(1).await.len(), 1, "its place in the lane is free");
    house.verify().await;
}

async fn fail_for_good(house: &House) -> TaskId {
    let id = house.submit(NewTask { retry: malla_queue::RetryDelays::none(), ..task("a") }).await;
    let leased = house.lease_one().await;
    house.finish(&leased, failed()).await.unwrap();
    id
}

async fn a_failed_task_is_resent_with_all_its_attempts(house: House) {
    let id = fail_for_good(&house).await;
    assert_eq!(verb(&house, id, Move::Resend).await, Ok(State::Queued));
    let leased = house.lease_one().await;
    assert_eq!((leased.token.task, leased.failures), (id, 0));
    house.finish(&leased, done()).await.unwrap();
    let what: Vec<_> = house.queue.task(&Scope::All, id).await.unwrap().history.iter().map(|e| e.what).collect();
    assert_eq!(what, [What::Failed, What::Resent, What::Succeeded]);
    house.verify().await;
}

async fn a_wrong_verb_says_what_is_wrong(house: House) {
    let id = house.submit(task("a")).await;
    let refusal = verb(&house, id, Move::Resume).await.unwrap_err();
    assert_eq!(refusal.to_string(), "a task that is queued cannot be resumed");
    let nobody = TaskId(77);
    assert_eq!(verb(&house, nobody, Move::Pause).await, Err(Error::NotFound(format!("task {nobody}"))));
}

async fn a_resent_task_takes_its_dedup_key_again(house: House) {
    let with_key = || NewTask { dedup: Some("page".into()), ..task("a") };
    let first = house.submit(with_key()).await;
    verb(&house, first, Move::Discard).await.unwrap();
    let second = house.submit(with_key()).await;
    assert_ne!(first, second);
    let refusal = verb(&house, first, Move::Resend).await.unwrap_err();
    assert!(matches!(refusal, Error::Taken(_)), "{refusal}");
    verb(&house, second, Move::Discard).await.unwrap();
    verb(&house, first, Move::Resend).await.unwrap();
    assert_eq!(house.submit(with_key()).await, first);
    house.verify().await;
}

async fn another_groups_task_does_not_exist(house: House) {
    let id = house.submit(NewTask { group: Some(GroupId(7)), ..task("a") }).await;
    for scope in [Scope::Groups(vec![GroupId(8)]), Scope::Groups(vec![])] {
        let gone = Err(Error::NotFound(format!("task {id}")));
        assert_eq!(house.queue.act_on(&scope, id, Move::Discard, act("task.discard")).await, gone);
        assert!(house.queue.task(&scope, id).await.is_err());
    }
    let own = Scope::Groups(vec![GroupId(7)]);
    house.queue.act_on(&own, id, Move::Discard, act("task.discard")).await.unwrap();
}

/// Takes the steps of a bulk verb and returns what changed.
async fn steps(house: &House, filter: &TaskFilter, verb: Move) -> u64 {
    let (mut changed, mut below) = (0, None);
    loop {
        let step = house.queue.act_on_all(filter, below, verb, act("task.verb")).await.unwrap();
        changed += step.changed;
        below = step.next;
        if below.is_none() {
            return changed;
        }
    }
}

async fn all_that_match_are_changed_in_steps(house: House) {
    for _ in 0..2 {
        house.queue.submit(vec![task("a"); 700], None).await.unwrap();
    }
    let other = house.submit(task("b")).await;
    let running = house.lease_one().await;
    let filter = TaskFilter { lane: Some(lane("a")), ..TaskFilter::all(Scope::All) };
    let in_a = if running.token.task == other { 1_400 } else { 1_399 };
    assert_eq!(steps(&house, &filter, Move::Pause).await, in_a);
    house.verify().await;
    assert_eq!(steps(&house, &filter, Move::Resume).await, in_a);
    assert_eq!(steps(&house, &filter, Move::Discard).await, 1_400);
    house.verify().await;
}

async fn a_bulk_resend_sends_each_once(house: House) {
    let id = fail_for_good(&house).await;
    let filter = TaskFilter { states: vec![State::Failed], ..TaskFilter::all(Scope::All) };
    assert_eq!(steps(&house, &filter, Move::Resend).await, 1);
    let leased = house.lease_one().await;
    house.finish(&leased, failed()).await.unwrap();
    assert_eq!(house.state(id).await, State::Failed);
    assert_eq!(house.queue.act_on_all(&filter, Some(id), Move::Resend, act("task.verb")).await, Ok(Bulk::default()));
}

async fn a_bulk_verb_on_states_it_cannot_take_does_nothing(house: House) {
    house.submit(task("a")).await;
    let filter = TaskFilter { states: vec![State::Succeeded], ..TaskFilter::all(Scope::All) };
    assert_eq!(steps(&house, &filter, Move::Pause).await, 0);
    let held = TaskFilter { states: vec![State::Paused], ..TaskFilter::all(Scope::All) };
    let pause = LaneChange { paused: Some(true), ..LaneChange::default() };
    house.queue.change_lane(&Scope::All, &lane("a"), pause, act("lane.change")).await.unwrap();
    assert_eq!(steps(&house, &held, Move::Resume).await, 0, "its lane is paused, not the task");
    assert_eq!(steps(&house, &held, Move::Discard).await, 1);
    house.verify().await;
}

fn with_a_key() -> Act {
    let once =
        Once { scope: "user:ana".into(), key: "k".into(), fingerprint: vec![1], keep_for: Duration::from_secs(60) };
    Act { once: Some(once), ..act("task.verb") }
}

async fn a_repeated_verb_with_a_key_gets_the_first_answer(house: House) {
    let id = house.submit(task("a")).await;
    let first = house.queue.act_on(&Scope::All, id, Move::Pause, with_a_key()).await.unwrap();
    let again = house.queue.act_on(&Scope::All, id, Move::Pause, with_a_key()).await.unwrap();
    assert_eq!(first, again);
}

async fn a_repeated_verb_gets_its_answer_even_if_its_task_is_forgotten(house: House) {
    let id = house.submit(task("a")).await;
    let first = house.queue.act_on(&Scope::All, id, Move::Discard, with_a_key()).await.unwrap();
    house.wait(Duration::from_secs(1));
    let at_once = Retention { tasks: Duration::ZERO, events: Duration::ZERO, audit: Duration::ZERO, step: 100 };
    while house.queue.prune(at_once).await.unwrap() > 0 {}
    assert!(house.queue.task(&Scope::All, id).await.is_err(), "it is forgotten");
    assert_eq!(house.queue.act_on(&Scope::All, id, Move::Discard, with_a_key()).await, Ok(first));
    assert_eq!(verb(&house, id, Move::Discard).await, Err(Error::NotFound(format!("task {id}"))));
}
