//! Taking and keeping leases. What a power cut takes away here is done again, so nobody waits for the flush.

use std::collections::HashSet;
use std::time::Duration;

use deadpool_postgres::Object;
use malla_queue::{GroupId, Kind, LaneKey, LeaseRequest, LeaseToken, Leased, Leases, Priority, TaskId, UnixMs};
use tokio_postgres::Row;

use super::pool::Broken;
use super::sql;
use crate::codes::read_retry;
use crate::nonces::nonces;
use crate::place::TURN;

/// Not flushed: `synchronous_commit` is off for this transaction alone.
pub(super) const UNFLUSHED: &str = "SET LOCAL synchronous_commit = off";

pub(super) async fn lease(client: &mut Object, request: &LeaseRequest, now: UnixMs) -> Result<Leases, Broken> {
    let take = client.prepare_cached(sql!("lease/take")).await?;
    let next = client.prepare_cached(sql!("lease/next_at")).await?;
    let expires_at = now.plus(request.lease_for);
    let holder = request.holder.to_string();
    let rooms: Vec<&str> = request.rooms.iter().map(malla_queue::Room::as_str).collect();
    let keys: Option<Vec<&str>> = request.lanes.as_ref().map(|keys| keys.iter().map(LaneKey::as_str).collect());
    let run_max = i32::try_from(request.run_max).unwrap_or(i32::MAX);
    let turn = run_max.max(TURN);
    let mut tasks: Vec<Leased> = Vec::new();
    let tx = client.transaction().await?;
    tx.batch_execute(UNFLUSHED).await?;
    for room in &rooms {
        let left = request.limit - tasks.len();
        if left == 0 {
            break;
        }
        let nonces = nonces(left)?;
        let most = i32::try_from(left).unwrap_or(i32::MAX);
        let rows =
            tx.query(&take, &[room, &most, &turn, &run_max, &keys, &now.0, &expires_at.0, &holder, &nonces]).await?;
        for row in &rows {
            tasks.push(read_leased(row, now, expires_at, &holder)?);
        }
    }
    let next_at: Option<i64> = tx.query_one(&next, &[&rooms]).await?.get(0);
    crate::crashing::point("lease", "inside");
    tx.commit().await?;
    Ok(Leases { tasks, next_at: next_at.map(UnixMs) })
}

fn read_leased(row: &Row, now: UnixMs, expires_at: UnixMs, holder: &str) -> Result<Leased, Broken> {
    Ok(Leased {
        token: LeaseToken { task: TaskId(row.get(0)), nonce: row.get(1) },
        lane: LaneKey::trusted(row.get(2)),
        kind: Kind::new(row.get::<_, String>(3)),
        group: row.get::<_, Option<i64>>(4).map(GroupId),
        priority: Priority::from_rank(row.get(5)),
        failures: u32::try_from(row.get::<_, i32>(6)).unwrap_or(0),
        retry: read_retry(row.get(7))?,
        payload: row.get(8),
        started_at: now,
        expires_at,
        holder: holder.to_owned(),
        awaited: true,
    })
}

pub(super) async fn extend(
    client: &mut Object,
    tokens: &[LeaseToken],
    lease_for: Duration,
    now: UnixMs,
) -> Result<Vec<LeaseToken>, Broken> {
    let statement = client.prepare_cached(sql!("lease/extend")).await?;
    let (tasks, nonces): (Vec<i64>, Vec<i64>) = tokens.iter().map(|token| (token.task.0, token.nonce)).unzip();
    let tx = client.transaction().await?;
    tx.batch_execute(UNFLUSHED).await?;
    let rows = tx.query(&statement, &[&tasks, &nonces, &now.plus(lease_for).0]).await?;
    tx.commit().await?;
    let kept: HashSet<LeaseToken> =
        rows.iter().map(|row| LeaseToken { task: TaskId(row.get(0)), nonce: row.get(1) }).collect();
    Ok(tokens.iter().filter(|token| !kept.contains(token)).copied().collect())
}
