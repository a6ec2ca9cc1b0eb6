//! Devices of the fleet.

use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_fetch::{Device, DeviceId, Measures, NewDevice, OFFLINE_AFTER_MS};
use malla_queue::{Act, Ending, Error, Holder, LeaseToken, Result, Scope, TaskId, UnixMs};
use tokio_postgres::Row;

use super::act::Roused;
use super::fetch::begin;
use super::fetch_sites::leased;
use super::lease::UNFLUSHED;
use super::perform::{first_answer, settle};
use super::pool::Broken;
use super::{finish, read, sql};
use crate::fetch_rows::{DEVICES, DEVICES_MAX, DeviceRow, at_work, check_secret, device_left, plain, to_json};
use crate::listing::Builder;

pub(super) async fn join(client: &mut Object, new: &NewDevice, now: UnixMs) -> Result<Device, Broken> {
    check_secret(new, by_secret(client, &new.secret_hash).await?.as_ref())?;
    let (owner, group, about) = (plain(&new.owner), new.group.map(|group| group.0), to_json(&new.about));
    let silent_since = now.0 - OFFLINE_AFTER_MS;
    let statement = client.prepare_cached(sql!("fetch/join_device")).await?;
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
        [&new.name, &owner, &group, &new.secret_hash, &about, &now.0, &silent_since];
    match client.query_opt(&statement, &params).await? {
        Some(row) => get(client, &Scope::All, DeviceId(row.get(0))).await,
        None => Err(at_work(&named(client, &owner, &new.name).await?, now).into()),
    }
}

fn read_device(row: &Row) -> Result<Device, Broken> {
    let row = DeviceRow {
        id: row.get(0),
        name: row.get(1),
        owner: row.get(2),
        group: row.get(3),
        about: row.get(4),
        blocked: row.get(5),
        joined_at: row.get(6),
        seen_at: row.get(7),
        left: row.get(8),
        measures: row.get(9),
        tally: row.get(10),
    };
    Ok(row.read()?)
}

pub(super) async fn get(client: &impl GenericClient, scope: &Scope, id: DeviceId) -> Result<Device, Broken> {
    let select = concat!(include_str!("../../sql/both/fetch/device.sql"), " WHERE d.id = $1");
    let row = client.query_opt(&client.prepare_cached(select).await?, &[&id.0]).await?;
    let found = row.as_ref().map(read_device).transpose()?.filter(|device| scope.sees(device.group));
    Ok(found.ok_or_else(|| Error::NotFound(format!("device {}", id.0)))?)
}

async fn named(client: &impl GenericClient, owner: &str, name: &str) -> Result<Device, Broken> {
    let select = concat!(include_str!("../../sql/both/fetch/device.sql"), " WHERE d.owner = $1 AND d.name = $2");
    let row = client.query_opt(&client.prepare_cached(select).await?, &[&owner, &name]).await?;
    let found = row.as_ref().map(read_device).transpose()?;
    Ok(found.ok_or_else(|| Error::NotFound(format!("device {name}")))?)
}

pub(super) async fn by_secret(client: &impl GenericClient, hash: &[u8]) -> Result<Option<Device>, Broken> {
    let select = concat!(include_str!("../../sql/both/fetch/device.sql"), " WHERE d.secret_hash = $1");
    let row = client.query_opt(&client.prepare_cached(select).await?, &[&hash]).await?;
    row.as_ref().map(read_device).transpose()
}

/// Not flushed: a power cut only makes it look silent for a moment.
pub(super) async fn seen(client: &mut Object, id: DeviceId, measures: Measures, now: UnixMs) -> Result<bool, Broken> {
    let statement = client.prepare_cached(sql!("fetch/device_seen")).await?;
    let tx = client.transaction().await?;
    tx.batch_execute(UNFLUSHED).await?;
    let row = tx.query_opt(&statement, &[&id.0, &now.0, &to_json(&measures)]).await?;
    tx.commit().await?;
    Ok(row.is_some_and(|row| row.get(0)))
}

/// What it took since it joined goes back. Returns the rooms to rouse.
pub(super) async fn left(client: &mut Object, id: DeviceId, now: UnixMs) -> Result<Vec<String>, Broken> {
    let tx = begin(client).await?;
    let row = tx.query_opt(&tx.prepare_cached(sql!("fetch/device_joined")).await?, &[&id.0]).await?;
    let Some(row) = row else { return Ok(Vec::new()) };
    let rouse = take_back(&tx, id, row.get(0), now).await?;
    tx.execute(&tx.prepare_cached(sql!("fetch/device_left")).await?, &[&id.0]).await?;
    tx.commit().await?;
    Ok(rouse)
}

/// What it took since then goes back. Returns the rooms to rouse.
async fn take_back(tx: &Transaction<'_>, id: DeviceId, since: i64, now: UnixMs) -> Result<Vec<String>, Broken> {
    let holder = Holder::Device(id.0.to_string()).to_string();
    tx.query(&tx.prepare_cached(sql!("fetch/lock_held")).await?, &[&holder]).await?;
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/end_held")).await?, &[&holder, &now.0, &since]).await?;
    let held: Vec<LeaseToken> =
        rows.iter().map(|row| LeaseToken { task: TaskId(row.get(0)), nonce: row.get(1) }).collect();
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let held = leased(tx, &held).await?;
    let endings: Vec<(LeaseToken, Ending)> =
        held.iter().map(|(leased, gap_ms)| (leased.token, device_left(leased, *gap_ms, now))).collect();
    Ok(finish::take_back(tx, &endings, now).await?.rouse)
}

pub(super) async fn list(client: &impl GenericClient, scope: &Scope) -> Result<Vec<Device>, Broken> {
    let rows = read::query(client, &Builder::new('$').devices(scope, DEVICES_MAX)).await?;
    rows.iter().map(read_device).collect()
}

pub(super) async fn block(
    client: &mut Object,
    scope: &Scope,
    id: DeviceId,
    blocked: bool,
    act: &Act,
    now: UnixMs,
) -> Result<Roused<Device>, Broken> {
    let tx = begin(client).await?;
    let found = get(&tx, scope, id).await?;
    let act = Act { group: found.group, object: format!("device {}", found.name), ..act.clone() };
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok((answer, Vec::new()));
    }
    tx.execute(&tx.prepare_cached(sql!("fetch/block_device")).await?, &[&id.0, &blocked]).await?;
    let device = get(&tx, scope, id).await?;
    Ok((settle(tx, &act, now, "fetch", device).await?, vec![DEVICES.to_owned()]))
}
