//! Batches: how they come in, and what is read of them.

use malla_analyze::analysis::Role;
use malla_analyze::{BatchKey, KnownBatch, MappedBatch, NewBatch, StoredBatch, StudyId, TakenBatch};
use malla_queue::{Result, Scope};
use rusqlite::{Connection, Row};

use super::analyze_studies as studies;
use super::submit::submit_one;
use super::tx::Tx;
use super::{lanes, many, sql};
use crate::analyze_rows::{Place, after_columns, came, came_mapped, count, int, known_batch, not_found};

pub(super) fn take(tx: &mut Tx<'_>, scope: &Scope, id: StudyId, batch: &NewBatch) -> Result<TakenBatch> {
    let mut study = studies::get(tx.conn, scope, id)?;
    let BatchKey { input, part, seq } = &batch.key;
    let (study_id, seq) = (id.0.0, int(*seq));
    let place = tx.one(sql!("analyze/place"), (study_id, input, part, seq), read_place)?;
    if place.ok_or_else(|| not_found(id))?.check(&study, batch)? == TakenBatch::Again {
        return Ok(TakenBatch::Again);
    }
    match batch.role {
        Role::Dimension => {
            tx.run(sql!("analyze/add_to_part"), (study_id, part, false, batch.packed.len()))?;
            tx.run(sql!("analyze/add_dimension"), (study_id, part, input, seq, &batch.packed[..]))?;
        }
        Role::Records => {
            let task = submit_one(tx, &study.map_task(&batch.key, &batch.hash), None)?.id;
            tx.run(sql!("analyze/add_to_part"), (study_id, part, true, 0))?;
            tx.run(sql!("analyze/add_waiting"), (study_id, input, part, seq, task.0, &batch.packed[..]))?;
        }
    }
    let mapped = batch.role == Role::Dimension;
    tx.run(sql!("analyze/add_batch"), (study_id, input, part, seq, batch.hash.0, int(batch.size), mapped))?;
    came(&mut study, batch, tx.now);
    studies::write(tx, &study)?;
    Ok(TakenBatch::New)
}

pub(super) fn take_mapped(tx: &mut Tx<'_>, scope: &Scope, id: StudyId, batch: &MappedBatch) -> Result<TakenBatch> {
    let mut study = studies::get(tx.conn, scope, id)?;
    let BatchKey { input, part, seq } = &batch.key;
    let (study_id, seq) = (id.0.0, int(*seq));
    let place =
        tx.one(sql!("analyze/place"), (study_id, input, part, seq), read_place)?.ok_or_else(|| not_found(id))?;
    let paused = lanes::find(tx, &id.lane())?.is_some_and(|lane| lane.state.paused);
    let taken = place.check_mapped(&study, batch, paused)?;
    if taken == TakenBatch::New {
        tx.run(sql!("analyze/add_batch"), (study_id, input, part, seq, batch.hash.0, int(batch.size), true))?;
        tx.run(sql!("analyze/add_partial"), (study_id, part, input, seq, &batch.partial))?;
        came_mapped(&mut study, batch, tx.now);
        studies::write(tx, &study)?;
    }
    Ok(taken)
}

fn read_place(row: &Row<'_>) -> rusqlite::Result<Place> {
    Ok(Place {
        hash: row.get(0)?,
        sealed: row.get(1)?,
        dimension_bytes: row.get(2)?,
        parts: row.get(3)?,
        waiting_bytes: row.get(4)?,
    })
}

pub(super) fn list(conn: &Connection, id: StudyId, after: Option<&BatchKey>, limit: usize) -> Result<Vec<KnownBatch>> {
    let (input, part, seq) = after_columns(after);
    let rows = many(conn, sql!("analyze/batches"), (id.0.0, input, part, seq, limit), |row| {
        let key = BatchKey { input: row.get(0)?, part: row.get(1)?, seq: count(row.get(2)?) };
        Ok((key, row.get::<_, Vec<u8>>(3)?, row.get::<_, i64>(4)?, row.get::<_, bool>(5)?))
    })?;
    rows.into_iter().map(|(key, hash, size, mapped)| known_batch(key, &hash, size, mapped)).collect()
}

pub(super) fn get(conn: &Connection, id: StudyId, key: BatchKey) -> Result<Option<StoredBatch>> {
    let place = (id.0.0, &key.input, &key.part, int(key.seq));
    let packed = many(conn, sql!("analyze/batch"), place, |row| row.get(0))?.pop();
    Ok(packed.map(|packed| StoredBatch { key, packed }))
}

pub(super) fn dimensions(conn: &Connection, id: StudyId, part: &str) -> Result<Vec<StoredBatch>> {
    many(conn, sql!("analyze/dimensions"), (id.0.0, part), |row| {
        Ok(StoredBatch { key: key_in(part, row)?, packed: row.get(2)? })
    })
}

pub(super) fn parts(conn: &Connection, id: StudyId) -> Result<Vec<String>> {
    many(conn, sql!("analyze/parts"), (id.0.0,), |row| row.get(0))
}

pub(super) fn partials(
    conn: &Connection,
    id: StudyId,
    part: &str,
    after: Option<&BatchKey>,
    limit: usize,
) -> Result<Vec<(BatchKey, Vec<u8>)>> {
    let (input, _, seq) = after_columns(after);
    many(conn, sql!("analyze/partials"), (id.0.0, part, input, seq, limit), |row| Ok((key_in(part, row)?, row.get(2)?)))
}

/// The key of a batch of this part; its input and number come first in the row.
fn key_in(part: &str, row: &Row<'_>) -> rusqlite::Result<BatchKey> {
    Ok(BatchKey { input: row.get(0)?, part: part.to_owned(), seq: count(row.get(1)?) })
}
