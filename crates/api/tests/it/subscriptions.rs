//! Subscriptions over the API.

use malla_notify::Notify as _;
use malla_queue::Scope;
use serde_json::{Value, json};

use crate::house::House;

const SECRET: &str = "whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw";

async fn stored(house: &House, name: &str) -> malla_notify::SubscriptionSpec {
    house.store.subscription(&Scope::All, name).await.unwrap().spec
}

#[tokio::test]
async fn a_subscription_is_made_and_shown_without_its_secrets() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let body = json!({
        "name": "billing", "endpoint": endpoint, "target": "http://127.0.0.1:9/hook", "retry_delays_s": [1, 60],
        "timeout_s": 5, "parallel": 3, "headers": { "x-api": "1" }, "forward_headers": true, "forward_query": true,
        "filter": [{ "field": "type", "equals": "paid" }, { "header": "x-a", "exists": false }], "secret": SECRET,
        "cloudevents": true, "auth": { "basic": { "username": "ana", "password": "s3cret" } }, "confirm_within_s": 60,
    });
    let made = house.post("/api/v1/subscriptions", "user", body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let expected = json!({
        "name": "billing", "endpoint": endpoint, "group": "alpha", "state": "active",
        "target": "http://127.0.0.1:9/hook", "retry_delays_s": [1, 60], "timeout_s": 5, "parallel": 3,
        "headers": { "x-api": "1" }, "forward_headers": true, "forward_query": true,
        "filter": [{ "field": "type", "equals": "paid" }, { "header": "x-a", "exists": false }], "signed": true,
        "cloudevents": "binary", "auth": "basic", "confirm_within_s": 60, "created_at": "2026-01-31T12:00:00.000Z",
    });
    assert_eq!(made.json, expected);
    assert_eq!(house.get("/api/v1/subscriptions/billing", "readonly").await.ok(), expected);
    let log = house.get("/api/v1/audit?action=subscription", "user").await;
    assert!(log.text.contains("subscription.create"), "{}", log.text);
    for text in [made.text, log.text] {
        assert!(!text.contains(SECRET) && !text.contains("s3cret"), "{text}");
    }
    let lane = house.get("/api/v1/lanes/notify%2Fbilling", "user").await.ok();
    assert_eq!((&lane["ceiling"], &lane["group"]), (&json!(3), &json!("alpha")));
}

#[tokio::test]
async fn little_is_needed_and_an_admin_means_the_endpoints_group() {
    let house = House::new().await;
    let endpoint = house.endpoint("beta").await;
    let body = json!({ "name": "s", "endpoint": endpoint, "target": "https://example.org/" });
    let made = house.post("/api/v1/subscriptions", "admin", body.clone()).await.ok();
    assert_eq!((&made["group"], &made["parallel"], &made["timeout_s"]), (&json!("beta"), &json!(20), &json!(30)));
    assert_eq!(
        (&made["signed"], &made["cloudevents"], &made["filter"], &made["auth"]),
        (&json!(false), &json!(false), &json!([]), &Value::Null)
    );
    house.post("/api/v1/subscriptions", "beta", body).await.refused(409, "taken", &["s"]);
    let foreign = json!({ "name": "t", "endpoint": endpoint, "target": "https://example.org/" });
    house.post("/api/v1/subscriptions", "user", foreign).await.refused(404, "not_found", &[&endpoint]);
}

#[tokio::test]
async fn a_secret_is_made_on_demand_shown_once_and_the_one_before_signs_on() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let body = json!({ "name": "s", "endpoint": endpoint, "target": "https://example.org/", "secret": "generate" });
    let made = house.keyed("POST", "/api/v1/subscriptions", "user", Some(body.clone()), Some("k")).await.ok();
    let first = made["secret"].as_str().unwrap().to_owned();
    assert!(first.starts_with("whsec_"), "{first}");
    let again = house.keyed("POST", "/api/v1/subscriptions", "user", Some(body), Some("k")).await.ok();
    assert_eq!(again["secret"], first.as_str(), "a repeat tells the same");
    assert!(house.get("/api/v1/subscriptions/s", "user").await.ok().get("secret").is_none());

    let change = async |body: Value| house.call("PATCH", "/api/v1/subscriptions/s", "user", Some(body)).await.ok();
    let changed = change(json!({ "secret": "generate" })).await;
    let second = changed["secret"].as_str().unwrap();
    let spec = stored(&house, "s").await;
    assert_eq!(spec.secret.as_deref(), Some(second));
    let (before, until) = spec.previous_secret.unwrap();
    assert_eq!((before, until.0), (first, 1_769_860_800_000 + 24 * 3_600_000));
    let own = change(json!({ "secret": SECRET })).await;
    assert!(own.get("secret").is_none() && own["signed"] == true, "what the caller knows is not told");
    change(json!({ "secret": null })).await;
    let spec = stored(&house, "s").await;
    assert_eq!((spec.secret, spec.previous_secret), (None, None));
}

#[tokio::test]
async fn states_change_what_becomes_of_notifications() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let name = house.subscription(&endpoint).await;
    let set = async |state: &str| {
        let path = format!("/api/v1/subscriptions/{name}");
        house.call("PATCH", &path, "user", Some(json!({ "state": state }))).await.ok()["state"].clone()
    };
    let states = async || {
        let path = format!("/api/v1/notifications?subscription={name}");
        let page = house.get(&path, "user").await.ok();
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(set("suspended").await, "suspended");
    house.event(&endpoint, "1").await;
    assert_eq!(states().await, ["paused"]);
    assert_eq!(set("active").await, "active");
    assert_eq!(states().await, ["queued"]);
    assert_eq!(set("disabled").await, "disabled");
    house.event(&endpoint, "2").await;
    while house.store.sweep(100).await.unwrap() > 0 {}
    assert_eq!(states().await, ["discarded"], "none is made, and what waited is discarded");
}

#[tokio::test]
async fn changes_keep_what_they_do_not_name() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let target = "mqtt://ana:s3cret@broker/alerts";
    let body = json!({ "name": "s", "endpoint": endpoint, "target": target, "parallel": 7, "headers": { "x-a": "1" } });
    let made = house.post("/api/v1/subscriptions", "user", body).await.ok();
    assert_eq!(made["target"], "mqtt://ana:***@broker/alerts");
    let change = async |body: Value| house.call("PATCH", "/api/v1/subscriptions/s", "user", Some(body)).await;
    let changed = change(json!({ "timeout_s": 9, "target": made["target"] })).await.ok();
    assert_eq!((&changed["timeout_s"], &changed["parallel"]), (&json!(9), &json!(7)));
    let changed = change(json!({ "headers": null, "parallel": null })).await.ok();
    assert_eq!((&changed["headers"], &changed["parallel"]), (&json!({}), &json!(20)));
    assert_eq!(stored(&house, "s").await.target.0, target);
    change(json!({})).await.refused(400, "invalid", &["nothing to change"]);
    change(json!({ "name": "t" })).await.refused(400, "invalid", &["unknown field `name`"]);
}

#[tokio::test]
async fn what_a_subscription_cannot_be_is_said_in_a_sentence() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let cases = [
        (json!({ "target": "example.org" }), "is not a target"),
        (json!({ "target": "ftp://example.org/" }), "use http, https, mqtt or mqtts"),
        (json!({ "retry_delays_s": [1.5] }), "retry_delays_s[0]: 1.5 is not a whole number"),
        (json!({ "retry_delays_s": [5, -1] }), "retry_delays_s[1]: -1 is negative"),
        (json!({ "retry_delays_s": vec![1; 65] }), "65 retry delays are too many: at most 64"),
        (json!({ "retry_delays_s": [9_999_999] }), "a retry delay is at most 30 days"),
        (json!({ "timeout_s": 0 }), "timeout_s is from 1 to 300"),
        (json!({ "timeout_s": -1 }), "timeout_s: -1 is negative"),
        (json!({ "parallel": 0 }), "parallel is from 1 to 10000"),
        (json!({ "parallel": 5_000_000_000_u64 }), "parallel: 5000000000 is too large"),
        (json!({ "confirm_within_s": 0 }), "confirm_within_s is from 1"),
        (json!({ "headers": { "host": "a" } }), "host"),
        (json!({ "headers": { "x-a": "b\nc" } }), "x-a"),
        (json!({ "filter": [{ "equals": 1 }] }), "a condition of a filter is about one thing"),
        (json!({ "filter": [{ "field": "a", "matches": ".*" }] }), "filter[0]"),
        (json!({ "filter": vec![json!({ "field": "a" }); 33] }), "at most 32 conditions"),
        (json!({ "filter": [{ "field": "a", "any_of": vec!["word"; 5_000] }] }), "at most 16384 bytes"),
        (json!({ "secret": "hunter2" }), "whsec_"),
        (json!({ "cloudevents": "yes" }), "\"yes\" is not false, true, \"binary\" or \"structured\""),
        (json!({ "auth": { "digest": "x" } }), "unknown variant `digest`"),
        (json!({ "state": "sleeping" }), "unknown variant `sleeping`"),
        (json!({ "colour": "red" }), "unknown field `colour`"),
        (json!({ "endpoint": 5 }), "endpoint: invalid type"),
    ];
    for (wrong, words) in cases {
        let mut body = json!({ "name": "s", "endpoint": endpoint, "target": "https://example.org/" });
        for (name, value) in wrong.as_object().unwrap() {
            body[name] = value.clone();
        }
        house.post("/api/v1/subscriptions", "user", body).await.refused(400, "invalid", &[words]);
    }
    let nowhere = json!({ "name": "s", "endpoint": "nowhere", "target": "https://example.org/" });
    house.post("/api/v1/subscriptions", "user", nowhere).await.refused(404, "not_found", &["nowhere"]);
}

#[tokio::test]
async fn subscriptions_are_listed_by_endpoint_and_page_by_page() {
    let house = House::new().await;
    let (one, two) = (house.endpoint("alpha").await, house.endpoint("alpha").await);
    let (a, b) = (house.subscription(&one).await, house.subscription(&one).await);
    let c = house.subscription(&two).await;
    let names = async |query: &str| {
        let page = house.get(&format!("/api/v1/subscriptions?{query}"), "readonly").await.ok();
        let items = page["items"].as_array().unwrap();
        let names: Vec<_> = items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect();
        (names, page["next_cursor"].as_str().map(str::to_owned))
    };
    assert_eq!(names("").await.0, [a.clone(), b.clone(), c.clone()]);
    assert_eq!(names(&format!("endpoint={two}")).await.0, std::slice::from_ref(&c));
    let (first, cursor) = names("limit=2").await;
    assert_eq!(first, [a, b]);
    assert_eq!(names(&format!("limit=2&cursor={}", cursor.unwrap())).await, (vec![c], None));
}

#[tokio::test]
async fn only_a_disabled_subscription_can_be_deleted() {
    let house = House::new().await;
    let name = house.subscription(&house.endpoint("alpha").await).await;
    let path = format!("/api/v1/subscriptions/{name}");
    house.call("DELETE", &path, "user", None).await.refused(409, "taken", &["disable"]);
    house.call("PATCH", &path, "user", Some(json!({ "state": "disabled" }))).await.ok();
    assert_eq!(house.call("DELETE", &path, "user", None).await.status, 204);
    house.get(&path, "user").await.refused(404, "not_found", &[&name]);
}
