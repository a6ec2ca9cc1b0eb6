//! Connections to PostgreSQL, and what its errors mean.

use std::future::Future;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime};
use malla_queue::{Error, Result};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::causes::causes;

/// Connections of one process. The writers use a few of them, the rest serve readers.
const CONNECTIONS: usize = 12;
/// How long a caller waits for a connection, and a connection for the server.
const CONNECT_WAIT: Duration = Duration::from_secs(5);
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

pub(super) fn config(url: &str) -> Result<Config> {
    let mut config: Config = url.parse().map_err(|error| {
        Error::Invalid(format!("\"{}\" is not a PostgreSQL address: {error}", crate::without_password(url)))
    })?;
    if config.get_application_name().is_none() {
        config.application_name("malla");
    }
    config.connect_timeout(CONNECT_WAIT);
    config.tcp_user_timeout(Duration::from_secs(15));
    config.keepalives_idle(Duration::from_secs(15));
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

pub(super) fn pool(config: &Config) -> Result<Pool> {
    let recycle = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = match tls() {
        Ok(tls) => Manager::from_config(config.clone(), tls, recycle),
        // A machine without certificates can still talk without TLS.
        Err(_) => Manager::from_config(config.clone(), NoTls, recycle),
    };
    Pool::builder(manager)
        .max_size(CONNECTIONS)
        .wait_timeout(Some(CONNECT_WAIT))
        .create_timeout(Some(CONNECT_WAIT))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| Error::Internal(error.to_string()))
}

pub(super) async fn connection(pool: &Pool) -> Result<Object> {
    pool.get().await.map_err(|error| match error {
        PoolError::Timeout(_) => Error::Unavailable(format!("PostgreSQL gave no connection within {CONNECT_WAIT:?}")),
        PoolError::Backend(error) => broken(&error),
        other => Error::Unavailable(other.to_string()),
    })
}

/// Runs a verb, again if the server resolved a deadlock at its expense.
pub(super) async fn with_retries<T, F>(mut verb: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T, Broken>>,
{
    for left in (0..TRIES).rev() {
        match verb().await {
            Ok(answer) => return Ok(answer),
            Err(Broken::Again(why)) if left > 0 => tracing::debug!(why, "a transaction is done again"),
            Err(Broken::Again(why)) => return Err(Error::Unavailable(why)),
            Err(Broken::Said(error)) => return Err(error),
        }
    }
    unreachable!("the last try returns")
}

/// Why a transaction came to nothing.
#[derive(Debug)]
pub(super) enum Broken {
    /// Nothing is wrong with it: do it again.
    Again(String),
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
            _ => Broken::Said(broken(&error)),
        }
    }
}

/// An error of PostgreSQL as the verbs report it.
pub(crate) fn broken(error: &tokio_postgres::Error) -> Error {
    let Some(db) = error.as_db_error() else {
        return Error::Unavailable(format!("PostgreSQL cannot be reached: {}", causes(error)));
    };
    if *db.code() == SqlState::LOCK_NOT_AVAILABLE {
        return Error::Unavailable("another node holds a lock for too long: it may stand still".into());
    }
    let class = db.code().code().get(..2).unwrap_or_default();
    match class {
        // connection lost, no resources, operator intervention (shutdown, fail-over), system error, read-only standby
        "08" | "53" | "57" | "58" | "25" => Error::Unavailable(format!("PostgreSQL says: {}", db.message())),
        "28" | "3D" => Error::Unavailable(format!("PostgreSQL refuses: {}", db.message())),
        _ => Error::Internal(format!("PostgreSQL says: {} ({})", db.message(), db.code().code())),
    }
}
