//! Pages behind their locks: what a change is made to.

use std::collections::HashMap;

use deadpool_postgres::Transaction;
use malla_queue::UnixMs;
use malla_wiki::{PageChange, Visited};

use super::pool::Broken;
use super::sql;
use crate::analyze_rows::int;
use crate::fetch_rows::plain;
use crate::wiki_change::{Incoming, Kept, Place, last_block};
use crate::wiki_rows::no_wiki;

/// Pages that are locked, by their number in the store.
pub(super) struct Locked {
    /// Those of the changes, in their order.
    pub(super) places: Vec<Place>,
    /// What is kept of the incoming revisions, by wiki and number.
    pub(super) kept: HashMap<(i64, i64), Kept>,
}

/// Makes the pages that are new, and locks all that the changes and visits touch, in the order of their numbers in the store;
/// `None` if one of them has changed since its copy was made.
pub(super) async fn lock(
    tx: &Transaction<'_>,
    changes: &[PageChange],
    incoming: &[Incoming<'_>],
    visited: Option<&Visited>,
    now: UnixMs,
) -> Result<Option<Locked>, Broken> {
    let added = add(tx, changes, now).await?;
    let visits = visited.iter().flat_map(|visited| visited.pages.iter().map(|page| (visited.wiki.0, page.0)));
    let changed = changes.iter().map(|change| (change.wiki.0, change.pageid.0));
    let (wikis, pageids): (Vec<i64>, Vec<i64>) = changed.chain(visits).unzip();
    let (of_wikis, revids) = keys(changes, incoming);
    let statement = tx.prepare_cached(sql!("wiki/lock_pages")).await?;
    let rows = tx.query(&statement, &[&wikis, &pageids, &of_wikis, &revids]).await?;
    let locked: HashMap<(i64, i64), (i64, i64)> =
        rows.iter().map(|row| ((row.get(1), row.get(2)), (row.get(0), row.get(3)))).collect();
    let mut places = Vec::with_capacity(changes.len());
    for change in changes {
        match locked.get(&(change.wiki.0, change.pageid.0)) {
            Some((id, version)) if *version == int(change.version) => {
                places.push(Place { id: *id, new: added.contains(id) });
            }
            None if change.version == 0 => return Err(no_wiki(change.wiki).into()),
            _ => return Ok(None),
        }
    }
    let kept = kept(tx, &of_wikis, &revids).await?;
    let known: Vec<i64> = locked.values().map(|(id, _)| *id).collect();
    if kept.values().any(|kept| !known.contains(&kept.page)) {
        return Err(Broken::Again("a revision moves at the same moment".into()));
    }
    Ok(Some(Locked { places, kept }))
}

/// Wikis and numbers of revisions.
pub(super) fn keys(changes: &[PageChange], incoming: &[Incoming<'_>]) -> (Vec<i64>, Vec<i64>) {
    incoming.iter().map(|(number, revision)| (changes[*number].wiki.0, revision.revid.0)).unzip()
}

async fn add(tx: &Transaction<'_>, changes: &[PageChange], now: UnixMs) -> Result<Vec<i64>, Broken> {
    let new: Vec<&PageChange> = changes.iter().filter(|change| change.version == 0).collect();
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let (wikis, pageids): (Vec<i64>, Vec<i64>) = new.iter().map(|change| (change.wiki.0, change.pageid.0)).unzip();
    let titles: Vec<_> = new.iter().map(|change| plain(&change.facts.title)).collect();
    let (ns, deleted): (Vec<i64>, Vec<bool>) = new.iter().map(|change| (change.facts.ns, change.facts.deleted)).unzip();
    let statement = tx.prepare_cached(sql!("wiki/add_pages")).await?;
    let rows = tx.query(&statement, &[&wikis, &pageids, &titles, &ns, &deleted, &now.0]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

async fn kept(tx: &Transaction<'_>, wikis: &[i64], revids: &[i64]) -> Result<HashMap<(i64, i64), Kept>, Broken> {
    if revids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = tx.query(&tx.prepare_cached(sql!("wiki/kept")).await?, &[&wikis, &revids]).await?;
    let read = |row: &tokio_postgres::Row| {
        let editor: Option<i64> = row.get(8);
        let kept = Kept {
            page: row.get(2),
            at: row.get(3),
            extracted_at: row.get(4),
            size: row.get(5),
            flags: row.get(6),
            sha1: row.get(7),
            editor: editor.zip(row.get::<_, Option<String>>(9)),
        };
        ((row.get(0), row.get(1)), kept)
    };
    Ok(rows.iter().map(read).collect())
}

/// Writes what the wiki says of the pages, and how far they are kept. Their revisions are counted already.
pub(super) async fn write(
    tx: &Transaction<'_>,
    changes: &[PageChange],
    places: &[Place],
    now: UnixMs,
) -> Result<(), Broken> {
    let of = |read: fn(&PageChange) -> bool| changes.iter().map(read).collect::<Vec<bool>>();
    let maybe = |read: fn(&PageChange) -> Option<i64>| changes.iter().map(read).collect::<Vec<Option<i64>>>();
    let ids: Vec<i64> = places.iter().map(|place| place.id).collect();
    let titles: Vec<_> = changes.iter().map(|change| plain(&change.facts.title)).collect();
    let ns: Vec<i64> = changes.iter().map(|change| change.facts.ns).collect();
    let statement = tx.prepare_cached(sql!("wiki/write_pages")).await?;
    tx.execute(
        &statement,
        &[
            &ids,
            &titles,
            &ns,
            &of(|change| change.facts.deleted),
            &maybe(|change| change.mark.map(|mark| mark.at.0)),
            &maybe(|change| change.mark.map(|mark| mark.revid.0)),
            &of(|change| change.complete),
            &of(|change| change.reconciled),
            &of(|change| change.visited),
            &maybe(last_block),
            &now.0,
        ],
    )
    .await?;
    Ok(())
}

/// Notes that pages were asked about. They are locked.
pub(super) async fn visit(tx: &Transaction<'_>, visited: &Visited, now: UnixMs) -> Result<(), Broken> {
    let pages: Vec<i64> = visited.pages.iter().map(|page| page.0).collect();
    let statement = tx.prepare_cached(sql!("wiki/visit_pages")).await?;
    tx.execute(&statement, &[&visited.wiki.0, &pages, &now.0]).await?;
    Ok(())
}
