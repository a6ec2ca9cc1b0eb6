//! Devices of the fleet.

use malla_fetch::{Device, DeviceId, Measures, NewDevice};
use malla_queue::{Act, Error, Holder, LeaseToken, Result, Scope, TaskId};
use rusqlite::{Connection, Row};

use super::fetch_sites::leased;
use super::tx::Tx;
use super::{finish, lanes, many, read, sql};
use crate::fetch_rows::{DEVICES_MAX, DeviceRow, device_left, plain, to_json};
use crate::listing::Builder;

pub(super) fn join(tx: &mut Tx<'_>, new: &NewDevice) -> Result<Device> {
    let group = new.group.map(|group| group.0);
    let row = (&new.name, plain(&new.owner), group, &new.secret_hash, to_json(&new.about), tx.now.0);
    let id = tx.one(sql!("fetch/join_device"), row, |row| row.get(0))?;
    let id = id.ok_or_else(|| Error::Internal("a device that joined is not there".into()))?;
    get(tx.conn, &Scope::All, DeviceId(id))
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

fn get(conn: &Connection, scope: &Scope, id: DeviceId) -> Result<Device> {
    let select = concat!(include_str!("../../sql/both/fetch/device.sql"), " WHERE d.id = ?1");
    let found = many(conn, select, (id.0,), read_device)?.pop().map(DeviceRow::read).transpose()?;
    let found = found.filter(|device| scope.sees(device.group));
    found.ok_or_else(|| Error::NotFound(format!("device {}", id.0)))
}

pub(super) fn by_secret(conn: &Connection, hash: &[u8]) -> Result<Option<Device>> {
    let select = concat!(include_str!("../../sql/both/fetch/device.sql"), " WHERE d.secret_hash = ?1");
    many(conn, select, (hash,), read_device)?.pop().map(DeviceRow::read).transpose()
}

pub(super) fn seen(tx: &Tx<'_>, id: DeviceId, measures: Measures) -> Result<()> {
    tx.run(sql!("fetch/device_seen"), (id.0, tx.now.0, to_json(&measures)))?;
    Ok(())
}

/// What it holds goes back.
pub(super) fn left(tx: &mut Tx<'_>, id: DeviceId) -> Result<()> {
    tx.run(sql!("fetch/device_left"), (id.0,))?;
    let holder = Holder::Device(id.0.to_string()).to_string();
    let tokens =
        tx.many(sql!("fetch/held"), (holder,), |row| Ok(LeaseToken { task: TaskId(row.get(0)?), nonce: row.get(1)? }))?;
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
        get(tx.conn, scope, id)
    })
}
