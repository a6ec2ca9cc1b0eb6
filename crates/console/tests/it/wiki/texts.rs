//! Texts of revisions in the console, and what changed between two.

use axum::http::StatusCode;

use super::{found, keep, revision, sparrow};
use crate::house::House;

#[tokio::test]
async fn a_revision_is_shown_with_its_text_and_had_byte_for_byte() {
    let house = House::new().await;
    let (wiki, article) = sparrow(&house).await;
    let ana = house.sign_in("ana").await;
    let path = format!("/wiki/wikis/{}/revisions/102", wiki.id);
    let page = ana.get(&path).await;
    for text in [
        "Revision 102",
        "A sparrow is a small bird that eats seeds.",
        "42 bytes",
        "<span class=\"grew\">+16</span>",
        "edit 102",
        "mobile edit",
        "wikitext",
        "https://en.wiki.test/w/index.php?oldid=102",
    ] {
        page.shows(text);
    }
    page.shows(&format!("href=\"{article}\""));
    page.shows(&format!("/wiki/wikis/{}/compare?from=102&amp;to=103", wiki.id));
    assert_eq!(ana.get(&format!("{path}/text")).await.body, "A sparrow is a small bird that eats seeds.");
}

#[tokio::test]
async fn what_came_and_what_went_is_marked_word_by_word() {
    let house = House::new().await;
    let (wiki, _) = sparrow(&house).await;
    let ana = house.sign_in("ana").await;
    let page = ana.get(&format!("/wiki/wikis/{}/compare?from=102&to=103", wiki.id)).await;
    page.shows("<del>small </del>");
    page.shows("<span class=\"shrank\">−22</span>");
    page.shows("edit 102");
    page.shows("edit 103");
    let page = ana.get(&format!("/wiki/wikis/{}/compare?from=101&to=102", wiki.id)).await;
    page.shows("<ins> that eats seeds</ins>");
    let page = ana.get(&format!("/wiki/wikis/{}/compare?from=101&to=101", wiki.id)).await;
    page.shows("Both texts are the same.");
}

#[tokio::test]
async fn what_the_wiki_hides_is_told_and_not_shown() {
    let house = House::new().await;
    let wiki = found(&house, house.ops, "en").await;
    let (mut hidden, _) = revision(7, 102, "", "");
    (hidden.user, hidden.comment, hidden.sha1, hidden.text_hidden) = (None, None, None, true);
    keep(&house, wiki.id, 7, "Owl", vec![revision(7, 101, "Ana", "An owl."), (hidden, None)]).await;
    let ana = house.sign_in("ana").await;
    let path = format!("/wiki/wikis/{}", wiki.id);
    let page = ana.get(&format!("{path}/revisions/102")).await;
    page.shows("The wiki hides this text.");
    page.shows(">hidden<");
    assert_eq!(ana.get(&format!("{path}/revisions/102/text")).await.status, StatusCode::NOT_FOUND);
    ana.get(&format!("{path}/compare?from=101&to=102")).await.shows("is hidden by the wiki");
    ana.get(&format!("{path}/pages/7")).await.shows(">hidden<");
}
