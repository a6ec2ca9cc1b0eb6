//! The settings that are in force.

use axum::http::StatusCode;
use malla_console::{Setting, Settings};

use crate::house::House;

fn setting(key: &str, value: &str, source: &str) -> Setting {
    Setting { key: key.into(), value: value.into(), source: source.into() }
}

#[tokio::test]
async fn an_admin_sees_each_value_with_its_source_and_others_see_none() {
    let effective = vec![
        setting("listen", "127.0.0.1:7070", "flag --listen"),
        setting("http.body_bytes_max", "16777216", "default"),
        setting("smtp.url", "smtp://user:***@mail", "variable MALLA_SMTP_URL"),
    ];
    let house = House::with(Settings { effective, ..Settings::default() }).await;
    let root = house.sign_in("root").await;
    let page = root.get("/settings").await;
    for text in
        ["127.0.0.1:7070", "flag <code>--listen</code>", "smtp://user:***@mail", "malla config print", ">default<"]
    {
        page.shows(text);
    }
    let page = root.get("/settings?from=variable&search=SMTP").await;
    page.shows("smtp.url");
    page.hides("127.0.0.1:7070");
    root.get("/settings?search=nonsense").await.shows("No setting matches these filters.");
    let ana = house.sign_in("ana").await;
    let refused = ana.get("/settings").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    refused.hides("127.0.0.1:7070");
    ana.get("/").await.hides("href=\"/settings\"");
}
