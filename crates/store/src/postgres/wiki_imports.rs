//! Dumps that are read in: how an import begins, takes batches and ends.

use deadpool_postgres::{GenericClient, Object};
use malla_queue::{Act, Error, Scope, UnixMs};
use malla_wiki::{Committed, Import, ImportId, Imported, WikiId};
use tokio_postgres::Row;

use super::fetch::begin as begin_by_index;
use super::fetch_pages::new_ids;
use super::perform::{first_answer, settle};
use super::pool::Broken;
use super::{point, read, sql, wiki_change as change, wiki_counts as counts, wiki_pages as pages, wiki_sites as sites};
use crate::analyze_rows::int;
use crate::listing::Builder;
use crate::wiki_change::incoming;
use crate::wiki_rows::{ImportRow, day, is_next_batch, no_import};

/// The select of imports, with this after it.
macro_rules! import {
    ($rest:literal) => {
        concat!(include_str!("../../sql/both/wiki/import.sql"), $rest)
    };
}

pub(super) async fn begin(
    client: &mut Object,
    scope: &Scope,
    wiki: WikiId,
    name: &str,
    act: &Act,
    now: UnixMs,
) -> Result<ImportRow, Broken> {
    let tx = begin_by_index(client).await?;
    let act = Act { group: sites::get(&tx, scope, wiki).await?.group, ..act.clone() };
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok(answer);
    }
    let id = new_ids(&tx, 1, now).await?.remove(0);
    let statement = tx.prepare_cached(sql!("wiki/add_import")).await?;
    tx.execute(&statement, &[&id, &wiki.0, &name, &now.0]).await?;
    let statement = tx.prepare_cached(import!(" WHERE i.wiki = $1 AND i.name = $2")).await?;
    let row = tx.query_opt(&statement, &[&wiki.0, &name]).await?;
    let row = row.ok_or_else(|| Error::Internal("an import vanished".into()))?;
    settle(tx, &act, now, "wiki", read_import(&row)).await
}

pub(super) async fn get(client: &impl GenericClient, scope: &Scope, id: ImportId) -> Result<Import, Broken> {
    let statement = client.prepare_cached(import!(" WHERE i.id = $1")).await?;
    let import = client.query_opt(&statement, &[&id.0.0]).await?.map(|row| read_import(&row).read());
    Ok(import.filter(|import| scope.sees(import.group)).ok_or_else(|| no_import(id))?)
}

pub(super) async fn list(
    client: &impl GenericClient,
    scope: &Scope,
    below: Option<ImportId>,
    limit: usize,
) -> Result<Vec<Import>, Broken> {
    let rows = read::query(client, &Builder::new('$').imports(scope, below, limit)).await?;
    Ok(rows.iter().map(|row| read_import(row).read()).collect())
}

fn read_import(row: &Row) -> ImportRow {
    ImportRow {
        id: row.get(0),
        wiki: row.get(1),
        group: row.get(2),
        name: row.get(3),
        batches: row.get(4),
        pages: row.get(5),
        revisions: row.get(6),
        finished: row.get(7),
        begun_at: row.get(8),
        changed_at: row.get(9),
    }
}

/// The locks are taken in order: the import, pages, names, counts, the wiki.
pub(super) async fn take(client: &mut Object, imported: &Imported, now: UnixMs) -> Result<Committed, Broken> {
    let tx = begin_by_index(client).await?;
    let statement = tx.prepare_cached(import!(" WHERE i.id = $1 FOR UPDATE OF i")).await?;
    let row = tx.query_opt(&statement, &[&imported.import.0.0]).await?;
    let import = row.map(|row| read_import(&row).read()).ok_or_else(|| no_import(imported.import))?;
    if !is_next_batch(&import, imported.batch)? {
        return Ok(Committed::Done);
    }
    let (changes, incoming) = (&imported.changes, incoming(&imported.changes));
    let Some(locked) = pages::lock(&tx, changes, &incoming, None, now).await? else { return Ok(Committed::Stale) };
    let effects = change::apply(&tx, changes, &incoming, &locked, now).await?;
    let (more_pages, more) = effects.gained();
    let statement = tx.prepare_cached(sql!("wiki/write_import")).await?;
    let (id, batches) = (import.id.0.0, int(import.batches + 1));
    tx.execute(&statement, &[&id, &batches, &more_pages, &more, &imported.last, &now.0]).await?;
    counts::add(&tx, &effects, None, day(now)).await?;
    point("wiki.import", "inside");
    tx.commit().await?;
    Ok(Committed::Done)
}
