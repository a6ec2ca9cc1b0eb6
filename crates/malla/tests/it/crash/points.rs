//! Each named point on each store: the process stops there by itself under load, at the first passage and at later ones.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Mutex;
use std::time::Duration;

use malla_queue::crash::POINTS;

use crate::server::Server;

use super::dice::Dice;
use super::load::{Load, Options};
use super::world::{Store, Variables, World};
use super::{Summary, audit, repeat, require_crash_points};

const SIGABRT: i32 = 6;
/// Series at the same time: much of a cycle is waiting.
const AT_ONCE: usize = 3;

/// Points that a store never passes, and why.
const NEVER: &[(Store, &str, &str)] = &[(
    Store::Postgres,
    "reap.inside",
    "sending back is one statement, which is its own transaction: the server is never seen between write and commit",
)];

/// Everything old is forgotten every second.
const FORGETFUL: Variables<'static> = &[
    ("MALLA_RETENTION_EVERY_S", "1"),
    ("MALLA_RETENTION_TASKS_DAYS", "0"),
    ("MALLA_RETENTION_EVENTS_DAYS", "0"),
    ("MALLA_RETENTION_AUDIT_DAYS", "0"),
];

#[test]
fn every_point_on_sqlite() {
    every_point(Store::Sqlite);
}

#[test]
fn every_point_on_postgres() {
    every_point(Store::Postgres);
}

fn every_point(store: Store) {
    require_crash_points();
    let mut dice = Dice::of_chance("points");
    let mut total = Summary::new(format!("points on {store:?}"));
    // The slow ones first, so that none is left alone at the end.
    let mut verbs: Vec<_> = verbs().into_iter().map(|verb| (plan(verb, store), verb, dice.split())).collect();
    verbs.sort_by_key(|(plan, ..)| std::cmp::Reverse(plan.pace));
    let waiting = Mutex::new(VecDeque::from(verbs));
    let next = || waiting.lock().expect("no panic while it is held").pop_front();
    let done = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                scope.spawn(|| {
                    std::iter::from_fn(next)
                        .map(|(plan, verb, dice)| series(store, verb, &plan, dice))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a series is clean")).collect::<Vec<_>>()
    });
    done.iter().for_each(|series| total.add(series));
    eprintln!("{total}");
}

/// The parts of the names before the dot, in their order.
fn verbs() -> Vec<&'static str> {
    let mut verbs: Vec<_> = POINTS.iter().map(|point| point.split('.').next().unwrap_or(point)).collect();
    verbs.dedup();
    // Events, pages, crawls, analyses, histories and bodies have a load and an audit of their own.
    verbs.retain(|verb| !["accept", "fetch", "tour", "analyze", "wiki", "bodies"].contains(verb));
    verbs
}

/// How the points of a verb are reached.
struct Plan {
    passages: Vec<u64>,
    /// How long a passage takes to come by.
    pace: Duration,
    variables: Variables<'static>,
    /// There must be something that a dead process left behind.
    after_a_kill: bool,
    forgets: bool,
}

fn plan(verb: &str, store: Store) -> Plan {
    let often = Plan {
        passages: vec![1, 2, 5, 12],
        pace: Duration::from_millis(20),
        variables: &[],
        after_a_kill: false,
        forgets: false,
    };
    match verb {
        "dispatch" => Plan { passages: vec![1, 2], pace: Duration::from_millis(500), ..often },
        "extend" => Plan { passages: vec![1, 2, 3], pace: Duration::from_millis(330), ..often },
        // An embedded store takes back the leases of the dead when it opens, a shared one when they run out.
        "reap" if store == Store::Sqlite => {
            Plan { passages: vec![1, 3], pace: Duration::from_secs(1), after_a_kill: true, ..often }
        }
        "reap" => Plan { passages: vec![2, 3], pace: Duration::from_secs(1), after_a_kill: true, ..often },
        "prune" => {
            Plan { passages: vec![1, 2], pace: Duration::from_secs(1), variables: FORGETFUL, forgets: true, ..often }
        }
        _ => often,
    }
}

/// All points of a verb, one crash after the other on the same data, and a full audit at the end.
fn series(store: Store, verb: &str, plan: &Plan, mut dice: Dice) -> Summary {
    let mut summary = Summary::new(format!("points of {verb} on {store:?}"));
    let world = World::new(store);
    let load = Load::start(dice.split(), Options { forgets: plan.forgets, ..Options::default() });
    for round in 0..repeat() {
        for point in POINTS.iter().filter(|point| point.split('.').next() == Some(verb)) {
            if NEVER.iter().any(|(never_on, never, _)| (never_on, never) == (&store, point)) {
                continue;
            }
            for passage in &plan.passages {
                if plan.after_a_kill {
                    killed_with_work_in_hand(&world, &load);
                    summary.crashes += 1;
                }
                let passage = if round == 0 { *passage } else { 1 + dice.roll(plan.passages.iter().sum()) };
                let audited = crash_at(&world, &load, &format!("{point}:{passage}"), plan);
                summary.crashes += 1;
                summary.light_audits += usize::from(audited);
            }
        }
    }
    let server = world.start();
    load.go_to(world.way_to(&server));
    let (runtime, mut record, caller) = load.stop();
    let found = runtime.block_on(audit::full(caller, &mut record, plan.forgets));
    assert!(!plan.after_a_kill || found.lapsed > 0, "no lease lapsed, so nothing was sent back");
    assert!(!plan.forgets || found.forgotten > 0, "nothing was old enough to be forgotten");
    summary.audited(&found);
    eprintln!("{summary}");
    summary
}

/// Starts a process that stops at a point, and sees to it that it does. Whether it lived long enough for an audit.
fn crash_at(world: &World, load: &Load, point: &str, plan: &Plan) -> bool {
    let mut server = world.spawn(Some(point), plan.variables);
    let audited = server.comes_up() && audited(world, load, &server, plan.forgets);
    let ended = server.wait();
    load.wait();
    let said = ended.said.join("\n");
    assert_eq!(ended.status.signal(), Some(SIGABRT), "{point} did not stop the process:\n{said}");
    let name = point.split(':').next().unwrap_or(point);
    assert!(said.contains(&format!("crash point {name}")), "{point} did not stop the process:\n{said}");
    audited
}

/// Lets the load at the server and looks at the store in the middle of it; false if the server ended before that.
pub(super) fn audited(world: &World, load: &Load, server: &Server, forgets: bool) -> bool {
    let (record, caller) = load.so_far();
    load.go_to(world.way_to(server));
    load.runtime.block_on(audit::quick(caller, &record, forgets)).is_ok()
}

fn killed_with_work_in_hand(world: &World, load: &Load) {
    let server = world.start();
    load.go_to(world.way_to(&server));
    load.runtime.block_on(async {
        let (_, mut caller) = load.so_far();
        let running = async {
            while caller.read("/api/v1/tasks/counts").await.is_ok_and(|counts| counts["total"]["running"] == 0) {}
        };
        tokio::time::timeout(crate::server::DEADLINE, running).await.expect("the load gives it work");
    });
    server.kill();
    load.wait();
}
