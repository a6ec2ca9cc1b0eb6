//! What an operator changes about a lane.

use malla_queue::{Act, Error, GroupId, Lane, LaneChange, LaneKey, Result, Scope};

use super::lease::write_lane;
use super::tx::Tx;
use super::{read, sql};
use crate::place::{LaneState, regapped};

pub(super) fn change(tx: &mut Tx<'_>, scope: &Scope, key: &LaneKey, change: LaneChange, act: &Act) -> Result<Lane> {
    let found = tx.one(sql!("lane/find"), (key.as_str(),), |row| {
        let state = LaneState {
            paused: row.get(2)?,
            ceiling: row.get(3)?,
            running: row.get(5)?,
            next_start_at: row.get(6)?,
            ready_at: None,
        };
        Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?.map(GroupId), row.get::<_, i64>(4)?, state))
    })?;
    let (lane, group, gap_ms, mut state) =
        found.filter(|(_, group, ..)| scope.sees(*group)).ok_or_else(|| Error::NotFound(format!("lane {key}")))?;
    let act = Act { group, ..act.clone() };
    tx.perform(&act, |tx| {
        state.paused = change.paused.unwrap_or(state.paused);
        state.ceiling = change.ceiling.map_or(state.ceiling, i64::from);
        let new_gap_ms = change.gap_ms.map_or(gap_ms, |gap| i64::try_from(gap).unwrap_or(i64::MAX));
        state.next_start_at = regapped(state.next_start_at, gap_ms, new_gap_ms, tx.now.0);
        tx.run(sql!("lane/change"), (lane, state.paused, state.ceiling, new_gap_ms, state.next_start_at))?;
        write_lane(tx, lane, &state, tx.now.0)?;
        tx.rouse(key.room());
        read::lane(tx.conn, scope, key)
    })
}
