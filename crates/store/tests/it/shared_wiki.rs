//! Wikis at several nodes of the shared store.

use std::sync::Arc;

use futures_util::future::join_all;
use malla_queue::{Error, Scope};
use malla_wiki::{Committed, ExtractionState, Imported, NewImport, PageChange, PageId, Revision, Settled};

use crate::harness::{House, act, fresh_database, postgres_at};
use crate::harness_wiki::{PAGE, change, change_with_texts, new_extraction, revision, step};
use crate::shared::{cut, recovered};

async fn two_nodes() -> (String, Arc<House>, Arc<House>) {
    let url = fresh_database().await;
    let one = Arc::new(postgres_at(&url).await);
    let other = Arc::new(postgres_at(&url).await);
    (url, one, other)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_two_nodes_bring_at_once_is_written_by_one() {
    let (_, one, other) = two_nodes().await;
    let wiki = one.wiki().await;
    for round in 0..20 {
        let pageid = PageId(100 + round);
        let mut commits = Vec::new();
        for (node, revid) in [(&one, 2 * round + 1), (&other, 2 * round + 2)] {
            let leased = node.leased_visit().await;
            let made = PageChange { pageid, ..change(wiki, vec![Revision { pageid, ..revision(revid, revid) }]) };
            let (node, settled) = (node.clone(), node.walked(&leased, vec![made], Vec::new()));
            commits.push(tokio::spawn(async move {
                let committed = node.wikis.commit(settled.clone()).await.unwrap();
                if committed == Committed::Stale {
                    let version = node.page_if_any(wiki, pageid).await.unwrap().version;
                    let changes = settled.changes.iter().map(|made| PageChange { version, ..made.clone() }).collect();
                    let again = node.wikis.commit(Settled { changes, ..settled }).await;
                    assert_eq!(again, Ok(Committed::Done));
                }
                committed
            }));
        }
        let mut committed: Vec<_> = join_all(commits).await.into_iter().map(Result::unwrap).collect();
        committed.sort_by_key(|committed| *committed == Committed::Stale);
        assert_eq!(committed, [Committed::Done, Committed::Stale]);
        assert_eq!(one.history(wiki, pageid).await.len(), 2);
    }
    let counted = other.read_wiki(wiki).await;
    assert_eq!((counted.pages, counted.revisions), (20, 40));
    one.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_page_asked_for_at_two_nodes_is_one_extraction() {
    let (_, one, other) = two_nodes().await;
    for round in 0..10 {
        let ask = |node: &Arc<House>| {
            let (wikis, new) = (node.wikis.clone(), new_extraction(&round.to_string()));
            async move { wikis.extract(new, act("wiki.extract")).await.unwrap().id }
        };
        let mut ids = join_all([&one, &other, &one, &other].map(ask)).await;
        ids.dedup();
        assert_eq!(ids.len(), 1);
    }
    assert_eq!(one.lease_wikis().await.len(), 10);
    one.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_one_node_hides_and_another_brings_is_there() {
    let (_, one, other) = two_nodes().await;
    let wiki = one.wiki().await;
    for round in 1..=15 {
        let kept = revision(2 * round, round);
        one.change(change(wiki, vec![kept.clone()])).await;
        let version = one.page(wiki).await.version;
        let hidden = PageChange { version, ..change(wiki, vec![Revision { user: None, ..kept }]) };
        let elsewhere = PageId(100 + round);
        let brought = PageChange { pageid: elsewhere, ..change(wiki, vec![revision(2 * round + 1, round)]) };
        let mut commits = Vec::new();
        for (node, made) in [(&one, hidden), (&other, brought)] {
            let leased = node.leased_visit().await;
            let (node, settled) = (node.clone(), node.walked(&leased, vec![made], Vec::new()));
            commits.push(tokio::spawn(async move { node.wikis.commit(settled).await }));
        }
        for committed in join_all(commits).await {
            assert_eq!(committed.unwrap(), Ok(Committed::Done));
        }
        assert_eq!(one.history(wiki, elsewhere).await[0].user.as_deref(), Some("Ana"));
        let gone = PageChange {
            version: 1,
            pageid: elsewhere,
            ..change(wiki, vec![Revision { user: None, ..revision(2 * round + 1, round) }])
        };
        assert_eq!(other.put(gone).await, Ok(Committed::Done));
        one.verify().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_two_nodes_take_in_at_once_counts_once() {
    let (_, one, other) = two_nodes().await;
    let wiki = one.wiki().await;
    let new = NewImport { wiki, name: "dump.xml".into() };
    let begin = |node: &Arc<House>| {
        let (wikis, new) = (node.wikis.clone(), new.clone());
        async move { wikis.begin_import(&Scope::All, new, act("wiki.import")).await.unwrap() }
    };
    let begun = join_all([&one, &other].map(begin)).await;
    assert_eq!(begun[0], begun[1]);
    for number in 0..10 {
        let pageid = PageId(i64::try_from(number).unwrap() + 1);
        let changes = vec![PageChange { pageid, ..change(wiki, vec![revision(pageid.0, 1)]) }];
        let batch = Imported { import: begun[0].id, batch: number, changes, last: number == 9 };
        let take = |node: &Arc<House>| {
            let (wikis, batch) = (node.wikis.clone(), batch.clone());
            async move { wikis.take_batch(batch).await.unwrap() }
        };
        let taken = join_all([&one, &other, &one].map(take)).await;
        assert_eq!(taken, [Committed::Done; 3]);
    }
    let import = other.wikis.import(&Scope::All, begun[0].id).await.unwrap();
    assert_eq!((import.batches, import.pages, import.revisions, import.finished), (10, 10, 10, true));
    one.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_connection_is_lost_may_be_given_again() {
    let (url, house, _) = two_nodes().await;
    let wiki = house.wiki().await;
    let id = house.extract("a").await.id;
    let leased = house.lease_wiki().await;
    let settled = house.walked(&leased, vec![change_with_texts(wiki, &["one", "two"])], Vec::new());
    let settled = Settled { step: Some(step(id, ExtractionState::Succeeded)), ..settled };
    let (wikis, first) = (house.wikis.clone(), settled.clone());
    let lost = cut(&url, async move { wikis.commit(first).await }).await;
    assert!(matches!(lost, Err(Error::Unavailable(_))), "{lost:?}");
    recovered(&house).await;
    assert_eq!(house.page_if_any(wiki, PAGE).await, None);
    assert_eq!(house.extraction(id).await.state, ExtractionState::Pending);
    for _ in 0..2 {
        assert_eq!(house.wikis.commit(settled.clone()).await, Ok(Committed::Done));
    }
    assert_eq!(house.page(wiki).await.revisions, 2);
    house.verify().await;
}
