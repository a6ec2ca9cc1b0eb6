//! The list of analyses in the console.

use std::time::Duration;

use super::{begin, done, feed, page_of, work};
use crate::house::House;

#[tokio::test]
async fn an_empty_room_says_what_to_do_next() {
    let house = House::new().await;
    let page = house.sign_in("ana").await.get("/analyses").await;
    page.shows("malla bikes ./bikes");
    page.shows("href=\"/analyses\" aria-current=\"page\"");
    house.sign_in("ben").await.get("/analyses").await.hides("malla bikes");
}

#[tokio::test]
async fn each_analysis_tells_how_far_it_is_newest_first() {
    let house = House::new().await;
    let first = done(&house, house.ops).await;
    house.clock.advance(Duration::from_secs(60));
    let second = begin(&house, house.payments, "bike-rides").await;
    feed(&house, second).await;
    house.clock.advance(Duration::from_secs(4));
    work(&house).await;
    let page = house.sign_in("root").await.get("/analyses").await;
    let place = |id| page.body.find(&format!("href=\"{}\"", page_of(id))).expect("its link");
    assert!(place(second) < place(first));
    for text in [
        "<span class=\"badge s-succeeded\">succeeded</span>",
        "<span class=\"badge s-queued\">collecting</span>",
        "aria-label=\"4 worked on\"",
        ">4 of 4<",
        ">12</td>",
        ">3</td>",
        ">6</td>",
        ">ops</td>",
        ">payments</td>",
        "1 min ago",
        ">2 s</td>",
    ] {
        page.shows(text);
    }
}

#[tokio::test]
async fn older_ones_are_on_further_pages() {
    let house = House::new().await;
    let mut ids = Vec::new();
    for _ in 0..52 {
        ids.push(begin(&house, house.ops, "csv-summary").await);
    }
    let ana = house.sign_in("ana").await;
    let page = ana.get("/analyses").await;
    page.hides(&page_of(ids[1]));
    let older = format!("/analyses?cursor={}", ids[2]);
    page.shows(&format!("href=\"{older}\">Older"));
    let page = ana.get(&older).await;
    page.shows(&page_of(ids[1]));
    page.hides(&page_of(ids[2]));
    page.shows("href=\"/analyses\">← Newest");
    assert_eq!(ana.get("/analyses?cursor=nonsense").await.status.as_u16(), 400);
}
