//! Taking tasks in.

use malla_queue::{Error, Event, LaneId, Limits, NewTask, Result, Submitted, TaskId, UnixMs};

use super::sql;
use super::tx::Tx;
use crate::codes::{Code, write_retry};

pub(super) fn submit(tx: &mut Tx<'_>, tasks: &[NewTask], limits: &Limits) -> Result<Vec<Submitted>> {
    let waiting = tx.open_tasks();
    if waiting + tasks.len() as u64 > limits.pending_max {
        return Err(Error::Full { waiting, limit: limits.pending_max });
    }
    tasks.iter().map(|task| submit_one(tx, task, None)).collect()
}

/// Takes one task in, without asking whether there is room: follow-ups must not make their parent fail.
pub(super) fn submit_one(tx: &mut Tx<'_>, task: &NewTask, parent: Option<TaskId>) -> Result<Submitted> {
    let room = task.lane.room();
    if let Some(key) = &task.dedup
        && let Some(id) = tx.one(sql!("submit/find_dedup"), (room, key), |row| row.get(0))?
    {
        return Ok(Submitted { id: TaskId(id), new: false });
    }
    let lane = lane_of(tx, task)?;
    let id = tx.next_id();
    let run_at = task.run_at.unwrap_or(tx.now).0;
    let (kind, group, prio) = (task.kind.as_str(), task.group.map(|g| g.0), task.priority.rank());
    let retry = write_retry(&task.retry);
    let parent = parent.map(|parent| parent.0);
    let row = (id, lane.0, kind, group, prio, run_at, parent, &task.dedup, retry, &task.payload);
    tx.run(sql!("submit/add_task"), row)?;
    if let Some(key) = &task.dedup {
        tx.run(sql!("submit/add_dedup"), (room, key, id))?;
    }
    enter_lane(tx, lane, room, prio, UnixMs(run_at), TaskId(id))?;
    tx.count(lane, &kind.into(), group, None, Some(Code::Open));
    Ok(Submitted { id: TaskId(id), new: true })
}

/// Puts a task into the line of its lane.
pub(super) fn enter_lane(
    tx: &mut Tx<'_>,
    lane: LaneId,
    room: &str,
    prio: i16,
    run_at: UnixMs,
    task: TaskId,
) -> Result<()> {
    tx.run(sql!("submit/add_ready"), (lane.0, prio, run_at.0, task.0))?;
    if tx.known_place(lane).is_some_and(|place| place <= run_at.0) {
        return Ok(());
    }
    if let Some(place) = tx.one(sql!("lane/hasten"), (lane.0, run_at.0), |row| row.get(0))? {
        tx.remember_place(lane, Some(place));
        tx.rouse(room);
    }
    Ok(())
}

pub(super) fn add_events(tx: &mut Tx<'_>, task: TaskId, events: &[Event]) -> Result<()> {
    for event in events {
        let id = tx.next_id();
        tx.run(sql!("submit/add_event"), (id, &event.kind, event.group.map(|g| g.0), task.0, &event.body))?;
    }
    Ok(())
}

fn lane_of(tx: &mut Tx<'_>, task: &NewTask) -> Result<LaneId> {
    let key = task.lane.as_str();
    if let Some(lane) = tx.known_lane(key) {
        return Ok(lane);
    }
    let lane = match tx.one(sql!("submit/find_lane"), (key,), |row| row.get(0))? {
        Some(id) => LaneId(id),
        None => {
            let settings = task.lane_settings;
            let group = task.lane_group.map(|g| g.0);
            let gap_ms = i64::try_from(settings.gap_ms).unwrap_or(i64::MAX);
            tx.run(sql!("submit/add_lane"), (key, task.lane.room(), group, settings.ceiling, gap_ms, tx.now.0))?;
            LaneId(tx.conn.last_insert_rowid())
        }
    };
    tx.remember_lane(key, lane);
    Ok(lane)
}
