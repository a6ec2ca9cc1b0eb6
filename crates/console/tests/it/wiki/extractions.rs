//! Extractions in the console: asking for one, watching it, and why it failed.

use std::time::Duration;

use axum::http::StatusCode;
use malla_wiki::{Counts, ExtractionState};

use super::{ask, found, step};
use crate::house::{EXTRACTIONS_MAX, House};

fn counts(done: u64, total: u64) -> Counts {
    Counts { requests: 3, done, total: Some(total), new: done, erased: 0 }
}

#[tokio::test]
async fn an_empty_room_says_what_to_do_first() {
    let house = House::new().await;
    let page = house.sign_in("ana").await.get("/wiki").await;
    page.shows("malla wiki extract");
    page.shows("name=\"article\"");
    page.shows("href=\"/wiki\" aria-current=\"page\"");
    page.hides("MALLA_WIKI_CONTACT");
    let ben = house.sign_in("ben").await;
    let page = ben.get("/wiki").await;
    page.shows("What your groups extract will be shown here.");
    page.hides("name=\"article\"");
    for path in ["/wiki/articles", "/wiki/revisions", "/wiki/extractions"] {
        ben.get(path).await.shows("Go to the overview");
    }
}

#[tokio::test]
async fn without_a_contact_the_setting_is_named() {
    let house = House::without_contact().await;
    let page = house.sign_in("root").await.get("/wiki").await;
    page.shows("<code>wiki.contact</code>");
    page.shows("MALLA_WIKI_CONTACT=you@example.org malla up");
    page.hides("name=\"article\"");
    let ana = house.sign_in("ana").await;
    let answer = ana.post("/wiki/extract", &[("article", "House sparrow")]).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    answer.shows("MALLA_WIKI_CONTACT");
}

#[tokio::test]
async fn an_extraction_is_followed_from_the_question_to_its_end() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let id = ask(&ana, "House sparrow").await;
    let path = format!("/wiki/extractions/{id}");
    let page = ana.get(&path).await;
    for text in ["Extraction of House sparrow", "<span class=\"badge s-queued\">pending</span>", " for ops"] {
        page.shows(text);
    }
    let wiki = found(&house, house.ops, "es").await;
    step(&house, id, Some(wiki.id), ExtractionState::InProgress, counts(50, 2_050), None).await;
    house.clock.advance(Duration::from_secs(10));
    step(&house, id, Some(wiki.id), ExtractionState::InProgress, counts(1_050, 2_050), None).await;
    for path in [path.as_str(), "/wiki", "/wiki/extractions"] {
        let page = ana.get(path).await;
        for text in [
            "1,050 of 2,050",
            "<span class=\"badge s-running\">in progress</span>",
            "105 revisions a second, about 10 s left",
        ] {
            page.shows(text);
        }
        page.shows(&format!("href=\"/wiki/wikis/{}/pages/7\">House sparrow</a>", wiki.id));
    }
    step(&house, id, Some(wiki.id), ExtractionState::Succeeded, counts(2_050, 2_050), None).await;
    let page = ana.get(&path).await;
    page.shows("<span class=\"badge s-succeeded\">succeeded</span>");
    page.shows("took 10 s");
    ana.get("/wiki").await.shows("Nothing is being extracted.");
    ana.get("/").await.shows("Latest extractions");
    ana.get("/audit?action=wiki").await.shows("wiki.extract");
}

#[tokio::test]
async fn why_it_failed_is_told_wherever_it_is_shown() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let id = ask(&ana, "No such page").await;
    let why = "the wiki has no page with this title";
    step(&house, id, None, ExtractionState::Failed, Counts::default(), Some(why)).await;
    for path in [format!("/wiki/extractions/{id}"), "/wiki".into(), "/wiki/extractions".into()] {
        let page = ana.get(&path).await;
        page.shows("<span class=\"badge s-failed\">failed</span>");
        page.shows("The wiki has no page with this title");
    }
}

#[tokio::test]
async fn what_is_wrong_is_told_at_the_form_and_what_was_typed_stays() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    for (article, sentence) in [
        ("", "Write a title or the address of a page."),
        ("a|b", "which no title has"),
        ("https://ana:secret@wiki.test/x", "has a password in it"),
    ] {
        let answer = ana.post("/wiki/extract", &[("article", article)]).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{article}");
        answer.shows(sentence);
        answer.shows(&format!("name=\"article\" value=\"{article}\""));
        answer.hides("data-live=");
    }
}

#[tokio::test]
async fn as_many_as_may_be_are_taken_and_older_ones_are_on_further_pages() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let mut ids = Vec::new();
    for number in 0..EXTRACTIONS_MAX {
        ids.push(ask(&ana, &format!("Page {number}")).await);
    }
    let answer = ana.post("/wiki/extract", &[("article", "One more")]).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    answer.shows("value=\"One more\"");
    let page = ana.get("/wiki/extractions").await;
    let older = format!("/wiki/extractions?cursor={}", ids[10]);
    page.shows(&format!("href=\"{older}\">Older"));
    let page = ana.get(&older).await;
    page.shows(&format!("href=\"/wiki/extractions/{}\"", ids[9]));
    page.hides(&format!("href=\"/wiki/extractions/{}\"", ids[10]));
    ana.get("/wiki").await.shows("The newest 25");
    assert_eq!(ana.get("/wiki/extractions?cursor=nonsense").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(ana.get("/wiki/extractions/nonsense").await.status, StatusCode::NOT_FOUND);
}
