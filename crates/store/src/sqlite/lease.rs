//! Taking and keeping leases.

use std::time::Duration;

use malla_queue::{
    Error, GroupId, Kind, LaneId, LaneKey, LeaseRequest, LeaseToken, Leased, Leases, Priority, Result, TaskId, UnixMs,
};

use super::sql;
use super::tx::Tx;
use crate::codes::read_retry;
use crate::nonces::nonces;
use crate::place::{LaneState, TURN};

/// Lanes that turn out to have nothing due are put right and passed over; after this many rounds the caller asks again.
const ROUNDS_MAX: usize = 4;

pub(super) fn lease(tx: &mut Tx<'_>, request: &LeaseRequest) -> Result<Leases> {
    let mut tasks = Vec::new();
    for room in &request.rooms {
        for round in 0..ROUNDS_MAX {
            let left = request.limit - tasks.len();
            // First from as few lanes as give each its turn; if those had fewer tasks, from more.
            let turn = request.run_max.max(TURN as usize);
            let lanes = if round == 0 && request.lanes.is_none() { left.div_ceil(turn) } else { left };
            if left == 0 || lease_round(tx, room.as_str(), lanes, left, request, &mut tasks)? == 0 {
                break;
            }
        }
    }
    let mut next_at = None;
    for room in &request.rooms {
        let at: Option<i64> = tx.one(sql!("lease/next_at"), (room.as_str(),), |row| row.get(0))?.flatten();
        next_at = [next_at, at.map(UnixMs)].into_iter().flatten().min();
    }
    Ok(Leases { tasks, next_at })
}

struct ReadyLane {
    id: i64,
    key: LaneKey,
    gap_ms: i64,
    state: LaneState,
}

fn ready_lane(row: &rusqlite::Row<'_>) -> rusqlite::Result<ReadyLane> {
    Ok(ReadyLane {
        id: row.get(0)?,
        key: LaneKey::trusted(row.get(1)?),
        gap_ms: row.get(3)?,
        state: LaneState {
            paused: false,
            ceiling: row.get(2)?,
            running: row.get(4)?,
            next_start_at: row.get(5)?,
            ready_at: None,
        },
    })
}

/// One walk over the lanes that are ready; returns how many lanes it saw.
fn lease_round(
    tx: &mut Tx<'_>,
    room: &str,
    lanes_max: usize,
    left: usize,
    request: &LeaseRequest,
    tasks: &mut Vec<Leased>,
) -> Result<usize> {
    let lanes = match &request.lanes {
        None => tx.many(sql!("lease/lanes"), (room, tx.now.0, lanes_max), ready_lane)?,
        Some(keys) => {
            let mut lanes = Vec::with_capacity(keys.len().min(lanes_max));
            for key in keys.iter().filter(|key| key.room() == room) {
                if lanes.len() < lanes_max {
                    lanes.extend(tx.one(sql!("lease/lane"), (key.as_str(), tx.now.0), ready_lane)?);
                }
            }
            lanes
        }
    };
    // Each lane gets an equal share, so that a long one leaves room for the others.
    let share = left.div_ceil(lanes.len().max(1));
    let end = tasks.len() + left;
    let seen = lanes.len();
    for lane in lanes {
        let most = share.min(end - tasks.len());
        if most == 0 {
            break;
        }
        lease_from(tx, lane, most, request, tasks)?;
    }
    Ok(seen)
}

fn lease_from(
    tx: &mut Tx<'_>,
    mut lane: ReadyLane,
    most: usize,
    request: &LeaseRequest,
    tasks: &mut Vec<Leased>,
) -> Result<()> {
    let most = most.min(lane.state.may_start(lane.gap_ms, request.run_max));
    let due = tx.many(sql!("lease/due"), (lane.id, tx.now.0, most), |row| {
        Ok((row.get::<_, i16>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    })?;
    let taken = i64::try_from(due.len()).unwrap_or(0);
    let nonces = nonces(due.len())?;
    if taken > 0 {
        lane.state.running += taken;
        lane.state.next_start_at = lane.state.next_start_at.max(tx.now.0 + lane.gap_ms);
    }
    for ((prio, run_at, task), nonce) in due.into_iter().zip(nonces) {
        tx.run(sql!("lease/drop_ready"), (lane.id, prio, run_at, task))?;
        tasks.push(take(tx, &lane, LeaseToken { task: TaskId(task), nonce }, prio, request)?);
    }
    write_lane(tx, lane.id, &lane.state, tx.now.0)
}

fn take(tx: &Tx<'_>, lane: &ReadyLane, token: LeaseToken, prio: i16, request: &LeaseRequest) -> Result<Leased> {
    type TaskRow = (String, Option<i64>, u32, Option<String>, Vec<u8>, Option<String>);
    let read = |row: &rusqlite::Row<'_>| -> rusqlite::Result<TaskRow> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
    };
    let (kind, group, failures, retry, payload, dedup) = tx
        .one(sql!("lease/read_task"), (token.task.0,), read)?
        .ok_or_else(|| Error::Internal(format!("task {} waits but is not there", token.task)))?;
    let (holder, expires_at) = (request.holder.to_string(), tx.now.plus(request.lease_for));
    let row = (token.task.0, lane.id, token.nonce, tx.now.0, expires_at.0, prio, &kind, group, &holder, dedup);
    tx.run(sql!("lease/add"), row)?;
    Ok(Leased {
        token,
        lane: lane.key.clone(),
        kind: Kind::new(kind),
        group: group.map(GroupId),
        priority: Priority::from_rank(prio),
        payload,
        retry: read_retry(retry.as_deref())?,
        failures,
        started_at: tx.now,
        expires_at,
        holder,
        awaited: lane.state.running >= lane.state.ceiling,
    })
}

/// Writes a lane whose running tasks or rest changed, with its new place in the line.
pub(super) fn write_lane(tx: &mut Tx<'_>, lane: i64, state: &LaneState, turn: i64) -> Result<()> {
    let earliest: Option<i64> = tx.one(sql!("lane/earliest"), (lane,), |row| row.get(0))?.flatten();
    let place = state.place(earliest, turn);
    tx.run(sql!("lane/write"), (lane, state.running, state.next_start_at, place, tx.now.0))?;
    tx.remember_place(LaneId(lane), place);
    Ok(())
}

pub(super) fn extend(tx: &mut Tx<'_>, tokens: &[LeaseToken], lease_for: Duration) -> Result<Vec<LeaseToken>> {
    let expires_at = tx.now.plus(lease_for).0;
    let mut lost = Vec::new();
    for token in tokens {
        if tx.run(sql!("lease/extend"), (token.task.0, token.nonce, expires_at))? == 0 {
            lost.push(*token);
        }
    }
    Ok(lost)
}
