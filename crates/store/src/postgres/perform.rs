//! A change as an [`Act`]: its audit line and idempotency key are written in its transaction.
//!
//! The pattern: begin, [`first_answer`], do it, [`settle`].

use deadpool_postgres::Transaction;
use malla_queue::{Act, Error, UnixMs};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::commit::commit;
use super::pool::Broken;
use super::sql;

/// What was found under an idempotency key.
pub(super) enum Key {
    /// It is this transaction's to use.
    Fresh,
    /// The first answer, if it is one that is kept.
    Used(Option<String>),
}

/// Holds the act's key. Somebody with the same key at the same time waits here until we are done.
pub(super) async fn claim(tx: &Transaction<'_>, act: &Act, now: UnixMs) -> Result<Key, Broken> {
    let Some(once) = &act.once else { return Ok(Key::Fresh) };
    let expires_at = now.plus(once.keep_for).0;
    let statement = tx.prepare_cached(sql!("once/claim")).await?;
    let claimed = tx.execute(&statement, &[&once.scope, &once.key, &once.fingerprint, &expires_at, &now.0]).await?;
    if claimed > 0 {
        return Ok(Key::Fresh);
    }
    let row = tx.query_one(&tx.prepare_cached(sql!("once/find")).await?, &[&once.scope, &once.key]).await?;
    if row.get::<_, Vec<u8>>(0) != once.fingerprint {
        return Err(Error::KeyReused.into());
    }
    Ok(Key::Used(row.get(1)))
}

/// The answer that was given under the act's key before, if any.
pub(super) async fn first_answer<T: DeserializeOwned>(
    tx: &Transaction<'_>,
    act: &Act,
    now: UnixMs,
) -> Result<Option<T>, Broken> {
    match claim(tx, act, now).await? {
        Key::Fresh => Ok(None),
        Key::Used(answer) => {
            let answer = answer.ok_or(Error::ShownOnce)?;
            let read = serde_json::from_str(&answer).map_err(|error| Error::Internal(error.to_string()))?;
            Ok(Some(read))
        }
    }
}

/// Writes the audit line and the answer, and commits. `verb` names the crash points.
pub(super) async fn settle<T: Serialize>(
    tx: Transaction<'_>,
    act: &Act,
    now: UnixMs,
    verb: &str,
    answer: T,
) -> Result<T, Broken> {
    let text = serde_json::to_string(&answer).map_err(|error| Error::Internal(error.to_string()))?;
    settle_with(tx, act, now, verb, Some(text)).await?;
    Ok(answer)
}

/// As [`settle`], with an answer that may be too secret to keep.
pub(super) async fn settle_with(
    tx: Transaction<'_>,
    act: &Act,
    now: UnixMs,
    verb: &str,
    answer: Option<String>,
) -> Result<(), Broken> {
    audit(&tx, act, now).await?;
    if let Some(once) = &act.once {
        let statement = tx.prepare_cached(sql!("once/answer")).await?;
        tx.execute(&statement, &[&once.scope, &once.key, &answer]).await?;
    }
    crate::crashing::point(verb, "inside");
    commit(tx).await
}

pub(super) async fn audit(tx: &Transaction<'_>, act: &Act, now: UnixMs) -> Result<(), Broken> {
    let statement = tx.prepare_cached(sql!("once/audit")).await?;
    let (group, detail) = (act.group.map(|g| g.0), act.detail.to_string());
    tx.execute(&statement, &[&now.0, &act.actor, &act.action, &act.object, &group, &detail]).await?;
    Ok(())
}
