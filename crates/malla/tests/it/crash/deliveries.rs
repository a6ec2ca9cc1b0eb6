//! Events under crashes: publishers post without pause while the process stops at each point an event passes, and at
//! random; then every event that was acknowledged must have reached every subscriber.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::receiver::{Delivery, Receiver};
use crate::server::{DEADLINE, Server, poll_until};

use super::audit::REST;
use super::dice::Dice;
use super::world::{Store, World};
use super::{repeat, require_crash_points};

const NEAR: &[(&str, &str)] = &[("MALLA_ALLOW_PRIVATE", "true")];
/// Where an event passes on its way.
const POINTS: &[&str] = &[
    "accept.before",
    "accept.inside",
    "accept.after",
    "lease.before",
    "lease.inside",
    "lease.after",
    "worker.leased",
    "worker.worked",
    "finish.before",
    "finish.inside",
    "finish.after",
    "api.answer",
];
const PASSAGES: [u64; 2] = [3, 40];
const PUBLISHERS: usize = 6;
const KILLS: u64 = 8;

#[test]
fn every_acknowledged_event_arrives_on_sqlite() {
    campaign(Store::Sqlite);
}

#[test]
fn every_acknowledged_event_arrives_on_postgres() {
    campaign(Store::Postgres);
}

fn campaign(store: Store) {
    require_crash_points();
    let mut dice = Dice::of_chance("deliveries");
    let began = Instant::now();
    let world = World::new(store);
    // One that takes all, one that refuses every third at first.
    let healthy = Receiver::start();
    let moody = Receiver::answering(|n, _| if n % 3 == 0 { "500 Not Now".into() } else { "200 OK".into() });
    prepare(&world, &[("healthy", &healthy), ("moody", &moody)]);

    let publishers = Publishers::start();
    let mut crashes = 0;
    for _ in 0..repeat() {
        // On PostgreSQL these are one statement, its own transaction: nobody is ever inside it.
        let passed = |point: &&&str| store == Store::Sqlite || !["accept.inside", "finish.inside"].contains(*point);
        for point in POINTS.iter().filter(passed) {
            for passage in PASSAGES {
                eprintln!("{point}:{passage}");
                let server = world.spawn(Some(&format!("{point}:{passage}")), NEAR);
                let said = until_it_ends(server, &publishers);
                assert!(said.contains("crash point"), "{point} did not stop the process:\n{said}");
                crashes += 1;
            }
        }
        for _ in 0..KILLS {
            let server = world.start_with(NEAR);
            publishers.go_to(&server);
            std::thread::sleep(Duration::from_millis(100 + dice.roll(900)));
            server.kill();
            crashes += 1;
        }
    }
    let server = world.start_with(NEAR);
    publishers.go_to(&server);
    let acknowledged = publishers.stop();
    assert!(acknowledged.len() > crashes, "the publishers got nothing through");
    for receiver in [&healthy, &moody] {
        all_arrive(&acknowledged, receiver);
    }
    let left = || {
        let counts = server.json(&["lanes", "list"]);
        counts.iter().all(|lane| lane["counts"]["queued"] == 0 && lane["counts"]["running"] == 0).then_some(())
    };
    poll_until(Instant::now() + REST, left).expect("nothing is left on its way");
    eprintln!(
        "deliveries on {store:?}: {crashes} crashes in {:.1} s; {} events acknowledged, {} + {} deliveries",
        began.elapsed().as_secs_f64(),
        acknowledged.len(),
        healthy.got().len(),
        moody.got().len()
    );
}

/// Much may have gathered behind the leases of the dead: it may take as long as it likes, but must go on.
fn all_arrive(acknowledged: &HashSet<String>, receiver: &Receiver) {
    let mut left = missing(acknowledged, &receiver.got()).len();
    while left > 0 {
        let fewer = || Some(missing(acknowledged, &receiver.got()).len()).filter(|now| *now < left);
        left = poll_until(Instant::now() + DEADLINE, fewer)
            .unwrap_or_else(|| panic!("{left} of {} events do not arrive", acknowledged.len()));
    }
}

fn missing<'a>(acknowledged: &'a HashSet<String>, got: &[Delivery]) -> Vec<&'a String> {
    let arrived: HashSet<_> = got.iter().map(|delivery| String::from_utf8_lossy(&delivery.body)).collect();
    acknowledged.iter().filter(|body| !arrived.contains(body.as_str())).collect()
}

fn prepare(world: &World, subscribers: &[(&str, &Receiver)]) {
    let server = world.start_with(NEAR);
    let token = world.way_to(&server).token;
    let ask = |path: &str, body: serde_json::Value| {
        let (status, answer) = post(&address(&server), path, &token, &body.to_string()).expect("an answer");
        assert_eq!(status, 201, "{path}: {answer}");
    };
    ask("/api/v1/endpoints", json!({ "name": "orders" }));
    for (name, receiver) in subscribers {
        let delays = vec![0; 40];
        let subscription =
            json!({ "name": name, "endpoint": "orders", "target": receiver.url(), "retry_delays_s": delays });
        ask("/api/v1/subscriptions", subscription);
    }
    server.kill();
}

/// Lets the publishers at a server until it is gone; what it said.
fn until_it_ends(mut server: Server, publishers: &Publishers) -> String {
    if server.comes_up() {
        publishers.go_to(&server);
    }
    server.wait().said.join("\n")
}

fn address(server: &Server) -> String {
    server.url.trim_start_matches("http://").to_owned()
}

struct Publishers {
    shared: Arc<Shared>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    at: Mutex<String>,
    number: AtomicU64,
    acknowledged: Mutex<HashSet<String>>,
    stop: AtomicBool,
}

impl Publishers {
    fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let threads = (0..PUBLISHERS)
            .map(|_| {
                let shared = shared.clone();
                std::thread::spawn(move || publish(&shared))
            })
            .collect();
        Self { shared, threads }
    }

    fn go_to(&self, server: &Server) {
        *self.shared.at.lock().expect("no panic while it is held") = address(server);
    }

    /// Everything that was acknowledged. At least a few went through the last server.
    fn stop(self) -> HashSet<String> {
        let count = || self.shared.acknowledged.lock().expect("no panic while it is held").len();
        let before = count();
        poll_until(Instant::now() + DEADLINE, || (count() > before + 20).then_some(())).expect("it takes events");
        self.shared.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().expect("a publisher ends well"));
        std::mem::take(&mut *self.shared.acknowledged.lock().expect("no panic while it is held"))
    }
}

fn publish(shared: &Shared) {
    while !shared.stop.load(Ordering::Relaxed) {
        let at = shared.at.lock().expect("no panic while it is held").clone();
        let body = format!("event {}", shared.number.fetch_add(1, Ordering::Relaxed));
        match post(&at, "/in/orders", "", &body) {
            Some((200, _)) => drop(shared.acknowledged.lock().expect("no panic while it is held").insert(body)),
            // Down, or not yet up: nothing was promised.
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// One request over one connection; `None` if it broke off.
fn post(address: &str, path: &str, token: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(DEADLINE)).ok()?;
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some((answer.split(' ').nth(1)?.parse().ok()?, answer))
}
