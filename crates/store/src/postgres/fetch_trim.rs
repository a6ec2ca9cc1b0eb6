//! Forgetting: what is over the cache's bounds, old jobs, and pages that nobody needs any more.

use std::collections::HashSet;

use deadpool_postgres::{Object, Transaction};
use malla_fetch::Keep;
use malla_queue::UnixMs;

use super::fetch::begin;
use super::fetch_pages::keep_pages;
use super::fetch_shelf::{size, unshelve};
use super::lease::UNFLUSHED;
use super::pool::Broken;
use super::sql;
use crate::keeping::ROUNDS_MAX;

/// One bounded step. Returns how many rows went. What somebody else has locked is left for the next step.
pub(super) async fn trim(client: &mut Object, keep: &Keep, now: UnixMs) -> Result<u64, Broken> {
    let tx = begin(client).await?;
    tx.batch_execute(UNFLUSHED).await?;
    let step = i64::try_from(keep.step).unwrap_or(i64::MAX);
    let mut gone = trim_shelf(&tx, keep, step).await?;
    gone += trim_jobs(&tx, now.minus(keep.jobs_for), step).await?;
    gone += trim_pages(&tx, keep.step, now).await?;
    let statement = tx.prepare_cached(sql!("fetch/drop_devices")).await?;
    gone += tx.execute(&statement, &[&now.minus(keep.devices_for).0, &step]).await?;
    gone += super::trust::trim(&tx, keep.step, now).await?;
    if gone == 0 {
        // All sites are looked through for it: only when nothing else is left to do.
        gone = tx.execute(&tx.prepare_cached(sql!("fetch/drop_sites")).await?, &[&step]).await?;
    }
    tx.commit().await?;
    Ok(gone)
}

/// The least used leave first.
async fn trim_shelf(tx: &Transaction<'_>, keep: &Keep, step: i64) -> Result<u64, Broken> {
    let now = size(tx).await?;
    let (mut entries, mut bytes) = (now.entries, now.bytes);
    let over = |entries: u64, bytes: u64| entries > keep.cache_entries_max || bytes > keep.cache_bytes_max;
    if !over(entries, bytes) {
        return Ok(0);
    }
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/oldest_on_shelf")).await?, &[&step]).await?;
    let mut leave: Vec<&[u8]> = Vec::new();
    for row in &rows {
        if !over(entries, bytes) {
            break;
        }
        leave.push(row.get(0));
        entries = entries.saturating_sub(1);
        bytes = bytes.saturating_sub(u64::try_from(row.get::<_, i64>(1)).unwrap_or(0));
    }
    unshelve(tx, &leave).await
}

async fn trim_jobs(tx: &Transaction<'_>, before: UnixMs, step: i64) -> Result<u64, Broken> {
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/old_jobs")).await?, &[&before.0, &step]).await?;
    let old: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    if old.is_empty() {
        return Ok(0);
    }
    let answers = tx.execute(&tx.prepare_cached(sql!("fetch/drop_answers")).await?, &[&old, &step]).await?;
    let jobs = tx.execute(&tx.prepare_cached(sql!("fetch/drop_jobs")).await?, &[&old]).await?;
    Ok(answers + jobs)
}

/// Pages that are neither on the shelf nor of late an answer. Those on the shelf are passed over.
async fn trim_pages(tx: &Transaction<'_>, step: usize, now: UnixMs) -> Result<u64, Broken> {
    for _ in 0..ROUNDS_MAX {
        let (seen, gone) = trim_pages_round(tx, step, now).await?;
        if gone > 0 || seen < step {
            return Ok(gone);
        }
    }
    Ok(0)
}

/// Returns how many pages it looked at, and how many went.
async fn trim_pages_round(tx: &Transaction<'_>, step: usize, now: UnixMs) -> Result<(usize, u64), Broken> {
    let most = i64::try_from(step).unwrap_or(i64::MAX);
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/old_pages")).await?, &[&now.0, &most]).await?;
    let (mut kept, mut old): (Vec<i64>, Vec<(i64, Option<i64>)>) = (Vec::new(), Vec::new());
    for row in &rows {
        if row.get(2) { kept.push(row.get(0)) } else { old.push((row.get(0), row.get(1))) }
    }
    if !kept.is_empty() {
        keep_pages(tx, &kept, now).await?;
    }
    if old.is_empty() {
        return Ok((rows.len(), 0));
    }
    let bodies: Vec<i64> = old.iter().filter_map(|(_, body)| *body).collect();
    let locked = tx.query(&tx.prepare_cached(sql!("fetch/lock_bodies")).await?, &[&bodies]).await?;
    let locked: HashSet<i64> = locked.iter().map(|row| row.get(0)).collect();
    // A page whose body somebody holds waits, so that no body is ever left alone.
    old.retain(|(_, body)| body.is_none_or(|body| locked.contains(&body)));
    let pages: Vec<i64> = old.iter().map(|(page, _)| *page).collect();
    let gone = tx.execute(&tx.prepare_cached(sql!("fetch/drop_pages")).await?, &[&pages]).await?;
    let locked: Vec<i64> = locked.into_iter().collect();
    tx.execute(&tx.prepare_cached(sql!("fetch/drop_bodies")).await?, &[&locked]).await?;
    Ok((rows.len(), gone))
}
