//! Crawls, watches and comparisons as their pages show them.

use std::time::Duration;

use axum::http::StatusCode;
use malla_fetch::compare::{self, PlaceReport, Report, UrlReport};
use malla_fetch::tour::{NewVersion, Step, TOUR_ROOM, TourId, TourKind, TourState, Tours as _, tour_of};
use malla_fetch::watch;
use malla_queue::{Clock as _, Holder, LaneSettings, LeaseRequest, Outcome, Queue as _, Room, Scope, Verdict};

use crate::house::{House, Visitor};

const LISTS: [(&str, &str); 3] = [
    ("/fetch/crawls", "/fetch/new-crawl"),
    ("/fetch/watches", "/fetch/new-watch"),
    ("/fetch/comparisons", "/fetch/new-comparison"),
];

/// Starts one with its form; returns its page.
async fn begun(visitor: &Visitor<'_>, form: &str, fields: &[(&str, &str)]) -> String {
    let answer = visitor.post(form, fields).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    answer.location().to_owned()
}

pub(crate) async fn crawl(visitor: &Visitor<'_>, seed: &str) -> String {
    let fields = [("seeds", seed), ("scope", "host"), ("depth", "2"), ("pages", "20"), ("sitemaps", "yes")];
    begun(visitor, "/fetch/new-crawl", &fields).await
}

pub(crate) async fn watch(visitor: &Visitor<'_>, url: &str, selector: &str) -> String {
    let fields = [("url", url), ("selector", selector), ("interval_min_s", "60"), ("interval_max_s", "3600")];
    begun(visitor, "/fetch/new-watch", &fields).await
}

pub(crate) async fn comparison(visitor: &Visitor<'_>, url: &str) -> String {
    begun(visitor, "/fetch/new-comparison", &[("urls", url), ("countries", "ar, de"), ("every_s", "600")]).await
}

fn id_of(page: &str) -> TourId {
    page.rsplit('/').next().expect("a path").parse().expect("an id")
}

/// Takes the turn of a tour and ends it with these versions.
async fn step(house: &House, kind: TourKind, page: &str, progress: String, versions: Vec<NewVersion>) {
    let (rooms, holder) = (vec![Room::new(TOUR_ROOM).expect("a room")], Holder::Member("node-1".into()));
    let leased =
        house.store.lease(LeaseRequest::new(rooms, 100, holder, Duration::from_secs(60))).await.expect("leases");
    let id = id_of(page);
    let now = house.clock.now();
    for task in leased.tasks {
        if tour_of(&task.payload).expect("a tour") != id {
            let ending = Verdict::Released { note: "not now".into() }.ending(&task, now);
            house.store.finish(vec![(task.token, ending)]).await.expect("gives back");
            continue;
        }
        let tour = house.store.tour(&Scope::All, kind, id).await.expect("it is there");
        let done = Verdict::Done(Outcome::default()).ending(&task, now);
        let step = Step {
            id,
            token: task.token,
            read: (tour.read, tour.read),
            answered: Vec::new(),
            progress: progress.clone(),
            weight: 1.0,
            found: Vec::new(),
            found_max: 100,
            hand: None,
            wanted: Vec::new(),
            pins: Vec::new(),
            pending_max: 100,
            lanes: LaneSettings { ceiling: 1, gap_ms: 1_000 },
            versions: versions.clone(),
            versions_kept: 10,
            versions_bytes_max: 1_000_000,
            events: Vec::new(),
            end: None,
            ending: Some(done.clone()),
            ending_if_over: done,
        };
        house.store.step(step).await.expect("steps");
    }
}

/// The page was visited once for each of these texts.
pub(crate) async fn visited(house: &House, page: &str, texts: &[&str]) {
    let now = house.clock.now();
    let mut progress = watch::Progress {
        visits: texts.len() as u64,
        first_at: Some(now),
        visited_at: Some(now),
        next_at: Some(now.plus(Duration::from_secs(600))),
        status: 200,
        ..watch::Progress::default()
    };
    texts.iter().skip(1).for_each(|_| progress.changed(now));
    let facts = serde_json::json!({ "status": 200, "url": "https://example.org/news", "bytes": 9 }).to_string();
    let version = |text: &&str| NewVersion { at: now, facts: facts.clone(), text: (*text).to_owned() };
    let progress = serde_json::to_string(&progress).expect("JSON");
    step(house, TourKind::Watch, page, progress, texts.iter().map(version).collect()).await;
}

/// A round in which one place got something else.
pub(crate) async fn compared(house: &House, page: &str, url: &str, extra: &str) {
    let now = house.clock.now();
    let place = |place: &str, differs: bool| PlaceReport {
        place: place.into(),
        device: Some("pi".into()),
        status: 200,
        final_url: url.into(),
        bytes: 1_000,
        similarity: Some(if differs { 0.42 } else { 1.0 }),
        missing: Vec::new(),
        extra: if differs { vec![extra.to_owned()] } else { Vec::new() },
        differs,
        note: None,
    };
    let urls = vec![UrlReport { url: url.into(), differs: true, places: vec![place("AR", false), place("DE", true)] }];
    let report = serde_json::to_string(&Report { at: now, urls }).expect("JSON");
    let progress =
        compare::Progress { rounds: 1, differing: 1, compared_at: Some(now), ..compare::Progress::default() };
    let facts = serde_json::json!({ "differing": 1, "changed": false }).to_string();
    let progress = serde_json::to_string(&progress).expect("JSON");
    step(house, TourKind::Compare, page, progress, vec![NewVersion { at: now, facts, text: report }]).await;
}

async fn state_of(house: &House, kind: TourKind, page: &str) -> TourState {
    house.store.tour(&Scope::All, kind, id_of(page)).await.expect("it is there").state
}

#[tokio::test]
async fn a_crawl_is_started_held_and_ended() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let page = crawl(&ana, "https://example.org/").await;
    let shown = ana.get(&page).await;
    shown.shows("0 of at most 20 pages");
    shown.shows("https://example.org/");
    shown.shows("href=\"/fetch/crawls\" aria-current=\"page\"");
    ana.get("/fetch/crawls").await.shows(&page);
    ana.get("/fetch/crawls?state=paused").await.hides(&page);
    let act = format!("{page}/act");
    for (verb, state) in
        [("pause", TourState::Paused), ("resume", TourState::Running), ("cancel", TourState::Cancelled)]
    {
        let answer = ana.post(&act, &[("verb", verb)]).await;
        assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, page.as_str()), "{verb}");
        assert_eq!(state_of(&house, TourKind::Crawl, &page).await, state, "{verb}");
    }
    // It is over: the buttons are gone, and a form that comes too late is told so.
    ana.get(&page).await.hides("value=\"pause\"");
    assert_eq!(ana.post(&act, &[("verb", "pause")]).await.status, StatusCode::SEE_OTHER);
    assert_eq!(state_of(&house, TourKind::Crawl, &page).await, TourState::Cancelled);
    assert_eq!(ana.post(&act, &[("verb", "explode")]).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(ana.get("/fetch/crawls/nonsense").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_is_wrong_with_a_form_stands_at_its_field() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    for (form, fields, words) in [
        ("/fetch/new-crawl", vec![("seeds", "")], "give at least one seed"),
        ("/fetch/new-crawl", vec![("seeds", "ftp://a.example/")], "cannot be fetched"),
        ("/fetch/new-crawl", vec![("seeds", "https://a.example/"), ("depth", "5000")], "steps deep"),
        ("/fetch/new-crawl", vec![("seeds", "https://a.example/"), ("pages", "0")], "change its limit"),
        ("/fetch/new-crawl", vec![("seeds", "https://a.example/"), ("pages", "many")], "is not a number"),
        ("/fetch/new-watch", vec![("url", "nonsense")], "cannot be watched"),
        ("/fetch/new-watch", vec![("url", "https://a.example/"), ("selector", "a[")], "not a selector"),
        ("/fetch/new-watch", vec![("url", "https://a.example/"), ("ignore", "(")], "not a rule"),
        ("/fetch/new-watch", vec![("url", "https://a.example/"), ("interval_min_s", "0")], "shortest interval"),
        ("/fetch/new-watch", vec![("url", "https://a.example/"), ("versions", "0")], "versions are kept"),
        ("/fetch/new-comparison", vec![("urls", "https://a.example/")], "Say either"),
        ("/fetch/new-comparison", vec![("urls", "https://a.example/"), ("countries", "DEU, AR")], "is not a country"),
        ("/fetch/new-comparison", vec![("urls", ""), ("devices", "2")], "1 to 50 URLs"),
    ] {
        let answer = ana.post(form, &fields).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{form} {fields:?}");
        let (_, error) = answer.body.split_once("class=\"hint error\"").expect("an error at a field");
        let error = error.split("</span>").next().unwrap_or_default();
        assert!(error.to_lowercase().contains(&words.to_lowercase()), "{words} is not in {error}");
    }
}

#[tokio::test]
async fn a_watch_shows_its_versions_and_what_changed() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let page = watch(&ana, "https://example.org/news", "#news").await;
    ana.get(&page).await.shows("None yet: the first visit makes one.");
    visited(&house, &page, &["one old line\nsecond line", "one <b>new</b> line\nsecond line"]).await;
    let shown = ana.get(&page).await;
    shown.shows(&format!("href=\"{page}/versions/2\""));
    shown.shows(&format!("href=\"{page}/compare?from=1&amp;to=2\""));
    shown.shows("visited <time");
    let compare = ana.get(&format!("{page}/compare?from=1&to=2")).await;
    compare.shows("<del>old</del>");
    compare.shows("&lt;b&gt;new&lt;/b&gt;");
    ana.get(&format!("{page}/versions/1")).await.shows("one old line");
    let file = ana.get(&format!("{page}/versions/1/text")).await;
    assert_eq!(file.body, "one old line\nsecond line");
    assert!(file.headers["content-disposition"].to_str().expect("text").starts_with("attachment"), "a file");
    assert_eq!(file.headers["content-type"], "text/plain; charset=utf-8");
    for gone in ["versions/9", "versions/x", "compare?from=1&to=9"] {
        assert_eq!(ana.get(&format!("{page}/{gone}")).await.status, StatusCode::NOT_FOUND, "{gone}");
    }
    assert_eq!(ana.get(&format!("{page}/compare")).await.status, StatusCode::BAD_REQUEST);
    // Its settings change with the same words as they were made with.
    let answer = ana.post(&page, &[("selector", "a["), ("interval_min_s", "60")]).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    answer.shows("is not a selector");
    let answer = ana.post(&page, &[("selector", ""), ("ignore", "[0-9]+"), ("interval_min_s", "60")]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    let shown = ana.get(&page).await;
    shown.shows("[0-9]+");
    shown.hides("<code>#news</code>");
    let answer = ana.post(&format!("{page}/act"), &[("verb", "delete")]).await;
    assert_eq!(answer.location(), "/fetch/watches");
}

#[tokio::test]
async fn a_comparison_shows_which_place_differs() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let page = comparison(&ana, "https://example.org/").await;
    ana.get(&page).await.shows("No round is over yet");
    ana.get("/fetch/comparisons").await.shows("AR, DE");
    compared(&house, &page, "https://example.org/", "not available <here>").await;
    let shown = ana.get(&page).await;
    shown.shows("1 of 1 differ");
    shown.shows("42 %");
    shown.shows("<ins>not available &lt;here&gt;</ins>");
    ana.get(&format!("{page}/rounds/1")).await.shows("the address itself");
    let file = ana.get(&format!("{page}/rounds/1/csv")).await;
    assert!(file.body.starts_with("url,place,device,status,"), "{}", file.body);
    assert!(file.body.contains("https://example.org/,DE,pi,200,https://example.org/,1000,0.420,yes,"), "{}", file.body);
    assert_eq!(ana.get(&format!("{page}/rounds/7")).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn many_are_held_at_once_after_a_question() {
    let house = House::new().await;
    let (ana, cleo) = (house.sign_in("ana").await, house.sign_in("cleo").await);
    let mut ours = Vec::new();
    for n in 0..3 {
        ours.push(watch(&ana, &format!("https://example.org/{n}"), "").await);
    }
    let other = watch(&ana, "https://elsewhere.example/", "").await;
    let theirs = watch(&cleo, "https://example.org/theirs", "").await;
    let question = ana.get("/fetch/watches/act?verb=pause&search=example.org").await;
    question.shows("3 watches");
    let until = question.field("until");
    house.clock.advance(Duration::from_secs(1));
    let late = watch(&ana, "https://example.org/late", "").await;
    let fields = [("verb", "pause"), ("search", "example.org"), ("until", &until)];
    let answer = ana.post("/fetch/watches/act", &fields).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    for page in &ours {
        assert_eq!(state_of(&house, TourKind::Watch, page).await, TourState::Paused);
    }
    for page in [&other, &theirs, &late] {
        assert_eq!(state_of(&house, TourKind::Watch, page).await, TourState::Running);
    }
    ana.get("/fetch/watches/act?verb=resume&state=running").await.shows("There is nothing to do");
}

#[tokio::test]
async fn lists_are_had_as_files_and_only_by_those_who_may() {
    let house = House::new().await;
    let (ana, cleo) = (house.sign_in("ana").await, house.sign_in("cleo").await);
    let pages = [
        crawl(&ana, "https://example.org/").await,
        watch(&ana, "https://example.org/news", "").await,
        comparison(&ana, "https://example.org/").await,
    ];
    for ((list, _), page) in LISTS.into_iter().zip(&pages) {
        let file = ana.get(&format!("{list}.csv")).await;
        assert!(file.body.contains("https://example.org/"), "{list}: {}", file.body);
        assert_eq!(cleo.get(&format!("{list}.csv")).await.body.lines().count(), 1, "{list}");
        cleo.get(list).await.hides(page);
        assert_eq!(cleo.get(page).await.status, StatusCode::NOT_FOUND, "{page}");
        for verb in ["pause", "cancel", "delete"] {
            assert_eq!(cleo.post(&format!("{page}/act"), &[("verb", verb)]).await.status, StatusCode::NOT_FOUND);
        }
    }
    assert_eq!(state_of(&house, TourKind::Crawl, &pages[0]).await, TourState::Running);
}

#[tokio::test]
async fn somebody_readonly_starts_nothing() {
    let house = House::new().await;
    let (ana, ben) = (house.sign_in("ana").await, house.sign_in("ben").await);
    let page = watch(&ana, "https://example.org/news", "").await;
    for (list, new) in LISTS {
        let shown = ben.get(list).await;
        assert_eq!(shown.status, StatusCode::OK, "{list}");
        shown.hides(new);
        assert_eq!(ben.get(new).await.status, StatusCode::FORBIDDEN, "{new}");
        assert_eq!(ben.get(&format!("{list}/act?verb=pause")).await.status, StatusCode::FORBIDDEN, "{list}");
        assert_eq!(ben.post(&format!("{list}/act"), &[("verb", "pause")]).await.status, StatusCode::FORBIDDEN);
    }
    assert_eq!(ben.post(&format!("{page}/act"), &[("verb", "pause")]).await.status, StatusCode::FORBIDDEN);
    assert_eq!(ben.post(&page, &[("selector", "")]).await.status, StatusCode::FORBIDDEN);
    ben.get(&page).await.hides("value=\"pause\"");
}
