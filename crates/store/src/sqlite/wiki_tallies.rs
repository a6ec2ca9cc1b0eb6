//! How far histories were counted: kept, read and forgotten.

use malla_queue::{Result, UnixMs};
use malla_wiki::metrics::KeptTally;
use malla_wiki::{Mark, Page, PageId, RevId, WikiId};
use rusqlite::Connection;

use super::tx::Tx;
use super::{many, sql, wiki_sites as sites};
use crate::analyze_rows::int;
use crate::wiki_change::Effects;
use crate::wiki_rows::PageRow;

pub(super) fn get(conn: &Connection, wiki: WikiId, pageid: PageId) -> Result<Option<(Page, Option<KeptTally>)>> {
    let Some(page) = sites::page(conn, wiki, pageid)?.map(PageRow::read) else { return Ok(None) };
    let kept = many(conn, sql!("wiki/tally"), (wiki.0, pageid.0), |row| {
        Ok(KeptTally { mark: Mark { at: UnixMs(row.get(0)?), revid: RevId(row.get(1)?) }, packed: row.get(2)? })
    })?;
    Ok(Some((page, kept.into_iter().next())))
}

pub(super) fn keep(tx: &Tx<'_>, wiki: WikiId, pageid: PageId, version: u64, tally: &KeptTally) -> Result<()> {
    let KeptTally { mark, packed } = tally;
    tx.run(sql!("wiki/keep_tally"), (wiki.0, pageid.0, int(version), mark.at.0, mark.revid.0, packed))?;
    Ok(())
}

/// Forgets those in which something is another now.
pub(super) fn forget(tx: &Tx<'_>, effects: &Effects) -> Result<()> {
    for (page, (at, revid)) in &effects.altered {
        tx.run(sql!("wiki/forget_tally"), (page, at, revid))?;
    }
    Ok(())
}
