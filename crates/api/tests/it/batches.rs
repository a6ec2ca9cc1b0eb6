//! Batches on their way in: packed in any way, once, and within limits.

use std::io::Write as _;

use axum::body::{Body, Bytes};
use axum::http::Request;
use futures_util::stream;
use malla_analyze::BatchHash;
use malla_api::{AnalystHere, AnalyzeOptions};
use serde_json::{Value, json};

use crate::analyze::{STATIONS, WEATHER, begin, put, trips};
use crate::house::{Answer, House};

const TRIP: &str = "2016-07-14 08:00:00,1,2,600,2016\n";

async fn put_packed(house: &House, id: &str, at: &str, encoding: &str, body: impl Into<Body>) -> Answer {
    let request = Request::put(format!("/api/v1/analyses/{id}/{at}")).header("authorization", "Bearer user");
    house.send(request.header("content-encoding", encoding).body(body.into()).unwrap()).await
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &str) -> Vec<u8> {
    zstd::bulk::compress(text.as_bytes(), 1).unwrap()
}

async fn taken(house: &House, id: &str) -> Value {
    house.get(&format!("/api/v1/analyses/{id}"), "readonly").await.ok()["batches"]["taken"].clone()
}

#[tokio::test]
async fn a_batch_counts_once_however_it_is_packed() {
    let house = House::new().await;
    let id = begin(&house, "user").await;
    assert_eq!(put(&house, &id, "weather/S%C3%A3o%20Paulo/0", WEATHER).await.status, 204);
    for (encoding, body) in [("identity", WEATHER.into()), ("gzip", gzip(WEATHER)), ("zstd", zstd(WEATHER))] {
        let again = put_packed(&house, &id, "weather/s%C3%A3o%20paulo/0", encoding, body).await;
        assert_eq!((again.status.as_u16(), again.text.as_str()), (204, ""), "{encoding}");
    }
    assert_eq!(taken(&house, &id).await, 1);
    for (seq, encoding, body) in [(1, "gzip", gzip(STATIONS)), (2, "ZSTD", zstd(STATIONS))] {
        let at = format!("stations/são paulo/{seq}").replace('ã', "%C3%A3").replace(' ', "%20");
        assert_eq!(put_packed(&house, &id, &at, encoding, body).await.status, 204);
    }
    assert_eq!(taken(&house, &id).await, 3);
}

#[tokio::test]
async fn another_body_under_the_same_number_is_a_conflict() {
    let house = House::new().await;
    let id = begin(&house, "user").await;
    put(&house, &id, "trips/montreal/0", &trips(&[TRIP])).await.ok();
    let other = put(&house, &id, "trips/Montreal/0", &trips(&[TRIP, TRIP])).await;
    other.refused(409, "conflict", &["the batch trips/montreal/0 came before with another body"]);
    // It is the same batch after it was worked on, and after all were said to have come.
    house.analyze().await;
    put(&house, &id, "trips/montreal/0", &trips(&[TRIP])).await.ok();
    house.post(&format!("/api/v1/analyses/{id}/complete"), "user", json!({ "batches": 1 })).await.ok();
    put(&house, &id, "trips/montreal/0", &trips(&[TRIP])).await.ok();
    put(&house, &id, "trips/montreal/1", &trips(&[TRIP])).await.refused(409, "conflict", &["nothing more can come"]);
}

#[tokio::test]
async fn weather_after_the_first_trips_comes_too_late() {
    let house = House::new().await;
    let id = begin(&house, "user").await;
    put(&house, &id, "trips/montreal/0", &trips(&[TRIP])).await.ok();
    let late = put(&house, &id, "weather/montreal/0", WEATHER).await;
    late.refused(409, "conflict", &["the weather of montreal came after its first records"]);
    put(&house, &id, "weather/toronto/0", WEATHER).await.ok();
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_in_a_sentence() {
    let house = House::new().await;
    let id = begin(&house, "user").await;
    for (at, body, words) in [
        ("weather/montreal/0", "", "the batch weather/montreal/0 cannot be read: it is empty"),
        ("weather/montreal/0", "date;prectot\n", "the column \"date\" is missing"),
        ("trips/montreal/0", WEATHER, "the column \"start_date\" is missing"),
        ("snow/montreal/0", WEATHER, "there are weather, stations, trips"),
        ("weather/montreal/first", WEATHER, "\"first\" is not a batch's number"),
        ("weather/montreal/-1", WEATHER, "\"-1\" is not a batch's number"),
        ("weather/montreal/9223372036854775808", WEATHER, "at most 9223372036854775807"),
        ("weather/%20/0", WEATHER, "a city's name has from 1 to 100 characters"),
        ("weather/%FF/0", WEATHER, "percent-encode"),
    ] {
        put(&house, &id, at, body).await.refused(400, "invalid", &[words]);
    }
    let broken = put_packed(&house, &id, "weather/montreal/0", "gzip", WEATHER).await;
    broken.refused(400, "invalid", &["cannot be unpacked as gzip"]);
    for encoding in ["br", "gzip, zstd"] {
        let unknown = put_packed(&house, &id, "weather/montreal/0", encoding, WEATHER).await;
        unknown.refused(415, "unsupported_media_type", &["plain, with gzip or with zstd"]);
    }
    put(&house, "nonsense", "weather/montreal/0", WEATHER).await.refused(400, "invalid", &["nonsense"]);
    assert_eq!(taken(&house, &id).await, 0);
}

#[tokio::test]
async fn a_batch_over_the_limit_is_refused_however_it_comes() {
    let options = AnalyzeOptions { batch_bytes_max: 2_000_000, in_hand_bytes_max: 2_000_000, ..Default::default() };
    let house = House::analyzing(options).await;
    let id = begin(&house, "user").await;
    let large = trips(&[&TRIP.repeat(70_000)]);
    let words = ["the batch trips/montreal/0 has more than 2 MB: send smaller ones"];
    put(&house, &id, "trips/montreal/0", &large).await.refused(413, "too_large", &words);
    for (encoding, body) in [("gzip", gzip(&large)), ("zstd", zstd(&large))] {
        assert!(body.len() < 100_000);
        put_packed(&house, &id, "trips/montreal/0", encoding, body).await.refused(413, "too_large", &words);
    }
    // Its length is not said beforehand.
    let chunks = |text: &str| {
        let chunks: Vec<_> = text.as_bytes().chunks(50_000).map(Bytes::copy_from_slice).collect();
        Body::from_stream(stream::iter(chunks.into_iter().map(Ok::<_, std::io::Error>)))
    };
    put_packed(&house, &id, "trips/montreal/0", "identity", chunks(&large)).await.refused(413, "too_large", &words);
    // Larger than other bodies may be, and as large as all that may be in hand at once.
    let fits = trips(&[&TRIP.repeat(55_000)]);
    let sent = (0..4).map(|seq| {
        let (house, at, body) = (&house, format!("trips/montreal/{seq}"), chunks(&fits));
        let id = &id;
        async move { put_packed(house, id, &at, "identity", body).await.status.as_u16() }
    });
    assert_eq!(futures_util::future::join_all(sent).await, [204; 4]);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_taken() {
    let house = House::new().await;
    let id = begin(&house, "user").await;
    let chunks = [Ok(Bytes::from_static(b"date,prectot\n")), Err(std::io::Error::other("gone"))];
    let body = Body::from_stream(stream::iter(chunks));
    let answer = put_packed(&house, &id, "weather/montreal/0", "identity", body).await;
    answer.refused(400, "invalid", &["broke off"]);
    assert_eq!(taken(&house, &id).await, 0);
}

#[tokio::test]
async fn who_sends_faster_than_is_worked_is_told_to_wait() {
    let house = House::analyzing(AnalyzeOptions { waiting_bytes_max: 1, ..Default::default() }).await;
    let id = begin(&house, "user").await;
    put(&house, &id, "trips/montreal/0", &trips(&[TRIP])).await.ok();
    let full = put(&house, &id, "trips/montreal/1", &trips(&[TRIP])).await;
    full.refused(503, "not_available", &["wait to be worked on", "try again in a moment"]);
    assert!(full.headers.contains_key("retry-after"));
    house.analyze().await;
    put(&house, &id, "trips/montreal/1", &trips(&[TRIP])).await.ok();

    let house = House::analyzing(AnalyzeOptions { dimension_bytes_max: 10, ..Default::default() }).await;
    let id = begin(&house, "user").await;
    put(&house, &id, "weather/montreal/0", WEATHER).await.refused(400, "invalid", &["have at most 1 MB packed"]);
}

#[tokio::test]
async fn records_are_left_for_who_maps_them_in_this_process() {
    let (house, here) = House::with_analyst().await;
    let id = begin(&house, "user").await;
    let left = |text: &str| here.recent.take(id.parse().unwrap(), BatchHash::of(text.as_bytes())).is_some();
    put(&house, &id, "weather/montreal/0", WEATHER).await.ok();
    assert!(!left(WEATHER), "dimensions are read by everybody");
    let batch = trips(&[TRIP]);
    put_packed(&house, &id, "trips/montreal/0", "zstd", zstd(&batch)).await.ok();
    assert!(left(&batch));
    put(&house, &id, "trips/montreal/0", &batch).await.ok();
    assert!(!left(&batch), "it came before");
    let other = trips(&[TRIP, TRIP]);
    put(&house, &id, "trips/montreal/0", &other).await.refused(409, "conflict", &[]);
    assert!(!left(&other), "it was refused");
}

async fn pause(house: &House, id: &str, paused: bool) {
    let path = format!("/api/v1/lanes/analyze%2F{id}");
    house.call("PATCH", &path, "admin", Some(json!({ "paused": paused }))).await.ok();
}

/// So many batches are mapped, and so many tasks worked on since the last time.
async fn mapped(house: &House, id: &str, here: &AnalystHere) -> (Value, usize) {
    let worked = house.analyze_by(&here.analyst).await;
    (house.get(&format!("/api/v1/analyses/{id}"), "readonly").await.ok()["batches"]["mapped"].clone(), worked)
}

#[tokio::test]
async fn records_are_mapped_as_they_come_once_their_city_is_known() {
    let (house, here) = House::with_analyst().await;
    let id = begin(&house, "user").await;
    for (at, body) in [("weather/montreal/0", WEATHER), ("stations/montreal/0", STATIONS)] {
        put(&house, &id, at, body).await.ok();
    }
    put(&house, &id, "trips/montreal/0", &trips(&[TRIP])).await.ok();
    assert_eq!(mapped(&house, &id, &here).await, (json!(3), 1), "the first ones seal the city and wait for a task");
    let more = trips(&[TRIP, TRIP]);
    for (seq, encoding, body) in
        [(1, "identity", more.clone().into()), (2, "gzip", gzip(&more)), (3, "zstd", zstd(&more))]
    {
        put_packed(&house, &id, &format!("trips/montreal/{seq}"), encoding, body).await.ok();
    }
    assert_eq!(mapped(&house, &id, &here).await, (json!(6), 0), "the others need none");
    put(&house, &id, "trips/montreal/1", &more).await.ok();
    put(&house, &id, "trips/montreal/1", &trips(&[TRIP])).await.refused(409, "conflict", &["with another body"]);
    pause(&house, &id, true).await;
    put(&house, &id, "trips/montreal/4", &more).await.ok();
    assert_eq!(mapped(&house, &id, &here).await, (json!(6), 0), "a paused lane holds them");
    pause(&house, &id, false).await;
    assert_eq!(mapped(&house, &id, &here).await, (json!(7), 1));
    house.post(&format!("/api/v1/analyses/{id}/complete"), "user", json!({ "batches": 7 })).await.ok();
    house.analyze_by(&here.analyst).await;
    let study = house.get(&format!("/api/v1/analyses/{id}"), "readonly").await.ok();
    assert_eq!((&study["state"], &study["rows"]), (&json!("succeeded"), &json!(9)), "{study}");
}

#[tokio::test]
async fn records_that_cannot_be_mapped_fail_the_analysis_as_ever() {
    let (house, here) = House::with_analyst().await;
    let id = begin(&house, "user").await;
    for (at, body) in [("weather/montreal/0", WEATHER), ("stations/montreal/0", STATIONS)] {
        put(&house, &id, at, body).await.ok();
    }
    put(&house, &id, "trips/montreal/0", &trips(&[TRIP])).await.ok();
    house.analyze_by(&here.analyst).await;
    put(&house, &id, "trips/montreal/1", &trips(&["neither,a,b,trip,no\n"])).await.ok();
    assert_eq!(house.analyze_by(&here.analyst).await, 1, "the task tells why");
    let study = house.get(&format!("/api/v1/analyses/{id}"), "readonly").await.ok();
    assert_eq!(study["state"], "failed", "{study}");
}

#[tokio::test]
async fn what_was_taken_is_listed_so_that_a_client_can_go_on() {
    let house = House::new().await;
    let id = begin(&house, "user").await;
    put(&house, &id, "weather/a%2Fb/0", WEATHER).await.ok();
    put(&house, &id, "trips/a%2Fb/0", &trips(&[TRIP])).await.ok();
    put(&house, &id, "trips/a%2Fb/10", &trips(&[TRIP, TRIP])).await.ok();
    let (mut cursor, mut found) = (String::new(), Vec::new());
    loop {
        let path = format!("/api/v1/analyses/{id}/batches?limit=1{cursor}");
        let page = house.get(&path, "readonly").await.ok();
        found.push(page["items"][0].clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let batch = |input: &str, seq: u64, text: &str, mapped: bool| {
        let hash = BatchHash::of(text.as_bytes()).to_string();
        json!({ "input": input, "city": "a/b", "seq": seq, "hash": hash, "mapped": mapped })
    };
    let expected = [
        batch("trips", 0, &trips(&[TRIP]), false),
        batch("trips", 10, &trips(&[TRIP, TRIP]), false),
        batch("weather", 0, WEATHER, true),
    ];
    assert_eq!(found, expected);
    let path = format!("/api/v1/analyses/{id}/batches?cursor=x");
    house.get(&path, "readonly").await.refused(400, "invalid", &["cursor"]);
}
