//! What the pages show.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use malla_queue::{Act, LaneChange, Queue as _, Scope};

use crate::house::{Answer, House};
use crate::{fetch, wiki};

#[tokio::test]
async fn an_empty_house_says_what_to_do_next() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let command = "malla tasks submit --lane drill/hello --kind drill '{}'";
    ana.get("/").await.shows(command);
    ana.get("/tasks").await.shows(command);
    ana.get("/lanes").await.shows("There are no lanes yet");
    house.sign_in("ben").await.get("/").await.hides(command);
}

#[tokio::test]
async fn the_overview_counts_and_leads_to_the_filtered_list() {
    let house = House::new().await;
    house.submit("drill/a", "{}", 1_000).await;
    house.submit("drill/b", "{}", 2).await;
    let pause = LaneChange { paused: Some(true), ..LaneChange::default() };
    let act = Act::new("user:root", "lane.change", "drill/b");
    house.store.change_lane(&Scope::All, &"drill/b".parse().expect("a key"), pause, act).await.expect("pauses");
    let page = house.sign_in("ana").await.get("/").await;
    page.shows("href=\"/tasks?state=queued\"");
    page.shows(">1,000</strong>");
    page.shows("href=\"/tasks?kind=drill&amp;state=queued\"");
    page.shows("No task has failed.");
    let (_, paused) = page.body.split_once("Paused lanes").expect("the paused lanes");
    assert!(paused.contains("key=drill%2Fb") && !paused.contains("key=drill%2Fa"), "{paused}");
}

#[tokio::test]
async fn the_overview_tells_what_came_in_the_minute_that_runs() {
    let house = House::new().await;
    let (root, ana) = (house.sign_in("root").await, house.sign_in("ana").await);
    // The counters are looked at for the first time at some moment now; what comes after that shows at once.
    let deadline = Instant::now() + Duration::from_secs(10);
    let came = |page: &Answer, room: &str| {
        let (_, card) = page.body.split_once(&format!("<strong>{room}</strong>")).expect("the room's card");
        let (_, foot) = card.split_once("room-foot").expect("its foot");
        let (before, _) = foot.split_once(" came").expect("what came");
        before.rsplit('>').next().and_then(|count| count.parse::<u64>().ok()).expect("a number")
    };
    for n in 0.. {
        fetch::start(&ana, &format!("https://example.org/{n}")).await;
        wiki::ask(&ana, &format!("Title {n}")).await;
        let pages = [root.get("/").await, ana.get("/").await];
        if pages.iter().all(|page| came(page, "Fetch") > 0 && came(page, "Wiki") > 0) {
            break;
        }
        assert!(Instant::now() < deadline, "it says that nothing came");
    }
}

#[tokio::test]
async fn filters_stay_in_every_link_of_the_list() {
    let house = House::new().await;
    let ids = house.submit("drill/a", "{}", 60).await;
    let ana = house.sign_in("ana").await;
    let page = ana.get("/tasks?state=queued&lane=drill/a&kind=").await;
    page.shows("href=\"/tasks?lane=drill%2Fa&amp;state=failed\"");
    page.shows("<span class=\"n\">60</span>");
    page.shows("name=\"lane\" value=\"drill/a\"");
    let older = format!("/tasks?state=queued&amp;lane=drill%2Fa&amp;cursor={}", ids[10]);
    page.shows(&older);
    let page = ana.get(&older.replace("&amp;", "&")).await;
    page.shows(&ids[9].to_string());
    page.hides(&ids[10].to_string().repeat(2));
    page.shows("href=\"/tasks?state=queued&amp;lane=drill%2Fa\">← Newest");
}

#[tokio::test]
async fn a_filter_that_cannot_be_read_is_named_and_kept() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    for (query, sentence) in [
        ("state=done", "is not a state"),
        ("lane=nowhere", "a key is room/name"),
        ("from=yesterday", "is not a time: write it as 2026-01-31T12:00 (UTC)"),
        ("group=payments", "There is no group &quot;payments&quot; for you."),
    ] {
        let page = ana.get(&format!("/tasks?{query}")).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{query}");
        page.shows(sentence);
        page.shows("<form class=\"filters\"");
    }
}

#[tokio::test]
async fn hostile_text_is_shown_and_never_run() {
    let house = House::new().await;
    let hostile = "<script>alert(1)</script>";
    let lane = format!("drill/{hostile}\" onmouseover=\"x");
    let id = house.submit(&lane, &format!("{{\"x\":\"{hostile}\"}}"), 1).await[0];
    let ana = house.sign_in("ana").await;
    let paths = [
        "/".to_owned(),
        "/tasks".into(),
        "/lanes".into(),
        format!("/tasks/{id}"),
        "/tasks?lane=%3Cscript%3Ealert(1)%3C/script%3E".into(),
        "/lanes?search=%22%3E%3Cscript%3Ealert(1)%3C/script%3E".into(),
        "/lane?key=%3Cscript%3Ealert(1)%3C/script%3E".into(),
        "/tasks/%3Cscript%3Ealert(1)%3C/script%3E".into(),
    ];
    for path in paths {
        let page = ana.get(&path).await;
        page.hides(hostile);
        page.hides("\" onmouseover=");
    }
    ana.get(&format!("/tasks/{id}")).await.shows("&quot;x&quot;: &quot;&lt;script&gt;alert(1)");
}

#[tokio::test]
async fn a_task_tells_its_story() {
    let house = House::new().await;
    let id = house.submit("drill/a", "{\"work_ms\":1}", 1).await[0];
    let ana = house.sign_in("ana").await;
    ana.post(&format!("/tasks/{id}/act"), &[("verb", "pause")]).await;
    let page = ana.get(&format!("/tasks/{id}")).await;
    for text in [
        "<strong>submitted</strong>",
        "<strong>paused</strong>",
        "user:ana",
        "&quot;work_ms&quot;: 1",
        "href=\"/lane?key=drill%2Fa\"",
        "/api/v1/tasks/",
    ] {
        page.shows(text);
    }
    page.shows(&format!("href=\"/tasks?parent={id}\""));
    page.shows(">Resume<");
}

#[tokio::test]
async fn every_page_is_guarded_and_holds_nothing_inline() {
    let house = House::new().await;
    let id = house.submit("drill/a", "{}", 1).await[0];
    let root = house.sign_in("root").await;
    let task = format!("/tasks/{id}");
    let paths = ["/", "/tasks", &task, "/lanes", "/lane?key=drill/a", "/audit", "/users", "/users/ana", "/groups"];
    for path in paths
        .iter()
        .chain(&["/groups/ops", "/tokens", "/tasks/act?verb=discard", "/nowhere", "/login"])
        .chain(&["/fetch/jobs", "/fetch/new-job", "/fetch/sites", "/fetch/devices", "/analyses", "/cluster"])
        .chain(&["/fetch/standing", "/fetch/ledger", "/fetch/blocked"])
        .chain(&["/wiki", "/wiki/articles", "/wiki/revisions", "/wiki/query", "/wiki/extractions", "/wiki/imports"])
    {
        let page = root.get(path).await;
        let policy = page.headers["content-security-policy"].to_str().expect("text");
        assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}");
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(page.headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(page.headers["referrer-policy"], "same-origin", "{path}");
        assert_eq!(page.headers[header::CACHE_CONTROL], "no-store", "{path}");
        for inline in [" style=", "<style", " onclick=", "<script>"] {
            page.hides(inline);
        }
    }
}

#[tokio::test]
async fn what_does_not_exist_is_a_page_in_the_frame_and_under_the_api_a_bare_status() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let page = ana.get("/nowhere").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    page.shows("There is no such page.");
    page.shows("Log out");
    let answer = ana.get("/api/v1/nowhere").await;
    assert_eq!((answer.status, answer.body.as_str()), (StatusCode::NOT_FOUND, ""));
    let wrong = ana.send(Request::put("/tasks").body(Body::empty()).expect("a request")).await;
    assert_eq!(wrong.status, StatusCode::METHOD_NOT_ALLOWED);
    wrong.shows("This address does not take that kind of request.");
}

#[tokio::test]
async fn assets_are_kept_until_they_change() {
    let house = House::new().await;
    let page = house.get("/login").await;
    let (_, address) = page.body.split_once("rel=\"stylesheet\" href=\"").expect("a stylesheet");
    let asset = house.get(address.split('"').next().expect("an address")).await;
    assert_eq!(asset.headers[header::CONTENT_TYPE], "text/css; charset=utf-8");
    assert_eq!(asset.headers[header::CACHE_CONTROL], "public, max-age=31536000, immutable");
    let tag = asset.headers[header::ETAG].clone();
    let request = Request::get("/assets/console.css").header(header::IF_NONE_MATCH, tag).body(Body::empty());
    let again = house.send(request.expect("a request")).await;
    assert_eq!((again.status, again.body.as_str()), (StatusCode::NOT_MODIFIED, ""));
    assert_eq!(house.get("/assets/console.css").await.headers[header::CACHE_CONTROL], "no-cache");
}
