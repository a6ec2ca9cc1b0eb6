//! Events over the API.

use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::house::House;

#[tokio::test]
async fn events_are_found_by_endpoint_content_and_time() {
    let house = House::new().await;
    let (one, two) = (house.endpoint("alpha").await, house.endpoint("alpha").await);
    let paid = house.event(&one, r#"{"order":"4711","state":"paid"}"#).await;
    let sent = house.event(&one, r#"{"order":"4711","state":"sent"}"#).await;
    let other = house.event(&two, r#"{"order":"4712","state":"paid"}"#).await;
    let found = async |query: &str| house.get(&format!("/api/v1/events?{query}"), "readonly").await.ids();
    assert_eq!(found("").await, [other.clone(), sent.clone(), paid.clone()]);
    assert_eq!(found(&format!("endpoint={one}")).await, [sent.clone(), paid.clone()]);
    assert_eq!(found("content=paid").await, [other.clone(), paid.clone()]);
    assert_eq!(found(&format!("content=4711&endpoint={two}")).await, [""; 0]);
    assert_eq!(found("from=2026-01-31&to=2026-01-31").await.len(), 3);
    assert_eq!(found("to=2026-01-30").await.len(), 0);
    let first = house.get("/api/v1/events?limit=2", "user").await;
    assert_eq!(first.ids(), [other, sent]);
    let cursor = first.json["next_cursor"].as_str().unwrap();
    assert_eq!(found(&format!("limit=2&cursor={cursor}")).await, [paid]);
    let wrong = house.get("/api/v1/events?from=yesterday", "user").await;
    wrong.refused(400, "invalid", &["from", "is not a time"]);
    house.get("/api/v1/events?subscription=x", "user").await.refused(400, "invalid", &["unknown", "subscription"]);
}

#[tokio::test]
async fn a_body_comes_back_byte_for_byte_and_cannot_run_in_a_browser() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let bytes: Vec<u8> = (0..=255).collect();
    let post = Request::post(format!("/in/{endpoint}")).header("content-type", "text/html");
    let accepted = house.send(post.body(Body::from(bytes.clone())).unwrap()).await.ok();
    let path = format!("/api/v1/events/{}/body", accepted["id"].as_str().unwrap());
    let get = Request::get(path).header("authorization", "Bearer readonly").body(Body::empty()).unwrap();
    let answer = house.router.clone().oneshot(get).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/html");
    assert_eq!(answer.headers()["content-security-policy"], "sandbox");
    assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
    assert!(answer.headers()["content-disposition"].to_str().unwrap().starts_with("attachment"));
    assert_eq!(to_bytes(answer.into_body(), 1 << 20).await.unwrap(), bytes);
}

#[tokio::test]
async fn what_is_not_an_event_is_refused() {
    let house = House::new().await;
    house.get("/api/v1/events/0000000000000", "user").await.refused(404, "not_found", &["0000000000000"]);
    house.get("/api/v1/events/nonsense", "user").await.refused(400, "invalid", &["is not an id"]);
    house.get("/api/v1/events/0000000000000/body", "user").await.refused(404, "not_found", &["0000000000000"]);
    let name = house.endpoint("beta").await;
    let theirs = house.event(&name, "x").await;
    let refused = house.get(&format!("/api/v1/events/{theirs}"), "user").await;
    refused.refused(404, "not_found", &[&theirs]);
    assert_eq!(house.get("/api/v1/events", "user").await.ok(), json!({ "items": [], "next_cursor": Value::Null }));
}
