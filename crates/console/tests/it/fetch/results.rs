//! The results of a job in the console.

use axum::http::StatusCode;

use super::{bring, start};
use crate::house::House;

#[tokio::test]
async fn results_are_newest_first_and_go_on() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let refused: Vec<String> = (1..=30).map(|n| format!("ftp://example.org/{n}/end")).collect();
    let job = start(&ana, &format!("{}\nhttps://example.org/", refused.join("\n"))).await;
    let page = ana.get(&job).await;
    assert_eq!(page.body.matches("/end</a>").count(), 25);
    let (thirty, six) = (page.body.find("/30/end"), page.body.find("/6/end"));
    assert!(thirty.is_some() && thirty < six, "newest first");
    page.hides("/5/end");
    page.shows("data-live=\"results\"");
    page.shows(&format!("href=\"/api/v1/fetch/{}/results\"", job.rsplit('/').next().expect("an id")));
    page.shows("Accept: application/warc");
    page.shows(&format!("href=\"{job}?cursor=6\">Older"));
    let page = ana.get(&format!("{job}?cursor=6")).await;
    assert_eq!(page.body.matches("/end</a>").count(), 5);
    page.shows(&format!("href=\"{job}\">← Newest"));
    page.hides("data-live=\"results\"");
    page.shows("data-live=\"progress\"");
    assert_eq!(ana.get(&format!("{job}?cursor=last")).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(ana.get(&format!("{job}?cursor=0")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn statuses_have_their_colours() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    for (status, tone) in [(200, "succeeded"), (304, "running"), (404, "paused"), (500, "failed"), (580, "failed")] {
        let job = start(&ana, &format!("https://site{status}.example/")).await;
        bring(&house, status, "text/plain", b"").await;
        let page = ana.get(&job).await;
        assert!(page.body.contains(&format!("badge s-{tone}")) && page.body.contains(&format!(">{status}</span>")));
    }
    let job = start(&ana, "nonsense\nhttps://example.org/").await;
    ana.get(&job).await.shows("s-discarded\" title=\"The site was not asked for it\">not asked<");
}

#[tokio::test]
async fn a_result_shows_its_headers_and_its_body_as_text_or_bytes() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let long = format!("<p>{}TAIL", "x".repeat(70_000));
    for (kind, body, texts) in [
        ("text/html", b"<h1>Hello</h1>".as_slice(), ["text, 14 B", "&lt;h1&gt;Hello"]),
        ("text/html; charset=iso-8859-1", b"caf\xe9", ["another encoding than UTF-8", "caf\u{fffd}"]),
        ("application/json", b"{\"a\":1}", ["JSON, 7 B", "&quot;a&quot;: 1"]),
        ("image/png", b"\x89PNG\x00", ["bytes, 5 B", "89 50 4e 47 00"]),
        ("text/html", long.as_bytes(), ["68.4 KiB, the beginning", "&lt;p&gt;xxx"]),
        ("text/html", b"", ["Empty.", "<dt>Size</dt><dd>0 B</dd>"]),
    ] {
        let answer = ana.post("/fetch/new-job", &[("urls", "https://example.org/page"), ("anew", "yes")]).await;
        house.clock.advance(std::time::Duration::from_secs(2));
        bring(&house, 200, kind, body).await;
        let page = ana.get(&format!("{}/results/1", answer.location())).await;
        page.shows(&format!("<dd>{kind}</dd>"));
        page.shows("<dt>x-odd</dt>");
        page.hides("TAIL");
        texts.iter().for_each(|text| page.shows(text));
    }
}

#[tokio::test]
async fn a_result_that_is_not_there_is_not_found() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let job = start(&ana, "nonsense\nhttps://example.org/").await;
    assert_eq!(ana.get(&format!("{job}/results/1")).await.status, StatusCode::OK);
    for n in ["0", "2", "first", "-1", "18446744073709551615"] {
        let page = ana.get(&format!("{job}/results/{n}")).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{n}");
        page.shows(&format!("Result {n} of job"));
    }
}
