//! Subscriptions and their lanes. Who changes one locks its lane first, as taking events in does.

use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_notify::{
    DELIVER, EndpointId, NewSubscription, ROOM, Subscription, SubscriptionChange, SubscriptionState, lane_of,
};
use malla_queue::{Error, Kind, LaneChange, LaneKey, LaneSettings, Move, NewTask, Scope, UnixMs};
use tokio_postgres::Row;

use super::act::{Roused, STEP, lock_lane, move_tasks, write_lane};
use super::pool::Broken;
use super::submit::Columns;
use super::{notify_endpoints as endpoints, read, sql};
use crate::codes::write_retry;
use crate::listing::Builder;
use crate::notify_rows::{
    SWEEPER, SubscriptionRow, disable_first, lane_settings, state_code, still_swept, still_waiting, to_json,
};

pub(super) async fn create(
    tx: &Transaction<'_>,
    scope: &Scope,
    new: &NewSubscription,
    now: UnixMs,
) -> Result<Subscription, Broken> {
    let endpoint = endpoints::get(tx, scope, &new.endpoint).await?;
    let lane = make_lane(tx, new, now).await?;
    let (group, state) = (new.group.map(|g| g.0), state_code(new.state));
    let (spec, retry) = (to_json(&new.spec), write_retry(&new.spec.retry_delays()));
    let statement = tx.prepare_cached(sql!("notify/add_subscription")).await?;
    let row: [&(dyn tokio_postgres::types::ToSql + Sync); 8] =
        [&new.name, &endpoint.id.0, &group, &state, &spec, &retry, &lane, &now.0];
    if tx.execute(&statement, &row).await? == 0 {
        return Err(Error::Taken(format!("a subscription named {} exists already", new.name)).into());
    }
    raise_version(tx, endpoint.id).await?;
    get(tx, &Scope::All, &new.name).await
}

async fn raise_version(tx: &Transaction<'_>, endpoint: EndpointId) -> Result<(), Broken> {
    tx.execute(&tx.prepare_cached(sql!("notify/raise_version")).await?, &[&endpoint.0]).await?;
    Ok(())
}

/// The lane of a new subscription. One left over from a deleted subscription of that name is taken over.
async fn make_lane(tx: &Transaction<'_>, new: &NewSubscription, now: UnixMs) -> Result<i64, Broken> {
    let key = lane_of(&new.name);
    let group = new.group.map(|g| g.0);
    let settings = LaneSettings { ceiling: new.spec.parallel, gap_ms: 0 };
    // A task that would make the lane makes it, without being submitted.
    let first =
        NewTask { lane_settings: settings, lane_group: new.group, ..NewTask::new(key.clone(), Kind::new(DELIVER), "") };
    let mut columns = Columns::default();
    columns.push(&first, None, now);
    columns.lock_lanes(tx, now, &[]).await?;
    let row = locked(tx, &key).await?;
    let lane: i64 = row.get(0);
    tx.execute(&tx.prepare_cached(sql!("notify/take_lane")).await?, &[&lane, &group]).await?;
    let change = LaneChange { gap_ms: Some(0), ..lane_settings(new.state, &new.spec) };
    write_lane(tx, &row, change, now).await?;
    Ok(lane)
}

async fn locked(tx: &Transaction<'_>, key: &LaneKey) -> Result<Row, Broken> {
    Ok(lock_lane(tx, key).await?.ok_or_else(|| Error::Internal(format!("lane {key} is missing")))?)
}

pub(super) async fn change(
    tx: &Transaction<'_>,
    found: &Subscription,
    change: &SubscriptionChange,
    now: UnixMs,
) -> Result<Roused<Subscription>, Broken> {
    let state = change.state.unwrap_or(found.state);
    let spec = change.spec.as_ref().unwrap_or(&found.spec);
    let mut rouse = vec![ROOM.to_owned()];
    if found.state == SubscriptionState::Disabled && state != SubscriptionState::Disabled {
        // What waited when it was disabled must not go out when it is opened again.
        let lane: i64 = locked(tx, &found.lane()).await?.get(0);
        rouse.extend(sweep_lanes(tx, &[lane], STEP, now).await?.1);
        if !open_tasks(tx, &[lane], 1).await?.is_empty() {
            return Err(still_swept(found).into());
        }
    }
    let retry = write_retry(&spec.retry_delays());
    let statement = tx.prepare_cached(sql!("notify/change_subscription")).await?;
    tx.execute(&statement, &[&found.id.0, &state_code(state), &to_json(spec), &retry]).await?;
    raise_version(tx, found.endpoint).await?;
    let row = locked(tx, &found.lane()).await?;
    write_lane(tx, &row, lane_settings(state, spec), now).await?;
    Ok((get(tx, &Scope::All, &found.name).await?, rouse))
}

pub(super) async fn delete(tx: &Transaction<'_>, found: &Subscription) -> Result<(), Broken> {
    disable_first(found)?;
    let lane: i64 = locked(tx, &found.lane()).await?.get(0);
    let waiting: i64 = tx.query_one(sql!("notify/lane_waits"), &[&lane]).await?.get(0);
    still_waiting(found, waiting)?;
    tx.execute(sql!("notify/drop_subscription"), &[&found.id.0]).await?;
    raise_version(tx, found.endpoint).await?;
    // Its finished notifications refer to the lane: it goes when they are forgotten, or now if there are none.
    let empty: bool = tx.query_one(sql!("notify/lane_empty"), &[&lane]).await?.get(0);
    let leave = if empty { sql!("notify/drop_lane") } else { sql!("notify/leave_lane") };
    tx.execute(leave, &[&lane]).await?;
    Ok(())
}

/// As it is, with its lane locked: nobody changes it or sends to it meanwhile.
pub(super) async fn lock(tx: &Transaction<'_>, scope: &Scope, name: &str) -> Result<Option<Subscription>, Broken> {
    lock_lane(tx, &lane_of(name)).await?;
    Ok(find(tx, name).await?.filter(|found| scope.sees(found.group)))
}

pub(super) async fn get(client: &impl GenericClient, scope: &Scope, name: &str) -> Result<Subscription, Broken> {
    let found = find(client, name).await?.filter(|found| scope.sees(found.group));
    Ok(found.ok_or_else(|| Error::NotFound(format!("subscription {name}")))?)
}

async fn find(client: &impl GenericClient, name: &str) -> Result<Option<Subscription>, Broken> {
    let select = concat!(include_str!("../../sql/both/notify/subscription.sql"), " WHERE s.name = $1");
    let row = client.query_opt(&client.prepare_cached(select).await?, &[&name]).await?;
    Ok(row.as_ref().map(|row| read_subscription(row).read()).transpose()?)
}

pub(super) async fn list(
    client: &impl GenericClient,
    scope: &Scope,
    endpoint: Option<&str>,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Subscription>, Broken> {
    let rows = read::query(client, &Builder::new('$').subscriptions(scope, endpoint, after, limit)).await?;
    rows.iter().map(|row| Ok(read_subscription(row).read()?)).collect()
}

/// Those that get its events.
pub(super) async fn of_endpoint(
    client: &impl GenericClient,
    endpoint: EndpointId,
) -> Result<Vec<Subscription>, Broken> {
    let select = concat!(
        include_str!("../../sql/both/notify/subscription.sql"),
        " WHERE s.endpoint = $1 AND s.state <> 2 ORDER BY s.name"
    );
    let rows = client.query(&client.prepare_cached(select).await?, &[&endpoint.0]).await?;
    rows.iter().map(|row| Ok(read_subscription(row).read()?)).collect()
}

fn read_subscription(row: &Row) -> SubscriptionRow {
    SubscriptionRow {
        id: row.get(0),
        name: row.get(1),
        endpoint: row.get(2),
        endpoint_name: row.get(3),
        group: row.get(4),
        state: i64::from(row.get::<_, i16>(5)),
        spec: row.get(6),
        created_at: row.get(7),
        lane: row.get(8),
    }
}

pub(super) async fn sweep(client: &mut Object, limit: usize, now: UnixMs) -> Result<Roused<u64>, Broken> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = client.query(&client.prepare_cached(sql!("notify/lanes_to_sweep")).await?, &[&most]).await?;
    let lanes: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    if lanes.is_empty() {
        return Ok((0, Vec::new()));
    }
    let tx = client.transaction().await?;
    let swept = sweep_lanes(&tx, &lanes, limit, now).await?;
    tx.commit().await?;
    Ok(swept)
}

async fn open_tasks(tx: &Transaction<'_>, lanes: &[i64], limit: usize) -> Result<Vec<i64>, Broken> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(&tx.prepare_cached(sql!("notify/lanes_open")).await?, &[&lanes, &most]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

async fn sweep_lanes(tx: &Transaction<'_>, lanes: &[i64], limit: usize, now: UnixMs) -> Result<Roused<u64>, Broken> {
    let ids = open_tasks(tx, lanes, limit).await?;
    let moved = move_tasks(tx, &ids, Move::Discard, SWEEPER, now).await?;
    Ok((moved.count, moved.rouse))
}
