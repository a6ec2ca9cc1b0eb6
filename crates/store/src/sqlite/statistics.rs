//! Figures about endpoints and subscriptions.

use std::collections::HashMap;

use async_trait::async_trait;
use malla_notify::{Backlog, Counted, Figures, Statistics, Step, Subject, SubscriptionId, check_range};
use malla_queue::{Result, Scope, UnixMs};
use rusqlite::Connection;

use super::writer::Durability::Process;
use super::{Sqlite, many, read, sql};
use crate::figures::{Sums, rows, step_code};
use crate::listing::Builder;
use crate::notify_rows::to_json;

#[async_trait]
impl Statistics for Sqlite {
    async fn record(&self, process: &str, counted: Vec<Counted>) -> Result<()> {
        let (process, rows) = (process.to_owned(), rows(&counted));
        self.write("notify", Process, move |tx| {
            for row in &rows {
                let row = (row.step, row.subject_kind, row.subject, row.begin_at, &process, &row.body);
                tx.run(sql!("statistics/record"), row)?;
            }
            Ok(())
        })
        .await
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
        let statement = Builder::new('?').figures(scope, subject, step, from, to);
        self.read(move |conn| {
            let mut sums = Sums::default();
            let rows = read::query(conn, statement, |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
            rows.iter().try_for_each(|(begin, body)| sums.add(*begin, body))?;
            Ok(sums.by_step())
        })
        .await
    }

    async fn forget_figures(&self, limit: usize) -> Result<u64> {
        self.write("prune", Process.large(), move |tx| {
            let mut gone = 0;
            for step in Step::ALL {
                let edge = tx.now.minus(step.kept_for()).0;
                gone += tx.run(sql!("statistics/forget"), (step_code(step), edge, limit - gone))?;
            }
            Ok(gone as u64)
        })
        .await
    }

    async fn figures_since(&self, subscriptions: &[SubscriptionId], from: UnixMs) -> Result<Vec<Figures>> {
        let subscriptions = subscriptions.to_vec();
        self.read(move |conn| {
            let mut sums = Sums::default();
            let edge = Step::Minute.begin(from).0;
            let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
            for (subject, body) in many(conn, sql!("statistics/since"), (to_json(&subscriptions), edge), read)? {
                sums.add(subject, &body)?;
            }
            Ok(sums.in_order_of(&subscriptions))
        })
        .await
    }

    async fn backlogs(&self, subscriptions: &[SubscriptionId]) -> Result<Vec<Backlog>> {
        let (subscriptions, now) = (subscriptions.to_vec(), self.clock.now());
        self.read(move |conn| {
            let found = backlogs(conn, &subscriptions, now)?;
            Ok(subscriptions.iter().map(|id| found.get(&id.0).copied().unwrap_or_default()).collect())
        })
        .await
    }
}

fn backlogs(conn: &Connection, subscriptions: &[SubscriptionId], now: UnixMs) -> Result<HashMap<i64, Backlog>> {
    let rows = many(conn, sql!("statistics/backlogs"), (to_json(&subscriptions),), |row| {
        let waiting = u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
        let oldest = Some(UnixMs(row.get(2)?)).filter(|oldest| *oldest <= now);
        Ok((row.get(0)?, Backlog { waiting, oldest }))
    })?;
    Ok(rows.into_iter().collect())
}
