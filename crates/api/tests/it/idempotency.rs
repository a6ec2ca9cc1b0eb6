//! A write that is repeated under the same key happens once and gets the same answer.

use std::time::Duration;

use serde_json::{Value, json};

use crate::house::House;

fn drill(lane: &str) -> Value {
    json!({ "tasks": [{ "lane": lane, "kind": "drill" }] })
}

#[tokio::test]
async fn each_kind_of_write_gives_the_first_answer_again() {
    let house = House::new().await;
    let task = house.drill("drill/x", "alpha").await;
    let cases = [
        ("POST", "/api/v1/tasks".to_owned(), Some(drill("drill/a"))),
        ("POST", format!("/api/v1/tasks/{task}/pause"), None),
        ("POST", "/api/v1/tasks/discard?lane=drill%2Fx".to_owned(), None),
        ("PATCH", "/api/v1/lanes/drill%2Fx".to_owned(), Some(json!({ "ceiling": 7 }))),
        ("POST", "/api/v1/groups".to_owned(), Some(json!({ "name": "gamma" }))),
        ("POST", "/api/v1/users".to_owned(), Some(json!({ "name": "ana", "role": "user", "password": "long enough" }))),
        ("PATCH", "/api/v1/users/ana".to_owned(), Some(json!({ "password": "longer than before" }))),
        ("PUT", "/api/v1/groups/gamma/members/ana".to_owned(), None),
        ("DELETE", "/api/v1/groups/gamma/members/ana".to_owned(), None),
        ("DELETE", "/api/v1/users/ana".to_owned(), None),
        ("DELETE", "/api/v1/groups/gamma".to_owned(), None),
        ("DELETE", "/api/v1/tokens/readonly".to_owned(), None),
    ];
    for (number, (method, path, body)) in cases.into_iter().enumerate() {
        let key = format!("key-{number}");
        let first = house.keyed(method, &path, "admin", body.clone(), Some(&key)).await;
        assert!(first.status.is_success(), "{method} {path}: {}", first.text);
        let again = house.keyed(method, &path, "admin", body, Some(&key)).await;
        assert_eq!((again.status, again.text), (first.status, first.text), "{method} {path}");
    }
    assert_eq!(house.get("/api/v1/tasks", "admin").await.ids().len(), 2);
    let log = house.get("/api/v1/audit?actor=token:admin", "admin").await.ok();
    assert_eq!(log["items"].as_array().unwrap().len(), 12, "a repeat leaves no line of its own");
}

#[tokio::test]
async fn a_key_belongs_to_one_request_of_one_caller() {
    let house = House::new().await;
    let first = house.keyed("POST", "/api/v1/tasks", "user", Some(drill("drill/a")), Some("k")).await.ok();
    let other = house.keyed("POST", "/api/v1/tasks", "user", Some(drill("drill/b")), Some("k")).await;
    other.refused(422, "key_reused", &["Idempotency-Key", "choose a new key"]);
    let elsewhere = house.keyed("POST", "/api/v1/tasks/pause?all=true", "user", None, Some("k")).await;
    elsewhere.refused(422, "key_reused", &[]);
    let theirs = house.keyed("POST", "/api/v1/tasks", "beta", Some(drill("drill/c")), Some("k")).await.ok();
    assert_ne!(first["tasks"][0]["id"], theirs["tasks"][0]["id"]);
}

#[tokio::test]
async fn a_key_is_forgotten_after_its_time() {
    let house = House::new().await;
    let submit = async || house.keyed("POST", "/api/v1/tasks", "user", Some(drill("drill/a")), Some("k")).await.ok();
    let first = submit().await;
    house.clock.advance(Duration::from_secs(24 * 3600 - 1));
    assert_eq!(submit().await, first);
    house.clock.advance(Duration::from_secs(2));
    assert_ne!(submit().await, first);
}

#[tokio::test]
async fn a_tokens_secret_is_not_shown_twice() {
    let house = House::new().await;
    let body = json!({ "name": "deploy" });
    let made = house.keyed("POST", "/api/v1/tokens", "user", Some(body.clone()), Some("k")).await.ok();
    assert!(made["token"].as_str().unwrap().starts_with("malla_"));
    let again = house.keyed("POST", "/api/v1/tokens", "user", Some(body), Some("k")).await;
    again.refused(409, "shown_once", &["shown then", "not kept"]);
    assert!(!again.text.contains("malla_"));
}

#[tokio::test]
async fn a_refused_write_does_not_use_its_key_up() {
    let house = House::new().await;
    let id = house.drill("drill/a", "alpha").await;
    let resume = async || house.keyed("POST", &format!("/api/v1/tasks/{id}/resume"), "user", None, Some("k")).await;
    resume().await.refused(409, "wrong_state", &["queued", "resumed"]);
    house.post(&format!("/api/v1/tasks/{id}/pause"), "user", json!({})).await.ok();
    assert_eq!(resume().await.ok()["state"], "queued");
}

#[tokio::test]
async fn a_long_bulk_verb_repeats_as_a_whole() {
    let house = House::new().await;
    for _ in 0..2 {
        let tasks: Vec<_> = (0..600).map(|_| json!({ "lane": "drill/a", "kind": "drill" })).collect();
        house.post("/api/v1/tasks", "user", json!({ "tasks": tasks })).await.ok();
    }
    let pause = async || house.keyed("POST", "/api/v1/tasks/pause?lane=drill%2Fa", "user", None, Some("k")).await.ok();
    let first = pause().await;
    assert_eq!(first, json!({ "changed": 1200, "more": false }));
    house.post("/api/v1/tasks/resume?all=true", "user", json!({})).await.ok();
    assert_eq!(pause().await, first);
    assert_eq!(house.get("/api/v1/tasks/counts", "user").await.ok()["total"]["paused"], 0, "it was done once");
}

#[tokio::test]
async fn a_key_that_cannot_be_one_is_refused() {
    let house = House::new().await;
    for key in ["", "two words", &"x".repeat(256)] {
        let answer = house.keyed("POST", "/api/v1/tasks", "user", Some(drill("drill/a")), Some(key)).await;
        answer.refused(400, "invalid", &["Idempotency-Key", "1 to 255"]);
    }
    house.keyed("POST", "/api/v1/tasks", "user", Some(drill("drill/a")), Some(&"x".repeat(255))).await.ok();
}
