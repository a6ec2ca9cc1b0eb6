//! Studies: how they begin and end, and who sees them.

use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_analyze::{NewStudy, Only, Study, StudyId, StudyState};
use malla_queue::{Act, Error, NewTask, Scope, TaskId, UnixMs};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::act::Roused;
use super::fetch::begin as begin_by_index;
use super::fetch_pages::new_ids;
use super::perform::{first_answer, settle};
use super::pool::Broken;
use super::submit::Columns;
use super::{read, sql};
use crate::analyze_rows::{CANCELLED, StudyRow, begun, completed, not_found, over};
use crate::listing::Builder;

/// The lock that gives the last place to one.
const PLACES_LOCK: i64 = 0x73_7475_6479;
/// Answers of a study at most: as many rows go with it at once.
const ANSWERS_MAX: i64 = 1_000;

pub(super) async fn begin(client: &mut Object, new: &NewStudy, act: &Act, now: UnixMs) -> Result<StudyRow, Broken> {
    let act = Act { group: new.group, ..act.clone() };
    let tx = begin_by_index(client).await?;
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok(answer);
    }
    tx.query_one(&tx.prepare_cached(sql!("analyze/lock_places")).await?, &[&PLACES_LOCK]).await?;
    let under_way = tx.query_one(&tx.prepare_cached(sql!("analyze/under_way")).await?, &[]).await?.get(0);
    let id = new_ids(&tx, 1, now).await?.remove(0);
    let row = StudyRow::of(&begun(new, id, under_way, now)?);
    let StudyRow { id, group, kind, params, state, created_at, changed_at, samples, .. } = &row;
    let statement = tx.prepare_cached(sql!("analyze/add_study")).await?;
    tx.execute(&statement, &[id, group, kind, params, state, created_at, changed_at, samples]).await?;
    settle(tx, &act, now, "analyze.begin", row).await
}

/// The select of studies, with this after it.
macro_rules! study {
    ($rest:literal) => {
        concat!(include_str!("../../sql/both/analyze/study.sql"), $rest)
    };
}

pub(super) async fn get(client: &impl GenericClient, scope: &Scope, id: StudyId) -> Result<Study, Broken> {
    let statement = client.prepare_cached(study!(" WHERE a.id = $1 AND NOT a.forgotten")).await?;
    let row = client.query_opt(&statement, &[&id.0.0]).await?;
    visible(row.map(|row| read_study(&row).read()).transpose()?, scope, id)
}

pub(super) fn visible(study: Option<Study>, scope: &Scope, id: StudyId) -> Result<Study, Broken> {
    Ok(study.filter(|study| scope.sees(study.group)).ok_or_else(|| not_found(id))?)
}

/// The study behind its lock, which comes before that of its lane.
pub(super) async fn lock(tx: &Transaction<'_>, id: StudyId) -> Result<Option<Study>, Broken> {
    let statement = tx.prepare_cached(study!(" WHERE a.id = $1 AND NOT a.forgotten FOR UPDATE")).await?;
    let row = tx.query_opt(&statement, &[&id.0.0]).await?;
    Ok(row.map(|row| read_study(&row).read()).transpose()?)
}

/// The same, unless somebody else has it.
pub(super) async fn lock_if_free(tx: &Transaction<'_>, id: StudyId) -> Result<Option<Study>, Broken> {
    let statement = tx.prepare_cached(study!(" WHERE a.id = $1 AND NOT a.forgotten FOR UPDATE SKIP LOCKED")).await?;
    let row = tx.query_opt(&statement, &[&id.0.0]).await?;
    Ok(row.map(|row| read_study(&row).read()).transpose()?)
}

/// Those under way, oldest first.
pub(super) async fn under_way(tx: &Transaction<'_>, limit: i64) -> Result<Vec<Study>, Broken> {
    let statement = tx.prepare_cached(study!(" WHERE a.state < 2 ORDER BY a.id LIMIT $1")).await?;
    let rows = tx.query(&statement, &[&limit]).await?;
    rows.iter().map(|row| Ok(read_study(row).read()?)).collect()
}

pub(super) async fn list(
    client: &impl GenericClient,
    scope: &Scope,
    below: Option<StudyId>,
    limit: usize,
) -> Result<Vec<Study>, Broken> {
    let rows = read::query(client, &Builder::new('$').studies(scope, below, limit)).await?;
    rows.iter().map(|row| Ok(read_study(row).read()?)).collect()
}

fn read_study(row: &Row) -> StudyRow {
    StudyRow {
        id: row.get(0),
        group: row.get(1),
        kind: row.get(2),
        params: row.get(3),
        state: row.get(4),
        created_at: row.get(5),
        changed_at: row.get(6),
        finished_at: row.get(7),
        expected: row.get(8),
        taken: row.get(9),
        mapped: row.get(10),
        bytes: row.get(11),
        waiting_bytes: row.get(12),
        lines_read: row.get(13),
        lines_bad: row.get(14),
        samples: row.get(15),
        why: row.get(16),
    }
}

pub(super) async fn write(tx: &Transaction<'_>, study: &Study) -> Result<(), Broken> {
    let row = StudyRow::of(study);
    let statement = tx.prepare_cached(sql!("analyze/write_study")).await?;
    let params: [&(dyn ToSql + Sync); 13] = [
        &row.id,
        &row.state,
        &row.changed_at,
        &row.finished_at,
        &row.expected,
        &row.taken,
        &row.mapped,
        &row.bytes,
        &row.waiting_bytes,
        &row.lines_read,
        &row.lines_bad,
        &row.samples,
        &row.why,
    ];
    tx.execute(&statement, &params).await?;
    Ok(())
}

pub(super) async fn complete(
    client: &mut Object,
    scope: &Scope,
    id: StudyId,
    batches: u64,
    act: &Act,
    now: UnixMs,
) -> Result<Roused<StudyRow>, Broken> {
    let tx = begin_by_index(client).await?;
    let mut study = visible(lock(&tx, id).await?, scope, id)?;
    let act = Act { group: study.group, ..act.clone() };
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok((answer, Vec::new()));
    }
    let mut rouse = Vec::new();
    if study.may_complete(batches)? {
        completed(&mut study, batches, now);
        write(&tx, &study).await?;
        rouse = reduce_if_whole(&tx, &study, now).await?;
    }
    Ok((settle(tx, &act, now, "analyze.complete", StudyRow::of(&study)).await?, rouse))
}

/// To be called once for each change that may have made the study whole. Returns the rooms to rouse.
pub(super) async fn reduce_if_whole(tx: &Transaction<'_>, study: &Study, now: UnixMs) -> Result<Vec<String>, Broken> {
    if !study.is_whole() {
        return Ok(Vec::new());
    }
    let (task, rouse) = submit(tx, &study.reduce_task(), now).await?;
    tx.execute(&tx.prepare_cached(sql!("analyze/set_reduce")).await?, &[&study.id.0.0, &task.0]).await?;
    Ok(rouse)
}

/// Submits a task of a study. Returns the rooms to rouse with it.
pub(super) async fn submit(tx: &Transaction<'_>, task: &NewTask, now: UnixMs) -> Result<Roused<TaskId>, Broken> {
    let mut columns = Columns::default();
    columns.push(task, None, now);
    let (submitted, rouse) = columns.submit(tx, now, None).await?;
    let first = submitted.first().ok_or_else(|| Error::Internal("the server did not answer for a task".into()))?;
    Ok((first.id, rouse))
}

pub(super) async fn cancel(
    client: &mut Object,
    scope: &Scope,
    id: StudyId,
    only: Only,
    act: &Act,
    now: UnixMs,
) -> Result<(), Broken> {
    let tx = begin_by_index(client).await?;
    let found = lock(&tx, id).await?.filter(|study| scope.sees(study.group));
    let group = found.as_ref().map_or(act.group, |study| study.group);
    let act = Act { group, ..act.clone() };
    // Before the study is missed: it may have been forgotten since, and a repeat gets its answer all the same.
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok(answer);
    }
    let mut study = found.ok_or_else(|| not_found(id))?;
    match only.forgets(&study)? {
        None => {}
        Some(true) => {
            tx.execute(&tx.prepare_cached(sql!("analyze/drop_answers")).await?, &[&id.0.0, &ANSWERS_MAX]).await?;
            tx.execute(&tx.prepare_cached(sql!("analyze/forget")).await?, &[&id.0.0]).await?;
        }
        Some(false) => end(&tx, &mut study, StudyState::Cancelled, Some(CANCELLED.to_owned()), None, now).await?,
    }
    settle(tx, &act, now, "analyze", ()).await
}

/// Brings a study that is under way to its end, and tells subscribers.
pub(super) async fn end(
    tx: &Transaction<'_>,
    study: &mut Study,
    state: StudyState,
    why: Option<String>,
    by: Option<TaskId>,
    now: UnixMs,
) -> Result<(), Broken> {
    over(study, state, why, now);
    write(tx, study).await?;
    let event = study.finished_event();
    let (kinds, groups) = (vec![event.kind.as_str()], vec![event.group.map(|group| group.0)]);
    let (tasks, bodies) = (vec![by.map(|task| task.0)], vec![event.body.as_slice()]);
    let statement = tx.prepare_cached(sql!("fetch/add_events")).await?;
    tx.execute(&statement, &[&now.0, &kinds, &groups, &tasks, &bodies]).await?;
    Ok(())
}

pub(super) async fn answer(client: &impl GenericClient, id: StudyId, name: &str) -> Result<Option<Vec<u8>>, Broken> {
    let row = client.query_opt(&client.prepare_cached(sql!("analyze/answer")).await?, &[&id.0.0, &name]).await?;
    Ok(row.map(|row| row.get(0)))
}
