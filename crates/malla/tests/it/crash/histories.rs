//! Histories under crashes: pages of a wiki are extracted while the process stops at each point a step passes, and at
//! random, of one node and of two; then every revision is there once, byte for byte, and the wiki was asked politely.

use std::time::{Duration, Instant};

use malla_queue::crash::POINTS;
use serde_json::{Value, json};

use crate::server::Server;
use crate::small_wiki::{SmallWiki, polite};

use super::caller::Servers;
use super::dice::Dice;
use super::shelf::{Http, is_whole};
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
        for wiki in &self.wikis {
            is_whole(&self.http, &way, wiki);
        }
        assert_eq!(self.http.get(&way, "/api/v1/verify"), json!({ "problems": [] }));
        drop(up);
        let (crashes, extractions, took) = (self.crashes, self.asked.len(), began.elapsed().as_secs_f64());
        let seen: Vec<Value> = self.wikis.into_iter().map(SmallWiki::seen).collect();
        eprintln!("histories: {crashes} crashes in {took:.1} s; {extractions} extractions; the wikis saw {seen:?}");
        seen.iter().for_each(polite);
    }
}
