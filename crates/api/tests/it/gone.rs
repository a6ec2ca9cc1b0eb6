//! A store that is gone: every route says so, and when to come back.

use std::time::Duration;

use crate::house::House;
use crate::permissions::{Target, filled, probes};

/// These do without the rooms' store.
const NEED_NO_ROOM: &[&str] = &["GET /livez", "GET /metrics", "GET /readyz", "GET /pages/{name}", "GET /optout"];

/// Things that look like some of the first group's.
fn nowhere() -> Target {
    let id = || "0000000000000".to_owned();
    let name = || "nowhere".to_owned();
    Target {
        group: "alpha".into(),
        task: id(),
        lane: "drill/nowhere".into(),
        user: name(),
        token: name(),
        fresh: name(),
        endpoint: name(),
        bare: name(),
        subscription: name(),
        disabled: name(),
        event: id(),
        notification: id(),
        alert: name(),
        job: id(),
        crawl: id(),
        crawled: id(),
        watch: id(),
        comparison: id(),
        device: "1".into(),
        analysis: id(),
        wiki: "1".into(),
        import: id(),
        extraction: id(),
    }
}

#[tokio::test]
async fn every_route_of_a_room_is_a_503_with_patience() {
    let house = House::without_rooms().await;
    let document = house.get("/openapi.json", "").await.ok();
    let target = nowhere();
    for (route, probe) in probes() {
        let (method, path) = route.split_once(' ').unwrap();
        let tag = document["paths"][path][method.to_lowercase()]["tags"][0].as_str().unwrap();
        if tag == "access" || NEED_NO_ROOM.contains(&route) {
            continue;
        }
        let answer = house.call(method, &filled(probe.path, &target), "admin", (probe.body)(&target)).await;
        assert_eq!(answer.status.as_u16(), 503, "{route}: {}", answer.text);
        answer.refused(503, "unavailable", &["in a moment"]);
        assert_eq!(answer.headers["retry-after"], "2", "{route}");
    }
}

#[tokio::test]
async fn every_route_that_asks_who_calls_is_a_503_if_nobody_can_tell() {
    let house = House::new().await;
    house.store.close().await;
    let document = house.get("/openapi.json", "").await.ok();
    let target = nowhere();
    for (route, probe) in probes() {
        let (method, path) = route.split_once(' ').unwrap();
        if document["paths"][path][method.to_lowercase()]["x-permission"].is_null() {
            continue;
        }
        let answer = house.call(method, &filled(probe.path, &target), "admin", (probe.body)(&target)).await;
        assert_eq!((answer.status.as_u16(), &answer.headers["retry-after"]), (503, &"2".parse().unwrap()), "{route}");
    }
}

#[tokio::test]
async fn readiness_says_which_store_is_away_and_since_when() {
    let house = House::new().await;
    assert_eq!(house.get("/readyz", "").await.ok()["status"], "ok");
    house.store.close().await;
    let away = ["not ready: the store (sqlite)", "since 2026-01-31T12:00:00.000Z"];
    house.get("/readyz", "").await.refused(503, "unavailable", &away);
    house.clock.advance(Duration::from_secs(60));
    let later = house.get("/readyz", "").await;
    later.refused(503, "unavailable", &away);
    assert_eq!(later.headers["retry-after"], "2");
}
