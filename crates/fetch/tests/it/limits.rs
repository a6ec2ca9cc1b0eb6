//! A device stays within the memory and the rate it was given.

use std::time::{Duration, Instant};

use malla_fetch::worker::WorkerOptions;

use crate::dispatcher::{Dispatcher, Manners};
use crate::fetching::getter;
use crate::origin::{Origin, Reply};

/// Bytes that cannot be packed.
fn noise(bytes: usize) -> Vec<u8> {
    let mut seed = 88_172_645_463_325_252_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed.to_le_bytes()
    };
    (0..bytes.div_ceil(8)).flat_map(|_| next()).take(bytes).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_that_wait_have_a_limit() {
    let body = noise(50_000);
    let mut origins = Vec::new();
    for n in 1..=4 {
        let body = body.clone();
        origins.push(Origin::at(&format!("127.0.7.{n}"), move |_| Reply::page(&body)).await);
    }
    let urls = origins.iter().flat_map(|origin| origin.urls(25));
    let dispatcher = Dispatcher::new(Manners { run: 25, ..Manners::default() }, urls);
    dispatcher.take_no_results(true);
    let options = WorkerOptions { memory_max: 1_000_000, pages: 100, ..WorkerOptions::default() };
    let worker = dispatcher.worker(getter(), options);
    let visits = || origins.iter().map(|origin| origin.visits().len()).sum::<usize>();
    // Until nothing has been asked for a while.
    let (mut seen, mut since) = (0, Instant::now());
    while since.elapsed() < Duration::from_millis(400) {
        if visits() != seen {
            (seen, since) = (visits(), Instant::now());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Twenty of them are a million bytes; one more of each site may have been under way.
    assert!((20..=25).contains(&seen), "{seen}");
    dispatcher.take_no_results(false);
    dispatcher.until_done(100).await;
    worker.end().await.expect("a good end");
    assert_eq!(visits(), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn downloads_have_a_rate() {
    let body = noise(100_000);
    let mut origins = Vec::new();
    for n in 1..=4 {
        let body = body.clone();
        origins.push(Origin::at(&format!("127.0.8.{n}"), move |_| Reply::page(&body)).await);
    }
    let urls = origins.iter().flat_map(|origin| origin.urls(6));
    let dispatcher = Dispatcher::new(Manners { run: 6, ..Manners::default() }, urls);
    let rate = 1_000_000;
    let options = WorkerOptions { max_rate: Some(rate), pages: 100, ..WorkerOptions::default() };
    let started = Instant::now();
    let worker = dispatcher.worker(getter(), options);
    dispatcher.until_done(24).await;
    let seconds = started.elapsed().as_secs_f64();
    worker.end().await.expect("a good end");
    let bytes: u64 = origins.iter().map(Origin::bytes).sum();
    assert!(bytes >= 2_400_000);
    let measured = bytes as f64 / seconds;
    assert!(measured < rate as f64 * 1.15, "{measured} bytes/s");
    assert!(measured > rate as f64 * 0.5, "{measured} bytes/s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_large_download_is_slowed_down_too() {
    let body = noise(300_000);
    let origin = Origin::new(move |_| Reply::page(&body)).await;
    let dispatcher = Dispatcher::new(Manners::default(), origin.urls(1));
    let options = WorkerOptions { max_rate: Some(300_000), ..WorkerOptions::default() };
    let worker = dispatcher.worker(getter(), options);
    dispatcher.until_done(1).await;
    worker.end().await.expect("a good end");
    let answer = dispatcher.log(|log| log.done[0].1.answer.clone());
    assert_eq!((answer.body.bytes, answer.trouble), (300_000, None));
    assert!((800..2_000).contains(&answer.took_ms), "{}", answer.took_ms);
}
