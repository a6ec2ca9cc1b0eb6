//! A person's verbs on tasks and lanes.

use deadpool_postgres::{Object, Transaction};
use malla_queue::{
    Act, Bulk, Entry, Error, GroupId, HISTORY_BYTES_MAX, Lane, LaneChange, LaneKey, Move, Scope, State, TaskFilter,
    TaskId, TaskSummary, UnixMs,
};
use tokio_postgres::Row;

use super::perform::{first_answer, settle};
use super::pool::Broken;
use super::{read, sql};
use crate::codes::Code;

/// Tasks that one step of a bulk verb looks at.
pub(super) const STEP: usize = 500;
/// The server's code for an open task with a lease.
const RUNNING: i16 = 6;

/// An answer, and the rooms to rouse once it is committed.
pub(super) type Roused<T> = (T, Vec<String>);

pub(super) async fn act_on(
    client: &mut Object,
    scope: &Scope,
    id: TaskId,
    verb: Move,
    act: &Act,
    now: UnixMs,
) -> Result<Roused<TaskSummary>, Broken> {
    let tx = client.transaction().await?;
    let found = tx.query_opt(&tx.prepare_cached(sql!("act/find")).await?, &[&id.0]).await?;
    let group = found.as_ref().and_then(|row| row.get::<_, Option<i64>>(0)).map(GroupId);
    let act = Act { group, ..act.clone() };
    // Before the task is missed: it may have been forgotten since, and a repeat gets its answer all the same.
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok((answer, Vec::new()));
    }
    if found.is_none() || !scope.sees(group) {
        return Err(Error::NotFound(format!("task {id}")).into());
    }
    let moved = move_tasks(&tx, &[id.0], verb, &act.actor, now).await?;
    if moved.count == 0 {
        return Err(refusal(&tx, id, verb, &moved).await?.into());
    }
    let summary = read::summary(&tx, id).await?.ok_or_else(|| Error::Internal(format!("task {id} vanished")))?;
    Ok((settle(tx, &act, now, "act", summary).await?, moved.rouse))
}

/// Why a verb moved nothing.
async fn refusal(tx: &Transaction<'_>, id: TaskId, verb: Move, moved: &Moved) -> Result<Error, Broken> {
    if moved.taken {
        return Ok(Error::Taken(format!("task {id} cannot be resent: another task does the same and is not finished")));
    }
    let found = tx.query_opt(&tx.prepare_cached(sql!("act/find")).await?, &[&id.0]).await?;
    Ok(match found {
        Some(row) => {
            let state = Code::read(i64::from(row.get::<_, i16>(1))).shown_state(row.get(3), row.get(2));
            Error::WrongState { state, verb: verb.participle() }
        }
        None => Error::NotFound(format!("task {id}")),
    })
}

pub(super) async fn act_on_all(
    client: &mut Object,
    filter: &TaskFilter,
    below: Option<TaskId>,
    verb: Move,
    act: &Act,
    now: UnixMs,
) -> Result<Roused<Bulk>, Broken> {
    let tx = client.transaction().await?;
    if let Some(answer) = first_answer(&tx, act, now).await? {
        return Ok((answer, Vec::new()));
    }
    let Some(filter) = filter.narrowed_to(verb) else {
        return Ok((settle(tx, act, now, "act", Bulk::default()).await?, Vec::new()));
    };
    let page = read::tasks(&tx, &filter, below, STEP).await?;
    let ids: Vec<i64> = page.tasks.iter().map(|task| task.id.0).collect();
    let moved = move_tasks(&tx, &ids, verb, &act.actor, now).await?;
    let bulk = Bulk { changed: moved.count, next: page.next };
    Ok((settle(tx, act, now, "act", bulk).await?, moved.rouse))
}

pub(super) struct Moved {
    pub(super) count: u64,
    /// One was left where it is because another task has its dedup key.
    taken: bool,
    pub(super) rouse: Vec<String>,
}

pub(super) async fn move_tasks(
    tx: &Transaction<'_>,
    ids: &[i64],
    verb: Move,
    by: &str,
    now: UnixMs,
) -> Result<Moved, Broken> {
    let from: Vec<State> = State::ALL.into_iter().filter(|state| state.after(verb).is_some()).collect();
    let to = from.first().and_then(|state| state.after(verb)).expect("every verb leads somewhere");
    let code = |state: &State| if *state == State::Running { RUNNING } else { Code::of(*state) as i16 };
    let from: Vec<i16> = from.iter().map(code).collect();
    let line = Entry::person(verb.what(), now, by).line();
    let history_max = i32::try_from(HISTORY_BYTES_MAX).unwrap_or(i32::MAX);
    let statement = tx.prepare_cached(sql!("act/move")).await?;
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
        [&ids, &from, &(Code::of(to) as i16), &(verb == Move::Resend), &line, &now.0, &history_max];
    let row = tx.query_one(&statement, &params).await?;
    let count = |column| row.get::<_, Option<Vec<i64>>>(column).map_or(0, |ids| ids.len() as u64);
    Ok(Moved { count: count(0), taken: count(1) > 0, rouse: row.get::<_, Option<Vec<String>>>(2).unwrap_or_default() })
}

pub(super) async fn change_lane(
    client: &mut Object,
    scope: &Scope,
    key: &LaneKey,
    change: LaneChange,
    act: &Act,
    now: UnixMs,
) -> Result<Roused<Lane>, Broken> {
    let tx = client.transaction().await?;
    let row = lock_lane(&tx, key)
        .await?
        .filter(|row| scope.sees(row.get::<_, Option<i64>>(1).map(GroupId)))
        .ok_or_else(|| Error::NotFound(format!("lane {key}")))?;
    let act = Act { group: row.get::<_, Option<i64>>(1).map(GroupId), ..act.clone() };
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok((answer, Vec::new()));
    }
    write_lane(&tx, &row, change, now).await?;
    let lane = read::lane(&tx, scope, key).await?;
    Ok((settle(tx, &act, now, "lane", lane).await?, vec![key.room().to_owned()]))
}

/// The lane as it is, behind its lock; its number comes first.
pub(super) async fn lock_lane(tx: &Transaction<'_>, key: &LaneKey) -> Result<Option<Row>, Broken> {
    Ok(tx.query_opt(&tx.prepare_cached(sql!("lane/lock")).await?, &[&key.as_str()]).await?)
}

/// Writes the change and the lane's new place in the line.
pub(super) async fn write_lane(tx: &Transaction<'_>, row: &Row, change: LaneChange, now: UnixMs) -> Result<(), Broken> {
    let (id, gap_ms): (i64, i64) = (row.get(0), row.get(4));
    let paused = change.paused.unwrap_or_else(|| row.get(2));
    let ceiling = change.ceiling.map_or_else(|| row.get(3), i64::from);
    let asked_ms = change.gap_ms.map(|gap| i64::try_from(gap).unwrap_or(i64::MAX));
    let new_gap_ms = asked_ms.unwrap_or(gap_ms);
    let next_start_at = crate::place::regapped(row.get(6), gap_ms, new_gap_ms, now.0);
    let statement = tx.prepare_cached(sql!("lane/change")).await?;
    tx.execute(&statement, &[&id, &paused, &ceiling, &new_gap_ms, &next_start_at, &now.0, &asked_ms]).await?;
    Ok(())
}
