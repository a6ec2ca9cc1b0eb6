//! Analyses: begun, completed, answered, cancelled.

use axum::body::Body;
use axum::http::Request;
use malla_api::AnalyzeOptions;
use serde_json::{Value, json};

use crate::house::{Answer, House};

pub(crate) const WEATHER: &str = "date,prectot\n2016-07-15,42.5\n2017-07-15,0\n";
pub(crate) const STATIONS: &str = "code,name,latitude,longitude,yearid\n\
    1,Berri,45.5,-73.5,2016\n1,Berri,45.5,-73.5,2017\n\
    2,\"Far, out\",45.6,-73.5,2016\n2,\"Far, out\",45.6,-73.5,2017\n";
const HEAD: &str = "start_date,start_station_code,end_station_code,duration_sec,yearid\n";
const TRIPS: [&str; 3] =
    ["2016-07-14 08:00:00,1,2,600,2016\n", "2017-07-14 08:00:00,1,2,300,2017\n", "2017-07-14 09:00:00,1,2,300,2017\n"];

/// Trips of one batch.
pub(crate) fn trips(lines: &[&str]) -> String {
    format!("{HEAD}{}", lines.concat())
}

/// A new analysis of bike rides.
pub(crate) async fn begin(house: &House, token: &str) -> String {
    let begun = house.post("/api/v1/analyses", token, json!({ "kind": "bike-rides" })).await;
    begun.ok()["id"].as_str().unwrap().to_owned()
}

/// Sends a batch as it is; `at` is its table, city and number.
pub(crate) async fn put(house: &House, id: &str, at: &str, body: &str) -> Answer {
    let request = Request::put(format!("/api/v1/analyses/{id}/{at}")).header("authorization", "Bearer user");
    house.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

/// Sends the whole data set and completes it: five batches.
async fn whole(house: &House) -> String {
    let id = begin(house, "user").await;
    put(house, &id, "weather/Montreal/0", WEATHER).await.ok();
    put(house, &id, "stations/montreal/0", STATIONS).await.ok();
    for (seq, trip) in TRIPS.iter().enumerate() {
        put(house, &id, &format!("trips/montreal/{seq}"), &trips(&[trip])).await.ok();
    }
    complete(house, &id, 5).await.ok();
    id
}

async fn complete(house: &House, id: &str, batches: u64) -> Answer {
    house.post(&format!("/api/v1/analyses/{id}/complete"), "user", json!({ "batches": batches })).await
}

async fn answer(house: &House, id: &str, name: &str) -> Answer {
    house.get(&format!("/api/v1/analyses/{id}/results/{name}"), "readonly").await
}

#[tokio::test]
async fn batches_become_the_three_answers() {
    let house = House::new().await;
    let begun =
        house.post("/api/v1/analyses", "user", json!({ "kind": "bike-rides", "params": { "factor": 2 } })).await;
    assert_eq!(begun.status, 201);
    let id = begun.json["id"].as_str().unwrap().to_owned();
    assert_eq!(begun.headers["location"], format!("/api/v1/analyses/{id}"));
    assert_eq!((&begun.json["state"], &begun.json["params"]["year_base"]), (&json!("collecting"), &json!(2016)));
    assert_eq!((&begun.json["group"], &begun.json["finished_at"]), (&json!("alpha"), &Value::Null));

    let id = whole(&house).await;
    let shown = house.get(&format!("/api/v1/analyses/{id}"), "readonly").await.ok();
    assert_eq!(shown["batches"], json!({ "expected": 5, "taken": 5, "mapped": 2 }));
    let waiting = answer(&house, &id, "rain").await;
    waiting.refused(503, "not_available", &["the answers are not ready: 2 of 5 batches are worked on"]);
    assert!(waiting.headers.contains_key("retry-after"));
    assert_eq!(house.analyze().await, 4, "three batches and the answers");
    let shown = house.get(&format!("/api/v1/analyses/{id}"), "readonly").await.ok();
    assert_eq!((&shown["state"], &shown["rows"], &shown["bad_lines"]), (&json!("succeeded"), &json!(3), &json!(0)));
    assert!(shown["finished_at"].is_string() && shown["left_s"].is_null());

    let day = json!({ "date": "2016-07-14", "average_s": 600.0, "trips": 1 });
    let rain = answer(&house, &id, "rain").await;
    assert_eq!(rain.headers["content-type"], "application/json");
    assert_eq!(rain.ok(), json!({ "overall": 600.0, "days": [day], "left_out": 0 }));
    let grown = json!({ "name": "Berri", "base": 1, "compared": 2 });
    assert_eq!(answer(&house, &id, "year").await.ok(), json!({ "stations": [grown], "left_out": 0 }));
    let city = answer(&house, &id, "city").await.ok();
    assert_eq!((&city["stations"][0]["name"], &city["stations"][0]["trips"]), (&json!("Far, out"), &json!(3)));
    answer(&house, &id, "snow").await.refused(404, "not_found", &["\"snow\"", "there are rain, year, city"]);
}

#[tokio::test]
async fn an_answer_is_a_table_for_who_wants_one() {
    let house = House::new().await;
    let id = whole(&house).await;
    house.analyze().await;
    let rain = answer(&house, &id, "rain?format=csv").await;
    assert_eq!(rain.headers["content-type"], "text/csv; charset=utf-8");
    assert_eq!(rain.text, "date,average_s,trips\r\n2016-07-14,600.0,1\r\n");
    let path = format!("/api/v1/analyses/{id}/results/city");
    let get = || Request::get(&path).header("authorization", "Bearer readonly");
    let city = house.send(get().header("accept", "text/csv").body(Body::empty()).unwrap()).await;
    assert!(city.text.starts_with("name,average_km,trips\r\n\"Far, out\",11.1"), "{}", city.text);
    answer(&house, &id, "rain?format=xml").await.refused(400, "invalid", &["format", "json or csv"]);

    let json = house.send(get().body(Body::empty()).unwrap()).await;
    assert_ne!(json.headers["etag"], city.headers["etag"]);
    let known = get().header("if-none-match", &json.headers["etag"]).body(Body::empty()).unwrap();
    assert_eq!(house.send(known).await.status, 304);
}

#[tokio::test]
async fn what_is_known_so_far_can_be_asked_for_at_any_time() {
    let house = House::new().await;
    let id = begin(&house, "user").await;
    let so_far = async || answer(&house, &id, "rain?partial=true").await.ok();
    assert_eq!(so_far().await, json!({ "overall": null, "days": [], "left_out": 0 }));
    put(&house, &id, "weather/montreal/0", WEATHER).await.ok();
    put(&house, &id, "stations/montreal/0", STATIONS).await.ok();
    put(&house, &id, "trips/montreal/0", &trips(&TRIPS[..1])).await.ok();
    assert_eq!(so_far().await["overall"], Value::Null, "nobody has worked yet");
    house.analyze().await;
    assert_eq!(so_far().await["overall"], 600.0);
    answer(&house, &id, "rain").await.refused(503, "not_available", &["3 of 3", "complete it when all are sent"]);
    answer(&house, &id, "rain?partial=maybe").await.refused(400, "invalid", &["partial"]);
    complete(&house, &id, 3).await.ok();
    house.analyze().await;
    assert_eq!(so_far().await, answer(&house, &id, "rain").await.ok());
}

#[tokio::test]
async fn a_wrong_count_is_no_completion() {
    let house = House::new().await;
    let id = begin(&house, "user").await;
    put(&house, &id, "weather/montreal/0", WEATHER).await.ok();
    complete(&house, &id, 2).await.refused(409, "conflict", &["1 batches came, and 2", "missing"]);
    complete(&house, &id, 0).await.refused(409, "conflict", &["not counted"]);
    let completed = complete(&house, &id, 1).await.ok();
    assert_eq!((&completed["state"], &completed["batches"]["expected"]), (&json!("computing"), &json!(1)));
    complete(&house, &id, 1).await.ok();
    complete(&house, &id, 3).await.refused(409, "conflict", &["completed with 1 batches before"]);
    for body in [json!({}), json!({ "batches": -1 }), json!({ "batches": 1, "more": true })] {
        let path = format!("/api/v1/analyses/{id}/complete");
        house.post(&path, "user", body).await.refused(400, "invalid", &["the body does not fit"]);
    }
}

#[tokio::test]
async fn what_cannot_begin_is_told_why() {
    let house = House::analyzing(AnalyzeOptions::default()).await;
    for (body, words) in [
        (json!({ "kind": "bikes" }), "there are bike-rides, csv-summary"),
        (json!({ "kind": "bike-rides", "params": { "rain": 1 } }), "unknown field `rain`"),
        (json!({ "kind": "bike-rides", "parameters": {} }), "unknown field `parameters`"),
        (json!({ "kind": "csv-summary", "params": { "bad_lines_max": 2 } }), "between 0 and 1"),
        (json!({}), "kind"),
    ] {
        house.post("/api/v1/analyses", "user", body).await.refused(400, "invalid", &[words]);
    }
    let first = begin(&house, "user").await;
    begin(&house, "beta").await;
    let third = house.post("/api/v1/analyses", "user", json!({ "kind": "bike-rides" })).await;
    third.refused(503, "not_available", &["2"]);
    assert!(third.headers.contains_key("retry-after"));
    assert_eq!(house.call("DELETE", &format!("/api/v1/analyses/{first}"), "user", None).await.status, 204);
    begin(&house, "user").await;
}

#[tokio::test]
async fn a_beginning_repeated_under_its_key_is_one_analysis() {
    let house = House::new().await;
    let body = || Some(json!({ "kind": "bike-rides" }));
    let first = house.keyed("POST", "/api/v1/analyses", "user", body(), Some("k")).await.ok();
    let again = house.keyed("POST", "/api/v1/analyses", "user", body(), Some("k")).await.ok();
    assert_eq!(first["id"], again["id"]);
    let other = Some(json!({ "kind": "csv-summary" }));
    house.keyed("POST", "/api/v1/analyses", "user", other, Some("k")).await.refused(422, "key_reused", &[]);
    assert_eq!(house.get("/api/v1/analyses", "user").await.ids().len(), 1);
}

#[tokio::test]
async fn the_newest_are_listed_first_and_in_pages() {
    let house = House::new().await;
    let mut begun = Vec::new();
    for _ in 0..3 {
        begun.insert(0, begin(&house, "user").await);
    }
    let first = house.get("/api/v1/analyses?limit=2", "readonly").await;
    assert_eq!(first.ids(), begun[..2]);
    let next = first.json["next_cursor"].as_str().unwrap();
    let second = house.get(&format!("/api/v1/analyses?limit=2&cursor={next}"), "readonly").await;
    assert_eq!((second.ids(), &second.json["next_cursor"]), (begun[2..].to_vec(), &Value::Null));
}

#[tokio::test]
async fn an_analysis_of_another_group_does_not_exist() {
    let house = House::new().await;
    let id = begin(&house, "beta").await;
    put(&house, &id, "weather/montreal/0", WEATHER).await.refused(404, "not_found", &[&id]);
    for (method, path, body) in [
        ("GET", "", None),
        ("DELETE", "", None),
        ("GET", "/batches", None),
        ("GET", "/results/rain?partial=true", None),
        ("POST", "/complete", Some(json!({ "batches": 0 }))),
    ] {
        let answer = house.call(method, &format!("/api/v1/analyses/{id}{path}"), "user", body).await;
        answer.refused(404, "not_found", &[&id]);
    }
}

#[tokio::test]
async fn a_failed_analysis_says_why_everywhere() {
    let house = House::new().await;
    let id = begin(&house, "user").await;
    put(&house, &id, "trips/montreal/0", &trips(&["2016-07-14 08:00:00,1,2,soon,2016\n"])).await.ok();
    house.analyze().await;
    let shown = house.get(&format!("/api/v1/analyses/{id}"), "readonly").await.ok();
    let why = shown["why"].as_str().unwrap();
    assert_eq!(shown["state"], "failed");
    assert!(why.contains("trips/montreal/0") && why.contains("1 of 1 lines"), "{why}");
    for answer in [
        answer(&house, &id, "rain").await,
        answer(&house, &id, "rain?partial=true").await,
        put(&house, &id, "trips/montreal/1", &trips(&TRIPS)).await,
    ] {
        answer.refused(409, "conflict", &["the analysis failed: ", why]);
    }
}

#[tokio::test]
async fn a_cancelled_analysis_takes_and_answers_nothing() {
    let house = House::new().await;
    let id = begin(&house, "user").await;
    put(&house, &id, "weather/montreal/0", WEATHER).await.ok();
    assert_eq!(house.call("DELETE", &format!("/api/v1/analyses/{id}"), "user", None).await.status, 204);
    answer(&house, &id, "rain").await.refused(409, "conflict", &["the analysis was cancelled"]);
    put(&house, &id, "stations/montreal/0", STATIONS).await.refused(409, "conflict", &["the analysis was cancelled"]);
    complete(&house, &id, 1).await.refused(409, "conflict", &["was cancelled"]);
    assert_eq!(house.call("DELETE", &format!("/api/v1/analyses/{id}"), "user", None).await.status, 204, "forgotten");
    house.get(&format!("/api/v1/analyses/{id}"), "user").await.refused(404, "not_found", &[&id]);
}
