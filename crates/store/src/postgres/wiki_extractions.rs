//! Extractions: how they begin, go on and end, and who sees them.

use std::time::Duration;

use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_queue::{Act, Scope, TaskId, UnixMs};
use malla_wiki::{Extraction, ExtractionId, NewExtraction, Step};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::act::Roused;
use super::analyze_studies::submit;
use super::fetch::begin as begin_by_index;
use super::fetch_pages::new_ids;
use super::lease::UNFLUSHED;
use super::perform::{first_answer, settle};
use super::pool::Broken;
use super::{read, sql};
use crate::analyze_rows::int;
use crate::fetch_rows::plain;
use crate::listing::Builder;
use crate::wiki_rows::{ExtractionRow, STUCK, code, count_columns, first_task, no_extraction};

/// The lock that gives the last place to one, and the same page to one.
const PLACES_LOCK: i64 = 0x7769_6b69;

/// The select of extractions, with this after it.
macro_rules! extraction {
    ($rest:literal) => {
        concat!(include_str!("../../sql/both/wiki/extraction.sql"), $rest)
    };
}

pub(super) async fn begin(
    client: &mut Object,
    new: &NewExtraction,
    key: &str,
    act: &Act,
    now: UnixMs,
) -> Result<Roused<ExtractionRow>, Broken> {
    let act = Act { group: new.group, ..act.clone() };
    let tx = begin_by_index(client).await?;
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok((answer, Vec::new()));
    }
    tx.query_one(&tx.prepare_cached(sql!("analyze/lock_places")).await?, &[&PLACES_LOCK]).await?;
    let same = extraction!(" WHERE coalesce(e.grp, 0) = $1 AND e.key = $2 AND e.state < 2");
    let group = new.group.map_or(0, |group| group.0);
    if let Some(row) = tx.query_opt(&tx.prepare_cached(same).await?, &[&group, &key]).await? {
        return Ok((settle(tx, &act, now, "wiki.extract", read_extraction(&row)).await?, Vec::new()));
    }
    let under_way = tx.query_one(&tx.prepare_cached(sql!("wiki/under_way")).await?, &[]).await?.get(0);
    let id = new_ids(&tx, 1, now).await?.remove(0);
    let row = ExtractionRow::begun(new, id, under_way, now)?;
    let (task, rouse) = submit(&tx, &first_task(new, id)?, now).await?;
    let ExtractionRow { id, group, asked, state, asked_at, .. } = &row;
    let statement = tx.prepare_cached(sql!("wiki/add_extraction")).await?;
    tx.execute(&statement, &[id, group, asked, &key, state, asked_at, &task.0]).await?;
    Ok((settle(tx, &act, now, "wiki.extract", row).await?, rouse))
}

pub(super) async fn get(client: &impl GenericClient, scope: &Scope, id: ExtractionId) -> Result<Extraction, Broken> {
    let statement = client.prepare_cached(extraction!(" WHERE e.id = $1")).await?;
    let row = client.query_opt(&statement, &[&id.0.0]).await?;
    let found = row.map(|row| read_extraction(&row).read()).filter(|found| scope.sees(found.group));
    Ok(found.ok_or_else(|| no_extraction(id))?)
}

pub(super) async fn list(
    client: &impl GenericClient,
    scope: &Scope,
    below: Option<ExtractionId>,
    limit: usize,
) -> Result<Vec<Extraction>, Broken> {
    let rows = read::query(client, &Builder::new('$').extractions(scope, below, limit)).await?;
    Ok(rows.iter().map(|row| read_extraction(row).read()).collect())
}

fn read_extraction(row: &Row) -> ExtractionRow {
    ExtractionRow {
        id: row.get(0),
        group: row.get(1),
        asked: row.get(2),
        state: row.get(3),
        wiki: row.get(4),
        pageid: row.get(5),
        title: row.get(6),
        requests: row.get(7),
        done: row.get(8),
        total: row.get(9),
        new: row.get(10),
        erased: row.get(11),
        note: row.get(12),
        asked_at: row.get(13),
        started_at: row.get(14),
        changed_at: row.get(15),
        finished_at: row.get(16),
    }
}

/// Its lock comes before all others of its step.
pub(super) async fn lock(tx: &Transaction<'_>, id: ExtractionId) -> Result<(), Broken> {
    tx.execute(&tx.prepare_cached(sql!("wiki/lock_extraction")).await?, &[&id.0.0]).await?;
    Ok(())
}

/// Notes how far an extraction is, unless it is over; `task` is that of its next step.
pub(super) async fn step(tx: &Transaction<'_>, step: &Step, task: TaskId, now: UnixMs) -> Result<(), Broken> {
    let (requests, done, total, new, erased) = count_columns(&step.counts);
    let params: [&(dyn ToSql + Sync); 13] = [
        &step.extraction.0.0,
        &code(step.state),
        &step.wiki.map(|wiki| wiki.0),
        &step.pageid.map(|pageid| pageid.0),
        &step.title.as_deref().map(plain),
        &requests,
        &done,
        &total,
        &new,
        &erased,
        &step.note.as_deref().map(plain),
        &now.0,
        &task.0,
    ];
    tx.execute(&tx.prepare_cached(sql!("wiki/step")).await?, &params).await?;
    Ok(())
}

/// One bounded step. What somebody else has locked is left for the next.
pub(super) async fn sweep(client: &mut Object, keep: Duration, step: usize, now: UnixMs) -> Result<u64, Broken> {
    let tx = begin_by_index(client).await?;
    tx.batch_execute(UNFLUSHED).await?;
    let most = int(step as u64);
    let rows = tx.query(&tx.prepare_cached(sql!("wiki/lock_stuck")).await?, &[&most]).await?;
    let stuck: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let mut changed = 0;
    if !stuck.is_empty() {
        let statement = tx.prepare_cached(sql!("wiki/fail_stuck")).await?;
        changed += tx.execute(&statement, &[&stuck, &STUCK, &now.0]).await?;
    }
    let statement = tx.prepare_cached(sql!("wiki/forget_extractions")).await?;
    changed += tx.execute(&statement, &[&now.minus(keep).0, &most]).await?;
    tx.commit().await?;
    Ok(changed)
}
