//! Trust and credit under crashes: strangers' devices bring pages, one of them makes all of them up, and the process stops at
//! each point a page passes, and at random; then the liar was convicted once, nobody who waited for checks was lied to, and
//! the books are in order.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use malla_client::{Client, ClientOptions};
use malla_protocol::{DEVICE_SECRET, FLEET_VERSION, Frame, JoinFleet, LeaseBlock, Measures, ResultHead};
use malla_queue::crash::POINTS;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::origin::Origin;
use crate::server::DEADLINE;

use super::caller::{Caller, Servers};
use super::clients;
use super::dice::Dice;
use super::pages::until_gone;
use super::world::{Store, Variables, World};
use super::{repeat, require_crash_points};

/// Strangers fetch; a device of the house comes when a trial needs it.
const STRANGERS: Variables<'static> = &[
    ("MALLA_ALLOW_PRIVATE", "true"),
    ("MALLA_FETCH_WORKERS_MIN", "0"),
    ("MALLA_FETCH_GAP_MS", "10"),
    ("MALLA_FETCH_TIMEOUT_S", "1"),
    ("MALLA_CREDIT_ENABLED", "true"),
    ("MALLA_CREDIT_ESCROW_PAGES", "5"),
];
const TIMEOUT: Duration = Duration::from_secs(10);
const PASSAGES: [u64; 2] = [1, 3];
const KILLS: u64 = 3;
const SITES: u64 = 6;
const PAGES: u64 = 20;
const URLS: u64 = 4;
const FORGED: &str = "Buy many good things here today, for nobody else has such offers as we have this week only.";

#[test]
fn a_liar_is_convicted_once_on_sqlite() {
    campaign(Store::Sqlite);
}

#[test]
fn a_liar_is_convicted_once_on_postgres() {
    campaign(Store::Postgres);
}

fn campaign(store: Store) {
    require_crash_points();
    let mut dice = Dice::of_chance("trust");
    let (began, world) = (Instant::now(), World::new(store));
    let shared = Shared {
        origin: Origin::start(10),
        jobs: Mutex::default(),
        keys: AtomicU64::new(0),
        closed: AtomicBool::new(false),
    };
    let mut clients = clients::Clients::new(shared, TIMEOUT, &mut dice);
    let first = world.start_with(STRANGERS);
    clients.go_to(world.way_to(&first));
    let tokens = clients.runtime.block_on(tokens(&mut clients.caller.clone()));
    for (name, token) in &tokens {
        let device = Stranger { name, token: token.clone(), lies: *name == "eve" };
        clients.add(&mut dice, async |hand: Hand| device.work(hand).await);
    }
    clients.add(&mut dice, async |mut hand: Hand| {
        while hand.goes_on() && !hand.shared.closed.load(Ordering::Relaxed) {
            hand.ask().await;
            hand.breathe(150).await;
        }
    });
    first.kill();
    clients.wait();
    let mut crashes = 1;
    for _ in 0..repeat() {
        for point in POINTS.iter().filter(|point| point.starts_with("fetch.")) {
            for passage in PASSAGES {
                let server = world.spawn(Some(&format!("{point}:{passage}")), STRANGERS);
                let said = until_gone(&world, server, |servers| clients.go_to(servers));
                assert!(said.contains(&format!("crash point {point}")), "{point} did not stop the process:\n{said}");
                crashes += 1;
            }
        }
        for _ in 0..KILLS {
            let server = world.start_with(STRANGERS);
            clients.go_to(world.way_to(&server));
            std::thread::sleep(Duration::from_millis(1_000 + dice.roll(2_500)));
            server.kill();
            clients.wait();
            crashes += 1;
        }
    }
    let server = world.start_with(STRANGERS);
    clients.go_to(world.way_to(&server));
    let checks = clients.runtime.block_on(settled(&mut clients.caller.clone()));
    clients.shared.closed.store(true, Ordering::Relaxed);
    let jobs = clients.runtime.block_on(audit(&clients));
    clients.end();
    let took = began.elapsed().as_secs_f64();
    eprintln!("trust on {store:?}: {crashes} crashes in {took:.1} s; {jobs} jobs, {checks} checks");
}

type Jobs = BTreeMap<String, (Vec<String>, bool)>;
type Clients = clients::Clients<Shared>;
type Hand = clients::Hand<Shared>;

struct Shared {
    origin: Origin,
    /// What was acknowledged: its URLs, and whether it waits for checks.
    jobs: Mutex<Jobs>,
    keys: AtomicU64,
    /// No more jobs.
    closed: AtomicBool,
}

/// A token of a user for each device.
async fn tokens(caller: &mut Caller) -> Vec<(&'static str, String)> {
    let group = caller.write(&Method::POST, "/api/v1/groups", Some(&json!({ "name": "fleet" })), "group").await;
    assert_eq!(group.status, StatusCode::CREATED, "{group:?}");
    let mut tokens = Vec::new();
    for name in ["ana", "bob", "eve"] {
        let new = json!({ "name": name, "role": "user", "group": "fleet" });
        let made = caller.write(&Method::POST, "/api/v1/tokens", Some(&new), name).await;
        tokens.push((name, made.body["token"].as_str().expect("a token").to_owned()));
    }
    tokens
}

/// Waits until the liar is convicted and every check has ended; how many there were.
async fn settled(caller: &mut Caller) -> usize {
    let deadline = Instant::now() + DEADLINE * 3;
    loop {
        let standing = caller.read("/api/v1/devices/standing").await.expect("the server stays up");
        let standing = standing["items"].as_array().expect("a list").clone();
        let convicted = |name: &str| standing.iter().any(|one| one["name"] == name && one["convicted"] == true);
        assert!(!convicted("ana") && !convicted("bob"), "{standing:?}");
        if convicted("eve") {
            let checks = caller.read("/api/v1/fetch/checks?limit=200").await.expect("the server stays up");
            return checks["items"].as_array().expect("a list").len();
        }
        assert!(Instant::now() < deadline, "nobody was convicted: {standing:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Each page once, no lie to those who waited for checks, one conviction, and books in order. Returns how many jobs.
async fn audit(clients: &Clients) -> usize {
    let jobs = clients.shared.jobs.lock().expect("no panic while it is held").clone();
    let mut caller = clients.caller.patient(DEADLINE * 2);
    let mut told = 0;
    for (job, (urls, verified)) in &jobs {
        let results = results(&caller, job).await;
        let mut found: Vec<&str> = results.iter().filter_map(|result| result["url"].as_str()).collect();
        found.sort_unstable();
        assert_eq!(&found, urls, "the pages of job {job}");
        let lied_to = results.iter().any(|result| result["body"] == FORGED);
        assert!(!(*verified && lied_to), "job {job} waited for checks: {results:?}");
        told += results.iter().filter(|result| result["status"] == 200).count();
    }
    let mut read = async |path: &str| caller.read(path).await.expect("the server stays up during the audit");
    let convictions = read("/api/v1/audit?action=device.convict").await;
    assert_eq!(convictions["items"].as_array().map(Vec::len), Some(1), "{convictions}");
    let books = read("/api/v1/ledger/audit").await;
    assert_eq!((&books["good"], &books["sum"]), (&true.into(), &0.into()), "{books}");
    // What is fetched again for the house is paid for too.
    assert!(books["pages_charged"].as_u64() >= Some(told as u64), "{books} but {told} were told");
    let devices = read("/api/v1/devices").await;
    let eve = devices["items"].as_array().and_then(|all| all.iter().find(|one| one["name"] == "eve").cloned());
    let eve = eve.expect("it is listed");
    assert_eq!(eve["state"], "blocked");
    let balances = read("/api/v1/ledger/balances").await;
    let escrow = format!("escrow:{}", eve["id"]);
    let pledge = balances["items"].as_array().and_then(|all| all.iter().find(|one| one["account"] == escrow.as_str()));
    assert_eq!(pledge.map_or(0, |pledge| pledge["micro"].as_i64().unwrap_or(1)), 0, "{balances}");
    clients.all_is_well().await;
    jobs.len()
}

async fn results(caller: &Caller, job: &str) -> Vec<Value> {
    let servers = caller.known();
    let url = format!("{}/api/v1/fetch/{job}/results", servers.urls[0]);
    let answer = caller.http.get(&url).bearer_auth(&servers.token).send().await.expect("an answer");
    let text = answer.error_for_status().expect("results").text().await.expect("all of them in time");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

impl Hand {
    async fn ask(&mut self) {
        let Self { caller, shared, dice, .. } = self;
        let mut place = |count: u64| usize::try_from(dice.roll(count)).expect("small");
        let mut urls: Vec<String> = (0..URLS).map(|_| shared.origin.url(place(SITES), place(PAGES))).collect();
        let verified = dice.one_in(2);
        let body = json!({ "urls": urls, "cached": dice.one_in(2), "verified": verified });
        let key = format!("job-{}", shared.keys.fetch_add(1, Ordering::Relaxed));
        let answer = caller.write(&Method::POST, "/api/v1/fetch", Some(&body), &key).await;
        let Some(job) = answer.body["id"].as_str().filter(|_| answer.status == StatusCode::ACCEPTED) else {
            caller.trials.wrong(format!("{body} was answered with {answer:?}"));
            return;
        };
        urls.sort_unstable();
        shared.jobs.lock().expect("no panic while it is held").insert(job.to_owned(), (urls, verified));
    }
}

/// Somebody's device.
struct Stranger {
    name: &'static str,
    token: String,
    lies: bool,
}

impl Stranger {
    /// Goes on through every crash, until it is told to stop or turned away.
    async fn work(self, hand: Hand) {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(2)).build().expect("an HTTP client");
        let mut fetched = Vec::new();
        while hand.goes_on() {
            let servers = hand.caller.known();
            if !servers.urls.is_empty() {
                self.serve(&servers, &hand, &http, &mut fetched).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Until the server is gone. What was fetched and not taken is brought to the next one, once.
    async fn serve(&self, servers: &Servers, hand: &Hand, http: &reqwest::Client, fetched: &mut Vec<u8>) -> Option<()> {
        let options = ClientOptions { servers: servers.urls.clone(), token: Some(self.token.clone()), ca_pem: None };
        let client = Client::new(options).expect("a client");
        let join = JoinFleet {
            version: FLEET_VERSION,
            name: self.name.into(),
            secret: Some(format!("{DEVICE_SECRET}{:x<43}", self.name)),
            system: String::new(),
            program: String::new(),
            hostname: String::new(),
            country: None,
        };
        let device = client.with_token(&client.join_fleet(&join).await.ok()?.secret);
        if !fetched.is_empty() {
            device.bring_results(std::mem::take(fetched)).await.ok()?;
        }
        while hand.goes_on() {
            let wish = LeaseBlock { pages: 8, measures: Measures::default() };
            let lease = tokio::time::timeout(Duration::from_secs(2), device.lease_block(&wish)).await;
            let Ok(block) = lease else { return None };
            let mut frames = Vec::new();
            for run in &block.ok()?.runs {
                for item in &run.items {
                    let (status, text) = match () {
                        () if self.lies && !item.robots => (200, FORGED.to_owned()),
                        () => self.ask(http, &item.url, run.gap_ms).await,
                    };
                    let packed =
                        if text.is_empty() { Vec::new() } else { zstd::bulk::compress(text.as_bytes(), 1).ok()? };
                    let head = ResultHead {
                        token: item.token.clone(),
                        status,
                        headers: vec![
                            ("content-type".into(), "text/plain".into()),
                            ("cache-control".into(), "max-age=600".into()),
                        ],
                        bytes: text.len() as u64,
                        hash: None,
                        trouble: None,
                        note: None,
                        took_ms: 5,
                        quiet_ms: 0,
                    };
                    Frame::write(&head, &packed, &mut frames);
                }
            }
            if !frames.is_empty() {
                fetched.clone_from(&frames);
                device.bring_results(frames).await.ok()?;
                fetched.clear();
            }
        }
        None
    }

    async fn ask(&self, http: &reqwest::Client, url: &str, gap_ms: u64) -> (u16, String) {
        tokio::time::sleep(Duration::from_millis(gap_ms)).await;
        match http.get(url).send().await {
            Ok(answer) => (answer.status().as_u16(), answer.text().await.unwrap_or_default()),
            Err(_) => (580, String::new()),
        }
    }
}
