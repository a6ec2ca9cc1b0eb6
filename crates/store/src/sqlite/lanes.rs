//! What an operator changes about a lane.

use malla_queue::{Act, Error, GroupId, Lane, LaneChange, LaneKey, Result, Scope, UnixMs};

use super::lease::write_lane;
use super::tx::Tx;
use super::{read, sql};
use crate::place::{LaneState, regapped};

pub(super) struct Found {
    pub(super) id: i64,
    group: Option<GroupId>,
    gap_ms: i64,
    state: LaneState,
    settled: bool,
}

impl Found {
    /// An operator has changed it.
    pub(super) fn settled(&self) -> bool {
        self.settled
    }

    pub(super) fn gap_ms(&self) -> u64 {
        u64::try_from(self.gap_ms).unwrap_or(0)
    }
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
        Ok(Found { id: row.get(0)?, group, gap_ms: row.get(4)?, state, settled: row.get(7)? })
    })
}

/// Writes the change and the lane's new place in the line.
pub(super) fn write(tx: &mut Tx<'_>, found: Found, change: LaneChange) -> Result<()> {
    let Found { id, gap_ms, mut state, .. } = found;
    state.paused = change.paused.unwrap_or(state.paused);
    state.ceiling = change.ceiling.map_or(state.ceiling, i64::from);
    let new_gap_ms = change.gap_ms.map_or(gap_ms, |gap| i64::try_from(gap).unwrap_or(i64::MAX));
    state.next_start_at = regapped(state.next_start_at, gap_ms, new_gap_ms, tx.now.0);
    tx.run(sql!("lane/change"), (id, state.paused, state.ceiling, new_gap_ms, state.next_start_at))?;
    write_lane(tx, id, &state, tx.now.0)
}

/// Writes another gap, which no operator asked for.
pub(super) fn set_gap(tx: &mut Tx<'_>, found: Found, gap_ms: u64) -> Result<()> {
    let Found { id, gap_ms: old_ms, mut state, .. } = found;
    let new_ms = i64::try_from(gap_ms).unwrap_or(i64::MAX);
    state.next_start_at = regapped(state.next_start_at, old_ms, new_ms, tx.now.0);
    tx.run(sql!("lane/retune"), (id, new_ms, state.next_start_at))?;
    write_lane(tx, id, &state, tx.now.0)
}

/// The lane starts nothing before.
pub(super) fn rest(tx: &mut Tx<'_>, key: &LaneKey, until: UnixMs) -> Result<()> {
    let Some(Found { id, mut state, .. }) = find(tx, key)? else { return Ok(()) };
    state.next_start_at = state.next_start_at.max(until.0);
    write_lane(tx, id, &state, tx.now.0)
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
