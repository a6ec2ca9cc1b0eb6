//! Commits of pages: what is written, what is refused, and that it counts once.

use std::time::Duration;

use malla_queue::{Clock as _, Error, Event, Outcome, State, UnixMs, Verdict};
use malla_wiki::pipeline::{Collection, Column, Field, Plan, Type};
use malla_wiki::{
    Committed, EXTRACT, ExtractionState, Limits, PageChange, PageFacts, PageId, RevId, Revision, Settled, Value, WikiId,
};

use crate::harness::{House, LEASE, on_both_stores_and_objects};
use crate::harness_wiki::{PAGE, change, change_with_texts, mark, new_task, revision, step};

on_both_stores_and_objects!(
    a_new_page_is_kept_with_its_revisions,
    a_history_is_in_the_order_of_time_and_number,
    a_stale_change_writes_nothing_and_the_lease_is_held,
    one_stale_page_holds_up_the_others,
    a_lost_lease_is_refused_and_changes_nothing,
    the_same_commit_twice_counts_once,
    a_revision_that_comes_again_is_written_over_but_for_its_date,
    a_revision_moves_to_another_page,
    a_revision_whose_time_changes_is_there_once,
    hiding_erases_the_name,
    a_name_that_another_revision_has_stays,
    events_and_follow_ups_come_with_it,
    many_revisions_at_once_are_all_there,
    a_page_of_a_wiki_that_is_not_there_is_refused,
    a_page_twice_in_one_commit_is_refused,
    what_no_store_can_hold_is_replaced,
);

async fn a_new_page_is_kept_with_its_revisions(house: House) {
    let wiki = house.wiki().await;
    let kept = vec![
        Revision { user: None, userid: None, comment: None, parsed_comment: None, ..revision(1, 1) },
        Revision { anon: true, user: Some("127.0.0.1".into()), userid: Some(0), tags: Vec::new(), ..revision(2, 2) },
        Revision { sha1: None, text_hidden: true, tags: vec!["b".into(), "a".into()], ..revision(3, 3) },
    ];
    assert_eq!(
        house.put(PageChange { mark: Some(mark(3, 3)), ..change(wiki, kept.clone()) }).await,
        Ok(Committed::Done)
    );
    assert_eq!(house.history(wiki, PAGE).await, kept);
    assert_eq!(house.wikis.revision(wiki, RevId(2)).await.unwrap().as_ref(), Some(&kept[1]));
    assert_eq!(house.wikis.revision(wiki, RevId(4)).await, Ok(None));
    let page = house.page(wiki).await;
    assert_eq!((page.facts.title.as_str(), page.revisions, page.version), ("Mesh", 3, 1));
    assert_eq!((page.newest, page.mark, page.last_block), (Some(mark(3, 3)), Some(mark(3, 3)), None));
    let now = house.clock.now();
    assert_eq!((page.first_extraction, page.last_extraction, page.visited_at), (now, now, Some(now)));
    let counted = house.read_wiki(wiki).await;
    assert_eq!((counted.pages, counted.revisions), (1, 3));
    let mut known = house.wikis.known(wiki, &[3, 9, 1].map(RevId)).await.unwrap();
    known.sort_by_key(|known| known.revid);
    assert_eq!(
        known.iter().map(|known| (known.revid.0, known.pageid, known.at)).collect::<Vec<_>>(),
        [(1, PAGE, kept[0].at), (3, PAGE, kept[2].at)]
    );
    assert_eq!((known[0].user_hidden, known[0].comment_hidden, known[0].text_hidden), (true, true, false));
    assert_eq!((known[1].user_hidden, known[1].comment_hidden, known[1].text_hidden), (false, false, true));
    assert_eq!((known[0].size, known[0].sha1.clone(), known[1].sha1.clone()), (10, kept[0].sha1.clone(), None));
    house.verify().await;
}

async fn a_history_is_in_the_order_of_time_and_number(house: House) {
    let wiki = house.wiki().await;
    let revisions = [(9, 1), (2, 5), (1, 5), (5, 3), (4, 9)].map(|(revid, second)| revision(revid, second));
    house.change(change(wiki, revisions.to_vec())).await;
    let (mut read, mut after) = (Vec::new(), None);
    loop {
        let page = house.wikis.history(wiki, PAGE, after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.mark());
        read.extend(page.into_iter().map(|revision| revision.revid.0));
    }
    assert_eq!(read, [9, 5, 1, 2, 4]);
    assert_eq!(house.page(wiki).await.newest, Some(mark(4, 9)));
    house.verify().await;
}

async fn a_stale_change_writes_nothing_and_the_lease_is_held(house: House) {
    let wiki = house.wiki().await;
    house.change(change(wiki, vec![revision(1, 1)])).await;
    let (before, counted) = (house.page(wiki).await, house.read_wiki(wiki).await);
    let id = house.extract("a").await.id;
    let leased = house.lease_wiki().await;
    let stale = change_with_texts(wiki, &["one", "two"]);
    for version in [0, 2] {
        let changes = vec![PageChange { version, ..stale.clone() }];
        let settled = house.walked(&leased, changes, vec![new_task(EXTRACT)]);
        let settled = Settled { step: Some(step(id, ExtractionState::Succeeded)), ..settled };
        assert_eq!(house.wikis.commit(settled).await, Ok(Committed::Stale));
    }
    assert_eq!((house.page(wiki).await, house.read_wiki(wiki).await), (before, counted));
    assert_eq!(house.wikis.block(wiki, PAGE, 0).await, Ok(None));
    assert_eq!(house.extraction(id).await.state, ExtractionState::Pending);
    assert_eq!(house.state(leased.token.task).await, State::Running);
    assert!(house.lease_wikis().await.is_empty(), "no follow-up");
    house.verify().await;
    let fresh = PageChange { version: 1, ..stale };
    assert_eq!(house.wikis.commit(house.walked(&leased, vec![fresh], Vec::new())).await, Ok(Committed::Done));
    assert_eq!(house.page(wiki).await.revisions, 2);
}

async fn one_stale_page_holds_up_the_others(house: House) {
    let wiki = house.wiki().await;
    house.change(change(wiki, vec![revision(1, 1)])).await;
    let leased = house.leased_visit().await;
    let other = PageChange { pageid: PageId(8), ..change(wiki, vec![revision(2, 1)]) };
    let changes = vec![other.clone(), change(wiki, vec![revision(3, 1)])];
    assert_eq!(house.wikis.commit(house.walked(&leased, changes, Vec::new())).await, Ok(Committed::Stale));
    assert_eq!(house.page_if_any(wiki, PageId(8)).await, None);
    let changes = vec![other, PageChange { version: 1, ..change(wiki, vec![revision(3, 1)]) }];
    assert_eq!(house.wikis.commit(house.walked(&leased, changes, Vec::new())).await, Ok(Committed::Done));
    assert_eq!(house.read_wiki(wiki).await.revisions, 3);
    house.verify().await;
}

async fn a_lost_lease_is_refused_and_changes_nothing(house: House) {
    let wiki = house.wiki().await;
    let lost = house.leased_visit().await;
    house.wait(LEASE);
    house.queue.reap(100).await.unwrap();
    for version in [0, 5] {
        let late = PageChange { version, ..change(wiki, vec![revision(1, 1)]) };
        let late = house.walked(&lost, vec![late], vec![new_task(EXTRACT)]);
        assert_eq!(house.wikis.commit(late).await, Err(Error::LeaseLost(lost.token.task)));
    }
    assert_eq!(house.page_if_any(wiki, PAGE).await, None);
    assert_eq!(house.read_wiki(wiki).await.pages, 0);
    house.wait(LEASE);
    let again = house.lease_wiki().await;
    let settled = house.walked(&again, vec![change(wiki, vec![revision(1, 1)])], Vec::new());
    assert_eq!(house.wikis.commit(settled).await, Ok(Committed::Done));
    house.verify().await;
}

async fn the_same_commit_twice_counts_once(house: House) {
    let wiki = house.wiki().await;
    let leased = house.leased_visit().await;
    let settled = house.walked(&leased, vec![change(wiki, vec![revision(1, 1)])], vec![new_task(EXTRACT)]);
    for _ in 0..3 {
        assert_eq!(house.wikis.commit(settled.clone()).await, Ok(Committed::Done));
    }
    assert_eq!((house.page(wiki).await.version, house.read_wiki(wiki).await.revisions), (1, 1));
    assert_eq!(house.lease_wikis().await.len(), 1);
    house.verify().await;
}

/// The numbers of revisions and the dates of their extraction.
async fn dates(house: &House) -> Vec<(i64, UnixMs)> {
    let columns = ["revid", "extraction_date"].map(|name| Column { path: vec![name.into()], kind: Type::Whole });
    let plan = Plan {
        collection: Collection::Revisions,
        source: vec![Field::RevId, Field::ExtractionDate],
        stages: vec![malla_wiki::pipeline::Stage::Sort(vec![(0, false)])],
        columns: columns.to_vec(),
    };
    let limits = Limits { rows: 100, time: Duration::from_secs(10) };
    let rows = house.wikis.ask(&malla_queue::Scope::All, &plan, limits).await.unwrap();
    let read = |row: Vec<Value>| match row[..] {
        [Value::Whole(revid), Value::Date(at)] => (revid, at),
        ref other => panic!("{other:?}"),
    };
    rows.into_iter().map(read).collect()
}

async fn a_revision_that_comes_again_is_written_over_but_for_its_date(house: House) {
    let wiki = house.wiki().await;
    house.change(change(wiki, vec![revision(1, 1), revision(2, 2)])).await;
    let first = house.clock.now();
    house.wait(Duration::from_secs(60));
    let now = Revision {
        comment: None,
        tags: vec!["mobile".into()],
        minor: true,
        size: 7,
        user: Some("Ben".into()),
        ..revision(1, 1)
    };
    house.change(change(wiki, vec![now.clone(), revision(3, 3)])).await;
    assert_eq!(house.history(wiki, PAGE).await, [now, revision(2, 2), revision(3, 3)]);
    assert_eq!(dates(&house).await, [(1, first), (2, first), (3, house.clock.now())]);
    assert_eq!((house.page(wiki).await.revisions, house.read_wiki(wiki).await.revisions), (3, 3));
    house.verify().await;
}

async fn a_revision_moves_to_another_page(house: House) {
    let wiki = house.wiki().await;
    house.change(change(wiki, vec![revision(1, 1), revision(2, 2), revision(3, 3)])).await;
    let (first, before) = (house.clock.now(), house.page(wiki).await);
    house.wait(Duration::from_secs(60));
    let moved = Revision { pageid: PageId(8), ..revision(3, 3) };
    let other = PageChange {
        pageid: PageId(8),
        ..change(wiki, vec![moved.clone(), Revision { pageid: PageId(8), ..revision(4, 4) }])
    };
    assert_eq!(house.put(other).await, Ok(Committed::Done));
    let (left, other) = (house.page(wiki).await, house.page_if_any(wiki, PageId(8)).await.unwrap());
    assert_eq!((left.revisions, left.newest), (2, Some(mark(2, 2))));
    assert!(left.version > before.version, "a copy of the page it left is stale");
    assert_eq!((other.revisions, other.newest), (2, Some(mark(4, 4))));
    assert_eq!(house.wikis.revision(wiki, RevId(3)).await, Ok(Some(moved)));
    assert_eq!(house.history(wiki, PAGE).await.len(), 2);
    assert_eq!((house.read_wiki(wiki).await.pages, house.read_wiki(wiki).await.revisions), (2, 4));
    assert_eq!(dates(&house).await[2], (3, first));
    house.verify().await;
    house.change(change(wiki, vec![revision(3, 3), revision(4, 4)])).await;
    let emptied = house.page_if_any(wiki, PageId(8)).await.unwrap();
    assert_eq!((emptied.revisions, emptied.newest), (0, None));
    house.verify().await;
}

async fn a_revision_whose_time_changes_is_there_once(house: House) {
    let wiki = house.wiki().await;
    house.change(change(wiki, vec![revision(1, 1), revision(2, 9)])).await;
    house.change(change(wiki, vec![revision(2, 5), revision(1, 6)])).await;
    assert_eq!(house.history(wiki, PAGE).await, [revision(2, 5), revision(1, 6)]);
    assert_eq!((house.page(wiki).await.newest, house.page(wiki).await.revisions), (Some(mark(1, 6)), 2));
    house.verify().await;
}

async fn hiding_erases_the_name(house: House) {
    let wiki = house.wiki().await;
    let secret = Revision { user: Some("Secret Person".into()), ..revision(2, 2) };
    house.change(change(wiki, vec![revision(1, 1), secret.clone()])).await;
    let hidden = Revision { user: None, userid: None, ..secret.clone() };
    house.change(change(wiki, vec![hidden.clone()])).await;
    assert_eq!(house.history(wiki, PAGE).await, [revision(1, 1), hidden]);
    // It says so if a name is left that no revision has.
    house.verify().await;
    house.change(change(wiki, vec![secret.clone()])).await;
    assert_eq!(house.history(wiki, PAGE).await[1], secret);
    house.verify().await;
}

async fn a_name_that_another_revision_has_stays(house: House) {
    let (wiki, other) =
        (house.wiki().await, house.wikis.found(crate::harness_wiki::new_wiki("https://b.example/api.php")).await);
    house.change(change(wiki, vec![revision(1, 1), revision(2, 2)])).await;
    house.change(change(other.unwrap().id, vec![revision(1, 1)])).await;
    let hidden = |revid| Revision { user: None, userid: None, ..revision(revid, revid) };
    house.change(change(wiki, vec![hidden(1)])).await;
    assert_eq!(house.history(wiki, PAGE).await, [hidden(1), revision(2, 2)]);
    house.change(change(wiki, vec![hidden(2), revision(3, 3)])).await;
    assert_eq!(house.history(wiki, PAGE).await, [hidden(1), hidden(2), revision(3, 3)]);
    house.verify().await;
}

async fn events_and_follow_ups_come_with_it(house: House) {
    let wiki = house.wiki().await;
    let leased = house.leased_visit().await;
    let event = Event { kind: "wiki.revision".into(), group: None, body: b"{\"revid\":1}".to_vec() };
    let outcome = Outcome { events: vec![event], follow_ups: vec![new_task(EXTRACT)], ..Outcome::default() };
    let ending = house.ending(&leased, Verdict::Done(outcome));
    let settled = Settled { ending, ..house.walked(&leased, vec![change(wiki, vec![revision(1, 1)])], Vec::new()) };
    assert_eq!(house.wikis.commit(settled).await, Ok(Committed::Done));
    let told = house.notify.own_events(9).await.unwrap();
    assert_eq!(told.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(), ["wiki.revision"]);
    assert_eq!(house.lease_wiki().await.kind.as_str(), EXTRACT);
    assert_eq!(house.state(leased.token.task).await, State::Succeeded);
    house.verify().await;
}

async fn many_revisions_at_once_are_all_there(house: House) {
    let wiki = house.wiki().await;
    let user = |n: i64| Some(format!("User {}", n % 77));
    let mut revisions: Vec<_> = (1..=1_500).map(|n| Revision { user: user(n), ..revision(n, n / 3) }).collect();
    // One comes twice: what was said last counts.
    revisions.push(Revision { size: 5, ..revisions[9].clone() });
    house.change(change(wiki, revisions.clone())).await;
    let kept = house.history(wiki, PAGE).await;
    assert_eq!((kept.len(), house.page(wiki).await.revisions), (1_500, 1_500));
    assert_eq!((kept[9].size, kept[1_499].user.clone()), (5, user(1_500)));
    house.change(change(wiki, revisions)).await;
    assert_eq!((house.history(wiki, PAGE).await, house.read_wiki(wiki).await.revisions), (kept, 1_500));
    house.verify().await;
}

async fn a_page_of_a_wiki_that_is_not_there_is_refused(house: House) {
    let refused = house.put(change(WikiId(99), vec![revision(1, 1)])).await;
    assert_eq!(refused, Err(Error::NotFound("wiki 99".into())));
    house.verify().await;
}

async fn a_page_twice_in_one_commit_is_refused(house: House) {
    let wiki = house.wiki().await;
    let leased = house.leased_visit().await;
    let changes = vec![change(wiki, vec![revision(1, 1)]), change(wiki, vec![revision(2, 2)])];
    let refused = house.wikis.commit(house.walked(&leased, changes, Vec::new())).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    assert_eq!(house.state(leased.token.task).await, State::Running);
}

async fn what_no_store_can_hold_is_replaced(house: House) {
    let wiki = house.wiki().await;
    let odd = Revision {
        user: Some("a\0b".into()),
        comment: Some("c\0".into()),
        tags: vec!["t\0".into()],
        sha1: Some("\0".into()),
        ..revision(1, 1)
    };
    let facts = PageFacts { title: "x\0y".into(), ns: 4, deleted: true };
    for _ in 0..2 {
        house.change(PageChange { facts: facts.clone(), ..change(wiki, vec![odd.clone()]) }).await;
    }
    let kept = house.history(wiki, PAGE).await.remove(0);
    assert_eq!((kept.user.as_deref(), kept.comment.as_deref()), (Some("a\u{fffd}b"), Some("c\u{fffd}")));
    assert_eq!((kept.tags, kept.sha1.as_deref()), (vec!["t\u{fffd}".to_owned()], Some("\u{fffd}")));
    let facts = house.page(wiki).await.facts;
    assert_eq!((facts.title.as_str(), facts.ns, facts.deleted), ("x\u{fffd}y", 4, true));
    house.verify().await;
}
