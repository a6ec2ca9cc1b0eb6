//! Credit, quotas, blocked sites and the control site over HTTP.

use axum::http::StatusCode;
use malla_fetch::ledger::Ledger as _;
use serde_json::json;

use crate::house::House;

#[tokio::test]
async fn credit_is_topped_up_read_and_exported() {
    let house = House::new().await;
    let body = json!({ "account": "client:1", "micro": 5_000, "note": "=May" });
    let balance = house.post("/api/v1/ledger/topup", "admin", body).await.ok();
    assert_eq!((&balance["account"], &balance["micro"]), (&"client:1".into(), &5_000.into()));
    let balances = house.get("/api/v1/ledger/balances", "admin").await.ok();
    assert_eq!(balances["items"].as_array().map(Vec::len), Some(2), "{balances}");
    let entries = house.get("/api/v1/ledger/statement?account=client:1", "admin").await.ok();
    assert_eq!(entries["items"][0]["what"], "topup");
    let csv = house.get("/api/v1/ledger/statement?account=client:1&as=csv", "admin").await;
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    assert!(csv.text.contains("\"'=May\""), "{}", csv.text);
    assert_eq!(house.get("/api/v1/ledger/audit", "admin").await.ok()["good"], true);
    assert!(house.store.audit().await.unwrap().is_good());
    for wrong in [json!({ "account": "bank", "micro": 1 }), json!({ "account": "house", "micro": 0 })] {
        house.post("/api/v1/ledger/topup", "admin", wrong).await.refused(400, "invalid", &[]);
    }
    house.get("/api/v1/ledger/statement?account=house", "user").await.refused(404, "not_found", &["house"]);
}

#[tokio::test]
async fn a_blocked_site_is_refused_with_the_reason() {
    let house = House::new().await;
    let body = json!({ "site": "Example.org", "why": "not ours", "contact": "owner@example.org" });
    let made = house.post("/api/v1/fetch/blocked", "admin", body).await;
    assert_eq!((made.status, &made.json["site"]), (StatusCode::CREATED, &"example.org".into()));
    let result = house.get("/api/v1/fetch?url=https:%2F%2Fwww.example.org%2Fa", "user").await.ok();
    let reason = result["reason"].as_str().unwrap();
    assert_eq!(reason, "the owner of example.org asked not to be fetched: not ours");
    assert!(result["id"].as_str().unwrap().ends_with(":1"));
    house.post("/api/v1/fetch/blocked", "admin", json!({ "site": "a b" })).await.refused(400, "invalid", &["a b"]);
    let gone = house.call("DELETE", "/api/v1/fetch/blocked?site=example.org", "admin", None).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    house.call("DELETE", "/api/v1/fetch/blocked?site=example.org", "admin", None).await.refused(
        404,
        "not_found",
        &["example.org"],
    );
}

#[tokio::test]
async fn a_result_that_nobody_brought_cannot_be_reported() {
    let house = House::new().await;
    let result = house.get("/api/v1/fetch?url=ftp:%2F%2Fexample.org", "user").await.ok();
    let path = format!("/api/v1/fetch/results/{}/report", result["id"].as_str().unwrap());
    house.call("POST", &path, "user", None).await.refused(400, "invalid", &["nothing was fetched"]);
    house.call("POST", "/api/v1/fetch/results/nonsense/report", "user", None).await.refused(
        404,
        "not_found",
        &["nonsense"],
    );
}

#[tokio::test]
async fn a_page_of_the_control_site_says_what_only_the_server_knows() {
    let house = House::new().await;
    let page = house.get("/pages/river-0707.html", "").await;
    assert_eq!((page.status, &page.headers["cache-control"]), (StatusCode::OK, &"no-store".parse().unwrap()));
    assert!(page.text.contains(&malla_fetch::control::mark(&[7; 32], "/pages/river-0707.html")));
    assert!(house.get("/optout", "").await.text.contains("User-agent: MallaBot"));
}
