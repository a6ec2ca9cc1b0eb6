//! Alerts.

use async_trait::async_trait;
use malla_notify::{Alert, AlertSpec, Alerts, NewAlert};
use malla_queue::{Act, Limits, NewTask, Result, Scope, UnixMs};
use rusqlite::{Connection, Row};

use super::tx::Tx;
use super::writer::Durability::Power;
use super::{Sqlite, many, read, sql, submit};
use crate::alert_rows::{AlertRow, fired, last_fired_at, name_taken, room_for_one, unknown};
use crate::listing::Builder;
use crate::notify_rows::to_json;

#[async_trait]
impl Alerts for Sqlite {
    async fn create_alert(&self, alert: NewAlert, act: Act) -> Result<Alert> {
        alert.check()?;
        self.write("notify", Power, move |tx| create(tx, &alert, &act)).await
    }

    async fn change_alert(&self, scope: &Scope, name: &str, spec: AlertSpec, act: Act) -> Result<Alert> {
        spec.check()?;
        let (scope, name) = (scope.clone(), name.to_owned());
        self.write("notify", Power, move |tx| change(tx, &scope, &name, &spec, &act)).await
    }

    async fn delete_alert(&self, scope: &Scope, name: &str, act: Act) -> Result<()> {
        let (scope, name) = (scope.clone(), name.to_owned());
        self.write("notify", Power, move |tx| delete(tx, &scope, &name, &act)).await
    }

    async fn alert(&self, scope: &Scope, name: &str) -> Result<Alert> {
        let (scope, name) = (scope.clone(), name.to_owned());
        self.read(move |conn| find(conn, &scope, &name)?.ok_or_else(|| unknown(&name))).await
    }

    async fn alerts(&self, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Alert>> {
        let (scope, after) = (scope.clone(), after.map(str::to_owned));
        self.read(move |conn| {
            let rows = read::query(conn, Builder::new('?').alerts(&scope, after.as_deref(), limit), read_alert)?;
            rows.into_iter().map(AlertRow::read).collect()
        })
        .await
    }

    async fn fire(&self, seen: &Alert, at: UnixMs, firing: Vec<String>, notices: Vec<NewTask>) -> Result<bool> {
        crate::checks::submission(&notices, &self.limits)?;
        let (seen, limits) = (seen.clone(), self.limits.clone());
        self.write("notify", Power, move |tx| fire(tx, &seen, at, &firing, &notices, &limits)).await
    }
}

fn create(tx: &mut Tx<'_>, new: &NewAlert, act: &Act) -> Result<Alert> {
    let act = Act { group: new.group, ..act.clone() };
    tx.perform(&act, |tx| {
        room_for_one(tx.one(sql!("alert/count"), (), |row| row.get(0))?.unwrap_or(0))?;
        let row = (&new.name, new.group.map(|g| g.0), to_json(&new.spec), tx.now.0);
        if tx.run(sql!("alert/add"), row)? == 0 {
            return Err(name_taken(&new.name));
        }
        find(tx.conn, &Scope::All, &new.name)?.ok_or_else(|| unknown(&new.name))
    })
}

fn change(tx: &mut Tx<'_>, scope: &Scope, name: &str, spec: &AlertSpec, act: &Act) -> Result<Alert> {
    let found = find(tx.conn, scope, name)?;
    let act = Act { group: found.as_ref().and_then(|found| found.group), ..act.clone() };
    tx.perform(&act, |tx| {
        let found = found.ok_or_else(|| unknown(name))?;
        tx.run(sql!("alert/change"), (found.id.0, to_json(spec), spec.enabled))?;
        find(tx.conn, scope, name)?.ok_or_else(|| unknown(name))
    })
}

fn delete(tx: &mut Tx<'_>, scope: &Scope, name: &str, act: &Act) -> Result<()> {
    let found = find(tx.conn, scope, name)?;
    let act = Act { group: found.as_ref().and_then(|found| found.group), ..act.clone() };
    tx.perform(&act, |tx| {
        let found = found.ok_or_else(|| unknown(name))?;
        tx.run(sql!("alert/drop"), (found.id.0,)).map(drop)
    })
}

fn find(conn: &Connection, scope: &Scope, name: &str) -> Result<Option<Alert>> {
    let select = concat!(include_str!("../../sql/both/alert/alert.sql"), " WHERE a.name = ?1");
    let found = many(conn, select, (name,), read_alert)?.pop().map(AlertRow::read).transpose()?;
    Ok(found.filter(|found| scope.sees(found.group)))
}

fn read_alert(row: &Row<'_>) -> rusqlite::Result<AlertRow> {
    Ok(AlertRow {
        id: row.get(0)?,
        name: row.get(1)?,
        group: row.get(2)?,
        spec: row.get(3)?,
        firing: row.get(4)?,
        last_fired_at: row.get(5)?,
        created_at: row.get(6)?,
    })
}

fn fire(
    tx: &mut Tx<'_>,
    seen: &Alert,
    at: UnixMs,
    firing: &[String],
    notices: &[NewTask],
    limits: &Limits,
) -> Result<bool> {
    let before = (to_json(&seen.firing), seen.last_fired_at.map(|at| at.0));
    let row = (seen.id.0, before.0, before.1, to_json(&firing), last_fired_at(seen, at, firing));
    if tx.run(sql!("alert/fire"), row)? == 0 {
        return Ok(false);
    }
    submit::submit(tx, notices, limits)?;
    tx.audit(&fired(seen, firing))?;
    Ok(true)
}
