//! Sweeping: what cannot end by itself is ended, what is over is dropped, what is old is forgotten.

use std::time::Duration;

use malla_analyze::{Keep, StudyState};
use malla_queue::{Error, Move, Scope};

use crate::harness::{House, LEASE, act, failed, on_both_stores};
use crate::harness_analyze::{KEEP, key, trips};

on_both_stores!(
    a_discarded_task_ends_its_study,
    a_task_that_failed_for_good_ends_its_study,
    a_discarded_reduce_ends_its_study,
    a_discarded_task_that_nobody_needs_ends_nothing,
    a_study_to_which_nothing_comes_is_cancelled,
    a_study_that_is_computed_is_not_idle,
    what_belongs_to_a_study_that_is_over_goes_in_bounded_steps,
    old_studies_are_forgotten,
    there_is_nothing_to_sweep_of_studies_that_are_fine,
);

const HOUR: Duration = Duration::from_secs(3_600);

async fn discard(house: &House, task: malla_queue::TaskId) {
    house.queue.act_on(&Scope::All, task, Move::Discard, act("task.discard")).await.unwrap();
}

async fn a_discarded_task_ends_its_study(house: House) {
    let (id, fine) = (house.study_with(2).await, house.study_with(2).await);
    let of_first = house.lease_analyses().await;
    let lane = id.lane();
    discard(&house, of_first.iter().find(|leased| leased.lane == lane).unwrap().token.task).await;
    assert!(house.sweep(KEEP).await > 0);
    let study = house.study(id).await;
    assert_eq!(study.state, StudyState::Failed);
    assert_eq!(study.why.as_deref(), Some("a task of it failed or was discarded: analyze.map"));
    assert_eq!(house.study_state(fine).await, StudyState::Collecting);
    assert_eq!(house.told().await, [("failed".into(), study.why)]);
    house.verify().await;
}

async fn a_task_that_failed_for_good_ends_its_study(house: House) {
    let id = house.study_with(1).await;
    for _ in 0..20 {
        let Some(leased) = house.lease_analyses().await.pop() else { break };
        assert_eq!(house.sweep(KEEP).await, 0, "it is tried again");
        house.finish(&leased, failed()).await.unwrap();
        house.wait(Duration::from_secs(600));
    }
    house.sweep(KEEP).await;
    assert_eq!(house.study_state(id).await, StudyState::Failed);
    house.verify().await;
}

async fn a_discarded_reduce_ends_its_study(house: House) {
    let id = house.study_with(1).await;
    house.complete(id, 2).await.unwrap();
    house.map_all(id).await;
    discard(&house, house.lease_analysis().await.token.task).await;
    house.verify().await;
    house.sweep(KEEP).await;
    let why = house.study(id).await.why;
    assert_eq!(why.as_deref(), Some("a task of it failed or was discarded: analyze.reduce"));
    house.verify().await;
}

async fn a_discarded_task_that_nobody_needs_ends_nothing(house: House) {
    let id = house.study_with(1).await;
    let leased = house.lease_analysis().await;
    house.commit_one(house.mapped(id, &leased)).await.unwrap();
    house.queue.act_on(&Scope::All, leased.token.task, Move::Resend, act("task.resend")).await.unwrap();
    discard(&house, leased.token.task).await;
    assert_eq!(house.sweep(KEEP).await, 0);
    house.bring_to_answers(id).await;
    house.verify().await;
}

async fn a_study_to_which_nothing_comes_is_cancelled(house: House) {
    let id = house.study_with(1).await;
    house.wait(HOUR * 23);
    house.send(id, trips("montreal", 7)).await;
    house.wait(HOUR * 23);
    assert_eq!(house.sweep(KEEP).await, 0);
    house.wait(HOUR);
    assert!(house.sweep(KEEP).await > 0);
    let study = house.study(id).await;
    assert_eq!((study.state, study.why.as_deref()), (StudyState::Cancelled, Some("nothing came for 24 hours")));
    assert_eq!(house.told().await, [("cancelled".into(), study.why)]);
    house.verify().await;
}

async fn a_study_that_is_computed_is_not_idle(house: House) {
    let id = house.study_with(1).await;
    house.complete(id, 2).await.unwrap();
    house.wait(HOUR * 1_000);
    assert_eq!(house.sweep(KEEP).await, 0);
    assert_eq!(house.study_state(id).await, StudyState::Computing);
    house.bring_to_answers(id).await;
    house.verify().await;
}

async fn what_belongs_to_a_study_that_is_over_goes_in_bounded_steps(house: House) {
    let id = house.study_with(7).await;
    house.bring_to_answers(id).await;
    let before = house.study(id).await;
    assert_eq!(house.analyze.sweep(Keep { step: 3, ..KEEP }).await.unwrap(), 3);
    assert!(house.sweep(Keep { step: 3, ..KEEP }).await >= 5);
    assert_eq!(house.study(id).await, before);
    assert!(house.answer(id, "rain").await.is_some());
    assert!(house.analyze.partials(id, "montreal", None, 9).await.unwrap().is_empty());
    assert!(house.analyze.dimensions(id, "montreal").await.unwrap().is_empty());
    house.cancel(id).await.unwrap();
    assert!(house.sweep(Keep { step: 3, ..KEEP }).await >= 10, "eight batches, a part and the study");
    assert_eq!(house.sweep(KEEP).await, 0);
    house.verify().await;
}

async fn old_studies_are_forgotten(house: House) {
    let (old, cancelled) = (house.study_with(1).await, house.begin().await);
    house.cancel(cancelled).await.unwrap();
    house.bring_to_answers(old).await;
    house.sweep(KEEP).await;
    house.wait(HOUR * 24 * 29);
    let young = house.begin().await;
    house.cancel(young).await.unwrap();
    house.sweep(KEEP).await;
    assert_eq!(house.analyze.studies(&Scope::All, None, 9).await.unwrap().len(), 3);
    house.wait(HOUR * 24 * 2);
    assert!(house.sweep(KEEP).await > 0);
    assert_eq!(house.analyze.study(&Scope::All, old).await, Err(Error::NotFound(format!("analysis {old}"))));
    assert_eq!(house.answer(old, "rain").await, None);
    let left: Vec<_> = house.analyze.studies(&Scope::All, None, 9).await.unwrap();
    assert_eq!(left.iter().map(|study| study.id).collect::<Vec<_>>(), [young]);
    assert_eq!(house.analyze.parts(old).await.unwrap(), Vec::<String>::new());
    house.verify().await;
}

async fn there_is_nothing_to_sweep_of_studies_that_are_fine(house: House) {
    let (collecting, computing) = (house.study_with(2).await, house.study_with(2).await);
    house.complete(computing, 3).await.unwrap();
    house.lease_analyses().await;
    house.wait(LEASE);
    house.queue.reap(100).await.unwrap();
    assert_eq!(house.sweep(KEEP).await, 0);
    assert!(house.analyze.batch(collecting, &key("trips", "montreal", 0)).await.unwrap().is_some());
    assert_eq!(house.study_state(computing).await, StudyState::Computing);
    house.verify().await;
}
