//! What is forgotten: the least used of the cache, old jobs and pages, sites and devices.

use std::time::Duration;

use malla_fetch::{CacheSize, Keep, Page, Seen, Settlement};
use malla_queue::{Clock as _, Error, Retention, Scope};

use crate::harness::{House, act, on_both_stores_and_objects};
use crate::harness_fetch::{FRESH, anew, body, raw, url};

on_both_stores_and_objects!(
    the_least_used_leave_the_cache_first,
    a_page_that_is_given_out_counts_as_used,
    the_cache_keeps_within_its_bytes,
    a_step_of_forgetting_is_bounded,
    old_jobs_are_forgotten_with_their_answers,
    a_job_that_goes_on_is_kept,
    pages_that_nobody_needs_are_forgotten,
    a_page_in_the_cache_is_kept,
    a_page_that_was_an_answer_again_is_kept_for_longer,
    a_body_stays_while_a_page_needs_it,
    pages_in_the_cache_do_not_keep_others_from_being_forgotten,
    sites_without_a_lane_are_forgotten,
    devices_that_were_not_heard_are_forgotten_unless_blocked,
    blocked_devices_do_not_keep_others_from_being_forgotten,
);

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/2";
const C: &str = "https://c.example/3";
const DAY: Duration = Duration::from_secs(24 * 3_600);

fn keep() -> Keep {
    Keep { cache_entries_max: 1_000, cache_bytes_max: 1 << 30, jobs_for: DAY * 365, devices_for: DAY * 365, step: 100 }
}

/// As many steps as it takes. Returns how many rows went.
async fn trim(house: &House, keep: Keep) -> u64 {
    let mut gone = 0;
    loop {
        match house.fetch.trim(keep).await.expect("trims") {
            0 => return gone,
            more => gone += more,
        }
    }
}

async fn is_cached(house: &House, of: &str) -> bool {
    let job = house.ask(&[of]).await;
    house.fetch.cancel(&Scope::All, job.id, act("fetch.cancel")).await.unwrap();
    job.cached == 1
}

async fn fill(house: &House) {
    for url in [A, B, C] {
        house.cache(url, &format!("page {url}")).await;
        house.wait(Duration::from_secs(61));
    }
}

async fn the_least_used_leave_the_cache_first(house: House) {
    fill(&house).await;
    assert_eq!(trim(&house, Keep { cache_entries_max: 3, ..keep() }).await, 0);
    assert_eq!(trim(&house, Keep { cache_entries_max: 1, ..keep() }).await, 2);
    assert_eq!(house.fetch.cache_size().await.unwrap().entries, 1);
    let cached = [is_cached(&house, A).await, is_cached(&house, B).await, is_cached(&house, C).await];
    assert_eq!(cached, [false, false, true]);
    house.verify().await;
}

async fn a_page_that_is_given_out_counts_as_used(house: House) {
    fill(&house).await;
    assert!(is_cached(&house, A).await);
    trim(&house, Keep { cache_entries_max: 2, ..keep() }).await;
    let cached = [is_cached(&house, A).await, is_cached(&house, B).await, is_cached(&house, C).await];
    assert_eq!(cached, [true, false, true]);
}

async fn the_cache_keeps_within_its_bytes(house: House) {
    let packed = |url: &str| body(format!("page {url}").as_bytes()).packed.len() as u64;
    fill(&house).await;
    trim(&house, Keep { cache_bytes_max: packed(B) + packed(C), ..keep() }).await;
    assert_eq!(house.fetch.cache_size().await.unwrap(), CacheSize { entries: 2, bytes: packed(B) + packed(C) });
    trim(&house, Keep { cache_bytes_max: packed(C) - 1, ..keep() }).await;
    assert_eq!(house.fetch.cache_size().await.unwrap(), CacheSize::default());
    house.verify().await;
}

async fn a_step_of_forgetting_is_bounded(house: House) {
    fill(&house).await;
    let step = Keep { cache_entries_max: 0, step: 2, ..keep() };
    let steps = [house.fetch.trim(step).await.unwrap(), house.fetch.trim(step).await.unwrap()];
    assert_eq!(steps, [2, 1]);
}

async fn old_jobs_are_forgotten_with_their_answers(house: House) {
    let old = house.ask(&["x1", "x2", "x3", "x4", "x5"]).await;
    house.wait(DAY);
    let new = house.ask(&["x1"]).await;
    let keep = Keep { jobs_for: DAY, step: 2, ..keep() };
    assert_eq!(trim(&house, keep).await, 0);
    house.wait(Duration::from_millis(1));
    assert_eq!(trim(&house, keep).await, 6);
    assert_eq!(house.fetch.job(&Scope::All, old.id).await, Err(Error::NotFound(format!("job {}", old.id))));
    assert!(house.answers(old.id).await.is_empty());
    assert_eq!(house.answers(new.id).await.len(), 1);
    house.verify().await;
}

async fn a_job_that_goes_on_is_kept(house: House) {
    let (job, cancelled) = (house.ask(&["x1", A]).await, house.ask(&[A]).await);
    house.fetch.cancel(&Scope::All, cancelled.id, act("fetch.cancel")).await.unwrap();
    house.wait(DAY * 2);
    trim(&house, Keep { jobs_for: DAY, ..keep() }).await;
    assert!(house.fetch.job(&Scope::All, cancelled.id).await.is_err());
    house.fetch_all("hello").await;
    assert_eq!(house.answers(job.id).await.len(), 2);
    house.verify().await;
}

async fn page(house: &House, job: malla_fetch::JobId) -> Page {
    house.answers(job).await.remove(0).page
}

/// Fetches a page that does not come into the cache.
async fn fetch_once(house: &House, of: &str, text: &str) -> malla_fetch::JobId {
    let job = house.ask_for(anew(&[of])).await;
    house.settle(house.given(&house.lease_page().await, 404, text)).await;
    job.id
}

async fn pages_that_nobody_needs_are_forgotten(house: House) {
    let job = fetch_once(&house, A, "hello").await;
    house.wait(DAY * 7);
    assert_eq!(trim(&house, keep()).await, 0);
    house.wait(Duration::from_millis(1));
    assert_eq!(trim(&house, keep()).await, 1);
    let answers = house.answers(job).await;
    assert_eq!((answers[0].url.as_str(), answers[0].page.status, answers[0].page.body.bytes), (A, 0, 0));
    let note = answers[0].page.trouble.clone().unwrap().note;
    assert!(note.contains("not kept any more"), "{note}");
}

async fn a_page_in_the_cache_is_kept(house: House) {
    let job = house.ask(&[A]).await;
    house.fetch_all("hello").await;
    for _ in 0..3 {
        house.wait(DAY * 7 + Duration::from_millis(1));
        assert_eq!(trim(&house, keep()).await, 0);
    }
    assert_eq!(raw(&page(&house, job.id).await), b"hello");
    trim(&house, Keep { cache_entries_max: 0, ..keep() }).await;
    house.wait(DAY * 7 + Duration::from_millis(1));
    assert_eq!(trim(&house, keep()).await, 1);
}

async fn a_page_that_was_an_answer_again_is_kept_for_longer(house: House) {
    house.ask(&[A]).await;
    let leased = house.lease_page().await;
    let Settlement::Page { url, page: found, shelf: Some(mut shelf) } = house.found(&leased, "hello").outcome else {
        unreachable!()
    };
    shelf.fresh_until = house.clock.now().plus(DAY * 30);
    house.settle(house.settled(&leased, Settlement::Page { url, page: found, shelf: Some(shelf) })).await;
    house.wait(DAY * 6);
    let job = house.ask(&[A]).await;
    assert_eq!(job.cached, 1);
    house.fetch.forget(vec![crate::harness_fetch::url(A).key()], act("fetch.reset")).await.unwrap();
    house.wait(DAY * 7);
    assert_eq!(trim(&house, keep()).await, 0);
    assert_eq!(raw(&page(&house, job.id).await), b"hello");
}

async fn a_body_stays_while_a_page_needs_it(house: House) {
    let old = fetch_once(&house, A, "the same body").await;
    house.wait(DAY * 3);
    let new = fetch_once(&house, B, "the same body").await;
    house.wait(DAY * 5);
    assert_eq!(trim(&house, keep()).await, 1);
    assert_eq!((page(&house, old).await.status, raw(&page(&house, new).await)), (0, b"the same body".to_vec()));
    house.wait(DAY * 5);
    assert_eq!(trim(&house, keep()).await, 1);
    let again = fetch_once(&house, C, "the same body").await;
    assert_eq!(raw(&page(&house, again).await), b"the same body");
    house.verify().await;
}

async fn pages_in_the_cache_do_not_keep_others_from_being_forgotten(house: House) {
    for n in 0..10 {
        house.cache(&format!("{A}/{n}"), "hello").await;
    }
    house.wait(Duration::from_secs(1));
    fetch_once(&house, B, "hello").await;
    house.wait(DAY * 8);
    assert_eq!(trim(&house, Keep { step: 2, ..keep() }).await, 1);
}

async fn sites_without_a_lane_are_forgotten(house: House) {
    house.ask(&[A, B]).await;
    for leased in house.lease_pages().await {
        let outcome = house.given(&leased, 200, "").outcome;
        house.settle(house.seen(&leased, Seen::Good { took_ms: 20 }, outcome)).await;
    }
    house.wait(DAY);
    house.ask(&[B]).await;
    house.wait(DAY);
    let retention = Retention { tasks: DAY * 3 / 2, events: DAY, audit: DAY, step: 100 };
    while house.queue.prune(retention).await.unwrap() > 0 {}
    assert!(house.fetch.site(&url(A).site()).await.unwrap().is_some());
    assert_eq!(trim(&house, keep()).await, 1);
    assert!(house.fetch.site(&url(A).site()).await.unwrap().is_none());
    assert!(house.fetch.site(&url(B).site()).await.unwrap().is_some());
    house.wait(FRESH);
}

async fn devices_that_were_not_heard_are_forgotten_unless_blocked(house: House) {
    house.join("ana", "pi").await;
    let blocked = house.join("ana", "bad").await;
    house.fetch.block_device(&Scope::All, blocked.id, true, act("device.block")).await.unwrap();
    house.wait(DAY);
    let heard = house.join("ana", "mac").await;
    house.wait(Duration::from_millis(1));
    assert_eq!(trim(&house, Keep { devices_for: DAY, ..keep() }).await, 1);
    let left: Vec<_> = house.fetch.devices(&Scope::All).await.unwrap().iter().map(|device| device.id).collect();
    assert_eq!(left, [blocked.id, heard.id]);
}

async fn blocked_devices_do_not_keep_others_from_being_forgotten(house: House) {
    for name in ["a", "b", "c"] {
        let device = house.join("ana", name).await;
        house.fetch.block_device(&Scope::All, device.id, true, act("device.block")).await.unwrap();
    }
    house.join("ana", "d").await;
    house.wait(DAY * 2);
    assert_eq!(trim(&house, Keep { devices_for: DAY, step: 2, ..keep() }).await, 1);
}
