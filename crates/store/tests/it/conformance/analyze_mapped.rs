//! Records that were mapped on their way in: taken whole, once, and only when that is sure to be right.

use malla_analyze::{BatchKey, MappedBatch, NewBatch, StudyId, TakenBatch};
use malla_queue::{Error, LaneChange, Result, Scope};

use crate::harness::{House, act, on_both_stores};
use crate::harness_analyze::{lines, trips};

on_both_stores!(
    a_mapped_batch_is_its_partial_and_needs_no_task,
    a_mapped_batch_counts_once_however_it_comes,
    another_body_under_the_number_of_a_mapped_batch_is_refused,
    nothing_is_taken_mapped_before_the_part_is_sealed,
    nothing_is_taken_mapped_while_the_lane_is_paused,
    nothing_mapped_comes_after_the_study_was_completed,
    mapped_and_waiting_batches_make_one_answer,
);

/// The same batch as [`trips`] makes, mapped.
fn mapped(part: &str, seq: u64) -> MappedBatch {
    let NewBatch { key, hash, size, .. } = trips(part, seq);
    let lines = lines(&key);
    MappedBatch { key, hash, size, partial: format!("partial {seq}").into_bytes(), lines }
}

async fn take(house: &House, id: StudyId, batch: MappedBatch) -> Result<TakenBatch> {
    house.analyze.take_mapped(&Scope::All, id, batch).await
}

async fn partials(house: &House, id: StudyId) -> Vec<(BatchKey, Vec<u8>)> {
    house.analyze.partials(id, "montreal", None, 100).await.expect("partials")
}

async fn a_mapped_batch_is_its_partial_and_needs_no_task(house: House) {
    let id = house.study_with(1).await;
    assert_eq!(take(&house, id, mapped("montreal", 1)).await, Ok(TakenBatch::New));
    let study = house.study(id).await;
    assert_eq!((study.taken, study.mapped, study.lines.read, study.lines.bad), (3, 2, 1, 1));
    assert_eq!(study.waiting_bytes, 16, "only the batch that came before waits");
    let MappedBatch { key, partial, .. } = mapped("montreal", 1);
    assert_eq!(partials(&house, id).await, [(key.clone(), partial)]);
    assert_eq!(house.analyze.batch(id, &key).await, Ok(None));
    assert_eq!(house.lease_analyses().await.len(), 1);
    house.verify().await;
}

async fn a_mapped_batch_counts_once_however_it_comes(house: House) {
    let id = house.study_with(1).await;
    assert_eq!(take(&house, id, mapped("montreal", 1)).await, Ok(TakenBatch::New));
    let before = house.study(id).await;
    assert_eq!(take(&house, id, mapped("montreal", 1)).await, Ok(TakenBatch::Again));
    assert_eq!(house.take(id, trips("montreal", 1)).await, Ok(TakenBatch::Again));
    assert_eq!(take(&house, id, mapped("montreal", 0)).await, Ok(TakenBatch::Again), "it waits to be mapped");
    assert_eq!(house.study(id).await, before);
    house.verify().await;
}

async fn another_body_under_the_number_of_a_mapped_batch_is_refused(house: House) {
    let id = house.study_with(1).await;
    for seq in [0, 1] {
        take(&house, id, mapped("montreal", 1)).await.expect("taken");
        let other = MappedBatch { key: mapped("montreal", seq).key, ..mapped("montreal", 9) };
        let words = format!("the batch trips/montreal/{seq} came before with another body");
        assert_eq!(take(&house, id, other).await, Err(Error::Conflict(words)));
    }
}

async fn nothing_is_taken_mapped_before_the_part_is_sealed(house: House) {
    let id = house.study_with(1).await;
    let before = house.study(id).await;
    house.send(id, crate::harness_analyze::weather("toronto")).await;
    for part in ["toronto", "nowhere"] {
        assert_eq!(take(&house, id, mapped(part, 0)).await, Ok(TakenBatch::NotYet));
    }
    assert_eq!(house.study(id).await.taken, before.taken + 1);
    house.send(id, trips("toronto", 0)).await;
    assert_eq!(take(&house, id, mapped("toronto", 1)).await, Ok(TakenBatch::New));
    house.verify().await;
}

async fn nothing_is_taken_mapped_while_the_lane_is_paused(house: House) {
    let id = house.study_with(1).await;
    let pause = |paused| LaneChange { paused: Some(paused), ..LaneChange::default() };
    house.queue.change_lane(&Scope::All, &id.lane(), pause(true), act("lane.pause")).await.expect("paused");
    assert_eq!(take(&house, id, mapped("montreal", 1)).await, Ok(TakenBatch::NotYet));
    assert_eq!(house.study(id).await.taken, 2);
    house.queue.change_lane(&Scope::All, &id.lane(), pause(false), act("lane.resume")).await.expect("resumed");
    assert_eq!(take(&house, id, mapped("montreal", 1)).await, Ok(TakenBatch::New));
    house.verify().await;
}

async fn nothing_mapped_comes_after_the_study_was_completed(house: House) {
    let id = house.study_with(1).await;
    assert_eq!(take(&house, id, mapped("montreal", 1)).await, Ok(TakenBatch::New));
    house.complete(id, 3).await.expect("completed");
    let words = format!("the analysis {id} was completed with 3 batches: nothing more can come");
    assert_eq!(take(&house, id, mapped("montreal", 2)).await, Err(Error::Conflict(words)));
    assert_eq!(take(&house, id, mapped("montreal", 1)).await, Ok(TakenBatch::Again));
}

async fn mapped_and_waiting_batches_make_one_answer(house: House) {
    let id = house.study_with(2).await;
    for seq in 2..5 {
        assert_eq!(take(&house, id, mapped("montreal", seq)).await, Ok(TakenBatch::New));
    }
    house.bring_to_answers(id).await;
    let study = house.study(id).await;
    assert_eq!((study.taken, study.mapped, study.waiting_bytes), (6, 6, 0));
    assert!(house.lease_analyses().await.is_empty());
    house.verify().await;
}
