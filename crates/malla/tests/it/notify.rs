//! Events in, notifications out: the real binary between a publisher and real receivers.

use std::time::Instant;

use serde_json::{Value, json};

use crate::receiver::Receiver;
use crate::server::{DEADLINE, Place, Server, poll_until};

/// Receivers of tests are on loopback.
pub(crate) const NEAR: &[(&str, &str)] = &[("MALLA_ALLOW_PRIVATE", "true")];

/// A publisher and operator of the tests.
pub(crate) struct Desk {
    pub(crate) url: String,
    token: String,
    http: reqwest::Client,
    runtime: tokio::runtime::Runtime,
}

impl Desk {
    pub(crate) fn at(server: &Server, place: &Place) -> Self {
        // The second test of a process finds it done.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let token = std::fs::read_to_string(place.data().join("admin.token")).expect("the admin's token");
        Self {
            url: server.url.clone(),
            token: token.trim().to_owned(),
            http: reqwest::Client::new(),
            runtime: tokio::runtime::Runtime::new().expect("a runtime"),
        }
    }

    /// The status and body of an answer.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let method = method.parse().expect("a method");
        let request = self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        self.runtime.block_on(async {
            let answer = request.send().await.expect("an answer");
            let status = answer.status().as_u16();
            let body = answer.bytes().await.expect("a body");
            (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
        })
    }

    #[track_caller]
    pub(crate) fn ok(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let (status, answer) = self.call(method, path, body.as_ref());
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    #[track_caller]
    pub(crate) fn subscribe(&self, name: &str, endpoint: &str, target: &str, more: Value) {
        let mut subscription = json!({ "name": name, "endpoint": endpoint, "target": target });
        let fields = subscription.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        self.ok("POST", "/api/v1/subscriptions", Some(subscription));
    }

    /// Posts an event; its id.
    #[track_caller]
    pub(crate) fn post(&self, endpoint: &str, body: &str) -> String {
        let (status, answer) = self.send(self.http.post(format!("{}/in/{endpoint}", self.url)).body(body.to_owned()));
        assert_eq!(status, 200, "{answer}");
        answer["id"].as_str().expect("an id").to_owned()
    }

    pub(crate) fn send(&self, request: reqwest::RequestBuilder) -> (u16, Value) {
        self.runtime.block_on(async {
            let answer = request.send().await.expect("an answer");
            let status = answer.status().as_u16();
            let body = answer.bytes().await.expect("a body");
            (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
        })
    }

    pub(crate) fn notifications(&self, query: &str) -> Vec<Value> {
        let page = self.ok("GET", &format!("/api/v1/notifications?{query}"), None);
        page["items"].as_array().expect("a list").clone()
    }

    /// Waits until as many notifications match.
    #[track_caller]
    pub(crate) fn wait_for(&self, query: &str, count: usize) -> Vec<Value> {
        let found = poll_until(Instant::now() + DEADLINE, || {
            Some(self.notifications(query)).filter(|found| found.len() == count)
        });
        found.unwrap_or_else(|| panic!("not {count} of {query} but {:?}", self.notifications("limit=50")))
    }
}

fn open() -> (Place, Server, Desk) {
    let place = Place::new();
    let server = place.start_with(&[], NEAR);
    let desk = Desk::at(&server, &place);
    (place, server, desk)
}

#[test]
fn an_event_arrives_as_it_came() {
    let (_place, _server, desk) = open();
    let receiver = Receiver::start();
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "orders" })));
    let asks = json!({ "forward_headers": true, "forward_query": true, "headers": { "x-added": "yes" },
        "cloudevents": true, "secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD" });
    desk.subscribe("shop", "orders", &receiver.url(), asks);
    let body = vec![0, 159, 146, 150, 255];
    let request = desk.http.put(format!("{}/in/orders?a=1&b=x%20y", desk.url)).body(body.clone());
    let (status, answer) = desk.send(request.header("content-type", "image/x-own").header("x-tenant", "acme"));
    assert_eq!(status, 200, "{answer}");
    let delivery = receiver.wait_for(1).remove(0);
    assert_eq!((delivery.method.as_str(), delivery.body.as_slice()), ("PUT", body.as_slice()));
    assert_eq!(delivery.path, "/hook?a=1&b=x%20y");
    let headers = ["content-type", "x-tenant", "x-added", "ce-specversion"].map(|name| delivery.header(name));
    assert_eq!(headers, ["image/x-own", "acme", "yes", "1.0"]);
    assert_eq!(delivery.header("ce-id"), answer["id"].as_str().expect("an id"));
    assert!(delivery.header("webhook-signature").starts_with("v1,"), "{delivery:?}");
    let shown = desk.wait_for("state=succeeded&subscription=shop", 1).remove(0);
    let detail = desk.ok("GET", &format!("/api/v1/notifications/{}", shown["id"].as_str().expect("an id")), None);
    assert!(detail.to_string().contains("204"), "the answer is kept: {detail}");
}

#[test]
fn strangers_and_giants_are_refused() {
    let (_place, _server, desk) = open();
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "small", "max_body": 10, "token": "open-sesame" })));
    let at = |name: &str| desk.http.post(format!("{}/in/{name}", desk.url));
    assert_eq!(desk.send(at("nobody").body("x")).0, 404);
    assert_eq!(desk.send(at("system").body("x")).0, 404);
    assert_eq!(desk.send(at("small").body("x")).0, 401);
    assert_eq!(desk.send(at("small").bearer_auth("open-sesame").body("12345678901")).0, 413);
    assert_eq!(desk.send(at("small").bearer_auth("open-sesame").body("1234567890")).0, 200);
    assert_eq!(desk.call("POST", "/api/v1/endpoints", Some(&json!({ "name": "small" }))).0, 409);
}

#[test]
fn a_suspended_subscription_holds_and_then_sends_the_oldest_first() {
    let (_place, _server, desk) = open();
    let receiver = Receiver::start();
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "orders" })));
    desk.subscribe("shop", "orders", &receiver.url(), json!({ "state": "suspended", "parallel": 1 }));
    (0..5).for_each(|n| drop(desk.post("orders", &n.to_string())));
    desk.wait_for("subscription=shop&state=paused", 5);
    assert!(receiver.got().is_empty());
    desk.ok("PATCH", "/api/v1/subscriptions/shop", Some(json!({ "state": "active" })));
    let bodies: Vec<_> = receiver.wait_for(5).into_iter().map(|delivery| delivery.body).collect();
    assert_eq!(bodies, [b"0", b"1", b"2", b"3", b"4"]);
}

#[test]
fn a_disabled_subscription_discards_what_waits_and_makes_no_more() {
    let (_place, _server, desk) = open();
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "orders" })));
    desk.subscribe("shop", "orders", "http://127.0.0.1:9/", json!({ "state": "suspended" }));
    (0..3).for_each(|n| drop(desk.post("orders", &n.to_string())));
    desk.ok("PATCH", "/api/v1/subscriptions/shop", Some(json!({ "state": "disabled" })));
    desk.wait_for("subscription=shop&state=discarded", 3);
    desk.post("orders", "later");
    assert_eq!(desk.notifications("subscription=shop").len(), 3);
}

#[test]
fn the_targets_word_decides() {
    let (_place, _server, desk) = open();
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "orders" })));
    let accepting = Receiver::answering(|_, _| "202 Accepted".into());
    let gone = Receiver::answering(|_, _| "410 Gone".into());
    let busy =
        Receiver::answering(
            |n, _| {
                if n == 0 { "429 Too Many Requests\r\nretry-after: 1".into() } else { "200 OK".into() }
            },
        );
    let failing = Receiver::answering(|_, _| "500 Internal Server Error".into());
    for (name, receiver) in [("accepting", &accepting), ("gone", &gone), ("busy", &busy), ("failing", &failing)] {
        desk.subscribe(name, "orders", &receiver.url(), json!({ "retry_delays_s": [0, 600] }));
    }
    desk.post("orders", "once");

    let notified = desk.wait_for("subscription=accepting&state=notified", 1).remove(0);
    let confirm = format!("/api/v1/notifications/{}/confirm", notified["id"].as_str().expect("an id"));
    desk.ok("POST", &confirm, None);
    desk.wait_for("subscription=accepting&state=succeeded", 1);
    assert_eq!(desk.call("POST", &confirm, None).0, 409, "it is decided already");

    desk.wait_for("subscription=gone&state=failed", 1);
    assert_eq!(desk.ok("GET", "/api/v1/subscriptions/gone", None)["state"], "disabled");

    desk.wait_for("subscription=busy&state=succeeded", 1);
    let two = failing.wait_for(2);
    assert_eq!(two[0].header("webhook-id"), two[1].header("webhook-id"), "one id over all attempts");
}

#[test]
fn what_failed_is_found_by_its_content_and_resent() {
    let (_place, _server, desk) = open();
    let receiver = Receiver::answering(|n, _| if n < 3 { "500 Oops".into() } else { "200 OK".into() });
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "orders" })));
    desk.subscribe("shop", "orders", &receiver.url(), json!({ "retry_delays_s": [] }));
    for body in [r#"{"order":"A-17"}"#, r#"{"order":"B-18"}"#, r#"{"order":"C-19"}"#] {
        desk.post("orders", body);
    }
    desk.wait_for("state=failed", 3);
    assert_eq!(desk.notifications("content=B-18&state=failed&endpoint=orders").len(), 1);
    assert_eq!(desk.notifications("content=nothing").len(), 0);
    let changed = desk.ok("POST", "/api/v1/notifications/resend?content=B-18", None);
    assert_eq!(changed["changed"], 1);
    desk.wait_for("content=B-18&state=succeeded", 1);
    desk.ok("POST", "/api/v1/notifications/resend?subscription=shop", None);
    desk.wait_for("subscription=shop&state=succeeded", 3);
}

#[test]
fn malla_tells_of_its_own_failures() {
    let (_place, server, desk) = open();
    let receiver = Receiver::start();
    desk.subscribe(
        "pager",
        "system",
        &receiver.url(),
        json!({ "filter": [{ "header": "ce-type", "equals": "task.failed" }] }),
    );
    server.ok(&["tasks", "submit", "drill/x", r#"{"fail":1}"#]);
    let told = receiver.wait_for(1).remove(0);
    assert!(String::from_utf8_lossy(&told.body).contains("drill"), "{told:?}");
}

#[test]
fn private_targets_are_refused_unless_allowed() {
    let place = Place::new();
    let server = place.start();
    let desk = Desk::at(&server, &place);
    let receiver = Receiver::start();
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "orders" })));
    desk.subscribe("near", "orders", &receiver.url(), json!({ "retry_delays_s": [] }));
    desk.post("orders", "x");
    let failed = desk.wait_for("state=failed", 1).remove(0);
    let detail = desk.ok("GET", &format!("/api/v1/notifications/{}", failed["id"].as_str().expect("an id")), None);
    assert!(detail.to_string().contains("loopback"), "{detail}");
    assert!(receiver.got().is_empty());
}

#[test]
fn the_commands_do_it_all() {
    let (_place, server, desk) = open();
    let receiver = Receiver::start();
    server.ok(&["notify", "endpoints", "create", "orders"]);
    server.ok(&["notify", "subscriptions", "create", "shop", "orders", &receiver.url()]);
    let id = desk.post("orders", "hello");
    receiver.wait_for(1);
    desk.wait_for("state=succeeded", 1);
    assert_eq!(server.json(&["notify", "events", "list"])[0]["id"], id.as_str());
    assert_eq!(server.json(&["notify", "notifications", "list"])[0]["state"], "succeeded");
    server.ok(&["notify", "subscriptions", "suspend", "shop"]);
    assert_eq!(server.json(&["notify", "subscriptions", "list"])[0]["state"], "suspended");
}
