//! What a wrong request gets: its status, its code and its words.

use axum::body::Body;
use axum::http::Request;
use malla_api::Settings;
use serde_json::json;

use crate::house::{Answer, House};

#[tokio::test]
async fn unknown_routes_and_methods_are_problems() {
    let house = House::new().await;
    house.get("/api/v1/nothing", "admin").await.refused(404, "not_found", &["/api/v1/nothing", "/docs"]);
    house.get("/api/v1/tasks/a/b/c/d", "admin").await.refused(404, "not_found", &["does not exist"]);
    assert_eq!(house.get("/elsewhere", "").await.text, "<h1>no such page</h1>", "the console answers for itself");
    let answer = house.call("DELETE", "/api/v1/tasks", "admin", None).await;
    answer.refused(405, "method_not_allowed", &["DELETE", "Allow"]);
    assert!(answer.headers["allow"].to_str().unwrap().contains("POST"));
}

#[tokio::test]
async fn wrong_tokens_are_refused_and_told_how() {
    let house = House::new().await;
    let answer = house.get("/api/v1/me", "").await;
    answer.refused(401, "unauthorized", &["needs a token", "Authorization: Bearer"]);
    assert_eq!(answer.headers["www-authenticate"], "Bearer realm=\"malla\"");
    let answer = house.get("/api/v1/me", "guessed").await;
    answer.refused(401, "unauthorized", &["wrong, expired or deleted"]);
    assert!(answer.headers["www-authenticate"].to_str().unwrap().contains("invalid_token"));
    let request = Request::get("/api/v1/me").header("authorization", "Basic YTpi").body(Body::empty()).unwrap();
    house.send(request).await.refused(401, "unauthorized", &["must read: Bearer"]);
}

#[tokio::test]
async fn a_body_must_be_json_of_the_right_shape() {
    let house = House::new().await;
    check(&house, "application/json", "nonsense").await.refused(400, "invalid", &["not JSON", "line 1"]);
    check(&house, "application/json", "").await.refused(400, "invalid", &["body is empty"]);
    check(&house, "application/json", "[]").await.refused(400, "invalid", &["does not fit"]);
    check(&house, "application/json", "{}").await.refused(400, "invalid", &["does not fit", "name"]);
    let colour = r#"{"name":"x","colour":"red"}"#;
    check(&house, "application/json", colour).await.refused(400, "invalid", &["unknown field `colour`", "`name`"]);
    check(&house, "text/plain", "{}").await.refused(415, "unsupported_media_type", &["application/json"]);
}

async fn check(house: &House, kind: &str, body: &str) -> Answer {
    let request = Request::post("/api/v1/groups").header("authorization", "Bearer admin").header("content-type", kind);
    house.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

#[tokio::test]
async fn every_request_body_refuses_unknown_fields() {
    let house = House::new().await;
    let document = house.get("/openapi.json", "").await.ok();
    let mut bodies = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            // An event is any bytes, a batch is a table.
            let of_device = operation["x-permission"] == "device";
            // Clients that were there before may send more, and a pipeline is no object.
            let of_old = ["/api/v1/extract", "/api/v1/query"].contains(&path.as_str());
            if operation["requestBody"]["content"]["application/json"].is_null() || of_device || of_old {
                continue;
            }
            let path = path.replace("{key}", "drill%2Fa").replace("{name}", "root").replace("{id}", "1");
            let answer = house.call(&method.to_uppercase(), &path, "admin", Some(json!({ "colour": 1 }))).await;
            answer.refused(400, "invalid", &["unknown field `colour`"]);
            bodies += 1;
        }
    }
    assert!(bodies >= 6, "only {bodies} routes with a body");
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let house = House::with(Settings { body_bytes_max: 1_000, ..Settings::default() }).await;
    let answer = house.post("/api/v1/groups", "admin", json!({ "name": "x".repeat(1_000) })).await;
    answer.refused(413, "too_large", &["at most 1000 bytes"]);
}

#[tokio::test]
async fn unknown_and_wrong_parameters_are_named() {
    let house = House::new().await;
    let get = async |query: &str| house.get(&format!("/api/v1/tasks?{query}"), "admin").await;
    get("colour=red&size=2").await.refused(400, "invalid", &["colour, size", "state, room"]);
    get("state=done").await.refused(400, "invalid", &["\"done\" is not a state"]);
    get("room=a&room=b").await.refused(400, "invalid", &["room is given twice"]);
    get("room=").await.refused(400, "invalid", &["room is empty"]);
    get("room=No").await.refused(400, "invalid", &["not a room"]);
    get("lane=x").await.refused(400, "invalid", &["not a lane key"]);
    get("parent=x").await.refused(400, "invalid", &["not an id"]);
    get("from=soon").await.refused(400, "invalid", &["from: \"soon\" is not a time"]);
    get("limit=0").await.refused(400, "invalid", &["limit is from 1 to 200"]);
    get("limit=201").await.refused(400, "invalid", &["limit is from 1 to 200"]);
    get("limit=many").await.refused(400, "invalid", &["parameter limit cannot be read"]);
    get("group=nobody").await.refused(404, "not_found", &["nobody"]);
    house.get("/api/v1/lanes?paused=perhaps", "admin").await.refused(400, "invalid", &["parameter paused"]);
    house.get("/api/v1/users?role=user", "admin").await.refused(400, "invalid", &["unknown parameters: role"]);
}

#[tokio::test]
async fn a_cursor_from_elsewhere_is_refused() {
    let house = House::new().await;
    for list in ["tasks", "lanes", "users", "groups", "tokens", "audit"] {
        let answer = house.get(&format!("/api/v1/{list}?cursor=bm9uc2Vuc2U"), "admin").await;
        answer.refused(400, "invalid", &["cursor", "start without one"]);
    }
    let page = house.get("/api/v1/groups?limit=1", "admin").await.ok();
    let cursor = page["next_cursor"].as_str().unwrap();
    house.get(&format!("/api/v1/users?cursor={cursor}"), "admin").await.refused(
        400,
        "invalid",
        &["not from this list"],
    );
}

#[tokio::test]
async fn what_does_not_exist_is_said_by_name() {
    let house = House::new().await;
    for (path, words) in [
        ("/api/v1/tasks/0000000000000", "task 0000000000000"),
        ("/api/v1/lanes/drill%2Fnowhere", "drill/nowhere"),
        ("/api/v1/users/nobody", "user nobody"),
        ("/api/v1/groups/nobody", "group nobody"),
    ] {
        house.get(path, "admin").await.refused(404, "not_found", &[words, "does not exist"]);
    }
    house.get("/api/v1/tasks/nonsense", "admin").await.refused(400, "invalid", &["not an id"]);
    house.get("/api/v1/lanes/%FF", "admin").await.refused(400, "invalid", &["percent-encode"]);
    let answer = house.post("/api/v1/tasks/0000000000000/cancel", "admin", json!({})).await;
    answer.refused(404, "not_found", &["cancel", "retry, resend, discard"]);
}

#[tokio::test]
async fn a_store_that_is_away_is_a_503_with_patience() {
    let house = House::new().await;
    house.store.close().await;
    let answer = house.post("/api/v1/groups", "admin", json!({ "name": "late" })).await;
    answer.refused(503, "unavailable", &["not available", "try again"]);
    assert_eq!(answer.headers["retry-after"], "2");
    assert_eq!(house.get("/livez", "").await.status, 200);
}
