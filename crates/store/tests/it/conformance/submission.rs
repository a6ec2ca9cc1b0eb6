//! Taking tasks in.

use std::time::Duration;

use malla_queue::{Error, Limits, Once, Scope, State, TaskFilter};

use crate::harness::{House, act, done, lane, on_both_stores, task};

on_both_stores!(
    a_submitted_task_is_there_and_waits,
    ids_rise_and_tell_the_time,
    a_waiting_dedup_key_answers_with_the_first_task,
    a_dedup_key_is_free_again_when_its_task_is_finished,
    the_first_task_makes_the_lane,
    a_submission_is_taken_whole_or_not_at_all,
    too_large_and_too_many_are_refused,
    more_than_may_wait_is_refused,
    a_repeated_key_gets_the_first_answer,
    a_key_with_another_request_is_refused,
    a_key_is_forgotten_after_its_time,
    a_waiting_worker_is_roused,
);

async fn a_submitted_task_is_there_and_waits(house: House) {
    let id = house.submit(task("a")).await;
    let found = house.queue.task(&Scope::All, id).await.unwrap();
    assert_eq!(found.summary.state, State::Queued);
    assert_eq!(found.summary.lane, lane("a"));
    assert_eq!(found.payload, b"{}");
    assert_eq!(found.retry.as_millis(), [5_000, 60_000]);
    assert!(found.history.is_empty() && found.result.is_none());
    house.verify().await;
}

async fn ids_rise_and_tell_the_time(house: House) {
    let first = house.submit(task("a")).await;
    house.wait(Duration::from_secs(1));
    let second = house.submit(task("a")).await;
    assert!(first < second);
    assert_eq!(second.submitted_at().0 - first.submitted_at().0, 1_000);
}

async fn a_waiting_dedup_key_answers_with_the_first_task(house: House) {
    let with_key = || malla_queue::NewTask { dedup: Some("page".into()), ..task("a") };
    let first = house.queue.submit(vec![with_key()], None).await.unwrap()[0];
    let both = house.queue.submit(vec![with_key(), task("a")], None).await.unwrap();
    assert!(first.new && !both[0].new && both[1].new);
    assert_eq!(first.id, both[0].id);
    let twice =
        house.queue.submit(vec![malla_queue::NewTask { dedup: Some("new".into()), ..task("b") }; 2], None).await;
    let twice = twice.unwrap();
    assert!(twice[0].new && !twice[1].new, "the key counts within one call too");
    assert_eq!(twice[0].id, twice[1].id);
    house.verify().await;
}

async fn a_dedup_key_is_free_again_when_its_task_is_finished(house: House) {
    let with_key = || malla_queue::NewTask { dedup: Some("page".into()), ..task("a") };
    let first = house.submit(with_key()).await;
    let leased = house.lease_one().await;
    assert_eq!(house.submit(with_key()).await, first, "a running task holds its key");
    house.finish(&leased, done()).await.unwrap();
    assert_ne!(house.submit(with_key()).await, first);
    house.verify().await;
}

async fn the_first_task_makes_the_lane(house: House) {
    let with =
        |ceiling| malla_queue::NewTask { lane_settings: malla_queue::LaneSettings { ceiling, gap_ms: 0 }, ..task("a") };
    house.queue.submit(vec![with(7), with(3)], None).await.unwrap();
    house.submit(with(5)).await;
    assert_eq!(house.queue.lane(&Scope::All, &lane("a")).await.unwrap().settings.ceiling, 7);
}

async fn a_submission_is_taken_whole_or_not_at_all(house: House) {
    let wrong = malla_queue::NewTask { payload: vec![0; 2 << 20], ..task("a") };
    let refusal = house.queue.submit(vec![task("a"), wrong], None).await.unwrap_err();
    assert!(matches!(refusal, Error::Invalid(_)), "{refusal}");
    assert!(house.ids(&TaskFilter::all(Scope::All)).await.is_empty());
}

async fn too_large_and_too_many_are_refused(house: House) {
    let limits = Limits::default();
    let many = vec![task("a"); limits.batch_max + 1];
    assert!(matches!(house.queue.submit(many, None).await, Err(Error::Invalid(_))));
    let largest = malla_queue::NewTask { payload: vec![0; limits.payload_bytes_max], ..task("a") };
    let id = house.submit(largest).await;
    assert_eq!(house.queue.task(&Scope::All, id).await.unwrap().payload.len(), limits.payload_bytes_max);
}

async fn more_than_may_wait_is_refused(house: House) {
    for _ in 0..10 {
        house.queue.submit(vec![task("a"); 1_000], None).await.unwrap();
    }
    let refusal = house.queue.submit(vec![task("a")], None).await.unwrap_err();
    assert_eq!(refusal, Error::Full { waiting: 10_000, limit: 10_000 });
    let leased = house.lease_one().await;
    house.finish(&leased, done()).await.unwrap();
    house.submit(task("a")).await;
}

fn once(key: &str, request: &str) -> Option<malla_queue::Act> {
    let once = Once {
        scope: "user:ana".into(),
        key: key.into(),
        fingerprint: request.as_bytes().to_vec(),
        keep_for: Duration::from_secs(3600),
    };
    Some(malla_queue::Act { once: Some(once), ..act("task.submit") })
}

async fn a_repeated_key_gets_the_first_answer(house: House) {
    let first = house.queue.submit(vec![task("a")], once("k", "one")).await.unwrap();
    let again = house.queue.submit(vec![task("a")], once("k", "one")).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(house.ids(&TaskFilter::all(Scope::All)).await.len(), 1);
    let other = house.queue.submit(vec![task("a")], once("other", "one")).await.unwrap();
    assert_ne!(first, other);
}

async fn a_key_with_another_request_is_refused(house: House) {
    house.queue.submit(vec![task("a")], once("k", "one")).await.unwrap();
    assert_eq!(house.queue.submit(vec![task("b")], once("k", "two")).await, Err(Error::KeyReused));
}

async fn a_key_is_forgotten_after_its_time(house: House) {
    let first = house.queue.submit(vec![task("a")], once("k", "one")).await.unwrap();
    house.wait(Duration::from_secs(3601));
    let later = house.queue.submit(vec![task("a")], once("k", "two")).await.unwrap();
    assert_ne!(first, later);
}

async fn a_waiting_worker_is_roused(house: House) {
    let mut arrivals = house.queue.arrivals(&malla_queue::drill::room());
    house.submit(task("a")).await;
    tokio::time::timeout(Duration::from_secs(5), arrivals.changed()).await.expect("roused").expect("the store lives");
}
