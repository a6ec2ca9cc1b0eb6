//! Ending what cannot end by itself, dropping what belongs to studies that are over, and forgetting the old.

use malla_analyze::Keep;
use malla_queue::Result;

use super::analyze_studies as studies;
use super::sql;
use super::tx::Tx;
use crate::analyze_ends::{end, is_suspect};

/// Rows with bytes that go in one step at most: to drop one, all its pages are read, and the other verbs wait for it.
const HEAVY_MAX: usize = 100;

/// One bounded step. Returns how many rows went or changed.
pub(super) fn sweep(tx: &mut Tx<'_>, keep: &Keep) -> Result<u64> {
    let ended = end_stuck(tx, keep)?;
    let before = tx.now.minus(keep.studies_for).0;
    let forgotten = tx.run(sql!("analyze/forget_old"), (before, keep.step))? as u64;
    Ok(ended + forgotten + drop_leftovers(tx, keep.step)?)
}

fn end_stuck(tx: &mut Tx<'_>, keep: &Keep) -> Result<u64> {
    let mut ended = 0;
    for mut study in studies::under_way(tx.conn, keep.step)? {
        let bad_tasks = tx.one(sql!("analyze/bad_tasks"), (study.id.lane().as_str(),), |row| row.get(0))?;
        if !is_suspect(&study, bad_tasks.unwrap_or(false), keep, tx.now) {
            continue;
        }
        let bad: Option<String> = tx.one(sql!("analyze/bad_task"), (study.id.0.0,), |row| row.get(0))?;
        if let Some((state, why)) = end(&study, bad.as_deref(), keep, tx.now) {
            studies::end(tx, &mut study, state, Some(why), None)?;
            ended += 1;
        }
    }
    Ok(ended)
}

fn drop_leftovers(tx: &Tx<'_>, step: usize) -> Result<u64> {
    let (mut gone, mut left) = (0, step);
    let studies: Vec<(i64, bool)> =
        tx.many(sql!("analyze/leftovers"), (step,), |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (id, forgotten) in studies {
        let heavy = [sql!("analyze/drop_waiting"), sql!("analyze/drop_dimensions"), sql!("analyze/drop_partials")];
        // What came is known as long as the study is: a batch that is sent again is told from a new one.
        let small = [sql!("analyze/drop_batches"), sql!("analyze/drop_parts"), sql!("analyze/drop_answers")];
        let small = small.into_iter().filter(|_| forgotten);
        for (drop, most) in heavy.map(|drop| (drop, HEAVY_MAX)).into_iter().chain(small.map(|drop| (drop, step))) {
            let most = most.min(left);
            let dropped = tx.run(drop, (id, most))?;
            gone += dropped as u64;
            left -= dropped;
            if dropped == most {
                return Ok(gone);
            }
        }
        let last = if forgotten { sql!("analyze/drop_study") } else { sql!("analyze/swept") };
        gone += tx.run(last, (id,))? as u64;
    }
    Ok(gone)
}
