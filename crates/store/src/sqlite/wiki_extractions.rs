//! Extractions: how they begin, go on and end, and who sees them.

use std::time::Duration;

use malla_queue::{Act, Result, Scope, TaskId};
use malla_wiki::{Extraction, ExtractionId, NewExtraction, Step};
use rusqlite::{Connection, Row};

use super::submit::submit_one;
use super::tx::Tx;
use super::{many, read, sql};
use crate::fetch_rows::plain;
use crate::listing::Builder;
use crate::wiki_rows::{ExtractionRow, STUCK, code, count_columns, first_task, no_extraction};

/// The select of extractions, with this after it.
macro_rules! extraction {
    ($rest:literal) => {
        concat!(include_str!("../../sql/both/wiki/extraction.sql"), $rest)
    };
}

pub(super) fn begin(tx: &mut Tx<'_>, new: &NewExtraction, key: &str, act: &Act) -> Result<ExtractionRow> {
    let act = Act { group: new.group, ..act.clone() };
    tx.perform(&act, |tx| {
        let same = extraction!(" WHERE coalesce(e.grp, 0) = ?1 AND e.key = ?2 AND e.state < 2");
        let group = new.group.map_or(0, |group| group.0);
        if let Some(row) = tx.one(same, (group, key), read_extraction)? {
            return Ok(row);
        }
        let under_way = tx.one(sql!("wiki/under_way"), (), |row| row.get(0))?.unwrap_or(0);
        let row = ExtractionRow::begun(new, tx.next_id(), under_way, tx.now)?;
        let task = submit_one(tx, &first_task(new, row.id)?, None)?.id;
        let ExtractionRow { id, group, asked, state, asked_at, .. } = &row;
        tx.run(sql!("wiki/add_extraction"), (id, group, asked, key, state, asked_at, task.0))?;
        Ok(row)
    })
}

pub(super) fn get(conn: &Connection, scope: &Scope, id: ExtractionId) -> Result<Extraction> {
    let row = many(conn, extraction!(" WHERE e.id = ?1"), (id.0.0,), read_extraction)?.pop();
    row.map(ExtractionRow::read).filter(|found| scope.sees(found.group)).ok_or_else(|| no_extraction(id))
}

pub(super) fn list(
    conn: &Connection,
    scope: &Scope,
    below: Option<ExtractionId>,
    limit: usize,
) -> Result<Vec<Extraction>> {
    let rows = read::query(conn, Builder::new('?').extractions(scope, below, limit), read_extraction)?;
    Ok(rows.into_iter().map(ExtractionRow::read).collect())
}

fn read_extraction(row: &Row<'_>) -> rusqlite::Result<ExtractionRow> {
    Ok(ExtractionRow {
        id: row.get(0)?,
        group: row.get(1)?,
        asked: row.get(2)?,
        state: row.get(3)?,
        wiki: row.get(4)?,
        pageid: row.get(5)?,
        title: row.get(6)?,
        requests: row.get(7)?,
        done: row.get(8)?,
        total: row.get(9)?,
        new: row.get(10)?,
        erased: row.get(11)?,
        note: row.get(12)?,
        asked_at: row.get(13)?,
        started_at: row.get(14)?,
        changed_at: row.get(15)?,
        finished_at: row.get(16)?,
    })
}

/// Notes how far an extraction is, unless it is over; `task` is that of its next step.
pub(super) fn step(tx: &Tx<'_>, step: &Step, task: TaskId) -> Result<()> {
    let (requests, done, total, new, erased) = count_columns(&step.counts);
    let row = (
        step.extraction.0.0,
        code(step.state),
        step.wiki.map(|wiki| wiki.0),
        step.pageid.map(|pageid| pageid.0),
        step.title.as_deref().map(plain),
        requests,
        done,
        total,
        new,
        erased,
        step.note.as_deref().map(plain),
        tx.now.0,
        task.0,
    );
    tx.run(sql!("wiki/step"), row)?;
    Ok(())
}

pub(super) fn sweep(tx: &Tx<'_>, keep: Duration, step: usize) -> Result<u64> {
    let failed = tx.run(sql!("wiki/fail_stuck"), (step, STUCK, tx.now.0))?;
    let gone = tx.run(sql!("wiki/forget_extractions"), (tx.now.minus(keep).0, step))?;
    Ok((failed + gone) as u64)
}
