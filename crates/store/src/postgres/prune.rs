//! Forgetting what is old, in bounded steps.

use std::sync::{Mutex, PoisonError};

use deadpool_postgres::Object;
use malla_queue::{Retention, TaskId, UnixMs};

use super::pool::Broken;
use super::{partitions, point, sql};
use crate::codes::{CODES, Code};
use crate::keeping::{Keeping, LOOKED_AT, ROUNDS_MAX};

/// Remembers how far the last step has looked through each final state; 0: to the end.
#[derive(Default)]
pub(super) struct Pruner {
    pruned_to: Mutex<[i64; CODES]>,
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Pruner {
    pub(super) async fn prune(&self, client: &mut Object, retention: Retention, now: UnixMs) -> Result<u64, Broken> {
        let keeping = Keeping::new(retention, now);
        let step = i32::try_from(retention.step).unwrap_or(i32::MAX);
        let unused = now.minus(retention.tasks).0;
        let lanes = client.prepare_cached(sql!("prune/lanes")).await?;
        let lanes: i64 = client.query_one(&lanes, &[&unused, &step]).await?.get(0);
        let mut gone = u64::try_from(lanes).unwrap_or(0);
        gone += self.prune_tasks(client, &keeping).await?;
        gone += prune_kept_lanes(client, &keeping).await?;
        gone += prune_events(client, &keeping).await?;
        let audit = TaskId::first_at(now.minus(retention.audit)).0;
        for (statement, edge) in
            [(sql!("prune/audit"), audit), (sql!("prune/once"), now.0), (sql!("prune/sessions"), now.0)]
        {
            let statement = client.prepare_cached(statement).await?;
            gone += client.execute(&statement, &[&edge, &number(retention.step)]).await?;
        }
        let statement = client.prepare_cached(sql!("prune/tokens")).await?;
        gone += client.execute(&statement, &[&number(retention.step)]).await?;
        point("prune", "inside");
        if gone == 0 {
            client.execute(sql!("prune/shelves"), &[]).await?;
            partitions::make_ahead(client, now).await?;
            partitions::drop_empty(client, keeping.tasks, keeping.events).await?;
        }
        Ok(gone)
    }

    /// Finished tasks of lanes that have no retention of their own. Those that have are passed over, and where that ended
    /// is remembered, so that a crowd of them at the front is not looked through each time.
    async fn prune_tasks(&self, client: &Object, keeping: &Keeping) -> Result<u64, Broken> {
        let statement = client.prepare_cached(sql!("prune/tasks")).await?;
        let mut gone = 0;
        for code in [Code::Succeeded, Code::Failed, Code::Discarded] {
            for _ in 0..ROUNDS_MAX {
                if gone >= keeping.step as u64 {
                    return Ok(gone);
                }
                let from = self.pruned_to.lock().unwrap_or_else(PoisonError::into_inner)[code as usize];
                let params: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                    [&(code as i16), &from, &keeping.tasks, &number(keeping.step)];
                let rows = client.query(&statement, &params).await?;
                let end = rows.len() < keeping.step;
                let last = rows.last().filter(|_| !end).map_or(0, |row| row.get(0));
                let old = rows.iter().filter(|row| !row.get::<_, bool>(4)).map(|row| row.get(0)).collect();
                gone += forget_tasks(client, old).await?;
                self.pruned_to.lock().unwrap_or_else(PoisonError::into_inner)[code as usize] = last;
                if end {
                    break;
                }
            }
        }
        Ok(gone)
    }
}

async fn forget_tasks(client: &Object, old: Vec<i64>) -> Result<u64, Broken> {
    if old.is_empty() {
        return Ok(0);
    }
    let statement = client.prepare_cached(sql!("prune/forget_tasks")).await?;
    let gone: i64 = client.query_one(&statement, &[&old]).await?.get(0);
    Ok(u64::try_from(gone).unwrap_or(0))
}

/// Finished tasks of lanes whose endpoint has a retention of its own.
async fn prune_kept_lanes(client: &Object, keeping: &Keeping) -> Result<u64, Broken> {
    let statement = client.prepare_cached(sql!("prune/tasks_of_lane")).await?;
    let mut old = Vec::new();
    for row in client.query(sql!("prune/lanes_kept"), &[]).await? {
        let (lane, edge) = (row.get::<_, i64>(0), keeping.after_days(row.get(1)));
        let left = number(keeping.step.saturating_sub(old.len()));
        let rows = client.query(&statement, &[&lane, &edge, &number(keeping.step * LOOKED_AT), &left]).await?;
        old.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
    }
    forget_tasks(client, old).await
}

async fn prune_events(client: &Object, keeping: &Keeping) -> Result<u64, Broken> {
    let statement = client.prepare_cached(sql!("prune/own_events")).await?;
    let rows = client.query(&statement, &[&keeping.events, &number(keeping.step)]).await?;
    let mut old: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let statement = client.prepare_cached(sql!("prune/events")).await?;
    for row in client.query(sql!("prune/event_endpoints"), &[]).await? {
        let (endpoint, edge) = (row.get::<_, i64>(0), keeping.events_of(row.get(1)));
        let left = number(keeping.step.saturating_sub(old.len()));
        let rows = client.query(&statement, &[&endpoint, &edge, &number(keeping.step * LOOKED_AT), &left]).await?;
        old.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
    }
    if old.is_empty() {
        return Ok(0);
    }
    let gone: i64 = client.query_one(&client.prepare_cached(sql!("prune/drop_events")).await?, &[&old]).await?.get(0);
    Ok(u64::try_from(gone).unwrap_or(0))
}
