//! Counts of wikis by editor and by month: kept exact as revisions are written, and read.

use std::collections::BTreeMap;

use malla_queue::Result;
use malla_wiki::metrics::{ArticleCount, MonthEdits, WikiCounts};
use malla_wiki::{PageId, WikiId};
use rusqlite::Connection;

use super::tx::Tx;
use super::{many, sql};
use crate::analyze_rows::count;
use crate::wiki_change::Effects;
use crate::wiki_figures::{Figures, appeared};
use crate::wiki_rows::no_wiki;

/// Counts what wikis have more.
pub(super) fn add(tx: &Tx<'_>, effects: &Effects) -> Result<()> {
    let Figures { months, editors } = &effects.figures;
    for ((wiki, month), [edits, minor, anonymous]) in months {
        let all =
            tx.one(sql!("wiki/count_month"), (wiki, month, edits, minor, anonymous), |row| row.get::<_, i64>(0))?;
        if all == Some(0) {
            tx.run(sql!("wiki/drop_month"), (wiki, month))?;
        }
    }
    let mut names: BTreeMap<i64, i64> = BTreeMap::new();
    for ((wiki, editor), more) in editors {
        let all = tx.one(sql!("wiki/count_editor"), (wiki, editor, more), |row| row.get::<_, i64>(0))?;
        if all == Some(0) {
            tx.run(sql!("wiki/drop_editor"), (wiki, editor))?;
        }
        *names.entry(*wiki).or_default() += appeared(*more, all.unwrap_or(0));
    }
    for (wiki, (pages, revisions)) in &effects.wikis {
        let editors = names.get(wiki).copied().unwrap_or(0);
        tx.run(sql!("wiki/add_to_wiki"), (wiki, pages, revisions, editors))?;
    }
    Ok(())
}

pub(super) fn read(conn: &Connection, wiki: WikiId, top: usize) -> Result<WikiCounts> {
    let found = many(conn, sql!("wiki/counts"), (wiki.0,), |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
    let [pages, revisions, editors] = found.into_iter().next().ok_or_else(|| no_wiki(wiki))?.map(count);
    let months = many(conn, sql!("wiki/months"), (wiki.0,), |row| {
        let [edits, minor, anonymous] = [row.get(1)?, row.get(2)?, row.get(3)?].map(count);
        Ok(MonthEdits { month: row.get(0)?, edits, minor, anonymous })
    })?;
    let top_editors = many(conn, sql!("wiki/top_editors"), (wiki.0, top), |row| Ok((row.get(0)?, count(row.get(1)?))))?;
    let top_pages = many(conn, sql!("wiki/top_pages"), (wiki.0, top), |row| {
        Ok(ArticleCount { pageid: PageId(row.get(0)?), title: row.get(1)?, edits: count(row.get(2)?) })
    })?;
    Ok(WikiCounts { pages, revisions, editors, months, top_editors, top_pages })
}
