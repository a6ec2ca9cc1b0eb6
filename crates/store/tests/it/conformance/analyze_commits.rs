//! How leases of analyze end: for the batch, for the study, and for subscribers.

use malla_analyze::StudyState;
use malla_queue::{Clock as _, Error, Move, Scope, State};

use crate::harness::{House, LEASE, act, on_both_stores};
use crate::harness_analyze::{batch_of, key, trips};

on_both_stores!(
    a_mapped_batch_is_its_partial,
    the_last_batch_makes_the_answers_due,
    the_last_batch_may_be_mapped_before_the_study_is_completed,
    the_answers_end_the_study,
    a_lost_lease_is_refused_and_changes_nothing,
    the_same_commit_twice_counts_once,
    a_batch_that_is_mapped_already_counts_once,
    a_failure_ends_the_study,
    a_study_that_failed_stays_as_it_is,
    a_reduce_that_is_resent_changes_nothing,
    partials_come_in_the_order_of_their_keys,
    the_bad_lines_of_all_batches_add_up,
);

async fn a_mapped_batch_is_its_partial(house: House) {
    let id = house.study_with(2).await;
    let leased = house.lease_analyses().await;
    house.wait(std::time::Duration::from_secs(5));
    house.commit_one(house.mapped(id, &leased[0])).await.unwrap();
    let study = house.study(id).await;
    assert_eq!((study.taken, study.mapped, study.waiting_bytes, study.lines.read), (3, 2, 16, 1));
    assert_eq!((study.state, study.changed_at), (StudyState::Collecting, house.clock.now()));
    let batch = batch_of(&leased[0]).unwrap();
    let partials = house.analyze.partials(id, "montreal", None, 9).await.unwrap();
    assert_eq!(partials, [(batch.clone(), batch.to_string().into_bytes())]);
    let known = house.analyze.batches(id, None, 9).await.unwrap();
    assert!(known.iter().find(|known| known.key == batch).unwrap().mapped);
    assert_eq!(house.state(leased[0].token.task).await, State::Succeeded);
    house.verify().await;
}

async fn the_last_batch_makes_the_answers_due(house: House) {
    let id = house.study_with(2).await;
    house.complete(id, 3).await.unwrap();
    let leased = house.lease_analyses().await;
    house.commit_one(house.mapped(id, &leased[0])).await.unwrap();
    assert!(house.lease_analyses().await.is_empty());
    house.commit_one(house.mapped(id, &leased[1])).await.unwrap();
    let reduce = house.lease_analysis().await;
    assert_eq!((reduce.kind.as_str(), batch_of(&reduce)), (malla_analyze::REDUCE, None));
    house.verify().await;
}

async fn the_last_batch_may_be_mapped_before_the_study_is_completed(house: House) {
    let id = house.study_with(2).await;
    house.map_all(id).await;
    assert!(house.lease_analyses().await.is_empty());
    house.complete(id, 3).await.unwrap();
    house.lease_analysis().await;
    house.verify().await;
}

async fn the_answers_end_the_study(house: House) {
    let id = house.study_with(1).await;
    assert_eq!(house.answer(id, "rain").await, None);
    house.bring_to_answers(id).await;
    let study = house.study(id).await;
    assert_eq!((study.state, study.why, study.finished_at), (StudyState::Succeeded, None, Some(house.clock.now())));
    assert_eq!(house.answer(id, "rain").await.as_deref(), Some("{\"rain\":1}"));
    assert_eq!(house.answer(id, "year").await.as_deref(), Some("{\"year\":1}"));
    assert_eq!(house.answer(id, "city").await, None);
    assert_eq!(house.told().await, [("succeeded".into(), None)]);
    house.begin().await;
    house.begin().await;
    house.verify().await;
}

async fn a_lost_lease_is_refused_and_changes_nothing(house: House) {
    let id = house.study_with(1).await;
    house.complete(id, 2).await.unwrap();
    let stale = house.lease_analysis().await;
    house.wait(LEASE);
    house.queue.reap(100).await.unwrap();
    let before = house.study(id).await;
    for late in [house.mapped(id, &stale), house.rejected(id, &stale, "no date")] {
        assert_eq!(house.commit_one(late).await, Err(Error::LeaseLost(stale.token.task)));
    }
    assert_eq!(house.study(id).await, before);
    assert!(house.analyze.partials(id, "montreal", None, 9).await.unwrap().is_empty());
    assert!(house.told().await.is_empty());
    house.wait(LEASE);
    house.map_all(id).await;
    house.lease_analysis().await;
    house.verify().await;
}

async fn the_same_commit_twice_counts_once(house: House) {
    let id = house.study_with(1).await;
    house.complete(id, 2).await.unwrap();
    let leased = house.lease_analysis().await;
    for _ in 0..3 {
        assert_eq!(house.commit_one(house.mapped(id, &leased)).await, Ok(()));
    }
    assert_eq!(house.study(id).await.lines.read, 1);
    let reduce = house.lease_analysis().await;
    for _ in 0..3 {
        assert_eq!(house.commit_one(house.answered(id, &reduce)).await, Ok(()));
    }
    assert_eq!(house.told().await.len(), 1);
    house.verify().await;
}

async fn a_batch_that_is_mapped_already_counts_once(house: House) {
    let id = house.study_with(1).await;
    let leased = house.lease_analysis().await;
    house.commit_one(house.mapped(id, &leased)).await.unwrap();
    house.queue.act_on(&Scope::All, leased.token.task, Move::Resend, act("task.resend")).await.unwrap();
    let before = house.study(id).await;
    let again = house.lease_analysis().await;
    house.commit_one(house.mapped(id, &again)).await.unwrap();
    assert_eq!(house.study(id).await, before);
    assert_eq!(house.state(again.token.task).await, State::Succeeded);
    house.verify().await;
}

async fn a_failure_ends_the_study(house: House) {
    let id = house.study_with(2).await;
    let leased = house.lease_analyses().await;
    house.commit_one(house.rejected(id, &leased[0], "too many \0 bad lines")).await.unwrap();
    let study = house.study(id).await;
    assert_eq!((study.state, study.finished_at), (StudyState::Failed, Some(house.clock.now())));
    assert!(study.why.as_ref().is_some_and(|why| why.starts_with("too many ") && why.ends_with(" bad lines")));
    assert_eq!(house.told().await.len(), 1);
    assert_eq!(house.state(leased[0].token.task).await, State::Failed);
    let refused = house.take(id, trips("montreal", 5)).await;
    assert_eq!(refused, Err(Error::Conflict(format!("the analysis {id} has failed: nothing more can come"))));
    house.verify().await;
}

async fn a_study_that_failed_stays_as_it_is(house: House) {
    let id = house.study_with(3).await;
    house.complete(id, 4).await.unwrap();
    let leased = house.lease_analyses().await;
    house.commit_one(house.rejected(id, &leased[0], "bad")).await.unwrap();
    let before = house.study(id).await;
    house.commit_one(house.mapped(id, &leased[1])).await.unwrap();
    house.commit_one(house.rejected(id, &leased[2], "worse")).await.unwrap();
    assert_eq!(house.study(id).await, before);
    assert_eq!(house.told().await, [("failed".into(), Some("bad".into()))]);
    house.verify().await;
}

async fn a_reduce_that_is_resent_changes_nothing(house: House) {
    let id = house.study_with(1).await;
    house.complete(id, 2).await.unwrap();
    house.map_all(id).await;
    let reduce = house.lease_analysis().await;
    house.commit_one(house.answered(id, &reduce)).await.unwrap();
    let before = house.study(id).await;
    house.queue.act_on(&Scope::All, reduce.token.task, Move::Resend, act("task.resend")).await.unwrap();
    house.wait(LEASE);
    let again = house.lease_analysis().await;
    house.commit_one(house.answered(id, &again)).await.unwrap();
    house.queue.act_on(&Scope::All, reduce.token.task, Move::Resend, act("task.resend")).await.unwrap();
    let again = house.lease_analysis().await;
    house.commit_one(house.rejected(id, &again, "bad")).await.unwrap();
    assert_eq!(house.study(id).await, before);
    assert_eq!(house.told().await.len(), 1);
    house.verify().await;
}

async fn partials_come_in_the_order_of_their_keys(house: House) {
    let id = house.begin().await;
    for (part, seq) in [("a", 10), ("b", 1), ("a", 9), ("a", 1), ("a", 100), ("ab", 3)] {
        house.send(id, trips(part, seq)).await;
    }
    house.map_all(id).await;
    let mut read = Vec::new();
    loop {
        let page = house.analyze.partials(id, "a", read.last(), 2).await.unwrap();
        if page.is_empty() {
            break;
        }
        assert!(page.iter().all(|(key, partial)| *partial == key.to_string().into_bytes()));
        read.extend(page.into_iter().map(|(key, _)| key));
    }
    assert_eq!(read, [1, 9, 10, 100].map(|seq| key("trips", "a", seq)));
    house.verify().await;
}

async fn the_bad_lines_of_all_batches_add_up(house: House) {
    let id = house.study_with(12).await;
    house.map_all(id).await;
    let lines = house.study(id).await.lines;
    assert_eq!((lines.read, lines.bad, lines.samples.len()), (12, 12, 10));
    assert_eq!((lines.samples[0].batch.as_str(), lines.samples[0].text.as_str()), ("trips/montreal/0", "x\0y"));
}
