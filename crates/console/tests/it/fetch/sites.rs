//! Sites in the console.

use axum::http::StatusCode;
use malla_queue::{Queue as _, Scope};

use super::{bring, bring_robots, start};
use crate::house::House;

const ROBOTS: &[u8] = b"User-agent: MallaBot\nDisallow: /private/\nAllow: /private/open\n";
const SITE: &str = "/fetch/site?url=https://example.org";

#[tokio::test]
async fn sites_are_listed_with_how_they_stand_and_found_by_a_word() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    start(&ana, "https://example.org/a\nhttps://example.org/b\nhttps://other.example/").await;
    bring_robots(&house, "https://example.org/", 200, ROBOTS).await;
    let page = ana.get("/fetch/sites").await;
    for text in ["href=\"/fetch/site?url=https%3A%2F%2Fexample.org\"", "https://other.example", "not known"] {
        page.shows(text);
    }
    page.shows("<span class=\"badge s-paused\">1 s</span>");
    page.shows("<td class=\"num\" data-label=\"Waiting\">2</td>");
    page.shows("<td class=\"num\" data-label=\"Gap\">2 s</td>");
    page.shows("again <time");
    let page = ana.get("/fetch/sites?search=other").await;
    page.shows("https://other.example");
    page.hides("https://example.org");
    page.shows("value=\"other\"");
    ana.get("/fetch/sites?search=nowhere").await.shows("No site matches.");
}

#[tokio::test]
async fn many_sites_go_on_by_their_keys() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let urls: Vec<String> = (10..65).map(|n| format!("https://site{n}.example/")).collect();
    start(&ana, &urls.join("\n")).await;
    let page = ana.get("/fetch/sites?search=site").await;
    page.shows("https://site59.example");
    page.hides("https://site60.example");
    let further = "/fetch/sites?search=site&cursor=fetch%2Fhttps%3A%2F%2Fsite59.example";
    page.shows(&further.replace('&', "&amp;"));
    let page = ana.get(further).await;
    page.hides("https://site59.example</a>");
    page.shows("https://site64.example");
}

#[tokio::test]
async fn a_site_tells_its_state_and_its_robots() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    start(&ana, "https://example.org/a").await;
    let page = ana.get(SITE).await;
    page.shows("Asked every 1 s.");
    page.shows("Not known yet");
    bring_robots(&house, "https://example.org/", 200, ROBOTS).await;
    for path in [SITE, "/fetch/site?url=https%3A%2F%2Fexample.org%2Fany%2Fpage"] {
        let page = ana.get(path).await;
        page.shows("Asked every 2 s: slowed by 1 s because it answered 429 or 503.");
        page.shows("Disallow: /private/\n");
        page.shows("These are its rules.");
    }
    bring_robots(&house, "https://example.org/", 404, b"").await;
    ana.get(SITE).await.shows("It has none (status 404): every page may be fetched.");
    house.clock.advance(std::time::Duration::from_secs(60));
    bring(&house, 200, "text/html", b"hello").await;
    ana.get(SITE).await.shows("A page takes 20 ms on average.");
    for url in ["https://nowhere.example", "nonsense", ""] {
        assert_eq!(ana.get(&format!("/fetch/site?url={url}")).await.status, StatusCode::NOT_FOUND, "{url}");
    }
}

#[tokio::test]
async fn one_can_ask_whether_a_path_may_be_fetched() {
    let house = House::new().await;
    let ben = house.sign_in("ben").await;
    start(&house.sign_in("ana").await, "https://example.org/a").await;
    ben.get(&format!("{SITE}&path=/a")).await.shows("Its robots.txt is not known yet");
    bring_robots(&house, "https://example.org/", 200, ROBOTS).await;
    for (path, sentence) in [
        ("/private/x", "MallaBot may not fetch https://example.org/private/x: the rule is Disallow: /private/."),
        ("/private/open", "the rule is Allow: /private/open."),
        ("/public", "MallaBot may fetch https://example.org/public: no rule speaks of it."),
        ("https://other.example/", "This is a page of https://other.example, not of this site."),
    ] {
        let page = ben.get(&format!("{SITE}&path={path}")).await;
        page.shows(sentence);
        page.shows(&format!("name=\"path\" value=\"{path}\""));
    }
    ben.get(SITE).await.shows("May MallaBot fetch this path?");
}

#[tokio::test]
async fn an_admin_pauses_a_site_and_others_are_told_who_does() {
    let house = House::new().await;
    let (ana, root) = (house.sign_in("ana").await, house.sign_in("root").await);
    start(&ana, "https://example.org/a").await;
    let lane = "fetch/https://example.org";
    let page = ana.get(SITE).await;
    page.shows("an admin pauses one or changes its gap");
    page.hides("/lane/pause");
    page.hides("/lane?key=");
    let pause = [("key", lane), ("paused", "yes"), ("back", SITE)];
    assert_eq!(ana.post("/lane/pause", &pause).await.status, StatusCode::NOT_FOUND);
    let page = root.get(SITE).await;
    page.shows(">Pause site<");
    page.shows("href=\"/lane?key=fetch%2Fhttps%3A%2F%2Fexample.org\">Change its gap");
    let answer = root.post("/lane/pause", &pause).await;
    assert_eq!(answer.location(), SITE);
    let page = root.follow(&answer).await;
    page.shows("Paused by an operator: nothing is asked of it.");
    page.shows(">Resume site<");
    root.post("/lane", &[("key", lane), ("ceiling", "1"), ("gap_ms", "7000")]).await;
    ana.get(SITE).await.shows("Asked every 7 s.");
    assert!(house.store.lane(&Scope::All, &lane.parse().expect("a key")).await.expect("a lane").paused);
}
