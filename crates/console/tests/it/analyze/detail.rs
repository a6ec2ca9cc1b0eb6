//! One analysis in the console: its states, and its end.

use std::time::Duration;

use axum::http::StatusCode;
use malla_analyze::{Analyze as _, StudyState};
use malla_queue::Scope;

use super::{begin, complete, done, feed, page_of, send, stored, trips, work};
use crate::house::{House, form};

#[tokio::test]
async fn an_analysis_tells_its_story_from_the_first_batch_to_the_last() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let id = begin(&house, house.ops, "bike-rides").await;
    let path = page_of(id);
    let page = ana.get(&path).await;
    for text in
        ["collecting", "0 of 0 batches", "waiting for its first batch", " for ops", "precipitation_mm", "Cancel…"]
    {
        page.shows(text);
    }
    page.shows("it has no records yet");
    page.hides("so_far=1");
    feed(&house, id).await;
    house.clock.advance(Duration::from_secs(2));
    let page = ana.get(&path).await;
    page.shows("2 of 4 batches");
    page.shows("aria-label=\"2 worked on, 2 waiting\"");
    page.shows(&format!("href=\"/lane?key=analyze%2F{id}\""));
    page.shows(&format!("href=\"/tasks?lane=analyze%2F{id}\""));
    complete(&house, id).await;
    let page = ana.get(&path).await;
    page.shows("<span class=\"badge s-running\">computing</span>");
    page.shows("about 5 s left");
    work(&house).await;
    let page = ana.get(&path).await;
    for text in ["succeeded", "4 of 4 batches", "took 2 s", ">12</strong>", ">6</strong>", "Forget…"] {
        page.shows(text);
    }
    page.hides("Cancel…");
    page.hides("data-live=");
}

#[tokio::test]
async fn a_paused_lane_is_seen() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    let id = begin(&house, house.ops, "bike-rides").await;
    feed(&house, id).await;
    let lane = format!("analyze/{id}");
    root.post("/lane/pause", &[("key", &lane), ("paused", "yes")]).await;
    root.get(&page_of(id)).await.shows("<span class=\"badge s-paused\">paused</span>");
}

#[tokio::test]
async fn too_many_bad_lines_are_told_and_a_few_are_shown() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let id = begin(&house, house.ops, "bike-rides").await;
    feed(&house, id).await;
    let mut lines = vec!["2016-05-01 10:00:00,1,2,60,2016"; 150];
    lines.push("gibberish,1,2,60,2016");
    send(&house, id, "trips", 2, &trips(&lines)).await;
    work(&house).await;
    let page = ana.get(&page_of(id)).await;
    for text in ["Lines that cannot be read", "trips/montreal/2", ">152</td>", "gibberish,1,2,60,2016"] {
        page.shows(text);
    }
    send(&house, id, "trips", 3, &trips(&["nonsense"])).await;
    work(&house).await;
    let page = ana.get(&page_of(id)).await;
    page.shows("<span class=\"badge s-failed\">failed</span>");
    page.shows("In the batch trips/montreal/3, 1 of 1 lines cannot be read");
    page.shows("Forget…");
}

#[tokio::test]
async fn cancelling_asks_for_the_token_of_the_form_and_is_audited() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let id = begin(&house, house.ops, "bike-rides").await;
    feed(&house, id).await;
    let cancel = format!("{}/cancel", page_of(id));
    let refused = ana.send(form(&cancel, &[])).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_eq!(stored(&house, id).await.state, StudyState::Collecting);
    let page = ana.follow(&ana.post(&cancel, &[]).await).await;
    page.shows("The analysis is cancelled: its batches are dropped.");
    page.shows("<span class=\"badge s-discarded\">cancelled</span>");
    assert_eq!(stored(&house, id).await.state, StudyState::Cancelled);
    ana.get("/audit?action=analysis").await.shows("analysis.cancel");
}

#[tokio::test]
async fn what_is_over_is_forgotten_only_when_that_is_asked_for() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let (over, under_way) = (done(&house, house.ops).await, begin(&house, house.ops, "bike-rides").await);
    let page = ana.follow(&ana.post(&format!("{}/cancel", page_of(over)), &[]).await).await;
    page.shows("The analysis was over already (succeeded): nothing was cancelled.");
    page.shows("Trips in the rain");
    let page = ana.follow(&ana.post(&format!("{}/forget", page_of(under_way)), &[]).await).await;
    page.shows("cancel it before it is forgotten");
    page.shows("collecting");
    assert_eq!(ana.send(form(&format!("{}/forget", page_of(over)), &[])).await.status, StatusCode::FORBIDDEN);
    let answer = ana.post(&format!("{}/forget", page_of(over)), &[]).await;
    assert_eq!(answer.location(), "/analyses");
    ana.follow(&answer).await.shows("is forgotten.");
    assert_eq!(ana.get(&page_of(over)).await.status, StatusCode::NOT_FOUND);
    assert!(house.store.study(&Scope::All, over).await.is_err());
}
