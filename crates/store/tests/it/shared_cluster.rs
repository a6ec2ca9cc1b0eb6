//! Several nodes on the shared store: who leads, the fence, and an update of one node after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use malla_queue::{Error, Limits, ManualClock};
use malla_store::postgres::Postgres;

use crate::harness::{START, fresh_database, postgres_at, task};
use crate::shared::connect;

/// Nothing here waits this long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_nodes_that_stand_at_the_same_time_one_leads() {
    let url = fresh_database().await;
    let (one, other) = (postgres_at(&url).await, postgres_at(&url).await);
    let (a, b) = (one.new_member("a").await, other.new_member("b").await);
    let mut last = None;
    for _ in 0..20 {
        let (first, second) = tokio::join!(one.stand(a), other.stand(b));
        let term = match (first, second) {
            (Some(term), None) | (None, Some(term)) => term,
            both => panic!("{both:?}"),
        };
        assert!(Some(term) > last, "{term} after {last:?}");
        last = Some(term);
        one.wait(Duration::from_secs(60));
        other.wait(Duration::from_secs(60));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_stands_still_inside_a_transaction_holds_up_the_next_one_for_a_few_seconds() {
    let url = fresh_database().await;
    let house = postgres_at(&url).await;
    let (a, b) = (house.new_member("a").await, house.new_member("b").await);
    let term = house.stand(a).await.unwrap();
    let frozen = connect(&url).await;
    // As all sessions of a leader are.
    let session = format!("SET idle_in_transaction_session_timeout = 5000; SET malla.term = '{term}'");
    frozen.batch_execute(&session).await.unwrap();
    frozen.batch_execute("BEGIN; INSERT INTO grp (name, created_at) VALUES ('late', 0)").await.unwrap();
    house.wait(Duration::from_secs(60));
    let began = Instant::now();
    let next = loop {
        match house.cluster.campaign(b, Duration::from_secs(7)).await {
            Ok(leadership) if leadership.member == b => break leadership.term,
            other => assert!(matches!(other, Err(Error::Unavailable(_))), "{other:?}"),
        }
        assert!(began.elapsed() < Duration::from_secs(7), "{:?}", began.elapsed());
    };
    assert!(next > term);
    assert!(frozen.batch_execute("COMMIT").await.is_err());
    assert!(house.access.groups(&malla_queue::Scope::All, None, 9).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_election_waits_for_a_transaction_of_the_old_leader() {
    let url = fresh_database().await;
    let house = Arc::new(postgres_at(&url).await);
    let (a, b) = (house.new_member("a").await, house.new_member("b").await);
    let term = house.stand(a).await.unwrap();
    let writing = connect(&url).await;
    writing.batch_execute(&format!("SET malla.term = '{term}'")).await.unwrap();
    writing.batch_execute("BEGIN; INSERT INTO grp (name, created_at) VALUES ('in time', 0)").await.unwrap();
    house.wait(Duration::from_secs(60));
    let election = {
        let house = house.clone();
        tokio::spawn(async move { house.stand(b).await })
    };
    let waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let deadline = Instant::now() + PATIENCE;
    while writing.query(waiting, &[]).await.unwrap().is_empty() {
        assert!(Instant::now() < deadline, "the election does not wait for the leader's transaction");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!election.is_finished());
    writing.batch_execute("COMMIT").await.unwrap();
    assert!(election.await.unwrap() > Some(term));
    let late = writing.batch_execute("INSERT INTO grp (name, created_at) VALUES ('late', 0)").await.unwrap_err();
    assert_eq!(late.code().map(tokio_postgres::error::SqlState::code), Some("MA002"));
    assert_eq!(house.access.groups(&malla_queue::Scope::All, None, 9).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_table_is_outside_the_fence() {
    let url = fresh_database().await;
    postgres_at(&url).await;
    let outside = "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace \
                   AND relkind IN ('r', 'p') AND NOT relispartition \
                   AND NOT EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = pg_class.oid AND tgname = 'fence') ORDER BY 1";
    let rows = connect(&url).await.query(outside, &[]).await.unwrap();
    let outside: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(outside, ["cluster_term", "commit_token", "refinery_schema_history"], "SELECT malla_fence_tables()");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_keeps_working_while_another_one_brings_the_store_to_the_next_version() {
    let url = fresh_database().await;
    let house = postgres_at(&url).await;
    let before = house.submit(task("a")).await;
    let migration = "ALTER TABLE task ADD COLUMN extra TEXT; ALTER TABLE lane ADD COLUMN extra TEXT; \
                     CREATE TABLE novelty (id BIGINT PRIMARY KEY); SELECT malla_fence_tables(); \
                     INSERT INTO refinery_schema_history (version, name, applied_on, checksum) \
                     VALUES (900, 'novelty', '2026-01-01T00:00:00Z', '1')";
    connect(&url).await.batch_execute(migration).await.unwrap();
    let after = house.submit(task("a")).await;
    for id in [before, after] {
        let leased = house.lease_one().await;
        assert_eq!(leased.token.task, id);
        house.finish(&leased, crate::harness::done()).await.unwrap();
        assert_eq!(house.state(id).await, malla_queue::State::Succeeded);
    }
    house.verify().await;
    let clock = Arc::new(ManualClock::at(START));
    let refused = Postgres::open(&url, clock, Limits::default()).await.map(drop).unwrap_err().to_string();
    assert!(refused.contains("belongs to a newer version of Malla (schema 900"), "{refused}");
    assert!(refused.ends_with("use that version"), "{refused}");
}
