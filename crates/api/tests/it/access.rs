//! Users, groups and tokens.

use std::time::Duration;

use malla_access::{Access as _, Role};
use serde_json::{Value, json};

use crate::house::House;

#[tokio::test]
async fn a_user_is_made_changed_and_deleted() {
    let house = House::new().await;
    let body = json!({ "name": "ana", "role": "user", "password": "long enough", "groups": ["alpha"] });
    let user = house.post("/api/v1/users", "admin", body.clone()).await.ok();
    let expected = json!({
        "name": "ana", "role": "user", "disabled": false, "groups": ["alpha"],
        "created_at": "2026-01-31T12:00:00.000Z",
    });
    assert_eq!(user, expected);
    house.post("/api/v1/users", "admin", body).await.refused(409, "taken", &["ana"]);
    assert!(house.store.password_hash("ana").await.unwrap().unwrap().starts_with("$argon2id$"));
    let change = async |body: Value| house.call("PATCH", "/api/v1/users/ana", "admin", Some(body)).await;
    let changed = change(json!({ "role": "readonly", "disabled": true, "groups": [] })).await.ok();
    assert_eq!(
        (&changed["role"], &changed["disabled"], &changed["groups"]),
        (&json!("readonly"), &json!(true), &json!([]))
    );
    change(json!({})).await.refused(400, "invalid", &["nothing to change"]);
    change(json!({ "password": "short" })).await.refused(400, "invalid", &["at least 10 characters"]);
    change(json!({ "groups": ["nobody"] })).await.refused(404, "not_found", &["nobody"]);
    assert_eq!(house.call("DELETE", "/api/v1/users/ana", "admin", None).await.status, 204);
    house.get("/api/v1/users/ana", "admin").await.refused(404, "not_found", &["ana"]);
}

#[tokio::test]
async fn the_last_admin_stays() {
    let house = House::new().await;
    house.call("DELETE", "/api/v1/users/root", "admin", None).await.refused(409, "taken", &["last admin"]);
}

#[tokio::test]
async fn names_are_fit_for_urls_and_logs() {
    let house = House::new().await;
    for name in ["", "two words", "a/b", ".hidden", &"x".repeat(65)] {
        for (path, body) in [
            ("/api/v1/users", json!({ "name": name, "role": "user" })),
            ("/api/v1/groups", json!({ "name": name })),
            ("/api/v1/tokens", json!({ "name": name })),
        ] {
            house.post(path, "admin", body).await.refused(400, "invalid", &["cannot name a"]);
        }
    }
}

#[tokio::test]
async fn passwords_are_in_no_answer_and_no_log() {
    let house = House::new().await;
    let body = json!({ "name": "ana", "role": "user", "password": "a secret word" });
    let made = house.keyed("POST", "/api/v1/users", "admin", Some(body), Some("k")).await;
    let change = json!({ "password": "another secret" });
    let changed = house.call("PATCH", "/api/v1/users/ana", "admin", Some(change)).await;
    let log = house.get("/api/v1/audit", "admin").await;
    assert!(log.text.contains("user.change"));
    for text in [made.text, changed.text, log.text] {
        assert!(!text.contains("secret") && !text.contains("argon2"), "{text}");
    }
}

#[tokio::test]
async fn members_come_and_go() {
    let house = House::new().await;
    house.post("/api/v1/users", "admin", json!({ "name": "ana", "role": "user" })).await.ok();
    let path = "/api/v1/groups/alpha/members/ana";
    assert_eq!(house.call("PUT", path, "admin", None).await.ok()["members"], json!(["ana"]));
    assert_eq!(house.get("/api/v1/groups/alpha", "readonly").await.ok()["members"], json!(["ana"]));
    assert_eq!(house.call("DELETE", path, "admin", None).await.ok()["members"], json!([]));
    house.call("PUT", "/api/v1/groups/alpha/members/no", "admin", None).await.refused(404, "not_found", &["user no"]);
}

#[tokio::test]
async fn a_group_that_owns_something_stays() {
    let house = House::new().await;
    house.call("DELETE", "/api/v1/groups/alpha", "admin", None).await.refused(409, "taken", &["alpha"]);
}

#[tokio::test]
async fn nobody_makes_a_token_above_themselves() {
    let house = House::new().await;
    let make = async |who: &str, body: Value| house.post("/api/v1/tokens", who, body).await;
    let made = make("user", json!({ "name": "mine" })).await.ok();
    assert_eq!(
        (&made["role"], &made["group"], &made["created_by"]),
        (&json!("user"), &json!("alpha"), &json!("token:user"))
    );
    make("user", json!({ "name": "up", "role": "admin" })).await.refused(403, "forbidden", &["user", "admin"]);
    make("user", json!({ "name": "mine" })).await.refused(409, "taken", &["mine"]);
    make("admin", json!({ "name": "x", "role": "user" })).await.refused(400, "invalid", &["sees nothing", "group"]);
    assert_eq!(make("admin", json!({ "name": "house" })).await.ok()["role"], "admin");
    assert_eq!(make("admin", json!({ "name": "small", "group": "beta" })).await.ok()["role"], "user");
    make("admin", json!({ "name": "x", "expires_in_s": 0 })).await.refused(400, "invalid", &["expires_in_s"]);
}

#[tokio::test]
async fn a_token_works_until_it_expires_or_is_deleted() {
    let house = House::new().await;
    let made = house.post("/api/v1/tokens", "user", json!({ "name": "ci", "expires_in_s": 60 })).await.ok();
    let secret = made["token"].as_str().unwrap();
    assert_eq!(made["expires_at"], "2026-01-31T12:01:00.000Z");
    let me = house.get("/api/v1/me", secret).await.ok();
    assert_eq!(me, json!({ "actor": "token:ci", "role": "user", "groups": ["alpha"] }));
    house.clock.advance(Duration::from_secs(61));
    house.get("/api/v1/me", secret).await.refused(401, "unauthorized", &["expired"]);
    let made = house.post("/api/v1/tokens", "user", json!({ "name": "cd" })).await.ok();
    let secret = made["token"].as_str().unwrap();
    assert_eq!(house.call("DELETE", "/api/v1/tokens/cd", secret, None).await.status, 204);
    house.get("/api/v1/me", secret).await.refused(401, "unauthorized", &["deleted"]);
}

#[tokio::test]
async fn people_with_several_groups_or_none_are_asked_to_name_one() {
    let house = House::new().await;
    house.token("nowhere", Role::User, None).await;
    let task = json!({ "tasks": [{ "lane": "drill/a", "kind": "drill" }] });
    house.post("/api/v1/tasks", "nowhere", task.clone()).await.refused(400, "invalid", &["no group", "ask an admin"]);
    let user = json!({ "name": "ana", "role": "user", "groups": ["alpha", "beta"] });
    house.post("/api/v1/users", "admin", user).await.ok();
    let (cookie, csrf) = crate::sessions::session(&house, "ana").await;
    let answer = crate::sessions::submit(&house, &cookie, Some(&csrf), task).await;
    answer.refused(400, "invalid", &["2 groups", "name the one"]);
}

#[tokio::test]
async fn lists_of_people_go_on_page_by_page() {
    let house = House::new().await;
    for list in ["groups", "tokens", "audit"] {
        let mut found = 0;
        let mut path = format!("/api/v1/{list}?limit=1");
        loop {
            let page = house.get(&path, "admin").await.ok();
            found += page["items"].as_array().unwrap().len();
            match page["next_cursor"].as_str() {
                Some(cursor) => path = format!("/api/v1/{list}?limit=1&cursor={cursor}"),
                None => break,
            }
        }
        let all = house.get(&format!("/api/v1/{list}"), "admin").await.ok();
        assert_eq!((found, &all["next_cursor"]), (all["items"].as_array().unwrap().len(), &Value::Null), "{list}");
        assert!(found >= 2, "{list}");
    }
}
