//! Writes changes of pages: revisions, texts and what is counted of them. A constant number of statements, however many
//! revisions there are.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use deadpool_postgres::Transaction;
use malla_queue::UnixMs;
use malla_wiki::{Block, PageChange, Revision, TextHash, TextPlace};

use super::pool::Broken;
use super::wiki_pages::{self as pages, Locked};
use super::{sql, wiki_tallies as tallies, wiki_users as users};
use crate::analyze_rows::int;
use crate::fetch_rows::plain;
use crate::wiki_change::{Effects, Incoming, Kept, Place, tags};
use crate::wiki_figures::Figures;
use crate::wiki_revisions::flags;

/// Bytes of blocks in one statement at most (a larger one goes alone).
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Writes changes of pages that are locked. The wikis' counters are left to [`wiki_counts`](super::wiki_counts::add).
pub(super) async fn apply(
    tx: &Transaction<'_>,
    changes: &[PageChange],
    incoming: &[Incoming<'_>],
    locked: &Locked,
    now: UnixMs,
) -> Result<Effects, Broken> {
    let Locked { places, kept } = locked;
    let mut effects = Effects::of(changes, places, incoming, kept);
    if changes.is_empty() {
        return Ok(effects);
    }
    if !incoming.is_empty() {
        let users = users::hold(tx, incoming, &effects.left).await?;
        let editor = |new: &Revision| new.user.as_deref().and_then(|name| users.get(&plain(name)).copied());
        let editors: Vec<Option<i64>> = incoming.iter().map(|(_, new)| editor(new)).collect();
        let new = put_revisions(tx, changes, incoming, places, &editors, now).await?;
        if new != int((incoming.len() - kept.len()) as u64) {
            // Somebody has brought one of them to another page since we looked.
            return Err(Broken::Again("a revision moves at the same moment".into()));
        }
        put_notes(tx, changes, incoming).await?;
        put_tags(tx, changes, incoming, kept).await?;
        users::erase(tx, &effects.left).await?;
        tallies::forget(tx, &effects).await?;
        effects.figures = Figures::of(changes, incoming, &editors, kept);
    }
    put_texts(tx, changes, places).await?;
    let (ids, more): (Vec<i64>, Vec<i64>) = effects.pages.iter().unzip();
    tx.execute(&tx.prepare_cached(sql!("wiki/count_pages")).await?, &[&ids, &more]).await?;
    pages::write(tx, changes, places, now).await?;
    Ok(effects)
}

/// Returns how many were not kept before.
async fn put_revisions(
    tx: &Transaction<'_>,
    changes: &[PageChange],
    incoming: &[Incoming<'_>],
    places: &[Place],
    editors: &[Option<i64>],
    now: UnixMs,
) -> Result<i64, Broken> {
    let number = |read: fn(&Revision) -> i64| incoming.iter().map(|(_, new)| read(new)).collect::<Vec<i64>>();
    let (wikis, revids) = pages::keys(changes, incoming);
    let pages: Vec<i64> = incoming.iter().map(|(number, _)| places[*number].id).collect();
    let userids: Vec<Option<i64>> = incoming.iter().map(|(_, new)| new.userid).collect();
    let flags: Vec<i16> = incoming.iter().map(|(_, new)| flags(new)).collect();
    let statement = tx.prepare_cached(sql!("wiki/put_revisions")).await?;
    let row = tx
        .query_one(
            &statement,
            &[
                &wikis,
                &revids,
                &pages,
                &number(|new| new.at.0),
                &number(|new| new.parentid.0),
                &editors,
                &userids,
                &number(|new| int(new.size)),
                &flags,
                &now.0,
            ],
        )
        .await?;
    Ok(row.get(0))
}

async fn put_notes(tx: &Transaction<'_>, changes: &[PageChange], incoming: &[Incoming<'_>]) -> Result<(), Broken> {
    fn text<'c>(incoming: &[Incoming<'c>], of: fn(&Revision) -> Option<&str>) -> Vec<Option<Cow<'c, str>>> {
        incoming.iter().map(|(_, new)| of(new).map(plain)).collect()
    }
    let (wikis, revids) = pages::keys(changes, incoming);
    let tags: Vec<Option<String>> = incoming.iter().map(|(_, new)| tags(new)).collect();
    let texts: Vec<Option<&[u8]>> = incoming.iter().map(|(_, new)| new.text.as_ref().map(|hash| &hash.0[..])).collect();
    let statement = tx.prepare_cached(sql!("wiki/put_notes")).await?;
    tx.execute(
        &statement,
        &[
            &wikis,
            &revids,
            &text(incoming, |new| new.sha1.as_deref()),
            &text(incoming, |new| Some(&new.model)),
            &text(incoming, |new| Some(&new.format)),
            &text(incoming, |new| new.comment.as_deref()),
            &text(incoming, |new| new.parsed_comment.as_deref()),
            &tags,
            &texts,
        ],
    )
    .await?;
    Ok(())
}

async fn put_tags(
    tx: &Transaction<'_>,
    changes: &[PageChange],
    incoming: &[Incoming<'_>],
    kept: &HashMap<(i64, i64), Kept>,
) -> Result<(), Broken> {
    if !kept.is_empty() {
        let (wikis, revids): (Vec<i64>, Vec<i64>) = kept.keys().copied().unzip();
        tx.execute(&tx.prepare_cached(sql!("wiki/drop_tags")).await?, &[&wikis, &revids]).await?;
    }
    let (mut tags, mut wikis, mut revids) = (Vec::new(), Vec::new(), Vec::new());
    for (number, revision) in incoming {
        for tag in &revision.tags {
            tags.push(plain(tag));
            wikis.push(changes[*number].wiki.0);
            revids.push(revision.revid.0);
        }
    }
    if !tags.is_empty() {
        let statement = tx.prepare_cached(sql!("wiki/add_tags")).await?;
        tx.execute(&statement, &[&tags, &wikis, &revids]).await?;
    }
    Ok(())
}

/// Writes blocks and the places of their texts.
async fn put_texts(tx: &Transaction<'_>, changes: &[PageChange], places: &[Place]) -> Result<(), Broken> {
    let mut blocks: Vec<(i64, &Block)> = Vec::new();
    for (change, place) in changes.iter().zip(places) {
        blocks.extend(change.blocks.iter().map(|block| (place.id, block)));
    }
    if blocks.is_empty() {
        return Ok(());
    }
    let mut rest = blocks.as_slice();
    while !rest.is_empty() {
        let (some, others) = rest.split_at(fitting(rest));
        put_blocks(tx, some).await?;
        rest = others;
    }
    let texts =
        blocks.iter().flat_map(|(page, block)| block.texts.iter().map(|(hash, place)| ((*page, *hash), *place)));
    let texts: BTreeMap<(i64, TextHash), TextPlace> = texts.collect();
    let (of, numbers): (Vec<i64>, Vec<i64>) =
        blocks.iter().map(|(page, block)| (*page, i64::from(block.number))).unzip();
    let (pages, hashes): (Vec<i64>, Vec<&[u8]>) = texts.keys().map(|(page, hash)| (*page, &hash.0[..])).unzip();
    let number = |read: fn(&TextPlace) -> u32| texts.values().map(|place| i64::from(read(place))).collect::<Vec<i64>>();
    let statement = tx.prepare_cached(sql!("wiki/drop_texts")).await?;
    tx.execute(&statement, &[&of, &numbers, &pages, &hashes]).await?;
    let statement = tx.prepare_cached(sql!("wiki/put_texts")).await?;
    let (in_block, start, length) = (number(|at| at.block), number(|at| at.start), number(|at| at.length));
    tx.execute(&statement, &[&pages, &hashes, &in_block, &start, &length]).await?;
    Ok(())
}

/// How many of these go into one statement.
fn fitting(blocks: &[(i64, &Block)]) -> usize {
    let mut bytes = 0;
    let over = |(_, block): &(i64, &Block)| {
        bytes += block.packed.len();
        bytes > BATCH_BYTES_MAX
    };
    blocks.iter().position(over).unwrap_or(blocks.len()).max(1)
}

async fn put_blocks(tx: &Transaction<'_>, blocks: &[(i64, &Block)]) -> Result<(), Broken> {
    let pages: Vec<i64> = blocks.iter().map(|(page, _)| *page).collect();
    let numbers: Vec<i64> = blocks.iter().map(|(_, block)| i64::from(block.number)).collect();
    let bytes: Vec<i64> = blocks.iter().map(|(_, block)| i64::from(block.bytes)).collect();
    let packed: Vec<&[u8]> = blocks.iter().map(|(_, block)| block.packed.as_slice()).collect();
    let statement = tx.prepare_cached(sql!("wiki/put_blocks")).await?;
    let objects: Vec<Option<&str>> = blocks.iter().map(|(_, block)| block.object.as_deref()).collect();
    tx.execute(&statement, &[&pages, &numbers, &bytes, &packed, &objects]).await?;
    Ok(())
}
