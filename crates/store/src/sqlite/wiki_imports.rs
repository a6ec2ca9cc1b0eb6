//! Dumps that are read in: how an import begins, takes batches and ends.

use malla_queue::{Act, Result, Scope};
use malla_wiki::{Committed, Import, ImportId, Imported, WikiId};
use rusqlite::{Connection, Row};

use super::tx::Tx;
use super::{many, read, sql, wiki_change as change, wiki_sites as sites};
use crate::analyze_rows::int;
use crate::listing::Builder;
use crate::wiki_rows::{ImportRow, is_next_batch, no_import};

pub(super) fn begin(tx: &mut Tx<'_>, scope: &Scope, wiki: WikiId, name: &str, act: &Act) -> Result<ImportRow> {
    let act = Act { group: sites::get(tx.conn, scope, wiki)?.group, ..act.clone() };
    tx.perform(&act, |tx| {
        let id = match tx.one(sql!("wiki/find_import"), (wiki.0, name), |row| row.get(0))? {
            Some(id) => id,
            None => {
                let id = tx.next_id();
                tx.run(sql!("wiki/add_import"), (id, wiki.0, name, tx.now.0))?;
                id
            }
        };
        find(tx.conn, id)?.ok_or_else(|| no_import(ImportId(malla_queue::TaskId(id))))
    })
}

fn find(conn: &Connection, id: i64) -> Result<Option<ImportRow>> {
    let select = concat!(include_str!("../../sql/both/wiki/import.sql"), " WHERE i.id = ?1");
    Ok(many(conn, select, (id,), read_import)?.pop())
}

pub(super) fn get(conn: &Connection, scope: &Scope, id: ImportId) -> Result<Import> {
    let import = find(conn, id.0.0)?.map(ImportRow::read);
    import.filter(|import| scope.sees(import.group)).ok_or_else(|| no_import(id))
}

pub(super) fn list(conn: &Connection, scope: &Scope, below: Option<ImportId>, limit: usize) -> Result<Vec<Import>> {
    let rows = read::query(conn, Builder::new('?').imports(scope, below, limit), read_import)?;
    Ok(rows.into_iter().map(ImportRow::read).collect())
}

fn read_import(row: &Row<'_>) -> rusqlite::Result<ImportRow> {
    Ok(ImportRow {
        id: row.get(0)?,
        wiki: row.get(1)?,
        group: row.get(2)?,
        name: row.get(3)?,
        batches: row.get(4)?,
        pages: row.get(5)?,
        revisions: row.get(6)?,
        finished: row.get(7)?,
        begun_at: row.get(8)?,
        changed_at: row.get(9)?,
    })
}

pub(super) fn take(tx: &mut Tx<'_>, imported: &Imported) -> Result<Committed> {
    let import = get(tx.conn, &Scope::All, imported.import)?;
    if !is_next_batch(&import, imported.batch)? {
        return Ok(Committed::Done);
    }
    let Some(found) = change::find(tx, &imported.changes)? else { return Ok(Committed::Stale) };
    let (pages, revisions) = change::apply(tx, &imported.changes, &found)?.gained();
    let row = (import.id.0.0, int(import.batches + 1), pages, revisions, imported.last, tx.now.0);
    tx.run(sql!("wiki/write_import"), row)?;
    Ok(Committed::Done)
}
