//! Events on their way in.

use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream;
use malla_notify::signing::Secret;
use malla_queue::Clock as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::house::{Answer, House};

async fn post(house: &House, endpoint: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
    let mut request = Request::post(format!("/in/{endpoint}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    house.send(request.body(body.into()).unwrap()).await
}

async fn shown(house: &House, id: &Value) -> Value {
    house.get(&format!("/api/v1/events/{}", id.as_str().unwrap()), "admin").await.ok()
}

#[tokio::test]
async fn an_event_is_kept_as_it_came() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let request = Request::put(format!("/in/{endpoint}?a=1&b=%20"))
        .header("content-type", "application/vnd.order+json; v=2")
        .header("x-tenant", "acme")
        .header("x-tenant", "other")
        .header("authorization", "Bearer not-malla's")
        .header("cookie", "secret=1")
        .header("connection", "keep-alive, x-hop")
        .header("x-hop", "1")
        .header("webhook-signature", "v1,abc")
        .header("host", "events.example");
    let accepted = house.send(request.body(Body::from("{\"ä\":1}")).unwrap()).await;
    assert_eq!(accepted.status, 200);
    assert_eq!(accepted.json.as_object().unwrap().len(), 1);
    let event = shown(&house, &accepted.json["id"]).await;
    let expected = json!({
        "id": accepted.json["id"], "endpoint": endpoint, "group": "alpha", "kind": null, "method": "PUT",
        "content_type": "application/vnd.order+json; v=2", "topic": null, "bytes": 8, "query": "a=1&b=%20",
        "received_at": "2026-01-31T12:00:00.000Z", "headers": { "x-tenant": "acme, other" }, "body": "{\"ä\":1}",
    });
    assert_eq!(event, expected);
}

#[tokio::test]
async fn any_bytes_will_do_packed_or_not_or_none_at_all() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let empty = post(&house, &endpoint, &[], "").await.ok();
    assert_eq!(shown(&house, &empty["id"]).await["body"], "");
    // It says gzip and is not: nobody looks.
    for encoding in ["gzip", "br"] {
        let bytes = [0x1f, 0x8b, 0x00, 0xff];
        let packed = post(&house, &endpoint, &[("content-encoding", encoding)], bytes.to_vec()).await.ok();
        let event = shown(&house, &packed["id"]).await;
        assert_eq!(event["body_base64"], STANDARD.encode(bytes));
        assert_eq!((&event["headers"]["content-encoding"], event.get("body")), (&json!(encoding), None));
    }
}

#[tokio::test]
async fn what_is_not_an_endpoint_is_a_404_and_get_is_a_405() {
    let house = House::new().await;
    post(&house, "nowhere", &[], "x").await.refused(404, "not_found", &["nowhere", "does not exist"]);
    post(&house, "system", &[], "x").await.refused(404, "not_found", &["system"]);
    let endpoint = house.endpoint("alpha").await;
    let answer = house.get(&format!("/in/{endpoint}"), "").await;
    answer.refused(405, "method_not_allowed", &["does not take GET"]);
    assert!(answer.headers["allow"].to_str().unwrap().contains("POST"));
}

#[tokio::test]
async fn the_endpoints_own_limit_counts_with_a_length_and_without() {
    let house = House::new().await;
    let (small, large) = (house.endpoint("alpha").await, house.endpoint("alpha").await);
    for (endpoint, max_body) in [(&small, 10), (&large, 3_000_000)] {
        let path = format!("/api/v1/endpoints/{endpoint}");
        house.call("PATCH", &path, "user", Some(json!({ "max_body": max_body }))).await.ok();
    }
    post(&house, &small, &[], "0123456789").await.ok();
    post(&house, &small, &[], "0123456789+").await.refused(413, "too_large", &[&small, "at most 10 bytes"]);
    let said = [("content-length", "11")];
    post(&house, &small, &said, chunked(11)).await.refused(413, "too_large", &["at most 10 bytes"]);
    post(&house, &small, &[], chunked(10)).await.ok();
    post(&house, &small, &[], chunked(11)).await.refused(413, "too_large", &["at most 10 bytes"]);
    // More than other routes take.
    post(&house, &large, &[], vec![b'x'; 2_000_000]).await.ok();
    let events = house.get("/api/v1/events", "admin").await;
    assert_eq!(events.ids().len(), 3, "what was refused left nothing behind");
}

/// A body that does not say its length.
fn chunked(bytes: usize) -> Body {
    Body::from_stream(stream::iter((0..bytes).map(|_| Ok::<_, std::io::Error>("x"))))
}

#[tokio::test]
async fn an_event_with_too_many_headers_is_refused() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let long = "x".repeat(33_000);
    post(&house, &endpoint, &[("x-long", &long)], "").await.refused(400, "invalid", &["32768 bytes", "send fewer"]);
}

#[tokio::test]
async fn an_endpoint_may_ask_for_a_token() {
    let house = House::new().await;
    let body = json!({ "name": "locked", "group": "alpha", "token": "s3cret" });
    let made = house.post("/api/v1/endpoints", "user", body).await;
    assert!(made.json["needs_token"] == true && !made.text.contains("s3cret"), "{}", made.text);
    let refused = post(&house, "locked", &[], "x").await;
    refused.refused(401, "unauthorized", &["asks for a token"]);
    assert!(refused.headers.contains_key("www-authenticate"));
    let wrong = [("authorization", "Bearer admin")];
    post(&house, "locked", &wrong, "x").await.refused(401, "unauthorized", &["not the endpoint's"]);
    post(&house, "locked", &[("authorization", "Bearer s3cret")], "x").await.ok();
    house.call("PATCH", "/api/v1/endpoints/locked", "user", Some(json!({ "token": null }))).await.ok();
    post(&house, "locked", &[], "x").await.ok();
}

#[tokio::test]
async fn an_endpoint_may_ask_for_a_signature() {
    let house = House::new().await;
    let secret = Secret::generate().unwrap();
    let body = json!({ "name": "sealed", "group": "alpha", "signature_secret": secret });
    let made = house.post("/api/v1/endpoints", "user", body).await;
    assert!(made.json["needs_signature"] == true && !made.text.contains(&secret), "{}", made.text);
    let now_s = house.clock.now().0 / 1_000;
    let signature = Secret::parse(&secret).unwrap().sign("msg_1", now_s, b"hello").unwrap();
    let now = now_s.to_string();
    let signed = [("webhook-id", "msg_1"), ("webhook-timestamp", &now), ("webhook-signature", &signature)];
    post(&house, "sealed", &[], "hello").await.refused(401, "unauthorized", &["asks for a signature"]);
    post(&house, "sealed", &signed, "hullo").await.refused(401, "unauthorized", &["webhook-signature"]);
    post(&house, "sealed", &signed, "hello").await.ok();
}

#[tokio::test]
async fn a_store_that_is_away_is_a_503_and_never_a_200() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    post(&house, &endpoint, &[], "x").await.ok();
    house.store.close().await;
    let refused = post(&house, &endpoint, &[], "x").await;
    refused.refused(503, "unavailable", &["could not be stored", "again"]);
    assert!(refused.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn bodies_on_their_way_in_have_only_so_much_room() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let path = format!("/api/v1/endpoints/{endpoint}");
    house.call("PATCH", &path, "user", Some(json!({ "max_body": 16 * 1024 * 1024 }))).await.ok();
    // Bodies that never end hold all the room there is: 256 MiB.
    let (began, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let mut held = Vec::new();
    for _ in 0..16 {
        let began = began.clone();
        let endless = stream::poll_fn(move |_| {
            let _ = began.send(());
            Poll::<Option<std::io::Result<&str>>>::Pending
        });
        let request = Request::post(format!("/in/{endpoint}")).body(Body::from_stream(endless)).unwrap();
        held.push(tokio::spawn(house.router.clone().oneshot(request)));
    }
    for _ in 0..held.len() {
        begun.recv().await.unwrap();
    }
    let full = post(&house, &endpoint, &[], "x").await;
    full.refused(503, "full", &["too many events"]);
    assert!(full.headers.contains_key("retry-after"));
    for waiting in held {
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
    }
    post(&house, &endpoint, &[], "x").await.ok();
}

#[tokio::test]
async fn an_event_repeated_under_its_key_is_taken_once() {
    let house = House::new().await;
    let (endpoint, other) = (house.endpoint("alpha").await, house.endpoint("alpha").await);
    let key = [("idempotency-key", "order-1"), ("content-type", "text/plain")];
    let first = post(&house, &endpoint, &key, "x").await.ok();
    // What differs beside the event itself does not matter.
    let again = [("x-try", "2"), key[0], key[1]];
    assert_eq!(post(&house, &endpoint, &again, "x").await.ok(), first);
    assert_ne!(post(&house, &other, &key, "x").await.ok(), first, "a key is its endpoint's");
    assert_ne!(post(&house, &endpoint, &key[1..], "x").await.ok(), first, "without a key each is an event");
    assert_eq!(house.get("/api/v1/events", "admin").await.ids().len(), 3);
    house.clock.advance(Duration::from_secs(24 * 3600));
    assert_ne!(post(&house, &endpoint, &key, "x").await.ok(), first, "a key is kept for a day");
}

#[tokio::test]
async fn a_key_with_another_event_is_refused() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let path = format!("/in/{endpoint}?a=1");
    let text = Some("text/plain");
    send(&house, "POST", &path, text, "x").await.ok();
    for (method, path, content_type, body) in [
        ("PUT", &*path, text, "x"),
        ("POST", &format!("/in/{endpoint}"), text, "x"),
        ("POST", &format!("/in/{endpoint}?a=2"), text, "x"),
        ("POST", &path, None, "x"),
        ("POST", &path, Some("text/html"), "x"),
        ("POST", &path, text, "y"),
        ("POST", &path, text, ""),
    ] {
        let refused = send(&house, method, path, content_type, body).await;
        refused.refused(422, "key_reused", &["Idempotency-Key", "choose a new key"]);
    }
    send(&house, "POST", &path, text, "x").await.ok();
    assert_eq!(house.get("/api/v1/events", "admin").await.ids().len(), 1);
    post(&house, &endpoint, &[("idempotency-key", "two words")], "x").await.refused(400, "invalid", &["1 to 255"]);
}

/// An event under the key `k`.
async fn send(house: &House, method: &str, path: &str, content_type: Option<&str>, body: &'static str) -> Answer {
    let mut request = Request::builder().method(method).uri(path).header("idempotency-key", "k");
    if let Some(content_type) = content_type {
        request = request.header("content-type", content_type);
    }
    house.send(request.body(Body::from(body)).unwrap()).await
}

#[tokio::test]
async fn a_key_does_not_open_what_asks_for_a_token() {
    let house = House::new().await;
    let body = json!({ "name": "locked", "group": "alpha", "token": "s3cret" });
    house.post("/api/v1/endpoints", "user", body).await.ok();
    let (key, token) = (("idempotency-key", "k"), ("authorization", "Bearer s3cret"));
    post(&house, "locked", &[key, token], "x").await.ok();
    post(&house, "locked", &[key], "x").await.refused(401, "unauthorized", &["asks for a token"]);
}
