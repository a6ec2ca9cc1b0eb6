//! Analyses through the client, one step at a time and as a whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::put;
use malla_client::{BikeRides, Encoding, Error};
use malla_protocol::{AnalysisState, AnswerQuery, Code, NewAnalysis, PageQuery};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::server::{Server, client};

const WEATHER: &str = "date,prectot\n2016-07-15,42.5\n";
const STATIONS: &str = "code,name,latitude,longitude,yearid\n1,Berri,45.5,-73.5,2016\n2,Far,45.6,-73.5,2016\n";
const TRIPS: &str =
    "start_date,start_station_code,end_station_code,duration_sec,yearid\n2016-07-14 08:00:00,1,2,600,2016\n";
const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn each_method_reaches_its_route() {
    let server = Server::start().await;
    let client = server.client();
    let new = NewAnalysis { kind: "csv-summary".into(), params: json!({ "bad_lines_max": 0.5 }), group: None };
    let id = client.begin_analysis(&new).await.unwrap().id;
    assert_eq!(client.analysis(&id).await.unwrap().params["bad_lines_max"], 0.5);
    let page = PageQuery { limit: Some(1), cursor: None };
    assert_eq!(client.analyses(&page).await.unwrap().items[0].id, id);

    let send =
        async |seq, body: Vec<u8>, encoding| client.send_batch(&id, "rows", "São/x", seq, body.into(), encoding).await;
    send(0, b"a,b\n1,2\n".to_vec(), Encoding::Plain).await.unwrap();
    send(1, zstd::bulk::compress(b"a,b\n3,4\n", 1).unwrap(), Encoding::Zstd).await.unwrap();
    let other = send(1, b"a,b\n3,5\n".to_vec(), Encoding::Plain).await.unwrap_err();
    assert_eq!(other.problem().unwrap().code, Code::Conflict);
    let not_packed = send(2, b"a,b\n".to_vec(), Encoding::Gzip).await.unwrap_err();
    assert!(not_packed.to_string().contains("as gzip"), "{not_packed}");
    let first = client.batches_taken(&id, &page).await.unwrap();
    let second = client.batches_taken(&id, &PageQuery { cursor: first.next_cursor, ..page }).await.unwrap();
    assert_eq!((first.items[0].city.as_str(), second.items[0].seq, second.next_cursor), ("são/x", 1, None));

    assert_eq!(server.analyze().await, 2);
    let so_far: Value = client.answer_so_far(&id, "columns").await.unwrap();
    let early = client.answer::<Value>(&id, "columns").await.unwrap_err();
    assert_eq!(early.problem().unwrap().code, Code::NotAvailable);
    assert_eq!(client.complete_analysis(&id, 2).await.unwrap().state, AnalysisState::Computing);
    assert_eq!(server.analyze().await, 1);
    assert_eq!(client.answer::<Value>(&id, "columns").await.unwrap(), so_far);
    let bytes = client.answer_bytes(&id, "columns", &AnswerQuery::default()).await.unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), so_far);
    let csv = String::from_utf8(client.answer_csv(&id, "columns").await.unwrap()).unwrap();
    assert!(csv.starts_with("name,count,"), "{csv}");
    client.cancel_analysis(&id).await.unwrap();
    assert_eq!(client.analysis(&id).await.unwrap_err().problem().unwrap().code, Code::NotFound);
}

#[tokio::test]
async fn bike_rides_go_from_tables_to_answers() {
    let server = Server::start().await;
    let rides = BikeRides::begin(&server.client(), &json!({ "city": "Toronto" })).await.unwrap();
    for city in ["Montreal", "Toronto"] {
        rides.send_weather(city, WEATHER).await.unwrap();
        rides.send_stations(city, STATIONS).await.unwrap();
        rides.send_trips(city, TRIPS).await.unwrap();
    }
    rides.send_trips("toronto", TRIPS.replace("600", "300")).await.unwrap();
    assert_eq!(rides.complete().await.unwrap().batches.expected, Some(7));
    let late = rides.rain(Duration::ZERO).await.unwrap_err();
    assert!(late.to_string().contains("4 of 7 batches are worked on"), "{late}");
    let work = async {
        while server.client().analysis(rides.id()).await.unwrap().state != AnalysisState::Succeeded {
            server.analyze().await;
        }
    };
    let (rain, ()) = tokio::join!(rides.rain(SOON), work);
    let rain = rain.unwrap();
    assert_eq!((rain.overall, rain.days[0].date.as_str(), rain.days[0].trips), (Some(500.0), "2016-07-14", 3));
    assert!(rides.year(SOON).await.unwrap().stations.is_empty());
    let city = rides.city(SOON).await.unwrap();
    assert_eq!((city.stations[0].name.as_str(), city.stations[0].trips), ("Far", 2));
    rides.cancel().await.unwrap();
}

#[tokio::test]
async fn who_goes_on_sends_only_what_is_missing() {
    let server = Server::start().await;
    let client = server.client();
    let before = BikeRides::begin(&client, &json!({})).await.unwrap();
    before.send_weather("Montreal", WEATHER).await.unwrap();
    before.send_trips("Montreal", TRIPS).await.unwrap();

    let rides = BikeRides::go_on(&client, before.id()).await.unwrap();
    let stations = rides.send_stations("montreal", STATIONS).await.unwrap_err();
    assert!(stations.to_string().contains("came after its first records"), "{stations}");
    let changed = BikeRides::go_on(&client, before.id()).await.unwrap();
    let changed = changed.send_weather("montreal", "date,prectot\n").await.unwrap_err();
    assert!(changed.to_string().contains("came before with another body"), "{changed}");
    // What is safe needs no server: this one is taken away from it.
    client.cancel_analysis(before.id()).await.unwrap();
    rides.send_weather("montreal", WEATHER).await.unwrap();
    rides.send_trips("montreal", TRIPS).await.unwrap();
    let new = rides.send_trips("montreal", TRIPS).await.unwrap_err();
    assert!(new.to_string().contains("was cancelled"), "{new}");

    let other = NewAnalysis { kind: "csv-summary".into(), ..NewAnalysis::default() };
    let other = client.begin_analysis(&other).await.unwrap().id;
    let Err(wrong) = BikeRides::go_on(&client, &other).await else { panic!("these are no bike rides") };
    assert!(wrong.to_string().contains("csv-summary, not bike-rides"), "{wrong}");
}

/// Refuses twice, then takes.
async fn hesitant(State(asked): State<Arc<AtomicUsize>>) -> Response {
    if asked.fetch_add(1, Ordering::SeqCst) >= 2 {
        return StatusCode::NO_CONTENT.into_response();
    }
    let problem = json!({ "type": "urn:malla:problem:not_available", "title": "Not available yet", "status": 503,
                          "detail": "too much waits", "code": "not_available", "retry_after_s": 0 });
    let kind = [(CONTENT_TYPE, "application/problem+json")];
    (StatusCode::SERVICE_UNAVAILABLE, kind, problem.to_string()).into_response()
}

#[tokio::test]
async fn a_patient_client_sends_a_batch_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let router = Router::new().route("/api/v1/analyses/{id}/{input}/{city}/{seq}", put(hesitant));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let app = router.with_state(asked.clone());
    tokio::spawn(async move {
        // The first connections break.
        for _ in 0..2 {
            drop(listener.accept().await.unwrap());
        }
        axum::serve(listener, app).await
    });
    let hasty = client(&[&address], None);
    let send = async |client: &malla_client::Client| {
        client.send_batch("x", "trips", "a", 0, "a\n".into(), Encoding::Plain).await
    };
    let broken = send(&hasty).await.unwrap_err();
    assert!(matches!(broken, Error::Unreachable(..)), "{broken:?}");
    send(&hasty.patient(SOON)).await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 3, "refused twice, then taken");
    asked.store(0, Ordering::SeqCst);
    let refused = send(&hasty).await.unwrap_err();
    assert_eq!(refused.problem().unwrap().code, Code::NotAvailable);
}
