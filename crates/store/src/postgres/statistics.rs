//! Figures about endpoints and subscriptions.

use std::collections::HashMap;

use async_trait::async_trait;
use deadpool_postgres::Object;
use futures_util::{TryStreamExt as _, pin_mut};
use malla_notify::{Backlog, Counted, Figures, Statistics, Step, Subject, SubscriptionId, check_range};
use malla_queue::{Result, Scope, UnixMs};

use super::pool::{Broken, with_retries};
use super::{Postgres, point, read, said, sql, verb};
use crate::figures::{FigureRow, Sums, rows, step_code};
use crate::listing::{Builder, Statement};

#[async_trait]
impl Statistics for Postgres {
    async fn record(&self, process: &str, counted: Vec<Counted>) -> Result<()> {
        let rows = rows(&counted);
        with_retries(&self.pools, || async { record(&mut self.client().await?, process, &rows).await }).await
    }

    async fn figures(
        &self,
        scope: &Scope,
        subject: Option<Subject>,
        step: Step,
        from: UnixMs,
        to: UnixMs,
    ) -> Result<Vec<(UnixMs, Figures)>> {
        check_range(step, from, to)?;
        let statement = Builder::new('$').figures(scope, subject, step, from, to);
        Ok(sums(&self.client().await?, &statement).await.map_err(said)?.by_step())
    }

    async fn forget_figures(&self, limit: usize) -> Result<u64> {
        Ok(verb!(self, "prune", |client, now| forget(&mut client, limit, now)))
    }

    async fn figures_since(&self, subscriptions: &[SubscriptionId], from: UnixMs) -> Result<Vec<Figures>> {
        let found = since(&self.client().await?, subscriptions, from).await.map_err(said)?;
        Ok(found.in_order_of(subscriptions))
    }

    async fn backlogs(&self, subscriptions: &[SubscriptionId]) -> Result<Vec<Backlog>> {
        let found = backlogs(&self.client().await?, subscriptions, self.clock.now()).await.map_err(said)?;
        Ok(subscriptions.iter().map(|id| found.get(&id.0).copied().unwrap_or_default()).collect())
    }
}

async fn record(client: &mut Object, process: &str, rows: &[FigureRow]) -> Result<(), Broken> {
    let tx = client.transaction().await?;
    // Figures for people: a power cut may take the last of them.
    tx.batch_execute("SET LOCAL synchronous_commit = off").await?;
    let steps: Vec<_> = rows.iter().map(|row| row.step).collect();
    let kinds: Vec<_> = rows.iter().map(|row| row.subject_kind).collect();
    let subjects: Vec<_> = rows.iter().map(|row| row.subject).collect();
    let begins: Vec<_> = rows.iter().map(|row| row.begin_at).collect();
    let bodies: Vec<_> = rows.iter().map(|row| row.body.as_str()).collect();
    let statement = tx.prepare_cached(sql!("statistics/record")).await?;
    tx.execute(&statement, &[&steps, &kinds, &subjects, &begins, &process, &bodies]).await?;
    Ok(tx.commit().await?)
}

/// Adds up as the rows come: there may be many more of them than steps.
async fn sums(client: &Object, statement: &Statement) -> Result<Sums, Broken> {
    let prepared = client.prepare_cached(&statement.sql).await?;
    let rows = client.query_raw(&prepared, read::params(statement)).await?;
    pin_mut!(rows);
    let mut sums = Sums::default();
    while let Some(row) = rows.try_next().await? {
        sums.add(row.get(0), row.get(1))?;
    }
    Ok(sums)
}

async fn forget(client: &mut Object, limit: usize, now: UnixMs) -> Result<u64, Broken> {
    let mut gone = 0;
    for step in Step::ALL {
        let (edge, left) = (now.minus(step.kept_for()).0, i64::try_from(limit).unwrap_or(i64::MAX) - gone as i64);
        let statement = client.prepare_cached(sql!("statistics/forget")).await?;
        gone += client.execute(&statement, &[&step_code(step), &edge, &left]).await?;
    }
    point("prune", "inside");
    Ok(gone)
}

async fn since(client: &Object, subscriptions: &[SubscriptionId], from: UnixMs) -> Result<Sums, Broken> {
    let ids: Vec<i64> = subscriptions.iter().map(|id| id.0).collect();
    let statement = client.prepare_cached(sql!("statistics/since")).await?;
    let mut sums = Sums::default();
    for row in client.query(&statement, &[&ids, &Step::Minute.begin(from).0]).await? {
        sums.add(row.get(0), row.get(1))?;
    }
    Ok(sums)
}

async fn backlogs(
    client: &Object,
    subscriptions: &[SubscriptionId],
    now: UnixMs,
) -> Result<HashMap<i64, Backlog>, Broken> {
    let ids: Vec<i64> = subscriptions.iter().map(|id| id.0).collect();
    let rows = client.query(&client.prepare_cached(sql!("statistics/backlogs")).await?, &[&ids]).await?;
    let read = |row: &tokio_postgres::Row| {
        let waiting = u64::try_from(row.get::<_, i64>(1)).unwrap_or(0);
        let oldest = row.get::<_, Option<i64>>(2).map(UnixMs).filter(|oldest| *oldest <= now);
        (row.get(0), Backlog { waiting, oldest })
    };
    Ok(rows.iter().map(read).collect())
}
