//! The connections of the shared store.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use malla_analyze::TakenBatch;
use malla_notify::Accepted;
use malla_queue::{Error, Result, Scope};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

use crate::harness::{House, act, fresh_database, postgres_at, task};
use crate::harness_analyze::{new_study, trips};
use crate::harness_fetch::{anew, task_of};
use crate::harness_notify::{keyed, new_event};

const A: &str = "https://a.example/1";

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Locks all lanes, and lets `verb` run until it waits for one of them and its connection is cut there.
async fn cut_at_lane<T: Send + 'static>(
    url: &str,
    verb: impl Future<Output = Result<T>> + Send + 'static,
) -> (Client, JoinHandle<Result<T>>) {
    let (locker, killer) = (connect(url).await, connect(url).await);
    locker.batch_execute("BEGIN; SELECT 1 FROM lane FOR UPDATE").await.unwrap();
    let verb = tokio::spawn(verb);
    let stuck = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE datname = current_database() AND wait_event_type = 'Lock'";
    for _ in 0..1_000 {
        if !killer.query(stuck, &[]).await.unwrap().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    (locker, verb)
}

/// Runs a verb whose connection is cut while it waits for a lane, and which does not get the lane afterwards either.
pub(crate) async fn cut<T: Send + 'static>(
    url: &str,
    verb: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let (locker, verb) = cut_at_lane(url, verb).await;
    let answer = verb.await.unwrap();
    locker.batch_execute("ROLLBACK").await.unwrap();
    answer
}

/// Runs a verb whose connection is cut once, while it waits for a lane.
async fn cut_once<T: Send + 'static>(url: &str, verb: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let (locker, verb) = cut_at_lane(url, verb).await;
    locker.batch_execute("ROLLBACK").await.unwrap();
    verb.await.unwrap()
}

/// Until no connection of the pool is the one that was cut.
pub(crate) async fn recovered(house: &House) {
    for _ in 0..100 {
        let all = futures_util::future::join_all((0..12).map(|_| house.queue.ping())).await;
        if all.iter().all(Result::is_ok) {
            return;
        }
    }
    panic!("the store does not come back");
}

async fn house() -> (String, Arc<House>) {
    let url = fresh_database().await;
    (url.clone(), Arc::new(postgres_at(&url).await))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_connection_is_lost_is_taken_once() {
    let (url, house) = house().await;
    house.cache(A, "hello").await;
    let fetch = house.fetch.clone();
    let job = cut_once(&url, async move { fetch.ask(anew(&[A]), act("fetch.ask")).await }).await.unwrap();
    assert_eq!(house.fetch.jobs(&Scope::All, None, 9).await.unwrap().len(), 2);
    house.fetch_all("new").await;
    assert_eq!(house.texts(job.id).await, [(A.into(), "new".into())]);
    house.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_connection_is_lost_counts_once() {
    let (url, house) = house().await;
    let job = house.ask(&[A]).await;
    let leased = house.lease_page().await;
    let commit = malla_fetch::Commit { settled: vec![house.found(&leased, "hello")], ..Default::default() };
    let (fetch, first) = (house.fetch.clone(), commit.clone());
    assert_eq!(cut_once(&url, async move { fetch.commit(first).await }).await.unwrap(), [Ok(())]);
    assert_eq!(house.fetch.commit(commit).await.unwrap(), [Ok(())]);
    assert_eq!(house.texts(job.id).await, [(task_of(&leased).url.to_string(), "hello".into())]);
    house.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_under_one_key_at_two_nodes_is_one_event() {
    let (url, one) = house().await;
    let other = Arc::new(postgres_at(&url).await);
    one.wired("a").await;
    let accept = one.addressed("a", new_event("x")).await;
    for round in 0..20 {
        // Two keys, in this order here and in the other order there.
        let keys = [format!("{round} a"), format!("{round} b")];
        let calls = [(&one, &keys[0]), (&other, &keys[1]), (&one, &keys[1]), (&other, &keys[0])];
        let calls = calls.map(|(node, key)| node.notify.accept(keyed(accept.clone(), key)));
        let mut ids = Vec::new();
        for answer in futures_util::future::join_all(calls).await {
            match answer.unwrap() {
                Accepted::Safe(id) => ids.push(id),
                Accepted::Again(_) => {}
                Accepted::Stale => panic!("nothing has changed"),
            }
        }
        assert_eq!(ids.len(), 2, "{ids:?}");
    }
    assert_eq!(one.ids(&malla_queue::TaskFilter::all(Scope::All)).await.len(), 40);
    one.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_place_for_a_study_goes_to_one_of_two_nodes() {
    let (url, one) = house().await;
    let other = Arc::new(postgres_at(&url).await);
    for _ in 0..10 {
        let under_way = one.begin().await;
        let begin = |node: &Arc<House>| {
            let analyze = node.analyze.clone();
            async move { analyze.begin(new_study(), act("analysis.begin")).await }
        };
        let begun = futures_util::future::join_all([&one, &other, &one, &other].map(begin)).await;
        let (begun, refused): (Vec<_>, Vec<_>) = begun.into_iter().partition(Result::is_ok);
        assert_eq!(begun.len(), 1, "{begun:?}");
        assert!(refused.iter().all(|refused| matches!(refused, Err(Error::NotAvailable(_)))), "{refused:?}");
        one.cancel(begun[0].as_ref().unwrap().id).await.unwrap();
        other.cancel(under_way).await.unwrap();
    }
    one.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_commit_at_two_nodes_makes_the_answers_due_once() {
    let (url, one) = house().await;
    let other = Arc::new(postgres_at(&url).await);
    for _ in 0..10 {
        let id = one.study_with(4).await;
        let leased = one.lease_analyses().await;
        let commits = leased.iter().zip([&one, &other].into_iter().cycle()).map(|(leased, node)| {
            let (node, settled) = (node.clone(), node.mapped(id, leased));
            tokio::spawn(async move { node.commit_one(settled).await })
        });
        let commits: Vec<_> = commits.collect();
        other.complete(id, 5).await.unwrap();
        for commit in commits {
            assert_eq!(commit.await.unwrap(), Ok(()));
        }
        let reduce = other.lease_analysis().await;
        assert!(one.lease_analyses().await.is_empty());
        one.commit_one(one.answered(id, &reduce)).await.unwrap();
    }
    assert_eq!(one.told().await.len(), 10);
    one.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_or_its_commit_whose_connection_is_lost_counts_once() {
    let (url, house) = house().await;
    let id = house.study_with(1).await;
    let leased = house.lease_analysis().await;
    let (analyze, settled) = (house.analyze.clone(), house.mapped(id, &leased));
    let taking = {
        let analyze = analyze.clone();
        async move { analyze.take(&Scope::All, id, trips("montreal", 1)).await }
    };
    assert_eq!(cut_once(&url, taking).await, Ok(TakenBatch::New));
    let first = settled.clone();
    cut_once(&url, async move { analyze.commit(first).await }).await.unwrap();
    assert_eq!((house.study(id).await.taken, house.study(id).await.mapped), (3, 2));
    let again = house.analyze.take(&Scope::All, id, trips("montreal", 1)).await;
    assert_eq!(again, Ok(TakenBatch::Again));
    assert_eq!(house.commit_one(settled).await, Ok(()));
    assert_eq!((house.study(id).await.taken, house.study(id).await.mapped), (3, 2));
    house.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_stands_still_is_left_for_the_next_one() {
    let url = fresh_database().await;
    // The kernel takes connections for it, and nobody ever answers.
    let frozen = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (user, rest) = url.split_once('@').unwrap();
    let both = format!("{user}@{},{rest}", frozen.local_addr().unwrap());
    let began = Instant::now();
    let house = postgres_at(&both).await;
    house.submit(task("a")).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // It is known which one answers.
    let began = Instant::now();
    let all = futures_util::future::join_all((0..8).map(|_| house.queue.counts(&Scope::All))).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}
