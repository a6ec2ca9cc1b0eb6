//! Crawls under crashes: the process stops at each point a tour passes while crawls begin, pause and go on; then every crawl
//! that was acknowledged has each page of the site once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use malla_queue::crash::POINTS;
use reqwest::Method;
use serde_json::{Value, json};

use crate::maze::Maze;

use super::caller::Servers;
use super::world::{Store, Variables, World};
use super::{repeat, require_crash_points};

const ALONE: Variables<'static> = &[
    ("MALLA_ALLOW_PRIVATE", "true"),
    ("MALLA_FETCH_WORKERS_MIN", "2"),
    ("MALLA_FETCH_GAP_MS", "0"),
    ("MALLA_FETCH_TIMEOUT_S", "1"),
];
const PAGES: usize = 40;
/// What a crawl may take at the end.
const LONG: Duration = Duration::from_secs(90);

#[test]
fn every_page_of_a_crawl_comes_once_on_sqlite() {
    campaign(Store::Sqlite);
}

#[test]
fn every_page_of_a_crawl_comes_once_on_postgres() {
    campaign(Store::Postgres);
}

fn campaign(store: Store) {
    require_crash_points();
    let (began, world, maze) = (Instant::now(), World::new(store), Maze::start(PAGES));
    let mut client = Client::new(maze.url("/"));
    let mut crashes = 0;
    for _ in 0..repeat() {
        for point in POINTS.iter().filter(|point| point.starts_with("tour.")) {
            let passages: &[u64] = if point.starts_with("tour.step") { &[1, 5] } else { &[1] };
            for passage in passages {
                let mut server = world.spawn(Some(&format!("{point}:{passage}")), ALONE);
                if server.comes_up() {
                    client.go_on_until_it_is_gone(&world.way_to(&server));
                }
                let said = server.wait().said.join("\n");
                assert!(said.contains(&format!("crash point {point}")), "{point} did not stop the process:\n{said}");
                crashes += 1;
            }
        }
    }
    let server = world.start_with(ALONE);
    let servers = world.way_to(&server);
    let crawls = client.acknowledged.clone();
    for crawl in &crawls {
        client.audit(&servers, crawl);
    }
    let verified = client.call(&servers, &Method::GET, "/api/v1/verify", None, "").expect("it is up");
    assert_eq!(verified, json!({ "problems": [] }).to_string());
    drop(server);
    let seen = maze.seen();
    assert_eq!((&seen["lost"], &seen["private"]), (&0.into(), &0.into()), "{seen}");
    let took = began.elapsed().as_secs_f64();
    eprintln!("crawls on {store:?}: {crashes} crashes in {took:.1} s; {} crawls; the site saw {seen}", crawls.len());
}

struct Client {
    runtime: tokio::runtime::Runtime,
    http: reqwest::Client,
    seed: String,
    acknowledged: Vec<String>,
    keys: u64,
}

impl Client {
    fn new(seed: String) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().timeout(LONG).build().expect("a client");
        Self { runtime, http, seed, acknowledged: Vec::new(), keys: 0 }
    }

    /// The body of an answer that is well; `None` if there was none.
    fn call(&self, servers: &Servers, method: &Method, path: &str, body: Option<&Value>, key: &str) -> Option<String> {
        self.runtime.block_on(async {
            let url = format!("{}{path}", servers.urls[0]);
            let mut request = self.http.request(method.clone(), url).bearer_auth(&servers.token);
            if let Some(body) = body {
                request = request.header("content-type", "application/json").body(body.to_string());
            }
            if !key.is_empty() {
                request = request.header("idempotency-key", key);
            }
            let answer = request.send().await.ok()?;
            let well = answer.status().is_success();
            answer.text().await.ok().filter(|_| well)
        })
    }

    /// Begins crawls, pauses them and lets them go on. What was not acknowledged is asked for again under its key.
    fn go_on_until_it_is_gone(&mut self, servers: &Servers) {
        let deadline = Instant::now() + crate::server::DEADLINE;
        while Instant::now() < deadline {
            let new = json!({ "seeds": [self.seed], "depth": 30, "pages_per_calendar": 3 });
            let key = format!("crawl-{}", self.keys);
            let Some(begun) = self.call(servers, &Method::POST, "/api/v1/crawls", Some(&new), &key) else { return };
            self.keys += 1;
            let begun: Value = serde_json::from_str(&begun).expect("JSON");
            let id = begun["id"].as_str().expect("an id").to_owned();
            self.acknowledged.push(id.clone());
            let path = format!("/api/v1/crawls/{id}");
            for state in ["paused", "running"] {
                let change = json!({ "state": state });
                let changed = self.call(servers, &Method::PATCH, &path, Some(&change), "");
                // It may be over already; gone is the server if it says nothing about the crawl either.
                if changed.is_none() && self.call(servers, &Method::GET, &path, None, "").is_none() {
                    return;
                }
            }
            std::thread::sleep(Duration::from_millis(300));
        }
        panic!("the process did not stop");
    }

    /// Lets a crawl come to its end: each page once.
    fn audit(&self, servers: &Servers, crawl: &str) {
        let path = format!("/api/v1/crawls/{crawl}");
        let shown = || -> Value {
            serde_json::from_str(&self.call(servers, &Method::GET, &path, None, "").expect("it is up")).expect("JSON")
        };
        if shown()["state"] == "paused" {
            self.call(servers, &Method::PATCH, &path, Some(&json!({ "state": "running" })), "").expect("it goes on");
        }
        let over = crate::server::poll_until(Instant::now() + LONG, || {
            Some(shown()).filter(|crawl| crawl["finished_at"].is_string())
        });
        assert_eq!(over.unwrap_or_else(|| panic!("{} does not end", shown()))["state"], "done");
        let results = self.call(servers, &Method::GET, &format!("{path}/results"), None, "").expect("results");
        let mut pages: BTreeMap<String, usize> = BTreeMap::new();
        for line in results.lines() {
            let result: Value = serde_json::from_str(line).expect("JSON");
            *pages.entry(result["url"].as_str().expect("a URL").to_owned()).or_default() += 1;
        }
        assert!(pages.values().all(|times| *times == 1), "a page of {crawl} came twice: {pages:?}");
        assert_eq!(pages.keys().filter(|url| url.contains("/aa/")).count(), PAGES, "{crawl}: {pages:?}");
    }
}
