//! Ending leases, and sending back what is overdue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use malla_queue::{
    Ending, GroupId, HISTORY_BYTES_MAX, Kind, LaneId, LaneKey, LeaseToken, Overdue, Result, State, TaskId, UnixMs,
};

use super::lease::write_lane;
use super::sql;
use super::submit::{add_events, enter_lane, submit_one};
use super::tx::Tx;
use super::writer::Durability;
use crate::codes::{Code, read_retry};
use crate::place::LaneState;
use crate::taken::Taken;

/// What a finish does to the lanes it touches, gathered so that each is written once.
#[derive(Default)]
pub(super) struct Lanes(BTreeMap<i64, Change>);

#[derive(Default)]
struct Change {
    released: i64,
    rest_until: i64,
}

impl Lanes {
    pub(super) fn release(&mut self, lane: LaneId, rest_until: Option<UnixMs>) {
        let change = self.0.entry(lane.0).or_default();
        change.released += 1;
        change.rest_until = change.rest_until.max(rest_until.map_or(0, |at| at.0));
    }

    /// Writes the lanes. One that was full and has room again goes to the end of the line.
    pub(super) fn settle(self, tx: &mut Tx<'_>, room_of: impl Fn(i64) -> Option<String>) -> Result<()> {
        for (lane, change) in self.0 {
            let Some(mut state) = read_lane(tx, lane)? else { continue };
            state.running = (state.running - change.released).max(0);
            state.next_start_at = state.next_start_at.max(change.rest_until);
            let turn = state.ready_at.unwrap_or(tx.now.0);
            write_lane(tx, lane, &state, turn)?;
            if state.ready_at.is_none()
                && let Some(room) = room_of(lane)
            {
                tx.reopen(&room);
            }
        }
        Ok(())
    }
}

pub(super) fn read_lane(tx: &Tx<'_>, lane: i64) -> Result<Option<LaneState>> {
    tx.one(sql!("lane/read"), (lane,), |row| {
        Ok(LaneState {
            paused: row.get(0)?,
            running: row.get(1)?,
            ceiling: row.get(2)?,
            next_start_at: row.get(3)?,
            ready_at: row.get(4)?,
        })
    })
}

/// The task behind an ending, as far as applying it needs to know.
pub(super) struct Ended {
    pub(super) task: TaskId,
    pub(super) lane: LaneId,
    pub(super) room: String,
    pub(super) prio: i16,
    pub(super) kind: Arc<str>,
    pub(super) group: Option<i64>,
    pub(super) dedup: Option<String>,
    pub(super) from: Code,
    /// The lease's nonce, if it was one that ended.
    pub(super) nonce: Option<i64>,
}

/// What is done again after a power cut need not wait for the disk.
pub(super) fn durability(endings: &[(LeaseToken, Ending)]) -> Durability {
    if endings.iter().all(|(_, ending)| ending.repeatable) { Durability::Process } else { Durability::Power }
}

pub(super) fn finish(tx: &mut Tx<'_>, endings: &[(LeaseToken, Ending)]) -> Result<Vec<Result<()>>> {
    let taken = end(tx, endings)?;
    Ok(endings.iter().zip(taken).map(|((token, _), taken)| taken.answer(token.task)).collect())
}

/// Ends leases by the word of their holders.
pub(super) fn end(tx: &mut Tx<'_>, endings: &[(LeaseToken, Ending)]) -> Result<Vec<Taken>> {
    end_following(tx, endings).map(|(taken, _)| taken)
}

/// The same, and tells the follow-ups' numbers, in their order.
pub(super) fn end_following(tx: &mut Tx<'_>, endings: &[(LeaseToken, Ending)]) -> Result<(Vec<Taken>, Vec<TaskId>)> {
    end_each(tx, endings, By::Holder)
}

/// How an ending of this lease would be taken.
pub(super) fn held(tx: &Tx<'_>, token: LeaseToken) -> Result<Taken> {
    let nonce: Option<i64> = tx.one(sql!("finish/read_lease"), (token.task.0,), |row| row.get(1))?;
    if nonce == Some(token.nonce) { Ok(Taken::Now) } else { already_ended(tx, token) }
}

/// Ends leases over the heads of their holders: what these still bring is refused.
pub(super) fn take_back(tx: &mut Tx<'_>, endings: &[(LeaseToken, Ending)]) -> Result<()> {
    end_each(tx, endings, By::Store).map(drop)
}

#[derive(PartialEq, Eq)]
enum By {
    Holder,
    Store,
}

fn end_each(tx: &mut Tx<'_>, endings: &[(LeaseToken, Ending)], by: By) -> Result<(Vec<Taken>, Vec<TaskId>)> {
    let mut lanes = Lanes::default();
    let mut rooms = BTreeMap::new();
    let mut answers = Vec::with_capacity(endings.len());
    let mut follow_ups = Vec::new();
    for (token, ending) in endings {
        let Some(mut ended) = find_lease(tx, *token, ending)? else {
            answers.push(already_ended(tx, *token)?);
            continue;
        };
        if by == By::Store {
            ended.nonce = None;
        }
        tx.run(sql!("finish/drop_lease"), (token.task.0,))?;
        lanes.release(ended.lane, ending.lane_rest_until);
        apply(tx, &ended, ending)?;
        rooms.insert(ended.lane.0, ended.room);
        follow_ups.extend(ending.follow_ups.iter().map(|task| (token.task, task)));
        answers.push(Taken::Now);
    }
    // After all endings, so that a dedup key that one of them frees is free.
    let follow = |(parent, task)| Ok(submit_one(tx, task, Some(parent))?.id);
    let followed = follow_ups.into_iter().map(follow).collect::<Result<_>>()?;
    lanes.settle(tx, |lane| rooms.get(&lane).cloned())?;
    Ok((answers, followed))
}

fn find_lease(tx: &Tx<'_>, token: LeaseToken, ending: &Ending) -> Result<Option<Ended>> {
    let found = tx.one(sql!("finish/read_lease"), (token.task.0,), |row| {
        let nonce: i64 = row.get(1)?;
        Ok(Ended {
            task: token.task,
            lane: LaneId(row.get(0)?),
            room: row.get(6)?,
            prio: row.get(2)?,
            kind: row.get::<_, String>(3)?.into(),
            group: row.get(4)?,
            dedup: row.get(5)?,
            from: Code::Open,
            nonce: Some(nonce),
        })
    })?;
    debug_assert!(matches!(ending.state, State::Queued | State::Notified | State::Succeeded | State::Failed));
    Ok(found.filter(|ended| ended.nonce == Some(token.nonce)))
}

fn already_ended(tx: &Tx<'_>, token: LeaseToken) -> Result<Taken> {
    let last: Option<i64> = tx.one(sql!("finish/ended_by"), (token.task.0,), |row| row.get(0))?.flatten();
    Ok(if last == Some(token.nonce) { Taken::Before } else { Taken::Lost })
}

/// Writes what became of a task and its events. Its lease or place among the awaited is gone already.
pub(super) fn apply(tx: &mut Tx<'_>, ended: &Ended, ending: &Ending) -> Result<()> {
    let to = Code::of(ending.state);
    let finished_at = ending.state.is_final().then_some(ending.at.0);
    let run_at = ending.run_at.unwrap_or(ending.at).0;
    let row = (
        ended.task.0,
        to as i64,
        ending.failures,
        ending.lapses,
        run_at,
        finished_at,
        ended.nonce,
        &ending.result,
        ending.entry.line(),
        HISTORY_BYTES_MAX,
    );
    tx.run(sql!("finish/task"), row)?;
    match to {
        Code::Open => enter_lane(tx, ended.lane, &ended.room, ended.prio, UnixMs(run_at), ended.task)?,
        Code::Notified => {
            tx.run(sql!("finish/add_awaiting"), (run_at, ended.task.0))?;
        }
        _ => drop_dedup(tx, ended)?,
    }
    tx.count(ended.lane, &ended.kind, ended.group, Some(ended.from), Some(to));
    add_events(tx, ended.task, &ending.events)
}

pub(super) fn drop_dedup(tx: &Tx<'_>, ended: &Ended) -> Result<()> {
    if let Some(key) = &ended.dedup {
        tx.run(sql!("finish/drop_dedup"), (&ended.room, key, ended.task.0))?;
    }
    Ok(())
}

/// Sends back tasks whose lease or confirmation is overdue; with `of_holders` also those that such holders still have.
pub(super) fn reap(tx: &mut Tx<'_>, limit: usize, of_holders: Option<&str>) -> Result<u64> {
    let mut lanes = Lanes::default();
    let mut rooms = BTreeMap::new();
    let lapsed = tx.many(sql!("reap/leases"), (tx.now.0, of_holders, limit), |row| {
        let retry: Option<String> = row.get(10)?;
        let lease = Some((UnixMs(row.get(6)?), row.get(7)?));
        overdue(row, Code::Open, [8, 9, 11], row.get(12)?, lease).map(|(ended, overdue)| (ended, overdue, retry))
    })?;
    let left = limit - lapsed.len();
    let unconfirmed = tx.many(sql!("reap/awaiting"), (tx.now.0, left), |row| {
        let retry: Option<String> = row.get(9)?;
        let due_at: i64 = row.get(6)?;
        overdue(row, Code::Notified, [7, 8, 10], 0, None).map(|(ended, overdue)| (ended, overdue, retry, due_at))
    })?;
    let count = lapsed.len() + unconfirmed.len();
    for (ended, mut overdue, retry) in lapsed {
        overdue.retry = read_retry(retry.as_deref())?;
        tx.run(sql!("finish/drop_lease"), (ended.task.0,))?;
        let ending = overdue.ending(tx.now);
        lanes.release(ended.lane, ending.lane_rest_until);
        apply(tx, &ended, &ending)?;
        rooms.insert(ended.lane.0, ended.room);
    }
    for (ended, mut overdue, retry, due_at) in unconfirmed {
        overdue.retry = read_retry(retry.as_deref())?;
        tx.run(sql!("finish/drop_awaiting"), (due_at, ended.task.0))?;
        apply(tx, &ended, &overdue.ending(tx.now))?;
    }
    lanes.settle(tx, |lane| rooms.get(&lane).cloned())?;
    Ok(count as u64)
}

/// Reads the columns that both overdue lists begin with; `rest` says where failures, lapses and the lane's key are.
fn overdue(
    row: &rusqlite::Row<'_>,
    from: Code,
    rest: [usize; 3],
    gap_ms: u64,
    lease: Option<(UnixMs, String)>,
) -> rusqlite::Result<(Ended, Overdue)> {
    let lane = LaneKey::trusted(row.get(rest[2])?);
    let kind: String = row.get(3)?;
    let ended = Ended {
        task: TaskId(row.get(0)?),
        lane: LaneId(row.get(1)?),
        room: lane.room().to_owned(),
        prio: row.get(2)?,
        kind: kind.as_str().into(),
        group: row.get(4)?,
        dedup: row.get(5)?,
        from,
        nonce: None,
    };
    let overdue = Overdue {
        task: ended.task,
        lane,
        kind: Kind::new(kind),
        group: ended.group.map(GroupId),
        retry: malla_queue::RetryDelays::none(),
        failures: row.get(rest[0])?,
        lapses: row.get(rest[1])?,
        gap: Duration::from_millis(gap_ms),
        lease,
    };
    Ok((ended, overdue))
}
