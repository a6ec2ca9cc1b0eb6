//! The files of the embedded store.

use std::fs;
use std::path::Path;
use std::time::Duration;

use malla_notify::EventFilter;
use malla_queue::{Kind, NewTask, Scope};

use crate::harness::{House, sqlite_at};

async fn found(house: &House, content: &str) -> usize {
    let filter = EventFilter { scope: Scope::All, endpoint: None, content: Some(content.into()), from: None, to: None };
    house.notify.events(&filter, None, 10).await.unwrap().events.len()
}

async fn index_all(house: &House) -> u64 {
    house.wait(Duration::from_secs(11));
    house.notify.index(50).await.unwrap()
}

/// A store with two events, indexed.
async fn fill(path: &Path) {
    let (store, house) = sqlite_at(path).await;
    house.endpoint("a").await;
    house.accept("a", "first word").await;
    house.accept("a", "second word").await;
    assert_eq!(index_all(&house).await, 2);
    store.close().await;
}

/// All is found, and `indexed` had to be indexed again.
async fn check(path: &Path, indexed: u64) {
    let (store, house) = sqlite_at(path).await;
    assert_eq!(found(&house, "word").await, 2);
    assert_eq!(index_all(&house).await, indexed);
    assert_eq!((found(&house, "word").await, found(&house, "first").await), (2, 1));
    store.close().await;
}

#[tokio::test]
async fn words_are_kept_and_made_anew_when_their_file_is_missing_damaged_or_anothers() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (directory.path().join("one.db"), directory.path().join("other.db"));
    let (words, others) = (directory.path().join("one.db-words"), directory.path().join("other.db-words"));
    fill(&one).await;
    fill(&other).await;
    check(&one, 0).await;
    fs::remove_file(&words).unwrap();
    check(&one, 2).await;
    fs::write(&words, "no database at all ".repeat(500)).unwrap();
    check(&one, 2).await;
    fs::copy(&others, &words).unwrap();
    check(&one, 2).await;
}

#[tokio::test]
async fn words_that_know_more_than_the_store_are_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("malla.db"), directory.path().join("copy.db"));
    fill(&path).await;
    fs::copy(&path, &copy).unwrap();
    let (store, house) = sqlite_at(&path).await;
    house.wait(Duration::from_secs(1));
    house.accept("a", "third word").await;
    assert_eq!(index_all(&house).await, 1);
    store.close().await;
    fs::rename(&copy, &path).unwrap();
    check(&path, 2).await;
}

/// However much is written, the log starts anew again and again.
#[tokio::test]
async fn the_log_stays_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("malla.db");
    let (store, house) = sqlite_at(&path).await;
    let payload = vec![b'x'; 200_000];
    for n in 0..2_000 {
        let task = NewTask::new(format!("drill/{}", n % 10).parse().unwrap(), Kind::new("bulky"), payload.clone());
        house.queue.submit(vec![task], None).await.unwrap();
    }
    let (log, file) =
        (fs::metadata(directory.path().join("malla.db-wal")).unwrap().len(), fs::metadata(&path).unwrap());
    assert!(file.len() > 200_000_000, "only {} bytes were folded", file.len());
    assert!(log < 300_000_000, "the log has {log} bytes");
    store.close().await;
}

#[tokio::test]
async fn numbers_go_on_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("malla.db");
    let (store, house) = sqlite_at(&path).await;
    let job = house.ask(&["https://a.example/"]).await;
    house.fetch_all("hello").await;
    let page = house.answers(job.id).await[0].page.id;
    store.close().await;
    // The clock of the second house stands where that of the first stood.
    let (store, house) = sqlite_at(&path).await;
    let again = house.ask(&["nonsense"]).await;
    assert!(again.id.0 > page.0 && house.answers(again.id).await[0].page.id > page);
    store.close().await;
}

#[tokio::test]
async fn the_next_process_leads_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("malla.db");
    let (store, house) = sqlite_at(&path).await;
    let before = house.new_member("before").await;
    let first = house.stand(before).await.unwrap();
    store.close().await;
    let (store, house) = sqlite_at(&path).await;
    assert!(house.cluster.members().await.unwrap().is_empty());
    let now = house.new_member("now").await;
    assert!(now > before);
    assert!(house.stand(now).await > Some(first));
    store.close().await;
}
