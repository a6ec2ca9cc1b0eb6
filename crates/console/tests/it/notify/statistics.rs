//! Statistics in the console.

use std::time::Duration;

use axum::http::StatusCode;
use malla_notify::{Counted, Figures, Notify as _, Statistics as _, Step, Subject};
use malla_queue::{Clock as _, Scope};

use super::{make_endpoint, subscribe};
use crate::house::House;

#[tokio::test]
async fn figures_are_plotted_and_told_for_all_and_for_each() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    subscribe(&ana, "shop", "orders", &[]).await;
    let endpoint = house.store.endpoint(&Scope::All, "orders").await.expect("an endpoint").id;
    let shop = house.store.subscription(&Scope::All, "shop").await.expect("a subscription").id;
    let at = house.clock.now().minus(Duration::from_secs(120));
    let latencies = serde_json::from_str("[0,0,0,0,0,0,0,0,0,0,30]").expect("counts");
    let mut rows = Vec::new();
    for step in Step::ALL {
        let (begin, latencies) = (step.begin(at), Clone::clone(&latencies));
        let events = Figures { events: 1_234, bytes: 4_096, ..Figures::default() };
        let ended = Figures { delivered: 30, retried: 5, failed: 10, peak: 7, latencies, ..Figures::default() };
        rows.push(Counted { subject: Subject::Endpoint(endpoint), step, begin, figures: events });
        rows.push(Counted { subject: Subject::Subscription(shop), step, begin, figures: ended });
    }
    house.store.record("test", rows).await.expect("records");
    for path in ["/notify/statistics", "/notify/statistics?endpoint=orders"] {
        for step in ["minute", "hour", "day"] {
            let glue = if path.contains('?') { "&" } else { "?" };
            let page = ana.get(&format!("{path}{glue}step={step}")).await;
            assert_eq!(page.status, StatusCode::OK, "{path} {step}");
            for text in ["1,234", "25 %", "32 ms", "role=\"img\"", "1,234 events in all"] {
                page.shows(text);
            }
            page.hides("NaN");
            page.hides("style=");
        }
    }
    let day = ana.get("/notify/statistics?step=day&subscription=shop").await;
    day.shows("Failure rate a month");
    day.shows("2027-01");
    day.hides("1,234");
    ana.get("/notify/endpoints/orders").await.shows("href=\"/notify/statistics?endpoint=orders\"");
    ana.get("/notify/subscriptions/shop").await.shows("href=\"/notify/statistics?subscription=shop\"");
    house.sign_in("cleo").await.get("/notify/statistics").await.hides("1,234");
    assert_eq!(ana.get("/notify/statistics?step=week").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn without_figures_the_page_says_so() {
    let house = House::new().await;
    let ben = house.sign_in("ben").await;
    let page = ben.get("/notify/statistics").await;
    page.shows("Nothing was counted in this time.");
    page.shows("No events in this time.");
}
