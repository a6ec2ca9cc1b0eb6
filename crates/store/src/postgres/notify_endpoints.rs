//! Endpoints.

use deadpool_postgres::{GenericClient, Transaction};
use malla_notify::{Endpoint, EndpointOptions, NewEndpoint, Route};
use malla_queue::{Error, Scope, UnixMs};
use tokio_postgres::Row;

use super::pool::Broken;
use super::{notify_subscriptions as subscriptions, read, sql};
use crate::listing::Builder;
use crate::notify_rows::{EndpointRow, not_system, sees, to_json};

fn keep_days(options: &EndpointOptions) -> Option<i64> {
    options.retention_days.map(i64::from)
}

pub(super) async fn create(tx: &Transaction<'_>, new: &NewEndpoint, now: UnixMs) -> Result<Endpoint, Broken> {
    let (group, options) = (new.group.map(|g| g.0), to_json(&new.options));
    let statement = tx.prepare_cached(sql!("notify/add_endpoint")).await?;
    if tx.execute(&statement, &[&new.name, &group, &options, &keep_days(&new.options), &now.0]).await? == 0 {
        return Err(Error::Taken(format!("an endpoint named {} exists already", new.name)).into());
    }
    get(tx, &Scope::All, &new.name).await
}

pub(super) async fn change(
    tx: &Transaction<'_>,
    found: &Endpoint,
    options: Option<&EndpointOptions>,
) -> Result<Endpoint, Broken> {
    not_system(found, "changed")?;
    let options = options.unwrap_or(&found.options);
    let statement = tx.prepare_cached(sql!("notify/change_endpoint")).await?;
    tx.execute(&statement, &[&found.id.0, &to_json(options), &keep_days(options)]).await?;
    get(tx, &Scope::All, &found.name).await
}

pub(super) async fn delete(tx: &Transaction<'_>, found: &Endpoint) -> Result<(), Broken> {
    not_system(found, "deleted")?;
    if tx.query_one(sql!("notify/has_subscriptions"), &[&found.id.0]).await?.get(0) {
        return Err(Error::Taken(format!("endpoint {} still has subscriptions: delete these first", found.name)).into());
    }
    tx.execute(sql!("notify/drop_endpoint"), &[&found.id.0]).await?;
    Ok(())
}

/// As it is, with the row locked: nobody changes it or subscribes to it meanwhile.
pub(super) async fn lock(tx: &Transaction<'_>, scope: &Scope, name: &str) -> Result<Option<Endpoint>, Broken> {
    tx.execute(&tx.prepare_cached(sql!("notify/lock_endpoint")).await?, &[&name]).await?;
    Ok(find(tx, name).await?.filter(|found| sees(scope, found)))
}

pub(super) async fn get(client: &impl GenericClient, scope: &Scope, name: &str) -> Result<Endpoint, Broken> {
    let found = find(client, name).await?.filter(|found| sees(scope, found));
    Ok(found.ok_or_else(|| Error::NotFound(format!("endpoint {name}")))?)
}

async fn find(client: &impl GenericClient, name: &str) -> Result<Option<Endpoint>, Broken> {
    let select = concat!(include_str!("../../sql/both/notify/endpoint.sql"), " WHERE p.name = $1");
    let row = client.query_opt(&client.prepare_cached(select).await?, &[&name]).await?;
    Ok(row.as_ref().map(|row| read_endpoint(row).read()).transpose()?)
}

pub(super) async fn list(
    client: &impl GenericClient,
    scope: &Scope,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Endpoint>, Broken> {
    let rows = read::query(client, &Builder::new('$').endpoints(scope, after, limit)).await?;
    rows.iter().map(|row| Ok(read_endpoint(row).read()?)).collect()
}

fn read_endpoint(row: &Row) -> EndpointRow {
    EndpointRow {
        id: row.get(0),
        name: row.get(1),
        group: row.get(2),
        options: row.get(3),
        version: row.get(4),
        created_at: row.get(5),
    }
}

pub(super) async fn route(client: &impl GenericClient, name: &str) -> Result<Option<Route>, Broken> {
    let Some(endpoint) = find(client, name).await? else { return Ok(None) };
    let subscriptions = subscriptions::of_endpoint(client, endpoint.id).await?;
    Ok(Some(Route { endpoint, subscriptions }))
}
