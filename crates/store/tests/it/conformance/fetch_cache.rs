//! The cache: what is given out at once, what is asked for again, and what is told when a page has changed.

use std::time::Duration;

use malla_fetch::{CacheSize, NewPage, PageId, Settlement, Shelf, Trouble, TroubleKind, Validators};
use malla_queue::{Clock as _, Leased};

use crate::harness::{House, act, on_both_stores_and_objects};
use crate::harness_fetch::{FRESH, anew, body, raw, renewal, shelf, task_of, url, urls_of};

on_both_stores_and_objects!(
    a_fresh_page_is_given_out_at_once,
    a_stale_page_is_asked_for_with_its_validators,
    a_job_may_want_nothing_from_the_cache,
    a_page_without_validators_is_asked_for_plainly,
    what_is_not_for_the_cache_is_fetched_again,
    an_unchanged_page_is_fresh_again_and_given_from_the_cache,
    an_unchanged_page_has_the_headers_of_both_answers_and_is_fresh_by_them,
    an_unchanged_page_that_left_the_cache_is_fetched_anew_for_all_who_wait,
    a_page_with_a_newer_one_in_its_place_is_not_unchanged,
    forgotten_pages_are_fetched_again,
    the_size_of_the_cache_follows_what_is_in_it,
    a_changed_page_is_an_event_for_each_group_that_waits,
    the_same_page_again_is_no_event,
    bodies_come_back_byte_for_byte,
    a_page_keeps_its_trouble_and_its_headers,
);

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/2";

async fn a_fresh_page_is_given_out_at_once(house: House) {
    house.cache(A, "hello").await;
    house.wait(FRESH - Duration::from_millis(1));
    let job = house.ask(&[A, A]).await;
    assert_eq!((job.done, job.good, job.cached, job.is_over()), (2, 2, 2, true));
    let answers = house.answers(job.id).await;
    assert!(answers.iter().all(|answer| answer.from_cache && raw(&answer.page) == b"hello"));
    assert!(house.lease_pages().await.is_empty());
    house.verify().await;
}

async fn a_stale_page_is_asked_for_with_its_validators(house: House) {
    house.cache(A, "hello").await;
    house.wait(FRESH);
    let job = house.ask(&[A]).await;
    assert_eq!(job.done, 0);
    let task = task_of(&house.lease_page().await);
    assert_eq!((task.url.as_str(), task.etag.as_deref(), task.last_modified), (A, Some("\"1\""), None));
    assert!(task.base.is_some());
}

async fn a_job_may_want_nothing_from_the_cache(house: House) {
    house.cache(A, "hello").await;
    let job = house.ask_for(anew(&[A])).await;
    assert_eq!(job.done, 0);
    house.fetch_all("new").await;
    assert_eq!(house.texts(job.id).await, [(A.into(), "new".into())]);
    assert!(!house.answers(job.id).await[0].from_cache);
}

async fn a_page_without_validators_is_asked_for_plainly(house: House) {
    house.ask(&[A]).await;
    let leased = house.lease_page().await;
    let (page, shelf) = (house.new_page(&leased, 200, "hello"), house_shelf(&house, Validators::default()));
    house.settle(house.settled(&leased, Settlement::Page { url: url(A), page, shelf: Some(shelf) })).await;
    house.wait(FRESH);
    house.ask(&[A]).await;
    assert_eq!(task_of(&house.lease_page().await).base, None);
}

fn house_shelf(house: &House, validators: Validators) -> Shelf {
    Shelf { validators, ..shelf(house.clock.now()) }
}

async fn what_is_not_for_the_cache_is_fetched_again(house: House) {
    for status in [404, 500, 580, 204] {
        let job = house.ask(&[A]).await;
        house.settle(house.given(&house.lease_page().await, status, "no")).await;
        let answers = house.answers(job.id).await;
        assert_eq!((answers.len(), answers[0].page.status), (1, status));
        assert_eq!(house.job(job.id).await.good, u64::from(status == 204));
    }
    assert_eq!(house.fetch.cache_size().await.unwrap(), CacheSize::default());
    assert_eq!(house.ask(&[A]).await.done, 0);
}

/// The settlement of a page that has not changed, fresh for as long as new ones are.
fn unchanged(house: &House, leased: &Leased, etag: Option<&str>) -> Settlement {
    let headers: Vec<_> = etag.map(|etag| ("etag", etag)).into_iter().collect();
    unchanged_with(house, leased, &headers)
}

fn unchanged_with(house: &House, leased: &Leased, headers: &[(&str, &str)]) -> Settlement {
    let task = task_of(leased);
    let base = task.base.expect("it was asked for with validators");
    Settlement::Unchanged { url: task.url, base, renewal: renewal(house.clock.now(), headers), hops: task.hops }
}

async fn an_unchanged_page_is_fresh_again_and_given_from_the_cache(house: House) {
    house.cache(A, "hello").await;
    for (etag, then) in [(None, "\"1\""), (Some("\"2\""), "\"2\"")] {
        house.wait(FRESH);
        let (first, second) = (house.ask(&[A]).await, house.ask(&[A]).await);
        let leased = house.lease_page().await;
        house.settle(house.settled(&leased, unchanged(&house, &leased, etag))).await;
        for job in [first, second] {
            let answers = house.answers(job.id).await;
            assert!(answers[0].from_cache && raw(&answers[0].page) == b"hello");
            let job = house.job(job.id).await;
            assert_eq!((job.done, job.good, job.cached), (1, 1, 1));
        }
        house.wait(FRESH - Duration::from_millis(1));
        assert!(house.ask(&[A]).await.is_over());
        house.wait(Duration::from_millis(1));
        house.ask(&[A]).await;
        let leased = house.lease_page().await;
        assert_eq!(task_of(&leased).etag.as_deref(), Some(then));
        house.settle(house.settled(&leased, unchanged(&house, &leased, None))).await;
    }
    assert_eq!(house.fetch.cache_size().await.unwrap().entries, 1);
    house.verify().await;
}

async fn an_unchanged_page_has_the_headers_of_both_answers_and_is_fresh_by_them(house: House) {
    house.ask(&[A]).await;
    let leased = house.lease_page().await;
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let headers = [("content-type", "text/html"), ("cache-control", "max-age=60"), ("x", "1")].map(own).to_vec();
    let page = NewPage { headers, ..house.new_page(&leased, 200, "hello") };
    let shelf = Shelf { fresh_until: house.clock.now(), ..shelf(house.clock.now()) };
    house.settle(house.settled(&leased, Settlement::Page { url: url(A), page, shelf: Some(shelf) })).await;
    let mut stays = vec![("content-type", "text/html"), ("cache-control", "max-age=60")];
    for (said, fresh_s) in [(("x", "2"), 60), (("x", "3"), 60), (("cache-control", "max-age=90"), 90)] {
        let job = house.ask(&[A]).await;
        let leased = house.lease_page().await;
        house.settle(house.settled(&leased, unchanged_with(&house, &leased, &[said]))).await;
        stays.retain(|(name, _)| *name != said.0);
        stays.push(said);
        let found = house.answers(job.id).await.remove(0).page;
        assert_eq!(found.headers, stays.iter().copied().map(own).collect::<Vec<_>>());
        house.wait(Duration::from_millis(fresh_s * 1_000 - 1));
        assert!(house.ask(&[A]).await.is_over(), "what both say together lasts {fresh_s} s");
        house.wait(Duration::from_millis(1));
    }
    house.verify().await;
}

async fn an_unchanged_page_that_left_the_cache_is_fetched_anew_for_all_who_wait(house: House) {
    house.cache(A, "hello").await;
    house.wait(FRESH);
    let jobs = [house.ask(&[A]).await, house.ask(&[A, A]).await];
    let leased = house.lease_page().await;
    house.fetch.forget(vec![url(A).key()], act("fetch.reset")).await.unwrap();
    house.settle(house.settled(&leased, unchanged(&house, &leased, None))).await;
    assert!(house.answers(jobs[0].id).await.is_empty());
    let again = house.lease_page().await;
    let task = task_of(&again);
    assert_eq!((task.url.as_str(), task.base, task.etag), (A, None, None));
    house.settle(house.found(&again, "new")).await;
    assert_eq!(house.texts(jobs[0].id).await, [(A.into(), "new".into())]);
    assert_eq!(house.texts(jobs[1].id).await.len(), 2);
    house.verify().await;
}

async fn a_page_with_a_newer_one_in_its_place_is_not_unchanged(house: House) {
    house.cache(A, "hello").await;
    house.wait(FRESH);
    let job = house.ask(&[A]).await;
    let leased = house.lease_page().await;
    let Settlement::Unchanged { url, renewal, .. } = unchanged(&house, &leased, None) else { unreachable!() };
    let base = PageId(leased.token.task);
    house.settle(house.settled(&leased, Settlement::Unchanged { url, base, renewal, hops: 3 })).await;
    assert!(house.answers(job.id).await.is_empty());
    assert_eq!(task_of(&house.lease_page().await).hops, 3);
}

async fn forgotten_pages_are_fetched_again(house: House) {
    house.cache(A, "hello").await;
    house.cache(B, "hello").await;
    let job = house.ask(&[A]).await;
    let keys = [A, "https://unknown.example/"].map(|text| url(text).key()).to_vec();
    assert_eq!(house.fetch.forget(keys.clone(), act("fetch.reset")).await.unwrap(), 1);
    assert_eq!(house.fetch.forget(keys, act("fetch.reset")).await.unwrap(), 0);
    assert_eq!((house.ask(&[A]).await.done, house.ask(&[B]).await.done), (0, 1));
    assert_eq!(house.texts(job.id).await, [(A.into(), "hello".into())], "who has it keeps it");
    house.verify().await;
}

async fn the_size_of_the_cache_follows_what_is_in_it(house: House) {
    let packed = |text: &str| body(text.as_bytes()).packed.len() as u64;
    house.cache(A, "hello").await;
    house.cache(B, "something longer than that").await;
    let both = CacheSize { entries: 2, bytes: packed("hello") + packed("something longer than that") };
    assert_eq!(house.fetch.cache_size().await.unwrap(), both);
    house.cache(B, "x").await;
    let smaller = CacheSize { entries: 2, bytes: packed("hello") + packed("x") };
    assert_eq!(house.fetch.cache_size().await.unwrap(), smaller);
    house.cache(B, "").await;
    assert_eq!(house.fetch.cache_size().await.unwrap(), CacheSize { entries: 2, bytes: packed("hello") });
    house.fetch.forget(vec![url(A).key(), url(B).key()], act("fetch.reset")).await.unwrap();
    assert_eq!(house.fetch.cache_size().await.unwrap(), CacheSize::default());
    house.verify().await;
}

/// The groups that were told of a changed page, with its URL.
async fn changes(house: &House) -> Vec<(Option<malla_queue::GroupId>, String)> {
    let own = house.notify.own_events(100).await.unwrap();
    let told = own.iter().filter(|event| event.kind == "fetch.changed").map(|event| {
        let body: serde_json::Value = serde_json::from_slice(&event.body).unwrap();
        (event.group, body["url"].as_str().unwrap().to_owned())
    });
    let mut told: Vec<_> = told.collect();
    told.sort();
    told
}

async fn a_changed_page_is_an_event_for_each_group_that_waits(house: House) {
    let (sales, press) = (house.group("sales").await, house.group("press").await);
    house.cache(A, "hello").await;
    house.wait(FRESH);
    house.ask_as(sales, &[A, A]).await;
    house.ask_as(press, &[A]).await;
    house.ask_as(press, &[A]).await;
    house.fetch_all("new").await;
    assert_eq!(changes(&house).await, [(Some(sales), A.to_owned()), (Some(press), A.to_owned())]);
    let event = &house.notify.own_events(1).await.unwrap()[0];
    let told: serde_json::Value = serde_json::from_slice(&event.body).unwrap();
    assert_eq!(told, serde_json::json!({ "url": A, "status": 200, "fetched_at": house.clock.now().0 }));
}

async fn the_same_page_again_is_no_event(house: House) {
    house.cache(A, "hello").await;
    house.cache(A, "hello").await;
    house.cache(B, "").await;
    house.cache(B, "").await;
    assert!(changes(&house).await.is_empty());
    house.ask_for(anew(&[A])).await;
    house.settle(house.given(&house.lease_page().await, 404, "gone")).await;
    assert!(changes(&house).await.is_empty(), "only what is in the cache can change");
    house.cache(B, "filled").await;
    assert_eq!(changes(&house).await, [(None, B.to_owned())]);
}

async fn bodies_come_back_byte_for_byte(house: House) {
    let every: Vec<u8> = (0..=255).collect();
    // Does not get smaller, as images do not.
    let mut noise = vec![0; 300_000];
    getrandom::fill(&mut noise).unwrap();
    let long = "word ".repeat(1_000_000).into_bytes();
    let urls: Vec<String> = (0..3).map(|n| format!("{A}/{n}")).collect();
    let job = house.ask(&urls.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let leased = house.lease_pages().await;
    let bodies = [every, noise, long];
    let settled = leased.iter().zip(&bodies).map(|(leased, raw)| {
        let page = NewPage { body: Some(body(raw)), ..house.new_page(leased, 200, "") };
        house.settled(leased, Settlement::Page { url: task_of(leased).url, page, shelf: None })
    });
    house.commit(settled.collect()).await;
    let answers = house.answers(job.id).await;
    assert_eq!(answers.iter().map(|answer| answer.url.clone()).collect::<Vec<_>>(), urls_of(&leased));
    assert!(answers.iter().zip(&bodies).all(|(answer, body)| raw(&answer.page) == *body));
}

async fn a_page_keeps_its_trouble_and_its_headers(house: House) {
    let job = house.ask(&[A]).await;
    let leased = house.lease_page().await;
    let trouble = Trouble { what: TroubleKind::BrokeOff, note: "it ended at \u{0} once".into() };
    let headers: Vec<_> = [("set-cookie", "a=1"), ("set-cookie", "b=\"ü\""), ("x", "\u{0}")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let page = NewPage { trouble: Some(trouble), headers: headers.clone(), ..house.new_page(&leased, 200, "") };
    house.settle(house.settled(&leased, Settlement::Page { url: url(A), page, shelf: None })).await;
    let page = &house.answers(job.id).await[0].page;
    assert_eq!((page.headers.clone(), page.body.bytes), (headers, 0));
    let trouble = page.trouble.clone().unwrap();
    assert_eq!((trouble.what, trouble.note.as_str()), (TroubleKind::BrokeOff, "it ended at \u{fffd} once"));
}
