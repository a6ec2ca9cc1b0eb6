//! The live views.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::StreamExt as _;
use malla_access::Access as _;
use malla_queue::Scope;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use tower::ServiceExt as _;

use crate::house::{House, act};

const PATIENCE: Duration = Duration::from_secs(20);

struct Tail {
    stream: BodyDataStream,
    text: String,
}

impl Tail {
    async fn open(house: &House, query: &str, token: &str) -> Self {
        Self::open_at(house, &format!("/api/v1/tasks/tail?{query}"), token).await
    }

    async fn open_at(house: &House, path: &str, token: &str) -> Self {
        let request = Request::get(path).header("authorization", format!("Bearer {token}"));
        let request = request.header("accept-encoding", "gzip").body(Body::empty()).unwrap();
        let response = house.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert!(!response.headers().contains_key("content-encoding"), "events must not wait for a compressor");
        let mut tail = Self { stream: response.into_body().into_data_stream(), text: String::new() };
        assert_eq!(tail.next().await.unwrap().0, "ready");
        tail
    }

    /// The next event; `None` when the view has ended.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    event.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
                };
                let found = field("event:").zip(field("data:"));
                self.text = rest.to_owned();
                if let Some((name, data)) = found {
                    return Some((name, serde_json::from_str(&data).unwrap()));
                }
                continue;
            }
            let chunk = tokio::time::timeout(PATIENCE, self.stream.next()).await.expect("an event in time")?;
            self.text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
        }
    }

    async fn task(&mut self) -> (String, String) {
        let (name, task) = self.next().await.expect("the view goes on");
        assert_eq!(name, "task");
        (task["id"].as_str().unwrap().to_owned(), task["state"].as_str().unwrap().to_owned())
    }
}

#[tokio::test]
async fn tasks_are_told_as_they_appear_and_change() {
    let house = House::new().await;
    let old = house.drill("drill/a", "alpha").await;
    let mut tail = Tail::open(&house, "lane=drill%2Fa", "readonly").await;
    house.drill("drill/other", "alpha").await;
    house.drill("drill/foreign", "beta").await;
    let new = house.drill("drill/a", "alpha").await;
    assert_eq!(tail.task().await, (new.to_string(), "queued".into()));
    house.post(&format!("/api/v1/tasks/{old}/pause"), "user", json!({})).await.ok();
    assert_eq!(tail.task().await, (old.to_string(), "paused".into()));
}

#[tokio::test]
async fn a_view_of_one_state_tells_what_enters_it() {
    let house = House::new().await;
    let id = house.drill("drill/a", "alpha").await;
    let mut tail = Tail::open(&house, "state=discarded", "user").await;
    house.post(&format!("/api/v1/tasks/{id}/discard"), "user", json!({})).await.ok();
    assert_eq!(tail.task().await, (id.to_string(), "discarded".into()));
}

#[tokio::test]
async fn a_view_ends_with_its_token() {
    let house = House::new().await;
    let mut tail = Tail::open(&house, "", "user").await;
    house.store.delete_token(&Scope::All, "user", act()).await.unwrap();
    assert!(tail.next().await.is_none());
}

#[tokio::test]
async fn a_view_ends_with_the_server() {
    let house = House::new().await;
    let mut tail = Tail::open(&house, "", "user").await;
    house.ready.store(false, Ordering::SeqCst);
    assert!(tail.next().await.is_none());
}

#[tokio::test]
async fn there_are_only_so_many_views_and_closing_one_makes_room() {
    let house = House::new().await;
    let mut open = Vec::new();
    for _ in 0..200 {
        open.push(Tail::open(&house, "", "user").await);
    }
    let full = house.get("/api/v1/tasks/tail", "user").await;
    full.refused(503, "full", &["too many live views"]);
    assert!(full.headers.contains_key("retry-after"));
    open.pop();
    Tail::open(&house, "", "user").await;
}

#[tokio::test]
async fn events_and_notifications_are_told_as_they_come_and_change() {
    let house = House::new().await;
    let (ours, other) = (house.endpoint("alpha").await, house.endpoint("alpha").await);
    let subscription = house.subscription(&ours).await;
    house.event(&ours, "before").await;
    let mut arrivals = Tail::open_at(&house, &format!("/api/v1/events/tail?endpoint={ours}"), "readonly").await;
    let path = format!("/api/v1/notifications/tail?subscription={subscription}&endpoint={ours}");
    let mut deliveries = Tail::open_at(&house, &path, "readonly").await;
    house.event(&other, "elsewhere").await;
    let event = house.event(&ours, "here").await;
    let (name, arrived) = arrivals.next().await.unwrap();
    assert_eq!((name.as_str(), &arrived["id"], &arrived["bytes"]), ("event", &json!(event), &json!(4)));
    let (name, made) = deliveries.next().await.unwrap();
    assert_eq!((name.as_str(), &made["event"], &made["state"]), ("notification", &json!(event), &json!("queued")));
    let id = made["id"].as_str().unwrap();
    house.post(&format!("/api/v1/notifications/{id}/discard"), "user", json!({})).await.ok();
    let (_, changed) = deliveries.next().await.unwrap();
    assert_eq!((&changed["id"], &changed["state"]), (&made["id"], &json!("discarded")));
}
