//! Ending what cannot end by itself, dropping what belongs to studies that are over, and forgetting the old.

use std::collections::HashSet;

use deadpool_postgres::{Object, Transaction};
use malla_analyze::Keep;
use malla_queue::UnixMs;

use super::analyze_studies as studies;
use super::fetch::begin;
use super::lease::UNFLUSHED;
use super::pool::Broken;
use super::sql;
use crate::analyze_ends::{end, is_suspect};
use crate::analyze_rows::int;

/// One bounded step. Returns how many rows went or changed. What somebody else has locked is left for the next step.
pub(super) async fn sweep(client: &mut Object, keep: &Keep, now: UnixMs) -> Result<u64, Broken> {
    let tx = begin(client).await?;
    tx.batch_execute(UNFLUSHED).await?;
    let step = int(keep.step as u64);
    let mut changed = end_stuck(&tx, keep, step, now).await?;
    let statement = tx.prepare_cached(sql!("analyze/forget_old")).await?;
    changed += tx.execute(&statement, &[&now.minus(keep.studies_for).0, &step]).await?;
    changed += drop_leftovers(&tx, step).await?;
    tx.commit().await?;
    Ok(changed)
}

async fn end_stuck(tx: &Transaction<'_>, keep: &Keep, step: i64, now: UnixMs) -> Result<u64, Broken> {
    let under_way = studies::under_way(tx, step).await?;
    if under_way.is_empty() {
        return Ok(0);
    }
    let lanes: Vec<String> = under_way.iter().map(|study| study.id.lane().as_str().to_owned()).collect();
    let rows = tx.query(&tx.prepare_cached(sql!("analyze/bad_tasks")).await?, &[&lanes]).await?;
    let bad: HashSet<String> = rows.iter().map(|row| row.get(0)).collect();
    let mut ended = 0;
    for (study, lane) in under_way.iter().zip(&lanes) {
        if !is_suspect(study, bad.contains(lane), keep, now) {
            continue;
        }
        // Behind its lock a batch and its task say the same.
        let Some(mut study) = studies::lock_if_free(tx, study.id).await? else { continue };
        let row = tx.query_opt(&tx.prepare_cached(sql!("analyze/bad_task")).await?, &[&study.id.0.0]).await?;
        if let Some((state, why)) = end(&study, row.as_ref().map(|row| row.get(0)), keep, now) {
            studies::end(tx, &mut study, state, Some(why), None, now).await?;
            ended += 1;
        }
    }
    Ok(ended)
}

async fn drop_leftovers(tx: &Transaction<'_>, step: i64) -> Result<u64, Broken> {
    let (mut gone, mut left) = (0, step);
    for study in tx.query(&tx.prepare_cached(sql!("analyze/leftovers")).await?, &[&step]).await? {
        let (id, forgotten): (i64, bool) = (study.get(0), study.get(1));
        let heavy = [sql!("analyze/drop_waiting"), sql!("analyze/drop_dimensions"), sql!("analyze/drop_partials")];
        // What came is known as long as the study is: a batch that is sent again is told from a new one.
        let small = [sql!("analyze/drop_batches"), sql!("analyze/drop_parts"), sql!("analyze/drop_answers")];
        for drop in heavy.into_iter().chain(small.into_iter().filter(|_| forgotten)) {
            let dropped = tx.execute(&tx.prepare_cached(drop).await?, &[&id, &left]).await?;
            gone += dropped;
            left -= i64::try_from(dropped).unwrap_or(left);
            if left == 0 {
                return Ok(gone);
            }
        }
        let last = if forgotten { sql!("analyze/drop_study") } else { sql!("analyze/swept") };
        gone += tx.execute(&tx.prepare_cached(last).await?, &[&id]).await?;
    }
    Ok(gone)
}
