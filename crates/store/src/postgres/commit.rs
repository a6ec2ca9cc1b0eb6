//! Commits whose answer may get lost: each is found out about, so that none is lost and none is done twice.
//!
//! A connection that breaks while a transaction commits leaves it open whether it did. So the transaction leaves a token. Who
//! lost the answer writes the same token on another connection: either it is there, then the transaction has committed; or it
//! gets in, and then the transaction never will, for its own token is refused. If it is just about to commit, the server
//! makes the second one wait for it. That holds after a fail-over too, for the token goes where the rest of the transaction
//! goes.
//!
//! No token is needed where a repeat is recognised or does no harm: endings of leases carry a nonce; leases that nobody heard
//! of run out; heartbeats, figures and what forgets what is old can be written any number of times.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use deadpool_postgres::{Pool, Transaction};
use malla_queue::{Error, Result};
use tokio::time::{Instant, sleep, timeout};

use super::pool::{Broken, broken, connection};
use super::sql;

/// How long an answer is waited for before the connection counts as broken.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

tokio::task_local! {
    /// Where the verb that runs asks about a commit in doubt.
    pub(super) static DOUBTS: Doubts;
}

/// Where to ask about commits in doubt.
#[derive(Clone)]
pub(super) struct Doubts {
    pool: Pool,
    /// How long it is tried to find out about a commit, from its beginning on.
    pub(super) max: Duration,
    /// Whether the verb that runs is in doubt: then it may take longer than others.
    under_way: Arc<AtomicBool>,
}

impl Doubts {
    pub(super) fn new(pool: Pool, max: Duration) -> Self {
        Self { pool, max, under_way: Arc::default() }
    }

    /// The same for another verb.
    pub(super) fn anew(&self) -> Self {
        Self::new(self.pool.clone(), self.max)
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.under_way.load(Ordering::Relaxed)
    }
}

/// One that no other transaction ever has. Those of one process follow each other, so that they lie together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token([u8; 16]);

impl Token {
    pub(super) fn new() -> Result<Self> {
        static PROCESS: OnceLock<[u8; 8]> = OnceLock::new();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let process = match PROCESS.get() {
            Some(process) => process,
            None => {
                let mut bytes = [0; 8];
                getrandom::fill(&mut bytes).map_err(|error| Error::Internal(format!("no randomness: {error}")))?;
                PROCESS.get_or_init(|| bytes)
            }
        };
        let mut token = [0; 16];
        token[..8].copy_from_slice(process);
        token[8..].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        Ok(Self(token))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The answer that a transaction of one statement has left with its token.
pub(super) struct Kept {
    pub(super) ids: Vec<Option<i64>>,
    pub(super) fresh: Vec<bool>,
}

/// Commits, and finds out whether it did if the answer does not come.
pub(super) async fn commit(tx: Transaction<'_>) -> Result<(), Broken> {
    let token = Token::new()?;
    // Both go as one, so that the token costs no trip to the server. A new transaction follows at once because the driver
    // rolls back whatever is open when `tx` is dropped: it finds an empty one.
    let statements = format!("INSERT INTO commit_token (token) VALUES ('\\x{token}'); COMMIT AND CHAIN");
    let committed = async move { Ok(tx.batch_execute(&statements).await?) };
    answered(&token, committed).await.map(drop)
}

/// The answer of a transaction that leaves `token`, or what it has left if the answer was lost.
pub(super) async fn answered<T>(
    token: &Token,
    transaction: impl Future<Output = Result<T, Broken>>,
) -> Result<Answer<T>, Broken> {
    let began = Instant::now();
    let why = match timeout(ANSWER_WAIT, transaction).await {
        Ok(Ok(answer)) => return Ok(Answer::Came(answer)),
        Ok(Err(Broken::Lost(why))) => why,
        Ok(Err(error)) => return Err(error),
        Err(_) => format!("PostgreSQL did not answer within {ANSWER_WAIT:?}"),
    };
    let Ok(doubts) = DOUBTS.try_with(Clone::clone) else { return Err(Broken::Said(Error::Unavailable(why))) };
    tracing::debug!(why, "asking whether a transaction has committed");
    doubts.under_way.store(true, Ordering::Relaxed);
    let found = find_out(&doubts, token, began).await;
    doubts.under_way.store(false, Ordering::Relaxed);
    match found? {
        Some(kept) => Ok(Answer::Lost(kept)),
        None => Err(Broken::Lost(why)),
    }
}

/// How a transaction that has committed was answered.
pub(super) enum Answer<T> {
    Came(T),
    Lost(Kept),
}

/// What the transaction has left; none if it did not commit, and never will.
async fn find_out(doubts: &Doubts, token: &Token, began: Instant) -> Result<Option<Kept>> {
    let mut pause = FIRST_PAUSE;
    loop {
        let left = doubts.max.saturating_sub(began.elapsed());
        let error = match timeout(left, ask(&doubts.pool, token)).await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it does not answer".to_owned(),
        };
        if began.elapsed() + pause >= doubts.max {
            return Err(Error::Unavailable(format!(
                "the connection broke during a commit, and PostgreSQL could not be asked whether it was done: {error}"
            )));
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn ask(pool: &Pool, token: &Token) -> Result<Option<Kept>> {
    let client = connection(pool).await?;
    let said = |error: tokio_postgres::Error| broken(&error);
    // Waits for a transaction that is committing. Should this answer get lost too, the mark tells whose token it is.
    client.execute(sql!("commit/refuse"), &[&token.bytes()]).await.map_err(said)?;
    let row = client.query_one(sql!("commit/find"), &[&token.bytes()]).await.map_err(said)?;
    if row.get(0) {
        return Ok(None);
    }
    let (ids, fresh): (Option<Vec<Option<i64>>>, Option<Vec<bool>>) = (row.get(1), row.get(2));
    Ok(Some(Kept { ids: ids.unwrap_or_default(), fresh: fresh.unwrap_or_default() }))
}
