//! What is noted of a page beside its revisions: how far it is kept, when it was looked at, how often it changes.

use std::time::Duration;

use malla_queue::Clock as _;
use malla_wiki::{Committed, PageChange, PageFacts, PageId, Pulse, Settled, Visited};

use crate::harness::{House, on_both_stores};
use crate::harness_wiki::{PAGE, at, change, mark, revision};

on_both_stores!(
    a_mark_stays_until_there_is_another,
    a_page_is_complete_since_the_first_time,
    a_pulse_is_taken_of_the_newest_revisions,
    a_page_without_revisions_has_no_pulse,
    what_the_wiki_says_of_a_page_is_written_over,
    a_dump_is_no_visit,
    visits_count_against_the_day,
);

const HOUR: Duration = Duration::from_secs(3_600);

async fn a_mark_stays_until_there_is_another(house: House) {
    let wiki = house.wiki().await;
    house.change(PageChange { mark: Some(mark(1, 1)), ..change(wiki, vec![revision(1, 1)]) }).await;
    house.change(change(wiki, vec![revision(2, 2)])).await;
    let page = house.page(wiki).await;
    assert_eq!((page.mark, page.newest), (Some(mark(1, 1)), Some(mark(2, 2))));
    house.change(PageChange { mark: Some(mark(2, 2)), ..change(wiki, vec![]) }).await;
    assert_eq!(house.page(wiki).await.mark, Some(mark(2, 2)));
    assert_eq!(house.page(wiki).await.version, 3);
    house.verify().await;
}

async fn a_page_is_complete_since_the_first_time(house: House) {
    let wiki = house.wiki().await;
    house.change(change(wiki, vec![revision(1, 1)])).await;
    let page = house.page(wiki).await;
    assert_eq!((page.complete_at, page.reconciled_at, page.pulse), (None, None, None));
    house.wait(HOUR);
    let first = house.clock.now();
    let end = PageChange { complete: true, reconciled: true, ..change(wiki, vec![]) };
    house.change(end.clone()).await;
    house.wait(HOUR);
    house.change(end).await;
    let page = house.page(wiki).await;
    assert_eq!((page.complete_at, page.reconciled_at), (Some(first), Some(house.clock.now())));
    house.wait(HOUR);
    house.change(change(wiki, vec![])).await;
    let after = house.page(wiki).await;
    assert_eq!(
        (after.complete_at, after.reconciled_at, after.pulse),
        (page.complete_at, page.reconciled_at, page.pulse)
    );
}

async fn a_pulse_is_taken_of_the_newest_revisions(house: House) {
    let wiki = house.wiki().await;
    let complete =
        |from, to| PageChange { complete: true, ..change(wiki, (from..=to).map(|n| revision(n, 100 * n)).collect()) };
    let check = async |edits, first: i64, last: i64| {
        let expected = Pulse { edits, first: at(100 * first), last: at(100 * last) };
        assert_eq!(house.page(wiki).await.pulse, Some(expected));
    };
    house.change(complete(1, 5)).await;
    check(5, 1, 5).await;
    house.change(complete(6, 50)).await;
    check(20, 31, 50).await;
    house.change(complete(51, 300)).await;
    check(30, 271, 300).await;
    house.change(change(wiki, vec![revision(301, 30_100)])).await;
    check(30, 271, 300).await;
}

async fn a_page_without_revisions_has_no_pulse(house: House) {
    let wiki = house.wiki().await;
    house.change(PageChange { complete: true, ..change(wiki, vec![]) }).await;
    let page = house.page(wiki).await;
    assert_eq!((page.pulse, page.newest, page.revisions), (None, None, 0));
    assert_eq!(house.read_wiki(wiki).await.pages, 1);
    house.verify().await;
}

async fn what_the_wiki_says_of_a_page_is_written_over(house: House) {
    let wiki = house.wiki().await;
    house.change(change(wiki, vec![revision(1, 1)])).await;
    let facts = PageFacts { title: "Net".into(), ns: 2, deleted: true };
    house.change(PageChange { facts: facts.clone(), ..change(wiki, vec![]) }).await;
    let page = house.page(wiki).await;
    assert_eq!((page.facts, page.revisions), (facts, 1));
}

async fn a_dump_is_no_visit(house: House) {
    let wiki = house.wiki().await;
    let dump = |revid| PageChange { visited: false, ..change(wiki, vec![revision(revid, revid)]) };
    let first = house.clock.now();
    house.change(dump(1)).await;
    house.wait(HOUR);
    house.change(dump(2)).await;
    let page = house.page(wiki).await;
    assert_eq!((page.first_extraction, page.last_extraction, page.visited_at), (first, first, None));
    house.change(change(wiki, vec![revision(3, 3)])).await;
    let (page, now) = (house.page(wiki).await, house.clock.now());
    assert_eq!((page.first_extraction, page.last_extraction, page.visited_at), (first, now, Some(now)));
}

async fn visits_count_against_the_day(house: House) {
    let wiki = house.wiki().await;
    house.change(change(wiki, vec![revision(1, 1)])).await;
    let version = house.page(wiki).await.version;
    let visit = async |pages: &[i64]| {
        house.wait(HOUR);
        let leased = house.leased_visit().await;
        let visited = Visited { wiki, pages: pages.iter().copied().map(PageId).collect() };
        let settled = Settled { visited: Some(visited), ..house.walked(&leased, Vec::new(), Vec::new()) };
        for _ in 0..2 {
            assert_eq!(house.wikis.commit(settled.clone()).await, Ok(Committed::Done));
        }
        let wiki = house.read_wiki(wiki).await;
        assert_eq!(wiki.visits_day, house.clock.now().0 / 86_400_000);
        wiki.visits
    };
    assert_eq!(visit(&[PAGE.0, 99]).await, 2);
    let page = house.page(wiki).await;
    assert_eq!((page.visited_at, page.version), (Some(house.clock.now()), version), "nothing was written to it");
    assert!(page.last_extraction < house.clock.now());
    assert_eq!(visit(&[98]).await, 3);
    house.wait(24 * HOUR);
    assert_eq!(visit(&[PAGE.0]).await, 1);
    house.change(change(wiki, vec![revision(2, 2)])).await;
    assert_eq!(house.read_wiki(wiki).await.visits, 1, "what somebody asked for does not count");
    house.verify().await;
}
