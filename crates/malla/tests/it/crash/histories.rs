//! Histories under crashes: pages of a wiki are extracted while the process stops at each point a step passes, and at
//! random, of one node and of two; then every revision is there once, byte for byte, and the wiki was asked politely.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use malla_queue::crash::POINTS;
use serde_json::{Value, json};

use crate::server::{DEADLINE, Server};
use crate::small_wiki::{SmallWiki, polite};

use super::caller::Servers;
use super::dice::Dice;
use super::world::{Store, World};
use super::{repeat, require_crash_points};

const GAP_MS: u64 = 60;
const PASSAGES: [u64; 2] = [1, 4];
const KILLS: u64 = 6;
const PAGES: u64 = 4;
const REVISIONS: u64 = 130;

#[test]
fn every_revision_is_there_once_on_sqlite() {
    Campaign::new(Store::Sqlite, 1).run();
}

#[test]
fn every_revision_is_there_once_on_postgres_with_two_nodes_and_two_wikis() {
    Campaign::new(Store::Postgres, 2).run();
}

struct Campaign {
    /// One a node, on one store.
    worlds: Vec<World>,
    /// The operator's own, and others.
    wikis: Vec<SmallWiki>,
    http: Http,
    dice: Dice,
    /// Extractions that were acknowledged.
    asked: Vec<String>,
    crashes: usize,
}

impl Campaign {
    fn new(store: Store, count: usize) -> Self {
        require_crash_points();
        let mut worlds = vec![World::new(store)];
        while worlds.len() < count {
            worlds.push(worlds[0].neighbour());
        }
        let wikis = (0..count).map(|_| SmallWiki::start(PAGES, REVISIONS, GAP_MS)).collect();
        Self { worlds, wikis, http: Http::new(), dice: Dice::of_chance("histories"), asked: Vec::new(), crashes: 0 }
    }

    fn run(mut self) {
        let began = Instant::now();
        for _ in 0..repeat() {
            for point in POINTS.iter().filter(|point| point.starts_with("wiki.")) {
                for passage in PASSAGES {
                    self.stop_at(point, passage);
                }
            }
            for _ in 0..KILLS {
                let mut up = self.up();
                self.ask(&up);
                std::thread::sleep(Duration::from_millis(100 + self.dice.roll(600)));
                let at = usize::try_from(self.dice.roll(up.len() as u64)).expect("small");
                up.swap_remove(at).kill();
                self.crashes += 1;
                std::thread::sleep(Duration::from_millis(self.dice.roll(300)));
                up.into_iter().for_each(Server::kill);
            }
        }
        self.audit(began);
    }

    fn spawn(&self, world: usize, crash_at: Option<&str>) -> Server {
        let gap = GAP_MS.to_string();
        let variables = [
            ("MALLA_ALLOW_PRIVATE", "true"),
            ("MALLA_WIKI_CONTACT", "tests@example.org"),
            ("MALLA_WIKI_API", self.wikis[0].url.as_str()),
            ("MALLA_WIKI_GAP_MS", gap.as_str()),
            ("MALLA_WIKI_REVISIT", "off"),
        ];
        self.worlds[world].spawn(crash_at, &variables)
    }

    fn up(&self) -> Vec<Server> {
        let start = |world| {
            let mut server = self.spawn(world, None);
            assert!(server.comes_up(), "malla ended instead of starting:\n{}", server.said.join("\n"));
            server
        };
        (0..self.worlds.len()).map(start).collect()
    }

    /// They share a store, and so the first one's token is good for all.
    fn way_to(&self, server: &Server) -> Servers {
        Servers { urls: vec![server.url.clone()], ..self.worlds[0].way_to(server) }
    }

    /// A node that is alone, so that it is this one that gets there.
    fn stop_at(&mut self, point: &str, passage: u64) {
        let mut server = self.spawn(0, Some(&format!("{point}:{passage}")));
        if server.comes_up() {
            self.ask(std::slice::from_ref(&server));
        }
        let said = server.wait().said.join("\n");
        assert!(said.contains(&format!("crash point {point}")), "{point} did not stop the process:\n{said}");
        self.crashes += 1;
    }

    /// Asks for every page of every wiki; who is answered is noted.
    fn ask(&mut self, up: &[Server]) {
        let server = self.dice.pick(up).expect("one is up");
        let way = self.way_to(server);
        for (number, wiki) in self.wikis.iter().enumerate() {
            for page in 0..wiki.pages {
                let title = wiki.title(page);
                let body = match number {
                    0 => json!({ "title": title }),
                    _ => json!({ "url": format!("{}wiki/{}", wiki.url, title.replace(' ', "_")) }),
                };
                let Some(answer) = self.http.post(&way, "/api/v1/extract", &body) else { return };
                let place = answer["Location"].as_str().unwrap_or_else(|| panic!("{answer}"));
                let id = place.rsplit('/').next().and_then(|rest| rest.split('?').next()).expect("an id");
                self.asked.push(id.to_owned());
            }
        }
    }

    fn audit(mut self, began: Instant) {
        let up = self.up();
        self.ask(&up);
        let way = self.way_to(&up[0]);
        self.asked.sort_unstable();
        self.asked.dedup();
        for id in &self.asked {
            self.http.until(&way, &format!("/api/v1/status/{id}"), |status| {
                assert_ne!(status["state"], "FAILURE", "{status}");
                status["state"] == "SUCCESS"
            });
        }
        let kept = self.http.get(&way, "/api/v1/wiki/wikis");
        let api_of = |wiki: &SmallWiki| format!("{}api.php", wiki.url);
        for wiki in &self.wikis {
            let items = kept["items"].as_array().expect("wikis");
            let found = items.iter().find(|item| item["api"] == api_of(wiki).as_str()).expect("the wiki is kept");
            for page in 1..=wiki.pages {
                assert_eq!(self.kept(&way, &found["id"], page), self.true_history(wiki, page), "page {page}");
            }
        }
        assert_eq!(self.http.get(&way, "/api/v1/verify"), json!({ "problems": [] }));
        drop(up);
        let (crashes, extractions, took) = (self.crashes, self.asked.len(), began.elapsed().as_secs_f64());
        let seen: Vec<Value> = self.wikis.into_iter().map(SmallWiki::seen).collect();
        eprintln!("histories: {crashes} crashes in {took:.1} s; {extractions} extractions; the wikis saw {seen:?}");
        seen.iter().for_each(polite);
    }

    /// What the server keeps of a page, by its own word.
    fn kept(&self, way: &Servers, wiki: &Value, page: u64) -> Vec<Value> {
        let mut all = Vec::new();
        for number in 1.. {
            let path = format!("/api/v1/revisions?wiki={wiki}&pageid={page}&page_size=50&page={number}");
            let answer = self.http.get(way, &path);
            let revisions = answer.as_array().expect("revisions");
            all.extend(revisions.iter().map(|it| revision(it, &it["*"])));
            if revisions.len() < 50 {
                break;
            }
        }
        all
    }

    /// The same as the wiki itself tells it.
    fn true_history(&self, wiki: &SmallWiki, page: u64) -> Vec<Value> {
        let way = Servers { urls: vec![wiki.url.trim_end_matches('/').to_owned()], token: String::new() };
        let asked = format!("/api.php?action=query&prop=revisions&rvdir=newer&rvprop=content&pageids={page}");
        let (mut all, mut more) = (Vec::new(), String::new());
        loop {
            let answer = self.http.get(&way, &format!("{asked}{more}"));
            let revisions = answer["query"]["pages"][0]["revisions"].as_array().expect("revisions");
            all.extend(revisions.iter().map(|it| revision(it, &it["slots"]["main"]["content"])));
            match answer["continue"]["rvcontinue"].as_str() {
                Some(cursor) => more = format!("&rvcontinue={cursor}"),
                None => return all,
            }
        }
    }
}

/// What both sides tell of a revision.
fn revision(told: &Value, text: &Value) -> Value {
    let fields = ["revid", "parentid", "timestamp", "user", "userid", "size", "comment"];
    let mut shown: BTreeMap<&str, &Value> = fields.iter().map(|field| (*field, &told[*field])).collect();
    shown.insert("text", text);
    json!(shown)
}

/// Asks a server and waits for the answer.
struct Http {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
}

impl Http {
    fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { runtime, client: reqwest::Client::builder().timeout(DEADLINE).build().expect("an HTTP client") }
    }

    #[track_caller]
    fn get(&self, way: &Servers, path: &str) -> Value {
        self.runtime.block_on(async {
            let asked = self.client.get(format!("{}{path}", way.urls[0])).bearer_auth(&way.token);
            let answer = asked.send().await.expect("an answer").error_for_status().expect("a good one");
            answer.json().await.expect("JSON")
        })
    }

    /// `None` if the server is gone.
    fn post(&self, way: &Servers, path: &str, body: &Value) -> Option<Value> {
        self.runtime.block_on(async {
            let asked = self.client.post(format!("{}{path}", way.urls[0])).bearer_auth(&way.token).json(body);
            asked.send().await.ok()?.json().await.ok()
        })
    }

    fn until(&self, way: &Servers, path: &str, mut done: impl FnMut(&Value) -> bool) {
        let deadline = Instant::now() + DEADLINE * 4;
        while !done(&self.get(way, path)) {
            assert!(Instant::now() < deadline, "{path} comes to no end: {}", self.get(way, path));
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
