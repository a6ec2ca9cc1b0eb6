//! Crawls with the real binary: a site with every trap, limits, kills on the way, and an archive that others read.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::maze::Maze;
use crate::server::{DEADLINE, Place, Server, poll_until, refused, text};

const VARIABLES: [(&str, &str); 4] = [
    ("MALLA_ALLOW_PRIVATE", "true"),
    ("MALLA_FETCH_GAP_MS", "0"),
    ("MALLA_FETCH_WORKERS_MIN", "2"),
    ("MALLA_FETCH_TIMEOUT_S", "2"),
];
/// Longer than a crawl of some hundred pages takes on a loaded machine.
const LONG: Duration = Duration::from_secs(120);

fn lines(stdout: &[u8]) -> Vec<Value> {
    text(stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The paths of a crawl's pages, each with how often it came.
fn paths(results: &[Value]) -> BTreeMap<String, usize> {
    let mut paths = BTreeMap::new();
    for result in results {
        let url = result["url"].as_str().expect("a URL");
        let path = url.splitn(4, '/').nth(3).expect("a path");
        *paths.entry(format!("/{path}")).or_default() += 1;
    }
    paths
}

fn of_sections(paths: &BTreeMap<String, usize>) -> usize {
    paths.keys().filter(|path| path.starts_with("/aa/")).count()
}

#[test]
fn a_maze_is_crawled_whole_and_no_further() {
    let (place, maze) = (Place::new(), Maze::start(150));
    let server = place.start_with(&[], &VARIABLES);
    let seed = maze.url("/");
    let output = server.run(&["crawl", &seed, "--per-calendar", "5", "--depth", "50", "--warc", "maze.warc.gz"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results = lines(&output.stdout);
    let paths = paths(&results);
    assert!(paths.values().all(|times| *times == 1), "a page came twice: {paths:?}");
    assert_eq!(of_sections(&paths), 150);
    assert!(paths.contains_key("/only/mapped"), "the sitemap of robots.txt is read");
    assert_eq!(paths.keys().filter(|path| path.starts_with("/calendar/")).count(), 5, "{paths:?}");
    assert!(paths.keys().all(|path| !path.contains("sid=") && !path.contains("SESSID") && !path.contains("utm_")));
    assert!(paths.keys().all(|path| !path.contains("/x/x/x") && !path.contains("/trap/") && !path.contains("film")));
    let refused: Vec<&Value> = results.iter().filter(|result| result["status"] == 0).collect();
    assert!(
        !refused.is_empty()
            && refused.iter().all(|result| result["url"].as_str().is_some_and(|url| url.contains("/private/")))
    );
    let crawl = server.json(&["crawls", "list"]).remove(0);
    assert_eq!((&crawl["state"], &crawl["waiting"], &crawl["under_way"]), (&"done".into(), &0.into(), &0.into()));
    assert!(crawl["left_alone"]["trapped"].as_u64() > Some(0) && crawl["left_alone"]["nofollow"].as_u64() > Some(0));
    assert!(text(&output.stderr).contains("pages came well"), "{}", text(&output.stderr));
    assert_eq!(server.json(&["crawls", "list"]).len(), 1);
    let seen = maze.seen();
    assert_eq!(
        (&seen["pages"], &seen["again"], &seen["lost"], &seen["private"]),
        (&150.into(), &0.into(), &0.into(), &0.into())
    );
    read_by_others(&place, "maze.warc.gz", results.iter().filter(|result| result["status"] != 0).count());
}

/// `warcio`, which others read archives with, finds every record whole.
fn read_by_others(place: &Place, file: &str, records: usize) {
    #[allow(clippy::disallowed_methods)] // a setting of the tests
    let warcio = std::env::var("MALLA_TEST_WARCIO")
        .expect("MALLA_TEST_WARCIO must name the program warcio: run scripts/test, which installs it");
    let run = |words: &[&str]| {
        let output = Command::new(&warcio).args(words).arg(place.root().join(file)).output().expect("warcio runs");
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    };
    let said = run(&["check", "-v"]);
    assert!(!said.contains("fail"), "{said}");
    let index = run(&["index", "-f", "warc-type,warc-target-uri"]);
    let responses = lines(index.as_bytes());
    assert_eq!(responses.iter().filter(|record| record["warc-type"] == "response").count(), records, "{index}");
}

#[test]
fn a_crawl_keeps_to_its_limits() {
    let (place, maze) = (Place::new(), Maze::start(400));
    let server = place.start_with(&[], &VARIABLES);
    let seed = maze.url("/");
    let results = lines(server.ok(&["crawl", &seed, "--limit", "40", "--no-sitemaps"]).as_bytes());
    assert_eq!(results.len(), 40);
    let crawl = server.json(&["crawls", "list"]).remove(0);
    assert_eq!((&crawl["limited_by"], &crawl["pages"]), (&"pages".into(), &40.into()));
    let results = lines(server.ok(&["crawl", &seed, "--depth", "1", "--no-sitemaps", "--no-cache"]).as_bytes());
    let deep = paths(&results);
    assert!(deep.contains_key("/aa/1") && !deep.contains_key("/aa/2"), "{deep:?}");
    let only = lines(server.ok(&["crawl", &seed, "--depth", "0"]).as_bytes());
    assert_eq!(only.len(), 1);
    let inside = lines(
        server.ok(&["crawl", &maze.url("/aa/300"), "--scope", "prefix", "--depth", "30", "--no-sitemaps"]).as_bytes(),
    );
    assert!(paths(&inside).keys().all(|path| path.starts_with("/aa/")), "{:?}", paths(&inside));
    server.ok(&["crawl", &seed, "--bytes", "60000", "--no-sitemaps", "--no-cache"]);
    let crawl = server.json(&["crawls", "list"]).remove(0);
    assert_eq!(crawl["limited_by"], "bytes");
    assert!(crawl["bytes"].as_u64().is_some_and(|bytes| (60_000..100_000).contains(&bytes)), "{crawl}");
    refused(&mut place.command(&["crawl"]), &["ftp://a.example/"], 1, &["only http and https"]);
    refused(&mut place.command(&["crawl"]), &[&seed, "--scope", "world"], 1, &["host, domain or prefix"]);
    refused(&mut place.command(&["crawl"]), &[&seed, "--limit", "0"], 1, &["change its limit"]);
    refused(&mut place.command(&["crawl"]), &[""; 0], 2, &["SEED"]);
    refused(&mut place.command(&["crawls", "pause"]), &[crawl["id"].as_str().expect("an id")], 1, &["is over"]);
}

#[test]
fn a_crawl_that_is_killed_again_and_again_goes_on_where_it_was() {
    let (place, maze) = (Place::new(), Maze::start(700));
    let mut server = place.start_with(&[], &VARIABLES);
    let crawl = begin(&place, &server, &maze.url("/"));
    let mut at_kill = 0;
    for _ in 0..4 {
        let pages = pages_beyond(&server, &crawl, at_kill + 40);
        server.kill();
        server = place.start_with(&[], &VARIABLES);
        let shown = server.json(&["crawls", "show", &crawl]).remove(0);
        at_kill = shown["pages"].as_u64().expect("a number");
        assert!(at_kill >= pages, "{at_kill} pages after the kill, {pages} before");
        if shown["state"] == "done" {
            break;
        }
    }
    server.ok(&["crawls", "pause", &crawl]);
    assert_eq!(server.field(&["crawls", "show", &crawl], "state"), "paused");
    server.ok(&["crawls", "resume", &crawl]);
    let over = poll_until(Instant::now() + LONG, || {
        Some(server.json(&["crawls", "show", &crawl]).remove(0)).filter(|crawl| crawl["finished_at"].is_string())
    });
    let over = over.expect("it comes to its end");
    assert_eq!(over["state"], "done");
    let results = lines(api(&place, &server, &format!("/api/v1/crawls/{crawl}/results")).as_bytes());
    let paths = paths(&results);
    assert!(paths.values().all(|times| *times == 1), "a page came twice");
    assert_eq!(of_sections(&paths), 700);
    assert_eq!(over["pages"].as_u64().zip(over["sitemaps"].as_u64()).map(|(a, b)| a + b), Some(results.len() as u64));
    assert_eq!(api(&place, &server, "/api/v1/verify").trim(), r#"{"problems":[]}"#);
    let seen = maze.seen();
    assert_eq!((&seen["pages"], &seen["lost"], &seen["private"]), (&700.into(), &0.into(), &0.into()), "{seen}");
}

#[test]
fn a_cancelled_crawl_ends_and_tells_subscribers() {
    let (place, maze) = (Place::new(), Maze::start(5_000));
    let server = place.start_with(&[], &VARIABLES);
    let receiver = crate::receiver::Receiver::start();
    server.ok(&[
        "notify",
        "subscriptions",
        "create",
        "told",
        "system",
        &receiver.url(),
        "--filter",
        r#"[{"header":"ce-type","equals":"crawl.finished"}]"#,
    ]);
    let crawl = begin(&place, &server, &maze.url("/"));
    pages_beyond(&server, &crawl, 10);
    server.ok(&["crawls", "cancel", &crawl]);
    let told = receiver.wait_until(|got| !got.is_empty());
    let body: Value = serde_json::from_slice(&told[0].body).expect("JSON");
    assert!(body.to_string().contains(&crawl) && body.to_string().contains("cancelled"), "{body}");
    let idle = poll_until(Instant::now() + DEADLINE, || {
        let counts = server.json(&["tasks", "list", "--kind", "fetch.crawl"]);
        counts.iter().all(|task| task["state"] == "succeeded").then_some(())
    });
    assert!(idle.is_some(), "its task comes to its end");
}

fn begin(place: &Place, server: &Server, seed: &str) -> String {
    let body = serde_json::json!({ "seeds": [seed], "depth": 60, "pages_per_calendar": 5 }).to_string();
    let answer: Value = serde_json::from_str(&send(place, server, "POST", "/api/v1/crawls", &body)).expect("JSON");
    answer["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Waits until a crawl has more pages than this, or is over.
fn pages_beyond(server: &Server, crawl: &str, pages: u64) -> u64 {
    let there = poll_until(Instant::now() + LONG, || {
        let shown = server.json(&["crawls", "show", crawl]).remove(0);
        let now = shown["pages"].as_u64().expect("a number");
        (now > pages || shown["finished_at"].is_string()).then_some(now)
    });
    there.expect("pages come")
}

fn api(place: &Place, server: &Server, path: &str) -> String {
    send(place, server, "GET", path, "")
}

/// A request with the admin's token; the body of its answer.
pub(crate) fn send(place: &Place, server: &Server, method: &str, path: &str, body: &str) -> String {
    let token = std::fs::read_to_string(place.data().join("admin.token")).expect("a token");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(LONG).build().expect("a client");
        let method = method.parse().expect("a method");
        let request = client.request(method, format!("{}{path}", server.url)).bearer_auth(token.trim());
        let request = if body.is_empty() {
            request
        } else {
            request.header("content-type", "application/json").body(body.to_owned())
        };
        request.send().await.expect("an answer").text().await.expect("all of it")
    })
}
