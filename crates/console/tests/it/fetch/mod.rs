//! The room `fetch` as its pages show it.

mod devices;
mod jobs;
mod results;
mod sites;
pub(crate) mod tours;
mod trust;

use std::time::Duration;

use axum::http::StatusCode;
use malla_fetch::{
    About, CheckedBody, Commit, Device, Fetch as _, KnownRobots, NewDevice, NewPage, PackedBody, PageTask, PageUrl,
    ROOM, Seen, Settled, Settlement, Shelf, Validators,
};
use malla_queue::{Clock as _, Holder, LaneSettings, LeaseRequest, Leased, Outcome, Queue as _, Room, Verdict};

use crate::house::{House, Visitor};

const LANES: LaneSettings = LaneSettings { ceiling: 1, gap_ms: 1_000 };
const PAGES: [&str; 6] =
    ["/fetch/jobs", "/fetch/sites", "/fetch/devices", "/fetch/standing", "/fetch/ledger", "/fetch/blocked"];

/// Starts a job with the form; returns its page.
pub(crate) async fn start(visitor: &Visitor<'_>, urls: &str) -> String {
    let answer = visitor.post("/fetch/new-job", &[("urls", urls)]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    answer.location().to_owned()
}

/// A device of ops.
pub(crate) async fn join(house: &House, owner: &str, name: &str, country: &str) -> Device {
    let about = About {
        system: "linux x86_64".into(),
        version: "0.1.0".into(),
        hostname: format!("{name}.local"),
        address: "192.0.2.7".into(),
        country: Some(country.into()),
        own: false,
    };
    let secret_hash = format!("{owner} {name}").into_bytes();
    let device = NewDevice { name: name.into(), owner: owner.into(), group: Some(house.ops), about, secret_hash };
    house.store.join(device).await.expect("joins")
}

async fn lease(house: &House) -> Vec<Leased> {
    let (rooms, holder) = (vec![Room::new(ROOM).expect("a room")], Holder::Device("1".into()));
    let request = LeaseRequest { run_max: 1_000, ..LeaseRequest::new(rooms, 1_000, holder, Duration::from_secs(60)) };
    house.store.lease(request).await.expect("leases").tasks
}

async fn commit(house: &House, settled: Vec<Settled>) {
    let commit = Commit { settled, lanes: LANES, ..Commit::default() };
    let ended = house.store.commit(commit).await.expect("commits");
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
}

fn settled(house: &House, leased: &Leased, outcome: Settlement, seen: Seen) -> Settled {
    let site = task_of(leased).url.site();
    let ending = Verdict::Done(Outcome::default()).ending(leased, house.clock.now());
    Settled { token: leased.token, ending, outcome, seen: Some((site, seen)) }
}

fn task_of(leased: &Leased) -> PageTask {
    PageTask::from_payload(&leased.payload).expect("a page's task")
}

fn checked(raw: &[u8]) -> Option<CheckedBody> {
    let packed = zstd::bulk::compress(raw, 3).expect("packs");
    let body = PackedBody { packed: packed.into(), bytes: raw.len() as u64, hash: None };
    CheckedBody::check(&body, u64::MAX).expect("it unpacks")
}

/// Brings all pages that wait, each with this answer. Those with a status of 200 go into the cache.
pub(crate) async fn bring(house: &House, status: u16, content_type: &str, body: &[u8]) {
    let now = house.clock.now();
    let leased = lease(house).await;
    assert!(!leased.is_empty(), "nothing waits");
    let answers = leased.iter().map(|leased| {
        let url = task_of(leased).url;
        let page = NewPage {
            url: url.to_string(),
            status,
            headers: vec![("content-type".into(), content_type.into()), ("x-odd".into(), "<i>odd</i>".into())],
            body: checked(body),
            trouble: None,
            fetched_at: now,
            took_ms: 20,
            device: Some("pi".into()),
        };
        let fresh_until = now.plus(Duration::from_secs(3_600));
        let shelf = (status == 200).then_some(Shelf { fresh_until, validators: Validators::default() });
        settled(house, leased, Settlement::Page { url, page, shelf }, Seen::Good { took_ms: 20 })
    });
    let answers = answers.collect();
    commit(house, answers).await;
}

/// Brings the robots.txt of a site, which pushes back at the same time.
async fn bring_robots(house: &House, site: &str, status: u16, text: &[u8]) {
    let site = PageUrl::parse(site).expect("a URL").site();
    house.store.want_robots(vec![site.clone()], LANES).await.expect("wants");
    house.clock.advance(Duration::from_secs(60));
    let now = house.clock.now();
    let until = now.plus(Duration::from_secs(24 * 3_600));
    let leased = lease(house).await;
    let robots = leased.iter().find(|leased| task_of(leased).robots_of.is_some()).expect("its robots.txt");
    let known = KnownRobots { status, text: text.to_vec(), fetched_at: now, until };
    let outcome = Settlement::Robots { of: site, robots: known, gap_ms: 1_000 };
    let pushed_back = Seen::PushedBack { retry_after: None };
    let mut answers = vec![settled(house, robots, outcome, pushed_back)];
    for other in leased.iter().filter(|other| other.token != robots.token) {
        let ending = Verdict::Released { note: "not now".into() }.ending(other, now);
        answers.push(Settled { token: other.token, ending, outcome: Settlement::Open, seen: None });
    }
    commit(house, answers).await;
}

#[tokio::test]
async fn an_empty_room_says_what_to_do_next() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    assert_eq!(ana.get("/fetch").await.location(), "/fetch/jobs");
    let page = ana.get("/fetch/jobs").await;
    page.shows("malla fetch https://example.org/");
    page.shows("href=\"/fetch/new-job\"");
    page.shows("href=\"/fetch\" aria-current=\"page\"");
    ana.get("/fetch/sites").await.shows("There are no sites yet");
    ana.get("/fetch/devices").await.shows("malla worker --server http://localhost --token $MALLA_TOKEN");
    let ben = house.sign_in("ben").await;
    for path in PAGES {
        let page = ben.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        page.hides("malla worker");
        page.hides("/fetch/new-job");
    }
}

#[tokio::test]
async fn what_belongs_to_another_group_does_not_exist() {
    let house = House::new().await;
    let (ana, cleo) = (house.sign_in("ana").await, house.sign_in("cleo").await);
    let job = start(&ana, "https://example.org/secret").await;
    bring(&house, 200, "text/html", b"ours").await;
    let device = join(&house, "ana", "attic", "DE").await.id.0;
    for path in ["/fetch/jobs", "/fetch/devices", "/"] {
        let page = cleo.get(path).await;
        page.hides(&job);
        page.hides("attic");
    }
    for path in [job.clone(), format!("{job}/results/1")] {
        assert_eq!(ana.get(&path).await.status, StatusCode::OK, "{path}");
        let page = cleo.get(&path).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
        page.shows("does not exist, or it belongs to a group you are not in.");
        page.hides("secret");
    }
    for (path, fields) in
        [(format!("{job}/cancel"), vec![]), (format!("/fetch/devices/{device}/block"), vec![("blocked", "yes")])]
    {
        assert_eq!(cleo.post(&path, &fields).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    let answer = cleo.post("/fetch/new-job", &[("urls", "https://example.org/"), ("group", "ops")]).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    answer.shows("There is no group &quot;ops&quot; for you.");
    // A site is met by all, and nothing tells for whom.
    cleo.get("/fetch/sites").await.shows("https://example.org");
}

#[tokio::test]
async fn somebody_readonly_sees_no_forms_and_may_not_send_them() {
    let house = House::new().await;
    let (ana, ben) = (house.sign_in("ana").await, house.sign_in("ben").await);
    let job = start(&ana, "https://example.org/a\nhttps://example.org/b\nnonsense").await;
    let device = join(&house, "ana", "attic", "DE").await.id.0;
    let result = format!("{job}/results/1");
    let mut paths: Vec<&str> = PAGES.to_vec();
    paths.extend([job.as_str(), &result, "/fetch/site?url=https://example.org"]);
    for path in paths {
        let page = ben.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert_eq!(page.body.matches("method=\"post\"").count(), 3, "only colours, language and log out on {path}");
    }
    assert_eq!(ben.get("/fetch/new-job").await.status, StatusCode::FORBIDDEN);
    for (path, fields) in [
        ("/fetch/new-job".to_owned(), vec![("urls", "https://example.org/")]),
        (format!("{job}/cancel"), vec![]),
        (format!("/fetch/devices/{device}/block"), vec![("blocked", "yes")]),
    ] {
        assert_eq!(ben.post(&path, &fields).await.status, StatusCode::FORBIDDEN, "{path}");
    }
    ben.get(&job).await.shows("running");
    ben.get("/fetch/devices").await.shows("<span class=\"badge s-succeeded\">online</span>");
}

#[tokio::test]
async fn what_comes_from_the_web_is_shown_and_never_run() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let hostile = "<script>alert(1)</script>";
    let refused = format!("https://example.org/?x={hostile}\njavascript:alert(1)\n\"><img src=x onerror=alert(1)>");
    let urls = format!("{refused}\nhttps://example.org/ok");
    let job = start(&ana, &urls).await;
    join(&house, hostile, "\"><b>pi</b>", "DE").await;
    bring(&house, 200, "text/html", format!("<html>{hostile}<a href='javascript:x'>").as_bytes()).await;
    bring_robots(&house, "https://example.org/", 200, hostile.as_bytes()).await;
    let mut paths: Vec<String> = PAGES.iter().map(|path| (*path).to_owned()).collect();
    paths.extend((1..=4).map(|n| format!("{job}/results/{n}")));
    paths.extend([job.clone(), "/fetch/sites?search=%3Cscript%3Ealert(1)%3C/script%3E".into(), "/".into()]);
    paths.push("/fetch/devices?search=%22%3E%3Cscript%3Ealert(1)%3C/script%3E".into());
    paths.push("/fetch/site?url=https://example.org&path=%3Cscript%3Ealert(1)%3C/script%3E".into());
    paths.push("/fetch/site?url=%3Cscript%3Ealert(1)%3C/script%3E".into());
    paths.push("/fetch/jobs/%3Cscript%3Ealert(1)%3C/script%3E".into());
    for path in paths {
        let page = ana.get(&path).await;
        for text in [hostile, "<img", "<b>pi", "<i>odd", "href=\"javascript:", "<a href='javascript:", " style="] {
            page.hides(text);
        }
    }
    let page = ana.get(&format!("{job}/results/4")).await;
    page.shows("&lt;html&gt;&lt;script&gt;alert(1)");
    page.shows("&lt;i&gt;odd&lt;/i&gt;");
    ana.get("/fetch/site?url=https://example.org").await.shows("&lt;script&gt;alert(1)");
}
