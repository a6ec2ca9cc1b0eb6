//! Alerts.

use async_trait::async_trait;
use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_notify::{Alert, AlertSpec, Alerts, NewAlert};
use malla_queue::{Act, NewTask, Result, Scope, UnixMs};
use tokio_postgres::Row;

use super::commit::commit;
use super::perform::{audit, first_answer, settle};
use super::pool::{Broken, with_retries};
use super::submit::Columns;
use super::{Postgres, point, read, said, sql, verb};
use crate::alert_rows::{AlertRow, fired, last_fired_at, name_taken, room_for_one, unknown};
use crate::listing::Builder;
use crate::notify_rows::to_json;

#[async_trait]
impl Alerts for Postgres {
    async fn create_alert(&self, alert: NewAlert, act: Act) -> Result<Alert> {
        alert.check()?;
        let act = Act { group: alert.group, ..act };
        Ok(verb!(self, "notify", |client, now| async {
            let tx = client.transaction().await?;
            if let Some(answer) = first_answer(&tx, &act, now).await? {
                return Ok(answer);
            }
            let made = create(&tx, &alert, now).await?;
            settle(tx, &act, now, "notify", made).await
        }))
    }

    async fn change_alert(&self, scope: &Scope, name: &str, spec: AlertSpec, act: Act) -> Result<Alert> {
        spec.check()?;
        Ok(verb!(self, "notify", |client, now| async {
            let tx = client.transaction().await?;
            let found = lock(&tx, scope, name).await?;
            let act = Act { group: found.as_ref().and_then(|found| found.group), ..act.clone() };
            if let Some(answer) = first_answer(&tx, &act, now).await? {
                return Ok(answer);
            }
            let found = found.ok_or_else(|| unknown(name))?;
            let statement = tx.prepare_cached(sql!("alert/change")).await?;
            tx.execute(&statement, &[&found.id.0, &to_json(&spec), &spec.enabled]).await?;
            let changed = find(&tx, scope, name).await?.ok_or_else(|| unknown(name))?;
            settle(tx, &act, now, "notify", changed).await
        }))
    }

    async fn delete_alert(&self, scope: &Scope, name: &str, act: Act) -> Result<()> {
        verb!(self, "notify", |client, now| async {
            let tx = client.transaction().await?;
            let found = lock(&tx, scope, name).await?;
            let act = Act { group: found.as_ref().and_then(|found| found.group), ..act.clone() };
            if let Some(()) = first_answer(&tx, &act, now).await? {
                return Ok(());
            }
            let found = found.ok_or_else(|| unknown(name))?;
            tx.execute(&tx.prepare_cached(sql!("alert/drop")).await?, &[&found.id.0]).await?;
            settle(tx, &act, now, "notify", ()).await
        });
        Ok(())
    }

    async fn alert(&self, scope: &Scope, name: &str) -> Result<Alert> {
        let found = find(&self.client().await?, scope, name).await.map_err(said)?;
        found.ok_or_else(|| unknown(name))
    }

    async fn alerts(&self, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Alert>> {
        let statement = Builder::new('$').alerts(scope, after, limit);
        let rows = read::query(&self.client().await?, &statement).await.map_err(said)?;
        rows.iter().map(|row| read_alert(row).read()).collect()
    }

    async fn fire(&self, seen: &Alert, at: UnixMs, firing: Vec<String>, notices: Vec<NewTask>) -> Result<bool> {
        crate::checks::submission(&notices, &self.limits)?;
        let limit = self.limits.pending_max;
        let rouse = verb!(self, "notify", |client, now| fire(&mut client, seen, at, &firing, &notices, limit, now));
        let fired = rouse.is_some();
        self.nudger.rouse(rouse.unwrap_or_default());
        Ok(fired)
    }
}

async fn create(tx: &Transaction<'_>, new: &NewAlert, now: UnixMs) -> Result<Alert, Broken> {
    room_for_one(tx.query_one(&tx.prepare_cached(sql!("alert/count")).await?, &[]).await?.get(0))?;
    let statement = tx.prepare_cached(sql!("alert/add")).await?;
    let made = tx.execute(&statement, &[&new.name, &new.group.map(|g| g.0), &to_json(&new.spec), &now.0]).await?;
    if made == 0 {
        return Err(name_taken(&new.name).into());
    }
    Ok(find(tx, &Scope::All, &new.name).await?.ok_or_else(|| unknown(&new.name))?)
}

/// As it is, with the row locked.
async fn lock(tx: &Transaction<'_>, scope: &Scope, name: &str) -> Result<Option<Alert>, Broken> {
    let select = concat!(include_str!("../../sql/both/alert/alert.sql"), " WHERE a.name = $1 FOR UPDATE");
    get(tx, select, scope, name).await
}

async fn find(client: &impl GenericClient, scope: &Scope, name: &str) -> Result<Option<Alert>, Broken> {
    let select = concat!(include_str!("../../sql/both/alert/alert.sql"), " WHERE a.name = $1");
    get(client, select, scope, name).await
}

async fn get(client: &impl GenericClient, select: &str, scope: &Scope, name: &str) -> Result<Option<Alert>, Broken> {
    let row = client.query_opt(&client.prepare_cached(select).await?, &[&name]).await?;
    let found = row.as_ref().map(|row| read_alert(row).read()).transpose()?;
    Ok(found.filter(|found| scope.sees(found.group)))
}

fn read_alert(row: &Row) -> AlertRow {
    AlertRow {
        id: row.get(0),
        name: row.get(1),
        group: row.get(2),
        spec: row.get(3),
        firing: row.get(4),
        last_fired_at: row.get(5),
        created_at: row.get(6),
    }
}

/// The rooms to rouse; `None` if another node was faster.
async fn fire(
    client: &mut Object,
    seen: &Alert,
    at: UnixMs,
    firing: &[String],
    notices: &[NewTask],
    pending_max: u64,
    now: UnixMs,
) -> Result<Option<Vec<String>>, Broken> {
    let tx = client.transaction().await?;
    let (before, after) = (seen.last_fired_at.map(|at| at.0), last_fired_at(seen, at, firing));
    let statement = tx.prepare_cached(sql!("alert/fire")).await?;
    let changed =
        tx.execute(&statement, &[&seen.id.0, &to_json(&seen.firing), &before, &to_json(&firing), &after]).await?;
    if changed == 0 {
        return Ok(None);
    }
    let mut columns = Columns::default();
    notices.iter().for_each(|notice| columns.push(notice, None, now));
    let (_, rouse) = columns.submit(&tx, now, Some(pending_max)).await?;
    audit(&tx, &fired(seen, firing), now).await?;
    point("notify", "inside");
    commit(tx).await?;
    Ok(Some(rouse))
}
