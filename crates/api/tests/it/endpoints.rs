//! Endpoints over the API.

use serde_json::{Value, json};

use crate::house::House;

#[tokio::test]
async fn an_endpoint_is_made_changed_and_deleted() {
    let house = House::new().await;
    let body = json!({ "name": "orders", "description": "from the shop", "max_body": 2048, "retention_days": 7 });
    let made = house.post("/api/v1/endpoints", "user", body.clone()).await;
    assert_eq!(made.status, 201);
    let expected = json!({
        "name": "orders", "group": "alpha", "protocol": "http", "path": "/in/orders", "description": "from the shop",
        "max_body": 2048, "needs_token": false, "needs_signature": false, "retention_days": 7, "mqtt": null,
        "created_at": "2026-01-31T12:00:00.000Z",
    });
    assert_eq!(made.json, expected);
    assert_eq!(house.get("/api/v1/endpoints/orders", "readonly").await.ok(), expected);
    house.post("/api/v1/endpoints", "user", body).await.refused(409, "taken", &["orders"]);
    let change = async |body: Value| house.call("PATCH", "/api/v1/endpoints/orders", "user", Some(body)).await;
    let changed = change(json!({ "description": null, "max_body": null, "retention_days": null })).await.ok();
    assert_eq!(
        (&changed["description"], &changed["max_body"], &changed["retention_days"]),
        (&json!(""), &json!(1_048_576), &Value::Null)
    );
    change(json!({})).await.refused(400, "invalid", &["nothing to change", "max_body"]);
    let subscription = house.subscription("orders").await;
    house.call("DELETE", "/api/v1/endpoints/orders", "user", None).await.refused(409, "taken", &["subscription"]);
    let path = format!("/api/v1/subscriptions/{subscription}");
    house.call("PATCH", &path, "user", Some(json!({ "state": "disabled" }))).await.ok();
    assert_eq!(house.call("DELETE", &path, "user", None).await.status, 204);
    assert_eq!(house.call("DELETE", "/api/v1/endpoints/orders", "user", None).await.status, 204);
    house.get("/api/v1/endpoints/orders", "user").await.refused(404, "not_found", &["orders"]);
}

#[tokio::test]
async fn a_source_at_a_broker_shows_all_but_its_password() {
    let house = House::new().await;
    let mqtt = json!({ "broker": "mqtt://broker:1883", "topic": "plant/#", "username": "ana", "password": "s3cret" });
    let body = json!({ "name": "plant", "protocol": "mqtt", "mqtt": mqtt });
    let made = house.post("/api/v1/endpoints", "user", body).await;
    let shown = json!({ "broker": "mqtt://broker:1883", "topic": "plant/#", "username": "ana" });
    assert_eq!((&made.json["protocol"], &made.json["mqtt"]), (&json!("mqtt"), &shown));
    let log = house.get("/api/v1/audit?action=endpoint", "user").await;
    assert!(log.text.contains("plant/#") && !log.text.contains("s3cret"), "{}", log.text);
    assert!(!made.text.contains("s3cret"));
}

#[tokio::test]
async fn what_an_endpoint_cannot_be_is_said_in_a_sentence() {
    let house = House::new().await;
    let cases = [
        (json!({ "name": "a b" }), "\"a b\" cannot name an endpoint"),
        (json!({ "name": "x", "max_body": 0 }), "max_body is from 1 to 16777216"),
        (json!({ "name": "x", "max_body": -1 }), "max_body: -1 is negative"),
        (json!({ "name": "x", "max_body": 1.5 }), "max_body: 1.5 is not a whole number"),
        (json!({ "name": "x", "max_body": 20_000_000 }), "max_body is from 1"),
        (json!({ "name": "x", "retention_days": 0 }), "retention_days is from 1 to 3650"),
        (json!({ "name": "x", "token": "" }), "a token has from 1 to 1024"),
        (json!({ "name": "x", "signature_secret": "abc" }), "whsec_"),
        (json!({ "name": "x", "protocol": "mqtt" }), "needs \"mqtt\""),
        (json!({ "name": "x", "protocol": "coap" }), "unknown variant `coap`"),
        (json!({ "name": "x", "mqtt": { "broker": "http://b", "topic": "t" } }), "is not a broker"),
        (json!({ "name": "x", "colour": "red" }), "unknown field `colour`"),
        (json!({}), "missing field `name`"),
    ];
    for (body, words) in cases {
        house.post("/api/v1/endpoints", "user", body).await.refused(400, "invalid", &[words]);
    }
    house.post("/api/v1/endpoints", "user", json!({ "name": "system" })).await.refused(409, "taken", &["system"]);
}

#[tokio::test]
async fn the_endpoint_of_mallas_own_events_is_seen_by_all_and_stays_as_it_is() {
    let house = House::new().await;
    let path = "/api/v1/endpoints/system";
    assert_eq!(house.get(path, "readonly").await.ok()["group"], Value::Null);
    for who in ["user", "admin"] {
        let change = json!({ "retention_days": 5 });
        house.call("PATCH", path, who, Some(change)).await.refused(400, "invalid", &["cannot be changed"]);
        house.call("DELETE", path, who, None).await.refused(400, "invalid", &["cannot be deleted"]);
    }
}

#[tokio::test]
async fn endpoints_are_listed_page_by_page() {
    let house = House::new().await;
    for _ in 0..3 {
        house.endpoint("alpha").await;
    }
    let first = house.get("/api/v1/endpoints?limit=3", "user").await.ok();
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = house.get(&format!("/api/v1/endpoints?limit=3&cursor={cursor}"), "user").await.ok();
    let names = |page: &Value| page["items"].as_array().unwrap().len();
    assert_eq!((names(&first), names(&second), &second["next_cursor"]), (3, 1, &Value::Null));
}
