//! The answers of analyses in the console.

use std::time::Duration;

use super::{begin, complete, done, feed, page_of, send, work};
use crate::house::House;

#[tokio::test]
async fn the_answers_about_bike_rides_are_drawn_and_listed() {
    let house = House::new().await;
    let id = done(&house, house.ops).await;
    let page = house.sign_in("ana").await.get(&page_of(id)).await;
    for text in [
        "On days with more than 30 mm of rain, a trip takes <strong>8 min 40 s</strong> on average: 3 trips on 2 days.",
        "<title>2016-05-01: 12.5 min on average</title>",
        ">12 min 30 s</td>",
        "<strong>1 station</strong> had at least 2 times as many trips in 2017 as in 2016.",
        "3 → 9",
        ">3.0</td>",
        "<strong>1 station</strong> of Montreal is reached by trips of more than 6 km on average.",
        "11.12 km",
    ] {
        page.shows(text);
    }
    for name in ["rain", "year", "city"] {
        page.shows(&format!("href=\"/api/v1/analyses/{id}/results/{name}\""));
        page.shows(&format!("href=\"/api/v1/analyses/{id}/results/{name}?format=csv\" download=\"{id}-{name}.csv\""));
    }
}

#[tokio::test]
async fn what_is_known_so_far_is_shown_when_asked_for_and_says_so() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let id = begin(&house, house.ops, "bike-rides").await;
    let (path, so_far) = (page_of(id), format!("{}?so_far=1", page_of(id)));
    feed(&house, id).await;
    work(&house).await;
    let page = ana.get(&path).await;
    page.shows(&format!("href=\"{so_far}\""));
    page.hides("Trips in the rain");
    let page = ana.get(&so_far).await;
    for text in ["So far. ", "From 4 of 4 batches", "Trips in the rain", "8 min 40 s", "?format=csv&amp;partial=true"] {
        page.shows(text);
    }
    let (_, after) = page.body.split_once("data-live=\"answers\">").expect("the place of the answers");
    assert!(after.starts_with("</div>"), "what is known so far is not made again by itself");
    complete(&house, id).await;
    work(&house).await;
    let page = ana.get(&so_far).await;
    page.shows("Trips in the rain");
    page.hides("So far. ");
    page.hides("partial=true");
}

#[tokio::test]
async fn nothing_found_is_said() {
    let house = House::new().await;
    let id = begin(&house, house.ops, "bike-rides").await;
    complete(&house, id).await;
    house.clock.advance(Duration::from_secs(1));
    work(&house).await;
    let page = house.sign_in("ana").await.get(&page_of(id)).await;
    page.shows("No trip began on a day with more than 30 mm of rain.");
    page.shows("<strong>No station</strong> of Montreal is reached");
    page.hides("<table");
}

#[tokio::test]
async fn any_other_analysis_is_a_table() {
    let house = House::new().await;
    let id = begin(&house, house.ops, "csv-summary").await;
    send(&house, id, "rows", 0, "city,riders\nBerlin,5\n<b>Bonn</b>,2000\n").await;
    complete(&house, id).await;
    work(&house).await;
    let page = house.sign_in("ana").await.get(&page_of(id)).await;
    for text in [
        "<h2>Columns</h2>",
        ">Name</th>",
        ">riders</td>",
        ">1002.5</td>",
        "&lt;b&gt;Bonn&lt;/b&gt;",
        "results/columns?format=csv",
    ] {
        page.shows(text);
    }
    page.hides("<b>Bonn");
}
