//! Statistics and alerts over HTTP.

use malla_notify::{Counted, Figures, Statistics as _, Step, Subject};
use malla_queue::{Clock as _, Scope};
use serde_json::{Value, json};

use crate::house::House;

const SECRET: &str = "whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw";

async fn counted(house: &House, endpoint: &str, subscription: &str) {
    use malla_notify::Notify as _;
    let endpoint = house.store.endpoint(&Scope::All, endpoint).await.unwrap().id;
    let subscription = house.store.subscription(&Scope::All, subscription).await.unwrap().id;
    let now = house.clock.now();
    let mut rows = Vec::new();
    for step in Step::ALL {
        let begin = step.begin(now.minus(std::time::Duration::from_secs(60)));
        let events = Figures { events: 10, bytes: 1_000, ..Figures::default() };
        let ended = Figures { delivered: 6, retried: 3, failed: 2, peak: 4, ..Figures::default() };
        rows.push(Counted { subject: Subject::Endpoint(endpoint), step, begin, figures: events });
        rows.push(Counted { subject: Subject::Subscription(subscription), step, begin, figures: ended });
    }
    house.store.record("test", rows).await.unwrap();
}

#[tokio::test]
async fn statistics_come_with_a_summary_of_the_range() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let subscription = house.subscription(&endpoint).await;
    counted(&house, &endpoint, &subscription).await;
    for (query, at) in [
        ("", "2026-01-31T11:59:00.000Z"),
        ("&step=hour", "2026-01-31T11:00:00.000Z"),
        ("&step=day", "2026-01-31T00:00:00.000Z"),
    ] {
        let told = house.get(&format!("/api/v1/statistics?endpoint={endpoint}{query}"), "user").await.ok();
        let item = &told["items"][0];
        let expected = json!({ "at": at, "events": 10, "bytes": 1_000, "attempts": 11, "delivered": 6, "retried": 3,
            "failed": 2, "peak": 4, "p50_ms": null, "p90_ms": null, "p99_ms": null });
        assert_eq!(*item, expected, "{query}");
        assert_eq!(told["summary"]["events_per_day"], 10.0);
        let month = json!([{ "month": "2026-01", "delivered": 6, "failed": 2, "failure_rate": 0.25 }]);
        assert_eq!(told["summary"]["months"], month);
        assert_eq!(told["summary"]["peak"], 4);
    }
    let told = house.get(&format!("/api/v1/statistics?subscription={subscription}"), "readonly").await.ok();
    assert_eq!((&told["items"][0]["events"], &told["items"][0]["failed"]), (&json!(0), &json!(2)));
    let told = house.get("/api/v1/statistics?from=2026-01-01&to=2026-01-30&step=day", "admin").await.ok();
    assert_eq!(told["items"], json!([]));
    assert_eq!(house.get("/api/v1/statistics", "beta").await.ok()["items"], json!([]), "another group's");
}

#[tokio::test]
async fn questions_that_make_no_sense_are_refused() {
    let house = House::new().await;
    for (query, word) in [
        ("step=week", "step"),
        ("endpoint=a&subscription=b", "not both"),
        ("from=2026-01-02&to=2026-01-01", "empty"),
        ("from=2020-01-01", "steps"),
        ("from=soon", "from"),
    ] {
        house.get(&format!("/api/v1/statistics?{query}"), "admin").await.refused(400, "invalid", &[word]);
    }
    house.get("/api/v1/statistics?endpoint=nobody", "admin").await.refused(404, "not_found", &["nobody"]);
}

fn new(name: &str) -> Value {
    json!({
        "name": name,
        "rule": { "kind": "failures", "count": 5, "window_s": 300 },
        "to": [{ "kind": "email", "to": "ana@example.org" }, { "kind": "webhook", "url": "https://example.org/a", "secret": SECRET }],
    })
}

#[tokio::test]
async fn an_alert_is_made_changed_and_deleted_without_showing_its_secret() {
    let house = House::new().await;
    let made = house.post("/api/v1/alerts", "user", new("failing")).await;
    assert_eq!(made.status.as_u16(), 201, "{}", made.text);
    assert!(!made.text.contains(SECRET));
    assert_eq!((&made.json["group"], &made.json["quiet_s"]), (&json!("alpha"), &json!(3_600)));
    assert_eq!(made.json["to"][1], json!({ "kind": "webhook", "url": "https://example.org/a", "signed": true }));
    let change = json!({ "to": [{ "kind": "webhook", "url": "https://example.org/a" }], "quiet_s": 60 });
    let changed = house.call("PATCH", "/api/v1/alerts/failing", "user", Some(change)).await.ok();
    assert_eq!(changed["to"], json!([{ "kind": "webhook", "url": "https://example.org/a", "signed": true }]));
    let change =
        json!({ "to": [{ "kind": "webhook", "url": "https://example.org/a", "secret": null }], "quiet_s": null });
    let changed = house.call("PATCH", "/api/v1/alerts/failing", "user", Some(change)).await.ok();
    assert_eq!((&changed["to"][0]["signed"], &changed["quiet_s"]), (&json!(false), &json!(3_600)));
    let audit = house.get("/api/v1/audit", "admin").await;
    assert!(audit.text.contains("alert.create") && !audit.text.contains(SECRET), "{}", audit.text);
    assert_eq!(house.call("DELETE", "/api/v1/alerts/failing", "user", None).await.status.as_u16(), 204);
    house.get("/api/v1/alerts/failing", "user").await.refused(404, "not_found", &["alert failing"]);
}

#[tokio::test]
async fn an_alert_that_cannot_work_is_refused_with_a_reason() {
    let house = House::new().await;
    for (field, value, word) in [
        ("to", json!([]), "\"to\""),
        ("to", json!([{ "kind": "email", "to": "nobody" }]), "e-mail"),
        ("to", json!([{ "kind": "pigeon" }]), "pigeon"),
        ("rule", json!({ "kind": "failures", "count": 0, "window_s": 300 }), "count"),
        ("rule", json!({ "kind": "stuck", "for_s": 300, "subscription": "nobody" }), "no subscription nobody"),
        ("quiet_s", json!(-1), "negative"),
        ("name", json!("a b"), "cannot name an alert"),
    ] {
        let mut body = new("failing");
        body[field] = value;
        house.post("/api/v1/alerts", "user", body).await.refused(400, "invalid", &[word]);
    }
    house.call("PATCH", "/api/v1/alerts/failing", "user", Some(json!({}))).await.refused(
        400,
        "invalid",
        &["nothing to change"],
    );
}

#[tokio::test]
async fn a_test_sends_a_notice_to_each_address() {
    let house = House::new().await;
    house.post("/api/v1/alerts", "user", new("failing")).await.ok();
    let sent = house.post("/api/v1/alerts/failing/test", "user", json!({})).await;
    assert_eq!(sent.status.as_u16(), 202, "{}", sent.text);
    let tasks = sent.json["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 2);
    for task in tasks {
        let task = house.get(&format!("/api/v1/tasks/{}", task.as_str().unwrap()), "user").await;
        assert_eq!((&task.json["kind"], &task.json["lane"]), (&json!("notify.alert"), &json!("notify-alert/failing")));
        assert!(!task.text.contains(SECRET), "{}", task.text);
    }
}
