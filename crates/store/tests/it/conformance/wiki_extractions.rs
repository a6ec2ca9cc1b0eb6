//! Extractions: how they begin, go on and end, and who sees them.

use std::time::Duration;

use malla_access::AuditFilter;
use malla_queue::{Act, Clock as _, Error, Once, Scope};
use malla_wiki::{Committed, Counts, EXTRACT, ExtractionState, NewExtraction, PROBE, Settled, Step, WikiId};
use serde_json::{Value, json};

use crate::harness::{House, START, act, on_both_stores};
use crate::harness_wiki::{PAGE, new_extraction, new_task, step};

on_both_stores!(
    an_extraction_begins_with_its_first_task,
    while_one_is_under_way_it_answers_for_the_same,
    the_same_of_another_group_is_another,
    only_so_many_are_under_way_at_once,
    the_same_key_again_is_the_same_extraction,
    a_step_tells_how_far_it_is,
    what_a_step_does_not_know_stays,
    the_last_step_ends_it,
    what_is_over_stays_as_it_is,
    another_group_sees_nothing,
    extractions_are_listed_newest_first,
    what_is_too_long_is_refused,
    asking_is_in_the_audit_log,
);

async fn an_extraction_begins_with_its_first_task(house: House) {
    let extraction = house.extract("a").await;
    assert_eq!((extraction.state, extraction.asked.as_str()), (ExtractionState::Pending, "the page a"));
    assert_eq!((extraction.counts, extraction.note.clone()), (Counts::default(), None));
    assert_eq!((extraction.asked_at, extraction.started_at, extraction.finished_at), (START, None, None));
    assert_eq!(house.extraction(extraction.id).await, extraction);
    let leased = house.lease_wiki().await;
    assert_eq!(leased.kind.as_str(), EXTRACT);
    let payload: Value = serde_json::from_slice(&leased.payload).unwrap();
    assert_eq!(payload, json!({ "step": "first", "extraction": extraction.id.to_string() }));
    house.verify().await;
}

async fn while_one_is_under_way_it_answers_for_the_same(house: House) {
    let first = house.extract("a").await;
    house.wait(Duration::from_secs(5));
    assert_eq!(house.extract("a").await, first);
    let leased = house.lease_wiki().await;
    let settled = house.walked(&leased, Vec::new(), Vec::new());
    let settled = Settled { step: Some(step(first.id, ExtractionState::Succeeded)), ..settled };
    assert_eq!(house.wikis.commit(settled).await, Ok(Committed::Done));
    let second = house.extract("a").await;
    assert_ne!(second.id, first.id);
    assert_eq!(house.lease_wikis().await.len(), 1);
    house.verify().await;
}

async fn the_same_of_another_group_is_another(house: House) {
    let (one, two) = (house.group("sales").await, house.group("support").await);
    let mut ids = Vec::new();
    for group in [None, Some(one), Some(two), Some(one)] {
        let new = NewExtraction { group, ..new_extraction("a") };
        ids.push(house.wikis.extract(new, act("wiki.extract")).await.unwrap().id);
    }
    assert_eq!(ids[1], ids[3]);
    ids.dedup();
    assert_eq!((ids.len(), house.lease_wikis().await.len()), (4, 3));
}

async fn only_so_many_are_under_way_at_once(house: House) {
    let new = |key: &str| NewExtraction { extractions_max: 2, ..new_extraction(key) };
    let ask = |key| house.wikis.extract(new(key), act("wiki.extract"));
    let first = ask("a").await.unwrap();
    ask("b").await.unwrap();
    assert_eq!(
        ask("c").await,
        Err(Error::NotAvailable(
            "2 extractions are under way, and the limit is 2: try again when one has ended".into()
        ))
    );
    assert_eq!(ask("a").await, Ok(first), "one that is under way needs no place");
    assert_eq!(house.lease_wikis().await.len(), 2);
    house.verify().await;
}

async fn the_same_key_again_is_the_same_extraction(house: House) {
    let once = |fingerprint: &str| {
        let once = Once {
            scope: "ana".into(),
            key: "k".into(),
            fingerprint: fingerprint.into(),
            keep_for: Duration::from_secs(3_600),
        };
        Act { once: Some(once), ..act("wiki.extract") }
    };
    let first = house.wikis.extract(new_extraction("a"), once("x")).await.unwrap();
    house.wait(Duration::from_secs(5));
    assert_eq!(house.wikis.extract(new_extraction("a"), once("x")).await, Ok(first));
    assert_eq!(house.wikis.extract(new_extraction("a"), once("y")).await, Err(Error::KeyReused));
    assert_eq!(house.wikis.extractions(&Scope::All, None, 9).await.unwrap().len(), 1);
}

async fn a_step_tells_how_far_it_is(house: House) {
    let wiki = house.wiki().await;
    let id = house.extract("a").await.id;
    let leased = house.lease_wiki().await;
    house.wait(Duration::from_secs(5));
    let first = house.clock.now();
    let said = Step { wiki: Some(wiki), ..step(id, ExtractionState::InProgress) };
    let follow_ups = vec![new_task(PROBE), new_task(EXTRACT)];
    let settled = Settled { step: Some(said.clone()), ..house.walked(&leased, Vec::new(), follow_ups) };
    assert_eq!(house.wikis.commit(settled).await, Ok(Committed::Done));
    let extraction = house.extraction(id).await;
    assert_eq!((extraction.state, extraction.counts), (ExtractionState::InProgress, said.counts));
    assert_eq!((extraction.wiki, extraction.pageid), (Some(wiki), Some(PAGE)));
    assert_eq!((extraction.title, extraction.note), (Some("Mesh".into()), Some("reading the history".into())));
    assert_eq!((extraction.started_at, extraction.changed_at, extraction.finished_at), (Some(first), first, None));
    house.wait(Duration::from_secs(5));
    let next = house.lease_wikis().await.into_iter().find(|leased| leased.kind.as_str() == EXTRACT).unwrap();
    let settled = Settled { step: Some(said), ..house.walked(&next, Vec::new(), vec![new_task(EXTRACT)]) };
    house.wikis.commit(settled).await.unwrap();
    let extraction = house.extraction(id).await;
    assert_eq!((extraction.started_at, extraction.changed_at), (Some(first), house.clock.now()));
    house.verify().await;
}

async fn what_a_step_does_not_know_stays(house: House) {
    let id = house.extract("a").await.id;
    let known = Step { wiki: Some(WikiId(3)), ..step(id, ExtractionState::InProgress) };
    let unknown = Step { wiki: None, pageid: None, title: None, note: None, ..known.clone() };
    for said in [known, unknown] {
        let leased = house.lease_wiki().await;
        let settled = house.walked(&leased, Vec::new(), vec![new_task(EXTRACT)]);
        house.wikis.commit(Settled { step: Some(said), ..settled }).await.unwrap();
    }
    let extraction = house.extraction(id).await;
    assert_eq!((extraction.wiki, extraction.pageid), (Some(WikiId(3)), Some(PAGE)));
    assert_eq!((extraction.title, extraction.note), (Some("Mesh".into()), None));
}

async fn the_last_step_ends_it(house: House) {
    let failed = Step {
        note: Some("there is no\0 such page".into()),
        ..step(house.extract("a").await.id, ExtractionState::Failed)
    };
    let leased = house.lease_wiki().await;
    house.wait(Duration::from_secs(5));
    let settled = house.walked(&leased, Vec::new(), Vec::new());
    house.wikis.commit(Settled { step: Some(failed.clone()), ..settled }).await.unwrap();
    let extraction = house.extraction(failed.extraction).await;
    assert_eq!((extraction.state, extraction.finished_at), (ExtractionState::Failed, Some(house.clock.now())));
    assert!(extraction.note.is_some_and(|note| note.starts_with("there is no") && note.ends_with("such page")));
    house.verify().await;
}

async fn what_is_over_stays_as_it_is(house: House) {
    let id = house.extract("a").await.id;
    let leased = house.lease_wiki().await;
    let settled = house.walked(&leased, Vec::new(), vec![new_task(EXTRACT)]);
    let settled = Settled { step: Some(step(id, ExtractionState::Succeeded)), ..settled };
    house.wikis.commit(settled).await.unwrap();
    let before = house.extraction(id).await;
    house.wait(Duration::from_secs(5));
    let leased = house.lease_wiki().await;
    let settled = house.walked(&leased, Vec::new(), Vec::new());
    let settled = Settled { step: Some(step(id, ExtractionState::Failed)), ..settled };
    assert_eq!(house.wikis.commit(settled).await, Ok(Committed::Done));
    assert_eq!(house.extraction(id).await, before);
    house.verify().await;
}

async fn another_group_sees_nothing(house: House) {
    let (own, other) = (house.group("sales").await, house.group("support").await);
    let new = NewExtraction { group: Some(own), ..new_extraction("a") };
    let extraction = house.wikis.extract(new, act("wiki.extract")).await.unwrap();
    let (mine, theirs) = (Scope::Groups(vec![own]), Scope::Groups(vec![other]));
    assert_eq!(house.wikis.extraction(&mine, extraction.id).await, Ok(extraction.clone()));
    assert_eq!(house.wikis.extractions(&mine, None, 9).await.unwrap(), std::slice::from_ref(&extraction));
    let missing = Error::NotFound(format!("extraction {}", extraction.id));
    assert_eq!(house.wikis.extraction(&theirs, extraction.id).await, Err(missing));
    assert_eq!(house.wikis.extractions(&theirs, None, 9).await.unwrap(), []);
    let kept = house.access.delete_group("sales", act("group.delete")).await;
    assert!(kept.as_ref().is_err_and(|error| error.to_string().contains("extractions")), "{kept:?}");
}

async fn extractions_are_listed_newest_first(house: House) {
    let mut ids = Vec::new();
    for key in ["a", "b", "c", "d"] {
        ids.insert(0, house.extract(key).await.id);
        house.wait(Duration::from_secs(1));
    }
    let page = house.wikis.extractions(&Scope::All, None, 3).await.unwrap();
    assert_eq!(page.iter().map(|extraction| extraction.id).collect::<Vec<_>>(), ids[..3]);
    let rest = house.wikis.extractions(&Scope::All, Some(ids[2]), 3).await.unwrap();
    assert_eq!(rest.iter().map(|extraction| extraction.id).collect::<Vec<_>>(), ids[3..]);
}

async fn what_is_too_long_is_refused(house: House) {
    for key in [String::new(), "x".repeat(3_000)] {
        let refused = house.wikis.extract(new_extraction(&key), act("wiki.extract")).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    assert!(house.lease_wikis().await.is_empty());
}

async fn asking_is_in_the_audit_log(house: House) {
    let group = house.group("sales").await;
    let new = NewExtraction { group: Some(group), ..new_extraction("a") };
    house.wikis.extract(new, act("wiki.extract")).await.unwrap();
    let filter = AuditFilter { action: Some("wiki".into()), ..AuditFilter::default() };
    let lines = house.access.audit(&Scope::Groups(vec![group]), &filter, None, 9).await.unwrap();
    assert_eq!(lines.iter().map(|line| line.action.as_str()).collect::<Vec<_>>(), ["wiki.extract"]);
}
