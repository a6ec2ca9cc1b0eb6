//! Subscriptions and their lanes.

use malla_notify::{EndpointId, NewSubscription, ROOM, Subscription, SubscriptionChange, SubscriptionState, lane_of};
use malla_queue::{Act, Error, LaneChange, LaneId, LaneKey, Move, Result, Scope, TaskId};
use rusqlite::{Connection, Row};

use super::act::{STEP, move_each};
use super::tx::Tx;
use super::{lanes, many, notify_endpoints as endpoints, read, routes, sql};
use crate::codes::{Code, write_retry};
use crate::listing::Builder;
use crate::notify_rows::{
    SWEEPER, SubscriptionRow, disable_first, lane_settings, state_code, still_swept, still_waiting, to_json,
};

pub(super) fn create(tx: &mut Tx<'_>, scope: &Scope, new: &NewSubscription, act: &Act) -> Result<Subscription> {
    let act = Act { group: new.group, ..act.clone() };
    tx.perform(&act, |tx| {
        let endpoint = endpoints::get(tx.conn, scope, &new.endpoint)?;
        if find(tx.conn, &new.name)?.is_some() {
            return Err(Error::Taken(format!("a subscription named {} exists already", new.name)));
        }
        let lane = make_lane(tx, new)?;
        let (group, state, spec) = (new.group.map(|g| g.0), state_code(new.state), &new.spec);
        let retry = write_retry(&spec.retry_delays());
        let row = (&new.name, endpoint.id.0, group, state, to_json(spec), retry, lane, tx.now.0);
        tx.run(sql!("notify/add_subscription"), row)?;
        tx.run(sql!("notify/raise_version"), (endpoint.id.0,))?;
        routes::changed(tx, endpoint.id.0, None);
        get(tx.conn, &Scope::All, &new.name)
    })
}

/// The lane of a new subscription. One left over from a deleted subscription of that name is taken over.
fn make_lane(tx: &mut Tx<'_>, new: &NewSubscription) -> Result<i64> {
    let key = lane_of(&new.name);
    let (group, ceiling) = (new.group.map(|g| g.0), new.spec.parallel);
    if lanes::find(tx, &key)?.is_none() {
        tx.run(sql!("submit/add_lane"), (key.as_str(), ROOM, group, ceiling, 0, tx.now.0))?;
    }
    let found = lanes::find(tx, &key)?.ok_or_else(|| Error::Internal(format!("lane {key} vanished")))?;
    let lane = found.id;
    tx.run(sql!("notify/take_lane"), (lane, group))?;
    lanes::write(tx, found, LaneChange { gap_ms: Some(0), ..lane_settings(new.state, &new.spec) })?;
    Ok(lane)
}

pub(super) fn change(
    tx: &mut Tx<'_>,
    scope: &Scope,
    name: &str,
    change: &SubscriptionChange,
    act: &Act,
) -> Result<Subscription> {
    let found = find(tx.conn, name)?.filter(|(found, _)| scope.sees(found.group));
    let act = Act { group: found.as_ref().and_then(|(found, _)| found.group), ..act.clone() };
    tx.perform(&act, |tx| {
        let (found, lane) = found.ok_or_else(|| Error::NotFound(format!("subscription {name}")))?;
        let state = change.state.unwrap_or(found.state);
        let spec = change.spec.as_ref().unwrap_or(&found.spec);
        if found.state == SubscriptionState::Disabled && state != SubscriptionState::Disabled {
            nothing_is_left(tx, &found, lane)?;
        }
        let row = (found.id.0, state_code(state), to_json(spec), write_retry(&spec.retry_delays()));
        tx.run(sql!("notify/change_subscription"), row)?;
        tx.run(sql!("notify/raise_version"), (found.endpoint.0,))?;
        set_lane(tx, &found.lane(), lane_settings(state, spec))?;
        routes::changed(tx, found.endpoint.0, Some(found.id));
        get(tx.conn, scope, name)
    })
}

fn set_lane(tx: &mut Tx<'_>, key: &LaneKey, change: LaneChange) -> Result<()> {
    let found = lanes::find(tx, key)?.ok_or_else(|| Error::Internal(format!("lane {key} is missing")))?;
    lanes::write(tx, found, change)?;
    tx.rouse(ROOM);
    Ok(())
}

/// What waited when it was disabled must not go out when it is opened again.
fn nothing_is_left(tx: &mut Tx<'_>, found: &Subscription, lane: i64) -> Result<()> {
    sweep_lane(tx, lane, STEP)?;
    if tx.many(sql!("notify/lane_open"), (lane, 1), |_| Ok(()))?.is_empty() {
        return Ok(());
    }
    Err(still_swept(found))
}

pub(super) fn delete(tx: &mut Tx<'_>, scope: &Scope, name: &str, act: &Act) -> Result<()> {
    let found = find(tx.conn, name)?.filter(|(found, _)| scope.sees(found.group));
    let act = Act { group: found.as_ref().and_then(|(found, _)| found.group), ..act.clone() };
    tx.perform(&act, |tx| {
        let (found, lane) = found.ok_or_else(|| Error::NotFound(format!("subscription {name}")))?;
        disable_first(&found)?;
        still_waiting(&found, waiting(tx, LaneId(lane))?)?;
        tx.run(sql!("notify/drop_subscription"), (found.id.0,))?;
        tx.run(sql!("notify/raise_version"), (found.endpoint.0,))?;
        leave_lane(tx, LaneId(lane))?;
        routes::changed(tx, found.endpoint.0, Some(found.id));
        Ok(())
    })
}

/// Its notifications that wait, run, are paused or await their confirmation, from the counters.
fn waiting(tx: &Tx<'_>, lane: LaneId) -> Result<i64> {
    let written = tx.one(sql!("notify/lane_waits"), (lane.0,), |row| row.get::<_, Option<i64>>(0))?.flatten();
    let unwritten: i64 = [Code::Open, Code::Paused, Code::Notified].map(|code| tx.unwritten(lane, code)).iter().sum();
    Ok(written.unwrap_or(0) + unwritten)
}

/// Its finished notifications refer to the lane: it goes when they are forgotten, or now if there are none.
fn leave_lane(tx: &mut Tx<'_>, lane: LaneId) -> Result<()> {
    let empty = tx.one(sql!("notify/lane_empty"), (lane.0,), |row| row.get(0))? == Some(true);
    if empty && !tx.counts_change(lane) {
        tx.run(sql!("prune/drop_lane"), (lane.0,))?;
        tx.run(sql!("prune/drop_lane_tally"), (lane.0,))?;
        tx.forget_lanes();
    } else {
        tx.run(sql!("notify/leave_lane"), (lane.0,))?;
    }
    Ok(())
}

pub(super) fn get(conn: &Connection, scope: &Scope, name: &str) -> Result<Subscription> {
    find(conn, name)?
        .map(|(found, _)| found)
        .filter(|found| scope.sees(found.group))
        .ok_or_else(|| Error::NotFound(format!("subscription {name}")))
}

/// With the number of its lane.
fn find(conn: &Connection, name: &str) -> Result<Option<(Subscription, i64)>> {
    let select = concat!(include_str!("../../sql/both/notify/subscription.sql"), " WHERE s.name = ?1");
    let row = many(conn, select, (name,), read_subscription)?.pop();
    row.map(|row| Ok((row.lane, row.read()?))).transpose().map(|found| found.map(|(lane, found)| (found, lane)))
}

pub(super) fn list(
    conn: &Connection,
    scope: &Scope,
    endpoint: Option<&str>,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Subscription>> {
    let statement = Builder::new('?').subscriptions(scope, endpoint, after, limit);
    let rows = read::query(conn, statement, read_subscription)?;
    rows.into_iter().map(SubscriptionRow::read).collect()
}

/// Those that get its events.
pub(super) fn of_endpoint(conn: &Connection, endpoint: EndpointId) -> Result<Vec<Subscription>> {
    let select = concat!(
        include_str!("../../sql/both/notify/subscription.sql"),
        " WHERE s.endpoint = ?1 AND s.state <> 2 ORDER BY s.name"
    );
    many(conn, select, (endpoint.0,), read_subscription)?.into_iter().map(SubscriptionRow::read).collect()
}

fn read_subscription(row: &Row<'_>) -> rusqlite::Result<SubscriptionRow> {
    Ok(SubscriptionRow {
        id: row.get(0)?,
        name: row.get(1)?,
        endpoint: row.get(2)?,
        endpoint_name: row.get(3)?,
        group: row.get(4)?,
        state: row.get(5)?,
        spec: row.get(6)?,
        created_at: row.get(7)?,
        lane: row.get(8)?,
    })
}

/// Lanes of disabled subscriptions in which something waits.
pub(super) fn lanes_to_sweep(conn: &Connection, limit: usize) -> Result<Vec<i64>> {
    many(conn, sql!("notify/lanes_to_sweep"), (limit,), |row| row.get(0))
}

pub(super) fn sweep(tx: &mut Tx<'_>, limit: usize) -> Result<u64> {
    let mut swept = 0;
    for lane in lanes_to_sweep(tx.conn, limit)? {
        swept += sweep_lane(tx, lane, limit - usize::try_from(swept).unwrap_or(limit))?;
        if swept >= limit as u64 {
            break;
        }
    }
    Ok(swept)
}

fn sweep_lane(tx: &mut Tx<'_>, lane: i64, limit: usize) -> Result<u64> {
    let ids: Vec<TaskId> = tx.many(sql!("notify/lane_open"), (lane, limit), |row| row.get(0).map(TaskId))?;
    move_each(tx, &ids, Move::Discard, SWEEPER)
}
