//! Histories of a real MediaWiki, extracted by the real binary: whole, once, byte by byte, and politely.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::notify::{Desk, NEAR};
use crate::receiver::Receiver;
use crate::server::{DEADLINE, Place, Server, poll_until};
use crate::wiki_server::{History, MediaWiki, get, try_get};

const GAP_MS: u64 = 200;
/// What a clock may be out by.
const SLACK_MS: f64 = 1.5;

/// A server for the pages of this wiki, on this address.
fn serve(place: &Place, wiki: &MediaWiki, listen: &str, more: &[(&str, &str)]) -> Server {
    let mut server = spawn(place, wiki, listen, more);
    assert!(server.comes_up(), "malla ended instead of starting:\n{}", server.said.join("\n"));
    server
}

fn spawn(place: &Place, wiki: &MediaWiki, listen: &str, more: &[(&str, &str)]) -> Server {
    let gap = GAP_MS.to_string();
    let mut variables = vec![
        ("MALLA_WIKI_CONTACT", "https://malla.test/who"),
        ("MALLA_WIKI_API", wiki.url.as_str()),
        ("MALLA_WIKI_GAP_MS", gap.as_str()),
        ("MALLA_WIKI_REVISIT", "off"),
    ];
    variables.extend_from_slice(more);
    place.spawn(&["--listen", listen], &variables)
}

fn api(place: &Place, server: &Server, path: &str) -> Value {
    let token = std::fs::read_to_string(place.data().join("admin.token")).expect("a token");
    get(server.url.trim_start_matches("http://"), path, token.trim())
}

/// Asks for a title, percent-encoded; the path of its status.
fn extract(place: &Place, server: &Server, title: &str) -> String {
    extract_by(place, server, &format!("title={title}"))
}

fn extract_by(place: &Place, server: &Server, asked: &str) -> String {
    let answer = api(place, server, &format!("/api/v1/extract?{asked}"));
    let location = answer["Location"].as_str().unwrap_or_else(|| panic!("{answer}"));
    location[location.find("/api/").expect("a path")..].to_owned()
}

/// Asks once more; false if there is no answer.
fn asks(place: &Place, server: &Server) -> bool {
    let token = std::fs::read_to_string(place.data().join("admin.token")).expect("a token");
    try_get(server.url.trim_start_matches("http://"), "/api/v1/extract?title=Long", token.trim()).is_ok()
}

/// Waits until an extraction is over; its status.
#[track_caller]
fn over(place: &Place, server: &Server, status: &str) -> Value {
    let ended = poll_until(Instant::now() + DEADLINE * 3, || {
        let told = api(place, server, status);
        ["SUCCESS", "FAILURE"].contains(&told["state"].as_str().unwrap_or_default()).then_some(told)
    });
    ended.unwrap_or_else(|| panic!("it has no end: {}", api(place, server, status)))
}

#[track_caller]
fn succeeded(place: &Place, server: &Server, status: &str) -> Value {
    let told = over(place, server, status);
    assert_eq!(told["state"], "SUCCESS", "{told}");
    told
}

/// What is kept of a page; no revision may be there twice.
#[track_caller]
fn kept(place: &Place, server: &Server, pageid: i64) -> History {
    let mut history = History::new();
    for page in 1.. {
        let part = api(place, server, &format!("/api/v1/revisions?pageid={pageid}&page_size=200&page={page}"));
        let part = part.as_array().unwrap_or_else(|| panic!("{part}")).clone();
        for one in &part {
            let before = history.insert(one["revid"].as_i64().expect("a number"), one["*"].as_str().map(str::to_owned));
            assert!(before.is_none(), "{} is there twice", one["revid"]);
        }
        if part.len() < 200 {
            break;
        }
    }
    history
}

/// The same revisions with the same texts.
#[track_caller]
fn same(kept: &History, told: &History) {
    let differ = |(revid, text): &(&i64, &Option<String>)| told.get(revid) != Some(text);
    let wrong: Vec<_> = kept.iter().filter(differ).map(|(revid, _)| revid).collect();
    let missing: Vec<_> = told.keys().filter(|revid| !kept.contains_key(revid)).collect();
    assert!(wrong.is_empty() && missing.is_empty(), "these differ: {wrong:?}; these are missing: {missing:?}");
}

fn pageid(wiki: &MediaWiki, title: &str) -> i64 {
    wiki.ask(&format!("titles={title}"))["query"]["pages"][0]["pageid"].as_i64().expect("it exists")
}

/// Between any two requests of Malla's lies the gap, and each says who asks.
#[track_caller]
fn polite(wiki: &MediaWiki) {
    let seen: Vec<_> = wiki.seen().into_iter().filter(|seen| seen.agent.starts_with("Malla/")).collect();
    assert!(seen.iter().all(|seen| seen.agent.ends_with("(+https://malla.test/who)")), "{seen:?}");
    let mut times: Vec<f64> = seen.iter().map(|seen| seen.at).collect();
    times.sort_by(f64::total_cmp);
    let shortest = times.windows(2).map(|pair| (pair[1] - pair[0]) * 1_000.0).fold(f64::MAX, f64::min);
    #[allow(clippy::cast_precision_loss)] // a few hundred
    let gap = GAP_MS as f64;
    assert!(shortest >= gap - SLACK_MS, "{shortest} ms between two requests");
}

fn long(count: i64) -> impl Iterator<Item = (i64, String)> {
    (1..=count).map(|n| (n * 3_600, format!("Revision {n} of «π» & <b>ñ</b>\n{}", "lorem ipsum ".repeat(20))))
}

#[test]
fn a_long_history_with_an_odd_title_comes_whole_and_politely() {
    let wiki = MediaWiki::start();
    wiki.import("Ñandú/Größe & «π»? 100%", long(260));
    let (place, title) = (Place::new(), "%C3%91and%C3%BA/Gr%C3%B6%C3%9Fe_%26_%C2%AB%CF%80%C2%BB%3F_100%25");
    let server = serve(&place, &wiki, "127.0.0.1:0", &[]);
    let told = succeeded(&place, &server, &extract(&place, &server, title));
    let page = pageid(&wiki, title);
    let there = wiki.history(page);
    assert_eq!((there.len(), kept(&place, &server, page)), (260, there), "{told}");
    let nowhere = over(&place, &server, &extract(&place, &server, "Nowhere"));
    assert_eq!(nowhere["state"], "FAILURE");
    assert!(nowhere.to_string().contains("does not exist"), "{nowhere}");
    polite(&wiki);
}

#[test]
fn what_becomes_of_a_page_is_followed() {
    let wiki = MediaWiki::start();
    wiki.import("First name", long(30));
    wiki.edit("Another way", "#REDIRECT [[First name]]");
    let place = Place::new();
    let server = serve(&place, &wiki, "127.0.0.1:0", &[]);
    succeeded(&place, &server, &extract(&place, &server, "Another_way"));
    let page = pageid(&wiki, "First_name");
    assert_eq!(kept(&place, &server, page), wiki.history(page), "a redirect leads to its page");

    let list = wiki.put("moves", "First name|Second name\n");
    wiki.run(&["moveBatch.php", "--u", "Admin", list.to_str().expect("a plain name")], "");
    wiki.import("Second name", std::iter::once((5_400, "imported into the past".to_owned())));
    wiki.edit("Second name", "the newest");
    let hidden = *wiki.history(page).keys().nth(3).expect("a few");
    wiki.hide("Second name", hidden);
    let told = succeeded(&place, &server, &extract(&place, &server, "Second_name"));
    let there = wiki.history(page);
    assert_eq!((&there[&hidden], pageid(&wiki, "Second_name")), (&None, page));
    assert_eq!(kept(&place, &server, page), there, "{told}");
    let articles = api(&place, &server, &format!("/api/v1/articles/{page}"));
    assert_eq!(articles["title"], "Second name");
    polite(&wiki);
}

#[test]
fn cut_answers_lag_and_a_wiki_that_goes_away_are_survived() {
    let wiki = MediaWiki::start();
    wiki.import(
        "Large",
        (1..=60).map(|n| (n * 60, format!("{n} {}", "x".repeat(if n == 31 { 40_000 } else { 3_000 })))),
    );
    let (place, page) = (Place::new(), pageid(&wiki, "Large"));
    let mut there = wiki.history(page);
    wiki.put(
        "more.php",
        "<?php $wgAPIMaxResultSize = 20000; if ( file_exists( __DIR__ . '/lags' ) ) { $_GET['maxlag'] = '-2'; }",
    );
    wiki.put("lags", "");
    let server = serve(&place, &wiki, "127.0.0.1:0", &[]);
    let status = extract(&place, &server, "Large");
    let lagged = poll_until(Instant::now() + DEADLINE, || {
        let told = api(&place, &server, &status).to_string();
        told.contains("maxlag").then_some(told)
    });
    assert!(lagged.is_some(), "{}", api(&place, &server, &status));
    wiki.remove("lags");
    let parts = |wiki: &MediaWiki| wiki.seen().iter().filter(|seen| seen.url.contains("rvlimit")).count();
    assert!(poll_until(Instant::now() + DEADLINE, || (parts(&wiki) > 2).then_some(())).is_some());
    wiki.stop();
    let away = poll_until(Instant::now() + DEADLINE, || {
        let told = api(&place, &server, &status).to_string();
        told.contains("connection refused").then_some(())
    });
    assert!(away.is_some(), "{}", api(&place, &server, &status));
    wiki.restart();
    let told = succeeded(&place, &server, &status);
    assert!(told.to_string().contains("1 revision is kept without its text"), "{told}");
    let large = *there.keys().nth(30).expect("the large one");
    there.insert(large, None);
    assert_eq!(kept(&place, &server, page), there);
    polite(&wiki);
}

#[test]
fn killed_in_the_middle_it_goes_on_by_itself_politely_and_nothing_comes_twice() {
    let wiki = MediaWiki::start();
    wiki.import("Long", long(400));
    let place = Place::new();
    let mut server = serve(&place, &wiki, "127.0.0.1:0", &[]);
    let status = extract(&place, &server, "Long");
    let listen = server.url.trim_start_matches("http://").to_owned();
    for n in 1..=4 {
        let before = wiki.seen().len();
        let asked = poll_until(Instant::now() + DEADLINE, || (wiki.seen().len() > before).then_some(()));
        assert!(asked.is_some(), "nothing is asked any more");
        std::thread::sleep(Duration::from_millis(37 * n));
        server.kill();
        server = serve(&place, &wiki, &listen, &[]);
    }
    succeeded(&place, &server, &status);
    let page = pageid(&wiki, "Long");
    same(&kept(&place, &server, page), &wiki.history(page));
    polite(&wiki);
}

/// What is told of a revision.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct News {
    wiki: i64,
    revid: i64,
    title: String,
    user: String,
    change: i64,
}

/// The revisions of a page that were not there before, as the wiki itself has them.
fn news(wiki: &MediaWiki, number: i64, title: &str, before: &History) -> Vec<News> {
    let answer = wiki.ask(&format!("prop=revisions&titles={title}&rvprop=ids%7Cuser%7Csize&rvlimit=500"));
    let all = answer["query"]["pages"][0]["revisions"].as_array().cloned().unwrap_or_default();
    let whole = |one: &Value, field: &str| one[field].as_i64().unwrap_or_else(|| panic!("no {field}: {one}"));
    let size = |revid: i64| all.iter().find(|one| one["revid"] == revid).map_or(0, |one| whole(one, "size"));
    let new = all.iter().filter(|one| !before.contains_key(&whole(one, "revid")));
    let told = |one: &Value| News {
        wiki: number,
        revid: whole(one, "revid"),
        title: title.to_owned(),
        user: one["user"].as_str().unwrap_or_default().to_owned(),
        change: size(whole(one, "revid")) - size(whole(one, "parentid")),
    };
    new.map(told).collect()
}

/// What has come to a subscriber, in order.
fn told_to(receiver: &Receiver) -> Vec<News> {
    let read = |body: &[u8]| {
        let body: Value = serde_json::from_slice(body).expect("JSON");
        let whole = |field: &str| body[field].as_i64().unwrap_or_else(|| panic!("no {field}: {body}"));
        let text = |field: &str| body[field].as_str().unwrap_or_else(|| panic!("no {field}: {body}")).to_owned();
        let (wiki, revid, change) = (whole("wiki"), whole("revid"), whole("change"));
        News { wiki, revid, title: text("title"), user: text("user"), change }
    };
    let mut told: Vec<_> = receiver.got().iter().map(|delivery| read(&delivery.body)).collect();
    told.sort();
    told
}

/// The number of a wiki at the server.
fn number_of(place: &Place, server: &Server, wiki: &MediaWiki) -> i64 {
    let wikis = api(place, server, "/api/v1/wiki/wikis");
    let found = wikis["items"].as_array().into_iter().flatten();
    let mut found = found.filter(|one| one["api"].as_str().is_some_and(|api| api.starts_with(&wiki.url)));
    found.next().and_then(|one| one["id"].as_i64()).unwrap_or_else(|| panic!("{} is not in {wikis}", wiki.url))
}

/// A filter of a subscription, and what it means.
struct Wish {
    name: &'static str,
    filter: Value,
    admits: Box<dyn Fn(&News) -> bool>,
}

/// Filters on the wiki, the page, the user and the change of size: of the wikis `here` and `there`, and the page `net` here.
fn wishes(here: i64, there: i64, net: i64) -> Vec<Wish> {
    fn wish(name: &'static str, filter: Value, admits: impl Fn(&News) -> bool + 'static) -> Wish {
        Wish { name, filter, admits: Box::new(admits) }
    }
    vec![
        wish("wiki", json!([{ "field": "wiki", "equals": there }]), move |news| news.wiki == there),
        wish("title", json!([{ "field": "title", "equals": "Mesh" }]), |news| news.title == "Mesh"),
        wish("page", json!([{ "field": "wiki", "equals": here }, { "field": "pageid", "equals": net }]), move |news| {
            news.wiki == here && news.title == "Net"
        }),
        wish("user", json!([{ "field": "user", "any_of": ["Ben", "Eva"] }]), |news| news.user == "Ben"),
        wish("shrunk", json!([{ "field": "change", "less_than": -500 }]), |news| news.change < -500),
        wish(
            "grown-here",
            json!([{ "field": "wiki", "equals": here }, { "field": "change", "greater_than": 500 },
                { "field": "user", "equals": "Admin", "not": true }]),
            move |news| news.wiki == here && news.change > 500 && news.user != "Admin",
        ),
        wish("nobody", json!([{ "field": "user", "equals": "Nobody" }]), |_| false),
    ]
}

/// Subscribes to new revisions with one more condition or several.
fn subscribe(server: &Server, name: &str, filter: &Value) -> Receiver {
    let mut conditions = vec![json!({ "header": "ce-type", "equals": "wiki.revision" })];
    conditions.extend(filter.as_array().expect("a list").clone());
    let (receiver, filter) = (Receiver::start(), Value::Array(conditions).to_string());
    server.ok(&["notify", "subscriptions", "create", name, "system", &receiver.url(), "--filter", &filter]);
    receiver
}

#[test]
fn each_subscriber_is_told_of_the_revisions_that_its_filter_admits() {
    let (wiki, other) = (MediaWiki::start(), MediaWiki::start());
    wiki.import("Mesh", long(6));
    wiki.import("Net", long(3));
    other.import("Mesh", long(4));
    let place = Place::new();
    let server = serve(&place, &wiki, "127.0.0.1:0", NEAR);
    let everything = subscribe(&server, "everything", &json!([]));
    let elsewhere = format!("url={}index.php%3Ftitle%3DMesh", other.url.replace(':', "%3A").replace('/', "%2F"));
    let extract_all = || {
        for asked in ["title=Mesh", "title=Net", &elsewhere] {
            succeeded(&place, &server, &extract_by(&place, &server, asked));
        }
    };
    extract_all();
    let (here, there) = (number_of(&place, &server, &wiki), number_of(&place, &server, &other));
    let pages = [(&wiki, here, "Mesh"), (&wiki, here, "Net"), (&other, there, "Mesh")];
    let before = pages.map(|(wiki, _, title)| wiki.history(pageid(wiki, title)));
    let wishes = wishes(here, there, pageid(&wiki, "Net"));
    let receivers: Vec<_> = wishes.iter().map(|wish| subscribe(&server, wish.name, &wish.filter)).collect();

    wiki.edit_as("Ben", "Mesh", &"more ".repeat(600));
    wiki.edit_as("Admin", "Mesh", "less");
    wiki.import("Mesh", std::iter::once((5_400, "imported into the past".to_owned())));
    wiki.edit_as("Ben", "Net", "a little");
    other.edit_as("Admin", "Mesh", &"more ".repeat(600));
    other.edit_as("Ben", "Mesh", "less");
    extract_all();
    let grown = pages.iter().zip(&before);
    let mut all: Vec<News> =
        grown.flat_map(|((wiki, number, title), before)| news(wiki, *number, title, before)).collect();
    all.sort();
    assert_eq!(all.len(), 6, "{all:?}");

    everything.wait_for(all.len());
    // An event's notifications are made together: those of all subscribers are there now.
    let desk = Desk::at(&server, &place);
    let waiting = || ["queued", "running"].map(|state| desk.notifications(&format!("state={state}")).len());
    let done = poll_until(Instant::now() + DEADLINE, || (waiting() == [0, 0]).then_some(()));
    assert!(done.is_some(), "{:?} notifications wait", waiting());
    assert_eq!(told_to(&everything), all, "and nothing was told of the first extractions");
    for (Wish { name, admits, .. }, receiver) in wishes.iter().zip(&receivers) {
        let admitted: Vec<News> = all.iter().filter(|news| admits(news)).cloned().collect();
        assert_eq!(told_to(receiver), admitted, "{name}");
        assert_eq!(admitted.is_empty(), *name == "nobody", "{name} tells nothing apart: {all:?}");
    }
}

#[test]
fn stopped_at_any_point_it_goes_on_by_itself_and_nothing_comes_twice() {
    if !cfg!(feature = "crash-points") {
        panic!("this malla was built without its crash points: run scripts/test, or add --features malla/crash-points");
    }
    let wiki = MediaWiki::start();
    wiki.import("Long", long(120));
    let place = Place::new();
    let points = malla_queue::crash::POINTS.iter().filter(|point| point.starts_with("wiki."));
    for point in points {
        for passage in [1, 3] {
            let at = format!("{point}:{passage}");
            let mut server = spawn(&place, &wiki, "127.0.0.1:0", &[("MALLA_CRASH_AT", &at)]);
            if server.comes_up() {
                // What is extracted already is asked for again.
                let deadline = Instant::now() + DEADLINE;
                while asks(&place, &server) && Instant::now() < deadline {
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
            let said = server.wait().said.join("\n");
            assert!(said.contains(&format!("crash point {point}")), "{point} did not stop the process:\n{said}");
        }
    }
    let server = serve(&place, &wiki, "127.0.0.1:0", &[]);
    succeeded(&place, &server, &extract(&place, &server, "Long"));
    let page = pageid(&wiki, "Long");
    same(&kept(&place, &server, page), &wiki.history(page));
    polite(&wiki);
}
