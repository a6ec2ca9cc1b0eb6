//! Pages with nothing on them.

use super::LISTS;
use crate::house::House;

/// Lists whose emptiness must lead somewhere: a button, a command or a sentence on how the first comes.
const NEXT: [(&str, &str); 18] = [
    ("/", "malla tasks submit"),
    ("/tasks", "malla tasks submit"),
    ("/lanes", "comes into being with its first task"),
    ("/notify/notifications", "/api/v1/subscriptions"),
    ("/notify/events", "Go to the endpoints"),
    ("/notify/subscriptions", "New subscription"),
    ("/notify/endpoints", "New endpoint"),
    ("/notify/alerts", "New alert"),
    ("/fetch/jobs", "malla fetch"),
    ("/fetch/crawls", "malla crawl"),
    ("/fetch/watches", "malla watches add"),
    ("/fetch/comparisons", "malla compare"),
    ("/fetch/sites", "first page that somebody wants"),
    ("/fetch/devices", "malla worker"),
    ("/wiki", "malla wiki extract"),
    ("/wiki/articles", "extract a first article"),
    ("/wiki/imports", "malla wiki import"),
    ("/analyses", "malla bikes"),
];

#[tokio::test]
async fn a_page_with_nothing_on_it_says_what_to_do_next() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    for (path, next) in NEXT {
        let page = ana.get(path).await;
        assert!(page.body.contains(next), "{next:?} is not at {path}: {}", page.body);
    }
    let root = house.sign_in("root").await;
    for path in LISTS {
        root.get(path).await.shows("<h1>");
    }
}
