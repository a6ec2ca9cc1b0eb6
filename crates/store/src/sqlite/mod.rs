//! The embedded store: one SQLite file, one writer thread with group commit, a few readers.

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
pub mod backup;
mod bodies;
mod cluster;
mod fetch;
mod fetch_commit;
mod fetch_devices;
mod fetch_jobs;
mod fetch_pages;
mod fetch_pins;
mod fetch_sites;
mod fetch_trim;
mod finish;
mod folder;
mod lanes;
mod lease;
mod notify;
mod notify_accept;
mod notify_endpoints;
mod notify_events;
mod notify_search;
mod notify_subscriptions;
mod prune;
mod read;
mod routes;
mod statistics;
mod submit;
mod syncer;
mod tour;
mod tour_step;
mod trust;
mod tx;
mod wiki;
mod wiki_change;
mod wiki_commit;
mod wiki_counts;
mod wiki_extractions;
mod wiki_imports;
mod wiki_reads;
mod wiki_sites;
mod wiki_tallies;
mod words;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use malla_cluster::Term;
use malla_queue::{
    Act, Arrivals, Bulk, Clock, Ending, Error, Holder, KindCounts, Lane, LaneChange, LaneFilter, LaneKey, LanePage,
    LeaseRequest, LeaseToken, Leases, Limits, Move, NewTask, Queue, Result, Retention, Room, Scope, Submitted, Task,
    TaskFilter, TaskId, TaskPage, TaskSummary,
};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Params, Row};
use tokio::sync::Semaphore;

use crate::arrivals::Signals;
use crate::bodies::Depot;
use crate::causes::causes;
use crate::verifying;
use words::Words;
use writer::{Durability, Way, Writer};

/// A statement of this store, from its file.
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("../../sql/sqlite/", $name, ".sql"))
    };
}
pub(crate) use sql;

mod migrations {
    refinery::embed_migrations!("migrations/sqlite");
}

/// Connections that read at the same time as the writer writes.
const READERS: usize = 4;
/// Of those, how many may be at long questions: other reads never wait for them.
const ASKING: usize = READERS / 2;
/// Statements each connection keeps prepared.
const STATEMENTS: usize = 256;
/// Leases taken back in one step at start.
const REAP_STEP: usize = 1_000;

pub struct Sqlite {
    path: PathBuf,
    writer: Arc<Mutex<Option<Arc<Writer>>>>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
    readers: Arc<Readers>,
    words: Arc<Mutex<Option<Arc<Words>>>>,
    signals: Arc<Signals>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    /// Where large bodies lie, if not here.
    depot: Option<Arc<Depot>>,
    /// All that is written through this handle is a leader's, and refused once another one leads.
    term: Option<Term>,
}

struct Readers {
    idle: Mutex<Vec<Connection>>,
    turn: Semaphore,
    asking: Semaphore,
}

impl Sqlite {
    /// Opens or makes the store at `path`. The caller sees to it that nobody else has it open.
    /// Leases of members are taken back and nobody leads: their process is gone. (Devices may still be at work.)
    pub async fn open(path: &Path, clock: Arc<dyn Clock>, limits: Limits) -> Result<Arc<Self>> {
        Self::open_with(path, clock, limits, None).await
    }

    /// As [`Sqlite::open`], with large bodies in an object store.
    pub async fn open_with(
        path: &Path,
        clock: Arc<dyn Clock>,
        limits: Limits,
        outside: Option<&crate::bodies::Options>,
    ) -> Result<Arc<Self>> {
        let opened = path.to_owned();
        let (conn, words, readers) = tokio::task::spawn_blocking(move || open_all(&opened))
            .await
            .map_err(|error| Error::Internal(error.to_string()))??;
        let house = conn.query_row(sql!("bodies/house"), (), |row| row.get(0)).map_err(broken)?;
        let depot = outside.map(|options| Depot::open(options, house, clock.clone())).transpose()?;
        let signals = Arc::new(Signals::default());
        let (writer, thread) = Writer::start(conn, path, clock.clone(), signals.clone())?;
        let store = Arc::new(Self {
            path: path.to_owned(),
            writer: Arc::new(Mutex::new(Some(Arc::new(writer)))),
            thread: Arc::new(Mutex::new(Some(thread))),
            readers: Arc::new(Readers {
                idle: Mutex::new(readers),
                turn: Semaphore::new(READERS),
                asking: Semaphore::new(ASKING),
            }),
            words: Arc::new(Mutex::new(Some(Arc::new(words)))),
            signals,
            clock,
            limits,
            depot,
            term: None,
        });
        while store.reap_step(REAP_STEP, Some(Holder::MEMBER_PREFIX)).await? == REAP_STEP as u64 {}
        store.write("cluster", Durability::Process, |tx| cluster::begin_alone(tx)).await?;
        Ok(store)
    }

    /// Writes out what is in hand and folds the log into the file. Verbs after this are refused.
    pub async fn close(&self) {
        // A leader's handle is not the one that opened the store.
        if self.term.is_some() {
            return;
        }
        // The writer must be the last to close the file: then SQLite removes its log.
        let _all = self.readers.turn.acquire_many(READERS as u32).await;
        self.readers.turn.close();
        self.readers.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.words.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }

    fn depot(&self) -> Option<&Depot> {
        self.depot.as_deref()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    async fn write<T: Send + 'static>(
        &self,
        name: &'static str,
        way: impl Into<Way>,
        verb: impl Fn(&mut tx::Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let writer = writer.ok_or_else(closed)?;
        let Some(term) = self.term else { return writer.write(name, way, verb).await };
        let fenced = move |tx: &mut tx::Tx<'_>| cluster::check_term(tx, term).and_then(|()| verb(tx));
        writer.write(name, way, fenced).await
    }

    async fn read<T: Send + 'static>(&self, look: impl FnOnce(&Connection) -> Result<T> + Send + 'static) -> Result<T> {
        let readers = self.readers.clone();
        let _turn = self.readers.turn.acquire().await.map_err(|_| closed())?;
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || {
            let idle = readers.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let conn = match idle {
                Some(conn) => conn,
                None => open_reader(&path)?,
            };
            let found = look(&conn);
            readers.idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
            found
        })
        .await
        .map_err(|error| Error::Internal(error.to_string()))?
    }

    async fn with_words<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Words) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let words = words.ok_or_else(closed)?;
        tokio::task::spawn_blocking(move || work(&words)).await.map_err(|error| Error::Internal(error.to_string()))?
    }

    async fn reap_step(&self, limit: usize, of_holders: Option<&'static str>) -> Result<u64> {
        self.write("reap", Durability::Power, move |tx| finish::reap(tx, limit, of_holders)).await
    }
}

#[async_trait]
impl Queue for Sqlite {
    async fn submit(&self, tasks: Vec<NewTask>, act: Option<Act>) -> Result<Vec<Submitted>> {
        crate::checks::submission(&tasks, &self.limits)?;
        let limits = self.limits.clone();
        self.write("submit", Durability::Power.for_many(tasks.len()), move |tx| match &act {
            Some(act) => tx.perform(act, |tx| submit::submit(tx, &tasks, &limits)),
            None => submit::submit(tx, &tasks, &limits),
        })
        .await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<Leases> {
        self.write("lease", Durability::Process, move |tx| lease::lease(tx, &request)).await
    }

    async fn extend(&self, tokens: &[LeaseToken], lease_for: Duration) -> Result<Vec<LeaseToken>> {
        let tokens = tokens.to_vec();
        self.write("extend", Durability::Process, move |tx| lease::extend(tx, &tokens, lease_for)).await
    }

    async fn finish(&self, endings: Vec<(LeaseToken, Ending)>) -> Result<Vec<Result<()>>> {
        crate::checks::each_ending(endings, &self.limits, |endings| {
            self.write("finish", finish::durability(&endings), move |tx| finish::finish(tx, &endings))
        })
        .await
    }

    async fn reap(&self, limit: usize) -> Result<u64> {
        self.reap_step(limit, None).await
    }

    async fn prune(&self, retention: Retention) -> Result<u64> {
        let gone = self.write("prune", Durability::Process.large(), move |tx| prune::prune(tx, retention)).await?;
        if !gone.events.is_empty() {
            self.with_words(move |words| words.forget(&gone.events)).await?;
        }
        Ok(gone.count)
    }

    async fn act_on(&self, scope: &Scope, task: TaskId, verb: Move, act: Act) -> Result<TaskSummary> {
        let scope = scope.clone();
        self.write("act", Durability::Power, move |tx| act::act_on(tx, &scope, task, verb, &act)).await
    }

    async fn act_on_all(&self, filter: &TaskFilter, below: Option<TaskId>, verb: Move, act: Act) -> Result<Bulk> {
        let filter = filter.clone();
        self.write("act", Durability::Power.large(), move |tx| act::act_on_all(tx, &filter, below, verb, &act)).await
    }

    async fn change_lane(&self, scope: &Scope, lane: &LaneKey, change: LaneChange, act: Act) -> Result<Lane> {
        change.check()?;
        let (scope, lane) = (scope.clone(), lane.clone());
        self.write("lane", Durability::Power, move |tx| lanes::change(tx, &scope, &lane, change, &act)).await
    }

    async fn task(&self, scope: &Scope, id: TaskId) -> Result<Task> {
        let scope = scope.clone();
        self.read(move |conn| read::task(conn, &scope, id)).await
    }

    async fn tasks(&self, filter: &TaskFilter, below: Option<TaskId>, limit: usize) -> Result<TaskPage> {
        let filter = filter.clone();
        self.read(move |conn| read::tasks(conn, &filter, below, limit)).await
    }

    async fn lane(&self, scope: &Scope, key: &LaneKey) -> Result<Lane> {
        let (scope, key) = (scope.clone(), key.clone());
        self.read(move |conn| read::lane(conn, &scope, &key)).await
    }

    async fn lanes(
        &self,
        scope: &Scope,
        filter: &LaneFilter,
        after: Option<&LaneKey>,
        limit: usize,
    ) -> Result<LanePage> {
        let (scope, filter, after) = (scope.clone(), filter.clone(), after.cloned());
        self.read(move |conn| read::lanes(conn, &scope, &filter, after.as_ref(), limit)).await
    }

    async fn counts(&self, scope: &Scope) -> Result<Vec<KindCounts>> {
        let scope = scope.clone();
        self.read(move |conn| in_one_view(conn, |conn| read::counts(conn, &scope))).await
    }

    async fn verify(&self) -> Result<Vec<String>> {
        let clock = self.clock.clone();
        self.read(move |conn| {
            in_one_view(conn, |conn| {
                let mut findings = Vec::new();
                for question in verifying::QUESTIONS.iter().chain(&[sql!("verify/body_pages")]) {
                    // The view is that of the first question: a time from before it would be older than what is seen.
                    let question = question.replace("{now}", &clock.now().0.to_string());
                    let found = many(conn, &question, (), |row| row.get::<_, String>(0))?;
                    findings.extend(found.into_iter().take(verifying::FINDINGS_MAX));
                }
                Ok(findings)
            })
        })
        .await
    }

    fn arrivals(&self, room: &Room) -> Arrivals {
        self.signals.subscribe(room.as_str())
    }

    async fn ping(&self) -> Result<()> {
        self.write("ping", Durability::Process, |tx| tx.run("UPDATE tally SET open = open WHERE 0", ()).map(|_| ()))
            .await
    }
}

fn closed() -> Error {
    Error::Unavailable("the store is closed".into())
}

/// Several questions about one moment.
fn in_one_view<T>(conn: &Connection, look: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    conn.execute_batch("BEGIN").map_err(broken)?;
    let found = look(conn);
    conn.execute_batch("ROLLBACK").map_err(broken)?;
    found
}

fn open_all(path: &Path) -> Result<(Connection, Words, Vec<Connection>)> {
    make_private(path);
    // Kept until another is open: the last one to close would fold the log, and the start would wait for it.
    let _updated = bring_up_to_date(path)?;
    let conn = malla_gather::open(path).map_err(|error| cannot_open(path, &error))?;
    prepare(&conn).map_err(|error| cannot_open(path, &error))?;
    let words = Words::open(path, &conn)?;
    let readers = (0..READERS).map(|_| open_reader(path)).collect::<Result<Vec<_>>>()?;
    Ok((conn, words, readers))
}

/// By a connection of its own: a migration may write more than the memory holds.
fn bring_up_to_date(path: &Path) -> Result<Connection> {
    let mut conn = Connection::open(path).map_err(|error| cannot_open(path, &error))?;
    prepare(&conn).map_err(|error| cannot_open(path, &error))?;
    crate::checks::version(
        newest_applied(&conn).map_err(|error| cannot_open(path, &error))?,
        newest_known(),
        path.display(),
    )?;
    migrations::migrations::runner().run(&mut conn).map_err(|error| {
        Error::Unavailable(format!("cannot bring {} up to date: {}", path.display(), causes(&error)))
    })?;
    Ok(conn)
}

/// A new store is for its owner's eyes: SQLite gives its log the same mode. What goes wrong here, opening reports.
fn make_private(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

/// Where SQLite keeps what is written until it is folded into the file at `path`.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// Up to 32 MiB of pages, used only as it fills. More would cost more than it saves: while the file is smaller than a
/// gigabyte, SQLite walks over all pages in memory at the end of nearly every transaction (it parks pages that it moves
/// at the number of the page of the lock, which lies beyond the end of the file, and looks for them at the commit).
fn prepare(conn: &Connection) -> rusqlite::Result<()> {
    prepare_any(conn)?;
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY; \
         PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864;",
    )
}

fn prepare_any(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise SQLite may plan a statement anew for each set of parameters, which costs more than running it.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.busy_timeout(Duration::from_secs(5))
}

fn open_reader(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags).map_err(|error| cannot_open(path, &error))?;
    prepare_any(&conn).map_err(broken)?;
    conn.execute_batch("PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY").map_err(broken)?;
    crate::wiki_ask::sqlite::prepare(&mut conn).map_err(broken)?;
    words::attach(path, &conn)?;
    Ok(conn)
}

fn open_folder(path: &Path) -> Result<Connection> {
    let conn = Connection::open(path).map_err(|error| cannot_open(path, &error))?;
    prepare_any(&conn).map_err(broken)?;
    conn.execute_batch("PRAGMA synchronous = NORMAL").map_err(broken)?;
    Ok(conn)
}

fn newest_applied(conn: &Connection) -> rusqlite::Result<Option<i64>> {
    let made = "SELECT count(*) FROM sqlite_master WHERE name = 'refinery_schema_history'";
    if conn.query_row(made, (), |row| row.get::<_, i64>(0))? == 0 {
        return Ok(None);
    }
    conn.query_row("SELECT max(version) FROM refinery_schema_history", (), |row| row.get(0))
}

fn newest_known() -> i64 {
    migrations::migrations::runner().get_migrations().iter().map(|m| i64::from(m.version())).max().unwrap_or(0)
}

fn cannot_open(path: &Path, error: &rusqlite::Error) -> Error {
    let why = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            "it is not a SQLite file: move it away, or choose another data directory".into()
        }
        Some(ErrorCode::CannotOpen) => "the directory is missing or may not be written".into(),
        Some(ErrorCode::ReadOnly) => "it is read-only: make it writable for this user".into(),
        Some(ErrorCode::DiskFull) => "the disk is full".into(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another process has it open".into(),
        _ => error.to_string(),
    };
    Error::Unavailable(format!("cannot open {}: {why}", path.display()))
}

/// An error of SQLite as the verbs report it.
pub(crate) fn broken(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::Unavailable("the disk is full".into()),
        Some(ErrorCode::ReadOnly) => Error::Unavailable("the store is read-only".into()),
        Some(ErrorCode::SystemIoFailure) => Error::Unavailable(format!("the disk fails: {error}")),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Unavailable("the store is busy".into()),
        Some(ErrorCode::DatabaseCorrupt) => Error::Internal(format!("the store is damaged, restore a backup: {error}")),
        _ => Error::Internal(error.to_string()),
    }
}

fn run(conn: &Connection, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
    conn.prepare_cached(sql)?.execute(params)
}

fn many<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let mut statement = conn.prepare_cached(sql).map_err(broken)?;
    let rows = statement.query_map(params, read).map_err(broken)?;
    rows.collect::<rusqlite::Result<Vec<T>>>().map_err(broken)
}
