//! The console's session as a way in, and the anonymous role.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use malla_access::{Access as _, Role, Secret};
use malla_api::Settings;
use serde_json::{Value, json};

use crate::house::{Answer, House};

/// Opens a session; gives its cookie and its csrf word.
pub(crate) async fn session(house: &House, user: &str) -> (String, String) {
    let secret = format!("session of {user}").replace(' ', "-");
    let csrf = format!("csrf of {user}");
    let lasts = Duration::from_secs(3600);
    house.store.open_session(user, Secret::from_text(secret.as_str()).hash(), &csrf, lasts).await.unwrap();
    (format!("theme=dark; malla_session={secret}"), csrf)
}

pub(crate) async fn submit(house: &House, cookie: &str, csrf: Option<&str>, body: Value) -> Answer {
    let mut request =
        Request::post("/api/v1/tasks").header("cookie", cookie).header("content-type", "application/json");
    if let Some(csrf) = csrf {
        request = request.header("x-csrf-token", csrf);
    }
    house.send(request.body(Body::from(body.to_string())).unwrap()).await
}

async fn me(house: &House, cookie: &str) -> Answer {
    house.send(Request::get("/api/v1/me").header("cookie", cookie).body(Body::empty()).unwrap()).await
}

fn drill() -> Value {
    json!({ "tasks": [{ "lane": "drill/a", "kind": "drill" }] })
}

#[tokio::test]
async fn a_session_reads_freely_and_writes_with_its_own_word() {
    let house = House::new().await;
    house.post("/api/v1/users", "admin", json!({ "name": "ana", "role": "user", "groups": ["alpha"] })).await.ok();
    let (cookie, csrf) = session(&house, "ana").await;
    let who = me(&house, &cookie).await.ok();
    assert_eq!(who, json!({ "actor": "user:ana", "role": "user", "groups": ["alpha"] }));
    submit(&house, &cookie, None, drill()).await.refused(403, "csrf", &["x-csrf-token"]);
    submit(&house, &cookie, Some("guessed"), drill()).await.refused(403, "csrf", &["x-csrf-token"]);
    submit(&house, &cookie, Some(&csrf), drill()).await.ok();
}

#[tokio::test]
async fn a_session_that_ended_is_a_401() {
    let house = House::new().await;
    house.post("/api/v1/users", "admin", json!({ "name": "ana", "role": "user" })).await.ok();
    let (cookie, csrf) = session(&house, "ana").await;
    me(&house, &cookie).await.ok();
    house.clock.advance(Duration::from_secs(3601));
    me(&house, &cookie).await.refused(401, "unauthorized", &["session has ended", "log in"]);
    submit(&house, &cookie, Some(&csrf), drill()).await.refused(401, "unauthorized", &["session has ended"]);
    me(&house, "malla_session=made-up").await.refused(401, "unauthorized", &["session has ended"]);
}

#[tokio::test]
async fn keeping_a_user_out_ends_the_session() {
    let house = House::new().await;
    house.post("/api/v1/users", "admin", json!({ "name": "ana", "role": "user" })).await.ok();
    let (cookie, _) = session(&house, "ana").await;
    house.call("PATCH", "/api/v1/users/ana", "admin", Some(json!({ "disabled": true }))).await.ok();
    me(&house, &cookie).await.refused(401, "unauthorized", &["session has ended"]);
}

#[tokio::test]
async fn a_wrong_token_does_not_fall_back_to_a_session() {
    let house = House::new().await;
    let (cookie, _) = session(&house, "root").await;
    let request = Request::get("/api/v1/me").header("cookie", cookie).header("authorization", "Bearer wrong");
    house.send(request.body(Body::empty()).unwrap()).await.refused(401, "unauthorized", &["wrong"]);
}

#[tokio::test]
async fn the_anonymous_have_the_role_they_are_given_and_no_group() {
    let house = House::with(Settings { anonymous_role: Some(Role::Readonly), ..Settings::default() }).await;
    let id = house.drill("drill/a", "alpha").await;
    let who = house.get("/api/v1/me", "").await.ok();
    assert_eq!(who, json!({ "actor": "anonymous", "role": "readonly", "groups": [] }));
    assert!(house.get("/api/v1/tasks", "").await.ids().is_empty());
    house.get(&format!("/api/v1/tasks/{id}"), "").await.refused(404, "not_found", &[]);
    house.post("/api/v1/tasks", "", drill()).await.refused(403, "forbidden", &["readonly"]);
    house.get("/api/v1/me", "wrong").await.refused(401, "unauthorized", &[]);

    let house = House::with(Settings { anonymous_role: Some(Role::Admin), ..Settings::default() }).await;
    house.drill("drill/a", "alpha").await;
    assert_eq!(house.get("/api/v1/tasks", "").await.ids().len(), 1);
}
