//! Forgetting what is old, in bounded steps.

use std::sync::Arc;

use malla_queue::{LaneId, Result, Retention, TaskId};

use super::sql;
use super::tx::Tx;
use crate::codes::Code;

pub(super) fn prune(tx: &mut Tx<'_>, retention: Retention) -> Result<u64> {
    let before = |age| TaskId::first_at(tx.now.minus(age)).0;
    let (tasks, events, audit) = (before(retention.tasks), before(retention.events), before(retention.audit));
    let unused = tx.now.minus(retention.tasks).0;
    let mut gone = prune_lanes(tx, unused, retention.step)?;
    gone += prune_tasks(tx, tasks, retention.step)?;
    gone += tx.run(sql!("prune/events"), (events, retention.step))?;
    gone += tx.run(sql!("prune/audit"), (audit, retention.step))?;
    gone += tx.run(sql!("prune/once"), (tx.now.0, retention.step))?;
    gone += tx.run(sql!("prune/sessions"), (tx.now.0, retention.step))?;
    Ok(gone as u64)
}

fn prune_tasks(tx: &mut Tx<'_>, before: i64, step: usize) -> Result<usize> {
    let old = tx.many(sql!("prune/tasks"), (before, step), |row| {
        let kind: Arc<str> = row.get::<_, String>(2)?.into();
        Ok((row.get::<_, i64>(0)?, LaneId(row.get(1)?), kind, row.get(3)?, Code::read(row.get(4)?)))
    })?;
    let gone = old.len();
    for (id, lane, kind, group, code) in old {
        tx.run(sql!("prune/drop_task"), (id,))?;
        tx.count(lane, &kind, group, Some(code), None);
    }
    Ok(gone)
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
