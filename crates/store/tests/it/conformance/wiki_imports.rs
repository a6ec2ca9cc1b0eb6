//! Dumps that are read in: each batch once, in order.

use std::time::Duration;

use malla_access::AuditFilter;
use malla_queue::{Clock as _, Error, Scope, TaskId};
use malla_wiki::{Committed, Import, ImportId, Imported, NewImport, NewWiki, PageChange, PageId, WikiId};

use crate::harness::{House, START, act, on_both_stores_and_objects};
use crate::harness_wiki::{API, PAGE, change, change_with_texts, new_wiki, revision};

on_both_stores_and_objects!(
    an_import_begins_and_goes_on_under_its_name,
    batches_are_taken_in_and_counted,
    a_batch_that_was_taken_in_before_changes_nothing,
    a_batch_that_is_too_early_is_refused,
    a_finished_import_takes_nothing_more,
    a_stale_batch_writes_nothing,
    another_group_sees_nothing,
    imports_are_listed_newest_first,
);

fn dump(wiki: WikiId, pageid: i64, revids: std::ops::RangeInclusive<i64>) -> PageChange {
    let revisions = revids.map(|revid| revision(revid, revid)).collect();
    PageChange { pageid: PageId(pageid), visited: false, ..change(wiki, revisions) }
}

fn batch(import: &Import, batch: u64, changes: Vec<PageChange>) -> Imported {
    Imported { import: import.id, batch, changes, last: false }
}

impl House {
    async fn begin_import(&self, wiki: WikiId, name: &str) -> Import {
        let new = NewImport { wiki, name: name.into() };
        self.wikis.begin_import(&Scope::All, new, act("wiki.import")).await.expect("begins")
    }

    async fn import(&self, import: &Import) -> Import {
        self.wikis.import(&Scope::All, import.id).await.expect("the import is there")
    }
}

async fn an_import_begins_and_goes_on_under_its_name(house: House) {
    let wiki = house.wiki().await;
    let import = house.begin_import(wiki, "dump.xml").await;
    assert_eq!((import.wiki, import.name.as_str(), import.group), (wiki, "dump.xml", None));
    assert_eq!((import.batches, import.pages, import.revisions, import.finished), (0, 0, 0, false));
    assert_eq!((import.begun_at, import.changed_at), (START, START));
    house.wait(Duration::from_secs(5));
    assert_eq!(house.begin_import(wiki, "dump.xml").await, import);
    assert_ne!(house.begin_import(wiki, "other.xml").await.id, import.id);
    let other = house.wikis.found(new_wiki("https://b.example/api.php")).await.unwrap().id;
    assert_ne!(house.begin_import(other, "dump.xml").await.id, import.id);
    let new = NewImport { wiki: WikiId(99), name: "x".into() };
    let missing = house.wikis.begin_import(&Scope::All, new, act("wiki.import")).await;
    assert_eq!(missing, Err(Error::NotFound("wiki 99".into())));
    let filter = AuditFilter { action: Some("wiki.import".into()), ..AuditFilter::default() };
    assert_eq!(house.access.audit(&Scope::All, &filter, None, 9).await.unwrap().len(), 4);
}

async fn batches_are_taken_in_and_counted(house: House) {
    let wiki = house.wiki().await;
    let import = house.begin_import(wiki, "dump.xml").await;
    house.change(dump(wiki, 8, 4..=4)).await;
    house.wait(Duration::from_secs(5));
    let first = vec![PageChange { visited: false, ..change_with_texts(wiki, &["one", "two"]) }];
    assert_eq!(house.wikis.take_batch(batch(&import, 0, first)).await, Ok(Committed::Done));
    let second = vec![
        PageChange { version: 1, ..dump(wiki, PAGE.0, 3..=3) },
        PageChange { version: 1, ..dump(wiki, 8, 4..=6) },
        dump(wiki, 9, 7..=9),
    ];
    assert_eq!(house.wikis.take_batch(batch(&import, 1, second)).await, Ok(Committed::Done));
    let now = house.import(&import).await;
    assert_eq!((now.batches, now.pages, now.revisions, now.finished), (2, 2, 8, false), "what was not kept before");
    assert_eq!((now.begun_at, now.changed_at), (START, house.clock.now()));
    let counted = house.read_wiki(wiki).await;
    assert_eq!((counted.pages, counted.revisions, house.page(wiki).await.revisions), (3, 9, 3));
    assert!(house.wikis.block(wiki, PAGE, 0).await.unwrap().is_some());
    house.verify().await;
}

async fn a_batch_that_was_taken_in_before_changes_nothing(house: House) {
    let wiki = house.wiki().await;
    let import = house.begin_import(wiki, "dump.xml").await;
    let first = batch(&import, 0, vec![dump(wiki, 7, 1..=2)]);
    for _ in 0..2 {
        assert_eq!(house.wikis.take_batch(first.clone()).await, Ok(Committed::Done));
    }
    assert_eq!((house.import(&import).await.batches, house.page(wiki).await.version), (1, 1));
    let next = batch(&import, 1, vec![dump(wiki, 8, 3..=4)]);
    for again in [next.clone(), first, next] {
        assert_eq!(house.wikis.take_batch(again).await, Ok(Committed::Done));
    }
    let now = house.import(&import).await;
    assert_eq!((now.batches, now.pages, now.revisions), (2, 2, 4));
    house.verify().await;
}

async fn a_batch_that_is_too_early_is_refused(house: House) {
    let wiki = house.wiki().await;
    let import = house.begin_import(wiki, "dump.xml").await;
    let early = house.wikis.take_batch(batch(&import, 2, vec![dump(wiki, 7, 1..=2)])).await;
    assert_eq!(early, Err(Error::Conflict("batch 2 came too early: the next one has the number 0".into())));
    assert_eq!((house.import(&import).await, house.page_if_any(wiki, PAGE).await), (import, None));
    let unknown = ImportId(TaskId(5));
    let missing = Imported { import: unknown, batch: 0, changes: Vec::new(), last: true };
    assert_eq!(house.wikis.take_batch(missing).await, Err(Error::NotFound(format!("import {unknown}"))));
}

async fn a_finished_import_takes_nothing_more(house: House) {
    let wiki = house.wiki().await;
    let import = house.begin_import(wiki, "dump.xml").await;
    let last = Imported { last: true, ..batch(&import, 0, vec![dump(wiki, 7, 1..=2)]) };
    for _ in 0..2 {
        assert_eq!(house.wikis.take_batch(last.clone()).await, Ok(Committed::Done));
    }
    assert!(house.import(&import).await.finished);
    assert!(house.begin_import(wiki, "dump.xml").await.finished);
    let more = house.wikis.take_batch(batch(&import, 1, vec![])).await;
    assert_eq!(more, Err(Error::Conflict(format!("the import {} is finished: nothing more can come", import.id))));
}

async fn a_stale_batch_writes_nothing(house: House) {
    let wiki = house.wiki().await;
    let import = house.begin_import(wiki, "dump.xml").await;
    house.change(dump(wiki, 8, 4..=4)).await;
    let changes = vec![dump(wiki, 7, 1..=2), dump(wiki, 8, 3..=3)];
    assert_eq!(house.wikis.take_batch(batch(&import, 0, changes)).await, Ok(Committed::Stale));
    assert_eq!((house.import(&import).await, house.page_if_any(wiki, PAGE).await), (import.clone(), None));
    let changes = vec![dump(wiki, 7, 1..=2), PageChange { version: 1, ..dump(wiki, 8, 3..=3) }];
    assert_eq!(house.wikis.take_batch(batch(&import, 0, changes)).await, Ok(Committed::Done));
    house.verify().await;
}

async fn another_group_sees_nothing(house: House) {
    let (own, other) = (house.group("sales").await, house.group("support").await);
    let wiki = house.wikis.found(NewWiki { group: Some(own), ..new_wiki(API) }).await.unwrap().id;
    let import = house.begin_import(wiki, "dump.xml").await;
    assert_eq!(import.group, Some(own));
    let (mine, theirs) = (Scope::Groups(vec![own]), Scope::Groups(vec![other]));
    assert_eq!(house.wikis.import(&mine, import.id).await, Ok(import.clone()));
    assert_eq!(house.wikis.imports(&mine, None, 9).await.unwrap(), std::slice::from_ref(&import));
    let missing = Error::NotFound(format!("import {}", import.id));
    assert_eq!(house.wikis.import(&theirs, import.id).await, Err(missing));
    assert_eq!(house.wikis.imports(&theirs, None, 9).await.unwrap(), []);
    let new = NewImport { wiki, name: "dump.xml".into() };
    let refused = house.wikis.begin_import(&theirs, new, act("wiki.import")).await;
    assert_eq!(refused, Err(Error::NotFound(format!("wiki {wiki}"))));
}

async fn imports_are_listed_newest_first(house: House) {
    let wiki = house.wiki().await;
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        ids.insert(0, house.begin_import(wiki, name).await.id);
        house.wait(Duration::from_secs(1));
    }
    let page = house.wikis.imports(&Scope::All, None, 2).await.unwrap();
    assert_eq!(page.iter().map(|import| import.id).collect::<Vec<_>>(), ids[..2]);
    let rest = house.wikis.imports(&Scope::All, Some(ids[1]), 2).await.unwrap();
    assert_eq!(rest.iter().map(|import| import.id).collect::<Vec<_>>(), ids[2..]);
}
