//! Results on their way back: together, while fetching goes on, and again until they are there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use malla_fetch::DispatchError;
use malla_fetch::worker::{Observer, Page, WorkerOptions};
use tokio::sync::Semaphore;

use crate::dispatcher::{Dispatcher, Manners};
use crate::fetching::{getter, text, until};
use crate::origin::{Origin, Reply};

#[derive(Default)]
struct Counting {
    pages: AtomicUsize,
    bytes: AtomicUsize,
    away: AtomicUsize,
}

impl Observer for Counting {
    fn page(&self, page: &Page<'_>) {
        assert_eq!((page.status, page.url.as_url().scheme()), (200, "http"));
        self.pages.fetch_add(1, Ordering::SeqCst);
        self.bytes.fetch_add(usize::try_from(page.bytes).expect("it fits"), Ordering::SeqCst);
    }

    fn dispatcher_away(&self, _: &str) {
        self.away.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_comes_back_once_and_in_few_calls() {
    let mut origins = Vec::new();
    for n in 1..=10 {
        origins.push(Origin::at(&format!("127.0.4.{n}"), |ask| Reply::page(ask.path.as_bytes())).await);
    }
    let urls: Vec<_> = origins.iter().flat_map(|origin| origin.urls(40)).collect();
    let dispatcher = Dispatcher::new(Manners { run: 40, ..Manners::default() }, urls.clone());
    let seen = Arc::new(Counting::default());
    let options = WorkerOptions { pages: 400, observer: seen.clone(), ..WorkerOptions::default() };
    let worker = dispatcher.worker(getter(), options);
    dispatcher.until_done(400).await;
    worker.end().await.expect("a good end");
    dispatcher.log(|log| {
        let mut brought: Vec<_> = log.done.iter().map(|(url, _)| url.clone()).collect();
        brought.sort();
        let mut asked = urls.clone();
        asked.sort();
        assert_eq!(brought, asked);
        for (url, result) in &log.done {
            assert_eq!(text(&result.answer.body), url.path_and_query());
        }
        assert!(log.calls.len() <= 100, "{:?}", log.calls);
    });
    let bytes: usize = urls.iter().map(|url| url.path_and_query().len()).sum();
    assert_eq!((seen.pages.load(Ordering::SeqCst), seen.bytes.load(Ordering::SeqCst)), (400, bytes));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_is_asked_for_when_half_is_done() {
    let gate = Arc::new(Semaphore::new(0));
    let mut origins = Vec::new();
    for n in 1..=32 {
        let gate = gate.clone();
        // Who finds no permit is never answered.
        let serve = move |_: &_| match gate.try_acquire() {
            Ok(permit) => {
                permit.forget();
                Reply::page(b"hi")
            }
            Err(_) => Reply::raw("").hang(),
        };
        origins.push(Origin::at(&format!("127.0.5.{n}"), serve).await);
    }
    let urls = origins.iter().flat_map(|origin| origin.urls(1));
    gate.add_permits(8);
    let dispatcher = Dispatcher::new(Manners::default(), urls);
    let options = WorkerOptions { grace: Duration::ZERO, ..WorkerOptions::default() };
    let worker = dispatcher.worker(getter(), options);
    dispatcher.until_done(8).await;
    // Eight of sixteen are left, and that is half. One more, and the device asks.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(dispatcher.log(|log| log.leases.len()), 1);
    worker.end().await.expect("a good end");

    gate.add_permits(9);
    let worker = dispatcher.worker(getter(), WorkerOptions { grace: Duration::ZERO, ..WorkerOptions::default() });
    dispatcher.until(|log| log.leases.len() >= 3).await;
    assert_eq!(dispatcher.log(|log| (log.leases[1].1, log.leases[2].1)), (16, 8));
    worker.end().await.expect("a good end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dispatcher_that_is_away_for_a_while_loses_nothing() {
    let origin = Origin::new(|_| Reply::page(b"hi")).await;
    let dispatcher = Dispatcher::new(Manners { run: 6, ..Manners::default() }, origin.urls(6));
    dispatcher.fail_lease(DispatchError::Away("not yet there".into()));
    dispatcher.fail_lease(DispatchError::Later { after_ms: 50 });
    dispatcher.take_no_results(true);
    let seen = Arc::new(Counting::default());
    let started = Instant::now();
    let worker = dispatcher.worker(getter(), WorkerOptions { observer: seen.clone(), ..WorkerOptions::default() });
    until(|| seen.away.load(Ordering::SeqCst) >= 4).await;
    assert!(started.elapsed() >= Duration::from_millis(100 + 50 + 100 + 200), "the waits grow");
    dispatcher.take_no_results(false);
    dispatcher.until_done(6).await;
    worker.end().await.expect("a good end");
    assert_eq!(origin.visits().len(), 6);
    // What the dispatcher is told is as old as it is.
    let quiet_ms = dispatcher.log(|log| log.done.iter().map(|(_, result)| result.quiet_ms).min());
    assert!(quiet_ms >= Some(300), "{quiet_ms:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dispatcher_that_wants_no_more_ends_the_work() {
    let origin = Origin::new(|_| Reply::page(b"hi")).await;
    for error in [DispatchError::Unknown("who are you?".into()), DispatchError::Refused("blocked".into())] {
        let dispatcher = Dispatcher::new(Manners::default(), []);
        dispatcher.fail_lease(error.clone());
        assert_eq!(dispatcher.worker(getter(), WorkerOptions::default()).ended().await, Err(error.clone()));

        let dispatcher = Dispatcher::new(Manners::default(), origin.urls(2));
        dispatcher.fail_results(DispatchError::Later { after_ms: 10 });
        dispatcher.fail_results(error.clone());
        assert_eq!(dispatcher.worker(getter(), WorkerOptions::default()).ended().await, Err(error));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_wish_says_how_fast_the_device_is() {
    let origin = Origin::new(|_| Reply::page(&[b'x'; 1_000]).after(Duration::from_millis(20))).await;
    let dispatcher = Dispatcher::new(Manners { run: 1, ..Manners::default() }, origin.urls(80));
    let worker = dispatcher.worker(getter(), WorkerOptions::default());
    dispatcher.until_done(80).await;
    worker.end().await.expect("a good end");
    let last = dispatcher.log(|log| log.leases.last().expect("a lease").2.clone());
    assert_eq!(last.measures.parallel, 16);
    assert!((20..200).contains(&last.measures.page_ms), "{last:?}");
    assert!(last.measures.bytes_per_s > 1_000, "{last:?}");
}
