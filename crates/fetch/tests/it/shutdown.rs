//! A device that goes: it ends what it has begun and gives back the rest.

use std::time::{Duration, Instant};

use malla_fetch::worker::WorkerOptions;

use crate::dispatcher::{Dispatcher, Manners};
use crate::fetching::{getter, until};
use crate::origin::{Origin, Reply};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_under_way_ends_and_the_rest_is_given_back() {
    let slow = Origin::at("127.0.6.1", |_| Reply::page(b"slow").after(Duration::from_millis(300))).await;
    let resting = Origin::at("127.0.6.2", |_| Reply::page(b"hi")).await;
    let urls = slow.urls(4).into_iter().chain(resting.urls(4));
    let dispatcher = Dispatcher::new(Manners { gap_ms: 5_000, ..Manners::default() }, urls);
    let worker = dispatcher.worker(getter(), WorkerOptions::default());
    until(|| slow.visits().len() == 1).await;
    dispatcher.until_done(1).await;
    let started = Instant::now();
    worker.end().await.expect("a good end");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    dispatcher.log(|log| {
        let done: Vec<_> = log.done.iter().map(|(url, _)| url.path_and_query()).collect();
        assert_eq!(done, ["/0", "/0"], "one of each site");
        assert_eq!(log.given_back.len(), 6);
        for (url, quiet_ms) in &log.given_back {
            let site = if url.site() == slow.url("/").site() { &slow } else { &resting };
            let since = site.visits()[0].start.elapsed();
            assert!(Duration::from_millis(*quiet_ms) <= since, "{quiet_ms} ms");
        }
        assert_eq!(log.late, 0);
    });
    assert_eq!((slow.visits().len(), resting.visits().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_end_in_time_is_given_back_too() {
    let origin = Origin::new(|_| Reply::raw("").hang()).await;
    let dispatcher = Dispatcher::new(Manners::default(), origin.urls(3));
    let options = WorkerOptions { grace: Duration::from_millis(200), ..WorkerOptions::default() };
    let worker = dispatcher.worker(getter(), options);
    until(|| origin.visits().len() == 1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let started = Instant::now();
    worker.end().await.expect("a good end");
    let took = started.elapsed();
    assert!(took >= Duration::from_millis(200) && took < Duration::from_secs(2), "{took:?}");
    let quiet: Vec<u64> = dispatcher.log(|log| log.given_back.iter().map(|(_, quiet_ms)| *quiet_ms).collect());
    assert_eq!(quiet.len(), 3);
    assert!(quiet.iter().all(|quiet_ms| *quiet_ms < 300), "it spoke to the site until just now: {quiet:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dispatcher_that_is_away_does_not_hold_up_the_end() {
    let origin = Origin::new(|_| Reply::page(b"hi")).await;
    let dispatcher = Dispatcher::new(Manners::default(), origin.urls(3));
    dispatcher.take_no_results(true);
    let worker = dispatcher.worker(getter(), WorkerOptions::default());
    until(|| origin.visits().len() == 3).await;
    let started = Instant::now();
    worker.end().await.expect("an end");
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_device_goes_at_once() {
    let dispatcher = Dispatcher::new(Manners::default(), []);
    let worker = dispatcher.worker(getter(), WorkerOptions::default());
    tokio::time::sleep(Duration::from_millis(50)).await;
    let started = Instant::now();
    worker.end().await.expect("a good end");
    assert!(started.elapsed() < Duration::from_millis(400), "{:?}", started.elapsed());
}
