//! Notifications over the API.

use std::time::Duration;

use malla_queue::{Failure, Outcome, Verdict};
use serde_json::{Value, json};

use crate::house::House;

async fn ids(house: &House, query: &str) -> Vec<String> {
    house.get(&format!("/api/v1/notifications?{query}"), "user").await.ids()
}

async fn act(house: &House, id: &str, verb: &str) -> crate::house::Answer {
    house.post(&format!("/api/v1/notifications/{id}/{verb}"), "user", json!({})).await
}

fn failed() -> Verdict {
    Verdict::Failed(Failure { answer: Some(json!({ "status": 500 })), ..Failure::new("the answer was 500") })
}

#[tokio::test]
async fn an_event_makes_a_notification_for_each_subscription_and_each_is_shown_whole() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let (one, two) = (house.subscription(&endpoint).await, house.subscription(&endpoint).await);
    let event = house.event(&endpoint, "{}").await;
    assert_eq!(ids(&house, &format!("event={event}")).await.len(), 2);
    assert_eq!(ids(&house, &format!("subscription={two}")).await.len(), 1);
    house.finish_all(failed()).await;
    let id = ids(&house, &format!("subscription={one}&state=failed,discarded")).await.remove(0);
    let shown = house.get(&format!("/api/v1/notifications/{id}"), "readonly").await.ok();
    let at = "2026-01-31T12:00:00.000Z";
    let expected = json!({
        "id": id, "event": event, "subscription": one, "endpoint": endpoint, "group": "alpha", "state": "failed",
        "attempts": 1, "created_at": at, "run_at": null, "finished_at": at, "holder": null,
        "history": [{
            "what": "failed", "at": at, "started_at": at, "by": "member:test", "note": "the answer was 500",
            "answer": { "status": 500 },
        }],
    });
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn a_persons_verbs_move_a_notification() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let name = house.subscription(&endpoint).await;
    house.event(&endpoint, "{}").await;
    let id = ids(&house, "").await.remove(0);
    act(&house, &id, "confirm").await.refused(409, "wrong_state", &["queued"]);
    assert_eq!(act(&house, &id, "discard").await.ok()["state"], "discarded");
    assert_eq!(act(&house, &id, "resend").await.ok()["state"], "queued");
    house
        .finish_all(Verdict::Done(Outcome { confirm_within: Some(Duration::from_secs(60)), ..Outcome::default() }))
        .await;
    let confirmed = act(&house, &id, "confirm").await.ok();
    assert_eq!((&confirmed["state"], &confirmed["attempts"]), (&json!("succeeded"), &json!(1)));
    act(&house, &id, "pause").await.refused(404, "not_found", &["pause", "resend, discard and confirm"]);
    act(&house, "nonsense", "resend").await.refused(400, "invalid", &["is not an id"]);
    let drill = house.drill("drill/a", "alpha").await.to_string();
    act(&house, &drill, "discard").await.refused(404, "not_found", &[&drill]);
    assert_eq!(house.get(&format!("/api/v1/tasks/{drill}"), "user").await.ok()["state"], "queued");
    let log = house.get("/api/v1/audit?action=notification", "readonly").await.ok();
    let lines: Vec<_> = log["items"].as_array().unwrap().iter().map(|line| line["action"].clone()).collect();
    assert_eq!(lines, ["notification.confirm", "notification.resend", "notification.discard"]);
    assert_eq!(log["items"][0]["group"], "alpha", "{name}");
}

#[tokio::test]
async fn notifications_are_found_in_any_combination_and_page_by_page() {
    let house = House::new().await;
    let (one, two) = (house.endpoint("alpha").await, house.endpoint("alpha").await);
    let (a, b) = (house.subscription(&one).await, house.subscription(&two).await);
    for order in ["4711", "4712", "4713"] {
        house.event(&one, &json!({ "order": order }).to_string()).await;
    }
    house.finish_all(failed()).await;
    house.event(&two, &json!({ "order": "4711" }).to_string()).await;
    check(&house, "", 4).await;
    check(&house, "state=failed", 3).await;
    check(&house, "state=failed&state=queued", 4).await;
    check(&house, "content=4711", 2).await;
    check(&house, "content=4711&state=queued", 1).await;
    check(&house, &format!("content=4711&subscription={a}"), 1).await;
    check(&house, &format!("endpoint={two}&subscription={b}&from=2026-01-31&to=2026-01-31"), 1).await;
    check(&house, &format!("endpoint={one}&subscription={b}"), 0).await;
    check(&house, "from=2026-02-01", 0).await;
    for query in ["limit=1", "limit=1&content=4711"] {
        let mut found = Vec::new();
        let mut path = format!("/api/v1/notifications?{query}");
        loop {
            let page = house.get(&path, "user").await;
            found.extend(page.ids());
            match page.json["next_cursor"].as_str() {
                Some(cursor) => path = format!("/api/v1/notifications?{query}&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(found, ids(&house, query.trim_start_matches("limit=1")).await, "{query}");
    }
    let cursor = house.get("/api/v1/notifications?limit=1", "user").await.ok()["next_cursor"].clone();
    let mixed = format!("/api/v1/notifications?content=x&cursor={}", cursor.as_str().unwrap());
    house.get(&mixed, "user").await.refused(400, "invalid", &["not from this list"]);
    house.get("/api/v1/notifications?state=done", "user").await.refused(400, "invalid", &["\"done\" is not a state"]);
    house.get("/api/v1/notifications?event=x", "user").await.refused(400, "invalid", &["is not an id"]);
}

async fn check(house: &House, query: &str, expected: usize) {
    assert_eq!(ids(house, query).await.len(), expected, "{query}");
}

#[tokio::test]
async fn a_bulk_verb_needs_a_filter_or_the_word_all_and_resends_what_failed() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    house.subscription(&endpoint).await;
    house.event(&endpoint, "first").await;
    house.finish_all(failed()).await;
    house.event(&endpoint, "second").await;
    house.finish_all(Verdict::Done(Outcome::default())).await;
    let bulk = async |verb: &str, query: &str| -> Value {
        house.post(&format!("/api/v1/notifications/{verb}?{query}"), "user", json!({})).await.ok()
    };
    let refused = house.post("/api/v1/notifications/resend", "user", json!({})).await;
    refused.refused(400, "invalid", &["resend every notification", "all=true"]);
    assert_eq!(bulk("resend", "content=second").await, json!({ "changed": 0, "more": false }));
    assert_eq!(bulk("resend", "content=first").await, json!({ "changed": 1, "more": false }));
    assert_eq!(bulk("resend", "state=succeeded").await["changed"], 1);
    assert_eq!(bulk("confirm", "all=true").await["changed"], 0);
    assert_eq!(bulk("discard", &format!("endpoint={endpoint}")).await["changed"], 2);
    house.drill("drill/a", "alpha").await;
    assert_eq!(bulk("discard", "all=true").await["changed"], 0, "other rooms' tasks are left alone");
    let log = house.get("/api/v1/audit?action=notification.discard", "readonly").await.ok();
    assert_eq!(log["items"][1]["detail"]["filter"]["endpoint"], endpoint.as_str());
}
