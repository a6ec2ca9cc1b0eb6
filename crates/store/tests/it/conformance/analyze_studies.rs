//! Studies: how they begin, are completed, cancelled and seen.

use std::time::Duration;

use malla_access::AuditFilter;
use malla_analyze::{NewStudy, Only, StudyState};
use malla_queue::{Act, Clock as _, Error, Once, Scope};
use serde_json::json;

use crate::harness::{House, START, act, on_both_stores};
use crate::harness_analyze::{KEEP, STUDIES_MAX, new_study, trips, weather};

on_both_stores!(
    a_study_begins_as_it_was_asked_for,
    only_so_many_are_under_way_at_once,
    the_same_key_again_is_the_same_study,
    a_study_is_completed_with_as_many_batches_as_came,
    a_study_without_batches_is_whole_at_once,
    completing_twice_changes_nothing,
    a_cancelled_study_is_over_and_makes_room,
    what_is_over_is_forgotten_by_cancelling_it_again,
    who_means_to_cancel_forgets_nothing_and_the_other_way_round,
    a_cancel_under_a_key_is_answered_again_when_the_study_is_gone,
    another_group_sees_nothing,
    studies_are_listed_newest_first,
    every_change_is_in_the_audit_log,
    a_group_with_studies_stays,
);

fn once(action: &'static str, key: &str) -> Act {
    let once =
        Once { scope: "ana".into(), key: key.into(), fingerprint: action.into(), keep_for: Duration::from_secs(3_600) };
    Act { once: Some(once), ..act(action) }
}

async fn a_study_begins_as_it_was_asked_for(house: House) {
    let id = house.begin().await;
    let study = house.study(id).await;
    assert_eq!((study.kind.as_str(), study.state, study.group), ("bike-rides", StudyState::Collecting, None));
    assert_eq!((study.created_at, study.changed_at, study.finished_at), (START, START, None));
    assert_eq!(study.params["distance_km"], json!(4.0));
    assert_eq!((study.expected, study.taken, study.mapped, study.bytes, study.waiting_bytes), (None, 0, 0, 0, 0));
    assert_eq!(study, house.analyze.studies(&Scope::All, None, 9).await.unwrap()[0]);
    house.verify().await;
}

async fn only_so_many_are_under_way_at_once(house: House) {
    let first = house.begin().await;
    house.begin().await;
    let refused = house.analyze.begin(new_study(), act("analysis.begin")).await.unwrap_err();
    assert_eq!(
        refused,
        Error::NotAvailable(
            "2 analyses are under way, and the limit is 2: cancel one, or try again when one has ended".into()
        )
    );
    house.cancel(first).await.unwrap();
    house.begin().await;
    assert_eq!(house.analyze.studies(&Scope::All, None, 9).await.unwrap().len(), 3);
}

async fn the_same_key_again_is_the_same_study(house: House) {
    let first = house.analyze.begin(new_study(), once("analysis.begin", "a")).await.unwrap();
    house.send(first.id, weather("montreal")).await;
    let again = house.analyze.begin(new_study(), once("analysis.begin", "a")).await.unwrap();
    assert_eq!(again, first, "the first answer, whatever has happened since");
    assert_eq!(house.analyze.studies(&Scope::All, None, 9).await.unwrap().len(), 1);
    let completed = house.analyze.complete(&Scope::All, first.id, 1, once("analysis.complete", "b")).await.unwrap();
    house.cancel(first.id).await.unwrap();
    let again = house.analyze.complete(&Scope::All, first.id, 1, once("analysis.complete", "b")).await.unwrap();
    assert_eq!(again, completed);
    let reused = house.analyze.begin(new_study(), once("another", "a")).await;
    assert_eq!(reused.unwrap_err(), Error::KeyReused);
}

async fn a_study_is_completed_with_as_many_batches_as_came(house: House) {
    let id = house.study_with(2).await;
    let wrong = |came: &str| Err(Error::Conflict(came.into()));
    assert_eq!(
        house.complete(id, 4).await,
        wrong("3 batches came, and 4 were said to be sent: send those that are missing, then complete it again")
    );
    assert_eq!(
        house.complete(id, 2).await,
        wrong("3 batches came, and 2 were said to be sent: some were sent that are not counted")
    );
    assert_eq!(house.study_state(id).await, StudyState::Collecting);
    house.wait(Duration::from_secs(5));
    let study = house.complete(id, 3).await.unwrap();
    assert_eq!((study.state, study.expected, study.mapped), (StudyState::Computing, Some(3), 1));
    assert_eq!(study.changed_at, house.clock.now());
    assert_eq!(study, house.study(id).await);
    house.verify().await;
}

async fn a_study_without_batches_is_whole_at_once(house: House) {
    let id = house.begin().await;
    house.complete(id, 0).await.unwrap();
    let leased = house.lease_analysis().await;
    assert_eq!(leased.kind.as_str(), malla_analyze::REDUCE);
    house.verify().await;
    house.commit_one(house.answered(id, &leased)).await.unwrap();
    assert_eq!(house.study_state(id).await, StudyState::Succeeded);
    house.verify().await;
}

async fn completing_twice_changes_nothing(house: House) {
    let id = house.study_with(1).await;
    let first = house.complete(id, 2).await.unwrap();
    house.wait(Duration::from_secs(5));
    assert_eq!(house.complete(id, 2).await.unwrap(), first);
    let other = house.complete(id, 3).await.unwrap_err();
    assert_eq!(other, Error::Conflict(format!("the analysis {id} was completed with 2 batches before, not 3")));
    house.map_all(id).await;
    house.complete(id, 2).await.unwrap();
    assert_eq!(house.lease_analyses().await.len(), 1, "the answers are made once");
    house.verify().await;
}

async fn a_cancelled_study_is_over_and_makes_room(house: House) {
    let id = house.study_with(3).await;
    house.wait(Duration::from_secs(5));
    house.cancel(id).await.unwrap();
    let study = house.study(id).await;
    assert_eq!((study.state, study.why.as_deref()), (StudyState::Cancelled, Some("cancelled")));
    assert_eq!((study.finished_at, study.waiting_bytes, study.taken), (Some(house.clock.now()), 0, 4));
    assert_eq!(house.told().await, [("cancelled".into(), Some("cancelled".into()))]);
    let refused = house.complete(id, 4).await.unwrap_err();
    assert_eq!(refused, Error::Conflict(format!("the analysis {id} was cancelled")));
    for leased in house.lease_analyses().await {
        let key = crate::harness_analyze::batch_of(&leased).unwrap();
        assert_eq!(house.analyze.batch(id, &key).await.unwrap(), None);
        house.commit_one(house.mapped(id, &leased)).await.unwrap();
    }
    assert_eq!(house.study(id).await, study, "what was at work changes nothing");
    for _ in 0..STUDIES_MAX {
        house.begin().await;
    }
    house.verify().await;
}

async fn what_is_over_is_forgotten_by_cancelling_it_again(house: House) {
    let id = house.study_with(3).await;
    house.bring_to_answers(id).await;
    assert!(house.answer(id, "rain").await.is_some());
    house.cancel(id).await.unwrap();
    assert_eq!(house.analyze.study(&Scope::All, id).await, Err(Error::NotFound(format!("analysis {id}"))));
    assert_eq!(house.analyze.studies(&Scope::All, None, 9).await.unwrap(), []);
    assert_eq!(house.answer(id, "rain").await, None);
    assert_eq!(house.analyze.batches(id, None, 9).await.unwrap(), []);
    assert_eq!(house.take(id, trips("montreal", 0)).await, Err(Error::NotFound(format!("analysis {id}"))));
    assert!(house.sweep(KEEP).await > 0);
    assert_eq!(house.analyze.parts(id).await.unwrap(), Vec::<String>::new());
    assert_eq!(house.cancel(id).await, Err(Error::NotFound(format!("analysis {id}"))));
    assert_eq!(house.told().await.len(), 1, "only of its end");
    house.verify().await;
}

async fn who_means_to_cancel_forgets_nothing_and_the_other_way_round(house: House) {
    let id = house.study_with(3).await;
    let end = |only| house.analyze.cancel(&Scope::All, id, only, act("analysis.end"));
    let words = format!("the analysis {id} is under way: cancel it first");
    assert_eq!(end(Only::Forget).await, Err(Error::Conflict(words)));
    house.bring_to_answers(id).await;
    end(Only::Cancel).await.unwrap();
    assert!(house.answer(id, "rain").await.is_some());
    end(Only::Forget).await.unwrap();
    assert_eq!(house.answer(id, "rain").await, None);
}

async fn a_cancel_under_a_key_is_answered_again_when_the_study_is_gone(house: House) {
    let id = house.begin().await;
    house.cancel(id).await.unwrap();
    for _ in 0..2 {
        house.analyze.cancel(&Scope::All, id, Only::Either, once("analysis.cancel", "a")).await.unwrap();
        house.sweep(KEEP).await;
    }
    assert_eq!(house.cancel(id).await, Err(Error::NotFound(format!("analysis {id}"))));
}

async fn another_group_sees_nothing(house: House) {
    let (own, other) = (house.group("sales").await, house.group("support").await);
    let new = NewStudy { group: Some(own), ..new_study() };
    let study = house.analyze.begin(new, act("analysis.begin")).await.unwrap();
    let (id, missing) = (study.id, Error::NotFound(format!("analysis {}", study.id)));
    let (mine, theirs) = (Scope::Groups(vec![own]), Scope::Groups(vec![other]));
    assert_eq!(house.analyze.study(&mine, id).await, Ok(study.clone()));
    assert_eq!(house.analyze.studies(&mine, None, 9).await.unwrap(), [study]);
    assert_eq!(house.analyze.study(&theirs, id).await, Err(missing.clone()));
    assert_eq!(house.analyze.studies(&theirs, None, 9).await.unwrap(), []);
    assert_eq!(house.analyze.take(&theirs, id, trips("a", 0)).await, Err(missing.clone()));
    assert_eq!(house.analyze.complete(&theirs, id, 0, act("analysis.complete")).await, Err(missing.clone()));
    assert_eq!(house.analyze.cancel(&theirs, id, Only::Either, act("analysis.cancel")).await, Err(missing));
    house.analyze.take(&mine, id, trips("a", 0)).await.unwrap();
    let leased = house.lease_analysis().await;
    assert_eq!(leased.group, Some(own));
    house.verify().await;
}

async fn studies_are_listed_newest_first(house: House) {
    let mut ids = Vec::new();
    for _ in 0..4 {
        let id = house.begin().await;
        house.cancel(id).await.unwrap();
        house.wait(Duration::from_secs(1));
        ids.insert(0, id);
    }
    let page = house.analyze.studies(&Scope::All, None, 3).await.unwrap();
    assert_eq!(page.iter().map(|study| study.id).collect::<Vec<_>>(), ids[..3]);
    let rest = house.analyze.studies(&Scope::All, Some(page[2].id), 3).await.unwrap();
    assert_eq!(rest.iter().map(|study| study.id).collect::<Vec<_>>(), ids[3..]);
}

async fn every_change_is_in_the_audit_log(house: House) {
    let group = house.group("sales").await;
    let new = NewStudy { group: Some(group), ..new_study() };
    let id = house.analyze.begin(new, act("analysis.begin")).await.unwrap().id;
    house.complete(id, 0).await.unwrap();
    house.cancel(id).await.unwrap();
    house.cancel(id).await.unwrap();
    let filter = AuditFilter { action: Some("analysis".into()), ..AuditFilter::default() };
    let lines = house.access.audit(&Scope::Groups(vec![group]), &filter, None, 20).await.unwrap();
    let actions: Vec<&str> = lines.iter().map(|line| line.action.as_str()).collect();
    assert_eq!(actions, ["analysis.cancel", "analysis.cancel", "analysis.complete", "analysis.begin"]);
}

async fn a_group_with_studies_stays(house: House) {
    let group = house.group("sales").await;
    let new = NewStudy { group: Some(group), ..new_study() };
    let id = house.analyze.begin(new, act("analysis.begin")).await.unwrap().id;
    let kept = house.access.delete_group("sales", act("group.delete")).await;
    assert!(kept.as_ref().is_err_and(|error| error.to_string().contains("analyses")), "{kept:?}");
    house.cancel(id).await.unwrap();
    house.cancel(id).await.unwrap();
    house.access.delete_group("sales", act("group.delete")).await.unwrap();
}
