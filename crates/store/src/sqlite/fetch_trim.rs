//! Forgetting: what is over the cache's bounds, old jobs, and pages that nobody needs any more.

use malla_fetch::{Keep, UrlKey};
use malla_queue::Result;

use super::fetch_pages::{keep_page, size, unshelve};
use super::sql;
use super::tx::Tx;
use crate::keeping::ROUNDS_MAX;

/// One bounded step. Returns how many rows went.
pub(super) fn trim(tx: &mut Tx<'_>, keep: &Keep) -> Result<u64> {
    let gone = trim_shelf(tx, keep)? + trim_jobs(tx, keep)? + trim_pages(tx, keep)? + trim_devices(tx, keep)?;
    let gone = gone + super::trust::trim(tx, keep.step)?;
    // All sites are looked through for it: only when nothing else is left to do.
    if gone > 0 { Ok(gone) } else { Ok(tx.run(sql!("fetch/drop_sites"), (keep.step,))? as u64) }
}

/// The least used leave first.
fn trim_shelf(tx: &Tx<'_>, keep: &Keep) -> Result<u64> {
    let now = size(tx.conn)?;
    let (mut entries, mut bytes) = (now.entries, now.bytes);
    let over = |entries: u64, bytes: u64| entries > keep.cache_entries_max || bytes > keep.cache_bytes_max;
    if !over(entries, bytes) {
        return Ok(0);
    }
    let oldest =
        tx.many(sql!("fetch/oldest_on_shelf"), (keep.step,), |row| Ok((UrlKey(row.get(0)?), row.get::<_, i64>(1)?)))?;
    let mut gone = 0;
    for (key, size) in oldest {
        if !over(entries, bytes) {
            break;
        }
        unshelve(tx, key)?;
        entries = entries.saturating_sub(1);
        bytes = bytes.saturating_sub(u64::try_from(size).unwrap_or(0));
        gone += 1;
    }
    Ok(gone)
}

fn trim_jobs(tx: &Tx<'_>, keep: &Keep) -> Result<u64> {
    let before = tx.now.minus(keep.jobs_for).0;
    let mut left = keep.step;
    let mut gone = 0;
    let old: Vec<i64> = tx.many(sql!("fetch/old_jobs"), (before, keep.step), |row| row.get(0))?;
    for job in old {
        let dropped = tx.run(sql!("fetch/drop_answers"), (job, left))?;
        gone += dropped as u64;
        left -= dropped;
        if left == 0 {
            break;
        }
        gone += tx.run(sql!("fetch/drop_job"), (job,))? as u64;
    }
    Ok(gone)
}

/// Pages that are neither on the shelf nor of late an answer. Those on the shelf are passed over.
fn trim_pages(tx: &Tx<'_>, keep: &Keep) -> Result<u64> {
    for _ in 0..ROUNDS_MAX {
        let (seen, gone) = trim_pages_round(tx, keep)?;
        if gone > 0 || seen < keep.step {
            return Ok(gone);
        }
    }
    Ok(0)
}

/// Returns how many pages it looked at, and how many went.
fn trim_pages_round(tx: &Tx<'_>, keep: &Keep) -> Result<(usize, u64)> {
    type Old = (i64, Option<i64>, bool);
    let read = |row: &rusqlite::Row<'_>| -> rusqlite::Result<Old> { Ok((row.get(0)?, row.get(1)?, row.get(2)?)) };
    let old = tx.many(sql!("fetch/old_pages"), (tx.now.0, keep.step), read)?;
    let (seen, mut gone) = (old.len(), 0);
    for (page, body, shelved) in old {
        if shelved {
            keep_page(tx, page)?;
            continue;
        }
        gone += tx.run(sql!("fetch/drop_page"), (page,))? as u64;
        if let Some(body) = body {
            tx.run(sql!("fetch/leave_body"), (body,))?;
            tx.run(sql!("fetch/drop_body"), (body,))?;
        }
    }
    Ok((seen, gone))
}

fn trim_devices(tx: &Tx<'_>, keep: &Keep) -> Result<u64> {
    let before = tx.now.minus(keep.devices_for).0;
    Ok(tx.run(sql!("fetch/drop_devices"), (before, keep.step))? as u64)
}
