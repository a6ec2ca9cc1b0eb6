//! Devices of the fleet.

use malla_fetch::{Device, DeviceId, Measures, NewDevice, OFFLINE_AFTER_MS};
use malla_queue::{Act, Error, Holder, LeaseToken, Result, Scope, TaskId};
use rusqlite::{Connection, Row};

use super::fetch_sites::leased;
use super::tx::Tx;
use super::{finish, lanes, many, read, sql};
use crate::fetch_rows::{DEVICES, DEVICES_MAX, DeviceRow, at_work, check_secret, device_left, plain, to_json};
use crate::listing::Builder;

pub(super) fn join(tx: &mut Tx<'_>, new: &NewDevice) -> Result<Device> {
    check_secret(new, by_secret(tx.conn, &new.secret_hash)?.as_ref())?;
    let (owner, group, about) = (plain(&new.owner), new.group.map(|group| group.0), to_json(&new.about));
    let row = (&new.name, &owner, group, &new.secret_hash, about, tx.now.0, tx.now.0 - OFFLINE_AFTER_MS);
    match tx.one(sql!("fetch/join_device"), row, |row| row.get(0))? {
        Some(id) => get(tx.conn, &Scope::All, DeviceId(id)),
        None => Err(at_work(&named(tx.conn, &owner, &new.name)?, tx.now)),
    }
}

fn read_device(row: &Row<'_>) -> rusqlite::Result<DeviceRow> {
    Ok(DeviceRow {
        id: row.get(0)?,
        name: row.get(1)?,
        owner: row.get(2)?,
        group: row.get(3)?,
        about: row.get(4)?,
        blocked: row.get(5)?,
        joined_at: row.get(6)?,
        seen_at: row.get(7)?,
        left: row.get(8)?,
        measures: row.get(9)?,
        tally: row.get(10)?,
    })
}

pub(super) fn get(conn: &Connection, scope: &Scope, id: DeviceId) -> Result<Device> {
    let select = concat!(include_str!("../../sql/both/fetch/device.sql"), " WHERE d.id = ?1");
    let found = many(conn, select, (id.0,), read_device)?.pop().map(DeviceRow::read).transpose()?;
    let found = found.filter(|device| scope.sees(device.group));
    found.ok_or_else(|| Error::NotFound(format!("device {}", id.0)))
}

fn named(conn: &Connection, owner: &str, name: &str) -> Result<Device> {
    let select = concat!(include_str!("../../sql/both/fetch/device.sql"), " WHERE d.owner = ?1 AND d.name = ?2");
    let found = many(conn, select, (owner, name), read_device)?.pop().map(DeviceRow::read).transpose()?;
    found.ok_or_else(|| Error::NotFound(format!("device {name}")))
}

pub(super) fn by_secret(conn: &Connection, hash: &[u8]) -> Result<Option<Device>> {
    let select = concat!(include_str!("../../sql/both/fetch/device.sql"), " WHERE d.secret_hash = ?1");
    many(conn, select, (hash,), read_device)?.pop().map(DeviceRow::read).transpose()
}

pub(super) fn seen(tx: &Tx<'_>, id: DeviceId, measures: Measures) -> Result<bool> {
    let blocked = tx.one(sql!("fetch/device_seen"), (id.0, tx.now.0, to_json(&measures)), |row| row.get(0))?;
    Ok(blocked.unwrap_or(false))
}

/// What it took since it joined goes back.
pub(super) fn left(tx: &mut Tx<'_>, id: DeviceId) -> Result<()> {
    match tx.one(sql!("fetch/device_left"), (id.0,), |row| row.get(0))? {
        Some(joined_at) => take_back(tx, id, joined_at),
        None => Ok(()),
    }
}

/// What it took since then goes back.
fn take_back(tx: &mut Tx<'_>, id: DeviceId, since: i64) -> Result<()> {
    let holder = Holder::Device(id.0.to_string()).to_string();
    let read = |row: &Row<'_>| Ok(LeaseToken { task: TaskId(row.get(0)?), nonce: row.get(1)? });
    let tokens = tx.many(sql!("fetch/held"), (holder, since), read)?;
    let mut endings = Vec::with_capacity(tokens.len());
    for leased in leased(tx.conn, &tokens)? {
        let gap_ms = lanes::find(tx, &leased.lane)?.map_or(0, |found| found.gap_ms);
        endings.push((leased.token, device_left(&leased, gap_ms, tx.now)));
    }
    finish::take_back(tx, &endings)
}

pub(super) fn list(conn: &Connection, scope: &Scope) -> Result<Vec<Device>> {
    let rows = read::query(conn, Builder::new('?').devices(scope, DEVICES_MAX), read_device)?;
    rows.into_iter().map(DeviceRow::read).collect()
}

pub(super) fn block(tx: &mut Tx<'_>, scope: &Scope, id: DeviceId, blocked: bool, act: &Act) -> Result<Device> {
    let found = get(tx.conn, scope, id)?;
    let act = Act { group: found.group, object: format!("device {}", found.name), ..act.clone() };
    tx.perform(&act, |tx| {
        tx.run(sql!("fetch/block_device"), (id.0, blocked))?;
        tx.rouse(DEVICES);
        get(tx.conn, scope, id)
    })
}
