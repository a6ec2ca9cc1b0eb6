//! Batches: how they come in, and what is read of them.

use deadpool_postgres::Object;
use malla_analyze::analysis::Role;
use malla_analyze::{BatchKey, KnownBatch, MappedBatch, NewBatch, StoredBatch, StudyId, TakenBatch};
use malla_queue::{Scope, UnixMs};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::act::Roused;
use super::analyze_studies as studies;
use super::commit::commit;
use super::fetch::begin;
use super::pool::Broken;
use super::{point, sql};
use crate::analyze_rows::{Place, after_columns, came, came_mapped, count, int, known_batch};

pub(super) async fn take(
    client: &mut Object,
    scope: &Scope,
    id: StudyId,
    batch: &NewBatch,
    now: UnixMs,
) -> Result<Roused<TakenBatch>, Broken> {
    let tx = begin(client).await?;
    let mut study = studies::visible(studies::lock(&tx, id).await?, scope, id)?;
    let BatchKey { input, part, seq } = &batch.key;
    let (study_id, seq) = (id.0.0, int(*seq));
    let row = tx.query_one(&tx.prepare_cached(sql!("analyze/place")).await?, &[&study_id, input, part, &seq]).await?;
    if read_place(&row).check(&study, batch)? == TakenBatch::Again {
        return Ok((TakenBatch::Again, Vec::new()));
    }
    let (hash, size, packed) = (&batch.hash.0[..], int(batch.size), &batch.packed[..]);
    let mut rouse = Vec::new();
    match batch.role {
        Role::Dimension => {
            let statement = tx.prepare_cached(sql!("analyze/add_dimension")).await?;
            tx.execute(&statement, &[&study_id, input, part, &seq, &hash, &size, &packed]).await?;
        }
        Role::Records => {
            let (task, roused) = studies::submit(&tx, &study.map_task(&batch.key, &batch.hash), now).await?;
            rouse = roused;
            let statement = tx.prepare_cached(sql!("analyze/add_records")).await?;
            tx.execute(&statement, &[&study_id, input, part, &seq, &hash, &size, &packed, &task.0]).await?;
        }
    }
    came(&mut study, batch, now);
    studies::write(&tx, &study).await?;
    point("analyze.take", "inside");
    commit(tx).await?;
    Ok((TakenBatch::New, rouse))
}

pub(super) async fn take_mapped(
    client: &mut Object,
    scope: &Scope,
    id: StudyId,
    batch: &MappedBatch,
    now: UnixMs,
) -> Result<TakenBatch, Broken> {
    let tx = begin(client).await?;
    let mut study = studies::visible(studies::lock(&tx, id).await?, scope, id)?;
    let BatchKey { input, part, seq } = &batch.key;
    let (study_id, seq) = (id.0.0, int(*seq));
    let row = tx.query_one(&tx.prepare_cached(sql!("analyze/place")).await?, &[&study_id, input, part, &seq]).await?;
    let paused = tx.query_opt(&tx.prepare_cached(sql!("analyze/paused")).await?, &[&id.lane().as_str()]).await?;
    let taken = read_place(&row).check_mapped(&study, batch, paused.is_some())?;
    if taken == TakenBatch::New {
        let (hash, size, partial) = (&batch.hash.0[..], int(batch.size), &batch.partial[..]);
        let statement = tx.prepare_cached(sql!("analyze/add_mapped")).await?;
        tx.execute(&statement, &[&study_id, input, part, &seq, &hash, &size, &partial]).await?;
        came_mapped(&mut study, batch, now);
        studies::write(&tx, &study).await?;
    }
    point("analyze.map", "inside");
    // Whoever missed the answer and asks again is told that it came before.
    tx.commit().await?;
    Ok(taken)
}

fn read_place(row: &Row) -> Place {
    Place {
        hash: row.get(0),
        sealed: row.get(1),
        dimension_bytes: row.get(2),
        parts: row.get(3),
        waiting_bytes: row.get(4),
    }
}

/// Reads by the indexes, whatever is known of the size of the tables.
async fn rows(client: &mut Object, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Broken> {
    let tx = begin(client).await?;
    let rows = tx.query(&tx.prepare_cached(sql).await?, params).await?;
    tx.rollback().await?;
    Ok(rows)
}

pub(super) async fn list(
    client: &mut Object,
    id: StudyId,
    after: Option<&BatchKey>,
    limit: usize,
) -> Result<Vec<KnownBatch>, Broken> {
    let ((input, part, seq), most) = (after_columns(after), int(limit as u64));
    let rows = rows(client, sql!("analyze/batches"), &[&id.0.0, &input, &part, &seq, &most]).await?;
    let read = |row: &Row| {
        let key = BatchKey { input: row.get(0), part: row.get(1), seq: count(row.get(2)) };
        Ok(known_batch(key, row.get(3), row.get(4), row.get(5))?)
    };
    rows.iter().map(read).collect()
}

pub(super) async fn get(client: &mut Object, id: StudyId, key: &BatchKey) -> Result<Option<StoredBatch>, Broken> {
    let rows = rows(client, sql!("analyze/batch"), &[&id.0.0, &key.input, &key.part, &int(key.seq)]).await?;
    Ok(rows.first().map(|row| StoredBatch { key: key.clone(), packed: row.get(0) }))
}

pub(super) async fn dimensions(client: &mut Object, id: StudyId, part: &str) -> Result<Vec<StoredBatch>, Broken> {
    let rows = rows(client, sql!("analyze/dimensions"), &[&id.0.0, &part]).await?;
    Ok(rows.iter().map(|row| StoredBatch { key: key_in(part, row), packed: row.get(2) }).collect())
}

pub(super) async fn parts(client: &mut Object, id: StudyId) -> Result<Vec<String>, Broken> {
    Ok(rows(client, sql!("analyze/parts"), &[&id.0.0]).await?.iter().map(|row| row.get(0)).collect())
}

pub(super) async fn partials(
    client: &mut Object,
    id: StudyId,
    part: &str,
    after: Option<&BatchKey>,
    limit: usize,
) -> Result<Vec<(BatchKey, Vec<u8>)>, Broken> {
    let ((input, _, seq), most) = (after_columns(after), int(limit as u64));
    let rows = rows(client, sql!("analyze/partials"), &[&id.0.0, &part, &input, &seq, &most]).await?;
    Ok(rows.iter().map(|row| (key_in(part, row), row.get(2))).collect())
}

/// The key of a batch of this part; its input and number come first in the row.
fn key_in(part: &str, row: &Row) -> BatchKey {
    BatchKey { input: row.get(0), part: part.to_owned(), seq: count(row.get(1)) }
}
