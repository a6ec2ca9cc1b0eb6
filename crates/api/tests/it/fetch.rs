//! Jobs, their results, and the wire between devices and the server.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use malla_fetch::PageUrl;
use malla_protocol::{Frame, ResultHead};
use malla_queue::{Queue as _, Scope};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::house::{Answer, House};

/// No block is leased for longer.
const LEASE_MAX: Duration = Duration::from_secs(120);

/// A device of a group's, and its secret.
async fn join(house: &House, token: &str, name: &str) -> String {
    let joined = house.post("/api/v1/fleet/join", token, json!({ "version": 1, "name": name })).await.ok();
    joined["secret"].as_str().expect("a secret").to_owned()
}

/// The items of the next block; something must be ready.
async fn lease(house: &House, secret: &str) -> Vec<Value> {
    let block = house.post("/api/v1/fleet/lease", secret, json!({ "pages": 16 })).await.ok();
    let runs = block["runs"].as_array().expect("runs").clone();
    runs.iter().flat_map(|run| run["items"].as_array().expect("items").clone()).collect()
}

fn frame(token: &str, status: u16, body: &[u8]) -> Vec<u8> {
    let head = ResultHead {
        token: token.into(),
        status,
        headers: vec![("content-type".into(), "text/html".into())],
        bytes: body.len() as u64,
        hash: None,
        trouble: None,
        note: None,
        took_ms: 5,
        quiet_ms: 5_000,
    };
    let packed = if body.is_empty() { Vec::new() } else { zstd::bulk::compress(body, 1).expect("packs") };
    let mut bytes = Vec::new();
    Frame::write(&head, &packed, &mut bytes);
    bytes
}

async fn bring(house: &House, secret: &str, bytes: Vec<u8>) -> Answer {
    let request = Request::post("/api/v1/fleet/results").header("authorization", format!("Bearer {secret}"));
    house.send(request.body(Body::from(bytes)).expect("a request")).await
}

/// A job for one page, and the page's lease once the site's robots.txt is known.
async fn leased_page(house: &House, secret: &str) -> (String, String) {
    let pages = json!({ "urls": ["http://site.example/a"] });
    let job = house.post("/api/v1/fetch", "user", pages).await.ok()["id"].as_str().expect("an id").to_owned();
    let robots = lease(house, secret).await;
    assert_eq!((robots.len(), &robots[0]["robots"]), (1, &json!(true)), "its robots.txt and nothing else");
    bring(house, secret, frame(robots[0]["token"].as_str().expect("a token"), 404, b"")).await.ok();
    house.clock.advance(Duration::from_secs(2));
    let page = lease(house, secret).await;
    assert_eq!(page[0]["url"], "http://site.example/a");
    (job, page[0]["token"].as_str().expect("a token").to_owned())
}

#[tokio::test]
async fn a_page_comes_back_in_every_form() {
    let house = House::new().await;
    let secret = join(&house, "user", "pi").await;
    let (job, token) = leased_page(&house, &secret).await;
    let taken = bring(&house, &secret, frame(&token, 200, b"<p>hello</p>")).await.ok();
    assert_eq!(taken["lost"], json!([]));
    let results = format!("/api/v1/fetch/{job}/results");
    let line = house.get(&results, "user").await.ok();
    assert_eq!((&line["status"], &line["body"], &line["device"]), (&json!(200), &json!("<p>hello</p>"), &json!("pi")));
    let archive = house.get(&format!("{results}?as=warc"), "user").await;
    assert_eq!(archive.headers["content-type"], "application/warc");
    assert_eq!(house.get(&format!("{results}?as=sse"), "user").await.headers["content-type"], "text/event-stream");
    house.get(&format!("{results}?as=xml"), "user").await.refused(400, "invalid", &["ndjson, sse or warc"]);
    house.get(&format!("{results}?after=x"), "user").await.refused(400, "invalid", &["number of results"]);
    let shown = house.get(&format!("/api/v1/fetch/{job}"), "user").await.ok();
    assert_eq!((&shown["state"], &shown["done"], &shown["good"]), (&json!("done"), &json!(1), &json!(1)));
    let again = house.get("/api/v1/fetch?url=http:%2F%2Fsite.example%2Fa&cached=true", "user").await.ok();
    assert_eq!(again["from_cache"], true);
}

#[tokio::test]
async fn results_without_a_lease_are_refused_and_change_nothing() {
    let house = House::new().await;
    let (secret, other) = (join(&house, "user", "pi").await, join(&house, "user", "other").await);
    let (job, token) = leased_page(&house, &secret).await;
    for (who, token) in [(&other, token.as_str()), (&secret, "0000000000001.1")] {
        let taken = bring(&house, who, frame(token, 200, b"forged")).await.ok();
        assert_eq!(taken["lost"], json!([token]));
    }
    assert_eq!(house.get(&format!("/api/v1/fetch/{job}"), "user").await.ok()["done"], 0);
    bring(&house, &secret, frame(&token, 200, b"true")).await.ok();
    let replayed = bring(&house, &secret, frame(&token, 200, b"replayed")).await.ok();
    assert_eq!(replayed["lost"], json!([token]));
    let line = house.get(&format!("/api/v1/fetch/{job}/results"), "user").await.ok();
    assert_eq!(line["body"], "true", "one answer, the first");
}

#[tokio::test]
async fn a_device_that_talks_nonsense_is_refused_and_nothing_is_lost() {
    let house = House::new().await;
    let secret = join(&house, "user", "pi").await;
    let (job, token) = leased_page(&house, &secret).await;
    let endless = [&[0, 0, 0, 9][..], &u32::MAX.to_be_bytes(), b"{}"].concat();
    bring(&house, &secret, endless).await.refused(413, "too_large", &["larger than is taken"]);
    bring(&house, &secret, b"GET / HTTP/1.1\r\n\r\n".to_vec()).await.refused(413, "too_large", &["larger"]);
    bring(&house, &secret, vec![0, 0, 0, 2, 0, 0, 0, 0, b'{', b'x']).await.refused(400, "invalid", &["cannot be read"]);
    let whole = frame(&token, 200, b"good");
    bring(&house, &secret, whole[..whole.len() - 1].to_vec()).await.refused(400, "invalid", &["broke off"]);
    bring(&house, "wrong", whole.clone()).await.refused(401, "unauthorized", &["join first"]);
    let old = json!({ "version": 0, "name": "old" });
    house.post("/api/v1/fleet/join", "user", old).await.refused(400, "invalid", &["version 0", "upgrade"]);
    // What is whole before the nonsense counts.
    let then_nonsense = [whole, vec![1, 2, 3]].concat();
    bring(&house, &secret, then_nonsense).await.refused(400, "invalid", &["broke off"]);
    assert_eq!(house.get(&format!("/api/v1/fetch/{job}"), "user").await.ok()["done"], 1);
}

#[tokio::test]
async fn a_blocked_device_is_turned_away() {
    let house = House::new().await;
    let secret = join(&house, "user", "pi").await;
    let device = house.get("/api/v1/devices", "user").await.json["items"][0]["id"].to_string();
    let path = format!("/api/v1/devices/{device}");
    house.call("PATCH", &path, "user", Some(json!({ "blocked": true }))).await.ok();
    house.post("/api/v1/fleet/lease", &secret, json!({ "pages": 1 })).await.refused(403, "forbidden", &["blocked"]);
    let join = json!({ "version": 1, "name": "pi" });
    house.post("/api/v1/fleet/join", "user", join).await.refused(403, "forbidden", &["blocked"]);
}

#[tokio::test]
async fn a_name_at_work_is_taken_for_all_who_do_not_have_its_secret() {
    let house = House::new().await;
    let secret = join(&house, "user", "pi").await;
    let again = async |body: Value| house.post("/api/v1/fleet/join", "user", body).await;
    let another = json!({ "version": 1, "name": "pi" });
    let why = ["a device named pi of", "is at work: choose another --name, or wait 91 s"];
    again(another.clone()).await.refused(409, "taken", &why);
    house.post("/api/v1/fleet/heartbeat", &secret, json!({})).await;
    assert_eq!(again(json!({ "version": 1, "name": "pi", "secret": secret })).await.ok()["secret"], secret.as_str());
    again(json!({ "version": 1, "name": "mac", "secret": secret })).await.refused(
        409,
        "taken",
        &["another device has"],
    );
    for bad in ["malladevshort", "x", &"y".repeat(60), &format!("malladev{}", " ".repeat(40))] {
        let bad = json!({ "version": 1, "name": "mac", "secret": bad });
        again(bad).await.refused(400, "invalid", &["malladev", "at least 32"]);
    }
    house.clock.advance(Duration::from_secs(91));
    let taken_over = again(another).await.ok();
    house.post("/api/v1/fleet/heartbeat", &secret, json!({})).await.refused(401, "unauthorized", &["join first"]);
    assert_ne!(taken_over["secret"], secret.as_str());
}

/// The number of a device, once it has asked for work and told that it makes seven requests at once.
async fn asking(house: &House, name: &str) -> Value {
    for _ in 0..1_000 {
        let devices = house.get("/api/v1/devices", "user").await.json["items"].clone();
        let device = devices.as_array().expect("devices").iter().find(|device| device["name"] == name);
        if let Some(device) = device.filter(|device| device["measures"]["parallel"] == 7) {
            return device["id"].clone();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{name} does not ask");
}

#[tokio::test]
async fn a_block_ends_the_long_poll_and_its_work_comes_back_with_the_lease() {
    let house = Arc::new(House::new().await);
    let (secret, other) = (join(&house, "user", "pi").await, join(&house, "user", "other").await);
    let (job, token) = leased_page(&house, &secret).await;
    let idle = join(&house, "user", "idle").await;
    for (name, secret) in [("idle", idle), ("pi", secret.clone())] {
        let calls = house.clone();
        let wish = json!({ "pages": 16, "measures": { "parallel": 7, "page_ms": 1, "bytes_per_s": 1 } });
        let poll = tokio::spawn(async move { calls.post("/api/v1/fleet/lease", &secret, wish).await });
        let path = format!("/api/v1/devices/{}", asking(&house, name).await);
        house.call("PATCH", &path, "user", Some(json!({ "blocked": true }))).await.ok();
        let ended = tokio::time::timeout(Duration::from_secs(10), poll).await.expect("long before its time");
        ended.expect("an answer").refused(403, "forbidden", &["blocked"]);
    }
    bring(&house, &secret, frame(&token, 200, b"late")).await.refused(403, "forbidden", &["blocked"]);
    house.clock.advance(LEASE_MAX);
    house.store.reap(100).await.expect("the store is there");
    house.clock.advance(Duration::from_secs(2));
    let page = lease(&house, &other).await;
    assert_eq!(page[0]["url"], "http://site.example/a");
    bring(&house, &other, frame(page[0]["token"].as_str().expect("a token"), 200, b"good")).await.ok();
    assert_eq!(house.get(&format!("/api/v1/fetch/{job}/results"), "user").await.ok()["body"], "good");
}

/// Waits until nothing is leased from the site.
async fn comes_back(house: &House) {
    let lane = PageUrl::parse("http://site.example/").expect("a URL").site().lane();
    for _ in 0..1_000 {
        if house.store.lane(&Scope::All, &lane).await.expect("a lane").counts.running == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("its work did not come back");
}

#[tokio::test]
async fn work_that_never_reaches_its_device_goes_back() {
    let house = House::new().await;
    let (gone, other) = (join(&house, "user", "gone").await, join(&house, "user", "other").await);
    let ask = || {
        let request = Request::post("/api/v1/fleet/lease").header("authorization", format!("Bearer {gone}"));
        let request = request.header("content-type", "application/json").body(Body::from(r#"{"pages":16}"#));
        house.router.clone().oneshot(request.expect("a request"))
    };
    let pages = json!({ "urls": ["http://site.example/a"] });
    house.post("/api/v1/fetch", "user", pages).await.ok();
    // The answer is there, and nobody takes it.
    let answer = ask().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    drop(answer);
    comes_back(&house).await;
    // The device is gone at any moment of the call.
    for patience in 0..30 {
        house.clock.advance(Duration::from_secs(2));
        let _ = tokio::time::timeout(Duration::from_micros(patience * 100), ask()).await;
    }
    // One of them may still be on its way back, and the site rests from then on.
    let time_passes = async {
        loop {
            house.clock.advance(Duration::from_secs(2));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let free = async {
        tokio::select! { robots = lease(&house, &other) => robots, () = time_passes => unreachable!() }
    };
    let robots = tokio::time::timeout(Duration::from_secs(10), free).await.expect("it is free");
    assert_eq!(robots[0]["robots"], true);
}

#[tokio::test]
async fn nothing_to_fetch_is_said_so() {
    let house = House::new().await;
    house.post("/scrap", "user", json!({ "urls": [] })).await.refused(400, "invalid", &["at least one URL"]);
    house.get("/api/v1/fetch", "user").await.refused(400, "invalid", &["nothing to fetch"]);
    let many = json!({ "urls": vec!["http://site.example/"; 10_001] });
    house.post("/api/v1/fetch", "user", many).await.refused(400, "invalid", &["at most 10000"]);
    let plain = Request::post("/reset").header("authorization", "Bearer user").header("content-type", "text/plain");
    let answer = house.send(plain.body(Body::from(r#"{"urls":["http://site.example/"]}"#)).expect("a request")).await;
    assert_eq!(answer.ok()["forgotten"], 0, "JSON whatever the content type says");
}
