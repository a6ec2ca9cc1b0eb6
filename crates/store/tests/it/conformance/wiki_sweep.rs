//! Sweeping: extractions that cannot end by themselves are ended, old ones are forgotten.

use std::time::Duration;

use malla_queue::{Clock as _, Error, Move, Scope};
use malla_wiki::{EXTRACT, ExtractionId, ExtractionState, Settled};

use crate::harness::{House, LEASE, act, failed, on_both_stores};
use crate::harness_wiki::{KEEP, new_task, step};

on_both_stores!(
    a_discarded_task_fails_its_extraction,
    a_discarded_follow_up_fails_its_extraction,
    a_task_that_is_given_up_fails_its_extraction,
    a_task_that_says_nothing_at_its_end_fails_its_extraction,
    there_is_nothing_to_sweep_of_extractions_that_are_fine,
    old_extractions_are_forgotten_in_bounded_steps,
);

async fn discard(house: &House, task: malla_queue::TaskId) {
    house.queue.act_on(&Scope::All, task, Move::Discard, act("task.discard")).await.unwrap();
}

/// Ends the task of a step that goes on.
async fn go_on(house: &House, id: ExtractionId) {
    let leased = house.lease_wiki().await;
    let settled = house.walked(&leased, Vec::new(), vec![new_task(EXTRACT)]);
    house.wikis.commit(Settled { step: Some(step(id, ExtractionState::InProgress)), ..settled }).await.unwrap();
}

async fn is_failed(house: &House, id: ExtractionId) {
    house.wait(Duration::from_secs(5));
    assert_eq!(house.wikis.sweep(KEEP, 100).await, Ok(1));
    let extraction = house.extraction(id).await;
    assert_eq!((extraction.state, extraction.finished_at), (ExtractionState::Failed, Some(house.clock.now())));
    assert_eq!(extraction.note.as_deref(), Some("its task failed or was discarded: ask for it again"));
    assert_eq!(house.wikis.sweep(KEEP, 100).await, Ok(0));
    assert_eq!(house.extract("a").await.state, ExtractionState::Pending, "it can be asked for again");
    house.verify().await;
}

async fn a_discarded_task_fails_its_extraction(house: House) {
    let id = house.extract("a").await.id;
    let leased = house.lease_wiki().await;
    let fine = house.extract("b").await;
    discard(&house, leased.token.task).await;
    is_failed(&house, id).await;
    assert_eq!(house.extraction(fine.id).await, fine);
}

async fn a_discarded_follow_up_fails_its_extraction(house: House) {
    let id = house.extract("a").await.id;
    go_on(&house, id).await;
    go_on(&house, id).await;
    assert_eq!(house.wikis.sweep(KEEP, 100).await, Ok(0));
    discard(&house, house.lease_wiki().await.token.task).await;
    is_failed(&house, id).await;
}

async fn a_task_that_is_given_up_fails_its_extraction(house: House) {
    let id = house.extract("a").await.id;
    let leased = house.lease_wiki().await;
    house.finish(&leased, failed()).await.unwrap();
    is_failed(&house, id).await;
}

async fn a_task_that_says_nothing_at_its_end_fails_its_extraction(house: House) {
    let id = house.extract("a").await.id;
    let leased = house.lease_wiki().await;
    house.finish(&leased, crate::harness::done()).await.unwrap();
    is_failed(&house, id).await;
}

async fn there_is_nothing_to_sweep_of_extractions_that_are_fine(house: House) {
    let id = house.extract("a").await.id;
    go_on(&house, id).await;
    house.lease_wiki().await;
    house.wait(LEASE);
    house.queue.reap(100).await.unwrap();
    house.extract("b").await;
    house.wait(2 * KEEP);
    assert_eq!(house.wikis.sweep(KEEP, 100).await, Ok(0));
    assert_eq!(house.extraction(id).await.state, ExtractionState::InProgress);
    house.verify().await;
}

async fn old_extractions_are_forgotten_in_bounded_steps(house: House) {
    let mut ids = Vec::new();
    for key in ["a", "b", "c", "d"] {
        let id = house.extract(key).await.id;
        let leased = house.lease_wiki().await;
        let settled = house.walked(&leased, Vec::new(), Vec::new());
        house.wikis.commit(Settled { step: Some(step(id, ExtractionState::Succeeded)), ..settled }).await.unwrap();
        house.wait(Duration::from_secs(60));
        ids.push(id);
    }
    house.wait(KEEP - Duration::from_secs(90));
    assert_eq!(house.wikis.sweep(KEEP, 2).await, Ok(2));
    assert_eq!(house.wikis.sweep(KEEP, 2).await, Ok(1));
    assert_eq!(house.wikis.sweep(KEEP, 2).await, Ok(0));
    let gone = house.wikis.extraction(&Scope::All, ids[0]).await;
    assert_eq!(gone, Err(Error::NotFound(format!("extraction {}", ids[0]))));
    let left = house.wikis.extractions(&Scope::All, None, 9).await.unwrap();
    assert_eq!(left.iter().map(|extraction| extraction.id).collect::<Vec<_>>(), ids[3..]);
    house.verify().await;
}
