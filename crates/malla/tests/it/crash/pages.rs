//! Pages under crashes: clients ask for pages without pause while the process, its devices included, stops at each point
//! a page passes, and at random; then every job has each of its pages once, and no site was hurt.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use malla_queue::crash::POINTS;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::origin::{Origin, polite};
use crate::server::{DEADLINE, Server};

use super::caller::{Caller, Servers};
use super::clients;
use super::dice::Dice;
use super::world::{Store, Variables, World};
use super::{repeat, require_crash_points};

pub(super) const GAP_MS: u64 = 50;
/// How long one try of a request may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// The server fetches itself; its leases are short.
pub(super) const ALONE: Variables<'static> = &[
    ("MALLA_ALLOW_PRIVATE", "true"),
    ("MALLA_FETCH_WORKERS_MIN", "2"),
    ("MALLA_FETCH_GAP_MS", "50"),
    ("MALLA_FETCH_TIMEOUT_S", "1"),
    ("MALLA_CREDIT_ENABLED", "true"),
];
const PASSAGES: [u64; 2] = [1, 7];
const KILLS: u64 = 5;
const CLIENTS: usize = 2;
const SITES: u64 = 6;
const PAGES: u64 = 20;
/// Of one job.
const URLS: u64 = 5;
/// Jobs whose results are read at the same time.
const AT_ONCE: usize = 8;

#[test]
fn every_page_is_answered_once_on_sqlite() {
    campaign(Store::Sqlite);
}

#[test]
fn every_page_is_answered_once_on_postgres() {
    campaign(Store::Postgres);
}

fn campaign(store: Store) {
    require_crash_points();
    let mut dice = Dice::of_chance("pages");
    let began = Instant::now();
    let world = World::new(store);
    let origin = Arc::new(Origin::start(GAP_MS));
    let clients = Clients::start(&origin, &mut dice, TIMEOUT);
    let mut crashes = 0;
    for _ in 0..repeat() {
        for point in POINTS.iter().filter(|point| point.starts_with("fetch.")) {
            for passage in PASSAGES {
                let said = until_it_ends(&world, world.spawn(Some(&format!("{point}:{passage}")), ALONE), &clients);
                assert!(said.contains(&format!("crash point {point}")), "{point} did not stop the process:\n{said}");
                crashes += 1;
            }
        }
        for _ in 0..KILLS {
            let server = world.start_with(ALONE);
            clients.go_to(world.way_to(&server));
            std::thread::sleep(Duration::from_millis(100 + dice.roll(700)));
            server.kill();
            clients.go_to(Servers::default());
            crashes += 1;
        }
    }
    let server = world.start_with(ALONE);
    clients.go_to(world.way_to(&server));
    let jobs = clients.stop_and_audit().len();
    drop(server);
    let seen = Arc::into_inner(origin).expect("the clients have ended").seen();
    polite(&seen);
    let took = began.elapsed().as_secs_f64();
    eprintln!("pages on {store:?}: {crashes} crashes in {took:.1} s; {jobs} jobs; the origin saw {seen}");
}

/// Lets the clients at a server until it is gone; what it said.
pub(super) fn until_it_ends(world: &World, server: Server, clients: &Clients) -> String {
    until_gone(world, server, |servers| clients.go_to(servers))
}

/// As [`until_it_ends`], for clients of any sort.
pub(super) fn until_gone(world: &World, mut server: Server, go_to: impl Fn(Servers)) -> String {
    if server.comes_up() {
        go_to(world.way_to(&server));
    }
    // Leases whose holders never heard of them must run out before their sites go on.
    let said = server.wait_for(DEADLINE * 3).said.join("\n");
    go_to(Servers::default());
    said
}

/// Jobs that were acknowledged, each with its URLs.
pub(super) type Jobs = BTreeMap<String, Vec<String>>;

pub(super) type Clients = clients::Clients<Shared>;
type Hand = clients::Hand<Shared>;

pub(super) struct Shared {
    origin: Arc<Origin>,
    /// Of each site.
    pages: u64,
    jobs: Mutex<Jobs>,
    keys: AtomicU64,
}

impl Clients {
    /// `timeout` is how long one try of a request may take.
    pub(super) fn start(origin: &Arc<Origin>, dice: &mut Dice, timeout: Duration) -> Self {
        Self::start_wide(origin, PAGES, dice, timeout)
    }

    /// As [`Clients::start`], with so many pages of each site.
    pub(super) fn start_wide(origin: &Arc<Origin>, pages: u64, dice: &mut Dice, timeout: Duration) -> Self {
        let shared = Shared { origin: origin.clone(), pages, jobs: Mutex::default(), keys: AtomicU64::new(0) };
        let mut clients = clients::Clients::new(shared, timeout, dice);
        for _ in 0..CLIENTS {
            clients.add(dice, async |mut hand: Hand| {
                while hand.goes_on() {
                    hand.ask().await;
                    hand.breathe(120).await;
                }
            });
        }
        clients
    }

    /// Every job has each of its pages once, and the store agrees with itself. Returns the jobs.
    pub(super) fn stop_and_audit(mut self) -> Jobs {
        self.end();
        self.runtime.block_on(async {
            let jobs = self.shared.jobs.lock().expect("no panic while it is held").clone();
            let caller = self.caller.patient(DEADLINE);
            let read = stream::iter(&jobs).map(async |(job, urls)| {
                let mut told = results(&caller, job).await;
                told.sort_unstable();
                assert_eq!(&told, urls, "the pages of job {job}");
            });
            read.buffer_unordered(AT_ONCE).collect::<()>().await;
            self.all_is_well().await;
            books_are_in_order(&mut self.caller.clone()).await;
            jobs
        })
    }
}

/// All accounts sum up to zero, and each answer was paid for once.
async fn books_are_in_order(caller: &mut Caller) {
    let (mut told, mut cursor) = (0, String::new());
    loop {
        let path = format!("/api/v1/fetch/jobs?limit=200{cursor}");
        let page = caller.read(&path).await.expect("the server stays up during the audit");
        let jobs = page["items"].as_array().expect("a list");
        told += jobs.iter().map(|job| job["done"].as_u64().expect("a number")).sum::<u64>();
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let audit = caller.read("/api/v1/ledger/audit").await.expect("the server stays up during the audit");
    let in_order = (&audit["good"], &audit["sum"], &audit["pages_charged"]);
    assert_eq!(in_order, (&true.into(), &0.into(), &told.into()), "{audit}");
}

impl Hand {
    /// Asks for pages that others may want too, and notes the job once it is acknowledged.
    async fn ask(&mut self) {
        let Self { caller, shared, dice, .. } = self;
        let mut place = |count: u64| usize::try_from(dice.roll(count)).expect("small");
        let mut urls: Vec<String> = (0..URLS).map(|_| shared.origin.url(place(SITES), place(shared.pages))).collect();
        let body = json!({ "urls": urls, "cached": dice.one_in(2) });
        let key = format!("job-{}", shared.keys.fetch_add(1, Ordering::Relaxed));
        let answer = caller.write(&Method::POST, "/api/v1/fetch", Some(&body), &key).await;
        let Some(job) = answer.body["id"].as_str().filter(|_| answer.status == StatusCode::ACCEPTED) else {
            caller.trials.wrong(format!("{body} was answered with {answer:?}"));
            return;
        };
        urls.sort_unstable();
        let before = shared.jobs.lock().expect("no panic while it is held").insert(job.to_owned(), urls);
        assert_eq!(before, None, "{job} is two jobs");
    }
}

/// The URLs of a job's results, as they come; it ends with the job.
async fn results(caller: &Caller, job: &str) -> Vec<String> {
    let servers = caller.known();
    let url = format!("{}/api/v1/fetch/{job}/results", servers.urls[0]);
    let ask = || caller.http.get(&url).bearer_auth(&servers.token).send();
    // A connection that was kept may have been closed by a server that restarts.
    let answer = match ask().await {
        Ok(answer) => answer,
        Err(_) => ask().await.expect("an answer"),
    };
    let text = answer.error_for_status().expect("results").text().await.expect("all of them in time");
    let read = |line: &str| {
        let result: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(result["status"], 200, "{result}");
        result["url"].as_str().expect("a URL").to_owned()
    };
    text.lines().map(read).collect()
}
