//! Nothing is asked for, and nothing is under way, after a lease is over.

use std::time::{Duration, Instant};

use malla_fetch::worker::WorkerOptions;

use crate::dispatcher::{Dispatcher, Manners};
use crate::fetching::getter;
use crate::origin::{Origin, Reply};

const SHORT: Manners = Manners { gap_ms: 0, parallel: 1, run: 4, lease_for_ms: 1_000 };

/// When each block was given out.
fn given(dispatcher: &Dispatcher) -> Vec<Instant> {
    dispatcher.log(|log| log.leases.iter().map(|(at, _, _)| *at).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_end_with_their_lease() {
    let hangs = Origin::at("127.0.3.1", |_| Reply::raw("").hang()).await;
    let stops =
        Origin::at("127.0.3.2", |_| Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegin").hang()).await;
    let urls = hangs.urls(3).into_iter().chain(stops.urls(3));
    let dispatcher = Dispatcher::new(SHORT, urls);
    let worker = dispatcher.worker(getter(), WorkerOptions::default());
    // The third lease: two have run out.
    dispatcher.until(|log| log.leases.len() >= 3).await;
    let leases = given(&dispatcher);
    assert_eq!(dispatcher.log(|log| (log.done.len(), log.late)), (0, 0));
    for origin in [&hangs, &stops] {
        let visits = origin.visits();
        assert!(visits.len() >= 2);
        for visit in &visits[..2] {
            let lease = leases.iter().rev().find(|given| **given <= visit.start).expect("it was leased");
            let end = visit.end.expect("the device has let go");
            assert!(end - *lease < Duration::from_secs(1), "{:?}", end - *lease);
        }
    }
    worker.end().await.expect("a good end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_of_an_expired_lease_is_dropped() {
    let origin = Origin::new(|_| Reply::page(b"hi")).await;
    // Four pages 400 ms apart do not fit into a second.
    let dispatcher = Dispatcher::new(Manners { gap_ms: 400, ..SHORT }, origin.urls(4));
    let worker = dispatcher.worker(getter(), WorkerOptions::default());
    dispatcher.until_done(4).await;
    worker.end().await.expect("a good end");
    let leases = given(&dispatcher);
    assert!(leases.len() >= 2);
    assert_eq!(dispatcher.log(|log| (log.late, log.given_back.len())), (0, 0));
    for visit in origin.visits() {
        let lease = leases.iter().rev().find(|given| **given <= visit.start).expect("it was leased");
        assert!(visit.start - *lease < Duration::from_secs(1), "{:?}", visit.start - *lease);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_that_cannot_be_returned_in_time_are_dropped() {
    let origin = Origin::new(|_| Reply::page(b"hi")).await;
    let dispatcher = Dispatcher::new(SHORT, origin.urls(4));
    dispatcher.take_no_results(true);
    let worker = dispatcher.worker(getter(), WorkerOptions::default());
    dispatcher.until(|log| log.leases.len() >= 2).await;
    dispatcher.take_no_results(false);
    dispatcher.until_done(4).await;
    worker.end().await.expect("a good end");
    assert_eq!(dispatcher.log(|log| log.late), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_lease_is_lost_stops() {
    let origin = Origin::new(|_| Reply::page(b"hi")).await;
    let dispatcher = Dispatcher::new(Manners { gap_ms: 300, run: 10, ..Manners::default() }, origin.urls(10));
    dispatcher.call_all_lost();
    let worker = dispatcher.worker(getter(), WorkerOptions::default());
    dispatcher.until(|log| !log.calls.is_empty()).await;
    // Longer than the gap: if the run went on, the next page would be asked for.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(origin.visits().len(), 1);
    worker.end().await.expect("a good end");
    assert!(dispatcher.log(|log| log.given_back.is_empty()), "what is lost cannot be given back");
}
