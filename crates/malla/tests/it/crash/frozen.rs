//! Processes that stand still past their leases and then go on as if nothing had happened.

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::server::{DEADLINE, Server, poll_until};

use super::caller::{Caller, Servers};
use super::dice::Dice;
use super::load::{Load, Options};
use super::world::{LEASE, Store, World};
use super::{Summary, audit, repeat, require_crash_points};

const FREEZES: u64 = 4;
/// Whoever asks a frozen process goes to another one soon.
const IMPATIENT: Options = Options { timeout: Duration::from_secs(1), forgets: false };
/// A process that froze inside a transaction may hold up the others this long. The server lets its statements wait for a lock
/// for 3 s and ends its sessions 5 s after that; the rest is for a busy machine. Without those limits it would be for ever.
const HELD_UP_MAX: Duration = Duration::from_secs(20);
/// Where a process has written and not committed, on a shared store.
const INSIDE: [&str; 5] = ["submit.inside:3", "lease.inside:6", "finish.inside:3", "act.inside:3", "lane.inside:3"];

fn both(one: &Servers, other: &Servers) -> Servers {
    Servers { urls: [one.urls.clone(), other.urls.clone()].concat(), token: one.token.clone() }
}

#[test]
fn work_of_a_frozen_process_is_done_by_another_and_its_late_commits_are_refused() {
    require_crash_points();
    let (here, there) = two_places();
    let mut frozen = here.start();
    let to_frozen = here.way_to(&frozen);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("starts");
    let (servers, known) = watch::channel(to_frozen.clone());
    let mut caller = Caller::new(known, DEADLINE, Dice::of_chance("frozen"));
    let drill = json!({ "lane": "drill/frozen", "kind": "drill", "payload": { "work_ms": 800, "follow_ups": 2 } });
    let body = json!({ "tasks": vec![drill; 5] });
    let submitted = runtime.block_on(caller.write(&Method::POST, "/api/v1/tasks", Some(&body), "frozen"));
    assert_eq!(submitted.status, StatusCode::CREATED, "{submitted:?}");
    let mut count = |filter: &str| {
        let page = runtime.block_on(caller.read(&format!("/api/v1/tasks?limit=200&{filter}"))).expect("answers");
        page["items"].as_array().expect("a list").clone()
    };
    poll_until(Instant::now() + DEADLINE, || Some(()).filter(|()| count("state=running").len() == 5))
        .expect("it takes the work");
    frozen.signal("STOP");

    let other = there.start();
    servers.send_replace(Servers { urls: vec![other.url.clone()], ..to_frozen });
    // Five and the two that follow each: the other one has done all of it.
    let done = poll_until(Instant::now() + DEADLINE, || Some(()).filter(|()| count("state=succeeded").len() == 15));
    done.unwrap_or_else(|| panic!("not taken over: {:?}", count("")));
    frozen.signal("CONT");
    // It drops the work or is refused, which it says for each.
    for _ in 0..5 {
        frozen.wait_for_line("lane=drill/frozen");
    }

    assert_eq!(count("").len(), 15, "nothing is doubled");
    let holder = format!("-{}", frozen.pid());
    for task in count("").iter().filter(|task| task["parent"].is_null()) {
        let path = format!("/api/v1/tasks/{}", task["id"].as_str().expect("an id"));
        let detail = runtime.block_on(caller.read(&path)).expect("answers");
        let history: Vec<&Value> = detail["history"].as_array().expect("a history").iter().collect();
        let whats: Vec<_> = history.iter().map(|entry| entry["what"].as_str().unwrap_or_default()).collect();
        assert_eq!(whats, ["lapsed", "succeeded"], "{detail}");
        let by = |entry: &Value| entry["by"].as_str().unwrap_or_default().ends_with(&holder);
        assert!(by(history[0]) && !by(history[1]), "{detail}");
    }
    let problems = runtime.block_on(caller.read("/api/v1/verify")).expect("answers");
    assert_eq!(problems, json!({ "problems": [] }));
}

#[test]
fn frozen_again_and_again_beside_another_on_postgres() {
    require_crash_points();
    let mut dice = Dice::of_chance("frozen beside another");
    let mut summary = Summary::new("frozen beside another");
    let (here, there) = two_places();
    let (one, other) = (here.start(), there.start());
    let to_one = here.way_to(&one);
    let to_other = Servers { urls: vec![other.url.clone()], ..to_one.clone() };
    let load = Load::start(dice.split(), IMPATIENT);
    load.go_to(both(&to_one, &to_other));
    for turn in 0..FREEZES * repeat() {
        let (frozen, awake) = if turn % 2 == 0 { (&one, &to_other) } else { (&other, &to_one) };
        freeze_past_the_lease(frozen, &mut dice);
        let (record, caller) = load.so_far();
        load.go_to(awake.clone());
        // Who makes the load waits for a second and goes elsewhere. An audit reads everything, and may take its time.
        let caller = caller.patient(DEADLINE);
        let quick = || load.runtime.block_on(audit::quick(caller.clone(), &record, false)).ok();
        poll_until(Instant::now() + DEADLINE, quick).expect("the other one answers");
        load.go_to(both(&to_one, &to_other));
        summary.crashes += 1;
        summary.light_audits += 1;
    }
    let (runtime, mut record, caller) = load.stop();
    summary.audited(&runtime.block_on(audit::full(caller, &mut record, false)));
    eprintln!("{summary}");
}

#[test]
fn frozen_again_and_again_alone_on_sqlite() {
    require_crash_points();
    let mut dice = Dice::of_chance("frozen alone");
    let mut summary = Summary::new("frozen alone");
    let world = World::new(Store::Sqlite);
    let server = world.start();
    let load = Load::start(dice.split(), Options::default());
    load.go_to(world.way_to(&server));
    for _ in 0..FREEZES * repeat() {
        freeze_past_the_lease(&server, &mut dice);
        let (record, caller) = load.so_far();
        load.runtime.block_on(audit::quick(caller, &record, false)).expect("it answers again");
        summary.crashes += 1;
        summary.light_audits += 1;
    }
    let (runtime, mut record, caller) = load.stop();
    summary.audited(&runtime.block_on(audit::full(caller, &mut record, false)));
    eprintln!("{summary}");
}

/// The moment is the whole of the test, so chance decides when it freezes; then its leases run out.
fn freeze_past_the_lease(server: &Server, dice: &mut Dice) {
    std::thread::sleep(Duration::from_millis(200 + dice.roll(400)));
    server.signal("STOP");
    std::thread::sleep(LEASE + Duration::from_millis(500 + dice.roll(700)));
    server.signal("CONT");
}

#[test]
fn frozen_inside_a_transaction_it_holds_up_the_others_for_seconds_only() {
    require_crash_points();
    std::thread::scope(|scope| {
        for point in INSIDE {
            let dice = Dice::of_chance(point);
            scope.spawn(move || frozen_inside(point, dice));
        }
    });
}

fn frozen_inside(point: &str, mut dice: Dice) {
    let (here, there) = two_places();
    let other = here.start();
    let mut frozen = there.spawn(Some(&format!("{point}:freeze")), &[]);
    let load = Load::start(dice.split(), IMPATIENT);
    let to_other = here.way_to(&other);
    if frozen.comes_up() {
        load.go_to(both(&to_other, &Servers { urls: vec![frozen.url.clone()], ..to_other.clone() }));
    }
    poll_until(Instant::now() + DEADLINE, || Some(()).filter(|()| is_frozen(&frozen)))
        .unwrap_or_else(|| panic!("{point} was never passed"));
    load.go_to(to_other);

    let froze = Instant::now();
    load.knock_at_each_lane(dice.split());
    let held_up = froze.elapsed();
    eprintln!("frozen at {point}: the others were held up for {:.1} s", held_up.as_secs_f64());
    assert!(held_up < HELD_UP_MAX, "{point}: the others were held up for {held_up:?}");
    frozen.signal("CONT");
    let (runtime, mut record, caller) = load.stop();
    runtime.block_on(audit::full(caller, &mut record, false));
}

/// Two machines on one store.
fn two_places() -> (World, World) {
    let here = World::new(Store::Postgres);
    let there = here.neighbour();
    (here, there)
}

/// Whether it stands still, as the kernel sees it.
fn is_frozen(server: &Server) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
}
