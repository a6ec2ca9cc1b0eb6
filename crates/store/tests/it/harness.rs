//! A fresh store for each test, with a clock that the test moves.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use malla_access::Access;
use malla_analyze::Analyze;
use malla_cluster::{Cluster, Term};
use malla_fetch::Fetch;
use malla_fetch::blocklist::Blocking;
use malla_fetch::ledger::Ledger;
use malla_fetch::quota::Quotas;
use malla_fetch::tour::Tours;
use malla_fetch::trust::Trust;
use malla_notify::{Alerts, Notify, Statistics};
use malla_queue::{
    Act, Clock, Ending, Failure, Holder, Kind, LaneKey, LaneSettings, LeaseRequest, Leased, Limits, ManualClock,
    NewTask, Outcome, Queue, Result, RetryDelays, Room, Scope, State, TaskFilter, TaskId, UnixMs, Verdict,
};
use malla_store::bodies::Bodies;
use malla_store::postgres::Postgres;
use malla_store::sqlite::Sqlite;
use malla_wiki::Wikis;

pub(crate) const START: UnixMs = UnixMs(1_800_000_000_000);
pub(crate) const LEASE: Duration = Duration::from_secs(30);

pub(crate) struct House {
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) access: Arc<dyn Access>,
    pub(crate) notify: Arc<dyn Notify>,
    pub(crate) statistics: Arc<dyn Statistics>,
    pub(crate) alerts: Arc<dyn Alerts>,
    pub(crate) fetch: Arc<dyn Fetch>,
    pub(crate) tours: Arc<dyn Tours>,
    pub(crate) trust: Arc<dyn Trust>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) blocking: Arc<dyn Blocking>,
    pub(crate) quotas: Arc<dyn Quotas>,
    pub(crate) analyze: Arc<dyn Analyze>,
    pub(crate) wikis: Arc<dyn Wikis>,
    pub(crate) cluster: Arc<dyn Cluster>,
    pub(crate) bodies: Arc<dyn Bodies>,
    /// The same house for its leader of this term.
    pub(crate) under: Box<dyn Fn(Term) -> House + Send + Sync>,
    pub(crate) clock: Arc<ManualClock>,
    /// Where an embedded store lies; it goes with the house. A database goes with its server.
    _directory: Option<tempfile::TempDir>,
}

pub(crate) fn small_limits() -> Limits {
    Limits { pending_max: 10_000, ..Limits::default() }
}

/// What both stores have beside their verbs.
pub(crate) trait Store:
    Queue
    + Access
    + Notify
    + Statistics
    + Alerts
    + Fetch
    + Tours
    + Trust
    + Ledger
    + Blocking
    + Quotas
    + Analyze
    + Wikis
    + Cluster
    + Bodies
{
    fn under(&self, term: Term) -> Arc<Self>;
}

impl Store for Sqlite {
    fn under(&self, term: Term) -> Arc<Self> {
        Sqlite::under(self, term)
    }
}

impl Store for Postgres {
    fn under(&self, term: Term) -> Arc<Self> {
        Postgres::under(self, term)
    }
}

pub(crate) fn house<S: Store>(store: Arc<S>, clock: Arc<ManualClock>, directory: Option<tempfile::TempDir>) -> House {
    let (fenced, its_clock) = (store.clone(), clock.clone());
    House {
        under: Box::new(move |term| house(Store::under(&*fenced, term), its_clock.clone(), None)),
        queue: store.clone(),
        access: store.clone(),
        notify: store.clone(),
        statistics: store.clone(),
        alerts: store.clone(),
        fetch: store.clone(),
        tours: store.clone(),
        trust: store.clone(),
        ledger: store.clone(),
        blocking: store.clone(),
        quotas: store.clone(),
        analyze: store.clone(),
        wikis: store.clone(),
        cluster: store.clone(),
        bodies: store,
        clock,
        _directory: directory,
    }
}

pub(crate) async fn sqlite() -> House {
    let directory = tempfile::tempdir().expect("a directory");
    let (_, house) = sqlite_at(&directory.path().join("malla.db")).await;
    House { _directory: Some(directory), ..house }
}

/// One that is to be closed and opened again.
pub(crate) async fn sqlite_at(path: &Path) -> (Arc<Sqlite>, House) {
    let clock = Arc::new(ManualClock::at(START));
    let store = Sqlite::open(path, clock.clone(), small_limits()).await.expect("opens");
    (store.clone(), house(store, clock, None))
}

pub(crate) async fn postgres() -> House {
    postgres_at(&fresh_database().await).await
}

pub(crate) async fn postgres_at(url: &str) -> House {
    postgres_within(url, small_limits()).await
}

pub(crate) async fn postgres_within(url: &str, limits: Limits) -> House {
    let clock = Arc::new(ManualClock::at(START));
    let store = Postgres::open(url, clock.clone(), limits).await.expect("opens");
    house(store, clock, None)
}

/// The URL of a new database. The throw-away server takes it along when it ends.
pub(crate) async fn fresh_database() -> String {
    #[allow(clippy::disallowed_methods)] // the one setting of the tests
    let server = std::env::var("MALLA_TEST_POSTGRES")
        .expect("MALLA_TEST_POSTGRES must name a PostgreSQL server: run ./scripts/test, which starts one");
    let (client, connection) =
        tokio_postgres::connect(&server, tokio_postgres::NoTls).await.expect("the test server answers");
    tokio::spawn(connection);
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes).expect("randomness");
    let name = format!("malla_{:016x}", u64::from_le_bytes(bytes));
    client.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
    let (base, query) = server.split_once('?').map_or((server.as_str(), ""), |(base, query)| (base, query));
    let base = base.trim_end_matches(|c| c != '/');
    format!("{base}{name}?{query}")
}

/// Runs each test on both stores.
macro_rules! on_both_stores {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::harness::sqlite().await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::harness::postgres().await).await;
            })*
        }
    };
}
pub(crate) use on_both_stores;

/// Runs each test on both stores, and on both again with all bodies in an object store.
macro_rules! on_both_stores_and_objects {
    ($($name:ident),* $(,)?) => {
        $crate::harness::on_both_stores!($($name),*);
        mod sqlite_objects {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::harness_bodies::Home::sqlite().open(Some(&$crate::harness_bodies::all())).await).await;
            })*
        }
        mod postgres_objects {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let home = $crate::harness_bodies::Home::postgres().await;
                super::$name(home.open(Some(&$crate::harness_bodies::all())).await).await;
            })*
        }
    };
}
pub(crate) use on_both_stores_and_objects;

pub(crate) fn lane(name: &str) -> LaneKey {
    format!("drill/{name}").parse().expect("a lane key")
}

pub(crate) fn task(lane_name: &str) -> NewTask {
    NewTask {
        lane_settings: LaneSettings { ceiling: 2, gap_ms: 0 },
        retry: RetryDelays::seconds([5, 60]),
        ..NewTask::new(lane(lane_name), Kind::new("drill"), "{}")
    }
}

pub(crate) fn act(action: &'static str) -> Act {
    Act::new("user:ana", action, "something")
}

pub(crate) fn done() -> Verdict {
    Verdict::Done(Outcome { result: Some(b"42".to_vec()), ..Outcome::default() })
}

pub(crate) fn failed() -> Verdict {
    Verdict::Failed(Failure::new("it did not work"))
}

impl House {
    pub(crate) async fn submit(&self, task: NewTask) -> TaskId {
        self.queue.submit(vec![task], None).await.expect("submits")[0].id
    }

    pub(crate) async fn lease(&self, limit: usize) -> Vec<Leased> {
        self.lease_from("drill", "worker", limit).await
    }

    pub(crate) async fn lease_as(&self, holder: &str, limit: usize) -> Vec<Leased> {
        self.lease_from("drill", holder, limit).await
    }

    pub(crate) async fn lease_from(&self, room: &str, holder: &str, limit: usize) -> Vec<Leased> {
        let request =
            LeaseRequest::new(vec![Room::new(room).expect("a room")], limit, Holder::Member(holder.into()), LEASE);
        self.queue.lease(request).await.expect("leases").tasks
    }

    pub(crate) async fn lease_runs(&self, limit: usize, run_max: usize, lanes: Option<Vec<LaneKey>>) -> Vec<Leased> {
        let (rooms, holder) = (vec![malla_queue::drill::room()], Holder::Member("worker".into()));
        let request = LeaseRequest { run_max, lanes, ..LeaseRequest::new(rooms, limit, holder, LEASE) };
        self.queue.lease(request).await.expect("leases").tasks
    }

    pub(crate) async fn lease_one(&self) -> Leased {
        let mut tasks = self.lease(1).await;
        tasks.pop().expect("something to lease")
    }

    pub(crate) fn ending(&self, leased: &Leased, verdict: Verdict) -> Ending {
        verdict.ending(leased, self.clock.now())
    }

    pub(crate) async fn finish(&self, leased: &Leased, verdict: Verdict) -> Result<()> {
        let ending = self.ending(leased, verdict);
        self.queue.finish(vec![(leased.token, ending)]).await.expect("the store answers").remove(0)
    }

    pub(crate) async fn state(&self, id: TaskId) -> State {
        self.queue.task(&Scope::All, id).await.expect("the task is there").summary.state
    }

    pub(crate) async fn ids(&self, filter: &TaskFilter) -> Vec<TaskId> {
        self.queue.tasks(filter, None, 200).await.expect("lists").tasks.into_iter().map(|task| task.id).collect()
    }

    pub(crate) fn wait(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Every counter is right and nothing is stuck.
    pub(crate) async fn verify(&self) {
        assert_eq!(self.queue.verify().await.expect("verifies"), Vec::<String>::new());
    }
}
