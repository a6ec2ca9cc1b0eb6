//! Trust with the real binary: honest devices, one that lies, and a client that gets the truth in the end.

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use malla_client::{Client, ClientOptions};
use malla_protocol::{FLEET_VERSION, Frame, JoinFleet, LeaseBlock, Measures, ResultHead};
use serde_json::Value;

use crate::origin::{Origin, polite};
use crate::receiver::Receiver;
use crate::server::{DEADLINE, Place, Server, malla, poll_until};

const VARIABLES: &[(&str, &str)] = &[
    ("MALLA_ALLOW_PRIVATE", "true"),
    ("MALLA_FETCH_WORKERS_MIN", "0"),
    ("MALLA_FETCH_GAP_MS", "20"),
    ("MALLA_FETCH_TIMEOUT_S", "2"),
    ("MALLA_CREDIT_ENABLED", "true"),
];
const FORGED: &str = "Buy many good things here today, for nobody else has such offers as we have this week only.";

/// A device of a user of its own.
struct Worker(Child);

impl Worker {
    fn start(place: &Place, server: &Server, name: &str) -> Self {
        let token = token(server, name);
        let mut command = malla();
        command.args(["worker", "--server", &server.url, "--token", &token, "--name", name]);
        command.args(["--retries", "0", "--retry-interval", "0.1", "--data"]).arg(place.root().join(name));
        command.env("MALLA_ALLOW_PRIVATE", "true").stderr(Stdio::null());
        Self(command.spawn().expect("a device"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn token(server: &Server, name: &str) -> String {
    // Somebody of its own: what an admin's devices bring is believed.
    let group = format!("{name}s");
    server.ok(&["groups", "create", &group]);
    server.field(&["tokens", "create", name, "--role", "user", "--group", &group], "token")
}

/// A device that makes up every page, until it is turned away.
struct Liar {
    stop: Arc<AtomicBool>,
    forged: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Liar {
    fn start(server: &Server) -> Self {
        let options =
            ClientOptions { servers: vec![server.url.clone()], token: Some(token(server, "liar")), ca_pem: None };
        let (stop, forged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (told, count) = (stop.clone(), forged.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(lie(Client::new(options).expect("a client"), &told, &count));
        });
        Self { stop, forged, thread: Some(thread) }
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn lie(client: Client, stop: &AtomicBool, forged: &AtomicU64) {
    let join = JoinFleet {
        version: FLEET_VERSION,
        name: "liar".into(),
        secret: None,
        system: String::new(),
        program: String::new(),
        hostname: String::new(),
        country: None,
    };
    let joined = client.join_fleet(&join).await.expect("it joins");
    let device = client.with_token(&joined.secret);
    while !stop.load(Ordering::Relaxed) {
        let wish = LeaseBlock { pages: 16, measures: Measures::default() };
        let lease = tokio::time::timeout(Duration::from_secs(3), device.lease_block(&wish)).await;
        let block = match lease {
            Ok(Ok(block)) => block,
            Ok(Err(_)) => return,
            Err(_) => continue,
        };
        let mut frames = Vec::new();
        for item in block.runs.iter().flat_map(|run| &run.items) {
            let (status, text) = if item.robots { (404, "") } else { (200, FORGED) };
            forged.fetch_add(u64::from(!item.robots), Ordering::Relaxed);
            let packed =
                if text.is_empty() { Vec::new() } else { zstd::bulk::compress(text.as_bytes(), 1).expect("packs") };
            let head = ResultHead {
                token: item.token.clone(),
                status,
                headers: vec![
                    ("content-type".into(), "text/html".into()),
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
        if frames.is_empty() {
            continue;
        }
        if device.bring_results(frames).await.is_err() {
            return;
        }
    }
}

fn standing(server: &Server, name: &str) -> Value {
    let all = server.json(&["devices", "standing"]);
    all.into_iter().find(|device| device["name"] == name).unwrap_or_default()
}

#[test]
fn a_device_that_lies_is_convicted_and_the_truth_comes_back() {
    let (place, origin) = (Place::new(), Origin::start(20));
    let server = place.start_with(&[], VARIABLES);
    let told = Receiver::start();
    let filter = r#"[{"header":"ce-type","equals":"device.convicted"}]"#;
    server.ok(&["notify", "subscriptions", "create", "convicted", "system", &told.url(), "--filter", filter]);
    let liar = Liar::start(&server);
    let pages = origin.urls(6, 2);
    // Alone in the fleet, it is believed by nobody: a device of the house looks at each page before a client is told.
    let mut ask = vec!["fetch"];
    ask.extend(pages.iter().map(String::as_str));
    let answers = server.json(&ask);
    assert_eq!(answers.len(), pages.len());
    assert!(answers.iter().all(|page| page["body"] != FORGED && page["status"] == 200), "{answers:?}");
    let convicted = || (standing(&server, "liar")["convicted"] == true).then_some(());
    poll_until(Instant::now() + DEADLINE * 2, convicted).unwrap_or_else(|| {
        panic!("not convicted: {} {:#?}", standing(&server, "liar"), server.json(&["devices", "checks"]))
    });
    let _honest = [Worker::start(&place, &server, "ana"), Worker::start(&place, &server, "bob")];
    let devices = server.json(&["devices", "list"]);
    let blocked = devices.iter().find(|device| device["name"] == "liar").expect("it is listed");
    assert_eq!(blocked["state"], "blocked");
    let got = told.wait_until(|got| !got.is_empty());
    let event: Value = serde_json::from_slice(&got[0].body).expect("JSON");
    assert_eq!((&event["name"], &event["device"]), (&"liar".into(), &blocked["id"]), "{event}");
    assert!(event["forfeited_micro"].as_i64() > Some(0) && event["url"].is_string(), "{event}");
    for url in &pages {
        let page = server.json(&["fetch", url]).remove(0);
        assert_ne!(page["body"], FORGED, "{page}");
        assert_ne!(page["device"], "liar");
    }
    for honest in ["ana", "bob"] {
        assert_eq!(standing(&server, honest)["convicted"], false, "{}", standing(&server, honest));
    }
    let verified = server.json(&["fetch", "--verified", "--no-cache", &pages[0]]).remove(0);
    assert_eq!(verified["verified"], true, "{verified}");
    let balances = server.json(&["ledger", "balances"]);
    let of = |name: &str| {
        balances.iter().find(|balance| balance["account"] == name).map_or(0, |b| b["micro"].as_i64().unwrap_or(0))
    };
    let escrow = format!("escrow:{}", blocked["id"]);
    assert_eq!((of(&escrow), of("house") > 0), (0, true), "{balances:?}");
    assert!(server.ok(&["ledger", "audit"]).contains("in order"));
    server.ok(&["devices", "acquit", "liar"]);
    assert_eq!(standing(&server, "liar")["convicted"], false);
    let restored = server.json(&["ledger", "balances"]);
    let back =
        restored.iter().any(|balance| balance["account"] == escrow.as_str() && balance["micro"].as_i64() > Some(0));
    assert!(back, "{restored:?}");
    assert!(liar.forged.load(Ordering::Relaxed) >= 12);
    assert_eq!(told.got().len(), 1, "convicted once");
    drop(liar);
    drop(_honest);
    drop(server);
    polite(&origin.seen());
}

#[test]
fn a_blocked_site_is_refused_and_what_waits_there_ends_with_the_reason() {
    let (place, origin) = (Place::new(), Origin::start(0));
    let server = place.start_with(&[], VARIABLES);
    let waiting = origin.url(0, 0);
    let mut client = place.command(&["fetch", "--json", &waiting]);
    let client = client.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("malla runs");
    let asked = || (!server.json(&["lanes", "list", "--search", "fetch/"]).is_empty()).then_some(());
    poll_until(Instant::now() + DEADLINE, asked).expect("it waits");
    let site = waiting.trim_start_matches("http://").split('/').next().expect("a host").to_owned();
    server.ok(&["blocklist", "add", &site, "--why", "its owner said no", "--contact", "owner@example.org"]);
    let refused = server.json(&["fetch", &origin.url(0, 1)]).remove(0);
    assert!(refused["reason"].as_str().is_some_and(|why| why.contains("its owner said no")), "{refused}");
    let _worker = Worker::start(&place, &server, "ana");
    let output = client.wait_with_output().expect("it ends");
    let ended: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(ended["reason"].as_str().is_some_and(|why| why.contains("its owner said no")), "{ended}");
    server.ok(&["blocklist", "remove", &site]);
    assert_eq!(server.json(&["fetch", &origin.url(0, 1)]).remove(0)["status"], 200);
    assert!(server.get("/optout").contains("MallaBot"));
}

#[test]
fn a_client_that_asks_for_too_much_is_told_when_to_come_back() {
    let place = Place::new();
    let variables = [("MALLA_QUOTA_PAGES_PER_DAY", "2"), ("MALLA_FETCH_TIMEOUT_S", "1")];
    let server = place.start_with(&[], &variables);
    let output = server.run(&["fetch", "http://a.invalid/1", "http://a.invalid/2", "http://a.invalid/3"]);
    assert!(!output.status.success());
    let said = crate::server::text(&output.stderr);
    assert!(said.contains("may have 2 pages a day and had 0"), "{said}");
    let server = {
        drop(server);
        let variables = [("MALLA_CREDIT_ENABLED", "true"), ("MALLA_CREDIT_ENFORCE", "true")];
        place.start_with(&[], &variables)
    };
    let said = crate::server::text(&server.run(&["fetch", "http://a.invalid/1"]).stderr);
    assert!(said.contains("client:0 has 0: ask an admin for a top-up"), "{said}");
    server.ok(&["ledger", "topup", "client:0", "1.5", "--note", "hello"]);
    assert_eq!(server.json(&["fetch", "http://a.invalid/1"]).len(), 1);
    let csv = server.ok(&["ledger", "statement", "client:0", "--csv"]);
    assert!(csv.lines().nth(1).is_some_and(|line| line.contains(",1500000,0,topup,\"hello\"")), "{csv}");
}

#[test]
fn the_leader_finds_books_that_do_not_sum_up() {
    let (place, store) = (Place::new(), crate::crash::fresh_database());
    let start = || place.start_with(&["--store", &store], &[("MALLA_CREDIT_ENABLED", "true")]);
    let good = |server: &Server, wanted: &str| {
        let figure = format!("malla_ledger_good {wanted}");
        poll_until(Instant::now() + DEADLINE, || server.get("/metrics").contains(&figure).then_some(()))
    };
    let server = start();
    server.ok(&["ledger", "topup", "client:0", "1.5"]);
    good(&server, "1").expect("it is audited soon after the start, and in order");
    server.terminate();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let connected = tokio_postgres::connect(&store, tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("the store answers");
        tokio::spawn(connection);
        let steal = "UPDATE ledger_account SET balance = balance + 1 WHERE name = 'client:0'";
        assert_eq!(client.execute(steal, &[]).await.expect("it is changed"), 1);
    });
    let mut server = start();
    good(&server, "0").expect("the next leader finds it");
    let line = server.wait_for_line("the books are not in order");
    assert!(line.contains("client:0"), "{line}");
    assert!(!server.run(&["ledger", "audit"]).status.success());
}
