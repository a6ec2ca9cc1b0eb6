//! The room `notify` as its pages show it.

mod alerts;
mod endpoints;
mod events;
mod notifications;
mod statistics;
mod subscriptions;

use axum::http::StatusCode;

use crate::house::{Answer, House, Visitor};

const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/// Every page of this room that has no id in it.
const PAGES: [&str; 6] = [
    "/notify/notifications",
    "/notify/events",
    "/notify/subscriptions",
    "/notify/endpoints",
    "/notify/statistics",
    "/notify/alerts",
];

async fn make_endpoint(visitor: &Visitor<'_>, name: &str) {
    let answer = visitor.post("/notify/new-endpoint", &[("name", name)]).await;
    assert_eq!(answer.location(), format!("/notify/endpoints/{name}"));
}

/// A subscription with one attempt only.
async fn subscribe(visitor: &Visitor<'_>, name: &str, endpoint: &str, more: &[(&str, &str)]) -> Answer {
    let mut fields = vec![("name", name), ("endpoint", endpoint), ("target", "https://example.org/hook")];
    fields.extend(more);
    visitor.post("/notify/new-subscription", &fields).await
}

/// Sends a test event from the endpoint's page; returns the event's page.
async fn send_event(visitor: &Visitor<'_>, endpoint: &str, body: &str) -> String {
    let fields = [("body", body), ("content_type", "application/json")];
    let answer = visitor.post(&format!("/notify/endpoints/{endpoint}/try"), &fields).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    answer.location().to_owned()
}

/// The first address on a page that begins like this.
fn link(answer: &Answer, beginning: &str) -> String {
    let wanted = format!("href=\"{beginning}");
    let (_, after) = answer.body.split_once(&wanted).unwrap_or_else(|| panic!("no {beginning} in {}", answer.body));
    format!("{beginning}{}", after.split('"').next().expect("an end"))
}

#[tokio::test]
async fn an_empty_room_says_what_to_do_next() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    assert_eq!(ana.get("/notify").await.location(), "/notify/notifications");
    ana.get("/notify/notifications").await.shows("/api/v1/subscriptions");
    ana.get("/notify/events").await.shows("http://localhost/in/orders");
    ana.get("/notify/subscriptions").await.shows("href=\"/notify/new-subscription\"");
    let page = ana.get("/notify/endpoints").await;
    page.shows("href=\"/notify/new-endpoint\"");
    page.shows("-d '{&quot;name&quot;:&quot;orders&quot;}'");
    page.shows("/notify/endpoints/system");
    let ben = house.sign_in("ben").await;
    for path in PAGES {
        let page = ben.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        page.hides("-d '{");
        page.hides("/notify/new-");
    }
}

#[tokio::test]
async fn what_belongs_to_another_group_does_not_exist() {
    let house = House::new().await;
    let (ana, cleo) = (house.sign_in("ana").await, house.sign_in("cleo").await);
    make_endpoint(&cleo, "theirs").await;
    assert_eq!(subscribe(&cleo, "private", "theirs", &[]).await.status, StatusCode::SEE_OTHER);
    let event = send_event(&cleo, "theirs", "{\"hidden\":1}").await;
    let notification = link(&cleo.get("/notify/notifications").await, "/notify/notifications/0");
    for path in PAGES {
        let page = ana.get(path).await;
        page.hides("theirs");
        page.hides("private");
    }
    let own = ["/notify/endpoints/theirs", "/notify/subscriptions/private", &event, &notification];
    for path in own {
        assert_eq!(cleo.get(path).await.status, StatusCode::OK, "{path}");
        let page = ana.get(path).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
        page.shows("does not exist, or it belongs to a group you are not in.");
    }
    for (path, fields) in [
        ("/notify/endpoints/theirs", vec![("max_body", "1")]),
        ("/notify/endpoints/theirs/try", vec![("body", "x")]),
        ("/notify/endpoints/theirs/delete", vec![]),
        ("/notify/subscriptions/private", vec![("target", "https://evil.example/")]),
        ("/notify/subscriptions/private/state", vec![("state", "disabled")]),
        ("/notify/subscriptions/private/delete", vec![]),
        (&format!("{notification}/act"), vec![("verb", "discard")]),
    ] {
        assert_eq!(ana.post(path, &fields).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    let answer = subscribe(&ana, "spy", "theirs", &[]).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    answer.shows("There is no endpoint &quot;theirs&quot; for you.");
}

#[tokio::test]
async fn somebody_readonly_sees_no_forms_and_may_not_send_them() {
    let house = House::new().await;
    let (ana, ben) = (house.sign_in("ana").await, house.sign_in("ben").await);
    make_endpoint(&ana, "orders").await;
    subscribe(&ana, "shop", "orders", &[]).await;
    let event = send_event(&ana, "orders", "{}").await;
    let notification = link(&ana.get(&event).await, "/notify/notifications/0");
    let mut paths: Vec<&str> = PAGES.to_vec();
    paths.extend(["/notify/endpoints/orders", "/notify/subscriptions/shop", &event, &notification]);
    for path in paths {
        let page = ben.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert_eq!(page.body.matches("method=\"post\"").count(), 3, "only colours, language and log out on {path}");
    }
    for path in ["/notify/new-endpoint", "/notify/new-subscription", "/notify/notifications/act?verb=discard"] {
        assert_eq!(ben.get(path).await.status, StatusCode::FORBIDDEN, "{path}");
    }
    for (path, fields) in [
        ("/notify/new-endpoint", vec![("name", "mine")]),
        ("/notify/new-subscription", vec![("name", "mine"), ("endpoint", "orders")]),
        ("/notify/endpoints/orders", vec![("max_body", "1")]),
        ("/notify/endpoints/orders/try", vec![("body", "x")]),
        ("/notify/endpoints/orders/delete", vec![]),
        ("/notify/subscriptions/shop", vec![("target", "https://evil.example/")]),
        ("/notify/subscriptions/shop/state", vec![("state", "disabled")]),
        ("/notify/subscriptions/shop/delete", vec![]),
        ("/notify/notifications/act", vec![("verb", "discard")]),
        (&format!("{notification}/act"), vec![("verb", "discard")]),
    ] {
        assert_eq!(ben.post(path, &fields).await.status, StatusCode::FORBIDDEN, "{path}");
    }
}

#[tokio::test]
async fn hostile_text_is_shown_and_never_run() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let hostile = "<script>alert(1)</script>";
    let fields = [("name", "orders"), ("description", hostile)];
    ana.post("/notify/new-endpoint", &fields).await;
    subscribe(&ana, "shop", "orders", &[("filter", &format!("[{{\"field\":\"{hostile}\",\"exists\":false}}]"))]).await;
    let event = send_event(&ana, "orders", &format!("{{\"x\":\"{hostile}\"}}")).await;
    let typed = format!("/notify/notifications?content={}", "%3Cscript%3Ealert(1)%3C/script%3E");
    for path in ["/notify/endpoints", "/notify/endpoints/orders", "/notify/subscriptions/shop", &event, &typed] {
        let page = ana.get(path).await;
        page.shows("&lt;script&gt;");
        page.hides(hostile);
    }
}
