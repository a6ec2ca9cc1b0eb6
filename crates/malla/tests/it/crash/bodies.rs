//! Bodies in an S3 object store under crashes: the process stops between upload and commit, is killed at random and loses its
//! object store for a while; then every acknowledged page has its body, and only what has no row is removed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use malla_fetch::{Fetch, JobId, unpack_page};
use malla_queue::{Clock as _, ManualClock, Queue, SystemClock};
use malla_store::bodies::{self, Bodies, Options};
use malla_store::postgres::Postgres;
use malla_store::sqlite::Sqlite;

use crate::origin::{Origin, polite};
use crate::server::{DEADLINE, Server, poll_until, text};

use super::caller::Servers;
use super::dice::Dice;
use super::pages::{ALONE, Clients, GAP_MS, Jobs, TIMEOUT, until_it_ends};
use super::world::{Store, Variables, World};
use super::{repeat, require_crash_points};

const PASSAGES: [u64; 3] = [1, 2, 5];
const KILLS: u64 = 3;
/// So many that nearly each is new.
const PAGES: u64 = 5_000;
const GRACE: Duration = Duration::from_secs(24 * 3_600);
/// After this, everything from before is older than the grace.
const LATER: Duration = Duration::from_secs(26 * 3_600);

#[test]
fn no_body_is_lost_between_upload_and_commit_on_sqlite() {
    campaign(Store::Sqlite);
}

#[test]
fn no_body_is_lost_between_upload_and_commit_on_postgres() {
    campaign(Store::Postgres);
}

/// An S3 server of the test's own.
struct OwnS3 {
    directory: tempfile::TempDir,
    url: String,
}

impl OwnS3 {
    fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let output = script("start", directory.path());
        assert!(output.status.success(), "the S3 server does not start: {}", text(&output.stderr));
        Self { url: text(&output.stdout).trim().to_owned(), directory }
    }

    fn options(&self) -> Options {
        Options {
            url: "s3://malla/bodies".into(),
            endpoint: self.url.clone(),
            region: "us-east-1".into(),
            key_id: "S3RVER".into(),
            secret: "S3RVER".into(),
            allow_http: true,
            timeout: Duration::from_secs(5),
            retries: 2,
            concurrency: 8,
            takes_new: true,
            inline_bytes_max: 0,
            grace: GRACE,
        }
    }

    async fn names(&self) -> Vec<String> {
        bodies::open(&self.options()).expect("opens").list("").try_collect().await.expect("lists")
    }
}

impl Drop for OwnS3 {
    fn drop(&mut self) {
        script("stop", self.directory.path());
    }
}

fn script(verb: &str, directory: &Path) -> Output {
    let script = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/s3"));
    Command::new(script).arg(verb).arg(directory).output().expect("scripts/s3 runs")
}

fn campaign(store: Store) {
    require_crash_points();
    let mut dice = Dice::of_chance("bodies");
    let began = Instant::now();
    let (world, s3, origin) = (World::new(store), OwnS3::start(), Arc::new(Origin::start(GAP_MS)));
    let mut variables = ALONE.to_vec();
    variables.extend([
        ("MALLA_BODIES_STORE", "objects"),
        ("MALLA_BODIES_URL", "s3://malla/bodies"),
        ("MALLA_BODIES_ENDPOINT", s3.url.as_str()),
        ("MALLA_BODIES_KEY_ID", "S3RVER"),
        ("MALLA_BODIES_SECRET", "S3RVER"),
        ("MALLA_BODIES_ALLOW_HTTP", "true"),
        ("MALLA_BODIES_TIMEOUT_S", "2"),
        ("MALLA_BODIES_RETRIES", "0"),
        ("MALLA_BODIES_INLINE_MAX_KB", "0"),
    ]);
    let clients = Clients::start_wide(&origin, PAGES, &mut dice, TIMEOUT);
    let mut cut_off = 0;
    for _ in 0..repeat() {
        for passage in PASSAGES {
            let said = until_it_ends(&world, world.spawn(Some(&format!("bodies.put:{passage}")), &variables), &clients);
            assert!(said.contains("crash point bodies.put"), "it did not stop there:\n{said}");
            cut_off += 1;
        }
        for _ in 0..KILLS {
            let server = world.start_with(&variables);
            clients.go_to(world.way_to(&server));
            std::thread::sleep(Duration::from_millis(100 + dice.roll(700)));
            server.kill();
            clients.go_to(Servers::default());
        }
        goes_away_and_comes_back(&world, &s3, &clients, &variables);
    }
    let server = world.start_with(&variables);
    clients.go_to(world.way_to(&server));
    let jobs = clients.stop_and_audit();
    server.terminate();
    let (kept, orphans) = audit(store, &world, &s3, &jobs);
    assert!(orphans >= cut_off, "{cut_off} uploads were cut off, and {orphans} were found");
    let seen = Arc::into_inner(origin).expect("the clients have ended").seen();
    polite(&seen);
    eprintln!(
        "bodies on {store:?}: {} crashes in {:.1} s; {} jobs; {kept} objects needed, {orphans} without a row removed",
        cut_off + KILLS * repeat(),
        began.elapsed().as_secs_f64(),
        jobs.len(),
    );
}

/// A server that loses its object store under load says so, stays ready for everything else, and goes on afterwards.
fn goes_away_and_comes_back(world: &World, s3: &OwnS3, clients: &Clients, variables: Variables<'_>) {
    let server = world.start_with(variables);
    clients.go_to(world.way_to(&server));
    script("stop", s3.directory.path());
    let says = |server: &Server, away: bool| {
        let answer = server.get("/readyz");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        Some(()).filter(|()| answer.contains("the object store is away since") == away)
    };
    poll_until(Instant::now() + DEADLINE, || says(&server, true)).expect("it says that the object store is away");
    assert!(script("restart", s3.directory.path()).status.success(), "the S3 server starts again");
    poll_until(Instant::now() + DEADLINE, || says(&server, false)).expect("it says that the object store is back");
    server.kill();
    clients.go_to(Servers::default());
}

/// A day later, on the store itself: what has no row is removed, and every page still has its body. Returns how many objects
/// are left, and how many went.
fn audit(store: Store, world: &World, s3: &OwnS3, jobs: &Jobs) -> (usize, u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let clock = Arc::new(ManualClock::at(SystemClock::default().now().plus(LATER)));
        let (url, options, limits) = (world.store(), s3.options(), malla_queue::Limits::default());
        match store {
            Store::Sqlite => {
                let path = PathBuf::from(url.trim_start_matches("sqlite:"));
                let store = Sqlite::open_with(&path, clock, limits, Some(&options)).await.expect("opens");
                let found = collected(&*store, s3, jobs).await;
                store.close().await;
                found
            }
            Store::Postgres => {
                let store = Postgres::open_with(&url, clock, limits, Some(&options)).await.expect("opens");
                collected(&*store, s3, jobs).await
            }
        }
    })
}

async fn collected(store: &(impl Bodies + Fetch + Queue), s3: &OwnS3, jobs: &Jobs) -> (usize, u64) {
    let before = s3.names().await.len();
    let mut orphans = 0;
    loop {
        let step = store.collect().await.expect("collects");
        orphans += step.orphans;
        if !step.more {
            break;
        }
    }
    let kept = s3.names().await.len();
    assert_eq!(kept as u64 + orphans, before as u64);
    for (job, urls) in jobs {
        let id: JobId = job.parse().expect("a job");
        let answers = store.answers(id, 0, 1_000).await.expect("each body is there");
        assert_eq!(answers.len(), urls.len());
        for answer in answers {
            assert!(!unpack_page(&answer.page).expect("it unpacks").is_empty(), "{} has no body", answer.url);
        }
    }
    assert_eq!(Queue::verify(store).await, Ok(Vec::new()));
    (kept, orphans)
}
