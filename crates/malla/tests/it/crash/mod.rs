//! The crash suite: the real binary under a mixed load, stopped dead at each named point, killed at random, frozen past
//! its leases, and left without its store; started again; then audited against everything that it had acknowledged.
//!
//! And three machines at once under a load of all rooms, with whatever can happen to one of them (`mixed`).
//!
//! `MALLA_CRASH_REPEAT=N` makes every campaign N times as long, `MALLA_CRASH_SEED=N` plays the dice of a seed again,
//! `MALLA_CRASH_PRIMARIES=N` loses the primary of a replicated PostgreSQL N times instead of once.
//! `MALLA_TEST_POSTGRES` names the PostgreSQL server on which each test makes a database of its own.

mod analyses;
mod audit;
mod audited;
mod bodies;
mod caller;
mod clients;
mod deliveries;
pub(crate) mod dice;
mod frozen;
mod histories;
mod kills;
mod load;
mod mixed;
mod pages;
mod points;
mod primary_lost;
mod publishers;
mod record;
mod replicated;
mod shelf;
mod store_away;
mod told;
mod tours;
mod trust;
mod upgrade;
mod world;

use std::fmt;
use std::time::Instant;

use audit::Findings;
pub(crate) use world::fresh_database;

#[allow(clippy::disallowed_methods)] // settings of the test
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// How many times as long as usual.
fn repeat() -> u64 {
    setting("MALLA_CRASH_REPEAT").map_or(1, |text| text.parse().expect("MALLA_CRASH_REPEAT is a number"))
}

fn require_crash_points() {
    if !cfg!(feature = "crash-points") {
        panic!("this malla was built without its crash points: run scripts/test, or add --features malla/crash-points");
    }
}

/// What a campaign came to, for one line at its end.
struct Summary {
    name: String,
    began: Instant,
    crashes: usize,
    light_audits: usize,
    full_audits: usize,
    found: Findings,
}

impl Summary {
    fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            began: Instant::now(),
            crashes: 0,
            light_audits: 0,
            full_audits: 0,
            found: Findings::default(),
        }
    }

    fn add(&mut self, other: &Summary) {
        self.crashes += other.crashes;
        self.light_audits += other.light_audits;
        self.full_audits += other.full_audits;
        self.found.add(&other.found);
    }

    fn audited(&mut self, found: &Findings) {
        self.full_audits += 1;
        self.found.add(found);
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Findings { tasks, lapsed, broken, away, .. } = self.found;
        write!(
            f,
            "{}: {} crashes in {:.1} s, {} quick and {} full audits clean; {tasks} tasks, {lapsed} leases lapsed, \
             {broken} requests broken off and {away} refused with 503, each repeated",
            self.name,
            self.crashes,
            self.began.elapsed().as_secs_f64(),
            self.light_audits,
            self.full_audits,
        )
    }
}
