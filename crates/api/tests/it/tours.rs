//! Crawls, watches and comparisons through the routes. Nobody fetches in this house: what a visit would leave is written here.

use std::time::Duration;

use malla_fetch::tour::{NewVersion, Step, TourId, TourKind, Tours as _, lane_of};
use malla_queue::{
    Clock as _, Ending, Holder, LaneSettings, LeaseRequest, Outcome, Queue as _, Room, Scope, UnixMs, Verdict,
};
use serde_json::{Value, json};

use crate::house::House;
use crate::permissions::{Add, Target, nothing};

pub(crate) const PAGE: &str = "http://known.example/";

/// What may be called, and by whom.
pub(crate) fn add_tours(add: Add<'_>) {
    fn paused(_: &Target) -> Option<Value> {
        Some(json!({ "state": "paused" }))
    }
    add("GET /api/v1/crawls", "/api/v1/crawls", false, nothing);
    add("POST /api/v1/crawls", "/api/v1/crawls", true, |t| Some(json!({ "seeds": [PAGE], "group": t.group })));
    add("GET /api/v1/crawls/{id}", "/api/v1/crawls/{crawl}", true, nothing);
    add("PATCH /api/v1/crawls/{id}", "/api/v1/crawls/{crawl}", true, paused);
    add("DELETE /api/v1/crawls/{id}", "/api/v1/crawls/{crawl}", true, nothing);
    add("GET /api/v1/crawls/{id}/results", "/api/v1/crawls/{crawled}/results", true, nothing);
    add("GET /api/v1/watches", "/api/v1/watches", false, nothing);
    add("POST /api/v1/watches", "/api/v1/watches", true, |t| Some(json!({ "url": PAGE, "group": t.group })));
    add("GET /api/v1/watches/{id}", "/api/v1/watches/{watch}", true, nothing);
    add("PATCH /api/v1/watches/{id}", "/api/v1/watches/{watch}", true, paused);
    add("DELETE /api/v1/watches/{id}", "/api/v1/watches/{watch}", true, nothing);
    add("GET /api/v1/watches/{id}/versions", "/api/v1/watches/{watch}/versions", true, nothing);
    add("GET /api/v1/watches/{id}/versions/{n}", "/api/v1/watches/{watch}/versions/1", true, nothing);
    add("GET /api/v1/watches/{id}/diff", "/api/v1/watches/{watch}/diff", true, nothing);
    add("POST /api/v1/fetch/compare", "/api/v1/fetch/compare", true, |t| {
        Some(json!({ "urls": [PAGE], "devices": 2, "wait": false, "group": t.group }))
    });
    add("GET /api/v1/comparisons", "/api/v1/comparisons", false, nothing);
    add("GET /api/v1/comparisons/{id}", "/api/v1/comparisons/{comparison}", true, nothing);
    add("PATCH /api/v1/comparisons/{id}", "/api/v1/comparisons/{comparison}", true, paused);
    add("DELETE /api/v1/comparisons/{id}", "/api/v1/comparisons/{comparison}", true, nothing);
    add("GET /api/v1/comparisons/{id}/rounds/{n}", "/api/v1/comparisons/{comparison}/rounds/1", true, nothing);
}

/// A crawl, one that is over, a watch with versions and a comparison with a round.
pub(crate) async fn some_tours(house: &House, group: &str) -> [String; 4] {
    let crawl = begin(house, "/api/v1/crawls", json!({ "seeds": [PAGE] }), group).await;
    let crawled = begin(house, "/api/v1/crawls", json!({ "seeds": [PAGE] }), group).await;
    house.call("DELETE", &format!("/api/v1/crawls/{crawled}"), "admin", None).await.ok();
    let watch = begin(house, "/api/v1/watches", json!({ "url": PAGE }), group).await;
    leave_versions(house, TourKind::Watch, &watch, &["a", "b"]).await;
    let new = json!({ "urls": [PAGE], "devices": 2, "wait": false });
    let comparison = begin(house, "/api/v1/fetch/compare", new, group).await;
    leave_versions(house, TourKind::Compare, &comparison, &[r#"{"at":0,"urls":[]}"#]).await;
    [crawl, crawled, watch, comparison]
}

/// Starts one at this route; its number.
pub(crate) async fn begin(house: &House, path: &str, mut body: Value, group: &str) -> String {
    body["group"] = group.into();
    house.post(path, "admin", body).await.ok()["id"].as_str().expect("an id").to_owned()
}

/// Leaves versions with these texts, as a visit does that comes back a day later.
pub(crate) async fn leave_versions(house: &House, kind: TourKind, id: &str, texts: &[&str]) {
    let id: TourId = id.parse().expect("an id");
    let tour = house.store.tour(&Scope::All, kind, id).await.expect("it is there");
    let (room, holder) = (Room::new("tour").expect("a room"), Holder::Member("test".into()));
    let request = LeaseRequest {
        lanes: Some(vec![lane_of(id)]),
        ..LeaseRequest::new(vec![room], 1, holder, Duration::from_secs(30))
    };
    let leased = house.store.lease(request).await.expect("leases").tasks.remove(0);
    let now = house.clock.now();
    let done = Verdict::Done(Outcome::default()).ending(&leased, now);
    let later = Verdict::Released { note: "later".into() }.ending(&leased, now);
    let version = |text: &&str| NewVersion {
        at: now,
        facts: json!({ "status": 200, "url": PAGE, "bytes": text.len() }).to_string(),
        text: (*text).to_owned(),
    };
    let step = Step {
        id,
        token: leased.token,
        read: (0, 0),
        answered: Vec::new(),
        progress: tour.progress,
        weight: 1.0,
        found: Vec::new(),
        found_max: 1,
        hand: None,
        wanted: Vec::new(),
        pins: Vec::new(),
        pending_max: 10,
        lanes: LaneSettings::default(),
        versions: texts.iter().map(version).collect(),
        versions_kept: 10,
        versions_bytes_max: 1_000_000,
        events: Vec::new(),
        end: None,
        ending: Some(Ending { run_at: Some(UnixMs(now.0 + 86_400_000)), ..later }),
        ending_if_over: done,
    };
    assert!(house.store.step(step).await.expect("it is taken").ended);
}

#[tokio::test]
async fn a_crawl_is_started_paused_and_cancelled() {
    let house = House::new().await;
    let crawl =
        json!({ "seeds": ["http://known.example/a/"], "scope": "prefix", "depth": 3, "limit": 7, "group": "alpha" });
    let begun = house.post("/api/v1/crawls", "user", crawl).await;
    assert_eq!(begun.status, 202);
    let id = begun.json["id"].as_str().expect("an id").to_owned();
    assert_eq!(begun.headers["location"], format!("/api/v1/crawls/{id}"));
    let shown = house.get(&format!("/api/v1/crawls/{id}"), "readonly").await.ok();
    assert_eq!((&shown["state"], &shown["scope"], &shown["found"]), (&json!("running"), &json!("prefix"), &json!(2)));
    let path = format!("/api/v1/crawls/{id}");
    let paused = house.call("PATCH", &path, "user", Some(json!({ "state": "paused" }))).await.ok();
    assert_eq!(paused["state"], "paused");
    house.call("PATCH", &path, "user", Some(json!({ "state": "gone" }))).await.refused(
        400,
        "invalid",
        &["paused or running"],
    );
    let cancelled = house.call("DELETE", &path, "user", None).await.ok();
    assert_eq!((&cancelled["state"], cancelled["finished_at"].is_string()), (&json!("cancelled"), true));
    assert_eq!(house.call("DELETE", &path, "user", None).await.ok()["state"], "cancelled");
    let again = house.call("PATCH", &path, "user", Some(json!({ "state": "running" }))).await;
    again.refused(409, "conflict", &["is over", "begin another"]);
    assert_eq!(house.get(&format!("{path}/results"), "readonly").await.text, "");
    assert_eq!(house.get("/api/v1/fetch/jobs", "admin").await.ids(), [""; 0], "a crawl is no job of somebody's");
}

#[tokio::test]
async fn what_cannot_be_crawled_watched_or_compared_is_refused_with_the_reason() {
    let house = House::new().await;
    for (path, body, words) in [
        ("/api/v1/crawls", json!({ "seeds": [] }), "at least one seed"),
        ("/api/v1/crawls", json!({ "seeds": ["mailto:a@b.c"] }), "only http and https"),
        ("/api/v1/crawls", json!({ "seeds": [PAGE], "scope": "world" }), "host, domain or prefix"),
        ("/api/v1/crawls", json!({ "seeds": [PAGE], "limit": 0 }), "change its limit"),
        ("/api/v1/crawls", json!({ "seeds": [PAGE], "dept": 1 }), "dept"),
        ("/api/v1/watches", json!({ "url": "nonsense" }), "cannot be watched"),
        ("/api/v1/watches", json!({ "url": PAGE, "selector": "a[" }), "not a selector"),
        ("/api/v1/watches", json!({ "url": PAGE, "ignore": ["("] }), "not a rule"),
        ("/api/v1/fetch/compare", json!({ "urls": [PAGE] }), "say either"),
        ("/api/v1/fetch/compare", json!({ "urls": [PAGE], "countries": ["xx", "DE"] }), "two capital letters"),
        ("/api/v1/fetch/compare", json!({ "urls": [], "devices": 2 }), "1 to 50 URLs"),
    ] {
        house.post(path, "admin", body).await.refused(400, "invalid", &[words]);
    }
}

#[tokio::test]
async fn versions_of_a_watch_are_read_and_compared() {
    let house = House::new().await;
    let id = begin(&house, "/api/v1/watches", json!({ "url": PAGE, "selector": "#a" }), "alpha").await;
    let path = format!("/api/v1/watches/{id}");
    house.get(&format!("{path}/diff"), "readonly").await.refused(404, "not_found", &["is not kept"]);
    leave_versions(&house, TourKind::Watch, &id, &["a\nb\n", "a\nc\n", "a\nc\nd\n"]).await;
    let versions = house.get(&format!("{path}/versions?limit=2"), "readonly").await.ok();
    assert_eq!(versions["items"].as_array().map(Vec::len), Some(2));
    assert_eq!((&versions["items"][0]["version"], versions["items"][0].get("text")), (&json!(3), None));
    let next = versions["next_cursor"].as_str().expect("there is one more");
    let rest = house.get(&format!("{path}/versions?limit=2&cursor={next}"), "readonly").await.ok();
    assert_eq!(rest["items"][0]["version"], 1);
    assert_eq!(house.get(&format!("{path}/versions/1"), "readonly").await.ok()["text"], "a\nb\n");
    let diff = house.get(&format!("{path}/diff?from=1&to=2"), "readonly").await.ok();
    assert_eq!(diff["diff"], "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    assert_eq!(house.get(&format!("{path}/diff"), "readonly").await.ok()["from"], 2);
    let changed = house.call("PATCH", &path, "user", Some(json!({ "selector": "", "interval_min_s": 60 }))).await.ok();
    assert_eq!((&changed["selector"], &changed["interval_min_s"]), (&json!(null), &json!(60)));
    assert_eq!(house.call("DELETE", &path, "user", None).await.status, 204);
    house.get(&path, "admin").await.refused(404, "not_found", &["watch"]);
}
