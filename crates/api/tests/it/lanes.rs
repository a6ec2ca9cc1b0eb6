//! Lanes over the API.

use serde_json::json;

use crate::house::House;

#[tokio::test]
async fn a_lane_is_changed_within_its_bounds() {
    let house = House::new().await;
    house.drill("drill/https://example.org", "alpha").await;
    let path = "/api/v1/lanes/drill%2Fhttps:%2F%2Fexample.org";
    let lane = house.call("PATCH", path, "user", Some(json!({ "paused": true, "ceiling": 2 }))).await.ok();
    let expected = json!({
        "key": "drill/https://example.org", "room": "drill", "group": "alpha", "ceiling": 2, "gap_ms": 0,
        "paused": true, "ready_at": null,
        "counts": { "queued": 0, "running": 0, "paused": 1, "notified": 0, "succeeded": 0, "failed": 0, "discarded": 0 },
    });
    assert_eq!(lane, expected);
    assert_eq!(house.get(path, "readonly").await.ok(), expected);
    let change = async |body| house.call("PATCH", path, "user", Some(body)).await;
    change(json!({})).await.refused(400, "invalid", &["nothing to change"]);
    change(json!({ "ceiling": 0 })).await.refused(400, "invalid", &["from 1 to 10000"]);
    change(json!({ "gap_ms": 86_400_001 })).await.refused(400, "invalid", &["at most a day"]);
}

#[tokio::test]
async fn lanes_are_searched_and_paged() {
    let house = House::new().await;
    for name in ["a", "b", "c"] {
        house.drill(&format!("drill/{name}"), "alpha").await;
    }
    house.call("PATCH", "/api/v1/lanes/drill%2Fb", "user", Some(json!({ "paused": true }))).await.ok();
    let keys = async |query: &str| {
        let page = house.get(&format!("/api/v1/lanes?{query}"), "user").await.ok();
        let items = page["items"].as_array().unwrap();
        let keys: Vec<_> = items.iter().map(|lane| lane["key"].as_str().unwrap().to_owned()).collect();
        (keys, page["next_cursor"].as_str().map(str::to_owned))
    };
    assert_eq!(keys("paused=true").await.0, ["drill/b"]);
    assert_eq!(keys("search=c&room=drill").await.0, ["drill/c"]);
    assert!(keys("room=notify").await.0.is_empty());
    let (first, cursor) = keys("limit=2").await;
    let (second, end) = keys(&format!("limit=2&cursor={}", cursor.unwrap())).await;
    assert_eq!(
        (first.as_slice(), second.as_slice()),
        (&["drill/a".into(), "drill/b".into()][..], &["drill/c".into()][..])
    );
    assert_eq!(end, None);
}
