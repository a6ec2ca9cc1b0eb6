//! A person's verbs on tasks.

use std::collections::BTreeMap;

use malla_queue::{
    Act, Bulk, Entry, Error, GroupId, HISTORY_BYTES_MAX, LaneId, LaneKey, Move, Result, Scope, State, TaskFilter,
    TaskId, TaskSummary, UnixMs,
};

use super::finish::{Ended, Lanes, drop_dedup};
use super::submit::enter_lane;
use super::tx::Tx;
use super::{read, sql};
use crate::codes::Code;

/// Tasks that one step of a bulk verb looks at.
pub(super) const STEP: usize = 500;

/// A task as the verbs need it.
struct Found {
    ended: Ended,
    state: State,
    lane_paused: bool,
    run_at: i64,
    failures: i64,
    lapses: i64,
    result: Option<Vec<u8>>,
    /// The lane's rest if the lease is taken away.
    rest_until: Option<UnixMs>,
}

pub(super) fn act_on(tx: &mut Tx<'_>, scope: &Scope, id: TaskId, verb: Move, act: &Act) -> Result<TaskSummary> {
    let found = find(tx, id)?.filter(|found| scope.sees(found.ended.group.map(GroupId)));
    let Some(found) = found else {
        // It may have been forgotten since: a repeat gets its answer all the same.
        return tx.perform(act, |_| Err(Error::NotFound(format!("task {id}"))));
    };
    let mut act = act.clone();
    act.group = found.ended.group.map(GroupId);
    tx.perform(&act, |tx| {
        let Some(to) = found.state.after(verb) else {
            let shown = Code::of(found.state).shown_state(found.state == State::Running, found.lane_paused);
            return Err(Error::WrongState { state: shown, verb: verb.participle() });
        };
        let mut lanes = Lanes::default();
        let room = found.ended.room.clone();
        move_task(tx, found, verb, to, &act.actor, &mut lanes)?;
        lanes.settle(tx, |_| Some(room.clone()))?;
        read::summary(tx.conn, id)?.ok_or_else(|| Error::Internal(format!("task {id} vanished")))
    })
}

pub(super) fn act_on_all(
    tx: &mut Tx<'_>,
    filter: &TaskFilter,
    below: Option<TaskId>,
    verb: Move,
    act: &Act,
) -> Result<Bulk> {
    tx.perform(act, |tx| {
        let Some(filter) = filter.narrowed_to(verb) else { return Ok(Bulk::default()) };
        let page = read::tasks(tx.conn, &filter, below, STEP)?;
        let ids: Vec<_> = page.tasks.iter().map(|task| task.id).collect();
        Ok(Bulk { changed: move_each(tx, &ids, verb, &act.actor)?, next: page.next })
    })
}

/// The verb on each of these that can take it. Returns how many did.
pub(super) fn move_each(tx: &mut Tx<'_>, ids: &[TaskId], verb: Move, by: &str) -> Result<u64> {
    let mut lanes = Lanes::default();
    let mut rooms = BTreeMap::new();
    let mut changed = 0;
    for id in ids {
        let Some(found) = find(tx, *id)? else { continue };
        let Some(to) = found.state.after(verb) else { continue };
        rooms.insert(found.ended.lane.0, found.ended.room.clone());
        match move_task(tx, found, verb, to, by, &mut lanes) {
            Ok(()) => changed += 1,
            Err(Error::Taken(_)) => {}
            Err(error) => return Err(error),
        }
    }
    lanes.settle(tx, |lane| rooms.get(&lane).cloned())?;
    Ok(changed)
}

fn find(tx: &Tx<'_>, id: TaskId) -> Result<Option<Found>> {
    tx.one(sql!("act/task"), (id.0,), |row| {
        let code = Code::read(row.get(4)?);
        let expires_at: Option<i64> = row.get(14)?;
        let key = LaneKey::trusted(row.get(11)?);
        Ok(Found {
            ended: Ended {
                task: id,
                lane: LaneId(row.get(1)?),
                room: key.room().to_owned(),
                prio: row.get(5)?,
                kind: row.get::<_, String>(2)?.into(),
                group: row.get(3)?,
                dedup: row.get(9)?,
                from: code,
                nonce: None,
            },
            state: code.own_state(expires_at.is_some()),
            rest_until: rest_after(expires_at, row.get(13)?),
            lane_paused: row.get(12)?,
            run_at: row.get(8)?,
            failures: row.get(6)?,
            lapses: row.get(7)?,
            result: row.get(10)?,
        })
    })
}

fn move_task(tx: &mut Tx<'_>, found: Found, verb: Move, to: State, by: &str, lanes: &mut Lanes) -> Result<()> {
    let Found { ended, state, run_at, failures, lapses, result, rest_until, .. } = found;
    if verb == Move::Resend {
        claim_dedup(tx, &ended, state)?;
    }
    match state {
        State::Queued => {
            tx.run(sql!("lease/drop_ready"), (ended.lane.0, ended.prio, run_at, ended.task.0))?;
        }
        State::Running => {
            tx.run(sql!("finish/drop_lease"), (ended.task.0,))?;
            lanes.release(ended.lane, rest_until);
        }
        State::Notified => {
            tx.run(sql!("finish/drop_awaiting"), (run_at, ended.task.0))?;
        }
        _ => {}
    }
    let (run_at, failures, lapses, result) = match verb {
        Move::Resend => (tx.now.0, 0, 0, None),
        _ => (run_at, failures, lapses, result),
    };
    let finished_at = to.is_final().then_some(tx.now.0);
    let line = Entry::person(verb.what(), tx.now, by).line();
    let code = Code::of(to);
    let row = (
        ended.task.0,
        code as i64,
        failures,
        lapses,
        run_at,
        finished_at,
        ended.nonce,
        result,
        line,
        HISTORY_BYTES_MAX,
    );
    tx.run(sql!("finish/task"), row)?;
    if to == State::Queued {
        enter_lane(tx, ended.lane, &ended.room, ended.prio, UnixMs(run_at), ended.task)?;
    }
    if to.is_final() {
        drop_dedup(tx, &ended)?;
    }
    tx.count(ended.lane, &ended.kind, ended.group, Some(ended.from), Some(code));
    Ok(())
}

/// Its holder learns only later that the task was taken away and may go on until its lease ends: a lane with a gap keeps
/// it from there.
fn rest_after(expires_at: Option<i64>, gap_ms: i64) -> Option<UnixMs> {
    expires_at.filter(|_| gap_ms > 0).map(|expires_at| UnixMs(expires_at + gap_ms))
}

/// A task that is resent takes its dedup key again; refused while another task has it.
fn claim_dedup(tx: &Tx<'_>, ended: &Ended, state: State) -> Result<()> {
    let Some(key) = ended.dedup.as_ref().filter(|_| state.is_final()) else { return Ok(()) };
    let holder: Option<i64> = tx.one(sql!("submit/find_dedup"), (&ended.room, key), |row| row.get(0))?;
    if let Some(holder) = holder {
        let (task, holder) = (ended.task, TaskId(holder));
        return Err(Error::Taken(format!(
            "task {task} cannot be resent: task {holder} does the same and is not finished"
        )));
    }
    tx.run(sql!("submit/add_dedup"), (&ended.room, key, ended.task.0))?;
    Ok(())
}
