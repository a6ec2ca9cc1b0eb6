//! What people look at: tasks, lanes, counts.

use deadpool_postgres::GenericClient;
use malla_queue::{
    Error, GroupId, Kind, KindCounts, Lane, LaneFilter, LaneKey, LanePage, LaneSettings, Priority, Scope, Task,
    TaskFilter, TaskId, TaskPage, TaskSummary, UnixMs, read_history,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::pool::Broken;
use super::sql;
use crate::codes::{Code, read_retry};
use crate::counting::{Counter, HeldByLane, Running};
use crate::listing::{Builder, Param, Statement, next_page};

pub(super) async fn tasks(
    client: &impl GenericClient,
    filter: &TaskFilter,
    below: Option<TaskId>,
    limit: usize,
) -> Result<TaskPage, Broken> {
    tasks_of_lanes(client, filter, None, below, limit).await
}

/// As [`tasks`], but only those of some lanes.
pub(super) async fn tasks_of_lanes(
    client: &impl GenericClient,
    filter: &TaskFilter,
    lanes: Option<&[i64]>,
    below: Option<TaskId>,
    limit: usize,
) -> Result<TaskPage, Broken> {
    let builder = || Builder::new('$').among_lanes(lanes.map(<[i64]>::to_vec));
    let empty = TaskPage { tasks: Vec::new(), next: None };
    let Some(statement) = builder().tasks(filter, below, limit) else { return Ok(empty) };
    let tasks: Vec<_> = query(client, &statement).await?.iter().map(read_summary).collect();
    let last = tasks.last().map(|task| task.id.0);
    let full = tasks.len() >= limit;
    let frontier = if full { None } else { builder().frontier(filter, below) };
    let next = next_of(client, last, full, frontier).await?.map(TaskId);
    Ok(TaskPage { tasks, next })
}

/// Where the page after one that ends at `last` begins.
pub(super) async fn next_of(
    client: &impl GenericClient,
    last: Option<i64>,
    full: bool,
    frontier: Option<Statement>,
) -> Result<Option<i64>, Broken> {
    let Some(frontier) = frontier else { return Ok(next_page(last, full, false, None)) };
    let rows = query(client, &frontier).await?;
    Ok(rows.first().and_then(|row| next_page(last, full, row.get(0), row.get(1))))
}

pub(super) async fn summary(client: &impl GenericClient, id: TaskId) -> Result<Option<TaskSummary>, Broken> {
    let select = concat!(include_str!("../../sql/both/read/summary.sql"), " WHERE t.id = $1");
    let row = client.query_opt(&client.prepare_cached(select).await?, &[&id.0]).await?;
    Ok(row.as_ref().map(read_summary))
}

pub(super) async fn task(client: &impl GenericClient, scope: &Scope, id: TaskId) -> Result<Task, Broken> {
    let gone = || Error::NotFound(format!("task {id}"));
    let summary = summary(client, id).await?.filter(|summary| scope.sees(summary.group)).ok_or_else(gone)?;
    let row = client.query_opt(&client.prepare_cached(sql!("read/task")).await?, &[&id.0]).await?.ok_or_else(gone)?;
    Ok(Task {
        summary,
        retry: read_retry(row.get(0))?,
        dedup: row.get(1),
        payload: row.get(2),
        result: row.get(3),
        history: read_history(row.get(4)),
    })
}

pub(super) fn read_summary(row: &Row) -> TaskSummary {
    let holder: Option<String> = row.get(10);
    let code = Code::read(i64::from(row.get::<_, i16>(4)));
    let waits = matches!(code, Code::Open | Code::Paused | Code::Notified);
    TaskSummary {
        id: TaskId(row.get(0)),
        lane: LaneKey::trusted(row.get(1)),
        kind: Kind::new(row.get::<_, String>(2)),
        group: row.get::<_, Option<i64>>(3).map(GroupId),
        state: code.shown_state(holder.is_some(), row.get(11)),
        priority: Priority::from_rank(row.get(5)),
        failures: u32::try_from(row.get::<_, i32>(6)).unwrap_or(0),
        run_at: Some(UnixMs(row.get(7))).filter(|_| waits && holder.is_none()),
        finished_at: row.get::<_, Option<i64>>(8).map(UnixMs),
        parent: row.get::<_, Option<i64>>(9).map(TaskId),
        holder,
    }
}

pub(super) async fn lanes(
    client: &impl GenericClient,
    scope: &Scope,
    filter: &LaneFilter,
    after: Option<&LaneKey>,
    limit: usize,
) -> Result<LanePage, Broken> {
    let rows = query(client, &Builder::new('$').lanes(scope, filter, after, limit)).await?;
    let lanes: Vec<_> = rows.iter().map(read_lane).collect();
    let next = lanes.last().filter(|_| lanes.len() >= limit).map(|lane| lane.key.clone());
    Ok(LanePage { lanes, next })
}

pub(super) async fn lane(client: &impl GenericClient, scope: &Scope, key: &LaneKey) -> Result<Lane, Broken> {
    let rows = query(client, &Builder::new('$').lane(key)).await?;
    let lane = rows.first().map(read_lane).filter(|lane| scope.sees(lane.group));
    Ok(lane.ok_or_else(|| Error::NotFound(format!("lane {key}")))?)
}

fn read_lane(row: &Row) -> Lane {
    let paused: bool = row.get(4);
    let number = |column: usize| u64::try_from(row.get::<_, i64>(column)).unwrap_or(0);
    let counter = Counter([row.get(7), row.get(8), row.get(9), row.get(10), row.get(11), row.get(12)]);
    Lane {
        key: LaneKey::trusted(row.get(0)),
        group: row.get::<_, Option<i64>>(1).map(GroupId),
        settings: LaneSettings { ceiling: u32::try_from(number(2)).unwrap_or(u32::MAX), gap_ms: number(3) },
        paused,
        ready_at: row.get::<_, Option<i64>>(5).map(UnixMs),
        counts: counter.in_lane(paused, number(6)),
    }
}

pub(super) async fn counts(client: &impl GenericClient, scope: &Scope) -> Result<Vec<KindCounts>, Broken> {
    let rows = client.query(&client.prepare_cached(sql!("tally/read")).await?, &[]).await?;
    let tally = |row: &Row| {
        let counter = Counter([row.get(2), row.get(3), row.get(4), row.get(5), row.get(6), row.get(7)]);
        (row.get(0), row.get(1), counter)
    };
    let tallies = rows.iter().map(tally).collect();
    let rows = client.query(&client.prepare_cached(sql!("tally/running")).await?, &[]).await?;
    let running: Vec<_> = rows
        .iter()
        .map(|row| Running { kind: row.get(0), group: row.get(1), in_paused_lane: row.get(2), count: row.get(3) })
        .collect();
    let rows = client.query(&client.prepare_cached(sql!("tally/held_by_lanes")).await?, &[]).await?;
    let held: Vec<_> =
        rows.iter().map(|row| HeldByLane { kind: row.get(0), group: row.get(1), open: row.get(2) }).collect();
    Ok(crate::counting::counts(scope, tallies, &running, &held))
}

pub(super) async fn query(client: &impl GenericClient, statement: &Statement) -> Result<Vec<Row>, Broken> {
    let prepared = client.prepare_cached(&statement.sql).await?;
    Ok(client.query(&prepared, &params(statement)).await?)
}

pub(super) fn params(statement: &Statement) -> Vec<&(dyn ToSql + Sync)> {
    let params = statement.params.iter();
    let params = params.map(|param| match param {
        Param::Int(value) => value as &(dyn ToSql + Sync),
        Param::Text(value) => value as &(dyn ToSql + Sync),
        Param::Ints(values) => values as &(dyn ToSql + Sync),
    });
    params.collect()
}
