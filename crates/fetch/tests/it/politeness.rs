//! What sites see of a device: gaps and ceilings, by the sites' own logs and with no tolerance.

use std::time::{Duration, Instant};

use malla_fetch::worker::WorkerOptions;

use crate::dispatcher::{Dispatcher, Manners};
use crate::fetching::{getter, impatient};
use crate::origin::{Ask, Origin, Reply, Visit};

/// Answers of all kinds: at once, late, with a late end, closing, not at all.
fn moody(ask: &Ask) -> Reply {
    match ask.path.bytes().last().map(|last| last % 5) {
        Some(0) => Reply::page(b"late").after(Duration::from_millis(30)),
        Some(1) => Reply::page(b"the last on this connection").close(),
        Some(2) if ask.nth > 0 => Reply::raw("").close(),
        Some(3) => Reply::raw("garbage"),
        _ => Reply::page(b"at once"),
    }
}

/// The shortest time from one start to the next, and whether two requests were ever under way together.
fn manners(mut visits: Vec<Visit>) -> (Duration, bool) {
    visits.sort_by_key(|visit| visit.start);
    let pairs = || visits.iter().zip(&visits[1..]);
    let gap = pairs().map(|(one, next)| next.start - one.start).min().expect("several visits");
    (gap, pairs().any(|(one, next)| one.end.is_none_or(|end| next.start < end)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_site_sees_its_gap_and_one_request_at_a_time() {
    let gap_ms = 60;
    let mut origins = Vec::new();
    for n in 1..=8 {
        origins.push(Origin::at(&format!("127.0.1.{n}"), moody).await);
    }
    let urls = origins.iter().flat_map(|origin| origin.urls(12));
    let dispatcher = Dispatcher::new(Manners { gap_ms, run: 5, ..Manners::default() }, urls);
    let started = Instant::now();
    let worker = dispatcher.worker(getter(), WorkerOptions::default());
    dispatcher.until_done(8 * 12).await;
    let took = started.elapsed();
    worker.end().await.expect("a good end");
    for origin in &origins {
        let visits = origin.visits();
        assert!(visits.len() >= 12);
        let (gap, together) = manners(visits);
        assert!(gap >= Duration::from_millis(gap_ms), "{gap:?}");
        assert!(!together);
    }
    // The sites wait for themselves, not for each other.
    assert!(took < Duration::from_millis(8 * 12 * gap_ms), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_that_does_not_answer_keeps_its_gap_too() {
    let origin = Origin::new(|_| Reply::raw("").hang()).await;
    let dispatcher = Dispatcher::new(Manners { gap_ms: 1_000, ..Manners::default() }, origin.urls(2));
    let worker = dispatcher.worker(impatient(), WorkerOptions::default());
    dispatcher.until_done(2).await;
    worker.end().await.expect("a good end");
    let visits = origin.visits();
    let apart = visits[1].start - visits[0].start;
    // The attempt takes 600 ms and the gap follows it. What the first request took to get there is not in the log.
    assert!(apart >= Duration::from_millis(1_300), "{apart:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_that_allows_several_at_once_gets_them() {
    let origin = Origin::new(|_| Reply::page(b"slow").after(Duration::from_millis(50))).await;
    let dispatcher = Dispatcher::new(Manners { parallel: 3, run: 12, ..Manners::default() }, origin.urls(12));
    let worker = dispatcher.worker(getter(), WorkerOptions::default());
    dispatcher.until_done(12).await;
    worker.end().await.expect("a good end");
    let visits = origin.visits();
    let under_way =
        |at: Instant| visits.iter().filter(|visit| visit.start <= at && visit.end.is_some_and(|end| at < end)).count();
    let most = visits.iter().map(|visit| under_way(visit.start)).max().expect("visits");
    assert_eq!(most, 3);
    assert_eq!(origin.connections(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_has_a_ceiling_of_its_own() {
    let mut origins = Vec::new();
    for n in 1..=12 {
        origins
            .push(Origin::at(&format!("127.0.2.{n}"), |_| Reply::page(b"slow").after(Duration::from_millis(30))).await);
    }
    let urls = origins.iter().flat_map(|origin| origin.urls(3));
    let dispatcher = Dispatcher::new(Manners::default(), urls);
    let options = WorkerOptions { parallel: 4, parallel_max: 4, pages: 64, ..WorkerOptions::default() };
    let worker = dispatcher.worker(getter(), options);
    dispatcher.until_done(36).await;
    worker.end().await.expect("a good end");
    let visits: Vec<Visit> = origins.iter().flat_map(Origin::visits).collect();
    let under_way =
        |at: Instant| visits.iter().filter(|visit| visit.start <= at && visit.end.is_some_and(|end| at < end)).count();
    assert_eq!(visits.iter().map(|visit| under_way(visit.start)).max(), Some(4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_keeps_its_connection_from_run_to_run() {
    let origin = Origin::new(|_| Reply::page(b"hi")).await;
    let dispatcher = Dispatcher::new(Manners { run: 2, ..Manners::default() }, origin.urls(10));
    let worker = dispatcher.worker(getter(), WorkerOptions::default());
    dispatcher.until_done(10).await;
    worker.end().await.expect("a good end");
    assert_eq!(dispatcher.log(|log| log.leases.len()), 5);
    assert_eq!(origin.connections(), 1);
}
