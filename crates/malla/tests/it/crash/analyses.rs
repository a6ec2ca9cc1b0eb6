//! Analyses under crashes: clients send data sets in any order, some batches twice, while processes stop at each point a
//! batch passes, are killed at random and stand still past their leases; every answer has the same bytes as without any
//! of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use malla_analyze::analysis::{Batch, Dimensions, find};
use malla_analyze::bikes::generate;
use malla_queue::crash::POINTS;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::server::{DEADLINE, Server};

use super::caller::{Caller, Servers};
use super::clients;
use super::dice::Dice;
use super::world::{LEASE, Store, Variables, World};
use super::{repeat, require_crash_points};

/// Several analyses at once, and few batches in the hands of a process that stops.
pub(super) const ROOMY: Variables<'static> = &[("MALLA_ANALYZE_STUDIES_MAX", "20")];
const PASSAGES: [u64; 3] = [1, 2, 9];
const KILLS: u64 = 6;
const FREEZES: u64 = 2;
const CLIENTS: u64 = 3;
const TRIPS: u64 = 3_000;
/// Lines in a batch.
const LINES: usize = 100;
/// How long one try of a request may take: who asks a process that stands still shall ask another one soon.
const TIMEOUT: Duration = Duration::from_secs(2);

#[test]
fn answers_are_the_same_whatever_stops_on_sqlite() {
    require_crash_points();
    let mut dice = Dice::of_chance("analyses on sqlite");
    let mut campaign = Campaign::start(vec![World::new(Store::Sqlite)], &mut dice);
    for _ in 0..repeat() {
        campaign.stop_at_each_point();
        campaign.kill_at_random(&mut dice);
        campaign.freeze_at_random(&mut dice);
    }
    campaign.end("sqlite");
}

#[test]
fn answers_are_the_same_whatever_stops_on_postgres() {
    require_crash_points();
    let mut dice = Dice::of_chance("analyses on postgres");
    let mut campaign = Campaign::start(vec![World::new(Store::Postgres)], &mut dice);
    for _ in 0..repeat() {
        campaign.stop_at_each_point();
    }
    campaign.end("postgres");
}

#[test]
fn answers_are_the_same_with_two_nodes() {
    nodes(2);
}

#[test]
fn answers_are_the_same_with_four_nodes() {
    nodes(4);
}

/// So many nodes on one store, each of which is killed and frozen now and then.
fn nodes(count: usize) {
    require_crash_points();
    let mut dice = Dice::of_chance("analyses on nodes");
    let first = World::new(Store::Postgres);
    let mut worlds: Vec<World> = (1..count).map(|_| first.neighbour()).collect();
    worlds.insert(0, first);
    let mut campaign = Campaign::start(worlds, &mut dice);
    for _ in 0..repeat() {
        campaign.kill_at_random(&mut dice);
        campaign.freeze_at_random(&mut dice);
    }
    campaign.end(&format!("{count} nodes"));
}

struct Campaign {
    worlds: Vec<World>,
    clients: Clients,
    began: Instant,
    crashes: usize,
}

impl Campaign {
    fn start(worlds: Vec<World>, dice: &mut Dice) -> Self {
        Self { worlds, clients: Clients::start(dice, TIMEOUT), began: Instant::now(), crashes: 0 }
    }

    /// Starts a process at each place.
    fn up(&self) -> Vec<Server> {
        let up: Vec<Server> = self.worlds.iter().map(|world| world.start_with(ROOMY)).collect();
        self.clients.go_to(self.ways(&up));
        up
    }

    /// They share a store, and so the first one's token is good for all.
    fn ways(&self, up: &[Server]) -> Servers {
        let first = self.worlds[0].way_to(&up[0]);
        Servers { urls: up.iter().map(|server| server.url.clone()).collect(), ..first }
    }

    fn stop_at_each_point(&mut self) {
        for point in POINTS.iter().filter(|point| point.starts_with("analyze.")) {
            for passage in PASSAGES {
                let mut server = self.worlds[0].spawn(Some(&format!("{point}:{passage}")), ROOMY);
                if server.comes_up() {
                    self.clients.go_to(self.worlds[0].way_to(&server));
                }
                let said = server.wait().said.join("\n");
                self.clients.go_to(Servers::default());
                assert!(said.contains(&format!("crash point {point}")), "{point} did not stop the process:\n{said}");
                self.crashes += 1;
            }
        }
    }

    fn kill_at_random(&mut self, dice: &mut Dice) {
        for _ in 0..KILLS {
            let mut up = self.up();
            pause(100, 700, dice);
            let at = usize::try_from(dice.roll(up.len() as u64)).expect("small");
            up.remove(at).kill();
            self.crashes += 1;
            if up.is_empty() {
                self.clients.go_to(Servers::default());
                continue;
            }
            // The others go on without it for a while.
            let urls = up.iter().map(|server| server.url.clone()).collect();
            self.clients.go_to(Servers { urls, ..self.clients.known() });
            pause(100, 400, dice);
            self.clients.go_to(Servers::default());
            up.into_iter().for_each(Server::kill);
        }
    }

    fn freeze_at_random(&mut self, dice: &mut Dice) {
        let up = self.up();
        for _ in 0..FREEZES {
            pause(200, 400, dice);
            let frozen = dice.pick(&up).expect("one is up");
            frozen.signal("STOP");
            std::thread::sleep(LEASE + Duration::from_millis(500 + dice.roll(700)));
            frozen.signal("CONT");
            self.crashes += 1;
        }
        self.clients.go_to(Servers::default());
        up.into_iter().for_each(Server::kill);
    }

    fn end(self, name: &str) {
        let up = self.up();
        let analyses = self.clients.stop_and_audit();
        drop(up);
        let took = self.began.elapsed().as_secs_f64();
        eprintln!(
            "analyses on {name}: {} crashes in {took:.1} s; {analyses} analyses, all answers the same",
            self.crashes
        );
        assert!(analyses >= CLIENTS, "only {analyses} analyses came to their end");
    }
}

/// The moment is the whole of the test, so chance decides.
fn pause(least_ms: u64, more_ms: u64, dice: &mut Dice) {
    std::thread::sleep(Duration::from_millis(least_ms + dice.roll(more_ms)));
}

/// A data set and its answers.
struct Set {
    /// Table, city, number and body; those of a city's tables stand before its trips.
    tables: Vec<Sent>,
    trips: Vec<Sent>,
    answers: Vec<(String, Value)>,
}

struct Sent {
    path: String,
    body: Vec<u8>,
}

impl Set {
    fn new(seed: u64) -> Self {
        let bikes = find("bike-rides").expect("it is known");
        let params = bikes.params(&Value::Null).expect("the defaults are good");
        let (mut tables, mut trips, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for ((city, placed), share) in generate::CITIES.into_iter().zip(generate::shares(TRIPS)) {
            let (mut weather, mut stations, mut all) = (Vec::new(), Vec::new(), Vec::new());
            generate::weather(city, seed, &mut weather).expect("memory takes it");
            generate::stations((city, placed), seed, &mut stations).expect("memory takes it");
            generate::trips(city, share, seed, &mut all).expect("memory takes it");
            let batch = |input, bytes| Batch { name: "whole", input, bytes };
            let dimensions: Dimensions = bikes
                .dimensions(&params, city, &[batch("weather", &weather), batch("stations", &stations)])
                .expect("it is made well");
            let mapped = bikes.map(&params, city, &dimensions, batch("trips", &all)).expect("it is made well");
            parts.push((city.to_owned(), dimensions, mapped.bytes));
            let sent = |(path, body)| Sent { path, body };
            tables.push(sent((format!("weather/{city}/0"), weather)));
            tables.push(sent((format!("stations/{city}/0"), stations)));
            trips.extend(cut(&all).into_iter().enumerate().map(|(n, body)| sent((format!("trips/{city}/{n}"), body))));
        }
        let answers = bikes.finish(&params, &parts).expect("partials are whole");
        let answers = bikes.answers().iter().map(|name| (*name).to_owned()).zip(answers).collect();
        Self { tables, trips, answers }
    }
}

/// Each with the header line.
fn cut(table: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = table.split_inclusive(|byte| *byte == b'\n');
    let header = lines.next().expect("a header");
    let lines: Vec<&[u8]> = lines.collect();
    lines.chunks(LINES).map(|chunk| [&[header], chunk].concat().concat()).collect()
}

pub(super) type Clients = clients::Clients<Shared>;
type Hand = clients::Hand<Shared>;

#[derive(Default)]
pub(super) struct Shared {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Clients {
    /// `timeout` is how long one try of a request may take.
    pub(super) fn start(dice: &mut Dice, timeout: Duration) -> Self {
        let mut clients = clients::Clients::new(Shared::default(), timeout, dice);
        for seed in 1..=CLIENTS {
            let set = Set::new(seed);
            clients.add(dice, async move |mut hand: Hand| {
                while hand.goes_on() {
                    analyze(&set, &mut hand.caller, &hand.shared, &mut hand.dice).await;
                    hand.shared.ended.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        clients
    }

    /// Every analysis that was begun has come to its end with the right answers, and the store agrees with itself.
    pub(super) fn stop_and_audit(mut self) -> u64 {
        self.end();
        self.runtime.block_on(self.all_is_well());
        self.shared.ended.load(Ordering::Relaxed)
    }
}

/// One analysis from its beginning to its answers.
async fn analyze(set: &Set, caller: &mut Caller, shared: &Shared, dice: &mut Dice) {
    let key = format!("analysis-{}", shared.begun.fetch_add(1, Ordering::Relaxed));
    let begun = caller.write(&Method::POST, "/api/v1/analyses", Some(&json!({ "kind": "bike-rides" })), &key).await;
    assert_eq!(begun.status, StatusCode::CREATED, "{begun:?}");
    let root = format!("/api/v1/analyses/{}", begun.body["id"].as_str().expect("an id"));
    let mut trips: Vec<&Sent> = set.trips.iter().collect();
    for at in (1..trips.len()).rev() {
        trips.swap(at, usize::try_from(dice.roll(at as u64 + 1)).expect("small"));
    }
    for sent in set.tables.iter().chain(trips) {
        let times = if dice.one_in(8) { 2 } else { 1 };
        for _ in 0..times {
            let status = caller.put(&format!("{root}/{}", sent.path), &sent.body).await;
            assert_eq!(status, StatusCode::NO_CONTENT, "{}", sent.path);
        }
    }
    let all = json!({ "batches": set.tables.len() + set.trips.len() });
    let completed = caller.write(&Method::POST, &format!("{root}/complete"), Some(&all), &format!("{key}-all")).await;
    assert_eq!(completed.status, StatusCode::OK, "{completed:?}");
    let deadline = Instant::now() + DEADLINE * 4;
    for (name, expected) in &set.answers {
        let answer = loop {
            match caller.read(&format!("{root}/results/{name}")).await {
                Ok(answer) => break answer,
                Err(_) if Instant::now() < deadline => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(_) => panic!("{root}/results/{name} did not come"),
            }
        };
        assert_eq!(answer.to_string(), expected.to_string(), "{name} differs");
    }
}
