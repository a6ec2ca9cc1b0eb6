//! Devices of the fleet.

use deadpool_postgres::{GenericClient, Object};
use malla_fetch::{Device, DeviceId, Measures, NewDevice};
use malla_queue::{Act, Ending, Error, Holder, LeaseToken, Result, Scope, TaskId, UnixMs};
use tokio_postgres::Row;

use super::fetch::begin;
use super::fetch_sites::leased;
use super::lease::UNFLUSHED;
use super::perform::{first_answer, settle};
use super::pool::Broken;
use super::{finish, read, sql};
use crate::fetch_rows::{DEVICES_MAX, DeviceRow, device_left, plain, to_json};
use crate::listing::Builder;

pub(super) async fn join(client: &mut Object, new: &NewDevice, now: UnixMs) -> Result<Device, Broken> {
    let group = new.group.map(|group| group.0);
    let statement = client.prepare_cached(sql!("fetch/join_device")).await?;
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
        [&new.name, &plain(&new.owner), &group, &new.secret_hash, &to_json(&new.about), &now.0];
    let id = client.query_one(&statement, &params).await?.get(0);
    get(client, &Scope::All, DeviceId(id)).await
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

async fn get(client: &impl GenericClient, scope: &Scope, id: DeviceId) -> Result<Device, Broken> {
    let select = concat!(include_str!("../../sql/both/fetch/device.sql"), " WHERE d.id = $1");
    let row = client.query_opt(&client.prepare_cached(select).await?, &[&id.0]).await?;
    let found = row.as_ref().map(read_device).transpose()?.filter(|device| scope.sees(device.group));
    Ok(found.ok_or_else(|| Error::NotFound(format!("device {}", id.0)))?)
}

pub(super) async fn by_secret(client: &impl GenericClient, hash: &[u8]) -> Result<Option<Device>, Broken> {
    let select = concat!(include_str!("../../sql/both/fetch/device.sql"), " WHERE d.secret_hash = $1");
    let row = client.query_opt(&client.prepare_cached(select).await?, &[&hash]).await?;
    row.as_ref().map(read_device).transpose()
}

/// Not flushed: a power cut only makes it look silent for a moment.
pub(super) async fn seen(client: &mut Object, id: DeviceId, measures: Measures, now: UnixMs) -> Result<(), Broken> {
    let statement = client.prepare_cached(sql!("fetch/device_seen")).await?;
    let tx = client.transaction().await?;
    tx.batch_execute(UNFLUSHED).await?;
    tx.execute(&statement, &[&id.0, &now.0, &to_json(&measures)]).await?;
    tx.commit().await?;
    Ok(())
}

/// What it holds goes back. Returns the rooms to rouse.
pub(super) async fn left(client: &mut Object, id: DeviceId, now: UnixMs) -> Result<Vec<String>, Broken> {
    let holder = Holder::Device(id.0.to_string()).to_string();
    let tx = begin(client).await?;
    tx.query(&tx.prepare_cached(sql!("fetch/lock_held")).await?, &[&holder]).await?;
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/end_held")).await?, &[&holder, &now.0]).await?;
    let held: Vec<LeaseToken> =
        rows.iter().map(|row| LeaseToken { task: TaskId(row.get(0)), nonce: row.get(1) }).collect();
    let mut rouse = Vec::new();
    if !held.is_empty() {
        let held = leased(&tx, &held).await?;
        let endings: Vec<(LeaseToken, Ending)> =
            held.iter().map(|(leased, gap_ms)| (leased.token, device_left(leased, *gap_ms, now))).collect();
        rouse = finish::take_back(&tx, &endings, now).await?.rouse;
    }
    tx.execute(&tx.prepare_cached(sql!("fetch/device_left")).await?, &[&id.0]).await?;
    tx.commit().await?;
    Ok(rouse)
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
) -> Result<Device, Broken> {
    let tx = client.transaction().await?;
    let found = get(&tx, scope, id).await?;
    let act = Act { group: found.group, object: format!("device {}", found.name), ..act.clone() };
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok(answer);
    }
    tx.execute(&tx.prepare_cached(sql!("fetch/block_device")).await?, &[&id.0, &blocked]).await?;
    let device = get(&tx, scope, id).await?;
    settle(tx, &act, now, "fetch", device).await
}
