//! The shared store: PostgreSQL, for many nodes.

mod access;
mod access_people;
mod access_secrets;
mod act;
mod alerts;
mod analyze;
mod analyze_batches;
mod analyze_commit;
mod analyze_studies;
mod analyze_sweep;
mod batch;
mod bodies;
mod cluster;
mod commit;
mod fetch;
mod fetch_commit;
mod fetch_devices;
mod fetch_jobs;
mod fetch_pages;
mod fetch_pins;
mod fetch_shelf;
mod fetch_sites;
mod fetch_told;
mod fetch_trim;
mod finish;
mod hosts;
mod lease;
mod migrate;
mod notify;
mod notify_accept;
mod notify_endpoints;
mod notify_events;
mod notify_search;
mod notify_subscriptions;
mod partitions;
mod perform;
mod pool;
mod prune;
mod quiet;
mod read;
mod scratch;
mod statistics;
mod submit;
mod tour;
mod tour_step;
mod trust;
mod wake;
mod wiki;
mod wiki_change;
mod wiki_commit;
mod wiki_counts;
mod wiki_extractions;
mod wiki_imports;
mod wiki_pages;
mod wiki_reads;
mod wiki_sites;
mod wiki_tallies;
mod wiki_users;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Object, Pool};
use malla_cluster::Term;
use malla_notify::Accepted;
use malla_queue::{
    Act, Arrivals, Bulk, Clock, Ending, Error, KindCounts, Lane, LaneChange, LaneFilter, LaneKey, LanePage,
    LeaseRequest, LeaseToken, Leases, Limits, Move, NewTask, Queue, Result, Retention, Room, Scope, Submitted,
    SystemClock, Task, TaskFilter, TaskId, TaskPage, TaskSummary, UnixMs,
};
use tokio_postgres::Config;

use crate::arrivals::Signals;
use crate::bodies::Depot;
use crate::crashing::point;
use crate::packing::Incoming;
use crate::{checks, verifying};
use batch::Batcher;
use notify_accept::accept_batch;
pub(crate) use pool::broken;
use pool::{Broken, Pools, with_retries};
use prune::Pruner;
pub use scratch::Scratch;
use submit::Columns;
use wake::Nudger;

/// A statement of this store, from its file.
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("../../sql/postgres/", $name, ".sql"))
    };
}
pub(crate) use sql;

/// How often this node compares its clock with the server's.
const CLOCK_EVERY: Duration = Duration::from_secs(10);
/// What a time in whole milliseconds may be behind.
const CLOCK_TICK: Duration = Duration::from_millis(1);

pub struct Postgres {
    config: Config,
    pools: Pools,
    signals: Arc<Signals>,
    nudger: Arc<Nudger>,
    submits: Batcher<NewTask, Submitted>,
    finishes: Batcher<(LeaseToken, Ending), Result<()>>,
    accepts: Batcher<Arc<Incoming>, Result<Accepted>>,
    /// Those with an idempotency key: keys are held one by one, and the others shall not wait for that.
    keyed_accepts: Batcher<Arc<Incoming>, Result<Accepted>>,
    pruner: Pruner,
    clock: Arc<dyn Clock>,
    limits: Limits,
    /// Where large bodies lie, if not here.
    depot: Option<Arc<Depot>>,
}

impl Postgres {
    /// Opens the store at `url`, making or migrating it if need be.
    pub async fn open(url: &str, clock: Arc<dyn Clock>, limits: Limits) -> Result<Arc<Self>> {
        Self::open_with(url, clock, limits, None).await
    }

    /// As [`Postgres::open`], with large bodies in an object store.
    pub async fn open_with(
        url: &str,
        clock: Arc<dyn Clock>,
        limits: Limits,
        outside: Option<&crate::bodies::Options>,
    ) -> Result<Arc<Self>> {
        let config = pool::config(url)?;
        let pools = Pools::new(&config, limits.doubt_max)?;
        // One that is not there is the caller's to try again, and to say so.
        drop(pools.verbs.get().await.map_err(|error| pool::no_connection(&error))?);
        migrate::migrate(&pools, url).await?;
        partitions::make_ahead(&pools.client().await?, clock.now()).await.map_err(said)?;
        let house = bodies::house(&pools.client().await?).await.map_err(said)?;
        let depot = outside.map(|options| Depot::open(options, house, clock.clone())).transpose()?;
        let signals = Arc::new(Signals::default());
        let nudger = Arc::new(Nudger::start(signals.clone(), pools.verbs.clone()));
        tokio::spawn(wake::listen(config.clone(), Arc::downgrade(&signals), pools.quiet.clone()));
        Ok(Self::start(config, pools, (signals, nudger), clock, limits, depot))
    }

    /// The same store, for what its leader of this term does. Its sessions say so to the server, which refuses their writes
    /// once another term began (`malla_under_term`).
    pub fn under(&self, term: Term) -> Arc<Self> {
        let (config, pools) = (self.config.clone(), self.pools.under(&self.config, term));
        let (signals, nudger) = (self.signals.clone(), self.nudger.clone());
        Self::start(config, pools, (signals, nudger), self.clock.clone(), self.limits.clone(), self.depot.clone())
    }

    fn start(
        config: Config,
        pools: Pools,
        (signals, nudger): (Arc<Signals>, Arc<Nudger>),
        clock: Arc<dyn Clock>,
        limits: Limits,
        depot: Option<Arc<Depot>>,
    ) -> Arc<Self> {
        let submits = {
            let (pools, clock, nudger, limit) = (pools.clone(), clock.clone(), nudger.clone(), limits.pending_max);
            Batcher::start(move |tasks| submit_batch(pools.clone(), clock.clone(), nudger.clone(), limit, tasks))
        };
        let finishes = {
            let (pools, clock, nudger) = (pools.clone(), clock.clone(), nudger.clone());
            Batcher::start(move |endings| finish_batch(pools.clone(), clock.clone(), nudger.clone(), endings))
        };
        let accepting = || {
            let (pools, clock, nudger, limit) = (pools.clone(), clock.clone(), nudger.clone(), limits.pending_max);
            Batcher::start(move |events| accept_batch(pools.clone(), clock.clone(), nudger.clone(), limit, events))
        };
        let (accepts, keyed_accepts) = (accepting(), accepting());
        let pruner = Pruner::default();
        Arc::new(Self {
            config,
            pools,
            signals,
            nudger,
            submits,
            finishes,
            accepts,
            keyed_accepts,
            pruner,
            clock,
            limits,
            depot,
        })
    }

    /// Keeps `clock` in step with the server's, so that all nodes agree on when a lease ends.
    pub(crate) async fn keep_time(pool: Pool, clock: Arc<SystemClock>) {
        loop {
            if let Ok(client) = pool.get().await {
                let asked = std::time::Instant::now();
                let told = client.query_one("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint", &[]);
                if let Ok(row) = told.await {
                    // It was read at some moment of the wait.
                    let theirs = UnixMs(row.get(0));
                    clock.agree_with(theirs, theirs.plus(asked.elapsed() + CLOCK_TICK));
                }
            }
            tokio::time::sleep(CLOCK_EVERY).await;
        }
    }

    pub(crate) fn pool(&self) -> Pool {
        self.pools.verbs.clone()
    }

    /// Lets go of all connections. Verbs after this are refused.
    pub fn close(&self) {
        self.pools.verbs.close();
    }

    fn depot(&self) -> Option<&Depot> {
        self.depot.as_deref()
    }

    async fn client(&self) -> Result<Object> {
        self.pools.client().await
    }
}

async fn submit_batch(
    pools: Pools,
    clock: Arc<dyn Clock>,
    nudger: Arc<Nudger>,
    pending_max: u64,
    tasks: Vec<NewTask>,
) -> Result<Vec<Submitted>> {
    point("submit", "before");
    let (submitted, rouse) = with_retries(&pools, || async {
        let client = pools.client().await?;
        let now = clock.now();
        let mut columns = Columns::default();
        tasks.iter().for_each(|task| columns.push(task, None, now));
        columns.submit_once(&client, now, pending_max).await
    })
    .await?;
    point("submit", "after");
    nudger.rouse(rouse);
    Ok(submitted)
}

async fn finish_batch(
    pools: Pools,
    clock: Arc<dyn Clock>,
    nudger: Arc<Nudger>,
    endings: Vec<(LeaseToken, Ending)>,
) -> Result<Vec<Result<()>>> {
    point("finish", "before");
    let finished = with_retries(&pools, || async {
        let mut client = pools.client().await?;
        finish::finish(&mut client, &endings, clock.now()).await
    })
    .await?;
    point("finish", "after");
    let answers = finished.answers(&endings);
    nudger.rouse(finished.rouse);
    Ok(answers)
}

/// Runs a verb on a connection of its own, again after a deadlock or a lost connection, with its crash points around it.
macro_rules! verb {
    ($store:ident, $name:literal, |$client:ident, $now:ident| $body:expr) => {{
        point($name, "before");
        let answer = with_retries(&$store.pools, || async {
            let mut $client = $store.client().await?;
            let $now = $store.clock.now();
            $body.await
        })
        .await?;
        point($name, "after");
        answer
    }};
}
use verb;

#[async_trait]
impl Queue for Postgres {
    async fn submit(&self, tasks: Vec<NewTask>, act: Option<Act>) -> Result<Vec<Submitted>> {
        checks::submission(&tasks, &self.limits)?;
        let Some(act) = act else { return self.submits.call(tasks).await };
        let (submitted, rouse) = verb!(self, "submit", |client, now| async {
            let tx = client.transaction().await?;
            if let Some(answer) = perform::first_answer(&tx, &act, now).await? {
                return Ok((answer, Vec::new()));
            }
            let mut columns = Columns::default();
            tasks.iter().for_each(|task| columns.push(task, None, now));
            let (submitted, rouse) = columns.submit(&tx, now, Some(self.limits.pending_max)).await?;
            Ok((perform::settle(tx, &act, now, "submit", submitted).await?, rouse))
        });
        self.nudger.rouse(rouse);
        Ok(submitted)
    }

    async fn lease(&self, request: LeaseRequest) -> Result<Leases> {
        Ok(verb!(self, "lease", |client, now| lease::lease(&mut client, &request, now)))
    }

    async fn extend(&self, tokens: &[LeaseToken], lease_for: Duration) -> Result<Vec<LeaseToken>> {
        Ok(verb!(self, "extend", |client, now| lease::extend(&mut client, tokens, lease_for, now)))
    }

    async fn finish(&self, endings: Vec<(LeaseToken, Ending)>) -> Result<Vec<Result<()>>> {
        checks::each_ending(endings, &self.limits, |endings| self.finishes.call(endings)).await
    }

    async fn reap(&self, limit: usize) -> Result<u64> {
        let (count, rouse) = verb!(self, "reap", |client, now| finish::reap(&mut client, limit, now));
        self.nudger.rouse(rouse);
        Ok(count)
    }

    async fn prune(&self, retention: Retention) -> Result<u64> {
        Ok(verb!(self, "prune", |client, now| self.pruner.prune(&mut client, retention, now)))
    }

    async fn act_on(&self, scope: &Scope, task: TaskId, verb: Move, act: Act) -> Result<TaskSummary> {
        let (summary, rouse) = verb!(self, "act", |client, now| act::act_on(&mut client, scope, task, verb, &act, now));
        self.nudger.rouse(rouse);
        Ok(summary)
    }

    async fn act_on_all(&self, filter: &TaskFilter, below: Option<TaskId>, verb: Move, act: Act) -> Result<Bulk> {
        let (bulk, rouse) =
            verb!(self, "act", |client, now| act::act_on_all(&mut client, filter, below, verb, &act, now));
        self.nudger.rouse(rouse);
        Ok(bulk)
    }

    async fn change_lane(&self, scope: &Scope, lane: &LaneKey, change: LaneChange, act: Act) -> Result<Lane> {
        change.check()?;
        let (lane, rouse) =
            verb!(self, "lane", |client, now| act::change_lane(&mut client, scope, lane, change, &act, now));
        self.nudger.rouse(rouse);
        Ok(lane)
    }

    async fn task(&self, scope: &Scope, id: TaskId) -> Result<Task> {
        read::task(&self.client().await?, scope, id).await.map_err(said)
    }

    async fn tasks(&self, filter: &TaskFilter, below: Option<TaskId>, limit: usize) -> Result<TaskPage> {
        read::tasks(&self.client().await?, filter, below, limit).await.map_err(said)
    }

    async fn lane(&self, scope: &Scope, key: &LaneKey) -> Result<Lane> {
        read::lane(&self.client().await?, scope, key).await.map_err(said)
    }

    async fn lanes(
        &self,
        scope: &Scope,
        filter: &LaneFilter,
        after: Option<&LaneKey>,
        limit: usize,
    ) -> Result<LanePage> {
        read::lanes(&self.client().await?, scope, filter, after, limit).await.map_err(said)
    }

    async fn counts(&self, scope: &Scope) -> Result<Vec<KindCounts>> {
        let mut client = self.client().await?;
        let tx = one_view(&mut client).await?;
        read::counts(&tx, scope).await.map_err(said)
    }

    async fn verify(&self) -> Result<Vec<String>> {
        let mut client = self.client().await?;
        let tx = one_view(&mut client).await?;
        tx.batch_execute("SET LOCAL statement_timeout = 0").await.map_err(|error| broken(&error))?;
        let mut findings = Vec::new();
        for question in verifying::QUESTIONS {
            let question = question.replace("{now}", &self.clock.now().0.to_string());
            let rows = tx.query(&question, &[]).await.map_err(|error| broken(&error))?;
            findings.extend(rows.iter().take(verifying::FINDINGS_MAX).map(|row| row.get(0)));
        }
        Ok(findings)
    }

    fn arrivals(&self, room: &Room) -> Arrivals {
        self.signals.subscribe(room.as_str())
    }

    async fn ping(&self) -> Result<()> {
        let client = self.pools.verbs.get().await.map_err(|error| pool::no_connection(&error))?;
        let row = client.query_one("SELECT pg_is_in_recovery()", &[]).await;
        let standby: bool = row.map_err(|error| broken(&error))?.get(0);
        if standby { Err(Error::Unavailable("PostgreSQL is a standby and takes no writes".into())) } else { Ok(()) }
    }
}

/// Several questions about one moment.
async fn one_view(client: &mut Object) -> Result<deadpool_postgres::Transaction<'_>> {
    let view =
        client.build_transaction().isolation_level(tokio_postgres::IsolationLevel::RepeatableRead).read_only(true);
    view.start().await.map_err(|error| broken(&error))
}

fn said(error: Broken) -> Error {
    match error {
        Broken::Said(error) => error,
        Broken::Again(why) | Broken::Lost(why) => Error::Unavailable(why),
        Broken::Locked => pool::locked(),
    }
}
