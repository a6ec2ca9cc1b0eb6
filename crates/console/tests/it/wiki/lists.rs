//! Lists of articles, revisions and dumps, and a wiki's own page.

use axum::http::StatusCode;

use super::{found, keep, revision, sparrow};
use crate::house::House;

#[tokio::test]
async fn articles_are_found_by_a_part_of_their_title() {
    let house = House::new().await;
    let (en, _) = sparrow(&house).await;
    let es = found(&house, house.ops, "es").await;
    keep(&house, es.id, 8, "Gorrión (C++)", vec![revision(8, 201, "Ana", "Un ave.")]).await;
    let ana = house.sign_in("ana").await;
    let page = ana.get("/wiki/articles").await;
    for text in ["House sparrow", "Gorrión (C++)", "2 articles", "Testpedia (es)", ">3</td>", "Unwatch"] {
        page.shows(text);
    }
    for (query, shown, hidden) in [
        ("title=SPARR", "House sparrow", "Gorrión"),
        ("title=C%2B%2B", "Gorrión", "House sparrow"),
        ("locale=es", "Gorrión", "House sparrow"),
        (&format!("wiki={}", en.id), "House sparrow", "Gorrión"),
    ] {
        let page = ana.get(&format!("/wiki/articles?{query}")).await;
        page.shows(shown);
        page.hides(hidden);
    }
    ana.get("/wiki/articles?title=nothing").await.shows("No article matches.");
    for query in ["wiki=en", "page=0"] {
        let page = ana.get(&format!("/wiki/articles?{query}")).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{query}");
        page.shows("<form class=\"filters\"");
    }
}

#[tokio::test]
async fn articles_come_in_pages_that_keep_their_filters() {
    let house = House::new().await;
    let wiki = found(&house, house.ops, "en").await;
    for page in 1..=53 {
        let kept = vec![revision(page, page * 100 + 1, "Ana", "text")];
        keep(&house, wiki.id, page, &format!("Bird {page:03}"), kept).await;
    }
    let ana = house.sign_in("ana").await;
    let page = ana.get("/wiki/articles?title=bird").await;
    page.shows("53 articles");
    page.shows("href=\"/wiki/articles?title=bird&amp;page=2\">Further");
    page.hides("Bird 051");
    let page = ana.get("/wiki/articles?title=bird&page=2").await;
    page.shows("Bird 051");
    page.hides("Bird 050");
    page.hides("Further");
    let page = ana.get(&format!("/wiki/wikis/{}", wiki.id)).await;
    page.shows(&format!("href=\"/wiki/wikis/{}?cursor=50\">Further", wiki.id));
    ana.get(&format!("/wiki/wikis/{}?cursor=50", wiki.id)).await.shows("Bird 053");
}

#[tokio::test]
async fn revisions_are_found_by_their_filters_and_counted() {
    let house = House::new().await;
    let (wiki, _) = sparrow(&house).await;
    let ana = house.sign_in("ana").await;
    let page = ana.get("/wiki/revisions").await;
    for text in ["3 revisions", "edit 101", "edit 103", "<span class=\"grew\">+16</span>", "anonymous", "mobile edit"] {
        page.shows(text);
    }
    assert!(page.body.find("edit 103") < page.body.find("edit 101"), "newest first");
    page.shows(&format!("href=\"/wiki/wikis/{}/compare?from=101&amp;to=102\"", wiki.id));
    page.shows("href=\"/api/v1/revisions?sort=desc\"");
    page.shows("2018-03-13 17:00");
    for (query, shown, hidden) in [
        ("user=Ben", "edit 102", "edit 101"),
        ("tag=mobile+edit", "edit 102", "edit 103"),
        ("size=30&sizematch=1", "edit 102", "edit 101"),
        ("size=30&sizematch=-1", "edit 101", "edit 102"),
        ("title=House+sparrow", "edit 101", "No revision"),
        ("datestart=2018-03-13&dateend=2018-03-13", "edit 101", "No revision"),
    ] {
        let page = ana.get(&format!("/wiki/revisions?{query}")).await;
        assert_eq!(page.status, StatusCode::OK, "{query}");
        page.shows(shown);
        page.hides(hidden);
    }
    ana.get("/wiki/revisions?user=Nobody").await.shows("No revision matches these filters.");
    let page = ana.get("/wiki/revisions?datestart=yesterday").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    page.shows("datestart");
    page.shows("value=\"yesterday\"");
}

#[tokio::test]
async fn a_wiki_tells_its_figures_and_its_budget() {
    let house = House::new().await;
    let (wiki, article) = sparrow(&house).await;
    let ana = house.sign_in("ana").await;
    ana.get("/wiki").await.shows(&format!("href=\"/wiki/wikis/{}\">Testpedia (en)</a>", wiki.id));
    let page = ana.get(&format!("/wiki/wikis/{}", wiki.id)).await;
    for text in ["Testpedia (en)", "MediaWiki 1.39.4", "0 of 1,000 that nobody had to ask for", ">3</strong>", &article]
    {
        page.shows(text);
    }
    for path in ["/wiki/wikis/99", "/wiki/wikis/x"] {
        assert_eq!(ana.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn dumps_tell_how_much_was_read_in() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    ana.get("/wiki/imports").await.shows("malla wiki import dump.xml.bz2");
    sparrow(&house).await;
    let page = ana.get("/wiki/imports").await;
    for text in ["House sparrow.xml", "<span class=\"badge s-succeeded\">read in</span>", ">3</td>", "Testpedia (en)"] {
        page.shows(text);
    }
}
