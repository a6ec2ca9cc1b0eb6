//! Verbs of wiki at the same time: no revision is lost, and nothing counts twice.

use std::sync::Arc;

use futures_util::future::join_all;
use malla_queue::Error;
use malla_wiki::{Committed, NewExtraction, PageChange, PageId, Revision, VISIT, WikiId};

use crate::harness::{House, act, on_both_stores_and_objects};
use crate::harness_wiki::{PAGE, change, new_extraction, new_task, revision};

on_both_stores_and_objects!(
    the_same_page_asked_for_many_times_at_once_is_one_extraction,
    the_last_place_goes_to_one,
    of_changes_from_one_copy_one_is_written,
    changes_that_are_made_again_are_all_written_in_the_end,
    names_that_come_and_go_at_the_same_time_stay_right,
);

async fn the_same_page_asked_for_many_times_at_once_is_one_extraction(house: House) {
    let asked =
        join_all((0..12).map(|n| house.wikis.extract(new_extraction(["a", "b"][n % 2]), act("wiki.extract")))).await;
    let mut ids: Vec<_> = asked.into_iter().map(|extraction| extraction.unwrap().id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), house.lease_wikis().await.len()), (2, 2));
    house.verify().await;
}

async fn the_last_place_goes_to_one(house: House) {
    let new = |n: usize| NewExtraction { extractions_max: 3, ..new_extraction(&n.to_string()) };
    let asked = join_all((0..10).map(|n| house.wikis.extract(new(n), act("wiki.extract")))).await;
    assert_eq!(asked.iter().filter(|asked| asked.is_ok()).count(), 3);
    assert!(asked.iter().flat_map(|asked| asked.as_ref().err()).all(|why| matches!(why, Error::NotAvailable(_))));
}

async fn of_changes_from_one_copy_one_is_written(house: House) {
    let house = Arc::new(house);
    let wiki = house.wiki().await;
    for round in 0..5 {
        let version = house.page_if_any(wiki, PAGE).await.map_or(0, |page| page.version);
        let mut commits = Vec::new();
        for n in 0..8 {
            let leased = house.leased_visit().await;
            let revid = 10 * round + n + 1;
            let made = PageChange { version, ..change(wiki, vec![revision(revid, revid)]) };
            let (house, settled) = (house.clone(), house.walked(&leased, vec![made], Vec::new()));
            commits.push(tokio::spawn(async move { house.wikis.commit(settled).await.unwrap() }));
        }
        let done =
            join_all(commits).await.into_iter().filter(|done| *done.as_ref().unwrap() == Committed::Done).count();
        assert_eq!(done, 1);
        // The others still hold their leases.
        for held in house.queue.tasks(&running(), None, 50).await.unwrap().tasks {
            house
                .queue
                .act_on(&malla_queue::Scope::All, held.id, malla_queue::Move::Discard, act("task.discard"))
                .await
                .unwrap();
        }
    }
    assert_eq!(house.page(wiki).await.revisions, 5);
    house.verify().await;
}

fn running() -> malla_queue::TaskFilter {
    let states = vec![malla_queue::State::Running];
    malla_queue::TaskFilter { states, ..malla_queue::TaskFilter::all(malla_queue::Scope::All) }
}

/// Writes a change, made again from a new copy as often as it takes.
async fn write(house: &House, leased: malla_queue::Leased, wiki: WikiId, pageid: PageId, revisions: Vec<Revision>) {
    for _ in 0..1_000 {
        let version = house.page_if_any(wiki, pageid).await.map_or(0, |page| page.version);
        let made = PageChange { version, pageid, ..change(wiki, revisions.clone()) };
        if house.wikis.commit(house.walked(&leased, vec![made], Vec::new())).await.unwrap() == Committed::Done {
            return;
        }
    }
    panic!("it never fits");
}

async fn changes_that_are_made_again_are_all_written_in_the_end(house: House) {
    let house = Arc::new(house);
    let wiki = house.wiki().await;
    for _ in 0..12 {
        house.submit(new_task(VISIT)).await;
    }
    let writers = house.lease_wikis().await.into_iter().zip(0..).map(|(leased, n)| {
        let house = house.clone();
        // Some move revisions between the two pages.
        let revisions = (0..4).map(|m| revision(3 * n + m + 1, n + m)).collect();
        tokio::spawn(async move { write(&house, leased, wiki, PageId(7 + n % 2), revisions).await })
    });
    for done in join_all(writers.collect::<Vec<_>>()).await {
        done.unwrap();
    }
    let pages = [house.page(wiki).await, house.page_if_any(wiki, PageId(8)).await.unwrap()];
    assert_eq!(pages.iter().map(|page| page.revisions).sum::<u64>(), 37);
    assert_eq!(house.read_wiki(wiki).await.revisions, 37);
    house.verify().await;
}

async fn names_that_come_and_go_at_the_same_time_stay_right(house: House) {
    let house = Arc::new(house);
    let wiki = house.wiki().await;
    for round in 0..6 {
        for _ in 0..8 {
            house.submit(new_task(VISIT)).await;
        }
        let writers = house.lease_wikis().await.into_iter().zip(0..).map(|(leased, n)| {
            let house = house.clone();
            let user = ((n + round) % 3 > 0).then(|| ["Ana", "Ben"][usize::try_from(n % 2).unwrap_or(0)].to_owned());
            let of_page = Revision { user, ..revision(n + 1, 1) };
            tokio::spawn(async move { write(&house, leased, wiki, PageId(n), vec![of_page]).await })
        });
        for done in join_all(writers.collect::<Vec<_>>()).await {
            done.unwrap();
        }
        house.verify().await;
    }
}
