//! Events in the console.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use malla_notify::{Credentials, Intake, NewEvent, RecentEvents};
use malla_queue::Clock as _;

use super::{make_endpoint, send_event, subscribe};
use crate::house::House;

#[tokio::test]
async fn events_are_found_by_endpoint_content_and_time() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    make_endpoint(&ana, "returns").await;
    let first = send_event(&ana, "orders", "{\"order\":\"alpha17\"}").await;
    house.clock.advance(Duration::from_secs(3_600));
    let second = send_event(&ana, "returns", "{\"order\":\"beta18\"}").await;
    let (one, two) = (first.replace("/notify/events/", ""), second.replace("/notify/events/", ""));
    for (query, shows, hides) in [
        ("endpoint=orders", &one, Some(&two)),
        ("endpoint=returns", &two, Some(&one)),
        ("content=alpha17", &one, Some(&two)),
        ("from=2027-01-15T08:30:00", &two, Some(&one)),
        ("to=2027-01-15T08:30:00", &one, Some(&two)),
        ("", &one, None),
    ] {
        let page = ana.get(&format!("/notify/events?{query}")).await;
        page.shows(shows);
        if let Some(hides) = hides {
            page.hides(hides);
        }
    }
    ana.get("/notify/events?content=nowhere").await.shows("No event matches these filters.");
    let page = ana.get("/notify/events?from=yesterday&endpoint=orders").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    page.shows("is not a time");
    page.shows("name=\"endpoint\" value=\"orders\"");
}

#[tokio::test]
async fn a_long_list_goes_on_with_its_filters() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    let mut events = Vec::new();
    for n in 0..55 {
        events.push(send_event(&ana, "orders", &n.to_string()).await);
    }
    let page = ana.get("/notify/events?endpoint=orders").await;
    page.shows(&events[54]);
    page.shows("data-live=\"events\"");
    let older = super::link(&page, "/notify/events?endpoint=orders&amp;cursor=").replace("&amp;", "&");
    let page = ana.get(&older).await;
    page.shows(&events[0]);
    page.hides(&events[54]);
    page.hides("data-live");
    page.shows("href=\"/notify/events?endpoint=orders\">← Newest");
}

#[tokio::test]
async fn an_event_is_shown_whole_with_what_became_of_it() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    subscribe(&ana, "shop", "orders", &[("filter", "[{\"field\":\"never\"}]")]).await;
    let intake = Intake::new(house.store.clone(), Arc::new(RecentEvents::default()));
    let event = NewEvent {
        method: "PUT".into(),
        query: Some("a=1&b=<2>".into()),
        content_type: Some("application/octet-stream".into()),
        headers: vec![("X-Tenant".into(), "acme".into())],
        topic: None,
        body: vec![0xff; 5_000],
    };
    let id = intake.take("orders", Credentials::default(), event, None, house.clock.now()).await.expect("taken");
    let page = ana.get(&format!("/notify/events/{id}")).await;
    for text in [
        "No subscription wanted it",
        "a=1&amp;b=&lt;2&gt;",
        "<dt>X-Tenant</dt><dd>acme</dd>",
        "<dd>PUT</dd>",
        "bytes, 4.9 KiB, the beginning",
        "03f0  ff ff",
        &format!("href=\"/api/v1/events/{id}/body\""),
    ] {
        page.shows(text);
    }
    page.hides("0400  ff");
    assert_eq!(ana.get("/notify/events/nonsense").await.status, StatusCode::NOT_FOUND);
}
