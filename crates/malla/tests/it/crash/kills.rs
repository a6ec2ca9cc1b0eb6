//! `kill -9` at any moment, the start included, again and again on the same data.

use std::time::Duration;

use super::dice::Dice;
use super::load::{Load, Options};
use super::points::audited;
use super::world::{Store, World};
use super::{Summary, audit, repeat, require_crash_points};

const CYCLES: u64 = 30;
/// One in so many is killed while it starts.
const EARLY: u64 = 6;
const START: Duration = Duration::from_millis(150);
const LIFE: Duration = Duration::from_millis(500);

#[test]
fn killed_at_random_on_sqlite() {
    killed_at_random(Store::Sqlite);
}

#[test]
fn killed_at_random_on_postgres() {
    killed_at_random(Store::Postgres);
}

fn killed_at_random(store: Store) {
    require_crash_points();
    let mut dice = Dice::of_chance("kills");
    let mut summary = Summary::new(format!("kills on {store:?}"));
    let world = World::new(store);
    let load = Load::start(dice.split(), Options::default());
    for _ in 0..CYCLES * repeat() {
        if dice.one_in(EARLY) {
            let server = world.spawn(None, &[]);
            std::thread::sleep(up_to(START, &mut dice));
            server.kill();
        } else {
            let server = world.start();
            assert!(audited(&world, &load, &server, false), "it is killed by us alone");
            std::thread::sleep(up_to(LIFE, &mut dice));
            server.kill();
            summary.light_audits += 1;
        }
        load.wait();
        summary.crashes += 1;
    }
    let server = world.start();
    load.go_to(world.way_to(&server));
    let (runtime, mut record, caller) = load.stop();
    summary.audited(&runtime.block_on(audit::full(caller, &mut record, false)));
    eprintln!("{summary}");
}

/// The moment is the whole of the test, so chance decides it and nothing is waited for.
fn up_to(most: Duration, dice: &mut Dice) -> Duration {
    Duration::from_millis(dice.roll(u64::try_from(most.as_millis()).unwrap_or(u64::MAX)))
}
