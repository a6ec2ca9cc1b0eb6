//! Batches: what is taken in, what is refused, and in which order they are read.

use std::time::Duration;

use malla_analyze::{BatchKey, NewBatch, PARTS_MAX, StoredBatch, StudyState, TakenBatch};
use malla_queue::{Clock as _, Error, Scope};

use crate::harness::{House, act, on_both_stores};
use crate::harness_analyze::{batch, batch_of, key, new_study, trips, weather};

on_both_stores!(
    a_batch_is_counted_and_its_task_waits,
    the_same_batch_again_changes_nothing,
    another_body_under_the_same_key_is_refused,
    dimensions_need_no_work,
    dimensions_after_the_first_records_are_refused,
    nothing_comes_after_the_study_was_completed,
    the_same_batch_again_is_welcome_whatever_the_state,
    only_so_many_bytes_wait_in_the_house,
    the_dimensions_of_a_part_are_bounded,
    the_parts_are_bounded,
    batches_are_listed_in_the_order_of_their_keys,
    dimensions_and_parts_come_in_the_order_of_their_names,
    a_batch_is_read_until_it_is_mapped,
);

fn conflict(words: String) -> Result<TakenBatch, Error> {
    Err(Error::Conflict(words))
}

async fn a_batch_is_counted_and_its_task_waits(house: House) {
    let id = house.begin().await;
    house.wait(Duration::from_secs(5));
    house.send(id, trips("montreal", 7)).await;
    let study = house.study(id).await;
    assert_eq!((study.taken, study.mapped, study.bytes, study.waiting_bytes), (1, 0, 160, 16));
    assert_eq!(study.changed_at, house.clock.now());
    let leased = house.lease_analysis().await;
    assert_eq!((leased.kind.as_str(), batch_of(&leased)), (malla_analyze::MAP, Some(key("trips", "montreal", 7))));
    house.verify().await;
}

async fn the_same_batch_again_changes_nothing(house: House) {
    let id = house.study_with(1).await;
    let before = house.study(id).await;
    house.wait(Duration::from_secs(5));
    for again in [weather("montreal"), trips("montreal", 0)] {
        assert_eq!(house.take(id, again).await, Ok(TakenBatch::Again));
    }
    assert_eq!(house.study(id).await, before);
    assert_eq!(house.lease_analyses().await.len(), 1);
    house.verify().await;
}

async fn another_body_under_the_same_key_is_refused(house: House) {
    let id = house.study_with(1).await;
    for (other, name) in [
        (batch(key("trips", "montreal", 0), "other"), "trips/montreal/0"),
        (batch(key("weather", "montreal", 0), "other"), "weather/montreal/0"),
    ] {
        let words = format!("the batch {name} came before with another body");
        assert_eq!(house.take(id, other).await, conflict(words));
    }
    assert_eq!(house.study(id).await.taken, 2);
    house.verify().await;
}

async fn dimensions_need_no_work(house: House) {
    let id = house.begin().await;
    house.send(id, weather("montreal")).await;
    house.send(id, batch(key("stations", "montreal", 0), "places")).await;
    let study = house.study(id).await;
    assert_eq!((study.taken, study.mapped, study.waiting_bytes), (2, 2, 0));
    assert!(house.lease_analyses().await.is_empty());
    house.verify().await;
}

async fn dimensions_after_the_first_records_are_refused(house: House) {
    let id = house.study_with(1).await;
    let late = house.take(id, batch(key("stations", "montreal", 0), "places")).await;
    let words = "the stations of montreal came after its first records: send stations before them";
    assert_eq!(late, conflict(words.into()));
    house.send(id, batch(key("stations", "toronto", 0), "places")).await;
    house.send(id, trips("toronto", 0)).await;
    house.verify().await;
}

async fn nothing_comes_after_the_study_was_completed(house: House) {
    let id = house.study_with(1).await;
    house.complete(id, 2).await.unwrap();
    let words = format!("the analysis {id} was completed with 2 batches: nothing more can come");
    assert_eq!(house.take(id, trips("montreal", 1)).await, conflict(words));
    house.cancel(id).await.unwrap();
    let words = format!("the analysis {id} was cancelled: nothing more can come");
    assert_eq!(house.take(id, trips("montreal", 1)).await, conflict(words));
}

async fn the_same_batch_again_is_welcome_whatever_the_state(house: House) {
    let id = house.study_with(1).await;
    house.bring_to_answers(id).await;
    house.sweep(crate::harness_analyze::KEEP).await;
    assert_eq!(house.study_state(id).await, StudyState::Succeeded);
    assert_eq!(house.take(id, trips("montreal", 0)).await, Ok(TakenBatch::Again));
    assert_eq!(house.take(id, weather("montreal")).await, Ok(TakenBatch::Again));
    let other = batch(key("trips", "montreal", 0), "other");
    assert!(matches!(house.take(id, other).await, Err(Error::Conflict(_))));
}

async fn only_so_many_bytes_wait_in_the_house(house: House) {
    let (one, other) = (house.begin().await, house.begin().await);
    let tight = |batch: NewBatch| NewBatch { waiting_bytes_max: 32, ..batch };
    house.send(one, tight(trips("montreal", 0))).await;
    house.send(other, tight(trips("montreal", 0))).await;
    let full = house.take(one, tight(trips("montreal", 1))).await;
    let words = "1 MB of batches wait to be worked on, and the limit is 1 MB: try again in a moment";
    assert_eq!(full, Err(Error::NotAvailable(words.into())));
    assert_eq!(house.take(one, tight(trips("montreal", 0))).await, Ok(TakenBatch::Again));
    house.send(one, tight(weather("toronto"))).await;
    house.cancel(other).await.unwrap();
    house.send(one, tight(trips("montreal", 1))).await;
    house.verify().await;
}

async fn the_dimensions_of_a_part_are_bounded(house: House) {
    let id = house.begin().await;
    let tight = |part: &str, seq, body| NewBatch { dimension_bytes_max: 10, ..batch(key("weather", part, seq), body) };
    house.send(id, tight("a", 0, "123456")).await;
    let refused = house.take(id, tight("a", 1, "12345")).await;
    let words = "the tables that come before the records of a city have at most 1 MB packed";
    assert_eq!(refused, Err(Error::Invalid(words.into())));
    house.send(id, tight("b", 0, "12345")).await;
    house.send(id, tight("a", 1, "1234")).await;
    house.verify().await;
}

async fn the_parts_are_bounded(house: House) {
    let id = house.begin().await;
    for n in 0..PARTS_MAX {
        house.send(id, weather(&format!("city {n}"))).await;
    }
    let refused = house.take(id, weather("one more")).await;
    assert_eq!(refused, Err(Error::Invalid("an analysis has at most 1000 cities".into())));
    house.send(id, trips("city 7", 0)).await;
    assert_eq!(house.study(id).await.taken, PARTS_MAX + 1);
}

async fn batches_are_listed_in_the_order_of_their_keys(house: House) {
    let id = house.begin().await;
    // By bytes, not as a language orders them.
    let mut keys = vec![key("weather", "a", 0), key("stations", "é", 0), key("stations", "z", 0)];
    keys.extend([10, 9, 2].map(|seq| key("trips", "z", seq)));
    keys.extend(["a b", "a", "a-b", "ab", "é"].map(|part| key("trips", part, 1)));
    for key in &keys {
        let body = key.to_string();
        house.send(id, batch(key.clone(), &body)).await;
    }
    keys.sort();
    let mut listed: Vec<BatchKey> = Vec::new();
    loop {
        let page = house.analyze.batches(id, listed.last(), 4).await.unwrap();
        if page.is_empty() {
            break;
        }
        assert!(page.iter().all(|batch| batch.mapped == (batch.key.input != "trips")), "{page:?}");
        assert!(page.iter().all(|batch| batch.size == 10 * batch.key.to_string().len() as u64));
        listed.extend(page.into_iter().map(|batch| batch.key));
    }
    assert_eq!(listed, keys);
}

async fn dimensions_and_parts_come_in_the_order_of_their_names(house: House) {
    let id = house.begin().await;
    for (input, part, seq) in [("weather", "a", 2), ("weather", "a", 10), ("stations", "a", 7), ("weather", "Z", 0)] {
        house.send(id, batch(key(input, part, seq), "x")).await;
    }
    for part in ["é", "a b", "z"] {
        house.send(id, trips(part, 0)).await;
    }
    assert_eq!(house.analyze.parts(id).await.unwrap(), ["Z", "a", "a b", "z", "é"]);
    let tables = house.analyze.dimensions(id, "a").await.unwrap();
    let expected = [key("stations", "a", 7), key("weather", "a", 2), key("weather", "a", 10)];
    assert_eq!(tables, expected.map(|key| StoredBatch { key, packed: b"x".to_vec() }));
    assert!(house.analyze.dimensions(id, "z").await.unwrap().is_empty());
}

async fn a_batch_is_read_until_it_is_mapped(house: House) {
    let id = house.begin().await;
    house.send(id, trips("a", 0)).await;
    house.send(id, trips("a", 1)).await;
    let read = |seq| {
        let analyze = house.analyze.clone();
        async move { analyze.batch(id, &key("trips", "a", seq)).await.unwrap().map(|batch| batch.packed) }
    };
    assert_eq!(read(0).await, Some(b"trips/a/0".to_vec()));
    house.map_all(id).await;
    assert_eq!((read(0).await, read(1).await, read(2).await), (None, None, None));
    let other = house.analyze.begin(new_study(), act("analysis.begin")).await.unwrap().id;
    house.send(other, trips("a", 0)).await;
    house.cancel(other).await.unwrap();
    assert_eq!(house.analyze.batch(other, &key("trips", "a", 0)).await.unwrap(), None);
    assert_eq!(house.analyze.study(&Scope::All, id).await.unwrap().mapped, 2);
    house.verify().await;
}
