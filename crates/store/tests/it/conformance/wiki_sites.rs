//! Wikis and pages: how they are noted, seen and watched.

use std::time::Duration;

use malla_access::AuditFilter;
use malla_queue::{Error, Scope};
use malla_wiki::{NewWiki, PageChange, PageId, WikiId};
use serde_json::json;

use crate::harness::{House, START, act, on_both_stores};
use crate::harness_wiki::{API, PAGE, change, new_wiki, revision};

on_both_stores!(
    a_wiki_is_noted_as_it_was_found,
    a_wiki_that_is_found_again_stays_the_same,
    wikis_are_found_by_their_host,
    another_group_sees_nothing,
    a_group_with_wikis_stays,
    wikis_are_listed_in_their_order,
    pages_are_listed_in_the_order_of_their_numbers,
    a_page_is_watched_until_somebody_says_otherwise,
);

async fn a_wiki_is_noted_as_it_was_found(house: House) {
    let wiki = house.wikis.found(new_wiki(API)).await.unwrap();
    assert_eq!((wiki.api.as_str(), wiki.locale.as_str(), wiki.name.as_str()), (API, "en", "Example"));
    assert_eq!((wiki.about["general"]["sitename"].as_str(), wiki.scraped), (Some("Example"), false));
    assert_eq!((wiki.found_at, wiki.pages, wiki.revisions, wiki.visits), (START, 0, 0, 0));
    assert_eq!(house.read_wiki(wiki.id).await, wiki);
    assert_eq!(house.wikis.wiki(&Scope::All, WikiId(99)).await, Err(Error::NotFound("wiki 99".into())));
}

async fn a_wiki_that_is_found_again_stays_the_same(house: House) {
    let first = house.wikis.found(new_wiki(API)).await.unwrap();
    house.change(change(first.id, vec![revision(1, 1)])).await;
    house.wait(Duration::from_secs(5));
    let now = NewWiki { name: "Renamed".into(), about: json!({ "x": "\0" }), scraped: true, ..new_wiki(API) };
    let again = house.wikis.found(now).await.unwrap();
    assert_eq!((again.id, again.found_at, again.pages, again.revisions), (first.id, START, 1, 1));
    assert_eq!((again.name.as_str(), again.about, again.scraped), ("Renamed", json!({ "x": "\0" }), true));
    let other = house.wikis.found(new_wiki("https://en.example.org/other/api.php")).await.unwrap();
    assert_ne!(other.id, first.id);
}

async fn wikis_are_found_by_their_host(house: House) {
    let group = house.group("sales").await;
    let first = house.wiki().await;
    let second = house.wikis.found(new_wiki("https://en.example.org/b/api.php")).await.unwrap().id;
    house.wikis.found(new_wiki("http://en.example.org/w/api.php")).await.unwrap();
    house.wikis.found(new_wiki("https://de.example.org/w/api.php")).await.unwrap();
    let own = house.wikis.found(NewWiki { group: Some(group), ..new_wiki(API) }).await.unwrap().id;
    let at = async |group, origin: &str| {
        let wikis = house.wikis.wikis_at(group, origin).await.unwrap();
        wikis.into_iter().map(|wiki| wiki.id).collect::<Vec<_>>()
    };
    assert_eq!(at(None, "https://en.example.org:443").await, [first, second]);
    assert_eq!(at(Some(group), "https://en.example.org:443").await, [own]);
    assert_eq!(at(None, "http://en.example.org:80").await.len(), 1);
    assert_eq!(at(None, "https://en.example.org").await, []);
}

async fn another_group_sees_nothing(house: House) {
    let (own, other) = (house.group("sales").await, house.group("support").await);
    let wiki = house.wikis.found(NewWiki { group: Some(own), ..new_wiki(API) }).await.unwrap();
    house.change(change(wiki.id, vec![revision(1, 1)])).await;
    let wiki = house.read_wiki(wiki.id).await;
    let (mine, theirs) = (Scope::Groups(vec![own]), Scope::Groups(vec![other]));
    let missing = Error::NotFound(format!("wiki {}", wiki.id));
    assert_eq!(house.wikis.wiki(&mine, wiki.id).await, Ok(wiki.clone()));
    assert_eq!(house.wikis.wikis(&mine, None, 9).await.unwrap(), std::slice::from_ref(&wiki));
    assert_eq!(house.wikis.wiki(&theirs, wiki.id).await, Err(missing.clone()));
    assert_eq!(house.wikis.wikis(&theirs, None, 9).await.unwrap(), []);
    let watch = |scope: Scope| {
        let wikis = house.wikis.clone();
        async move { wikis.watch(&scope, wiki.id, PAGE, false, act("wiki.watch")).await }
    };
    assert_eq!(watch(theirs).await, Err(missing));
    assert!(house.page(wiki.id).await.watched);
    assert!(watch(mine).await.is_ok_and(|page| !page.watched));
}

async fn a_group_with_wikis_stays(house: House) {
    let group = house.group("sales").await;
    house.wikis.found(NewWiki { group: Some(group), ..new_wiki(API) }).await.unwrap();
    let kept = house.access.delete_group("sales", act("group.delete")).await;
    assert!(kept.as_ref().is_err_and(|error| error.to_string().contains("wikis")), "{kept:?}");
}

async fn wikis_are_listed_in_their_order(house: House) {
    let mut ids = Vec::new();
    for language in ["a", "b", "c"] {
        ids.push(house.wikis.found(new_wiki(&format!("https://{language}.example.org/api.php"))).await.unwrap().id);
    }
    let first = house.wikis.wikis(&Scope::All, None, 2).await.unwrap();
    assert_eq!(first.iter().map(|wiki| wiki.id).collect::<Vec<_>>(), ids[..2]);
    let rest = house.wikis.wikis(&Scope::All, Some(ids[1]), 2).await.unwrap();
    assert_eq!(rest.iter().map(|wiki| wiki.id).collect::<Vec<_>>(), ids[2..]);
}

async fn pages_are_listed_in_the_order_of_their_numbers(house: House) {
    let wiki = house.wiki().await;
    for pageid in [30, 4, 100] {
        house.change(PageChange { pageid: PageId(pageid), ..change(wiki, vec![revision(pageid, 1)]) }).await;
    }
    let numbers = async |after: Option<i64>, limit| {
        let pages = house.wikis.pages(wiki, after.map(PageId), limit).await.unwrap();
        pages.into_iter().map(|page| page.pageid.0).collect::<Vec<_>>()
    };
    assert_eq!(numbers(None, 2).await, [4, 30]);
    assert_eq!(numbers(Some(30), 2).await, [100]);
    let page = house.wikis.pages(wiki, Some(PageId(30)), 1).await.unwrap().remove(0);
    assert_eq!(Some(page), house.page_if_any(wiki, PageId(100)).await);
    house.verify().await;
}

async fn a_page_is_watched_until_somebody_says_otherwise(house: House) {
    let wiki = house.wiki().await;
    house.change(change(wiki, vec![revision(1, 1)])).await;
    let before = house.page(wiki).await;
    assert!(before.watched);
    let watch = |pageid, watched| house.wikis.watch(&Scope::All, wiki, pageid, watched, act("wiki.watch"));
    let after = watch(PAGE, false).await.unwrap();
    assert_eq!((after.watched, after.version), (false, before.version), "a copy that was made is still good");
    assert_eq!(house.page(wiki).await, after);
    assert!(watch(PAGE, true).await.unwrap().watched);
    let missing = Error::NotFound(format!("page 8 of wiki {wiki}"));
    assert_eq!(watch(PageId(8), false).await, Err(missing));
    let filter = AuditFilter { action: Some("wiki.watch".into()), ..AuditFilter::default() };
    assert_eq!(house.access.audit(&Scope::All, &filter, None, 9).await.unwrap().len(), 2);
}
