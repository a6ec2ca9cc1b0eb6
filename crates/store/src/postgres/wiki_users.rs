//! Names of users: kept once, and erased when no revision has them any more.
//!
//! Who writes a revision holds its name until the end, and who erases names locks them first: so none is erased that
//! somebody uses at the same moment.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use deadpool_postgres::Transaction;

use super::pool::Broken;
use super::sql;
use crate::fetch_rows::plain;
use crate::wiki_change::Incoming;

/// How often names are looked for that somebody erases at the same moment.
const ROUNDS_MAX: usize = 5;

/// The numbers of the names of these revisions, written if they are new. Those of `left` may be [erased](erase) afterwards.
pub(super) async fn hold<'c>(
    tx: &Transaction<'_>,
    incoming: &[Incoming<'c>],
    left: &BTreeSet<i64>,
) -> Result<HashMap<Cow<'c, str>, i64>, Broken> {
    let names: BTreeSet<Cow<'c, str>> =
        incoming.iter().filter_map(|(_, revision)| revision.user.as_deref().map(plain)).collect();
    if names.is_empty() && left.is_empty() {
        return Ok(HashMap::new());
    }
    let list: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    for _ in 0..ROUNDS_MAX {
        tx.execute(&tx.prepare_cached(sql!("wiki/add_users")).await?, &[&list]).await?;
        let rows = if left.is_empty() {
            tx.query(&tx.prepare_cached(sql!("wiki/hold_users")).await?, &[&list]).await?
        } else {
            let left: Vec<i64> = left.iter().copied().collect();
            tx.query(&tx.prepare_cached(sql!("wiki/lock_users")).await?, &[&list, &left]).await?
        };
        let known: HashMap<String, i64> = rows.iter().map(|row| (row.get(1), row.get(0))).collect();
        if names.iter().all(|name| known.contains_key(name.as_ref())) {
            return Ok(known.into_iter().map(|(name, id)| (Cow::Owned(name), id)).collect());
        }
    }
    Err(Broken::Again("a name is being erased at the same moment".into()))
}

/// Erases those of these names that no revision has any more.
pub(super) async fn erase(tx: &Transaction<'_>, left: &BTreeSet<i64>) -> Result<(), Broken> {
    if !left.is_empty() {
        let left: Vec<i64> = left.iter().copied().collect();
        tx.execute(&tx.prepare_cached(sql!("wiki/drop_users")).await?, &[&left]).await?;
    }
    Ok(())
}
