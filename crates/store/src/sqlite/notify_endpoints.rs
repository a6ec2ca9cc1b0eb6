//! Endpoints.

use malla_notify::{Endpoint, EndpointOptions, NewEndpoint, Route};
use malla_queue::{Act, Error, Result, Scope};
use rusqlite::{Connection, Row};

use super::tx::Tx;
use super::{many, notify_subscriptions as subscriptions, read, routes, sql};
use crate::listing::Builder;
use crate::notify_rows::{EndpointRow, not_system, sees, to_json};

pub(super) fn create(tx: &mut Tx<'_>, new: &NewEndpoint, act: &Act) -> Result<Endpoint> {
    let act = Act { group: new.group, ..act.clone() };
    tx.perform(&act, |tx| {
        if find(tx.conn, &new.name)?.is_some() {
            return Err(Error::Taken(format!("an endpoint named {} exists already", new.name)));
        }
        let group = new.group.map(|g| g.0);
        let row = (&new.name, group, to_json(&new.options), new.options.retention_days, tx.now.0);
        tx.run(sql!("notify/add_endpoint"), row)?;
        let made = get(tx.conn, &Scope::All, &new.name)?;
        routes::changed(tx, made.id.0, None);
        Ok(made)
    })
}

pub(super) fn change(
    tx: &mut Tx<'_>,
    scope: &Scope,
    name: &str,
    options: Option<&EndpointOptions>,
    act: &Act,
) -> Result<Endpoint> {
    let found = find(tx.conn, name)?.filter(|found| sees(scope, found));
    let act = Act { group: found.as_ref().and_then(|found| found.group), ..act.clone() };
    tx.perform(&act, |tx| {
        let found = found.ok_or_else(|| Error::NotFound(format!("endpoint {name}")))?;
        not_system(&found, "changed")?;
        let options = options.unwrap_or(&found.options);
        tx.run(sql!("notify/change_endpoint"), (found.id.0, to_json(options), options.retention_days))?;
        routes::changed(tx, found.id.0, None);
        get(tx.conn, scope, name)
    })
}

pub(super) fn delete(tx: &mut Tx<'_>, scope: &Scope, name: &str, act: &Act) -> Result<()> {
    let found = find(tx.conn, name)?.filter(|found| sees(scope, found));
    let act = Act { group: found.as_ref().and_then(|found| found.group), ..act.clone() };
    tx.perform(&act, |tx| {
        let found = found.ok_or_else(|| Error::NotFound(format!("endpoint {name}")))?;
        not_system(&found, "deleted")?;
        if tx.one(sql!("notify/has_subscriptions"), (found.id.0,), |row| row.get(0))? == Some(true) {
            return Err(Error::Taken(format!("endpoint {name} still has subscriptions: delete these first")));
        }
        tx.run(sql!("notify/drop_endpoint"), (found.id.0,))?;
        routes::changed(tx, found.id.0, None);
        Ok(())
    })
}

pub(super) fn get(conn: &Connection, scope: &Scope, name: &str) -> Result<Endpoint> {
    find(conn, name)?.filter(|found| sees(scope, found)).ok_or_else(|| Error::NotFound(format!("endpoint {name}")))
}

fn find(conn: &Connection, name: &str) -> Result<Option<Endpoint>> {
    let select = concat!(include_str!("../../sql/both/notify/endpoint.sql"), " WHERE p.name = ?1");
    many(conn, select, (name,), read_endpoint)?.pop().map(EndpointRow::read).transpose()
}

pub(super) fn list(conn: &Connection, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Endpoint>> {
    let rows = read::query(conn, Builder::new('?').endpoints(scope, after, limit), read_endpoint)?;
    rows.into_iter().map(EndpointRow::read).collect()
}

fn read_endpoint(row: &Row<'_>) -> rusqlite::Result<EndpointRow> {
    Ok(EndpointRow {
        id: row.get(0)?,
        name: row.get(1)?,
        group: row.get(2)?,
        options: row.get(3)?,
        version: row.get(4)?,
        created_at: row.get(5)?,
    })
}

pub(super) fn route(conn: &Connection, name: &str) -> Result<Option<Route>> {
    let Some(endpoint) = find(conn, name)? else { return Ok(None) };
    let subscriptions = subscriptions::of_endpoint(conn, endpoint.id)?;
    Ok(Some(Route { endpoint, subscriptions }))
}
