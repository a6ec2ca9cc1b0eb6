//! What is read of revisions and texts.

use std::collections::HashMap;

use malla_queue::Result;
use malla_wiki::{Block, Known, Mark, PageId, RevId, Revision, TextHash, TextPlace, WikiId};
use rusqlite::{Connection, Row};

use super::{many, sql};
use crate::analyze_rows::count;
use crate::fetch_rows::to_json;
use crate::wiki_revisions::{KnownRow, RevisionRow, after_mark, place, text_hash};

pub(super) fn known(conn: &Connection, wiki: WikiId, revids: &[RevId]) -> Result<Vec<Known>> {
    let rows = many(conn, sql!("wiki/known"), (wiki.0, to_json(&revids)), |row| {
        Ok(KnownRow {
            revid: row.get(0)?,
            pageid: row.get(1)?,
            at: row.get(2)?,
            size: row.get(3)?,
            user_hidden: row.get(4)?,
            comment_hidden: row.get(5)?,
            sha1: row.get(6)?,
            text: row.get(7)?,
            flags: row.get(8)?,
        })
    })?;
    rows.into_iter().map(KnownRow::read).collect()
}

pub(super) fn revision(conn: &Connection, wiki: WikiId, revid: RevId) -> Result<Option<Revision>> {
    many(conn, sql!("wiki/revision"), (wiki.0, revid.0), read_revision)?.pop().map(RevisionRow::read).transpose()
}

pub(super) fn history(
    conn: &Connection,
    wiki: WikiId,
    pageid: PageId,
    after: Option<Mark>,
    limit: usize,
) -> Result<Vec<Revision>> {
    let (at, revid) = after_mark(after);
    let rows = many(conn, sql!("wiki/history"), (wiki.0, pageid.0, at, revid, limit), read_revision)?;
    rows.into_iter().map(RevisionRow::read).collect()
}

fn read_revision(row: &Row<'_>) -> rusqlite::Result<RevisionRow> {
    Ok(RevisionRow {
        revid: row.get(0)?,
        parentid: row.get(1)?,
        pageid: row.get(2)?,
        at: row.get(3)?,
        user: row.get(4)?,
        userid: row.get(5)?,
        flags: row.get(6)?,
        size: row.get(7)?,
        sha1: row.get(8)?,
        model: row.get(9)?,
        format: row.get(10)?,
        comment: row.get(11)?,
        parsed_comment: row.get(12)?,
        tags: row.get(13)?,
        text: row.get(14)?,
    })
}

pub(super) fn places(
    conn: &Connection,
    wiki: WikiId,
    pageid: PageId,
    hashes: &[TextHash],
) -> Result<Vec<(TextHash, TextPlace)>> {
    let mut places = Vec::with_capacity(hashes.len());
    for hash in hashes {
        let found = many(conn, sql!("wiki/place"), (wiki.0, pageid.0, &hash.0[..]), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        for (block, start, length) in found {
            places.push((*hash, place(block, start, length)?));
        }
    }
    Ok(places)
}

pub(super) fn uses(
    conn: &Connection,
    wiki: WikiId,
    pageid: PageId,
    hashes: &[TextHash],
) -> Result<Vec<(TextHash, u64)>> {
    let hexadecimal: Vec<_> = hashes.iter().map(|hash| format!("{hash:?}").to_uppercase()).collect();
    let rows: Vec<(Vec<u8>, i64)> =
        many(conn, sql!("wiki/uses"), (wiki.0, pageid.0, to_json(&hexadecimal)), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let used: HashMap<_, _> = rows.into_iter().collect();
    Ok(hashes.iter().map(|hash| (*hash, used.get(&hash.0[..]).map_or(0, |uses| count(*uses)))).collect())
}

pub(super) fn block(conn: &Connection, wiki: WikiId, pageid: PageId, number: u32) -> Result<Option<Block>> {
    let found = many(conn, sql!("wiki/block"), (wiki.0, pageid.0, number), |row| {
        Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    let Some((page, bytes, packed, object)) = found.into_iter().next() else { return Ok(None) };
    let texts = texts(conn, page, i64::from(number))?;
    Ok(Some(Block { number, packed, bytes, texts, object }))
}

/// The texts of a block, in their order.
pub(super) fn texts(conn: &Connection, page: i64, number: i64) -> Result<Vec<(TextHash, TextPlace)>> {
    let rows: Vec<(Vec<u8>, i64, i64, i64)> = many(conn, sql!("wiki/texts_of_block"), (page, number), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    rows.iter().map(|(hash, block, start, length)| Ok((text_hash(hash)?, place(*block, *start, *length)?))).collect()
}
