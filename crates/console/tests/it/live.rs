//! Live pages.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use futures_util::StreamExt as _;
use tower::ServiceExt as _;

use crate::house::{House, Visitor};
use crate::{analyze, cluster, fetch, wiki};

const PATIENCE: Duration = Duration::from_secs(20);

async fn open(visitor: &Visitor<'_>, page: &str) -> Response {
    let path = form_urlencoded::Serializer::new("/live?".to_owned()).append_pair("page", page).finish();
    let request = Request::get(path).header(header::COOKIE, format!("malla_session={}", visitor.cookie));
    visitor.house.router.clone().oneshot(request.body(Body::empty()).expect("a request")).await.expect("answers")
}

/// Reads events until one holds `text`.
async fn until(stream: &mut axum::body::BodyDataStream, text: &str) -> String {
    let mut read = String::new();
    let waiting = async {
        while let Some(bytes) = stream.next().await {
            read.push_str(&String::from_utf8_lossy(&bytes.expect("bytes")));
            if read.contains(text) {
                return;
            }
        }
        panic!("the stream ended without {text:?}: {read}");
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{text:?} did not come"));
    read
}

#[tokio::test]
async fn a_change_reaches_the_page_by_itself() {
    let house = House::new().await;
    house.submit("drill/a", "{}", 1).await;
    let ana = house.sign_in("ana").await;
    let response = open(&ana, "/tasks?lane=drill/a").await;
    assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
    let mut stream = response.into_body().into_data_stream();
    let first = until(&mut stream, "\"name\":\"tasks\"").await;
    assert!(first.contains(&ana.csrf), "the buttons of a live page work: {first}");
    let id = house.submit("drill/a", "{}", 1).await[0];
    house.submit("drill/b", "{}", 1).await;
    let then = until(&mut stream, &id.to_string()).await;
    assert!(!then.contains("drill%2Fb"), "only what the page shows");
}

#[tokio::test]
async fn a_new_event_reaches_the_pages_of_its_room_by_themselves() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    ana.post("/notify/new-endpoint", &[("name", "orders")]).await;
    let fields = [("name", "shop"), ("endpoint", "orders"), ("target", "https://example.org/hook")];
    ana.post("/notify/new-subscription", &fields).await;
    let pages = ["/notify/notifications", "/notify/events", "/notify/subscriptions/shop", "/notify/endpoints/orders"];
    let mut streams = Vec::new();
    for page in pages {
        let mut stream = open(&ana, page).await.into_body().into_data_stream();
        until(&mut stream, "event: block").await;
        streams.push(stream);
    }
    let sent = ana.post("/notify/endpoints/orders/try", &[("body", "{}")]).await;
    let event = sent.location().to_owned();
    for stream in &mut streams {
        until(stream, &event).await;
    }
    let mut stream = open(&ana, &event).await.into_body().into_data_stream();
    until(&mut stream, "\"name\":\"notifications\"").await;
    let mut stream = open(&ana, "/notify/nowhere").await.into_body().into_data_stream();
    until(&mut stream, "event: trouble").await;
}

#[tokio::test]
async fn what_a_device_brings_reaches_the_pages_of_its_room_by_itself() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let job = fetch::start(&ana, "https://example.org/a").await;
    let mut streams = Vec::new();
    for (page, before) in [
        (job.as_str(), "0 of 1"),
        ("/fetch/jobs", "0 of 1"),
        ("/fetch/sites", ">1</td>"),
        ("/fetch/site?url=https://example.org", "Asked every 1 s."),
        ("/fetch/devices", "No device has joined yet"),
        ("/", "0 of 1"),
    ] {
        let mut stream = open(&ana, page).await.into_body().into_data_stream();
        until(&mut stream, before).await;
        streams.push(stream);
    }
    fetch::join(&house, "ana", "pi", "DE").await;
    fetch::bring(&house, 200, "text/html", b"hello").await;
    let expected = ["/results/1", "1 of 1", "20 ms", "A page takes 20 ms", "badge s-succeeded", "1 of 1"];
    for (stream, text) in streams.iter_mut().zip(expected) {
        until(stream, text).await;
    }
    for page in ["/fetch/nowhere", "/fetch/jobs/nonsense", &format!("{job}/results/1")] {
        let mut stream = open(&ana, page).await.into_body().into_data_stream();
        until(&mut stream, "event: trouble").await;
    }
}

#[tokio::test]
async fn an_analysis_reaches_its_pages_by_itself_and_its_answers_when_it_is_done() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let study = analyze::begin(&house, house.ops, "bike-rides").await;
    let page = analyze::page_of(study);
    analyze::feed(&house, study).await;
    analyze::work(&house).await;
    let so_far = format!("{page}?so_far=1");
    let mut streams = Vec::new();
    for (page, before) in [
        (page.as_str(), "more batches may come"),
        (&so_far, "more batches may come"),
        ("/analyses", "collecting"),
        ("/", "Latest analyses"),
    ] {
        let mut stream = open(&ana, page).await.into_body().into_data_stream();
        until(&mut stream, before).await;
        streams.push(stream);
    }
    analyze::complete(&house, study).await;
    analyze::work(&house).await;
    let expected = ["Trips in the rain", "It has come to its end.", "succeeded", "badge s-succeeded"];
    for (stream, text) in streams.iter_mut().zip(expected) {
        let read = until(stream, text).await;
        assert_eq!(read.contains("Trips in the rain"), text == "Trips in the rain", "made once, where it is shown");
    }
    for page in ["/analyses/nowhere", &format!("{page}/cancel")] {
        let mut stream = open(&ana, page).await.into_body().into_data_stream();
        until(&mut stream, "event: trouble").await;
    }
}

#[tokio::test]
async fn an_extraction_reaches_its_pages_by_itself() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let (kept, article) = wiki::sparrow(&house).await;
    let of_wiki = format!("/wiki/wikis/{}", kept.id);
    let id = wiki::ask(&ana, "House sparrow").await;
    let path = format!("/wiki/extractions/{id}");
    let mut streams = Vec::new();
    for (page, before) in [
        (path.as_str(), "pending"),
        ("/wiki", "pending"),
        ("/wiki/extractions", "pending"),
        ("/", "Latest extractions"),
        (&article, "What is kept"),
        (&of_wiki, "Visits of today"),
        ("/wiki/imports", "read in"),
    ] {
        let mut stream = open(&ana, page).await.into_body().into_data_stream();
        let read = until(&mut stream, before).await;
        assert!(!read.contains("<svg class=\"plot"), "what is dear to draw is not drawn again and again");
        streams.push(stream);
    }
    let counts = malla_wiki::Counts { done: 40, total: Some(50), ..malla_wiki::Counts::default() };
    wiki::step(&house, id, Some(kept.id), malla_wiki::ExtractionState::InProgress, counts, None).await;
    for stream in &mut streams[..5] {
        until(stream, "40 of 50").await;
    }
    for page in ["/wiki/nowhere", "/wiki/extractions/nonsense", "/wiki/wikis/99", &format!("{of_wiki}/pages/99")] {
        let mut stream = open(&ana, page).await.into_body().into_data_stream();
        until(&mut stream, "event: trouble").await;
    }
}

#[tokio::test]
async fn a_new_leader_reaches_the_page_of_an_admin_by_itself() {
    let house = House::new().await;
    let (root, ana) = (house.sign_in("root").await, house.sign_in("ana").await);
    let mut stream = open(&root, "/cluster").await.into_body().into_data_stream();
    until(&mut stream, "nobody leads").await;
    cluster::leader(&house).await;
    until(&mut stream, "badge s-running").await;
    let mut stream = open(&ana, "/cluster").await.into_body().into_data_stream();
    let refused = until(&mut stream, "event: trouble").await;
    assert!(!refused.contains("one/1"), "{refused}");
}

#[tokio::test]
async fn a_page_that_does_not_change_sends_a_beat_now_and_then() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let mut stream = open(&ana, "/lanes").await.into_body().into_data_stream();
    until(&mut stream, "event: block").await;
    let quiet = until(&mut stream, "event: beat").await;
    assert!(!quiet.contains("\"name\":\"lanes\""), "nothing changed: {quiet}");
}

#[tokio::test]
async fn the_end_of_a_session_ends_its_streams() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let mut stream = open(&ana, "/").await.into_body().into_data_stream();
    until(&mut stream, "event: block").await;
    ana.post("/logout", &[]).await;
    until(&mut stream, "event: ended").await;
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn only_so_many_pages_are_live_at_once() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let mut opened = Vec::new();
    for _ in 0..256 {
        opened.push(open(&ana, "/").await);
    }
    assert!(opened.iter().all(|response| response.status() == StatusCode::OK));
    assert_eq!(open(&ana, "/").await.status(), StatusCode::SERVICE_UNAVAILABLE);
    opened.pop();
    assert_eq!(open(&ana, "/").await.status(), StatusCode::OK, "a closed page gives its place back");
}
