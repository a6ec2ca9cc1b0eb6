//! Forgetting what is old, in bounded steps.

use std::sync::Arc;

use malla_queue::{LaneId, Result, Retention, TaskId};

use super::sql;
use super::tx::Tx;
use crate::codes::Code;
use crate::keeping::{Keeping, LOOKED_AT, ROUNDS_MAX};

/// What one step forgot.
pub(super) struct Gone {
    pub(super) count: u64,
    /// Whose words are to be forgotten too.
    pub(super) events: Vec<i64>,
}

pub(super) fn prune(tx: &mut Tx<'_>, retention: Retention) -> Result<Gone> {
    let keeping = Keeping::new(retention, tx.now);
    let audit = TaskId::first_at(tx.now.minus(retention.audit)).0;
    let unused = tx.now.minus(retention.tasks).0;
    let mut gone = prune_lanes(tx, unused, retention.step)?;
    gone += prune_tasks(tx, &keeping)?;
    gone += prune_kept_lanes(tx, &keeping)?;
    let events = prune_events(tx, &keeping)?;
    gone += events.len();
    gone += tx.run(sql!("prune/audit"), (audit, retention.step))?;
    gone += tx.run(sql!("prune/once"), (tx.now.0, retention.step))?;
    gone += tx.run(sql!("prune/sessions"), (tx.now.0, retention.step))?;
    Ok(Gone { count: gone as u64, events })
}

/// Finished tasks of lanes that have no retention of their own. Those that have are passed over, and where that ended is
/// remembered, so that a crowd of them at the front is not looked through each time.
fn prune_tasks(tx: &mut Tx<'_>, keeping: &Keeping) -> Result<usize> {
    let mut gone = 0;
    for code in [Code::Succeeded, Code::Failed, Code::Discarded] {
        for _ in 0..ROUNDS_MAX {
            if gone >= keeping.step {
                return Ok(gone);
            }
            let from = tx.pruned_to(code);
            let old = tx.many(sql!("prune/tasks"), (code as i64, from, keeping.tasks, keeping.step), |row| {
                let kind: Arc<str> = row.get::<_, String>(2)?.into();
                Ok((row.get::<_, i64>(0)?, LaneId(row.get(1)?), kind, row.get(3)?, row.get::<_, bool>(4)?))
            })?;
            let end = old.len() < keeping.step;
            tx.set_pruned_to(code, if end { 0 } else { old.last().map_or(0, |(id, ..)| *id) });
            for (id, lane, kind, group, _) in old.into_iter().filter(|(.., kept)| !kept) {
                forget_task(tx, id, lane, &kind, group, code)?;
                gone += 1;
            }
            if end {
                break;
            }
        }
    }
    Ok(gone)
}

fn forget_task(tx: &mut Tx<'_>, id: i64, lane: LaneId, kind: &Arc<str>, group: Option<i64>, code: Code) -> Result<()> {
    tx.run(sql!("prune/drop_task"), (id,))?;
    tx.count(lane, kind, group, Some(code), None);
    Ok(())
}

/// Finished tasks of lanes whose endpoint has a retention of its own.
fn prune_kept_lanes(tx: &mut Tx<'_>, keeping: &Keeping) -> Result<usize> {
    let lanes = tx.many(sql!("prune/lanes_kept"), (), |row| Ok((LaneId(row.get(0)?), row.get(1)?)))?;
    let mut gone = 0;
    for (lane, days) in lanes {
        let left = keeping.step.saturating_sub(gone);
        let row = (lane.0, keeping.after_days(days), keeping.step * LOOKED_AT, left);
        let old = tx.many(sql!("prune/tasks_of_lane"), row, |row| {
            let kind: Arc<str> = row.get::<_, String>(1)?.into();
            Ok((row.get(0)?, kind, row.get(2)?, Code::read(row.get(3)?)))
        })?;
        gone += old.len();
        for (id, kind, group, code) in old {
            forget_task(tx, id, lane, &kind, group, code)?;
        }
    }
    Ok(gone)
}

fn prune_events(tx: &Tx<'_>, keeping: &Keeping) -> Result<Vec<i64>> {
    let mut old: Vec<i64> = tx.many(sql!("prune/own_events"), (keeping.events, keeping.step), |row| row.get(0))?;
    let endpoints = tx.many(sql!("prune/event_endpoints"), (), |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))?;
    for (endpoint, days) in endpoints {
        let left = keeping.step.saturating_sub(old.len());
        let row = (endpoint, keeping.events_of(days), keeping.step * LOOKED_AT, left);
        old.extend(tx.many(sql!("prune/events"), row, |row| row.get::<_, i64>(0))?);
    }
    for id in &old {
        tx.run(sql!("prune/drop_event"), (id,))?;
    }
    Ok(old)
}

fn prune_lanes(tx: &mut Tx<'_>, unused_since: i64, step: usize) -> Result<usize> {
    let mut empty: Vec<i64> = tx.many(sql!("prune/lanes"), (unused_since, step), |row| row.get(0))?;
    // A lane whose counters this transaction has yet to write goes in the next step.
    empty.retain(|lane| !tx.counts_change(LaneId(*lane)));
    for lane in &empty {
        tx.run(sql!("prune/drop_lane"), (lane,))?;
        tx.run(sql!("prune/drop_lane_tally"), (lane,))?;
    }
    if !empty.is_empty() {
        tx.forget_lanes();
    }
    Ok(empty.len())
}
