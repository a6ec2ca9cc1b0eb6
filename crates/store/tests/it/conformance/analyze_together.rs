//! Verbs of analyze at the same time: nothing counts twice, nothing is lost, and the answers are made once.

use std::sync::Arc;

use futures_util::future::join_all;
use malla_analyze::{Keep, NewStudy, StudyId, StudyState, TakenBatch};
use malla_queue::{Error, Leased};

use crate::harness::{House, act, on_both_stores};
use crate::harness_analyze::{KEEP, new_study, trips, weather};

on_both_stores!(
    the_last_place_goes_to_one,
    the_same_batch_many_times_at_once_is_taken_once,
    commits_at_the_same_time_make_the_answers_due_once,
    the_same_commit_many_times_at_once_counts_once,
    batches_commits_and_sweeps_at_the_same_time_add_up,
    a_study_cancelled_amid_its_work_stays_cancelled,
);

async fn the_last_place_goes_to_one(house: House) {
    let new = NewStudy { studies_max: 3, ..new_study() };
    let begun = join_all((0..10).map(|_| house.analyze.begin(new.clone(), act("analysis.begin")))).await;
    assert_eq!(begun.iter().filter(|begun| begun.is_ok()).count(), 3);
    assert!(begun.iter().flat_map(|begun| begun.as_ref().err()).all(|why| matches!(why, Error::NotAvailable(_))));
}

async fn the_same_batch_many_times_at_once_is_taken_once(house: House) {
    let id = house.begin().await;
    let taken = join_all((0..12).map(|n| house.take(id, trips("montreal", n % 3)))).await;
    assert_eq!(taken.iter().filter(|taken| **taken == Ok(TakenBatch::New)).count(), 3);
    assert_eq!(taken.iter().filter(|taken| **taken == Ok(TakenBatch::Again)).count(), 9);
    assert_eq!(house.study(id).await.taken, 3);
    assert_eq!(house.lease_analyses().await.len(), 3);
    house.verify().await;
}

/// Commits all of these at the same time, each from a task of its own.
async fn commit_all(house: &Arc<House>, id: StudyId, leased: &[Leased]) {
    let commit = |leased: &Leased| {
        let (house, settled) = (house.clone(), house.mapped(id, leased));
        tokio::spawn(async move { house.commit_one(settled).await })
    };
    for done in join_all(leased.iter().map(commit)).await {
        assert_eq!(done.unwrap(), Ok(()));
    }
}

async fn commits_at_the_same_time_make_the_answers_due_once(house: House) {
    let house = Arc::new(house);
    let id = house.study_with(24).await;
    let leased = house.lease_analyses().await;
    let completing = tokio::spawn({
        let house = house.clone();
        async move { house.complete(id, 25).await }
    });
    commit_all(&house, id, &leased).await;
    completing.await.unwrap().unwrap();
    let reduce = house.lease_analysis().await;
    let study = house.study(id).await;
    assert_eq!((study.mapped, study.waiting_bytes, study.lines.read), (25, 0, 24));
    house.verify().await;
    house.commit_one(house.answered(id, &reduce)).await.unwrap();
    assert_eq!(house.study_state(id).await, StudyState::Succeeded);
    house.verify().await;
}

async fn the_same_commit_many_times_at_once_counts_once(house: House) {
    let house = Arc::new(house);
    let id = house.study_with(1).await;
    house.complete(id, 2).await.unwrap();
    let leased = house.lease_analysis().await;
    commit_all(&house, id, &vec![leased; 8]).await;
    assert_eq!(house.study(id).await.lines.read, 1);
    house.lease_analysis().await;
    house.verify().await;
}

async fn batches_commits_and_sweeps_at_the_same_time_add_up(house: House) {
    let house = Arc::new(house);
    let id = house.begin().await;
    for part in ["a", "b", "c"] {
        house.send(id, weather(part)).await;
    }
    let senders = ["a", "b", "c"].map(|part| {
        let house = house.clone();
        tokio::spawn(async move {
            for seq in 0..10 {
                house.send(id, trips(part, seq)).await;
            }
        })
    });
    let sweeper = tokio::spawn({
        let house = house.clone();
        async move {
            for _ in 0..10 {
                assert_eq!(house.analyze.sweep(Keep { step: 5, ..KEEP }).await, Ok(0));
            }
        }
    });
    let mut mapped = 0;
    while mapped < 30 {
        let leased = house.lease_analyses().await;
        mapped += leased.len();
        commit_all(&house, id, &leased).await;
        tokio::task::yield_now().await;
    }
    for done in senders.into_iter().chain([sweeper]) {
        done.await.unwrap();
    }
    assert_eq!((house.study(id).await.taken, house.study(id).await.mapped), (33, 33));
    house.bring_to_answers(id).await;
    house.verify().await;
}

async fn a_study_cancelled_amid_its_work_stays_cancelled(house: House) {
    let house = Arc::new(house);
    let id = house.study_with(16).await;
    house.complete(id, 17).await.unwrap();
    let leased = house.lease_analyses().await;
    let cancelling = tokio::spawn({
        let house = house.clone();
        async move { house.cancel(id).await }
    });
    commit_all(&house, id, &leased).await;
    cancelling.await.unwrap().unwrap();
    house.sweep(KEEP).await;
    for leased in house.lease_analyses().await {
        house.commit_one(house.answered(id, &leased)).await.unwrap();
    }
    let study = house.study(id).await;
    assert_eq!((study.state, house.told().await.len()), (StudyState::Cancelled, 1));
    assert_eq!(house.answer(id, "rain").await, None);
    house.verify().await;
}
