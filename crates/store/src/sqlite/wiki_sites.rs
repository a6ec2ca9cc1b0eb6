//! Wikis and their pages: how they are found and watched, and who sees them.

use malla_queue::{Act, GroupId, Result, Scope};
use malla_wiki::{NewWiki, Page, PageId, Wiki, WikiId};
use rusqlite::{Connection, Row};

use super::tx::Tx;
use super::{many, read, sql};
use crate::listing::Builder;
use crate::wiki_rows::{FoundRow, PageRow, WikiRow, no_page, no_wiki};

/// The select of wikis or pages, with this after it.
macro_rules! select {
    ($of:literal, $rest:literal) => {
        concat!(include_str!(concat!("../../sql/both/wiki/", $of, ".sql")), $rest)
    };
}

pub(super) fn found(tx: &mut Tx<'_>, wiki: &NewWiki) -> Result<Wiki> {
    let FoundRow { group, api, origin, locale, name, about } = FoundRow::of(wiki)?;
    let row = (group, api, origin, locale, name, about, wiki.scraped, tx.now.0);
    let id = tx.one(sql!("wiki/put_wiki"), row, |row| row.get(0))?.map(WikiId);
    get(tx.conn, &Scope::All, id.unwrap_or(WikiId(0)))
}

pub(super) fn get(conn: &Connection, scope: &Scope, id: WikiId) -> Result<Wiki> {
    let wiki = many(conn, select!("wiki", " WHERE w.id = ?1"), (id.0,), read_wiki)?.pop();
    let wiki = wiki.map(WikiRow::read).transpose()?;
    wiki.filter(|wiki| scope.sees(wiki.group)).ok_or_else(|| no_wiki(id))
}

pub(super) fn list(conn: &Connection, scope: &Scope, after: Option<WikiId>, limit: usize) -> Result<Vec<Wiki>> {
    let rows = read::query(conn, Builder::new('?').wikis(scope, after, limit), read_wiki)?;
    rows.into_iter().map(WikiRow::read).collect()
}

pub(super) fn at(conn: &Connection, group: Option<GroupId>, origin: &str) -> Result<Vec<Wiki>> {
    let select = select!("wiki", " WHERE w.origin = ?1 AND w.grp IS ?2 ORDER BY w.id");
    let rows = many(conn, select, (origin, group.map(|group| group.0)), read_wiki)?;
    rows.into_iter().map(WikiRow::read).collect()
}

fn read_wiki(row: &Row<'_>) -> rusqlite::Result<WikiRow> {
    Ok(WikiRow {
        id: row.get(0)?,
        group: row.get(1)?,
        api: row.get(2)?,
        locale: row.get(3)?,
        name: row.get(4)?,
        about: row.get(5)?,
        scraped: row.get(6)?,
        found_at: row.get(7)?,
        pages: row.get(8)?,
        revisions: row.get(9)?,
        visits_day: row.get(10)?,
        visits: row.get(11)?,
    })
}

pub(super) fn page(conn: &Connection, wiki: WikiId, pageid: PageId) -> Result<Option<PageRow>> {
    let select = select!("page", " WHERE p.wiki = ?1 AND p.pageid = ?2");
    Ok(many(conn, select, (wiki.0, pageid.0), read_page)?.pop())
}

pub(super) fn pages(conn: &Connection, wiki: WikiId, after: Option<PageId>, limit: usize) -> Result<Vec<Page>> {
    let select = select!("page", " WHERE p.wiki = ?1 AND p.pageid > ?2 ORDER BY p.pageid LIMIT ?3");
    let after = after.map_or(i64::MIN, |after| after.0);
    Ok(many(conn, select, (wiki.0, after, limit), read_page)?.into_iter().map(PageRow::read).collect())
}

fn read_page(row: &Row<'_>) -> rusqlite::Result<PageRow> {
    Ok(PageRow {
        wiki: row.get(0)?,
        pageid: row.get(1)?,
        title: row.get(2)?,
        ns: row.get(3)?,
        deleted: row.get(4)?,
        first_extraction: row.get(5)?,
        last_extraction: row.get(6)?,
        newest: (row.get(7)?, row.get(8)?),
        mark: (row.get(9)?, row.get(10)?),
        complete_at: row.get(11)?,
        reconciled_at: row.get(12)?,
        visited_at: row.get(13)?,
        pulse: (row.get(14)?, row.get(15)?, row.get(16)?),
        revisions: row.get(17)?,
        version: row.get(18)?,
        last_block: row.get(19)?,
        watched: row.get(20)?,
    })
}

pub(super) fn watch(
    tx: &mut Tx<'_>,
    scope: &Scope,
    (wiki, pageid): (WikiId, PageId),
    watched: bool,
    act: &Act,
) -> Result<PageRow> {
    let act = Act { group: get(tx.conn, scope, wiki)?.group, ..act.clone() };
    tx.perform(&act, |tx| {
        tx.run(sql!("wiki/watch_page"), (wiki.0, pageid.0, watched))?;
        page(tx.conn, wiki, pageid)?.ok_or_else(|| no_page(wiki, pageid))
    })
}
