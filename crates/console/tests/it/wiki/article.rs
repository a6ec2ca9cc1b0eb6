//! One article in the console.

use axum::http::StatusCode;
use malla_wiki::{PageId, Wikis as _};

use super::sparrow;
use crate::house::{House, form};

#[tokio::test]
async fn an_article_shows_its_history_in_charts_and_lines() {
    let house = House::new().await;
    let (wiki, path) = sparrow(&house).await;
    let page = house.sign_in("ana").await.get(&path).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.body);
    for text in [
        "<h1>House sparrow</h1>",
        "complete",
        "Edits a month",
        "Size over time",
        "Hours and days",
        "Between two edits",
        "edit 103",
        "<span class=\"grew\">+16</span>",
        "<span class=\"shrank\">−22</span>",
        ">minor<",
        ">anonymous<",
        "type=\"radio\" name=\"from\" value=\"102\" checked",
        "https://en.wiki.test/w/index.php?curid=7",
        "/revisions?format=csv",
        "/metrics",
    ] {
        page.shows(text);
    }
    page.shows(&format!("/api/v1/wiki/pages/{}/7/revisions", wiki.id));
    page.shows(&format!("href=\"/wiki/revisions?wiki={}&amp;pageid=7\"", wiki.id));
}

#[tokio::test]
async fn an_article_is_extracted_again() {
    let house = House::new().await;
    let (_, path) = sparrow(&house).await;
    let ana = house.sign_in("ana").await;
    let again = format!("{path}/extract");
    assert_eq!(ana.send(form(&again, &[])).await.status, StatusCode::FORBIDDEN, "without the form's token");
    let page = ana.follow(&ana.post(&again, &[]).await).await;
    page.shows("https://en.wiki.test/w/index.php?curid=7");
    page.shows("pending");
    page.shows(" for ops");
}

#[tokio::test]
async fn watching_is_switched_and_audited() {
    let house = House::new().await;
    let (wiki, path) = sparrow(&house).await;
    let ana = house.sign_in("ana").await;
    let watched = async || house.store.page(wiki.id, PageId(7)).await.expect("reads").expect("a page").watched;
    assert!(watched().await);
    let answer = ana.post(&format!("{path}/watch"), &[("watched", "no"), ("back", "/wiki/articles?title=house")]).await;
    assert_eq!(answer.location(), "/wiki/articles?title=house");
    ana.follow(&answer).await.shows("is not watched any more");
    assert!(!watched().await);
    ana.get(&path).await.shows("value=\"yes\">Watch<");
    let answer = ana.post(&format!("{path}/watch"), &[("watched", "yes")]).await;
    assert_eq!(answer.location(), path);
    assert!(watched().await);
    ana.get("/audit?action=wiki.watch").await.shows("wiki.watch");
}

#[tokio::test]
async fn what_is_not_kept_is_not_found() {
    let house = House::new().await;
    let (wiki, _) = sparrow(&house).await;
    let ana = house.sign_in("ana").await;
    for path in ["pages/8", "pages/x", "revisions/9", "revisions/x", "compare?from=101&to=9"] {
        let path = format!("/wiki/wikis/{}/{path}", wiki.id);
        assert_eq!(ana.get(&path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    let path = format!("/wiki/wikis/{}/compare?from=101", wiki.id);
    assert_eq!(ana.get(&path).await.status, StatusCode::BAD_REQUEST);
}
