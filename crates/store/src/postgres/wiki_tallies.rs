//! How far histories were counted: kept, read and forgotten.

use deadpool_postgres::{Object, Transaction};
use malla_queue::UnixMs;
use malla_wiki::metrics::KeptTally;
use malla_wiki::{Mark, Page, PageId, RevId, WikiId};

use super::fetch::begin;
use super::pool::Broken;
use super::{one_view, sql, wiki_sites as sites};
use crate::analyze_rows::int;
use crate::wiki_change::Effects;

pub(super) async fn get(
    client: &mut Object,
    wiki: WikiId,
    pageid: PageId,
) -> Result<Option<(Page, Option<KeptTally>)>, Broken> {
    let tx = one_view(client).await?;
    let Some(page) = sites::page(&tx, wiki, pageid).await? else { return Ok(None) };
    let row = tx.query_opt(&tx.prepare_cached(sql!("wiki/tally")).await?, &[&wiki.0, &pageid.0]).await?;
    tx.rollback().await?;
    let kept = row.map(|row| {
        let mark = Mark { at: UnixMs(row.get(0)), revid: RevId(row.get(1)) };
        KeptTally { mark, packed: row.get(2) }
    });
    Ok(Some((page.read(), kept)))
}

pub(super) async fn keep(
    client: &mut Object,
    wiki: WikiId,
    pageid: PageId,
    version: u64,
    tally: &KeptTally,
) -> Result<(), Broken> {
    let KeptTally { mark, packed } = tally;
    let tx = begin(client).await?;
    let statement = tx.prepare_cached(sql!("wiki/keep_tally")).await?;
    tx.execute(&statement, &[&wiki.0, &pageid.0, &int(version), &mark.at.0, &mark.revid.0, packed]).await?;
    tx.commit().await?;
    Ok(())
}

/// Forgets those in which something is another now. Their pages are locked.
pub(super) async fn forget(tx: &Transaction<'_>, effects: &Effects) -> Result<(), Broken> {
    if effects.altered.is_empty() {
        return Ok(());
    }
    let pages: Vec<i64> = effects.altered.keys().copied().collect();
    let (times, revids): (Vec<i64>, Vec<i64>) = effects.altered.values().copied().unzip();
    tx.execute(&tx.prepare_cached(sql!("wiki/forget_tallies")).await?, &[&pages, &times, &revids]).await?;
    Ok(())
}
