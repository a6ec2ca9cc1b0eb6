//! PostgreSQL killed and restarted under a living process, and not there when one starts.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::server::{DEADLINE, poll_until, text};

use super::dice::Dice;
use super::load::{Load, Options};
use super::world::World;
use super::{Summary, audit, repeat, require_crash_points};

const KILLS: u64 = 3;
const REQUEST_TIMEOUT_S: &str = "5";
/// No caller waits longer for an answer of any sort.
const ANSWER_MAX: Duration = Duration::from_secs(7);
const RECOVERY_MAX: Duration = Duration::from_secs(15);

/// A PostgreSQL server of the test's own that keeps its promises: what it has committed survives a kill.
struct OwnPostgres {
    directory: tempfile::TempDir,
    url: String,
}

impl OwnPostgres {
    fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let output = script("start", directory.path());
        assert!(output.status.success(), "PostgreSQL does not start: {}", text(&output.stderr));
        Self { url: text(&output.stdout).trim().to_owned(), directory }
    }

    fn kill(&self) {
        assert!(script("kill", self.directory.path()).status.success(), "killed");
    }

    /// The processes of the killed one take a moment to notice that it is gone.
    fn restart(&self) {
        let started = || Some(()).filter(|()| script("restart", self.directory.path()).status.success());
        poll_until(Instant::now() + DEADLINE, started).expect("PostgreSQL starts again");
    }
}

impl Drop for OwnPostgres {
    fn drop(&mut self) {
        script("stop", self.directory.path());
    }
}

fn script(verb: &str, directory: &Path) -> Output {
    let script = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/postgres"));
    Command::new(script).arg(verb).arg(directory).output().expect("scripts/postgres runs")
}

#[test]
fn postgres_killed_under_load_is_told_to_callers_and_comes_back() {
    require_crash_points();
    let mut dice = Dice::of_chance("store away");
    let mut summary = Summary::new("store away");
    let postgres = OwnPostgres::start();
    let world = World::on(postgres.url.clone());
    let server = world.start_with(&[("MALLA_HTTP_REQUEST_TIMEOUT_S", REQUEST_TIMEOUT_S)]);
    let load = Load::start(dice.split(), Options::default());
    load.go_to(world.way_to(&server));
    for _ in 0..KILLS * repeat() {
        std::thread::sleep(Duration::from_millis(300 + dice.roll(500)));
        let (record, caller) = load.so_far();
        let refused = || caller.trials.away.load(Ordering::Relaxed);
        let before = refused();
        postgres.kill();
        let told = || Some(()).filter(|()| refused() > before);
        poll_until(Instant::now() + DEADLINE, told).expect("callers are told with a 503");
        std::thread::sleep(Duration::from_millis(dice.roll(2_000)));
        postgres.restart();

        let back = Instant::now();
        load.knock_at_each_lane(dice.split());
        assert!(back.elapsed() < RECOVERY_MAX, "it took {:?} to come back", back.elapsed());
        let audited = || load.runtime.block_on(audit::quick(caller.clone(), &record, false)).ok();
        poll_until(Instant::now() + DEADLINE, audited).expect("it answers again");
        summary.crashes += 1;
        summary.light_audits += 1;
    }
    let (runtime, mut record, caller) = load.stop();
    let found = runtime.block_on(audit::full(caller, &mut record, false));
    assert!(u128::from(found.longest_ms) < ANSWER_MAX.as_millis(), "somebody waited {} ms", found.longest_ms);
    summary.audited(&found);
    eprintln!("{summary}; the longest wait for an answer was {} ms", found.longest_ms);
}

#[test]
fn a_process_that_starts_before_postgres_says_so_and_waits_for_it() {
    require_crash_points();
    let postgres = OwnPostgres::start();
    let world = World::on(postgres.url.clone());
    world.start().terminate();
    postgres.kill();
    let mut server = world.spawn(None, &[]);
    let line = server.wait_for_line("cannot be reached");
    assert!(line.contains("postgres://") && line.contains("trying again"), "{line}");
    postgres.restart();
    assert!(server.comes_up(), "{}", server.said.join("\n"));
    let mut dice = Dice::of_chance("late store");
    let load = Load::start(dice.split(), Options::default());
    load.go_to(world.way_to(&server));
    load.knock_at_each_lane(dice);
    let (runtime, mut record, caller) = load.stop();
    runtime.block_on(audit::full(caller, &mut record, false));
}
