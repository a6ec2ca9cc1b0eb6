//! Connections of the shared store that break while a transaction commits: it is done once, and its caller has the answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use malla_notify::{Accepted, EventFilter};
use malla_queue::{Error, Limits, NewTask, Result, Scope, Submitted, TaskFilter};

use crate::harness::{House, act, fresh_database, postgres_at, postgres_within, small_limits, task};
use crate::harness_notify::new_event;
use crate::proxy::{Fate, Proxy};
use crate::shared::connect;

/// A house that reaches its store through the proxy, and one that reaches it directly.
async fn houses() -> (Proxy, Arc<House>, House) {
    let url = fresh_database().await;
    let direct = postgres_at(&url).await;
    let proxy = Proxy::before(&url).await;
    let house = Arc::new(postgres_at(&proxy.url).await);
    (proxy, house, direct)
}

fn marked() -> NewTask {
    NewTask { payload: b"marked".to_vec(), ..task("a") }
}

async fn tasks(house: &House) -> usize {
    house.ids(&TaskFilter::all(Scope::All)).await.len()
}

/// Until there are as many tasks.
async fn until(house: &House, count: usize) {
    for _ in 0..500 {
        if tasks(house).await == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("there are not {count} tasks");
}

/// Submits a task with the request that contains `mark` meeting this fate.
async fn submit(with_act: bool, mark: &str, fate: Fate) {
    let (proxy, house, direct) = houses().await;
    // The connection is warm: all that is sent from now on belongs to the verb.
    house.queue.submit(vec![task("a")], with_act.then(|| act("task.submit"))).await.unwrap();
    proxy.set(mark, fate);
    let submitting = {
        let house = house.clone();
        let act = with_act.then(|| act("task.submit"));
        tokio::spawn(async move { house.queue.submit(vec![marked()], act).await })
    };
    proxy.sprung().await;
    if fate == Fate::Unanswered {
        until(&direct, 2).await;
        proxy.go();
    }
    let submitted: Result<Vec<Submitted>> = submitting.await.unwrap();
    let submitted = submitted.unwrap();
    assert_eq!(submitted.iter().map(|task| task.new).collect::<Vec<_>>(), [true]);
    if fate == Fate::Late {
        proxy.go();
        proxy.delivered().await;
    }
    assert_eq!(tasks(&direct).await, 2);
    let found = direct.queue.task(&Scope::All, submitted[0].id).await.unwrap();
    assert_eq!(found.payload, b"marked");
    direct.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_answer_is_lost_is_submitted_once() {
    submit(false, "marked", Fate::Unanswered).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_never_reached_the_server_is_submitted_once() {
    submit(false, "marked", Fate::Undelivered).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_reaches_the_server_after_its_repeat_is_submitted_once() {
    submit(false, "marked", Fate::Late).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_whose_commit_is_not_answered_is_done_once() {
    submit(true, "COMMIT AND CHAIN", Fate::Unanswered).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_whose_commit_never_reached_the_server_is_done_once() {
    submit(true, "COMMIT AND CHAIN", Fate::Undelivered).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_whose_connection_is_lost_to_the_client_alone_is_done_once() {
    // What it has locked stays so until the server ends its session.
    submit(true, "COMMIT AND CHAIN", Fate::Late).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_breaks_before_its_commit_is_done_once() {
    submit(true, "marked", Fate::Undelivered).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_whose_answer_is_lost_is_accepted_once() {
    for fate in [Fate::Unanswered, Fate::Undelivered] {
        let (proxy, house, direct) = houses().await;
        house.wired("a").await;
        let accept = house.addressed("a", new_event("marked")).await;
        house.accept("a", "first").await;
        proxy.set("marked", fate);
        let accepting = {
            let house = house.clone();
            tokio::spawn(async move { house.notify.accept(accept).await })
        };
        proxy.sprung().await;
        if fate == Fate::Unanswered {
            until(&direct, 2).await;
            proxy.go();
        }
        let Ok(Accepted::Safe(id)) = accepting.await.unwrap() else { panic!("it was accepted") };
        assert_eq!(direct.notify.event(&Scope::All, id).await.unwrap().content.body, b"marked");
        let filter = EventFilter { scope: Scope::All, endpoint: None, content: None, from: None, to: None };
        assert_eq!(direct.notify.events(&filter, None, 9).await.unwrap().events.len(), 2);
        assert_eq!(tasks(&direct).await, 2);
        direct.verify().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_store_callers_are_told_so_in_time() {
    let proxy = Proxy::before(&fresh_database().await).await;
    let limits = Limits { doubt_max: Duration::from_secs(5), ..small_limits() };
    let house = postgres_within(&proxy.url, limits).await;
    house.submit(task("a")).await;
    proxy.take_down();
    let began = Instant::now();
    // On a connection that breaks now: it is in doubt for as long as nobody can be asked.
    let refused = house.queue.submit(vec![marked()], None).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    let began = Instant::now();
    while house.queue.ping().await.is_ok() {}
    let refused = futures_util::future::join_all((0..20).map(|_| house.queue.submit(vec![marked()], None))).await;
    assert!(refused.iter().all(|refused| matches!(refused, Err(Error::Unavailable(_)))), "{refused:?}");
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubt_lasts_until_the_store_is_back() {
    let (proxy, house, direct) = houses().await;
    house.submit(task("a")).await;
    proxy.set("marked", Fate::Unanswered);
    let submitting = {
        let house = house.clone();
        tokio::spawn(async move { house.queue.submit(vec![marked()], None).await })
    };
    proxy.sprung().await;
    until(&direct, 2).await;
    proxy.take_down();
    proxy.go();
    // Longer than anybody waits for a connection.
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert!(!submitting.is_finished());
    proxy.bring_back();
    let submitted = submitting.await.unwrap().unwrap();
    assert_eq!(submitted.iter().map(|task| task.new).collect::<Vec<_>>(), [true]);
    assert_eq!(tasks(&direct).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_tokens_are_forgotten() {
    let url = fresh_database().await;
    let house = postgres_at(&url).await;
    house.submit(task("a")).await;
    house.submit(task("a")).await;
    let client = connect(&url).await;
    let age = "UPDATE commit_token SET at = now() - interval '61 minutes' \
               WHERE token = (SELECT token FROM commit_token ORDER BY token LIMIT 1)";
    assert_eq!(client.execute(age, &[]).await.unwrap(), 1);
    let day = Duration::from_secs(24 * 3_600);
    house.queue.prune(malla_queue::Retention { tasks: day, events: day, audit: day, step: 9 }).await.unwrap();
    let left: i64 = client.query_one("SELECT count(*) FROM commit_token", &[]).await.unwrap().get(0);
    assert_eq!(left, 1);
}
