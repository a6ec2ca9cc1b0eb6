//! Taking tasks in.

use std::collections::BTreeSet;

use deadpool_postgres::GenericClient;
use malla_queue::{Error, NewTask, Submitted, TaskId, UnixMs};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use super::commit::{Answer, Token, answered};
use super::pool::Broken;
use super::sql;
use crate::codes::write_retry;

/// Tasks as the columns that the server takes.
#[derive(Default)]
pub(super) struct Columns<'t> {
    keys: Vec<&'t str>,
    rooms: Vec<&'t str>,
    lane_groups: Vec<Option<i64>>,
    ceilings: Vec<i64>,
    gaps: Vec<i64>,
    kinds: Vec<&'t str>,
    groups: Vec<Option<i64>>,
    prios: Vec<i16>,
    run_ats: Vec<i64>,
    dedups: Vec<Option<&'t str>>,
    retries: Vec<Option<String>>,
    payloads: Vec<&'t [u8]>,
    parents: Vec<Option<i64>>,
}

impl<'t> Columns<'t> {
    pub(super) fn push(&mut self, task: &'t NewTask, parent: Option<TaskId>, now: UnixMs) {
        self.keys.push(task.lane.as_str());
        self.rooms.push(task.lane.room());
        self.lane_groups.push(task.lane_group.map(|g| g.0));
        self.ceilings.push(i64::from(task.lane_settings.ceiling));
        self.gaps.push(i64::try_from(task.lane_settings.gap_ms).unwrap_or(i64::MAX));
        self.kinds.push(task.kind.as_str());
        self.groups.push(task.group.map(|g| g.0));
        self.prios.push(task.priority.rank());
        self.run_ats.push(task.run_at.unwrap_or(now).0);
        self.dedups.push(task.dedup.as_deref());
        self.retries.push(write_retry(&task.retry));
        self.payloads.push(&task.payload);
        self.parents.push(parent.map(|parent| parent.0));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Makes and locks the lanes, together with those of `leased` tasks, ahead of other work in the same transaction:
    /// so all locks are taken in order.
    pub(super) async fn lock_lanes(
        &self,
        client: &impl GenericClient,
        now: UnixMs,
        leased: &[i64],
    ) -> Result<(), Broken> {
        let statement = client.prepare_cached(sql!("lock_lanes")).await?;
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
            [&self.keys, &self.rooms, &self.lane_groups, &self.ceilings, &self.gaps, &now.0, &leased];
        client.execute(&statement, &params).await?;
        Ok(())
    }

    /// Submits them as a part of a transaction; `pending_max` is the limit on waiting tasks, if it applies. Tells the rooms
    /// to rouse.
    pub(super) async fn submit(
        &self,
        client: &impl GenericClient,
        now: UnixMs,
        pending_max: Option<u64>,
    ) -> Result<(Vec<Submitted>, Vec<String>), Broken> {
        let row = self.ask(client, sql!("submit"), &[], now, pending_max).await?;
        let (ids, fresh): (Vec<i64>, Vec<bool>) = (row.get(0), row.get(1));
        Ok((submitted(ids, fresh), row.get::<_, Option<Vec<String>>>(2).unwrap_or_default()))
    }

    /// As [`Columns::submit`], in one statement that is its own transaction.
    pub(super) async fn submit_once(
        &self,
        client: &impl GenericClient,
        now: UnixMs,
        pending_max: u64,
    ) -> Result<(Vec<Submitted>, Vec<String>), Broken> {
        let token = Token::new()?;
        let bytes = token.bytes();
        let asked = answered(&token, self.ask(client, sql!("submit_once"), &[&bytes], now, Some(pending_max))).await?;
        Ok(match asked {
            Answer::Came(row) => {
                (submitted(row.get(0), row.get(1)), row.get::<_, Option<Vec<String>>>(2).unwrap_or_default())
            }
            Answer::Lost(kept) => {
                let rooms: BTreeSet<&str> = self.rooms.iter().copied().collect();
                let ids = kept.ids.into_iter().flatten().collect();
                (submitted(ids, kept.fresh), rooms.into_iter().map(str::to_owned).collect())
            }
        })
    }

    async fn ask(
        &self,
        client: &impl GenericClient,
        statement: &str,
        more: &[&(dyn ToSql + Sync)],
        now: UnixMs,
        pending_max: Option<u64>,
    ) -> Result<Row, Broken> {
        let limit = pending_max.map(|max| i64::try_from(max).unwrap_or(i64::MAX));
        let columns: [&(dyn ToSql + Sync); 15] = [
            &self.keys,
            &self.rooms,
            &self.lane_groups,
            &self.ceilings,
            &self.gaps,
            &self.kinds,
            &self.groups,
            &self.prios,
            &self.run_ats,
            &self.dedups,
            &self.retries,
            &self.payloads,
            &self.parents,
            &now.0,
            &limit,
        ];
        let statement = client.prepare_cached(statement).await?;
        let asked = client.query_one(&statement, &[&columns[..], more].concat()).await;
        asked.map_err(|error| full(&error, pending_max).map_or_else(|| error.into(), Broken::Said))
    }
}

fn submitted(ids: Vec<i64>, fresh: Vec<bool>) -> Vec<Submitted> {
    ids.into_iter().zip(fresh).map(|(id, new)| Submitted { id: TaskId(id), new }).collect()
}

/// The server's own word for "too many wait", with the number.
pub(super) fn full(error: &tokio_postgres::Error, limit: Option<u64>) -> Option<Error> {
    let db = error.as_db_error().filter(|db| *db.code() == SqlState::from_code("MA001"))?;
    Some(Error::Full { waiting: db.message().parse().ok()?, limit: limit? })
}
