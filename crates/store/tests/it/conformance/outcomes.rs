//! How leases end.

use std::time::Duration;

use malla_queue::{
    Error, Event, Failure, Kind, Move, NewTask, NextTry, Outcome, Retention, Scope, State, TaskFilter, Verdict, What,
};

use crate::harness::{House, LEASE, act, done, failed, lane, on_both_stores, task};

on_both_stores!(
    a_commit_keeps_the_result_and_the_history,
    the_same_ending_twice_counts_once,
    follow_ups_appear_with_the_commit_and_know_their_parent,
    a_refused_commit_leaves_no_follow_ups,
    a_failure_waits_for_its_delay,
    the_last_failure_is_final,
    a_release_goes_back_at_once,
    a_rest_holds_the_whole_lane,
    notified_tasks_wait_for_their_confirmation,
    a_missing_confirmation_is_retried,
    one_bad_ending_does_not_spoil_the_others,
    an_old_token_beside_the_current_one_changes_nothing,
    an_oversized_result_is_refused_alone,
    history_stays_within_its_bound,
    old_tasks_are_forgotten_and_the_counters_know,
    empty_lanes_are_forgotten_unless_an_operator_set_them,
);

async fn a_commit_keeps_the_result_and_the_history(house: House) {
    let id = house.submit(task("a")).await;
    let leased = house.lease_one().await;
    house.wait(Duration::from_secs(2));
    let outcome = Outcome {
        result: Some(vec![0, 159, 146, 150]),
        answer: Some(serde_json::json!({"status": 200})),
        events: vec![Event { kind: "drill.done".into(), group: None, body: b"x".to_vec() }],
        ..Outcome::default()
    };
    house.finish(&leased, Verdict::Done(outcome)).await.unwrap();
    let found = house.queue.task(&Scope::All, id).await.unwrap();
    assert_eq!(found.summary.state, State::Succeeded);
    assert_eq!(found.result.as_deref(), Some(&[0, 159, 146, 150][..]));
    let entry = &found.history[0];
    assert_eq!(entry.what, What::Succeeded);
    assert_eq!(entry.at.0 - entry.started_at.unwrap().0, 2_000);
    assert_eq!(entry.by.as_deref(), Some("member:worker"));
    assert_eq!(entry.answer, Some(serde_json::json!({"status": 200})));
    house.verify().await;
}

async fn the_same_ending_twice_counts_once(house: House) {
    let id = house.submit(task("a")).await;
    let leased = house.lease_one().await;
    let outcome = Outcome { follow_ups: vec![task("b")], ..Outcome::default() };
    let ending = house.ending(&leased, Verdict::Done(outcome));
    for _ in 0..3 {
        let answers = house.queue.finish(vec![(leased.token, ending.clone())]).await.unwrap();
        assert_eq!(answers, [Ok(())]);
    }
    assert_eq!(house.queue.task(&Scope::All, id).await.unwrap().history.len(), 1);
    assert_eq!(house.ids(&TaskFilter { lane: Some(lane("b")), ..TaskFilter::all(Scope::All) }).await.len(), 1);
    let twice_in_one = house.queue.finish(vec![(leased.token, ending.clone()), (leased.token, ending)]).await.unwrap();
    assert_eq!(twice_in_one, [Ok(()), Ok(())]);
    house.verify().await;
}

async fn follow_ups_appear_with_the_commit_and_know_their_parent(house: House) {
    let id = house.submit(task("a")).await;
    let leased = house.lease_one().await;
    let outcome = Outcome { follow_ups: vec![task("b"), task("new"), task("b")], ..Outcome::default() };
    house.finish(&leased, Verdict::Done(outcome)).await.unwrap();
    let children = TaskFilter { parent: Some(id), ..TaskFilter::all(Scope::All) };
    assert_eq!(house.ids(&children).await.len(), 3);
    assert_eq!(house.lease(10).await.len(), 3);
    house.verify().await;
}

async fn a_refused_commit_leaves_no_follow_ups(house: House) {
    house.submit(task("a")).await;
    let late = house.lease_one().await;
    house.wait(LEASE);
    house.queue.reap(10).await.unwrap();
    let outcome = Outcome { follow_ups: vec![task("b")], ..Outcome::default() };
    assert!(house.finish(&late, Verdict::Done(outcome)).await.is_err());
    assert!(house.ids(&TaskFilter { lane: Some(lane("b")), ..TaskFilter::all(Scope::All) }).await.is_empty());
}

async fn a_failure_waits_for_its_delay(house: House) {
    let id = house.submit(task("a")).await;
    let leased = house.lease_one().await;
    house.finish(&leased, failed()).await.unwrap();
    assert_eq!(house.state(id).await, State::Queued);
    house.wait(Duration::from_millis(4_999));
    assert!(house.lease(1).await.is_empty());
    house.wait(Duration::from_millis(1));
    assert_eq!(house.lease_one().await.failures, 1);
    house.verify().await;
}

async fn the_last_failure_is_final(house: House) {
    let id = house.submit(task("a")).await;
    for wait_s in [5, 60, 0] {
        let leased = house.lease_one().await;
        house.finish(&leased, failed()).await.unwrap();
        house.wait(Duration::from_secs(wait_s));
    }
    assert_eq!(house.state(id).await, State::Failed);
    house.wait(Duration::from_secs(100_000));
    assert!(house.lease(1).await.is_empty());
    let senseless = house.submit(task("a")).await;
    let leased = house.lease_one().await;
    let never = Failure { next: NextTry::Never, ..Failure::new("gone") };
    house.finish(&leased, Verdict::Failed(never)).await.unwrap();
    assert_eq!(house.state(senseless).await, State::Failed);
    house.verify().await;
}

async fn a_release_goes_back_at_once(house: House) {
    let id = house.submit(task("a")).await;
    let leased = house.lease_one().await;
    house.finish(&leased, Verdict::Released { note: "bye".into() }).await.unwrap();
    assert_eq!(house.lease_one().await.token.task, id);
}

async fn a_rest_holds_the_whole_lane(house: House) {
    house.queue.submit(vec![task("a"); 3], None).await.unwrap();
    let leased = house.lease(1).await.remove(0);
    let patient = Failure { lane_rest: Some(Duration::from_secs(30)), ..Failure::new("429") };
    house.finish(&leased, Verdict::Failed(patient)).await.unwrap();
    house.wait(Duration::from_secs(29));
    assert!(house.lease(1).await.is_empty());
    house.wait(Duration::from_secs(1));
    assert_eq!(house.lease(1).await.len(), 1);
    house.verify().await;
}

async fn notified(house: &House) -> malla_queue::TaskId {
    let id = house.submit(task("a")).await;
    let leased = house.lease_one().await;
    let outcome = Outcome { confirm_within: Some(Duration::from_secs(60)), ..Outcome::default() };
    house.finish(&leased, Verdict::Done(outcome)).await.unwrap();
    assert_eq!(house.state(id).await, State::Notified);
    house.verify().await;
    id
}

async fn notified_tasks_wait_for_their_confirmation(house: House) {
    let id = notified(&house).await;
    house.queue.act_on(&Scope::All, id, Move::Confirm, act("task.confirm")).await.unwrap();
    assert_eq!(house.state(id).await, State::Succeeded);
    let again = house.queue.act_on(&Scope::All, id, Move::Confirm, act("task.confirm")).await;
    assert_eq!(again, Err(Error::WrongState { state: State::Succeeded, verb: "confirmed" }));
    house.verify().await;
}

async fn a_missing_confirmation_is_retried(house: House) {
    let id = notified(&house).await;
    house.wait(Duration::from_secs(60));
    assert_eq!(house.queue.reap(10).await.unwrap(), 1);
    let found = house.queue.task(&Scope::All, id).await.unwrap();
    assert_eq!((found.summary.state, found.summary.failures), (State::Queued, 1));
    house.wait(Duration::from_secs(5));
    assert_eq!(house.lease_one().await.failures, 1);
    house.verify().await;
}

async fn one_bad_ending_does_not_spoil_the_others(house: House) {
    house.queue.submit(vec![task("a"), task("b")], None).await.unwrap();
    let leased = house.lease(2).await;
    let mut lost = leased[0].token;
    lost.nonce ^= 1;
    let endings = vec![(lost, house.ending(&leased[0], done())), (leased[1].token, house.ending(&leased[1], done()))];
    let answers = house.queue.finish(endings).await.unwrap();
    assert_eq!(answers, [Err(Error::LeaseLost(lost.task)), Ok(())]);
    house.verify().await;
}

async fn an_old_token_beside_the_current_one_changes_nothing(house: House) {
    for old_first in [true, false] {
        house.submit(task("a")).await;
        let old = house.lease_one().await;
        house.wait(LEASE);
        house.queue.reap(10).await.unwrap();
        let current = house.lease_one().await;
        let mut endings =
            vec![(old.token, house.ending(&old, failed())), (current.token, house.ending(&current, done()))];
        let mut expected = vec![Err(Error::LeaseLost(old.token.task)), Ok(())];
        if !old_first {
            endings.reverse();
            expected.reverse();
        }
        assert_eq!(house.queue.finish(endings).await.unwrap(), expected);
        assert_eq!(house.state(current.token.task).await, State::Succeeded);
    }
    house.verify().await;
}

async fn an_oversized_result_is_refused_alone(house: House) {
    house.queue.submit(vec![task("a"), task("b")], None).await.unwrap();
    let leased = house.lease(2).await;
    let large = Verdict::Done(Outcome { result: Some(vec![0; 1 << 20]), ..Outcome::default() });
    let endings =
        vec![(leased[0].token, house.ending(&leased[0], large)), (leased[1].token, house.ending(&leased[1], done()))];
    let answers = house.queue.finish(endings).await.unwrap();
    assert!(matches!(answers[0], Err(Error::Invalid(_))) && answers[1].is_ok(), "{answers:?}");
}

async fn history_stays_within_its_bound(house: House) {
    let id = house.submit(task("a")).await;
    for _ in 0..12 {
        let leased = house.lease_one().await;
        let long = Failure { answer: Some("x".repeat(40_000).into()), next: NextTry::Never, ..Failure::new("no") };
        house.finish(&leased, Verdict::Failed(long)).await.unwrap();
        house.queue.act_on(&Scope::All, id, Move::Resend, act("task.resend")).await.unwrap();
    }
    let history = house.queue.task(&Scope::All, id).await.unwrap().history;
    assert!((8..20).contains(&history.len()), "{}", history.len());
    assert_eq!(history.last().unwrap().what, What::Resent);
}

fn retention(days: u64) -> Retention {
    let age = Duration::from_secs(days * 86_400);
    Retention { tasks: age, events: age, audit: age, step: 100 }
}

async fn old_tasks_are_forgotten_and_the_counters_know(house: House) {
    let finished = house.submit(task("a")).await;
    let leased = house.lease_one().await;
    house.finish(&leased, done()).await.unwrap();
    let waiting = house.submit(task("b")).await;
    house.wait(Duration::from_secs(40 * 86_400));
    let young = house.submit(task("b")).await;
    while house.queue.prune(retention(30)).await.unwrap() > 0 {}
    let left = house.ids(&TaskFilter::all(Scope::All)).await;
    assert_eq!(left, [young, waiting], "task {finished} should be gone, unfinished ones stay");
    let counts = house.queue.counts(&Scope::All).await.unwrap();
    assert_eq!((counts[0].kind.clone(), counts[0].counts.total()), (Kind::new("drill"), 2));
    house.verify().await;
}

async fn empty_lanes_are_forgotten_unless_an_operator_set_them(house: House) {
    for name in ["plain", "kept"] {
        house.submit(NewTask { lane: lane(name), ..task(name) }).await;
        let leased = house.lease_one().await;
        house.finish(&leased, done()).await.unwrap();
    }
    let change = malla_queue::LaneChange { ceiling: Some(7), ..Default::default() };
    house.queue.change_lane(&Scope::All, &lane("kept"), change, act("lane.change")).await.unwrap();
    house.wait(Duration::from_secs(40 * 86_400));
    while house.queue.prune(retention(30)).await.unwrap() > 0 {}
    assert!(matches!(house.queue.lane(&Scope::All, &lane("plain")).await, Err(Error::NotFound(_))));
    assert_eq!(house.queue.lane(&Scope::All, &lane("kept")).await.unwrap().settings.ceiling, 7);
    house.submit(task("plain")).await;
    house.verify().await;
}
