//! Notifications in the console.

use std::time::Duration;

use axum::http::StatusCode;
use malla_notify::DELIVER;
use malla_queue::{Failure, NextTry, Outcome, Queue as _, Scope, State, StateCounts, Verdict};
use serde_json::json;

use super::{link, make_endpoint, send_event, subscribe};
use crate::house::{House, Visitor};

/// An endpoint with two subscriptions and so many events.
async fn busy<'h>(house: &'h House, events: usize) -> Visitor<'h> {
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    subscribe(&ana, "shop", "orders", &[]).await;
    subscribe(&ana, "beta", "orders", &[]).await;
    for n in 0..events {
        send_event(&ana, "orders", &format!("{{\"order\":\"number{n}\"}}")).await;
    }
    ana
}

fn failed() -> Verdict {
    let answer = json!({
        "status": 500, "headers": { "x-reason": "full" }, "body": "{\"error\":\"disk\"}", "truncated": false, "ms": 3,
    });
    Verdict::Failed(Failure {
        answer: Some(answer),
        next: NextTry::Never,
        ..Failure::new("the target answered 500 Internal Server Error")
    })
}

async fn counts(house: &House) -> StateCounts {
    let kinds = house.store.counts(&Scope::All).await.expect("counts");
    kinds.into_iter().find(|row| row.kind.as_str() == DELIVER).map(|row| row.counts).unwrap_or_default()
}

#[tokio::test]
async fn did_it_arrive_is_answered_by_content_state_and_subscription() {
    let house = House::new().await;
    let ana = busy(&house, 2).await;
    assert_eq!(house.work("notify", &failed()).await, 4);
    let page = ana.get("/notify/notifications?content=number1&subscription=shop").await;
    assert_eq!(page.body.matches("badge s-failed").count(), 1);
    page.shows("href=\"/notify/notifications?content=number1&amp;subscription=shop&amp;state=failed\"");
    ana.get("/notify/notifications?state=succeeded").await.shows("No notification matches these filters.");
    let page = ana.get("/notify/notifications").await;
    page.shows("<span class=\"n\">4</span>");
    page.shows("data-live=\"rows\"");
    for (query, sentence) in
        [("state=done", "is not a state"), ("to=soon", "is not a time"), ("event=x", "is not an id")]
    {
        let page = ana.get(&format!("/notify/notifications?{query}")).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{query}");
        page.shows(sentence);
        page.shows("<form class=\"filters\"");
    }
}

#[tokio::test]
async fn one_notification_tells_what_came_back_and_what_can_be_done() {
    let house = House::new().await;
    let ana = busy(&house, 1).await;
    house.work("notify", &failed()).await;
    let path = link(&ana.get("/notify/notifications?subscription=shop").await, "/notify/notifications/0");
    let page = ana.get(&path).await;
    for text in [
        "not delivered, no attempt left",
        ">500</span>",
        "the target answered 500 Internal Server Error",
        "<dt>x-reason</dt><dd>full</dd>",
        "&quot;error&quot;: &quot;disk&quot;",
        "member:node-1",
        "value=\"resend\"",
        "/notify/subscriptions/shop",
        "https://example.org/hook",
    ] {
        page.shows(text);
    }
    page.hides("value=\"confirm\"");
    let answer = ana.post(&format!("{path}/act"), &[("verb", "resend"), ("back", &path)]).await;
    assert_eq!(answer.location(), path);
    ana.follow(&answer).await.shows("is resent: it is queued now.");
    let answer = ana.post(&format!("{path}/act"), &[("verb", "confirm")]).await;
    ana.follow(&answer).await.shows("A notification that is queued cannot be confirmed.");
    let taken = Verdict::Done(Outcome { confirm_within: Some(Duration::from_secs(60)), ..Outcome::default() });
    assert_eq!(house.work("notify", &taken).await, 1);
    ana.get(&path).await.shows("confirmation due");
    ana.post(&format!("{path}/act"), &[("verb", "confirm")]).await;
    ana.get(&path).await.shows("<strong>confirmed</strong>");
    assert_eq!(ana.post(&format!("{path}/act"), &[("verb", "pause")]).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_task_of_another_room_is_no_notification() {
    let house = House::new().await;
    let id = house.submit("drill/a", "{}", 1).await[0];
    let ana = house.sign_in("ana").await;
    assert_eq!(ana.get(&format!("/notify/notifications/{id}")).await.status, StatusCode::NOT_FOUND);
    let answer = ana.post(&format!("/notify/notifications/{id}/act"), &[("verb", "discard")]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(house.store.task(&Scope::All, id).await.expect("a task").summary.state, State::Queued);
}

#[tokio::test]
async fn the_task_of_a_notification_leads_back_to_it() {
    let house = House::new().await;
    let ana = busy(&house, 1).await;
    let page = ana.get("/notify/notifications").await;
    let path = link(&page, "/notify/notifications/0");
    let task = ana.get(&path.replace("/notify/notifications/", "/tasks/")).await;
    task.shows(&format!("href=\"{path}\""));
    task.shows(&link(&page, "/notify/events/0"));
    task.hides("Parent");
}

#[tokio::test]
async fn all_that_match_are_resent_after_a_question_and_only_the_failed_unless_said() {
    let house = House::new().await;
    let ana = busy(&house, 3).await;
    house.work("notify", &failed()).await;
    send_event(&ana, "orders", "{\"order\":\"late\"}").await;
    house.work("notify", &Verdict::Done(Outcome::default())).await;
    house.clock.advance(Duration::from_secs(5));
    ana.get("/notify/notifications?subscription=shop").await.shows("act?subscription=shop&amp;verb=resend");
    let page = ana.get("/notify/notifications/act?subscription=shop&verb=resend").await;
    page.shows("<strong>3 notifications</strong> that match will be resent.");
    page.shows("<span class=\"badge s-failed\">failed</span>");
    page.hides("badge s-succeeded");
    let page = ana.get("/notify/notifications/act?endpoint=orders&verb=resend").await;
    page.shows("<strong>All notifications</strong> that match, which may be many,");
    let answer = ana.post("/notify/notifications/act", &[("verb", "resend"), ("subscription", "shop")]).await;
    assert_eq!(answer.location(), "/notify/notifications?subscription=shop");
    ana.follow(&answer).await.shows("Resent: 3 notifications.");
    let counts = counts(&house).await;
    assert_eq!((counts.queued, counts.failed, counts.succeeded), (3, 3, 2), "{counts:?}");
    let answer = ana.post("/notify/notifications/act", &[("verb", "discard"), ("content", "number2")]).await;
    ana.follow(&answer).await.shows("Discarded: 2 notifications.");
    let page = ana.get("/notify/notifications/act?state=succeeded&verb=discard").await;
    page.shows("None of these notifications can be discarded now.");
    let answer = ana.post("/notify/notifications/act", &[("verb", "discard"), ("state", "succeeded")]).await;
    ana.follow(&answer).await.shows("Discarded: 0 notifications.");
}

#[tokio::test]
async fn what_came_after_the_question_is_not_meant() {
    let house = House::new().await;
    let ana = busy(&house, 1).await;
    house.clock.advance(Duration::from_secs(5));
    let page = ana.get("/notify/notifications/act?subscription=shop&verb=discard").await;
    let (_, until) = page.body.split_once("name=\"until\" value=\"").expect("until when");
    let until = until.split('"').next().expect("a value").to_owned();
    house.clock.advance(Duration::from_secs(5));
    send_event(&ana, "orders", "{}").await;
    let fields = [("verb", "discard"), ("subscription", "shop"), ("until", until.as_str())];
    ana.follow(&ana.post("/notify/notifications/act", &fields).await).await.shows("Discarded: 1 notification.");
    let counts = counts(&house).await;
    assert_eq!((counts.discarded, counts.queued), (1, 3), "{counts:?}");
}

#[tokio::test]
async fn a_long_list_goes_on_with_its_filters_and_rests() {
    let house = House::new().await;
    let ana = busy(&house, 30).await;
    let page = ana.get("/notify/notifications?endpoint=orders").await;
    assert_eq!(page.body.matches("<span class=\"badge s-queued\">").count(), 50);
    let older = link(&page, "/notify/notifications?endpoint=orders&amp;cursor=").replace("&amp;", "&");
    let page = ana.get(&older).await;
    assert_eq!(page.body.matches("<span class=\"badge s-queued\">").count(), 10);
    page.hides("data-live");
    page.shows("href=\"/notify/notifications?endpoint=orders\">← Newest");
}
