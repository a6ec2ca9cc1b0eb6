//! What an operator changes about a lane.

use malla_queue::{Act, Error, GroupId, Lane, LaneChange, LaneKey, Result, Scope};

use super::lease::write_lane;
use super::tx::Tx;
use super::{read, sql};
use crate::place::{LaneState, regapped};

pub(super) struct Found {
    pub(super) id: i64,
    group: Option<GroupId>,
    pub(super) gap_ms: i64,
    /// What an operator asked for.
    pub(super) least_gap_ms: Option<i64>,
    pub(super) state: LaneState,
}

pub(super) fn find(tx: &Tx<'_>, key: &LaneKey) -> Result<Option<Found>> {
    tx.one(sql!("lane/find"), (key.as_str(),), |row| {
        let state = LaneState {
            paused: row.get(2)?,
            ceiling: row.get(3)?,
            running: row.get(5)?,
            next_start_at: row.get(6)?,
            ready_at: None,
        };
        let group = row.get::<_, Option<i64>>(1)?.map(GroupId);
        Ok(Found { id: row.get(0)?, group, gap_ms: row.get(4)?, state, least_gap_ms: row.get(7)? })
    })
}

/// Writes the change and the lane's new place in the line.
pub(super) fn write(tx: &mut Tx<'_>, found: Found, change: LaneChange) -> Result<()> {
    let Found { id, gap_ms, mut state, .. } = found;
    state.paused = change.paused.unwrap_or(state.paused);
    state.ceiling = change.ceiling.map_or(state.ceiling, i64::from);
    let asked_ms = change.gap_ms.map(|gap| i64::try_from(gap).unwrap_or(i64::MAX));
    let new_gap_ms = asked_ms.unwrap_or(gap_ms);
    state.next_start_at = regapped(state.next_start_at, gap_ms, new_gap_ms, tx.now.0);
    tx.run(sql!("lane/change"), (id, state.paused, state.ceiling, new_gap_ms, state.next_start_at, asked_ms))?;
    write_lane(tx, id, &state, tx.now.0)
}

/// Writes a pace that no operator asked for.
pub(super) fn set_pace(tx: &mut Tx<'_>, found: Found, gap_ms: i64, next_start_at: i64) -> Result<()> {
    let state = LaneState { next_start_at, ..found.state };
    tx.run(sql!("lane/retune"), (found.id, gap_ms))?;
    write_lane(tx, found.id, &state, tx.now.0)
}

pub(super) fn change(tx: &mut Tx<'_>, scope: &Scope, key: &LaneKey, change: LaneChange, act: &Act) -> Result<Lane> {
    let found = find(tx, key)?.filter(|found| scope.sees(found.group));
    let found = found.ok_or_else(|| Error::NotFound(format!("lane {key}")))?;
    let act = Act { group: found.group, ..act.clone() };
    tx.perform(&act, |tx| {
        write(tx, found, change)?;
        tx.rouse(key.room());
        read::lane(tx.conn, scope, key)
    })
}
