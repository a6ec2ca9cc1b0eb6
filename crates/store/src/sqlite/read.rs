//! What people look at: tasks, lanes, counts.

use malla_queue::{
    Error, GroupId, Kind, KindCounts, Lane, LaneFilter, LaneKey, LanePage, LaneSettings, Priority, Result, Scope, Task,
    TaskFilter, TaskId, TaskPage, TaskSummary, UnixMs, read_history,
};
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter, types::Value};

use super::{broken, many, sql};
use crate::codes::{Code, read_retry};
use crate::counting::{Counter, HeldByLane, Running};
use crate::listing::{Builder, Param, Statement, next_page};
use crate::notify_rows::to_json;

pub(super) fn tasks(conn: &Connection, filter: &TaskFilter, below: Option<TaskId>, limit: usize) -> Result<TaskPage> {
    tasks_of_lanes(conn, filter, None, below, limit)
}

/// As [`tasks`], but only those of some lanes.
pub(super) fn tasks_of_lanes(
    conn: &Connection,
    filter: &TaskFilter,
    lanes: Option<&[i64]>,
    below: Option<TaskId>,
    limit: usize,
) -> Result<TaskPage> {
    let builder = || Builder::new('?').among_lanes(lanes.map(<[i64]>::to_vec));
    let empty = TaskPage { tasks: Vec::new(), next: None };
    let Some(statement) = builder().tasks(filter, below, limit) else { return Ok(empty) };
    let tasks = query(conn, statement, read_summary)?;
    let last = tasks.last().map(|task| task.id.0);
    let full = tasks.len() >= limit;
    let frontier = if full { None } else { builder().frontier(filter, below) };
    let next = next_of(conn, last, full, frontier)?.map(TaskId);
    Ok(TaskPage { tasks, next })
}

/// Where the page after one that ends at `last` begins.
pub(super) fn next_of(
    conn: &Connection,
    last: Option<i64>,
    full: bool,
    frontier: Option<Statement>,
) -> Result<Option<i64>> {
    let Some(frontier) = frontier else { return Ok(next_page(last, full, false, None)) };
    let found = query(conn, frontier, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.first().and_then(|(cut, candidate)| next_page(last, full, *cut, *candidate)))
}

pub(super) fn summary(conn: &Connection, id: TaskId) -> Result<Option<TaskSummary>> {
    let select = concat!(include_str!("../../sql/both/read/summary.sql"), " WHERE t.id = ?1");
    Ok(many(conn, select, (id.0,), read_summary)?.pop())
}

pub(super) fn task(conn: &Connection, scope: &Scope, id: TaskId) -> Result<Task> {
    let summary = summary(conn, id)?
        .filter(|summary| scope.sees(summary.group))
        .ok_or_else(|| Error::NotFound(format!("task {id}")))?;
    let mut statement = conn.prepare_cached(sql!("read/task")).map_err(broken)?;
    let row = statement
        .query_row((id.0,), |row| {
            let (retry, history): (Option<String>, String) = (row.get(0)?, row.get(4)?);
            Ok((retry, row.get(1)?, row.get(2)?, row.get(3)?, history))
        })
        .optional()
        .map_err(broken)?;
    let (retry, dedup, payload, result, history) = row.ok_or_else(|| Error::NotFound(format!("task {id}")))?;
    Ok(Task { summary, retry: read_retry(retry.as_deref())?, dedup, payload, result, history: read_history(&history) })
}

pub(super) fn read_summary(row: &Row<'_>) -> rusqlite::Result<TaskSummary> {
    let holder: Option<String> = row.get(10)?;
    let code = Code::read(row.get(4)?);
    let waits = matches!(code, Code::Open | Code::Paused | Code::Notified);
    Ok(TaskSummary {
        id: TaskId(row.get(0)?),
        lane: LaneKey::trusted(row.get(1)?),
        kind: Kind::new(row.get::<_, String>(2)?),
        group: row.get::<_, Option<i64>>(3)?.map(GroupId),
        state: code.shown_state(holder.is_some(), row.get(11)?),
        priority: Priority::from_rank(row.get(5)?),
        failures: row.get(6)?,
        run_at: Some(UnixMs(row.get(7)?)).filter(|_| waits && holder.is_none()),
        finished_at: row.get::<_, Option<i64>>(8)?.map(UnixMs),
        parent: row.get::<_, Option<i64>>(9)?.map(TaskId),
        holder,
    })
}

pub(super) fn lanes(
    conn: &Connection,
    scope: &Scope,
    filter: &LaneFilter,
    after: Option<&LaneKey>,
    limit: usize,
) -> Result<LanePage> {
    let lanes = query(conn, Builder::new('?').lanes(scope, filter, after, limit), read_lane)?;
    let next = lanes.last().filter(|_| lanes.len() >= limit).map(|lane| lane.key.clone());
    Ok(LanePage { lanes, next })
}

pub(super) fn lane(conn: &Connection, scope: &Scope, key: &LaneKey) -> Result<Lane> {
    query(conn, Builder::new('?').lane(key), read_lane)?
        .pop()
        .filter(|lane| scope.sees(lane.group))
        .ok_or_else(|| Error::NotFound(format!("lane {key}")))
}

fn read_lane(row: &Row<'_>) -> rusqlite::Result<Lane> {
    let (paused, running): (bool, u64) = (row.get(4)?, row.get(6)?);
    let counter = Counter([row.get(7)?, row.get(8)?, row.get(9)?, row.get(10)?, row.get(11)?, row.get(12)?]);
    Ok(Lane {
        key: LaneKey::trusted(row.get(0)?),
        group: row.get::<_, Option<i64>>(1)?.map(GroupId),
        settings: LaneSettings { ceiling: row.get(2)?, gap_ms: row.get(3)? },
        paused,
        ready_at: row.get::<_, Option<i64>>(5)?.map(UnixMs),
        counts: counter.in_lane(paused, running),
    })
}

pub(super) fn counts(conn: &Connection, scope: &Scope) -> Result<Vec<KindCounts>> {
    let tallies = many(conn, sql!("tally/read"), (), |row| {
        let counter = Counter([row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?]);
        Ok((row.get(0)?, row.get(1)?, counter))
    })?;
    let running = many(conn, sql!("tally/running"), (), |row| {
        Ok(Running { kind: row.get(0)?, group: row.get(1)?, in_paused_lane: row.get(2)?, count: row.get(3)? })
    })?;
    let held = many(conn, sql!("tally/held_by_lanes"), (), |row| {
        Ok(HeldByLane { kind: row.get(0)?, group: row.get(1)?, open: row.get(2)? })
    })?;
    Ok(crate::counting::counts(scope, tallies, &running, &held))
}

pub(super) fn query<T>(
    conn: &Connection,
    statement: Statement,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let params = params_from_iter(statement.params.into_iter().map(|param| match param {
        Param::Int(value) => Value::Integer(value),
        Param::Text(value) => Value::Text(value),
        Param::Ints(values) => Value::Text(to_json(&values)),
    }));
    many(conn, &statement.sql, params, read)
}
