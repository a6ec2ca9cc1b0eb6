//! Studies: how they begin and end, and who sees them.

use malla_analyze::{NewStudy, Only, Study, StudyId, StudyState};
use malla_queue::{Act, Result, Scope, TaskId};
use rusqlite::{Connection, Row};

use super::submit::submit_one;
use super::tx::Tx;
use super::{many, read, sql};
use crate::analyze_rows::{CANCELLED, StudyRow, begun, completed, not_found, over};
use crate::listing::Builder;

/// Answers of a study at most: as many rows go with it at once.
const ANSWERS_MAX: usize = 1_000;

pub(super) fn begin(tx: &mut Tx<'_>, new: &NewStudy, act: &Act) -> Result<Study> {
    let act = Act { group: new.group, ..act.clone() };
    let row: StudyRow = tx.perform(&act, |tx| {
        let under_way: i64 = tx.one(sql!("analyze/under_way"), (), |row| row.get(0))?.unwrap_or(0);
        let row = StudyRow::of(&begun(new, tx.next_id(), under_way, tx.now)?);
        let StudyRow { id, group, kind, params, state, created_at, changed_at, samples, .. } = &row;
        tx.run(sql!("analyze/add_study"), (id, group, kind, params, state, created_at, changed_at, samples))?;
        Ok(row)
    })?;
    row.read()
}

pub(super) fn find(conn: &Connection, id: StudyId) -> Result<Option<Study>> {
    let select = concat!(include_str!("../../sql/both/analyze/study.sql"), " WHERE a.id = ?1 AND NOT a.forgotten");
    many(conn, select, (id.0.0,), read_study)?.pop().map(StudyRow::read).transpose()
}

pub(super) fn get(conn: &Connection, scope: &Scope, id: StudyId) -> Result<Study> {
    find(conn, id)?.filter(|study| scope.sees(study.group)).ok_or_else(|| not_found(id))
}

pub(super) fn list(conn: &Connection, scope: &Scope, below: Option<StudyId>, limit: usize) -> Result<Vec<Study>> {
    let rows = read::query(conn, Builder::new('?').studies(scope, below, limit), read_study)?;
    rows.into_iter().map(StudyRow::read).collect()
}

/// Those under way, oldest first.
pub(super) fn under_way(conn: &Connection, limit: usize) -> Result<Vec<Study>> {
    let select = concat!(include_str!("../../sql/both/analyze/study.sql"), " WHERE a.state < 2 ORDER BY a.id LIMIT ?1");
    many(conn, select, (limit,), read_study)?.into_iter().map(StudyRow::read).collect()
}

fn read_study(row: &Row<'_>) -> rusqlite::Result<StudyRow> {
    Ok(StudyRow {
        id: row.get(0)?,
        group: row.get(1)?,
        kind: row.get(2)?,
        params: row.get(3)?,
        state: row.get(4)?,
        created_at: row.get(5)?,
        changed_at: row.get(6)?,
        finished_at: row.get(7)?,
        expected: row.get(8)?,
        taken: row.get(9)?,
        mapped: row.get(10)?,
        bytes: row.get(11)?,
        waiting_bytes: row.get(12)?,
        lines_read: row.get(13)?,
        lines_bad: row.get(14)?,
        samples: row.get(15)?,
        why: row.get(16)?,
    })
}

pub(super) fn write(tx: &Tx<'_>, study: &Study) -> Result<()> {
    let row = StudyRow::of(study);
    tx.run(
        sql!("analyze/write_study"),
        (
            row.id,
            row.state,
            row.changed_at,
            row.finished_at,
            row.expected,
            row.taken,
            row.mapped,
            row.bytes,
            row.waiting_bytes,
            row.lines_read,
            row.lines_bad,
            row.samples,
            row.why,
        ),
    )?;
    Ok(())
}

pub(super) fn complete(tx: &mut Tx<'_>, scope: &Scope, id: StudyId, batches: u64, act: &Act) -> Result<Study> {
    let mut study = get(tx.conn, scope, id)?;
    let act = Act { group: study.group, ..act.clone() };
    let row: StudyRow = tx.perform(&act, |tx| {
        if study.may_complete(batches)? {
            completed(&mut study, batches, tx.now);
            write(tx, &study)?;
            reduce_if_whole(tx, &study)?;
        }
        Ok(StudyRow::of(&study))
    })?;
    row.read()
}

/// To be called once for each change that may have made the study whole.
pub(super) fn reduce_if_whole(tx: &mut Tx<'_>, study: &Study) -> Result<()> {
    if study.is_whole() {
        let task = submit_one(tx, &study.reduce_task(), None)?.id;
        tx.run(sql!("analyze/set_reduce"), (study.id.0.0, task.0))?;
    }
    Ok(())
}

pub(super) fn cancel(tx: &mut Tx<'_>, scope: &Scope, id: StudyId, only: Only, act: &Act) -> Result<()> {
    let found = find(tx.conn, id)?.filter(|study| scope.sees(study.group));
    let Some(mut study) = found else {
        // It may have been forgotten since: a repeat gets its answer all the same.
        return tx.perform(act, |_| Err(not_found(id)));
    };
    let act = Act { group: study.group, ..act.clone() };
    tx.perform(&act, |tx| match only.forgets(&study)? {
        None => Ok(()),
        Some(true) => {
            tx.run(sql!("analyze/drop_answers"), (id.0.0, ANSWERS_MAX))?;
            tx.run(sql!("analyze/forget"), (id.0.0,)).map(drop)
        }
        Some(false) => end(tx, &mut study, StudyState::Cancelled, Some(CANCELLED.to_owned()), None),
    })
}

/// Brings a study that is under way to its end, and tells subscribers.
pub(super) fn end(
    tx: &mut Tx<'_>,
    study: &mut Study,
    state: StudyState,
    why: Option<String>,
    by: Option<TaskId>,
) -> Result<()> {
    over(study, state, why, tx.now);
    write(tx, study)?;
    let (event, id) = (study.finished_event(), tx.next_id());
    let row = (id, &event.kind, event.group.map(|group| group.0), by.map(|task| task.0), &event.body);
    tx.run(sql!("submit/add_event"), row)?;
    Ok(())
}

pub(super) fn answer(conn: &Connection, id: StudyId, name: &str) -> Result<Option<Vec<u8>>> {
    Ok(many(conn, sql!("analyze/answer"), (id.0.0, name), |row| row.get(0))?.pop())
}
