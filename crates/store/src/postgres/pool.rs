//! Connections to PostgreSQL, and what its errors mean.

use std::error::Error as _;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime};
use malla_cluster::Term;
use malla_queue::{Error, Result};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::commit::{DOUBTS, Doubts};
use super::hosts::EachHost;
use super::quiet::Quiet;
use crate::causes::causes;

/// Connections of one process. The writers use a few of them, the rest serve readers.
const CONNECTIONS: usize = 12;
/// More of them, for the duties of a leader.
const DUTY_CONNECTIONS: usize = 6;
/// More of them, to ask about commits in doubt.
const DOUBT_CONNECTIONS: usize = 4;
/// How long a caller waits for a connection, and a connection for the server.
pub(super) const CONNECT_WAIT: Duration = Duration::from_secs(5);
/// No statement of ours takes this long; one that does is stuck.
const STATEMENT_TIMEOUT_MS: u32 = 30_000;
/// Between two statements of a transaction nothing is waited for; who takes this long stands still (a frozen machine, a
/// lost network), and the server ends its session so that its locks do not hold up the other nodes.
const STANDSTILL_MAX_MS: u32 = 5_000;
/// How long to stand in line for a lock. Less than the above: otherwise the sessions of a node that stands still would
/// get its locks one after the other, and each would have to be ended.
const LOCK_WAIT_MAX_MS: u32 = 3_000;
/// Deadlocks should not happen (lanes are locked in order); if one does, the verb is done again.
const TRIES: usize = 5;
/// For how long a verb is done again because its connection broke.
const LOST_MAX: Duration = Duration::from_secs(15);
/// No verb takes this long, with all of its statements and without doubts; one that does has a server that stands still.
const VERB_MAX: Duration = Duration::from_secs(45);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What the server says to a leader that was deposed (`malla_under_term`).
const DEPOSED: &str = "MA002";

pub(super) fn config(url: &str) -> Result<Config> {
    let mut config: Config = url.parse().map_err(|error| {
        Error::Invalid(format!("\"{}\" is not a PostgreSQL address: {error}", crate::without_password(url)))
    })?;
    if config.get_application_name().is_none() {
        config.application_name("malla");
    }
    config.connect_timeout(CONNECT_WAIT);
    // A server whose machine is gone says nothing: it is noticed within ten seconds, whoever spoke last.
    config.tcp_user_timeout(Duration::from_secs(10));
    config.keepalives_idle(Duration::from_secs(4)).keepalives_interval(Duration::from_secs(2)).keepalives_retries(3);
    // With several hosts, the one that takes writes: after a fail-over that is another one.
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    let options = config.get_options().unwrap_or_default().to_owned();
    config.options(format!(
        "{options} -c statement_timeout={STATEMENT_TIMEOUT_MS} -c lock_timeout={LOCK_WAIT_MAX_MS} \
         -c idle_in_transaction_session_timeout={STANDSTILL_MAX_MS} -c jit=off -c plan_cache_mode=force_generic_plan"
    ));
    Ok(config)
}

/// TLS as the address asks for it (`sslmode`), trusting what the machine trusts.
pub(super) fn tls() -> Result<MakeRustlsConnect> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made = MakeRustlsConnect::with_native_certs();
    made.map(|(tls, _)| tls).map_err(|errors| Error::Internal(format!("no certificates to trust: {errors:?}")))
}

/// The connections of a store.
#[derive(Clone)]
pub(super) struct Pools {
    pub(super) verbs: Pool,
    /// For verbs that lost an answer: they hold a connection already, and must not wait for another one like it.
    doubts: Doubts,
    /// Kept before each verb.
    pub(super) quiet: Quiet,
}

impl Pools {
    /// A commit may be in doubt for `doubt_max`.
    pub(super) fn new(config: &Config, doubt_max: Duration) -> Result<Self> {
        let doubts = Doubts::new(pool(config, DOUBT_CONNECTIONS)?, doubt_max);
        Ok(Self { verbs: pool(config, CONNECTIONS)?, doubts, quiet: Quiet::new() })
    }

    /// Others for the duties of the leader of this term.
    pub(super) fn under(&self, config: &Config, term: Term) -> Self {
        let verbs = pool(&under(config, term), DUTY_CONNECTIONS).expect("such a pool was made before");
        Self { verbs, doubts: self.doubts.clone(), quiet: self.quiet.clone() }
    }

    pub(super) async fn client(&self) -> Result<Object> {
        self.quiet.ends().await;
        connection(&self.verbs).await
    }
}

/// Sessions of the leader of this term, which can change nothing once another one began: the server looks at the setting.
fn under(config: &Config, term: Term) -> Config {
    let mut config = config.clone();
    let options = config.get_options().unwrap_or_default().to_owned();
    config.options(format!("{options} -c malla.term={term}"));
    config
}

fn pool(config: &Config, connections: usize) -> Result<Pool> {
    let recycle = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = match tls() {
        Ok(tls) => Manager::from_connect(config.clone(), EachHost::new(tls), recycle),
        // A machine without certificates can still talk without TLS.
        Err(_) => Manager::from_connect(config.clone(), EachHost::new(NoTls), recycle),
    };
    Pool::builder(manager)
        .max_size(connections)
        .wait_timeout(Some(CONNECT_WAIT))
        .create_timeout(Some(CONNECT_WAIT))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| Error::Internal(error.to_string()))
}

/// A connection. If there is none it is tried again for a moment: after a fail-over another server has to take over.
pub(super) async fn connection(pool: &Pool) -> Result<Object> {
    let mut last = Error::Unavailable(format!("PostgreSQL gave no connection within {CONNECT_WAIT:?}"));
    let trying = async {
        let mut pause = FIRST_PAUSE;
        loop {
            match pool.get().await {
                Err(PoolError::Backend(error)) if may_pass(&error) => last = broken(&error),
                got => return got.map_err(|error| no_connection(&error)),
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    };
    match timeout(CONNECT_WAIT, trying).await {
        Ok(got) => got,
        Err(_) => Err(last),
    }
}

pub(super) fn no_connection(error: &PoolError) -> Error {
    match error {
        PoolError::Timeout(_) => Error::Unavailable(format!("PostgreSQL gave no connection within {CONNECT_WAIT:?}")),
        PoolError::Backend(error) => broken(error),
        other => Error::Unavailable(other.to_string()),
    }
}

/// Whether a connection may be had a moment later: not if the password or the name is wrong.
fn may_pass(error: &tokio_postgres::Error) -> bool {
    !error.code().is_some_and(|code| ["28", "3D"].iter().any(|class| code.code().starts_with(class)))
}

/// Runs a verb, again if the server resolved a deadlock at its expense, or if its connection broke before it committed (or
/// it can be done twice).
pub(super) async fn with_retries<T, F>(pools: &Pools, mut verb: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T, Broken>>,
{
    let (mut deadlocks, mut lost_since, mut pause) = (0, None, FIRST_PAUSE);
    loop {
        let why = match in_time(&pools.doubts.anew(), verb()).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(Broken::Said(error))) => return Err(error),
            // It may be what the lost connection has left on the server, which ends soon.
            Ok(Err(Broken::Locked)) if lost_since.is_some_and(|since: Instant| since.elapsed() < LOST_MAX) => {
                locked().to_string()
            }
            Ok(Err(Broken::Locked)) => return Err(locked()),
            Ok(Err(Broken::Again(why))) => {
                deadlocks += 1;
                if deadlocks == TRIES {
                    return Err(Error::Unavailable(why));
                }
                why
            }
            Ok(Err(Broken::Lost(why))) => {
                if lost_since.get_or_insert_with(Instant::now).elapsed() + pause >= LOST_MAX {
                    return Err(Error::Unavailable(why));
                }
                // The others are to the same server, and may seem to be alive.
                pools.verbs.retain(|_, _| false);
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                why
            }
            Err(_) => {
                // Its connection is in the pool again, and may answer never.
                pools.verbs.retain(|_, _| false);
                return Err(Error::Unavailable(format!("PostgreSQL did not answer within {VERB_MAX:?}")));
            }
        };
        tracing::debug!(why, "a transaction is done again");
    }
}

/// What becomes of a verb, if it is known in time. One that is in doubt has the time for that, too.
async fn in_time<T>(doubts: &Doubts, verb: impl Future<Output = T>) -> Result<T, Elapsed> {
    let mut verb = pin!(DOUBTS.scope(doubts.clone(), verb));
    match timeout(VERB_MAX, &mut verb).await {
        Err(_) if doubts.is_under_way() => timeout(doubts.max, verb).await,
        known => known,
    }
}

/// Why a transaction came to nothing.
#[derive(Debug)]
pub(super) enum Broken {
    /// Nothing is wrong with it: do it again.
    Again(String),
    /// Its connection broke. Nothing changed, unless it is of those that can be done twice.
    Lost(String),
    /// Somebody held a lock for too long.
    Locked,
    Said(Error),
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Broken::Said(error)
    }
}

impl From<tokio_postgres::Error> for Broken {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(code) if [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(code) => {
                Broken::Again(error.to_string())
            }
            Some(&SqlState::LOCK_NOT_AVAILABLE) => Broken::Locked,
            _ if is_lost(&error) => Broken::Lost(format!("the connection to PostgreSQL broke: {}", causes(&error))),
            _ => Broken::Said(broken(&error)),
        }
    }
}

/// Whether the connection is of no use any more: broken, ended by the server, or to a server that takes no more writes.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(code) => {
            let ended = [
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
                SqlState::CANNOT_CONNECT_NOW,
                SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                SqlState::READ_ONLY_SQL_TRANSACTION,
            ];
            ended.contains(code) || code.code().starts_with("08")
        }
        None => error.is_closed() || error.source().is_some_and(|cause| cause.is::<std::io::Error>()),
    }
}

pub(super) fn locked() -> Error {
    Error::Unavailable("another node holds a lock for too long: it may stand still".into())
}

/// An error of PostgreSQL as the verbs report it.
pub(crate) fn broken(error: &tokio_postgres::Error) -> Error {
    let Some(db) = error.as_db_error() else {
        return Error::Unavailable(format!("PostgreSQL cannot be reached: {}", causes(error)));
    };
    if db.code().code() == DEPOSED {
        return Error::Deposed;
    }
    if *db.code() == SqlState::LOCK_NOT_AVAILABLE {
        return locked();
    }
    let class = db.code().code().get(..2).unwrap_or_default();
    match class {
        // connection lost, no resources, operator intervention (shutdown, fail-over), system error, read-only standby
        "08" | "53" | "57" | "58" | "25" => Error::Unavailable(format!("PostgreSQL says: {}", db.message())),
        "28" | "3D" => Error::Unavailable(format!("PostgreSQL refuses: {}", db.message())),
        _ => Error::Internal(format!("PostgreSQL says: {} ({})", db.message(), db.code().code())),
    }
}
